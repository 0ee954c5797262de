# Section 8: ContextStats, and the listing.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".conversation { encoding = "bytes4" }
chat:append { { role = "system", content = "You keep lists." }, { role = "user", content = "Make a list." },
  { role = "assistant", content = "Here it is." } }
chat.windows:open { id = "todo_12345", content = "empty" }
chat.windows:open { id = "temp_67890", content = "empty" }:close()
io.write(chat.windows:listing())
local stats = chat.windows:stats()
print("TotalItems", stats.total, "ActiveItems", stats.active, "ObsoleteItems", stats.obsolete)
print("WindowItems", stats.windows, "EstimatedTokens", stats.estimated_tokens)
LUA
