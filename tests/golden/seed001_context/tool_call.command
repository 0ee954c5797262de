# Section 3.3: the model's call of create opens the window.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".conversation()
chat:action { id = "create", params = "name:string", run = function(params, here)
  return "opened " .. here.windows:open { id = params.name .. "_12345", content = "empty" }.id
end }
chat:append { role = "user", content = "Make a list." }
chat:append { role = "assistant",
  content = 'Here it is.\n<tool_call>{"name": "create", "arguments": {"name": "todo"}}</tool_call>' }
print(chat.windows:act(chat[2].text).text)
for _, message in ipairs(chat:render()) do print(message.role, message.content) end
LUA
