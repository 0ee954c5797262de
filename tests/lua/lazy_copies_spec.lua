--- Lazy working copies: messages that stay in the core until something reads them. Whatever is done to one, it says
--- what a copy says that was made at once, and is written with the same bytes.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local core = require "ebb.support.core"
local tables = require "ebb.support.tables"
local transcript = require "ebb.conversation.transcript"

local MESSAGES = [[
[{"role":"user","content":"a cat"},
 {"role":"user","content":"a \"cat\"\n\u00e9 \ud83d\ude00 cat"},
 {"content":"a cat first" , "role": "user"},
 {"role":"developer","content":"the cat of a developer"},
 {"role":"assistant","content":"cat calls","tool_calls":[{"id":"c1","type":"function",
   "function":{"arguments":"{\"a\": 1.0}","name":"f"}}]},
 {"role":"tool","tool_call_id":"c1","content":"a cat's \\ result","id":"m6"},
 {"id":"m7","name":"a\u0062","timestamp":1000,"metadata":{"z":[],"y":{},"b":null,"a":1.50},
   "role":"user","content":"cat"},
 {"role":"user","content":"cat","unknown":[1,2.0],"z":{"cat":"cat"}},
 {"role":"user","content":" cat"}, {"role":"user","content":"\ncat"}, {"role":"user","content":"  "},
 {"role":"user","content":""}, {"role":"user","content":[{"type":"text","text":"cat"}]},
 {"role":"assistant","content":null,"tool_calls":[
   {"id":"c2","type":"function","function":{"name":"f","arguments":""}}]},
 {"role":"tool","tool_call_id":"c2","content":"cat"},
 {"role":"user","content":"cat","seq":7,"own":{"a":1}}, {"role":"user","content":"cat","attachments":["a.txt"]},
 {"role":"user","content":"cat","_attachments":["a.txt"]}, {"role":"user","content":"cat","source\u0000":1},
 {"role":"user","content":"cat","\u0073eq":7},
 {"role":"user","content":"\u0020\n"}, {"role":"user","content":"\"cat\""}, {"role":"user","content":"\u0009\u006c"}]
]]

local function chat_of() return assert(ebb.parse(MESSAGES)) end

local function text_of(chat, copies) return core.working.text(chat, copies, "[", "]") end

local function is_lazy(copy) return getmetatable(copy) ~= nil end

--- A set of the core that replaces "cat", and the kinds of all roles.
local function cats()
  local set = core.regex.set()
  assert(set:add { pattern = "cat", replacement = "<\"dog\"\n>", flags = "g" })
  set:begin()
  return set, { user = 1, assistant = 1, tool = 1, system = 1, developer = 1 }
end

local function rewrite(copies)
  local set, kinds = cats()
  return set:sweep(copies, 1, #copies, kinds)
end

local deeds = {
  { "nothing", function() end },
  { "its role is read", function(copy) return copy.role end },
  { "its content is read", function(copy) return copy.content end },
  { "its id is read", function(copy) return copy.source_id end },
  { "a member is read", function(copy) return copy.tool_calls end },
  { "an unknown member is read", function(copy) return copy.unknown end },
  { "what it has not is read", function(copy) return { copy.attachments, copy.own, copy.nothing, copy[1] } end },
  { "all members are read", function(copy)
    local count = 0
    for _ in pairs(copy) do count = count + 1 end
    return count
  end },
  { "its content is set", function(copy) copy.content = "other" end },
  { "a member comes", function(copy) copy.more = { true } end },
  { "a member goes", function(copy) copy.tool_call_id = nil end },
  { "its number goes", function(copy) copy.seq = nil end },
}

describe("lazy copies", function()
  it("are what most messages become", function()
    local chat = chat_of()
    local copies, odd = core.working.copies(chat, true)
    local _, all_odd = core.working.copies(chat)
    local lazy = {}
    for i, copy in ipairs(copies) do
      if is_lazy(copy) then lazy[#lazy + 1] = i end
    end

    assert.same({ 11, 12, 13, 16, 17, 18, 20, 21 }, odd)
    assert.same(all_odd, odd)
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15, 22, 23 }, lazy)
  end)

  it("stay lazy when it is asked whether they refer to files", function()
    for i, copy in ipairs(core.working.copies(chat_of(), true)) do
      local was_lazy = is_lazy(copy)
      assert.is_nil(was_lazy and (copy.own or copy._attachments or copy.attachments) or nil)
      assert.equal(was_lazy, is_lazy(copy), "message " .. i)
    end
  end)

  for _, deed in ipairs(deeds) do
    for _, ruled in ipairs { false, true } do
      it(("are as others: %s%s"):format(deed[1], ruled and ", after the rules" or ""), function()
        local chat = chat_of()
        local lazy, eager = core.working.copies(chat, true), core.working.copies(chat)
        if ruled then assert.same({ rewrite(eager) }, { rewrite(lazy) }) end

        for i in ipairs(lazy) do
          assert.same(deed[2](eager[i]), deed[2](lazy[i]), "message " .. i)
        end

        assert.same({ text_of(chat, eager) }, { text_of(chat, lazy) })
        local copy = tables.copy(lazy)
        core.working.fill(copy)
        core.working.fill(lazy)
        assert.same(eager, lazy)
        assert.same(eager, copy)
        assert.same({ text_of(chat, eager) }, { text_of(chat, lazy) })
      end)
    end
  end

  it("are written with all values as others: random metadata", function()
    local SIMPLE = { "null", "true", "false", "0", "-0", "12", "-7", "1.50", "1e3", "123456789012345678901234567890",
      "999999999999999", "1000000000000000", [[""]], [["a"]],
      [["\u00e9\/\n\u0007\""]], [["\/"]], [["\"\\\n\t\b\f\r"]], [["\\u0041"]], [["é\ud83d\ude00"]], "[]", "{}",
      "[ ]", "{ }" }
    local roll = dofile("tests/random/agents.lua").dice(7)
    local function value(levels)
      local kind = levels > 0 and roll(4) or 1
      if kind <= 2 then return SIMPLE[roll(#SIMPLE)] end
      local items = {}
      for i = 1, roll(levels == 3 and 20 or 4) - 1 do
        items[i] = (kind == 3 and "" or ('"%s%d": '):format(("ab\\u0063"):sub(1, roll(8)):gsub("\\u?0*$", ""), i))
          .. value(levels - 1)
      end
      return (kind == 3 and "[%s]" or "{%s }"):format(table.concat(items, " ,\n"))
    end
    local list = {}
    for i = 1, 300 do
      list[i] = ('{"metadata":{"v":%s},"content":"cat","role":"user"}'):format(value(3))
    end
    local chat = assert(ebb.parse("[" .. table.concat(list, ",") .. "]"))
    local lazy, eager = core.working.copies(chat, true), core.working.copies(chat)
    rewrite(lazy)
    rewrite(eager)

    assert.equal(text_of(chat, eager), text_of(chat, lazy))
  end)

  it("can be read when their message is gone from the conversation", function()
    local chat = chat_of()
    local copies = core.working.copies(chat, true)
    local content = chat[1].content
    chat:truncate { keep_last = 2 }
    chat:prune { keep = 0 }

    assert.equal(content, copies[1].content)
  end)

  it("give a pipeline's result its messages when they are read", function()
    local chat = chat_of()
    local agent = { presets = { { type = "chat_history" }, { content = "Note.", injectionStrategy = { depth = 3 } } },
      rules = { { rules = { { regex = "cat", replacement = "dog", flags = "g", applyTo = { request = true } } } } } }
    local pipeline = ebb.pipeline { agent = agent }

    local result = assert(pipeline:run(chat, { seed = 1, now = 0 }))
    local watched = assert(pipeline:run(chat, { seed = 1, now = 0, trace = function() end }))

    assert.equal(watched.body, result.body)
    assert.same(watched.messages, result.messages)
    assert.is_nil(getmetatable(result.messages[1]))
  end)

  it("leave the body of a result in the core until it is read, as it was made", function()
    local chat = chat_of()
    local pipeline = ebb.pipeline { agent = { presets = { { type = "chat_history" }, { content = "Note." } } } }

    local result = assert(pipeline:run(chat, { seed = 1, now = 0 }))
    local made = result.chat:json()
    assert.is_nil(rawget(result, "body"))
    result.chat:truncate { keep_last = 1 }
    result.chat:prune { keep = 0 }

    assert.equal(made, result.body)
    assert.equal(made, rawget(result, "body"))
  end)

  it("are what on_step sees the conversation of, which is that of the messages", function()
    local chat, texts, lists = chat_of(), {}, {}
    local pipeline = ebb.pipeline { agent = { presets = { { type = "chat_history" }, { content = "Note." } } } }

    local result = assert(pipeline:run(chat, { on_step = function(step, failure, made)
      assert.is_nil(failure)
      texts[#texts + 1] = { step.processor.id, made:json() }
    end }))
    assert(pipeline:run(chat, { trace = function(step, messages)
      local list = {}
      for i, message in ipairs(messages) do list[i] = type(message.content) == "string" and message.content end
      lists[#lists + 1] = { step.processor.id, list }
    end }))

    assert.is_true(#texts > 4 and #texts == #lists)
    for i, text in ipairs(texts) do
      local list = {}
      for k, message in ipairs(ebb.parse(text[2])) do list[k] = lists[i][2][k] and transcript.text(message) end
      assert.same(lists[i], { text[1], list })
    end
    assert.is_nil(rawget(result, "messages"))
  end)
end)
