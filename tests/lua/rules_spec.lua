--- Regex rules: every field by its effect, JavaScript's replacements, problems that
--- name rule and field, macros, limits.

local helper = dofile "tests/lua/helper.lua"
local cpu_time = dofile "tests/lua/cpu_time.lua"
local core = require "ebb.support.core"
local rules = require "ebb.rules"
local schema = require "ebb.rules.schema"

local function copy(list)
  return core.json.decode(core.json.encode(list))
end

--- The contents after the rules ran, and the report.
local function run(presets, messages, options)
  local set, problems = rules.compile(presets)
  messages = copy(messages)
  local report = set:apply(messages, options)
  local contents = {}
  for i, message in ipairs(messages) do
    contents[i] = message.content
  end
  return contents, report, problems, messages
end

local function merged(base, change)
  local result = {}
  for key, value in pairs(base) do result[key] = value end
  for key, value in pairs(change) do result[key] = value end
  return result
end

local TALK = {
  { role = "system", content = "a A" }, { role = "user", content = "a\nA" }, { role = "assistant", content = "a1" },
  { role = "tool", content = "a2" }, { role = "user", content = "a3" },
}
local RULE = { id = "r", regex = "(a)", replacement = "<$1>" }

-- ---- each field alone changes the outcome ----

--- Applies a rule to TALK; returns the contents in one text, and what is reported.
local function outcome(rule, options)
  local contents, report, problems = run({ { rules = { rule } } }, TALK, options)
  return table.concat(contents, "|"), report, problems
end

local FIELDS = {
  -- field          change                                                            expected contents
  enabled         = { { enabled = false },                                            "a A|a\nA|a1|a2|a3" },
  regex           = { { regex = "/([12])/g" },                                        "a A|a\nA|a<1>|a2|a3" },
  flags           = { { flags = "gi" },                                               "<a> <A>|<a>\n<A>|<a>1|a2|<a>3" },
  replacement     = { { replacement = "$$" },                                         "$ A|$\nA|$1|a2|$3" },
  applyTo         = { { applyTo = { render = true } },                                "a A|a\nA|a1|a2|a3" },
  targetRoles     = { { targetRoles = { "tool", "system" } },                         "<a> A|a\nA|a1|<a>2|a3" },
  depthRange      = { { depthRange = { min = 2, max = 3 } },                          "a A|<a>\nA|<a>1|a2|a3" },
  trimStrings     = { { trimStrings = { "a" } },                                      "<> A|<>\nA|<>1|a2|<>3" },
}

--- These show elsewhere than in the contents at the request stage.
local ELSEWHERE = {
  id = function()
    local _, _, problems = outcome { id = "quotes", regex = "(" }
    assert.truthy(problems[1].message:find("rule 'quotes'", 1, true))
  end,
  name = function()
    local _, _, problems = outcome { id = "quotes", name = "Quotes", regex = "(" }
    assert.truthy(problems[1].message:find("rule 'Quotes'", 1, true))
  end,
  applyInStreaming = function()
    local stays = outcome(merged(RULE, { applyInStreaming = false }), { streaming = true })
    assert.equal("a A|a\nA|a1|a2|a3", stays)
    assert.not_equal(stays, (outcome(RULE, { streaming = true })))
  end,
  order = function()
    local first, second = merged(RULE, { replacement = "b" }), { id = "s", regex = "b", replacement = "c" }
    assert.same({ "c" }, (run({ { rules = { first, second } } }, { { role = "user", content = "a" } })))
    first.order = 1
    assert.same({ "b" }, (run({ { rules = { first, second } } }, { { role = "user", content = "a" } })))
  end,
  substitutionMode = function()
    local rule = { regex = "{{who}}", replacement = "X" }
    local options = { expand = function() return "a." end }
    local talk = { { role = "user", content = "ab a. {{who}}" } }
    local function with(mode)
      return run({ { rules = { merged(rule, { substitutionMode = mode }) } } }, talk, options)[1]
    end
    assert.equal("ab a. X", with "NONE")
    assert.equal("X X {{who}}", with "RAW")
    assert.equal("ab X {{who}}", with "ESCAPED")
  end,
  testInput = function()
    assert.equal("<a>b", (rules.test(merged(RULE, { testInput = "ab", enabled = false }))))
    local output, problem = rules.test(RULE)
    assert.is_nil(output)
    assert.same({ "absent", 1 }, { problem.code, (problem.message:find "testInput") })
  end,
}

local PRESET_FIELDS = {
  id = function()
    local _, _, problems = run({ { id = "p1", rules = { { id = "x", regex = "" } } } }, {})
    assert.equal("preset 'p1', rule 'x': regex: expected a string that is not empty, got ''", problems[1].message)
  end,
  name = function()
    local _, _, problems = run({ { id = "p1", name = "Mine", rules = { { regex = "[" } } } }, {})
    assert.truthy(problems[1].message:find("preset 'Mine', rule 1: regex: byte ", 1, true))
  end,
  enabled = function()
    assert.equal("a1", run({ { enabled = false, rules = { RULE } } }, TALK)[3])
  end,
  rules = function()
    assert.equal("<a>1", run({ { rules = { RULE } } }, TALK)[3])
    assert.equal("a1", run({ {} }, TALK)[3])
  end,
}

--- Two presets, whose rules show in the result which of them came first.
local function first_of(one, two)
  one.rules = { { regex = "^", flags = "g", replacement = "1" } }
  two.rules = { { regex = "^", flags = "g", replacement = "2" } }
  return run({ one, two }, { { role = "user", content = "" } })[1] == "21" and 1 or 2
end

function PRESET_FIELDS.order()
  assert.equal(1, first_of({}, {}))
  assert.equal(2, first_of({ order = 1 }, {}))
end

function PRESET_FIELDS.priority()
  assert.equal(2, first_of({ priority = 101 }, {}))
  assert.equal(2, first_of({ priority = 101, order = 0 }, { order = 5 }))    -- before order
end

function ELSEWHERE.replacementType()
  assert.equal((outcome(RULE)), (outcome(merged(RULE, { replacementType = "regex" }))))
end

function ELSEWHERE.scriptContent()
  assert.equal((outcome(RULE)), (outcome(merged(RULE, { scriptContent = "" }))))
end

describe("each field of a rule", function()
  local plain = outcome(RULE)
  for name in pairs(schema.RULE.fields) do
    it(name .. " alone changes what comes out", function()
      local case = FIELDS[name]
      assert.truthy(case or ELSEWHERE[name], "the field has no case")
      if not case then return ELSEWHERE[name]() end
      local contents, _, problems = outcome(merged(RULE, case[1]))
      assert.same({}, problems)
      assert.equal(case[2], contents)
      assert.not_equal(plain, contents)
    end)
  end

  it("is the same in snake_case, and null is absent", function()
    assert.equal("a A|a\nA|a1|a2|a3", (outcome(merged(RULE, { apply_to = { render = true } }))))
    assert.equal(plain, (outcome(merged(RULE, { depthRange = core.json.null, flags = core.json.null }))))
  end)
end)

describe("each field of a preset", function()
  for name in pairs(schema.PRESET.fields) do
    it(name .. " alone changes what comes out", function()
      assert.truthy(PRESET_FIELDS[name], "the field has no case")
      PRESET_FIELDS[name]()
    end)
  end
end)

describe("depths", function()
  local function touched(range)
    local rule = merged(RULE, { depthRange = range, targetRoles = { "system", "user", "assistant", "tool" } })
    local contents = run({ { rules = { rule } } }, TALK)
    local places = {}
    for i, content in ipairs(contents) do
      if content:find "<" then places[#places + 1] = #contents - i end
    end
    return table.concat(places, " ")
  end

  it("are counted from the newest, both ends included", function()
    assert.equal("4 3 2 1 0", touched(nil))
    assert.equal("0", touched { max = 0 })
    assert.equal("4 3", touched { min = 3 })
    assert.equal("2 1", touched { min = 1, max = 2 })
  end)

  it("can begin elsewhere than at 0", function()
    local rule = merged(RULE, { depthRange = { min = 10 } })
    assert.same({ "<a>" }, (run({ { rules = { rule } } }, { { role = "user", content = "a" } }, { depth = 10 })))
    assert.same({ "a" }, (run({ { rules = { rule } } }, { { role = "user", content = "a" } }, { depth = 9 })))
  end)
end)

-- ---- levels, parts, kinds ----

describe("levels", function()
  it("break ties: global, agent, user; each level by the order of its presets", function()
    local function level(text, order)
      return { order = order, rules = { { regex = "$", flags = "", replacement = text } } }
    end
    local contents = run({
      user = { level "u" }, agent = { presets = { level("a2", 2), level("a1", 1) } }, global = { level("g", 9) },
    }, { { role = "user", content = "" } })
    assert.equal("ga1a2u", contents[1])
  end)
end)

describe("messages", function()
  it("have all their text parts rewritten, and no others; parts are not shared", function()
    local parts = { { type = "text", text = "a" }, { type = "image_url", text = "a" }, { type = "text", text = "ba" } }
    local messages = { { role = "user", content = parts, seq = 1 } }
    local first = parts[1]
    rules.compile({ { rules = { RULE } } }):apply(messages)
    local rewritten = messages[1].content
    assert.same({ "<a>", "a", "b<a>" }, { rewritten[1].text, rewritten[2].text, rewritten[3].text })
    assert.equal("text", rewritten[1].type)
    assert.equal("a", first.text)
  end)

  it("lose their seq if they change, and windows never do", function()
    local _, report, _, messages = run({ { rules = { RULE } } }, {
      { role = "user", content = "a", seq = 1 }, { role = "user", content = "b", seq = 2 },
      { role = "user", content = "a", seq = 3, source = "window" }, { role = "assistant", seq = 4 },
    })
    assert.same({ nil, 2, 3, 4 }, { messages[1].seq, messages[2].seq, messages[3].seq, messages[4].seq })
    assert.equal("a", messages[3].content)
    assert.same({ 1, 1 }, { report.messages, report.replacements })
    assert.same({ { rule = "rule 'r'", messages = 1, replacements = 1, failures = 0 } }, report.counts)
  end)

  it("of developers are the system's, and of functions the tools'", function()
    local talk = { { role = "developer", content = "a" }, { role = "function", content = "a" } }
    assert.same({ "<a>", "a" }, (run({ { rules = { RULE } } }, talk)))
    assert.same({ "a", "<a>" }, (run({ { rules = { merged(RULE, { targetRoles = { "tool" } }) } } }, talk)))
    assert.same({ "a", "a" }, (run({ { rules = { RULE } } }, talk, { roles = { "user" } })))
  end)

  it("that are not UTF-8 are told of and left alone", function()
    local messages, lines = { { role = "user", content = "a\xff" }, { role = "user", content = "a" } }, {}
    local report = rules.compile({ { rules = { RULE } } }):apply(messages, {
      log = function(_, line) lines[#lines + 1] = line end })
    assert.same({ "a\xff", "<a>" }, { messages[1].content, messages[2].content })
    assert.equal("the text is not valid UTF-8", report.failures[1].reason)
    assert.equal(1, #lines)
  end)
end)

-- ---- JavaScript's replacements ----

--- pattern, replacement, text, what String.prototype.replace gives (but for the two marked).
local JAVASCRIPT = {
  { "/b/g", "[$&]", "abc", "a[b]c" },
  { "/b/", "$`|$'", "abc", "aa|cc" },
  { "/b/g", "$$1", "abc", "a$1c" },
  { "/(b)/g", "$1$2", "abc", "ab$2c" },
  { "/(b)/g", "$01$10$0", "abc", "abb0$0c" },
  { "/(b)/g", "$00", "abc", "a$00c" },
  { "/(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)/", "$11$10$1", "abcdefghijk", "kja" },
  { "/(a)|(b)/g", "[$1$2]", "ab", "[a][b]" },
  { "/(?<x>b)/g", "<$<x>>", "abc", "a<b>c" },
  { "/(?<x>b)/g", "<$<y>>", "abc", "a<>c" },
  { "/(?<x>b)/g", "$<x", "abc", "a$<xc" },
  { "/b/g", "$<x>", "abc", "a$<x>c" },
  { "/b/g", "$", "abc", "a$c" },
  { "/b/g", "$x$-", "abc", "a$x$-c" },
  { "/x*/g", "-", "abc", "-a-b-c-" },
  { "/a*/g", "-", "aab", "--b-" },
  { "/(?:)/g", "-", "你好", "-你-好-" },
  { "/(?:)/", "-", "ab", "-ab" },
  { "/^/gm", "> ", "a\nb\n", "> a\n> b\n> " },
  { "/$/gm", ";", "a\nb", "a;\nb;" },
  { "/$/g", ";", "a\n", "a\n;" },                       -- the very end only
  { "/a/y", "-", "aab", "-ab" },
  { "/a/gy", "-", "aaba", "--ba" },
  { "/b/y", "-", "ab", "ab" },
  { "/B/i", "-", "abc", "a-c" },
  { "/É/gi", "-", "éÉ", "--" },
  { "/a.b/s", "-", "a\nb", "-" },
  { "/a.b/", "-", "a\nb", "a\nb" },
  { "/a.b/", "-", "a\rb", "a\rb" },
  { "/[]/g", "-", "ab", "ab" },
  { "/[^]/g", "-", "a\nb", "---" },
  { "/\\u0062/", "-", "abc", "a-c" },
  { "/\\u{1f600}/u", "-", "a😀c", "a-c" },
  { "/\\ud83d\\ude00/", "-", "a😀c", "a-c" },
  { "/[\\ud83d\\ude00x]/g", "-", "a😀cx", "a-c-" },
  { "/\\x62/", "-", "abc", "a-c" },
  { "/\\//g", "-", "a/b", "a-b" },
  { "/\\s/g", "_", "a\u{3000}b\u{a0}c\u{feff}d\u{2028}e f", "a_b_c_d_e_f" },
  { "/[\\s]/g", "_", "a\u{3000}b", "a_b" },
  { "/\\S/g", "_", "a\u{3000}b", "_\u{3000}_" },
  { "/[^\\S\\n]+/g", "_", "a \u{3000}\nb", "a_\nb" },
  { "/[\\s\\S]/g", "_", "a\u{3000}\n", "___" },
  { "/\\d/g", "_", "1\u{661}", "_\u{661}" },            -- ASCII's digits only
  { "/\\w/g", "_", "aé", "_é" },
  { "/\\v/g", "_", "a\vb\nc", "a_b\nc" },
  { "/(?:\\1(a))/g", "-", "aa", "--" },                 -- a group that is not set matches nothing, everywhere
  { "/(z)?b\\1/", "-", "abc", "a-c" },
  { "/(z)?b\\1+c/", "-", "abc", "a-" },
  { "/(?<n>z)?b\\k<n>{2}c/", "-", "abc", "a-" },
  { "/a(?=b)/g", "-", "abac", "-bac" },
  { "/(?<=a)b/g", "-", "abcb", "a-cb" },
  { "/(?<!a)b/g", "-", "abcb", "abc-" },
  { "/[\\u4e00-\\u9fff]+/g", "x", "你好 ok", "x ok" },
  { "/\\p{L}+/gu", "x", "é你-", "x-" },
  { "/\\cJ/", "-", "a\nb", "a-b" },
  { "/[\\b]/", "-", "a\bb", "a-b" },
  { "/\\Qa\\E/", "-", "QaE", "-" },
  { "/(b)/g", "${1}0", "abc", "ab0c" },                 -- ours: numbers and names in braces
  { "/(?<x>b)/g", "${x}${y}", "abc", "ab${y}c" },
  { "a/b", "-", "a/b", "-" },
  { "/usr/bin", "-", "in /usr/bin", "in -" },           -- no flags: a bare pattern
}

describe("replacements are JavaScript's", function()
  for _, case in ipairs(JAVASCRIPT) do
    local pattern, replacement, text, expected = table.unpack(case)
    it(("%s by %s in %s"):format(pattern, replacement, text), function()
      -- Without the flags that a rule has by itself.
      local _, flags = rules.parse(pattern)
      local bare = pattern:match "^/(.*)/[gimsuy]*$"
      local rule = { regex = bare or pattern, flags = bare and (flags or "u") or "gm", replacement = replacement }
      local output, count = rules.test(rule, { input = text })
      assert.equal(expected, output, tostring(count))
      assert.equal(expected ~= text, count > 0)
    end)
  end
end)

-- ---- problems ----

local PROBLEMS = {
  { { regex = "(" }, "regex: byte 2: missing closing parenthesis" },
  { { regex = "\\s\\s(" }, "regex: byte 6: missing closing parenthesis" },
  { { regex = "/(?<=a+)b/" }, "lookbehind" },
  { { regex = "a", flags = "gx" }, "flags: 'x' is none of gimsuy" },
  { { regex = "a", flags = "gig" }, "flags: 'g' occurs twice" },
  { {}, "regex is missing" },
  { { regex = 5 }, "regex: expected a string that is not empty, got 5" },
  { { regex = "a", replacment = "b" }, "replacment: unknown field (did you mean 'replacement'?)" },
  { { regex = "a", targetRoles = { "user", "usr" } },
    "targetRoles[1]: expected a role: system, user, assistant or tool, got 'usr'" },
  { { regex = "a", targetRoles = "user" }, "targetRoles: expected a list, got 'user'" },
  { { regex = "a", depthRange = { min = -1 } }, "depthRange.min: expected a whole number, 0 or more, got -1" },
  { { regex = "a", depthRange = { min = 3, max = 1 } }, "depthRange: min 3 is beyond max 1" },
  { { regex = "a", depthRange = { mn = 1 } }, "depthRange.mn: unknown field (did you mean 'min'?)" },
  { { regex = "a", applyTo = { request = 1 } }, "applyTo.request: expected true or false, got 1" },
  { { regex = "a", substitutionMode = "raw" }, "substitutionMode: expected one of NONE, RAW, ESCAPED, got 'raw'" },
  { { regex = "a", order = "1" }, "order: expected a number, got '1'" },
  { { regex = "a", replacementType = "script" },
    "replacementType: expected regex: no other replacement is supported, got 'script'" },
  { { regex = ("a"):rep(70000) }, "regex: byte 65537: it is longer than 65536 bytes" },
  { { regex = "a\xff" }, "regex: expected a string" },
  { { regex = "a", trimStrings = { "b", 1 } }, "trimStrings[1]: expected a string in UTF-8" },
  { { regex = "a", trimStrings = core.json.decode("[" .. ('"x",'):rep(64) .. '"x"]') },
    "trimStrings: expected a list of at most 64" },
  { "a", "rule 1: expected an object" },
}

describe("a bad rule", function()
  for _, case in ipairs(PROBLEMS) do
    it("is reported and skipped: " .. case[2], function()
      local contents, _, problems = run({ { name = "P", rules = { case[1], RULE } } }, TALK)
      assert.equal(1, #problems)
      assert.truthy(problems[1].message:find("preset 'P', rule 1: ", 1, true), problems[1].message)
      assert.truthy(problems[1].message:find(case[2], 1, true), problems[1].message)
      assert.equal("<a> A", contents[1])
    end)
  end

  it("is one with unknown fields in its preset too", function()
    local _, _, problems = run({ { rule = {} }, "x", { rules = { RULE } } }, TALK)
    assert.equal("preset 1: rule: unknown field (did you mean 'rules'?)", problems[1].message)
    assert.equal("preset 2: expected an object, got 'x'", problems[2].message)
  end)

  it("may be bad only with its macros: the log says so, and the others run", function()
    local lines = {}
    local contents = run({ { rules = { { id = "m", regex = "{{x}}", substitutionMode = "RAW" }, RULE } } }, TALK, {
      expand = function() return "(" end, log = function(level, line) lines[#lines + 1] = level .. ": " .. line end })
    assert.equal("<a> A", contents[1])
    assert.equal("warn: preset 1, rule 'm': regex: byte 2: missing closing parenthesis", lines[1])
  end)

  it("refuses options that do not exist", function()
    local set = rules.compile {}
    assert.equal("unknown_name", helper.refusal(set.apply, set, {}, { stages = "request" }).code)
    assert.equal("argument", helper.refusal(set.apply, set, {}, { stage = "both" }).code)
    assert.equal("argument", helper.refusal(rules.compile, "x").code)
  end)
end)

-- ---- macros ----

describe("macros", function()
  local values = { ["{{user}}"] = "A.B", ["{{cost}}"] = "$1 $&", ["{{a::{{b}}}}"] = "nested" }
  local asked
  local function expand(text)
    asked[#asked + 1] = text
    return values[text] or text
  end
  before_each(function() asked = {} end)

  local function once(rule, text)
    return run({ { rules = { rule } } }, { { role = "user", content = text } }, { expand = expand })[1]
  end

  it("in replacements are values, never references", function()
    assert.equal("$1 $& x", once({ regex = "(x)", replacement = "{{cost}} $1" }, "x"))
  end)

  it("nest, stay where unknown, and are literal after a backslash", function()
    assert.equal("nested {{who}} {{user}}", once({ regex = "x", replacement = "{{a::{{b}}}} {{who}} \\{{user}}" }, "x"))
    assert.same({ "{{a::{{b}}}}", "{{who}}" }, asked)
  end)

  it("are evaluated once per run, whatever the number of messages", function()
    run({ { rules = { { regex = "x", replacement = "{{user}}" } } } }, TALK, { expand = expand })
    assert.same({ "{{user}}" }, asked)
  end)

  it("in an escaped pattern match only what they say", function()
    assert.equal("A-B X", once({ regex = "{{user}}", replacement = "X", substitutionMode = "ESCAPED" }, "A-B A.B"))
    assert.equal("X X", once({ regex = "{{user}}", replacement = "X", substitutionMode = "RAW" }, "A-B A.B"))
  end)

  it("that never close are text", function()
    assert.equal("{{user", once({ regex = "x", replacement = "{{user" }, "x"))
    assert.same({}, asked)
  end)

  it("change the rule from run to run", function()
    local set = rules.compile { { rules = { { regex = "{{n}}", replacement = "<{{n}}>", substitutionMode = "RAW" } } } }
    for n = 1, 3 do
      local messages = { { role = "user", content = "1 2 3" } }
      set:apply(messages, { expand = function() return tostring(n) end })
      assert.equal(("1 2 3"):gsub(tostring(n), "<%0>"), messages[1].content)
    end
  end)
end)

-- ---- SillyTavern ----

describe("rules of SillyTavern", function()
  local script = {
    id = "u", scriptName = "Quotes", findRegex = "/\"(.*?)\"/g", replaceString = "{{match}}=$1", trimStrings = {},
    placement = { 1, 2 }, disabled = false, markdownOnly = false, promptOnly = true, runOnEdit = true,
    substituteRegex = 2, minDepth = core.json.null, maxDepth = 4,
  }

  it("are read in the place of our own rules", function()
    local contents, _, problems = run({ { rules = { script } } }, { { role = "user", content = 'say "x"' } })
    assert.same({}, problems)
    assert.equal('say "x"=x', contents[1])
  end)

  it("say the same in our words", function()
    assert.same({
      id = "u", name = "Quotes", enabled = true, regex = '"(.*?)"', flags = "g", replacement = "$&=$1",
      applyTo = { render = false, request = true }, targetRoles = { "user", "assistant" }, depthRange = { max = 4 },
      substitutionMode = "ESCAPED", order = 0,
    }, rules.from_sillytavern(script))
  end)

  it("replace the first match only where they have no g", function()
    local first = { findRegex = "/a/", replaceString = "b" }
    local contents = run({ { rules = { first } } }, { { role = "user", content = "aa" } })
    assert.equal("ba", contents[1])
  end)
end)

-- ---- limits ----

describe("a rule that runs away", function()
  local a = ("a"):rep(10000)
  local long = {
    { "(a+)+$", a .. "!" }, { "(.+)\\1[yz]", a }, { "(a|aa)+$", a .. "!" }, { "((a*)*)*[bc]", a },
    { "(?:a?){60}a{60}$", a .. "b" },
    { "^(([a-z])+.)+[A-Z]([a-z])+$", a }, { "(?=(a+))\\1*b(?<!c)(x+x+)+y", a .. ("x"):rep(5000) },
    { "(.*)(.*)(.*)(.*)(.*)[0-9]", ("ab "):rep(3000) }, { "(?:(?:a|b|ab)*)*[cd]", ("ab"):rep(5000) },
    { "\\s+$", (" "):rep(60000) .. "x" }, { "(a+)+$", ("a"):rep(30) .. "!" }, { "(.+)\\1[yz]", ("ab"):rep(250) },
    { "((.)\\2*)*?[yz]$", a }, { "(?:a|(?R))*?(?R)?[bc]", a },
    { ("(a?)"):rep(200) .. ("a"):rep(200) .. "$", ("a"):rep(199) .. "b" }, { "(?:" .. ("a|"):rep(2000) .. "b)*c", a },
  }

  for _, case in ipairs(long) do
    it("is stopped within 50 ms: " .. case[1]:sub(1, 40), function()
      local rule = { id = "x", regex = case[1], flags = "g", replacement = "-" }
      local set, problems = rules.compile { { rules = { rule } } }
      assert.same({}, problems)
      set:apply({})                                    -- compiled
      local message = { role = "user", content = case[2] }
      local report = cpu_time.within(2, function() return set:apply { message } end, 0.050)

      if #report.failures > 0 then assert.equal(case[2], message.content) end
    end)
  end

  it("is reported, and the rules after it run #time", function()
    local lines = {}
    local messages = { { role = "user", content = a .. "!" } }
    local list = { { id = "bad", regex = "(a+)+$" }, { id = "good", regex = "!", replacement = "?" } }
    local report = rules.compile({ { rules = list } }):apply(messages, {
      log = function(level, line) lines[#lines + 1] = level .. ": " .. line end })
    assert.equal(a .. "?", messages[1].content)
    assert.same({ { rule = "rule 'bad'", message = 1, reason = "it tried too many ways to match" } }, report.failures)
    assert.equal("warn: preset 1, rule 'bad': message 1: it tried too many ways to match; "
      .. "the message is left as it is", lines[1])
  end)

  it("is left out after its third failure in a run, and tried again in the next", function()
    local set = rules.compile { { rules = { { id = "bad", regex = "(a+)+$", replacement = "-" } } } }
    for _ = 1, 2 do
      local messages = {}
      for i = 1, 5 do messages[i] = { role = "user", content = a .. "!" } end
      messages[6] = { role = "user", content = "aaa" }
      local report = set:apply(messages)
      assert.equal(3, #report.failures)
      assert.equal("aaa", messages[6].content)
    end
    local message = { role = "user", content = "aaa" }
    set:apply { message }
    assert.equal("-", message.content)
  end)

  it("cannot grow a text beyond 16 MiB", function()
    local short = "aa"   -- so few replacements that time is no question
    local messages = { { role = "user", content = short } }
    local rule = { regex = "a", replacement = ("x"):rep(9000000) }
    local report = rules.compile({ { rules = { rule } } }):apply(messages)
    assert.equal("the text would have grown too large", report.failures[1].reason)
    assert.equal(short, messages[1].content)
  end)

  it("stops, whatever it grows by", function()
    for _, replacement in ipairs { "$'", "$`", ("$&"):rep(5000), ("x"):rep(100000) } do
      local messages = { { role = "user", content = a } }
      local report = cpu_time.within(15, function()
        return rules.compile({ { rules = { { regex = "a", replacement = replacement } } } }):apply(messages)
      end, 0.050)
      assert.equal(a, messages[1].content)
      assert.equal(1, #report.failures)
    end
  end)

  it("by trimming is stopped too", function()
    local trims = {}
    for i = 1, 64 do trims[i] = ("a"):rep(i % 2 + 1) end
    local rule = { regex = "(a+)", replacement = ("$1"):rep(30000), trimStrings = trims }
    local messages = { { role = "user", content = ("a"):rep(100000) } }
    local report = cpu_time.within(15, function()
      return rules.compile({ { rules = { rule } } }):apply(messages)
    end, 0.050)
    assert.equal("it took more than 50 ms", report.failures[1].reason)
  end)
end)
