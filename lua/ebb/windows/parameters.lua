--- The parameters of actions: parses "text:string, n:int?", and checks a model's values.
--
--     name:type, name:type, ...
--
--     string  int  number  bool      (integer and boolean are read too)
--     enum(a|b|c)                    one of these words
--     type[]                         a list of that type
--     type?                          optional; null counts as absent
--
-- A list in a list is `int[][]`; an optional list `int[]?`. Names are letters,
-- digits, `_` and `-`, of any script.
--
-- Only 3.0 is converted, to 3 for an int; "3" is refused. A model that gets an error
-- corrects itself; silent conversions would hide its mistakes.

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local suggest = require "ebb.support.suggest"

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

--- The words of "(a|b|c)", and the position after it.
local function read_choices(text, at)
  local inside, after = text:match("^%s*%(([^()]*)%)()", at)
  if not inside then bad(at, "(one|other) after enum") end
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
  if not colon then bad(after, (": and a type after '%s'"):format(name)) end
  local declared, behind = read_type(text, colon)
  local optional = text:match("^%?()", behind)
  declared.name, declared.optional = name, optional ~= nil
  return declared, skip_space(text, optional or behind)
end

--- Parses a declaration: the parameters in order. Raises errors with their byte.
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

local QUOTED_BYTES_MAX = 40     -- of a string that a problem quotes
local PROBLEMS_MAX = 8          -- in one refusal

--- True for tables with a mark of ebb.json: "json.array", "json.raw".
local function is_marked(value, name)
  return getmetatable(value) == name
end

---@param value any
---@return boolean
function parameters.is_object(value)
  return type(value) == "table" and not is_marked(value, "json.raw") and not is_marked(value, "json.array") and
    rawlen(value) == 0
end

--- A value as problems describe it to a model: short values as JSON, so that the model recognises them.
---@param value any
---@return string
function parameters.describe(value)
  if value == core.json.null then return "null" end
  if type(value) == "string" then
    if #value <= QUOTED_BYTES_MAX and utf8.len(value) then return core.json.encode(value) end
    return ("a string of %d bytes"):format(#value)
  end
  if type(value) ~= "table" then return core.tostring(value) end
  if is_marked(value, "json.raw") then return "a number too large" end
  return parameters.is_object(value) and "an object" or "a list"
end

local TYPES = {
  string = "string", int = "integer", number = "number", bool = "boolean", enum = "choice", list = "list",
}

---@param declared ebb.ParameterType
---@return ebb.Schema
local function schema_of(declared)
  return {
    type = TYPES[declared.kind], choices = declared.choices, items = declared.of and schema_of(declared.of),
    expected = declared.kind ~= "enum" and declared.written or nil,
  }
end

--- A problem as the model reads it.
---@param problem ebb.SchemaProblem
---@param names string[]      of the declared parameters
local function words_of(problem, names)
  local place = schema.place({ "params", table.unpack(problem.path) }, 0)
  if problem.kind == "missing" then return ("%s is required: expected %s"):format(place, problem.expected) end
  if problem.kind == "type" then
    return ("%s must be %s, not %s"):format(place, problem.expected, parameters.describe(problem.value))
  end
  local name = #place <= QUOTED_BYTES_MAX and place or place:sub(1, QUOTED_BYTES_MAX) .. "..."
  local hint = #names == 0 and "there are no parameters" or suggest.hint(problem.value, names)
  return ("%s is not allowed%s"):format(name, hint and " (" .. hint .. ")" or "")
end

--- Notes empty objects where a list is declared: schemas take a table without elements for either.
local function find_objects(declared, value, path, problems)
  if declared.kind ~= "list" or type(value) ~= "table" or is_marked(value, "json.raw") then return end
  if next(value) == nil and not is_marked(value, "json.array") then
    problems[#problems + 1] = { kind = "type", path = path, expected = declared.written, value = value }
  end
  for i, item in ipairs(value) do
    local place = table.move(path, 1, #path, 1, {})
    place[#place + 1] = i
    find_objects(declared.of, item, place, problems)
  end
end

--- The values that an action gets, each of its declared type.
---@param declared ebb.Parameter[]
---@param params any          a table by names; nil or ebb.null for none
---@param is_json? boolean    decoded from JSON: its empty lists have a mark, and {} is no list
---@return table? values
---@return string? message    all that is wrong: "params.n must be int, not \"x\"; ..."
function parameters.check(declared, params, is_json)
  if params == nil or params == core.json.null or type(params) == "table" and next(params) == nil then params = {} end
  local fields, order, names = {}, {}, {}
  for i, parameter in ipairs(declared) do
    names[i] = parameter.name
    fields[parameter.name], order[parameter.name] = schema_of(parameter), i
    fields[parameter.name].required = not parameter.optional
  end
  local declaration = { type = "object", fields = fields, expected = "an object" }
  local values, faults = schema.read(declaration, params, { most = PROBLEMS_MAX + 1, null = true })
  local problems = faults or {}
  for _, parameter in ipairs(is_json and type(params) == "table" and declared or {}) do
    find_objects(parameter, params[parameter.name], { parameter.name }, problems)
  end
  if #problems == 0 then return values end
  table.sort(problems, function(a, b)   -- in the order of declaration, then the undeclared
    local first, second = a.path[1], b.path[1]
    if order[first] ~= order[second] then return (order[first] or math.huge) < (order[second] or math.huge) end
    return schema.place(a.path) < schema.place(b.path)
  end)
  local words = {}
  for i, problem in ipairs(problems) do
    words[i] = words_of(problem, names)
  end
  if #words > PROBLEMS_MAX then words[PROBLEMS_MAX + 1] = "and more" end
  return nil, table.concat(words, "; ", 1, math.min(#words, PROBLEMS_MAX + 1))
end

---- JSON Schema ----

local JSON_TYPES = { string = "string", int = "integer", number = "number", bool = "boolean" }

local function json_schema_of(declared)
  if declared.kind == "list" then return { type = "array", items = json_schema_of(declared.of) } end
  if declared.kind == "enum" then return { type = "string", enum = declared.choices } end
  return { type = JSON_TYPES[declared.kind] }
end

--- Declared parameters as a JSON schema, for a provider's list of tools.
---@param declared ebb.Parameter[]
---@return string
function parameters.json_schema(declared)
  local properties, required = {}, core.json.array {}
  for _, parameter in ipairs(declared) do
    properties[parameter.name] = json_schema_of(parameter)
    if not parameter.optional then required[#required + 1] = parameter.name end
  end
  return core.json.encode { type = "object", properties = properties, required = required }
end

return parameters
