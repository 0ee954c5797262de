--- Commands that edit: --dry-run, --explain, --ledger, --json, -i and --quiet of each change what comes out, in the
--- same way for all of them.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"

local ebb, json = helper.ebb, helper.ebb.json
local contains, does, fails, file, path_of = command.contains, command.does, command.fails, command.file,
  command.path_of

local CARD = [[{"spec":"chara_card_v2","spec_version":"2.0","data":{"name":"Ann","description":"d","first_mes":"Hi"}}]]

--- Lines of arguments; I is the input, D the folder, S the options that name the session.
local COMMANDS = {
  { name = "trim", line = "trim I --budget 21 --encoding cjk", in_place = true, by = "keep_recent", adds_up = true },
  { name = "filter", line = "filter D/upper.lua --input I", in_place = true, by = "upper", adds_up = true },
  { name = "apply", line = [[apply '{"operation":"truncate","keepLast":2}' I]], in_place = true, by = "apply",
    adds_up = true },
  { name = "run", line = "run D/nodes.lua I", in_place = true, by = "run", adds_up = true },
  { name = "pipeline", line = "pipeline I --budget 21 --encoding cjk", by = "keep_recent" },
  { name = "convert", line = "convert I --to anthropic", in_place = true },
}

--- Runs a line of the table; words that follow it are `more`.
local function run(row, more)
  local line = (row.line .. " " .. (more or "")):gsub("%f[%w]I%f[%W]", path_of "small.json")
  return command.ebb((line:gsub("%f[%w]D/", command.folder .. "/")))
end

local function expect_success(result) assert.equal(0, result.status, result.err) end

local function sum_of(ledger)
  local sum = 0
  for _, entry in ipairs(ledger) do sum = sum + entry.tokens end
  return sum
end

for _, row in ipairs(COMMANDS) do
  describe("ebb " .. row.name, function()
    before_each(command.make_folder)
    after_each(command.remove_folder)

    it("--dry-run writes nothing, and says what would change", function()
      local plain, dry = run(row), run(row, "--dry-run -o " .. path_of "out.json")
      expect_success(dry)
      assert.is_true(#plain.out > 0)
      assert.same({ "", nil }, { dry.out, command.read(path_of "out.json") })
      if row.name ~= "convert" then assert.not_equal(plain.err, dry.err) end
      assert.equal(command.SMALL, command.read(path_of "small.json"))
    end)

    it("--explain shows what changed, next to the same result", function()
      local plain, explained = run(row), run(row, "--explain")
      expect_success(explained)
      assert.equal(plain.out, explained.out)
      if row.name ~= "convert" then assert.is_true(#explained.err > #plain.err) end
    end)

    it("--ledger writes the report next to the same result", function()
      local plain, written = run(row), run(row, "--ledger " .. path_of "ledger.json")
      expect_success(written)
      assert.same({ plain.out, plain.err }, { written.out, written.err })
      local report = assert(json.decode(command.read(path_of "ledger.json")))
      assert.is_false(report.dryRun)
      if row.by then assert.equal(row.by, report.ledger[1].by) end
      if row.adds_up then assert.equal(report.before - report.after, sum_of(report.ledger)) end
      contains("cannot both go to standard output", run(row, "--ledger - --json").err)
    end)

    it("--json is the report: the result of a dry run, else on standard error", function()
      local plain, dry = run(row), run(row, "--json --dry-run")
      expect_success(dry)
      assert.is_true(assert(json.decode(dry.out)).dryRun)
      local out = path_of "out.json"
      local wet = run(row, ("--json -o %s --ledger %s"):format(out, path_of "ledger.json"))
      expect_success(wet)
      assert.equal(plain.out, command.read(out))
      assert.same(json.decode(command.read(path_of "ledger.json")), json.decode(wet.err:match "{.*}"))
    end)

    it("--quiet leaves out the summary", function()
      local words = (row.line .. " -o D/out.json"):gsub("%f[%w]I%f[%W]", path_of "small.json")
      words = words:gsub("%f[%w]D/", command.folder .. "/")
      assert.not_equal("", command.on_terminal(words))
      assert.equal("", command.on_terminal(words .. " -q"))
    end)

    if row.in_place then
      it("-i writes to the input", function()
        local plain, placed = run(row), run(row, "-i")
        expect_success(placed)
        assert.equal("", placed.out)
        assert.equal(plain.out, command.read(path_of "small.json"))
        assert.not_equal(command.SMALL, plain.out)
      end)
    end
  end)
end

describe("the report of an edit", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local function ledger_of(words)
    return json.decode((does(words .. " --dry-run --json"))).ledger
  end

  it("names the operations that a message may have gone or come by", function()
    local operations = [=[apply '[{"operation":"truncate","keepLast":3},{"operation":"insert","position":0,]=]
      .. [=["messages":[{"role":"user","content":"new"}]}]' ]=] .. path_of "small.json"
    local ledger = ledger_of(operations)
    assert.same({ "dropped", 1, "truncate" }, { ledger[1].action, ledger[1].seq, ledger[1].reason })
    assert.same({ "inserted", 5, "insert" }, { ledger[2].action, ledger[2].seq, ledger[2].reason })
  end)

  it("joins neighbours that went for one cause, and follows a message through its replacements", function()
    file("two.lua", [[return {
      { operation = "truncate", truncate = { removeFirst = 2 } },
      { type = "filter", filter = "D/upper.lua" },
      { type = "filter", filter = "return function(m) return m.content ~= 'HI' end" },
      { type = "script", run = function(chat) chat:append { role = "user", content = "more" } end },
    }]])
    file("two.lua", (command.read(path_of "two.lua"):gsub("D/", command.folder .. "/")))
    local ledger = ledger_of(("run %s %s"):format(path_of "two.lua", path_of "small.json"))
    assert.same({ "dropped", 2, "truncate" }, { ledger[1].action, ledger[1].count, ledger[1].reason })
    assert.same({ "dropped", 3, "filter" }, { ledger[2].action, ledger[2].seq, ledger[2].reason })
    assert.same({ "inserted", "append" }, { ledger[3].action, ledger[3].reason })
  end)

  it("begins a new run where a message between two dropped ones stays", function()
    local list = json.array {}
    for i, role in ipairs { "user", "user", "assistant", "user", "user", "user" } do
      list[i] = { role = role, content = tostring(i) }
    end
    local input = file("gap.json", json.encode(list))

    local operation = [['{"operation":"filter","filter":{"roles":["assistant"]}}' ]]
    local report = json.decode((does("apply " .. operation .. input .. " --dry-run --json")))

    local runs = {}
    for i, entry in ipairs(report.ledger) do
      runs[i] = ("%s %d from %d"):format(entry.action, entry.count, entry.seq)
    end
    assert.same({ "dropped 2 from 1", "dropped 3 from 4" }, runs)
  end)

  it("of a workflow says what each node did", function()
    local words = ("run %s %s --dry-run --json"):format(path_of "nodes.lua", path_of "small.json")
    local nodes = json.decode((does(words))).nodes
    assert.same({ "context_processor", { 4, 1 } }, { nodes[1].type, nodes[1].messages })
    contains("--json is for nodes", fails(command.USAGE, ("run %s --json"):format(path_of "quiet.lua")))
  end)

  it("of apply has the state, and goes to standard error where the result goes somewhere", function()
    local words = ([[apply '{"operation":"truncate","keepLast":1}' %s --json]]):format(path_of "small.json")
    assert.equal(2, #json.decode((does(words))).batches)
    local out, err = does(words .. " -i --explain")
    assert.equal("", out)
    assert.equal('[{"role":"user","content":"Bye"}]', command.read(path_of "small.json"))
    contains('"batches"', err)
    out, err = does(words .. " --state")
    assert.equal(1, #assert(ebb.parse(out)))
    contains('"dryRun": false', err)
  end)

  it("of a file of many conversations counts what is lost", function()
    local line = '{"messages":[{"role":"user","content":"a","name":"n"},{"role":"assistant","content":"b"}]}\n'
    local words = ("convert %s --to anthropic --dry-run --json"):format(file("many.jsonl", line:rep(3)))
    local out = does(words)
    local report = json.decode(out)
    assert.same({ 3, 3 }, { report.conversations, report.losses[1].conversations })
    contains("many.jsonl:2:", select(2, does(words .. " --explain")))
  end)
end)

describe("ebb import", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("explains, writes its report to a file, and is quiet", function()
    local words = ("import %s --agent %s --chat %s"):format(file("card.json", CARD), path_of "a.json", path_of "c.json")
    local out, err = does(words .. " --dry-run --explain --ledger " .. path_of "l.json")
    contains("would write the agent", out)
    contains("understood: data.name\n", err)
    contains("+ 1 assistant: Hi", err)
    assert.same({ nil, true }, { command.read(path_of "a.json"), json.decode(command.read(path_of "l.json")).dryRun })
    assert.same({ "", "" }, { does(words .. " --quiet") })
    assert.is_string(command.read(path_of "a.json"))
    contains("--json writes the same", fails(command.USAGE, words .. " --ledger -"))
  end)
end)

describe("ebb session", function()
  before_each(function()
    command.make_folder()
    command.environment = ("EBB_DB=%s "):format(path_of "s.db")
  end)
  after_each(function()
    command.remove_folder()
    command.environment = nil
  end)

  it("tries its edits", function()
    does("session new s " .. path_of "small.json --dry-run")
    assert.is_nil(command.read(path_of "s.db"))
    does("session new s " .. path_of "small.json")
    does [[apply '{"operation":"truncate","keepLast":1}' --session s]]
    local state = does "session export s"

    local out, err = does("session rollback s 0 --dry-run --ledger " .. path_of "l.json")
    assert.equal("", out)
    contains("would have 4 messages", err)
    contains("+ 1 system: Be brief.", err)
    local report = json.decode(command.read(path_of "l.json"))
    assert.same({ 3, "rollback", "session" }, { report.inserted, report.ledger[1].reason, report.ledger[1].by })
    assert.equal(report.before - report.after, sum_of(report.ledger))
    assert.is_true(json.decode((does "session rollback s 0 --dry-run --json")).dryRun)
    contains("batch x: no checkpoint 'x', and no number of a batch", fails(command.USAGE, "session rollback s x"))
    contains("batch 77: expected a batch from 0 to ", fails(command.REFUSED, "session rollback s 77"))
    for _, words in ipairs { "prune s", "checkpoint s here", "rename s t", "rm s", "branch s t" } do
      contains("would", select(2, does("session " .. words .. " --dry-run")))
    end
    assert.equal(state, (does "session export s"))

    contains("+ 1 system", select(2, does "session rollback s 0 --explain"))
    assert.not_equal(state, (does "session export s"))
    contains("exists already", fails(command.REFUSED, "session rename s s --dry-run"))
    contains("--dry-run does not go with ls", fails(command.USAGE, "session ls --dry-run"))
  end)

  it("appends the messages of a file or of standard input, byte for byte", function()
    does("session new s " .. path_of "small.json")
    local more = file("more.jsonl", '{"role": "user",  "content":"one"}\n{"role":"assistant","content":"two"}\n')
    contains("+ 6 assistant: two", select(2, does("session append s " .. more .. " --dry-run")))
    does("session append s " .. more)
    does("session append s -", more)
    local out = does "session export s --messages"
    assert.equal(8, #json.decode(out))
    contains('{"role": "user",  "content":"one"}', out)
    contains("0 create: 8 messages", (does "session batches s"))
    contains("no messages to append", fails(command.REFUSED, "session append s " .. file("none.json", "[]")))
    contains("no session 't'", fails(command.IO, "session append t " .. more))
  end)

  it("shows the caller's description of a batch, on one line, and keeps it", function()
    does("session new s " .. path_of "small.json")
    does "session checkpoint s start"
    local operations = '[{"operation":"truncate","keepLast":2,"description":"整理\\n旧消息"},{"operation":"clear"}]'
    does(("apply '%s' --session s"):format(operations))
    does "session checkpoint s empty"
    local log = does "session log s"
    contains("1 truncate: 2 messages", log)
    contains("; 整理 旧消息\n", log)
    contains("; clear [empty at 0] <- current", log)
    contains("[start at 4]", log)
    local out = does "session log s --json"
    contains([["description":"整理\n旧消息"]], (out:gsub('": "', '":"')))
    contains("整理", (does "session export s"))
  end)

  it("has the library's words for what it does, and trims", function()
    does("session new s " .. path_of "small.json")
    does "session fork s t"
    assert.equal((does "session log s"), (does "session batches t"))
    does "session trim t --budget 21 --encoding cjk"
    does "trim --session s --budget 21 --encoding cjk"
    assert.equal((does "session export s --messages"), (does "session export t --messages"))
    contains("`ebb trim --session NAME` does this", fails(command.USAGE, "session trim"))
    contains("`ebb count --session NAME` does this", fails(command.USAGE, "session count s"))
    contains("did you mean 'show'?", fails(command.USAGE, "session shw s"))
  end)

  it("is edited by a command on trial, too", function()
    does("session new s " .. path_of "small.json")
    local words = [[apply '{"operation":"truncate","keepLast":1}' --session s]]
    contains("- 1 system", select(2, does(words .. " --dry-run")))
    assert.equal(3, json.decode((does(words .. " --dry-run --json"))).dropped)
    contains("4 messages", (does "session show s"))
    contains('"dropped": 3', select(2, does(words .. " --json")))
    contains("1 message", (does "session show s"))
  end)
end)
