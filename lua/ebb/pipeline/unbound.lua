--- Thinking that a pipeline's request leaves out, for models that bind it to all that came before it.
--
--     stored      u1 a2* u3 a4* u5          * thinking
--     request     p  u1 a2* d u3 a4 u5      a preset before the history, a note at a depth
--                           ^ the first change: thinking after it is left out
--
-- Messages before the history are not compared: earlier requests had presets there, too. Trims, edits and
-- insertions between messages of the history are changes, and so are those of the stored conversation's batches.

local bound_thinking = require "ebb.models.bound_thinking"
local core = require "ebb.support.core"

local unbound = {}

---@class ebb.pipeline.Unbound
---@field original ebb.Conversation
---@field place_of table<integer, integer>   position in the stored list, by seq
---@field first integer        positions in it that are left without thinking already, from `first`
---@field past integer         up to before `past`; first >= past: none

--- Opens the comparison of a run's history with the stored list; returns nil if the request keeps all thinking.
---@param original ebb.Conversation     in the target's own form
---@param goal ebb.Target
---@return ebb.pipeline.Unbound?
function unbound.open(original, goal)
  if not bound_thinking.is_left_out(goal, goal.model) or original:dialect() ~= goal.dialect then return nil end
  local place_of = {}
  for place, seq in ipairs(core.working.seqs(original)) do place_of[seq] = place end
  local first, past = core.bound_thinking(original)
  return { original = original, place_of = place_of, first = first, past = past }
end

local function is_edited(known, message)
  local _, edited = core.working.text(known.original, { message }, "", "")
  return edited > 0
end

--- The places in the stored list that a message was made of, from the first to the last; nil: it is not of it, or
--- says something else.
local function places_of(known, message)
  if not message.sources then
    local place = known.place_of[message.seq]
    if place and not is_edited(known, message) then return place, place end
    return nil
  end
  local first, last
  for _, source in ipairs(message.sources) do
    local place = known.place_of[source.seq]
    if not place or last and place ~= last + 1 then return nil end
    first, last = first or place, place
  end
  return first, last
end

--- True if a message is of the history, whatever became of it.
local function is_of_history(message) return message.source == "history" or message.source == "window" end

--- Numbers of messages of a request that go without thinking, from the first up to before the second; nil: none.
---@param known ebb.pipeline.Unbound
---@param messages ebb.WorkingMessage[]
---@return integer? from
---@return integer? past     nil: to the end
function unbound.range(known, messages)
  local before, from, past = 0, nil, nil
  for i, message in ipairs(messages) do
    local first, last = places_of(known, message)
    if first ~= before + 1 and (before > 0 or first or is_of_history(message)) then return from or i, nil end
    if first then
      if last >= known.first and first < known.past then from, past = from or i, i + 1 end
      before = last
    end
  end
  return from, past
end

--- Returns the thinking options for a trim of the history; false keeps all thinking.
---@param known? ebb.pipeline.Unbound
---@param history ebb.WorkingMessage[]
---@return false|ebb.trim.Thinking
function unbound.of_history(known, history)
  if not known then return false end
  local from, past = unbound.range(known, history)
  return { first = from or 1, past = past or from and #history + 1 or 1 }
end

return unbound
