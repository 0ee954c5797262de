--- Checks the speech of users and models in working copies: it is the same for copies that stay in the core and for
--- plain tables, and nothing is filled by it.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local core = require "ebb.support.core"
local speech = require "ebb.lorebook.speech"

local MESSAGES = [[
[{"role":"system","content":"cat"}, {"role":"user","content":"a cat"},
 {"role":"user","content":"a \"cat\"\n\u00e9 \ud83d\ude00"}, {"role":"developer","content":"cat"},
 {"role":"assistant","content":"cat calls","tool_calls":[{"id":"c1","type":"function",
   "function":{"arguments":"{}","name":"f"}}]},
 {"role":"tool","tool_call_id":"c1","content":"cat"}, {"role":"user","content":"  "}, {"role":"user","content":""},
 {"role":"user","name":"B\u00f6b","content":"a cat"}, {"role":"user","name":"","content":"cat"},
 {"role":"user","content":[{"type":"text","text":"a cat"},{"type":"image_url","image_url":{"url":"x"}},
   {"type":"text","text":"two"}]},
 {"role":"user","content":[{"type":"text","text":" "},{"type":"text","text":"\n"}]},
 {"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function",
   "function":{"arguments":"{}","name":"f"}}]}, {"role":"tool","tool_call_id":"c2","content":"cat"},
 {"role":"assistant","content":" cat ","name":"Ann"}]
]]

local LABELS = { user = "User: ", assistant = "" }

--- Finds the speech in plain Lua: list of { position, text, label }.
local function model(messages)
  local list, replies = {}, 0
  for i, message in ipairs(messages) do
    local text = message.content
    if type(text) == "table" then
      local parts = {}
      for _, part in ipairs(text) do parts[#parts + 1] = part.type == "text" and part.text or nil end
      text = table.concat(parts, "\n")
    end
    local speaks = (message.role == "user" or message.role == "assistant") and message.source ~= "window"
    if speaks and type(text) == "string" and text:find "%S" then
      local name = message.name
      list[#list + 1] = { i, text, name and (name == "" and "" or name .. ": ") or LABELS[message.role] }
      if message.role == "assistant" then replies = replies + 1 end
    end
  end
  return list, replies
end

local function all(said)
  local list = {}
  for i = 1, said.count do list[i] = { said.positions[i], said:text(i) } end
  return list
end

--- Makes "cat" blank.
local function rewrite(copies)
  local set = core.regex.set()
  assert(set:add { pattern = "^ ?(a )?cat ?", replacement = " ", flags = "g" })
  set:begin()
  set:sweep(copies, 1, 7, { user = 1, assistant = 1 })
end

describe("speech", function()
  for _, ruled in ipairs { false, true } do
    it("is that of plain tables" .. (ruled and ", after rules made some blank" or ""), function()
      local chat = assert(ebb.parse(MESSAGES))
      local lazy, eager = core.working.copies(chat, true), core.working.copies(chat)
      if ruled then
        rewrite(lazy)
        rewrite(eager)
      end
      local expected, replies = model(eager)

      for _, copies in ipairs { lazy, eager } do
        local said = speech.of(copies, LABELS)
        assert.same(expected, all(said))
        assert.equal(replies, said.replies)
      end

      assert.equal(ruled and 4 or 7, #expected)
      for _, position in ipairs { 2, 3, 5, 9 } do assert.is_not_nil(getmetatable(lazy[position]), position) end
    end)
  end

  it("has no labels without a table of them", function()
    local said = speech.of({ { role = "user", name = "Bob", content = "x" } }, nil)
    assert.same({ "x", "" }, { said:text(1) })
  end)

  it("skips windows", function()
    assert.equal(0, speech.of({ { role = "user", source = "window", content = "x" } }, LABELS).count)
  end)

  it("knows up to where it says what was said", function()
    local chat = assert(ebb.parse(MESSAGES))
    local said = speech.of(core.working.copies(chat, true), LABELS)
    local texts, names = {}, {}
    for i = 1, said.count do texts[i], names[i] = said:text(i) end

    assert.equal(said.count, said:same(texts, names, 1, said.count))
    assert.equal(2, said:same(texts, names, 3, 2))
    for i = 1, said.count do
      for _, list in ipairs { texts, names } do
        local before = list[i]
        for _, other in ipairs { before .. "x", false } do
          list[i] = other or nil
          assert.equal(i - 1, said:same(texts, names, 1, said.count))
          assert.equal(i, said:same(texts, names, i + 1, i))
        end
        list[i] = before
      end
    end
  end)

  it("says which messages hold a piece of text, of all roles, and fills no lazy copy", function()
    local chat = assert(ebb.parse [=[[{"role":"system","content":"a {{b}}"},{"role":"user","content":"a { {b"},
      {"role":"assistant","content":"\u007b{c}}"},{"role":"user","content":[{"type":"text","text":"x"},
      {"type":"text","text":"{{"}]},{"role":"tool","tool_call_id":"t","content":"{{d}}"}]]=])

    local lazy, whole = core.working.copies(chat, true), core.working.copies(chat)

    for _, copies in ipairs { lazy, whole } do
      assert.same({ 1, 3, 4, 5 }, core.working.holding(copies, "{{"))
      assert.same({}, core.working.holding(copies, "nowhere"))
      assert.same({ 1, 2, 3, 4, 5 }, core.working.holding(copies, ""))
    end
    assert.is_table(getmetatable(lazy[1]))
    assert.same({}, core.working.holding({}, "{{"))
    assert.is_false((pcall(core.working.holding, { 1 }, "x")))
  end)

  it("refuses lists of other things, and labels without texts", function()
    for _, case in ipairs { { 1 }, { {}, { 1 } } } do
      assert.is_false((pcall(core.working.spoken, #case == 1 and case or case[2])))
    end
    assert.is_false((pcall(core.working.said, {}, {}, { user = "" }, 1)))
    assert.is_false((pcall(core.working.said, {}, { 1 }, nil, 1)))
  end)
end)
