--- Matches an entry's keys with what it may see: the last messages, texts of the agent, contents of other entries.
--
-- Keywords are looked up in what one pass over each text noted. Expressions are searched in the texts joined as other
-- programs join them, the newest message first, each after a byte 1:
--
--     \1Ann: the newest \n\1Bob: the one before \n\1description ... \n\1contents of entries

local trimmed = require "ebb.lorebook.trimmed"

local matching = {}

local MARK = "\1"
local JOINER = "\n" .. MARK

---@class ebb.LorebookView       What a run may see
---@field count integer         messages
---@field texts table<integer, string>   of those that an entry may see
---@field names table<integer, string>   "Ann: ", or ""
---@field depth_more integer    messages beyond the entries' scan depths, while more entries are sought
---@field last table<integer, integer>   by keyword: the newest message that has it
---@field sources table<string, string>  description and the like
---@field notes string[]        prompts that are searched for all entries
---@field in_sources table<string, table<integer, boolean>>
---@field in_notes table<integer, boolean>
---@field recursed string[]     contents of entries, one text per sweep
---@field in_recursed table<integer, boolean>
---@field skips_recursed boolean   in a sweep that only seeks more messages
---@field fail fun(key: ebb.LorebookRegex, why: string)
local View = {}
View.__index = View

local function marks_of(set, text)
  local marks = {}
  for _, key in ipairs(set:find(text) or {}) do marks[key] = true end
  return marks
end

---@param fields table
---@param set ebb.Keywords
---@return ebb.LorebookView
function matching.view(fields, set)
  local self = setmetatable(fields, View)
  self.set, self.in_sources, self.in_notes, self.in_recursed, self.recursed = set, {}, {}, {}, {}
  self.depth_more, self.skips_recursed, self.joined, self.results = 0, false, {}, {}
  for name, text in pairs(self.sources) do self.in_sources[name] = marks_of(set, text) end
  for _, text in ipairs(self.notes) do
    for key in pairs(marks_of(set, text)) do self.in_notes[key] = true end
  end
  return self
end

--- Adds contents of entries.
---@param text string
---@return integer[] keys        keywords in it
function View:recurse(text)
  self.recursed[#self.recursed + 1] = text
  self.joined, self.results = {}, {}
  local hits = self.set:find(text) or {}
  for _, key in ipairs(hits) do self.in_recursed[key] = true end
  return hits
end

--- Messages that an entry may see. What has a scan depth of its own is not widened.
local function depth_of(self, entry)
  return entry.own_depth and entry.scanDepth or entry.scanDepth + self.depth_more
end

local function sees_recursed(self, entry) return entry.recursive and not self.skips_recursed end

--- The texts that an entry may see, joined.
local function joined_text(self, entry)
  local depth, with_recursed = math.min(depth_of(self, entry), self.count), sees_recursed(self, entry)
  local id = ("%d %s %s"):format(depth, with_recursed, table.concat(entry.sources, " "))
  if self.joined[id] then return self.joined[id], id end
  local parts = {}
  for i = self.count, self.count - depth + 1, -1 do parts[#parts + 1] = self.names[i] .. trimmed(self.texts[i]) end
  for _, name in ipairs(entry.sources) do parts[#parts + 1] = self.sources[name] end
  table.move(self.notes, 1, #self.notes, #parts + 1, parts)
  if with_recursed then table.move(self.recursed, 1, #self.recursed, #parts + 1, parts) end
  self.joined[id] = MARK .. table.concat(parts, JOINER)
  return self.joined[id], id
end

local function regex_matches(self, entry, key)
  local text, id = joined_text(self, entry)
  local by_text = self.results[key] or {}
  self.results[key] = by_text
  if by_text[id] == nil then
    local matches, why = key.regex:matches(text)
    if matches == nil then self.fail(key, tostring(why)) end
    by_text[id] = matches or false
  end
  return by_text[id]
end

--- True if a key occurs in what the entry may see.
---@param entry ebb.LorebookEntry
---@param key integer|ebb.LorebookRegex|false
---@return boolean
function View:has(entry, key)
  if not key then return false end
  if type(key) == "table" then return regex_matches(self, entry, key) end
  local at = self.last[key]
  if at and at > self.count - depth_of(self, entry) then return true end
  for _, name in ipairs(entry.sources) do
    if self.in_sources[name] and self.in_sources[name][key] then return true end
  end
  return self.in_notes[key] or sees_recursed(self, entry) and self.in_recursed[key] or false
end

local function count(self, entry, keys)
  local n = 0
  for _, key in ipairs(keys) do
    if self:has(entry, key) then n = n + 1 end
  end
  return n
end

local LOGIC = {
  and_any = function(n) return n > 0 end,
  not_all = function(n, all) return n < all end,
  not_any = function(n) return n == 0 end,
  and_all = function(n, all) return n == all end,
}

--- True if the entry's keys, its secondary keys and those of its decorators say so.
---@param entry ebb.LorebookEntry
---@return boolean
function View:matches(entry)
  local any = false
  for _, key in ipairs(entry.words) do any = any or self:has(entry, key) end
  if not any then return false end
  for _, keys in ipairs(entry.required) do
    if count(self, entry, keys) == 0 then return false end
  end
  for _, keys in ipairs(entry.forbidden) do
    if count(self, entry, keys) > 0 then return false end
  end
  local filters = entry.filters
  return #filters == 0 or LOGIC[entry.logic](count(self, entry, filters), #filters)
end

--- Keys of an entry that occur, as groups score them.
---@param entry ebb.LorebookEntry
---@return integer
function View:score(entry)
  if #entry.words == 0 then return 0 end
  local score, filters = count(self, entry, entry.words), entry.filters
  if entry.logic == "and_any" then return score + count(self, entry, filters) end
  local n = entry.logic == "and_all" and #filters > 0 and count(self, entry, filters) or 0
  return n == #filters and score + n or score
end

return matching
