--- Lorebooks that a command line names: files of Ebb's own form, agents, and what `ebb import` reads.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local import = require "ebb.import"
local json_file = require "ebb.support.json_file"
local lorebook = require "ebb.lorebook"
local terminal = require "ebb.cli.view.terminal"

local lorebooks = {}

lorebooks.BYTES_MAX = 64 << 20

local HINT = 'a lorebook is {"entries": [{"keys": ["dragon"], "content": "..."}]}, or a file that `ebb import` reads'

--- The books of a file in Ebb's own form: a book has a list of entries, an agent a list of books.
local function own_books(value)
  if type(value.lorebooks) == "table" then return value.lorebooks, { "lorebooks" } end
  if type(value.entries) == "table" and (#value.entries > 0 or getmetatable(value.entries) == "json.array") then
    return { value }, {}
  end
end

--- The path from the file's value to what is wrong with a book of it.
local function place_of(problem, prefix)
  local path = table.move(prefix, 1, #prefix, 1, {})
  return table.move(problem.path, prefix[1] and 1 or 2, #problem.path, #path + 1, path)
end

local function read_own(file, books, prefix)
  local _, problem = lorebook.read(books)
  if not problem then return books end
  failure.raise(failure.REFUSED, ("%s: %s"):format(json_file.where(file, place_of(problem, prefix)), problem.message),
    problem.hint)
end

local function read_foreign(path, bytes)
  local result, problem = import.read(bytes, { path = path })
  if not result then failure.raise(failure.exit_of(problem), problem.message, HINT) end
  local books = result.agent and result.agent.lorebooks
  if not books then failure.raise(failure.REFUSED, ("%s: no lorebook, but %s"):format(path, result.title), HINT) end
  for _, entry in ipairs(result.report) do
    terminal.say(("%s: %s: %s"):format(path, entry.kind, entry.message))
  end
  return books
end

local function read(path)
  local bytes = failure.check(core.read_file(path, lorebooks.BYTES_MAX))
  if import.recognise(bytes) then return read_foreign(path, bytes) end
  local file = json_file.parse(path, bytes)
  if type(file.value) == "table" then
    local books, prefix = own_books(file.value)
    if books then return read_own(file, books, prefix) end
  end
  return read_foreign(path, bytes)   -- says what it is instead
end

--- The books of files; nil without any.
---@param paths string[]
---@return table[]?
function lorebooks.read(paths)
  if not paths[1] then return nil end
  local list = {}
  for _, path in ipairs(paths) do
    local books = read(path)
    table.move(books, 1, #books, #list + 1, list)
  end
  return list
end

return lorebooks
