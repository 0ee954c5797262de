--- Steps of sessions: each command that changes a session's list is one, which the log shows and undo takes back.

local assert = require "luassert"
local command = dofile "tests/lua/command.lua"
local json = dofile("tests/lua/helper.lua").ebb.json

local LIST = '[{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"three"}]'

local database

local function ebb(words) return command.ebb(("%s --db %s"):format(words, database)) end

local function done(words)
  local result = ebb(words)
  assert.equal(0, result.status, words .. ": " .. result.err)
  return result.out, result.err
end

--- The contents of the visible messages, joined.
local function contents()
  local words = {}
  for i, message in ipairs(json.decode((done "session export s --messages"))) do words[i] = message.content end
  return table.concat(words, " ")
end

--- A command, what the list is after it, and the words of its step in the log.
local CASES = {
  { "session append s %s", "one two three four", "1 append: 3 to 4 messages, batch 0" },
  { [[apply '{"operation":"append","messages":[{"role":"user","content":"five"}]}' --session s]],
    "one two three five", "1 apply: 3 to 4 messages, batch 0" },
  { [[apply '{"operation":"truncate","keepLast":1}' --session s]], "three", "1 apply: 3 to 1 message, batch 0 to 1" },
  { [[input six --session s]], "one two three six", "1 input: 3 to 4 messages, batch 0" },
  { "trim --session s --budget 12", "three", "1 trim: 3 to 1 message, batch 0 to 1" },
  { [[run %s --session s]], "one two three seven", "1 run: 3 to 4 messages, batch 0" , workflow = true },
}

describe("a step of a session", function()
  before_each(function()
    command.make_folder()
    database = command.path_of "s.db"
    done("session new s " .. command.file("list.json", LIST))
  end)
  after_each(command.remove_folder)

  for _, case in ipairs(CASES) do
    local words, after, line = table.unpack(case)
    it("is shown and undone: " .. words, function()
      local more = command.file("more.json", '[{"role":"user","content":"four"}]')
      if case.workflow then
        more = command.file("w.json", [[ [{"type":"context_processor","operation":"append",
          "append":{"messages":[{"role":"user","content":"seven"}]}}] ]])
      end

      done(words:format(more))

      assert.equal(after, contents())
      assert.truthy((done "session log s"):find(line, 1, true), (done "session log s"))
      done "session undo s"
      assert.equal("one two three", contents())
      local log = done "session log s"
      assert.truthy(log:find("2 undo of 1", 1, true), log)
      assert.truthy(log:find(line .. ", undone", 1, true), log)
      assert.equal(6, ebb("session undo s").status)
    end)
  end

  it("goes further back with each undo, and nothing is lost", function()
    local more = command.file("more.json", '[{"role":"user","content":"four"}]')
    done("session append s " .. more)
    done [[apply '{"operation":"truncate","keepLast":2}' --session s]]
    done("session append s " .. more)
    assert.equal("three four four", contents())

    for _, expected in ipairs { "three four", "one two three four", "one two three" } do
      done "session undo s"
      assert.equal(expected, contents())
    end

    assert.equal(6, ebb("session undo s").status)
    done("session append s " .. command.file("other.json", '[{"role":"user","content":"other"}]'))
    assert.equal("one two three other", contents())
    done "session undo s"
    assert.equal("one two three", contents())
    done "session rollback s 0 4"
    assert.equal("one two three four", contents())
    done "session undo s"
    assert.equal("one two three", contents())
  end)

  it("is what a program did without a command, too", function()
    local ebb_lua = dofile("tests/lua/helper.lua").ebb
    done("session append s " .. command.file("more.json", '[{"role":"user","content":"four"}]'))
    local session <close> = assert(ebb_lua.session(database, "s"))
    assert(session:append { role = "user", content = "by a program" })

    done "session undo s"
    assert.equal("one two three four", contents())
    done "session undo s"
    assert.equal("one two three", contents())
  end)

  it("is data of the batch that it led to", function()
    done("session append s " .. command.file("more.json", '[{"role":"user","content":"four"}]'))

    local step = json.decode((done "session log s --json"))[1].steps[1]

    assert.same({ 1, "append", 4, 0, 3 }, { step.number, step.by, step.messages, step.from.batch, step.from.messages })
  end)

  for _, policy in ipairs { "agent", "digest", "fold_output --policy keep_recent", "shrink_results" } do
    it("has one count of a trim, wherever it is shown: " .. policy, function()
      done "session import scripts/policies/agent.json t"
      local words = "trim --session t --encoding cjk --budget 700 --policy " .. policy
      local report = json.decode((done(words .. " --dry-run --json")))
        done(words)

      local line = (done "session log t"):match "[^\n]+"
      for _, action in ipairs { "dropped", "replaced", "inserted" } do
        local shown = math.tointeger(line:match("(%d+) " .. action) or 0)
        assert.equal(report[action], shown, action .. ": " .. line)
      end
    end)
  end

  it("keeps the model that a command counted by", function()
    done "session import scripts/policies/agent.json t"
    done "trim --session t --model gpt-4o --budget 900 --policy keep_recent"

    local info
    for _, each in ipairs(json.decode((done "session ls --json"))) do info = each.name == "t" and each or info end
    local log = json.decode((done "session log t --json"))
    assert.equal(info.tokens, log[#log].tokens)
    assert.equal(info.tokens, json.decode((done "count --session t --json"))[1].tokens)
    assert.truthy((done "session export t"):find('"model":"gpt-4o"', 1, true))
  end)

  it("is listed without the numbers by which the database knows it", function()
    for _, info in ipairs(json.decode((done "session ls --json"))) do
      assert.same({ nil, nil, "s" }, { info.id, info.origin, info.name })
    end
  end)

  it("changes nothing on a dry run", function()
    done("session append s " .. command.file("more.json", '[{"role":"user","content":"four"}]'))

    done "session undo s --dry-run"

    assert.equal("one two three four", contents())
    assert.is_nil((done "session log s"):find("undo", 1, true))
  end)

  it("refuses states that never were", function()
    for _, words in ipairs { "session rollback s 0 9", "session rollback s 0 x", "session rollback s 7 1" } do
      local result = ebb(words)
      assert.truthy(result.status == 6 or result.status == 2, words .. ": " .. result.err)
      assert.equal("one two three", contents())
    end
  end)

  it("is not lost where several programs append at once", function()
    local lines, more = {}, command.file("more.json", '[{"role":"user","content":"four"}]')
    for i = 1, 6 do
      local append = ("%s session append s %s --db %s -q"):format(command.EBB, more, database)
      lines[i] = ("(for n in 1 2 3 4; do %s || echo failed; done) 2>&1 &"):format(append)
    end
    local pipe = assert(io.popen("bash -c '" .. table.concat(lines, " ") .. " wait'"))
    local said = pipe:read "a"
    pipe:close()
    assert.equal("", said)
    assert.equal("one two three" .. (" four"):rep(24), contents())
  end)
end)

describe("a session that no command has edited", function()
  it("has no steps in its options, which versions before them refuse", function()
    command.make_folder()
    database = command.path_of "s.db"
    done("session new s " .. command.file("list.json", LIST))
    assert.is_nil((done "session export s"):find('"steps"', 1, true))
    done "session checkpoint s here"      -- it changes no list
    assert.is_nil((done "session export s"):find('"steps"', 1, true))
    done "session rollback s 0 1"
    assert.truthy((done "session export s"):find('"steps":[{', 1, true))
    command.remove_folder()
  end)
end)

describe("a command whose session another program edits meanwhile", function()
  before_each(function()
    command.make_folder()
    database = command.path_of "s.db"
    done("session new s " .. command.file("list.json", LIST))
  end)
  after_each(command.remove_folder)

  --- A policy, as another program appends `times` times to the session: once in each run. It is trusted.
  local function policy_of(times)
    local more = command.file("more.json", '[{"role":"user","content":"late"}]')
    local file = command.path_of "times"
    return command.file("policy.lua", ([[
      return function(draft, budget)
        local file = io.open(%q)
        local times = file and file:read "n" or 0
        if file then file:close() end
        if times < %d then
          file = io.open(%q, "w")
          file:write(times + 1)
          file:close()
          assert(os.execute(%q))
        end
        draft:drop_oldest { to = budget }
      end]]):format(file, times, file, ("%s session append s %s --db %s >/dev/null 2>&1"):format(command.EBB, more,
        database)))
  end

  local function trim(times, words)
    return ebb(("trim --session s --budget 15 --trusted --policy %s %s"):format(policy_of(times), words))
  end

  for times = 1, 3 do
    it(("runs anew in the newer version, and says what it did there: %d times"):format(times), function()
      local result = trim(times, "--explain")
      assert.equal(0, result.status, result.err)
      assert.equal(0, select(2, result.err:gsub("%f[%d]3 messages", "")), result.err)
      assert.equal(1, select(2, result.err:gsub("budget 15", "")), result.err)      -- it is told once
      assert.equal(times, select(2, result.err:gsub("  late\n", "")), result.err)
      assert.truthy(contents():find("late$"))
      local log = done "session log s"
      assert.truthy(log:find(("%d trim: %d to "):format(times + 1, 3 + times), 1, true), log)
    end)
  end

  it("writes the report of the last run", function()
    local path = command.path_of "ledger.json"
    assert.equal(0, trim(2, "--ledger " .. path).status)
    local report = json.decode(command.read(path))
    assert.equal(5, report.kept + report.dropped)
  end)

  it("reads standard input once, and refuses it where two would read it", function()
    local tools = command.file("tools.json", '[{"name":"look","description":"Looks."}]')
    local result = command.ebb(("trim --session s --db %s --budget 60 --trusted --policy %s --tools -"):format(database,
      policy_of(1)), tools)
    assert.equal(0, result.status, result.err)
    assert.truthy(contents():find("late$"))
    local window = command.file("window.json", '{"id":"w","content":"c"}')
    result = command.ebb("input - --window - --session s --db " .. database, window)
    assert.equal(command.USAGE, result.status)
    assert.truthy(result.err:find("standard input is named twice", 1, true), result.err)
  end)

  it("goes on with its recording of a model", function()
    local path = command.path_of "record.jsonl"
    done("session append s " .. command.file("long.json", json.encode { { role = "user", content = ("long "):rep(99) },
      { role = "assistant", content = ("word "):rep(99) }, { role = "user", content = "four" } }))
    local result = ebb(("trim --session s --budget 90 --trusted --policy 'summarize:keep=1;%s' "
      .. "--model-command 'echo a' --record %s"):format(policy_of(1), path))
    assert.equal(0, result.status, result.err)
    assert.equal(2, select(2, command.read(path):gsub("\n", "")))
  end)

  it("tells what fails in a later run as it is, at once", function()
    local name = command.path_of "gone.json"
    command.file("gone.json", '[{"name":"look","description":"Looks."}]')
    local policy = command.file("remove.lua", ([[
      local trim = dofile(%q)
      return function(draft, budget)
        trim(draft, budget)
        os.remove(%q)
      end]]):format(policy_of(1), name))
    local result = ebb(("trim --session s --budget 60 --trusted --policy %s --tools %s"):format(policy, name))
    assert.equal(command.IO, result.status, result.err)
    assert.truthy(result.err:find("gone.json", 1, true), result.err)
    assert.is_nil(result.err:find("other programs were faster", 1, true), result.err)
  end)

  it("ends with a clear error, and changes nothing, where others never rest", function()
    local result = trim(1000, "--explain")
    assert.equal(command.IO, result.status)
    assert.truthy(result.err:find("ebb trim: the session is at version %d+, not at %d+\n"), result.err)
    assert.truthy(result.err:find("hint: other programs were faster 21 times; run the command again", 1, true),
      result.err)
    assert.is_nil((done "session log s"):find("trim", 1, true))
  end)

  it("goes to a file as it was read", function()
    local path = command.path_of "out.json"
    local result = trim(2, "-o " .. path)
    assert.equal(0, result.status, result.err)
    assert.is_nil(command.read(path):find("late", 1, true))
    assert.equal("one two three late", contents())
  end)
end)
