--- Makes items of windows messages of the list, in a copy that is checked or repaired for a
-- provider: the check must see the messages that are sent.
--
--     chat   user  calls  {todo}  result  {log}
--     copy   user  calls  result  "<Window id=.." "<Window id=.."

local core = require "ebb.support.core"
local render = require "ebb.windows.render"
local roles = require "ebb.conversation.roles"

local inline_windows = {}

--- Replaces the window items of a fork by user messages with their windows' texts, in the order of a request;
--- drops items whose window has no text.
---@param copy ebb.Conversation
---@param texts table<string, string|false>     by window
---@return table<integer, integer> items    seq of each new message -> position of its item
function inline_windows.replace_items(copy, texts)
  local order, windows, items = core.window.request_order(copy), {}, {}
  for _, item in ipairs(core.window.items(copy)) do
    windows[item.position] = item.window
  end
  copy:filter { roles = roles }
  local last = 0
  for _, position in ipairs(order) do
    local text = windows[position] and texts[windows[position]]
    if not windows[position] then
      last = last + 1
    elseif text then
      last = last + 1
      copy:insert(last, { role = "user", content = text })
      items[copy[last].seq] = position
    end
  end
  return items
end

--- A fork without items, for sending.
---@param chat ebb.Conversation
---@return ebb.Conversation
function inline_windows.fork(chat)
  local copy = chat:fork()
  inline_windows.replace_items(copy, (render.texts(chat)))
  return copy
end

--- Violations of the list with its windows as messages. `check` looks at a list
--- without items. Nothing stays of the copy that it looks at.
---@param chat ebb.Conversation
---@param check fun(list: ebb.List, rules: table): ebb.Violation[], string
---@param rules table      of the core's check
---@return ebb.Violation[] violations
---@return string dialect
function inline_windows.check(chat, check, rules)
  local texts = (render.texts(chat))
  local violations, dialect, items
  local ROLLBACK = {}
  local ok, problem = pcall(core.transaction, chat, function(copy)
    items = inline_windows.replace_items(copy, texts)
    violations, dialect = check(copy, rules)
    error(ROLLBACK, 0)   -- rolls back, so that the store drops the added messages
  end)
  if not ok and problem ~= ROLLBACK then error(problem, 0) end
  local positions = {}
  for i = 1, #violations > 0 and #chat or 0 do
    positions[chat[i].seq] = i
  end
  for _, violation in ipairs(violations) do
    if violation.index then
      violation.index = items[violation.seq] or positions[violation.seq]
      violation.seq = chat[violation.index].seq
    end
  end
  return violations, dialect
end

return inline_windows
