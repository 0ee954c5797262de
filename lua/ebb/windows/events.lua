--- Events of a conversation's windows, delivered to the activity log first, then to the host.
--
--     {type = "opened" | "updated" | "closed", window, summary?}
--     {type = "action" | "refused", window?, action?, name?, params?, ok, text, code?}
--
-- and in all of them `seq`. "action": it ran, with or without success; "refused": it did
-- not run. A listener is called after the change and cannot undo it; its errors are
-- logged. Events that a listener causes are delivered after it returns, events.FOLLOW_MAX at
-- most, so that two listeners cannot answer each other for ever.
--
-- Listeners belong to one conversation; forks and copies have none.

local core = require "ebb.support.core"
local log = require "ebb.support.log"
local model_text = require "ebb.windows.model_text"

local events = {}

events.FOLLOW_MAX = 100

---@class ebb.WindowListeners
---@field host false|fun(event: ebb.WindowEvent)
---@field log false|fun(event: ebb.WindowEvent)
---@field queue false|ebb.WindowEvent[]     while one of them runs

--- Creates the listeners' slots of a conversation, so that setting one needs no memory.
---@param chat ebb.Conversation
function events.prepare(chat)
  local state = core.state(chat)
  state.listeners = state.listeners or { host = false, log = false, queue = false }
end

--- Sets a listener, or removes it by nil.
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

--- Delivers the events of the queue, and those that listeners add meanwhile.
local function deliver(listeners)
  for i = 1, events.FOLLOW_MAX do
    local event = listeners.queue[i]
    if not event then return end
    tell(listeners.log, "log", event)
    tell(listeners.host, "host", event)
  end
  local left = #listeners.queue - events.FOLLOW_MAX
  local text = "ebb: %d events of windows were not delivered: listeners keep causing more"
  if left > 0 then log.write(text:format(left)) end
end

local function publish(chat, listeners, event)
  event.seq = chat.windows.seq
  if listeners.queue then
    listeners.queue[#listeners.queue + 1] = event
    return
  end
  listeners.queue = { event }
  local ok, problem = pcall(deliver, listeners)
  listeners.queue = false
  if not ok then error(problem, 0) end
end

local function publish_change(chat, listeners, kind, id, summary)
  publish(chat, listeners, { type = kind, window = id, summary = summary })
end

--- Runs a delivery. The change itself has succeeded, so failures are only logged.
local function try(run, chat, ...)
  local listeners = core.state(chat).listeners
  if not listeners or not (listeners.host or listeners.log) then return end
  local ok, problem = pcall(run, chat, listeners, ...)
  if not ok then log.write("ebb: an event of windows was lost: " .. model_text.reason(problem)) end
end

--- Delivers the event of a call, "action" or "refused"; seq is added here.
---@param chat ebb.Conversation
---@param event ebb.WindowEvent
function events.emit_call(chat, event)
  try(publish, chat, event)
end

--- Delivers the event of a window. Needs no memory without listeners.
---@param chat ebb.Conversation
---@param kind "opened"|"updated"|"closed"
---@param id string
---@param summary? string
function events.emit(chat, kind, id, summary)
  try(publish_change, chat, kind, id, summary)
end

return events
