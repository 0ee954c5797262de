--- The cut of a digest: which units go, on the grid of stable_prefix, and what becomes of a result that is too long.

local entries = require "ebb.policies.digest.entries"
local marks = require "ebb.support.marks"
local note = require "ebb.policies.digest.note"
local parts = require "ebb.conversation.parts"
local recall = require "ebb.conversation.recall"

local cut = {}

local REASON = "before the cut"

--- The position in `all` from which on all messages are still there, one after the other.
local function border_of(draft, all)
  local low, high, after, before = 1, #all + 1, #draft, #all
  while low < high do
    local middle = (low + high) // 2
    local index = all[middle].index
    if index and after - index == before - middle then high = middle else low = middle + 1 end
  end
  return low
end

--- Makes walks over the messages of `all` that were dropped until the walk began, from the newest on.
local function gone_of(draft, all)
  return function()
    local at = border_of(draft, all)
    return function()
      repeat at = at - 1 until at < 1 or not all[at].index
      return at >= 1 and all[at] or nil
    end
  end
end

--- The handle of all messages dropped now and at the earlier cuts with the handle `old`; nil if none was.
---@param gone fun(): fun(): ebb.Message?
---@param old? string
---@return string?
function cut.handle(gone, old)
  local tokens, first, last = recall.read_handle(old or "")
  for message in gone() do
    local seq = message.seq
    tokens, first, last = (tokens or 0) + message.tokens, math.min(first or seq, seq), math.max(last or seq, seq)
  end
  return tokens and recall.handle(tokens, first, last)
end

--- The entries whose values neither the calls that a message answers say nor the last user message.
local function unsaid(draft, message, list)
  local said = entries.new()
  for _, other in ipairs(message.unit.messages) do
    if #other.calls > 0 then entries.of_message(said, other) end
  end
  for _, user in ipairs(draft:recent("user", 1)) do
    if user.seq ~= message.seq then entries.of_message(said, user) end
  end
  local kept = {}
  for _, entry in ipairs(list) do
    if not said.by_value[entry.value] then kept[#kept + 1] = entry end
  end
  return kept
end

--- Replaces the results of a message by their values, so that it has `allowed` tokens at most.
local function shrink_message(draft, message, allowed, with_handle)
  local whole = message:totable()
  local ids = {}
  for _, id in ipairs(parts.answers(whole)) do
    ids[id] = true
  end
  local set = entries.new()
  entries.of_message(set, message)
  local function content_of(text)
    return parts.cleared(message:totable(), ids, text)
  end
  local text = note.fitting(unsaid(draft, message, entries.best(set, math.huge)), note.RESULT_HEADING, function(text)
    parts.set_content(whole, content_of(text))
    return draft:cost(whole) <= allowed
  end, with_handle and recall.handle(message.tokens, message.seq) or nil)
  return text ~= nil and draft:replace(message, { content = content_of(text) }, "digest of a result") ~= nil
end

--- The messages with results of the newest unit, if that ends the list, and their tokens.
local function last_results(draft)
  local results, tokens = {}, 0
  local unit = draft:units { from = "newest", droppable = true }()
  local messages = unit and unit.messages or {}
  if #messages == 0 or messages[#messages].index ~= #draft then return results, tokens end
  for _, message in ipairs(messages) do
    if #parts.answers(message:totable()) > 0 then
      results[#results + 1], tokens = message, tokens + message.tokens
    end
  end
  return results, tokens
end

local NOTE_SHARE = 0.45    -- of the tokens that results at the end and the note have together
local NOTE_MIN = 30        -- tokens, of which half are a note's heading; where it has less, the results have all

--- Results that are still to be answered lose their length before they go; then the note has its share, if that is
--- worth a note.
---@param draft ebb.Draft
---@param high integer         tokens that the request may have
---@param room integer         tokens of a note that has all
---@param with_handle boolean
function cut.shrink(draft, high, room, with_handle)
  local results, tokens = last_results(draft)
  local left = high - (draft:tokens() - tokens)
  local share = math.min(room, math.max(0, left) * NOTE_SHARE)
  local allowed = left - (share >= NOTE_MIN and share or 0)
  for _, message in ipairs(allowed < tokens and results or {}) do
    shrink_message(draft, message, math.floor(allowed * message.tokens / tokens), with_handle)
  end
  draft:drop_oldest { to = high, reason = REASON }
end

--- The seq of the user message with which the last turn begins; nil: there is none.
---@param draft ebb.Draft
---@return integer?
function cut.turn(draft)
  for message in draft:messages { role = "user", from = "newest" } do
    local only_results = #message.parts > 0
    for _, part in ipairs(message.parts) do
      only_results = only_results and part.kind == "tool_result"
    end
    if not only_results then return message.seq end
  end
end

--- Drops the oldest units on the grid, at most once more for the note; what it gives makes walks over the messages that
--- went, from the newest on.
---@param draft ebb.Draft
---@param at ebb.Marks
---@param keep integer         newest units that stay where there is room
---@param need fun(gone: fun(): fun(): ebb.Message?): integer   tokens of the note, after a first cut
---@return fun(): fun(): ebb.Message?
function cut.drop(draft, at, keep, need)
  local now, gone = draft:tokens(), gone_of(draft, draft:recent(#draft))
  marks.drop(draft, marks.target(now, at.high, at.step), at, REASON, keep)
  local limit = math.max(0, at.high - need(gone))
  if draft:tokens() > limit then marks.drop(draft, marks.target(now, limit, at.step), at, REASON, keep) end
  draft:drop_oldest { to = limit, keep = 1, reason = REASON }
  return gone
end

return cut
