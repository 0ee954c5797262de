--- Checks what enters a conversation from the command line: a user's text, windows, descriptions of tools; and
--- commands that answer what processors ask.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"

local json = helper.ebb.json
local contains, does, fails, file, path_of = command.contains, command.does, command.fails, command.file,
  command.path_of

local MARKUP = '<Window id="todo_1"><Description>Things</Description><Content><item id="1">tea</item></Content>'
  .. '<Actions><action id="add" params="text:string">Add</action>'
  .. '<action id="close" params="summary:string?">Close</action></Actions></Window>'

local function messages_of(text) return assert(json.decode(text)) end

describe("ebb input", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local function input(words) return messages_of((does("input " .. words))) end

  it("appends the text with its macros expanded, once", function()
    local list = input(("'{{user}} at {{time}}: {{setvar::a::5}}{{getvar::a}}' %s --now 0 --user-profile %s")
      :format(path_of "small.json", file("user.json", '{"name":"Kim {{char}}"}')))
    assert.same({ 5, "user", "Kim {{char}} at 12:00 AM: 5" }, { #list, list[5].role, list[5].content })
    local report = json.decode((does(("input '{{setvar::a::5}}x' %s --dry-run --json"):format(path_of "small.json"))))
    assert.same({ "5", 1 }, { tostring(report.variables["local"].a), report.inserted })
    local rolls = {}
    for seed = 1, 20 do
      local rolled = input(("'{{roll::1d1000}}' %s --seed %d"):format(path_of "small.json", seed))
      rolls[rolled[5].content] = true
    end
    assert.is_true(next(rolls, next(rolls)) ~= nil)
  end)

  it("attaches files, which a pipeline reads", function()
    file("plan.txt", "the plan")
    local out = path_of "out.json"
    does(("input 'see' %s --attach plan.txt -o %s"):format(path_of "small.json", out))
    assert.same({ name = "plan.txt", path = "plan.txt" }, messages_of(command.read(out))[5].attachments[1])
    contains("the plan", (does(("pipeline %s --asset-root %s"):format(out, command.folder))))
  end)

  it("opens windows of markup and of JSON, before the text", function()
    file("map.json", '{"id":"map","content":"north","actions":[{"id":"go","params":"way:string"}]}')
    local words = ("'what now?' %s --window %s --window %s"):format(path_of "small.json", file("todo.xml", MARKUP),
      path_of "map.json")
    local list = input(words)
    assert.same({ 7, MARKUP, "what now?" }, { #list, list[5].content, list[7].content })
    contains('<action id="go" params="way:string">', list[6].content)
    command.environment = ("EBB_DB=%s "):format(path_of "s.db")
    finally(function() command.environment = nil end)
    does("session new s " .. path_of "small.json")
    does((("input " .. words):gsub(path_of "small.json", "--session s", 1)))
    local session <close> = assert(helper.ebb.session(path_of "s.db", "s"))
    assert.same({ 2, "todo_1" }, { #session.windows:list(), session[5].window })
  end)

  it("keeps macro variables in a session, with those of pipelines, and a rollback takes them back", function()
    command.environment = ("EBB_DB=%s "):format(path_of "s.db")
    finally(function() command.environment = nil end)
    local agent = file("a.json", '{"presets":[{"role":"system","content":"{{incvar::turn}}{{getvar::turn}} '
      .. '{{getvar::mood}}"}]}')
    local function first(words) return json.decode((does(words))).messages[1].content end
    does "session new s"
    does "input '{{setvar::mood::glad}}I am {{getvar::mood}}' --session s"
    local pipeline = "pipeline --session s --agent " .. agent
    assert.equal("1 glad", first(pipeline .. " --to openai"))
    does(pipeline .. " -o " .. path_of "body.json")
    does(pipeline .. " --preview")
    does(pipeline .. " --dry-run")
    does((pipeline:gsub("%-%-session s", "session:s")))
    does "input 'Turn {{getvar::turn}}' --session s"
    contains("Turn 2", (does "session show s"))
    contains("variables: turn", (does "session log s"))
    assert.is_nil((does "session log s"):find("filter", 1, true))

    does "session branch s t"
    does "session rollback s 1"
    does "input 'Turn [{{getvar::turn}}] {{getvar::mood}}' --session s"
    contains("Turn [] glad", (does "session show s"))
    does "session rollback s 0"
    does "input 'so' --session s"
    assert.equal("1 ", first(pipeline))
    assert.equal("3 glad", first("pipeline --session t --agent " .. agent))
  end)

  it("keeps macro variables in a file of dialect ebb, and pipeline leaves the file as it is", function()
    local agent = file("a.json", '{"presets":[{"role":"system","content":"{{incvar::n}}{{getvar::n}}"}]}')
    local chat = path_of "chat.ebb.json"
    does(("convert %s --to ebb -o %s"):format(path_of "small.json", chat))
    does(("input '{{setvar::n::6}}x' %s -i"):format(chat))
    for _ = 1, 2 do
      local body = json.decode((does(("pipeline %s --agent %s"):format(chat, agent))))
      assert.equal("7", body.messages[1].content:match "^%d+")
    end
  end)

  it("refuses other files as windows, and two inputs at once", function()
    local line = "input x %s --window %s"
    contains("broken.xml", fails(command.REFUSED, line:format(path_of "small.json", file("broken.xml", "<Window>"))))
    contains("idd", fails(command.REFUSED, line:format(path_of "small.json", file("w.json", '{"idd":"x"}'))))
    contains("cannot both come from standard input", fails(command.USAGE, "input -"))
    fails(command.IO, line:format(path_of "small.json", path_of "absent.xml"))
  end)

  it("names the file and the place of a bad window", function()
    local cases = {
      { '{"id":"x",\n "content": }', "bad:2:13: expected a value" },
      { "[]", "bad: expected a window: an object with id and content, or markup" },
      { '{"description":"x"}', "bad: windows:open: id is missing" },
      { '{"id":"x","description":"y"}', "bad: the window 'x' is not open: expected its content" },
      { '{"id":"x","content":"a","content":"b"}', "bad:1:25: expected each name once" },
      { '{"id":"x","actions":[{"id":5}]}', "bad: windows:open: actions[1].id: expected a string" },
      { '<Window id="x"><Foo/></Window>', "bad:1:16: expected <Description>" },
    }
    for _, case in ipairs(cases) do
      local said = fails(command.REFUSED, ("input x %s --window %s"):format(path_of "small.json", file("bad", case[1])))
      contains(case[2], said)
    end
    local good = file("good", '{"id":"x","content":"a"}')
    local words = ("input x %s --window %s --window %s"):format(path_of "small.json", good, good)
    contains("hint: each window has an id of its own", fails(command.REFUSED, words))
  end)

  it("takes the text from standard input", function()
    local out = does("input - " .. path_of "small.json", file("text", "two\nlines\n"))
    assert.equal("two\nlines", messages_of(out)[5].content)
  end)
end)

describe("the order in which keep_turns lets go", function()
  local function conversation()
    local chat = helper.ebb.conversation { encoding = "cjk", messages = { { role = "system", content = "规则" } } }
    local function turn(n)
      chat:append { { role = "user", content = "问题" .. n }, { role = "assistant", content = "回答" .. n } }
    end
    chat.windows:open { id = "旧", content = "已经完成" }
    turn(1)
    chat.windows:open { id = "待办", content = "买茶" }
    for n = 2, 6 do turn(n) end
    chat.windows:get("旧"):close()
    return chat
  end

  --- Kinds of what a list has lost, in the order in which it went at ever smaller budgets.
  local function order_of(shows)
    local order, gone, budget = {}, {}, conversation():tokens()
    while budget > 10 do
      local text = shows(budget)
      if not text then break end
      for _, part in ipairs { "旧", "问题1", "回答3", "待办", "回答4", "规则" } do
        if not text:find(part, 1, true) and not gone[part] then
          gone[part] = true
          order[#order + 1] = part
        end
      end
      budget = budget - 1
    end
    return table.concat(order, " ")
  end

  local function texts(chat)
    local words = {}
    for i, message in ipairs(chat) do words[i] = message.window or message.text end
    return table.concat(words, " ")
  end

  local function trim(policy)
    return function(budget)
      local chat = conversation()
      return chat:trim { policy, budget = budget } and texts(chat)
    end
  end

  it("is obsolete windows, old turns, windows, the last turns; never the system's", function()
    assert.equal("旧 问题1 回答3 待办 回答4", order_of(trim "keep_turns"))
  end)

  it("is that of a render, too", function()
    assert.equal("旧 问题1 回答3 待办 回答4", order_of(function(budget)
      local chat, words = conversation(), {}
      local list = chat:render { max_tokens = budget, include_obsolete = true }
      for i, message in ipairs(list or {}) do words[i] = message.window or message.content end
      return list and table.concat(words, " ")
    end))
  end)

  it("is not that of keep_recent, which goes by age", function()
    assert.equal("旧 问题1 待办 回答3 回答4", order_of(trim "keep_recent"))
  end)
end)

describe("windows on the command line", function()
  before_each(function()
    command.make_folder()
    command.environment = ("EBB_DB=%s "):format(path_of "s.db")
  end)
  after_each(function()
    command.environment = nil
    command.remove_folder()
  end)

  local function markup(id, text)
    return ('<Window id="%s"><Description>D</Description><Content><item>%s</item></Content></Window>'):format(id, text)
  end

  --- The texts that a provider gets which hold markup, and the number of messages.
  local function sent(words)
    local list, body = {}, json.decode((does("pipeline " .. words .. " --model gpt-4o")))
    for _, message in ipairs(body.messages) do
      if message.content:find "<Window" then list[#list + 1] = message.content end
    end
    return list, #body.messages
  end

  for _, id in ipairs { "todo", "待办", "список дел" } do
    for _, place in ipairs { "a session", "a saved file" } do
      it(("open, are updated and close in %s, with one state in a request: %s"):format(place, id), function()
        local words, edits = "--session s", "--session s"
        if place == "a session" then does("session new s " .. path_of "small.json") else
          words, edits = path_of "c.ebb", path_of "c.ebb" .. " -i"
          does(("convert %s --to ebb -o %s"):format(path_of "small.json", words))
        end
        local window = file("w.xml", markup(id, "茶"))
        does(("input 'first' %s --window %s"):format(edits, window))
        assert.same({ markup(id, "茶") }, (sent(words)))

        file("w.xml", markup(id, "米"))
        does(("input 'second' %s --window %s"):format(edits, window))
        local texts, count = sent(words)
        assert.same({ { markup(id, "米") }, 6 }, { texts, count })

        does(("window open - %s"):format(edits), file("in", '{"id":"' .. id .. '","content":"豆"}'))
        assert.same({ '<Window id="' .. id .. '"><Description>D</Description><Content>豆</Content></Window>' },
          (sent(words)))
        assert.equal(sent(words)[1] .. "\n", (does(("window show '%s' %s"):format(id, words))))
        contains(id .. ": open, version 3", (does("inspect " .. words)))

        does(("window close '%s' %s --summary done"):format(id, edits))
        assert.same({}, (sent(words)))
        contains(id .. ": closed", (does("inspect " .. words)))
        contains("is closed: no request has it", select(2, does(("window show '%s' %s"):format(id, words))))
        contains("closed already", select(2, does(("window close '%s' %s"):format(id, edits))))

        does(("input 'third' %s --window %s"):format(edits, window))
        assert.same({ markup(id, "米") }, (sent(words)))
      end)
    end
  end

  it("are shown again where the message that showed one is gone", function()
    does("session new s " .. path_of "small.json")
    does("input 'first' --session s --window " .. file("w.xml", markup("待办", "one")))
    does "session undo s"
    assert.same({}, (sent "--session s"))
    does("input 'second' --session s --window " .. file("w.xml", markup("待办", "two")))
    assert.same({ markup("待办", "two") }, (sent "--session s"))

    local saved = path_of "c.ebb"
    does(("convert %s --to ebb -o %s"):format(path_of "small.json", saved))
    does(("window open %s %s -i"):format(path_of "w.xml", saved))
    does(("apply '{\"operation\":\"truncate\",\"keepFirst\":2}' %s -i"):format(saved))
    assert.same({}, (sent(saved)))
    does(("window open - %s -i"):format(saved), file("in", '{"id":"待办","description":"E","item":false}'))
    assert.same({}, (sent(saved)))
    does(("window open - %s -i"):format(saved), file("in", '{"id":"待办","description":"E"}'))
    assert.equal(1, #sent(saved))
    does(("window open %s %s -i"):format(path_of "w.xml", saved))
    assert.equal(1, #sent(saved))
  end)

  it("say in a dry run, explained and in a report what becomes of one", function()
    does("session new s " .. path_of "small.json")
    local open = "window open --session s " .. file("w.xml", markup("待办", "one"))
    local function says(words)
      local out, err = does(words)
      return out .. err
    end
    contains("the window '待办' is opened", says(open .. " --dry-run"))
    assert.same({ { id = "待办", change = "opened" } }, json.decode((does(open .. " --dry-run --json"))).windows)
    does(open)
    contains("the window '待办' is updated", says(open .. " --explain"))
    contains("the window '待办' is closed", says "window close 待办 --session s --dry-run")
    contains("待办: open", (does "inspect --session s"))
    does "window close 待办 --session s"
    contains("nothing changed", says "window close 待办 --session s --dry-run")
  end)

  it("stay as they are when a session undoes a step", function()
    does("session new s " .. path_of "small.json")
    does("input 'first' --session s --window " .. file("w.xml", markup("w", "one")))
    does("input 'second' --session s --window " .. file("w.xml", markup("w", "two")))
    does "session undo s"
    assert.same({ { markup("w", "two") }, 6 }, { sent "--session s" })
    does "window close w --session s"
    does "session undo s"
    contains("w: closed", (does "inspect --session s"))
    assert.same({}, (sent "--session s"))
  end)

  it("are text in a list of messages, which is said, and stay apart from the user's words", function()
    local window, list = file("w.xml", markup("w", "one")), path_of "list.json"
    local words = ("input 'what now?' %s --window %s"):format(path_of "small.json", window)
    contains("w.xml: the window 'w' becomes text", select(2, does(words .. " -o " .. list)))
    assert.is_nil(select(2, does(("input 'x' %s -o %s"):format(path_of "small.json", path_of "y"))):find "becomes text")
    local texts, count = sent(list)
    assert.same({ { markup("w", "one") }, 6 }, { texts, count })
    local joined = does(("pipeline %s --set merge-roles.windows=true"):format(list))
    contains(markup("w", "one"):gsub('"', '\\"') .. "\\n", joined)
    contains("a list of messages keeps no windows", fails(command.REFUSED, "window close w " .. list))
  end)

  it("have errors with their names", function()
    does("session new s " .. path_of "small.json")
    does("window open --session s " .. file("w.xml", markup("笔记", "one")))
    contains("hint: one of: 笔记", fails(command.REFUSED, "window close 笔 --session s"))
    contains("hint: did you mean 'close'?", fails(command.USAGE, "window clos 笔记 --session s"))
    contains("--summary does not go with open", fails(command.USAGE, "window open w --session s --summary x"))
    contains("cannot both come from standard input", fails(command.USAGE, "window open -"))
    for _, option in ipairs { "-i", "--json", "--dry-run", "--explain", "--ledger l.json" } do
      contains(option:match "^%S+" .. " does not go with show", fails(command.USAGE, "window show w x.json " .. option))
    end
    contains("w.xml:1:9", fails(command.REFUSED, "window open --session s " .. file("w.xml", "<Window ")))
    fails(command.REFUSED, "window open --session s " .. file("w.json", '{"id":"fixed","closable":3}'))
    contains("version 1", (does "inspect --session s"))
    local window = file("w.xml", markup("w", "one"))
    local words = ("window open %s %s -o %s"):format(window, path_of "small.json", window)
    contains("would replace", fails(command.USAGE, words))
    assert.equal(markup("w", "one"), command.read(window))
  end)
end)

describe("--tools", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("describes tools at the head and after clear, from a list or a provider's", function()
    local tools = file("tools.json", '[{"name":"f","description":"does f"},'
      .. '{"type":"function","function":{"name":"g","description":"does g"}}]')
    local words = ([[apply '{"operation":"clear"}' %s --tools %s]]):format(path_of "small.json", tools)
    local plain = messages_of((does((words:gsub(" %-%-tools.*", "")))))
    local list = messages_of((does(words)))
    assert.same({ 1, 2, "Available tools:\n- f: does f\n- g: does g" }, { #plain, #list, list[2].content })
    local gemini = file("gemini.json", '[{"functionDeclarations":[{"name":"f","description":"does f"},'
      .. '{"name":"g","description":"does g"}]},{"function_declarations":[{"name":"h","description":"does h"}]}]')
    list = messages_of((does((words:gsub("%S+$", gemini)))))
    assert.equal("Available tools:\n- f: does f\n- g: does g\n- h: does h", list[2].content)
    contains("可用工具:\\n- f", (does(words .. " --tools-heading 可用工具:")))
    contains("goes with --tools", fails(command.USAGE, "apply '[]' x.json --tools-heading x"))
    for _, text in ipairs { "[1]", "{}", "[", '[{"name":"f"}]' } do
      contains("tools.json", fails(command.REFUSED, (words:gsub("%S+$", file("tools.json", text)))))
    end
  end)
end)

describe("commands that answer processors", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local function chat_with(attachment)
    return file("chat.json", json.encode { { role = "user", content = "listen", attachments = { attachment } } })
  end

  it("transcribe, once for each content, and transcripts are kept in a folder", function()
    file("talk.mp3", "ID3\4\0\0\0\0\0\0")
    file("ask.sh", "cat >> requests; printf 'they said hello'")
    local words = ("pipeline %s --asset-root %s --set transcription-processor.audio=always")
      :format(chat_with { path = "talk.mp3", name = "talk.mp3" }, command.folder)
    local with_command = words .. (" --transcribe-command 'cd %s && sh ask.sh'"):format(command.folder)
    assert.is_nil((does(words)):find "hello")
    contains("they said hello", (does(with_command)))
    local request = json.decode(command.read(path_of "requests"))
    assert.same({ "audio", "talk.mp3" }, { request.kind, request.name })
    contains("data:audio/mpeg;base64,", request.data)

    local kept = with_command .. " --transcripts " .. path_of "texts"
    does(kept)
    local before = command.read(path_of "requests")
    contains("they said hello", (does(kept)))
    assert.equal(before, command.read(path_of "requests"))
  end)

  it("answer the pipelines of workflows, too", function()
    file("talk.mp3", "ID3\4\0\0\0\0\0\0")
    local node = ("{ asset_root = %q, set = { 'transcription-processor.audio=always' } }")
      :format(command.folder)
    file("flow.lua", "return { " .. node:gsub("{", "{ type = 'pipeline',", 1) .. " }")
    local words = ("run %s %s"):format(path_of "flow.lua", chat_with { path = "talk.mp3" })
    assert.is_nil((does(words)):find "hello")
    contains("hello", (does(words .. " --transcribe-command 'echo hello'")))
    file("ask.lua", ("return { { type = 'model', model = 'gpt-4o', pipeline = %s } }"):format(node))
    words = words:gsub("flow%.lua", "ask.lua") .. (" --model-command 'cat >%s; echo ok'"):format(path_of "asked")
    does(words .. " --transcribe-command 'echo hello'")
    contains("hello", command.read(path_of "asked"))
  end)

  it("give files of attachments, as bytes or as a data URI", function()
    local words = ("pipeline %s --asset-command '%s'"):format(chat_with { id = "note", name = "note.txt" }, "%s")
    contains("from the store", (does(words:format "printf \"from the store\"")))
    file("answer.json", '{"data":"data:text/plain,as%20a%20URI"}')
    contains("as a URI", (does(words:format("cat " .. path_of "answer.json"))))
    local run = command.ebb(words:format "exit 3")
    assert.is_true(run.status ~= 0)
    contains("note.txt", run.err)
  end)

  it("answer other services, by name, within a time", function()
    file("find.lua", [[return { id = "find", name = "Find", priority = 260, execute = function(context)
      local answer, why = context:call("retrieve", { query = "q" })
      context:log("warn", "found " .. tostring(answer and answer.hits or why))
    end }]])
    local words = ("pipeline %s --plugin %s --trusted"):format(path_of "small.json", path_of "find.lua")
    contains("does not answer 'retrieve'", select(2, does(words)))
    contains("found 3", select(2, does(words .. [[ --service 'retrieve=echo "{\"hits\":3}"']])))
    words = words .. " --service retrieve"
    contains("the command for 'retrieve'", select(2, does(words .. "='sleep 9' --service-timeout 0.2")))
    contains("expected name=command", fails(command.USAGE, words))
    contains("named twice", fails(command.USAGE, words .. "=b --service retrieve=c"))
  end)
end)
