--- ebb check, --repair and --replay, as typed.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local it_exact = dofile "tests/lua/it_exact.lua"(it, function(why) pending(why) end)

local does, fails, contains, file, read = command.does, command.fails, command.contains, command.file, command.read
local json = helper.ebb.json

local CALL = '{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":' ..
  '{"name":"f","arguments":"{}"}}]}'
local BROKEN = '[ {"role":"user","content":"one"},\n' .. CALL .. ' ,{"role":"user","content":"two"},\n' ..
  '{"role":"tool","tool_call_id":"a","content":"late"}, {"role":"user","content":"three"}]\n'
local MENDED = '[ {"role":"user","content":"one"},\n' .. CALL ..
  ',\n{"role":"tool","tool_call_id":"a","content":"late"} ,{"role":"user","content":"two"}, ' ..
  '{"role":"user","content":"three"}]\n'
local UNANSWERED = '[{"role":"user","content":"one"},' .. CALL .. ',{"role":"user","content":"two"}]\n'

--- A valid body in anthropic's form; trimmed, it begins with an assistant.
local function turns(count)
  local list = {}
  for i = 1, count do
    local role = i % 2 == 1 and "user" or "assistant"
    list[i] = ('{"role":"%s","content":[{"type":"text","text":"%s %d"}]}'):format(role, ("word "):rep(20), i)
  end
  list[count + 1] = '{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}'
  list[count + 2] = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}'
  return '{"system":"s","messages":[' .. table.concat(list, ",") .. '],"max_tokens":5}'
end

describe("the command check", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("says that nothing is wrong", function()
    contains("nothing that openai would refuse", does("check " .. command.path_of "small.json"))
  end)

  it("lists what is wrong, and ends with 1", function()
    local run = command.ebb("check " .. file("broken_pairs.json", BROKEN))
    assert.equal(1, run.status)
    contains("  2  assistant  unanswered_call", run.out)
    contains("  4  tool       orphan_result", run.out)
    contains("orphan_result: drop it", run.out)
  end)

  it("reports as JSON, by any rules", function()
    local run = command.ebb("check --json --dialect anthropic " .. file("broken_pairs.json", BROKEN))
    local report = json.decode(run.out)
    assert.equal("anthropic", report.dialect)
    assert.equal("foreign_call", report.violations[1].code)
    assert.equal(1, run.status)
  end)

  it("asks the model's rules, whatever the form of the messages", function()
    local run = command.ebb("check --json " .. file("claude.json", '{"model":"claude-sonnet-4-5","max_tokens":9,'
      .. '"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}'))
    local report = json.decode(run.out)
    assert.same({ 0, "anthropic", "anthropic" }, { run.status, report.dialect, report.profile })
    assert.same({ "alternation", "strict", "Bedrock Converse" },
      { report.violations[1].code, report.violations[1].severity, report.violations[1].servers })
    assert.truthy(#report.violations[1].source > 0)
  end)

  it("says which rules a body in another form than its model's is checked by", function()
    local path = file("gemini.json", '{"model":"gpt-4o","contents":[{"role":"user","parts":[{"text":"a"}]}]}')
    local run = command.ebb("check " .. path)
    assert.equal(1, run.status)
    assert.equal("1 message in gemini's form, and the model gpt-4o takes openai's: the request would be refused as it "
      .. "is. 'ebb convert --to openai' writes it in that form; --dialect gemini checks it by the rules of its own; "
      .. "--json lists the 1 violation by the rules of openai.\n", run.out)
    assert.equal("", run.err)
    local listed = command.ebb("check --json " .. path)
    contains("checked by the rules of openai, the dialect of its model gpt-4o, though it has gemini's form: "
      .. "--dialect gemini checks it by the rules of its form", listed.err)
    local report = json.decode(listed.out)
    assert.same({ "gemini", "openai", 1 }, { report.form, report.dialect, #report.violations })
    local _, err = does("check --dialect gemini " .. path)
    assert.equal("", err)
  end)

  it("joins what repeats into a row with its first places; --json keeps each", function()
    local messages = {}
    for i = 1, 9 do
      messages[i] = '{"role":"user","content":[{"type":"document","source":{}},{"type":"text","text":"t"}]}'
    end
    messages[10] = '{"role":"user","content":[]}'
    local path = file("many.json", "[" .. table.concat(messages, ",") .. "]")
    local run = command.ebb("check --dialect openai " .. path)

    assert.equal(1, run.status)
    contains("  1  user  foreign_part x 9  a part of type 'document' does not exist in this dialect; "
      .. "at 1, 2, 3, 4, 5, 6 and 3 more messages\n 10  user  empty_content     the list of parts is empty\n", run.out)
    contains("10 violations in 10 messages, by the rules of openai", run.out)
    -- 9 of them are `media`, which only some servers refuse
    assert.equal(10 + 9, #json.decode(command.ebb("check --json --dialect openai " .. path).out).violations)
  end)

  it("has a row for each of a few, and one for many places in one message or in the request", function()
    local tools, parts = {}, {}
    for i = 1, 6 do
      tools[i] = ('{"type":"function","function":{"name":"tool %d"}}'):format(i)
      parts[i] = '{"text":"a"}'
    end
    local body = '{"model":"gpt-4o","messages":[{"role":"user","content":[%s]}],"tools":[%s]}'
    local function check(count)
      return command.ebb("check " .. file("few.json", body:format(table.concat(parts, ",", 1, count),
        table.concat(tools, ",", 1, count)))).out
    end

    local _, rows = check(5):gsub("\n[^\n]- part_type ", "")
    assert.equal(5, rows)
    contains("  1       user     part_type x 6  a part has no type; at 1\n", check(6))
    contains("  -    -  request  tool_name x 6  'tool 1' is not a valid name of a tool; 'tool 2' is not a valid "
      .. "name of a tool; 'tool 3' is not a valid name of a tool; ..\n", check(6))
  end)

  it("says nothing of rules to a list without a model", function()
    local _, err = does("check " .. file("list.json", '[{"role":"user","parts":[{"text":"a"}]}]'))
    assert.equal("", err)
  end)

  it("counts what strict servers refuse under --strict, or for their profile", function()
    local path = file("log.json", '[{"role":"user","content":"a"},{"role":"user","content":"b"}]')
    local out = does("check --dialect anthropic " .. path)
    contains("nothing that anthropic would refuse", out)
    contains("(--strict shows them): alternation", out)
    local strict = command.ebb("check --strict --dialect anthropic " .. path)
    assert.equal(1, strict.status)
    contains("alternation: merge the two messages (Bedrock Converse)", strict.out)
    assert.equal(1, command.ebb("check --profile bedrock-converse " .. path).status)
    assert.equal(1, command.ebb("check --profile https://api.groq.com/v1 "
      .. file("extra.json", '[{"role":"user","content":"a","timestamp":1}]')).status)
    contains("mistral", fails(command.USAGE, "check --profile mistrall " .. path))
  end)

  it("explains a rule, and lists them", function()
    local out = does "check --explain call_id"
    contains("call_id, openai: '..' is not a valid call id", out)
    contains("source    github pydantic/pydantic-ai issue 4389", out)
    contains("example   tool_use with the id functions.f:0", out)
    contains("orphan_result", (does "check --explain all"))
    contains("did you mean 'orphan_result'", fails(command.USAGE, "check --explain orphan_results"))
    assert.equal("call_id", json.decode((does "check --explain call_id --json"))[1].code)
  end)

  it("lists profiles, also one's own", function()
    contains("bedrock-converse", (does "profiles"))
    contains("9 to 9 characters, alphanumeric", (does "profiles mistral"))
    contains("mistral", fails(command.USAGE, "profiles mistrall"))
  end)

  it("refuses unknown dialects", function()
    contains("ebb check: unknown dialect 'openia'",
      fails(command.USAGE, "check --dialect openia " .. command.path_of "small.json"))
    contains("openai", fails(command.USAGE, "check --dialect openia " .. command.path_of "small.json"))
    contains("openai", fails(command.USAGE, "trim --budget 9 --dialect openia " .. command.path_of "small.json"))
  end)
end)

describe("the command check of several files", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local GOOD = '[{"role":"user","content":"a"}]'
  local LINES = ('{"messages":%s}\n'):format((BROKEN:gsub("\n", " "))):rep(2)
  local cases = {
    -- what it shows                files of the folder                  status  violations of each file    the sum
    { "one good file",              { ["a.json"] = GOOD },                            0, { 0 },
      "together, 1 file\nno violations\n" },
    { "one bad file",               { ["a.json"] = UNANSWERED },                      1, { 1 },
      "together, 1 file\n1 violation in 1 file\n" },
    { "good and bad, by name",      { ["b.json"] = BROKEN, ["a.json"] = GOOD, ["c.jsonl"] = UNANSWERED },
      1, { 0, 2, 1 },
      "together, 3 files\n3 violations in 2 files\n" },
    { "a file that is not JSON",    { ["a.json"] = "[{", ["b.json"] = GOOD },         6, { -1, 0 },
      "together, 2 files\nno violations, 1 not checked\n" },
    { "violations and a bad file",  { ["a.json"] = UNANSWERED, ["b.json"] = '[{"rol":"user"}]', ["c.json"] = GOOD },
      6, { 1, -1, 0 },              "together, 3 files\n1 violation in 1 file, 1 not checked\n" },
    { "many conversations",         { ["a.jsonl"] = LINES, ["b.json"] = UNANSWERED }, 1, { 4, 1 },
      "together, 2 files\n5 violations in 2 files\n" },
    { "another ending",             { ["a.json"] = GOOD, ["notes.txt"] = "[{" },      0, { 0 },
      "together, 1 file\nno violations\n" },
    { "an empty folder",            { ["notes.txt"] = "[{" },                         7, nil, "" },
  }
  for _, case in ipairs(cases) do
    local name, files, status, found, sum = table.unpack(case)
    it("reads a folder: " .. name, function()
      local folder = command.path_of "logs"
      os.execute("mkdir -p " .. folder)
      for path, text in pairs(files) do file("logs/" .. path, text) end

      for _, slash in ipairs { "", "/" } do
        local run = command.ebb("check " .. folder .. slash)
        assert.equal(status, run.status, run.err)
        assert.equal(sum, run.out:sub(-#sum))
        run = command.ebb("check --json " .. folder .. slash)
        assert.equal(status, run.status)
        if not found then return contains("no .json or .jsonl file is in this folder", run.err) end
        local report, names, total = json.decode(run.out), {}, 0
        for i, each in ipairs(report.files) do
          names[i] = each.file:match "[^/]+$"
          assert.equal(found[i] < 0, each.error ~= nil, each.file)
          if found[i] >= 0 then total = total + found[i] end
        end
        local sorted = table.move(names, 1, #names, 1, {})
        table.sort(sorted)
        assert.same(sorted, names)
        assert.same({ #found, total }, { report.total.files, report.total.violations })
      end
    end)
  end

  it("has a table for each, as that of the file alone", function()
    local good, bad = file("good.json", GOOD), file("bad.json", BROKEN)
    local one, other = command.ebb("check " .. good).out, command.ebb("check " .. bad).out
    local run = command.ebb(("check %s %s"):format(good, bad))
    assert.equal(("%s\n%s\n%s\n%s\ntogether, 2 files\n2 violations in 1 file\n"):format(good, one, bad, other), run.out)
  end)

  it("names the file of an error and of a warning, and goes on", function()
    local bad = file("bad.json", '{"model":"gpt-4o","contents":[{"role":"user","parts":[{"text":"a"}]}]}')
    local run = command.ebb(("check --json %s %s %s"):format(bad, command.path_of "missing.json", file("a.json", GOOD)))
    assert.equal(7, run.status)
    contains(bad .. ": checked by the rules of openai", run.err)
    contains(command.path_of "missing.json", run.err)
    local report = json.decode(run.out)
    assert.same({ 3, 1, 1, 7 }, { report.total.files, report.total.refused, report.total.failed,
      report.files[2].error.exitCode })
  end)

  it("refuses a wrong command line once", function()
    local run = command.ebb(("check --dialect openia %s %s"):format(file("a.json", GOOD), file("b.json", GOOD)))
    assert.equal(2, run.status)
    assert.equal("", run.out)
    local _, count = run.err:gsub("unknown dialect", "")
    assert.equal(1, count, run.err)
    contains("only one of the files", fails(command.USAGE, "check - -"))
  end)

  it("takes a session, standard input and folders next to files", function()
    contains("1 message, nothing that openai would refuse", does("check", file("a.json", GOOD)))
    local run = command.ebb(("check %s %s"):format(command.path_of "small.json", "scripts/samples"))
    contains(command.path_of "small.json" .. "\n", run.out)
    contains("\nscripts/samples/support.json\n", run.out)
  end)
end)

describe("what was broken before", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("stays, and is told", function()
    local path = file("broken_pairs.json", BROKEN)
    local out, err = does("trim --budget 1000 " .. path)
    assert.equal(BROKEN, out)
    contains("openai would refuse this: 2 violations", err)
    contains("message 2: unanswered_call", err)
    contains("--repair", err)
  end)

  it("is told by convert, too, by the rules of the form that it writes", function()
    local path = file("broken_pairs.json", BROKEN)
    local _, err = does("convert --to anthropic " .. path)
    contains("anthropic would refuse this: ", err)
    contains("message 4: results_late", err)
    contains("--repair repairs them", err)
    local report = json.decode((does("convert --to gemini --dry-run --json " .. path)))
    assert.is_true(report.violations > 0)
    _, err = does("convert --to gemini " .. file("system.json", '[{"role":"system","content":"s"}]'))
    contains("the request: no_messages", err)
    _, err = does("convert --to anthropic --role-map pirate=user "
      .. file("pirate.json", '[{"role":"pirate","content":"a"}]'))
    assert.is_nil(err:find("refuse", 1, true))
  end)

  it("is told by convert where the body names a model of another dialect", function()
    local path = file("body.json", '{"model":"gpt-4o","messages":[{"role":"user","content":"a"}]}')
    local _, err = does("convert --to gemini " .. path)
    contains("dropped_model: the model gpt-4o, whose dialect is openai, is left out: name one of gemini", err)
    for _, words in ipairs { "--to gemini --model gemini-2.5-pro ", "--to openai ", "--to responses ", "--to ebb " } do
      _, err = does("convert " .. words .. path)
      assert.is_nil(err:find("gpt-4o", 1, true), words)
    end
    path = file("claude.json", '{"model":"claude-opus-4-5","messages":[{"role":"user","content":"a"}]}')
    _, err = does("convert --to openai " .. path)
    contains("dropped_model", err)
    local compatible = '{"model":"claude-opus-4-5","messages":[{"role":"system","content":"a"}]}'
    _, err = does("convert --to openai " .. file("compatible.json", compatible))
    contains("the body names the model claude-opus-4-5, whose dialect is anthropic: --model names a model of openai",
      err)
  end)

  it("is mended by convert under --repair, in the form that it writes", function()
    local path, out = file("broken_pairs.json", BROKEN), command.path_of "out.json"
    for _, to in ipairs { "openai", "anthropic", "gemini", "responses" } do
      for _, way in ipairs { "drop", "synthesize" } do
        local run = command.ebb(("convert --to %s --repair=%s --json -o %s %s"):format(to, way, out, path))
        local report = json.decode(run.err:match "%b{}")
        assert.same({ 0, to ~= "responses" }, { report.violations, report.repairs ~= nil }, to)   -- results may be late
        assert.equal(0, command.ebb(("check --dialect %s %s"):format(to, out)).status)
      end
    end
    contains("--to ebb writes a whole conversation", fails(2, "convert --to ebb --repair " .. path))
    local lines = file("many.jsonl", ('{"messages":%s}\n'):format((BROKEN:gsub("\n", " "))):rep(2)
      .. '{"messages":[{"role":"user","content":"a"}]}\n')
    local _, err = does("convert --to anthropic " .. lines)
    contains("anthropic would refuse 2 conversations: ", err)
    contains("the first in line 1: message ", err)
    local report = json.decode((does("convert --to anthropic --repair --dry-run --json " .. lines)))
    assert.same({ 3, 2, 0, 0 }, { report.conversations, report.repaired, report.refused, report.violations })
  end)

  it("is mended by --repair, also before a file, and nothing else changes", function()
    local path = file("broken_pairs.json", BROKEN)
    for _, words in ipairs { "trim --repair --budget 1000", "trim --budget 1000 --repair=drop" } do
      local out, err = does(words .. " " .. path)
      assert.equal(MENDED, out)
      contains("repaired for openai: 0 dropped, 1 replaced", err)
    end
    local operations = file("ops.json", '{"operation":"append","messages":[{"role":"user","content":"x"}]}')
    local out = does(("apply %s --repair %s"):format(operations, path))
    contains('"two"},', out)
    assert.equal(0, command.ebb("check " .. file("out.json", out)).status)
  end)

  it("can be answered instead", function()
    local out = does("trim --budget 1000 --repair=synthesize " .. file("unanswered.json", UNANSWERED))
    contains('"tool_call_id":"a","content":"Error: this call has no result."', out)
    assert.equal(0, command.ebb("check " .. file("out.json", out)).status)
  end)

  it("goes into the ledger, and what is added counts", function()
    local path, ledger = file("broken_pairs.json", BROKEN), command.path_of "ledger.json"
    does(("trim --budget 1000 --repair --ledger %s -o %s %s"):format(ledger, command.path_of "out.json", path))
    local report = json.decode(read(ledger))
    assert.equal("repair", report.repairs[1][1].by)
    assert.equal(0, report.violations)

    local out = does("trim --budget 24 --repair=synthesize " .. path)
    local counted = json.decode((does("count --json " .. file("out.json", out))))
    assert.is_true(json.encode(counted):find '"tokens":%d+' ~= nil)
    assert.equal(0, command.ebb("trim --budget 24 " .. command.path_of "out.json").status)
  end)

  it("needs a way that is known, and something to write", function()
    local path = command.path_of "small.json"
    contains("synthesize", fails(command.USAGE, "trim --repair=mend --budget 9 " .. path))
    local operations = file("ops.json", '{"operation":"clear"}')
    contains("--state", fails(command.USAGE, ("apply %s --state --repair %s"):format(operations, path)))
  end)
end)

describe("a cut of whole units", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("leaves what anthropic takes, within the budget", function()
    local path = file("turns.json", turns(9))
    assert.equal(0, command.ebb("check --dialect anthropic " .. path).status)
    for budget = 60, 160, 3 do
      local run = command.ebb(("trim --budget %d %s -o %s"):format(budget, path, command.path_of "out.json"))
      if run.status == 0 then
        assert.equal(0, command.ebb("check --dialect anthropic " .. command.path_of "out.json").status, run.err)
        local again = command.ebb(("trim --budget %d --dry-run %s"):format(budget, command.path_of "out.json"))
        assert.equal(0, again.status)
        contains("kept, 0 dropped", again.err)
      else
        assert.equal(command.CANNOT_FIT, run.status)
      end
    end
  end)
end)

describe("trim --replay", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("plays each policy by itself", function()
    local policies = "--policy keep_recent --policy keep_recent:keep=3"
    local out, err = does("trim --replay scripts/samples/support.json --limit 4000 " .. policies)
    contains("requests", out)
    contains("keep_recent:keep=3", out)
    assert.equal("", err)
  end)

  it_exact("reports as JSON", function()
    local report = json.decode((does "trim scripts/samples/support.json --replay --budget 4000 --json"))
    assert.equal("none", report.policies[1].policy)
    local first = report.policies[2]
    assert.same({ 4000, "keep_recent", 0 }, { report.budget, first.policy, first.refusals })
    assert.is_true(first.tokensShared < first.tokensSent and first.tokensShared > 0)
    assert.is_true(first.unitsDropped > 0 and first.fill > 0.5 and first.fill <= 1)
  end)

  it("tells of refusals", function()
    local out, err = does "trim --replay scripts/samples/support.json --limit 300"
    contains("27  keep_recent", out)
    contains("first refusal: cannot fit", err)
    assert.is_nil(err:find("support.json: keep_recent", 1, true))
    local _, both = does "trim --replay scripts/policies/agent.json scripts/samples/support.json --limit 300"
    contains("scripts/samples/support.json: keep_recent: first refusal: cannot fit", both)
  end)

  it("plays policies that ; joins in a row, as trim runs them", function()
    local words = "scripts/samples/support.json --budget 3000 --policy 'clear_tool_uses;keep_recent:keep=3'"
    local report = json.decode((does("trim --replay --json " .. words)))
    assert.equal(2, #report.policies)
    assert.equal(0, report.policies[2].refusals)
    local alone = json.decode((does(
      "trim --replay --json scripts/samples/support.json --budget 3000 --policy keep_recent:keep=3")))
    assert.not_equal(alone.policies[2].tokensSent, report.policies[2].tokensSent)
    local _, err = does("trim --explain --dry-run " .. words)
    contains("clear_tool_uses", err)
    contains("keep_recent", err)
  end)

  it("puts policies with refused requests last, the fewest first, whatever they cost, and marks them", function()
    local words = "trim --replay scripts/samples/support.json --budget 3000 --policy keep_recent:keep=100 "
      .. "--policy clear_tool_uses --policy keep_recent "
    local out = does(words)
    assert.matches("\n[^\n*]-%d  keep_recent\n[^\n]-%d%*[^\n]-%d  clear_tool_uses\n"
      .. "[^\n]-%d%*[^\n]-%d  keep_recent:keep=100\n", out)
    contains("* requests were refused: these cost nothing", out)
    local rows = json.decode((does(words .. "--json"))).policies
    assert.is_true(rows[2].cost > rows[3].cost and rows[3].cost > rows[4].cost)    -- refusing is the cheapest
    assert.is_true(rows[2].refusals == 0 and 0 < rows[3].refusals and rows[3].refusals < rows[4].refusals)
    assert.falsy(does("trim --replay scripts/samples/support.json --budget 4000"):find("*", 1, true))
  end)

  it_exact("shows what each policy costs, and the best that cuts could share", function()
    local words = "trim --replay scripts/samples/support.json --budget 4000 --policy stable_prefix "
    contains('tokens of fresh input, by the cache\n"openai"', (does(words)))
    local plain = json.decode((does(words .. "--json --cache general"))).policies
    assert.same({ "general", "tokens", 1 }, { plain[1].cache, plain[1].costUnit, plain[1].relativeCost })
    assert.equal(plain[2].cost / plain[1].cost, plain[2].relativeCost)
    assert.is_true(plain[2].distance >= 0 and plain[2].optimum == plain[2].share + plain[2].distance)
    local priced = json.decode((does(words .. "--json --price 2,0.5,3,10 --cache anthropic_1h"))).policies[2]
    local fresh = priced.tokensSent - priced.tokensCached - priced.tokensWritten
    local expected = (fresh * 2 + priced.tokensCached * 0.5 + priced.tokensWritten * 3) / 1e6
    assert.is_true(math.abs(expected - priced.cost) < 1e-9)
    assert.same({ "anthropic_1h", "money", priced.replyTokens * 10 / 1e6 },
      { priced.cache, priced.costUnit, priced.replyCost })
  end)

  it("refuses prices that are none", function()
    local words = "trim --replay --budget 90 scripts/samples/support.json --price "
    for _, price in ipairs { "2", "2,1,1", "2,1,1,9,9", ",1,1,9", "2,1,1,", "a,1,1,9", "2,-1,1,9" } do
      contains("--price: expected in,cached,write,out", fails(command.USAGE, words .. price))
    end
    does(words .. "2,,,9")
    contains("--cache", fails(command.USAGE, "trim --replay --budget 90 --cache opnai scripts/samples/support.json"))
    local alone = "trim --budget 90 scripts/samples/support.json "
    contains("--price needs --replay", fails(command.USAGE, alone .. "--price 1,1,1,1"))
    contains("--cache needs --replay", fails(command.USAGE, alone .. "--cache openai"))
  end)

  it("asks the model of --model-command", function()
    local out = does("trim --replay scripts/samples/support.json --budget 4000 --policy summarize "
      .. "--model-command 'echo what was said'")
    assert.matches("%d+ +[%d.]+ %% .-summarize\n", out)
  end)

  it("fails as trim does", function()
    contains("--dry-run", fails(command.USAGE, "trim --replay --budget 9 --dry-run " .. command.path_of "small.json"))
    local small, raises = command.path_of "small.json", command.path_of "raises.lua"
    contains("boom", fails(command.SCRIPT, ("trim --replay --budget 90 --policy %s %s"):format(raises, small)))
    contains("keep_recent", fails(command.USAGE, "trim --replay --budget 9 --policy keep_recen " .. small))
  end)
end)
