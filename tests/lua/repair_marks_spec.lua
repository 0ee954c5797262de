--- Marks and links of messages that a repair moves, splits or joins: of a chat, of one that was saved, of a session.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local ebb = helper.ebb

local function openai(...) return ('{"messages":[%s]}'):format(table.concat({ ... }, ",")) end
local function gemini(...) return ('{"contents":[%s]}'):format(table.concat({ ... }, ",")) end
local function anthropic(...) return ('{"max_tokens":9,"messages":[%s]}'):format(table.concat({ ... }, ",")) end
local function responses(...) return ('{"input":[%s]}'):format(table.concat({ ... }, ",")) end

local function say(text) return ('{"role":"user","content":"%s"}'):format(text) end
local function result(id) return ('{"role":"tool","tool_call_id":"%s","content":"of %s"}'):format(id, id) end

local function calls(...)
  local list = {}
  for i, id in ipairs { ... } do
    list[i] = ('{"id":"%s","type":"function","function":{"name":"look","arguments":"{}"}}'):format(id)
  end
  return ('{"role":"assistant","content":null,"tool_calls":[%s]}'):format(table.concat(list, ","))
end

local function item(id) return ('{"type":"function_call","call_id":"%s","name":"look","arguments":"{}"}'):format(id) end
local function output(id) return ('{"type":"function_call_output","call_id":"%s","output":"of %s"}'):format(id, id) end

local function user(...) return ('{"role":"user","content":[%s]}'):format(table.concat({ ... }, ",")) end
local function use(id)
  return ('{"role":"assistant","content":[{"type":"tool_use","id":"%s","name":"look","input":{}}]}'):format(id)
end
local function part(id) return ('{"type":"tool_result","tool_use_id":"%s","content":"of %s"}'):format(id, id) end
local function text(words) return ('{"type":"text","text":"%s"}'):format(words) end

local WORDS = '{"text":"so"}'
local function model(name)
  return ('{"role":"model","parts":[{"functionCall":{"name":"%s","args":{}}}]}'):format(name)
end
local function content(...) return ('{"role":"user","parts":[%s]}'):format(table.concat({ ... }, ",")) end
local function response(name)
  return ('{"functionResponse":{"name":"%s","response":{"output":"of %s"}}}'):format(name, name)
end

--- Rows: the subject, the request, the pinned message, the messages pinned after the repair, the ids they answer.
local ROWS = {
  { "a result that moves up", openai(say "q", calls("a", "b"), result "a", say "wait", result "b", say "x"), 5, "4",
    "a b" },
  { "a result that moves down", openai(say "q", result "a", calls "a", say "x"), 2, "3", "a" },
  { "what a result moves past", openai(say "q", calls("a", "b"), result "a", say "wait", result "b", say "x"), 4, "5",
    "a b" },
  { "a result that answers the second of two messages",
    openai(say "q", calls "a", calls "b", result "a", result "b", say "x"), 4, "3", "a b" },
  { "an output before its call", responses(say "q", output "a", item "a", say "x"), 2, "3", "a" },
  { "a part of a message",
    anthropic(say "q", use "a", say "wait", use "b", user(part "b", part "a"), say "x"), 5, "3 6", "a b" },
  { "a result among words", anthropic(say "q", use "a", use "b", user(part "a"), '{"role":"assistant","content":"hm"}',
    user(part "b", text "so"), use "c", user(part "c")), 6, "5 7", "a b c" },
  { "a call that is joined", gemini(content(WORDS), model "a", model "b", content(response "a", response "b"),
    content(WORDS)), 3, "2", "a,b" },
  { "responses that are joined", gemini(content(WORDS), model "a", model "b", content(response "a"),
    content(response "b"), content(WORDS)), 5, "3", "a,b" },
  { "a response behind a text", gemini(content(WORDS), model "a", content(WORDS), content(response "a"),
    content(WORDS)), 4, "3", "a" },
}

local function pinned(chat)
  local list = {}
  for i = 1, #chat do
    if #chat[i].marks > 0 then list[#list + 1] = i end
  end
  return table.concat(list, " ")
end

--- Returns the ids that the messages answer; a result and its call are one unit.
local function answers(chat)
  local list = {}
  for i = 1, #chat do
    local ids = chat[i].answers
    if #ids > 0 then
      list[#list + 1] = table.concat(ids, ",")
      assert.truthy(chat[i].unit.first < i and chat[i].unit.count > 1, chat[i].json)
    end
  end
  return table.concat(list, " ")
end

local function check(chat, row)
  local marked = pinned(chat)
  local copy = chat:repaired()

  assert.same({ row[4], row[5] }, { pinned(copy), answers(copy) })
  assert.equal(marked, pinned(chat))
  return copy
end

describe("a pin stays through a repair on", function()
  for _, row in ipairs(ROWS) do
    it(row[1], function()
      local chat = assert(ebb.parse(row[2]))
      chat:mark(chat[row[3]], "pinned")

      local copy = check(chat, row)
      check(assert(ebb.parse((chat:write "ebb"))), row)
      local saved = assert(ebb.parse((copy:write "ebb")))
      assert.same({ row[4], row[5] }, { pinned(saved), answers(saved) })
      local count = #copy:marked "pinned"
      assert(copy:trim { "keep_recent", budget = copy:tokens() - 1 })
      assert.equal(count, #copy:marked "pinned")
    end)
  end

  it("a message of a session, which stays as it is", function()
    finally(command.remove_folder)
    command.make_folder()
    local place, row = command.folder .. "/s.db", ROWS[1]
    assert.equal(0, command.ebb(("session new s %s --db %s"):format(command.file("c.json", row[2]), place)).status)
    local session <close> = assert(ebb.session(place, "s"))
    session:mark(session[row[3]], "pinned")
    check(session, row)
  end)
end)
