--- Native calls of models to windows, and actions of the conversation itself.

local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local ebb, refusal = helper.ebb, helper.refusal

local function plain()
  return ebb.conversation { encoding = "cjk", messages = { { role = "user", content = "u1" } } }
end

local function todo(chat, id)
  local items = {}
  return chat.windows:open { id = id or "todo", description = "Things to do",
    content = function() return table.concat(items, ", ") end,
    actions = { { id = "add", label = "Add an item", params = "text:string",
      run = function(params) items[#items + 1] = params.text return "item " .. #items end } } }
end

--- The seed's own example: a window is opened by an action of no window.
local function with_create()
  local chat = plain()
  chat:action { id = "create", label = "Open an application", params = "name:enum(todo)", run = function(params, here)
    return "opened " .. todo(here, params.name .. "_1").id
  end }
  return chat
end

local function call(id, name, arguments)
  return { id = id, type = "function", ["function"] = { name = name, arguments = arguments } }
end

local function says(chat, ...)
  chat:append { role = "assistant", content = core.json.null, tool_calls = { ... } }
end

describe("actions as tools", function()
  local function names(chat, dialect)
    local list = {}
    for i, tool in ipairs(core.json.decode(chat.windows:tools { dialect = dialect })) do
      list[i] = tool.name or tool["function"].name
    end
    return table.concat(list, " ")
  end

  it("are listed in each dialect, the conversation's first", function()
    local chat = with_create()
    todo(chat)
    for _, dialect in ipairs { "openai", "responses", "anthropic" } do
      assert.equal("create todo__add todo__close", names(chat, dialect))
    end
    local gemini = core.json.decode(chat.windows:tools { dialect = "gemini" })
    assert.equal("todo__add", gemini[1].functionDeclarations[2].name)
    local tool = core.json.decode(chat.windows:tools { dialect = "anthropic" })[2]
    assert.equal("Things to do: Add an item (window todo)", tool.description)
    assert.same({ type = "object", properties = { text = { type = "string" } }, required = { "text" } },
      tool.input_schema)
    assert.equal("[]", plain().windows:tools())
  end)

  it("are listed for a dialect that is named alone", function()
    local chat = with_create()
    assert.equal(chat.windows:tools { dialect = "gemini" }, chat.windows:tools "gemini")
    assert.equal("argument", refusal(chat.windows.tools, chat.windows, "gemnii").code)
  end)

  it("have names that providers take, and each its own", function()
    local chat = plain()
    for _, id in ipairs { "a.b", "a b", ("x"):rep(100), ("x"):rep(101) } do
      chat.windows:open { id = id, closable = false, actions = { { id = "go", run = function() return id end } } }
    end
    local seen = {}
    for name in names(chat, "openai"):gmatch "%S+" do
      assert.is_nil(seen[name])
      assert.truthy(#name <= 64 and not name:find "[^%w_-]", name)
      seen[name] = true
      says(chat, call("c" .. name, name, ""))
      assert.is_true(chat:act()[1].ok)
    end
    assert.same({ "a.b.go: a.b", "a b.go: a b" }, { chat:recent("tool", 4)[1].text, chat:recent("tool", 4)[2].text })
  end)

  it("keep their names in any script, whatever other windows open and close", function()
    local chat = plain()
    local ids = { "笔记", "待办", "日历", "a b", "a.b", "a__b", "a", "3d", "заметки", "-x", ("长"):rep(80), "todo_" }
    local function open(id)
      chat.windows:open { id = id, closable = id ~= "a", actions = { { id = "加", run = function() return id end },
        { id = "b__加", run = function() return id end } } }
    end
    for _, id in ipairs(ids) do open(id) end
    local first, seen = core.json.decode(chat.windows:tools "anthropic"), {}
    assert.equal(3 * #ids - 1, #first)
    for _, tool in ipairs(first) do
      assert.is_nil(seen[tool.name])
      assert.truthy(#tool.name <= 64 and tool.name:find "^[A-Za-z_][A-Za-z0-9_-]*$", tool.name)
      seen[tool.name] = tool.description
    end
    assert.matches("^w%x%x%x%x%x%x%x%x__w%x+$", first[1].name)
    assert.equal("加 (window 笔记)", first[1].description)
    chat.windows:get("笔记"):close()
    chat.windows:get("日历"):close()
    open "笔记"
    local saved = assert(ebb.parse(chat:write "ebb"))
    for _, each in ipairs { chat, saved } do
      for _, tool in ipairs(core.json.decode(each.windows:tools "anthropic")) do
        assert.equal(seen[tool.name], tool.description)
      end
    end
  end)

  it("act on their window when history names them, and never on another one", function()
    local chat, did = plain(), {}
    for _, id in ipairs { "笔记", "待办" } do
      chat.windows:open { id = id, actions = { { id = "加", run = function() did[#did + 1] = id end } } }
    end
    local listed = {}
    for i, tool in ipairs(core.json.decode(chat.windows:tools "anthropic")) do listed[i] = tool.name end
    chat.windows:get("笔记"):close()
    chat.windows:open { id = "日历", actions = { { id = "加", run = function() did[#did + 1] = "日历" end } } }
    says(chat, call("c1", listed[3], "{}"), call("c2", listed[1], "{}"), call("c3", "____________2", "{}"))
    local results = chat:act()
    assert.same({ "待办" }, did)
    assert.same({ "closed", "unknown_name" }, { results[2].code, results[3].code })
  end)

  it("are found by the names that they had before names had hashes, where one had it alone", function()
    local chat, did = plain(), {}
    for _, id in ipairs { "my file.txt", "a.b", "a b" } do
      chat.windows:open { id = id, actions = { { id = "add", run = function() did[#did + 1] = id end } } }
    end
    says(chat, call("c1", "my_file_txt__add", "{}"), call("c2", "a_b__add", "{}"))
    assert.equal("unknown_name", chat:act()[2].code)
    assert.same({ "my file.txt" }, did)
  end)

  it("are numbered where two hashes are equal, and keep the number when the first one closes", function()
    local core_sha256, chat = core.sha256, plain()
    finally(function() core.sha256 = core_sha256 end)
    core.sha256 = function() return ("0"):rep(64) end
    for _, id in ipairs { "笔", "待" } do
      chat.windows:open { id = id, closable = false, actions = { { id = "add", run = function() return id end } } }
    end
    assert.equal("w00000000__add w00000000__add_2", names(chat, "openai"))
    chat.windows:get("笔"):close()
    assert.equal("w00000000__add_2", names(chat, "openai"))
    says(chat, call("c1", "w00000000__add_2", "{}"))
    assert.equal("待.add: 待", chat:act()[1].text)
  end)

  it("close, and are gone with their window", function()
    local chat = plain()
    todo(chat)
    says(chat, call("c", "todo__close", '{"summary":"done"}'))
    assert.is_true(chat:act()[1].ok)
    assert.is_true(chat.windows:get("todo").closed)
    assert.equal("[]", chat.windows:tools())
  end)
end)

describe("chat:act", function()
  it("performs the calls of the last message, and appends what became of them", function()
    local chat = with_create()
    says(chat, call("c1", "create", '{"name":"todo"}'))
    assert.equal("create: opened todo_1", chat:act()[1].text)
    says(chat, call("c2", "todo_1__add", '{"text":"milk"}'), call("c3", "todo_1__add", "{}"),
      call("c4", "todo_1__ad", "{}"), call("c5", "create", "{"))
    local results = chat:act()
    assert.same({ true, false, false, false }, { results[1].ok, results[2].ok, results[3].ok, results[4].ok })
    assert.equal("todo_1.add: item 1", chat[#chat - 3].text)
    assert.matches("params.text is required", chat[#chat - 2].text, 1, true)
    assert.matches("does not exist", chat[#chat - 1].text, 1, true)
    assert.matches("the arguments are not JSON", chat[#chat].text, 1, true)
    assert.equal("c5", chat[#chat].answers[1])
    assert.matches("milk", chat.windows:get("todo_1"):markup(), 1, true)
    assert.same({}, (chat:check "openai"))
    assert.equal(0, #chat:act())
  end)

  it("marks what failed as an error where the form has a place for it", function()
    local chat = assert(ebb.parse('{"model":"claude-sonnet-4-5","max_tokens":9,'
      .. '"messages":[{"role":"user","content":"u"},'
      .. '{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"go","input":{}},'
      .. '{"type":"tool_use","id":"t2","name":"gone","input":{}}]}]}'))
    chat:action { id = "go", run = function() end }
    chat:act()
    local blocks = core.json.decode(chat:json()).messages[3].content
    assert.same({ nil, true }, { blocks[1].is_error, blocks[2].is_error })
  end)

  it("is what chat.windows:act does with a message, and with the text of one that has no native call", function()
    local chat = plain()
    todo(chat)
    says(chat, call("c1", "todo__add", '{"text":"milk"}'))
    assert.equal("todo.add: item 1", chat.windows:act(chat[#chat])[1].text)
    assert.equal("tool", chat[#chat].role)
    local text = '<tool_call>{"name":"todo.add","arguments":{"text":"tea"}}</tool_call>'
    chat:append { role = "assistant", content = text }
    local shown = #chat
    assert.equal("todo.add: item 2", chat.windows:act(chat[shown]).text)
    assert.equal("todo.add: item 3", chat.windows:act({ role = "assistant", content = text }).text)
    assert.equal(0, #chat.windows:act(chat[1]))
    local unknown = { role = "assistant", content = core.json.null, tool_calls = { call("c2", "todo__add", "{}") } }
    assert.equal("append a message before its calls are performed",
      refusal(chat.windows.act, chat.windows, unknown).hint)
  end)

  it("takes one message, by its position too", function()
    local chat = with_create()
    says(chat, call("c1", "create", '{"name":"todo"}'))
    local results = chat:act(chat[2])
    assert.equal(1, #results)
    assert.equal("argument", refusal(chat.act, chat, 2).code)
    assert.equal("argument", refusal(chat.act, chat, "text").code)
    assert.equal(0, #chat:act(1))
  end)

  for _, case in ipairs {
    { "anthropic", '{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"u"},'
      .. '{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"create","input":{"name":"todo"}}]}]}' },
    { "responses", '{"model":"gpt-4o","input":[{"role":"user","content":"u"},{"type":"function_call","call_id":"t1",'
      .. '"name":"create","arguments":"{\\"name\\":\\"todo\\"}"}]}' },
    { "gemini", '{"model":"gemini-2.5-flash","contents":[{"role":"user","parts":[{"text":"u"}]},'
      .. '{"role":"model","parts":[{"functionCall":{"name":"create","args":{"name":"todo"}}}]}]}' },
  } do
    it("answers in the form of " .. case[1], function()
      local chat = assert(ebb.parse(case[2]))
      chat:action { id = "create", params = "name:string", run = function(params) return "made " .. params.name end }
      assert.equal("create: made todo", chat:act()[1].text)
      assert.matches("create: made todo", chat[3].text, 1, true)
      assert.equal(case[1], chat:dialect())
      assert.same({}, (chat:check(case[1])))
    end)
  end
end)

describe("an action of the conversation", function()
  it("is called in a text, too, and opens a window", function()
    local chat = with_create()
    local results = chat.windows:act '<tool_call>{"name":"create","arguments":{"name":"todo"}}</tool_call>'
    assert.same({ true, "create: opened todo_1" }, { results[1].ok, results[1].text })
    assert.truthy(chat.windows:get "todo_1")
    results = chat.windows:act { name = "creat" }
    assert.matches("did you mean 'create'?", results[1].text, 1, true)
  end)

  it("is ambiguous next to a window's of the same name, and inherited by forks", function()
    local chat = with_create()
    chat.windows:open { id = "w", actions = { { id = "create", run = function() end } } }
    assert.equal("ambiguous", chat.windows:act({ name = "create", params = { name = "todo" } })[1].code)
    local fork = with_create():fork()
    fork:action { id = "more", run = function() return "x" end }
    assert.is_true(fork.windows:act({ name = "create", params = { name = "todo" } })[1].ok)
  end)

  it("may raise, refuse, and loop no longer than others", function()
    local chat = plain()
    chat:action { id = "raises", run = function() error "oops" end }
    chat:action { id = "refuses", run = function() return nil, "not today" end }
    chat:action { id = "loops", run = function() while true do end end }
    assert.matches("oops", chat.windows:act({ name = "raises" })[1].text)
    assert.equal("refuses: error: not today", chat.windows:act({ name = "refuses" })[1].text)
    assert.equal("limit", chat.windows:act({ name = "loops" }, { instructions = 10000 })[1].code)
  end)

  it("is declared with an id and a function", function()
    local chat = plain()
    assert.equal("did you mean 'params'?", refusal(chat.action, chat, { id = "x", parms = "", run = print }).hint)
    assert.equal("argument", refusal(chat.action, chat, { id = "x" }).code)
    assert.equal("argument", refusal(chat.action, chat, { id = "Close", run = print }).code)
    assert.equal("syntax", refusal(chat.action, chat, { id = "x", params = "a:strin", run = print }).code)
  end)
end)

describe("a workflow with windows", function()
  it("tells the model of actions, and performs its calls", function()
    local chat, step, asked = with_create(), 0, {}
    local answers = { call("c1", "create", '{"name":"todo"}'), call("c2", "todo_1__add", '{"text":"milk"}') }
    local done = ebb.workflow.run(chat, { { type = "loop", stop_when = { answered = true }, nodes = {
      { type = "model", model = "gpt-4o" }, { type = "tool" } } } }, { model = function(request)
      step = step + 1
      asked[step] = core.json.encode(request)
      if not answers[step] then return "Done." end
      local message = { role = "assistant", content = core.json.null, tool_calls = { answers[step] } }
      return { choices = { { message = message } } }
    end })
    assert.is_true(done)
    assert.matches('"create"', asked[1], 1, true)
    assert.is_nil(asked[1]:find("todo_1__add", 1, true))
    assert.matches("todo_1__add", asked[2], 1, true)
    assert.matches("milk", asked[3], 1, true)
    assert.equal("Done.", chat[#chat].text)
  end)
end)
