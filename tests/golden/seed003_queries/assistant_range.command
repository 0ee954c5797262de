# Example 4: [1, 5) from 0 are the second to the fifth; Lua counts from 1.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".load "input.json"
for _, message in ipairs(chat:range("assistant", 2, 5)) do print(message.json) end
LUA
