--- Finds the keywords that occur in the messages of a history, and how near its end.
--
--     messages    1     2     3     4     5
--     hits        {7}   {}    {2,7} {}    {9}
--     last        [2] = 3   [7] = 3   [9] = 5
--
-- A keyword is within a scan depth d of n messages if last > n - d. Between two runs the texts are kept that a run may
-- see: only those from the first that differs on are searched.

local trimmed = require "ebb.lorebook.trimmed"

local scanner = {}

---@class ebb.LorebookScanner
---@field set ebb.Keywords
---@field from integer          the first message whose text is kept
---@field count integer         the last one
---@field texts table<integer, string>    by message
---@field names table<integer, string>    what comes before each: "Ann: ", or ""
---@field hits table<integer, integer[]|false>   by message; false: none
---@field last table<integer, integer>    by keyword: the newest message that has it, if that is `from` or later
---@field searched integer      messages that were searched, ever
local Scanner = {}
Scanner.__index = Scanner

---@param set ebb.Keywords
---@return ebb.LorebookScanner
function scanner.new(set)
  return setmetatable({ set = set, from = 1, count = 0, texts = {}, names = {}, hits = {}, last = {}, searched = 0 },
    Scanner)
end

local function drop(self, i) self.texts[i], self.names[i], self.hits[i] = nil, nil, nil end

--- Forgets what was found after message `kept`. Keywords that it has taken away are sought in those before.
local function cut(self, kept)
  local lost, open = {}, 0
  for i = self.count, kept + 1, -1 do
    for _, key in ipairs(self.hits[i] or {}) do
      if self.last[key] then
        self.last[key], lost[key], open = nil, true, open + 1
      end
    end
    drop(self, i)
  end
  self.count = kept
  for i = kept, self.from, -1 do
    if open == 0 then return end
    for _, key in ipairs(self.hits[i] or {}) do
      if lost[key] then
        self.last[key], lost[key], open = i, nil, open - 1
      end
    end
  end
end

--- Forgets the messages before `first`, which no entry sees.
local function leave(self, first)
  for i = self.from, math.min(first - 1, self.count) do
    for _, key in ipairs(self.hits[i] or {}) do
      if self.last[key] == i then self.last[key] = nil end
    end
    drop(self, i)
  end
  self.from = first
end

--- Searches message i.
local function search(self, said, i)
  local text, name = said:text(i)
  local hits = self.set:find(trimmed(text), name) or false
  self.texts[i], self.names[i], self.hits[i], self.searched = text, name, hits, self.searched + 1
  for _, key in ipairs(hits or {}) do
    local at = self.last[key]
    if not at or at < i then self.last[key] = i end
  end
end

--- Brings `last` up to date for the messages from `first` on.
---@param said ebb.LorebookSpeech
---@param first integer
function Scanner:update(said, first)
  first = math.max(1, first)
  if first > self.count or said.count < self.from then   -- nothing that was kept is seen
    self.texts, self.names, self.hits, self.last = {}, {}, {}, {}
    self.from, self.count = first, first - 1
  end
  cut(self, said:same(self.texts, self.names, math.max(first, self.from), math.min(said.count, self.count)))
  for i = first, self.from - 1 do search(self, said, i) end
  leave(self, first)
  for i = self.count + 1, said.count do search(self, said, i) end
  self.count = said.count
end

return scanner
