--- Pages of what is declared by schemas: workflow nodes, models.

local ebb = require "ebb"
local markdown = require "reference.markdown"
local model_check = require "ebb.models.check"
local schema = require "ebb.support.schema"
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

local function sorted_keys(list)
  local keys = {}
  for key in pairs(list) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

--- A row per field; those of objects in fields follow as "object.field".
local function add_rows(rows, fields, prefix, spelling)
  for _, name in ipairs(sorted_keys(fields)) do
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
---@param spelling? fun(name: string): string    how names stand in the file; default: as declared
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
A workflow is a Lua file that returns a list of nodes, or `{name = ..., nodes = {...}}`; `ebb run FILE --input CHAT`
runs them in order. All nodes are checked before the first one runs; each leaves batches of its own. How to write one:
[your own node](../guide/your-own-processor.md#a-workflow-node).]], "Every node may have:\n",
    schemas.table(workflow.common) }
  for _, name in ipairs(sorted_keys(types)) do
    local declared = types[name]
    parts[#parts + 1] = ("## %s\n"):format(name)
    parts[#parts + 1] = markdown.sentence(declared.summary)
    parts[#parts + 1] = markdown.block("lua", declared.example)
    parts[#parts + 1] = declared.fields and schemas.table(declared.fields)
      or "Its fields are those of the [operation](operations.md)."
  end
  return markdown.page("Workflow nodes", parts)
end

---- Models ----

---@return string
function schemas.models()
  return table.concat({ "## Models\n", [[
`~/.config/ebb/models.json` has models by name; `ebb.models` in Lua has the same fields in snake_case. Of a known model
only the fields that the file names are changed.
]], schemas.table(model_check.MODEL.fields, camel) }, "\n")
end

return schemas
