--- chat:act: performs the native calls of a message, and appends their results.
--
--     local message = ask(chat)            { role = "assistant", tool_calls = {...} }, in any dialect
--     chat:append(message)
--     local results = chat:act()           the open calls at the end of the conversation

local act = require "ebb.windows.act"
local call_results = require "ebb.conversation.call_results"
local core = require "ebb.support.core"
local open_calls = require "ebb.conversation.open_calls"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"

--- The calls of a message that have no result yet: the last one that the conversation shows, by default.
local function calls_of(chat, message)
  local list = open_calls(chat)
  if message == nil then return list end
  if math.type(message) == "integer" then message = chat[message] end
  if core.type(message) ~= "Message" then
    refuse("argument", "act: a message or its position is expected, not " .. schema.describe(message), "chat:act()")
  end
  local wanted, chosen = {}, {}
  for _, call in ipairs(message.calls) do wanted[call.id or call.name] = true end
  for _, call in ipairs(list) do
    if wanted[call.id or call.name] then chosen[#chosen + 1] = call end
  end
  if #chosen == 0 and #message.calls > 0 then
    refuse("argument", "act: the calls of this message have their results, or a message of the user followed",
      "append a message before its calls are performed")
  end
  return chosen
end

---@param chat ebb.Conversation
---@param message? integer|ebb.Message
---@return ebb.ActionResult[] results
return function(chat, message)
  local calls = calls_of(chat, message)
  local results, list = act.native(chat, calls), {}
  for i, result in ipairs(results) do
    list[i] = { id = calls[i].id, name = calls[i].name, text = result.text, failed = not result.ok }
  end
  if list[1] then chat:append(call_results(chat:dialect(), list)) end
  return results
end
