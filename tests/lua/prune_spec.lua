--- A conversation that is pruned, written and read next to a twin that is not: what both show, and what trims leave of
--- them, is the same. SEED=n repeats a run, LIVES=n sets how many random lives are led.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local SEED = math.tointeger(tonumber(os.getenv "SEED")) or os.time()
local LIVES = math.tointeger(tonumber(os.getenv "LIVES")) or 40
local STEPS, BUDGETS = 30, 8

local random = math.random

local function user(text) return { role = "user", content = text } end

local function call(ids, content)
  local calls = {}
  for i, id in ipairs(ids) do
    calls[i] = { id = id, type = "function", ["function"] = { name = "f" .. id:sub(-1), arguments = "{}" } }
  end
  return { role = "assistant", content = content or "", tool_calls = calls }
end

local function result(id) return { role = "tool", tool_call_id = id, content = "result of " .. id } end

--- Returns what trims leave, smallest budgets first.
local function trims(chat, policy)
  local left = {}
  for i = 1, BUDGETS do
    local fork = chat:fork()
    local done = fork:trim { budget = chat:tokens() * i // BUDGETS, policy = policy }
    left[i] = done and fork:json() or "refused"
  end
  return left
end

--- All that a mark, a link or a rank decides.
local function shown(chat)
  local messages = {}
  for i, message in ipairs(chat) do
    messages[i] = { message.json, message.marks, message.call and message.call.id, message.seq }
  end
  local marked = {}
  for i, message in ipairs(chat:marked "pinned") do marked[i] = message.index end
  local fork = chat:fork()
  fork:filter { exclude_tool_calls = { "f1", "f2" } }
  return { messages = messages, marked = marked, where = #chat:where { marked = "pinned" }, problems = chat:check(),
    without = fork:json(), recent = trims(chat, "keep_recent"), stable = trims(chat, "stable_prefix") }
end

local function read_again(chat) return assert(ebb.parse((chat:write "ebb"))) end

local next_id = 0

local function some_messages()
  local kind = random(4)
  if kind == 1 then return { user("m " .. random(99)) } end
  local ids, list = {}, {}
  for i = 1, random(3) do
    next_id = next_id + 1
    ids[i] = "c" .. next_id
  end
  list[1] = call(ids)
  for i, id in ipairs(ids) do list[i + 1] = result(id) end
  return list
end

--- Another message in the place of one: with the same calls in any order, or results.
local function instead(message)
  if message.role == "tool" then return result(message.tool_call_id) end
  local ids = {}
  for i, each in ipairs(message.tool_calls or {}) do ids[i] = each.id end
  if #ids == 0 then return user("other " .. random(99)) end
  for i = #ids, 2, -1 do
    local j = random(i)
    ids[i], ids[j] = ids[j], ids[i]
  end
  return call(ids, "other " .. random(99))
end

--- A place between units, so that no edit tears a pair.
local function gap(chat)
  local place = random(#chat + 1)
  while place <= #chat and chat[place].role == "tool" do place = place + 1 end
  return place
end

local EDITS = {
  append = function()
    local list = some_messages()
    return function(chat) chat:append(list) end
  end,
  insert = function(chat)
    local place, list = gap(chat), some_messages()
    return function(each) each:insert(place, list) end
  end,
  replace = function(chat)
    if #chat == 0 then return end
    local place = random(#chat)
    local message = instead(ebb.json.decode(chat[place].json))
    return function(each) each:replace(place, message) end
  end,
  mark = function(chat)
    if #chat == 0 then return end
    local place, on = random(#chat), random(3) > 1
    return function(each) each[on and "mark" or "unmark"](each, place, "pinned") end
  end,
  truncate = function(chat)
    if random(4) > 1 then return end
    local n = random(math.max(1, #chat))
    return function(each) each:truncate { keep_last = n, whole_units = true } end
  end,
}

local NAMES = { "append", "insert", "replace", "mark", "truncate" }

--- Edits a twin and what `open` gives alike; `again(it)` reads it again. `of`: its field that is the conversation.
local function live(seed, open, again, of)
  math.randomseed(seed)
  local twin, chat = ebb.conversation {}, open()
  for step = 1, STEPS do
    local edit = EDITS[NAMES[random(#NAMES)]](twin)
    if edit then
      edit(twin)
      edit(chat)
    end
    if random(3) == 1 then assert(chat:prune { keep = random(2) }) end
    if random(4) == 1 then chat = again(chat) end
    assert.same(shown(twin), shown(of and chat[of] or chat), ("seed %d, step %d"):format(seed, step))
  end
  return chat
end

describe("a conversation that is pruned", function()
  it("shows and trims what one does that is not", function()
    for i = 1, LIVES do
      live(SEED + i, function() return ebb.conversation {} end, function(chat)
        return random(2) == 1 and chat:fork() or read_again(chat)
      end)
    end
  end)

  it("does so in a session, too", function()
    for i = 1, LIVES // 2 do
      local place = os.tmpname()
      os.remove(place)
      local function open() return assert(ebb.session(place, "a")) end
      live(SEED + i, open, function(session)
        session:close()
        return open()
      end, "chat"):close()
      for _, ending in ipairs { "", "-wal", "-shm" } do os.remove(place .. ending) end
    end
  end)

  it("keeps results with calls that were replaced after them", function()
    local chat = ebb.conversation {}
    chat:append { user "question", call { "c1" }, result "c1", user "last" }
    chat:replace(2, call({ "c1" }, "other words"))
    chat:prune { keep = 1 }

    for _, each in ipairs { chat, read_again(chat) } do
      assert.equal("c1", each[3].call.id)
      local fork = each:fork()
      assert(fork:trim { budget = each:tokens() - 10, policy = "keep_recent" })
      assert.same({ "last" }, { fork[1].text, fork[2] and fork[2].text })
    end
  end)

  it("finds results far after calls that were inserted and replaced", function()
    local twin, chat = ebb.conversation {}, ebb.conversation {}
    for _, each in ipairs { twin, chat } do
      for i = 1, 30 do each:append(user("m " .. i)) end
      each:insert(2, call { "c1" })
      each:append(result "c1")
      each:replace(2, call({ "c1" }, "other words"))
    end
    chat:prune { keep = 1 }

    assert.same(shown(twin), shown(chat))
    assert.same(shown(twin), shown(read_again(chat)))
  end)

  --- Each value was taken before the conversation was cleared and pruned: no message is left.
  for name, row in pairs {
    ["a batch's queries"] = { "out_of_range", function(t) return t.batch:where { role = "user" } end },
    ["a batch's tokens"] = { "out_of_range", function(t) return t.batch:tokens() end },
    ["a batch's texts"] = { "out_of_range", function(t) return t.batch:shows { "question" } end },
    ["a batch's messages"] = { "out_of_range", function(t) return t.batch[1].text end },
    ["a message"] = { "out_of_range", function(t) return t.message.text end },
    ["a selection's messages"] = { "out_of_range", function(t) return t.selection[1].text end },
    ["a selection's tokens"] = { "out_of_range", function(t) return t.selection:tokens() end },
    ["a draft's queries"] = { "closed", function(t) return t.draft:where { matches = "q" } end },
    ["a draft's messages"] = { "closed", function(t) return t.draft[1] end },
    ["a draft's tokens"] = { "closed", function(t) return t.draft:tokens() end },
    ["a draft's walk"] = { "closed", function(t) return t.draft:units()() end },
    ["an edit of a draft"] = { "closed", function(t) return t.draft:drop(t.unit) end },
    ["a unit of a draft"] = { "closed", function(t) return t.unit.tokens end },
    ["a turn of a draft"] = { "closed", function(t) return t.turn.tokens end },
    ["a loop over messages"] = { "closed", function(t) return t.messages() end },
    ["a loop over messages of a role"] = { "closed", function(t) return t.of_role() end },
    ["a loop over units"] = { "closed", function(t) return t.units() end },
    ["a loop over turns"] = { "closed", function(t) return t.turns() end },
  } do
    it("refuses what is gone: " .. name, function()
      local chat = ebb.conversation {}
      chat:append { user "question", call { "c1" }, result "c1", user "last" }
      local draft = chat:draft { guards = false }
      local taken = { batch = chat:batch(0), message = chat[1], selection = chat:where { role = "user" }, draft = draft,
        unit = draft:units()(), turn = draft:turns()(), messages = draft:messages(),
        of_role = draft:messages { role = "user" }, units = draft:units { role = "user" }, turns = draft:turns() }
      chat:clear {}
      chat:prune()

      local ok, problem = pcall(row[2], taken)

      assert.same({ false, row[1] }, { ok, problem.code })
      assert.truthy(problem.message:find("pruned", 1, true), problem.message)
    end)
  end

  it("leaves what it keeps to batches that were taken before", function()
    local chat = ebb.conversation {}
    chat:append { user "question", user "last" }
    local first = chat:batch(0)
    chat:truncate { keep_last = 1 }
    local second = chat:batch(1)
    chat:prune()

    assert.same({ 1, "last" }, { #second:where { role = "user" }, second[1].text })
    assert.equal("out_of_range", select(2, pcall(first.tokens, first)).code)
  end)

  it("keeps marks of messages that were inserted and replaced", function()
    local chat = ebb.conversation {}
    chat:append(user "second")
    chat:insert(1, user "first")
    chat:append(user "last")
    chat:replace(1, user "first, in other words")
    chat:mark(1, "pinned")
    chat:prune { keep = 1 }

    for _, each in ipairs { chat, read_again(chat) } do
      assert.same({ 1, 1 }, { #each:marked "pinned", #each:where { marked = "pinned" } })
      local fork = each:fork()
      assert(fork:trim { budget = each:tokens() - 1, policy = "keep_recent" })
      assert.equal("first, in other words", fork[1].text)
    end
  end)
end)
