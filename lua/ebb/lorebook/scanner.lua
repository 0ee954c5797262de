--- Which keywords occur in the messages of a history, and how near its end.
--
--     messages    1     2     3     4     5
--     hits        {7}   {}    {2,7} {}    {9}
--     last        [2] = 3   [7] = 3   [9] = 5
--
-- A keyword is within a scan depth d of n messages if last > n - d. Between two runs the texts are kept: only those
-- from the first that differs on are searched.

local trimmed = require "ebb.lorebook.trimmed"

local scanner = {}

---@class ebb.LorebookScanner
---@field set ebb.Keywords
---@field texts string[]        of the messages, from the oldest
---@field names string[]        what stands before each: "Ann: ", or ""
---@field hits (integer[]|false)[]   by message; false: none; nil: not searched
---@field last table<integer, integer>   by keyword: the newest message that has it
---@field searched integer      messages that were searched, ever
local Scanner = {}
Scanner.__index = Scanner

---@param set ebb.Keywords
---@return ebb.LorebookScanner
function scanner.new(set)
  return setmetatable({ set = set, texts = {}, names = {}, hits = {}, last = {}, searched = 0 }, Scanner)
end

--- The number of messages from `first` on that are as they were.
local function unchanged(self, texts, names, first)
  local known = math.min(#texts, #self.texts)
  for i = first, known do
    if texts[i] ~= self.texts[i] or names[i] ~= self.names[i] then return i - 1 end
  end
  return known
end

--- Forgets what was found after message `kept`.
local function cut(self, kept)
  if kept >= #self.texts then return end
  for i = #self.texts, kept + 1, -1 do self.hits[i], self.texts[i], self.names[i] = nil, nil, nil end
  self.last = {}
  for i = 1, kept do
    for _, key in ipairs(self.hits[i] or {}) do self.last[key] = i end
  end
end

--- Searches message i.
local function search(self, i)
  local hits = self.set:find(trimmed(self.texts[i]), self.names[i]) or false
  self.hits[i], self.searched = hits, self.searched + 1
  if not hits then return end
  for _, key in ipairs(hits) do
    local at = self.last[key]
    if not at or at < i then self.last[key] = i end
  end
end

--- Brings `last` up to date for the messages from `first` on.
---@param texts string[]
---@param names string[]
---@param first integer
function Scanner:update(texts, names, first)
  local kept = unchanged(self, texts, names, math.max(1, first))
  cut(self, kept)
  for i = #self.texts + 1, #texts do self.texts[i], self.names[i] = texts[i], names[i] end
  for i = math.max(1, first), #texts do
    if self.hits[i] == nil then search(self, i) end
  end
end

return scanner
