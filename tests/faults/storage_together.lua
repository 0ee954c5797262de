--- Edits that are made together (store:together): their syncs, and calls of the disk that fail among them, each one,
--- once and from then on.
--
-- Either all of the edits are on disk and in memory, or none is in either, and when the disk works again the same
-- edits are repeated with success. Crashes: storage_crash.lua has such edits in its script.
--
-- SAMPLE=n strikes one call in n, which SEED decides.

local kit = require "storage_kit"

local disk, ebb, expect = kit.disk, kit.ebb, kit.expect

local SAMPLE = math.tointeger(tonumber(os.getenv "SAMPLE")) or 1
local SESSIONS = 20
local FULL = 13

--- Kinds of calls, and SQLite's codes of their failures; 0: an I/O error of that call.
local FAULTS = {
  { "open", 0 }, { "read", 0 }, { "write", 0 }, { "write", FULL }, { "sync", 0 }, { "truncate", 0 }, { "lock", 0 },
  { "shm", 0 },
}

local CODES = { io = true, memory = true, read_only = true }

--- Syncs of n appends to as many sessions.
local function syncs_of(run)
  disk.format()
  local store <close> = assert(ebb.sessions(kit.place))
  local sessions = {}
  for i = 1, SESSIONS do sessions[i] = assert(store:session("s" .. i)) end
  assert(sessions[1]:append(kit.user "the first sync of a log takes that of its head with it"))
  local before = disk.syncs()
  run(store, sessions)
  local count = disk.syncs() - before
  for i = 2, SESSIONS do expect(sessions[i].version == 1, "session %d is at version %d", i, sessions[i].version) end
  return count
end

local function count_syncs()
  local function append(_, sessions)
    for i, session in ipairs(sessions) do assert(session:append(kit.user("message " .. i))) end
    return true
  end
  local one_by_one = syncs_of(append)
  local together = syncs_of(function(store, sessions)
    assert(store:together(function() return append(store, sessions) end))
  end)
  print(("syncs of %d appends to %d sessions: %d one by one, %d together"):format(SESSIONS, SESSIONS, one_by_one,
    together))
  expect(one_by_one == SESSIONS, "%d syncs one by one", one_by_one)
  expect(together == 1, "%d syncs together", together)
end

---- Faults ----

--- Makes the edits that faults interrupt: of two sessions, of a new one, and of one that shares a message that is
--- forgotten. A refused one ends them all.
local function edit(store, a, b)
  return store:together(function()
    local function one(session, operation, run)
      local done, problem = session:edit(run, { operation = operation })
      if done == nil then error(problem, 0) end
    end
    one(a, "first", function(chat) return chat:append(kit.user(("large "):rep(2000))) end)
    one(b, "second", function(chat) return chat:truncate { keep_last = 1 } end)
    local c, why = store:session "c"
    if not c then error(why, 0) end
    one(c, "third", function(chat) return chat:append(kit.user "new") end)
    one(a, "fourth", function(chat) return chat:append(kit.user "again") end)
    one(a, "fifth", function(chat) return chat:forget(1) end)
    return true
  end)
end

local function attempt(...)
  local ok, done, problem = pcall(edit, ...)
  if not ok then return nil, done end
  return done, problem
end

local undone, done_state     -- states of the database

--- All sessions with their versions, texts, and what policies remember: times differ from run to run.
local function state_of()
  local store <close> = assert(ebb.sessions(kit.place))
  local lines = {}
  for i, info in ipairs(assert(store:list())) do
    local texts = {}
    local session = assert(store:session(info.name))
    for k, message in ipairs(session:all()) do texts[k] = message.text end
    local memory = kit.whole(session.chat):match '"memory":%b{}' or ""
    lines[i] = ("%s %d %d: %s %s"):format(info.name, info.version, info.messages, table.concat(texts, " "), memory)
  end
  return table.concat(lines, "\n")
end

local function make()
  disk.format()
  local store <close> = assert(ebb.sessions(kit.place, { wait = 5 }))
  local first = assert(store:session "a")
  first:append { kit.user "one", kit.user "two" }
  assert(first:trim { budget = 100, guards = false, policy = { name = "quoting", trim = function(draft)
    draft.memory.text = "one was said"
  end } })
  assert(store:branch("a", "twig"))
  store:session "b":append { kit.user "three", kit.user "four" }
  disk.save()
  undone = state_of()
  assert(edit(store, store:session "a", store:session "b"))
  done_state = state_of()
  expect(undone:find "twig.*one was said" and not done_state:find "one", "the twig has not forgotten: %s", done_state)
end

local struck, refused = 0, 0

local function check_states(where, done, a, b)
  local state = state_of()
  local is_lost_answer = not done and state == done_state
  expect(state == (done and done_state or undone) or is_lost_answer, "%s: a part of the edits is on disk", where)
  local memory = kit.whole(a) .. kit.whole(b)
  local texts = {}
  for i, name in ipairs { "a", "b" } do
    local session <close> = assert(kit.open(name, { wait = 5 }))
    texts[i] = kit.whole(session)
  end
  expect(memory == table.concat(texts), "%s: disk and memory differ", where)
end

--- One run with one fault; false: there was no such call.
local function strike(kind, code, at, sticky)
  disk.restore()
  local where = ("%s %d, code %d%s"):format(kind, at, code, sticky and ", sticky" or "")
  local store <close> = assert(ebb.sessions(kit.place, { wait = 5 }))
  local a, b = assert(store:session "a"), assert(store:session "b")
  disk.fail(kind, at, sticky, code)
  local done, problem = attempt(store, a, b)
  local hits = disk.struck()
  disk.fail()
  expect(done or type(problem) == "table" and CODES[problem.code], "%s: %s", where, tostring(problem))
  if not done then store:reopen() end
  check_states(where, done, a, b)
  if not done then
    local again, why = attempt(store, a, b)
    expect(again, "%s: the retry fails: %s", where, type(why) == "table" and why.message or tostring(why))
    check_states(where .. ", retried", true, a, b)
  end
  expect(kit.faults() == "", "%s: %s", where, kit.faults())
  struck, refused = struck + (hits > 0 and 1 or 0), refused + (done and 0 or 1)
  return hits > 0
end

local function sweep()
  make()
  for _, fault in ipairs(FAULTS) do
    for _, sticky in ipairs { false, true } do
      local at = 1 + kit.seed % SAMPLE
      while strike(fault[1], fault[2], at, sticky) do at = at + SAMPLE end
    end
  end
  print(("swept: %d failing calls among edits that are made together, %d refused"):format(struck, refused))
  expect(refused > 0, "nothing was refused")
end

disk.use(true)
print("SEED=" .. kit.seed)
count_syncs()
sweep()
kit.finish()
