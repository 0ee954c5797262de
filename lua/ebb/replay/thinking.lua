--- Thinking that the requests of a replay leave out: some models bind it to all that came before it when they wrote
--- it, so an edit ends the validity of all that comes after the first changed message (dialect/bound_thinking.h).
--
--     a trim   s  u  a* u  a* u     * thinking
--              s     U  a  u  a     what came after the first change is left out from now on
--     later    s     U  a  u  a  u  a*
--
-- Places are those of messages in the recording: a replacement has the place of what it replaced, what a policy
-- inserts has none. Sums over places are kept in a Fenwick tree, so that a request costs O(log n), however many
-- messages are left without their thinking.

local core = require "ebb.support.core"

local thinking = {}

--- The texts of a message's thinking, joined by newlines.
---@param message ebb.Message
---@return string
function thinking.text(message)
  local texts = { message.reasoning }
  for _, part in ipairs(message.parts) do
    if part.kind == "reasoning" then texts[#texts + 1] = part.text end
  end
  return table.concat(texts, "\n")
end

---@class ebb.replay.Thought
---@field place integer
---@field seq integer
---@field tokens integer       1 or more

---@class ebb.replay.Thinking
---@field size integer         messages of the recording
---@field count integer        messages of it that were appended
---@field place_of table<integer, integer>   by seq, of messages of the recording and what replaced them
---@field thoughts ebb.replay.Thought[]      what is still sent, by place
---@field left table<integer, integer>       by seq: tokens that are left out
---@field from number          the first place after a change
---@field tree integer[]       Fenwick: tokens left out, by place
---@field tokens integer       of all that is left out
---@field past integer         the position after the list in which the last change was
local Thinking = {}
Thinking.__index = Thinking

---@param size integer
---@return ebb.replay.Thinking
function thinking.new(size)
  local tree = {}
  for place = 1, size do
    tree[place] = 0
  end
  return setmetatable({ size = size, count = 0, place_of = {}, thoughts = {}, left = {}, from = math.huge, tree = tree,
    tokens = 0, past = 1 }, Thinking)
end

local function add(self, place, tokens)
  self.tokens = self.tokens + tokens
  while place <= self.size do
    self.tree[place] = self.tree[place] + tokens
    place = place + (place & -place)
  end
end

--- Tokens that are left out up to a place.
local function sum_to(self, place)
  local sum = 0
  while place > 0 do
    sum = sum + self.tree[place]
    place = place & (place - 1)
  end
  return sum
end

--- A recorded message enters the list.
---@param message ebb.Message
function Thinking:append(message)
  local tokens = message.reasoning_tokens
  self.count = self.count + 1
  self.place_of[message.seq] = self.count
  if tokens > 0 then self.thoughts[#self.thoughts + 1] = { place = self.count, seq = message.seq, tokens = tokens } end
end

--- The last place among the first `position` messages of the list; 0: they have none.
local function place_at(self, chat, position)
  while position > 0 do
    local place = self.place_of[chat[position].seq]
    if place then return place end
    position = position - 1
  end
  return 0
end

--- Messages that left the list take their thinking along; returns seqs of those in their place.
local function forget(self, ledger)
  local gone, entered = {}, {}
  for _, run in ipairs(ledger:runs()) do
    for seq = run.seq, run.action ~= "inserted" and run.seq + run.count - 1 or 0 do
      local place = self.place_of[seq]
      if self.left[seq] then add(self, place, -self.left[seq]) end
      self.left[seq], gone[seq], entered[seq] = nil, true, nil
      if run.replacement and place then
        self.place_of[run.replacement], entered[run.replacement] = place, true
      end
    end
  end
  return gone, entered
end

--- Thinking of what replaced a message comes after a change, too.
local function leave_replaced(self, chat, entered)
  if not next(entered) then return end
  for _, message in ipairs(chat) do
    local tokens = entered[message.seq] and message.reasoning_tokens or 0
    if tokens > 0 then
      self.left[message.seq] = tokens
      add(self, self.place_of[message.seq], tokens)
    end
  end
end

--- Follows a trim that changed the list.
---@param chat ebb.Conversation
---@param before { batch: integer, length: integer }   the list that was trimmed
---@param report ebb.TrimReport
---@return integer[] seqs      of messages whose thinking is left out from now on, the newest first
function Thinking:follow(chat, before, report)
  local seqs, thoughts = {}, self.thoughts
  local gone, entered = forget(self, report.ledger)
  local equal = core.common(chat, before.batch, before.length, report.batch, #chat)
  self.from, self.past = math.min(self.from, place_at(self, chat, equal) + 1), #chat + 1
  while thoughts[1] and thoughts[#thoughts].place >= self.from do
    local thought = table.remove(thoughts)
    if not gone[thought.seq] then
      seqs[#seqs + 1] = thought.seq
      self.left[thought.seq] = thought.tokens
      add(self, thought.place, thought.tokens)
    end
  end
  leave_replaced(self, chat, entered)
  return seqs
end

--- Tokens that the first `position` messages of the list are left without.
---@param chat ebb.Conversation
---@param position integer
---@return integer
function Thinking:before(chat, position)
  return self.tokens > 0 and sum_to(self, place_at(self, chat, position)) or 0
end

--- Counts the messages of the list that have places before this one.
local function count_before(self, chat, place)
  local low, high = 0, #chat      -- the first `low` messages come before it
  while low < high do
    local middle = (low + high) // 2
    if place_at(self, chat, middle + 1) < place then low = middle + 1 else high = middle end
  end
  return low
end

--- Counts the messages that the list has before the one of a seq that was appended.
---@param chat ebb.Conversation
---@param seq integer
---@return integer
function Thinking:position(chat, seq) return count_before(self, chat, self.place_of[seq]) end

--- Returns the thinking that is left out already, for the next trim: the batches that could tell are pruned.
---@param chat ebb.Conversation
---@return ebb.trim.Thinking
function Thinking:known(chat)
  local first = self.from < math.huge and count_before(self, chat, self.from) + 1 or self.past
  return { first = first, past = self.past, tokens = self.tokens }
end

return thinking
