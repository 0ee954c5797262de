--- Chats of SillyTavern, llama.cpp's page and Z.ai, exports of ChatGPT and Claude.ai, aider's history.

local gate = dofile "tests/lua/growth_gate.lua"
local kit = dofile "tests/lua/import_kit.lua"

local json, read, refusal, count = kit.json, kit.read, kit.refusal, kit.count
local list = json.array

local function words(name, text, options) return kit.openai(read(name, text, options)) end

describe("a chat of SillyTavern", function()
  local HEADER = { user_name = "U", character_name = "C", create_date = "2026", chat_metadata = { integrity = "x" } }
  local function line(name, mes, more)
    local record = { name = name, is_user = name == "U", is_system = false, mes = mes }
    for key, value in pairs(more or {}) do record[key] = value end
    return record
  end

  it("has a header, or none, and perhaps no newline at its end", function()
    local records = { HEADER, line("C", "hi"), line("U", "yo") }
    assert.equal("a:hi | u:yo", words("sillytavern", kit.jsonl(records)))
    table.remove(records, 1)
    assert.equal("a:hi | u:yo", words("sillytavern", (kit.jsonl(records):gsub("\n$", ""))))
    assert.equal("", words("sillytavern", kit.jsonl { HEADER }))
  end)

  it("has a text that the swipes do not replace", function()
    local result = read("sillytavern", kit.jsonl {
      HEADER, line("C", "b", { swipes = list { "a", "b" }, swipe_id = 1 }),
      line("C", "c", { swipes = list { "x", "y", "z" }, swipe_id = 7 }),
      line("C", "d", { swipes = list { { message = "d" } }, swipe_id = 0 }),
    })
    assert.equal("a:b | a:c | a:d", kit.openai(result))
    assert.same({ 3, 1 }, { count(result, "swipe"), count(result, "wrong swipe") })
  end)

  it("hides lines of the system, but for calls of tools with their results", function()
    local result = read("sillytavern", kit.jsonl {
      HEADER, line("U", "gone", { is_system = true }), line("U", "time?"),
      line("C", "Tool calls", { is_system = true, extra = { isSmallSys = true, tool_invocations = list {
        { id = "t1", name = "clock", displayName = "Clock", parameters = '{"tz": 1}', result = '"noon"' },
        { id = "t2", name = "world.clock", parameters = { tz = 2 }, result = { "night" } },
      } } }),
      line("C", "noon", { extra = { reasoning = "well" } }),
    })
    assert.equal('u:time? | a:clock(t1){"tz": 1}+world_clock(t2){"tz":2} | t(t1):"noon" | t(t2):["night"] | '
      .. 'a:<well>noon', kit.openai(result))
    assert.same({ 1, 1 }, { count(result, "hidden message"), count(result, "renamed function") })
  end)

  it("names speakers where several have one role; a narrator is the system", function()
    local result = read("sillytavern", kit.jsonl {
      HEADER, line("C", "hi"), line("D", "yo"), line("U", "hm"),
      line("S", "night falls", { extra = { type = "narrator" } }),
    })
    local names = {}
    for i, message in ipairs(result.messages) do names[i] = message.name or "-" end
    assert.equal("C D - -", table.concat(names, " "))
    assert.equal("system", result.messages[4].role)
  end)

  it("reports the note of its header, attachments and other lines", function()
    local result = read("sillytavern", kit.jsonl {
      { chat_metadata = { note_prompt = "be kind" } }, line("U", "see", { extra = { image = "user/a.png" } }),
      line("U", { message = "look" }, { extra = { image = "data:image/png;base64,AA" } }), { odd = 1 },
    })
    assert.equal("u:see | u:look+image_url", kit.openai(result))
    for _, kind in ipairs { "author's note", "attachment", "other line" } do
      assert.equal(1, count(result, kind), kind)
    end
  end)
end)

---- Trees ----

local function node(id, parent, message, children)
  return { id = id, parent = parent or json.null, children = list(children or {}), message = message or json.null }
end

local function said(role, text, more)
  local message = { author = { role = role }, recipient = "all",
    content = { content_type = "text", parts = list { text } } }
  for key, value in pairs(more or {}) do message[key] = value end
  return message
end

local function mapping(nodes)
  local map = {}
  for _, each in ipairs(nodes) do map[each.id] = each end
  return map
end

local function export(nodes, current, more)
  local conversation = { mapping = mapping(nodes), current_node = current, conversation_id = "c1", title = json.null }
  for key, value in pairs(more or {}) do conversation[key] = value end
  return conversation
end

--- JSON of a list of one or more conversations, as the export's shards have them.
local function shard(...) return json.encode(list { ... }) end

describe("an export of ChatGPT", function()
  local EDITED = {
    node("r", nil, nil, { "u1", "u2" }), node("u1", "r", said("user", "old", { create_time = 1 }), { "a1" }),
    node("a1", "u1", said("assistant", "older", { create_time = 2 })),
    node("u2", "r", said("user", "new", { create_time = 3.5 }), { "a2" }),
    node("a2", "u2", said("assistant", "newer", { create_time = 4 })),
  }

  it("is read along the current node, whatever children come first", function()
    local result = read("chatgpt", shard(export(EDITED, "a2")))
    assert.same({ "u:new | a:newer", 2, 2 },
      { kit.openai(result), result.branches, count(result, "message of another branch") })
    assert.equal("u:old | a:older", words("chatgpt", shard(export(EDITED, "a1"))))
  end)

  it("has branches that a number or an id names", function()
    local text = shard(export(EDITED, "a2"))
    assert.equal("u:old | a:older", words("chatgpt", text, { branch = "1" }))
    assert.equal("u:old", words("chatgpt", text, { branch = "u1" }))
    assert.matches("no branch 'x'", (refusal(text, { branch = "x" })))
  end)

  it("numbers branches by time, and those of one time by their ids", function()
    local nodes, ids = { node("r") }, {}
    for i = 1, 20 do
      ids[i] = ("n%02d"):format(i * 7 % 20)
      nodes[#nodes + 1] = node(ids[i], "r", said("user", ids[i], { create_time = 5 }))
    end
    table.sort(ids)
    for i, id in ipairs(ids) do
      assert.equal("u:" .. id, words("chatgpt", shard(export(nodes, ids[1])), { branch = tostring(i) }))
    end
  end)

  it("without a current node is read at the newest leaf", function()
    for _, current in ipairs { "gone", json.null, 5 } do
      local result = read("chatgpt", shard(export(EDITED, current)))
      assert.same({ "u:new | a:newer", 1 }, { kit.openai(result), count(result, "missing current message") })
    end
  end)

  it("may lack a parent, have several roots or a circle, and loses nothing silently", function()
    local lost = { node("a", "gone", said("user", "a"), { "b" }), node("b", "a", said("assistant", "b")) }
    local result = read("chatgpt", shard(export(lost, "b")))
    assert.same({ "u:a | a:b", 1 }, { kit.openai(result), count(result, "missing parent") })
    lost[3] = node("z", nil, said("system", "z"), { "a" })
    result = read("chatgpt", shard(export(lost, "b")))
    assert.same({ "s:z | u:a | a:b", 1 }, { kit.openai(result), count(result, "missing parent") })
    local circle = { node("a", "b", said("user", "a"), { "b" }), node("b", "a", said("assistant", "b"), { "a" }),
      node("c", nil, said("user", "c")), node("s", "s", said("user", "s")) }
    result = read("chatgpt", shard(export(circle, "b")))
    assert.same({ "u:a | a:b", 1, 2 },
      { kit.openai(result), count(result, "circle of parents"), count(result, "message of another branch") })
    assert.equal("u:s", words("chatgpt", shard(export(circle, "s"))))
  end)

  it("has messages without text, hidden ones, and some without metadata", function()
    local nodes = {
      node("1", nil, said("system", "")), node("2", "1", said("user", "kept")),
      node("3", "2", said("user", "hidden", { metadata = { is_visually_hidden_from_conversation = true } })),
      node("4", "3", said("assistant", "weightless", { weight = 0 })),
      node("5", "4", { author = json.null, content = json.null }), node("6", "5", said("critic", "odd")),
      node("7", "6", said("assistant", "cited \u{E200}cite\u{E201}", { metadata = { model_slug = "gpt-5" } })),
    }
    local result = read("chatgpt", shard(export(nodes, "7", { default_model_slug = "auto" })))
    assert.equal("u:kept | a:cited \u{E200}cite\u{E201}", kit.openai(result))
    assert.equal("gpt-5", result.model)
    assert.is_nil(read("chatgpt", shard(export(nodes, "2", { default_model_slug = "auto" }))).model)
    assert.same({ 2, 2, 1, 1 }, { count(result, "hidden message"), count(result, "empty message"),
      count(result, "other message"), count(result, "citation mark") })
  end)

  it("has calls without ids, whose results follow", function()
    local function call(id, parent, to, text)
      return node(id, parent, said("assistant", nil,
        { recipient = to, content = { content_type = "code", text = text } }))
    end
    local function result_of(id, parent, name, text)
      return node(id, parent, said("tool", nil, { author = { role = "tool", name = name },
        content = { content_type = "execution_output", text = text } }))
    end
    local nodes = {
      node("1", nil, said("user", "q")), call("2", "1", "python", "1+1"), result_of("3", "2", "python", "2"),
      result_of("4", "3", "python", "two"), call("5", "4", "web.run", '{"q":"x"}'), call("6", "5", "python", "f()"),
      result_of("7", "6", "python", "F"), result_of("8", "7", "web.run", "page"), result_of("9", "8", "file", "text"),
      call("10", "9", "bio", "note"),
    }
    local result = read("chatgpt", shard(export(nodes, "10")))
    assert.equal('u:q | a:python(call_1){"input":"1+1"} | t(call_1):2\ntwo | '
      .. 'a:web_run(call_2){"q":"x"}+python(call_3){"input":"f()"} | t(call_3):F | t(call_2):page | '
      .. 'a:file(call_4){} | t(call_4):text | a:bio(call_5){"input":"note"}', kit.openai(result))
    assert.same({ 1, 1 }, { count(result, "open call"), count(result, "result without call") })
  end)

  it("has images next to it, thoughts, and instructions of the user", function()
    local function with(content) return { author = { role = "assistant" }, content = content } end
    local nodes = {
      node("0", nil, { author = { role = "user" }, content = { content_type = "user_editable_context",
        user_profile = "I am P.", user_instructions = "Be brief." },
        metadata = { is_visually_hidden_from_conversation = true } }),
      node("1", "0", said("user", nil, { content = { content_type = "multimodal_text", parts = list {
        { content_type = "image_asset_pointer", asset_pointer = "sediment://file_1" }, "what is it?" } } })),
      node("2", "1", with { content_type = "thoughts", thoughts = list { { summary = "s", content = "look" } } }),
      node("3", "2", with { content_type = "reasoning_recap", content = "Thought for 2 s" }),
      node("4", "3", with { content_type = "text", parts = list { "a cat" } }),
    }
    local result = read("chatgpt", shard(export(nodes, "4")))
    assert.equal("u:[image sediment://file_1]\nwhat is it? | a:<look>a cat", kit.openai(result))
    assert.equal("I am P.\n\nBe brief.", result.system)
    assert.same({ 1, 1, 1 },
      { count(result, "attachment"), count(result, "recap"), count(result, "custom instructions") })
  end)

  it("holds many conversations, of which a number, an id or a title names one", function()
    local text = shard(export(EDITED, "a2", { title = "Plans" }),
      export(EDITED, "a1", { id = "c2", conversation_id = json.null }))
    local result = assert(kit.import.read(text))
    assert.same({ 2, "Plans", "c1", "c2" }, { #result.conversations, result.conversations[1].conversation,
      result.conversations[1].id, result.conversations[2].id })
    for _, name in ipairs { "2", "c2" } do
      assert.equal("u:old | a:older", words("chatgpt", text, { conversation = name }))
    end
    assert.equal("u:new | a:newer", words("chatgpt", text, { conversation = "Plans" }))
    local message, problem = refusal(text, { conversation = "c3", path = "f" })
    assert.same({ "f: no conversation 'c3' (a number from 1 to 2, an id or a title names one)", "unknown_name" },
      { message, problem.code })
    assert.matches("expected at least one conversation", (refusal("[]", { from = "chatgpt" })))
  end)

  it("with an entry of another shape is refused, or read on after it", function()
    local text = json.encode(list { export(EDITED, "a2"), { mapping = 5 } })
    assert.matches("^f: conversation 2: expected mapping", (refusal(text, { path = "f" })))
    local result = read("chatgpt", text, { skip_bad = true })
    assert.same({ 2, 1 }, { #result.messages, count(result, "bad conversation") })
  end)
end)

describe("an export of Claude.ai", function()
  local function conversation(messages, more)
    local value = { uuid = "k1", name = "T", chat_messages = list(messages) }
    for key, each in pairs(more or {}) do value[key] = each end
    return json.encode(list { value })
  end
  local function message(id, sender, content, more)
    local value = { uuid = id, sender = sender, text = "", content = list(content), attachments = list {},
      files = list {} }
    for key, each in pairs(more or {}) do value[key] = each end
    return value
  end
  local function text(words_of) return { type = "text", text = words_of, start_timestamp = "x" } end

  it("has contents that are richer than texts, and attachments that hold what was pasted", function()
    local result = read("claude_ai", conversation {
      message("1", "human", { text "hi" }, { text = "poor" }), message("2", "human", { text "" }, { text = "only" }),
      message("3", "human", {}, { attachments = list { { file_name = "a.txt", extracted_content = "pasted" },
        { file_name = "b" } }, files = list { { file_name = "c.png" } } }),
      message("4", "assistant", { { type = "thinking", thinking = "hm" }, text "yo", { type = "token_budget" } }),
      message("5", "human", {}), message("6", "robot", { text "beep" }),
    })
    assert.equal("u:hi | u:only | u:a.txt:\npasted | a:<hm>+yo", kit.anthropic(result))
    assert.same({ "anthropic", "T", "k1" }, { result.dialect, result.conversation, result.id })
    assert.same({ 2, 1, 1, 1 }, { count(result, "attachment"), count(result, "other block"),
      count(result, "empty message"), count(result, "other message") })
  end)

  it("is split where calls and results are in one message", function()
    local function use(name, id)
      return { type = "tool_use", id = id, name = name, input = { q = 1 }, message = "x" }
    end
    local function answer(content, more)
      local block = { type = "tool_result", content = content }
      for key, value in pairs(more or {}) do block[key] = value end
      return block
    end
    local result = read("claude_ai", conversation { message("1", "assistant", {
      text "see", use("s", "s1"), use("s"), answer(list { text "one" }, { tool_use_id = "s1" }),
      answer(list { { type = "knowledge", title = "T", url = "u", text = "k" } }),
      text "and", use("f", json.null), answer(list {}, { is_error = true }), answer("stray"), text "end",
    }) })
    assert.equal("a:see+s(s1)+s(toolu_2) | u:r(s1):one+r(toolu_2):T u\nk | a:and+f(toolu_3) | u:r(toolu_3):!error | "
      .. "a:tool(toolu_4) | u:r(toolu_4):stray | a:end", kit.anthropic(result))
    assert.equal(1, count(result, "result without call"))
  end)

  it("has branches in newer files", function()
    local root = "00000000-0000-4000-8000-000000000000"
    local messages = {
      message("m1", "human", { text "a" }, { parent_message_uuid = root }),
      message("m2", "assistant", { text "b" }, { parent_message_uuid = "m1" }),
      message("m3", "assistant", { text "c" }, { parent_message_uuid = "m1" }),
    }
    local result = read("claude_ai", conversation(messages))
    assert.same({ "u:a | a:c", 2, 1 },
      { kit.anthropic(result), result.branches, count(result, "message of another branch") })
    assert.equal(0, count(result, "missing parent"))
    local older = conversation(messages, { current_leaf_message_uuid = "m2" })
    assert.equal("u:a | a:b", kit.anthropic(read("claude_ai", older)))
    assert.equal("u:a | a:b", kit.anthropic(read("claude_ai", conversation(messages), { branch = "1" })))
  end)
end)

describe("a chat of a web page", function()
  it("of llama.cpp is read from its current node", function()
    local function row(id, parent, role, content, more)
      local value = { id = id, convId = "c", type = "text", role = role, content = content, parent = parent }
      for key, each in pairs(more or {}) do value[key] = each end
      return value
    end
    local value = { conv = { id = "c", name = "n", currNode = "5" }, messages = list {
      row("0", json.null, "system", "", { type = "root" }), row("1", "0", "user", "hi", { extra = list {
        { type = "imageFile", name = "i", base64Url = "data:image/png;base64,AA" },
        { type = "textFile", name = "t.txt", content = "text" }, { type = "audioFile", name = "s" } } }),
      row("2", "1", "assistant", "old"),
      row("3", "1", "assistant", "yo", { thinking = "hm",
        toolCalls = '[{"id":"x","type":"function","function":{"name":"f","arguments":"{\\"a\\":1}"}}]' }),
      row("4", "3", "tool", "R", { toolCallId = "x" }), row("5", "4", "user", "go on", { isSynthetic = true }),
    } }
    for _, text in ipairs { json.encode(value), json.encode(list { value }), json.encode(value, { indent = 1 }) } do
      local result = read("web_ui", text)
      assert.equal('u:hi+image_url+t.txt:\ntext | a:<hm>yo+f(x){"a":1} | t(x):R | u:go on', kit.openai(result))
      assert.same({ 2, "n", 1, 1, 1 }, { result.branches, result.conversation, count(result, "attachment"),
        count(result, "message of another branch"), count(result, "message of the program") })
    end
    value.messages[4].toolCalls = "broken"
    local result = read("web_ui", json.encode(value))
    assert.same({ 1, 0 }, { count(result, "call that is not JSON"), count(result, "empty message") })
  end)

  it("of Z.ai is read from its current id", function()
    local function row(id, parent, role, content, time)
      return { id = id, parentId = parent, childrenIds = list {}, role = role, content = content, timestamp = time }
    end
    local history = { currentId = "n", messages = { m = row("m", json.null, "user", "hi", 1),
      n = row("n", "m", "assistant", "yo", 2), o = row("o", "m", "assistant", "old", 1) } }
    local text = json.encode(list { { id = "1", title = "T", chat = { history = history } } })
    local result = read("web_ui", text)
    assert.same({ "u:hi | a:yo", "T", 2 }, { kit.openai(result), result.conversation, result.branches })
  end)
end)

describe("a history of aider", function()
  local TEXT = "\n# aider chat started at 2026-11-01 10:00:00\n\n> Added a.py to the chat.\n\n#### rename it  \n#### \n"
    .. "#### please\n\n# Plan\nDone.\n\n> Tokens: 5\n\n#### thanks\n"
    .. "\n# aider chat started at 2026-11-02 10:00:00\r\n\r\n#### hi  \r\n\r\nhello\r\n"

  it("has sessions, and in each the user and the assistant", function()
    local result = assert(kit.import.read(TEXT))
    assert.equal(2, #result.conversations)
    local first = result.conversations[1]
    assert.equal("u:rename it\n\nplease | a:# Plan\nDone. | u:thanks", kit.openai(first))
    assert.same({ 2, "2026-11-01 10:00:00" }, { count(first, "line of the program"), first.conversation })
    assert.equal("u:hi | a:hello", words("aider", TEXT, { conversation = "2" }))
  end)
end)

describe("hostile trees", function()
  --- `children`: all under one parent; else a chain. Not the collector's work but steps are what may grow.
  local function chain(n, under_one)
    local nodes = { node("0", nil, said("user", "q")) }
    local children = {}
    for i = 1, n do
      local role = i % 2 == 0 and "user" or "assistant"
      nodes[i + 1] = node(tostring(i), tostring(under_one and 0 or i - 1), said(role, "t"))
      children[i] = tostring(i)
    end
    nodes[1].children = list(under_one and children or { "1" })
    return shard(export(nodes, tostring(n)))
  end

  for _, case in ipairs { { "children of one parent", true }, { "a long chain" } } do
    it("are read in linear time: " .. case[1], function()
      local texts = {}
      gate.check(case[1], 500, function(n)
        texts[n] = texts[n] or chain(n, case[2])
        local result
        local seconds = gate.seconds(function() result = assert(kit.import.read(texts[n])) end)
        assert.equal(case[2] and 2 or n + 1, #result.messages)
        return seconds
      end)
    end)
  end

  it("of calls without results too", function()
    gate.check("calls", 500, function(n)
      local nodes = { node("0", nil, said("user", "q")) }
      for i = 1, n do
        nodes[i + 1] = node(tostring(i), tostring(i - 1), said("assistant", "{}", { recipient = "f" .. i }))
      end
      for i = n + 1, 2 * n do
        local author = { role = "tool", name = "g" .. i }
        nodes[i + 1] = node(tostring(i), tostring(i - 1), said("tool", "r", { author = author }))
      end
      local text = shard(export(nodes, tostring(2 * n)))
      return gate.seconds(function() assert(kit.import.read(text)) end)
    end)
  end)

  it("and runs of spaces too", function()
    local aider = "# aider chat started at x\n#### %s\n%s.\n"
    for _, text in ipairs { aider, "<|im_start|>assistant\n<think>%s.</think>%s.<|im_end|>\n" } do
      gate.check(text, 5000, function(n)
        local whole = text:format((" "):rep(n) .. "." .. (" "):rep(n), (" \n"):rep(n))
        return gate.seconds(function() assert(kit.import.read(whole)) end)
      end)
    end
  end)
end)
