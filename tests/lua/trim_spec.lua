--- chat:trim: budgets, guards, units, options, failures.

local helper = dofile "tests/lua/helper.lua"
local it_exact = dofile "tests/lua/it_exact.lua"(it, function(why) pending(why) end)
local conversation, texts, refusal = helper.conversation, helper.texts, helper.refusal
local ebb = helper.ebb

--- Tokens of the request besides its messages.
local overhead = conversation(""):tokens()

local function ledger_text(report)
  return report.ledger:json()
end

describe("keep_recent", function()
  local cases = {
    -- what it shows                             conversation                     budget keep expected
    { "all fits: nothing is dropped",            "s10 u20 a30",                       60, 0, "s10 u20 a30" },
    { "the oldest goes first",                   "s10 u20 a30 u5",                    45, 0, "s10 a30 u5" },
    { "no more than needed",                     "s10 u20 a30 u5 a5",                 50, 0, "s10 a30 u5 a5" },
    { "system messages stay",                    "s10 u20 s10 a30 u5",                26, 0, "s10 s10 u5" },
    { "the last user message stays",             "u20 a30 u9 a8",                     10, 0, "u9" },
    { "pinned messages stay",                    "u20! a30 u9",                       29, 0, "u20! u9" },
    { "a call and its result go together",       "u5 c5(x) r5(x) a5 u5",              15, 0, "a5 u5" },
    { "a unit that is too big goes as a whole",  "u5 c1(x) r50(x) a5 u5",             20, 0, "a5 u5" },
    { "parallel calls are one unit",             "u1 c1(x,y) r5(x) r5(y) a1 u1",      12, 0, "a1 u1" },
    { "the pending unit stays",                  "u5 a9 u5 c5(x)",                    10, 0, "u5 c5(x)" },
    { "also when something stands after it",     "u5 c5(x) a9",                       10, 0, "u5 c5(x)" },
    { "an open unit before a user message goes", "u5 c5(x) u5",                        5, 0, "u5" },
    { "one id, used twice: two units",           "u1 c1(x) r9(x) c1(x) r9(x) u1",     11, 0, "c1(x) r9(x) u1" },
    { "keep holds the newest units",             "u9 a9 u9 a9 a9",                    30, 2, "u9 a9 a9" },
    { "nothing at all fits in nothing",          "",                                   0, 0, "" },
  }

  for _, case in ipairs(cases) do
    local name, words, budget, keep, expected = table.unpack(case)
    it(name, function()
      local chat = conversation(words)

      assert(chat:trim { budget = budget + overhead, policy = { "keep_recent", keep = keep } })

      assert.equal(expected, texts(chat))
    end)
  end

  it("rather stops than drops what keep holds", function()
    local chat = conversation "u9 a9 u9 a9 a9"
    local report, why, code = helper.outcome(chat:trim { budget = 20 + overhead, policy = { "keep_recent", keep = 3 } })
    assert.is_nil(report)
    assert.equal("over_budget", code)
    assert.truthy(why:find("7 more", 1, true), why)
    assert.is_nil((chat:trim { budget = 20 + overhead, policy = { "keep_recent", keep = 2 } }))
    assert(chat:trim { budget = 20 + overhead, policy = { "keep_recent", keep = 1 } })
    assert.equal("u9 a9", texts(chat))
  end)

  it("says what it did", function()
    local chat = conversation "s10 u20 a30 u5"

    local report = assert(chat:trim { budget = 45 + overhead })

    assert.equal(65 + overhead, report.before)
    assert.equal(45 + overhead, report.after)
    assert.equal(45 + overhead, report.budget)
    assert.equal("given", report.trust)
    assert.equal(1, report.batch)
    assert.same({ 1, 0, 0, 3 }, { report.dropped, report.replaced, report.inserted, report.kept })
    assert.equal(1, #report.ledger)
    local entry = report.ledger[1]
    assert.same({ "dropped", 2, "user", "keep_recent", "oldest", 20 },
      { entry.action, entry.seq, entry.role, entry.by, entry.reason, entry.tokens })
  end)

  it("reports what became of each message in the end, and tells every step in the ledger", function()
    local chat = helper.conversation "s5 u9 a9 u9 a9 u9 a9 u5"
    local report = assert(chat:trim { budget = 1000, policy = function(draft)
      draft:replace(draft[2], { content = "u3" })                    -- once, and gone later
      draft:replace(draft:replace(draft[3], { content = "a4" }) and draft[3], { content = "a2" })   -- twice
      draft:replace(draft[4], { content = "u2" })
      draft:insert(5, { role = "user", content = "u4" })             -- and gone later
      draft:drop(draft[5])
      draft:replace(draft:insert(5, { role = "user", content = "u6" }), { content = "u1" })
      draft:drop(draft[2])
      draft:drop(draft[7])
    end })
    assert.same({ 2, 2, 1, 4 }, { report.dropped, report.replaced, report.inserted, report.kept })
    assert.equal(10, #report.ledger)
  end)

  it("makes one batch, which can be undone", function()
    local chat = conversation "s10 u20 a30 u5"
    chat:trim { budget = 15 + overhead }

    local batches = chat:batches()
    assert.same({ 2, "trim", 0 }, { #batches, batches[2].operation, batches[2].parent })
    chat:rollback(0)
    assert.equal("s10 u20 a30 u5", texts(chat))
  end)

  it("makes no batch when nothing had to go", function()
    local chat = conversation "s10 u20"

    local report = assert(chat:trim { budget = 100 })

    assert.same({ 0, 0, 1 }, { report.batch, #report.ledger, #chat:batches() })
  end)
end)

describe("budgets", function()
  local refused = {
    { "negative", -1 }, { "NaN", 0 / 0 }, { "infinite", math.huge }, { "a fraction", 1.5 }, { "a word", "many" },
    { "a table", {} },
  }
  for _, case in ipairs(refused) do
    it("are refused when " .. case[1], function()
      local chat = conversation "u5"
      assert.equal("argument", refusal(chat.trim, chat, { budget = case[2] }).code)
      assert.equal("argument", refusal(chat.trim, chat, { budget = 5, reserve = case[2] }).code)
    end)
  end

  it("of 0 fit nothing", function()
    local chat = conversation "u5"
    local report, why, code = helper.outcome(chat:trim { budget = 0 })
    assert.is_nil(report)
    assert.equal("cannot_fit", code)
    assert.truthy(why:find("1 message ", 1, true))
  end)

  it("leave the reserve free", function()
    local chat = conversation "u20 a30 u5"
    local report = assert(chat:trim { budget = 45 + overhead, reserve = 10 })
    assert.same({ 35 + overhead, "a30 u5" }, { report.budget, texts(chat) })
  end)

  it_exact("default to the model's window less its output", function()
    local chat = ebb.conversation { model = "gpt-4-0613" }
    chat:append { role = "user", content = "hello" }
    assert.equal(8192 - 2048, assert(chat:trim {}).budget)
    assert.equal(8192 - 2048, assert(chat:fork():trim()).budget)
  end)

  it("are asked for when there is no model", function()
    local chat = conversation "u5"
    local problem = refusal(chat.trim, chat, {})
    assert.equal("argument", problem.code)
    assert.truthy(problem.hint:find "budget")
  end)
end)

describe("guards", function()
  it("leave no request without messages", function()
    local chat = conversation "a30 a20"
    local report, problem = chat:trim { budget = overhead + 5 }
    assert.is_nil(report)
    assert.equal("cannot_fit", problem.code)
    assert.truthy(problem.message:find("no message would be left", 1, true))
    assert.equal("a30 a20", texts(chat))
    assert(chat:trim { budget = overhead + 25 })
    assert.equal("a20", texts(chat))
    assert(chat:trim { budget = overhead, guards = false })
    assert.equal(0, #chat)
  end)

  it("cannot_fit says what they cost, and changes nothing", function()
    local chat = conversation "s10 u20 a30 u5"
    local before = helper.snapshot(chat)

    local report, why, code = helper.outcome(chat:trim { budget = 14 + overhead })

    assert.is_nil(report)
    assert.equal("cannot_fit", code)
    assert.truthy(why:find("2 messages", 1, true) and why:find(tostring(15 + overhead), 1, true), why)
    assert.equal(before, helper.snapshot(chat))
  end)

  it("can be turned off by the caller", function()
    local chat = conversation "s10 u20 a30 u5"
    assert(chat:trim { budget = 5 + overhead, guards = false })
    assert.equal("u5", texts(chat))
  end)

  it("answer a policy false and an error object", function()
    local chat, answers = conversation "s10 u20 a30 u5", {}
    local report = chat:trim { budget = 100, policy = function(draft)
      for i = 1, 4 do
        answers[i] = table.pack(draft:drop(draft[#draft], "no"))
      end
      answers[5] = table.pack(draft:drop(draft[1], "no"))
    end }
    assert(report)
    assert.is_false(answers[1][1])
    assert.equal("guarded", answers[1][2].code)
    assert.is_false(answers[5][1])
    assert.equal("s10 u20 a30 u5", texts(chat))
  end)
end)

describe("a dry run", function()
  local words = "s10 u20 a30 c5(x) r90(x) u5 a20 u5"

  it("gives the same ledger, byte for byte, and changes nothing", function()
    local function policy(draft, budget)
      for message in draft:messages { role = "tool" } do
        draft:replace(message, { content = "r1" }, "old")
      end
      draft:insert(2, { role = "system", content = "s3" }, "said")
      draft:drop_oldest { to = budget, reason = "oldest" }
    end
    local chat = conversation(words)
    local before = helper.snapshot(chat)

    local dry = assert(chat:trim { budget = 60 + overhead, policy = policy, dry_run = true })
    local snapshot = helper.snapshot(chat)
    local real = assert(chat:trim { budget = 60 + overhead, policy = policy })

    assert.equal(before, snapshot)
    assert.equal(ledger_text(real), ledger_text(dry))
    for _, field in ipairs { "before", "after", "budget", "trust", "dropped", "replaced", "inserted", "kept" } do
      assert.equal(real[field], dry[field], field)
    end
    assert.same({ 0, 1 }, { dry.batch, real.batch })
  end)
end)

describe("policies that fail", function()
  local function fails(policy, budget)
    local chat = conversation "s10 u20 a30 u5"
    local before = helper.snapshot(chat)
    local report, why, code = helper.outcome(chat:trim { budget = budget or 15 + overhead, policy = policy })
    assert.is_nil(report)
    assert.equal(before, helper.snapshot(chat))
    return why, code
  end

  it("by dropping nothing: over_budget names what would", function()
    local words = "s10 u20 a30 u5"
    local _, problem = conversation(words):trim { budget = 15 + overhead, policy = function() end }
    assert.matches("let a policy follow that drops", problem.hint, 1, true)
    _, problem = conversation(words):trim { budget = 15 + overhead,
      policy = function(draft) draft:drop(draft[2], "one") end }
    assert.is_nil(problem.hint)
  end)

  it("by stopping too early: over_budget says by how much", function()
    local why, code = fails(function(draft) draft:drop(draft[2], "one") end)
    assert.equal("over_budget", code)
    assert.truthy(why:find("30 more", 1, true), why)
  end)

  it("by an error: the message has file and line", function()
    local why, code = fails(function(draft)
      draft:drop(draft[2], "one")
      error "no idea"
    end)
    assert.equal("policy", code)
    assert.truthy(why:find("trim_spec.lua:%d+: no idea"), why)
  end)

  it("by a wrong argument: the refusal gets its line", function()
    local why, code = fails(function(draft) draft:messages { rol = "tool" } end)
    assert.equal("policy", code)
    assert.truthy(why:find "trim_spec.lua:%d+: ", why)
  end)

  it("by a file that is not there", function()
    local _, code = fails "no/such/policy.lua"
    assert.equal("absent", code)
  end)

  it("by a file with an error in it", function()
    local why, code = fails(helper.lua_file "return {\n  trim = = 1 }")
    assert.equal("policy", code)
    assert.truthy(why:find "%.lua:2:", why)
    helper.clean()
  end)

  it("by a file that returns no policy", function()
    local why, code = fails(helper.lua_file "return 5")
    assert.equal("policy", code)
    assert.truthy(why:find("expected a policy", 1, true), why)
    why = fails(helper.lua_file "return { filter = print }")
    assert.truthy(why:find("is a filter", 1, true), why)
    helper.clean()
  end)

  it("by editing the conversation behind the draft's back", function()
    local chat = conversation "u20 u5"
    local report, _, code = helper.outcome(chat:trim { budget = 5 + overhead, policy = function(draft)
      draft:drop(draft[1], "one")
      chat:append { role = "user", content = "u6" }
    end })
    assert.is_nil(report)
    assert.equal("conflict", code)
    assert.equal("u20 u5 u6", texts(chat))
  end)

  it("leave a draft that is closed", function()
    local kept
    local chat = conversation "u20 u5"
    assert(chat:trim { budget = 100, policy = function(draft) kept = draft end })
    assert.equal("closed", refusal(kept.tokens, kept).code)
    assert.equal("closed", refusal(kept.run, kept, "keep_recent").code)
  end)
end)

describe("policy specs", function()
  local function drop_first(draft) draft:drop(draft[1], "first") end

  it("in a list run in order, later ones only while over budget", function()
    local chat, ran = conversation "u20 u30 u5", {}
    local function note(name) return function() ran[#ran + 1] = name end end
    assert(chat:trim { budget = 35 + overhead, policy = { note "a", drop_first, note "b" } })
    assert.same({ "a" }, ran)
    assert.equal("u30 u5", texts(chat))
  end)

  it("the first runs also when all fits", function()
    local chat = conversation "u20 u5"
    assert(chat:trim { budget = 1000, policy = drop_first })
    assert.equal("u5", texts(chat))
  end)

  it("may be tables and files, with options", function()
    local chat = conversation "u20 a3 u5"
    local path = helper.lua_file [[
      return { options = { n = { type = "integer", default = 1 } }, trim = function(draft, budget, options)
        for i = 1, options.n do draft:drop(draft[1], "file") end
      end }]]
    assert(chat:trim { budget = 5 + overhead, policy = { path, n = 2 } })
    helper.clean()
    assert.equal("u5", texts(chat))
  end)

  local refused = {
    { "an unknown name",          "keep_recnt",                        "keep_recent" },
    { "an unknown option",        { "keep_recent", kep = 1 },          "'keep'" },
    { "a wrong type",             { "keep_recent", keep = "3" },       nil },
    { "a value below min",        { "keep_recent", keep = -1 },        nil },
    { "an empty list",            {},                                  nil },
    { "a number",                 7,                                   nil },
    { "options beside a list",    { "keep_recent", "x", keep = 1 },    nil },
  }
  for _, case in ipairs(refused) do
    it("refuse " .. case[1], function()
      local chat = conversation "u5"
      local problem = refusal(chat.trim, chat, { budget = 10, policy = case[2] })
      assert.truthy(problem.code == "argument" or problem.code == "unknown_name", problem.code)
      if case[3] then assert.truthy(problem.hint:find(case[3], 1, true), tostring(problem)) end
    end)
  end

  it("refuse unknown options of trim itself", function()
    local chat = conversation "u5"
    assert.equal("did you mean 'budget'?", refusal(chat.trim, chat, { bugdet = 10 }).hint)
    assert.equal("did you mean 'dry_run'?", refusal(chat.trim, chat, { budget = 10, dryRun = true }).hint)
  end)

  it("draft:run hands on, under the other policy's name and defaults", function()
    local chat = conversation "u20 u30 u5"
    local report = assert(chat:trim { budget = 5 + overhead, policy = { name = "mine", trim = function(draft)
      draft:drop(draft[1], "mine")
      draft:run("keep_recent")
    end } })
    assert.same({ "mine", "keep_recent" }, { report.ledger[1].by, report.ledger[2].by })
  end)

  it("are read from the command line's words", function()
    local policies = require "ebb.trim.policies"
    assert.equal(3, policies.parse("keep_recent:keep=3").keep)
    assert.is_nil(policies.parse("keep_recent").keep)
    assert.equal("did you mean 'keep'?", refusal(policies.parse, "keep_recent:kepe=3").hint)
    assert.equal("argument", refusal(policies.parse, "keep_recent:keep=x").code)
  end)

  local function contains_name(text, problem)
    assert.equal("argument", problem.code)
    assert.truthy(problem.message:find(("one has no name in '%s'"):format(text), 1, true), problem.message)
  end

  it("are read in a row: `,` between names, `;` after options", function()
    local parse_chain = require("ebb.trim.policies").parse_chain
    local function row(text)
      local words = {}
      for i, spec in ipairs(parse_chain(text)) do
        words[i] = spec[1].name .. (spec.keep and spec.keep or "")
      end
      return table.concat(words, " ")
    end
    assert.equal("clear_tool_uses stable_prefix", row "clear_tool_uses,stable_prefix")
    assert.equal("clear_tool_uses keep_recent3 stable_prefix",
      row " clear_tool_uses, keep_recent:keep=3 ;stable_prefix;")
    local spec = parse_chain("prune_messages:tool_calls=all,empty_messages=keep")[1]
    assert.same({ { "all" }, "keep" }, { spec.tool_calls, spec.empty_messages })
    assert.same({ "user", "assistant" }, parse_chain("trim_messages:start_on=user,assistant;keep_recent")[1].start_on)
    assert.equal("unknown_name", refusal(parse_chain, "clear_tool_uses,keep_recen").code)
    for _, text in ipairs { "", " ", ",", ";", "keep_recent,", ",keep_recent", "digest,,keep_recent", "digest;;agent",
      "digest;,agent", ",keep_recent:keep=3", ";digest" } do
      contains_name(text, refusal(parse_chain, text))
    end
    assert.equal(1, #parse_chain "return function() return 1, 2; end")
  end)
end)

describe("draft.memory", function()
  local function counting(seen)
    return { name = "counting", trim = function(draft)
      draft.memory.n = (draft.memory.n or 0) + 1
      seen[#seen + 1] = draft.memory.n
      draft:drop(draft[1], "one")
    end }
  end

  it("comes back on the next run, not after a dry or failed one", function()
    local chat, seen = conversation "u1 u2 u3 u4 u5", {}
    local policy = counting(seen)
    assert(chat:trim { budget = 100, policy = policy })
    assert(chat:trim { budget = 100, policy = policy, dry_run = true })
    assert.is_nil(chat:trim { budget = 5 + overhead, policy = policy })
    assert(chat:trim { budget = 100, policy = policy })
    assert.same({ 1, 2, 2, 2 }, seen)
  end)

  it("of a fork and of its original go their own ways", function()
    local chat, seen = conversation "u1 u2 u3 u4 u5 u6", {}
    local policy = counting(seen)
    assert(chat:trim { budget = 100, policy = policy })
    local fork = chat:fork()
    assert(fork:trim { budget = 100, policy = policy })      -- its batch 2, with a memory
    chat:truncate { keep_last = 4 }                          -- its batch 2, without one
    assert(chat:trim { budget = 100, policy = policy })
    assert(fork:trim { budget = 100, policy = policy })
    assert.same({ 1, 2, 2, 3 }, seen)
  end)

  it("is refused where it has no JSON form, and then nothing has changed", function()
    for _, case in ipairs {
      { "draft.memory.list[2] cannot be kept: a function has no JSON form", function(m) m.list = { 1, print } end },
      { "draft.memory.seen cannot be kept: a table is a list", function(m) m.seen = { [12] = true } end },
      { "draft.memory cannot be kept: more than 256 levels", function(m) m.loop = m end },
      { "draft.memory cannot be kept: more than 1048576 bytes", function(m) m.text = ("x"):rep(1 << 20) end },
    } do
      local expected, fill = table.unpack(case)
      local chat = conversation "u1 u2 u3"
      local policy = { name = "odd", trim = function(draft) fill(draft.memory) draft:drop(draft[1], "one") end }
      for _, dry_run in ipairs { true, false } do
        local report, why, code = helper.outcome(chat:trim { budget = 100, policy = policy, dry_run = dry_run })
        assert.is_nil(report)
        assert.equal("policy", code)
        assert.equal("policy odd: " .. expected, why:sub(1, #expected + 12))
        assert.equal("u1 u2 u3", texts(chat))
      end
    end
  end)

  it("comes back as it was put there", function()
    local chat, seen = conversation "u1 u2 u3", nil
    local function keep(memory)
      assert(chat:trim { budget = 100, policy = { name = "p", trim = function(draft)
        seen = draft.memory
        draft.memory = memory or seen
      end } })
    end
    local memory = {
      list = { 1, 2.5, "ä", { a = true } }, none = ebb.json.array {}, n = 1 << 60, f = 1.0, null = ebb.json.null }
    keep(memory)
    keep()
    keep(seen)
    assert.same(memory, seen)
    assert.equal("float", math.type(seen.f))
    assert.equal("[]", ebb.json.encode(seen.none))
    keep {}
    keep()
    assert.same({}, seen)
  end)

  it("is each policy's own, also when one hands on to another", function()
    local chat, seen = conversation "u1 u2 u3", {}
    local inner = { name = "inner", trim = function(draft) draft.memory.who = "inner" end }
    local outer = { name = "outer", trim = function(draft)
      seen[#seen + 1] = draft.memory.who or "nobody"
      draft:run(inner)
      draft.memory.who = "outer"
    end }
    assert(chat:trim { budget = 100, policy = outer })
    assert(chat:trim { budget = 100, policy = outer })
    assert(chat:trim { budget = 100, policy = { name = "inner", trim = function(draft)
      seen[#seen + 1] = draft.memory.who
    end } })
    assert.same({ "nobody", "outer", "inner" }, seen)
  end)

  it("is that of the nearest ancestor after a rollback, and goes with forks", function()
    local chat, seen = conversation "u1 u2 u3 u4 u5", {}
    local policy = counting(seen)
    assert(chat:trim { budget = 100, policy = policy })
    assert(chat:trim { budget = 100, policy = policy })
    chat:rollback(1)
    chat:truncate { keep_last = 3 }
    assert(chat:fork():trim { budget = 100, policy = policy })
    assert(chat:trim { budget = 100, policy = policy })
    chat:rollback(0)
    assert(chat:trim { budget = 100, policy = policy })
    assert.same({ 1, 2, 2, 2, 1 }, seen)
  end)
end)
