--- The user's own models: ebb/models.json in the XDG config folder, and what providers reported of them.
--
--     { "my-model": { "encoding": "o200k_base", "window": 32768 },
--       "gpt-4o": { "prices": { "input": 2.5, "cachedInput": 1.25, "output": 10 } },
--       "gpt-5.1": { "imported": { "prices": { "input": 1.25, "output": 10 } } } }
--
-- `imported` is what `ebb models import` and `update` write. Each field of a model, price and ability is the first of:
-- what the user wrote next to `imported`, imported prices, what Ebb knows of the model or its family, what is imported.

local core = require "ebb.support.core"
local ebb = require "ebb"
local margins = require "ebb.models.margins"
local models = require "ebb.models"
local schema = require "ebb.support.schema"

--- The command remembers what providers counted; a host of the library does not.
function margins.narrowed(...) return require("ebb.models.usage_reports").margin(...) end

local model_file = require("ebb.cli.io.entries_file").new("models.json", "models", ebb.models)

local ENTRY = {
  type = "object", expected = "a table {encoding, window, output}", items = { type = "any" },
  fields = { imported = { type = "object", items = { type = "any" }, fields = {}, expected = "an object of fields" } },
}

--- The abilities that Ebb knows nothing of; nil: none.
local function missing_abilities(shipped, imported)
  local result = {}
  for ability, able in pairs(imported) do
    if shipped[ability] == nil then result[ability] = able end
  end
  return next(result) ~= nil and result or nil
end

--- The imported fields that count in addition to what Ebb itself knows of a model.
---@param name string
---@param imported table
---@return table
function model_file.missing(name, imported)
  local shipped, result = models.shipped(name) or {}, {}
  for field, value in pairs(imported) do
    if field == "prices" or shipped[field] == nil then result[field] = value
    elseif field == "abilities" and type(value) == "table" then result[field] = missing_abilities(shipped[field], value)
    end
  end
  return result
end

--- The fields of an entry that count, in one table; raises where it has no fields.
---@param name string
---@param entry any
---@return any
function model_file.flattened(name, entry)
  if type(entry) ~= "table" or entry.imported == nil then return entry end
  schema.check(ENTRY, entry, "model " .. name)
  local result = models.overlay(model_file.missing(name, entry.imported), entry)
  result.imported = nil
  return result
end

local try = model_file.try

--- Adds one entry with fields as they are in the file, in camelCase.
---@param name string
---@param entry table
---@return ebb.Error? problem
function model_file.try(name, entry)
  local ok, fields = pcall(model_file.flattened, name, entry)
  if not ok and not core.is_error(fields) then error(fields, 0) end
  local problem = not ok and fields or try(name, fields)
  local field = ok and problem and problem.path and problem.path[1]
  if field and type(entry) == "table" and entry[field] == nil and (entry.imported or {})[field] ~= nil then
    table.insert(problem.path, 1, "imported")
  end
  return problem or nil
end

return model_file
