--- Declared options: what a policy or filter takes, checked in one place.
--
--     options = {
--       keep = { type = "integer", default = 0, min = 0, help = "units that stay" },
--       mode = { type = "choice", choices = { "first", "last" }, default = "first" },
--     }
--
-- `check` gives a new table with a value for every option that was given or has
-- a default. Values from the command line are texts; `parse` reads them by the
-- declared type and then checks them like all others.

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local options = {}

--- Per type: the value in its final form, or nil and what was expected.
local READ = {
  integer = function(value)
    local integer = type(value) == "number" and math.tointeger(value) or nil
    return integer, "a whole number"
  end,
  number = function(value)
    local finite = type(value) == "number" and value == value and math.abs(value) ~= math.huge
    return finite and value or nil, "a number"
  end,
  string = function(value) return type(value) == "string" and value or nil, "a string" end,
  boolean = function(value)
    if type(value) == "boolean" then return value end
    return nil, "true or false"
  end,
  choice = function(value) return value end,
  list = function(value)
    if type(value) == "string" then return { value } end   -- one stands for a list of one
    local is_list = type(value) == "table" and (next(value) == nil or value[1] ~= nil)
    return is_list and value or nil, "a list"
  end,
  table = function(value) return type(value) == "table" and value or nil, "a table" end,
}

--- Per type: the value that a text from the command line stands for, or nil.
local FROM_TEXT = {
  integer = core.tonumber,
  number = core.tonumber,
  string = function(text) return text end,
  boolean = function(text)
    local known = { ["true"] = true, yes = true, ["1"] = true, ["false"] = false, no = false, ["0"] = false }
    return known[text:lower()]
  end,
  table = function(text) return (core.json.decode(text)) end,
  list = function(text)
    if text:find "^%s*%[" then return (core.json.decode(text)) end
    local items = {}
    for item in text:gmatch "[^,]+" do
      items[#items + 1] = item
    end
    return items
  end,
}

local DECLARATION = { "type", "default", "min", "max", "choices", "help" }

local function shown(value)
  if type(value) == "string" then return ("'%s'"):format(value) end
  return tostring(value)
end

--- A choice in the type that its declaration has, so that "3" finds 3.
local function choice_from_text(declaration, text)
  for _, choice in ipairs(declaration.choices) do
    if tostring(choice) == text then return choice end
  end
  return text
end

local function choice_names(choices)
  local names = {}
  for i, choice in ipairs(choices) do
    names[i] = tostring(choice)
  end
  return names
end

--- The checked value, or nil, what is wrong, and a hint.
local function read(declaration, value)
  local result, expected = READ[declaration.type](value)
  if result == nil then return nil, ("expected %s, got %s"):format(expected, shown(value)) end
  if declaration.type == "choice" and not tables.contains(declaration.choices, result) then
    return nil, "no such choice: " .. shown(result), suggest.hint(result, choice_names(declaration.choices))
  end
  if declaration.min and result < declaration.min then
    return nil, ("%s is less than %s"):format(result, declaration.min)
  end
  if declaration.max and result > declaration.max then
    return nil, ("%s is more than %s"):format(result, declaration.max)
  end
  return result
end

--- Each run gets a table of its own: a policy may write into it.
local function own(value)
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, item in pairs(value) do
    copy[key] = item
  end
  return copy
end

--- Refuses names that are not among `known`.
---@param given table
---@param known string[]
---@param owner string      who takes them, such as "trim" or "policy keep_recent"
function options.names(given, known, owner)
  for name in pairs(given) do
    if not tables.contains(known, name) then
      refuse("unknown_name", ("%s has no option %s"):format(owner, shown(name)), suggest.hint(name, known))
    end
  end
end

local function declare_one(name, declaration, owner)
  local where = ("%s, option %s"):format(owner, shown(name))
  if type(name) ~= "string" or type(declaration) ~= "table" then
    refuse("shape", where .. ": expected name = { type = ..., default = ... }")
  end
  for field in pairs(declaration) do
    if not tables.contains(DECLARATION, field) then
      refuse("shape", ("%s: unknown field %s"):format(where, shown(field)), suggest.hint(field, DECLARATION))
    end
  end
  if READ[declaration.type] == nil then
    local hint = suggest.hint(declaration.type, tables.keys(READ))
    refuse("shape", ("%s: unknown type %s"):format(where, shown(declaration.type)), hint)
  end
  if declaration.type == "choice" and type(declaration.choices) ~= "table" then
    refuse("shape", where .. ": a choice needs choices = { ... }")
  end
  if (declaration.min or declaration.max) and declaration.type ~= "integer" and declaration.type ~= "number" then
    refuse("shape", where .. ": only numbers have min and max")
  end
  if declaration.default ~= nil then
    local value, why = read(declaration, declaration.default)
    if value == nil then refuse("shape", ("%s: its default: %s"):format(where, why)) end
  end
end

--- Checks the declarations themselves: a mistake of whoever wrote the policy.
---@param declared? table<string, ebb.OptionDeclaration>
---@param owner string
function options.declare(declared, owner)
  if declared == nil then return end
  if type(declared) ~= "table" then refuse("shape", owner .. ": options is a table of declarations") end
  for name, declaration in pairs(declared) do
    declare_one(name, declaration, owner)
  end
end

--- The values that a run gets: what was given, else the defaults.
---@param declared? table<string, ebb.OptionDeclaration>
---@param given? table
---@param owner string
---@return table
function options.check(declared, given, owner)
  declared, given = declared or {}, given or {}
  if type(given) ~= "table" then
    refuse("argument", ("%s: options are a table, not %s"):format(owner, shown(given)))
  end
  options.names(given, tables.keys(declared), owner)
  local values = {}
  for name, declaration in pairs(declared) do
    if given[name] == nil then
      values[name] = own(declaration.default)
    else
      local value, why, hint = read(declaration, given[name])
      if value == nil then refuse("argument", ("%s, option '%s': %s"):format(owner, name, why), hint) end
      values[name] = own(value)
    end
  end
  return values
end

--- "key=value,key=value" as a table of texts. A piece without = belongs to the
--- value before it, so that a list may have commas.
local function split(text, owner)
  local texts, last = {}, nil
  for piece in (text .. ","):gmatch "(.-)," do
    local key, value = piece:match "^%s*([%a_][%w_%-]*)%s*=(.*)$"
    if key then
      last = (key:gsub("%-", "_"))
      texts[last] = value
    elseif last then
      texts[last] = texts[last] .. "," .. piece
    elseif piece ~= "" then
      refuse("argument", ("%s: expected key=value, got '%s'"):format(owner, piece))
    end
  end
  return texts
end

--- Options as they stand on the command line: "keep=3,mode=last". The values
--- are converted by their declared types; `check` has the last word.
---@param declared? table<string, ebb.OptionDeclaration>
---@param text string
---@param owner string
---@return table given      for `check`
function options.parse(declared, text, owner)
  declared = declared or {}
  local texts = split(text, owner)
  options.names(texts, tables.keys(declared), owner)
  local given = {}
  for name, value_text in pairs(texts) do
    local declaration = declared[name]
    local value
    if declaration.type == "choice" then
      value = choice_from_text(declaration, value_text)
    else
      value = FROM_TEXT[declaration.type](value_text)
    end
    if value == nil then
      local _, expected = READ[declaration.type](nil)
      refuse("argument", ("%s, option '%s': expected %s, got '%s'"):format(owner, name, expected, value_text))
    end
    given[name] = value
  end
  return given
end

return options
