--- A worker of many that append to one session; it may be killed at any moment.
--
--     ebb run worker.lua PLACE WORKER APPENDS LOG
--
-- Each append has an id that the worker makes before it begins, writes to its log, and keeps for all tries of this
-- append. One that was killed reads its log and sends its last append again, with the same id: if it had been
-- committed, nothing is done twice.
--
-- On PostgreSQL the workers take turns: each asks for a lease of the session, and appends five times before the next
-- one has it. The lease of one that was killed runs out by itself; one that slept for too long is refused. A line of
-- the log:
--
--     begin ID     ok ID VERSION     unknown ID: the answer was lost

local ebb = require "ebb"

local place, name, count, path = ...
local log = assert(io.open(path, "a+"))

local function note(...)
  log:write(table.concat({ ... }, " "), "\n")
  log:flush()
end

--- The last append that has no answer, and the number of appends so far.
local function unfinished()
  local last, number = nil, 0
  for word, id in log:lines("l") and log:read("a"):gmatch "(%S+) (%S+)[^\n]*\n" do
    if word == "begin" then last, number = id, number + 1 end
    if word == "ok" then last = nil end
  end
  return last, number
end

--- Opens the session, as soon as the server answers.
local function open()
  for _ = 1, 600 do
    local session, problem = ebb.session(place, "shared", { wait = 5000 })
    if session then return session end
    if problem.code ~= "io" then error(problem.message, 0) end
    os.execute "sleep 0.1"
  end
  error("no answer from " .. name, 0)
end

local session = open()

local LEASE, TURN = 500, 5      -- ms, appends
local takes_turns = place:find "^postgres" ~= nil

--- Waits until the session is this worker's, where workers take turns.
local function take_turn()
  while takes_turns do
    local has, left = session:lease(LEASE)
    if has then return end
    if has == nil and left.code ~= "io" then error(left.message, 0) end
    os.execute(("sleep %.3f"):format(has == nil and 0.1 or math.min(left, 20) / 1000))
  end
end

--- Appends once, however often that takes.
local function append(id)
  local function run(chat)
    chat:append { role = "user", content = id }
    return true
  end
  for _ = 1, 600 do
    local done, problem = session:edit(run, { operation = id, retries = 1000 })
    if done then return note("ok", id, session.version) end
    if problem.code == "conflict" then      -- its lease had run out
      take_turn()
    elseif problem.code == "io" then
      note("unknown", id)
      os.execute "sleep 0.1"
    else
      error(problem.message, 0)
    end
  end
  error("no answer for " .. id, 0)
end

local last, number = unfinished()
take_turn()
if last then append(last) end
while number < tonumber(count) do
  number = number + 1
  if takes_turns and number % TURN == 0 then
    session:release()
    take_turn()
  end
  local id = name .. "-" .. number
  note("begin", id)
  append(id)
end
