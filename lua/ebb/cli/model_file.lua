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
local xdg = require "ebb.support.xdg"

local model_file = {}

local BYTES_MAX = 1024 * 1024

--- The path of the file; nil without a home folder.
---@return string?
function model_file.path()
  return xdg.path("config", "models.json")
end

--- A copy with keys in snake_case instead of camelCase, in depth.
local function renamed(value)
  if type(value) ~= "table" then return value end
  local result = {}
  for key, item in pairs(value) do
    key = type(key) == "string" and key:gsub("%u", function(letter) return "_" .. letter:lower() end) or key
    result[key] = renamed(item)
  end
  return result
end

local function add(path, models)
  if type(models) ~= "table" or models[1] ~= nil then
    failure.raise(failure.REFUSED, path .. ": expected an object of models by name")
  end
  for name, fields in pairs(models) do
    local ok, problem = pcall(function() ebb.models[name] = renamed(fields) end)
    if not ok then failure.raise(failure.REFUSED, ("%s: %s"):format(path, tostring(problem)), problem.hint) end
  end
end

local loaded = false

--- Reads the file, once. A missing file is not a failure.
function model_file.load()
  local path = model_file.path()
  if loaded or not path then return end
  loaded = true
  local text, problem = core.read_file(path, BYTES_MAX)
  if not text and problem.code == "absent" and not io.open(path, "rb") then return end
  local models, syntax = core.json.decode(failure.check(text, problem))
  if models == nil then failure.raise(failure.REFUSED, ("%s: %s"):format(path, syntax.message)) end
  add(path, models)
end

return model_file
