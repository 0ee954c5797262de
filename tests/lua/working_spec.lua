--- Working copies and their text: unchanged fields keep their bytes; what a processor
--- changed, however little, is written anew and says what the copy says.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local core = require "ebb.support.core"

local json = ebb.json

local function text_of(chat, copies)
  return core.working.text(chat, copies, "[", "]")
end

local ODD = [[
[{"role":"user","content":"a\u0041\/b","z":1.50,"seq":7,"source":{"x":[1]},"own":null,"trusted":true},
 {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]},
 {"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"x"},{"type":"odd","list":[],"map":{},"n":null}],
  "big":123456789012345678901234567890,"e":1e3,"i":1}]
]]

describe("working copies", function()
  it("of odd messages are written as they came", function()
    local chat = assert(ebb.parse(ODD))
    local copies = core.working.copies(chat)

    local text, edited = text_of(chat, copies)

    assert.equal(0, edited)
    for i, message in ipairs(chat) do
      assert.truthy(text:find(message.json, 1, true), "message " .. i)
    end
    assert.is_nil(copies[1].trusted)               -- a message is not trusted because it says so
    assert.equal("history", copies[1].source)
    assert.same({ x = { 1 } }, copies[1].own.source)
  end)

  local edits = {
    { "a text", function(copies) copies[1].content = "aAb" end },
    { "an integer for a float", function(copies) copies[3].i = 1.0 end },
    { "a field that goes", function(copies) copies[1].z = nil end },
    { "a field that comes", function(copies) copies[1].y = 1 end },
    { "deep within", function(copies) copies[2].tool_calls[1]["function"].arguments = "{ }" end },
    { "an empty list for an object", function(copies) copies[3].content[2].map = json.array {} end },
    { "an empty object for a list", function(copies) copies[3].content[2].list = {} end },
    { "an element more", function(copies) copies[3].content[3] = { type = "text", text = "" } end },
    { "an element less", function(copies) copies[3].content[2] = nil end },
    { "no null", function(copies) copies[3].content[2].n = nil end },
    { "another big number", function(copies) copies[3].big = json.raw "123456789012345678901234567891" end },
    { "what was set aside", function(copies) copies[1].own.seq = 8 end },
    { "nothing set aside", function(copies) copies[1].own = nil end },
    { "the seq of another message", function(copies) copies[1].seq = 3 end },
    { "no seq", function(copies) copies[1].seq = nil end },
  }
  for _, case in ipairs(edits) do
    it("that differ are written anew: " .. case[1], function()
      local chat = assert(ebb.parse(ODD))
      local copies = core.working.copies(chat)
      case[2](copies)

      local text, edited = text_of(chat, copies)

      assert.equal(1, edited)
      assert.truthy(json.decode(text))
    end)
  end

  it("written anew say all that they said", function()
    local chat = assert(ebb.parse(ODD))
    local copies = core.working.copies(chat)
    for _, copy in ipairs(copies) do
      copy.seq = nil
    end

    local text, edited = text_of(chat, copies)

    assert.equal(3, edited)
    assert.equal(json.encode(json.decode(ODD)), json.encode(json.decode(text)))
  end)

  it("refuse values that are not tables, and values without a JSON form", function()
    local chat = ebb.conversation()
    assert.equal("shape", helper.refusal(text_of, chat, { "x" }).code)
    assert.equal("argument", helper.refusal(text_of, chat, { { role = print } }).code)
  end)

  it("of conversations are written byte for byte", function()
    for _, path in ipairs(helper.conversations()) do
      local chat = assert(ebb.load(path))
      local copies = core.working.copies(chat)
      local text, edited = text_of(chat, copies)
      assert.equal(0, edited, path)
      local again = assert(ebb.parse(text))
      for i, message in ipairs(chat) do
        assert.equal(message.json, again[i].json)
        copies[i].seq = nil
      end
      assert.equal(json.encode(json.decode(text)), json.encode(json.decode((text_of(chat, copies)))))
    end
  end)

  it("are read as their text is read, counted alike", function()
    local chat = assert(ebb.parse(ODD))
    local copies = core.working.copies(chat)
    copies[1].content = "changed"
    local before, after, options = '{"model": "gpt-4o", "messages": [', '], "tools": []}', { encoding = "cjk" }

    local parsed = assert(core.working.parse(chat, options, copies, before, after))

    local expected = assert(core.parse(core.working.text(chat, copies, before, after), options))
    assert.equal(expected:json(), parsed:json())
    assert.equal(expected:tokens(), parsed:tokens())
    assert.equal("changed", parsed[1].text)
  end)

  --- Lists whose messages are borrowed or read again, and which no request may have, too.
  local lists = {
    { "as they are", function(copies) return copies end },
    { "with one of another text", function(copies) copies[4].content = "4\n" return copies end },
    { "with new ones", function(copies) table.insert(copies, 2, { role = "user", content = "new" }) return copies end },
    { "in another order", function(copies) return { copies[5], copies[2], copies[3] } end },
    { "twice", function(copies) return { copies[1], copies[1] } end },
    { "twice with an id", function(copies) return { copies[5], copies[5] } end },
    { "of an unknown kind of part", function(copies) return { copies[1], copies[6] } end },
    { "nested too deeply in a body", function(copies) return { copies[1], copies[7] } end },
    { "with a role that only a map knows", function(copies) return { copies[1], copies[8] } end },
    { "none", function() return {} end },
  }
  local LINES = table.concat({
    [[{"role":"user","content":"a\u0041 \"b\"","z":1.50}]],
    [[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",]]
      .. [["function":{"name":"f","arguments":"{}"}}]}]],
    [[{"role":"tool","tool_call_id":"c","content":"ok","timestamp":5}]], [[{"role":"assistant","content":"fine"}]],
    [[{"role":"user","content":[{"type":"text","text":"x"}],"id":"m5"}]],
    [[{"role":"user","content":[{"type":"odd","list":[]}]}]],
    [[{"role":"user","content":"deep","x":]] .. ("["):rep(255) .. ("]"):rep(255) .. "}",
    [[{"role":"bot","content":"mapped"}]],
  }, "\n")
  for _, case in ipairs(lists) do
    for _, lazy in ipairs { true, false } do
      it(("%s make the conversation of their text, %s"):format(case[1], lazy and "lazy" or "filled"), function()
        local chat = assert(ebb.parse(LINES, { encoding = "bytes4", role_map = { bot = "assistant" } }))
        local before, after, options = '{"tools": [], "messages": [', ']}\n', { encoding = "bytes4" }
        local text = core.working.text(chat, case[2](core.working.copies(chat, lazy)), before, after)
        local list = case[2](core.working.copies(chat, lazy))

        local made, problem = core.working.parse(chat, options, list, before, after)

        local expected, refusal = core.parse(text, options)
        if refusal then return assert.same({ refusal.code, refusal.message }, { problem.code, problem.message }) end
        assert.equal(expected:json(), made:json())
        assert.same({ expected:tokens(), expected:trust(), #expected:warnings() },
          { made:tokens(), made:trust(), #made:warnings() })
        assert.equal(expected:json(), text)
        for i, message in ipairs(expected) do
          assert.same({ message.tokens, message.role, message.text, message.timestamp },
            { made[i].tokens, made[i].role, made[i].text, made[i].timestamp })
        end
      end)
    end
  end

  it("lend a request bytes that it never overwrites, and that outlive them", function()
    local text = '[{"role":"user","content":"secret"},{"role":"user","content":"more"}]'
    for _, lazy in ipairs { true, false } do
      local chat, seen = assert(ebb.parse(text)), setmetatable({}, { __mode = "k" })
      local made = assert(core.working.parse(chat, nil, core.working.copies(chat, lazy), "[", "]"))

      made:forget(made[1])
      assert.equal(text, chat:json())
      assert.is_nil(made:json():find("secret", 1, true))

      made = assert(core.working.parse(chat, nil, core.working.copies(chat, lazy), "[", "]"))
      chat:truncate { keep_last = 1 }
      chat:prune()
      seen[chat], chat = true, nil
      collectgarbage()
      collectgarbage()
      assert.is_nil(chat or next(seen))
      assert.equal("secret", made[1].text)
    end
  end)

  it("that make no request are refused with their place", function()
    local chat = assert(ebb.parse(ODD))
    local parsed, problem = core.working.parse(chat, nil, { { content = "x" } }, "[", "]")
    assert.is_nil(parsed)
    assert.equal("shape", problem.code)
    assert.equal("shape", helper.refusal(core.working.parse, chat, nil, { 1 }, "[", "]").code)
    assert.is_nil((core.working.parse(chat, nil, {}, '{"ebb":', "1}")))
  end)

  it("come with the positions of those that are more than a text that says something", function()
    local chat = assert(ebb.parse([==[[{"role":"user","content":"a"},{"role":"user","content":" \n\t"},
      {"role":"user","content":[{"type":"text","text":"b"}]},{"role":"user","content":"c","_attachments":[]},
      {"role":"user","content":"d","seq":1},{"role":"assistant","content":null,"refusal":"e"},
      {"role":"assistant","content":" f","tool_calls":[]},{"role":"user","content":""}]]==]))
    local _, odd = core.working.copies(chat)
    assert.same({ 2, 3, 4, 5, 6, 8 }, odd)
  end)
end)
