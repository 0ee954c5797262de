--- Settings of the pipeline's own stages: for each there is a case in which it alone
--- changes the request. processor_settings_spec.lua has those of the formatters and
--- of attachments.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local CALLS = { { id = "x", type = "function", ["function"] = { name = "f", arguments = "{}" } } }

local RULES = '[{"id":"p","rules":[{"id":"r","regex":"one","replacement":"ONE","applyTo":{"request":true}}]}]'

--- A conversation with a blank message, reasoning, a call and its result.
local MESSAGES = {
  { role = "system", content = "rules" },
  { role = "user", content = "one one one one" },
  { role = "user", content = "  " },
  { role = "assistant", content = "two", reasoning_content = "because" },
  { role = "assistant", content = "", tool_calls = CALLS, reasoning_content = "so" },
  { role = "tool", tool_call_id = "x", content = "three three three" },
  { role = "user", content = "four" },
}

local function words(message)
  local count = 0
  for _ in message.text:gmatch "%S+" do
    count = count + 1
  end
  return count
end

local function body_of(set)
  local chat = ebb.conversation()
  chat:append(MESSAGES)
  local result, message = ebb.pipeline { counter = words, set = set }:run(chat)
  return result and result.body or message
end

--- Per setting: what holds besides, and its own value.
local CASES = {
  ["session-loader.skip_blank"] = { {}, "false" },
  ["session-loader.tool_to_user"] = { {}, "true" },
  ["session-loader.reasoning"] = { {}, "with_calls" },
  ["session-loader.enabled"] = { {}, "false" },
  ["session-loader.priority"] = { { "token-limiter.budget=8" }, "450" },
  ["regex-processor.rules"] = { {}, RULES },
  ["token-limiter.budget"] = { {}, "8" },
  ["token-limiter.reserve"] = { { "token-limiter.budget=12" }, "4" },
  ["token-limiter.policy"] = { { "token-limiter.budget=8" }, "clear_tool_uses:keep=0,placeholder=x; keep_recent" },
  ["token-limiter.guards"] = { { "token-limiter.budget=1" }, "false" },
  ["token-limiter.when_full"] = { { "token-limiter.budget=0" }, "drop_history" },
  ["token-limiter.retained_characters"] = { { "token-limiter.budget=9" }, "3" },
  ["token-limiter.retained_note"] = {
    { "token-limiter.budget=9", "token-limiter.retained_characters=3" }, " (cut)",
  },
}

local ELSEWHERE = {
  ["transcription-processor"] = true, ["merge-system"] = true, ["merge-roles"] = true, ["convert-system"] = true,
  ["alternate-roles"] = true, ["asset-resolver"] = true, lorebook = true,   -- lorebook_spec.lua
}

describe("a setting alone changes the request:", function()
  for name, case in pairs(CASES) do
    it(name, function()
      local with = table.move(case[1], 1, #case[1], 1, {})
      with[#with + 1] = ("%s=%s"):format(name, case[2])

      assert.not_equal(body_of(case[1]), body_of(with))
    end)
  end

  it("each has a case", function()
    for _, each in ipairs(ebb.pipeline():order()) do
      for _, field in ipairs(ELSEWHERE[each.processor.id] and {} or each.processor.config_fields or {}) do
        local name = ("%s.%s"):format(each.processor.id, field.key)
        assert.truthy(CASES[name], name .. " has no case")
      end
    end
  end)
end)

describe("what settings of the session loader do:", function()
  local cases = {
    -- set                                       what is sent
    { {},                                        "rules | one one one one | two |  | three three three | four" },
    { { "session-loader.skip_blank=false" },
      "rules | one one one one\n\n---\n\n   | two |  | three three three | four" },
    { { "session-loader.tool_to_user=true" },    "rules | one one one one | two | three three three\n\n---\n\nfour" },
  }
  for _, case in ipairs(cases) do
    it(table.concat(case[1], " "), function()
      local found = {}
      for i, message in ipairs(assert(ebb.parse(body_of(case[1])))) do
        found[i] = message.content
      end
      assert.equal(case[2], table.concat(found, " | "))
    end)
  end

  it("reasoning", function()
    local function reasons(which)
      local _, count = body_of({ "session-loader.reasoning=" .. which }):gsub("reasoning_content", "")
      return count
    end
    assert.same({ 2, 1, 0 }, { reasons "all", reasons "with_calls", reasons "none" })
  end)
end)
