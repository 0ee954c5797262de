--- Seed 001's conversation about a window, and the workflow of scripts/workflows/todo,
--- whose context is compared at each step.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local build = os.getenv "EBB_BUILD" or "build"
local EBB = os.getenv "EBB" or build .. "/ebb"

--- A form that people wrote, as it is sent: no white space next to tags.
local function in_one_line(text)
  return (text:gsub("%s*\n%s*", ""))
end

--- A window with the view's texts, as a script would open it.
local function open_like(chat, view)
  return chat.windows:open {
    id = view.id, description = view.description, content = view.content, actions = view.actions,
  }
end

describe("a window with items", function()
  local expected = helper.read "tests/golden/seed001_window/expected.xml"

  it("is written as the golden file has it", function()
    local chat = ebb.conversation()
    chat:append { role = "user", content = "Make me a list." }
    chat:append { role = "assistant", content = 'Yes.\n<tool_call>{"name": "errands"}</tool_call>' }
    chat.windows:open {
      id = "errands_7", description = "What is to be done today",
      content = { { "item", id = 1, "post the letter" }, { "item", id = 2, "water the plants" } },
      actions = {
        { id = "add", params = "text:string", label = "Put something on the list" },
        { id = "delete", params = "index:int", label = "Take something off" },
      },
    }
    local messages = chat.windows:render()

    assert.same({ "user", in_one_line(expected) }, { messages[3].role, messages[3].content })
  end)

  it("is opened by the model's call of create, an action of the conversation", function()
    local chat = ebb.conversation()
    chat:action {
      id = "create", params = "name:string", run = function(params, here)
        return "opened " .. open_like(here, assert(ebb.read_window(expected, { indented = true }))).id, params.name
      end,
    }
    chat:append { role = "user", content = "请开一张清单" }
    chat:append {
      role = "assistant",
      content = '马上就开。\n<tool_call>{"name": "create", "arguments": {"name": "todo"}}</tool_call>',
    }
    assert.equal("create: opened errands_7", chat.windows:act(chat[2].text)[1].text)
    local messages = chat.windows:render()

    assert.same({ 3, "user", in_one_line(expected) }, { #messages, messages[3].role, messages[3].content })
  end)

  it("reads back from the indented form", function()
    local view = assert(ebb.read_window(expected, { indented = true }))
    assert.same(view, (ebb.read_window(in_one_line(expected))))
    assert.equal(in_one_line(expected), require("ebb.windows.markup").write(view))
  end)

  it("is the seed's own example", function()
    if not helper.shared then return pending "EBB_SHARED is not set" end
    local pipe = io.popen(("cat '%s'/seeds/001_*.txt 2>/dev/null"):format(helper.shared))
    local example = pipe:read("a"):match "<Window id=\"todo_12345\">.-</Window>"
    pipe:close()
    if not example then return pending "no seed 001" end

    local window = open_like(ebb.conversation(), assert(ebb.read_window(example, { indented = true })))
    assert.equal(in_one_line(example), window:markup())
  end)
end)

--- Follows the flow charts of the seed step by step.
describe("the seed's flow charts", function()
  local lines, chat

  local function note(format, ...) lines[#lines + 1] = format:format(...) end

  --- The messages as they are sent, one line each, and what was left out.
  local function note_request(what, options)
    note("%s", what)
    for _, message in ipairs(assert(chat.windows:render(options))) do
      note("  %s: %s", message.role, message.content)
    end
  end

  local function run()
    lines, chat = {}, ebb.conversation { encoding = "bytes4" }
    note "numbers come from the chat"
    for _, message in ipairs { { role = "system", content = "Keep a list." }, { role = "user", content = "A list!" },
      { role = "assistant", content = "Here." } } do
      chat:append(message)
      note("  append -> %d", chat[#chat].seq)
    end
    local state = "empty"
    local list = chat.windows:open { id = "list", closable = false, content = function() return state end }
    note("  open -> %d", chat[#chat].seq)

    chat:append { { window = "gone" }, { role = "user", content = "Milk." } }
    note_request "each is rendered by its kind; a window that does not exist is skipped"
    state = "milk"
    note_request "the window is asked each time"
    note_request("without the system message", { include_system = false })

    chat:append { window = "list" }
    note("named again\n%s", (chat.windows:listing():gsub("\n$", "")))
    list:close "done"
    note("closed\n%s", (chat.windows:listing():gsub("\n$", "")))
    note_request "what is obsolete is not active, and is not rendered"
  end

  local function run_trims()
    lines, chat = {}, ebb.conversation { encoding = "bytes4" }
    chat:append { role = "system", content = "S" }
    for _, id in ipairs { "old", "live" } do
      chat.windows:open { id = id, content = id, closable = false }
      chat:append { { role = "user", content = "about " .. id }, { role = "assistant", content = "said " .. id } }
    end
    for i = 1, 3 do
      chat:append { { role = "user", content = ("question %d"):format(i) }, { role = "assistant", content = "so" } }
    end
    chat.windows:get("old"):close()
    note("fits: nothing goes; else the system message stays, and these go in turn")
    local left, known = chat:tokens(), 0
    local all = assert(chat:trim { budget = left, policy = "keep_turns" })
    assert.equal(0, #all.ledger)
    while true do
      local fork = chat:fork()
      local report = fork:trim { budget = left - 1, policy = "keep_turns" }
      if not report then break end
      left = fork:tokens()
      for i = known + 1, #report.ledger do
        local entry = report.ledger[i]
        note("  %s: %s", entry.reason, chat[entry.seq].window or chat[entry.seq].text)
      end
      known = #report.ledger
      assert.equal("system", fork[1].role)
    end
  end

  it("happen as the golden file has it", function()
    local log = require "ebb.support.log"
    local before = log.to(function() end)
    run()
    local first = table.concat(lines, "\n")
    run_trims()
    log.to(before)
    local text = first .. "\n" .. table.concat(lines, "\n") .. "\n"
    assert.equal(helper.read "tests/golden/seed001_flow/expected.txt", text)
  end)
end)

describe("the workflow todo", function()
  local function steps_of(text)
    local steps = {}
    for read, written in text:gmatch "==== step %d+: the model reads\n(.-)\n%-%-%-%- and writes\n(.-)\n%f[=]" do
      steps[#steps + 1] = { read = read, written = written }
    end
    return steps
  end

  local function run(words)
    local pipe = io.popen(("%s run scripts/workflows/todo/todo.lua %s 2>&1"):format(EBB, words or ""))
    local out = pipe:read "a"
    return out, select(3, pipe:close())
  end

  it("has this context at each step", function()
    local out, status = run()
    assert.equal(0, status)
    local expected, steps = steps_of(helper.read "tests/golden/todo/steps.txt"), steps_of(out)
    assert.equal(10, #expected)
    for i, step in ipairs(expected) do
      assert.same(step, steps[i], "step " .. i)
    end
    assert.equal(helper.read "tests/golden/todo/steps.txt", out)
  end)

  it("shows the list as it is, once, and not when it is closed", function()
    local shown = {}
    for i, step in ipairs(steps_of(helper.read "tests/golden/todo/steps.txt")) do
      local items = {}
      for window in step.read:gmatch '<Window id="todo_1">.-</Window>' do
        for _, node in ipairs(assert(ebb.read_window(window)).content or {}) do
          items[#items + 1] = node.id
        end
        items[#items + 1] = "."
      end
      shown[i] = table.concat(items)
    end
    assert.same({ "", ".", "12.", "12.", "123.", "123.", "23.", "23.", "23.", "" }, shown)
  end)

  it("ends with an error where the recording does", function()
    local path = os.tmpname()
    local file = io.open(path, "w")
    file:write(ebb.json.encode { system = "s",
      turns = { { user = "u", replies = { '<tool_call>{"name":"x"}</tool_call>' } } } })
    file:close()
    local out, status = run(path)
    os.remove(path)
    assert.equal(5, status)
    assert.truthy(out:find("the recording has no answer to this", 1, true), out)
  end)
end)
