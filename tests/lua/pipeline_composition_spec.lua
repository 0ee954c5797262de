--- The composition of a request: each line names what it is made of, whatever the target's form makes of the messages,
--- and the shares add up.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local json = require("ebb.support.core").json

local AGENT = {
  name = "Tilda", presets = {
    { id = "main", role = "system", content = "Tilda bakes bread, and knows every guest by name." },
    { id = "scene", role = "system", content = "It is early." },
    { id = "opening", role = "user", content = "(She enters.)" },
    { type = "chat_history" },
    { id = "note", role = "system", content = "[She is tired]",
      injectionStrategy = { type = "depth", depth = 1 } },
  },
}

local PLAIN = { { role = "user", content = "Two loaves" }, { role = "assistant", content = "Here" },
  { role = "user", content = "And a cake" } }

local function call(id, city)
  return { id = id, type = "function", ["function"] = { name = "weather", arguments = json.encode { city = city } } }
end

local CALLS = { { role = "system", content = "Be brief." }, { role = "user", content = "Rain?" },
  { role = "assistant", content = "I look.", tool_calls = { call("call_1", "Oslo"), call("call_2", "Rome") } },
  { role = "tool", tool_call_id = "call_1", content = "rain" },
  { role = "tool", tool_call_id = "call_2", content = "sun" },
  { role = "assistant", content = "Rain and sun." }, { role = "user", content = "Thanks" } }

--- "system preset main" or "user depth note + history 3" of each line, those next to the messages in brackets.
local function lines_of(result)
  local lines = {}
  for i, part in ipairs(result.parts) do
    local sources = {}
    for n, each in ipairs(part.sources or { part }) do
      sources[n] = ("%s %s"):format(each.source, each.source_id or each.seq or "")
    end
    local line = part.role .. " " .. table.concat(sources, " + ")
    lines[i] = part.message and line or "[" .. line .. "]"
  end
  return lines
end

local function check_sums(result)
  local tokens, share = 0, 0
  for _, each in ipairs(result.shares) do
    assert.is_true(each.tokens >= 0, each.source)
    tokens, share = tokens + each.tokens, share + each.share
  end
  assert.equal(result.tokens, tokens)
  assert.near(1, share, 1e-9)
  for _, part in ipairs(result.parts) do
    local sum = 0
    for _, each in ipairs(part.sources or { part }) do sum = sum + each.tokens end
    assert.equal(part.tokens, sum)
  end
end

local SYSTEM = "[system preset main + preset scene]"

local cases = {
  -- what it shows                        target       messages  lines
  { "openai keeps its messages",          "openai",    PLAIN,
    { "system preset main + preset scene", "user preset opening + history 1", "assistant history 2",
      "system depth note", "user history 3" } },
  { "anthropic: system text apart",       "anthropic", PLAIN,
    { SYSTEM, "user preset opening + history 1", "assistant history 2", "user depth note + history 3" } },
  { "gemini: the same",                   "gemini",    PLAIN,
    { SYSTEM, "user preset opening + history 1", "model history 2", "user depth note", "user history 3" } },
  { "responses: an item each",            "responses", PLAIN,
    { "system preset main + preset scene", "user preset opening + history 1", "assistant history 2",
      "system depth note", "user history 3" } },
}

--- Words that only the texts of each source have.
local MARKS = { preset = { "bakes bread", "early", "enters" }, depth = { "tired" },
  history = { "Rain?", "I look", "Rain and sun", "Thanks" }, body = { "Be brief" } }

--- True if a line has a text of the source.
local function shows(part, source)
  for _, mark in ipairs(MARKS[source]) do
    if part.text:find(mark, 1, true) then return true end
  end
  return false
end

local function is_of(part, source)
  for _, each in ipairs(part.sources or { part }) do
    if each.source == source then return true end
  end
  return false
end

local DIALECTS = { "openai", "responses", "anthropic", "gemini" }

describe("the composition", function()
  for _, case in ipairs(cases) do
    local name, target, messages, expected = table.unpack(case)
    it("names what each line is made of: " .. name, function()
      local result = assert(ebb.pipeline { agent = AGENT, to = target }:run(ebb.parse(json.encode(messages))))

      assert.same(expected, lines_of(result))
      check_sums(result)
    end)
  end

  for _, source in ipairs(DIALECTS) do
    for _, target in ipairs(DIALECTS) do
      it(("has texts and sources together: from %s to %s"):format(source, target), function()
        local text = ebb.parse(json.encode(CALLS)):write(source, { shape = "body" })
        local chat = assert(ebb.parse(text))
        local has_body = source == "anthropic"   -- others read a system text as a message

        local result = assert(ebb.pipeline { agent = AGENT, to = target }:run(chat))

        check_sums(result)
        local count = 0
        for _, part in ipairs(result.parts) do
          count = count + (part.message and 1 or 0)
          assert.equal(part.message == nil, part.role == "system" and (target == "anthropic" or target == "gemini"))
          assert.equal(shows(part, "preset"), is_of(part, "preset"), part.text)
          assert.equal(shows(part, "depth"), is_of(part, "depth"), part.text)
          if shows(part, "history") then assert.is_true(is_of(part, "history"), part.text) end
          if has_body then assert.equal(shows(part, "body"), is_of(part, "body"), part.text) end
          assert.is_false(is_of(part, "repair") or is_of(part, "plugin"), part.text)
        end
        assert.equal(#result.chat, count)
      end)
    end
  end

  it("calls what the repair puts in by its name", function()
    local open = { { role = "user", content = "Rain?" }, { role = "assistant", content = "I look.",
      tool_calls = { call("call_1", "Oslo") } }, { role = "user", content = "Well?" } }

    local result = assert(ebb.pipeline { agent = AGENT, to = "anthropic" }:run(ebb.parse(json.encode(open))))

    check_sums(result)
    assert.equal(SYSTEM, lines_of(result)[1])
  end)
end)

describe("ebb pipeline --preview", function()
  before_each(function()
    command.make_folder()
    command.file("chat.json", json.encode(PLAIN))
    command.file("agent.json", json.encode(AGENT))
  end)
  after_each(command.remove_folder)

  local function preview(more)
    return (command.does(("pipeline %s --agent %s --preview %s"):format(command.path_of "chat.json",
      command.path_of "agent.json", more)))
  end

  it("has the system text as a line, and its tokens in the table", function()
    local shown = preview "--model claude-opus-4-5"

    assert.matches("\n +system +preset +%d+ +Tilda bakes bread", shown)
    assert.matches("\n3 +user +depth %+ history +%d+ +%[She is tired%]", shown)
    assert.matches("\nframing and tools +0 +%d +", shown)
  end)

  it("tells of no stage that is off, and under -q of no warning", function()
    local agent = json.decode(json.encode(AGENT))
    agent.presets[1].content = "{{random::a::b}} {{nowhere}}"
    command.file("agent.json", json.encode(agent))

    local shown, quiet = preview "", preview "-q"

    assert.falsy(shown:find("is disabled", 1, true))
    assert.truthy(shown:find("{{random}} changes on every request", 1, true))
    assert.falsy(quiet:find("{{random}}", 1, true))
    assert.falsy(quiet:find("unknown macro", 1, true))
    assert.truthy(quiet:find("{{nowhere}}", 1, true))
  end)

  it("gives programs the number of each message, and none for the system text", function()
    local data = json.decode(preview "--model claude-opus-4-5 --json")

    assert.same({ 1, 2, 3 }, { data.parts[2].message, data.parts[3].message, data.parts[4].message })
    assert.equal("system", data.parts[1].role)
    assert.is_nil(data.parts[1].message)
    assert.equal(3, #data.messages)
  end)
end)
