--- Thinking that the requests of a replay leave out: some models bind it to all that stood before it when they wrote
--- it, so an edit ends the validity of all that stands behind the first changed message (format/bound_thinking.h).
--
--     a trim   s  u  a* u  a* u     * thinking
--              s     U  a  u  a     what stood behind the first change is left out from now on
--     later    s     U  a  u  a  u  a*
--
-- Places are those of messages in the recording: a replacement has the place of what it replaced, what a policy
-- inserts has none. Sums over places are kept in a Fenwick tree, so that a request costs O(log n), however many
-- messages are left without their thinking.

local core = require "ebb.support.core"
local models = require "ebb.models"
local profiles = require "ebb.models.profiles"
local tables = require "ebb.support.tables"
local target = require "ebb.models.target"
local traits = require "ebb.models.traits"

local thinking = {}

--- True if edits of what was recorded make the thinking behind them worthless: writers leave it out for Anthropic's
--- models that refuse it, and the server of Responses takes it out itself.
---@param recording ebb.Conversation
---@return boolean
function thinking.is_bound(recording)
  local goal = target.of_list(recording)
  if goal.dialect ~= "anthropic" then return goal.dialect == "responses" end
  local accepts = profiles.find(goal.profile).accepts or {}
  return tables.contains(traits.of(models.name(recording)) or {}, "bound_thinking")
    and not tables.contains(accepts, "bound_thinking")
end

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
---@field from number          the first place behind a change
---@field tree integer[]       Fenwick: tokens left out, by place
---@field tokens integer       of all that is left out
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
    tokens = 0 }, Thinking)
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

--- Thinking of what replaced a message stands behind a change, too.
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
  self.from = math.min(self.from, place_at(self, chat, equal) + 1)
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

--- How many messages the list has before the one of a seq that was appended.
---@param chat ebb.Conversation
---@param seq integer
---@return integer
function Thinking:position(chat, seq)
  local low, high, place = 0, #chat, self.place_of[seq]      -- the first `low` messages stand before it
  while low < high do
    local middle = (low + high) // 2
    if place_at(self, chat, middle + 1) < place then low = middle + 1 else high = middle end
  end
  return low
end

return thinking
