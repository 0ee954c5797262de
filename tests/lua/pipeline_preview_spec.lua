--- Checks that a preview equals the run that follows it, byte for byte, unless it says where it
--- cannot know; and what a run says of the request as a whole. Windows, too.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local PNG = "data:image/png;base64,iVBORw0KGgo="

local function said(result, words)
  local count = 0
  for _, entry in ipairs(result.logs) do
    if entry.message:find(words, 1, true) then count = count + 1 end
  end
  return count
end

describe("a preview, twice, and the run", function()
  local function same(pipeline, chat)
    local before = helper.snapshot(chat)
    local first, second = assert(pipeline:preview(chat)), assert(pipeline:preview(chat))
    assert.equal(before, helper.snapshot(chat))
    local messages, real = chat:json(), assert(pipeline:run(chat))   -- which may keep variables
    assert.equal(first.body, second.body)
    assert.equal(first.body, real.body)
    assert.equal(first.tokens, real.tokens)
    assert.same(first.unasked, {})
    assert.equal(messages, chat:json())
    return real
  end

  it("are the same with a processor that remembers, and has dice of its own", function()
    finally(helper.clean)
    local file = helper.lua_file [[local runs = 0
      local function execute(context)
        runs = runs + 1
        global = (global or 0) + 1
        table.insert(context.messages, { role = "assistant", source = "plugin",
          content = ("run %d %d of %d"):format(runs, global, math.random(1, 1000000)) })
      end
      return { { id = "a", name = "A", execute = execute }, { id = "b", name = "B", execute = execute } }]]
    local pipeline = ebb.pipeline { processors = { file }, counter = helper.tokens_of, now = 5,
      set = { "message-formatters.enabled=false" } }

    local result = same(pipeline, helper.conversation("u1", { counter = helper.tokens_of }))

    assert.matches("^run 1 1 ", result.chat[2].content)
    assert.matches("^run 2 2 ", result.chat[3].content)      -- one file, one sandbox
  end)

  it("are the same with a processor that asks its host for knowledge, which only reads", function()
    local asking = { id = "ask", name = "Ask", priority = 150, execute = function(context)
      table.insert(context.messages, 1, { source = "x", content = context:call("retrieve", { q = 1 }),
        role = "system" })
    end }
    local pipeline = ebb.pipeline { processors = { asking }, counter = helper.tokens_of,
      host = { retrieve = function(asked) return "found " .. asked.q end } }

    local result = same(pipeline, helper.conversation("u1", { counter = helper.tokens_of }))

    assert.matches("found 1", result.body, 1, true)
  end)

  it("are the same with rules, presets, dice and variables, within a budget", function()
    local session = { id = "S", variables = { ["local"] = { n = 3 }, global = {} } }
    local pipeline = ebb.pipeline { counter = helper.tokens_of, now = 1700000000000, session = session,
      set = { "token-limiter.budget=60" }, agent = {
        rules = { { id = "p", rules = { { id = "r", regex = "u(\\d+)", replacement = "u$1 {{roll::1d100}}", flags = "g",
          applyTo = { request = true } } } } },
        presets = { { role = "system", content = "s{{incvar::n}}{{getvar::n}} {{random::a::b::c}} {{time}}" },
          { type = "chat_history" } } } }

    local result = same(pipeline, helper.conversation("u20 a20 u20 a20 u20", { counter = helper.tokens_of }))

    assert.equal("4", tostring(result.variables["local"].n))
    assert.equal(3, session.variables["local"].n)
    assert.same({}, session.variables.global)
  end)

  it("are the same where the host only reads", function()
    local asked = {}
    local host = {
      asset = function(request) asked[#asked + 1] = "asset " .. request.id return { data = PNG } end,
      cache = function(request) asked[#asked + 1] = "cache" return request.get and "a cat" or nil end,
      transcribe = function() asked[#asked + 1] = "transcribe" return "a dog" end,
    }
    local chat = ebb.conversation()
    chat:input("look", { { id = "one", kind = "image" } })

    local seen = same(ebb.pipeline { model = "gpt-4o", encoding = "cjk", host = host }, chat)
    assert.matches("data:image/png", seen.body, 1, true)

    same(ebb.pipeline { model = "gpt-4o", encoding = "cjk", host = host,
      set = { "transcription-processor.image=always" } }, chat)
    assert.equal(0, said({ logs = { { message = table.concat(asked, " ") } } }, "transcribe"))

    host.cache = nil
    local told = same(ebb.pipeline { model = "gpt-4o", encoding = "cjk", host = host, reads = { "transcribe" },
      set = { "transcription-processor.image=always" } }, chat)
    assert.matches("a dog", told.body, 1, true)
  end)

  it("are the same without a host that answers", function()
    local chat = ebb.conversation()
    chat:input("look", { { data = PNG } })
    same(ebb.pipeline { model = "gpt-4o", encoding = "cjk", set = { "transcription-processor.image=always" } }, chat)
  end)
end)

describe("a preview", function()
  it("asks for nothing that may have effects, and says so", function()
    local asked = 0
    local function ask() asked = asked + 1 return "a cat" end
    local pipeline = ebb.pipeline { model = "gpt-4o", encoding = "cjk", host = { transcribe = ask, mail = ask },
      set = { "transcription-processor.image=always" },
      processors = { { id = "mail", name = "M", execute = function(context) context:call("mail", { to = "x" }) end } } }
    local chat = ebb.conversation()
    chat:input("look", { { data = PNG, name = "cat.png" } })

    local first, second = assert(pipeline:preview(chat)), assert(pipeline:preview(chat))

    assert.equal(0, asked)
    assert.equal(first.body, second.body)
    assert.equal("transcribe", first.unasked[1].service)
    assert.same({ service = "mail", request = { to = "x" } }, first.unasked[2])
    assert.equal(1, said(first, "would be asked to 'transcribe' cat.png: the real request may differ"))
    assert.matches("a cat", assert(pipeline:run(chat)).body, 1, true)
    assert.equal(2, asked)
  end)

  it("takes the names of services that only read, and nothing else", function()
    assert.equal("argument", helper.refusal(ebb.pipeline, { reads = "transcribe" }).code)
    assert.equal("argument", helper.refusal(ebb.pipeline, { reads = { 3 } }).code)
  end)
end)

describe("a macro that is another one in each request", function()
  local function warned(presets, set)
    local result = assert(ebb.pipeline({ counter = helper.tokens_of, agent = { presets = presets }, set = set }):run(
      helper.conversation("u1 a1 u1", { counter = helper.tokens_of })))
    return said(result, "on every request; nothing after"), result
  end
  local HISTORY = { type = "chat_history" }
  local function note(content, depth)
    return { role = "system", content = content, injectionStrategy = { type = "depth", depth = depth } }
  end

  for name, case in pairs {
    ["is told before the history"] = { 1, { { role = "system", content = "It is {{time}}." }, HISTORY } },
    ["is told by name"] = { 1, { { role = "system", content = "{{roll::1d6}} {{random::a::b}}" }, HISTORY } },
    ["is told where merging brings it there"] = { 1, { { role = "system", content = "x" }, HISTORY,
      note("{{time}}", 0) }, { "merge-system.scope=all" } },
    ["is not told behind it"] = { 0, { HISTORY, { role = "user", content = "It is {{time}}." } } },
    ["is not told at a depth"] = { 0, { HISTORY, note("{{time}}", 1) }, { "message-formatters.enabled=false" } },
    ["is no other one: that of the session"] = { 0, { { role = "system", content = "{{user}} {{pick::a::b}}" },
      HISTORY } },
  } do
    it(name, function() assert.equal(case[1], (warned(case[2], case[3]))) end)
  end

  it("is named", function()
    local _, result = warned { { role = "system", content = "{{roll::1d6}} {{time}}" }, HISTORY }
    assert.equal(1, said(result, "{{roll}}, {{time}} change on every request; nothing after them can be cached"))
    _, result = warned { { role = "system", content = "{{random::a::b}}" }, HISTORY }
    assert.equal(1, said(result, "{{random}} changes on every request; nothing after it can be cached"))
  end)
end)

describe("windows of a conversation", function()
  local AGENT = { rules = { { id = "p", rules = { { id = "r", regex = "x", replacement = "Y", flags = "g",
    applyTo = { request = true } } } } } }

  local function chat_of(content)
    local chat = ebb.conversation { encoding = "cjk" }
    chat:append { role = "user", content = "x one" }
    chat.windows:open { id = "todo", content = content }
    chat:append { role = "assistant", content = "x two" }
    return chat
  end

  local function run(chat, given)
    given = given or {}
    given.agent, given.encoding = AGENT, "cjk"
    return ebb.pipeline(given):run(chat)
  end

  it("come as what they read now; rules and macros skip them, and the conversation stays as it is", function()
    local made = 0
    local chat = chat_of(function() made = made + 1 return "x {{user}} " .. made end)
    local clock, items = chat.windows.seq, #chat

    local result = assert(run(chat, { set = { "message-formatters.enabled=false" } }))

    assert.equal("Y one", result.chat[1].content)
    assert.matches('<Window id="todo"><Content>x {{user}} 1</Content>', result.chat[2].content, 1, true)
    assert.equal("Y two", result.chat[3].content)
    assert.same({ "history", "window", "history" },
      { result.parts[1].source, result.parts[2].source, result.parts[3].source })
    assert.equal("todo", result.parts[2].source_id)
    assert.same({ clock, items, 1 }, { chat.windows.seq, #chat, made })
  end)

  it("come once, where they were shown last; closed ones not", function()
    local chat = chat_of "state"
    chat.windows:get("todo"):update { refresh = "append" }
    chat.windows:get("todo"):update { content = "new state" }
    local result = assert(run(chat, { set = { "message-formatters.enabled=false" } }))
    assert.equal(3, #result.chat)
    assert.matches("new state", result.chat[3].content, 1, true)

    chat.windows:get("todo"):close()
    assert.equal(2, #assert(run(chat, { set = { "message-formatters.enabled=false" } })).chat)
  end)

  --- Returns the request as a letter per message: its first, or W for a window.
  local function letters(result)
    local list = {}
    for i, part in ipairs(result.parts) do
      local content = part.content or result.chat[i].content
      list[i] = part.source == "window" and "W" or content:sub(1, 1)
    end
    return table.concat(list)
  end

  --- a W b W c W, with the windows p, q and r
  local function chat_with_three()
    local chat = ebb.conversation { encoding = "cjk" }
    for i, id in ipairs { "p", "q", "r" } do
      chat:append { role = i % 2 == 1 and "user" or "assistant", content = ("abc"):sub(i, i) .. " x" }
      chat.windows:open { id = id, content = "x" }
    end
    return chat
  end

  local places = { [0] = "aWbWcW!", [1] = "aWbW!cW", [2] = "aW!bWcW", [3] = "!aWbWcW", [9] = "!aWbWcW" }
  for depth, expected in pairs(places) do
    it("have no depth where presets go to depth " .. depth, function()
      local result = assert(ebb.pipeline { encoding = "cjk", set = { "message-formatters.enabled=false" }, agent = {
        presets = { { type = "chat_history" },
          { role = "system", content = "!", injectionStrategy = { type = "depth", depth = depth } } },
      } }:run(chat_with_three()))
      assert.equal(expected, letters(result))
    end)
  end

  it("have no depth where rules have a range", function()
    local result = assert(ebb.pipeline { encoding = "cjk", set = { "message-formatters.enabled=false" }, agent = {
      rules = { { id = "p", rules = { { id = "r", regex = "x", replacement = "Y", applyTo = { request = true },
        depthRange = { min = 0, max = 1 } } } } },
    } }:run(chat_with_three()))
    local texts = {}
    for _, message in ipairs(result.chat) do
      texts[#texts + 1] = message.content:match "^%l [xY]$"
    end
    assert.same({ "a x", "b Y", "c Y" }, texts)
  end)

  it("are merged with what the user says where that is asked for, whole, and the sources name them", function()
    local chat = ebb.conversation { encoding = "cjk" }
    chat:append { role = "user", content = "look" }
    chat.windows:open { id = "todo", content = "state" }
    local markup = chat.windows:get("todo"):markup()

    assert.equal(2, #assert(ebb.pipeline { encoding = "cjk", agent = {} }:run(chat)).chat)
    local set = { "merge-roles.windows=true" }
    local result = assert(ebb.pipeline { encoding = "cjk", agent = {}, set = set }:run(chat))

    assert.same({ 1, "look\n\n---\n\n" .. markup }, { #result.chat, result.chat[1].content })
    local sources = result.messages[1].sources
    assert.same({ "history", "window", "todo" }, { sources[1].source, sources[2].source, sources[2].source_id })
    assert.equal("todo", chat[2].window)   -- the item stays what it is

    chat.windows:get("todo"):update { content = "later" }
    local later = assert(ebb.pipeline { encoding = "cjk", agent = {}, set = set }:run(chat))
    assert.matches("later", later.chat[1].content, 1, true)
  end)

  local function long_chat(open)
    local chat = ebb.conversation { encoding = "cjk" }
    chat:append { role = "user", content = "x one" }
    open(chat)
    for _ = 1, 10 do
      chat:append { { role = "user", content = ("more "):rep(20) }, { role = "assistant", content = "x" } }
    end
    return chat
  end

  it("are kept by the limiter where they are pinned, within the budget", function()
    local chat = long_chat(function(chat) chat.windows:open { id = "todo", content = "state", pinned = true } end)
    local result = assert(run(chat, { set = { "token-limiter.budget=120" } }))
    assert.is_true(result.tokens <= 120)
    assert.matches("<Window", result.body, 1, true)
  end)

  it("go by the policy, as they do in a trim and in what is rendered", function()
    local rows = {
      -- important  the window    what goes first
      { false,      { "todo" },   "the window of an old turn goes with it" },
      { true,       {},           "an important one outlasts old turns" },
    }
    for _, row in ipairs(rows) do
      local chat = long_chat(function(chat)
        chat.windows:open { id = "todo", content = ("state "):rep(20), important = row[1] }
      end)
      local budget = chat:tokens() - 40
      local trimmed = chat:fork()
      assert(trimmed:trim { budget = budget, policy = "keep_turns" })
      local shown = trimmed.windows:render()
      local rendered = assert(chat.windows:render { max_tokens = budget })
      local result = assert(ebb.pipeline { encoding = "cjk", set = { "token-limiter.policy=keep_turns",
        "message-formatters.enabled=false", "token-limiter.budget=" .. budget } }:run(chat))

      assert.equal(helper.texts(shown), helper.texts(rendered))
      assert.equal(helper.texts(shown), helper.texts(result.chat), row[3])
      local gone = {}
      for _, entry in ipairs(result.ledger) do
        gone[#gone + 1] = chat:all()[entry.seq].window
      end
      assert.same(row[2], gone, row[3])
    end
  end)

  it("give way where nothing else is left that may go", function()
    local chat = ebb.conversation { encoding = "cjk" }
    for i = 1, 6 do
      chat:append { { role = "user", content = "question " .. i }, { role = "assistant", content = "so" } }
    end
    chat.windows:open { id = "log", content = ("line "):rep(2000) }
    local set = { "token-limiter.policy=keep_turns", "token-limiter.budget=500" }
    local result = assert(ebb.pipeline { encoding = "cjk", set = set }:run(chat))
    assert.not_matches("<Window", result.body, 1, true)
    assert.matches("question 6", result.body, 1, true)
    assert.equal("window of a recent turn", result.ledger[#result.ledger].reason)
    assert.equal("log", chat:all()[result.ledger[#result.ledger].seq].window)
  end)
end)
