--- Macros under texts that mean harm, and random ones: limits stop with a report, costs
--- stay linear, and whatever comes in, the same few things hold. SEED=n repeats a run.

local helper = dofile "tests/lua/helper.lua"
local cpu_time = dofile "tests/lua/cpu_time.lua"
local macros = require "ebb.macros"

local MB = 1024 * 1024
local LOOPS = 1000   -- all of these take a fraction; a hang takes forever

local function environment(fields)
  fields = fields or {}
  fields.values = fields.values or { user = "Ann" }
  fields.now = 0
  return macros.environment(fields)
end

--- Expands within the time and says what the report says.
local function expand(text, env)
  env = env or environment()
  local start = os.clock()
  local result, report = macros.expand(text, env)
  local took = os.clock() - start
  cpu_time.allows(LOOPS, took)
  return result, report, took
end

local function codes(report)
  local seen, list = {}, {}
  for _, entry in ipairs(report.errors) do
    if not seen[entry.code] then list[#list + 1] = entry.code end
    seen[entry.code] = true
  end
  return table.concat(list, " ")
end

describe("a megabyte of #time", function()
  local pieces = {
    -- piece              codes in the report
    { "{{",               "unclosed" },
    { "}}",               "" },
    { "{",                "unclosed" },   -- the last two
    { "}",                "" },
    { "::",               "" },
    { "\\{{",             "", "{{" },
    { "\\",               "" },
    { "{{a::",            "unclosed" },
    { "{{a",              "unclosed" },
    { "{{a::b}}",         "limit" },
    { "{{user::",         "unclosed" },
    { "{{ ",              "unclosed" },
    { "}}{{",             "limit unclosed" },
    { "{{a}",             "unclosed" },
    { "{{a::\\}}",        "unclosed" },
    { "{{//",             "unclosed" },
    { "{{a b:",           "unclosed" },
    { "{{{",              "unclosed" },
  }
  for _, piece in ipairs(pieces) do
    it(piece[1] .. " is text", function()
      local text = piece[1]:rep(MB // #piece[1])
      local result, report = expand(text)
      assert.equal(#(piece[3] or piece[1]) * (MB // #piece[1]), #result)
      assert.equal(piece[2] == "" and "" or piece[2], codes(report))
      assert.truthy(#report.errors <= 100 and #report.unknown <= 100)
    end)
  end

  it("{{{{...}}}} is text, too", function()
    local text = ("{{a::"):rep(MB // 10) .. ("}}"):rep(MB // 10)
    local result, report = expand(text)
    assert.equal(text, result)
    assert.equal("too_deep", codes(report))
    assert.equal(1, report.errors[1].position)
  end)

  it("blanks is cut off once", function()
    local blanks = (" "):rep(MB)
    assert.equal("ab", (expand("a" .. blanks .. "{{trim}}" .. blanks .. "b")))
    assert.equal("X", (expand("{{upper::" .. blanks .. "x" .. blanks .. "}}")))
    assert.equal("", (expand((" {{trim}}"):rep(MB // 90))))
  end)

  it("arguments is an error", function()
    local _, report = expand("{{random" .. ("::a"):rep(MB) .. "}}")
    assert.equal("arguments", codes(report))
    _, report = expand("{{random:" .. ("a,"):rep(MB) .. "}}")
    assert.equal("arguments", codes(report))
    _, report = expand("{{user" .. ("::a"):rep(MB) .. "}}")
    assert.equal("arguments", codes(report))
  end)

  it("a wrong argument is not repeated in the report", function()
    local long, wide = ("x"):rep(MB), ("é"):rep(MB // 2)
    local _, report = expand("{{datetime_locale::" .. long .. "}}{{truncate::a::" .. wide .. "}}")
    for _, entry in ipairs(report.errors) do
      assert.truthy(#entry.message < 600, #entry.message)
      assert.truthy(utf8.len(entry.message))
    end
    assert.equal(2, #report.errors)
  end)
end)

describe("nesting", function()
  local function nested(depth)
    return ("{{upper::"):rep(depth) .. "a" .. ("}}"):rep(depth)
  end

  it("is allowed up to a depth", function()
    local result, report = expand(nested(64))
    assert.equal("A", result)
    assert.equal("", codes(report))
  end)

  for _, depth in ipairs { 65, 10000 } do
    it(("stops at %d deep; what follows is expanded"):format(depth), function()
      local result, report = expand("{{user}} " .. nested(depth) .. " {{user}}")
      assert.equal("Ann " .. nested(depth) .. " Ann", result)
      assert.equal("too_deep", codes(report))
      assert.equal(10, report.errors[1].position)
    end)
  end
end)

describe("growth #time", function()
  it("by repeat is bounded", function()
    local text = "{{repeat::{{repeat::{{repeat::{{repeat::x::1000}}::1000}}::1000}}::1000}}"
    local result, report = expand("{{setvar::a::1}}" .. text)
    assert.equal("{{setvar::a::1}}" .. text, result)
    assert.equal("limit", codes(report))
    assert.is_true(report.stopped)
    assert.truthy(report.errors[1].message:find("repeat would make 1000000000 bytes", 1, true), "it was made first")
  end)

  it("by doubling a variable is bounded, and takes the variables back", function()
    local env = environment { variables = { ["local"] = { kept = "k" } } }
    local drawn = env.state.draws
    local text = "{{setvar::a::x}}{{deletevar::kept}}{{random::a}}"
      .. ("{{setvar::a::{{getvar::a}}{{getvar::a}}}}"):rep(60)
    local result, report = expand(text, env)
    assert.equal(text, result)
    assert.equal("limit", codes(report))
    assert.same({ kept = "k" }, env.variables["local"])
    assert.equal(drawn, env.state.draws)
  end)

  it("by addvar, replace and reading a large value again is bounded", function()
    local large = environment {
      values = { input = ("a"):rep(4 * MB) }, variables = { ["local"] = { v = ("b"):rep(MB) } },
    }
    for _, text in ipairs {
      ("{{addvar::w::{{getvar::v}}}}"):rep(100), ("{{addvar::v::x}}"):rep(100),
      "{{replace::{{input}}::a::{{getvar::v}}}}", ("{{input}}"):rep(3),
      ("{{length::{{input}}}}"):rep(100), ("{{setvar::x::{{input}}}}"):rep(1000), ("{{trim}}{{getvar::v}}"):rep(100),
    } do
      local result, report = expand(text, large)
      assert.equal(text, result)
      assert.equal("limit", codes(report))
    end
  end)

  it("by many macros is bounded", function()
    local result, report = expand(("{{user}}"):rep(100000))
    assert.equal(300000, #result)
    assert.equal("", codes(report))
    local text = ("{{user}}"):rep(100001)
    result, report = expand(text)
    assert.equal(text, result)
    assert.equal("limit", codes(report))
    assert.equal(800001, report.errors[1].position)
    text = ("{{roll::x}}"):rep(100001)
    result, report = expand(text)
    assert.equal(text, result)
    assert.equal("limit", report.errors[1].code)
    assert.equal(99900, report.omitted)
  end)

  it("of the text costs in proportion", function()
    local unit = "{{user}} and {{upper::{{user}}}} {{setvar::a::{{random::x::y}}}} {{nope}} {{ \\{{ text\n"
    local function fastest(count)
      local text, best = unit:rep(count), math.huge
      for _ = 1, 5 do
        local _, _, took = expand(text)
        best = math.min(best, took)
      end
      return best
    end
    local small, large = fastest(400), fastest(6400)
    assert(large < 16 * small * 4 + 0.05, ("%.4f s, 16 times as much %.4f s"):format(small, large))
  end)
end)

describe("a macro of its author's #time", function()
  local function with(name, run)
    local registry = macros.registry()
    registry:add { name = name, summary = "test", stability = "stable", parameters = { "a?" }, run = run }
    return registry
  end

  it("that refers to itself is stopped, however it does", function()
    local ways = {
      function(call) return call:expand "<{{m}}{{m}}>" end,
      function(call) return (macros.expand("<{{m}}{{m}}>", call.environment)) end,
      function(call) return (macros.expand("<{{m}}{{m}}>", call.environment:fork())) end,
    }
    for _, way in ipairs(ways) do
      assert.equal("<{{m}}{{m}}>", (expand("{{m}}", environment { registry = with("m", way) })))
    end
    local _, report = expand("a{{m}}", environment { registry = with("m", ways[1]) })
    assert.equal("self_reference", codes(report))
    assert.equal(2, report.errors[1].position)
  end)

  it("that refers to itself through others is stopped, too", function()
    local registry = macros.registry()
    for i = 1, 40 do
      registry:add { name = "m" .. i, summary = "test", stability = "stable", run = function(call)
        return call:expand(("{{m%d}}{{m%d}}"):format(i % 40 + 1, i % 40 + 1))
      end }
    end
    local result, report = expand("{{m1}}", environment { registry = registry })
    assert.equal("{{m1}}", result)
    assert.equal("limit", codes(report))
  end)

  it("may not go on after a limit", function()
    local registry = with("m", function(call)
      while true do
        local ok, problem = pcall(call.expand, call, ("{{user}}"):rep(1000))
        if not ok then error(problem, 0) end
      end
    end)
    local result, report = expand("{{m}}", environment { registry = registry })
    assert.equal("{{m}}", result)
    assert.equal("limit", codes(report))
  end)

  it("may not swallow one, either", function()
    local registry = with("m", function(call)
      pcall(call.allow, call, 1 << 40)
      return "went on"
    end)
    local result, report = expand("a {{m}}", environment { registry = registry })
    assert.equal("a {{m}}", result)
    assert.equal("limit", codes(report))
    assert.equal(3, report.errors[1].position)
  end)

  it("leaves an environment that can be used again", function()
    local env = environment { registry = with("m", function() error "boom" end) }
    expand("{{m}}", env)
    expand(("{{user}}"):rep(100001), env)
    local fork
    env.registry:add { name = "f", summary = "test", stability = "stable", run = function(call)
      fork = call.environment:fork()
      return ""
    end }
    expand("{{f}}" .. ("{{user}}"):rep(99999), env)
    assert.equal("Ann", (expand("{{user}}", env)))
    assert.equal("Ann Ann", (expand("{{user}} {{user}}", fork)))
  end)
end)

describe("random texts", function()
  local SEED = helper.seed()
  local ROUNDS = 1000

  local PIECES = {
    "{{", "}}", "{", "}", "::", ":", "\\", "\\{{", "\\}}", "\\::", " ", "\n", "a", "user", "upper", "setvar", "getvar",
    "trim", "random", "roll", "2d6", "repeat", "3", "//", "nope", "日本", "\xFF", "\xE4\xB8", "\0", "{{user}}",
    "{{trim}}",
    "{{upper::", "{{setvar::v::", "{{getvar::v}}", "{{reverse::", "{{truncate::", ",",
  }

  local function random_text(pieces)
    local parts = {}
    for i = 1, math.random(0, 30) do
      parts[i] = pieces[math.random(#pieces)]
    end
    return table.concat(parts)
  end

  local function each(check)
    math.randomseed(SEED)
    for round = 1, ROUNDS do
      local text = random_text(PIECES)
      local ok, problem = pcall(check, text)
      assert(ok, ("SEED=%d round %d, %q: %s"):format(SEED, round, text, tostring(problem)))
    end
  end

  it("without an opening are as they were", function()
    each(function(text)
      text = text:gsub("{{+", "{")
      local result, report = macros.expand(text, environment())
      assert(result == text)
      assert(report.count == 0 and #report.errors == 0 and #report.unknown == 0)
    end)
  end)

  it("that are escaped give the text", function()
    each(function(text)
      local result, report = macros.expand(macros.escape(text), environment())
      assert(result == text, result)
      assert(report.count == 0 and #report.unknown == 0)
    end)
  end)

  it("as values come out as they went in", function()
    each(function(text)
      assert(macros.expand("{{user}}", environment { values = { user = text } }) == (text == "" and "User" or text))
      local env = environment { variables = { ["local"] = { v = text } } }
      assert(macros.expand("<{{getvar::v}}>", env) == "<" .. text .. ">")
    end)
  end)

  it("expand equally twice, and in a fork before", function()
    each(function(text)
      local env = environment { seed = 5 }
      local preview, report = macros.expand(text, env:fork())
      assert(next(env.variables["local"]) == nil)
      local result, again = macros.expand(text, env)
      assert(preview == result)
      assert(report.stability == again.stability and report.count == again.count)
    end)
  end)

  it("keep their characters whole", function()
    local pieces = {}
    for _, piece in ipairs(PIECES) do
      if utf8.len(piece) then pieces[#pieces + 1] = piece end
    end
    math.randomseed(SEED)
    for _ = 1, ROUNDS do
      local text = random_text(pieces)
      local result = macros.expand(text, environment { values = { user = "é日👍🏽" } })
      assert(utf8.len(result), ("SEED=%d: %q gives %q"):format(SEED, text, result))
    end
  end)

  it("are found wrong by the check where the expansion finds something unknown", function()
    each(function(text)
      local _, report = macros.expand(text, environment())
      local problems = macros.check(text)
      assert(#problems > 0 or #report.unknown == 0)
    end)
  end)
end)
