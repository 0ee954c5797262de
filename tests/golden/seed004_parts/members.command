# Section 2.2: an id, a time and metadata are kept.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".load "input.json"
chat:apply '{"operation": "TRUNCATE", "keepFirst": 1}'
print(chat[1].id, chat[1].timestamp, chat[1].json)
LUA
