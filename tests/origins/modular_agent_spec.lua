--- The cases of modular-agent, the project after seeds 000, 003 and 004:
--- operations and what that project's own code gave for them, bugs included.
--
-- A test asserts
--
--     what the original gave  ->  changed by the case's rows  ->  changed by the op's rules
--
-- (modular_agent_differences.lua); a case that nothing changed is one that
-- agrees. The file stays where it is: EBB_SHARED/data/cases/modular_agent.json.

local adaptor = dofile "tests/origins/modular_agent.lua"
local differences = dofile "tests/origins/modular_agent_differences.lua"
local util = require "luassert.util"

local tally = { agree = 0, differ_by_rule = 0, differ_by_row = 0 }
local idle = {}   -- what a row says of a case that does not exist, or in which it changes nothing

for _, row in ipairs(differences.rows) do
  for name in pairs(row.cases) do
    idle[name .. ": " .. row.bug] = true
  end
end

local function same(a, b) return (util.deepcompare(a, b, true)) end

--- Changes the steps by the case's rows; gives the bugs that these name.
local function change_by_rows(steps, case)
  local bugs = {}
  for _, row in ipairs(differences.rows) do
    local fields, before = row.cases[case.name], util.deepcopy(steps)
    if fields then
      differences.change(steps, fields)
      if not same(before, steps) then idle[case.name .. ": " .. row.bug] = nil end
      bugs[#bugs + 1] = row.bug
    end
  end
  return bugs
end

local function change_by_rules(steps, case)
  for _, rule in ipairs(differences.rules[case.op] or {}) do
    rule(steps, case)
  end
end

--- Returns what Ebb must give for a case, and the bugs that it must not have.
local function expected_of(case)
  local steps = adaptor.recorded[case.op](case)
  local original = util.deepcopy(steps)
  local bugs = change_by_rows(steps, case)
  change_by_rules(steps, case)
  local kind = #bugs > 0 and "differ_by_row" or same(original, steps) and "agree" or "differ_by_rule"
  tally[kind] = tally[kind] + 1
  return steps, bugs
end

describe("modular-agent's case", function()
  local cases, why_not = adaptor.cases()
  if not cases then
    it("file", function() pending("skipped: " .. why_not) end)
    return
  end

  for _, case in ipairs(cases) do
    local expected, bugs = expected_of(case)
    local title = #bugs > 0 and ("%s (not: %s)"):format(case.name, table.concat(bugs, "; ")) or case.name
    it(title, function()
      assert.same(expected, adaptor.computed[case.op](case))
    end)
  end

  it("list is complete, and every row names a difference", function()
    assert.equal(#cases, tally.agree + tally.differ_by_rule + tally.differ_by_row)
    assert.same({ agree = 27, differ_by_rule = 34, differ_by_row = 39 }, tally)
    assert.same({}, idle)
  end)
end)
