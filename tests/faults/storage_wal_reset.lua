--- The WAL-reset bug of SQLite before 3.51.3: a database is damaged without any crash, when one connection empties the
--- log and another one begins it anew at the same moment.
--
-- Three processes append, and a fourth one empties the log in a loop: as Ebb does it, nothing is damaged or lost. The
-- control: a program that empties it by PASSIVE checkpoints damages the database, as long as the library has the bug.
-- The database lies in memory, where syncs cost nothing: there the bug shows within seconds.
--
--     SECONDS=n   how long the processes write (default: 6)
--
-- The control needs two processes at the same place at once: an idle machine shows the bug in the first run or the
-- second, a busy one, on which they seldom run together, may need more than are made: then the control is skipped with
-- a word, but for WHOLE=1, which is for an idle machine.

local kit = require "storage_kit"

local ebb, expect = kit.ebb, kit.expect

local CONTROLS = 20     -- runs of the control, at most
local SECONDS = math.tointeger(tonumber(os.getenv "SECONDS")) or 6

os.remove(kit.place)
if os.execute "test -w /dev/shm" then kit.place = kit.place:gsub("^.*/", "/dev/shm/ebb-") end

local function remove()
  for _, rest in ipairs { "", "-wal", "-shm", "-checkpoint" } do os.remove(kit.place .. rest) end
end

--- Lets three processes append next to one that empties the log. Returns their last lines.
local function run(emptier)
  remove()
  local store = assert(ebb.sessions(kit.place))
  store:close()
  local pipes = { io.popen(emptier:format(kit.place, SECONDS)) }
  for i = 1, 3 do
    pipes[i + 1] = io.popen(("lua5.4 tests/faults/storage_wal_writer.lua '%s' w%d %d"):format(kit.place, i, SECONDS))
  end
  local lines = {}
  for i, pipe in ipairs(pipes) do
    lines[i] = pipe:read "l" or ""
    if i > 1 and lines[i]:find "^refused" then print(lines[i]) end
    pipe:close()
  end
  return lines
end

--- Messages in the database, and what is wrong with it; or nil.
local function content()
  local store <close> = ebb.sessions(kit.place, { create = false })
  local infos = store and store:list()
  if not infos then return nil end
  local count = 0
  for _, info in ipairs(infos) do count = count + info.messages end
  local faults = store:check()
  return count, faults
end

local function as_ebb_does_it()
  local lines = run "lua5.4 tests/faults/storage_wal_writer.lua '%s' settle %d"
  local told = 0
  for i = 2, 4 do
    local turns = lines[i]:match "^acknowledged (%d+)"
    expect(turns, "a writer ended with '%s'", lines[i])
    told = told + (math.tointeger(turns) or 0)
  end
  local count, faults = content()
  expect(count == told and faults and #faults == 0, "%s turns of %d are there; %s", count, told,
    faults and faults[1] or "it does not open")
  print(("swept: %d turns of three processes, and %s checkpoints beside them"):format(told, lines[1]:match "%d+"))
end

local function is_damaged(lines)
  for _, line in ipairs(lines) do
    if line:find "^refused damaged" then return true end
  end
  local count, faults = content()
  return not count or not faults or #faults > 0
end

local function control()
  local store = assert(ebb.sessions(kit.place))
  local what, warning = store:describe()
  store:close()
  if warning == "" then return print(("swept: control: %s does not have the bug"):format(what)) end
  for try = 1, CONTROLS do
    if is_damaged(run "build/faults/wal_passive '%s' %d") then
      return print(("swept: control: PASSIVE checkpoints damage the database, in run %d"):format(try))
    end
  end
  local nothing = ("PASSIVE checkpoints did no damage with %s in %d runs"):format(what, CONTROLS)
  if os.getenv "WHOLE" then return expect(false, "%s: the test sees nothing", nothing) end
  print("skipped: control: " .. nothing)
end

as_ebb_does_it()
control()
remove()
kit.finish()
