# Section 7.3: messages of the user that are marked.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".load "input.json"
for _, position in ipairs { 1, 4, 11 } do chat:mark(position, "important") end
for _, message in ipairs(chat:where { role = "user", marked = "important" }) do print(message.json) end
LUA
