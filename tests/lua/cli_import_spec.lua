--- Files of other programs where commands read a conversation, as typed.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"

local does, fails, contains, file, read = command.does, command.fails, command.contains, command.file, command.read
local json = helper.ebb.json

local function line(kind, uuid, parent, content)
  return json.encode { type = kind, uuid = uuid, parentUuid = parent or json.null, sessionId = "s",
    message = { role = kind, content = content, id = kind == "assistant" and uuid or nil } } .. "\n"
end

local SESSION = '{"type":"summary","summary":"x"}\n' .. line("user", "a", nil, "first question") ..
  line("assistant", "b", "a", "an answer") .. line("user", "c", "b", "old") .. line("user", "d", "b", "second question")

describe("a file of another program", function()
  local session
  before_each(function()
    command.make_folder()
    session = file("session.jsonl", SESSION)
  end)
  after_each(command.remove_folder)

  local TOLD = "read as Claude Code session: 3 messages, 1 other line (summary), 1 inactive line, 2 branches\n"

  it("is read by every command that reads a conversation, which says in one line what it read", function()
    local operations = file("operations.json", '[{"operation":"truncate","truncate":{"keepLast":1}}]')
    local agent = file("agent.json", '{"name":"a"}')
    for _, words in ipairs {
      "count", "inspect", "check", "trim --budget 5000", "trim --dry-run --budget 5000", "apply " .. operations,
      "pipeline --agent " .. agent, "filter 'return function() return true end' --input",
      "run " .. command.path_of "nodes.lua" .. " --input", "trim --replay --budget 10", "diff " .. session,
      "trim --suggest --budget 20",
    } do
      local run = command.ebb(words .. " " .. session)
      assert.is_true(run.status <= 1, words .. run.err)
      contains("session.jsonl: " .. TOLD, run.err)
    end
    local _, err = does("repl " .. session, file("lines", "print(#chat)"))
    contains(TOLD, err)
  end)

  it("is read from standard input, a pipe or a file", function()
    local out, err = does("count --json", session)
    contains("stdin: " .. TOLD, err)
    assert.equal("claude_code", json.decode(out)[1].imported.form)
    command.environment = ("cat %s | "):format(session)
    local run = command.ebb("count -", "/dev/stdin")
    command.environment = nil
    assert.equal(0, run.status, run.err)
  end)

  it("is counted without system prompt and tools, and says so", function()
    local out = does("count " .. session)
    contains("session.jsonl (without system prompt and tools)", out)
    local report = json.decode((does("count --json " .. session)))[1].imported
    assert.same({ "claude_code", "anthropic", 2, "without system prompt and tools", "other line" },
      { report.form, report.dialect, report.branches, report.missing, report.report[1].kind })
    contains("1 other line: summary, the first in line 1", (does("inspect " .. session)))
    assert.is_nil(json.decode((does("count --json " .. command.path_of "small.json")))[1].imported)
  end)

  it("gives another branch, and names those that there are", function()
    contains("old", (does("trim --budget 5000 --branch 2 " .. session)))
    contains("there are 1 (d), 2 (c)", fails(command.USAGE, "count --branch 9 " .. session))
    local err = fails(command.USAGE, "count --from claude " .. session)
    contains("--from: unknown form 'claude'", err)
    contains("did you mean 'claude_ai'?", err)
    err = fails(command.USAGE, "import --from zz " .. session)
    contains("the forms are ai_sdk, aider, ", err)
    assert.is_nil(err:find("ebb.import", 1, true), "a hint for Lua")
    contains("--from names", fails(command.REFUSED, "count --branch 1 " .. command.path_of "small.json"))
  end)

  it("is written as a body, and never over itself", function()
    does(("trim --budget 5000 %s -o %s"):format(session, command.path_of "out.json"))
    assert.equal(3, #json.decode(read(command.path_of "out.json")).messages)
    contains("is a Claude Code session, and is not written back",
      fails(command.REFUSED, ("trim --budget 5000 %s -o %s"):format(session, session)))
    assert.equal(SESSION, read(session))
  end)

  it("with a bad line is refused with its place, or read on with --lenient", function()
    local bad = file("bad.jsonl", SESSION .. '{"type":\n' .. line("user", "e", "d", "more"))
    local err = fails(command.REFUSED, "count " .. bad)
    contains("bad.jsonl:6:9: expected", err)
    contains("--lenient", err)
    local run = command.ebb("count --lenient --from claude_code " .. bad)
    assert.equal(3, run.status)
    contains("1 bad line", run.err)
    run = command.ebb("count --lenient " .. bad)
    assert.equal(3, run.status)
    contains("read as Claude Code session: 4 messages", run.err)
  end)

  it("with several conversations needs one to be named", function()
    local export = file("chats.jsonl", '{"conversations":[{"from":"human","value":"q1"}]}\n' ..
      '{"conversations":[{"from":"human","value":"q2"}]}\n')
    local err = fails(command.USAGE, "inspect " .. export)
    contains("chats.jsonl has 2 conversations, and one is read", err)
    contains("--conversation names one:", err)
    contains("q2", (does("inspect --conversation 2 " .. export)))
    contains("no conversation '7'", fails(command.USAGE, "count --conversation 7 " .. export))
  end)

  it("that a conversation could be, is told by its members: a task of Roo", function()
    local hidden = '[{"role":"user","content":"old","ts":1,"condenseParent":"c"},' ..
      '{"role":"user","content":"SUM","ts":2,"isSummary":true,"condenseId":"c"}]'
    local task = file("roo.json", hidden)
    for _, run in ipairs { command.ebb("count " .. task), command.ebb("count -", task) } do
      contains("read as Roo Code or Cline task: 1 message, 1 hidden message\n", run.err)
    end
    local second = '{"version":2,"messages":[{"role":"assistant","ts":1,"content":[{"type":"tool-call",' ..
      '"toolCallId":"x","toolName":"f","input":{}}]}]}'
    contains("read as Roo Code or Cline task: 1 message\n", select(2, does("count " .. file("v2.json", second))))
    local own = '[{"role":"user","content":"q","ts":1}]'
    assert.equal(own, (does("trim --budget 500 " .. file("own.json", own))))
  end)

  it("is told in the plural: entries, and what comes before a preposition", function()
    local head = '{"type":"session","id":"s","cwd":"p"}\n'
    local function entry(kind, id, parent, more)
      return ('{"type":"%s","id":"%s","parentId":"%s",%s}\n'):format(kind, id, parent, more)
    end
    local chat = file("pi.jsonl", head .. entry("message", "a", "x", '"message":{"role":"user","content":"q"}') ..
      entry("message", "b", "a", '"message":{"role":"user","content":"r"}') ..
      entry("compaction", "c", "b", '"summary":"S","firstKeptEntryId":"c"'))
    contains("pi session: 1 message, 1 other line (session), 1 missing parent, 2 compacted entries, "
      .. "1 synthetic message\n",
      select(2, does("count " .. chat)))
    local gemini = file("gemini.jsonl", '{"sessionId":"s","projectHash":"p","startTime":"t"}\n' ..
      '{"id":"1","type":"gemini","content":"","toolCalls":[{"id":"c","name":"f"},{"id":"d","name":"f"}]}\n')
    contains("2 messages, 1 other line (metadata), 2 calls without result\n", select(2, does("count " .. gemini)))
    contains("read as Codex session: 1 message", select(2, does("inspect " .. file("codex.jsonl",
      '{"timestamp":"t","type":"response_item","payload":{"role":"user","content":"q"}}\n'))))
  end)

  it("says nothing under --quiet", function()
    assert.equal("", select(2, does("count -q " .. session)))
  end)
end)

describe("--from with a dialect", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local PLAIN = '{"max_tokens":9,"messages":[{"role":"user","content":"a"}]}'
  local PARTS = '[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]}]'

  it("lets the form pass, and plain texts, which two dialects write alike", function()
    local plain, parts = file("plain.json", PLAIN), file("parts.json", PARTS)
    does(("convert %s --from openai --to gemini"):format(plain))
    does(("convert %s --from anthropic --to gemini"):format(plain))
    does(("count %s --from anthropic"):format(parts))
  end)

  it("refuses another form, and many conversations", function()
    local err = fails(command.REFUSED, "convert --from openai --to gemini " .. file("parts.json", PARTS))
    contains("parts.json: expected messages in the form of openai, they are in that of anthropic", err)
    err = fails(command.REFUSED, "count --from gemini " .. file("plain.json", PLAIN))
    contains("they are in that of openai\nhint: without --from the form is recognised", err)
    local rows = '{"conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"}]}\n'
    contains("is for one conversation", fails(command.USAGE, "convert --from openai --to gemini "
      .. file("rows.jsonl", rows .. rows)))
    contains("which every command reads as it is", fails(command.USAGE, "import --from openai "
      .. file("plain.json", PLAIN)))
    contains("unknown form 'opnai'", fails(command.USAGE, "count --from opnai " .. file("plain.json", PLAIN)))
  end)
end)

describe("a file that is no conversation", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("keeps its error, with what it looks like", function()
    local err = fails(command.REFUSED, "count " .. file("a.jsonl", '{"a":1}\n{"b":1}\n'))
    contains("a.jsonl:1:1: expected a role in the message", err)
    contains("fits no known form: JSONL whose first record has the members a", err)
    err = fails(command.REFUSED, "count " .. command.path_of "broken.json")
    contains("broken.json:2:11: expected", err)
    assert.is_nil(err:find "form")
  end)

  it("is named where it is known", function()
    local err = fails(command.REFUSED, "count " .. file("export.zip", "PK\x03\x04xx"))
    contains("is a zip archive", err)
    contains("unpack it first", err)
  end)

  it("has its slip named: a member of nearly the right name, a value, an encoding", function()
    for _, case in ipairs {
      { '[{"rol":"user","content":"a"}]', "did you mean 'role' by 'rol'?" },
      { '{"message":[{"role":"user","content":"a"}]}', "did you mean 'messages' by 'message'?" },
      { '[{"role":"user","contnt":"a"}]', "did you mean 'content' by 'contnt'?" },
      { '"a text"', "a JSON value that is neither an array nor an object" },
      { '[{"operation":"clear"}]', "is a file of operations\nhint: ebb apply OPERATIONS.json CHAT.json" },
      { '{"operation":"clear"}', "is a file of operations" },
      { '[{"type":"function","function":{"name":"f"}}]', "is a list of tools\nhint: ebb trim CHAT.json --tools" },
      { '{"name":"A","presets":[]}', "is an agent of Ebb\nhint: ebb pipeline CHAT.json --agent" },
      { "null", "a JSON value that is neither an array nor an object" },
      { "\xFF\xFE[\0]\0", "is text in UTF-16, as PowerShell writes it\nhint: iconv" },
    } do
      contains(case[2], fails(command.REFUSED, "count " .. file("a.json", case[1])))
    end
  end)

  it("is told by import as the conversation that it is, with its fault and place", function()
    contains("a.json is a conversation that every command reads as it is", fails(command.REFUSED, "import "
      .. file("a.json", '{"model":"gpt-4o","messages":[{"role":"user","content":"a"}]}')))
    contains("a.json:2:26: expected content: a string", fails(command.REFUSED, "import "
      .. file("a.json", '[{"role":"user","content":"a"},\n{"role":"user","content":5}]')))
  end)

  it("is named on standard input, too", function()
    contains("the members a", fails(command.REFUSED, "count", file("a.json", '{"a":1}')))
  end)
end)

describe("ebb import --dry-run", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("says what it would write where the targets exist, and leaves them as they are", function()
    file("card.json", '{"spec":"chara_card_v2","data":{"name":"Ben","first_mes":"Welcome"}}')
    local agent, chat = file("card.agent.json", "{}"), file("card.chat.json", "[]")
    local plain = command.EBB
    command.EBB = ("cd %s && %s"):format(command.folder, plain:sub(1, 1) == "/" and plain or "$OLDPWD/" .. plain)
    contains("card.agent.json exists", fails(command.REFUSED, "import card.json"))
    contains("would write the agent: card.agent.json", (does "import --dry-run card.json"))
    local report = json.decode((does "import --json --dry-run card.json"))
    command.EBB = plain
    assert.same({ "card.agent.json", "card.chat.json", "Ben" },
      { report.agentFile, report.chatFile, report.agent.name })
    assert.same({ "{}", "[]" }, { read(agent), read(chat) })
  end)
end)

describe("the report of ebb import", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local rows = {
    -- what it shows            members of the card's data     the line
    { "a member for people",    '"creator":"Zoe"',             "ignored: data.creator (card metadata)" },
    { "a file of the card",     '"assets":[{"type":"icon"}]',
      "ignored: data.assets (files are not sent)" },
    { "a member for groups",    '"group_only_greetings":["Hi all"]',
      "ignored: data.group_only_greetings (for chats of several characters)" },
    { "a member of others",     '"extensions":{"world":"w"}',
      "ignored: data.extensions.world (the name of a lorebook)" },
    { "an unknown member",      '"mood":{"x":1}',              "unknown member: data.mood (kept, not used)" },
    { "a wrong member",         '"tags":7',
      "wrong member: data.tags: expected a list; kept as it is" },
    { "one other greeting",     '"alternate_greetings":["Bye"]',
      "1 alternate greeting kept (choose one with --greeting)" },
    { "two other greetings",    '"alternate_greetings":["Bye","Ahoy"]',
      "2 alternate greetings kept (choose one with --greeting)" },
    { "a decorator of a book",  '"character_book":{"entries":[{"keys":["k"],"content":"@@mood happy\\nx"}]}',
      "ignored decorator: entry 1: @@mood" },
  }
  for _, row in ipairs(rows) do
    it("names " .. row[1], function()
      local card = file("card.json", ('{"spec":"chara_card_v3","data":{"name":"Ben","first_mes":"Welcome",%s}}')
        :format(row[2]))
      contains("\n" .. row[3] .. "\n", (does("import --dry-run " .. card)))
    end)
  end

  it("names what scripts have for other uses", function()
    local scripts = file("scripts.json", '[{"scriptName":"s","findRegex":"a","replaceString":"b","placement":[2,3],'
      .. '"runOnEdit":true,"mood":1}]')
    local said = does("import --dry-run " .. scripts)
    contains("\nignored: runOnEdit (each request is built again)\n", said)
    contains("\nignored: placement 3 (there are no slash commands)\n", said)
    contains("mood (left out)", said)
  end)
end)

describe("ebb import of a file without a name", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("names what it writes after standard input, or the pipe", function()
    local card = file("card.json", '{"spec":"chara_card_v2","data":{"name":"Ann","first_mes":"Hello"}}')
    contains("the agent: stdin.agent.json", (does("import - --dry-run", card)))
    contains("1 message: stdin.chat.json", (does("import /dev/stdin --dry-run", card)))
    local EBB = command.EBB
    command.EBB = ("cat %s | %s"):format(card, EBB)
    contains("the agent: pipe.agent.json", (does("import /dev/fd/3 --dry-run 3<&0", card)))
    command.EBB = EBB
  end)
end)
