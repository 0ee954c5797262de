--- Functions of the host's among the globals of scripts.

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"

local functions = {}

local json = core.json

--- What the host put there, by name: functions, and tables of them.
local placed, tables = {}, {}

--- "dice.roll" -> "dice", "roll"; "roll" -> nil, "roll"
local function split(name)
  local table_name, last = name:match "^([%a_][%w_]*)%.([%a_][%w_]*)$"
  last = last or name:match "^[%a_][%w_]*$"
  local good = last and load("local " .. last) and (not table_name or load("local " .. table_name))
  if not good then
    refuse("argument", ("'%s': a function is called name or table.name, by names of Lua's"):format(name))
  end
  return table_name, last
end

--- Whatever fails, scripts see what they saw before: their own table changes last.
---@param name string
---@param run function
function functions.register(name, run)
  local table_name, last = split(name)
  local first = table_name or last
  local known = table_name and tables[first] or not table_name and placed[first]
  if _G[first] ~= nil and not known then
    refuse("argument", ("'%s' is a name that scripts have already"):format(first))
  end
  if not table_name then
    placed[last] = true
    _G[last] = run
    return
  end
  tables[table_name] = known or {}
  tables[table_name][last] = run
  _G[table_name] = tables[table_name]
end

local function as_list(...)
  local list = json.array {}
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    list[i] = value == nil and json.null or value
  end
  return list
end

--- The same for a function that takes JSON and gives JSON, "" for nothing.
---@param name string
---@param call fun(arguments: string): string
function functions.register_json(name, call)
  functions.register(name, function(...)
    local text = call(json.encode(as_list(...)))
    if text == "" then return nil end
    local value, message, code = json.decode(text)
    if message then refuse(code, ("%s: what the host answered: %s"):format(name, message)) end
    if value == json.null then return nil end
    return value
  end)
end

return functions
