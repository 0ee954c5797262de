--- The processors regex-processor and injection-assembler, with a small context of
--- their own: what they take from it, and what they leave in it.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local assembler = require "ebb.processors.injection_assembler"
local regex = require("ebb.processors.regex_processor").processor

local function context(fields)
  local made = {
    messages = {}, agent_config = {}, capabilities = { model = "gpt-4o" }, shared_data = {}, logs = {},
    run = { sources = {} },
    expand = function(_, text) return (text:gsub("{{char}}", "Ann")) end,
  }
  function made:log(level, message, details)
    self.logs[#self.logs + 1] = { level = level, message = message, details = details }
  end
  for key, value in pairs(fields) do made[key] = value end
  return made
end

local function said(made)
  local lines = {}
  for i, entry in ipairs(made.logs) do lines[i] = entry.level .. ": " .. entry.message end
  return lines
end

local function rule(from, to) return { rules = { { id = from, regex = from, replacement = to } } } end

describe("regex-processor", function()
  it("runs global rules, the agent's and the user's, in this order, with macros", function()
    local made = context {
      messages = { { role = "user", content = "a" }, { role = "assistant", content = "z" } },
      agent_config = { rules = { rule("b", "c {{char}}") } }, user_profile = { rules = { rule("c", "d") } },
    }
    regex.execute(made, { rules = { rule("a", "b") } })
    assert.same({ { role = "user", content = "d Ann" }, { role = "assistant", content = "z" } }, made.messages)
    assert.same({ "info: rules: 3; replacements: 3, in messages: 1" }, said(made))
    assert.equal(1, made.logs[1].details.messages)
  end)

  it("accepts global rules as JSON, and refuses other texts", function()
    local made = context { messages = { { role = "user", content = "a" } } }
    regex.execute(made, { rules = '[{"rules":[{"regex":"a","replacement":"b"}]}]' })
    assert.equal("b", made.messages[1].content)
    assert.equal("argument", helper.refusal(regex.execute, made, { rules = "[" }).code)
  end)

  it("says which rules are left out, and that there are none", function()
    local made = context { agent_config = { rules = { rule("(", "") } } }
    regex.execute(made, {})
    assert.same({ "warn: preset 1, rule '(': regex: byte 2: missing closing parenthesis; the rule is left out",
                  "info: no rules for requests" }, said(made))
  end)

  it("runs rules for requests only, and tells of one that took too long", function()
    local text = ("a"):rep(5000) .. "!"
    local list = { { id = "bad", regex = "(a+)+$" }, { regex = "!", applyTo = { render = true } } }
    local made = context {
      messages = { { role = "user", content = text } }, agent_config = { rules = { { rules = list } } },
    }
    regex.execute(made, {})
    assert.equal(text, made.messages[1].content)
    assert.truthy(said(made)[1]:find("warn: preset 1, rule 'bad': message 1: ", 1, true))
  end)
end)

describe("injection-assembler", function()
  it("weaves the agent's presets into the messages, in the same list", function()
    local history = helper.messages "u1 a2"
    local made = context {
      messages = history,
      agent_config = { presets = {
        { id = "s", content = "I am {{char}}" }, { type = "chat_history" },
        { id = "d", content = "D", role = "user", injectionStrategy = { depth = 1 } },
        { id = "x", content = "X", modelMatch = { patterns = { "claude" } } },
      } },
    }
    assembler.execute(made, {})
    assert.equal(history, made.messages)
    assert.equal("I am Ann u1 D a2", helper.texts(made.messages))
    assert.same({ role = "user", content = "D", source = "depth", source_id = "d" }, made.messages[3])
    assert.same({ "info: 2 preset messages put in" }, said(made))
  end)

  it("puts the tools' macros in where the agent wants them, and knows its anchors", function()
    local made = context {
      messages = helper.messages "u1",
      agent_config = {
        presets = { { content = "S" }, { type = "memory", content = "MEM" } }, anchors = { memory = true },
        tool_call_config = { enabled = true, auto_inject_if_macro_missing = true },
      },
    }
    assembler.execute(made, {})
    assert.equal("S MEM {{tools}}\n{{tool_usage}}\n{{tool_context}} u1", helper.texts(made.messages))
  end)

  local without = {   -- an agent without active presets
    { "no presets", nil, true }, { "an empty list", {}, true },
    { "one that is off", { { content = "S", isEnabled = false } }, true },
    { "one of another model", { { content = "S", modelMatch = { patterns = { "nobody" } } } }, true },
    { "macros of its own", { { content = "use {{tools}}" } }, false },
  }
  for _, case in ipairs(without) do
    it("puts the tools' macros in before the history next to " .. case[1], function()
      local made = context { messages = helper.messages "u1 a2", agent_config = { presets = case[2],
        tool_call_config = { enabled = true, auto_inject_if_macro_missing = true } } }
      assembler.execute(made, {})
      local expected = case[3] and "{{tools}}\n{{tool_usage}}\n{{tool_context}} u1 a2" or "use {{tools}} u1 a2"
      assert.equal(expected, helper.texts(made.messages))
    end)
  end

  it("puts the tools of a request in without presets, and nothing where there are none", function()
    local agent = { toolCallConfig = { enabled = true, autoInjectIfMacroMissing = true } }
    local body = '{"model":"gpt-4o"%s,"messages":[{"role":"user","content":"hi"}]}'
    local tool = ',"tools":[{"type":"function","function":{"name":"look","description":"looks about","parameters":{}}}]'
    local with = assert(ebb.pipeline { agent = agent }:run(assert(ebb.parse(body:format(tool)))))
    assert.equal(2, #with.chat)
    assert.matches("looks about", with.chat[1].text, 1, true)
    assert.equal(1, #assert(ebb.pipeline { agent = agent }:run(assert(ebb.parse(body:format ""))).chat))
  end)

  it("leaves a history without presets as it is", function()
    local made = context { messages = helper.messages "u1 a2" }
    assembler.execute(made, {})
    assert.equal("u1 a2", helper.texts(made.messages))
  end)

  it("matches the profile", function()
    local presets = { { content = "P", modelMatch = { profilePatterns = { "^home$" } } } }
    for profile, expected in pairs { home = "P u1", work = "u1" } do
      local made = context {
        messages = helper.messages "u1", agent_config = { presets = presets }, capabilities = { profile = profile },
      }
      assembler.execute(made, {})
      assert.equal(expected, helper.texts(made.messages))
    end
  end)
end)
