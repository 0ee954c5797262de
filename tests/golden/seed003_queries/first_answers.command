# Section 3.2: the first five answers.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".load "input.json"
for _, message in ipairs(chat:where { role = "assistant" }:slice(1, 5)) do print(message.json) end
LUA
