--- Macros of one's own in pipelines, in input and in the command: from files, folders, tables and registries.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local ebb = helper.ebb

local SHOUT = [[
return {
  name = "shout", summary = "a text in capitals", parameters = { "text", "marks?" }, stability = "stable",
  example = "{{shout::hello}}",
  run = function(call, text, marks)
    if text == "" then return nil, "there is nothing to shout" end
    return text:upper() .. (marks or "!")
  end,
}]]

local function macro(name, body)
  return ("{ name = %q, summary = 's', parameters = { 'a?' }, stability = 'session', run = function(call, a) %s end }")
    :format(name, body)
end

local function agent_of(text)
  return { name = "Mira",
    presets = { { type = "message", role = "system", content = text }, { type = "chat_history" } } }
end

--- The first message of a request whose preset is `text`.
local function expanded(text, options)
  options = options or {}
  options.agent, options.counter = options.agent or agent_of(text), helper.tokens_of
  finally(helper.clean)
  local result, problem = ebb.pipeline(options):run(helper.conversation "u1 a2 u3")
  assert(result, tostring(problem))
  return result.chat[1].content, result
end

local function warnings(result)
  local list = {}
  for _, entry in ipairs(result.logs) do
    if entry.level == "warn" then list[#list + 1] = entry.message end
  end
  return table.concat(list, "\n")
end

describe("macros of a pipeline", function()
  it("come from a registry, a table or a file, besides the built-in ones", function()
    local registry = ebb.macros.registry()
    registry:add(assert(load(SHOUT))())
    assert.equal("HEY! Mira", (expanded("{{shout::hey}} {{char}}", { macros = registry })))
    assert.equal("HEY! Mira", (expanded("{{shout::hey}} {{char}}", { macros = { assert(load(SHOUT))() } })))
    assert.equal("HEY! Mira", (expanded("{{shout::hey}} {{char}}", { macros = { helper.lua_file(SHOUT) } })))
    assert.equal("HEY? Mira", (expanded("{{shout::hey::?}} {{char}}", { macros = { helper.lua_file(SHOUT) },
      trusted = true })))
  end)

  it("of a file reach the environment, and change it", function()
    local text = "return {" .. table.concat({
      macro("who", "return call:value 'char' .. call.environment.now .. tostring(call.environment:instant())"),
      macro("mood", "local old = call.environment.variables['local'].mood "
        .. "call.environment.variables['local'].mood = a return old"),
      macro("all", "local n = 0 for _ in pairs(call.environment.variables['local']) do n = n + 1 end return n"),
      macro("dice", "return call.environment:draw(1)"),
      macro("last", "return call.environment.history 'user'"),
      macro("template", "call:allow(10) return call:expand('<{{who}} {{user}}>')"),
      macro("soon", "call.stability = 'volatile' return 'x'"),
    }, ",") .. "}"
    local agent = agent_of "{{who}}|{{mood::sad}}|{{getvar::mood}}|{{all}}|{{dice}}|{{last}}|{{template}}|{{soon}}"
    agent.variables = { mood = "calm" }

    local text_of, result = expanded(nil, { agent = agent, macros = { helper.lua_file(text) }, now = 7,
      user_profile = { name = "Ann" } })

    assert.equal("Mira77|calm|sad|1|0|u3|<Mira77 Ann>|x", text_of)
    assert.equal("sad", result.variables["local"].mood)
    assert.matches("soon", warnings(result), 1, true)
  end)

  it("that fail are reported, and stay as they are", function()
    local cases = {
      { macro("bad", "return nil, 'no such thing'"),  "no such thing" },
      { macro("bad", "error 'boom'"),                 "boom" },
      { macro("bad", "return {}"),                    "gave a table" },
      { macro("bad", "io.open '/etc/passwd'"),        "global 'io'" },
      { macro("bad", "return call:valu 'user'"),      "call has no field 'valu'" },
      { macro("bad", "return call.environment.nwo"),  "call.environment has no field 'nwo'" },
      { macro("bad", "while true do end"),            "fuel of 300000" },
      { macro("bad", "return call:expand '{{bad}}'"), "refers to itself" },
      { macro("bad", "return call:expand(('x'):rep(300000))"), "expand: a text of 300000 bytes" },
      { macro("bad", "call:allow(-1e300) return a"),  "allow: bytes: expected a whole number from 0 on, got -1e+300" },
      { macro("bad", "call:allow(math.mininteger)"),  "allow: bytes: expected a whole number from 0 on, got -92" },
      { macro("bad", "call:allow(0 / 0) return a"),   "allow: bytes: expected a whole number from 0 on, got -nan" },
      { macro("bad", "call:allow '9' return a"),      "allow: bytes: expected a whole number from 0 on, got 9" },
    }
    for _, case in ipairs(cases) do
      local text, result = expanded("{{bad}} x", { macros = { helper.lua_file("return " .. case[1]) },
        limits = { fuel = 300000, deadline = 60000 } })
      assert.equal("{{bad}} x", text)
      assert.matches(case[2], warnings(result), 1, true)
    end
  end)

  it("have one set of limits for all calls of a run", function()
    local file = helper.lua_file("return " .. macro("bad", "while a == 'loop' do end return 'fine'"))
    local text, result = expanded("{{bad::good}}{{bad::loop}}{{bad::good}}", { macros = { file },
      limits = { fuel = 300000, deadline = 60000 } })
    assert.equal("fine{{bad::loop}}{{bad::good}}", text)
    assert.matches("fuel of 300000", warnings(result), 1, true)
  end)

  it("keep nothing from one run to the next, nor from a forecast to its run", function()
    local file = helper.lua_file("local n = 0 return " .. macro("count", "n = n + 1 return n"))
    finally(helper.clean)
    local pipeline = ebb.pipeline {
      macros = { file }, agent = agent_of "{{count}}{{count}}", counter = helper.tokens_of,
      set = { "token-limiter.budget=1000" }, processors = { { id = "late", name = "Late", priority = 950,
        execute = function(context) context.messages[1].content = context:expand "{{count}}" end } },
    }
    local chat = helper.conversation "u1 a2 u3"
    local preview, first, second = pipeline:preview(chat), pipeline:run(chat), pipeline:run(chat)
    assert.equal("3", first.chat[1].content)
    assert.equal(first.body, second.body)
    assert.equal(first.body, preview.body)
  end)

  it("are seen by rules and by input", function()
    local macros = { helper.lua_file(SHOUT) }
    local rule = { id = "r", regex = "{{shout::u::}}", substitutionMode = "RAW", flags = "i",
      replacement = "{{shout::new}}", applyTo = { request = true } }
    local agent = { rules = { { rules = { rule } } }, presets = { { type = "chat_history" } } }
    assert.equal("NEW!", (expanded(nil, { agent = agent, macros = macros }):gsub("%d", "")))

    local chat = ebb.conversation()
    chat:input("{{shout::hey}}", { macros = macros })
    assert.equal("HEY!", chat[1].content)
  end)

  local wrong = {
    { "a number",            5,                                    "macros: expected a registry" },
    { "a list with a number", { 5 },                               "macros" },
    { "an unknown field",    { { name = "a", summary = "s", stability = "stable", run = print, paramters = {} } },
      "paramters", "did you mean 'parameters'?" },
    { "no function",         { { name = "a", summary = "s", stability = "stable" } }, "run is missing" },
    { "a missing file",      { "no/such/macro.lua" },              "no/such/macro.lua" },
  }
  for _, case in ipairs(wrong) do
    it("are refused: " .. case[1], function()
      local problem = helper.refusal(ebb.pipeline, { macros = case[2] })
      assert.matches(case[3], problem.message, 1, true)
      if case[4] then assert.equal(case[4], problem.hint) end
    end)
  end

  it("from a file are refused with the file's mistakes", function()
    finally(helper.clean)
    for text, words in pairs {
      ["return 5"] = "expected a macro or a list of them, the file returned number",
      ["return {{ name = 'a', summary = 's', stability = 'never', run = print }}"] = "stability",
      ["return = 1"] = "unexpected symbol",
      ["error 'boom'"] = "boom",
    } do
      local problem = helper.refusal(ebb.pipeline, { macros = { helper.lua_file(text) } })
      assert.matches(words, problem.message, 1, true)
    end
  end)
end)

describe("the command", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("takes files and folders of macros", function()
    command.file("shout.lua", SHOUT)
    local agent = command.file("agent.json",
      '{"presets": [{"type":"message","role":"system","content":"{{shout::hey}}"},{"type":"chat_history"}]}')
    local words = ("pipeline %s --agent %s "):format(command.path_of "small.json", agent)
    local file = "--macro " .. command.path_of "shout.lua"

    command.contains('"HEY!', (command.does(words .. file)))
    command.contains('"HEY!', (command.does(words .. file .. " --trusted")))
    command.contains("HEY!", (command.does(words .. file .. " --preview")))
    command.contains("{{shout::hey}}", (command.ebb(words)).out)
    command.contains("no_such.lua", command.fails(command.IO, words .. "--macro no_such.lua"))
    command.contains("expected a macro", command.fails(command.SCRIPT, words .. "--macro "
      .. command.file("five.lua", "return 5")))

    command.contains("{{shout::text::marks?}}: a text in capitals", (command.does("macros shout " .. file)))
    command.contains('"shout"', (command.does("macros --json " .. file)))
    command.contains("did you mean 'shout'?", command.fails(command.USAGE, "macros shuot " .. file))

    local rule = command.file("rule.json", '{"regex": "a", "replacement": "{{shout::b}}", "testInput": "xax"}')
    command.contains("xB!x", (command.does(("rules test %s %s"):format(rule, file))))
    command.contains("x{{shout::b}}x", (command.does("rules test " .. rule)))
  end)
end)

describe("names that a script misspells", function()
  it("are refused with the nearest one", function()
    finally(helper.clean)
    for _, trusted in ipairs { false, true } do
      for body, words in pairs {
        ["context:lgo('info', 'x')"] = "context has no field 'lgo'",
        ["context.sesion = 1 print(context.sesion)"] = "can only be read",
        ["print(context.mesages)"] = "context has no field 'mesages'",
      } do
        local file = helper.lua_file(("return { id = 'mine', name = 'M', execute = function(context) %s end }")
          :format(body))
        local _, problem = ebb.pipeline { processors = { file }, trusted = trusted, counter = helper.tokens_of }
          :run(helper.conversation "u1")
        assert.matches(words, problem.message, 1, true)
      end
    end
  end)

  it("of the library that a sandbox does not have say so", function()
    finally(helper.clean)
    local file = helper.lua_file [[
      return { id = "m", name = "M", execute = function() require("ebb").macros.list() end }]]
    local _, problem = ebb.pipeline { processors = { file }, counter = helper.tokens_of }:run(helper.conversation "u1")
    assert.matches("ebb.macros is not available in a sandbox", problem.message, 1, true)
  end)
end)
