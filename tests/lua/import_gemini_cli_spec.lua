--- Sessions of Gemini CLI: records that are replaced and rewound, calls with their results, checkpoints.

local kit = dofile "tests/lua/import_kit.lua"
local helper = dofile "tests/lua/helper.lua"

local HEAD = { sessionId = "s", projectHash = "p", startTime = "t", kind = "main" }

local function user(id, content) return { id = id, type = "user", timestamp = "t", content = content } end

local function gemini(id, content, calls)
  return { id = id, type = "gemini", content = content, toolCalls = calls, model = "gemini-3-pro" }
end

local function call(id, output)
  return { id = id, name = "ls", args = {}, status = output and "success" or "cancelled",
    result = output and { { functionResponse = { id = id, name = "ls", response = { output = output } } } } or nil }
end

local CASES = {
  { "words of both sides", { HEAD, user("1", "q"), gemini("2", "hi") }, "u:q | m:hi", { "1 other line: metadata" } },
  { "a message that was written again and again, in its place",
    { HEAD, user("1", "q"), gemini("2", ""), gemini("2", "h"), gemini("2", "hi"), user("3", "bye"), gemini("2", "hi!"),
      gemini("2", "hi!!") },
    "u:q | m:hi!! | u:bye" },
  { "calls and results of one record",
    { HEAD, user("1", "q"), gemini("2", "look", { call("a", "A"), call("b", "B") }), gemini("3", "done") },
    "u:q | m:look+ls(a)+ls(b) | u:r(a):A+r(b):B | m:done" },
  { "a call without a result gets one that says so",
    { HEAD, user("1", "q"), gemini("2", "", { call("a") }) },
    "u:q | m:ls(a) | u:r(a):!no result (cancelled)",
    { "1 other line: metadata", "1 call without result: it gets one that says so" } },
  { "a rewind to a known message",
    { HEAD, user("1", "q"), gemini("2", "hi"), user("3", "no"), { ["$rewindTo"] = "2" }, user("4", "again") },
    "u:q+again", { "1 other line: metadata", "2 retracted message: a rewind" } },
  { "a rewind to an unknown message removes all",
    { HEAD, user("1", "q"), { ["$rewindTo"] = "9" }, user("4", "again") },
    "u:again", { "1 other line: metadata", "1 retracted message: a rewind to a message that does not exist" } },
  { "an id that comes again behind a rewind",
    { HEAD, user("1", "q"), user("2", "old"), { ["$rewindTo"] = "2" }, user("2", "new"), user("2", "newer") },
    "u:q+newer" },
  { "a list that replaces the one before",
    { HEAD, user("1", "q"), { ["$set"] = { messages = { user("5", "x"), gemini("6", "y") } } }, gemini("6", "yy"),
      { ["$set"] = { summary = "s" } } },
    "u:x | m:yy" },
  { "messages for people only",
    { HEAD, user("1", "q"), { id = "2", type = "info", content = "i" }, { id = "3", type = "error", content = "e" },
      { id = "4", type = "warning", content = "w" } },
    "u:q", { "1 other line: metadata", "1 other line: info", "1 other line: error", "1 other line: warning" } },
  { "contents as a text, a part and a list of parts",
    { HEAD, user("1", { { text = "a" }, "b", { inlineData = { mimeType = "image/png", data = "" } } }),
      user("2", { text = "c" }), gemini("3", {}) },
    "u:a+b+inlineData+c" },
}

describe("a session of Gemini CLI", function()
  for _, case in ipairs(CASES) do
    it("has " .. case[1], function()
      local found = kit.read("gemini_cli", kit.jsonl(case[2]))
      assert.equal(case[3], kit.gemini(found))
      if case[4] then assert.same(case[4], kit.report(found)) end
    end)
  end

  it("of older versions is one object", function()
    local old = helper.ebb.json.encode { sessionId = "s", messages = { user("1", "q"), gemini("2", "hi") } }
    local found = kit.read("gemini_cli", old)
    assert.same({ "u:q | m:hi", "gemini-3-pro", "gemini" }, { kit.gemini(found), found.model, found.dialect })
  end)

  it("is told by a change, too, where the metadata is gone", function()
    assert.equal("u:again", kit.gemini(kit.read("gemini_cli",
      kit.jsonl { user("1", "q"), { ["$rewindTo"] = "1" }, user("4", "again") })))
  end)

  it("keeps the bytes of arguments and results", function()
    local raw = '{"sessionId":"s","projectHash":"p","startTime":"t"}\n{"id":"2","type":"gemini","content":"",' ..
      '"toolCalls":[{"id":"a","name":"f","args":{"z":1.0,"a":2},' ..
      '"result":[{"functionResponse":{"name":"f","response":{"y":1.0}}}]}]}\n'
    local found = kit.read("gemini_cli", raw)
    assert.truthy(found.messages[1]:find('{"z":1.0,"a":2}', 1, true))
    assert.truthy(found.messages[2]:find('{"functionResponse":{"name":"f","response":{"y":1.0}}}', 1, true))
  end)
end)

describe("a checkpoint of Gemini CLI", function()
  it("has contents as they are sent, with signatures", function()
    local content = '{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"x"}]}'
    local text = ('{"authType":"a","history":[{"role":"user","parts":[{"text":"q"}]},%s]}'):format(content)
    local found = kit.read("gemini_cli", text)
    assert.same({ 2, content }, { #found.messages, found.messages[2] })
  end)

  it("with something else in the history is refused with its place", function()
    assert.matches("c.json: history%[1%]: expected a content with parts",
      (kit.refusal('{"history":[{"parts":[]},5]}', { path = "c.json" })))
  end)
end)
