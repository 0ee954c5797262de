# Section 7.2: messages of the user between two times.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".load "input.json"
for _, message in ipairs(chat:where { role = "user", since = 1700002400000, before = 1700004200000 }) do print(message.json) end
LUA
