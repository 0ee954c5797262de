--- Conditions of branches and loops: a function, a table of them that all hold, or a Lua file.
--
--     when = function(chat) return #chat > 20 end
--     when = { tokens_over = 8000, calls = false }
--     when = "is_long.lua"                         a file that returns such a function

local core = require "ebb.support.core"
local locate = require "ebb.workflow.locate"
local open_calls = require "ebb.conversation.open_calls"
local refuse = require "ebb.support.refuse"
local traceback = require "ebb.support.traceback"

local condition = {}

local FIELDS = {
  answered = { type = "boolean", help = "the last message is the assistant's, and no call is open" },
  calls = { type = "boolean", help = "the last message of the assistant has calls without results" },
  messages_over = { type = "integer", min = 0 }, tokens_over = { type = "integer", min = 0, unit = "tokens" },
  last_role = { type = "choice", choices = { "system", "user", "assistant", "tool" } },
  last_contains = { type = "string", filled = true },
}

local HOLDS = {
  answered = function(chat, wanted)
    local last = chat[#chat]
    return (last ~= nil and last.role == "assistant" and #open_calls(chat) == 0) == wanted
  end,
  calls = function(chat, wanted) return (#open_calls(chat) > 0) == wanted end,
  messages_over = function(chat, count) return #chat > count end,
  tokens_over = function(chat, count) return chat:tokens() > count end,
  last_role = function(chat, role) return #chat > 0 and chat[#chat].role == role end,
  last_contains = function(chat, text) return #chat > 0 and chat[#chat].text:find(text, 1, true) ~= nil end,
}

--- The schema of a node's field for a condition.
---@type ebb.Schema
condition.SPEC = {
  any_of = { { type = "function" }, { type = "string" }, { type = "object", fields = FIELDS, noun = "condition" } },
  expected = "a function, a table of conditions, or the name of a Lua file", hint = "{ tokens_over = 8000 }",
}

local function of_table(wanted, name)
  if next(wanted) == nil then refuse("argument", name .. ": no condition is named", "{ tokens_over = 8000 }") end
  return function(chat)
    for key, value in pairs(wanted) do
      if not HOLDS[key](chat, value) then return false end
    end
    return true
  end
end

--- A condition as a function of the conversation, which answers any value, or nil and an error.
---@param value any             as SPEC takes it
---@param name string           of the field
---@param place ebb.WorkflowPlace
---@return fun(chat: ebb.Conversation): any, ebb.Error?
function condition.read(value, name, place)
  if type(value) == "table" then return of_table(value, name) end
  local call = type(value) == "string" and locate.script(value, place) or value
  return function(chat)
    local ok, result, code = traceback.call(call, call, chat)
    if not ok then return nil, core.error(code or "script", result) end
    return result or false
  end
end

return condition
