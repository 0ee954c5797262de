--- Exports of opencode: parts of tools, steps, summaries, reverts.

local kit = dofile "tests/lua/import_kit.lua"
local helper = dofile "tests/lua/helper.lua"

local json = helper.ebb.json

local function text(words, more)
  local part = { type = "text", text = words }
  for name, value in pairs(more or {}) do part[name] = value end
  return part
end

local function tool(id, state) return { type = "tool", callID = id, tool = "ls", state = state } end

local function completed(id, output) return tool(id, { status = "completed", input = { a = 1 }, output = output }) end

local function user(id, parts) return { info = { id = id, role = "user" }, parts = parts } end

local function reply(id, parts, more)
  local info = { id = id, role = "assistant", modelID = "claude-sonnet-4-5" }
  for name, value in pairs(more or {}) do info[name] = value end
  return { info = info, parts = parts }
end

local function export(messages, info)
  info = info or {}
  info.id = "ses_1"
  return json.encode { info = info, messages = json.array(messages) }
end

local START, FINISH = { type = "step-start" }, { type = "step-finish" }

local CASES = {
  { "steps of one message: what follows a result is a message of its own",
    { user("1", { text "q" }), reply("2", { START, text "look", completed("x", "X"), completed("y", "Y"), FINISH, START,
      text "more", completed("z", "Z"), FINISH }), reply("3", { text "done" }) },
    "u:q | a:look+ls(x)+ls(y) | u:r(x):X+r(y):Y | a:more+ls(z) | u:r(z):Z | a:done" },
  { "calls without results, with errors, and with output that was cleared",
    { user("1", { text "q" }), reply("2", { tool("p", { status = "pending", input = {} }), tool("r",
      { status = "running" }),
      tool("e", { status = "error", error = "no" }), tool("c", { status = "completed", output = "X",
        time = { compacted = 5 } }) }) },
    "u:q | a:ls(p)+ls(r)+ls(e)+ls(c) | u:r(p):![no result: the tool was interrupted]+" ..
      "r(r):![no result: the tool was interrupted]+r(e):!no+r(c):[output cleared]",
    { "2 call without result: it gets one that says so" } },
  { "ignored text out, synthetic text in, other parts counted",
    { user("1", { text "q", text("shown", { ignored = true }), text("file", { synthetic = true }), { type = "patch" },
      { type = "file", mime = "text/plain", url = "file:///a" } }), reply("2", { { type = "snapshot" }, text "hi" }) },
    "u:q+file | a:hi",
    { "1 hidden part: ignored text", "1 synthetic text: put in by the program", "1 other part: patch",
      "1 other part: file text/plain", "1 other part: snapshot" } },
  { "the context begins at the last summary",
    { user("1", { text "q" }), reply("2", { text "hi" }), user("3", { { type = "compaction", auto = true } }),
      reply("4", { text "SUMMARY" }, { summary = true }), user("5", { text "go" }) },
    "u:Sum up what was done until now. | a:SUMMARY | u:go",
    { "2 compacted message: a summary replaced it", "1 synthetic text: stands for a request to sum up" } },
  { "a summary that failed is none",
    { user("1", { text "q" }), reply("2", { text "S" }, { summary = true, error = { name = "APIError" } }), user("3",
      { text "go" }) },
    "u:q | u:go", { "1 failed reply: the model does not get it" } },
  { "a reply that the user stopped stays",
    { user("1", { text "q" }), reply("2", { text "half" }, { error = { name = "MessageAbortedError" } }) },
    "u:q | a:half" },
}

describe("an export of opencode", function()
  for _, case in ipairs(CASES) do
    it("has " .. case[1], function()
      local found = kit.read("opencode", export(case[2]))
      assert.equal(case[3], kit.anthropic(found))
      if case[4] then assert.same(case[4], kit.report(found)) end
      assert(helper.ebb.parse(kit.import.body(found)))
    end)
  end

  it("hides what a revert hides: a message and all after it, or from a part on", function()
    local messages = { user("1", { text "q" }), reply("2", { text("one", { id = "p1" }), text("two", { id = "p2" }) }),
      user("3", { text "bad" }), reply("4", { text "worse" }) }
    assert.equal("u:q | a:one+two", kit.anthropic(kit.read("opencode", export(messages,
      { revert = { messageID = "3" } }))))
    assert.equal("u:q | a:one", kit.anthropic(kit.read("opencode",
      export(messages, { revert = { messageID = "2", partID = "p2" } }))))
    assert.equal(4, #kit.read("opencode", export(messages, { revert = { messageID = "9" } })).messages)
  end)

  it("keeps pictures, signatures and the bytes of arguments", function()
    local part = '{"type":"tool","callID":"x","tool":"f","state":{"status":"completed","input":{"z":1.0,"a":2},' ..
      '"output":"o","attachments":[{"mime":"image/png","url":"data:image/png;base64,aGk="}]}}'
    local found = kit.read("opencode", export {
      user("1", { text "q", { type = "file", mime = "image/png", url = "data:image/png;base64,aGk=" },
        { type = "file", mime = "application/pdf", url = "https://x/y.pdf", filename = "y" } }),
      reply("2", { { type = "reasoning", text = "hm", metadata = { anthropic = { signature = "s" } } },
        json.raw(part) }),
    })
    local function blocks(i) return json.decode(found.messages[i]).content end
    assert.same({ type = "image", source = { type = "base64", media_type = "image/png", data = "aGk=" } }, blocks(1)[2])
    assert.same({ type = "document", source = { type = "url", url = "https://x/y.pdf" }, title = "y" }, blocks(1)[3])
    assert.same({ type = "thinking", thinking = "hm", signature = "s" }, blocks(2)[1])
    assert.truthy(found.messages[2]:find('"input":{"z":1.0,"a":2}', 1, true))
    assert.equal("image", blocks(3)[1].content[2].type)
  end)

  it("of a model of others is written as Chat Completions", function()
    local found = kit.read("opencode", export { user("1", { text "q" }),
      reply("2", { { type = "reasoning", text = "hm" }, completed("x", "X"), text "done" }, { modelID = "gpt-5.2" }) })
    assert.same({ 'u:q | a:<hm>ls(x){"a":1} | t(x):X | a:done', "openai", "gpt-5.2" },
      { kit.openai(found), found.dialect, found.model })
  end)
end)
