--- Calls of the disk that fail while a long session is used by its tail: each one, once and from then on.
--
-- A failed edit is refused with a typed error, and nothing is lost: the database has the state before the edit, or
-- after it if it was acknowledged, or may have been; the same session, read again, has that state too.
--
-- SAMPLE=n strikes one call in n, which SEED decides.

local kit = require "storage_kit"
local tail = require "ebb.session.tail"

local disk, expect = kit.disk, kit.expect

local SAMPLE = math.tointeger(tonumber(os.getenv "SAMPLE")) or 1
local FULL = 13

local FAULTS = { { "open", 0 }, { "read", 0 }, { "write", 0 }, { "write", FULL }, { "sync", 0 }, { "lock", 0 },
  { "shm", 0 } }

local CODES = { io = true, memory = true, read_only = true, damaged = true, conflict = true }

io.stdout:setvbuf "line"

local OPTIONS = { wait = 5, conversation = { clock = function() return 1700000000000 end } }

local function open() return kit.open("main", OPTIONS) end

--- Uses of a session whose tail was read; the first result of each is not nil unless it is refused.
local USES = {
  { "append", function(s) return s:append(kit.user "one") end },
  { "append of some", function(s) return s:append { kit.user "one", kit.user "two" } end },
  { "truncate", function(s) return s:truncate { keep_last = 2 } end },
  { "truncate to more than is read", function(s) return s:truncate { keep_last = 20 } end },
  { "replace", function(s) return s:replace(#s, kit.user "replaced") end },
  { "an older message", function(s) return s[#s - 12].text end },
  { "the first message", function(s) return s[1].text end },
  { "the last ones", function(s) return #s:recent(10) end },
  { "all", function(s) return kit.whole(s.chat) end },
  { "a trim", function(s) return s:trim { budget = 100 } end },
}

local function on_disk()
  local session <close> = assert(open())
  return kit.whole(session.chat), session.version
end

local function attempt(run, session)
  local ok, done, problem = pcall(run, session)
  if not ok then return nil, done end
  return done, problem
end

local struck, refused = 0, 0

--- One use with one fault; false: there was no such call.
local function strike(use, before, after, fault, at, sticky)
  disk.restore()
  local where = ("%s, %s %d, code %d%s"):format(use[1], fault[1], at, fault[2], sticky and ", sticky" or "")
  local session = assert(open())
  expect(session.tail, "%s: it is read whole", where)
  disk.fail(fault[1], at, sticky, fault[2])
  local done, problem = attempt(use[2], session)
  local hits = disk.struck()
  disk.fail()
  if done == nil then
    refused = refused + 1
    expect(type(problem) == "table" and CODES[problem.code], "%s: %s", where,
      type(problem) == "table" and problem.code .. ": " .. problem.message or tostring(problem))
  end
  local state = on_disk()
  expect(state == after or (done == nil and state == before), "%s: another state on disk", where)
  expect(session:refresh() ~= nil and kit.whole(session.chat) == state, "%s: another state in memory", where)
  session:close()
  expect(kit.faults() == "", "%s: %s", where, kit.faults())
  struck = struck + (hits > 0 and 1 or 0)
  return hits > 0
end

local function sweep(use)
  disk.restore()
  local before = on_disk()
  local session = assert(open())
  assert(attempt(use[2], session))
  session:close()
  local after = on_disk()
  for _, fault in ipairs(FAULTS) do
    for _, sticky in ipairs { false, true } do
      local at = 1 + kit.seed % SAMPLE
      while strike(use, before, after, fault, at, sticky) do at = at + SAMPLE end
    end
  end
end

disk.use(true)
print("SEED=" .. kit.seed)
tail.from, tail.count = math.maxinteger, 4
disk.format()
local session = assert(open())
for i = 1, 60 do session:append(kit.user(("message %d "):format(i) .. ("word "):rep(i % 7 * 40))) end
session:truncate { remove_first = 3 }
session:append(kit.user "behind")
session:close()
disk.save()
tail.from = 1
for _, use in ipairs(USES) do sweep(use) end
print(("swept: %d failed calls of %d uses of a tail, %d refused"):format(struck, #USES, refused))
expect(refused > 0, "nothing was refused")
kit.finish()
