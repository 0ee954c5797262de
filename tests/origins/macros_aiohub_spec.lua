--- The macro cases that AIO Hub's engine was run with. Where Ebb differs, the line of
--- BEHAVIOUR.md that says so is here; a difference that is gone, or a new one, fails.

local helper = dofile "tests/lua/helper.lua"
local macros = require "ebb.macros"

local NOW = 1762554605000   -- 2025-11-07T22:30:05Z, the cases' clock

local NESTED = "`{{name}}`, `{{name::a::b}}`, nested inner first"
local ANY_CASE = "macros in any case"

--- By input: what we give, and the words of BEHAVIOUR.md that decide.
local DIFFERENT = {
  ["{{setvar::x::{{user}}}}{{getvar::x}}"] = { "张三", NESTED },
  ["{{User}}"] = { "张三", ANY_CASE },
}

--- Lunar, ancient and financial dates are not built in; they stay as they are.
local LEFT_OUT = {
  date_cn_ancient = true, shichen = true, date_cn_uppercase = true, time_cn_uppercase = true, date_en_ancient = true,
}

local function virtual_time(options)
  local config = options.agent and options.agent.virtualTimeConfig
  if not config then return nil end
  return { virtual_base = config.virtualBaseTime, real_base = config.realBaseTime, scale = config.timeScale }
end

local function environment_of(options)
  assert.equal("2025-11-07T22:30:05Z", options.timestamp_utc)
  local history = { last = options.lastMessage or "last", user = "lu", assistant = "lc" }
  return macros.environment {
    values = {
      user = options.userName or options.user, char = options.char, persona = "persona text",
      description = options.charDescription or "desc", input = "in",
      model_id = "openai:gpt-4o", model_name = "GPT-4o", provider = "openai",
    },
    now = NOW, session_id = options.session_id, error_text = "zh",
    history = function(kind) return history[kind] end,
    virtual_time = virtual_time(options),
  }
end

local function cases(op)
  local path = helper.shared and helper.shared .. "/data/cases/aiohub.json"
  local file = path and io.open(path)
  if not file then return {} end
  local all = helper.ebb.json.decode(file:read "a")
  file:close()
  local list = {}
  for _, case in ipairs(all) do
    if case.op == op then list[#list + 1] = case end
  end
  return list
end

describe("AIO Hub", function()
  local expanded, seen = cases "macro", {}

  for _, case in ipairs(expanded) do
    it("expands " .. case.name, function()
      local environment = environment_of(case.options)
      local text, report = macros.expand(case.input, environment)
      local different = DIFFERENT[case.input]
      seen[case.input] = true
      if LEFT_OUT[case.input:match "^{{([%w_]+)}}$"] then
        assert.equal(case.input, text)
        assert.equal(1, #report.unknown)
      elseif different then
        assert.not_equal(case.expected, text)
        assert.equal(different[1], text)
      else
        assert.equal(case.expected, text)
        assert.equal(case.macro_count, report.count)
        assert.same(case.vars, environment.variables["local"])
      end
    end)
  end

  if #expanded > 0 then
    it("has all the cases that we differ in, and BEHAVIOUR.md says why", function()
      local behaviour = helper.read(helper.shared .. "/BEHAVIOUR.md")
      for input, different in pairs(DIFFERENT) do
        assert(seen[input], input)
        assert(behaviour:find(different[2], 1, true), different[2])
      end
    end)
  else
    it("cases", function() pending "EBB_SHARED has no cases" end)
  end

  for _, case in ipairs(cases "macro_validate") do
    it(case.name, function()
      assert.same(case.expected, macros.validate(case.input, { language = "zh" }))
    end)
  end
end)
