--- Processors, agents and policies from files: what they reach from their sandbox, what
--- stops them, and that a request is made without them or not at all.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local CHAT = "s1 u2 a3"
local FUEL = "used up its fuel of 300000"

local function run(chat, text, given)
  given = given or {}
  given.processors, given.counter = { helper.lua_file(text) }, helper.tokens_of
  finally(helper.clean)
  return ebb.pipeline(given):run(chat)
end

--- A file with one processor of this body.
local function step(body)
  return ("return { id = 'mine', name = 'Mine', execute = function(context, config)\n%s\nend }"):format(body)
end

describe("a processor from a file", function()
  it("changes messages, logs, expands, weighs, and leaves notes for later ones", function()
    local chat = helper.conversation(CHAT, { counter = helper.tokens_of })
    local before = helper.snapshot(chat)

    local result = assert(run(chat, [[return {
      { id = "one", name = "One", config_fields = { { key = "size", type = "number", default = 4 } },
        execute = function(context, config)
          table.insert(context.messages, { role = "user", content = context:expand "{{char}} {{upper::x}}",
            source = "plugin" })
          context.shared_data.note = { config.size, context:weigh(context.messages), #context:history() }
          context:log("warn", context.session.id .. context.timestamp, { detail = 1 })
          context.shared_data.logs = #context.logs
        end },
      { id = "two", name = "Two", execute = function(context)
          local last = context.messages[#context.messages]
          last.content = table.concat(context.shared_data.note, " ") .. " " .. last.content:upper()
          context.messages = { context.messages[1], last }
        end } }]], { agent = { name = "Bot" }, session = { id = "S" }, now = 7, set = { "one.size=5" },
        counter = helper.tokens_of }))

    assert.equal("s1", result.chat[1].content)
    assert.matches("^5 %d+ 3 BOT ", result.chat[2].content)
    local told
    for _, entry in ipairs(result.logs) do
      if entry.processor == "one" then told = told or entry end
    end
    assert.same({ processor = "one", level = "warn", message = "S7", details = { detail = 1 } }, told)
    assert.is_true(result.shared_data.logs >= 1)
    assert.equal(before, helper.snapshot(chat))
  end)

  it("leaves the bytes of messages that it does not change", function()
    local chat = assert(ebb.parse('[{"role":"user","content" : "a", "n": 1.0, "big": 12345678901234567890, "l":[], '
      .. '"z":null},{"role":"assistant","content":"b"}]'))

    local result = assert(run(chat, step "context.messages[2].content = 'B'", { keep_extra = true }))

    assert.equal('{"role":"user","content" : "a", "n": 1.0, "big": 12345678901234567890, "l":[], "z":null}',
      result.chat[1].json)
    assert.equal("B", result.chat[2].content)
  end)

  it("is answered by functions of the host, and fails clearly where it would have to wait", function()
    local text = step [[context.messages[1].content = context:call("retrieve", { q = 1 }) ]]
    local chat = helper.conversation("u1", { counter = helper.tokens_of })
    local result = assert(run(chat, text, { host = { retrieve = function(asked) return "found " .. asked.q end } }))
    assert.equal("found 1", result.chat[1].content)

    local _, why = run(chat, step [[local answer, why = context:call("retrieve", {}) error(why)]])
    assert.matches("the host does not answer 'retrieve'", why, 1, true)

    local task = ebb.pipeline { processors = { helper.lua_file(text) }, counter = helper.tokens_of }:task(chat)
    assert.is_nil(task:step())
    assert.equal("processor", task.error.code)
    assert.matches("cannot wait for an answer", task.error.message, 1, true)

    local trusted = ebb.pipeline { processors = { helper.lua_file(text) }, counter = helper.tokens_of, trusted = true }
    local waiting = trusted:task(chat)
    assert.same({ service = "retrieve", request = { q = 1 } }, waiting:step())
    waiting:step "late"
    assert.equal("late", waiting.result.chat[1].content)
  end)

  local LIMITS = { fuel = 300000, deadline = 60000, memory = 8 << 20 }

  local failures = {
    -- what it does                      how                                                        what is said
    { "loops", "context.shared_data.half = 1 context.messages = {} while true do end", FUEL },
    { "loops in a coroutine of its own", "coroutine.wrap(function() while true do end end)()", FUEL },
    { "catches what stops it", "while true do pcall(function() while true do end end) end", FUEL },
    { "loops in a pattern", "(('a'):rep(20000) .. 'b'):find(('a*'):rep(20) .. 'c')", "allow more" },
    { "eats memory", "local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end", "memory" },
    { "sorts for ever", "table.sort({ 1, 2, 3 }, function() while true do end end)", FUEL },
    { "opens a file", "io.open('/etc/passwd')", "global 'io'" },
    { "starts a program", "os.execute('true')", "global 'os'" },
    { "loads another module", "require 'io'", "module 'io' not found" },
    { "reaches for the debugger", "debug.getinfo(1)", "global 'debug'" },
    { "looks for the run", "context.run.logs = nil", "context has no field 'run'" },
    { "writes into the session", "context.session.id = 3", "can only be read" },
    { "writes into what it is not given", "context.own = 3", "can only be read" },
    { "takes the messages away", "context.messages = nil", "context.messages: expected a table, got nil" },
    { "logs at no level", "context:log('loud', 'x')", "the level is info, warn or error" },
    { "asks for a conversation", "context:history_chat(context.messages)", "cannot enter a sandbox" },
    { "asks for nothing", "context:call('cache')", "call takes the name of a service and a table" },
    { "expands a long text", "context:expand(('{{x}}'):rep(60000))",
      "expand: a text of 300000 bytes; 262144 are allowed in a sandbox" },
    { "raises", "error 'boom'", "boom" },
    { "raises a table", "error { code = 3 }", "code" },
    { "takes a role away", "context.messages[1].role = nil", "role is nil" },
    { "takes a content away", "context.messages[1].content = nil", "content is nil" },
    { "leaves a function", "context.messages[1].content = print", "a function cannot leave" },
    { "leaves a loop of tables", "context.messages[1].loop = context.messages", "nested so deep" },
    { "leaves a hole", "context.messages[5] = context.messages[1]", "without holes" },
    { "leaves a key", "context.messages.x = 1", "without holes" },
    { "leaves no tables", "context.messages = { 'hello' }", "a message is a table" },
    { "leaves a coroutine on the blackboard", "context.shared_data.co = coroutine.create(print)", "cannot leave" },
  }

  for _, case in ipairs(failures) do
    local name, body, words = table.unpack(case)

    it("stops the run by name: it " .. name, function()
      local chat = helper.conversation(CHAT, { counter = helper.tokens_of })
      local before = helper.snapshot(chat)

      local result, message, code, partial = helper.outcome(run(chat, step(body), { limits = LIMITS }))

      assert.is_nil(result)
      assert.equal("processor", code)
      assert.matches("processor 'mine': ", message, 1, true)
      assert.matches(words, message, 1, true)
      local last = partial.logs[#partial.logs]
      assert.same({ "mine", "error" }, { last.processor, last.level })
      assert.equal(before, helper.snapshot(chat))
    end)

    it("is skipped where on_error says so: it " .. name, function()
      local chat = helper.conversation(CHAT, { counter = helper.tokens_of })

      local result = assert(run(chat, step(body), { limits = LIMITS, on_error = "skip" }))

      assert.equal("s1 u2 a3", helper.texts(result.chat))
      assert.is_nil(result.shared_data.half)
      local named = false
      for _, entry in ipairs(result.logs) do
        named = named or entry.processor == "mine" and entry.level == "error"
      end
      assert.is_true(named)
    end)
  end

  it("says where in it something went wrong", function()
    local _, message = run(helper.conversation("u1", { counter = helper.tokens_of }),
      step "local function deep() context:log('loud') end\ndeep()")

    assert.matches("%.lua:2: log: the level is info", message)
  end)

  it("keeps what it logged until it was stopped", function()
    local _, _, partial = run(helper.conversation("u1", { counter = helper.tokens_of }),
      step "context:log('info', 'begun') while true do end", { limits = LIMITS })

    assert.equal("begun", partial.logs[#partial.logs - 1].message)
  end)

  it("may be trusted instead, and has no limits then", function()
    local chat = helper.conversation("u1", { counter = helper.tokens_of })

    assert(run(chat, step "assert(io.open and os.getenv) for _ = 1, 100 do end", { trusted = true }))

    assert.equal("argument", helper.refusal(ebb.pipeline, { trusted = true, limits = { fuel = 5 } }).code)
    assert.equal("argument", helper.refusal(ebb.pipeline, { trusted = "yes" }).code)
    assert.equal("unknown_name", helper.refusal(ebb.pipeline, { limits = { feul = 5 } }).code)
  end)

  it("is stopped when it is loaded, too", function()
    finally(helper.clean)
    local refusal = helper.refusal(ebb.pipeline, { processors = { helper.lua_file "while true do end" },
      limits = { fuel = 300000 } })
    assert.equal("processor", refusal.code)
    assert.matches(FUEL, refusal.message, 1, true)
    refusal = helper.refusal(ebb.pipeline, { processors = { helper.lua_file "return io.open('x')" } })
    assert.matches("global 'io'", refusal.message, 1, true)
  end)
end)

describe("an agent in Lua", function()
  it("is data that a sandbox made", function()
    finally(helper.clean)
    local file = helper.lua_file [[local presets = {}
      for i = 1, 2 do presets[i] = { role = "system", content = ("rule %d"):format(i) } end
      presets[3] = { type = "chat_history" }
      return { name = "A", presets = presets }]]

    local result = assert(ebb.pipeline { agent = file, counter = helper.tokens_of }
      :run(helper.conversation("u1", { counter = helper.tokens_of })))

    assert.equal("rule 1\n\n---\n\nrule 2", result.chat[1].content)
  end)

  for kind, option in pairs { agent = "agent", model = "model_config", user = "user_profile" } do
    it("reads no file and stops: " .. kind, function()
      finally(helper.clean)
      local refusal = helper.refusal(ebb.pipeline, { [option] = helper.lua_file "return { name = io.open('x') }" })
      assert.matches("global 'io'", refusal.message, 1, true)
      refusal = helper.refusal(ebb.pipeline, { [option] = helper.lua_file "while true do end",
        limits = { fuel = 300000 } })
      assert.matches(FUEL, refusal.message, 1, true)
      assert(ebb.pipeline { [option] = helper.lua_file "assert(io.open) return { name = 'x' }", trusted = true })
    end)
  end
end)

describe("a policy that an agent names", function()
  local function limited(policy, given)
    given = given or {}
    given.counter = helper.tokens_of
    given.agent = { processors = { ["token-limiter"] = { budget = 30, policy = policy } } }
    return ebb.pipeline(given):run(helper.conversation("s1 u20 a20 u5 a5 u5", { counter = helper.tokens_of }))
  end

  it("runs in a sandbox: a file, or its text with all its semicolons", function()
    finally(helper.clean)
    local text = "return function(draft, budget) local seen = 1; draft:drop_oldest { to = budget } assert(not io); end"
    assert.equal("s1 u5 a5 u5", helper.texts(assert(limited(text)).chat))
    assert.equal("s1 u5 a5 u5", helper.texts(assert(limited(helper.lua_file(text))).chat))
  end)

  for name, case in pairs {
    ["that loops"] = { "return function() while true do end end", FUEL },
    ["that reads files"] = { "return function() io.open('x') end", "global 'io'" },
  } do
    it("stops the run: one " .. name, function()
      local result, message, code = helper.outcome(limited(case[1], { limits = { fuel = 300000 } }))
      assert.is_nil(result)
      assert.equal("policy", code)
      assert.matches("token-limiter", message, 1, true)
      assert.matches(case[2], message, 1, true)
    end)
  end

  it("may be trusted instead", function()
    assert(limited("return function(draft, budget) assert(io.open) draft:drop_oldest { to = budget } end",
      { trusted = true }))
  end)
end)
