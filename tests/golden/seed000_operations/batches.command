# startNewBatch is a checkpoint; rollbackToBatch; getCurrentBatchIndices.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".load "input.json"
local function show(what) print(what .. ":", table.concat(chat:where {}:seqs(), " ")) end
show "at first"
chat:checkpoint "before"
chat:apply { operation = "truncate", truncate = { keepLast = 3 } }
show "truncated"
chat:apply { operation = "filter", filter = { roles = { "user" } } }
show "filtered"
chat:rollback(1)
show "batch 1"
chat:append { role = "user", content = "Thank you." }
show "batch 1, longer"
chat:rollback(2)
show "batch 2, forward"
chat:rollback "before"
show "the checkpoint"
LUA
