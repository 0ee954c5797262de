--- Compares what workers were told with what the session has: exit status 1, and a line for each fault.
--
--     ebb run check.lua PLACE LOG...
--
--   1. an append that was acknowledged is there exactly once, one whose answer was lost at most once
--   2. nothing else is there
--   3. each append is a version, and that of the answer is not before its place; the other versions are those of leases
--      that ran out and passed to another worker, on PostgreSQL
--   4. the appends of one worker are in the order in which it made them

local ebb = require "ebb"

local place = ...
--- Calls a function until its answer arrives, up to 100 times; an answer may be lost on the way.
local function patiently(run)
  local result, problem
  for _ = 1, 100 do
    result, problem = run()
    if result or problem.code ~= "io" then break end
    os.execute "sleep 0.1"
  end
  return result or error(problem.message, 0)
end

local session = patiently(function() return ebb.session(place, "shared", { create = false }) end)
local faults = 0

local function fault(...)
  faults = faults + 1
  print(string.format(...))
end

local places = {}
for i = 1, #session do
  local id = session[i].text
  if places[id] then fault("%s is there twice, at %d and %d", id, places[id], i) end
  places[id] = i
end
local leases = place:find "^postgres"
if session.version < #session or session.version > #session and not leases then
  fault("%d messages, but version %d", #session, session.version)
end

local acknowledged, lost, begun = 0, 0, {}
for _, path in ipairs { select(2, ...) } do
  local before = 0
  for line in io.lines(path) do
    local word, id, version = line:match "^(%S+) (%S+) ?(%d*)$"
    if word == "begin" then begun[id] = true end
    if word == "unknown" then lost = lost + 1 end
    if word == "ok" then
      acknowledged = acknowledged + 1
      local at = places[id]
      if not at then
        fault("%s was acknowledged, and is not there", id)
      else
        if at < before then fault("%s comes before an earlier append of its worker", id) end
        if tonumber(version) < at then fault("%s was acknowledged as version %s, and is %d", id, version, at) end
        before = at
      end
    end
  end
end
for id in pairs(places) do
  if not begun[id] then fault("%s is there, and no worker made it", id) end
end
local damage = patiently(function() return session.store:check() end)
for _, words in ipairs(damage) do fault("%s", words) end
print(("%d appends acknowledged, %d answers lost on the way, %d messages: %d faults"):format(acknowledged, lost,
  #session, faults))
if faults > 0 then os.exit(1) end
