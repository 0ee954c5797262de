--- Files of a MessageArrayState: random lives of the array that the documents describe, in Lua, are read with all
--- their batches. SEED=n repeats a run, LIVES=n is how many.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local json = ebb.json
local import = require "ebb.import"

local LIVES = math.tointeger(tonumber(os.getenv "LIVES")) or 300
local state = helper.seed()

local function random(low, high)
  state = state * 6364136223846793005 + 1442695040888963407
  return low + (state >> 33) % (high - low + 1)
end

---- The array of the documents ----

local ROLES = { "system", "user", "assistant" }

--- Messages of a few texts, so that many are equal.
local function new_message()
  return { role = ROLES[random(1, 3)], content = "文" .. random(1, 4) }
end

local function copy(list) return table.move(list, 1, #list, 1, json.array {}) end

--- The array as it is kept: what each operation leaves is a snapshot, but for CLEAR.
local function new_array()
  local array = { messages = json.array {}, batchSnapshots = json.array {}, currentBatchIndex = 0 }
  for _ = 1, random(0, 6) do table.insert(array.messages, new_message()) end
  return array
end

local function leave_batch(array, name, messages)
  table.insert(array.batchSnapshots, {
    batchIndex = array.currentBatchIndex, timestamp = 1700000000000 + #array.batchSnapshots, messages = messages,
    messageCount = #messages, description = "Before " .. name,
  })
  array.currentBatchIndex = array.currentBatchIndex + 1
  array.messages = copy(array.messages)
end

local OPERATIONS = {
  function(array) table.insert(array.messages, new_message()) end,
  function(array)
    leave_batch(array, "INSERT at position 0", copy(array.messages))
    table.insert(array.messages, random(1, #array.messages + 1), new_message())
  end,
  function(array)
    leave_batch(array, "REPLACE", copy(array.messages))
    if array.messages[1] then array.messages[random(1, #array.messages)] = new_message() end
  end,
  function(array)
    leave_batch(array, "TRUNCATE", copy(array.messages))
    for _ = 1, random(0, #array.messages) do table.remove(array.messages, 1) end
  end,
  function(array)
    leave_batch(array, "FILTER", copy(array.messages))
    for i = #array.messages, 1, -1 do
      if array.messages[i].role == "user" then table.remove(array.messages, i) end
    end
  end,
  function(array)
    leave_batch(array, "CLEAR", json.array {})
    array.messages = json.array {}
  end,
}

--- Rolls back to a batch of which there is a snapshot: some programs keep the later ones, some drop them.
local function roll_back(array, drops)
  local snapshots = array.batchSnapshots
  if not snapshots[1] then return end
  local at = random(1, #snapshots)
  array.messages, array.currentBatchIndex = copy(snapshots[at].messages), snapshots[at].batchIndex
  while drops and #snapshots >= at do table.remove(snapshots) end
end

--- A life, and what each batch had last, by the number in the file.
local function live(rolls_back)
  local array = new_array()
  for _ = 1, random(0, 12) do
    if rolls_back and random(1, 6) == 1 then roll_back(array, rolls_back == "drops")
    else OPERATIONS[random(1, #OPERATIONS)](array) end
  end
  array.totalMessageCount = #array.messages
  return array
end

local function read(array)
  local result = assert(import.read(json.encode(array)))
  assert.equal("snapshots", result.name)
  return assert(ebb.parse(import.body(result))), result
end

local function plain(list)
  local messages = {}
  for i, message in ipairs(list) do messages[i] = message:totable() end
  return messages
end

local function equals(expected, list) assert.same(table.move(expected, 1, #expected, 1, {}), plain(list)) end

describe("files of a MessageArrayState", function()
  for name, rolls_back in pairs { ["without rollbacks"] = false, ["that drop what they roll back"] = "drops" } do
    it(("lives %s have the file's batches"):format(name), function()
      for _ = 1, LIVES do
        local array = live(rolls_back)
        local chat, result = read(array)

        equals(array.messages, chat)
        assert.equal(#array.batchSnapshots + 1, #chat:batches())
        assert.equal(array.currentBatchIndex, chat:stats().current_batch_index)
        for i, snapshot in ipairs(array.batchSnapshots) do
          equals(snapshot.messages, chat:batch(i - 1))
          assert.equal(snapshot.description, chat:batches()[i + 1].description)
          assert.equal(snapshot.timestamp, chat:batches()[i + 1].timestamp)
        end
        assert.equal(#array.messages, #result.messages)
      end
    end)
  end

  it("snapshots that a rollback left behind are batches all the same", function()
    for _ = 1, LIVES do
      local array = live "keeps"
      local chat = read(array)

      equals(array.messages, chat)
      for _, snapshot in ipairs(array.batchSnapshots) do
        local is_there = false
        for batch = 0, #chat:batches() - 1 do
          local ok, list = pcall(chat.batch, chat, batch, #snapshot.messages)
          if ok and json.encode(json.array(plain(list))) == json.encode(snapshot.messages) then is_there = true end
        end
        assert.is_true(is_there)
      end
    end
  end)

  it("keep the bytes of messages, and name what a file has besides", function()
    local message = '{"content": 1.50e1,  "role":"user", "extra":[1.0]}'
    local text = ('{"messages":[%s],"batchSnapshots":[{"batchIndex":0,"messages":[%s],"messageCount":2,"by":"me"}],' ..
      '"currentBatchIndex":1,"owner":"me"}'):format(message:gsub("1.50e1", '"甲"'), message:gsub("1.50e1", '"甲"'))
    local result = assert(import.read(text))
    local words = {}
    for i, entry in ipairs(result.report) do words[i] = entry.kind .. ": " .. entry.message end

    assert.truthy(import.body(result):find('{"content": "甲",  "role":"user", "extra":[1.0]}', 1, true))
    assert.same({
      "other member: owner", "other member: batchSnapshots[0].by",
      "wrong count: batchSnapshots[0].messageCount is 2, it has 1",
    }, words)
    local gap = assert(import.read('{"messages":[],"batchSnapshots":[{"batchIndex":0,"messages":[]}],'
      .. '"currentBatchIndex":7}'))
    assert.same({ "missing batch", "messages is of batch 7, the one before it is 0" },
      { gap.report[1].kind, gap.report[1].message })
  end)

  it("are refused with the place of what is wrong", function()
    local function problem_of(messages, snapshot, current)
      local _, problem = import.read(('{"messages":%s,"batchSnapshots":[%s],"currentBatchIndex":%s}'):format(messages,
        snapshot, current))
      return problem and problem.message
    end
    local good = '{"batchIndex":0,"messages":[{"role":"user","content":"q"}]}'

    assert.equal("text: currentBatchIndex: expected the number of a batch, from 0", problem_of("[]", good, "null"))
    assert.equal("text: batchSnapshots[0].batchIndex: expected the number of a batch, from 0",
      problem_of("[]", '{"batchIndex":-1,"messages":[]}', "1"))
    assert.equal("text: batchSnapshots[0].messages: expected a list of messages",
      problem_of("[]", '{"batchIndex":0,"messages":5}', "1"))
    assert.equal("text: batchSnapshots[0]: expected an object", problem_of("[]", "5", "1"))
    assert.matches("^text: messages: .*role", problem_of('[{"content":"q"}]', good, "1"))
  end)

  it("are read by the command, which rolls back to a batch of the file", function()
    command.make_folder()
    local snapshot = '{"batchIndex":0,"messages":[{"role":"user","content":"甲"},{"role":"user","content":"乙"}]}'
    local path = command.file("state.json", ('{"messages":[{"role":"user","content":"乙"}],"batchSnapshots":[%s],' ..
      '"currentBatchIndex":1}'):format(snapshot))

    local out = command.does(([[apply '{"operation":"ROLLBACK","targetBatchIndex":0}' %s --json]]):format(path))

    local report = json.decode(out)
    assert.equal("甲", report.messages[1].content)
    assert.equal("乙", report.messages[2].content)
    assert.equal(0, report.affectedBatchIndex)
    command.remove_folder()
  end)
end)
