--- Crashes of a scripted session: before each write, cut and sync of SQLite the process or the system dies.
--
-- Whatever a crash leaves: the database opens, its check finds nothing, and its state is the last one that was
-- acknowledged, or the one whose commit was under way. Controls, which must lose something: a disk that ignores
-- syncs, and relaxed sessions (which stay consistent).
--
--     POINTS=n    how many crashes are tried (default: 1,500); SEED repeats a run; TAIL=1: by tails

local kit = require "storage_kit"

local disk, ebb, expect = kit.disk, kit.ebb, kit.expect

local POINTS = math.tointeger(tonumber(os.getenv "POINTS")) or 1500
local MODES = { "all", "none", "subset", "reorder", "torn512", "torn4096" }

---- The script ----

--- States by the number of events at which they were acknowledged.
local acknowledged

local function acknowledge(what)
  local state, problem = kit.state()
  if not state then error(what .. ": " .. problem.message) end
  acknowledged[#acknowledged + 1] = { events = disk.events(), state = state, what = what }
end

local function of_store(what, run)
  local store <close> = assert(ebb.sessions(kit.place))
  assert(run(store))
  return what
end

--- Runs the script on an empty disk, and notes the states that it acknowledges.
local function run_script(relaxed)
  disk.format()
  acknowledged = { { events = 0, state = "", what = "nothing" } }
  local session = assert(kit.open("main", { relaxed = relaxed }))
  local function step(what, run)
    local result, problem = run(session)
    if result == nil and type(problem) == "table" then error(what .. ": " .. problem.message) end
    acknowledge(what)
  end
  acknowledge "new session"
  for _, edit in ipairs(kit.EDITS) do step(edit[1], function(s) return kit.edit(s, edit) end) end
  step("branch", function(s) return s:branch "try" end)
  step("append to the origin", function(s) return s:append(kit.user "in main") end)
  local try = assert(kit.open("try", { relaxed = relaxed }))
  step("append to the branch", function() return try:append(kit.user "in try") end)
  step("forget in the branch", function() return try:forget(#try - 2) end)
  step("prune of the origin", function(s) return s:prune { keep = 1 } end)
  step("settle", function() return of_store("settle", function(store) return store:settle() end) end)
  step("edits made together", function(s)
    local store = s.store
    return store:together(function()
      assert(s:append(kit.user "together in main"))
      assert(store:session "try":append(kit.user(("together in try "):rep(400))))
      assert(store:session "new":append { kit.user "together in a new one", kit.user "and so" })
      return s:truncate { keep_last = 4 }
    end)
  end)
  step("removal", function() return of_store("removal", function(store) return store:remove "new" end) end)
  step("refresh of the branch", function() return try:refresh() end)
  step("append after it", function(s) return s:append(kit.user "after") end)
  try:close()
  acknowledge "close of the branch"
  step("vacuum", function() return of_store("vacuum", function(store) return store:settle { vacuum = true } end) end)
  step("rename", function(s) return s:rename "first" end)
  step("adopt", function(s) return s:adopt(ebb.conversation { messages = { kit.user "adopted", kit.user "two" } }) end)
  step("remove", function() return of_store("remove", function(store) return store:remove "try" end) end)
  step("append at the end", function(s) return s:append(kit.user "end") end)
  step("truncate", function(s) return s:truncate { keep_last = 1 } end)
  step("append behind it", function(s) return s:append { kit.user "behind", kit.user "last" } end)
  session:close()
  acknowledge "close"
end

---- Crashes ----

--- The number of the last state that was acknowledged before event k.
local function last_of(k)
  local last = 1
  while acknowledged[last + 1] and acknowledged[last + 1].events <= k do last = last + 1 end
  return last
end

--- Crashes before event k. Returns whether the state is right; else what is wrong.
local function crash(k, mode, seed, lies)
  disk.crash(k, mode, seed, lies)
  local last = last_of(k)
  local state, problem = kit.state()
  if not state then return false, "it does not open: " .. problem.message end
  local next_one = acknowledged[last + 1]
  if state ~= acknowledged[last].state and not (next_one and state == next_one.state) then
    return false, "another state than after " .. acknowledged[last].what
  end
  local faults = kit.faults()
  return faults == "", faults
end

--- The seeds and modes of the n-th crash.
local function each_crash(count, run)
  local events = disk.events()
  for n = 0, count - 1 do
    local k = (n * events // count + n // events) % (events + 1)
    run(k, MODES[n % #MODES + 1], kit.seed + n)
  end
end

--- Every event is met in every mode, where POINTS is large enough for that.
local function sweep()
  local tried, modes = 0, {}
  each_crash(POINTS, function(k, mode, seed)
    local good, why = crash(k, mode, seed, false)
    expect(good, "crash before event %d, %s, SEED=%d: %s", k, mode, seed, why)
    tried, modes[mode] = tried + 1, (modes[mode] or 0) + 1
  end)
  print(("swept: %d crashes at %d events of %d steps, in %d modes"):format(tried, disk.events(), #acknowledged - 1,
    #MODES))
end

--- A control: a disk that ignores syncs loses acknowledged states, or the harness sees nothing.
local function control_of_disk()
  local lost, tried = 0, 0
  each_crash(POINTS // 5, function(k, mode, seed)
    if mode == "all" then return end
    tried, lost = tried + 1, lost + (crash(k, mode, seed, true) and 0 or 1)
  end)
  print(("swept: control: a disk that ignores syncs: %d of %d crashes lose something"):format(lost, tried))
  expect(lost > tried // 4, "the control lost something in %d of %d crashes only", lost, tried)
end

--- A control: relaxed sessions lose acknowledged states at a power cut; what is left is an earlier state, whole.
local function control_of_relaxed()
  local lost, tried = 0, 0
  each_crash(POINTS // 5, function(k, mode, seed)
    disk.crash(k, mode, seed)
    local state, problem = kit.state()
    local last = last_of(k)
    local is_earlier = false
    for i = 1, math.min(last + 1, #acknowledged) do is_earlier = is_earlier or acknowledged[i].state == state end
    expect(is_earlier and kit.faults() == "", "relaxed, event %d, %s, SEED=%d: %s", k, mode, seed,
      problem and problem.message or "another state")
    local next_one = acknowledged[last + 1]
    local current = state == acknowledged[last].state or next_one and state == next_one.state
    tried, lost = tried + 1, lost + (current and 0 or 1)
    if mode == "all" then expect(current, "relaxed, event %d, SEED=%d: lost without a power cut", k, seed) end
  end)
  print(("swept: control: relaxed sessions: %d of %d crashes lose something"):format(lost, tried))
  expect(lost > 0, "the control lost nothing in %d crashes", tried)
end

disk.use(true)
print("SEED=" .. kit.seed)
run_script(false)
sweep()
control_of_disk()
run_script(true)
control_of_relaxed()
kit.finish()
