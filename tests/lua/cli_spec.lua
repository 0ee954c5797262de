--- Checks the commands as their users meet them.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local it_exact = dofile "tests/lua/it_exact.lua"(it, function(why) pending(why) end)
local read, path_of, file = command.read, command.path_of, command.file
local fails, does, contains = command.fails, command.does, command.contains
local EBB, SMALL, CANNOT_FIT = command.EBB, command.SMALL, command.CANNOT_FIT
local SAMPLE, LINES = "scripts/samples/support.json", "scripts/samples/chat.jsonl"

describe("the command", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  describe("help", function()
    for _, name in ipairs(require("ebb.cli.command_list").names) do
      it("explains " .. name, function()
        local by_option = does(name .. " --help")
        local by_command = does("help " .. name)

        contains("Usage: ebb " .. name, by_option)
        assert.equal(by_option, by_command)
        contains(name, (does "help"))
      end)
    end

    it("tells the version, and the same as the library", function()
      file("version.lua", "print('ebb ' .. require('ebb').version)")

      assert.equal(does("--version"), does("run " .. path_of "version.lua"))
      assert.equal(does("--version"), does "-V")
      assert.equal(does("--version"), does "-v")
    end)
  end)

  describe("trim", function()
    it("writes the kept messages in the shape of the input, and nothing else", function()
      local out, err = does(("trim %s --budget 16"):format(path_of "small.json"))

      assert.equal('[{"role":"system","content":"Be brief."},{"role":"user","content":"Bye"}]', out)
      assert.equal("", err)
    end)

    it("reads standard input when no file is named", function()
      assert.equal(SMALL, (does("trim --budget 1000", path_of "small.json")))
      assert.equal(SMALL, (does("trim --budget 1000 -", path_of "small.json")))
    end)

    it("writes to -o, then nothing to standard output", function()
      local out = does(("trim %s --budget 1000 -o %s"):format(path_of "small.json", path_of "out.json"))

      assert.equal("", out)
      assert.equal(SMALL, read(path_of "out.json"))
    end)

    it_exact("explains each message, in the order of the conversation", function()
      local _, err = does(("trim %s --budget 4000 --explain"):format(SAMPLE))

      local position = 0
      for line in err:gmatch "[^\n]+" do
        local pos, fate = line:match "^ *(%d+) +%l+ +%d+ +(%l+)"
        if pos then
          position = position + 1
          assert.equal(position, tonumber(pos))
          assert.truthy(fate == "kept" or fate == "dropped", line)
        end
      end
      assert.equal(60, position)
      contains("guarded: system", err)
      contains("guarded: last", err)
      contains("keep_recent", err)
      assert.truthy(err:find "%d+ %-> %d+ tokens, budget 4000 %(%l+%): %d+ kept, %d+ dropped")
    end)

    it("explains every token of the request", function()
      local _, err = does(("trim %s --budget 100000 --explain"):format(SAMPLE))

      local sum = 0
      for tokens in err:gmatch "\n[^\n]- (%d+)  kept" do
        sum = sum + tonumber(tokens)
      end
      contains(("%d -> %d tokens"):format(sum, sum), err)
      contains("tools, framing", err)
      local figures = does("inspect " .. SAMPLE)
      local roles = 0
      for tokens in figures:gmatch "\n  [^\n]- (%d+) tokens%f[\n]" do
        roles = roles + tonumber(tokens)
      end
      assert.equal(sum, roles)
    end)

    it_exact("says what cannot go, and what would help", function()
      local err = fails(CANNOT_FIT, ("trim %s --budget 100 --reserve 50"):format(SAMPLE))
      local least = tonumber(err:match
        "2 messages %(%d+ tokens%) and %d+ for tools and framing; the budget is 100, less a reserve of 50; "
        and err:match "the smallest that fits is (%d+)")
      contains("--unguarded", err)
      err = fails(command.SCRIPT, ("trim %s --budget 700 --policy keep_recent:keep=99"):format(SAMPLE))
      contains("the options of keep_recent keep all", err)
      assert.is_nil(err:find("let a policy follow", 1, true))
      does(("trim %s --budget %d --reserve 50"):format(SAMPLE, least))
      fails(CANNOT_FIT, ("trim %s --budget %d --reserve 50"):format(SAMPLE, least - 1))
    end)

    it("explains long conversations in runs of kept messages", function()
      local lines = {}
      for i = 1, 300 do
        lines[i] = ('{"role":"%s","content":"message %d"}'):format(i % 2 == 1 and "user" or "assistant", i)
      end
      local path = file("long.jsonl", table.concat(lines, "\n") .. "\n")

      local _, err = does(("trim %s --budget 100000 --explain"):format(path))

      contains("1-298", err)
      contains("298 messages", err)
      contains("300 kept", err)
    end)

    it("shows no control characters of messages", function()
      local path = file("evil.json", [=[[{"role":"user","content":"a\u001b[31m\u202e\n"}]]=])

      local _, err = does(("trim %s --budget 1000 --explain"):format(path))

      contains([[a\e[31m\u{20]], err)
      assert.is_nil(err:find "\27")
      assert.is_nil(err:find "\u{202E}")
      assert.falsy(err:find "\27")
    end)

    it_exact("writes a ledger whose entries add up", function()
      local ledger = path_of "ledger.json"

      does(("trim %s --budget 4000 --ledger %s"):format(SAMPLE, ledger))

      local json = read(ledger)
      local before, after = tonumber(json:match '"before": (%d+)'), tonumber(json:match '"after": (%d+)')
      local freed = 0
      for tokens in json:gmatch '"tokens": ?(%-?%d+)' do
        freed = freed + tonumber(tokens)
      end
      assert.equal(before - after, freed)
      contains('"budget": 4000', json)
      contains('"by":"keep_recent"', (json:gsub('": "', '":"')))
    end)

    it_exact("on a dry run writes no messages, and the ledger of the real run", function()
      local dry, real = path_of "dry.json", path_of "real.json"

      local out, err = does(("trim %s --budget 4000 --dry-run --ledger %s"):format(SAMPLE, dry))
      does(("trim %s --budget 4000 --ledger %s"):format(SAMPLE, real))

      assert.equal("", out)
      contains("budget 4000", err)
      assert.equal(read(real), (read(dry):gsub('"dryRun": true', '"dryRun": false')))
    end)

    it("reports as JSON: on a dry run as the result, else to standard error", function()
      local out = does(("trim %s --budget 4000 --dry-run --json"):format(SAMPLE))
      local _, err = does(("trim %s --budget 4000 --json"):format(SAMPLE))

      contains('"before": ', out)
      assert.equal(err, (out:gsub('"dryRun": true', '"dryRun": false')))
    end)

    it("drops what is guarded only if it is told so", function()
      local policy = file("all.lua", "return function(draft) for i = #draft, 1, -1 do draft:drop(i, 'all') end end")
      local words = ("trim %s --budget 8 --policy %s"):format(path_of "small.json", policy)

      fails(CANNOT_FIT, words)

      assert.equal("[]", (does(words .. " --unguarded")))
    end)

    it("gives policies their options, and runs several in order", function()
      local policy = file("mine.lua", [[return {
        name = "mine",
        options = { n = { type = "integer", default = 1 }, word = { type = "string" } },
        trim = function(draft, _, options) draft:note(math.type(options.n) .. " " .. options.n .. options.word) end,
      }]])

      local line = "trim %s --budget 16 --explain --policy %s:n=5,word=7 --policy keep_recent"
      local out, err = does(line:format(path_of "small.json", policy))

      contains("note by mine: integer 57", err)
      assert.equal('[{"role":"system","content":"Be brief."},{"role":"user","content":"Bye"}]', out)
    end)

    it("keeps a policy's print off standard output", function()
      local policy = file("loud.lua", "return function(draft) print('loud', #draft) end")

      local out, err = does(("trim %s --budget 1000 --policy %s"):format(path_of "small.json", policy))

      assert.equal(SMALL, out)
      contains("loud\t4", err)
    end)
  end)

  describe("apply", function()
    it("runs operations in both spellings", function()
      file("ops.json", [=[[{"operation":"TRUNCATE","keepLast":3},
        {"operation":"truncate","truncate":{"range":{"start":0,"end":1}}}]]=])

      local out = does(("apply %s %s"):format(path_of "ops.json", path_of "small.json"))

      assert.equal('[{"role":"user","content":"Hello"}]', out)
    end)

    it("gives the state, messages in their own bytes", function()
      file("ops.json", '{"operation":"truncate","keepLast":1}')

      local out = does(("apply --json %s %s"):format(path_of "ops.json", path_of "small.json"))

      contains('{"role":"user","content":"Bye"}', out)
      contains('"currentBatch": 1', out)
      contains('"affectedBatchIndex": 1', out)
    end)
  end)

  describe("filter", function()
    it("runs several filters in order", function()
      file("not_bye.lua", "return function(message) return message.text ~= 'Bye' end")

      local line = "filter %s %s --input %s"
      local out = does(line:format(path_of "keep_user.lua", path_of "not_bye.lua", path_of "small.json"))

      assert.equal('[{"role":"user","content":"Hello"}]', out)
    end)

    it("rewrites messages and leaves the bytes of the others", function()
      local out = does(("filter %s --input %s"):format(path_of "upper.lua", path_of "small.json"))

      contains('{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"},', out)
      contains('"HI"', out)
    end)
  end)

  describe("run", function()
    it("gives a script its arguments, also those with a dash", function()
      assert.equal("true\ta\t-b\n", (does(("run %s a -- -b"):format(path_of "hello.lua"))))
    end)

    it("gives a script the library", function()
      local out = does(("run %s %s"):format(path_of "script.lua", path_of "small.json"))

      assert.equal("4\tHello\n", out)
    end)

    it("keeps the order of what a script prints and saves", function()
      local script = file("order.lua", "print('first') require('ebb').load(arg[1]):save('-') print('last')")

      local out = does(("run %s %s"):format(script, path_of "small.json"))

      assert.equal("first\n" .. SMALL .. "last\n", out)
    end)

    it("runs the nodes that a file returns", function()
      local out = does("run " .. path_of "nodes.lua", path_of "small.json")

      assert.equal('[{"role":"user","content":"Bye"}]', out)
    end)

    it("says file, line and node where a trim node has no budget", function()
      local flow = file("t.json", '[\n{"type":"trim"}]')
      local err = fails(command.REFUSED, ("run %s %s"):format(flow, path_of "small.json"))
      contains("t.json:2:1: node 1 (trim): it needs a budget", err)
      assert.is_nil(err:find("chat:trim", 1, true), "a hint for Lua")
      contains("t.lua: node 1 (trim): it needs a budget", fails(command.REFUSED,
        ("run %s %s"):format(file("t.lua", "return {{type='trim'}}"), path_of "small.json")))
      file("inner.json", '[\n\n{"type":"filter"}]')
      contains("inner.json:3:1: node 1 (filter): a filter node needs", fails(command.REFUSED,
        ("run %s %s"):format(file("outer.json", '[{"type":"workflow","file":"./inner.json"}]'), path_of "small.json")))
    end)

    it("loads no library of that name from LUA_PATH", function()
      file("ebb.lua", "error('not ours')")
      file("version.lua", "print(require('ebb').version ~= nil)")
      local line = "LUA_PATH='%s/?.lua;;' %s run %s >%s"

      os.execute(line:format(command.folder, EBB, path_of "version.lua", path_of ".out"))

      assert.equal("true\n", read(path_of ".out"))
    end)
  end)

  describe("count", function()
    it("says how far the count can be trusted", function()
      local out = does(("count %s"):format(path_of "small.json"))

      assert.truthy(out:find("%d+ +estimated +" .. command.folder:gsub("%p", "%%%0")), out)
    end)

    it("adds up several files, and lists messages", function()
      local path = path_of "small.json"

      local out = does(("count %s %s --by message --encoding bytes4"):format(path, path))

      local _, lines = out:gsub("\n", "")
      assert.equal(1 + 2 * (4 + 1 + 1) + 1, lines)   -- each: its messages, tools and framing, itself
      local one, total = out:match "(%d+) +estimated +[^%[%s]*\n", out:match "(%d+) +estimated +total"
      assert.equal(2 * tonumber(one), tonumber(total))
    end)

    it("counts plain text", function()
      file("text.txt", ("x"):rep(400))

      contains('"tokens": 100', (does(("count --text --json --encoding bytes4 %s"):format(path_of "text.txt"))))
    end)
  end)

  describe("completion", function()
    for shell, word in pairs { bash = "complete -F _ebb", zsh = "#compdef ebb", fish = "complete -c ebb" } do
      it("writes a script for " .. shell, function()
        local out = does("completion " .. shell)
        contains(word, out)
        contains("dry", out)
      end)
    end
  end)

  describe("macros", function()
    it("lists them, and explains one by its name or an alias", function()
      contains("{{roll::dice}}", (does "macros"))
      contains("changes with every request", (does "macros roll"))
      assert.equal("roll", helper.ebb.json.decode((does "macros roll --json")).name)
      contains("did you mean 'roll'?", fails(command.USAGE, "macros rol"))
    end)
  end)

  describe("rules", function()
    local RULES = [=[[{"name":"quotes","regex":"\"(.*?)\"","replacement":"<$1>","testInput":"say \"Hi\""}]=]

    it("shows what each rule of a file makes of its test input, or of a text", function()
      local path = file("rules.json", RULES .. "]")
      assert.matches("quotes +1  say <Hi>\n", (does("rules test " .. path)))
      assert.matches("quotes +0  none\n", (does("rules test " .. path .. " --text none")))
      contains("Out of character", (does("rules test scripts/agents/companion.json --text x")))
    end)

    it("fails where a rule is bad, and where there is none", function()
      local run = command.ebb("rules test " .. file("rules.json", RULES .. ',{"regex":"(","testInput":"x"}]'))
      assert.equal(command.REFUSED, run.status)
      contains("missing closing parenthesis", run.out)
      contains("1 rule could not be run", run.err)
      contains("no rules found", fails(command.REFUSED, "rules test " .. path_of "small.json"))
    end)
  end)

  describe("help topics", function()
    for _, topic in ipairs(require("ebb.cli.view.topics").list) do
      it("explain " .. topic.name, function()
        contains(topic.name, (does "help"))
        local out = does("help " .. topic.name)
        assert.is_true(#out > 200)
        assert.is_nil(out:find("Usage: ", 1, true), "a command has the name")
      end)
    end

    it("name every variable that the sources read", function()
      local help = does "help environment"
      local pipe = assert(io.popen "cat $(find lua/ebb -name '*.lua')")
      local sources = pipe:read "a"
      pipe:close()
      local known = {}
      for name in sources:gmatch 'getenv "([%u_]+)"' do known[name] = true end
      for name in sources:gmatch '"([%u_]+_API_KEY)"' do known[name] = true end
      for name in sources:gmatch '"([%u_]+_BASE_URL)"' do known[name] = true end
      assert.is_true(known.EBB_DB and known.EBB_API_KEY and known.GOOGLE_GEMINI_BASE_URL)
      for name in pairs(known) do contains(name, help) end
    end)

    it("name every operation and field that apply takes", function()
      local out = does "help operations"
      for _, word in ipairs { "append", "insert", "replace", "truncate", "clear", "filter", "rollback", "keepFirst",
        "removeLast", "wholeUnits", "keepSystemMessage", "excludeToolCalls", "targetBatchIndex", "checkpoint" } do
        contains(word, out)
      end
    end)
  end)

  describe("edits on trial", function()
    it("show what would change, and write nothing", function()
      local filter = "filter 'return function(m) return m.role ~= \"assistant\" end' --input " .. path_of "small.json"
      local out, err = does(filter .. " --dry-run")
      assert.same({ "", "- 3 assistant: Hi\n" }, { out, err })
      out, err = does(filter .. " --explain")
      assert.equal("- 3 assistant: Hi\n", err)
      assert.falsy(out:find("assistant", 1, true))
      assert.same({ "", "nothing changed\n" },
        { does("filter 'return function() end' --dry-run --input " .. path_of "small.json") })
    end)

    it("take operations as text", function()
      local words = ([[apply '{"operation":"truncate","keepLast":1}' %s]]):format(path_of "small.json")
      assert.equal('[{"role":"user","content":"Bye"}]', (does(words)))
      assert.same({ "", "- 1 system: Be brief.\n- 2 user: Hello\n- 3 assistant: Hi\n" },
        { does(words .. " --dry-run") })
    end)
  end)

  describe("nodes", function()
    it("are read from JSON, too", function()
      file("nodes.json", '[{"operation":"truncate","truncate":{"keepLast":1}}]')
      assert.equal('[{"role":"user","content":"Bye"}]',
        (does(("run %s --input %s"):format(path_of "nodes.json", path_of "small.json"))))
      contains("nodes.json:1:3:", fails(command.REFUSED, "run " .. file("nodes.json", "[1")))
    end)
  end)

  describe("slips", function()
    it("takes thousands of tokens as k, millions as M", function()
      for word, tokens in pairs { ["8k"] = "8000", ["8K"] = "8000", ["1.5M"] = "1500000", ["0.5m"] = "500000" } do
        local words = ("trim --budget %s --dry-run %s"):format(word, path_of "small.json")
        contains("budget " .. tokens, select(2, does(words)))
      end
      for _, word in ipairs { "1.5", "1.00001k", "k", "8kk", "1e3" } do
        local words = ("trim --budget %s %s"):format(word, path_of "small.json")
        contains("expected a whole number", fails(command.USAGE, words))
      end
    end)

    it("takes the input of nodes as an argument, once", function()
      file("flow.lua", "return { { type = 'trim', budget = 8000 } }")
      local words = ("run %s %s"):format(path_of "flow.lua", path_of "small.json")
      assert.equal(SMALL, (does(words)))
      assert.equal(SMALL, (does(words, path_of "broken.json")))
      contains("which have one input", fails(command.USAGE, words .. " " .. path_of "small.json"))
      contains("which have one input", fails(command.USAGE, words .. " --input " .. path_of "small.json"))
    end)

    it("says that its input is empty", function()
      local _, err = does "trim --budget 100"
      contains("stdin: warning: no messages, the input is empty", err)
      assert.equal("", select(2, does("trim --budget 100", file("none.json", "[]"))))
    end)

    it_exact("takes the budget of the model that the body names", function()
      local _, err = does("trim --dry-run " .. SAMPLE)
      contains("budget 111616", err)
      contains("--budget 8000", fails(command.USAGE, "trim " .. path_of "small.json"))
    end)

    it_exact("says what part of a count is assumed", function()
      assert.is_nil((does("inspect " .. SAMPLE)):find("estimated", 1, true))      -- an array among its tools
      file("tools.json", [[{"model":"gpt-4o","messages":[],"tools":[{"type":"function","function":{"name":"f"}},
        {"type":"function","function":{"name":"odd","parameters":{"properties":{"a":{"type":["string","null"]}}}}}]}]])
      contains("estimated: how the provider frames its tools is assumed (odd): ",
        (does("inspect " .. path_of "tools.json")))
      local picture = '{"role":"user","content":[{"type":"text","text":"look"},'
        .. '{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]}'
      for place = 1, 5 do
        local messages = {}
        for i = 1, 5 do messages[i] = i >= place and picture or '{"role":"user","content":"x"}' end
        file("seen.json", '{"model":"gpt-4o","messages":[' .. table.concat(messages, ",") .. "]}")
        contains(("estimated: message %d (user): the cost of part 2 (image_url) is a guess"):format(place),
          (does("inspect " .. path_of "seen.json")))
      end
      contains("estimated: cjk counts; --model or --encoding names", (does("inspect " .. path_of "small.json")))
      contains("estimated: cjk counts", select(2, does("trim --budget 100 --dry-run " .. path_of "small.json")))
    end)

    it("lists prices next to models that have them", function()
      local config = path_of "config"
      os.execute("mkdir -p " .. config .. "/ebb")
      file("config/ebb/models.json", '{"gpt-4o":{"prices":{"input":2.5,"cachedInput":1.25,"output":10}}}')
      local pipe = io.popen(("XDG_CONFIG_HOME=%s %s models"):format(config, EBB))
      contains("2.5 / 1.25 / 10", pipe:read "a")
      pipe:close()
      assert.falsy(does("models"):find("price", 1, true))
    end)

    it("takes the way of --repair after a space, too", function()
      local broken = file("call.json", '[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"a",'
        .. '"type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"b"}]')
      local out = does("filter 'return function() end' --repair synthesize --input " .. broken)
      contains('"tool_call_id":"a"', out)
      assert.equal(out, (does("filter 'return function() end' --repair=synthesize --input " .. broken)))
      assert.falsy(does("filter 'return function() end' --repair --input " .. broken):find("tool_calls", 1, true))
    end)

    it("refuses operations that are an empty object, not an empty list", function()
      file("object.json", "{}")
      file("list.json", "[]")
      contains("operations[0].operation is missing",
        fails(command.REFUSED, ("apply %s %s"):format(path_of "object.json", path_of "small.json")))
      assert.equal(SMALL, (does(("apply %s %s"):format(path_of "list.json", path_of "small.json"))))
    end)

    it("says from where whole numbers count", function()
      contains("--budget: expected a whole number such as 8000 or 8k, or a share such as 33%, got '-5'",
        fails(command.USAGE, "trim --budget -5 " .. path_of "small.json"))
    end)

    it("names the first message that a filter answers wrongly", function()
      local words = "filter 'return function(m) return { role = \"tool\" } end' --input " .. path_of "small.json"
      contains("filter text, message 1:", fails(command.SCRIPT, words))
    end)

    it("drops the key of reasoning that a filter leaves out, also next to calls", function()
      local path = file("thinks.json", '[{"role":"user","content":"a"},{"role":"assistant","content":null,'
        .. '"reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"f",'
        .. '"arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"x"}]')
      local out = does("filter 'return function(m) return m:without \"reasoning\" end' --input " .. path)
      assert.falsy(out:find("reasoning_content", 1, true), out)
      contains('"content":null', out)
      out = does(("trim %s --budget 100 --policy prune_messages:reasoning=all"):format(path))
      assert.falsy(out:find("reasoning_content", 1, true), out)
    end)
  end)

  describe("inspect", function()
    it("lists every message, with figures", function()
      local out = does("inspect " .. SAMPLE)

      contains("60 messages", out)
      contains("shape: body", out)
      assert.truthy(out:find "\n +60 +user ")
      assert.truthy(out:find "%d+ units %(0 open%), %d+ turns")
    end)

    it("gives the same as JSON", function()
      local out = does(("inspect %s --json"):format(LINES))

      contains('"shape": "jsonl"', out)
      contains('"openUnits": 0', out)
    end)
  end)

  it("policies lists what there is, and the options of one", function()
    contains("keep_recent", (does "policies"))
    contains("keep_recent:", (does "policies keep_recent"))
  end)
end)
