--- What actions take: "text:string, n:int?", and what a model gives, held against it.
--
--     name:type, name:type, ...
--
--     string  int  number  bool      (integer and boolean are read too)
--     enum(a|b|c)                    one of these words
--     type[]                         a list of that type
--     type?                          may be left out; null is as good as left out
--
-- A list in a list is `int[][]`; an optional list `int[]?`. Names are letters,
-- digits, `_` and `-`, of any script.
--
-- Nothing is converted but 3.0 to 3 for an int: "3" is no int. A model that is told
-- so gets it right the next time; one that is never told goes on guessing.

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local parameters = {}

parameters.COUNT_MAX = 64      -- of one action
parameters.NESTING_MAX = 4     -- of lists in lists

---@class ebb.ParameterType
---@field kind "string"|"int"|"number"|"bool"|"enum"|"list"
---@field written string         as declared, without `?`
---@field choices? string[]      of an enum
---@field of? ebb.ParameterType  of a list

---@class ebb.Parameter: ebb.ParameterType
---@field name string
---@field optional boolean

---- Declarations ----

local KINDS = {
  string = "string", int = "int", integer = "int", number = "number", bool = "bool", boolean = "bool", enum = "enum",
}
local NAME = "^[%w_\x80-\xFF-]+"

local function bad(at, expected, hint)
  refuse("syntax", ("params, byte %d: expected %s"):format(at, expected), hint)
end

local function skip_space(text, at)
  return text:match("^%s*()", at)
end

--- The words of "(a|b|c)", and the position behind it.
local function read_choices(text, at)
  local inside, after = text:match("^%s*%(([^()]*)%)()", at)
  if not inside then bad(at, "(one|other) behind enum") end
  local choices, seen = {}, {}
  for word in (inside .. "|"):gmatch "%s*(.-)%s*|" do
    if word == "" or seen[word] then bad(at, "words that differ, with | between them") end
    choices[#choices + 1], seen[word] = word, true
  end
  return choices, after
end

local function read_type(text, at)
  local word, after = text:match("^([%a]+)()", at)
  if not KINDS[word] then
    bad(at, "a type", word and suggest.hint(word, { "string", "int", "number", "bool", "enum" })
      or "string, int, number, bool or enum(a|b), with [] for a list and ? where it may be left out")
  end
  local declared = { kind = KINDS[word] }
  if word == "enum" then declared.choices, after = read_choices(text, after) end
  declared.written = text:sub(at, after - 1)
  for depth = 1, math.huge do
    local behind = text:match("^%[%]()", after)
    if not behind then break end
    if depth > parameters.NESTING_MAX then bad(after, ("at most %d lists in one another"):format(depth - 1)) end
    after = behind
    declared = { kind = "list", of = declared, written = text:sub(at, after - 1) }
  end
  return declared, after
end

local function read_one(text, at)
  local after = text:match(NAME .. "()", at)
  if not after then bad(at, "a parameter's name") end
  local name = text:sub(at, after - 1)
  local colon = text:match("^%s*:%s*()", after)
  if not colon then bad(after, (": and a type behind '%s'"):format(name)) end
  local declared, behind = read_type(text, colon)
  local optional = text:match("^%?()", behind)
  declared.name, declared.optional = name, optional ~= nil
  return declared, skip_space(text, optional or behind)
end

--- The declared parameters in their order. Raises what is wrong, with its byte.
---@param text? string      nil or "": none
---@return ebb.Parameter[]
function parameters.parse(text)
  local list, seen, at = {}, {}, skip_space(text or "", 1)
  if text == nil or at > #text then return list end
  while true do
    local start = at
    local declared
    declared, at = read_one(text, at)
    if seen[declared.name] then bad(start, ("a name other than '%s', which there is"):format(declared.name)) end
    if #list == parameters.COUNT_MAX then refuse("limit", ("params: more than %d"):format(parameters.COUNT_MAX)) end
    list[#list + 1], seen[declared.name] = declared, true
    if at > #text then return list end
    local comma = text:match("^,%s*()", at)
    if not comma then bad(at, "a comma or the end", 'as in "text:string, n:int?"') end
    at = comma
  end
end

---- Values ----

local SHOWN_MAX = 40     -- bytes of a value in a message
local PROBLEMS_MAX = 8   -- in one message

--- Is this table marked as what only ebb.json makes: "json.array", "json.raw"?
local function is_marked(value, name)
  return getmetatable(value) == name
end

--- A list may be empty, and then a table of Lua may be meant as one.
local function is_list(value)
  return type(value) == "table" and not is_marked(value, "json.raw") and
    (is_marked(value, "json.array") or rawlen(value) > 0 or next(value) == nil)
end

---@param value any
---@return boolean
function parameters.is_object(value)
  return type(value) == "table" and not is_marked(value, "json.raw") and not is_marked(value, "json.array") and
    rawlen(value) == 0
end

--- A value in a message: what the model wrote, so that it finds the place.
---@param value any
---@return string
function parameters.shown(value)
  if value == core.json.null then return "null" end
  if type(value) == "string" then
    if #value <= SHOWN_MAX and utf8.len(value) then return core.json.encode(value) end
    return ("a string of %d bytes"):format(#value)
  end
  if type(value) ~= "table" then return core.tostring(value) end
  if is_marked(value, "json.raw") then return "a number too large" end
  return parameters.is_object(value) and "an object" or "a list"
end

local read

local function read_list(declared, value, path, problems)
  if not is_list(value) then return nil end
  local list = {}
  for i = 1, rawlen(value) do
    if #problems > PROBLEMS_MAX then break end
    list[i] = read(declared.of, rawget(value, i), ("%s[%d]"):format(path, i - 1), problems)   -- as JSON counts
  end
  return list
end

local READ = {
  string = function(_, value) return type(value) == "string" and value or nil end,
  int = function(_, value) return type(value) == "number" and math.tointeger(value) or nil end,
  number = function(_, value)
    local finite = type(value) == "number" and value == value and math.abs(value) ~= math.huge
    return finite and value or nil
  end,
  bool = function(_, value)
    if type(value) == "boolean" then return value end
  end,
  enum = function(declared, value)
    for _, choice in ipairs(declared.choices) do
      if choice == value then return choice end
    end
  end,
  list = read_list,
}

local function expected(declared)
  if declared.kind == "enum" then return "one of " .. table.concat(declared.choices, ", ") end
  return declared.written
end

function read(declared, value, path, problems)
  local result = READ[declared.kind](declared, value, path, problems)
  if result == nil then
    problems[#problems + 1] = ("%s must be %s, not %s"):format(path, expected(declared), parameters.shown(value))
  end
  return result
end

local function refuse_unknown(declared, given, problems)
  local names, known = {}, {}
  for i, parameter in ipairs(declared) do
    names[i], known[parameter.name] = parameter.name, true
  end
  for _, name in ipairs(tables.keys(given)) do
    if #problems > PROBLEMS_MAX then return end
    if not known[name] then
      local hint = #names == 0 and "there are no parameters" or suggest.hint(name, names)
      local shown = #name <= SHOWN_MAX and name or name:sub(1, SHOWN_MAX) .. "..."
      problems[#problems + 1] = ("params.%s is not allowed%s"):format(shown, hint and " (" .. hint .. ")" or "")
    end
  end
end

--- The values that an action gets, each of its declared type.
---@param declared ebb.Parameter[]
---@param given any           a table by names; nil or ebb.null for none
---@return table? values
---@return string? message    all that is wrong: "params.n must be int, not \"x\"; ..."
function parameters.check(declared, given)
  if given == nil or given == core.json.null then given = {} end
  if type(given) ~= "table" or not (parameters.is_object(given) or next(given) == nil) then
    return nil, "params must be an object, not " .. parameters.shown(given)
  end
  local values, problems = {}, {}
  for _, parameter in ipairs(declared) do
    local name = parameter.name
    local value = rawget(given, name)
    if value ~= nil and value ~= core.json.null then
      values[name] = read(parameter, value, "params." .. name, problems)
    elseif not parameter.optional then
      problems[#problems + 1] = ("params.%s is required: expected %s"):format(name, expected(parameter))
    end
  end
  refuse_unknown(declared, given, problems)
  if #problems == 0 then return values end
  if #problems > PROBLEMS_MAX then problems[PROBLEMS_MAX + 1] = "and more" end
  return nil, table.concat(problems, "; ", 1, math.min(#problems, PROBLEMS_MAX + 1))
end

return parameters
