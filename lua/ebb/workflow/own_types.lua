--- Types of nodes that a workflow brings along: a table each, or Lua files that return some.
--
--     return {
--       name = "tag", summary = "marks messages that have a word",
--       fields = { word = { type = "string", required = true, help = "what to look for" } },
--       check = function(options) ... end,        nil, or what is wrong
--       run = function(chat, options) ... end,    an error, or nil and a reason, ends the run
--     }
--
-- A file runs in the program's own Lua state, as the files of script nodes do. Where a workflow in JSON is only looked
-- at, it runs in a sandbox; if it cannot, its types stay unknown.

local locate = require "ebb.workflow.locate"
local loader = require "ebb.sandbox.loader"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local script_file = require "ebb.sandbox.script_file"
local step = require "ebb.workflow.step"
local tables = require "ebb.support.tables"

local own_types = {}

local HINT = 'return { name = "tag", fields = { word = { type = "string" } }, run = function(chat, options) ... end }'
local TEXT = { type = "string" }

local DECLARATION = {
  type = "object", expected = "a type of nodes", hint = HINT,
  fields = {
    name = {
      type = "string", required = true,
      check = function(name)
        if not name:find "^%l[%l%d_]*$" then return ("expected a name in snake_case, got '%s'"):format(name) end
      end,
    },
    summary = TEXT, example = TEXT, fields = { type = "any" }, check = { type = "function" },
    run = { type = "function", required = true, hint = HINT },
  },
}

--- A value that a field takes, as Lua source.
local function sample_of(field)
  if field.choices then return ("%q"):format(field.choices[1]) end
  local samples = { integer = field.min or 1, number = field.min or 1, boolean = "true", list = "{}", table = "{}" }
  return tostring(samples[field.type] or '"..."')
end

--- A node of the type with all fields that it needs.
local function example_of(declaration)
  local words = { ('type = "%s"'):format(declaration.name) }
  for _, name in ipairs(tables.keys(declaration.fields or {})) do
    local field = declaration.fields[name]
    if field.required then words[#words + 1] = ("%s = %s"):format(name, sample_of(field)) end
  end
  return ("{ %s }"):format(table.concat(words, ", "))
end

--- The type as nodes are prepared by it.
---@param declaration table
---@return ebb.NodeType
local function type_of(declaration)
  local name, check, run = declaration.name, declaration.check, declaration.run
  return {
    is_own = true,
    summary = declaration.summary or "a type of the workflow's own",
    example = declaration.example or example_of(declaration), fields = declaration.fields or {},
    prepare = function(options)
      schema.check_together(check, options, name, "script")
      return function(chat) return step.call(run, chat, options) end
    end,
  }
end

--- Runs a file of types: what it returns; nil, and a line for `unknown`, if its types stay unknown.
local function load_file(path, folder, place, unknown)
  local load_it = place.looks and function() return loader.load(path, nil, { noun = "type" }, folder) end
    or function() return script_file.load(path, folder) end
  local value, problem = load_it()
  if place.looks and problem and problem.code == "script" then
    table.insert(unknown, ("its types, for it needs more than a sandbox has: %s"):format(problem.message))
    return nil
  end
  if problem then error(problem, 0) end
  if type(value) ~= "table" then
    refuse("shape", ("%s: expected a type of nodes or a list of them, the file returned %s"):format(path, type(value)),
      HINT)
  end
  return value
end

local function add(types, declaration, where)
  local name = type(declaration) == "table" and declaration.name
  if type(name) == "string" then where = ("%s: type '%s'"):format(where, name) end
  schema.check(DECLARATION, declaration, where, { code = "shape" })
  schema.declare(declaration.fields, where, "fields")
  for _, common in ipairs { "type", "id", "name" } do
    if declaration.fields and declaration.fields[common] then
      refuse("shape", ("%s: fields.%s: every node has this field already"):format(where, common))
    end
  end
  if rawget(types, name) then refuse("shape", where .. " is there already", "another name") end
  types[name] = type_of(declaration)
end

--- Adds the types of a workflow; raises for mistakes in them.
---@param types table<string, ebb.NodeType>   by name
---@param sources (string|table)[]            files, and types as they are
---@param place ebb.WorkflowPlace
---@param unknown? string[]     gets what stays unknown in a look
---@return boolean is_open      the types of a file are among that
function own_types.add(types, sources, place, unknown)
  if type(sources) ~= "table" or #sources == 0 and next(sources) ~= nil then
    refuse("argument", "types: expected a list of types and Lua files", 'types = { "tag.lua" }')
  end
  local is_open = false
  for i, source in ipairs(sources) do
    local where, value = ("types[%d]"):format(i), source
    if type(source) == "string" then
      local path, folder = locate.path(source, place)
      where, value = path, load_file(path, folder, place, unknown)
      is_open = is_open or value == nil
    end
    local list = type(value) == "table" and value.name == nil and value.run == nil and value or { value }
    for _, declaration in ipairs(list) do
      add(types, declaration, where)
    end
  end
  return is_open
end

--- Lets types that are named and not there be looked for in the user's folder: NAME.lua, which returns the type, or a
--- list with it.
---@param types table<string, ebb.NodeType>   by name
---@param looks boolean         the workflow is only looked at: a file that needs more than a sandbox has stays unknown
function own_types.find_by_name(types, looks)
  setmetatable(types, { __index = function(_, name)
    local path = type(name) == "string" and loader.find(name, "types")
    if not path then return nil end
    local declared = {}
    local value = load_file(path, nil, { looks = looks }, {})
    if value == nil then return { is_own = true, prepare = function() return function() return true end end } end
    for _, declaration in ipairs(value.name == nil and value.run == nil and value or { value }) do
      add(declared, declaration, path)
    end
    if not declared[name] then
      refuse("shape", ("%s: it has no type '%s'"):format(path, name),
        ("a file in this folder is found by its name: name = %q"):format(name))
    end
    types[name] = declared[name]
    return declared[name]
  end })
end

return own_types
