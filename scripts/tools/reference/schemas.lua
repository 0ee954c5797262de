--- Pages of what is declared by schemas: workflow nodes, files of agents and models.

local ebb = require "ebb"
local files = require "ebb.pipeline.files"
local markdown = require "reference.markdown"
local lorebook_schema = require "ebb.lorebook.schema"
local model_check = require "ebb.models.check"
local preset_schema = require "ebb.injection.schema"
local rule_schema = require "ebb.rules.schema"
local schema = require "ebb.support.schema"
local tables = require "ebb.support.tables"
local workflow = require "ebb.workflow"

local schemas = {}

local code = markdown.code

--- A value of a type that no schema takes, so that each says what it expects.
local STRANGER = coroutine.create(function() end)

local function expected_of(declaration)
  local _, problems = schema.read(declaration, STRANGER)
  return problems and problems[1].expected or ""
end

local function default_of(declaration)
  if declaration.required then return "required" end
  local value = declaration.default
  if value == nil or type(value) == "table" and next(value) == nil then return "" end
  return code(ebb.json.encode(value))
end

--- A row per field; those of objects in fields follow as "object.field".
local function add_rows(rows, fields, prefix, spelling)
  for _, name in ipairs(tables.keys(fields)) do
    local declaration = fields[name]
    local path = prefix .. spelling(name)
    rows[#rows + 1] = { code(path), expected_of(declaration), default_of(declaration), declaration.help or "" }
    local inner = declaration.items or declaration
    if inner.fields then
      add_rows(rows, inner.fields, path .. (declaration.items and "[]" or "") .. ".", spelling)
    end
  end
  return rows
end

local TITLES = { "field", "value", "default", "meaning" }

--- The fields of an object as a table.
---@param fields table<string, ebb.Schema>
---@param spelling? fun(name: string): string    how names are spelled in the file; default: as declared
---@return string
function schemas.table(fields, spelling)
  return markdown.table(TITLES, add_rows({}, fields, "", spelling or function(name) return name end))
end

--- snake_case as JSON files spell it.
local function camel(name) return (name:gsub("_(%l)", string.upper)) end

---- Nodes ----

---@return string
function schemas.nodes()
  local types, parts = workflow.types(), { [[
A workflow is a list of nodes, or `{nodes = {...}, edges = {...}, name = ..., types = {...}, tools = {...}}`: a Lua
file that returns it, or JSON. `ebb run FILE CHAT` runs the nodes in order, or as the edges lead; all are checked
before the first one runs. A node that changes which messages are visible makes a new batch, to which a rollback
leads; appending and marking make none. Files that nodes name are looked for next to the workflow's own file, then in
the current folder. `types` are
[types of your own](../guide/your-own-processor.md#a-type-of-node). How to write a workflow:
[Workflows](../guide/workflows.md).]], "Every node may have:\n",
    schemas.table(workflow.common) }
  for _, name in ipairs(tables.keys(types)) do
    local declared = types[name]
    parts[#parts + 1] = ("## %s\n"):format(name)
    parts[#parts + 1] = markdown.sentence(declared.summary)
    parts[#parts + 1] = markdown.block("lua", declared.example)
    parts[#parts + 1] = declared.fields and schemas.table(declared.fields)
      or "Its fields are those of the [operation](operations.md)."
  end
  return markdown.page("Workflow nodes", parts)
end

---- Agents, models, users ----

--- Describes the values of a file's field, in the words in which the reader refuses another value.
local function kind_of(file, field)
  local ok, problem = pcall(files.read, file, { [field] = STRANGER })
  assert(not ok, ("%s.%s takes anything"):format(file, field))
  return tostring(problem.message):match "expected (.-), got" or ""
end

local function file_table(kind)
  local form, rows, other = files.FORMS[kind], {}, {}
  for _, alias in ipairs(tables.keys(form.aliases)) do
    local field = form.aliases[alias]
    other[field] = (other[field] and other[field] .. ", " or "") .. alias
  end
  for i, field in ipairs(tables.keys(form.fields)) do
    local help = assert(form.help[field], field)
    if other[field] then help = ("%s (also called %s)"):format(help, other[field]) end
    rows[i] = { code(camel(field)), kind_of(kind, field), help }
  end
  return markdown.table({ "field", "value", "meaning" }, rows)
end

---@return string
function schemas.files()
  return markdown.page("Agent and model files", { [[
Files are JSON with names in camelCase, or Lua files that return a table with names in snake_case. A wrong field is
refused with its line. [Building requests](../guide/pipeline.md) shows an agent at work.]],
    "## Agents\n", "`--agent FILE`, `ebb.pipeline { agent = ... }`.", file_table "agent",
    "## Model files\n", "`--model-config FILE`, `ebb.pipeline { model_config = ... }`.", file_table "model",
    "## User profiles\n", "`--user-profile FILE`, `ebb.pipeline { user_profile = ... }`.", file_table "user",
    "## Preset messages\n", "Members of an agent's `presets`.", schemas.table(preset_schema.MESSAGE.fields),
    "## Lorebooks\n", "`lorebooks` of agents and users, and files of `--lorebook`, are lists of books:",
    schemas.table(lorebook_schema.BOOK.fields), "An entry:\n", schemas.table(lorebook_schema.ENTRY.fields),
    "## Rules\n", "`rules` of agents and users, and of the processor regex-processor, are a list of presets of rules:",
    schemas.table(rule_schema.PRESET.fields), "A rule:\n", schemas.table(rule_schema.RULE.fields),
    "## Models\n", [[
`~/.config/ebb/models.json` has models by name; `ebb.models` in Lua has the same fields in snake_case. Of a model that
Ebb lists, or whose family it knows, only the fields that the file names are changed; an `output` that does not fit into
another `window` becomes a quarter of it.

The member `imported` of a model has the fields that `ebb models import` and `update` took from a list: its prices count
unless prices are next to it, its other fields where neither the file nor Ebb has one
([Costs](../guide/costs.md#prices)).]], schemas.table(model_check.MODEL.fields, camel) })
end

return schemas
