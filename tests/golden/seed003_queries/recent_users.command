# Example 1: the last three messages of the user.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".load "input.json"
for _, message in ipairs(chat:recent("user", 3)) do print(message.json) end
LUA
