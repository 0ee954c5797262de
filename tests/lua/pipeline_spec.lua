--- The pipeline: which processors run in which order, how they are configured, what a
--- failing one leaves behind, and that a conversation is only read.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local registries = require "ebb.pipeline.registry"
local settings = require "ebb.pipeline.settings"

local function nothing() end

local function processor(id, fields)
  local made = { id = id, name = id, execute = nothing }
  for name, value in pairs(fields or {}) do
    made[name] = value
  end
  return made
end

local function chat_of(words)
  return helper.conversation(words, { counter = helper.tokens_of })
end

--- A run with these processors; counts as the notation says.
local function run(chat, processors, given)
  given = given or {}
  given.processors, given.counter = processors, given.counter or helper.tokens_of
  return ebb.pipeline(given):run(chat)
end

local function ids(registry)
  local list = {}
  for i, entry in ipairs(registry:list()) do
    list[i] = entry.processor.id
  end
  return table.concat(list, " ")
end

describe("the registry", function()
  it("orders by priority, equal ones by registration, and gives plugins 900", function()
    local registry = registries.new {
      processor("late", { priority = 500 }), processor("b", { priority = 100 }), processor("a", { priority = 100 }),
      processor "plugin",
    }

    assert.equal("b a late plugin", ids(registry))
    assert.equal(900, registry:entry("plugin").priority)
  end)

  it("replaces an id that is registered again, in its place", function()
    local registry = registries.new { processor("a", { priority = 1 }), processor("b", { priority = 1 }) }
    local second = processor("a", { priority = 1, name = "second" })

    local replaced = registry:register(second)

    assert.equal("a", replaced.name)
    assert.equal("a b", ids(registry))
    assert.same(second, registry:entry("a").processor)
  end)

  it("does not remove core processors", function()
    local registry = registries.new { processor("a", { is_core = true }), processor "b" }

    registry:remove "b"

    assert.matches("cannot be removed", helper.refusal(registry.remove, registry, "a").message)
    registry:register(processor "a")   -- a replacement is core too
    assert.matches("cannot be removed", helper.refusal(registry.remove, registry, "a").message)
    assert.equal("a", ids(registry))
  end)

  it("enables unless default_enabled says no", function()
    local registry = registries.new { processor("off", { default_enabled = false }) }

    assert.is_false(registry:entry("off").enabled)
  end)

  it("has the seed's order", function()
    local found = {}
    for _, each in ipairs(ebb.pipeline():order()) do
      found[each.processor.id] = each.setting.priority
    end

    local expected = { ["session-loader"] = 100, ["regex-processor"] = 200, ["transcription-processor"] = 250,
      lorebook = 290,
      ["injection-assembler"] = 300, ["token-limiter"] = 400, ["merge-system"] = 500, ["merge-roles"] = 600,
      ["convert-system"] = 700, ["alternate-roles"] = 800, ["asset-resolver"] = 10000 }
    assert.same(expected, found)
  end)

  local function with_field(field) return processor("a", { config_fields = { field } }) end
  local twice = { { key = "k" }, { key = "k" } }
  local wrong = {
    -- what is wrong                     processor                                        what is said
    { "no table",                        "a", "expected a processor, got 'a'" },
    { "no execute",                      { id = "a", name = "A" }, "execute is missing" },
    { "an unknown field",                processor("a", { prioritty = 3 }), "prioritty: unknown field" },
    { "a priority that is a text",       processor("a", { priority = "3" }), "priority: expected a number, got '3'" },
    { "an id with a dot",                processor "a.b", "letters, digits" },
    { "the name of a group",             processor "message-formatters", "name of a group" },
    { "a field without key",             with_field {}, "config_fields[1].key is missing" },
    { "a field of an unknown type", with_field { key = "k", type = "txt" },
      "type: expected one of text, number, boolean, select, got 'txt'" },
    { "a select without options",        with_field { key = "k", type = "select" }, "needs options" },
    { "a default of another type",       with_field { key = "k", type = "number", default = "" }, "expected a number" },
    { "a range of a text",               with_field { key = "k", min = 1 }, "go with type = \"number\"" },
    { "a default out of its range",      with_field { key = "k", type = "number", min = 1, default = 0 }, "1 or more" },
    { "a field that all have",           with_field { key = "enabled" }, "is there already" },
    { "a field that stands there twice", processor("a", { config_fields = twice }), "is there already" },
  }
  for _, case in ipairs(wrong) do
    it("refuses " .. case[1], function()
      local refusal = helper.refusal(registries.new().register, registries.new(), case[2])

      assert.equal("shape", refusal.code)
      assert.matches(case[3], refusal.message, 1, true)
    end)
  end
end)

describe("configuration", function()
  local FIELDS = {
    { key = "size", type = "number", default = 1 }, { key = "word", default = "w" },
    { key = "flag", type = "boolean", default = false },
    { key = "way", type = "select", default = "a", options = { "a", { label = "B", value = "b" }, 3 } },
  }

  local function merged(model, agent, set)
    local registry = registries.new { processor("one", { config_fields = FIELDS }), processor("two") }
    for i, word in ipairs(set or {}) do
      set[i] = settings.parse(registry, word)
    end
    return settings.merge(registry, { model = model, agent = agent }, set)
  end

  it("has defaults for all settings", function()
    local one = merged().one

    assert.same({ size = 1, word = "w", flag = false, way = "a" }, one.values)
    assert.equal("default", one.origins.size)
  end)

  it("takes the model's entry, and the agent's in its place, whole", function()
    local model = { { id = "one", values = { size = 2, word = "model" } },
      { id = "two", enabled = false, values = {} } }
    local agent = { { id = "one", values = { flag = true } } }

    local found = merged(model, agent)

    assert.same({ size = 1, word = "w", flag = true, way = "a" }, found.one.values)
    assert.equal("agent", found.one.origins.flag)
    assert.equal("default", found.one.origins.size)
    assert.is_false(found.two.enabled)
    assert.equal("model", found.two.origins.enabled)
  end)

  it("lets single settings decide one key each", function()
    local found = merged(nil, { { id = "one", values = { size = 5, word = "agent" } } },
      { "one.size=7", "one.way=3", "one.enabled=no", "one.priority=5", "one.flag=yes" })

    assert.same({ size = 7, word = "agent", flag = true, way = 3 }, found.one.values)
    assert.is_false(found.one.enabled)
    assert.equal(5, found.one.priority)
    assert.equal("set", found.one.origins.size)
    assert.equal("agent", found.one.origins.word)
  end)

  it("means the four formatters by message-formatters", function()
    local pipeline = ebb.pipeline { agent = { processors = {
      ["message-formatters"] = { separator = " | ", user_placeholder = "go on" }, ["merge-roles"] = { enabled = false },
    } } }

    local found = helper.settings(pipeline)

    assert.equal(" | ", found["merge-system"].separator)
    assert.equal("go on", found["alternate-roles"].user_placeholder)
    assert.is_true(found["alternate-roles"].enabled)      -- who configures it wants it to run
    assert.is_false(found["merge-roles"].enabled)         -- one of them by name has the last word
  end)

  it("reads entries as an object or as a list", function()
    local list = { { id = "merge-roles", enabled = false }, "convert-system", { type = "alternate-roles" } }

    local found = helper.settings(ebb.pipeline { agent = { processors = list } })

    assert.is_false(found["merge-roles"].enabled)
    assert.is_true(found["convert-system"].enabled)
    assert.is_true(found["alternate-roles"].enabled)
  end)

  local wrong = {
    { "token-limiter",                "expected id.key=value" },
    { "token-limitter.budget=3",      "there is no processor 'token-limitter'", "token-limiter" },
    { "token-limiter.budgett=3",      "no setting 'budgett'", "budget" },
    { "token-limiter.budget=many",    "expected a whole number" },
    { "token-limiter.guards=perhaps", "expected true or false" },
    { "token-limiter.when_full=refus", "expected one of refuse, drop_history", "refuse" },
    { "message-formatters.budget=3",  "no setting 'budget'" },
    { "token-limiter.budget=-1",      "budget: expected a whole number, 0 or more, got -1" },
    { "token-limiter.budget=1.5",     "budget: expected a whole number, 0 or more, got 1.5" },
    { "token-limiter.reserve=-1",     "reserve: expected a whole number, 0 or more, got -1" },
    { "lorebook.budgetPercent=101",   "budgetPercent: expected a number from 0 to 100, got 101" },
  }
  for _, case in ipairs(wrong) do
    it("refuses --set " .. case[1], function()
      local refusal = helper.refusal(ebb.pipeline, { set = { case[1] } })

      assert.matches(case[2], refusal.message, 1, true)
      if case[3] then assert.matches(case[3], refusal.hint, 1, true) end
    end)
  end

  it("accepts camelCase keys", function()
    assert(run(chat_of "u10", {}, { set = { "token-limiter.whenFull=drop_history", "token-limiter.budget=10" } }))
  end)
end)

describe("the context", function()
  it("gives copies of the visible history, with where they come from", function()
    local chat = chat_of "s10 u20 c9(x) r5(x)"
    chat:truncate { remove_first = 1 }
    local seen

    local look = { priority = 150, execute = function(context) seen = context.messages end }
    assert(run(chat, { processor("look", look) }))

    assert.equal(3, #seen)
    assert.equal("history", seen[1].source)
    assert.equal(2, seen[1].seq)
    assert.equal("x", seen[3].tool_call_id)
  end)

  it("is read only, but for messages and the blackboard", function()
    for _, attempt in ipairs {
      function(context) context.timestamp = 1 end, function(context) context.agent_config = {} end,
      function(context) context.session.name = "x" end, function(context) context.capabilities.vision = true end,
      function(context) context.messages = "x" end, function(context) context.logs = {} end,
      function(context) context.own = 1 end, function(context) context:log("loud", "x") end,
    } do
      local result, _, code = helper.outcome(run(chat_of "u1", { processor("bad", { execute = attempt }) }))

      assert.is_nil(result)
      assert.equal("processor", code)
    end
  end)

  it("carries the blackboard and the log from one to the next", function()
    local result = assert(run(chat_of "u1", {
      processor("one", { execute = function(context) context.shared_data.note = "from one" end }),
      processor("two", { execute = function(context)
        context:log("warn", context.shared_data.note, { detail = 1 })
      end }),
    }))

    local entry = result.logs[#result.logs - (result.logs[#result.logs].processor == "asset-resolver" and 1 or 0)]
    assert.same({ processor = "two", level = "warn", message = "from one", details = { detail = 1 } }, entry)
  end)

  it("tells what the request is for", function()
    local seen
    local look = processor("look", { execute = function(context)
      seen = { model = context.capabilities.model, vision = context.capabilities.vision, now = context.timestamp,
        dialect = context.capabilities.dialect, name = context.user_profile.name, agent = context.agent_config.name,
        provider = context.capabilities.provider, session = context.session.id }
    end })

    local chat = ebb.conversation { model = "gpt-4" }
    chat:append { role = "user", content = "x" }
    assert(run(chat, { look }, { now = 5, agent = { name = "A", model = "gpt-4" },
      user_profile = { name = "U" }, model_config = { model = "gpt-4o", provider = "P" }, session = { id = "S" } }))

    assert.same({ model = "gpt-4o", vision = true, now = 5, dialect = "openai", name = "U", agent = "A", provider = "P",
      session = "S" }, seen)
  end)

  it("has the variables of user, agent and session, as macros leave them", function()
    local seen = {}
    local look = processor("look", { execute = function(context)
      local variables = context.session.variables
      seen[1] = variables["local"].mood .. variables.global.a .. tostring(variables["local"].none)
      context:expand "{{setvar::mood::bold}}"
      seen[2] = variables["local"].mood
      seen[3] = pcall(function() variables["local"].mood = "x" end)
    end })
    assert(run(chat_of "u1", { look }, { agent = { variables = { mood = "calm" } },
      user_profile = { variables = { global = { a = 1 }, ["local"] = {} } } }))
    assert.same({ "calm1nil", "bold", false }, seen)

    assert(run(chat_of "u1", { look }, { agent = { variables = { mood = "calm" } },
      session = { variables = { ["local"] = { mood = "sad" }, global = { a = 2 } } } }))
    assert.equal("sad2nil", seen[1])
  end)

  it("expands macros, and returns their variables", function()
    local chat = chat_of "u1"
    local given = { agent = { name = "Bot", variables = { mood = "calm" } }, user_profile = { name = "Ann" } }
    local text
    local step = processor("step", { execute = function(context)
      text = context:expand "{{char}} {{user}} {{getvar::mood}}{{setvar::mood::bold}} {{getvar::mood}} {{nobody}}"
    end })

    local result = assert(run(chat, { step }, given))

    assert.equal("Bot Ann calm bold {{nobody}}", text)
    assert.equal("bold", result.variables["local"].mood)
    assert(run(chat, { step }, { agent = given.agent, session = { variables = result.variables } }))
    assert.matches("bold bold", text, 1, true)
    local warned = false
    for _, entry in ipairs(result.logs) do
      warned = warned or entry.message:find("{{nobody}}", 1, true) ~= nil
    end
    assert.is_true(warned)
  end)
end)

describe("a processor that fails", function()
  local failures = {
    -- what it does                          execute                                                        what is said
    { "raises", function(context)
      context.messages[1].content, context.shared_data.half = "half done", true
      error "boom"
    end, "boom" },
    { "raises a table", function() error { code = 3 } end, "code" },
    { "loops", function(context)
      context.messages = {}
      while true do end
    end, "out of fuel" },
    { "loops, and catches what stops it", function()
      while true do pcall(function() while true do end end) end
    end, "out of fuel" },
    { "takes a role away", function(context) context.messages[1].role = nil end, "role is nil" },
    { "takes a content away", function(context) context.messages[1].content = nil end, "content is nil" },
    { "leaves a hole", function(context) context.messages[5] = context.messages[1] end, "without holes" },
    { "leaves no tables", function(context) context.messages = { "hello" } end, "a message is a table" },
    { "breaks parts", function(context) context.messages[1].content = { { text = "x" } } end, "table with a type" },
    { "writes into what is read only", function(context) context.session.id = 3 end, "only be read" },
  }

  local LIMITS = { limits = { fuel = 100000 } }

  for _, case in ipairs(failures) do
    local name, execute, words = table.unpack(case)

    it("stops the run: it " .. name, function()
      local chat = chat_of "s1 u2 a3"
      local before = helper.snapshot(chat)

      local bad = processor("bad", { execute = execute })
      local result, message, code, partial = helper.outcome(run(chat, { bad }, LIMITS))

      assert.is_nil(result)
      assert.matches("processor 'bad': ", message, 1, true)
      assert.matches(words, message, 1, true)
      assert.equal("processor", code)
      local last = partial.logs[#partial.logs]
      assert.equal("bad", last.processor)
      assert.equal("error", last.level)
      assert.equal(before, helper.snapshot(chat))
    end)

    it("is skipped where on_error says so, and leaves no trace: it " .. name, function()
      local chat = chat_of "s1 u2 a3"
      local before, seen, half = helper.snapshot(chat), nil, nil

      local result = assert(run(chat, {
        processor("bad", { execute = execute }),
        processor("next", { execute = function(context)
          seen, half = helper.texts(context.messages), context.shared_data.half
        end }),
      }, { on_error = "skip", limits = { fuel = 100000 } }))

      assert.equal("s1 u2 a3", seen)
      assert.is_nil(half)
      assert.equal("s1 u2 a3", helper.texts(result.chat))
      assert.equal(before, helper.snapshot(chat))
    end)
  end

  it("keeps its own code where it is built in", function()
    local result, message, code = helper.outcome(run(chat_of "u10", {}, { set = { "token-limiter.budget=5" } }))

    assert.is_nil(result)
    assert.equal("cannot_fit", code)
    assert.matches("token-limiter", message, 1, true)
  end)

  local WITH_PRESET = { presets = { { type = "message", role = "system", content = "s" }, { type = "chat_history" } } }

  --- Takes all messages away at this priority.
  local function emptier(priority)
    return processor("emptier", { priority = priority, execute = function(context) context.messages = {} end })
  end

  for _, priority in ipairs { 150, 350, 900, 20000 } do
    it("is named where it leaves no messages for the request, at priority " .. priority, function()
      local result, problem, partial = run(chat_of "u1 a2", { emptier(priority) })

      assert.is_nil(result)
      assert.equal("processor", problem.code)
      assert.equal("processor 'emptier': it left no messages, and no later processor added any", problem.message)
      assert.equal("emptier", partial.logs[#partial.logs].processor)
    end)

    it("is taken back under skip where it leaves no messages, at priority " .. priority, function()
      local after = processor("after", { priority = 30000, execute = function(context)
        context.messages[#context.messages].content = "changed"
      end })
      local result = assert(run(chat_of "u1 a2", { emptier(priority), after }, { on_error = "skip" }))

      assert.equal("u1 changed", helper.texts(result.chat))
    end)
  end

  it("may leave no messages where a later stage adds some", function()
    local result = assert(run(chat_of "u1 a2", { emptier(250) }, { agent = WITH_PRESET }))
    assert.equal("s", helper.texts(result.chat))

    local fill = processor("fill", { priority = 950, execute = function(context)
      context.messages = { { role = "user", content = "x" } }
    end })
    assert.equal("x", helper.texts(assert(run(chat_of "u1", { emptier(350), fill })).chat))
  end)

  it("is the limiter where it drops all", function()
    local _, problem = run(chat_of "u9 a9", {}, { set = { "token-limiter.budget=4",
      "token-limiter.when_full=drop_history" } })
    assert.matches("processor 'token-limiter': it left no messages", problem.message, 1, true)
  end)

  it("is not blamed where the conversation has no messages", function()
    local _, problem = run(chat_of "", { emptier(900) })
    assert.equal("shape", problem.code)
    assert.matches("the request has no messages: the conversation has none", problem.message, 1, true)
  end)

  it("is still not sent over budget when the limiter is skipped", function()
    local options = { set = { "token-limiter.budget=5" }, on_error = "skip" }
    local result, _, code = helper.outcome(run(chat_of "u10", {}, options))

    assert.is_nil(result)
    assert.equal("cannot_fit", code)
  end)
end)

describe("a run", function()
  it("may wait for its host, once per question", function()
    local asking = processor("ask", { priority = 150, execute = function(context)
      for _ = 1, 2 do
        table.insert(context.messages, { role = "user", content = context:call("retrieve", { q = 1 }), source = "x" })
      end
    end })
    local pipeline = ebb.pipeline { processors = { asking }, counter = helper.tokens_of }
    local task = pipeline:task(chat_of "u1")

    local asked = task:step()
    assert.same({ service = "retrieve", request = { q = 1 } }, asked)
    assert.is_nil(task:step "a2")

    assert.is_true(task.done)
    assert.equal("u1\n\n---\n\na2\n\n---\n\na2", task.result.chat[1].content)
    assert.equal("closed", helper.refusal(task.step, task).code)
  end)

  it("asks functions of the host, and says who gives no answer", function()
    local answer, why, other
    local asking = processor("ask", { execute = function(context)
      answer = context:call("asset", { id = "x" })
      other, why = context:call("retrieve", {})
    end })

    assert(run(chat_of "u1", { asking }, { host = { asset = function(asked) return { got = asked.id } end } }))

    assert.same({ got = "x" }, answer)
    assert.is_nil(other)
    assert.matches("retrieve", why, 1, true)
  end)

  it("is the same again, dice included, and so is its preview", function()
    local seen = {}
    local roll = processor("roll", { execute = function(context)
      local text = context:expand "{{roll::5d100}} {{random::a::b::c::d::e}} {{incvar::n}}{{getvar::n}} {{isotime}}"
      seen[#seen + 1] = text
      table.insert(context.messages, { role = "user", content = text, source = "plugin" })
    end })
    local chat = ebb.conversation()
    chat:append { role = "user", content = "hello" }
    local pipeline = ebb.pipeline { processors = { roll }, now = 1700000000000 }

    local first, second = assert(pipeline:preview(chat)), assert(pipeline:preview(chat))
    local real = assert(pipeline:run(chat))

    assert.equal(first.body, second.body)
    assert.equal(first.body, real.body)
    assert.equal(first.tokens, real.tokens)
    chat:append { role = "user", content = "again" }
    assert(pipeline:run(chat))
    assert.equal(seen[1], seen[3])
    assert.not_equal(seen[1], seen[4])   -- another turn, other dice
    assert.not_matches("{{", seen[1], 1, true)
  end)

  it("adds up to its tokens by source", function()
    local result = assert(ebb.pipeline({ processors = { processor("add", { execute = function(context)
      table.insert(context.messages, { role = "assistant", content = "hello there", source = "depth" })
    end }) } }):preview(assert(ebb.parse '[{"role":"user","content":"hi"}]')))

    local sum, share = 0, 0
    for _, each in ipairs(result.shares) do
      sum, share = sum + each.tokens, share + each.share
    end
    assert.equal(result.tokens, sum)
    assert.is_true(math.abs(share - 1) < 1e-9)
    assert.equal("depth", result.parts[2].source)
  end)

  it("mends what a provider would refuse, and says so", function()
    local tear = processor("tear", { execute = function(context) table.remove(context.messages, 2) end })

    local result = assert(run(chat_of "u1 c2(x) r3(x) a4", { tear }))

    assert.equal("u1 a4", helper.texts(result.chat))
    assert.equal("warn", result.logs[#result.logs].level)
    assert.equal(0, #result.chat:check "openai")
  end)
end)

describe("the body around the messages", function()
  it("keeps its bytes, but for what is set", function()
    local text = '{"model" : "m","x":"[{\\\\\\""'
      .. ',"messages":[{"role":"user","content" : "x"}],"temperature" : 1, "tools":[{"messages":[]}]}'
    local chat = assert(ebb.parse(text))
    local agent = { model = "a longer name", parameters = { temperature = 0.25, top_p = 1 } }

    local result = assert(ebb.pipeline({ agent = agent }):run(chat))

    assert.equal('{"top_p": 1, "model" : "a longer name","x":"[{\\\\\\"","messages":[\n'
      .. '  {"role":"user","content" : "x"}\n],'
      .. '"temperature" : 0.25, '
      .. '"tools":[{"messages":[]}]}', result.body)
  end)

  it("is made where there was none", function()
    local chat = assert(ebb.parse '{"role":"user","content":"x"}\n{"role":"assistant","content":"","refusal":"no"}\n')

    local result = assert(ebb.pipeline({ agent = { model = "gpt-4o" } }):run(chat))

    assert.equal('{"model": "gpt-4o", "messages": [\n  {"role":"user","content":"x"},\n  '
      .. '{"role":"assistant","content":"","refusal":"no"}\n]}\n', result.body)
  end)
end)

describe("chat:input", function()
  it("expands macros, attaches, appends", function()
    local chat = ebb.conversation()

    local batch, variables = chat:input("I am {{user}}{{setvar::a::1}}", { attachments = { "a/plan.png", { id = "x" } },
      user_profile = { name = "Ann" } })

    assert.equal(1, batch)
    assert.equal("1", tostring(variables["local"].a))
    assert.equal("I am Ann", chat[1].content)
    assert.same({ { name = "plan.png", path = "a/plan.png" }, { id = "x" } }, chat[1]:totable().attachments)
  end)

  it("takes a list alone as attachments", function()
    local chat = ebb.conversation()
    chat:input("look", { "a.png" })
    assert.equal("a.png", chat[1]:totable().attachments[1].path)
  end)

  for _, case in ipairs {
    { 3, nil, "input: text: expected a string, got 3" }, { "x", 3, "input: expected a table of options, got 3" },
    { "x", { attachements = {} }, "no option 'attachements'" },
    { "x", { attachments = { {} } }, "attachments[1]: path, data or id is needed" },
    { "x", { attachments = { { path = "a", data = "data:" } } }, "two attachments" },
    { "x", { attachments = { { path = "a", kind = "picture" } } }, "attachments[1].kind: expected one of text, image" },
    { "x", { attachments = { { path = "a", size = 3 } } }, "attachments[1].size: unknown field" },
    { "x", { attachments = { { path = 3 } } }, "attachments[1].path: expected a string that is not empty, got 3" },
  } do
    it("refuses: " .. case[3], function()
      local chat = ebb.conversation()

      local refusal = helper.refusal(chat.input, chat, case[1], case[2])

      assert.matches(case[3], refusal.message, 1, true)
      assert.equal(0, #chat)
    end)
  end
end)
