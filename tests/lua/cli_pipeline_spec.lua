--- ebb pipeline and ebb processors, as typed.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"

local json = helper.ebb.json

--- Standard output of a command, decoded.
local function data_of(words) return (json.decode((command.does(words)))) end

local function new_folder()
  local path = os.tmpname()
  os.remove(path)
  assert(os.execute("mkdir " .. path))
  return path
end

local CHAT = '[{"role":"user","content":"one two three"},\n {"role" : "assistant","content":"four"},' ..
  '{"role":"user","content":"five"}]'

describe("ebb pipeline", function()
  before_each(function() command.folder = new_folder() end)
  after_each(function() os.execute("rm -rf " .. command.folder) end)

  for _, name in ipairs { "coder", "companion", "zhushou" } do
    it("makes the request of scripts/agents/" .. name, function()
      local agent = ("scripts/agents/%s"):format(name)
      local user = io.open(agent .. ".user.json") and (" --user-profile %s.user.json"):format(agent) or ""
      local form = "pipeline %s.in.json --agent %s.json%s --encoding cjk --now 1762554605000"
      local words = form:format(agent, agent, user)

      assert.equal(command.read(agent .. ".out.json"), (command.does(words)))
      local preview = data_of(words .. " --preview --json")
      assert.equal(preview.tokens, data_of(("count %s.out.json --encoding cjk --json"):format(agent))[1].tokens)
      assert.equal(#json.decode(command.read(agent .. ".out.json")).messages, #preview.messages)
    end)
  end

  it("keeps the body around the messages, and the messages' own bytes", function()
    local chat = command.file("in.json", '{"tools" : [ ], "messages": ' .. CHAT .. ', "model":"m", "x": 1e2}')

    local out = command.does(("pipeline %s --set message-formatters.enabled=false"):format(chat))

    assert.truthy(out:find('{"tools" : [ ], "messages": [\n  {"role":"user","content":"one two three"},\n  '
      .. '{"role" : "assistant","content":"four"},', 1, true), out)
    assert.truthy(out:find('], "model":"m", "x": 1e2}', 1, true), out)
  end)

  it("puts in entries of lorebooks: its own form, agents and world info", function()
    local chat = command.file("in.json", '[{"role":"user","content":"Is it wet in Oslo, king?"}]')
    local own = command.file("own.json", '{"name":"Mine","entries":[{"keys":["wet"],"content":"Rain falls."}]}')
    local agent = command.file("a.json", '{"lorebooks":[{"entries":[{"keys":["king"],"content":"He is old."}]}]}')
    local world = command.file("w.json", '{"entries":{"0":{"uid":0,"key":["Oslo"],"content":"A town.","nonsense":1}}}')

    local words = "pipeline %s --lorebook %s --lorebook %s --lorebook %s"
    local out, complaint = command.does(words:format(chat, own, agent, world))

    assert.matches("A town.", out, 1, true)
    assert.matches("Rain falls.", out, 1, true)
    assert.matches("He is old.", out, 1, true)
    assert.matches("w.json", complaint, 1, true)
    assert.matches("nonsense", complaint, 1, true)
  end)

  for _, case in ipairs {
    { '{"entries":[{"keys":["a"],"contnt":"x"}]}', ":1:36: unknown field of an entry" },
    { '{"lorebooks":[{"entries":[{"keys":["a"],"depth":-1}]}]}', ":1:49: expected a whole number, 0 or more, got -1" },
    { '{"entries":[', ":1:13: expected a value or ']'" },
    { '{"a":1}', ": fits no known form: a JSON object with the members a" },
    { '[{"role":"user","content":"x"}]', "book.json" },
  } do
    it("refuses as a lorebook " .. case[1], function()
      local chat, book = command.file("in.json", CHAT), command.file("book.json", case[1])

      local complaint = command.fails(command.REFUSED, ("pipeline %s --lorebook %s"):format(chat, book))

      assert.matches(case[2], complaint, 1, true)
    end)
  end

  it("says where an agent's file is wrong", function()
    local chat = command.file("in.json", CHAT)
    for text, place in pairs {
      ['{\n  "name": "A",\n  "presetz": []\n}'] = "agent.json:3:14: presetz: unknown field of an agent",
      ['{"name": 3}'] = "agent.json:1:10: name: expected a string, got 3",
      ['{"processors": {"token-limiter": 3}}'] = "agent.json:1:34: processors.token-limiter: expected an object",
      ['{"variables": {"a": [1]}}'] =
        "agent.json:1:21: variables.a: expected a string, a number or true or false, got a list",
      ['{"name": }'] = "agent.json:1:10: expected a value",
      ['{"parameters": {"messages": []}}'] =
        "agent.json:1:29: parameters.messages: expected no such member: the pipeline itself sets it",
    } do
      local agent = command.file("agent.json", text)
      local err = command.fails(command.REFUSED, ("pipeline %s --agent %s"):format(chat, agent))
      assert.truthy(err:find(place, 1, true), err)
    end
    command.fails(command.IO, ("pipeline %s --agent %s/none.json"):format(chat, command.folder))
  end)

  it("takes agents in Lua, in snake_case", function()
    local chat = command.file("in.json", CHAT)
    local agent = command.file("agent.lua", [[return { name = "A", variables = { n = 1 },
      presets = { { role = "system", content = "{{char}} {{getvar::n}}" }, { type = "chat_history" } } }]])

    assert.truthy(command.does(("pipeline %s --agent %s"):format(chat, agent)):find('"content":"A 1"', 1, true))
  end)

  it("fails as its exit codes say", function()
    local chat = command.file("in.json", CHAT)
    local bad = command.file("bad.lua", 'return { id = "bad", name = "B", execute = function() error "boom" end }')
    local no = command.file("no.lua", "return 3")

    assert.matches("the budget is 2", command.fails(command.CANNOT_FIT, "pipeline --budget 2 " .. chat), 1, true)
    command.fails(command.USAGE, ("pipeline %s --set token-limiter.budgett=3"):format(chat))
    command.fails(command.USAGE, ("pipeline %s --on-error never"):format(chat))
    local run = command.ebb(("pipeline %s --plugin %s"):format(chat, bad))
    assert.equal(command.SCRIPT, run.status)
    assert.equal("", run.out)
    assert.matches("bad.lua:1: boom", run.err, 1, true)
    local out, err = command.does(("pipeline %s --plugin %s --on-error skip"):format(chat, bad))
    assert.equal(3, #json.decode(out).messages)
    assert.matches("bad: error: ", err, 1, true)
    command.fails(command.SCRIPT, ("pipeline %s --plugin %s"):format(chat, no))
  end)

  it("tells what failed in a step that was skipped, also where the run ends otherwise", function()
    local chat = command.file("in.json", CHAT)

    local run = command.ebb(("pipeline %s --on-error skip --budget 12 --encoding cjk "
      .. "--set \"token-limiter.policy=return function() error('no idea') end\""):format(chat))

    assert.equal(command.CANNOT_FIT, run.status)
    assert.matches("no idea", run.err, 1, true)
    assert.matches("the budget is 12", run.err, 1, true)
    local err = command.fails(command.CANNOT_FIT, ("pipeline %s --budget 3 --encoding cjk"):format(chat))
    local _, times = err:gsub("cannot fit", "")
    assert.equal(1, times)
  end)

  it("loads a folder of plugins, and replaces what is built in", function()
    local chat = command.file("in.json", CHAT)
    os.execute("mkdir " .. command.path_of "plugins")
    command.file("plugins/a.lua", [[return { { id = "shout", name = "Shout", priority = 150, execute = function(context)
      for _, m in ipairs(context.messages) do m.content = m.content:upper() end end } }]])
    command.file("plugins/b.lua", 'return { id = "merge-roles", name = "M", priority = 600, execute = function() end }')

    local out = command.does(("pipeline %s --plugin %s"):format(chat, command.path_of "plugins"))

    assert.equal("ONE TWO THREE", json.decode(out).messages[1].content)
    local list = command.does(("processors --plugin %s"):format(command.path_of "plugins"))
    assert.matches("150  shout", list, 1, true)
  end)

  it("writes nothing but the preview, the settings, or the request", function()
    local chat = command.file("in.json", CHAT)
    local agent = command.file("agent.json", '{"processors": {"token-limiter": {"budget": 12}}}')
    local words = ("pipeline %s --agent %s --encoding cjk"):format(chat, agent)

    assert.matches("history", (command.does(words .. " --preview")))
    assert.matches("12%s+agent", (command.does(words .. " --show-config")))
    local settings = data_of(words .. " --show-config --json")
    assert.equal("session-loader", settings[1].id)
    local plain, trace = command.does(words .. " --trace")
    assert.matches("== token-limiter:", trace, 1, true)
    assert.matches("- 1 user: one two three", trace, 1, true)
    assert.equal(plain, (command.does(words)))
    assert.equal(CHAT, command.read(chat))
  end)

  it("shows at most 200 messages of what a processor changed", function()
    local lines = {}
    for i = 1, 203 do lines[i] = ('{"role":"user","content":"m%d"}\n'):format(i) end
    local path = command.file("long.jsonl", table.concat(lines))
    local _, trace = command.does(("pipeline %s --encoding cjk --trace -o %s"):format(path, command.path_of "out"))
    local loaded = trace:match "== session%-loader: 203 messages now\n(.-)== "
    assert.matches("+ 200 user: m200\nand 3 more messages\n$", loaded)
    assert.falsy(loaded:find("m201", 1, true))
  end)

  it("says where rules that are left out are in their files", function()
    local path = command.file("in.json", CHAT)
    local agent = command.file("agent.json", [[{"presets": [{"type": "chat_history"}],
      "regexConfig": {"presets": [{"name": "mine", "rules": [
        {"regex": "a", "replacement": "b"},
        {"regex": "(a", "replacement": "b"}]},
        {"rules": 7}]}}]])
    local user = command.file("user.json", [[{"rules": [{"rules": [
      {"findRegex": "(b", "replaceString": "", "scriptName": "s"}]}]}]])
    local global = '[{"rules":[{"regex":"(c","replacement":""}]}]'

    local words = "pipeline %s --agent %s --user-profile %s --set 'regex-processor.rules=%s' -o %s"
    local _, log = command.does(words:format(path, agent, user, global, command.path_of "out"))

    assert.matches("warn: " .. agent .. ":4:19: preset 'mine', rule 2: regex: byte 3: missing", log, 1, true)
    assert.matches("warn: " .. agent .. ":5:19: preset 2: rules: expected a list of rules", log, 1, true)
    assert.matches("warn: " .. user .. ":2:7: preset 1, rule 1: regex: byte 3: missing", log, 1, true)
    assert.matches("warn: preset 1, rule 1: regex: byte 3: missing", log, 1, true)
  end)

  it("is the same preview twice, and the same run", function()
    local chat = command.file("in.json", CHAT)
    local agent = command.file("agent.json", [[{"presets": [{"role": "system",
      "content": "{{roll::3d6}} {{random::a::b::c}} {{incvar::n}}{{getvar::n}} {{time}}"}, {"type": "chat_history"}]}]])
    local words = ("pipeline %s --agent %s --now 1762554605000"):format(chat, agent)

    local first, second = (command.does(words .. " --preview --json")), (command.does(words .. " --preview --json"))

    assert.equal(first, second)
    local body = data_of(words)
    assert.equal(json.encode(json.decode(first).messages), json.encode(body.messages))
    assert.not_equal((command.does(words .. " --seed 1")), (command.does(words .. " --seed 2")))
  end)
end)

describe("ebb processors", function()
  before_each(function() command.folder = new_folder() end)
  after_each(function() os.execute("rm -rf " .. command.folder) end)

  it("lists them in order, and explains each", function()
    local out = command.does "processors"
    assert.is_true(out:find("session-loader", 1, true) < out:find("asset-resolver", 1, true))
    for _, each in ipairs(data_of "processors --json") do
      local page = command.does("processors " .. each.id)
      for _, field in ipairs(each.configFields) do
        assert.truthy(page:find(field.key, 1, true), each.id .. "." .. field.key)
      end
    end
  end)

  it("refuses an unknown one", function()
    assert.matches("token-limiter", command.fails(command.USAGE, "processors token-limitr"), 1, true)
  end)
end)

describe("ebb pipeline says what became of the history:", function()
  before_each(function() command.folder = new_folder() end)
  after_each(function() os.execute("rm -rf " .. command.folder) end)

  local LONG = '[{"role":"user","content":"' .. ("old "):rep(50) .. '"},{"role":"assistant","content":"yes"},'
    .. '{"role":"user","content":"new"}]'

  it("--explain a line per message", function()
    local chat = command.file("in.json", LONG)
    local words = ("pipeline %s --encoding cjk --explain --budget 30"):format(chat)
    local _, err = command.does(words)
    assert.matches("1 +1? *user .- dropped +keep_recent", err)
    assert.matches("guarded: last user message", err, 1, true)
    local _, quiet = command.does((words:gsub(" %-%-explain", "")))
    assert.equal("", quiet)
  end)

  it("--ledger as JSON, next to the request", function()
    local chat = command.file("in.json", LONG)
    local ledger = command.path_of "cuts.json"
    local out = command.does(("pipeline %s --encoding cjk --budget 30 --ledger %s"):format(chat, ledger))
    local data = json.decode(command.read(ledger))
    assert.same({ "dropped", 1, "user", "keep_recent" },
      { data.ledger[1].action, data.ledger[1].seq, data.ledger[1].role, data.ledger[1].by })
    assert.is_true(data.before > data.budget and data.after <= data.budget and data.dropped >= 1)
    assert.equal(data.dropped, #data.ledger)
    assert.not_matches("old old", out, 1, true)

    command.does(("pipeline %s --encoding cjk --ledger %s"):format(chat, ledger))
    assert.matches('"ledger": []', command.read(ledger), 1, true)
  end)

  it("--ledger is refused where another result goes", function()
    local chat = command.file("in.json", LONG)
    local file = command.path_of "out.json"
    for _, words in ipairs { "--ledger -", "-o " .. file .. " --ledger " .. file, "--display --explain" } do
      command.fails(command.USAGE, ("pipeline %s %s"):format(chat, words))
    end
  end)

  it("no request and no ledger where it cannot fit", function()
    local chat = command.file("in.json", LONG)
    local ledger = command.path_of "cuts.json"
    command.fails(command.CANNOT_FIT, ("pipeline %s --encoding cjk --budget 1 --ledger %s"):format(chat, ledger))
    assert.is_nil(command.read(ledger))
  end)

  it("--display writes what a reader is shown", function()
    local chat = command.file("in.json", CHAT)
    local agent = command.file("agent.json", [[{"rules": [{"id": "p", "rules": [
      {"id": "r", "regex": "one", "replacement": "1", "applyTo": {"render": true}}]}]}]])
    assert.equal("1 two three", data_of(("pipeline %s --agent %s --display"):format(chat, agent))[1].content)
  end)

  it("lists are lists in JSON, empty ones too", function()
    local chat = command.file("in.json", CHAT)
    local out = command.does(("pipeline %s --preview --json"):format(chat))
    assert.not_matches("{}", out, 1, true)
    assert.matches('"failures": []', out, 1, true)
  end)

  it("a policy that does not exist is told at its place", function()
    local chat = command.file("in.json", CHAT)
    local agent = command.file("agent.json", '{"processors":\n {"token-limiter": {"policy": "keep_recnt"}}}')
    local err = command.fails(command.REFUSED, ("pipeline %s --agent %s"):format(chat, agent))
    assert.matches("agent.json:2:31: ", err, 1, true)
    assert.matches("keep_recnt", err, 1, true)
  end)
end)

describe("ebb processors", function()
  before_each(function() command.folder = new_folder() end)
  after_each(function() os.execute("rm -rf " .. command.folder) end)

  it("knows the group of formatters", function()
    local out = command.does "processors message-formatters"
    for _, id in ipairs { "merge-system", "merge-roles", "convert-system", "alternate-roles" } do
      assert.matches(id .. " (", out, 1, true)
    end
    local data = data_of "processors message-formatters --json"
    assert.same({ 4, "merge-system" }, { #data, data[1].id })
  end)
end)
