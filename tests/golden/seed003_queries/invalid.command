# Section 2.3.2: a message has a role and a content.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".conversation()
for _, message in ipairs { { content = "Hello." }, { role = "user" }, { role = "nobody", content = "Hello." } } do
  local ok, problem = pcall(chat.append, chat, message)
  print(ok, problem.code, problem.message)
end
print(#chat)
LUA
