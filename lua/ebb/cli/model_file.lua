--- The user's own models: ebb/models.json in the XDG config folder.
--
--     { "my-model": { "encoding": "o200k_base", "window": 32768 },
--       "gpt-4o": { "prices": { "input": 2.5, "cachedInput": 1.25, "output": 10 } } }
--
-- Keys are those of ebb.models, in camelCase. An entry for a built-in model changes the fields
-- that it has.

local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local json_file = require "ebb.support.json_file"
local names = require "ebb.support.names"
local schema = require "ebb.support.schema"
local tables = require "ebb.support.tables"
local terminal = require "ebb.cli.terminal"
local xdg = require "ebb.support.xdg"

local model_file = {}

model_file.BYTES_MAX = 1024 * 1024

local WARNINGS_SHOWN = 10

--- The path of the file; nil without a home folder.
---@return string?
function model_file.path()
  return xdg.path("config", "models.json")
end

--- A copy with keys in snake_case instead of camelCase, in depth.
local function renamed(value)
  if type(value) ~= "table" or getmetatable(value) then return value end   -- a list, or a number too large to be one
  local result = {}
  for key, item in pairs(value) do
    key = type(key) == "string" and key:gsub("%u", function(letter) return "_" .. letter:lower() end) or key
    result[key] = renamed(item)
  end
  return result
end

--- The path of an error of a model, in the names of the file.
local function in_camel_case(path)
  local result = {}
  for i, step in ipairs(path or {}) do
    result[i] = type(step) == "string" and names.camel(step) or step
  end
  return result
end

--- Adds one model with fields as they stand in the file, in camelCase.
---@param name string
---@param fields table
---@return ebb.Error? problem
function model_file.try(name, fields)
  local ok, problem = pcall(function() ebb.models[name] = renamed(fields) end)
  if ok then return nil end
  if not core.is_error(problem) then error(problem, 0) end
  problem.path = in_camel_case(problem.path)
  return problem
end

--- The same with the place in the file.
---@param file ebb.JsonFile
local function add(file, name, fields)
  local problem = model_file.try(name, fields)
  return problem and json_file.placed(file, { name }, problem)
end

--- Adds all models that are right. Wrong ones are warnings, but for the model that is asked for.
---@param file ebb.JsonFile
---@param model_name? string
local function add_all(file, model_name)
  local count = 0
  for _, name in ipairs(tables.keys(file.value)) do
    local problem = add(file, name, file.value[name])
    if problem and name == model_name then error(problem, 0) end
    count = count + (problem and 1 or 0)
    if problem and count <= WARNINGS_SHOWN then
      terminal.say("warning: " .. tostring(problem) .. "; this entry is left out")
    end
  end
  if count > WARNINGS_SHOWN then terminal.say(("and %d more wrong models"):format(count - WARNINGS_SHOWN)) end
end

local MODELS = {
  type = "object", fields = {}, items = { type = "any" }, expected = "an object of models by name",
}

--- The file as it is; nil: it is missing, or there is no home for it.
---@return ebb.JsonFile?
function model_file.read()
  local path = model_file.path()
  if not path then return nil end
  local text, problem = core.read_file(path, model_file.BYTES_MAX)
  if not text and problem.code == "absent" and not io.open(path, "rb") then return nil end
  local file = json_file.parse(path, failure.check(text, problem))
  json_file.check(file, {}, schema.check, MODELS, file.value, "models")
  return file
end

local loaded = false

--- Adds the models of the file, once. A missing file is not a failure.
---@param model_name? string      the model that the command line names: if its entry is wrong, the command fails
function model_file.load(model_name)
  if loaded then return end
  loaded = true
  local file = model_file.read()
  if file then add_all(file, model_name) end
end

return model_file
