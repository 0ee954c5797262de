--- Macros: the syntax, the one pass, what is reported, environments and registries.

local helper = dofile "tests/lua/helper.lua"
local macros = require "ebb.macros"
local macro_registry = require "ebb.macros.registry"

local refusal = helper.refusal

local function environment(fields)
  fields = fields or {}
  fields.values = fields.values or { user = "Ann", char = "Bo" }
  fields.now = fields.now or 1762554605000
  return macros.environment(fields)
end

local function expanded(text, fields)
  return (macros.expand(text, environment(fields)))
end

local function names(list)
  local found = {}
  for i, entry in ipairs(list) do
    found[i] = ("%s@%d"):format(entry.name or entry.code, entry.position)
  end
  return table.concat(found, " ")
end

describe("syntax", function()
  local cases = {
    -- what it shows                          text                                    expected
    { "nothing to do",                        "plain } }} :: \\ {x}",                 "plain } }} :: \\ {x}" },
    { "nested macros are evaluated first",    "{{upper::{{repeat::{{user}}::2}}}}",   "ANNANN" },
    { "blanks around arguments are layout",   "[{{repeat::  a b \n:: 2 }}]",          "[a ba b]" },
    { "blanks of values are not",             "[{{repeat:: {{space}}x{{space}} ::2}}]", "[ x  x ]" },
    { "blanks between values are not",        "[{{upper:: {{user}} {{char}} }}]",     "[ANN BO]" },
    { "names have any case",                  "{{User}} {{CHAR}} {{UPPER::{{uSER}}}}", "Ann Bo ANN" },
    { "but names of variables do not",        "{{SetVar::a::1}}{{GETVAR::A}}{{getvar::a}}", "1" },
    { "comments of cards are nothing",        "a{{comment: {{nope}} b}}{{Hidden_Key:x::y}}{{// c}}", "a" },
    { "an unknown macro stays",               "{{nope}} b {{ nope :: x }}",           "{{nope}} b {{ nope :: x }}" },
    { "but what is in it is evaluated",       "{{nope::{{user}}::\\}}}}",             "{{nope::Ann::\\}}}}" },
    { "also in the place of the name",        "{{ {{user}} }}",                       "{{ Ann }}" },
    { "and before it",                        "{{x{{user}}::a}}",                     "{{xAnn::a}}" },
    { "an escape is literal",                 "\\{{user}} {{user}}",                  "{{user}} Ann" },
    { "also behind a backslash",              "\\\\{{user}}",                         "\\{{user}}" },
    { "escapes within arguments",             "{{repeat::\\{{user\\}} a\\::b::1}}",   "{{user}} a::b" },
    { "only \\{{ outside of them",            "{{user}} \\}} \\:: \\{{",              "Ann \\}} \\:: {{" },
    { "braces around a macro",                "{{{user}}} {{{{user}}}}",              "{Ann} {{Ann}}" },
    { "an escape before three braces",        "\\{{{user}} \\{{{{user}}",             "{{{user}} {{Ann" },
    { "an opening without an end is text",    "a {{ b {{user}} c :: \\}} \\{{",       "a {{ b Ann c :: \\}} {{" },
    { "several of them",                      "{{a::{{b::{{user}}",                   "{{a::{{b::Ann" },
    { "an end without an opening is text",    "a }} {{user}} }} b",                   "a }} Ann }} b" },
    { "an empty one is text",                 "{{}} {{::a}} {{ }}",                   "{{}} {{::a}} {{ }}" },
    { "a blank leads to the first argument",  "{{upper a b}} {{repeat x::2}}",        "A B xx" },
    { "so does one colon",                    "{{upper:a}} {{upper : a}}",            "A A" },
    { "with macros in it",                    "{{upper {{user}}}} {{upper:{{user}}!}}", "ANN ANN!" },
    { "a name has an end",                    "{{upper{{user}}}} {{upper|a}}",        "{{upperAnn}} {{upper|a}}" },
    { "but not where it takes none",          "{{user: hello}} {{user x}}",           "{{user: hello}} {{user x}}" },
    { "extra arguments are left out",         "{{user::x}} {{upper::a::b}}",          "Ann A" },
    { "a comment is not evaluated",           "{{// {{incvar::a}} :: {{x}} }}{{hasvar::a}}", "false" },
    { "each occurrence is evaluated",         "{{incvar::c}}{{incvar::c}}{{getvar::c}}", "2" },
    { "from left to right",                   "{{getvar::c}}{{setvar::c::1}}{{getvar::c}}", "1" },
    { "names of other alphabets are names",   "{{心情}}",                              "{{心情}}" },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      assert.equal(case[3], expanded(case[2]))
    end)
  end

  it("values are never expanded again", function()
    local values = { user = "{{char}} \\{{x}} $1 %1", char = "Bo" }

    assert.equal("{{char}} \\{{x}} $1 %1", expanded("{{user}}", { values = values }))
    assert.equal("{{CHAR}} \\{{X}} $1 %1", expanded("{{upper::{{user}}}}", { values = values }))
    assert.equal("{{char}} \\{{x}} $1 %1", expanded("{{setvar::a::{{user}}}}{{getvar::a}}", { values = values }))
    assert.equal("{{user}}", expanded("{{repeat::{::2}}user{{repeat::\\}}::1}}"))
  end)
end)

describe("the report", function()
  local function report_of(text, fields)
    local _, report = macros.expand(text, environment(fields))
    return report
  end

  it("has unknown macros with their positions", function()
    assert.equal("nope@3 nope@12 Nobody@23", names(report_of("a {{nope}} {{nope::}} {{Nobody}}").unknown))
    assert.equal(" { not a name }, @1", names(report_of("{{ { not a name }, }}").unknown))
  end)

  it("cuts long text that is not a name between characters", function()
    local name = report_of("{{!" .. ("é"):rep(100) .. "}}").unknown[1].name
    assert.equal("!" .. ("é"):rep(19) .. "...", name)
  end)

  it("has errors and warnings with their positions", function()
    local report = report_of("{{user}} {{roll::x}} {{user::x}} {{open")
    assert.equal("unclosed@34 roll@10 user@22", names(report.errors))
    assert.equal("warning error warning", ("%s %s %s"):format(
      report.errors[1].level, report.errors[2].level, report.errors[3].level))
  end)

  it("counts the macros that were known", function()
    assert.equal(4, report_of("{{user}}{{upper::{{char}}}}{{nope}}{{roll::x}}").count)
    assert.equal(0, report_of("no macros").count)
  end)

  local stability = {
    -- text                                          stability    least          volatile
    { "none",                                        "stable",    nil,           "" },
    { "{{char}}{{upper::a}}{{// {{time}}}}",         "stable",    nil,           "" },
    { "{{char}} {{date}} {{user}}",                  "session",   "date@10",     "" },
    { "{{pick::a::b}}",                              "session",   "pick@1",      "" },
    { "{{user}} {{input}}",                          "turn",      "input@10",    "" },
    { "{{input}} {{random::a}} {{time}} {{time}}",   "volatile",  "random@11",   "random time" },
    { "{{upper::{{input}} {{time}}}}",               "volatile",  "time@20",     "time" },
    { "{{setvar::a::{{time}}}}",                     "stable",    nil,           "" },
    { "{{setvar::a::b}}{{getvar::a}}",               "turn",      "getvar@17",   "" },
    { "{{setvar::a::{{time}}}} {{getvar::a}}",       "volatile",  "getvar@25",   "getvar" },
    { "{{setvar::a::{{time}}}}{{addvar::a::x}}{{setvar::b::{{getvar::a}}}}{{getvar::b}}",
                                                     "volatile",  "getvar@68",   "getvar" },
    { "{{setvar::a::{{time}}}}{{setvar::a::b}}{{getvar::a}}", "turn", "getvar@40", "" },
    { "{{nope::{{time}}}}",                          "volatile",  "time@9",      "time" },
  }
  for _, case in ipairs(stability) do
    it("knows the least stable part of " .. case[1], function()
      local report = report_of(case[1])
      assert.equal(case[2], report.stability)
      assert.equal(case[3], report.least and names { report.least })
      assert.equal(case[4], table.concat(report.volatile, " "))
    end)
  end

  it("remembers from one text to the next what a variable is made of", function()
    local env = environment()
    macros.expand("{{setglobalvar::a::{{time}}}}", env)
    local _, report = macros.expand("{{getglobalvar::a}}", env)

    assert.equal("volatile", report.stability)
  end)

  it("leaves the macros around a failed one alone", function()
    local text, report = macros.expand("{{upper::{{roll::x}}}} {{setvar::a::{{roll::y}}}}{{hasvar::a}}", environment())

    assert.equal("{{upper::{{roll::x}}}} {{setvar::a::{{roll::y}}}}false", text)
    assert.equal("roll@10 roll@37", names(report.errors))
  end)

  it("may be in the text instead", function()
    assert.equal("a [error: not dice: expected NdM, such as 2d6] b", expanded("a {{roll::x}} b", { error_text = "en" }))
  end)
end)

describe("options of an expansion", function()
  it("values come before those of the environment", function()
    local text = macros.expand("{{input}} {{user}}", environment(), { values = { input = "typed" } })
    assert.equal("typed Ann", text)
  end)

  it("transform changes what outermost macros gave, once", function()
    local function mark(value)
      return "<" .. value .. ">"
    end
    local text = "a{{upper::{{user}}{{nope::{{char}}}}}}{{nope::{{user}}}}"
    text = macros.expand(text, environment(), { transform = mark })
    assert.equal("a<ANN{{NOPE::BO}}>{{nope::<Ann>}}", text)
  end)

  it("an error in transform takes everything back", function()
    local env = environment { variables = { ["local"] = { a = 1 } } }
    local ok, problem = pcall(macros.expand, "{{incvar::a}}{{random::a}}{{user}}", env, {
      transform = function() error("no", 0) end,
    })

    assert.is_false(ok)
    assert.equal("no", problem)
    assert.equal(1, env.variables["local"].a)
    assert.equal(environment().state.draws, env.state.draws)
  end)

  it("are checked", function()
    local problem = refusal(macros.expand, "x", environment(), { value = {} })
    assert.equal("unknown_name", problem.code)
    assert.equal("did you mean 'values'?", problem.hint)
    problem = refusal(macros.expand, "{{x}}", environment(), { values = { imput = "" } })
    assert.equal("did you mean 'input'?", problem.hint)
    assert.equal("argument", refusal(macros.expand, 5, environment()).code)
    assert.equal("argument", refusal(macros.expand, "x", {}).code)
  end)
end)

describe("an environment", function()
  local refused = {
    { { value = {} }, "did you mean 'values'?" }, { { values = { modelId = "x" } }, "did you mean 'model_id'?" },
    { { variables = { locals = {} } }, "did you mean 'local'?" }, { { values = { user = {} } } },
    { { values = 5 } }, { { variables = 5 } }, { { variables = { ["local"] = 5 } } }, { { now = 1.5 } },
    { { now = 1 << 60 } }, { { zone = 5000 } }, { { seed = "x" } }, { { session_id = 5 } }, { { history = {} } },
    { { virtual_time = 5 } }, { { virtual_time = { virtual_base = "1999" } } },
    { { virtual_time = { virtual_base = 0 } } },
    { { virtual_time = { virtual_base = 0, real_base = 0, scale = 0 / 0 } } },
    { { virtual_time = { virtual_base = "2025-13-01", real_base = 0 } } },
    { { virtual_time = { virtual_base = "2025-00-01", real_base = 0 } } },
    { { virtual_time = { virtual_base = "2025-06-31", real_base = 0 } } },
    { { virtual_time = { virtual_base = "2025-06-00", real_base = 0 } } },
    { { virtual_time = { virtual_base = "2025-01-01T10:60", real_base = 0 } } },
    { { virtual_time = { virtual_base = "2025-01-01T10:00+8", real_base = 0 } } },
    { { virtual_time = { virtual_base = "2025-01-01T25:00", real_base = 0 } } },
    { { virtual_time = { virtual_base = 0, real_base = 0, scal = 1 } }, "did you mean 'scale'?" },
    { { error_text = "fr" } }, { { registry = {} } }, { 5 },
  }
  for i, case in ipairs(refused) do
    it("refuses case " .. i, function()
      local problem = refusal(macros.environment, case[1])
      assert.truthy(problem.code == "argument" or problem.code == "unknown_name", problem.code)
      if case[2] then assert.equal(case[2], problem.hint) end
    end)
  end

  it("writes into the variables that it was given", function()
    local session, all = {}, {}
    local env = environment { variables = { ["local"] = session, global = all } }
    macros.expand("{{setvar::a::1}}{{setglobalvar::b::x}}", env)

    assert.same({ a = 1 }, session)
    assert.same({ b = "x" }, all)
  end)

  local DRAWS = "{{random::a::b::c::d::e::f}} {{randomInt::1::1000000}} {{roll::9d100}}"

  it("draws by its seed", function()
    assert.equal(expanded(DRAWS, { seed = 7 }), expanded(DRAWS, { seed = 7 }))
    assert.not_equal(expanded(DRAWS, { seed = 7 }), expanded(DRAWS, { seed = 8 }))
    assert.equal(expanded(DRAWS, { session_id = "s" }), expanded(DRAWS, { session_id = "s" }))
    assert.not_equal(expanded(DRAWS, { session_id = "s" }), expanded(DRAWS, { session_id = "s", now = 5 }))
    local env = environment()
    assert.not_equal(macros.expand(DRAWS, env), (macros.expand(DRAWS, env)))
  end)

  it("draws all numbers about equally often", function()
    local env, seen = environment { seed = 3 }, {}
    for _ = 1, 6000 do
      local number = macros.expand("{{roll::1d6}}", env)
      seen[number] = (seen[number] or 0) + 1
    end
    for side = 1, 6 do
      assert(seen[tostring(side)] > 850 and seen[tostring(side)] < 1150, seen[tostring(side)])
    end
  end)

  it("draws from the smallest to the largest", function()
    local env, seen = environment { seed = 3 }, {}
    for _ = 1, 200 do
      seen[macros.expand("{{randomInt::-1::1}}", env)] = true
    end
    assert.same({ ["-1"] = true, ["0"] = true, ["1"] = true }, seen)
  end)

  it("keeps a session's picks, whatever was drawn", function()
    local text = "{{pick::a::b::c::d::e::f::g}}"
    local first = expanded(text, { session_id = "one" })
    assert.equal(first, expanded("{{random::x}}" .. text, { session_id = "one", now = 9 }):sub(2))
    local seen = {}
    for i = 1, 100 do
      seen[expanded(text, { session_id = "session " .. i })] = true
    end
    assert.same({ a = true, b = true, c = true, d = true, e = true, f = true, g = true }, seen)
  end)

  it("picks as AIO Hub does, for any session id", function()
    for id, expected in pairs {
      ["session-1"] = "D", ["session one"] = "F", ["会话编号-7"] = "E", ["chat \u{1F600} é"] = "D", [""] = "A",
      ["another one"] = "G",
    } do
      assert.equal(expected, expanded("{{pick::A::B::C::D::E::F::G}}", { session_id = id }), id)
    end
    assert.truthy(expanded("{{pick::A::B}}", { session_id = "\xFF\xC3" }):find "[AB]")
  end)

  it("forks: a preview changes nothing, and shows what will be drawn", function()
    local env = environment { variables = { ["local"] = { a = 1 }, global = { g = 1 } } }
    macros.expand("{{setvar::t::{{time}}}}", env)
    local text = "{{incvar::a}}{{incglobalvar::g}}{{deletevar::t}}{{getvar::a}}{{getglobalvar::g}}" .. DRAWS

    local preview = env:fork()
    local shown = macros.expand(text, preview)

    assert.same({ a = 1, t = "10:30 PM" }, env.variables["local"])
    assert.same({ g = 1 }, env.variables.global)
    assert.equal("volatile", select(2, macros.expand("{{getvar::t}}", env)).stability)
    assert.equal(shown, (macros.expand(text, env)))
    assert.same({ a = 2 }, preview.variables["local"])
  end)

  it("does not reach a fork, either", function()
    local env = environment()
    local fork = env:fork()
    macros.expand("{{setvar::a::1}}", env)

    assert.equal("", (macros.expand("{{getvar::a}}", fork)))
  end)
end)

describe("built-in macros", function()
  it("pass the check of others: no start repeats it", function()
    local count = 0
    for _, macro in pairs(macro_registry.built_in().macros) do
      local declaration = {}
      for field, value in pairs(macro) do declaration[field] = value end
      declaration.least, declaration.most, declaration.rank = nil, nil, nil
      assert.same({ macro.least, macro.most }, { macro_registry.check(declaration) })
      count = count + 1
    end
    assert.is_true(count > 60)
  end)
end)

describe("a registry", function()
  local function with(...)
    local registry = macros.registry()
    for _, declaration in ipairs { ... } do
      declaration.summary = declaration.summary or "test"
      declaration.stability = declaration.stability or "stable"
      registry:add(declaration)
    end
    return registry
  end

  local function run(text, ...)
    return macros.expand(text, environment { registry = with(...) })
  end

  it("adds macros next to those built in, and leaves others alone", function()
    local declaration = { name = "greet", parameters = { "name", "mark?" }, run = function(_, name, mark)
      return "Hi " .. name .. (mark or "")
    end }

    assert.equal("Hi Ann Hi Bo!", (run("{{greet::{{user}}}} {{greet::Bo::!::?}}", declaration)))
    assert.equal("{{greet::x}}", expanded("{{greet::x}}"))
  end)

  it("replaces by name, has aliases and numbers", function()
    local text = run("{{user}} {{u}} {{心情}}", { name = "user", aliases = { "u" }, run = function() return 5 end },
      { name = "心情", run = function() return 1.5 end })
    assert.equal("5 5 1.5", text)
  end)

  it("is inherited by value", function()
    local parent = with { name = "a", run = function() return "A" end }
    local child = macros.registry(parent)
    child:add { name = "b", summary = "b", stability = "stable", run = function() return "B" end }

    assert.equal("A B", (macros.expand("{{a}} {{b}}", environment { registry = child })))
    assert.equal("A {{b}}", (macros.expand("{{a}} {{b}}", environment { registry = parent })))
  end)

  it("lists what there is, with a line each", function()
    local before = #macros.list()
    local list = macros.list(with { name = "aaa", stability = "turn", parameters = { "x?" }, run = function() end })

    assert.equal(before + 1, #list)
    for i, listed in ipairs(list) do
      if i > 1 then assert.truthy(list[i - 1].name < listed.name) end
      if listed.name == "aaa" then assert.same({ "x?" }, listed.parameters) end
      assert.truthy(#listed.summary > 0 and not listed.summary:find "\n", listed.name)
    end
  end)

  it("gives its macros the call", function()
    local seen = {}
    run("ab{{x::{{input}}}}", { name = "y", aliases = { "x" }, parameters = { "a" }, run = function(call, a)
      seen = { call.name, call.position, call.held, call:value "user", call:value "persona", a, call.environment.now }
      return ""
    end })

    assert.same({ "x", 3, 3, "Ann", nil, "", 1762554605000 }, seen)
  end)

  it("lets them fail with a text, an error, or nothing", function()
    local text, report = run("{{a}} {{b}} {{c}} {{d}}",
      { name = "a", run = function() return nil, "not today" end },
      { name = "b", run = function() error("boom", 0) end },
      { name = "c", run = function() end }, { name = "d", run = function() return {} end })

    assert.equal("{{a}} {{b}} {{c}} {{d}}", text)
    assert.equal("not today; b failed: boom; c gave a nil instead of a text; d gave a table instead of a text",
      table.concat({ report.errors[1].message, report.errors[2].message, report.errors[3].message,
        report.errors[4].message }, "; "))
  end)

  it("lets them expand texts, whose report is theirs", function()
    local text, report = run("{{user}} {{card::x}}", { name = "card", parameters = { "a" }, run = function(call, a)
      return "<" .. call:expand("{{user}} " .. a .. " {{nope}} {{time}} {{setvar::v::1}}{{getvar::v}}") .. ">"
    end })

    assert.equal("Ann <Ann x {{nope}} 10:30 PM 1>", text)
    assert.equal("nope@10", names(report.unknown))
    assert.equal("time", table.concat(report.volatile))
    assert.equal(6, report.count)
  end)

  it("marks what they gave as less stable than they said", function()
    local _, report = run("{{a}}", { name = "a", run = function(call)
      call.stability = "turn"
      return "x"
    end })
    assert.equal("turn", report.stability)
  end)

  local refused = {
    { name = "" }, { name = "a b" }, { name = "a}}" }, { name = ("a"):rep(65) }, { name = 5 },
    { name = "x", run = 5 }, { name = "x", stability = "volatil", hint = "did you mean 'volatile'?" },
    { name = "x", sumary = "y", hint = "did you mean 'summary'?" }, { name = "x", parameters = { "a?", "b" } },
    { name = "x", parameters = { "a...", "b" } }, { name = "x", parameters = { "a!" } },
    { name = "x", aliases = { "" } },
    { name = "x", parameters = { "a??" } },
  }
  for i, case in ipairs(refused) do
    it("refuses declaration " .. i, function()
      local hint = case.hint
      case.hint = nil
      case.summary, case.stability = case.summary or "s", case.stability or "stable"
      case.run = case.run or function() end
      local registry = macros.registry()
      local problem = refusal(registry.add, registry, case)
      assert.equal("shape", problem.code)
      if hint then assert.equal(hint, problem.hint) end
    end)
  end
end)

describe("a check", function()
  it("finds what is wrong without expanding", function()
    local text = "{{usr}} {{upper}} {{setvar::a}} {{user::x}} {{random}} {{upper::{{chr}}}} {{user}} {{"
    local problems = macros.check(text)

    local lines = {}
    for i, problem in ipairs(problems) do
      lines[i] = ("%d %s%s"):format(problem.position, problem.message, problem.hint and "; " .. problem.hint or "")
    end
    assert.same({
      "1 unknown macro: usr; did you mean 'user'?", "9 upper needs an argument", "19 setvar takes 2 arguments, 1 given",
      "33 user takes no arguments", "45 random needs an argument", "65 unknown macro: chr; did you mean 'char'?",
      "84 '{{' is never closed",
    }, lines)
  end)

  it("looks into macros, also into those that are none", function()
    assert.equal(1, #macros.check "{{upper {{usr}}}}")
    assert.equal(1, #macros.check "{{upper::a{{usr}}}}")
    assert.equal(2, #macros.check "{{ {{usr}} }}")
    assert.equal(0, #macros.check "{{// {{usr}} }}")
  end)

  it("takes a registry", function()
    local registry = macros.registry()
    registry:add { name = "mine", summary = "m", stability = "stable", run = function() return "" end }
    assert.same({}, macros.check("{{mine}}", registry))
    assert.equal(1, #macros.check "{{mine}}")
  end)

  local contents = {
    { "user", true }, { "setvar::a::b", true }, { "roll 1d6", true }, { "random::a::b::c", true },
    { "newline::2", true },
    { "usr", false, "unknown macro: usr" }, { "user::a", false, "user takes no arguments" },
    { "roll", false, "roll needs an argument" }, { "newline::2::3", false, "newline takes 0-1 arguments, 2 given" },
    { "", false, "unknown macro: " }, { "a}} {{b", false, "expected name or name::argument" },
    { "user a", false, "user takes no arguments" }, { "upper {{usr}}", true },
    { "user}}", false, "expected name or name::argument" }, { "a {{", false, "expected name or name::argument" },
  }
  for _, case in ipairs(contents) do
    it("of what is in the braces: " .. case[1], function()
      local result = macros.validate(case[1])
      assert.equal(case[2], result.valid)
      assert.equal(case[3], result.error)
    end)
  end

  it("suggests names", function()
    assert.same({ "user" }, macros.validate("usr").suggestions)
    assert.equal("argument", refusal(macros.validate, "user", { language = "fr" }).code)
    assert.equal("unknown_name", refusal(macros.validate, "user", { lang = "zh" }).code)
  end)
end)
