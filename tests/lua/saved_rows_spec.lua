--- Saved conversations whose JSON is well formed and whose numbers and names are wrong. They are of version 1, which
--- has no digest, so that each thing that is read is held against what it refers to.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local function clock() return 1700000000000 end

--- Messages that were replaced, inserted and removed, a kept batch, windows, marks, and what a policy did.
local function everything(checkpoint)
  local chat = ebb.conversation { clock = clock }
  for i = 1, 4 do chat:append { role = i % 2 == 1 and "user" or "assistant", content = "m" .. i } end
  chat:append { role = "assistant", content = "", tool_calls = { { id = "x", type = "function",
    ["function"] = { name = "f", arguments = "{}" } } } }
  chat:append { role = "tool", tool_call_id = "x", content = "r" }
  chat:replace(2, { role = "assistant", content = "new" })
  chat:insert(1, { role = "user", content = "put" })
  assert(chat:trim { budget = 100000, policy = function(draft)
    draft.memory.a = 1
    draft:keep(draft[2], "wanted")
    draft:note "seen"
    assert(draft:replace(draft[5], { content = "z" }))
  end })
  chat:report_usage { prompt_tokens = 60 }
  chat:mark(1, "pin")
  chat:mark(3, "pin")
  if checkpoint then chat:checkpoint(checkpoint) end
  chat.windows:open { id = "w", content = "x", pinned = true }
  chat.windows:open { id = "v", content = "y" }
  return chat
end

--- Makes that conversation after all batches but one were pruned, and two runs of messages with them.
local function pruned()
  local chat = everything()
  chat:unmark(1, "pin")
  chat:unmark(3, "pin")
  chat:truncate { keep_last = 5 }
  chat:prune { keep = 1 }
  return chat
end

--- Checks that each of `rows`, { what is in the text, what takes its place, what the error names }, is refused at
--- its place or after it.
local function check_refused(text, rows)
  for _, row in ipairs(rows) do
    local was, is, expected = table.unpack(row)
    local at, last = text:find(was, 1, true)
    assert.is_truthy(at, was .. " in " .. text)
    local chat, problem = ebb.parse(text:sub(1, at - 1) .. is .. text:sub(last + 1))
    assert.is_nil(chat, was .. " as " .. is)
    local message = problem.message
    assert.is_truthy(message:find("expected " .. expected, 1, true), was .. " as " .. is .. ": " .. message)
  end
end

describe("a saved conversation without a digest", function()
  it("is read", function()
    for _, make in ipairs { everything, pruned } do
      local chat = make()
      assert.equal(chat:json(), assert(ebb.parse(helper.saved_before_digests(chat))):json())
    end
  end)

  it("is refused for a message that cannot be there", function()
    check_refused(helper.saved_before_digests(everything "c"), {
      { '{"role":"user","content":"m1"}', '{"role":"user","content":5}', "" },
      { '{"role":"user","content":"m1"},', '{"role":"user","content":"m1"}', "','" },
      { '"origins":[[7,2]', '"origins":[[7,99]', "the seq of an older message" },
      { '"origins":[[7,2]', '"origins":[[7,7]', "the seq of an older message" },
      { '"origins":[[7,2]', '"origins":[[7,0]', "the seq of an older message" },
      { '"origins":[[7,2],', '"origins":[[0,2],', "a seq, greater than the one before" },
      { '[9,4]]', '[7,4]]', "a seq, greater than the one before" },
      { '[9,4]]', '[4294967295,4]]', "a seq, greater than the one before" },
      { '[9,4]]', '[99,4]]', "the seq of a message" },
      { '[9,4]]', '[9,7]]', "a message that replaced none" },
      { '[9,4]]', '[9,4,1]]', "the end of the list" },
      { '"moved":[[8,0,2147483648,0]]', '"moved":[[8,0,0,0]]', "a step" },
      { '"moved":[[8,0,2147483648,0]]', '"moved":[[8,8,2147483648,0]]', "the seq of an older message" },
      { '"moved":[[8,0,2147483648,0]]', '"moved":[[8,-1,2147483648,0]]', "the seq of an older message" },
      { '"moved":[[8,0,2147483648,0]]', '"moved":[[8,0,4294967296,0]]', "half a step" },
      { '"moved":[[8,0,2147483648,0]]', '"moved":[[8,0,-1,0]]', "half a step" },
      { '"moved":[[8,0,2147483648,0]]', '"moved":[[8,0,2147483648,4294967296]]', "half a step" },
      { '"moved":[[8,0,2147483648,0]]', '"moved":[[8,0,2147483648,-1]]', "half a step" },
      { '"moved":[[8,0,2147483648,0]]', '"moved":[[7,0,2147483648,0]]',
        "a message that is a replacement or inserted, not both" },
      { '"moved":[[8,0,2147483648,0]]', '"moved":5', "a list" },
      { '"answers":[[6,5,0]]', '"answers":[[6,9,0]]', "the seq of an older message" },
      { '"answers":[[6,5,0]]', '"answers":[[6,6,0]]', "the seq of an older message" },
      { '"answers":[[6,5,0]]', '"answers":[[6,-1,0]]', "the seq of an older message" },
      { '"answers":[[6,5,0]]', '"answers":[[6,5,"a"]]', "the number of a call" },
      { '"answers":[[6,5,0]]', '"answers":[[6,5,-1]]', "the number of a call" },
      { '"answers":[[6,5,0]]', '"answers":[[6,5,4294967296]]', "the number of a call" },
      { '"answers":[[6,5,0]]', '"answers":[[6,5,1]]', "a call of the result's id" },
      { '"answers":[[6,5,0]]', '"answers":[[6,4,0]]', "a call of the result's id" },
      { '"answers":[[6,5,0]]', '"answers":[]', "what each result answers" },
      { '"answers":[[6,5,0]]', '"answers":[[5,4,0],[6,5,0]]', "what each result answers" },
    })
  end)

  it("is refused for a batch that cannot be", function()
    check_refused(helper.saved_before_digests(everything "c"), {
      { '"parent":-1', '"parent":-2', "parent" },
      { '"parent":-1', '"parent":0', "parent" },
      { '"parent":1', '"parent":2', "parent" },
      { '"parent":1', '"parent":-1', "parent" },
      { '"parent":1,"parentLength":6', '"parent":1,"parentLength":5', "parentLength" },
      { '"parent":1,"parentLength":6', '"parent":1,"parentLength":7', "parentLength" },
      { '"operation":"replace"', '"operation":"replaced"', "an operation" },
      { '"operation":"replace"', '"operation":"a name of sixteen bytes and more"', "an operation" },
      { '"operation":"replace"', '"operation":"\\u0072eplace"', "an operation" },
      { '"born":6,"count":6,"keep"', '"born":6,"count":-1,"keep"', "count" },
      { '"born":6,"count":6,"keep"', '"born":6,"count":12,"keep"', "count" },
      { '"born":6,"count":6,"keep"', '"born":-1,"count":6,"keep"', "born" },
      { '"born":6,"count":6,"keep"', '"born":7,"count":6,"keep"', "born" },
      { '"born":6,"count":6,"keep"', '"born":2,"count":6,"keep"', "a batch that keeps no more than it was born with" },
      { '"born":6,"count":6,"keep"', '"born":5,"count":6,"keep"', "a position behind the list" },
      { '"born":7,"count":7,"keep":[0,6]', '"born":7,"count":8,"keep":[0,6]', "as many messages as the batch has" },
      { '"keep":[0,4,5,2],', '', "what is kept of the parent" },
      { '"keep":[0,4,5,2]', '"keep":[-1,4,5,2]', "a position behind the ones before" },
      { '"keep":[0,4,5,2]', '"keep":[0,4,3,2]', "a position behind the ones before" },
      { '"keep":[0,4,5,2]', '"keep":[0,4,7,1]', "a position behind the ones before" },
      { '"keep":[0,4,5,2]', '"keep":[0,0,5,2]', "a count" },
      { '"keep":[0,4,5,2]', '"keep":[0,4,5,3]', "a count" },
      { '"put":[4,9,1', '"put":[-1,9,1', "a position of the list" },
      { '"put":[4,9,1', '"put":[7,9,1', "a position of the list" },
      { '"put":[4,9,1', '"put":[4,0,1', "a seq" },
      { '"put":[4,9,1', '"put":[4,12,1', "a seq" },
      { '"put":[4,9,1', '"put":[4,9,0', "a count" },
      { '"put":[4,9,1', '"put":[4,9,99', "a count" },
      { '"put":[1,7,1]', '"put":[1,7]', "a count" },
      { '"put":[4,9,1', '"put":[4,8,1', "a message that is not in the list" },
      { '"put":[4,9,1,7,10,2]', '"put":[4,9,1,7,10,1,8,10,1]', "a message that is not in the list" },
      { '"put":[4,9,1,7,10,2]', '"put":[4,9,1,6,10,2]', "a position behind the list" },
      { '"put":[4,9,1,7,10,2]', '"put":[4,9,1,7,10,1]', "as many messages as the batch has" },
      { '"count":9,', '"count":8,', "no more messages than the batch has" },
      { '"current":3', '"current":4', "the number of a batch" },
      { '"current":3', '"current":-1', "the number of a batch" },
      { '"checkpoints":[["c",3,7]]', '"checkpoints":[["c",4,7]]', "the number of a batch" },
      { '"checkpoints":[["c",3,7]]', '"checkpoints":[["c",-1,7]]', "the number of a batch" },
      { '"checkpoints":[["c",3,7]]', '"checkpoints":[["c",3,6]]', "a length that the batch had" },
      { '"checkpoints":[["c",3,7]]', '"checkpoints":[["c",3,10]]', "a length that the batch had" },
      { '"checkpoints":[["c",3,7]]', '"checkpoints":[["c",3,7],["c",0,6]]', "a checkpoint of its own name" },
    })
  end)

  it("is refused for a ledger, memory, marks or a calibration that cannot be", function()
    check_refused(helper.saved_before_digests(everything "c"), {
      { '["replaced","function"', '["lost","function"', "an action" },
      { '4,1,9,"assistant",0]', '0,1,9,"assistant",0]', "a seq" },
      { '4,1,9,"assistant",0]', '12,1,9,"assistant",0]', "a seq" },
      { '4,1,9,"assistant",0]', '4,0,9,"assistant",0]', "a count" },
      { '4,1,9,"assistant",0]', '4,9,9,"assistant",0]', "a count" },
      { '4,1,9,"assistant",0]', '4,2,9,"assistant",0]', "what an edit may have done" },
      { '4,1,9,"assistant",0]', '4,1,0,"assistant",0]', "what an edit may have done" },
      { '4,1,9,"assistant",0]', '4,1,-1,"assistant",0]', "a seq" },
      { '4,1,9,"assistant",0]', '4,1,12,"assistant",0]', "a seq" },
      { '4,1,9,"assistant",0]', '4,1,9,"bot",0]', "a role" },
      { '4,1,9,"assistant",0]', '4,1,9,"assistant",0.5]', "tokens" },
      { '4,1,9,"assistant",0]', '4,1,9,"assistant"]', "tokens" },
      { '4,1,9,"assistant",0]', '4,1,9,"assistant",0,0]', "the end of the list" },
      { '"keeps":["function","wanted",1]', '"keeps":["function","wanted",99]', "a seq" },
      { '"keeps":["function","wanted",1]', '"keeps":["function","wanted",0]', "a seq" },
      { '"keeps":["function","wanted",1]', '"keeps":["function",1,1]', "a string" },
      { '"notes":["function","seen"]', '"notes":["function"]', "a string" },
      { '"memory":{"function":{"a":1}}', '"memory":{"function":["' .. ("x"):rep(1 << 20) .. '"]}',
        "at most 1 MiB of what policies remember" },
      { '"memory":{"function":{"a":1}}', '"memory":[]', "what policies remember, an object" },
      { '"memory":{"function":{"a":1}}', '"memory":{"function":1}', "what a policy remembers, a table" },
      { '"marks":{"pin":[2,8]}', '"marks":{"pin":[0,8]}', "the seq of a message, greater than the one before" },
      { '"marks":{"pin":[2,8]}', '"marks":{"pin":[2,2]}', "the seq of a message, greater than the one before" },
      { '"marks":{"pin":[2,8]}', '"marks":{"pin":[2,12]}', "the seq of a message, greater than the one before" },
      { '"marks":{"pin":[2,8]}', '"marks":{"pin":[7,8]}', "a message that replaced none" },
      { '"calibration":[60,39]', '"calibration":[-1,39]', "tokens" },
      { '"calibration":[60,39]', '"calibration":[9223372036854775807,39]', "tokens" },
      { '"calibration":[60,39]', '"calibration":[60,61]', "no more tokens than were reported" },
      { '"calibration":[60,39]', '"calibration":[60,0]', "no more tokens than were reported" },
      { '"calibration":[60,39]', '"calibration":[0,-1]', "no more tokens than were reported" },
      { '"calibration":[60,39]', '"calibration":[60,1]', "a likely ratio" },
    })
  end)

  it("is refused for a window that cannot be", function()
    check_refused(helper.saved_before_digests(everything "c"), {
      { '"kind":"text"', '"kind":"texts"', "one of the names that belong here" },
      { '"id":"w","description":""', '"id":"w","description":5', "a string" },
      { '"is":["closable","pinned","important"]', '"is":["closable","closed shop"]',
        "one of the names that belong here" },
      { '"is":["closable","pinned","important"]', '"is":["closable","closable"]', "each once" },
      { '"id":"v"', '"id":"w"', "an id that no other window has" },
      { '"id":"v"', '"id":""', "an id that no other window has" },
      { '"version":1,"created":9', '"version":0,"created":9', "a seq of the store, or a version" },
      { '"version":1,"created":9', '"version":2147483648,"created":9', "a seq of the store, or a version" },
      { '"created":9', '"created":-1', "a seq of the store, or a version" },
      { '"created":9', '"created":10', "a seq of the store, or a version" },
      { '"updated":9', '"updated":12', "a seq of the store, or a version" },
    })
  end)

  it("is refused for what was pruned and cannot be so", function()
    check_refused(helper.saved_before_digests(pruned()), {
      { '"count":6}', '"count":6,"memory":{"a":{}}}', "a pruned batch without messages" },
      { '"count":6}', '"count":6,"keep":[]}', "a pruned batch without messages" },
      { '"current":4', '"current":3', "a batch that was not pruned" },
      { '"checkpoints":[]', '"checkpoints":[["c",3,7]]',
        "a checkpoint of its own name, in a batch that was not pruned" },
      { '"put":[0,9,1', '"put":[0,8,1', "a message that was not removed" },
      { '"removed":[1,4,7,2]', '"removed":[0,4,7,2]', "a seq, behind the removed messages before" },
      { '"removed":[1,4,7,2]', '"removed":[1,4,5,2]', "a seq, behind the removed messages before" },
      { '"removed":[1,4,7,2]', '"removed":[1,4,7,1,8,1]', "a seq, behind the removed messages before" },
      { '"removed":[1,4,7,2]', '"removed":[1,4,4294967295,1]', "a seq, behind the removed messages before" },
      { '"removed":[1,4,7,2]', '"removed":[1,0,7,2]', "a count" },
      { '"removed":[1,4,7,2]', '"removed":[1,4,7,4294967288]', "a count" },
      { '"removed":[1,4,7,2]', '"removed":[1,4,7,67108859]',
        "at most 67108864 messages, removed ones among them" },
      { '"removed":[1,4,7,2]', '"removed":[1,4,7,4294967287]',
        "at most 67108864 messages, removed ones among them" },
      { '"removed":[1,4,7,2]', '"removed":[1,4,7,2,99,1]', "the seq of a removed message" },
    })
  end)
end)
