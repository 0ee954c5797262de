--- JSON files: their values, and errors that say file:line:byte.
--
-- A decoded value knows nothing of its place. Only when something is wrong with it, the
-- text is searched again, along the path that `schema.check` keeps in its errors.

local core = require "ebb.support.core"
local json_places = require "ebb.support.json_places"
local refuse = require "ebb.support.refuse"

local json_file = {}

---@class ebb.JsonFile
---@field name string          of the file, for errors
---@field text? string         nil: a file in Lua, whose values have no place
---@field value any

--- Parses a file; raises "name:line:byte: expected ...". A name that occurs twice in an object is refused, for one of
--- its values would be lost without a word.
---@param name string
---@param text string
---@param options? { raw?: table<string, boolean> }       of core.json.decode
---@return ebb.JsonFile
function json_file.parse(name, text, options)
  local strict = { unique = true, raw = options and options.raw }
  local value, problem = core.json.decode(text, strict)
  if problem then refuse(problem.code, ("%s:%s"):format(name, problem.message)) end
  return { name = name, text = text, value = value }
end

--- "name:line:byte" of the value at a path.
---@param file ebb.JsonFile
---@param path (string|integer)[]
---@return string
function json_file.where(file, path)
  if not file.text then return file.name end
  return ("%s:%s"):format(file.name, json_places.place(file.text, path))
end

--- The error of a check of the value at `path`, with its place in front; other errors as they are.
---@param file ebb.JsonFile
---@param path (string|integer)[]
---@param problem any
---@return any problem
function json_file.placed(file, path, problem)
  if not core.is_error(problem) then return problem end
  local whole = table.move(path, 1, #path, 1, {})
  table.move(problem.path or {}, 1, #(problem.path or {}), #whole + 1, whole)
  return core.error(problem.code, ("%s: %s"):format(json_file.where(file, whole), problem.message), problem.hint)
end

--- Calls a function that checks the value at `path`; its errors get their place. Without a
--- file it is only called.
---@param file? ebb.JsonFile
---@param path (string|integer)[]   may still grow during the call
---@param call function
---@return any ...
function json_file.check(file, path, call, ...)
  if not file then return call(...) end
  local results = table.pack(pcall(call, ...))
  if not results[1] then error(json_file.placed(file, path, results[2]), 0) end
  return table.unpack(results, 2, results.n)
end

return json_file
