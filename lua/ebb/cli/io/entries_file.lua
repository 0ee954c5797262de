--- Files of the user's own entries in a table of the library: ebb/models.json and
--- ebb/profiles.json in the XDG config folder.
--
-- Keys are those of the table's entries, in camelCase. An entry for what is built in changes the
-- fields that it has.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local json_file = require "ebb.support.json_file"
local names = require "ebb.support.names"
local schema = require "ebb.support.schema"
local tables = require "ebb.support.tables"
local terminal = require "ebb.cli.view.terminal"
local xdg = require "ebb.support.xdg"

local entries_file = {}

entries_file.BYTES_MAX = 1024 * 1024
local WARNINGS_SHOWN = 10

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

--- The path of an error in an entry, in the names of the file.
local function in_camel_case(path)
  local result = {}
  for i, step in ipairs(path or {}) do
    result[i] = type(step) == "string" and names.camel(step) or step
  end
  return result
end

---@class ebb.cli.EntriesFile
---@field BYTES_MAX integer

--- A file of entries.
---@param name string        in the config folder: "models.json"
---@param noun string        of its entries: "models"
---@param registry table     the table of the library; an assignment checks and adds an entry
---@return ebb.cli.EntriesFile
function entries_file.new(name, noun, registry)
  local file = { BYTES_MAX = entries_file.BYTES_MAX }
  local loaded = false

  --- The path of the file; nil without a home folder.
  ---@return string?
  function file.path() return xdg.path("config", name) end

  --- Adds one entry with fields as they are in the file, in camelCase.
  ---@param entry string
  ---@param fields table
  ---@return ebb.Error? problem
  function file.try(entry, fields)
    local ok, problem = pcall(function() registry[entry] = renamed(fields) end)
    if ok then return nil end
    if not core.is_error(problem) then error(problem, 0) end
    problem.path = in_camel_case(problem.path)
    return problem
  end

  --- The names of the entries: first those of entries that exist, for others may be like them.
  local function in_order(entries)
    local known, others = {}, {}
    for _, entry in ipairs(tables.keys(entries)) do table.insert(registry[entry] and known or others, entry) end
    return table.move(others, 1, #others, #known + 1, known)
  end

  --- Adds all entries that are right. Wrong ones are warnings, but for the one that is asked for.
  local function add_all(source, wanted)
    local count = 0
    for _, entry in ipairs(in_order(source.value)) do
      local problem = file.try(entry, source.value[entry])
      problem = problem and json_file.placed(source, { entry }, problem)
      if problem and entry == wanted then error(problem, 0) end
      count = count + (problem and 1 or 0)
      if problem and count <= WARNINGS_SHOWN then
        terminal.say("warning: " .. tostring(problem) .. "; this entry is left out")
      end
    end
    if count > WARNINGS_SHOWN then terminal.say(("and %d more wrong %s"):format(count - WARNINGS_SHOWN, noun)) end
  end

  --- The file as it is; nil: it is missing, or there is no home for it.
  ---@return ebb.JsonFile?
  function file.read()
    local path = file.path()
    if not path then return nil end
    local text, problem = core.read_file(path, entries_file.BYTES_MAX)
    if not text and problem.code == "absent" and not io.open(path, "rb") then return nil end
    local source = json_file.parse(path, failure.check(text, problem))
    json_file.check(source, {}, schema.check, {
      type = "object", fields = {}, items = { type = "any" }, expected = ("an object of %s by name"):format(noun),
    }, source.value, noun)
    return source
  end

  --- Adds the entries of the file, once. A missing file is not a failure.
  ---@param wanted? string      the entry that the command line names: if it is wrong, the command fails
  function file.load(wanted)
    if loaded then return end
    loaded = true
    local source = file.read()
    if source then add_all(source, wanted) end
  end

  return file
end

return entries_file
