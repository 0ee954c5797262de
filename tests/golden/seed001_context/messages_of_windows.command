# Section 7.2: the same list is what a conversation with this window sends.
ebb run /dev/stdin <<'LUA'
local ebb = require "ebb"
local wanted = ebb.load "messages.json"
local chat = ebb.conversation()
for i, message in ipairs(wanted) do
  if i ~= 4 then chat:append(message:totable())
  else chat.windows:open { id = "todo_123", content = "empty", closable = false } end
end
for i, message in ipairs(chat:render()) do
  print(i, message.role == wanted[i].role and message.content == wanted[i].text)
end
LUA
