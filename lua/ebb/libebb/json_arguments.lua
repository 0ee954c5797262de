--- What a host gives as JSON.

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local json_arguments = {}

local json = core.json

--- The value of a text; of none, {}.
---@param text? string
---@param what string        how errors call it
---@return any
function json_arguments.decode(text, what)
  if text == nil or text == "" then return {} end
  local value, problem = json.decode(text)
  if problem then refuse(problem.code, ("%s: %s"):format(what, problem.message)) end
  return value
end

---@param text? string
---@param what string
---@return table
function json_arguments.object(text, what)
  local value = json_arguments.decode(text, what)
  if type(value) ~= "table" or value[1] ~= nil or getmetatable(value) == "json.array" then
    refuse("shape", what .. ": expected a JSON object")
  end
  return value
end

--- The fields of a JSON object under their Lua names; others are refused.
---@param object table
---@param names table<string, string>
---@param what string
---@return table
function json_arguments.translate(object, names, what)
  local result = {}
  for key, value in pairs(object) do
    if not names[key] then
      local hint = suggest.hint(key, tables.keys(names))
      refuse("unknown_name", ("%s has no option '%s'"):format(what, tostring(key)), hint)
    end
    if value ~= json.null then result[names[key]] = value end
  end
  return result
end

return json_arguments
