--- Schemas: what values must be, declared as tables and checked in one place.
--
--     local TRIM = {
--       budget = { type = "integer", min = 0, unit = "tokens" },
--       roles = { type = "list", items = { type = "choice", choices = { "user", "assistant" } } },
--       prices = { type = "object", fields = { input = { type = "number", required = true } } },
--     }
--     local values = schema.options(TRIM, options, "trim")     raises {code, message, hint}
--
--     trim: roles[2]: expected one of user, assistant, got 'usr'      hint: did you mean 'user'?
--     trim has no option 'bugdet'                                     hint: did you mean 'budget'?
--
-- Results are new tables: fields with defaults are filled in, whole floats become
-- integers. `read` returns problems instead of raising: for files, which know lines,
-- and for models, which are told all that is wrong at once.

local core = require "ebb.support.core"
local names = require "ebb.support.names"
local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"
local traceback = require "ebb.support.traceback"

local schema = {}

---@class ebb.Schema             What one value must be
---@field type? "integer"|"number"|"string"|"boolean"|"choice"|"list"|"table"|"object"|"function"|"handle"|"any"
---@field class? string          of handles: "Conversation", as core.type says it
---@field any_of? ebb.Schema[]   in place of type: the first that the value fits
---@field read? fun(value: any): any, string?   in place of type: the result, or nil and what is expected
---@field choose? fun(value: any): ebb.Schema    in place of type: the schema by the value
---@field check? fun(result: any): string?, string?, string?   nil, or message, hint, code
---@field into? fun(result: any): any   called last, on what is right: what the result becomes
---@field expected? string       replaces the words for what is expected
---@field default? any           of an absent field; each result has a copy
---@field required? boolean      a field that must be present
---@field as? string             the field's name in the result
---@field min? number            of numbers
---@field max? number            of numbers; of lists and strings: the largest length
---@field unit? string           of numbers: "tokens"
---@field utf8? boolean          of strings
---@field filled? boolean        of strings: not empty
---@field choices? any[]
---@field shared? boolean        of tables among options: the result is the value itself, no copy
---@field items? ebb.Schema      of a list; of an object: of all keys that are not declared
---@field fields? table<string, ebb.Schema>     of an object
---@field camel? boolean         of an object: fields are declared in camelCase, and snake_case is read too
---@field ignored? table<string, boolean>       of an object: keys that are skipped
---@field noun? string           of an object: what its keys are called; default: "field"
---@field hint? string           of a wrong type; of an object also of missing and unknown fields
---@field help? string

---@class ebb.SchemaProblem
---@field kind "type"|"unknown"|"missing"|"value"
---@field path (string|integer)[]   from the outermost value; places of lists count from 1
---@field message string            without the place
---@field hint? string
---@field code string               of the refusal
---@field expected? string          of "type" and "missing"
---@field value? any                the wrong value

---@class ebb.SchemaContext
---@field problems ebb.SchemaProblem[]
---@field path (string|integer)[]
---@field most integer              problems that are collected
---@field null boolean              JSON's null counts as absent
---@field options boolean           of a call: a string stands for a list without `items`, tables are copied

local QUOTED_BYTES_MAX = 40   -- of a string that an error text quotes
local ESCAPES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

---- Words ----

local function is_list(value)
  if type(value) ~= "table" or getmetatable(value) == "json.raw" then return false end
  return getmetatable(value) == "json.array" or rawlen(value) > 0 or next(value) == nil
end

local function is_object(value)
  local meta = type(value) == "table" and getmetatable(value)
  return type(value) == "table" and meta ~= "json.raw" and meta ~= "json.array" and rawlen(value) == 0
end

--- A noun with its article: "a Batch", "an object".
local function with_article(noun) return (noun:find "^[aeioAEIO]" and "an " or "a ") .. noun end

--- A string in quotes on one line of UTF-8: a long one is cut, controls are escaped. Quotes inside stay.
local function quote(text)
  local cut = #text > QUOTED_BYTES_MAX
  local valid = core.utf8(cut and text:sub(1, QUOTED_BYTES_MAX) or text)
  local line = valid:gsub("[\0-\31\127]", function(control)
    return ESCAPES[control] or ("\\x%02X"):format(control:byte())
  end)
  return ("'%s%s'"):format(line, cut and "..." or "")
end

--- JSON that is kept as text: numbers beyond those of Lua, and messages.
local function describe_raw(text)
  if text:find '^"' then return quote((core.json.decode(text))) end
  if text:find "^[%[{]" then return text:find "^%[" and "a list" or "a table" end
  return #text <= QUOTED_BYTES_MAX and text or quote(text)
end

--- A value as error texts describe it: 'text', 5, true, null, a list, a table, a Message.
---@param value any
---@return string
function schema.describe(value)
  local kind = type(value)
  if value == core.json.null then return "null" end
  if kind == "number" then return value ~= value and "nan" or core.tostring(value) end
  if kind == "string" then return quote(value) end
  if kind == "table" and getmetatable(value) == "json.raw" then return describe_raw(core.json.encode(value)) end
  if kind == "table" and (getmetatable(value) == "json.array" or rawlen(value) > 0) then return "a list" end
  if kind == "table" then return "a table" end
  if kind == "userdata" then return with_article(core.type(value) or kind) end
  return (kind == "boolean" or kind == "nil") and tostring(value) or with_article(kind)
end

--- "messages[3].role"
---@param path (string|integer)[]
---@param base? integer      number of a list's first place: 1, or 0 for JSON
---@return string
function schema.place(path, base)
  local steps = {}
  for i, step in ipairs(path) do
    steps[i] = math.type(step) and ("[%d]"):format(step - 1 + (base or 1)) or (i > 1 and "." or "") .. tostring(step)
  end
  return table.concat(steps)
end

local function number_words(noun)
  return function(declaration)
    local min, max, unit = declaration.min, declaration.max, declaration.unit
    local words = noun .. (unit and " of " .. unit or "")
    if min and max then return ("%s from %s to %s"):format(words, core.tostring(min), core.tostring(max)) end
    if min then return ("%s, %s or more"):format(words, core.tostring(min)) end
    return max and ("%s, at most %s"):format(words, core.tostring(max)) or words
  end
end

local function choice_words(declaration)
  local words = {}
  for i, choice in ipairs(declaration.choices) do
    words[i] = tostring(choice)
  end
  return words
end

---- Types: `read` returns the result, or nil if the value does not fit ----

local TYPES = {}

local function in_range(declaration, value)
  return value >= (declaration.min or -math.huge) and value <= (declaration.max or math.huge)
end

TYPES.integer = {
  expected = number_words "a whole number",
  read = function(declaration, value)
    local integer = type(value) == "number" and math.tointeger(value) or nil
    return integer and in_range(declaration, integer) and integer or nil
  end,
  from_text = core.tonumber,
}

TYPES.number = {
  expected = number_words "a number",
  read = function(declaration, value)
    local finite = type(value) == "number" and value == value and math.abs(value) ~= math.huge
    return finite and in_range(declaration, value) and value or nil
  end,
  from_text = function(text) return math.tointeger(core.tonumber(text)) or core.tonumber(text) end,
}

TYPES.string = {
  expected = function(declaration)
    local filled = declaration.filled and "1 to " or "at most "
    if declaration.max then return ("a string of %s%d bytes"):format(filled, declaration.max) end
    return declaration.filled and "a string that is not empty" or declaration.utf8 and "a string in UTF-8" or "a string"
  end,
  read = function(declaration, value)
    local fits = type(value) == "string" and #value <= (declaration.max or math.huge)
      and not (declaration.filled and value == "") and not (declaration.utf8 and not utf8.len(value))
    return fits and value or nil
  end,
  from_text = function(text) return text end,
}

local FLAGS = { ["true"] = true, yes = true, ["1"] = true, ["false"] = false, no = false, ["0"] = false }

TYPES.boolean = {
  expected = function() return "true or false" end,
  read = function(_, value)
    if type(value) == "boolean" then return value end
  end,
  from_text = function(text) return FLAGS[text:lower()] end,
}

TYPES.choice = {
  expected = function(declaration) return "one of " .. table.concat(choice_words(declaration), ", ") end,
  read = function(declaration, value)
    if tables.contains(declaration.choices, value) then return value end
  end,
  hint = function(declaration, value)
    local nearest = suggest.nearest(tostring(value), choice_words(declaration))
    return nearest and ("did you mean '%s'?"):format(nearest)
  end,
  from_text = function(text, declaration)   -- in the type of the choice, so that "3" finds 3
    for _, choice in ipairs(declaration.choices) do
      if tostring(choice) == text then return choice end
    end
    return text
  end,
}

local read   -- forward

--- Reads a part of a value.
local function read_part(declaration, value, step, context)
  table.insert(context.path, step)
  local result = read(declaration, value, context)
  table.remove(context.path)
  return result
end

TYPES.list = {
  expected = function(declaration)
    return declaration.max and ("a list of at most %d"):format(declaration.max) or "a list"
  end,
  read = function(declaration, value, context)
    if context.options and not declaration.items and type(value) == "string" then value = { value } end
    if not is_list(value) or rawlen(value) > (declaration.max or math.huge) then return nil end
    local list = {}
    for i = 1, rawlen(value) do
      if #context.problems >= context.most then return nil end
      local item = rawget(value, i)
      if declaration.items then item = read_part(declaration.items, item, i, context) end
      list[i] = item
    end
    return getmetatable(value) == "json.array" and core.json.array(list) or list
  end,
  from_text = function(text)
    if text:find "^%s*%[" then return (core.json.decode(text)) end
    local items = {}
    for item in text:gmatch "[^,]+" do
      items[#items + 1] = item
    end
    return items
  end,
}

TYPES.table = {
  expected = function() return "a table" end,
  read = function(declaration, value, context)
    if type(value) ~= "table" or getmetatable(value) == "json.raw" then return nil end
    return context.options and not declaration.shared and tables.copy(value) or value
  end,
  from_text = function(text) return (core.json.decode(text)) end,
}

TYPES["function"] = {
  expected = function() return "a function" end,
  read = function(_, value) return type(value) == "function" and value or nil end,
}

TYPES.handle = {
  expected = function(declaration) return with_article(declaration.class) end,
  read = function(declaration, value) return core.type(value) == declaration.class and value or nil end,
}

TYPES.any = { expected = function() return "a value" end, read = function(_, value) return value end }

---- Problems ----

local function expected_of(declaration)
  if declaration.expected then return declaration.expected end
  if declaration.read then return (select(2, declaration.read(nil))) end
  if declaration.choose then return expected_of(declaration.choose(nil)) end
  if not declaration.any_of then return TYPES[declaration.type].expected(declaration) end
  local words = {}
  for i, each in ipairs(declaration.any_of) do
    words[i] = expected_of(each)
  end
  return ("%s or %s"):format(table.concat(words, ", ", 1, #words - 1), words[#words])
end

local function add_problem(context, problem, step)
  problem.path = table.move(context.path, 1, #context.path, 1, {})
  problem.path[#problem.path + 1] = step
  problem.code = problem.code or "argument"
  table.insert(context.problems, problem)
end

local function add_wrong_type(declaration, value, context, expected)
  expected = declaration.expected or expected or expected_of(declaration)
  local hint = declaration.type == "choice" and TYPES.choice.hint(declaration, value) or declaration.hint
  local message = ("expected %s, got %s"):format(expected, schema.describe(value))
  add_problem(context, { kind = "type", message = message, hint = hint, expected = expected, value = value })
end

---- Objects ----

--- The declared field that a key names; nil if there is none.
local function field_of(declaration, key)
  if declaration.fields[key] then return key end
  local camel = declaration.camel and type(key) == "string" and names.camel(key)
  return camel and declaration.fields[camel] and camel or nil
end

local function hint_of_missing(declaration, field)
  return field.hint or field.type == "choice" and expected_of(field) or declaration.hint
end

--- The keys of the value by declared field, and those that `items` declares; reports the others.
local function keys_of(declaration, value, context)
  local keys, others, unknown, results = {}, {}, {}, {}
  for key in pairs(value) do
    local name = field_of(declaration, key)
    local result = name and (declaration.fields[name].as or name)
    if name and results[result] then
      add_problem(context, { kind = "value", message = "there are two", value = key }, name)
    elseif name then
      keys[name], results[result] = key, true
    elseif declaration.items and type(key) == "string" then
      others[#others + 1] = key
    elseif not (declaration.ignored and declaration.ignored[key]) then
      unknown[tostring(key)] = key
    end
  end
  for _, word in ipairs(next(unknown) ~= nil and tables.keys(unknown) or {}) do
    if #context.problems >= context.most then break end
    local key = unknown[word]
    add_problem(context, {
      kind = "unknown", value = key, code = "unknown_name",
      message = "unknown " .. (declaration.noun or "field"),
      hint = suggest.hint(key, tables.keys(declaration.fields)) or declaration.hint,
    }, key)
  end
  table.sort(others)
  return keys, others
end

TYPES.object = {
  expected = function() return "a table" end,
  read = function(declaration, value, context)
    if not is_object(value) then return nil end
    local result, keys, others = {}, keys_of(declaration, value, context)
    for _, name in ipairs(tables.keys(declaration.fields)) do
      if #context.problems >= context.most then return nil end
      local field, item = declaration.fields[name], value[keys[name] or name]
      if context.null and item == core.json.null then item = nil end
      if item ~= nil then
        result[field.as or name] = read_part(field, item, keys[name] or name, context)
      elseif field.default ~= nil then
        result[field.as or name] = tables.copy(field.default)   -- a policy may write into its options
      elseif field.required then
        local problem = { kind = "missing", message = "is missing", expected = expected_of(field),
          hint = hint_of_missing(declaration, field) }
        add_problem(context, problem, name)
      end
    end
    for _, key in ipairs(others) do
      if #context.problems >= context.most then return nil end
      result[key] = read_part(declaration.items, value[key], key, context)
    end
    return result
  end,
}

---- Reading ----

--- How far an alternative came: the depth of its problem, and whether the type was right there.
local function reach_of(problem)
  return 2 * #problem.path + (problem.kind == "type" and 0 or 1)
end

--- The first alternative that fits; else the problems of the one that came furthest.
local function read_any(declaration, value, context)
  local furthest, reach = {}, 2 * #context.path
  for _, each in ipairs(declaration.any_of) do
    local inner = setmetatable({ problems = {} }, { __index = context })
    local result = read(each, value, inner)
    if #inner.problems == 0 then return result end
    if reach_of(inner.problems[1]) > reach then furthest, reach = inner.problems, reach_of(inner.problems[1]) end
  end
  table.move(furthest, 1, #furthest, #context.problems + 1, context.problems)
  return nil
end

function read(declaration, value, context)
  local before = #context.problems
  local result, expected
  if declaration.read then result, expected = declaration.read(value)
  elseif declaration.any_of then result = read_any(declaration, value, context)
  elseif declaration.choose then result = read(declaration.choose(value), value, context)
  else result = TYPES[declaration.type].read(declaration, value, context) end
  if #context.problems > before then return nil end
  if result == nil then
    add_wrong_type(declaration, value, context, expected)
  elseif declaration.check then
    local message, hint, code = declaration.check(result)
    if message then add_problem(context, { kind = "value", message = message, hint = hint, code = code }) end
  end
  if result ~= nil and declaration.into and #context.problems == before then return declaration.into(result) end
  return result
end

--- The value as declared, or nil and what is wrong, at least one problem.
---@param declaration ebb.Schema
---@param value any
---@param settings? { most?: integer, null?: boolean, options?: boolean }   see ebb.SchemaContext; most: 1
---@return any result
---@return ebb.SchemaProblem[]? problems
function schema.read(declaration, value, settings)
  settings = settings or {}
  local context = {
    problems = {}, path = {}, most = settings.most or 1,
    null = settings.null or false, options = settings.options or false,
  }
  local result = read(declaration, value, context)
  if #context.problems > 0 then return nil, context.problems end
  return result
end

--- "trim: roles[2]: expected ..."; of a missing field "trim: budget is missing".
---@param problem ebb.SchemaProblem
---@param owner string
---@param base? integer         number of a list's first place: 1, or 0 for JSON
---@param joined? boolean       the owner is a place, too: "operations[0]" gives "operations[0].keepLast"
---@return string
function schema.message(problem, owner, base, joined)
  local place = schema.place(problem.path, base)
  local separator = joined and (place:sub(1, 1) == "[" and "" or ".") or ": "
  local where = place == "" and owner or owner .. separator .. place
  return (problem.kind == "missing" and "%s %s" or "%s: %s"):format(where, problem.message)
end

--- The same without an owner, the hint in parentheses: for lists of problems in files.
---@param problem { path: (string|integer)[], message: string, hint?: string, kind?: string }
---@return string
function schema.say(problem)
  local place, hint = schema.place(problem.path, 0), problem.hint and (" (%s)"):format(problem.hint) or ""
  local separator = place == "" and "" or problem.kind == "missing" and " " or ": "
  return place .. separator .. problem.message .. hint
end

--- The value as declared; raises what is wrong, an error whose `path` leads to it.
---@param declaration ebb.Schema
---@param value any
---@param owner string          first words of the message
---@param settings? { null?: boolean, options?: boolean, base?: integer, joined?: boolean, code?: string }
---    see `read` and `message`; code: of all refusals
---@return any result
function schema.check(declaration, value, owner, settings)
  local result, problems = schema.read(declaration, value, settings)
  if not problems then return result end
  local problem = problems[1]
  settings = settings or {}
  local message = schema.message(problem, owner, settings.base, settings.joined)
  local refusal = core.error(settings.code or problem.code, message, problem.hint)
  refusal.path = problem.path
  return error(refusal, 0)
end

---- Options ----

--- The options of a call: declared values and defaults. Raises what is wrong.
---@param fields? table<string, ebb.Schema>
---@param options any           nil: none
---@param owner string          the function, or "policy keep_recent"
---@param example? string       hint where options are not a table: how they are written
---@return table values
function schema.options(fields, options, owner, example)
  fields = fields or {}
  if options == nil then options = {} end
  if type(options) ~= "table" or getmetatable(options) == "json.raw" then
    local message = ("%s: expected a table of options, got %s"):format(owner, schema.describe(options))
    return refuse("argument", message, example)
  end
  local declaration = { type = "object", fields = fields, expected = "a table of options" }
  local values, problems = schema.read(declaration, options, { options = true })
  if not problems then return values end
  local problem = problems[1]
  local message = schema.message(problem, owner)
  if problem.kind == "unknown" and #problem.path == 1 then
    message = ("%s has no option %s"):format(owner, schema.describe(problem.value))
  elseif problem.kind == "type" and #problem.path == 0 then
    problem.hint = example
  end
  return refuse(problem.code, message, problem.hint)
end

--- Types that authors of policies, filters and processors may declare.
local PUBLIC = { "integer", "number", "string", "boolean", "choice", "list", "table" }

local DECLARATION = {
  type = "object", expected = "{ type = ..., default = ... }",
  fields = {
    type = { type = "choice", choices = PUBLIC, required = true }, default = { type = "any" }, help = { type = "any" },
    min = { type = "number" }, max = { type = "number" }, choices = { type = "list" }, required = { type = "boolean" },
  },
  check = function(declaration)
    local is_number = declaration.type == "integer" or declaration.type == "number"
    if (declaration.min or declaration.max) and not is_number then return "only numbers have min and max" end
    if declaration.type == "choice" and not declaration.choices then return "a choice needs choices = { ... }" end
    if declaration.default == nil then return nil end
    if declaration.required then return "a required option has no default" end
    local _, problems = schema.read(declaration, declaration.default, { options = true })
    if problems then return "default: " .. problems[1].message, problems[1].hint end
  end,
}

--- Checks declarations that an author wrote; raises {code = "shape"}.
---@param fields? table<string, ebb.OptionDeclaration>
---@param owner string
---@param member? string        the author's table has them under this name; default: options
function schema.declare(fields, owner, member)
  if fields == nil then return end
  local where = ("%s: %s"):format(owner, member or "options")
  if type(fields) ~= "table" then refuse("shape", where .. ": expected a table of declarations") end
  for _, name in ipairs(tables.keys(fields)) do
    schema.check(DECLARATION, fields[name], ("%s.%s"):format(where, name), { code = "shape" })
  end
end

--- Refuses with the owner in front, unless the text begins with it.
local function refuse_as(owner, code, text, hint)
  local is_named = text:sub(1, #owner + 1) == owner .. ":"
  refuse(code, is_named and text or ("%s: %s"):format(owner, text), hint)
end

--- Asks an author's `check` about options that are right one by one; refuses what it says. A check that fails, or
--- answers something else, is refused with `code`.
---@param check? fun(options: table): string|boolean?, string?   nil, false or true: they go together; a text, or nil
---    and a text: what is wrong
---@param options table
---@param owner string
---@param code string
function schema.check_together(check, options, owner, code)
  if not check then return end
  local ok, answer, why = traceback.call(check, check, options)
  if not ok then return refuse_as(owner, why == "memory" and why or code, answer) end
  local complaint = answer or why
  if complaint == nil or type(complaint) == "boolean" then return end
  if type(complaint) ~= "string" or complaint == "" then
    refuse_as(owner, code, "check returned " .. schema.describe(complaint), "nil, or a text that says what is wrong")
  end
  refuse_as(owner, "argument", complaint)
end

--- The options of an author's policy or filter: as declared, and as its `check` takes them together.
---@param plugin { options?: table<string, ebb.OptionDeclaration>, check?: function }
---@param options any           nil: none
---@param owner string
---@param code string           of the error if `check` itself fails
---@return table values
function schema.options_of(plugin, options, owner, code)
  local values = schema.options(plugin.options, options, owner)
  schema.check_together(plugin.check, values, owner, code)
  return values
end

---- Text of the command line ----

--- The value that a text stands for; nil if it stands for none. `read` has the last word.
---@param declaration ebb.Schema
---@param text string
---@return any value
function schema.from_text(declaration, text)
  return TYPES[declaration.type].from_text(text, declaration)
end

--- "key=value,key=value" as a table of texts. A piece without = belongs to the
--- value before it, so that a list may have commas.
local function split(text, owner)
  local texts, last = {}, nil
  for piece in (text .. ","):gmatch "(.-)," do
    local key, value = piece:match "^%s*([%a_][%w_%-]*)%s*=(.*)$"
    if key then
      last = (key:gsub("%-", "_"))
      if texts[last] then refuse("argument", ("%s: %s stands there twice"):format(owner, last)) end
      texts[last] = value
    elseif last then
      texts[last] = texts[last] .. "," .. piece
    elseif piece ~= "" then
      refuse("argument", ("%s: expected key=value, got '%s'"):format(owner, piece))
    end
  end
  return texts
end

--- Options as they stand on the command line: "keep=3,mode=last". Raises what is wrong.
---@param fields? table<string, ebb.OptionDeclaration>
---@param text string
---@param owner string
---@return table options        without defaults, for a call
function schema.parse(fields, text, owner)
  local options = split(text, owner)
  for name, word in pairs(options) do
    local field = fields and fields[name]
    local value = word
    if field then value = schema.from_text(field, word) end
    if value == nil then
      refuse("argument", ("%s: %s: expected %s, got '%s'"):format(owner, name, expected_of(field), word),
        word:find ",$" and "key=value follows behind a comma" or nil)
    end
    options[name] = value
  end
  schema.options(fields, options, owner)
  return options
end

return schema
