--- Sessions of Claude Code: branches, replies in several lines, parallel calls, compactions, sidechains.

local kit = dofile "tests/lua/import_kit.lua"
local helper = dofile "tests/lua/helper.lua"

local NULL = helper.ebb.null

--- A line of the file: kind, uuid, parent's uuid, and what else there is.
local function line(kind, uuid, parent, message, more)
  local record = { type = kind, uuid = uuid, parentUuid = parent or NULL, sessionId = "s", message = message }
  for name, value in pairs(more or {}) do record[name] = value end
  return record
end

local function user(uuid, parent, content, more)
  return line("user", uuid, parent, { role = "user", content = content }, more)
end

--- A line of a reply: its message id, and one block.
local function reply(uuid, parent, id, block, more)
  if type(block) == "string" then block = { type = "text", text = block } end
  return line("assistant", uuid, parent, { id = id, role = "assistant", model = "claude-opus-4-5", content = { block },
    usage = { output_tokens = 5 } }, more)
end

local function call(id) return { type = "tool_use", id = id, name = "Read", input = { path = id } } end

local function result(uuid, parent, id, text, more)
  return user(uuid, parent, { { type = "tool_result", tool_use_id = id, content = text } }, more)
end

local function boundary(uuid, logical, metadata)
  return line("system", uuid, nil, nil,
    { subtype = "compact_boundary", logicalParentUuid = logical, compactMetadata = metadata or { trigger = "auto" } })
end

local function summary(uuid, parent, text)
  return user(uuid, parent, text, { isCompactSummary = true, isVisibleInTranscriptOnly = true })
end

local SIDE = { isSidechain = true, agentId = "agent7" }

local CASES = {
  { "a straight chain",
    { user("a", nil, "q"), reply("b", "a", "m1", "hi"), user("c", "b", "bye") },
    "u:q | a:hi | u:bye", 1 },
  { "the branch with the newest line is current",
    { user("a", nil, "q"), reply("b", "a", "m1", "one"), user("c", "b", "old"), reply("d", "c", "m2", "older"),
      user("e", "b", "new"), reply("f", "e", "m3", "newer") },
    "u:q | a:one | u:new | a:newer", 2, { "2 inactive line: another branch, or before a compaction" } },
  { "parallel calls in three lines, with results off the path",
    { user("a", nil, "q"), reply("b1", "a", "m1", call "x"), reply("b2", "b1", "m1", call "y"),
      reply("b3", "b2", "m1", call "z"), result("r2", "b2", "y", "Y"), result("r1", "b1", "x", "X"),
      result("r3", "b3", "z", "Z"), reply("c", "r3", "m2", "done") },
    "u:q | a:Read(x)+Read(y)+Read(z) | u:r(y):Y+r(x):X+r(z):Z | a:done", 1, {} },
  { "results that come while the reply still streams",
    { user("a", nil, "q"), reply("b1", "a", "m1", call "x"), result("r1", "b1", "x", "X"),
      reply("b2", "r1", "m1", call "y"), result("r2", "b2", "y", "Y"), reply("c", "r2", "m2", "done") },
    "u:q | a:Read(x)+Read(y) | u:r(x):X+r(y):Y | a:done", 1, {} },
  { "words of the user that came between two lines of one reply",
    { user("a", nil, "q"), reply("b1", "a", "m1", call "x"), user("w", "b1", "wait"), reply("b2", "w", "m1", call "y"),
      result("r1", "b1", "x", "X"), result("r2", "b2", "y", "Y"), reply("c", "r2", "m2", "done") },
    "u:q | a:Read(x)+Read(y) | u:r(x):X+r(y):Y | u:wait | a:done", 1 },
  { "the last call is open",
    { user("a", nil, "q"), reply("b", "a", "m1", call "x"), reply("c", "b", "m1", call "y"), result("r", "b", "x", "X"),
    }, "u:q | a:Read(x)+Read(y) | u:r(x):X", 1, {} },
  { "a streamed partial counts once, before or after its full version",
    { user("a", nil, "q"), reply("b", "a", "m1", "Let me"), reply("c", "a", "m1", "Let me see"),
      reply("d", "c", "m1", "Let"), user("e", "c", "ok") },
    "u:q | a:Let me see | u:ok", 1, { "2 streamed partial: another one has more" } },
  { "a partial of thinking, and a call that comes twice: the last version stays in the first place",
    { user("a", nil, "q"), reply("b", "a", "m1", { type = "thinking", thinking = "hm", signature = "" }),
      reply("c", "b", "m1", { type = "thinking", thinking = "hmm, yes", signature = "s" }),
      reply("d", "c", "m1", { type = "tool_use", id = "x", name = "Old", input = {} }), reply("e", "d", "m1", "text"),
      reply("f", "e", "m1", call "x") },
    "u:q | a:<hmm, yes>+Read(x)+text", 1, { "2 streamed partial: another one has more" } },
  { "texts of different replies are no partials of one another",
    { user("a", nil, "q"), reply("b", "a", "m1", "Let me"), user("c", "b", "go"), reply("d", "c", "m2", "Let me see") },
    "u:q | a:Let me | u:go | a:Let me see", 1, {} },
  { "a parent that does not exist loses nothing",
    { user("a", nil, "q"), reply("b", "a", "m1", "hi"), user("c", "phantom", "more"), reply("d", "c", "m2", "yes") },
    "u:q | a:hi | u:more | a:yes", 1, { "1 missing parent: the one before it in the file takes its place" } },
  { "a first line whose parent is in another file",
    { user("a", "elsewhere", "q"), reply("b", "a", "m1", "hi") },
    "u:q | a:hi", 1, { "1 missing parent: it begins in another file" } },
  { "a later line with the same uuid replaces the earlier, in its place",
    { user("a", nil, "old"), reply("b", "a", "m1", "hi"), user("a", nil, "new") },
    "u:new | a:hi", 1, { "1 repeated line: a later line has its uuid" } },
  { "a compaction: the model gets the summary and what follows",
    { user("a", nil, "q"), reply("b", "a", "m1", "hi"), boundary("c", "b"), summary("d", "c", "SUMMARY"),
      user("e", "d", "go on"), reply("f", "e", "m2", "yes") },
    "u:SUMMARY | u:go on | a:yes", 1,
    { "1 other line: compact_boundary", "2 inactive line: another branch, or before a compaction" } },
  { "two compactions, the last of which preserved messages by uuids",
    { user("a", nil, "q"), boundary("b", "a"), summary("c", "b", "S1"), user("d", "c", "two"),
      reply("e", "d", "m1", "three"), user("f", "e", "four"),
      boundary("g", "f", { preservedMessages = { anchorUuid = "h", uuids = { "e", "f" } } }), summary("h", "g", "S2"),
      user("i", "h", "five"), reply("j", "i", "m2", "six") },
    "u:S2 | a:three | u:four | u:five | a:six", 1 },
  { "a compaction that preserved a segment",
    { user("a", nil, "q"), reply("b", "a", "m1", "one"), user("c", "b", "two"), reply("d", "c", "m2", "three"),
      boundary("e", "d", { preservedSegment = { headUuid = "b", anchorUuid = "f", tailUuid = "d" } }),
      summary("f", "e", "S"), user("g", "f", "four") },
    "u:S | a:one | u:two | a:three | u:four", 1 },
  { "a parent that does not exist behind a compaction: what was preserved stands before it",
    { user("a", nil, "q"), reply("b", "a", "m1", "one"),
      boundary("c", "b", { preservedMessages = { anchorUuid = "d", uuids = { "b" } } }), summary("d", "c", "S"),
      user("e", "phantom", "go") },
    "u:S | a:one | u:go", 1 },
  { "preserved messages that do not exist are left out",
    { user("a", nil, "q"), boundary("b", "a", { preservedMessages = { anchorUuid = "c", uuids = { "x", "a" } } }),
      summary("c", "b", "S"), user("d", "c", "r") },
    "u:S | u:q | u:r", 1 },
  { "sidechains, team mates and progress are not on the main line",
    { user("a", nil, "q"), user("s1", nil, "task", SIDE), reply("b", "a", "m1", "hi"),
      reply("s2", "s1", "m9", "sub", SIDE),
      user("t", "b", "mate", { teamName = "red" }), line("progress", "p", "b", nil) },
    "u:q | a:hi", 1, { "1 other line: progress", "3 sidechain line: a sidechain" } },
  { "lines on the way that are no messages",
    { user("a", nil, "q"), line("system", "b", "a", nil, { subtype = "info" }), line("attachment", "c", "b"),
      line("progress", "d", "c"), reply("e", "d", "m1", "hi"), { type = "summary", summary = "x" },
      { type = "file-history-snapshot" }, { type = "type-of-tomorrow" }, line("kind-of-tomorrow", "f", "e") },
    "u:q | a:hi", 1, {
      "1 other line: summary", "1 other line: file-history-snapshot", "1 other line: type-of-tomorrow",
      "1 other line: system", "1 other line: attachment without a type", "1 other line: progress",
      "1 other line: kind-of-tomorrow",
    } },
  { "words of the program, errors of the API and lines for the transcript only",
    { user("a", nil, "q"), user("b", "a", "caveat", { isMeta = true }),
      reply("c", "b", "m0", "API Error", { isApiErrorMessage = true }),
      user("d", "c", "shown", { isVisibleInTranscriptOnly = true }), reply("e", "d", "m1", "hi") },
    "u:q+caveat | a:hi", 1, { "1 error line: assistant", "1 transcript line: user" } },
  { "a circle of parents ends, and says so",
    { user("a", "b", "q"), reply("b", "a", "m1", "hi") },
    "u:q | a:hi", 1, { "1 circle of parents: it begins in another file" } },
  { "a line that is its own parent",
    { user("a", nil, "q"), reply("b", "b", "m1", "hi") },
    "u:q | a:hi", 1, { "1 circle of parents: the one before it in the file takes its place" } },
  { "empty messages are counted",
    { user("a", nil, ""), reply("b", "a", "m1", "hi"), user("c", "b", helper.ebb.json.array {}) },
    "a:hi", 1, { "2 empty message: without text or blocks" } },
}

describe("a session of Claude Code", function()
  for _, case in ipairs(CASES) do
    it("has " .. case[1], function()
      local found = kit.read("claude_code", kit.jsonl(case[2]))
      assert.equal(case[3], kit.anthropic(found))
      assert.equal(case[4], found.branches)
      if case[5] then assert.same(case[5], kit.report(found)) end
      assert(helper.ebb.parse(kit.import.body(found)))
    end)
  end

  it("gives another branch by number, id or the beginning of one; sidechains by agent", function()
    local text = kit.jsonl {
      user("aaaa1", nil, "q"), reply("bbbb1", "aaaa1", "m1", "one"), user("cccc1", "bbbb1", "old"),
      user("dddd1", "bbbb1", "new"), user("s1", nil, "task", SIDE), reply("s2", "s1", "m9", "sub", SIDE),
    }
    for branch, words in pairs {
      ["1"] = "u:q | a:one | u:new", ["2"] = "u:q | a:one | u:old", cccc1 = "u:q | a:one | u:old",
      cccc = "u:q | a:one | u:old", agent7 = "u:task | a:sub", ["3"] = "u:task | a:sub",
    } do
      assert.equal(words, kit.anthropic(kit.read("claude_code", text, { branch = branch })))
    end
    local message, problem = kit.refusal(text, { branch = "nope", path = "s.jsonl" })
    assert.same({ "unknown_name", "there are 1 (dddd1), 2 (cccc1), 3 (agent7, sidechain)" },
      { problem.code, problem.hint })
    assert.matches("^s.jsonl: no branch 'nope'", message)
  end)

  it("of a subagent is all sidechain, and is read unchanged", function()
    local records = { user("a", nil, "task", SIDE), reply("b", "a", "m1", "sub", SIDE) }
    local found = kit.read("claude_code", kit.jsonl(records))
    assert.equal("u:task | a:sub", kit.anthropic(found))
  end)

  it("names the model of the last reply, and the lines of messages", function()
    local records = { { type = "summary" }, user("a", nil, "q"), reply("b", "a", "m", "hi") }
    local found = kit.read("claude_code", kit.jsonl(records))
    assert.same({ "claude-opus-4-5", { 2, 3 }, "anthropic" }, { found.model, found.lines, found.dialect })
    assert.is_nil(found.system or found.tools)
  end)

  it("keeps the bytes of what a message holds", function()
    local raw = '{"type":"assistant","uuid":"b","parentUuid":null,"sessionId":"s","message":{' ..
      '"role":"assistant","id":"m","content":[ {"type":"tool_use","id":"t","name":"f",' ..
      '"input":{"z":1.0,"a":12345678901234567890}} ]}}\n'
    assert.truthy(kit.read("claude_code", raw).messages[1]:find('{"z":1.0,"a":12345678901234567890}', 1, true))
    local second = raw:gsub('"uuid":"b"', '"uuid":"c"'):gsub('"t"', '"u"'):gsub("null", '"b"')
    local found = kit.read("claude_code", raw .. second)
    assert.equal(1, #found.messages)
    assert.equal(2, select(2, found.messages[1]:gsub('{"z":1%.0,"a":12345678901234567890}', "")))
  end)

  it("that was rewritten with each turn has each message once", function()
    local text = kit.jsonl {
      user("a", nil, "q"), reply("b", "a", "m1", call "x"), result("r", "b", "x", "X"), reply("c", "r", "m2", "done"),
      user("a2", nil, "q"), reply("b2", "a2", "m1", call "x"), result("r2", "b2", "x", "X"),
      reply("c2", "r2", "m2", "done"), user("d", "c2", "next"),
    }
    assert.equal("u:q | a:Read(x) | u:r(x):X | a:done | u:next", kit.anthropic(kit.read("claude_code", text)))
  end)
end)
