--- Ledgers add up, dry runs write the same, and chat:explain follows a message.

local helper = dofile "tests/lua/helper.lua"
local ebb, conversation, refusal = helper.ebb, helper.conversation, helper.refusal

--- Drops, replaces, inserts, and does some of it twice to one message.
local function busy(draft)
  draft:note "busy"
  for message in draft:messages { role = "tool" } do
    draft:replace(message, { content = "r1(x)" }, "short")
  end
  local made = draft:insert(2, { role = "user", content = "u7" }, "context")
  draft:replace(made, { content = "u3" }, "shorter")
  draft:insert(1, { role = "user", content = "u2" }, "for a moment")
  draft:drop(1, "not after all")
  draft:drop(draft:last { from = "oldest", role = "assistant", droppable = true }, "old")
end

local CONVERSATION = "s5 u20 a30 u10 c9(x) r8(x) a6 u4 a3 u2"
local WAYS = {
  { "keep_recent", budget = 40 }, { "keep_recent", budget = 97 }, { busy, budget = 90 },
  { { busy, "keep_recent" }, budget = 40 },
}

local function freed(ledger)
  local sum, runs = 0, 0
  for _, entry in ipairs(ledger) do
    sum = sum + entry.tokens
  end
  for _, run in ipairs(ledger:runs()) do
    runs = runs + run.tokens
  end
  assert.equal(sum, runs)
  return sum
end

describe("a ledger", function()
  for i, way in ipairs(WAYS) do
    it("adds up to before minus after, in way " .. i, function()
      local chat = conversation(CONVERSATION)
      local report = assert(chat:trim { budget = way.budget, policy = way[1] })
      assert.equal(report.before - report.after, freed(report.ledger))
    end)

    it("is the same after a dry run, byte for byte, in way " .. i, function()
      local chat = conversation(CONVERSATION)
      local before = helper.snapshot(chat)
      local dry = assert(chat:trim { budget = way.budget, policy = way[1], dry_run = true })
      local text, notes = dry.ledger:json(), ebb.json.encode(dry.ledger:notes())
      assert.equal(before, helper.snapshot(chat))

      local wet = assert(chat:trim { budget = way.budget, policy = way[1] })
      assert.equal(text, wet.ledger:json())
      assert.equal(notes, ebb.json.encode(wet.ledger:notes()))
      if #wet.ledger > 0 then assert.equal(text, chat:ledger():json()) end
    end)
  end

  it("of a repair adds up too", function()
    local chat = conversation "u5 c9(x,y) r8(y) r7(z)"
    for _, calls in ipairs { "drop", "synthesize" } do
      local copy, report = chat:repaired { calls = calls }
      assert.equal(chat:tokens() - copy:tokens(), freed(report.ledger))
    end
  end)

  it("belongs to its batch", function()
    local chat = conversation "u5 a5 u5 a5 u5"
    chat:trim { budget = 20 }
    chat:truncate { keep_last = 1 }
    assert.is_nil(chat:ledger())
    assert.is_nil(chat:ledger(0))
    assert.equal(1, #chat:ledger(1))
  end)
end)

describe("explain", function()
  local function fate(chat, message)
    local told = chat:explain(message)
    local by, reason = told.by or "-", told.reason or "-"
    return ("%s %s %s %d %d>%d"):format(told.action, by, reason, told.batch, told.before, told.after)
  end

  it("tells what was kept, dropped, replaced and inserted", function()
    local chat = conversation(CONVERSATION)
    local all = chat:batch(0)
    chat:trim { budget = 90, policy = busy }

    assert.equal("kept - - 1 5>5", fate(chat, all[1]))
    assert.equal("dropped function old 1 3>0", fate(chat, all[9]))
    assert.equal("replaced function short 1 8>1", fate(chat, all[6]))
    assert.same({ true, 11 }, { chat:explain(all[6]).visible, chat:explain(all[6]).replacement })
    local inserted = chat:explain(12).events
    assert.same({ "inserted", 0, 7 }, { inserted[1].action, inserted[1].before, inserted[1].after })
    assert.same({ "replaced", 7, 3 }, { inserted[2].action, inserted[2].before, inserted[2].after })
  end)

  it("tells what a policy kept on purpose, with its whole unit, and why", function()
    local chat = conversation "s1 u9 c9(x) r9(x) u9 a9 u5"
    assert(chat:trim { budget = 40, policy = function(draft, budget)
      assert.is_true(draft:keep(draft[1], "held already"))
      assert.is_true(draft:keep(draft[4], "the order"))
      assert.is_true(draft:keep(draft[3], "too late"))
      draft:drop_oldest { to = budget }
    end })
    assert.same({
      { seq = 3, by = "function", reason = "the order" }, { seq = 4, by = "function", reason = "the order" },
    }, chat:ledger():keeps())
    assert.equal("kept function the order 1 9>9", fate(chat, 3))
    assert.equal("kept - - 1 1>1", fate(chat, 1))
    assert.equal("dropped function oldest 1 9>0", fate(chat, 2))
    chat:clear {}
    assert.same({ "kept", "dropped" }, { chat:explain(3).events[1].action, chat:explain(3).action })
  end)

  it("follows a message through its replacements, in order", function()
    local chat = conversation "u5 u6 u7 u8"
    chat:replace(2, { role = "user", content = "u3" })
    chat:trim { budget = 20 }
    chat:trim { budget = 8 }

    local told = chat:explain(2)
    assert.same({ "dropped", 2, false }, { told.action, #told.events, told.visible })
    assert.same({ "replaced", "replace", 1, 6, 3 },
      { told.events[1].action, told.events[1].by, told.events[1].batch, told.events[1].before, told.events[1].after })
    assert.same({ "dropped", "keep_recent", 3, 5 },
      { told.events[2].action, told.events[2].by, told.events[2].batch, told.events[2].seq })
  end)

  it("names operations that keep no ledger", function()
    local chat = conversation "s1 u2 u3"
    local message = chat[2]
    chat:clear {}
    local told = chat:explain(message)
    local batch = chat:batches()[2]
    assert.same({ "dropped", "clear", batch.description, 1 }, { told.action, told.by, told.reason, told.batch })
    chat:insert(1, { role = "user", content = "u9" })
    assert.equal("inserted", chat:explain(4).action)
  end)

  it("knows only the way to the current batch", function()
    local chat = conversation "u5 u6 u7"
    chat:trim { budget = 8 }
    assert.equal("dropped", chat:explain(1).action)
    chat:rollback(0)
    assert.equal("kept", chat:explain(1).action)
    chat:append { role = "user", content = "u9" }
    chat:rollback(1)
    assert.equal("absent", chat:explain(4).action)
  end)

  it("refuses what never was", function()
    local chat = conversation "u1"
    assert.equal("out_of_range", refusal(chat.explain, chat, 2).code)
    assert.equal("out_of_range", refusal(chat.explain, chat, 0).code)
  end)
end)
