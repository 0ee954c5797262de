# Section 2.4.3: without a role, the last messages of all.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".load "input.json"
for _, message in ipairs(chat:recent(3)) do print(message.json) end
LUA
