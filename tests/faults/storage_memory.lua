--- Allocations of SQLite that fail during an edit of a session: each one, once and from then on.
--
-- The edit succeeds all the same, or is refused as out of memory, and memory is as it was. When there is memory again,
-- the same session repeats the edit: it is done once, in memory and on disk.
--
-- EDIT=name sweeps one edit alone. SAMPLE=n strikes one allocation in n, which SEED decides.

local memory = require "sqlite_memory"      -- before SQLite is used
local kit = require "storage_kit"

local disk, expect = kit.disk, kit.expect

local SAMPLE = math.tointeger(tonumber(os.getenv "SAMPLE")) or 1

io.stdout:setvbuf "line"

local struck, absorbed = 0, 0

local function describe(problem)
  return type(problem) == "table" and ("%s: %s"):format(problem.code, problem.message) or tostring(problem)
end

--- Runs the edit, and says how it ended.
local function attempt(session, edit)
  local ok, done, problem = pcall(kit.edit, session, edit, "the edit")
  if not ok then return nil, done end
  return done, problem
end

--- One edit with one fault; false: there was no such allocation.
local function strike(edit, at, sticky)
  disk.restore()
  local session = assert(kit.open "main")
  local before = kit.whole(session)
  local where = ("%s, allocation %d%s"):format(edit[1], at, sticky and ", sticky" or "")
  memory.fail(at, sticky)
  local done, problem = attempt(session, edit)
  local hits = memory.struck()
  memory.fail()
  if done then
    absorbed = absorbed + (hits > 0 and 1 or 0)
  else
    expect(type(problem) == "table" and (problem.code == "memory" or problem.code == "io"), "%s: %s", where,
      describe(problem))
    expect(kit.whole(session) == before, "%s: memory changed", where)
    local state = kit.timeless_state()
    expect(state == edit.before or state == edit.after, "%s: only a part is on disk", where)
    local again, why = attempt(session, edit)
    expect(again, "%s: the retry fails: %s", where, describe(why))
  end
  local version, whole = session.version, kit.whole(session)
  session:close()
  local other <close> = assert(kit.open "main")
  expect(kit.whole(other) == whole and other.version == version and version == edit.version
    and kit.timeless_state() == edit.after,
    "%s: disk and memory differ: versions %d and %d, not %d", where, other.version, version, edit.version)
  struck = struck + (hits > 0 and 1 or 0)
  return hits > 0
end

--- An opening with one fault.
local function strike_opening(at, sticky)
  disk.restore()
  memory.fail(at, sticky)
  local ok, session, problem = pcall(kit.open, "main")
  local hits = memory.struck()
  memory.fail()
  if ok and session then
    session:close()
  else
    local why = ok and problem or session
    expect(type(why) == "table" and (why.code == "memory" or why.code == "io"), "opening, allocation %d: %s", at,
      describe(why))
  end
  local again, why = kit.open "main"
  expect(again, "opening after allocation %d failed: %s", at, describe(why))
  if again then again:close() end
  struck = struck + (hits > 0 and 1 or 0)
  return hits > 0
end

local function sweep(run)
  for _, sticky in ipairs { false, true } do
    local at = 1 + kit.seed % SAMPLE
    while run(at, sticky) do at = at + SAMPLE end
  end
end

disk.use(true)
print("SEED=" .. kit.seed)
disk.format()
do
  local session <close> = assert(kit.open "main")
  assert(session:append(kit.user "zero"))
end
disk.save()
sweep(strike_opening)
disk.restore()
for _, edit in ipairs(kit.EDITS) do
  local session = assert(kit.open "main")
  kit.prepare(session, edit)
  session:close()
  edit.before = assert(kit.timeless_state())
  disk.save()
  session = assert(kit.open "main")
  assert(kit.edit(session, edit))
  edit.version = session.version
  session:close()
  edit.after = assert(kit.timeless_state())
  local after = {}
  for _, rest in ipairs { "", "-wal" } do after[rest] = disk.bytes(kit.place .. rest) end
  if kit.sweeps(edit) then
    sweep(function(at, sticky) return strike(edit, at, sticky) end)
  end
  disk.restore()
  for rest, bytes in pairs(after) do disk.put(kit.place .. rest, bytes) end
end
print(("swept: %d failed allocations of SQLite in %d edits, %d of them absorbed"):format(struck, #kit.EDITS, absorbed))
kit.finish()
