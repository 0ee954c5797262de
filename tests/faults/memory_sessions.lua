--- Sessions on disk while memory runs out: rows of memory_calls.lua for what runtime/bind/storage.c binds.
--
-- Each call gets a copy of one database of SQLite, which is compared, too: a call that failed has written nothing.
-- Allocations of SQLite itself are those of storage_memory.lua.

local ebb = require "ebb"
local storage = require "ebb.support.storage"
local tail = require "ebb.session.tail"

local NOW = 1700000000000

local OPTIONS = { conversation = { clock = function() return NOW end } }

local sessions = {}

local path = os.tmpname()
local place = path .. ".db"
local template             -- the bytes of the database
local opened, store        -- of the world before

local function resolve() return { clock = function() return NOW end } end

local function remove(name)
  for _, rest in ipairs { "", "-wal", "-shm", "-checkpoint" } do os.remove(name .. rest) end
end

local function close_opened()
  if opened then pcall(opened.close, opened) end      -- a call may have closed it
  if store then store:close() end
  opened, store = nil, nil
end

local function open() return assert(storage.open(place, { create = true, relaxed = true })) end

local function change_of(info, before, after, operation)
  return { session = info.id, expected = info.version, before = before, after = after, operation = operation,
    options = "{}", new_options = not before, now = NOW }
end

--- Two sessions: `main` has a conversation, `other` is new.
local function make_template(chat)
  local db = open()
  local info = assert(db:create("main", NOW))
  assert(db:commit(change_of(info, nil, chat, "first")))
  assert(db:create("other", NOW))
  db:close()
  local file <close> = assert(io.open(place, "rb"))
  template = file:read "a"
end

--- A database in which nothing was done yet.
local function database(make_chat)
  close_opened()
  remove(place)
  if not template then make_template(make_chat()) end
  local file = assert(io.open(place, "wb"))
  assert(file:write(template))
  file:close()
  opened = open()
  local world = { db = opened, main = assert(opened:find "main"), other = assert(opened:find "other") }
  world.chat = assert(opened:load(world.main.id, {}, resolve))
  return world
end

--- A session of it, which was read whole or by its tail.
local function session_of(world, by_tail)
  store = assert(ebb.sessions(place, { create = false, relaxed = true }))
  local from, count = tail.from, tail.count
  tail.from, tail.count = by_tail and 1 or math.maxinteger, 2
  world.session = assert(store:session("main", OPTIONS))
  tail.from, tail.count = from, count
  assert(by_tail == (world.session.tail ~= false))
  return world
end

--- Returns a text of a session's state: version, figures, last messages, saved form.
local function shown(session)
  local words = { session.version, tostring(session.chat) }
  for i = #session, math.max(1, #session - 2), -1 do words[#words + 1] = session[i].json end
  words[#words + 1] = session.chat:fork():write "ebb"
  return table.concat(words, "\n")
end

--- All that is in the database, as another connection reads it, and what the world's session shows.
function sessions.digest(world)
  local db = assert(storage.open(place))
  local words = assert(db:check())
  for _, info in ipairs(assert(db:list())) do
    words[#words + 1] = ("%s %d, version %d: %d %d %d %d, of %s"):format(info.name, info.id, info.version,
      info.messages, info.tokens, info.stored, info.batches, info.origin)
    if info.version > 0 then words[#words + 1] = assert(db:load(info.id, {}, resolve)):write "ebb" end
  end
  db:close()
  if world.session then words[#words + 1] = shown(world.session) end
  return table.concat(words, "\n")
end

--- The functions that are bound, by the names of their tables.
function sessions.function_tables()
  local db = open()
  local tables = { storage = storage }
  for _, value in pairs(debug.getmetatable(db)) do
    if type(value) == "table" and value.commit then tables.Storage = value end
  end
  db:close()
  return assert(tables.Storage) and tables
end

function sessions.close()
  close_opened()
  remove(place)
  os.remove(path)
end

local function user(content) return { role = "user", content = content } end

--- A branch of the conversation, with an append and a batch.
local function edited(world)
  world.branch = storage.begin(world.chat)
  world.branch:append { user "one", user "two" }
  world.branch:truncate { remove_first = 1 }
  return world
end

--- A tail of `main`, with an append.
local function tailed(world)
  local chat, info, where, past = world.db:tail(world.main.id, 2, {}, resolve)
  assert(where.hidden > 0)
  where.tokens, where.past = info.tokens, past
  world.tail_of, world.tail, world.branch = chat, where, storage.begin(chat)
  world.branch:append(user "one")
  return world
end

local function edit_twice(chat)
  chat:append { user "one", user "two" }
  return chat:truncate { keep_last = 3 }
end

local function commit_two(world)
  local version, problem = world.db:commit(change_of(world.main, world.chat, world.branch))
  if not version then return nil, problem end
  return world.db:commit(change_of(world.other, nil, world.branch))
end

--- Runs something in a group, which is undone if it fails.
local function in_group(world, run)
  local db = world.db
  assert(db:begin_group())
  local ok, done, problem = pcall(run, world)
  local ended, why = db:end_group(ok and done)
  if not ok then error(done, 0) end
  if not done then return nil, problem end
  return ended, why
end

local function together(world) return in_group(world, commit_two) end

local function claim_and_create(world)
  local claimed, problem = world.db:claim()
  if not claimed then return nil, problem end
  return world.db:create("third", NOW)
end

--- Claims what sessions share, and creates one.
local function claim(world) return in_group(world, claim_and_create) end

--- A session, one that shares its messages, and what a policy remembers of the last one in both. Its tokens are those
--- of the text that overwrites it.
local function shared(world)
  session_of(world, false)
  assert(world.session:append(user "(blackened)"))
  assert(world.session:trim { budget = 1000, guards = false, policy = { name = "quoting", trim = function(draft)
    draft.memory.text = draft[#draft].text
  end } })
  assert(store:branch("main", "twig"))
  return world
end

--- Adds the rows.
---@param call fun(name: string, run: function, make: function, stride?: integer)
---@param make_chat fun(): ebb.Conversation
function sessions.add(call, make_chat)
  local function world() return database(make_chat) end
  local function world_with(make) return function() return make(world()) end end

  call("storage.open", function()
    local db, problem = storage.open(place, { create = true, wait = 5 })
    if not db then return nil, problem end
    db:close()
    return true
  end, world)
  call("storage.open, new", function()
    local db, problem = storage.open(place, { create = true })
    if not db then return nil, problem end
    db:close()
    return true
  end, function()
    local result = { chat = make_chat() }
    database(make_chat)
    close_opened()
    remove(place)
    return result
  end)
  call("storage.operation", function() return storage.operation() end)
  call("storage.state", function(each) return storage.state(each.chat) end)
  call("storage.forget", function(each)
    storage.forget(each.chat, each.chat[1].seq, each.chat[1].json)
    return true
  end, world)
  call("storage.begin", function(each) return storage.begin(each.chat) end, world)
  call("storage.enclose", function(each)
    storage.enclose(each.branch, each.chat)
    return true
  end, world_with(edited))
  call("storage.merge", function(each)      -- which ends the branch, whatever comes of it
    storage.merge(each.chat, edited(each).branch)
    return true
  end, world)
  call("Storage:list", function(each) return each.db:list() end, world)
  call("Storage:find", function(each) return each.db:find "main" end, world)
  call("Storage:create", function(each) return each.db:create(("long "):rep(20), NOW) end, world)
  call("Storage:branch", function(each) return each.db:branch(each.main.id, ("long "):rep(20), NOW) end, world)
  call("Storage:rename", function(each) return each.db:rename(each.main.id, "third") end, world)
  call("Storage:remove", function(each) return each.db:remove(each.main.id) end, world)
  call("Storage:load", function(each) return each.db:load(each.main.id, {}, resolve) end, world)
  call("Storage:load, of an earlier version", function(each)
    return each.db:load(each.main.id, {}, resolve, each.past)
  end, function()
    local each = world()
    each.past = select(4, each.db:tail(each.main.id, 2, {}, resolve))
    assert(each.past and each.db:commit(change_of(each.main, each.chat, edited(each).branch)))
    return each
  end)
  call("Storage:tail", function(each) return each.db:tail(each.main.id, 2, {}, resolve) end, world)
  call("Storage:messages", function(each) return each.db:messages(each.main.id) end, world)
  call("Storage:commit", function(each)
    return each.db:commit(change_of(each.main, each.chat, each.branch, "operation"))
  end, world_with(edited))
  call("Storage:commit, of all", function(each)
    return each.db:commit(change_of(each.other, nil, each.branch, "operation"))
  end, world_with(edited))
  call("Storage:commit, repeated", function(each)
    return each.db:commit(change_of(each.main, each.chat, each.branch, "first"))
  end, world_with(edited))
  call("Storage:commit, of a tail", function(each)
    local change = change_of(each.main, each.tail_of, each.branch)
    change.tail = each.tail
    return each.db:commit(change)
  end, world_with(tailed))
  call("Storage:begin_group, end_group", together, world_with(edited))
  call("Storage:claim", claim, world)
  call("Storage:wait", function(each) return each.db:wait(each.main.id, each.main.version, 0) end, world)
  call("Storage:lease, release", function(each)      -- refused: SQLite has none
    local left, problem = each.db:lease(each.main.id, "owner", 1000)
    local done, why = each.db:release(each.main.id, "owner")
    return not left and not done and problem.code == why.code
  end, world)
  call("Storage:check", function(each) return each.db:check() end, world)
  call("Storage:rows", function(each) return each.db:rows(each.main.id) end, world)
  call("Storage:settle", function(each) return each.db:settle(true) end, world)
  call("Storage:backup", function(each)
    remove(path)
    return each.db:backup(path)
  end, world)
  call("Storage:describe", function(each) return each.db:describe() end, world)
  call("Storage:close", function(each)
    each.db:close()
    return true
  end, world)

  local function whole() return session_of(world(), false) end
  local function tail_alone() return session_of(world(), true) end
  call("ebb.session", function()
    local session, problem = ebb.session(place, "main", { create = false })
    if not session then return nil, problem end
    session:close()
    return true
  end, world)
  call("session:append", function(each) return each.session:append(user "one") end, whole)
  call("session:append, of a tail", function(each) return each.session:append(user "one") end, tail_alone)
  call("session:edit", function(each) return each.session:edit(edit_twice) end, whole)
  local function world_shared() return shared(world()) end
  call("session:forget, of what another shares", function(each)
    return each.session:forget(#each.session)
  end, world_shared)
  call("session:forget, among others", function(each)
    return each.session.store:together(function(opened_store)
      assert(opened_store:session("other", OPTIONS):append(user "two"))
      local done, problem = each.session:forget(#each.session)
      if not done and problem.code == "memory" then error(problem, 0) end
      return done, problem
    end)
  end, world_shared)
  call("session:refresh", function(each)
    local changed, problem = each.session:refresh()
    if changed == nil then return nil, problem end
    return true
  end, function()
    local each = whole()
    local other = assert(ebb.session(place, "main"))
    assert(other:append(user "by another"))
    other:close()
    return each
  end)
  call("session's first message", function(each) return each.session[1] end, tail_alone)
  call("store:together", function(each)
    return each.session.store:together(function(opened_store)
      assert(each.session:append(user "one"))
      return assert(opened_store:session("other", OPTIONS):append(user "two"))
    end)
  end, whole)
end

return sessions
