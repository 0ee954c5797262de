--- chat:check(dialect): what a provider would refuse, message by message.
--
-- OpenAI's rule is one of place: the results of an assistant message's calls
-- follow it directly, each once, and stand nowhere else. So one walk decides,
-- with the calls of the newest assistant message in hand:
--
--     assistant  calls a, b     opens a and b
--     tool       answers b      closes b
--     user                      a is still open: unanswered_call, at the assistant
--     tool       answers a      nothing is open: orphan_result

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"

local check = {}

local ANSWER_FIRST = "its results must follow directly after it; drop the call or add the result"
local DROP_RESULT = "drop it together with what it belongs to"

---@class ebb.CheckWalk
---@field found table[]
---@field caller? ebb.Message            the message whose calls are open
---@field open table<string, boolean>    call id -> not answered yet; false: answered
---@field order string[]

local function report(walk, message, rule, text, hint)
  table.insert(walk.found, { index = message.index, seq = message.seq, rule = rule, message = text, hint = hint })
end

--- The legacy function call has no id: its name stands for it, as in the result.
local function call_key(call)
  return call.id or call.name
end

--- No more results can come for the open calls.
local function close_calls(walk)
  for _, key in ipairs(walk.order) do
    if walk.open[key] then
      report(walk, walk.caller, "unanswered_call", ("call '%s' is not answered"):format(key), ANSWER_FIRST)
    end
  end
  walk.caller, walk.open, walk.order = nil, {}, {}
end

local function open_calls(walk, message)
  walk.caller = message
  for _, call in ipairs(message.calls) do
    local key = call_key(call)
    if walk.open[key] ~= nil then
      report(walk, message, "duplicate_call", ("two calls have the id '%s'"):format(key), "give each call its own id")
    else
      walk.open[key] = true
      table.insert(walk.order, key)
    end
  end
end

local function answer(walk, message)
  local key = message:totable().tool_call_id or message.name
  if type(key) ~= "string" then
    report(walk, message, "orphan_result", "a tool message without tool_call_id", "give it the id of its call")
  elseif walk.open[key] == nil then
    local text = ("result '%s' answers no call of the assistant message before it"):format(key)
    report(walk, message, "orphan_result", text, DROP_RESULT)
  elseif walk.open[key] == false then
    report(walk, message, "duplicate_result", ("call '%s' is answered twice"):format(key), "drop one of the results")
  else
    walk.open[key] = false
  end
end

local function openai(chat)
  local walk = { found = {}, open = {}, order = {} }
  for _, message in ipairs(chat) do
    if message.role == "tool" then
      answer(walk, message)
    else
      close_calls(walk)
      if message.role == "assistant" then open_calls(walk, message) end
    end
  end
  close_calls(walk)
  table.sort(walk.found, function(a, b) return a.index < b.index end)
  return walk.found
end

local DIALECTS = { openai = openai }

---@param chat ebb.Conversation
---@param dialect "openai"
---@return { index: integer, seq: integer, rule: string, message: string, hint: string }[]
function check.run(chat, dialect)
  local rules = DIALECTS[dialect]
  if not rules then
    local hint = suggest.hint(dialect, suggest.names(DIALECTS))
    refuse("unknown_name", ("no rules for the dialect '%s'"):format(tostring(dialect)), hint)
  end
  if core.type(chat) ~= "Conversation" then refuse("argument", "check needs a conversation") end
  return rules(chat)
end

return check
