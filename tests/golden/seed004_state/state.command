# Section 3.2: the state that the three operations leave, as the document's program keeps it: what CLEAR had is lost there.
ebb run /dev/stdin <<'LUA'
local ebb = require "ebb"
local chat = assert(ebb.parse(require "ebb.import".body(assert(require "ebb.import".read(io.open("state.json"):read "a")))))
for i, batch in ipairs(chat:batches()) do
  local words = {}
  for k, message in ipairs(chat:batch(i - 1)) do words[k] = message.text end
  print(i - 1, batch.operation, batch.message_count, table.concat(words, " "), batch.description)
end
LUA
