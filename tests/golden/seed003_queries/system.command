# Example 3: all system messages.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".load "input.json"
for _, message in ipairs(chat:where { role = "system" }) do print(message.json) end
LUA
