--- The journal of `ebb each`: which conversations are done, a JSON object in each line.
--
--     {"work": "flow.lua", "digest": "..."}
--     {"item": "chats/a.json", "identity": "...", "ok": true}
--     {"item": "chats/b.json", "identity": "...", "ok": false, "exit": 4, "message": "cannot fit ..."}
--
-- A line is written after its item's result is in the file. So a run that was killed loses at most the lines
-- of results that are there already: they are made again, and replace themselves.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local host = require "ebb.host"

local journal = {}

journal.BYTES_MAX = 256 * 1024 * 1024   -- of a file

---@class ebb.cli.EachJournal
---@field path string
---@field entries table<string, table>   by the name of the item
---@field file? file*
local Journal = {}
Journal.__index = Journal

local function read(self, text, work, digest)
  local number = 0
  for line in text:gmatch "([^\n]*)\n" do     -- a last line without its end was cut
    number = number + 1
    local entry = core.json.decode(line)
    if type(entry) ~= "table" or not (entry.item or number == 1 and entry.work) then
      failure.raise(failure.REFUSED, ("%s:%d: expected a line of a journal"):format(self.path, number),
        "another file for --journal")
    end
    if number == 1 and (entry.digest ~= digest or entry.work ~= work) then
      failure.usage(("%s belongs to other work: %s"):format(self.path, entry.work == work
        and work .. " has changed since then" or entry.work), "another file for --journal, or remove this one")
    end
    if entry.item then self.entries[entry.item] = entry end
  end
end

--- Opens a journal, and reads what it says of the same work.
---@param path string
---@param work string           what is run
---@param digest string
---@return ebb.cli.EachJournal
function journal.open(path, work, digest)
  local self = setmetatable({ path = path, entries = {} }, Journal)
  local text = core.file_identity(path) and failure.check(core.read_file(path, journal.BYTES_MAX)) or ""
  read(self, text, work, digest)
  local whole = text:match "^.*\n" or ""
  if whole ~= text then failure.check(core.write_file(path, whole)) end
  local file, why = io.open(path, "ab")
  if not file then failure.raise(failure.IO, "--journal: " .. why) end
  host.close_on_exec(file)
  file:setvbuf("full", 1 << 20)
  self.file = file
  if whole == "" then self:write { work = work, digest = digest } end
  return self
end

--- Adds a line, in one piece: several processes write to the end of the file.
---@param entry table
function Journal:write(entry)
  local ok, why = self.file:write(core.json.encode(entry), "\n")
  if ok then ok, why = self.file:flush() end
  if not ok then failure.raise(failure.IO, ("%s: %s"):format(self.path, why)) end
  if entry.item then self:note(entry) end
end

--- Takes over what another process has written.
---@param entry table
function Journal:note(entry) self.entries[entry.item] = entry end

--- Returns the journal's entry of an item, or nil if there is none or the item has changed since.
---@param item ebb.cli.EachItem
---@return table?
function Journal:entry(item)
  local entry = self.entries[item.name]
  return entry and entry.identity == item.identity and entry or nil
end

return journal
