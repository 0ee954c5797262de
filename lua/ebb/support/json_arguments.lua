--- Arguments in JSON, as a host writes them: decoded, checked, under their Lua names.

local core = require "ebb.support.core"
local names = require "ebb.support.names"
local refuse = require "ebb.support.refuse"
local tables = require "ebb.support.tables"

local json_arguments = {}

local json = core.json
local UNIQUE = { unique = true }     -- of two values of one name, one would be ignored

--- The value of a text; of none, {}. A name that occurs twice in an object is refused.
---@param text? string
---@param what string        how errors call it
---@return any
function json_arguments.decode(text, what)
  if text == nil or text == "" then return {} end
  local value, problem = json.decode(text, UNIQUE)
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

--- A declaration under the names of JSON, camelCase; its result has the names of Lua.
local function in_camel_case(declaration)
  if not declaration.fields or declaration.camel then return declaration end
  local result = tables.copy(declaration)
  result.fields = {}
  for name, field in pairs(declaration.fields) do
    field = tables.copy(in_camel_case(field))
    field.as = name
    result.fields[names.camel(name)] = field
  end
  return result
end

--- The fields of a JSON object under their Lua names; raises what is wrong. null is absent.
---@param object table
---@param fields table<string, ebb.Schema>    in snake_case
---@param what string        how errors call it: "a trim"
---@return table
function json_arguments.fields(object, fields, what)
  local schema = require "ebb.support.schema"   -- an idle chat without options does not need it
  local values, problems = schema.read(in_camel_case { type = "object", fields = fields }, object, { null = true })
  if not problems then return values end
  local problem = problems[1]
  if problem.kind ~= "unknown" then
    return refuse(problem.code, schema.message(problem, what, 0), problem.hint)
  end
  local owner = schema.place({ what, table.unpack(problem.path, 1, #problem.path - 1) })
  return refuse("unknown_name", ("%s has no option '%s'"):format(owner, tostring(problem.value)), problem.hint)
end

--- Reads options from a JSON text, as `fields` does from an object.
---@param text? string
---@param fields table<string, ebb.Schema>
---@param what string
---@return table
function json_arguments.options(text, fields, what)
  local object = json_arguments.object(text, "options")
  return next(object) == nil and {} or json_arguments.fields(object, fields, what)
end

return json_arguments
