# Sections 2.2 and 6.1: the positions of each role, and of all, before and after an operation, and of a clone.
ebb run /dev/stdin <<'LUA'
local ebb = require "ebb"
local chat = ebb.load "input.json"
local function show(what, list)
  print(what .. ":", list:count("user") .. " of the user")
  for _, role in ipairs { "system", "user", "assistant", "tool" } do
    print("", role, table.concat(list:indices()[role], " "))
  end
end
show("at first", chat)
local clone = chat:fork()
chat:apply { operation = "truncate", truncate = { role = "user", keepLast = 2 } }
chat:append { role = "assistant", content = "answer 8" }
show("after truncate", chat)
print("originalIndices", table.concat(chat:where {}:seqs(), " "))
for i, batch in ipairs(chat:batches()) do print("batch " .. i - 1, batch.parent_length) end
show("the clone", clone)
chat:rollback(0)
show("rolled back", chat)
LUA
