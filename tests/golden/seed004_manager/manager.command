# Section 4: MessageArrayManager, method by method.
ebb run /dev/stdin <<'LUA'
local ebb = require "ebb"
local function texts(list)
  local words = {}
  for i, message in ipairs(list) do words[i] = message.text end
  return table.concat(words, " ")
end
local function stats(chat)
  local of = chat:stats()
  return ("%d messages, %d in batch %d of %d"):format(of.total_messages, of.current_batch_messages,
    of.current_batch_index, of.total_batches)
end
local chat = ebb.conversation { messages = { { role = "system", content = "S" }, { role = "user", content = "one" } } }
print("constructor", texts(chat), stats(chat))
local report = chat:apply { operation = "APPEND", messages = { { role = "assistant", content = "two" } } }
print("execute APPEND", report.affected_batch_index, texts(chat), stats(chat))
report = chat:apply { operation = "TRUNCATE", keepLast = 1 }
print("execute TRUNCATE", report.affected_batch_index, texts(chat), stats(chat))
print("getState", ebb.json.encode(chat:state().messages))
print("getCurrentMessages", texts(chat))
print("getBatchSnapshot(0)", texts(chat:batch(0)))
print("getBatchSnapshot(7)", select(2, pcall(chat.batch, chat, 7)).message)
chat:rollback(0)
print("rollback(0)", texts(chat), stats(chat))
print("rollback(7)", select(2, pcall(chat.rollback, chat, 7)).message)
print("execute MOVE", select(2, pcall(chat.apply, chat, { operation = "MOVE" })).message)
LUA
