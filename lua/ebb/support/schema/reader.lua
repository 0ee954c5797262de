--- Reads values as schemas declare them: the result, or problems with their places.

local core = require "ebb.support.core"
local names = require "ebb.support.names"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"
local types = require "ebb.support.schema.types"
local words = require "ebb.support.schema.words"

local reader = {}

---- Problems ----

--- Returns the words for what a declaration expects, for error texts.
---@param declaration ebb.Schema
---@return string
function reader.expected_of(declaration)
  if declaration.expected then return declaration.expected end
  if declaration.read then return (select(2, declaration.read(nil))) end
  if declaration.choose then return reader.expected_of(declaration.choose(nil)) end
  if not declaration.any_of then return types[declaration.type].expected(declaration) end
  local parts = {}
  for i, each in ipairs(declaration.any_of) do
    parts[i] = reader.expected_of(each)
  end
  return ("%s or %s"):format(table.concat(parts, ", ", 1, #parts - 1), parts[#parts])
end

local function add_problem(context, problem, step)
  problem.path = table.move(context.path, 1, #context.path, 1, {})
  problem.path[#problem.path + 1] = step
  problem.code = problem.code or "argument"
  table.insert(context.problems, problem)
end

local function add_wrong_type(declaration, value, context, expected)
  expected = declaration.expected or expected or reader.expected_of(declaration)
  local hint = declaration.type == "choice" and types.choice.hint(declaration, value) or declaration.hint
  local message = ("expected %s, got %s"):format(expected, words.describe(value))
  add_problem(context, { kind = "type", message = message, hint = hint, expected = expected, value = value })
end

---- Objects ----

local read   -- forward

--- Reads a part of a value.
local function read_part(declaration, value, step, context)
  local path = context.path
  local depth = #path + 1
  path[depth] = step
  local result = read(declaration, value, context)
  path[depth] = nil
  return result
end

---@class ebb.schema.Layout
---@field names string[]        of the fields, sorted
---@field is_plain boolean      each field's result has its own name

--- Prepared fields by the table that declares them: objects of one kind are read by the thousand. Such tables do not
--- change once something was read by them.
---@type table<table, ebb.schema.Layout>
local layouts = setmetatable({}, { __mode = "k" })

local function layout_of(fields)
  local layout = layouts[fields]
  if not layout then
    layout = { names = tables.keys(fields), is_plain = true }
    for _, field in pairs(fields) do layout.is_plain = layout.is_plain and field.as == nil end
    layouts[fields] = layout
  end
  return layout
end

--- The declared field that a key names in another spelling; nil if there is none.
local function other_spelling(declaration, key)
  local camel = declaration.camel and type(key) == "string" and names.camel(key)
  return camel and declaration.fields[camel] and camel or nil
end

local function hint_of_missing(declaration, field)
  return field.hint or field.type == "choice" and reader.expected_of(field) or declaration.hint
end

local NONE = {}

--- The path of the first inner object's field that has the name of an unknown one; nil: none has.
local function inner_path(declaration, key)
  for _, name in ipairs(layout_of(declaration.fields).names) do
    local inner = declaration.fields[name]
    local field = inner.fields and (inner.fields[key] and key or other_spelling(inner, key))
    if field then return name .. "." .. field end
  end
end

--- The hint for an unknown field: a near name, else a place further in, else the names that there are.
local function hint_of_unknown(declaration, key)
  local known = layout_of(declaration.fields).names
  local path = not suggest.nearest(tostring(key), known) and inner_path(declaration, key)
  return path and ("did you mean '%s'?"):format(path) or suggest.hint(key, known) or declaration.hint
end

local function report_unknown(declaration, unknown, context)
  for _, word in ipairs(tables.keys(unknown)) do
    if #context.problems >= context.most then break end
    local key = unknown[word]
    add_problem(context, {
      kind = "unknown", value = key, code = "unknown_name",
      message = "unknown " .. (declaration.noun or "field"),
      hint = hint_of_unknown(declaration, key),
    }, key)
  end
end

--- True if each key of the value is the name of a field: then it is where the field is looked for.
local function has_names_only(fields, value)
  if not layout_of(fields).is_plain then return false end
  for key in pairs(value) do
    if not fields[key] then return false end
  end
  return true
end

--- The keys of the value by declared field, and those that `items` declares, sorted; reports the others.
local function keys_of(declaration, value, context)
  if has_names_only(declaration.fields, value) then return NONE, NONE end
  local keys, results, others, unknown, fields = {}, {}, NONE, nil, declaration.fields
  for key in pairs(value) do
    local name = fields[key] and key or other_spelling(declaration, key)
    local result = name and (fields[name].as or name)
    if name and results[result] then
      add_problem(context, { kind = "value", message = "there are two", value = key }, name)
    elseif name then
      keys[name], results[result] = key, true
    elseif declaration.items and type(key) == "string" then
      if others == NONE then others = {} end
      others[#others + 1] = key
    elseif not (declaration.ignored and declaration.ignored[key]) then
      unknown = unknown or {}
      unknown[tostring(key)] = key
    end
  end
  if unknown then report_unknown(declaration, unknown, context) end
  if others ~= NONE then table.sort(others) end
  return keys, others
end

types.object = {
  expected = function() return "a table" end,
  read = function(declaration, value, context)
    if not words.is_object(value) then return nil end
    local result, keys, others = {}, keys_of(declaration, value, context)
    local fields, problems, most = declaration.fields, context.problems, context.most
    local absent = context.null and core.json.null or NONE
    for _, name in ipairs(layout_of(fields).names) do
      if #problems >= most then return nil end
      local field, key = fields[name], keys[name] or name
      local item, default = value[key], field.default
      if item == absent then item = nil end
      if item ~= nil then
        result[field.as or name] = read_part(field, item, key, context)
      elseif default ~= nil and not declaration.bare then   -- a policy may write into its options
        result[field.as or name] = type(default) == "table" and tables.copy(default) or default
      elseif field.required then
        local problem = { kind = "missing", message = "is missing", expected = reader.expected_of(field),
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

--- Returns how far an alternative came: the depth of its problem, and whether the type was right there.
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
  else result = types[declaration.type].read(declaration, value, context) end
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
function reader.read(declaration, value, settings)
  settings = settings or {}
  local context = {
    read_part = read_part, problems = {}, path = {}, most = settings.most or 1,
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
function reader.message(problem, owner, base, joined)
  local place = words.place(problem.path, base)
  local separator = joined and (place:sub(1, 1) == "[" and "" or ".") or ": "
  local where = place == "" and owner or owner .. separator .. place
  return (problem.kind == "missing" and "%s %s" or "%s: %s"):format(where, problem.message)
end

--- Words a problem as `message` does but without an owner, its hint in parentheses: for lists of problems in files.
---@param problem { path: (string|integer)[], message: string, hint?: string, kind?: string }
---@return string
function reader.say(problem)
  local place, hint = words.place(problem.path, 0), problem.hint and (" (%s)"):format(problem.hint) or ""
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
function reader.check(declaration, value, owner, settings)
  local result, problems = reader.read(declaration, value, settings)
  if not problems then return result end
  local problem = problems[1]
  settings = settings or {}
  local message = reader.message(problem, owner, settings.base, settings.joined)
  local refusal = core.error(settings.code or problem.code, message, problem.hint)
  refusal.path = problem.path
  return error(refusal, 0)
end

return reader
