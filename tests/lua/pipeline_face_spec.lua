--- Checks what programs and agents may change about a pipeline: plugins that replace built-in processors, the order,
--- single settings, the time of a story, tools in presets, rules for readers, macros of the whole program.

local helper = dofile "tests/lua/helper.lua"
local fake = dofile "tests/lua/fake_context.lua"
local command = dofile "tests/lua/command.lua"
local ebb = helper.ebb

local CHAT = "u1 a2 u3"

local function built_in_ids()
  local ids = {}
  for _, each in ipairs(ebb.pipeline():order()) do
    ids[#ids + 1] = each.processor.id
  end
  return ids
end

local function chat_of(words) return helper.conversation(words or CHAT, { counter = helper.tokens_of }) end

local function ids_of(pipeline)
  local ids = {}
  for _, each in ipairs(pipeline:order()) do
    if each.setting.enabled then ids[#ids + 1] = each.processor.id end
  end
  return table.concat(ids, " ")
end

local function said(logs, words)
  for _, entry in ipairs(logs) do
    if entry.message:find(words, 1, true) then return entry end
  end
end

describe("a plugin in the place of", function()
  local FORM = [[return { id = %q, name = "Mine", priority = %d, execute = function(context)
    context:log("warn", "seen: " .. #context.messages)
    if #context.messages == 0 then context.messages = context:history() end
  end }]]

  for _, id in ipairs(built_in_ids()) do
    it(id .. " sees messages and the log, from a file, trusted, and as a function", function()
      finally(helper.clean)
      local file = helper.lua_file(FORM:format(id, 550))
      local own = assert(load(FORM:format(id, 550)))()
      for name, options in pairs { file = { processors = { file } },
        trusted = { processors = { file }, trusted = true }, ["function"] = { processors = { own } } } do
        options.counter = helper.tokens_of
        local result = assert(ebb.pipeline(options):run(chat_of()))
        assert.equal(id == "session-loader" and "seen: 0" or "seen: 3", said(result.logs, "seen: ").message, name)
        assert.equal(CHAT, helper.texts(result.chat))
      end
    end)

    it(id .. " is checked and limited like any other", function()
      local function mine(execute)
        return { processors = { { id = id, name = "Mine", priority = 550, execute = execute } },
          counter = helper.tokens_of, limits = { fuel = 100000 } }
      end
      for words, execute in pairs {
        ["out of fuel"] = function() while true do end end,
        ["role is nil"] = function(context) context.messages = { { content = "x" } } end,
      } do
        local _, problem = ebb.pipeline(mine(execute)):run(chat_of())
        assert.equal("processor", problem.code)
        assert.matches(("processor '%s': "):format(id), problem.message, 1, true)
        assert.matches(words, problem.message, 1, true)
      end
    end)
  end

  it("nothing, but one that cannot be removed, has its limits, too", function()
    finally(helper.clean)
    local file = helper.lua_file [[return { id = "mine", name = "Mine", is_core = true, execute = function(context)
      context:log("warn", "mine") while true do end end }]]
    local _, problem, partial = ebb.pipeline { processors = { file }, counter = helper.tokens_of,
      limits = { fuel = 100000 } }:run(chat_of())
    assert.equal("processor", problem.code)
    assert.truthy(said(partial.logs, "mine"))
  end)
end)

describe("the processors of a pipeline", function()
  local function mine(id) return { id = id, name = id, execute = function() end } end

  it("are added, replaced, removed, enabled and put into another order", function()
    local pipeline = ebb.pipeline()
    local before = ids_of(pipeline)
    pipeline:add(mine "one")
    pipeline:add { mine "two", mine "three" }
    assert.equal(before:gsub("asset", "one two three asset"), ids_of(pipeline))
    pipeline:remove "two"
    pipeline:enable("message-formatters", false)
    assert.equal("session-loader regex-processor transcription-processor lorebook injection-assembler token-limiter "
      .. "one three asset-resolver", ids_of(pipeline))
    pipeline:enable "merge-roles"
    pipeline:enable("merge-roles", true)
    pipeline:reorder { "three", "merge-roles" }
    assert.equal("three merge-roles session-loader", ids_of(pipeline):match "^%S+ %S+ %S+")
    assert.same({ "three", 100 }, { pipeline:settings()[1].id, pipeline:settings()[1].priority })
  end)

  it("win over the entries of an agent", function()
    local pipeline = ebb.pipeline { agent = { processors = { ["merge-roles"] = { separator = "|" } } } }
    pipeline:enable("merge-roles", false)
    assert.is_false(helper.settings(pipeline)["merge-roles"].enabled)
    assert.equal("|", helper.settings(pipeline)["merge-roles"].separator)
  end)

  it("stay as they were where a change is wrong", function()
    local named = { id = "named", name = "Named", execute = function() end }
    local pipeline = ebb.pipeline { processors = { named, mine "one" }, set = { "one.priority=5" },
      agent = { processors = { named = { priority = 7 } } } }
    local before = ids_of(pipeline)
    for words, change in pairs {
      ["it cannot be removed"] = function() pipeline:remove "token-limiter" end,
      ["there is no processor 'named'"] = function() pipeline:remove "named" end,     -- the agent has its entry
      ["there is no processor 'nobody'"] = function() pipeline:enable "nobody" end,
      ["'one' is in the list twice"] = function() pipeline:reorder { "one", "one" } end,
      ["expected a string, got 3"] = function() pipeline:reorder { 3 } end,
      ["expected true or false"] = function() pipeline:enable("one", "no") end,
      ["execute is missing"] = function() pipeline:add { id = "x", name = "X" } end,
      ["unknown policy 'keep_recnt'"] = function() pipeline:set "token-limiter.policy=keep_recnt" end,
      ["expected a Pipeline"] = function() pipeline.add(mine "x") end,
    } do
      assert.matches(words, helper.refusal(change).message, 1, true)
      assert.equal(before, ids_of(pipeline))
    end
    pipeline:remove "one"
    assert.equal(before:gsub("^one ", ""), ids_of(pipeline))
  end)
end)

describe("a policy of the token limiter is checked when the pipeline is made:", function()
  local rows = {
    { "keep_recnt", "unknown policy 'keep_recnt'" },
    { "quota", "quota needs messages or tokens" },
    { "keep_recent:kep=3", "has no option 'kep'" },
    { "trim_messages:strategy=first,start_on=user", "'last' only" },
    { "keep_recent;nowhere/p.lua", "nowhere/p.lua" },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      for _, options in ipairs { { set = { "token-limiter.policy=" .. row[1] } },
        { agent = { processors = { ["token-limiter"] = { policy = row[1] } } } } } do
        assert.matches(row[2], helper.refusal(ebb.pipeline, options).message, 1, true)
      end
    end)
  end

  it("one that is switched off is not", function()
    local off = { ["token-limiter"] = { policy = "keep_recnt", enabled = false } }
    assert.truthy(ebb.pipeline { agent = { processors = off } })
  end)
end)

describe("a text alone", function()
  it("is the first setting of a processor", function()
    local presets = { { role = "system", content = "S" }, { type = "chat_history" },
      { role = "system", content = "N", injectionStrategy = { type = "depth", depth = 1 } } }
    local function request(entry)
      local result = assert(ebb.pipeline { counter = helper.tokens_of,
        agent = { presets = presets, processors = { ["merge-system"] = entry } } }:run(chat_of()))
      return helper.texts(result.chat)
    end
    assert.equal("S u1 a2 N u3", request(nil))
    assert.equal("S\n\n---\n\nN u1 a2 u3", request "all")
    assert.matches("expected one of head, all, got 'some'", helper.refusal(request, "some").message, 1, true)
  end)

  it("needs a processor with settings", function()
    local problem = helper.refusal(ebb.pipeline, { agent = { processors = { ["injection-assembler"] = "x" } } })
    assert.matches("takes no text alone", problem.message, 1, true)
    problem = helper.refusal(ebb.pipeline, { agent = { processors = { ["message-formatters"] = "x" } } })
    assert.matches("takes no text alone", problem.message, 1, true)
  end)
end)

describe("the tools of a request in presets", function()
  local BODY = [[{"model":"gpt-4o","tools":[
    {"type":"function","function":{"name":"weather","description":"the weather of a place",
      "parameters":{"type":"object","properties":{"place":{"type":"string","description":"a town"},
      "days":{"type":["integer","null"]},"unit":{"enum":["C","F"]}},"required":["place"]}}},
    {"type":"function","function":{"name":"clock"}}],
    "messages":[{"role":"user","content":"hi"}]}]]
  local USAGE = "weather(place: string, days?: integer or null, unit?: choice)\n  place: a town\nclock()"

  local function first(agent, text, session)
    local chat = assert(ebb.parse(text or BODY))
    return assert(ebb.pipeline { agent = agent, encoding = "cjk", session = session }:run(chat)).chat[1].content
  end

  it("are what the macros say", function()
    local agent = { presets = { { role = "system", content = "{{tools}}|{{tool_usage}}|{{tool_context}}" } } }
    assert.equal("- weather: the weather of a place\n- clock|" .. USAGE .. "|", first(agent))
    assert.equal("- weather: the weather of a place\n- clock|" .. USAGE .. "|the line is slow",
      first(agent, nil, { tool_context = "the line is slow" }))
  end)

  it("are read from the bodies of all dialects", function()
    local agent = { presets = { { role = "system", content = "{{tools}}" } } }
    local texts = {
      [=[{"model":"claude-sonnet-4-5","max_tokens":9,"tools":[{"name":"look","description":"d","input_schema":{}}],
        "messages":[{"role":"user","content":"hi"}]}]=],
      [=[{"tools":[{"functionDeclarations":[{"name":"look","description":"d"}]}],
        "contents":[{"role":"user","parts":[{"text":"hi"}]}]}]=],
      [=[{"tools":[{"type":"function","name":"look","description":"d"}],"input":[{"role":"user","content":"hi"}]}]=],
    }
    for _, text in ipairs(texts) do
      local pipeline = ebb.pipeline { agent = agent, encoding = "cjk", to = "openai" }
      assert.equal("- look: d", assert(pipeline:run(assert(ebb.parse(text)))).chat[1].content, text)
    end
  end)

  it("are put in where the agent wants them, and nothing where there are none", function()
    local agent = { presets = { { type = "chat_history" } },
      tool_call_config = { enabled = true, auto_inject_if_macro_missing = true } }
    assert.equal("- weather: the weather of a place\n- clock\n" .. USAGE .. "\n", first(agent))
    assert.equal("hi", first(agent, '[{"role":"user","content":"hi"}]'))
  end)
end)

describe("a macro that fails", function()
  local function first(fields)
    fields.presets = { { role = "system", content = "a {{roll::x}} b" } }
    local result = assert(ebb.pipeline { agent = fields, encoding = "cjk" }:run(chat_of()))
    local warning
    for _, entry in ipairs(result.logs) do warning = entry.level == "warn" and entry.message or warning end
    return result.chat[1].content, warning
  end

  it("stays as it is, or becomes its error in the agent's language", function()
    local text, warning = first {}
    assert.equal("a {{roll::x}} b", text)
    assert.truthy(warning:find("; it stays", 1, true))
    text, warning = first { macro_errors = "en" }
    assert.equal("a [error: not dice: expected NdM, such as 2d6] b", text)
    assert.is_nil(warning:find("it stays", 1, true))
    assert.truthy((first { macroErrors = "zh" }):find("[\u{9519}\u{8BEF}: ", 1, true))
  end)

  it("has no other languages", function()
    local problem = helper.refusal(ebb.pipeline, { agent = { macro_errors = "fr" } })
    assert.matches("macro_errors: expected one of en, zh", problem.message, 1, true)
  end)
end)

describe("the time of a story", function()
  local CONFIG = { virtual_base_time = "1888-11-09T22:00:00Z", real_base_time = 1762554605000, time_scale = 60 }

  it("is what the macros tell, from a table and from AIO Hub's field", function()
    local presets = { { role = "system", content = "{{isotime}}" } }
    for _, agent in ipairs { { virtual_time = CONFIG, presets = presets }, { presets = presets, virtualTimeConfig = {
      virtualBaseTime = CONFIG.virtual_base_time, realBaseTime = CONFIG.real_base_time, timeScale = 60 } } } do
      local result = assert(ebb.pipeline { agent = agent, counter = helper.tokens_of, now = 1762554605000 + 60000 }
        :run(chat_of()))
      assert.matches("^1888%-11%-09T23:00:00", result.chat[1].content)
    end
  end)

  it("is checked", function()
    for words, config in pairs {
      ["virtualBaseTime is missing"] = { realBaseTime = 0 },
      ["milliseconds since 1970"] = { virtualBaseTime = "yesterday", realBaseTime = 0 },
      ["unknown field of the virtual time"] = { virtualBaseTime = 0, realBaseTime = 0, speed = 2 },
    } do
      local problem = helper.refusal(ebb.pipeline, { agent = { virtualTimeConfig = config } })
      assert.matches(words, problem.message, 1, true)
    end
  end)
end)

describe("rules for readers", function()
  local AGENT = { name = "Bot", rules = { { id = "p", rules = {
    { id = "shown", regex = "u", replacement = "{{char}}", flags = "g", applyTo = { render = true, request = false } },
    { id = "sent", regex = "a", replacement = "A", flags = "g", applyTo = { request = true } },
    { id = "bad", regex = "(", applyTo = { render = true } } } } } }

  it("make what is displayed, and nothing else", function()
    local chat = chat_of()
    local before = helper.snapshot(chat)
    local pipeline = ebb.pipeline { agent = AGENT, counter = helper.tokens_of }
    local messages, logs = pipeline:display(chat)
    assert.equal("Bot1 a2 Bot3", helper.texts(messages))
    assert.truthy(said(logs, "the rule is left out"))
    assert.equal("u1 A2 u3", helper.texts(assert(pipeline:run(chat)).chat))
    assert.equal(before, helper.snapshot(chat))
  end)

  it("skip what is still being written unless they say otherwise, and go with their processor", function()
    local pipeline = ebb.pipeline { agent = AGENT, counter = helper.tokens_of }
    pipeline:enable("regex-processor", false)
    assert.equal(CHAT, helper.texts((pipeline:display(chat_of()))))
    assert.equal("argument", helper.refusal(pipeline.display, pipeline, chat_of(), { streaming = 1 }).code)
  end)
end)

describe("ebb.macro", function()
  it("adds a macro for the whole program, in a process of its own", function()
    finally(helper.clean)
    local file = helper.lua_file [[local ebb = require "ebb"
      ebb.macro { name = "shout", summary = "in capitals", parameters = { "text" }, stability = "stable",
        run = function(_, text) return text:upper() end }
      local chat = ebb.conversation()
      chat:input "{{shout::hi}}"
      local agent = { presets = { { role = "system", content = "{{shout::be brief}}" }, { type = "chat_history" } } }
      local request = ebb.pipeline { agent = agent }:run(chat).chat
      print(request[1].content, chat[1].content, ebb.macros.validate("shout").error)
      print(pcall(ebb.macro, { name = "x" }))]]
    command.folder = os.tmpname()
    os.remove(command.folder)
    assert(os.execute("mkdir " .. command.folder))
    finally(function() os.execute("rm -rf " .. command.folder) helper.clean() end)
    local out = command.does("run " .. file)
    assert.matches("^BE BRIEF\tHI\t%S", out)
    assert.matches("\nfalse\tmacro x: ", out)
  end)
end)

describe("a merged message", function()
  it("shares its tokens out to what it was made of", function()
    local result = assert(ebb.pipeline { encoding = "cjk", agent = { presets = {
      { role = "user", content = ("preset "):rep(30) }, { type = "chat_history" } } } }:preview(
      assert(ebb.parse '[{"role":"user","content":"what history says"},{"role":"assistant","content":"so"}]')))
    local part, by_name, sum = result.parts[1], {}, 0
    assert.same({ "merged", 2 }, { part.source, #part.sources })
    assert.same({ "preset", "history" }, { part.sources[1].source, part.sources[2].source })
    assert.equal(part.tokens, part.sources[1].tokens + part.sources[2].tokens)
    assert.is_true(part.sources[1].tokens > 5 * part.sources[2].tokens and part.sources[2].tokens > 0)
    for _, share in ipairs(result.shares) do
      by_name[share.source], sum = share.tokens, sum + share.tokens
    end
    assert.is_nil(by_name.merged)
    assert.equal(result.tokens, sum)
  end)

  it("has sources that a plugin may not break", function()
    for words, sources in pairs { ["sources is a list"] = 3, ["sources[1] is a table with bytes"] = { {} } } do
      local bad = { id = "bad", name = "Bad", execute = function(context) context.messages[1].sources = sources end }
      local _, problem = ebb.pipeline { processors = { bad }, counter = helper.tokens_of }:run(chat_of())
      assert.matches(words, problem.message, 1, true)
    end
  end)
end)

describe("files that a message refers to", function()
  local PNG = "\137PNG\r\n\26\n\0\0\0\13IHDR\0\0\0\1\0\0\0\1\8\6\0\0\0"

  it("are found in the forms of the design documents, too", function()
    finally(fake.clean)
    local folder = fake.folder { ["p.png"] = PNG }
    local forms = {
      [=[{"role":"user","content":[{"type":"text","text":"look"},{"type":"asset_reference","assetId":"p.png"}]}]=],
      [=[{"role":"user","content":"look","_attachments":[{"path":"p.png"}]}]=],
      [=[{"role":"user","content":[{"type":"text","text":"look"},{"type":"asset","path":"p.png"}]}]=],
      [=[{"role":"user","content":"look","attachments":[{"path":"p.png"}]}]=],
    }
    for _, message in ipairs(forms) do
      local chat = assert(ebb.parse(("[%s]"):format(message)))
      assert.same({}, chat:warnings(), message)
      local result = assert(ebb.pipeline { asset_root = folder, encoding = "cjk" }:run(chat))
      local parts = result.chat[1]:totable().content
      assert.same({ "look", "image_url" }, { parts[1].text, parts[2].type }, message)
      assert.matches("^data:image/png;base64,", parts[2].image_url.url)
      assert.is_nil(result.body:find("_attachments", 1, true))
    end
  end)

  it("are asked of the host by their ids", function()
    local asked
    local host = { asset = function(request) asked = request.id return { bytes = PNG } end }
    local chat = assert(ebb.parse '[{"role":"user","content":[{"type":"asset_reference","assetId":"a7"}]}]')
    assert(ebb.pipeline { host = host, encoding = "cjk" }:run(chat))
    assert.equal("a7", asked)
  end)
end)
