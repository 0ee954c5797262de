--- Tasks of Roo Code and Cline: what summaries and markers hide, members of their own, the second form.

local kit = dofile "tests/lua/import_kit.lua"
local helper = dofile "tests/lua/helper.lua"

local json = helper.ebb.json

local function message(role, content, more)
  local record = { role = role, content = content, ts = 1760000000000 }
  for name, value in pairs(more or {}) do record[name] = value end
  return record
end

local function call(id) return { type = "tool_use", id = id, name = "read", input = { path = "p" } } end
local function result(id, text) return { type = "tool_result", tool_use_id = id, content = text } end

local CASES = {
  { "plain messages of a task, without their own members",
    { message("user", { { type = "text", text = "<task>go</task>" } }), message("assistant", "yes",
      { reasoning_content = "hm" }) },
    "u:<task>go</task> | a:yes" },
  { "a summary that hides what names it",
    { message("user", "q", { condenseParent = "c1" }), message("assistant", "a", { condenseParent = "c1" }),
      message("user", "SUMMARY", { isSummary = true, condenseId = "c1" }), message("user", "go") },
    "u:SUMMARY | u:go", { "2 hidden message: a summary replaced it" } },
  { "a summary that was taken back: the messages return",
    { message("user", "q", { condenseParent = "c1" }), message("assistant", "a", { condenseParent = "c1" }),
      message("user", "go") },
    "u:q | a:a | u:go", {} },
  { "a marker of truncation, and one that is gone",
    { message("user", "q", { truncationParent = "t1" }), message("assistant", "a", { truncationParent = "t0" }),
      message("user", "MARK", { isTruncationMarker = true, truncationId = "t1" }), message("user", "go") },
    "a:a | u:MARK | u:go", { "1 hidden message: truncated" } },
  { "an id without the flag hides nothing",
    { message("user", "q", { condenseParent = "c1" }), message("user", "x", { condenseId = "c1" }) },
    "u:q | u:x", {} },
  { "results whose calls are hidden, and reasoning of others",
    { message("assistant", { call "x" }, { condenseParent = "c1" }),
      message("user", "S", { isSummary = true, condenseId = "c1" }),
      message("user", { result("x", "X"), { type = "text", text = "go" } }), message("user", { result("x", "X") }),
      { type = "reasoning", encrypted_content = "zzz", summary = json.array {} },
      message("assistant", { { type = "reasoning", text = "hm" }, call "y" }), message("user", { result("y", "Y") }) },
    "u:S | u:go | a:read(y) | u:r(y):Y",
    { "1 hidden message: a summary replaced it", "2 result without call: its call is hidden",
      "1 empty message: nothing of it is left", "1 other entry: reasoning", "1 other block: reasoning" } },
}

describe("a task of Roo Code or Cline", function()
  for _, case in ipairs(CASES) do
    it("has " .. case[1], function()
      local found = kit.read("roo", json.encode(case[2]))
      assert.equal(case[3], kit.anthropic(found))
      if case[4] then assert.same(case[4], kit.report(found)) end
      assert.is_nil(table.concat(found.messages):find('"ts"', 1, true))
      assert(helper.ebb.parse(kit.import.body(found)))
    end)
  end

  it("is not told from Anthropic's messages without members of its own", function()
    assert.is_nil(kit.import.recognise '[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]')
    assert.is_nil(kit.import.recognise '[{"role":"system","content":"q","ts":1}]')
  end)

  it("is a list, or an object with version and messages", function()
    assert.matches("^f:1:1: expected a list of messages", (kit.refusal("{}", { from = "roo", path = "f" })))
    assert.matches("^f:1:1: expected an export", (kit.refusal("{}", { from = "opencode", path = "f" })))
  end)

  it("of the second form has the AI SDK's parts", function()
    local function output(id, value, kind)
      return { type = "tool-result", toolCallId = id, toolName = "read", output = { type = kind or "text",
        value = value } }
    end
    local text = json.encode { version = 2, messages = {
      message("user", { { type = "text", text = "q" }, { type = "image", image = "aGk=", mediaType = "image/png" } }),
      message("assistant", { { type = "reasoning", text = "hm" }, { type = "text", text = "look" },
        { type = "tool-call", toolCallId = "x", toolName = "read", input = { path = "p" } },
        { type = "tool-call", toolCallId = "y", toolName = "read", input = { path = "q" } } }),
      message("tool", { output("x", "X"), output("y", "[ERROR] no") }),
      message("assistant", { { type = "tool-call", toolCallId = "z", toolName = "read", input = {} } }),
      message("user", { { type = "tool_result", tool_use_id = "z", content = { { type = "text", text = "Z" } } },
        { type = "text", text = "and" } }),
      message("assistant", "bye", { condenseParent = "gone" }),
      message("user", "hidden", { truncationParent = "t" }),
      message("user", "MARK", { isTruncationMarker = true, truncationId = "t" }),
    } }
    local found = kit.read("roo", text)
    assert.equal('u:q+image_url | a:<hm>look+read(x){"path":"p"}+read(y){"path":"q"} | t(x):X | t(y):[ERROR] no | ' ..
      "a:read(z){} | t(z):Z | u:and | a:bye | u:MARK", kit.openai(found))
    local signed = text:gsub('"text":"hm"', '"text":"hm","providerOptions":{"anthropic":{"signature":"s"}}')
    found = kit.read("roo", signed)
    assert.equal("u:q+image | a:<hm>+look+read(x)+read(y) | u:r(x):X+r(y):![ERROR] no | a:read(z) | u:r(z):Z+and | " ..
      "a:bye | u:MARK", kit.anthropic(found))
    assert.equal("s", json.decode(found.messages[2]).content[1].signature)
  end)
end)
