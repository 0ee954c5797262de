--- Sessions that several processes write to, and commands that are killed, with the system's files.
--
-- Every turn that a process acknowledged is there once, in its order; a turn of a killed command is there once or not
-- at all. KILLS=n sets how many commands are killed (default: 300); SEED repeats a run.

local kit = require "storage_kit"

local ebb, expect = kit.ebb, kit.expect

local KILLS = math.tointeger(tonumber(os.getenv "KILLS")) or 300
local TURNS = math.tointeger(tonumber(os.getenv "TURNS")) or 25
local EBB = (os.getenv "EBB_BUILD" or "build") .. "/ebb"

io.stdout:setvbuf "line"
math.randomseed(kit.seed)

local function remove()
  for _, rest in ipairs { "", "-wal", "-shm", "-checkpoint" } do os.remove(kit.place .. rest) end
end

--- Counts each text in a session, whether it is visible or not; returns the order of the texts, too.
local function texts_of(name)
  local session <close> = assert(kit.open(name, { create = false }))
  local times, order = {}, {}
  for _, message in ipairs(session:all()) do
    times[message.text] = (times[message.text] or 0) + 1
    order[#order + 1] = message.text
  end
  return times, order, session.version, session:variables()["local"].turns
end

--- `prefix`: what comes before each turn, for the shell.
local function share(count, prefix)
  remove()
  kit.open("shared"):close()
  local pipes, told, worst = {}, 0, 0
  for i = 1, count do
    pipes[i] = io.popen(("lua5.4 tests/faults/storage_worker.lua '%s' worker%d %d %s"):format(kit.place, i, TURNS,
      prefix or ""))
  end
  local acknowledged = {}
  for i, pipe in ipairs(pipes) do
    for line in pipe:lines() do
      local wait = line:match "^worst (%d+)"
      if wait then worst = math.max(worst, math.tointeger(wait)) else acknowledged[#acknowledged + 1] = line end
    end
    expect(pipe:close(), "worker %d of %d ends badly", i, count)
  end
  local times, order, version, counted = texts_of "shared"
  for _, text in ipairs(acknowledged) do
    told = told + 1
    expect(times[text] == 1, "%d processes: turn '%s' is there %d times", count, text, times[text] or 0)
  end
  expect(#order == told and told == count * TURNS and version == told, "%d processes: %d turns, %d acknowledged",
    count, #order, told)
  if prefix then expect(counted == told, "%d processes count %s of %d turns", count, counted, told) end
  local last = {}
  for _, text in ipairs(order) do
    local worker, turn = text:match "^(%S+) (%d+)$"
    turn = math.tointeger(turn)
    expect(turn == (last[worker] or 0) + 1, "%d processes: '%s' is out of order", count, text)
    last[worker] = turn
  end
  expect(kit.faults() == "", "%d processes: %s", count, kit.faults())
  print(("swept: %d processes, %d turns to one session%s, worst wait %d ms"):format(count, told,
    prefix and ", each counted in a macro variable" or "", worst))
end

--- Seconds after which a command is killed at the latest. It grows with each that is killed, and shrinks with each that
--- ends before, so that on a machine of any speed about half of them are killed.
local longest_pause = 0.04

--- One command that is killed after a random pause, unless it has ended; true: it ended well.
local function run_killed(words)
  local pause = math.random() * longest_pause
  local ok, how, code = os.execute(("timeout -s KILL %.3f %s %s --db '%s' >/dev/null 2>&1"):format(pause + 0.001, EBB,
    words, kit.place))
  expect(ok or code == 137 or code == 9 or code == 124, "%s: %s %s", words, how, code)
  longest_pause = longest_pause * (ok and 0.9 or 1.1)
  return ok
end

local function kill()
  remove()
  local operations = os.tmpname()
  local session = assert(kit.open "main")
  session:append(kit.user "zero")
  session:close()
  local certain, possible, killed = { zero = true }, {}, 0
  for n = 1, KILLS do
    local ended
    if n % 6 == 0 then
      ended = run_killed "trim --session main --budget 120"
    else
      local text, file = "turn " .. n, assert(io.open(operations, "w"))
      file:write(('[{"operation":"append","messages":[{"role":"user","content":"%s"}]}]'):format(text))
      file:close()
      ended = run_killed("apply " .. operations .. " --session main");
      (ended and certain or possible)[text] = true
    end
    killed = killed + (ended and 0 or 1)
    if n % 10 == 0 or n == KILLS then
      local times = texts_of "main"
      for text in pairs(certain) do expect(times[text] == 1, "'%s' was acknowledged, and is lost", text) end
      for text, count in pairs(times) do
        expect(count == 1 and (certain[text] or possible[text]), "'%s' is there %d times", text, count)
      end
      expect(kit.faults() == "", "after %d commands: %s", n, kit.faults())
    end
  end
  os.remove(operations)
  print(("swept: %d commands, %d of them killed"):format(KILLS, killed))
  expect(killed > KILLS // 10 and killed < KILLS, "%d of %d were killed", killed, KILLS)
end

print("SEED=" .. kit.seed)
assert(ebb)
for _, count in ipairs { 2, 4, 8 } do share(count) end
share(4, "'{{incvar::turns}}'")
kill()
kit.finish()
