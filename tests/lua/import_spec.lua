--- Files of other programs: how their form is told, and what holds for all of them.

local kit = dofile "tests/lua/import_kit.lua"
local helper = dofile "tests/lua/helper.lua"

local import, json, refusal = kit.import, kit.json, kit.refusal

local LINE = '{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}\n'

describe("the form of a file", function()
  it("is told by what is in it", function()
    assert.equal("claude_code", import.recognise(LINE))
    for _, entry in ipairs(import.list()) do
      assert.truthy(entry.name and entry.title and entry.kind)
    end
  end)

  local FOREIGN = {
    { "zstd", "\x28\xB5\x2F\xFDxxxx", "zstd -d" },
    { "SQLite", "SQLite format 3\0xxx", "opencode export" },
    { "zip", "PK\x03\x04xxxx", "unpack" },
    { "gzip", "\x1F\x8B\x08\x00", "gzip -d" },
  }

  for _, case in ipairs(FOREIGN) do
    it("is named and refused: " .. case[1], function()
      local message = refusal(case[2], { path = "f" })
      assert.matches("^f: is ", message)
      assert.truthy(message:find(case[3], 1, true), message)
    end)
  end

  it("is described where it is unknown, without values", function()
    local message, problem = refusal('{"secret":"sk-12345","b":1}', { path = "f.json" })
    assert.equal("shape", problem.code)
    assert.matches("f.json: .*the members b, secret", message)
    assert.is_nil(message:find "12345")
    assert.matches("JSONL whose first record has the members a", (refusal '{"a":1}\n{"b":2}\n'))
    assert.matches("it is not JSON", (refusal "hello"))
    assert.matches("array without objects", (refusal "[1,2]"))
    assert.matches("1:5: expected", (refusal '{"a"'))
  end)

  it("that is named is refused of a file of which nothing is understood", function()
    local texts = { '{"a":1}', "[1,2]", '{"messages":[]}', "hello", '{"a":1}\n{"b":2}\n', "", "{}" }
    local others = 0
    for _, entry in ipairs(import.list()) do
      for _, text in ipairs(texts) do
        local result, problem = import.read(text, { from = entry.name, path = "f" })
        assert.is_nil(result, entry.name .. " <- " .. text)
        assert.matches("^f", problem.message)
        if problem.message:find("^f: is no " .. entry.title:gsub("%p", "%%%0") .. ": ") then others = others + 1 end
      end
    end
    assert.is_true(others > 20)
    local result = import.read('{"timestamp":"t","type":"session_meta","payload":{"id":"x"}}\n', { from = "codex" })
    assert.same({}, result.messages)
  end)

  it("can be named; unknown names are refused", function()
    assert.equal("claude_code", import.read(LINE, { from = "claude_code" }).name)
    local problem = helper.refusal(import.read, LINE, { from = "claude_coda" })
    assert.same({ "unknown_name", "did you mean 'claude_code'?" }, { problem.code, problem.hint })
    assert.equal("unknown_name", helper.refusal(import.read, LINE, { form = "x" }).code)
    assert.equal("argument", helper.refusal(import.read, 5).code)
    assert.equal("argument", helper.refusal(import.recognise).code)
  end)
end)

describe("lines of JSONL", function()
  it("may have a byte order mark, CRLF and blank lines between them", function()
    local result = kit.read("claude_code", "\xEF\xBB\xBF" .. LINE:gsub("\n", "\r\n") .. "\r\n  \n{}\r\n")
    assert.same({ 1, { "1 other line: without a type" } }, { #result.messages, kit.report(result) })
    assert.equal(4, result.report[1].line)
  end)

  it("that are half written are skipped at the end, and refused before it", function()
    assert.equal(1, kit.count(kit.read("claude_code", LINE .. '{"type":"us'), "incomplete last line"))
    local message, problem = refusal(LINE .. '{"type":"us\n' .. LINE, { path = "s.jsonl" })
    assert.matches("^s.jsonl:2:%d+: expected", message)
    assert.equal("syntax", problem.code)
    local result = kit.read("claude_code", LINE .. '{"type":"us\n' .. LINE, { skip_bad = true })
    assert.same({ 1, 2 }, { kit.count(result, "bad line"), result.report[1].line })
  end)

  it("with half of a surrogate pair or invalid UTF-8 are mended, and counted", function()
    local bad = LINE:gsub("hi", 'a\\ud83d b\\\\ud83d \\ud83d\\ude00 \xFF')
    local result = kit.read("claude_code", bad)
    assert.same({ 1, 'a\u{FFFD} b\\ud83d \u{1F600} \u{FFFD}' },
      { kit.count(result, "mended text"), json.decode(result.messages[1]).content })
  end)

  it("that are no objects are counted", function()
    assert.equal(2, kit.count(kit.read("claude_code", LINE .. "[1]\n5\n"), "other line"))
  end)
end)
