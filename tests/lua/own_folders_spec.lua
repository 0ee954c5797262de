--- The user's own folders: processors, macros and types of nodes are found there by the names of their files, as
--- policies and filters are; and `ebb.processor` adds processors for a whole program.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local ebb = helper.ebb
local does, fails, contains = command.does, command.fails, command.contains

local SHOUT = [[return { id = "shout", name = "Shout", config_fields = { { key = "mark", default = "!" } },
  execute = function(context, config)
    local last = context.messages[#context.messages]
    last.content = last.content .. config.mark
  end }]]
local LOUD = [[local calls = 0
return { name = "loud", summary = "in capitals", parameters = { "text" }, stability = "stable",
  run = function(_, text) calls = calls + 1 return text:upper() .. calls end }]]
local TAG = [[return { name = "tag", fields = { word = { type = "string", required = true } },
  run = function(chat, options) chat:append { role = "user", content = options.word } end }]]

--- Files of the user's by their folder and name.
local FILES = {
  ["processors/shout"] = SHOUT,
  ["processors/pair"] = [[return { { id = "other", name = "Other", execute = function() end },
    { id = "pair", name = "Pair", default_enabled = false, execute = function() end } }]],
  ["processors/misnamed"] = SHOUT,
  ["processors/broken"] = "return = 1",
  ["processors/lorebook"] = SHOUT:gsub('"shout"', '"lorebook"'),
  ["macros/loud"] = LOUD,
  ["macros/user"] = LOUD:gsub('"loud"', '"user"'),
  ["macros/broken"] = "return = 1",
  ["macros/endless"] = LOUD:gsub('"loud"', '"endless"'):gsub("calls = calls %+ 1", "while true do end"),
  ["types/tag"] = TAG,
  ["types/trim"] = TAG:gsub('"tag"', '"trim"'),
  ["types/misnamed"] = TAG,
}

local KINDS = { processor_path = "processors", macro_path = "macros", type_path = "types" }
local folder

setup(function()
  command.make_folder()
  folder = command.path_of "config/ebb"
  for name, text in pairs(FILES) do
    os.execute(("mkdir -p '%s/%s'"):format(folder, name:match "^%l+"))
    command.file("config/ebb/" .. name .. ".lua", text)
  end
  for path, kind in pairs(KINDS) do table.insert(ebb[path], 1, folder .. "/" .. kind) end
end)

teardown(function()
  for path in pairs(KINDS) do table.remove(ebb[path], 1) end
  command.remove_folder()
end)

local function chat_of() return ebb.conversation { messages = { { role = "user", content = "one" } } } end

--- The texts that a pipeline sends.
local function sent(options)
  options.model = "gpt-4o"
  local result = assert(ebb.pipeline(options):run(chat_of()))
  local texts = {}
  for i = 1, #result.chat do texts[i] = result.chat[i].text end
  return table.concat(texts, "|")
end

local function preset(text) return { presets = { { role = "system", content = text }, { type = "chat_history" } } } end

describe("a processor of the user's folder", function()
  local cases = {
    { "runs nowhere unless it is named", {}, "one" },
    { "runs where an agent names it", { agent = { processors = { shout = true } } }, "one!" },
    { "has the agent's settings", { agent = { processors = { { id = "shout", mark = "#" } } } }, "one#" },
    { "is off where the agent says so", { agent = { processors = { shout = false } } }, "one" },
    { "runs where a model's file names it", { model_config = { processors = { shout = { mark = "~" } } } }, "one~" },
    { "runs where a setting names it", { set = { "shout.mark=??" } }, "one??" },
    { "is loaded by its name", { processors = { "shout" } }, "one!" },
    { "takes no built-in one's place", { agent = { processors = { lorebook = true } } }, "one" },
    { "may be one of several in a file", { agent = { processors = { pair = true } } }, "one" },
  }
  for _, case in ipairs(cases) do
    it(case[1], function() assert.equal(case[3], sent(case[2])) end)
  end

  it("is found by methods, kept by settings, and removed", function()
    local pipeline = ebb.pipeline()
    pipeline:enable "shout"
    pipeline:reorder { "shout" }
    assert.equal("shout", pipeline:settings()[1].id)
    assert.same(pipeline:settings()[1].priority,
      ebb.pipeline { agent = { processors = pipeline:settings() } }:settings()[1].priority)
    pipeline:remove "shout"
    assert.is_nil(helper.settings(pipeline).shout)
    local named = ebb.pipeline { agent = { processors = { shout = true } } }
    assert.matches("names 'shout'", helper.refusal(named.remove, named, "shout").message, 1, true)
    assert.truthy(helper.settings(named).shout)
  end)

  local wrong = {
    { { agent = { processors = { misnamed = true } } }, "misnamed.lua: it has no processor 'misnamed'" },
    { { set = { "broken.a=1" } }, "broken.lua:1: " },
    { { agent = { processors = { nowhere = true } } }, "there is no processor 'nowhere'" },
    { { set = { "../shout.mark=1" } }, "expected id.key=value" },
    { { agent = { processors = { ["../processors/shout"] = true } } }, "there is no processor" },
  }
  for _, case in ipairs(wrong) do
    it("is refused: " .. case[2], function()
      assert.matches(case[2], helper.refusal(ebb.pipeline, case[1]).message, 1, true)
    end)
  end
end)

describe("a macro of the user's folder", function()
  local cases = {
    { "{{loud::a}}", "A1" }, { "{{Loud::a}} {{LOUD::b}}", "A1 B2" }, { "{{user}}", "User" },
    { "{{nowhere::a}}", "{{nowhere::a}}" }, { "{{../macros/loud::a}}", "{{../macros/loud::a}}" },
  }
  for _, case in ipairs(cases) do
    it("is found by its name: " .. case[1], function()
      assert.equal(case[2] .. "|one", sent { agent = preset(case[1]), user_profile = { name = "User" } })
    end)
  end

  it("begins anew in each run, and has the limits of the pipeline", function()
    local pipeline = ebb.pipeline { agent = preset "{{loud::a}}", model = "gpt-4o" }
    for _ = 1, 2 do assert.equal("A1", assert(pipeline:run(chat_of())).chat[1].text) end
    local slow = ebb.pipeline { agent = preset "{{endless::a}}", model = "gpt-4o", limits = { fuel = 1e6 } }
    local result = slow:run(chat_of())
    assert.equal("{{endless::a}}", assert(result).chat[1].text)
  end)

  it("is loaded by its name next to others, and works in new input", function()
    assert.equal("A1|one", sent { macros = { "loud" }, agent = preset "{{loud::a}}" })
    local chat = chat_of()
    chat:input "say {{loud::b}}"
    assert.equal("say B1", chat[2].text)
  end)
end)

describe("a type of nodes of the user's folder", function()
  it("is found by its name, a built-in one first", function()
    local chat = ebb.conversation { messages = { { role = "user", content = "a b c" } } }
    assert(ebb.workflow.run(chat, { { type = "tag", word = "x" }, { type = "trim", budget = 1000 } }))
    assert.equal("a b c x", helper.texts(chat))
  end)

  it("gives way to one that the workflow brings", function()
    local mine = { name = "tag", run = function(chat) chat:append { role = "user", content = "mine" } end }
    local chat = chat_of()
    assert(ebb.workflow.run(chat, { types = { mine }, nodes = { { type = "tag" } } }))
    assert.equal("one mine", helper.texts(chat))
  end)

  it("is refused where its file has another name, or a field is wrong", function()
    local run = ebb.workflow.run
    contains("it has no type 'misnamed'", tostring(helper.refusal(run, chat_of(), { { type = "misnamed" } })))
    contains("word is missing", tostring(helper.refusal(run, chat_of(), { { type = "tag" } })))
    contains("unknown type 'nowhere'", tostring(helper.refusal(run, chat_of(), { { type = "nowhere" } })))
  end)
end)

describe("the command", function()
  local plain

  setup(function()
    plain = command.EBB
    command.EBB = ("XDG_CONFIG_HOME=%s %s"):format(command.path_of "config", plain)
  end)

  teardown(function() command.EBB = plain end)

  it("finds what is in the folders below the configuration", function()
    local chat = command.file("chat.json", '[{"role":"user","content":"one"}]')
    local agent = command.file("agent.json", '{"processors":{"shout":{"mark":"#"}},"model":"gpt-4o"}')
    contains('"one#"', (does(("pipeline %s --agent %s"):format(chat, agent))))
    contains('"one!"', (does(("pipeline %s --plugin shout --model gpt-4o"):format(chat))))
    local flow = command.file("flow.json", '[{"type":"tag","word":"two"}]')
    contains('"two"', (does(("run %s --input %s"):format(flow, chat))))
    local shown = does "processors"
    contains("if named", shown)
    contains("broken.lua:1:", (shown:gsub("%s+", " ")))
    local listed = {}
    for _, each in ipairs(ebb.json.decode((does "processors --json"))) do listed[each.id] = each end
    assert.is_false(listed.shout.enabled)
    assert.matches("processors/shout.lua$", listed.shout.file)
    assert.matches("broken.lua:1:", listed.broken.problem)
    assert.is_nil(listed.lorebook.file)
    contains("mark", (does "processors shout"))
    contains("it has no processor 'misnamed'", fails(command.SCRIPT, "processors misnamed"))
  end)
end)

describe("ebb.processor", function()
  it("adds processors for the whole program", function()
    local script = command.file("program.lua", [[
      local ebb = require "ebb"
      local function add(mark)
        return function(context) local m = context.messages m[#m].content = m[#m].content .. mark end
      end
      ebb.processor { id = "first", name = "First", execute = add "1" }
      ebb.processor { { id = "second", name = "Second", isCore = true, execute = add "2" },
        { id = "alternate-roles", name = "Mine", default_enabled = true, priority = 950, execute = add "3" } }
      local chat = ebb.conversation { messages = { { role = "user", content = "one" } } }
      print(ebb.pipeline { model = "gpt-4o" }:run(chat).chat[1].text)
      ebb.processor { id = "first", name = "First", execute = add "4" }
      print(ebb.pipeline { model = "gpt-4o", agent = { processors = { second = false } } }:run(chat).chat[1].text)
      for _, wrong in ipairs { "x.lua", {}, { id = "x" }, { id = "x", name = "X", execute = 1 } } do
        local ok, problem = pcall(ebb.processor, wrong)
        print(ok, problem.code)
      end
      print(#ebb.pipeline():order())]])
    local lines = {}
    for text in does("run " .. script):gmatch "[^\n]+" do lines[#lines + 1] = text end
    assert.same({ "one123", "one43", "false\targument", "false\tshape", "false\tshape", "false\tshape", "13" }, lines)
  end)
end)

describe("a macro of the user's folder that the history names", function()
  it("is told, and its file is not read", function()
    local chat = ebb.conversation { messages = { { role = "assistant", content = "{{broken}} {{loud::a}} {{nowhere}}" },
      { role = "user", content = "one" } } }
    local result, problem = ebb.pipeline { model = "gpt-4o" }:run(chat)
    assert.is_nil(problem)
    local said = {}
    for _, entry in ipairs(result.logs) do said[#said + 1] = entry.message end
    said = table.concat(said, "\n")
    contains("{{broken}} is sent unchanged", said)
    contains("{{loud}} is sent unchanged", said)
    assert.is_nil(said:find("{{nowhere}}", 1, true))
    assert.equal("{{broken}} {{loud::a}} {{nowhere}}", result.chat[1].text)
  end)
end)
