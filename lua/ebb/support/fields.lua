--- Reads records that people write in JSON: declared fields, checked one by one.
--
-- A declaration is a list of { "fieldName", reader, default }. Names are the
-- files' camelCase; snake_case is taken for the same. A reader answers the value
-- in its final form, or nil and what it expected. What is wrong is said of the
-- field, so that a list of 100 rules can be mended.

local core = require "ebb.support.core"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local fields = {}

local function shown(value)
  if type(value) == "string" then return ("'%s'"):format(#value > 40 and value:sub(1, 40) .. "..." or value) end
  if type(value) == "table" then return "a table" end
  return tostring(value)
end

local function camel(name)
  return (name:gsub("_(%l)", string.upper))
end

-- ---- readers ----

function fields.text(value)
  return type(value) == "string" and utf8.len(value) and value or nil, "a text in UTF-8"
end

function fields.boolean(value)
  if type(value) == "boolean" then return value end
  return nil, "true or false"
end

function fields.number(value)
  local finite = type(value) == "number" and value == value and math.abs(value) ~= math.huge
  return finite and value or nil, "a number"
end

--- A whole number from 0.
function fields.count(value)
  local integer = type(value) == "number" and math.tointeger(value)
  return integer and integer >= 0 and integer or nil, "a whole number from 0"
end

function fields.choice(...)
  local choices = { ... }
  return function(value)
    for _, choice in ipairs(choices) do
      if value == choice then return value end
    end
    return nil, "one of " .. table.concat(choices, ", ")
  end
end

--- A list whose items `reader` takes.
function fields.list(reader)
  return function(value)
    if type(value) ~= "table" or (value[1] == nil and next(value) ~= nil) then return nil, "a list" end
    local list = {}
    for i, item in ipairs(value) do
      local read, expected = reader(item)
      if read == nil then return nil, ("in place %d %s"):format(i, expected) end
      list[i] = read
    end
    return list
  end
end

--- A record within the record.
function fields.record(declared)
  return function(value)
    if type(value) ~= "table" then return nil, "an object" end
    local record, problem = fields.read(value, declared)
    if record == nil then return nil, nil, problem end
    return record
  end
end

-- ---- reading ----

local function names_of(declared)
  local names = {}
  for i, field in ipairs(declared) do
    names[i] = field[1]
  end
  return names
end

--- The field that a key is meant for, or nil.
local function field_of(declared, key)
  for _, field in ipairs(declared) do
    if field[1] == key or field[1] == camel(key) then return field end
  end
end

local function read_field(record, field, value)
  local name = field[1]
  local read, expected, inner = field[2](value)
  if read == nil and inner then
    return { field = name .. "." .. inner.field, message = inner.message, hint = inner.hint }
  end
  if read == nil then return { field = name, message = ("expected %s, got %s"):format(expected, shown(value)) } end
  record[name] = read
end

--- The record with a value for each field that is given or has a default; or nil
--- and what is wrong first, by name: {field, message, hint}. null is absent.
---@param given table
---@param declared table[]           { name, reader, default }
---@param carried? table<string, boolean>   names that may stand there and mean nothing here
---@return table? record
---@return { field: string, message: string, hint: string? }? problem
function fields.read(given, declared, carried)
  local record = {}
  for _, field in ipairs(declared) do
    record[field[1]] = field[3]
  end
  local keys = tables.keys(given)
  for _, key in ipairs(keys) do
    local value, field = given[key], field_of(declared, key)
    if value == nil or not (field or carried and carried[key]) then
      return nil, { field = key, message = "unknown field", hint = suggest.hint(key, names_of(declared)) }
    elseif field and value ~= core.json.null then
      local problem = read_field(record, field, value)
      if problem then return nil, problem end
    end
  end
  return record
end

--- A problem as one line.
---@param problem { field: string, message: string, hint: string? }
---@return string
function fields.say(problem)
  local hint = problem.hint and (" (%s)"):format(problem.hint) or ""
  return ("%s: %s%s"):format(problem.field, problem.message, hint)
end

return fields
