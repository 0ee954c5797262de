--- Runs each input of fuzz_operations.c: operations as JSON text, applied
--- to a small conversation.
--
-- Whatever the text is, the call ends; what is refused says what and why, and has
-- changed nothing; what is accepted leads to a state that adds up.

local ebb = require "ebb"
local core = require "ebb.support.core"
local log = require "ebb.support.log"

log.to(function() end)   -- createNewBatch is ignored with a word each time

local function calls(...)
  local list = {}
  for i, id in ipairs { ... } do
    list[i] = { id = id, type = "function", ["function"] = { name = "look", arguments = "{}" } }
  end
  return list
end

local MESSAGES = {
  { role = "system", content = "Be brief.", name = "n" },
  { role = "user", content = "a", id = "i", timestamp = 5 },
  { role = "assistant", content = ebb.null, tool_calls = calls("x", "y") },
  { role = "tool", content = "b", tool_call_id = "x" },
  { role = "tool", content = "c", tool_call_id = "y" },
  { role = "user", content = { { type = "text", text = "d" } } },
  { role = "assistant", content = "ab" },
}

local TEXT = ebb.json.encode(MESSAGES)
local OPTIONS = { clock = function() return 1000 end, counter = function() return 1 end }

--- Refusals that an operation file may meet.
local CODES = {
  argument = true, unknown_name = true, out_of_range = true, syntax = true, encoding = true, shape = true, role = true,
  limit = true, duplicate = true,
}

local function check_refusal(problem)
  assert(core.is_error(problem), tostring(problem))
  assert(CODES[problem.code], ("[%s] %s"):format(problem.code, problem.message))
  assert(problem.message:find "^operation", problem.message)
end

local function check_state(chat, count)
  local state = chat:state()
  local again = assert(ebb.json.decode(ebb.json.encode(state)))
  assert(#again.results == count)
  local batches, current = state.batches, state.currentBatch or 0
  assert(#batches == state.stats.totalBatches and current == state.stats.currentBatchIndex)
  assert(batches[current + 1].messageCount == #chat and state.stats.currentBatchMessages == #chat)
  for i, batch in ipairs(batches) do
    assert(batch.index == i - 1 and (i == 1) == (batch.parent == nil or batch.parent == ebb.null))
    assert(#chat:batch(i - 1) == batch.messageCount)
  end
end

local origin = assert(ebb.parse(TEXT, OPTIONS))
local shared = 0   -- what accepted inputs have stored: forks share a store, so now and then a new one begins

local function fork_of_origin()
  if shared > 10000 then
    origin, shared = assert(ebb.parse(TEXT, OPTIONS)), 0
  end
  return origin:fork()
end

--- One input.
return function(text)
  local chat = fork_of_origin()
  local before = ebb.json.encode(chat:state())
  local ok, results = pcall(chat.apply, chat, text)
  if not ok then
    check_refusal(results)
    assert(ebb.json.encode(chat:state()) == before, "a refusal has changed something")
    return
  end
  shared = #chat:all()
  check_state(chat, #results)
  for i = 1, #chat do
    assert(chat[i].tokens == 1)
  end
  local again = assert(ebb.parse(chat:json(), { lenient = true }))   -- ids may come twice
  assert(#again == #chat)
  chat:rollback(0, #MESSAGES)
  assert(chat:json() == TEXT, "what was there is not there any more")
end
