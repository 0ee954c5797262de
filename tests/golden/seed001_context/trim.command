# Section 5.3: what does not fit goes with all that is older, so that the rest has no holes.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".conversation { encoding = "bytes4" }
chat:append { { role = "system", content = "S" }, { role = "user", content = "short" },
  { role = "user", content = ("long "):rep(40) }, { role = "user", content = "last" } }
assert(chat:trim { budget = 30, policy = { "keep_turns", turns = 1 } })
for _, message in ipairs(chat) do print(message.text) end
LUA
