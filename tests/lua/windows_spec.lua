--- Windows: what the model reads of them, when they count, and who lets them go.

local helper = dofile "tests/lua/helper.lua"
local kit = dofile "tests/lua/window_kit.lua"
local core = require "ebb.support.core"
local ebb = helper.ebb
local log = require "ebb.support.log"

local new_chat, say, shown = kit.new_chat, kit.say, kit.shown

---- Seed 001 ----

describe("the seed's conversation", function()
  local function make()
    local chat = new_chat()
    say(chat, "system", "You are a helper with windows.")
    say(chat, "user", "Make me a to-do list")
    say(chat, "assistant", "Here it is.")
    chat.windows:open {
      id = "todo_12345", description = "To-do application",
      content = { { "item", id = 1, "buy food" }, { "item", id = 2, "write code" } },
      actions = {
        { id = "add", params = "text:string", label = "Add an entry" },
        { id = "delete", params = "index:int", label = "Delete an entry" },
      },
    }
    return chat
  end

  it("is rendered by the conversation, too, and tells the clock of its windows", function()
    local chat = make()
    assert.same(chat.windows:render(), chat:render())
    assert.equal(3, #chat:render { include_system = false })
    assert.equal("cannot_fit", select(2, chat:render { max_tokens = 5 }).code)
    assert.equal(chat.windows.seq, chat.windows:clock())
    assert.equal(4, chat.windows:clock())
  end)

  it("shows the window with its items and actions, close among them, as a user's message", function()
    local message = make().windows:render()[4]

    assert.equal("user", message.role)
    assert.equal('<Window id="todo_12345"><Description>To-do application</Description><Content>'
      .. '<item id="1">buy food</item><item id="2">write code</item></Content><Actions>'
      .. '<action id="add" params="text:string">Add an entry</action>'
      .. '<action id="delete" params="index:int">Delete an entry</action>'
      .. '<action id="close" params="summary:string?">Close</action></Actions></Window>', message.content)
  end)

  it("is listed a line per message, obsolete ones with X, contents cut at 50 characters", function()
    local chat = make()
    chat.windows:open { id = "temp_67890" }:close()
    say(chat, "user", ("é"):rep(60) .. "\n")

    assert.equal("[✓] [0001] System: You are a helper with windows.\n[✓] [0002] User: Make me a to-do list\n"
      .. "[✓] [0003] Assistant: Here it is.\n[✓] [0004] Window: todo_12345\n[X] [0005] Window: temp_67890\n"
      .. "[✓] [0006] User: " .. ("é"):rep(50) .. "...\n", chat.windows:listing())
    local stats = chat.windows:stats()
    assert.same({ total = 6, active = 5, obsolete = 1, windows = 2, estimated_tokens = chat:tokens() }, stats)
  end)

  it("reads the newest state wherever the window is named, and nothing of a closed one", function()
    local chat = make()
    say(chat, "user", "Add milk")
    chat.windows:get("todo_12345"):update { content = "milk" }
    assert.equal("todo_12345=milk", shown(chat))

    chat.windows:get("todo_12345"):close()
    assert.equal("", shown(chat))
    assert.equal(4, #chat:active())
  end)

  it("leaves system messages out where they are not wanted, and shows obsolete items where they are", function()
    local chat = make()
    chat:append { window = "todo_12345" }
    assert.equal("user", chat.windows:render({ include_system = false })[1].role)
    assert.equal(1, select(2, shown(chat):gsub("todo_12345=", "")))
    assert.equal(2, select(2, shown(chat, { include_obsolete = true }):gsub("todo_12345=", "")))
  end)
end)

---- What is active ----

describe("active", function()
  --- Messages and items: "u" says something, other letters name windows.
  local function list_of(word)
    local chat = new_chat()
    for id in ("xyz"):gmatch "." do chat.windows:open { id = id, item = false } end
    chat.windows:get("z"):close()
    for letter in word:gmatch "." do
      chat:append(letter == "u" and { role = "user", content = "four" } or { window = letter })
    end
    return chat
  end

  local function word(selection)
    local letters = {}
    for i, message in ipairs(selection) do letters[i] = message.window or "u" end
    return table.concat(letters)
  end

  local cases = {
    -- what it shows                          list           what is active
    { "nothing is obsolete",                  "uxuy",        "uxuy" },
    { "all but the newest item of a name",    "xxuxuyxy",    "uuxy" },
    { "items of closed windows go",           "zuzzuz",      "uu" },
    { "all may go",                           "zzz",         "" },
    { "an item of no window is not obsolete", "qux",         "qux" },
    { "an older one of no window is",         "qquq",        "uq" },
    { "an empty list",                        "",            "" },
  }

  for _, case in ipairs(cases) do
    it(case[1], function()
      assert.equal(case[3], word(list_of(case[2]):active()))
    end)
  end

  it("says where its messages were, and gives slices of them", function()
    local chat = list_of "zxuxuyuxyz"
    local active = chat:active()
    chat:clear { keep_system_message = false }

    assert.equal("uuuxy", word(active))
    assert.same({ 3, 5, 7, 8, 9 }, active:positions())
    assert.equal("uu uxy uux", word(active:first(2)) .. " " .. word(active:last(3)) .. " " .. word(active:slice(2, 4)))
    assert.equal(5, active:count())
    assert.equal(3 * list_of("u"):where({ role = "user" }):tokens(), active:tokens())
    assert.is_nil(active[0] or active[6])
    local fresh = list_of("zxuxuyuxyz"):active()
    assert.equal("y", fresh[5].window)
    assert.equal("user", fresh[1].role)   -- backwards
  end)

  it("is a query of batches and drafts too", function()
    local chat = list_of "xuxu"
    chat:truncate { keep_first = 2 }
    assert.equal("uxu xu", word(chat:batch(0):active()) .. " " .. word(chat:active()))

    local seen
    chat:rollback(0)
    assert(chat:trim { budget = 1000, guards = false, policy = function(draft)
      draft:drop(draft:active():first(1))
      seen = word(draft:active())
    end })
    assert.equal("xu", seen)
  end)

  it("and the question what is obsolete take memory for the items, not for the list", function()
    local function bytes(n, ask)
      local list = {}
      for i = 1, n do list[i] = { role = "user", content = "x" } end
      for i = 1, 10 do list[i * (n // 10)] = { window = "w" } end
      local chat = new_chat()
      chat.windows:open { id = "w", item = false }
      chat:append(list)
      ask(chat, n // 10)   -- what is made once
      collectgarbage()
      collectgarbage "stop"
      local before = collectgarbage "count"
      local kept = ask(chat, n // 10)
      local taken = (collectgarbage "count" - before) * 1024
      collectgarbage "restart"
      assert(kept ~= nil)
      return taken
    end
    for _, ask in ipairs {
      function(chat) return chat:active() end,
      function(chat) return chat:where { obsolete = true } end,
      function(chat, place) return chat[place].obsolete end,
    } do
      assert.is_true(bytes(100000, ask) < bytes(100, ask) + 1000)
    end
  end)

  it("outlives what it was asked of", function()
    local active = list_of("xuxyu"):active()
    collectgarbage()
    collectgarbage()
    assert.equal("uxyu", word(active))
  end)
end)

---- Lives ----

describe("a window", function()
  it("has the clock of the store: opening ticks for its item, an update in place does not", function()
    local chat = new_chat()
    say(chat, "user", "x")
    local window = chat.windows:open { id = "w" }
    assert.same({ 1, 1, 1, 2 }, { window.created, window.updated, window.version, chat.windows.seq })

    window:update { content = "y" }
    assert.same({ 1, 2, 2, 2 }, { window.created, window.updated, window.version, chat.windows.seq })
  end)

  it("that appends has a new item per update; one in place is never shown twice", function()
    local chat = new_chat()
    chat.windows:open { id = "a", refresh = "append" }:update { content = "2" }
    chat.windows:open { id = "b", content = "1" }:update { content = "2" }
    chat:append { window = "b" }
    assert.equal("a=2 b=2", shown(chat))
    assert.equal(4, #chat)
  end)

  it("stays closed when its item comes back by a rollback, and is shown when it is opened anew", function()
    local chat = new_chat()
    chat.windows:open { id = "w", content = "1" }
    chat:clear {}
    chat.windows:get("w"):close "done"
    chat:rollback(0)
    assert.equal("", shown(chat))
    assert.equal("done", chat.windows:get("w").summary)

    chat.windows:open { id = "w", content = "2", item = false }
    assert.equal("w=2", shown(chat))
    assert.equal(3, chat.windows:get("w").version)
  end)

  it("of a fork is the fork's own, its functions too", function()
    local chat = new_chat()
    chat.windows:open { id = "w", content = function() return "first" end }
    local fork = chat:fork()
    chat.windows:get("w"):update { content = function() return "second" end }
    fork.windows:get("w"):pin()
    fork.windows:open { id = "x" }
    assert.equal("w=second", shown(chat))
    assert.equal("w=first x=", shown(fork))
    assert.is_nil(chat.windows:get "x")
    assert.is_false(chat.windows:get("w").pinned)
  end)

  it("that is hidden shows nothing and is not obsolete", function()
    local chat = new_chat()
    local window = chat.windows:open({ id = "w", content = "1" }):hide()
    assert.equal("", shown(chat))
    assert.is_false(chat[1].obsolete)
    assert.equal("w=1", shown(window:show().chat))
  end)

  it("that does not exist is skipped, and the log says so", function()
    local chat, lines = new_chat(), {}
    chat:append { window = "absent" }
    local before = log.to(function(line) lines[#lines + 1] = line end)
    assert.equal("", shown(chat))
    log.to(before)
    assert.equal(1, #lines)
    assert.truthy(lines[1]:find("absent", 1, true))
  end)

  it("is written after the unit in which its item is", function()
    local chat = helper.conversation "u1 c1(x)"
    chat.windows:open { id = "w", content = "state" }
    chat:append { role = "tool", tool_call_id = chat[2].calls[1].id, content = "done" }
    local roles = {}
    for i, message in ipairs(chat.windows:render()) do
      roles[i] = message.role
    end
    assert.equal("user assistant tool user", table.concat(roles, " "))
    assert.same({}, (chat:check "openai"))
    assert.equal(4, chat.windows.seq)   -- looking leaves nothing in the store
    assert.same({}, (chat:repaired({ dialect = "openai" }):check "openai"))
    local written = assert(ebb.parse(chat:json()))
    assert.equal("tool", written[3].role)
    assert.truthy(written[4].content:find("state", 1, true))
  end)

  it("is not made of wrong options", function()
    local chat = new_chat()
    chat.windows:open { id = "w" }
    for _, case in ipairs {
      { "exists", { id = "w" } }, { "argument", { id = "" } }, { "argument", { id = ("x"):rep(257) } },
      { "argument", { id = "v", content = 5 } }, { "argument", { id = "v", content = { { "a b" } } } },
      { "argument", { id = "v", content = { { "a", { x = 1 } } } } }, { "argument", { id = "v", render = "loud" } },
      { "argument", { id = "v", actions = { { id = "Close" } } } }, { "unknown_name", { id = "v", colour = "red" } },
      { "argument", { id = "v", actions = { { id = "a" }, { id = "a" } } } },
      { "encoding", { id = "v", content = "\xFF" } }, { "argument", { id = "v", content = { { "Window" } } } },
    } do
      assert.equal(case[1], helper.refusal(chat.windows.open, chat.windows, case[2]).code)
    end
    assert.equal(1, #chat)
    local problem = helper.refusal(chat.windows.get, chat.windows)
    assert.equal("windows:get: id: expected a string, got nil", problem.message)
    assert.equal("closed", helper.refusal(chat.windows:get("w"):close().update, chat.windows:get "w", {}).code)
  end)
end)

---- Trimming ----

describe("a trim", function()
  local function long_chat(turns)
    local chat = new_chat()
    say(chat, "system", "S")
    for i = 1, turns do
      say(chat, "user", ("question %d "):format(i):rep(4))
      say(chat, "assistant", ("answer %d "):format(i):rep(4))
    end
    return chat
  end

  it("counts what the windows read now, and the result is within the budget", function()
    local chat = long_chat(10)
    local size = 10
    chat.windows:open { id = "w", content = function() return ("x"):rep(size) end }
    say(chat, "user", "go on")
    local before = chat:tokens()
    assert(chat:trim { budget = before, policy = "keep_turns" })
    size = 1000
    assert.is_true(chat:tokens() > before)

    local report = assert(chat:trim { budget = before, policy = "keep_turns" })

    assert.is_true(chat:tokens() <= before)
    assert.equal(chat:tokens(), report.after)
    local sum = 0
    for _, entry in ipairs(report.ledger) do
      sum = sum + entry.tokens
    end
    assert.equal(report.before - report.after, sum)
  end)

  it("is refused where a pinned window has grown too large", function()
    local chat, size = long_chat(3), 10
    chat.windows:open { id = "w", pinned = true, content = function() return ("x"):rep(size) end }
    say(chat, "user", "go on")
    size = 20000
    for _, policy in ipairs { "keep_turns", "keep_recent", "trim_messages", "stable_prefix" } do
      local _, _, code = helper.outcome(chat:trim { budget = 300, policy = policy })
      assert.equal("cannot_fit", code)
    end
    assert.equal(9, #chat)
  end)

  it("by keep_turns lets go: obsolete, old and unimportant, old windows, recent", function()
    local chat = new_chat()
    chat.windows:open { id = "w", content = ("w"):rep(40) }
    chat:append { window = "w" }
    chat.windows:open { id = "minor", important = false, content = ("m"):rep(40) }
    say(chat, "user", ("1"):rep(40))
    for i = 2, 4 do
      say(chat, "user", ("%d"):format(i))
    end
    local order = {}
    local report = assert(chat:trim { budget = 3, policy = "keep_turns", guards = false })
    for i, entry in ipairs(report.ledger) do
      order[i] = entry.seq .. " " .. entry.reason
    end
    local expected = "1 obsolete, 3 old turn, 4 old turn, 2 window of an old turn, "
    assert.equal(expected .. "5 recent turn, 6 recent turn, 7 recent turn", table.concat(order, ", "))
  end)

  it("by keep_turns lets windows of the last turns go before these turns", function()
    local chat = new_chat()
    for i = 1, 4 do
      say(chat, "user", ("%d"):format(i):rep(40))
      chat.windows:open { id = "w" .. i, content = ("w"):rep(40), important = i == 4 }
    end
    local order = {}
    for i, entry in ipairs(assert(chat:trim { budget = 3, policy = "keep_turns", guards = false }).ledger) do
      order[i] = entry.seq .. " " .. entry.reason
    end
    assert.equal("1 old turn, 2 old turn, 4 window of a recent turn, 6 window of a recent turn, "
      .. "8 window of a recent turn, 3 recent turn, 5 recent turn, 7 recent turn", table.concat(order, ", "))
  end)

  it("takes the obsolete items of a window along with the one that is shown", function()
    local chat = new_chat()
    chat.windows:open { id = "w", content = ("w"):rep(400) }
    chat:append { { window = "w" }, { role = "user", content = "x" } }
    local draft = chat:draft()
    core.window.weigh(draft, { w = 100 })
    assert.equal(100, draft[2].tokens)
    assert.equal(0, draft[1].tokens)
    assert.equal(100, draft:drop(2))
    assert.equal(1, #draft)
    assert.is_false((draft:insert(1, { window = "w" })))
    core.draft.discard(draft)

    chat:mark(1, "pinned")
    local held = chat:draft()
    assert.is_false((held:drop(2)))
    core.draft.discard(held)
  end)

  it("goes on where obsolete items were dropped before an insert", function()
    local chat = new_chat()
    chat.windows:open { id = "w", content = "text" }
    chat:append { { role = "user", content = "x" }, { window = "w" }, { role = "user", content = "y" } }
    local draft = chat:draft()
    assert(draft:drop(1))
    assert(draft:insert(1, { role = "user", content = "in short" }))
    assert(draft:drop(3))
    assert.equal(3, #draft)
    core.draft.discard(draft)
  end)

  it("of what is rendered leaves the conversation as it is", function()
    local chat = long_chat(10)
    chat.windows:open { id = "w", content = "here" }
    local state = core.json.encode(chat:state())
    local whole, less = chat.windows:render(), assert(chat.windows:render { max_tokens = 80 })
    assert.is_true(#less < #whole)
    assert.equal(state, core.json.encode(chat:state()))
    local _, _, code = helper.outcome(chat.windows:render { max_tokens = 1 })
    assert.equal("cannot_fit", code)
  end)

  it("by every policy is within the budget or refused, with the items that are left in order", function()
    for _, name in ipairs { "keep_recent", "keep_turns", "trim_messages", "prune_messages", "clear_tool_uses", "quota",
      "supersede", "stable_prefix", "fold_output", "shrink_results", "mask_results" } do
      local policy = { name, messages = name == "quota" and { user = 3 } or nil }
      for budget = 20, 400, 40 do
        local chat = helper.conversation("s5 u10 a10 c9(x,y) r5(x) r6(y) u7 a8 u5", { encoding = "bytes4" })
        chat.windows:open { id = "a", content = ("x"):rep(100), refresh = "append" }:update { content = "y" }
        chat:append { { window = "a" }, { window = "absent" } }
        local report, why, code = helper.outcome(chat:trim { budget = budget, policy = policy })
        if report then
          assert.is_true(chat:tokens() <= budget, name)
          assert.equal(report.after, chat:tokens())
        else
          assert.truthy(code == "cannot_fit" or code == "over_budget", tostring(why))
        end
        assert.same({}, (chat:check "openai"))
      end
    end
  end)
end)

---- Random lives ----

describe("random lives of windows", function()
  local seed = helper.seed()

  --- Returns what a plain model shows of its list: the last item of each open window.
  local function model_shows(side)
    local last, out = {}, {}
    for i, id in ipairs(side.list) do last[id] = i end
    for i, id in ipairs(side.list) do
      local window = side.windows[id]
      local open = window and not window.closed
      if open and last[id] == i and not window.hidden then out[#out + 1] = id .. "=" .. window.content end
    end
    return table.concat(out, " ")
  end

  --- Returns the positions of the list's active items.
  local function model_active(side)
    local last, out = {}, {}
    for i, id in ipairs(side.list) do last[id] = i end
    for i, id in ipairs(side.list) do
      local closed = side.windows[id] and side.windows[id].closed
      if last[id] == i and not closed then out[#out + 1] = i end
    end
    return out
  end

  local function copy(side)
    local list = table.move(side.list, 1, #side.list, 1, {})
    local other = { chat = side.chat:fork(), list = list, windows = {}, states = {} }
    for id, window in pairs(side.windows) do
      other.windows[id] = { content = window.content, closed = window.closed, hidden = window.hidden }
    end
    for batch, state in pairs(side.states) do other.states[batch] = state end
    return other
  end

  local steps = {
    function(side, id, text)
      local window = side.windows[id]
      if window and not window.closed then return end
      side.windows[id] = { content = text }
      side.chat.windows:open { id = id, content = function() return text end }
      side.list[#side.list + 1] = id
    end,
    function(side, id, text)
      local window = side.windows[id]
      if not window or window.closed then return end
      window.content = text
      side.chat.windows:get(id):update { content = text }
    end,
    function(side, id)
      local window = side.windows[id]
      if not window then return end
      window.closed = true
      side.chat.windows:get(id):close()
    end,
    function(side, id)
      local window = side.windows[id]
      if not window then return end
      window.hidden = not window.hidden
      local handle = side.chat.windows:get(id)
      handle[window.hidden and "hide" or "show"](handle)
    end,
    function(side, id)
      side.chat:append { window = id }
      side.list[#side.list + 1] = id
    end,
    function(side, _, _, n)
      if #side.list == 0 then return end
      side.states[side.chat:stats().current_batch_index] = table.move(side.list, 1, #side.list, 1, {})
      local keep = n % #side.list + 1
      side.chat:truncate { keep_last = keep }
      side.list = table.move(side.list, #side.list - keep + 1, #side.list, 1, {})
    end,
    function(side, _, _, n)
      local batch = n % side.chat:stats().total_batches
      if not side.states[batch] then return end
      side.states[side.chat:stats().current_batch_index] = side.list
      side.chat:rollback(batch)
      side.list = table.move(side.states[batch], 1, #side.states[batch], 1, {})
    end,
    function(side)   -- a trim that lets obsolete items go
      side.states[side.chat:stats().current_batch_index] = table.move(side.list, 1, #side.list, 1, {})
      local budget = side.chat:tokens() - 1
      if budget < 3 then return end   -- the framing of a request
      assert(side.chat:trim { budget = budget, policy = "keep_turns", guards = false })
      side.list = {}
      for i, message in ipairs(side.chat) do side.list[i] = message.window end
    end,
  }

  it("agree with a plain model (SEED=" .. seed .. ")", function()
    math.randomseed(seed)
    local before = log.to(function() end)
    for _ = 1, 20 do
      local sides = { { chat = new_chat(), list = {}, windows = {}, states = {} } }
      for step = 1, 60 do
        local side = sides[math.random(#sides)]
        if math.random(20) == 1 and #sides < 4 then sides[#sides + 1] = copy(side) end
        local id = ("w%d"):format(math.random(4))
        steps[math.random(#steps)](side, id, ("t%d"):format(step), math.random(0, 1000))
        for _, each in ipairs(sides) do
          assert.equal(model_shows(each), shown(each.chat))
          assert.equal(#each.list, #each.chat)
          assert.same(model_active(each), each.chat:active():positions())
        end
      end
    end
    log.to(before)
  end)
end)
