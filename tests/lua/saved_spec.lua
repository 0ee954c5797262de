--- Saved conversations in Lua: chat:save(path, { dialect = "ebb" }), chat:write "ebb", and ebb.load and
--- ebb.parse, which read them. The form itself is tested in tests/c/test_api_save.c and test_api_damage.c.

local command = dofile "tests/lua/command.lua"
local gate = dofile "tests/lua/growth_gate.lua"
local helper = dofile "tests/lua/helper.lua"
local it_exact = dofile "tests/lua/it_exact.lua"(it, function(why) pending(why) end)
local margins = require "ebb.models.margins"
local ebb = helper.ebb
local path_of, file = command.path_of, command.file

local BODY = [[{"model":"gpt-4o", "temperature":0.5, "messages":[
  {"role":"system","content":"Be brief."},
  {"role":"user","content":"Hello","metadata":{"a":1.50}},
  {"role":"assistant","content":null,"tool_calls":[
    {"id":"c1","type":"function","function":{"name":"f","arguments":"{ }"}}]},
  {"role":"tool","tool_call_id":"c1","content":"42"},
  {"role":"user","content":"Bye"}
], "tools":[{"type":"function","function":{"name":"f"}}]}
]]

local ANTHROPIC = [[{"model":"claude-sonnet-4-5","max_tokens":100,"system":"S","messages":[
  {"role":"user","content":[{"type":"text","text":"Look"}]},
  {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"42"},{"type":"text","text":"So?"}]},
  {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"So."}]}
]}]]

local function clock() return 1700000000000 end

local function text_of(chat) return (chat:write "ebb") end

--- A conversation with some of everything that is saved.
local function rich(body)
  local chat = assert(ebb.parse(body or BODY, { clock = clock }))
  chat:mark(2, "pinned")
  chat:checkpoint "begin"
  chat.windows:open { id = "todo", description = "List", content = { "item", id = 1, "milk" }, pinned = true,
    actions = { { id = "add", label = "Add", params = "text:string" } } }
  chat.windows:open { id = "gone", content = "x" }
  chat.windows:get("gone"):close "done"
  local room = margins.with(chat:tokens() - 5, margins.of_chat(chat))   -- so that something goes, however it is counted
  assert(chat:trim { budget = room, policy = function(draft, budget)
    draft.memory.cut = { 1, 2 }
    draft:keep(draft[#draft], "the last word")
    draft:drop_oldest { to = budget, reason = "too long" }
  end })
  chat:append { role = "user", content = "More" }
  chat:rollback "begin"
  chat:append { role = "user", content = "Else" }
  chat:report_usage { prompt_tokens = chat:tokens() * 2 }
  return chat
end

describe("a saved conversation", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for name, body in pairs {
    ["a text for a list"] = '{"model":"m","input":"hi","x":1}',
    ["an object for a list"] = '{"contents": {"role":"user","parts":[{"text":"hi"}]}, "x":1}',
  } do
    it("keeps " .. name, function()
      local chat = assert(ebb.parse(body))
      local saved = text_of(chat)
      local copy = assert(ebb.parse(saved))
      assert.is_true(copy:save(path_of "body.json", { dialect = chat:dialect() }))
      assert.equal(body, helper.read(path_of "body.json"))
      for _, wrong in ipairs { '"single":"list"', '"single":1' } do      -- found by the digest, which loading checks
        assert.is_nil((ebb.parse((saved:gsub('"single":"%l+"', wrong)))))
      end
    end)
  end

  for name, body in pairs { openai = BODY, anthropic = ANTHROPIC } do
    it("comes back from a text as it was, form " .. name, function()
      local chat = rich(body)
      local copy = assert(ebb.parse(text_of(chat), { clock = clock }))

      assert.equal(text_of(chat), text_of(copy))
      assert.is_true(copy.saved)
      assert.equal("body", copy.shape)
      assert.equal(chat:json(), copy:json())
      assert.same({ chat:tokens(), chat:trust(), chat:model(), chat:dialect() },
        { copy:tokens(), copy:trust(), copy:model(), copy:dialect() })
      assert.same(chat:batches(), copy:batches())
      assert.same(chat.windows:render(), copy.windows:render())
      assert.same(chat.windows:listing(), copy.windows:listing())
      assert.equal(#chat:marked "pinned", #copy:marked "pinned")
      for _, batch in ipairs(chat:batches()) do
        assert.same(chat:batch(batch.index):where {}:positions(), copy:batch(batch.index):where {}:positions())
      end
      for seq = 1, chat:stats().total_messages do
        assert.equal(ebb.json.encode(chat:explain(seq)), ebb.json.encode(copy:explain(seq)))
      end
    end)
  end

  it("goes on as the original does", function()
    local chat = rich()
    local copy = assert(ebb.parse(text_of(chat), { clock = clock }))
    for _, each in ipairs { chat, copy } do
      each:rollback(1)
      assert(each:trim { budget = each:tokens() - 3, policy = function(draft)
        assert.same({ 1, 2 }, draft.memory.cut)
        draft.memory.cut[3] = 3
      end, guards = false } == nil)      -- it stopped too early
      each.windows:get("todo"):update { content = "bread" }
      each:truncate { keep_last = 2 }
      each:checkpoint "end"
    end
    assert.equal(text_of(chat), text_of(copy))
  end)

  it("is written whole to where it came from, and as the body that it was", function()
    local chat = rich()
    chat:rollback(0, 5)
    assert(chat:save(path_of "chat.ebb", { dialect = "ebb" }))
    assert(chat:save(path_of "body.json"))
    assert.equal(BODY, command.read(path_of "body.json"))

    local copy = assert(ebb.load(path_of "chat.ebb"))
    assert(copy:save(path_of "again.ebb"))
    assert.equal(command.read(path_of "chat.ebb"), command.read(path_of "again.ebb"))
    copy:rollback(0, 5)
    assert(copy:save(path_of "body2.json", { shape = "body" }))
    assert.equal(BODY:gsub("%s+", " "), (command.read(path_of "body2.json"):gsub("%s+", " ")))
    assert(copy:save(path_of "list.json", { dialect = "openai" }))
    assert.equal(command.read(path_of "body2.json"), command.read(path_of "list.json"))
    assert(copy:save(path_of "lines.jsonl", { shape = "jsonl" }))
    assert.equal(5, #assert(ebb.load(path_of "lines.jsonl")))
  end)

  it("keeps the space between messages of every shape", function()
    for _, text in ipairs { '[ {"role":"user","content":"a"} ,\n {"role":"user","content":"b"} ]\n', "[]\n", " [ ] ",
      '{"role":"user","content":"a"}\r\n{"role":"user","content":"b"}\r\n', "" } do
      local copy = assert(ebb.parse(text_of(assert(ebb.parse(text)))))
      assert.equal(text, copy:json())
    end
  end)

  it_exact("has the options of a new one, and the caller's before them", function()
    local tools = { { name = "f", description = "does it" } }
    local chat = ebb.conversation { model = "gpt-4o", limit = 900, tools = tools, tools_heading = "Tools:",
      clock = clock }
    chat:append { role = "user", content = "Hello" }
    local text = text_of(chat)

    local copy = assert(ebb.parse(text, { clock = clock }))
    assert.same({ nil, 900, "gpt-4o", "o200k_base" }, { copy.shape, copy.limit, copy:model(), copy:encoding() })
    assert.equal(text, text_of(copy))
    copy:clear { keep_system_message = false }
    assert.truthy(copy[1].text:find "^Tools:\n%- f: does it")

    local other = assert(ebb.parse(text, { model = "gpt-4", limit = 7 }))
    assert.same({ 7, "gpt-4", "cl100k_base" }, { other.limit, other:model(), other:encoding() })
    assert.same({ 7, "gpt-4" }, { assert(ebb.parse(text_of(other))).limit, assert(ebb.parse(text_of(other))):model() })
    other:recount { encoding = "bytes4" }
    assert.equal("bytes4", assert(ebb.parse(text_of(other))):encoding())
    assert.equal("bytes4", assert(ebb.parse(text_of(other:fork()))):encoding())
  end)

  it("is counted by a counter of the caller's, who gives it again", function()
    local chat = helper.conversation "s10 u20! a30"
    local copy = assert(ebb.parse(text_of(chat), { counter = helper.tokens_of, clock = clock }))
    assert.equal(chat:tokens(), copy:tokens())
    assert.equal(text_of(chat), text_of(copy))
    local _, problem = pcall(ebb.parse, text_of(chat), { counter = function() error "no" end })
    assert.truthy(tostring(problem):find "no")
  end)

  it("keeps the bytes of options that the C library has saved", function()
    for _, name in ipairs { "rich", "body", "cleared", "forgotten" } do
      local seed = helper.read(("tests/fuzz/seeds/saved/%s.json"):format(name))
      local text = seed:gsub('},\n"messages"', ' },\n"messages"', 1)
      local chat = assert(ebb.parse(text, { lenient = true }))
      assert.equal(text:match '"options":[^\n]*', chat:write "ebb":match '"options":[^\n]*')
    end
  end)

  it("reads roles of the file's own", function()
    local text = '[{"role":"pirate","content":"Arr"}]'
    local chat = assert(ebb.parse(text, { role_map = { pirate = "user" } }))
    local copy = assert(ebb.parse(text_of(chat)))
    assert.equal("user", copy[1].role)
    assert.equal(text_of(chat), text_of(copy))
    assert.equal(text, copy:json())
  end)

  it("keeps descriptions, names and reasons that need escapes, in batches with a ledger, too", function()
    for _, words in ipairs {
      "line\nnext", 'a "quoted" one', "back\\slash", "nul\0in", "整理\n旧消息", ("long\n"):rep(800),
    } do
      local chat = ebb.conversation { clock = clock, encoding = "cjk" }
      for _, content in ipairs { "one", "two", "x" } do chat:append { role = "user", content = content } end
      chat:filter { function(message) return message.content ~= "one" end, description = words }
      chat:truncate { keep_last = 1, description = words }
      chat:trim { budget = 1000, policy = function(draft)
        draft:note(words:sub(1, 40))
        draft:insert(1, { role = "user", content = "y" }, words:sub(1, 40))
      end }
      chat:checkpoint((words:sub(1, 20):gsub("%c", "-")))
      local text = chat:write "ebb"

      local again = assert(ebb.parse(text, { clock = clock }))

      assert.same(chat:batches(), again:batches())
      assert.equal(words, again:batches()[2].description)
      assert.same(chat:ledger():json(), again:ledger():json())
      assert.equal(text, again:write "ebb")
    end
  end)

  it("may be forked, and so is the fork", function()
    local copy = assert(ebb.parse(text_of(rich())))
    local fork = copy:fork()
    assert.equal(text_of(copy), text_of(fork))
    assert.is_true(fork.saved)
    fork:clear {}
    assert.equal("clear", assert(ebb.parse(text_of(fork))):batches()[#fork:batches()].operation)
  end)

  it("comes back with forgotten calls and results of every form", function()
    local chat = assert(ebb.parse('{"model":"gpt-5","input":[{"type":"function_call","call_id":"c","name":"f",' ..
      '"arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"secret"}]}'))
    chat:forget(1)
    chat:forget(2)
    local copy = assert(ebb.parse(text_of(chat)))
    assert.equal(text_of(chat), text_of(copy))
    assert.falsy(copy:json():find "secret")
    assert.equal("f", copy[2].call.name)
  end)

  it("is refused with its place if a byte was changed, and read with a warning under lenient", function()
    local text = text_of(rich())
    local changed = text:gsub("Be brief%.", "Be frank.", 1)

    local chat, problem = ebb.parse(changed)
    assert.is_nil(chat)
    assert.equal("damaged", problem.code)
    assert.truthy(problem.message:find "^text:%d+:10: expected the digest of the bytes before it, which are damaged")
    assert.truthy(problem.hint:find "lenient = true")

    chat = assert(ebb.parse(changed, { lenient = true }))
    assert.equal("Be frank.", chat:batch(0)[1].text)
    local warning = chat:warnings()[1]
    assert.same({ "damaged", true, 10 }, { warning.code, warning.lenient, warning.byte })
    assert.same({}, assert(ebb.parse(text_of(chat))):warnings())      -- saved again it is what it is
  end)

  it("of a newer version says so", function()
    local chat, problem = ebb.parse((text_of(rich()):gsub('{"ebb":2', '{"ebb":3', 1)))
    assert.is_nil(chat)
    assert.equal("unknown_version", problem.code)
    assert.equal("text:1:8: expected version 1 or 2", problem.message)
    assert.truthy(problem.hint:find "newer version")
  end)

  it("whose members another program has sorted is not taken for a request body", function()
    local sorted = ebb.json.encode(assert(ebb.json.decode(text_of(rich()))))
    local chat, problem = ebb.parse(sorted)
    assert.is_nil(chat)
    assert.truthy(problem.message:find('"ebb" as the first member of a saved conversation', 1, true))
  end)

  it("is held against the cap of files", function()
    local text = text_of(rich())
    local source = file("chat.ebb", text)
    for _, chat in ipairs { { ebb.parse(text, { max_file = 100 }) }, { ebb.load(source, { max_file = 100 }) } } do
      assert.is_nil(chat[1])
      assert.equal("limit", chat[2].code)
    end
    assert.truthy(ebb.load(source, { max_file = #text }))
  end)

  it("with options that nothing can be made of is refused", function()
    local text = text_of(ebb.conversation { model = "gpt-4o" })
    for wrong, expected in pairs {
      ['{"model":"gpt-none"}'] = "unknown_name: .*the options of the saved conversation: .*unknown model 'gpt%-none'",
      ['{"modle":"gpt-4o"}'] = "unknown_version: .*of the saved conversation: they have 'modle', which this version",
      ['{"model":"gpt-4o","steps":[],"stepNames":{"1":"a"}}'] = "unknown_version: .*they have 'stepNames'",
      ['{"limit":-1}'] = "argument: .*limit", ['{"tools":[1]}'] = "argument: .*tools",
      ['{"document":{"before":"[","gap":"x","after":"]"}}'] = "damaged: .*what stands around messages",
      ['{"document":{"before":"[","gap":",","after":"]"},"roleMap":{"p":"king"}}'] = "unknown_name: .*'king'",
    } do
      local changed = text:gsub('{"model":"gpt%-4o"}', (wrong:gsub("%%", "%%%%")), 1)
      local chat, problem = ebb.parse(changed, { lenient = true })
      assert.is_nil(chat, wrong)
      assert.truthy((problem.code .. ": " .. problem.message):find(expected), problem.code .. ": " .. problem.message)
    end
  end)

  it("has no options that belong to lists", function()
    local chat = rich()
    for _, options in ipairs { { dialect = "ebb", shape = "array" }, { dialect = "ebc" }, { shape = "ebb" } } do
      assert.is_false((pcall(chat.save, chat, path_of "x", options)))
    end
    assert.is_false((pcall(chat.write, chat, "ebb", { shape = "body" })))
    assert.same({}, select(2, chat:write "ebb"))
    local list = assert(ebb.parse "[]")
    local _, problem = pcall(list.save, list, path_of "x", { shape = "body" })
    assert.equal("argument", problem.code)
    assert.is_nil(command.read(path_of "x"))
  end)

  it("is not written over a file that has changed", function()
    local source = path_of "chat.ebb"
    assert(rich():save(source, { dialect = "ebb" }))
    local identity = ebb.file_identity(source)
    local chat = assert(ebb.load(source))
    file("chat.ebb", "another")
    local done, problem = chat:save(source, { unchanged = identity })
    assert.is_nil(done)
    assert.equal("conflict", problem.code)
    assert.equal("another", command.read(source))
    assert.falsy(command.files_left():find("chat.ebb.", 1, true))
  end)

  --- n messages, of which each is replaced in a batch of its own, as text.
  local texts = {}
  local function replaced(n)
    if texts[n] then return texts[n] end
    local chat, list = ebb.conversation(), {}
    for i = 1, n do list[i] = { role = "user", content = "m" .. i } end
    chat:append(list)
    for i = 1, n do chat:replace(i, { role = "user", content = "other " .. i }) end
    texts[n] = text_of(chat)
    return texts[n]
  end

  it("takes time in proportion to its batches, however long their lists are", function()
    gate.check("read a saved chat", 1000, function(n)
      local text = replaced(n)
      return gate.seconds(function() assert(ebb.parse(text)) end)
    end)
    gate.check("save a chat", 1000, function(n)
      local chat = assert(ebb.parse(replaced(n)))
      local again
      local seconds = gate.seconds(function() again = text_of(chat) end)
      assert.equal(replaced(n), again)
      return seconds
    end)
  end)
end)
