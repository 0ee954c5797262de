--- ebb.json: what decodes, what is written, what is refused.

local helper = dofile "tests/lua/helper.lua"
local ebb, refusal = helper.ebb, helper.refusal
local core = require "ebb.support.core"
local json = ebb.json

describe("decode", function()
  local cases = {
    { "1", 1 }, { "-0", 0 }, { "1.5", 1.5 }, { "1e2", 100.0 }, { '"a\\u00e9\\n"', "aé\n" }, { "true", true },
    { "false", false }, { "[]", {} }, { "[1,2]", { 1, 2 } }, { '{"a":{"b":[true]}}', { a = { b = { true } } } },
    { '"\\ud83d\\ude00"', "😀" }, { "9223372036854775807", math.maxinteger }, { '"\\u0000"', "\0" }, { " 1 ", 1 },
  }
  for _, case in ipairs(cases) do
    it(case[1], function() assert.same(case[2], json.decode(case[1])) end)
  end

  it("takes as many members and elements as there are, the last value of a name", function()
    for _, n in ipairs { 0, 1, 31, 32, 33, 34, 65, 1000 } do
      local members, elements, expected, list = {}, {}, {}, {}
      for i = 1, n do
        members[i], elements[i] = ('"k%d":[%d]'):format(i, i), ("[%d]"):format(i)
        expected["k" .. i], list[i] = { i }, { i }
      end
      expected.k1 = { 0 }
      members[n + 1] = '"k1":[0]'
      assert.same(expected, json.decode("{" .. table.concat(members, ",") .. "}"))
      assert.same(list, json.decode("[" .. table.concat(elements, ",") .. "]"))
    end
  end)

  it("null is ebb.null", function()
    assert.equal(ebb.null, json.decode "null")
    assert.equal(ebb.null, json.decode('{"a":null}').a)
    assert.equal("null", json.encode(ebb.null))
  end)

  it("integers are integers, floats floats", function()
    assert.equal("integer", math.type(json.decode "7"))
    assert.equal("float", math.type(json.decode "7.0"))
  end)

  it("numbers that no Lua number holds stay as they are", function()
    for _, text in ipairs { "1e400", "123456789012345678901234567890" } do
      assert.equal(text, json.encode(json.decode(text)))
    end
  end)

  local refused = {
    "", "[1,]", "{a:1}", "[1", '"\\ud800"', "01", "1 2", "nul", '"\n"', "\xff", "'a'", "[NaN]", "// x\n1",
  }
  for _, text in ipairs(refused) do
    it(("refuses %q"):format(text), function()
      local value, message, code = helper.outcome(json.decode(text))
      assert.is_nil(value)
      assert.equal("string", type(message))
      assert.truthy(code == "syntax" or code == "encoding", code)
    end)
  end

  it("refuses what is nested too deeply", function()
    local value, _, code = helper.outcome(json.decode(("["):rep(300) .. ("]"):rep(300)))
    assert.is_nil(value)
    assert.equal("limit", code)
  end)

  it("keeps the values of the keys in raw as they are", function()
    local value = json.decode('{"messages": [ {"a":1.50} ], "n":1.50}', { raw = { messages = true } })
    assert.equal(1.5, value.n)
    assert.equal('[ {"a":1.50} ]', json.encode(value.messages))
  end)
end)

describe("encode", function()
  local cases = {
    { {}, "{}" }, { { 1, 2 }, "[1,2]" }, { { b = 1, a = 2 }, '{"a":2,"b":1}' }, { "a\"\n\0", '"a\\"\\n\\u0000"' },
    { true, "true" }, { 1, "1" }, { "é", '"é"' },
  }
  for _, case in ipairs(cases) do
    it(case[2], function() assert.equal(case[2], json.encode(case[1])) end)
  end

  it("empty lists are marked ones", function()
    assert.equal("[]", json.encode(json.array {}))
    assert.equal('{"a":[]}', json.encode { a = json.array {} })
    assert.equal("[]", json.encode(json.decode "[]"))
    assert.equal("{}", json.encode(json.decode "{}"))
  end)

  it("reads back as what it was", function()
    for _, value in ipairs { 0.1, 1e300, -5, math.mininteger, "x\127", 2.0 } do
      assert.equal(value, json.decode(json.encode(value)))
    end
  end)

  it("indents", function()
    assert.equal('{\n  "a": [\n    1\n  ]\n}', json.encode({ a = { 1 } }, { indent = 2 }))
  end)

  --- Tables of a long list with the same keys are written by what was learned from one of them.
  it("writes each table of a list as it writes it alone", function()
    local long, wide = ("k"):rep(50), {}
    for i = 1, 30 do wide["w" .. i] = i end
    local tables = {
      { b = 1, a = "x" }, { b = 2, a = "y\n\"\\é" }, { a = 1, b = { a = 3, b = json.null } }, { a = 1 }, {},
      { a = 1, b = 2, c = 3 }, { [long] = 1, a = 2 }, { [long] = 2, a = 3 }, { ["a\n\"é"] = -5, z = 1.5 },
      { ["a\n\"é"] = math.mininteger, z = math.maxinteger }, wide, { b = 0, a = false },
      { c = 1, a = json.raw "[ 1 ]" },
      { c = { { b = 1, a = 2 }, { b = 3, a = 4 } }, a = { { { b = 1, a = 2 } } } },
      { [long:rep(20)] = 1 }, json.array {},
    }
    local list, texts, indented = {}, {}, {}
    for round = 0, 3 do
      for i = 1, #tables do
        local value = tables[(i * (2 * round + 1) - 1) % #tables + 1]
        list[#list + 1], texts[#texts + 1] = value, json.encode(value)
        indented[#indented + 1] = "  " .. json.encode(value, { indent = 2 }):gsub("\n", "\n  ")
      end
    end
    assert.equal("[" .. table.concat(texts, ",") .. "]", json.encode(list))
    assert.equal("[\n" .. table.concat(indented, ",\n") .. "\n]", json.encode(list, { indent = 2 }))
  end)

  it("refuses mixed keys and what it cannot write in a long list, too", function()
    for _, bad in ipairs { { a = 1, [2] = 1 }, { a = print }, { a = "\xff" } } do
      local list = {}
      for i = 1, 40 do list[i] = { a = i } end
      list[30] = bad
      assert.truthy(refusal(json.encode, list))
    end
  end)

  it("ends with a newline if asked", function()
    assert.equal("[]\n", json.encode(json.array {}, { newline = true }))
  end)

  it("indents raw JSON, and keeps its numbers, strings and order", function()
    local raw = json.raw '{"z":1.50,"a\\u0041" : [ ],"e":{},"n":[1e3,"\\/x",null]}'
    assert.equal('{"r":{"z":1.50,"a\\u0041" : [ ],"e":{},"n":[1e3,"\\/x",null]}}', json.encode { r = raw })
    assert.equal([[{
  "r": {
    "z": 1.50,
    "a\u0041": [],
    "e": {},
    "n": [
      1e3,
      "\/x",
      null
    ]
  }
}]], json.encode({ r = raw }, { indent = 2 }))
  end)

  it("keeps the white space of raw JSON if asked", function()
    local value = { r = json.raw '{"z" : [1,2]}', s = { 1 } }
    local indented = json.encode(value, { indent = 2, keep_raw = true })
    assert.equal('{\n  "r": {"z" : [1,2]},\n  "s": [\n    1\n  ]\n}', indented)
    assert.equal('{"r":{"z" : [1,2]},"s":[1]}', json.encode(value, { keep_raw = true }))
    assert.is_false(pcall(json.encode, value, { keep_raw = 1 }))
  end)

  it("writes raw JSON as it is, checked", function()
    assert.equal('[{ "a":1.0 }]', json.encode { json.raw '{ "a":1.0 }' })
    assert.truthy(refusal(json.raw, "{"))
  end)

  it("refuses what JSON cannot say", function()
    local loop = {}
    loop[1] = loop
    for _, value in ipairs { print, 0 / 0, math.huge, -math.huge, loop, "\xff", { [1.5] = 1 }, { [true] = 1 } } do
      assert.is_false((pcall(json.encode, value)), tostring(value))
    end
  end)
end)

describe("one spelling", function()
  local function canonical(text)
    local chat = assert(ebb.parse(("[%s]"):format(text)))
    return (core.canonical_messages(chat, 1, 1))[1]
  end

  local CASES = {
    [[{"role": "user", "content":"a\u0062\/c\u00e9"}]],
    [[{"metadata":{"b":[1, 2.50,-0,1e2, {"y":null,"x":true}],"a\"":{},"a":[]},"role":"user","content":"q"}]],
    [[{"role":"user","content":"q","big":12345678901234567890,"\u007a":1,"za":2,"\n":{"b":1,"\u0061":2}}]],
    [[{"role":"user","content":"q","\ud83d\ude00":"\ud83d\ude00","é":"é","metadata":{"k":1,"k":2}}]],
  }

  it("of JSON is what decoding and encoding make of it", function()
    for _, text in ipairs(CASES) do
      assert.equal(json.encode(json.decode(text)), canonical(text))
    end
  end)

  it("says which members differ", function()
    local names = {}
    for i, text in ipairs(CASES) do names[i] = canonical(text) end
    assert.same({}, core.differing_members(names[1], names[1]))
    assert.same({ "content", "metadata" }, core.differing_members(names[1], names[2]))
    assert.same({ "\n", "big", "content", "z", "za" }, core.differing_members(names[1], names[3]))
    assert.has_error(function() core.differing_members("[]", "{}") end)
  end)

  it("ids and roles are next to it", function()
    local chat = assert(ebb.parse [=[[{"role":"user","content":"q"},{"role":"assistant","content":"a","id":"m1"}]]=])
    local texts, ids, roles = core.canonical_messages(chat, 2, 2)
    assert.same({ { '{"content":"a","id":"m1","role":"assistant"}' }, { "m1" }, { "assistant" } },
      { texts, ids, roles })
    assert.has_error(function() core.canonical_messages(chat, 1, 3) end)
  end)
end)

describe("the test suite", function()
  local folder = helper.shared and helper.shared .. "/data/json_test_suite"
  local pipe = folder and io.popen(("ls '%s' 2>/dev/null"):format(folder))
  local names = {}
  if pipe then
    for name in pipe:lines() do
      names[#names + 1] = name
    end
    pipe:close()
  end

  it("y_ passes, n_ fails", function()
    if #names == 0 then pending "skipped: no json_test_suite in EBB_SHARED" end
    for _, name in ipairs(names) do
      local _, message = json.decode(helper.read(folder .. "/" .. name))
      if name:find "^y_" then assert.is_nil(message, name) end
      if name:find "^n_" then assert.truthy(message, name) end
    end
  end)
end)
