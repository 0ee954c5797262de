# Section 2.1: the order is that of the visible list, in which Seq need not rise.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".conversation()
chat:append { { role = "user", content = "one" }, { role = "user", content = "three" } }
chat:insert(2, { role = "user", content = "two" })
io.write(chat.windows:listing())
print("CurrentSeq", chat.windows:clock())
LUA
