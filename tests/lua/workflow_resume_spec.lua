--- Workflows that are killed: they go on at their node, and nothing is done twice.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local core = require "ebb.support.core"
local ebb = helper.ebb
local nodes = require "ebb.workflow"

local conversation, texts, refusal = helper.conversation, helper.texts, helper.refusal

--- A workflow of ten nodes and more; each script notes its name, and appends it.
local function ten(journal)
  local function says(name)
    return { type = "script", id = name, run = function(chat)
      journal[#journal + 1] = name
      chat:append { role = "user", content = name }
    end }
  end
  return {
    says "a", says "b",
    { type = "loop", at_most = 3, nodes = { says "c", { type = "branch", when = { messages_over = 7 },
      nodes = { says "d", says "e" }, otherwise = { says "f" } } } },
    { type = "parallel", branches = { { says "g" }, { says "h" } } },
    { operation = "truncate", truncate = { keepLast = 9 } },
    { type = "branch", when = function(chat) return chat[#chat].text == "h" end, nodes = { says "i", says "j" } },
    says "k",
  }
end

local function graph(journal)
  local list = ten(journal)
  return {
    nodes = { list[1], list[2], { id = "more", type = "branch", when = { messages_over = 6 } }, list[7] },
    edges = { { "a", "b" }, { "b", "more" }, { "more", "a", when = false }, { "more", "k", when = true } },
  }
end

--- Runs with a memory that outlives the run, which is ended after so many saves; true: it came to its end.
local function run_until(workflow, memory, saves, options)
  local chat = assert(ebb.parse(memory.text))
  local count, killed = 0, false
  options = options or {}
  options.position = memory.position and core.json.decode(memory.position)
  options.save = function(now, position)
    memory.text, memory.position = now:write "ebb", position and core.json.encode(position)
    count = count + 1
    killed = count > saves
    if killed then error("killed", 0) end
    return assert(ebb.parse(memory.text))
  end
  local ok, done, problem = pcall(nodes.run, chat, workflow, options)
  if not killed then assert.is_true(ok and done, tostring(problem or done)) end
  return not killed
end

describe("a workflow that is killed", function()
  for name, build in pairs { ["of a list"] = ten, ["of a graph"] = graph } do
    it("goes on at each of its nodes: " .. name, function()
      local whole, kills, over = {}, 0, false
      local chat = conversation "u1"
      assert(nodes.run(chat, build(whole)))
      assert.is_true(#whole >= 7)
      while not over do
        local journal, memory = {}, { text = conversation("u1"):write "ebb" }
        over = run_until(build(journal), memory, kills)
        if memory.position then
          assert.is_true(run_until(build(journal), memory, math.huge))
        end
        assert.same(whole, journal)
        assert.equal(texts(chat), texts(assert(ebb.parse(memory.text))))
        assert.is_nil(memory.position)
        kills = kills + 1
      end
      assert.is_true(kills > 9, kills)
    end)
  end

  it("that is killed after each node comes to its end, too", function()
    local whole, journal, memory, runs = {}, {}, { text = conversation("u1"):write "ebb" }, 1
    assert(nodes.run(conversation "u1", ten(whole)))
    while not run_until(ten(journal), memory, 1) and memory.position do runs = runs + 1 end
    assert.same(whole, journal)
    assert.is_true(runs > 5)
  end)

  it("refuses the position of another one", function()
    local journal, memory = {}, { text = conversation("u1"):write "ebb" }
    run_until(ten(journal), memory, 2)
    local position = core.json.decode(memory.position)
    local problem = refusal(nodes.run, conversation "u1", graph {}, { position = position })
    assert.matches("an earlier run ended after node 3.nodes[1] 'c' (script), of a workflow with other nodes",
      problem.message, 1, true)
    assert.matches("begin again", problem.hint)
    position.at = "3"
    problem = refusal(nodes.run, conversation "u1", ten {}, { position = position })
    assert.matches("position: at: expected a list", problem.message)
  end)

  it("ends where it cannot be saved", function()
    local done, problem = nodes.run(conversation "u1", ten {}, { save = function()
      return nil, core.error("conflict", "somebody was faster")
    end })
    assert.same({ nil, "conflict", "node 1 'a' (script): somebody was faster" },
      { done, problem.code, problem.message })
  end)
end)

describe("a tool that is marked once", function()
  local REQUEST = { role = "assistant", tool_calls = {
    { id = "c1", type = "function", ["function"] = { name = "pay", arguments = "{}" } },
    { id = "c2", type = "function", ["function"] = { name = "pay", arguments = "{}" } } } }

  local function pays(journal, once)
    return {
      tools = { { name = "pay", once = once, run = function()
        journal[#journal + 1] = "paid"
        return "paid " .. #journal
      end } },
      nodes = { { type = "script", run = function(chat) chat:append(REQUEST) end }, { type = "tool" } },
    }
  end

  --- The results that the model reads, after a run that was killed at a save, and one that went on.
  local function after_kill(saves, once)
    local journal, memory = {}, { text = ebb.conversation { encoding = "cjk",
      messages = { { role = "user", content = "pay twice" } } }:write "ebb" }
    assert.is_false(run_until(pays(journal, once), memory, saves))
    assert.is_true(run_until(pays(journal, once), memory, math.huge))
    local chat = assert(ebb.parse(memory.text))
    return chat[3].text, chat[4].text, #journal
  end

  it("is not called again", function()
    local unknown = "error: not called again"
    for saves = 1, 5 do
      local one, two, calls = after_kill(saves, true)
      assert.equal(saves == 1 and unknown or "paid 1", saves == 1 and one:sub(1, #unknown) or one, saves)
      assert.equal(saves == 3 and unknown or saves == 1 and "paid 1" or "paid 2",
        saves == 3 and two:sub(1, #unknown) or two, saves)
      assert.equal((saves == 1 or saves == 3) and 1 or 2, calls)
    end
  end)

  it("has no place inside of parallel, where nothing is saved", function()
    local workflow = pays({}, true)
    workflow.nodes[2] = { type = "parallel", branches = { { { type = "tool" } }, { { type = "tool" } } } }
    local chat = ebb.conversation { encoding = "cjk", messages = { { role = "user", content = "pay" } } }
    local done, problem = nodes.run(chat, workflow, { save = function(now) return now end })
    assert.is_nil(done)
    assert.matches("pay: a tool marked once is not called inside of parallel", problem.message, 1, true)
  end)
end)

describe("ebb run --session", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  --- Ten nodes in a file. The one whose number is in the file "kill" ends the process by the signal there, once.
  local function write_flow(signal)
    command.file("flow.lua", ([[
      local folder, list = %q, {}
      local function says(i)
        return { type = "script", run = function(chat)
          local file = io.open(folder .. "/kill")
          if file and file:read "n" == i then
            os.remove(folder .. "/kill")
            io.popen("kill -%s $PPID"):close()      -- os.execute would ignore SIGINT meanwhile
            for _ = 1, 1e9 do end
          end
          local log = io.open(folder .. "/log", "a")
          log:write(i, " ")
          log:close()
          chat:append { role = "user", content = tostring(i) }
        end }
      end
      for i = 1, 8 do list[i] = says(i) end
      list[9] = { type = "loop", at_most = 2, nodes = { says(9), says(10) } }
      return list]]):format(command.folder, signal))
    command.environment = "EBB_DB=" .. command.path_of "db"
    command.does("session new s")
  end

  after_each(function() command.environment = nil end)

  local ALL = "1 2 3 4 5 6 7 8 9 10 9 10 "

  it("killed at every node of ten goes on there, and does nothing twice", function()
    for node = 1, 10 do
      write_flow "KILL"
      command.file("kill", tostring(node))
      local run = command.ebb(("run %s --session s"):format(command.path_of "flow.lua"))
      assert.equal(137, run.status)
      local _, err = command.does(("run %s --session s"):format(command.path_of "flow.lua"))
      if node > 1 then command.contains("session s: goes on after node", err) end
      assert.equal(ALL, command.read(command.path_of "log"))
      assert.equal(12, #core.json.decode((command.does "inspect session:s --json")).messages)
      command.does "session rm s"
      os.remove(command.path_of "log")
    end
  end)

  it("stopped by Ctrl-C has what was done, and goes on", function()
    write_flow "INT"
    command.file("kill", "4")
    local run = command.ebb(("run %s --session s"):format(command.path_of "flow.lua"))
    assert.equal(130, run.status)
    assert.equal("1 2 3 ", command.read(command.path_of "log"))
    local out = command.does "inspect session:s --json"
    assert.equal(3, #core.json.decode(out).messages)
    command.does(("run %s --session s"):format(command.path_of "flow.lua"))
    assert.equal(ALL, command.read(command.path_of "log"))
  end)

  it("goes on after a failure that was mended, and begins anew where that is wanted", function()
    command.environment = "EBB_DB=" .. command.path_of "db"
    command.does "session new s"
    local path = command.path_of "flow.lua"
    local function flow(second, more)
      command.file("flow.lua", ([[return { { type = "script", run = function(chat)
          chat:append { role = "user", content = "one" } end },
        { type = "script", run = function(chat) %s end }, %s }]]):format(second, more or ""))
    end
    flow "error 'boom'"
    local err = command.fails(command.SCRIPT, ("run %s --session s"):format(path))
    command.contains("boom", err)
    command.contains("the next run goes on at this one, --restart begins again", err)
    flow("error 'boom'", "{ type = 'check' }")
    command.contains("of a workflow with other nodes", command.fails(command.REFUSED,
      ("run %s --session s"):format(path)))
    flow "chat:append { role = 'user', content = 'two' }"
    command.does(("run %s --session s --model gpt-4o"):format(path))
    local function count() return #core.json.decode((command.does "inspect session:s --json")).messages end
    assert.equal(2, count())
    flow "error 'boom'"
    command.fails(command.SCRIPT, ("run %s --session s"):format(path))
    flow "chat:append { role = 'user', content = 'two' }"
    command.does(("run %s --session s --restart"):format(path))
    assert.equal(5, count())
    command.contains("--restart goes with --session", command.fails(command.USAGE,
      ("run %s %s --restart"):format(path, command.path_of "small.json")))
    local out = command.does(("run %s --session s -o %s"):format(path, command.path_of "out.json"))
    assert.same({ "", 5 }, { out, count() })
  end)
end)
