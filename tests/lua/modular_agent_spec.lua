--- The cases of modular-agent, the project behind seeds 000, 003 and 004:
--- operations and what that project's own code gave for them, bugs included.
--
-- What a test asserts is
--
--     what the original gave  ->  changed by the case's rows  ->  changed by the op's rules
--
-- (modular_agent_differences.lua); a case that nothing changed is one that
-- agrees. The file stays where it is: EBB_SHARED/data/cases/modular_agent.json.

local helper = dofile "tests/lua/helper.lua"
local adaptor = dofile "tests/lua/modular_agent.lua"
local differences = dofile "tests/lua/modular_agent_differences.lua"
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

--- What Ebb must give for a case, and the bugs that it must not have.
local function expected_of(case)
  local steps = adaptor.said[case.op](case)
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
      assert.same(expected, adaptor.given[case.op](case))
    end)
  end

  it("list is complete, and every row names a difference", function()
    assert.equal(#cases, tally.agree + tally.differ_by_rule + tally.differ_by_row)
    assert.same({ agree = 27, differ_by_rule = 34, differ_by_row = 39 }, tally)
    assert.same({}, idle)
  end)
end)

describe("rollback across clear", function()
  local function everything(chat)
    local units, pinned = {}, chat:marked "pinned":positions()
    for i, message in ipairs(chat) do
      units[i] = { message.seq, message.unit.first, message.unit.count, message.call and message.call.id }
    end
    return { chat:json(), chat:tokens(), units, pinned, chat:check "openai" }
  end

  for _, options in ipairs { {}, { keep_system_message = true }, { keep_system_message = false } } do
    it(("restores everything, keep_system_message = %s"):format(options.keep_system_message), function()
      local chat = helper.conversation("s1 u20 c3(x,y) r4(y) r5(x) a6! u7", {
        tools = { { name = "search", description = "finds" } },
      })
      chat:truncate { remove_last = 1 }
      chat:append(helper.messages "u8 c9(x) r10(x)")
      local before = everything(chat)

      chat:clear(options)
      local cleared = everything(chat)
      chat:append(helper.messages "u11")
      chat:clear(options)
      chat:rollback(1)

      assert.same(before, everything(chat))
      chat:rollback(2, chat:batches()[4].parent_length - 1)
      assert.same(cleared, everything(chat))
      chat:rollback(1)
      assert.same(before, everything(chat))
    end)
  end
end)

describe("a position beyond the end", function()
  local message = '{"role": "user", "content": "x"}'
  local cases = {
    { "u1 u2", '{"operation": "insert", "position": 3, "messages": [%s]}', "it may be 0 to 2" },
    { "u1 u2", '{"operation": "replace", "index": 2, "message": %s}', "it may be 0 to 1" },
    { "", '{"operation": "insert", "position": 1, "messages": [%s]}', "it may be 0 to 0" },
    { "", '{"operation": "replace", "index": 0, "message": %s}', "the list is empty" },
  }
  for _, case in ipairs(cases) do
    it(("is refused with the ones there are: %s of '%s'"):format(case[2], case[1]), function()
      local chat = helper.conversation(case[1])
      local problem = helper.refusal(chat.apply, chat, case[2]:format(message))
      assert.same({ "out_of_range", case[3] }, { problem.code, problem.hint })
    end)
  end
end)
