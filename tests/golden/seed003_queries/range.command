# Section 1.2: the visible messages of a range, [2, 5) from 0.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".load "input.json"
for _, message in ipairs(chat:where {}:slice(3, 5)) do print(message.json) end
LUA
