--- Functions of the host's among the globals of scripts.

local core = require "ebb.support.core"
local json_form = require "ebb.libebb.json_form"
local refuse = require "ebb.support.refuse"

local functions = {}

local json = core.json

--- The host's functions by name, and tables of them.
local placed = {}

--- Returns the functions as one script sees them, as __index of its globals: later ones too, and none
--- that another script has changed.
---@return fun(globals: table, name: string): any
function functions.view()
  local tables = {}
  return function(_, name)
    local value = placed[name]
    if type(value) ~= "table" then return value end
    tables[name] = tables[name] or setmetatable({}, { __index = value, __metatable = false })
    return tables[name]
  end
end

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

--- Whatever fails, scripts see what they saw before.
---@param name string
---@param run function
function functions.register(name, run)
  local table_name, last = split(name)
  local first = table_name or last
  local entry = placed[first]
  if _G[first] ~= nil or entry and (type(entry) == "table") ~= (table_name ~= nil) then
    refuse("argument", ("'%s' is a name that scripts have already"):format(first))
  end
  if not table_name then
    placed[last] = run
    return
  end
  placed[table_name] = entry or {}
  placed[table_name][last] = run
end

--- Returns the function registered under a name, or nil.
---@param name string
---@return function?
function functions.find(name)
  local table_name, last = split(name)
  local from = table_name == nil and placed or placed[table_name]
  local run = type(from) == "table" and from[last] or nil
  return type(run) == "function" and run or nil
end

local function as_list(...)
  local list = json.array {}
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    list[i] = value == nil and json.null or value
  end
  return list
end

--- Registers a function that takes JSON and returns JSON, or "" for no result.
---@param name string
---@param call fun(arguments: string): string
function functions.register_json(name, call)
  functions.register(name, function(...)
    local text = call(json_form.encode(as_list(...)))
    if text == "" then return nil end
    local value, problem = json.decode(text)
    if problem then refuse(problem.code, ("%s: what the host answered: %s"):format(name, problem.message)) end
    if value == json.null then return nil end
    return value
  end)
end

return functions
