--- Sessions of pi: the tree of entries, compactions, edits of the context, system prompt and tools.

local kit = dofile "tests/lua/import_kit.lua"
local helper = dofile "tests/lua/helper.lua"

local json, NULL = helper.ebb.json, helper.ebb.null

local HEAD = { type = "session", version = 3, id = "s", timestamp = "t", cwd = "p" }

local function entry(kind, id, parent, more)
  local record = { type = kind, id = id, parentId = parent or NULL, timestamp = "t" }
  for name, value in pairs(more or {}) do record[name] = value end
  return record
end

local function message(id, parent, role, content, more)
  local body = { role = role, content = content }
  for name, value in pairs(more or {}) do body[name] = value end
  return entry("message", id, parent, { message = body })
end

local function user(id, parent, text) return message(id, parent, "user", text) end

local function reply(id, parent, blocks, more)
  if type(blocks) == "string" then blocks = { { type = "text", text = blocks } } end
  more = more or {}
  more.model = more.model or "claude-opus-4-5"
  return message(id, parent, "assistant", blocks, more)
end

local function call(id) return { type = "toolCall", id = id, name = "ls", arguments = { path = id } } end

local function result(id, parent, call_id, text, more)
  more = more or {}
  more.toolCallId, more.toolName = call_id, "ls"
  return message(id, parent, "toolResult", { { type = "text", text = text } }, more)
end

local FRAME = "u:What was said before, as a summary:\n\n<summary>\n%s\n</summary>"
local TRIED = "u:What was tried on another branch of this conversation, as a summary:\n\n<summary>\n%s\n</summary>"

local CASES = {
  { "a chain with parallel calls and an error",
    { HEAD, user("1", nil, "q"), reply("2", "1", { { type = "text", text = "look" }, call "x", call "y" }),
      result("3", "2", "x", "X"), result("4", "3", "y", "Y", { isError = true }), reply("5", "4", "done") },
    "u:q | a:look+ls(x)+ls(y) | u:r(x):X+r(y):!Y | a:done", 1 },
  { "the branch of the last entry",
    { HEAD, user("1", nil, "q"), reply("2", "1", "one"), user("3", "2", "old"), user("4", "2", "new") },
    "u:q | a:one | u:new", 2, { "1 other line: session", "1 inactive line: another branch" } },
  { "a branch that ends in an entry that is no message",
    { HEAD, user("1", nil, "q"), reply("2", "1", "one"), user("3", "2", "old"), entry("label", "4", "2"),
      entry("model_change", "5", "4", { modelId = "claude-haiku-4-5" }) },
    "u:q | a:one", 2 },
  { "a compaction: summary, what it kept, and what follows",
    { HEAD, user("1", nil, "q"), reply("2", "1", "one"), user("3", "2", "kept"), reply("4", "3", "kept too"),
      entry("compaction", "5", "4", { summary = "SUMMARY", firstKeptEntryId = "3", tokensBefore = 9 }),
      user("6", "5", "next") },
    FRAME:format "SUMMARY" .. " | u:kept | a:kept too | u:next", 1,
    { "1 other line: session", "2 compacted entry: a compaction replaced it",
      "1 synthetic message: summary of a compaction" } },
  { "a compaction that kept nothing, after another one",
    { HEAD, user("1", nil, "q"), entry("compaction", "2", "1", { summary = "S1", firstKeptEntryId = "1" }),
      user("3", "2", "r"), entry("compaction", "4", "3", { summary = "S2", firstKeptEntryId = "4" }), user("5", "4",
        "s") },
    FRAME:format "S2" .. " | u:s", 1 },
  { "edits of the context: the latest on the branch, replaced or omitted",
    { HEAD, user("1", nil, "q"), reply("2", "1", "secret"), user("3", "2", "long"), reply("4", "3", "ok"),
      entry("context_edit", "5", "4", { targetId = "2", replacement = "x" }),
      entry("context_edit", "6", "5", { targetId = "2", replacement = NULL }),
      entry("context_edit", "7", "6", { targetId = "3", replacement = { { type = "text", text = "short" } } }),
      user("8", "7", "go") },
    "u:q | u:short | a:ok | u:go", 1 },
  { "an edit that was gone back from has no effect",
    { HEAD, user("1", nil, "q"), reply("2", "1", "one"), entry("context_edit", "3", "2", { targetId = "1" }),
      user("4", "2", "go") },
    "u:q | a:one | u:go", 2 },
  { "what goes to the model and what does not",
    { HEAD, user("1", nil, "q"), entry("custom", "2", "1"), entry("custom_message", "3", "2",
      { content = "extension" }),
      entry("branch_summary", "4", "3", { summary = "left branch" }),
      message("5", "4", "bashExecution", nil, { command = "ls", output = "a", exitCode = 1 }),
      message("6", "5", "bashExecution", nil, { command = "pwd", output = "p", excludeFromContext = true }),
      message("7", "6", "hookMessage", "hook"), reply("8", "7", "half", { stopReason = "aborted" }),
      entry("usage", "9", "8"), reply("10", "9", "done") },
    "u:q | u:extension | " .. TRIED:format "left branch" .. " | u:$ ls\na\n(exit code 1) | u:hook | a:done", 1 },
  { "a parent that does not exist, and a circle",
    { HEAD, user("1", "2", "q"), reply("2", "1", "one"), user("3", "phantom", "go") },
    "u:q | a:one | u:go", 1, { "1 other line: session", "1 circle of parents: it begins in another file",
      "1 missing parent: the one before it in the file takes its place" } },
  { "version 1: one line after the other, without ids",
    { { type = "session", id = "s", cwd = "p" }, { type = "message", message = { role = "user", content = "q" } },
      { type = "message", message = { role = "assistant", model = "claude-x", content = { { type = "text",
        text = "hi" } } } } },
    "u:q | a:hi", 1 },
}

describe("a session of pi", function()
  for _, case in ipairs(CASES) do
    it("has " .. case[1], function()
      local found = kit.read("pi", kit.jsonl(case[2]))
      assert.equal(case[3], kit.anthropic(found))
      assert.equal(case[4], found.branches)
      if case[5] then assert.same(case[5], kit.report(found)) end
      assert(helper.ebb.parse(kit.import.body(found)))
    end)
  end

  it("of a model of others is written as Chat Completions; images of results move", function()
    local found = kit.read("pi", kit.jsonl {
      HEAD, user("1", nil, "q"), reply("2", "1", { { type = "thinking", thinking = "hm" }, call "x" },
        { model = "gpt-5.2" }),
      message("3", "2", "toolResult", { { type = "text", text = "X" }, { type = "image", data = "aa",
        mimeType = "image/png" } },
        { toolCallId = "x" }),
      reply("4", "3", "done", { model = "gpt-5.2" }),
    })
    assert.equal("openai", found.dialect)
    assert.equal('u:q | a:<hm>ls(x){"path":"x"} | t(x):X | u:image_url | a:done', kit.openai(found))
    assert.equal(1, kit.count(found, "moved image"))
  end)

  it("keeps signatures of thinking for models of Anthropic", function()
    local found = kit.read("pi", kit.jsonl {
      HEAD, user("1", nil, "q"), reply("2", "1", { { type = "thinking", thinking = "hm", thinkingSignature = "sig" },
        { type = "thinking", thinking = "", thinkingSignature = "DATA", redacted = true }, { type = "text",
          text = "hi" } }),
    })
    assert.same({ { type = "thinking", thinking = "hm", signature = "sig" },
      { type = "redacted_thinking", data = "DATA" }, { type = "text", text = "hi" } },
      json.decode(found.messages[2]).content)
  end)

  it("has the system prompt and tools of patches, and of a checkpoint", function()
    local function system(id, parent, text, more)
      more = more or {}
      more.sections = json.raw(text)
      return message(id, parent, "system", nil, more)
    end
    local tool = { name = "ls", description = "Lists.", parameters = { type = "object" } }
    local records = { HEAD, system("1", nil, '{"z":"First.","a":"Second.","b":"Third."}', { toolsAdded = { tool,
      { name = "rm" } } }),
      system("2", "1", '{"b":null,"c":{"text":"Fourth."}}', { toolsRemoved = { "rm" } }), user("3", "2", "q"),
      reply("4", "3", "hi") }
    local found = kit.read("pi", kit.jsonl(records))
    assert.same({ "First.\n\nSecond.\n\nFourth.", 1, "ls", 2 },
      { found.system, #found.tools, found.tools[1].name, #found.messages })
    records[6] = entry("compaction", "5", "4", { summary = "S", firstKeptEntryId = "5",
      systemMessage = { role = "system", sections = json.raw '{"x":"Checkpoint."}' } })
    assert.equal("Checkpoint.", kit.read("pi", kit.jsonl(records)).system)
  end)
end)
