--- Values that are templates: what the author of an agent wrote is expanded where a macro asks for it, everywhere; what
--- variables, input and the history say never is. Braces that are left are told.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local import = require "ebb.import"
local json = require("ebb.support.core").json

local USER = { name = "Ann", description = "{{user}} of {{Scenario}}" }

--- An agent with these fields, whose own texts have macros.
local function agent_of(fields)
  local agent = {
    name = "Tilda", model = "gpt-4o", description = "{{char}} bakes for {{USER}}", personality = "{{Char}} is kind",
    scenario = "{{CHAR}}'s shop", variables = { who = "{{char}}" }, mesExamples = "<START>\n{{char}}: Hm.",
    creatorNotes = "by {{char}}", charPrompt = "Be {{char}}.", charInstruction = "Stay {{char}}.",
  }
  for name, value in pairs(fields) do agent[name] = value end
  agent.presets = agent.presets or { { type = "chat_history" } }
  return agent
end

local function run(agent, messages, options)
  options = options or {}
  options.agent, options.user_profile, options.now = agent, options.user_profile or USER, 1762554605000
  local chat = ebb.parse(json.encode(messages or { { role = "user", content = "good day Tilda" } }))
  return assert(ebb.pipeline(options):run(chat))
end

--- The texts of a request, a line each.
local function said(result)
  local texts = {}
  for i, message in ipairs(result.chat) do texts[i] = message.text end
  return table.concat(texts, "\n")
end

local function warnings(result)
  local lines = {}
  for _, entry in ipairs(result.logs) do
    if entry.level == "warn" then lines[#lines + 1] = entry.message end
  end
  return table.concat(lines, "\n")
end

local function preset(content, more)
  local message = { id = "main", role = "system", content = content }
  for name, value in pairs(more or {}) do message[name] = value end
  return { presets = { message, { type = "chat_history" } } }
end

local function part(text) return json.array { { type = "text", text = text } } end

local function lore(entry)
  entry.id, entry.position = "e", "depth"
  return { lorebooks = { { name = "b", entries = { entry } } } }
end

local function rule(fields)
  fields.name, fields.flags = "r", "g"
  return { rules = { presets = { { name = "p", rules = { fields } } } } }
end

local NOTE = { injectionStrategy = { type = "depth", depth = 1 } }

describe("a value that the author wrote is expanded", function()
  local places = {
    -- where                             fields of the agent                        expected in the request
    { "in a preset",                     preset "{{description}}",                  "Tilda bakes for Ann" },
    { "in a name of any case",           preset "{{DESCRIPTION}} {{ Persona }}",    "Tilda bakes for Ann Ann of" },
    { "in a part of a preset",           preset(part "{{personality}}"),            "Tilda is kind" },
    { "in a note at a depth",            preset("{{scenario}}", NOTE),              "Tilda's shop" },
    { "in an argument",                  preset "{{upper::{{personality}}}}",       "TILDA IS KIND" },
    { "in a variable that is set",       preset "{{setvar::a::{{personality}}}}{{getvar::a}}", "Tilda is kind" },
    { "in the user's own text",          preset "{{persona}}",                      "Ann of Tilda's shop" },
    { "in examples",                     preset "{{mesExamples}}|{{mesExamplesRaw}}",
      "Tilda: Hm.|<START>\nTilda: Hm." },
    { "in notes and prompts",            preset "{{creatorNotes}} {{charPrompt}} {{charJailbreak}}",
      "by Tilda Be Tilda. Stay Tilda." },
    { "in a lorebook entry",             lore { keys = { "day" }, content = "{{personality}}!" },
      "Tilda is kind!" },
    { "in a key of a lorebook",          lore { keys = { "{{CHAR}}" }, content = "found" }, "found" },
    { "in what a rule writes",           rule { regex = "day", replacement = "{{Personality}}" }, "Tilda is kind" },
    { "in the pattern of a rule",
      rule { regex = "{{Scenario}}|good", replacement = "ok", substitutionMode = "RAW" },
      "ok day" },
    { "through another value",
      { description = "{{personality}}.", presets = preset "{{description}}".presets },
      "Tilda is kind." },
  }
  for _, place in ipairs(places) do
    it(place[1], function()
      local result = run(agent_of(place[2]))

      assert.truthy(said(result):find(place[3], 1, true), said(result))
      assert.equal("", warnings(result))
    end)
  end

  it("in a new input", function()
    local chat = ebb.conversation {}
    chat:input("{{Description}}; {{getvar::who}}; {{Input}}", { agent = agent_of {}, user_profile = USER })

    assert.equal("Tilda bakes for Ann; {{char}}; {{Description}}; {{getvar::who}}; {{Input}}", chat[1].text)
  end)

  it("by a macro of one's own", function()
    local brief = { name = "brief", summary = "", stability = "stable",
      run = function(call) return call:value "description":sub(1, 11) end }

    local result = run(agent_of(preset "{{Brief}}"), nil, { macros = { brief } })

    assert.equal("Tilda bakes\ngood day Tilda", said(result))
  end)
end)

describe("what is left as it is", function()
  local cases = {
    -- what it shows                 preset                       request                        warning
    { "a variable's value",          "{{getvar::who}}",           "{{char}}",
      "messages[1], preset 'main': {{char}} is sent unchanged: macros of variables" },
    { "input",                       "{{input}}",                 "{{user}} and {{nobody}}",
      "messages[1], preset 'main': {{user}} is sent unchanged: macros of variables" },
    { "a value that refers to itself", "{{description}}",         "{{description}}",
      "preset message 'main': {{description}}: description refers to itself; it stays" },
    { "an unknown macro of a value", "{{scenario}}",              "{{nowhere}}",
      "preset message 'main': unknown macro {{nowhere}} stays as it is" },
    { "what an escape keeps",        "\\{{char}}",                "{{char}}", nil },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      local fields = preset(case[2])
      fields.description, fields.scenario = "{{description}}", "{{nowhere}}"

      local result = run(agent_of(fields), { { role = "user", content = "{{user}} and {{nobody}}" } })

      assert.truthy(said(result):find(case[3], 1, true), said(result))
      local told = warnings(result)
      if case[4] then assert.truthy(told:find(case[4], 1, true), told)
      else assert.falsy(told:find("preset 'main'", 1, true), told) end
    end)
  end

  it("is told once, in the history only for names of macros", function()
    local result = run(agent_of {}, { { role = "assistant", content = "I am {{char}}, {{CHAR}}. {{ value }}" },
      { role = "user", content = "{{char}} {{items.length}}" } })

    assert.equal("messages[1], history: {{char}} is sent unchanged: macros of the history are not expanded",
      warnings(result))
  end)

  it("ends where two values name each other, and at the bounds of a run", function()
    local mutual = agent_of(preset "{{description}}")
    mutual.description, mutual.personality = "d {{personality}}", "p {{description}}"
    local many = agent_of(preset "{{description}}")
    many.description, many.personality = ("{{personality}}"):rep(1000), ("{{scenario}}"):rep(1000)
    many.scenario = ("x"):rep(1000)

    assert.equal("d p {{description}}\ngood day Tilda", said(run(mutual)))
    assert.truthy(warnings(run(many)):find "stopped: ")
  end)
end)

describe("texts that a lorebook only looks at", function()
  it("set no variables, and draw nothing", function()
    local agent = agent_of(preset "{{getvar::mood}} {{getvar::n}}")
    agent.greetings = { "{{setvar::mood::glad}}{{random::a::b}}" }
    agent.description, agent.variables = "{{incvar::n}}", { mood = "sad", n = 1 }
    agent.lorebooks = { { name = "b", entries = { { keys = { "no" }, content = "x" } } } }

    local result = run(agent)

    assert.truthy(said(result):find("sad 1", 1, true), said(result))
    assert.equal("", warnings(result))
  end)
end)

describe("a card's greeting", function()
  local function read(data, options)
    data.name, data.mes_example = "Tilda", ""
    return assert(import.read(json.encode { spec = "chara_card_v2", spec_version = "2.0", data = data }, options))
  end

  it("has its macros expanded, in any case and with the card's own texts", function()
    local result = read({ first_mes = "<BOT> greets {{User}}: {{Description}} {{// no }}{{comment: no}}",
      description = "{{CHAR}} bakes" }, { user = "Ann" })

    assert.equal("Tilda greets Ann: Tilda bakes ", result.messages[1].content)
  end)

  it("gives the agent the variables that it sets", function()
    local result = read { first_mes = "{{setvar::mood::glad}}Hi" }

    assert.equal("Hi", result.messages[1].content)
    assert.equal("glad", result.agent.variables["local"].mood)
  end)

  it("tells what stays", function()
    local result = read { first_mes = "{{somewhere}} {{roll::x}}" }

    assert.equal("{{somewhere}} {{roll::x}}", result.messages[1].content)
    assert.equal("greeting: {{somewhere}}: unknown", result.report[1].message)
    assert.equal("macro that stays as it is", result.report[2].kind)
  end)
end)
