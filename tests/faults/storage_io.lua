--- Calls of the disk that fail during an edit of a session: each one, once and from then on.
--
-- The edit succeeds all the same, or is refused with a typed error, and memory is as it was. When the disk works
-- again, the same session repeats the edit: it is done once, in memory and on disk.
--
-- EDIT=name sweeps one edit alone. SAMPLE=n strikes one call in n, which SEED decides.

local kit = require "storage_kit"

local disk, expect = kit.disk, kit.expect

local SAMPLE = math.tointeger(tonumber(os.getenv "SAMPLE")) or 1

local FULL, BUSY_RECOVERY = 13, 5 | 1 << 8

--- Kinds of calls, and SQLite's codes of their failures; 0: an I/O error of that call.
local FAULTS = {
  { "open", 0 }, { "read", 0 }, { "write", 0 }, { "write", FULL }, { "sync", 0 }, { "truncate", 0 }, { "delete", 0 },
  { "lock", 0 }, { "lock", BUSY_RECOVERY }, { "shm", 0 },
}

local CODES = { io = true, memory = true, read_only = true }

io.stdout:setvbuf "line"

local struck, absorbed = 0, 0

--- Runs the edit, and says how it ended.
local function attempt(session, edit, operation)
  local ok, done, problem = pcall(kit.edit, session, edit, operation)
  if not ok then return nil, done end
  return done, problem
end

--- One edit with one fault; false: there was no such call.
local function strike(edit, kind, code, at, sticky)
  disk.restore()
  local session = assert(kit.open("main", { wait = 5 }))
  local before = kit.whole(session)
  local where = ("%s, %s %d, code %d%s"):format(edit[1], kind, at, code, sticky and ", sticky" or "")
  disk.fail(kind, at, sticky, code)
  local done, problem = attempt(session, edit, "the edit")
  local hits = disk.struck()
  disk.fail()
  if done then
    absorbed = absorbed + (hits > 0 and 1 or 0)
  else
    expect(type(problem) == "table" and CODES[problem.code], "%s: %s", where,
      type(problem) == "table" and problem.code .. ": " .. problem.message or tostring(problem))
    expect(kit.whole(session) == before, "%s: memory changed", where)
    local state = kit.timeless_state()
    expect(state == edit.before or state == edit.after, "%s: only a part is on disk", where)
    local again, why = attempt(session, edit, "the edit")
    expect(again, "%s: the retry fails: %s", where, type(why) == "table" and why.message or tostring(why))
  end
  local version, memory = session.version, kit.whole(session)
  pcall(session.close, session)
  local other <close> = assert(kit.open("main", { wait = 5 }))
  expect(kit.whole(other) == memory and other.version == version and version == edit.version
    and kit.timeless_state() == edit.after,
    "%s: disk and memory differ: versions %d and %d, not %d", where, other.version, version, edit.version)
  struck = struck + (hits > 0 and 1 or 0)
  return hits > 0
end

local function sweep(edit)
  for _, fault in ipairs(FAULTS) do
    for _, sticky in ipairs { false, true } do
      local at = 1 + kit.seed % SAMPLE
      while strike(edit, fault[1], fault[2], at, sticky) do at = at + SAMPLE end
    end
  end
end

---- Answers that are lost: the commit is on disk, and the program is told of a failure ----

--- Makes the answer of the next commit a failure; the database that is opened after it is whole.
local function lose_answer(session)
  local db = session.store.db
  local lost = { close = function() db:close() end }
  function lost.commit(_, change)
    assert(db:commit(change))
    return nil, { code = "io", message = "the answer is lost" }
  end
  session.store.db = setmetatable(lost, { __index = function(_, name)
    return function(_, ...) return db[name](db, ...) end
  end })
end

--- The session looks by itself whether the edit is there; where the database does not open again, the caller's retry
--- does.
local function strike_answer(edit, opens)
  disk.restore()
  local session = assert(kit.open("main", { wait = 5 }))
  local before, where = kit.whole(session), ("%s, answer lost%s"):format(edit[1], opens and "" or ", no reopening")
  lose_answer(session)
  if not opens then rawset(session.store, "reopen", function() return nil, { code = "io" } end) end
  local done, problem = attempt(session, edit, "the edit")
  if not opens then
    expect(done == nil and problem.code == "io" and kit.whole(session) == before, "%s: not refused", where)
    rawset(session.store, "reopen", nil)
    session.store:reopen()
    done = attempt(session, edit, "the edit")
  end
  expect(done, "%s: the edit fails", where)
  local other <close> = assert(kit.open("main", { wait = 5 }))
  expect(kit.whole(other) == kit.whole(session) and session.version == edit.version and other.version == edit.version,
    "%s: done other than once: versions %d and %d, not %d", where, session.version, other.version, edit.version)
  session:close()
end

local READ_ONLY, BUSY, CORRUPT, NOT_A_DATABASE = 8, 5, 11, 26

--- An append's error for each lasting failure: the kind of call and its code; the error's code, part of its text.
local ERRORS = {
  { "write", FULL, "io", "the disk is full" },
  { "write", READ_ONLY, "read_only", "it may only be read" },
  { "write", 0, "io", "SQLite 778" },
  { "sync", 0, "io", "SQLite 1034" },
  { "lock", BUSY, "io", "another program has locked it for longer than 5 ms" },
  { "read", CORRUPT, "damaged", "it is damaged" },
  { "read", NOT_A_DATABASE, "damaged", "it is no database of sessions" },
}

local function name_errors()
  for _, case in ipairs(ERRORS) do
    local kind, code, expected, words = table.unpack(case)
    disk.restore()
    local session = assert(kit.open("main", { wait = 5 }))
    local before = kit.whole(session)
    disk.fail(kind, 1, true, code)
    local run = kind == "read" and function() return kit.open("main", { wait = 5 }) end
      or function() return session:append(kit.user "refused") end
    local result, problem = run()
    disk.fail()
    local described = result == nil and ("%s: %s"):format(problem.code, problem.message) or "no error"
    expect(result == nil and problem.code == expected and problem.message:find(words, 1, true),
      "%s fails with %d: %s", kind, code, described)
    expect(kit.whole(session) == before and session:append(kit.user "retried"), "%s, %d: no retry", kind, code)
    session:close()
  end
end

disk.use(true)
print("SEED=" .. kit.seed)
disk.format()
do
  local session <close> = assert(kit.open("main", { wait = 5 }))
  assert(session:append(kit.user "zero"))
end
for _, edit in ipairs(kit.EDITS) do
  local session = assert(kit.open("main", { wait = 5 }))
  kit.prepare(session, edit)
  session:close()
  edit.before = assert(kit.timeless_state())
  disk.save()
  session = assert(kit.open("main", { wait = 5 }))
  assert(kit.edit(session, edit))
  edit.version = session.version
  session:close()
  edit.after = assert(kit.timeless_state())
  local after = {}
  for _, rest in ipairs { "", "-wal" } do after[rest] = disk.bytes(kit.place .. rest) end
  if kit.sweeps(edit) then
    sweep(edit)
    strike_answer(edit, true)
    strike_answer(edit, false)
  end
  disk.restore()
  for rest, bytes in pairs(after) do disk.put(kit.place .. rest, bytes) end
end
print(("swept: %d answers to commits that are lost"):format(2 * #kit.EDITS))
print(("swept: %d failed calls of the disk in %d edits, %d of them absorbed"):format(struck, #kit.EDITS, absorbed))
disk.save()
name_errors()
kit.finish()
