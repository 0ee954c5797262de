# Section 7.1: the last three messages of two roles.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".load "input.json"
for _, message in ipairs(chat:recent({ "user", "assistant" }, 3)) do print(message.json) end
LUA
