--- What happens to the windows of a conversation, told to who listens: the activity
--- log first, then the host.
--
--     {type = "opened" | "updated" | "closed", window, summary?}
--     {type = "action" | "refused", window?, action?, name?, params?, ok, text, code?}
--
-- and in all of them `seq`, the clock. "action": it was run, well or badly; "refused":
-- it was not. A listener comes when all is done and can undo nothing; if it fails, the
-- log of the library says so. What a listener causes is told when it has returned,
-- and FOLLOW_MAX times at most: two that answer each other would never end.
--
-- Listeners belong to one conversation; forks and copies tell nobody.

local core = require "ebb.support.core"
local log = require "ebb.support.log"
local model_text = require "ebb.windows.model_text"

local events = {}

local FOLLOW_MAX = 100

---@class ebb.WindowListeners
---@field host false|fun(event: ebb.WindowEvent)
---@field log false|fun(event: ebb.WindowEvent)
---@field queue false|ebb.WindowEvent[]     while one of them runs

--- Makes the places of a conversation's listeners: to fill one needs no memory then.
---@param chat ebb.Conversation
function events.prepare(chat)
  local state = core.state(chat)
  state.listeners = state.listeners or { host = false, log = false, queue = false }
end

--- Puts a listener in its place, or takes it away.
---@param chat ebb.Conversation
---@param kind "host"|"log"
---@param listener? fun(event: ebb.WindowEvent)
function events.listen(chat, kind, listener)
  events.prepare(chat)
  core.state(chat).listeners[kind] = listener or false
end

local function tell(listener, kind, event)
  if not listener then return end
  local ok, problem = pcall(listener, event)
  if not ok then
    log.write(("ebb: the %s's listener to windows failed: %s"):format(kind, model_text.reason(problem)))
  end
end

--- Tells the events of the queue, and those that listeners add to it meanwhile.
local function deliver(known)
  for i = 1, FOLLOW_MAX do
    local event = known.queue[i]
    if not event then return end
    tell(known.log, "log", event)
    tell(known.host, "host", event)
  end
  local left = #known.queue - FOLLOW_MAX
  if left > 0 then log.write(("ebb: %d events of windows were not told: listeners go on causing more"):format(left)) end
end

local function publish(chat, known, event)
  event.seq = chat.windows.seq
  if known.queue then
    known.queue[#known.queue + 1] = event
    return
  end
  known.queue = { event }
  local ok, problem = pcall(deliver, known)
  known.queue = false
  if not ok then error(problem, 0) end
end

local function publish_change(chat, known, kind, id, summary)
  publish(chat, known, { type = kind, window = id, summary = summary })
end

--- What is told has happened: whatever fails here, does so in the log.
local function try(run, chat, ...)
  local known = core.state(chat).listeners
  if not known or not (known.host or known.log) then return end
  local ok, problem = pcall(run, chat, known, ...)
  if not ok then log.write("ebb: an event of windows was lost: " .. model_text.reason(problem)) end
end

--- Tells of a call: an event of type "action" or "refused", without seq.
---@param chat ebb.Conversation
---@param event ebb.WindowEvent
function events.tell(chat, event)
  try(publish, chat, event)
end

--- Tells what has happened to a window. Needs no memory where nobody listens.
---@param chat ebb.Conversation
---@param kind "opened"|"updated"|"closed"
---@param id string
---@param summary? string
function events.emit(chat, kind, id, summary)
  try(publish_change, chat, kind, id, summary)
end

return events
