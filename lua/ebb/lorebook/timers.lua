--- Timers of entries: sticky, cooldown, and which entries matched before.
--
--     sticky = 3, cooldown = 2; the entry is activated when there are 1 message:
--
--     messages    1         2       3       4         5         6
--                 activated sticky  sticky  cooldown  cooldown  may be activated again
--                 s {1, 4}                  c {4, 6}
--
-- Intervals are kept, not states: at n messages only those count that began at fewer than n. So a run that is
-- repeated, or made again after messages were taken away, finds what held there, and a rollback needs no help.

local core = require "ebb.support.core"

local timers = {}

timers.KEPT_MAX = 8          -- intervals of one kind of an entry: so far back timers are exact

---@class ebb.LorebookTimed    The entries that have timers
---@field places table<string, integer>   in the list of all entries, by key
---@field keys table<ebb.LorebookEntry, string>
---@field hashes table<ebb.LorebookEntry, string>   of those that ever had a record

---@class ebb.LorebookTimers
---@field n integer             messages now
---@field state table<string, table>   by entry: {h = hash, s = {{start, end}...}, c = ..., m = first match}
---@field records table<ebb.LorebookEntry, table>   of entries with such a state, as it is at n messages
---@field places integer[]      of these entries
---@field sticky table<ebb.LorebookEntry, boolean>
---@field resting table<ebb.LorebookEntry, boolean>    cooldown
---@field matched table<ebb.LorebookEntry, boolean>    before this run
local Timers = {}
Timers.__index = Timers

local HASH_SIZE = 16         -- digits; an entry that is edited loses its timers

local function key_of(entry) return entry.book.id .. "/" .. entry.id end

local function hash_of(timed, entry)
  local hash = timed.hashes[entry]
  if not hash then
    local text = core.json.encode { entry.content, entry.keys, entry.secondaryKeys, entry.sticky, entry.cooldown }
    hash = core.sha256(text):sub(1, HASH_SIZE)
    timed.hashes[entry] = hash
  end
  return hash
end

--- Copies the intervals of a list that began before there were n messages.
local function before(list, n)
  local result = {}
  for _, interval in ipairs(list or {}) do
    if interval[1] < n then result[#result + 1] = { interval[1], interval[2] } end
  end
  return result
end

local function add(list, start, length)
  list[#list + 1] = { start, start + length }
  if #list > timers.KEPT_MAX then table.remove(list, 1) end
end

local function holds(list, n)
  local newest = list[#list]
  return newest ~= nil and n < newest[2]
end

--- True if a cooldown followed the end of the newest sticky interval.
local function has_rested(record)
  local newest = record.c[#record.c]
  return newest ~= nil and newest[1] >= record.s[#record.s][2]
end

local function open_entry(self, entry, kept)
  local n, record = self.n, { h = hash_of(self.timed, entry), s = {}, c = {} }
  if kept.h == record.h then
    record.s, record.c = before(kept.s, n), before(kept.c, n)
    record.m = kept.m and kept.m < n and kept.m or nil
  end
  local ended = #record.s > 0 and not holds(record.s, n)
  if ended and entry.cooldown > 0 and not has_rested(record) then add(record.c, n, entry.cooldown) end
  self.records[entry] = record
  self.sticky[entry], self.resting[entry] = holds(record.s, n), holds(record.c, n)
  self.matched[entry] = record.m ~= nil
end

--- True for entries that have timers, or depend on earlier matches.
local function has_timers(entry)
  return entry.sticky > 0 or entry.cooldown > 0 or entry.keep_after_match == true or entry.never_after_match == true
end

---@param list ebb.LorebookEntry[]   all entries
---@return ebb.LorebookTimed
function timers.of(list)
  local timed = { places = {}, keys = {}, hashes = {} }
  for place, entry in ipairs(list) do
    if has_timers(entry) then
      timed.keys[entry] = key_of(entry)
      timed.places[timed.keys[entry]] = place
    end
  end
  return timed
end

--- The timers at n messages. Costs what the state has, not the number of entries.
---@param list ebb.LorebookEntry[]
---@param timed ebb.LorebookTimed   of this list
---@param state? table          of the last run
---@param n integer             messages of the history
---@return ebb.LorebookTimers
function timers.open(list, timed, state, n)
  local self = setmetatable({ n = n, state = state or {}, timed = timed, records = {}, places = {}, sticky = {},
    resting = {}, matched = {} }, Timers)
  for key, kept in pairs(self.state) do
    local place = timed.places[key]
    if place then
      self.places[#self.places + 1] = place
      open_entry(self, list[place], kept)
    end
  end
  return self
end

--- Returns the fields of an entry's record to be saved; nil if there is nothing to save.
local function plain(record)
  if #record.s == 0 and #record.c == 0 and not record.m then return nil end
  return { h = record.h, s = record.s, c = record.c, m = record.m }
end

--- Notes in the entry's record, which may be new, that it was activated.
local function activate(self, entry)
  local record = self.records[entry] or { h = hash_of(self.timed, entry), s = {}, c = {} }
  self.records[entry] = record
  if entry.sticky > 0 and not self.sticky[entry] then add(record.s, self.n, entry.sticky) end
  if entry.cooldown > 0 and not self.resting[entry] then add(record.c, self.n, entry.cooldown) end
  record.m = record.m or (entry.keep_after_match or entry.never_after_match) and self.n or nil
end

--- The state after a run. Entries of other books keep theirs.
---@param active ebb.LorebookActive[]   what it activated
---@return table<string, table>
function Timers:close(active)
  local result = {}
  for _, each in ipairs(active) do
    if self.timed.keys[each.entry] then activate(self, each.entry) end
  end
  for key, record in pairs(self.state) do result[key] = record end
  for entry, record in pairs(self.records) do result[self.timed.keys[entry]] = plain(record) end
  return result
end

return timers
