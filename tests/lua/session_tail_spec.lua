--- Sessions that are opened by their tails: the same as sessions that are read whole.
--- In SQLite; session_postgres_spec.lua leads some lives over PostgreSQL, too.
--
-- LIVES=n sets how many random lives are led, SEED=n repeats a run.

local helper = dofile "tests/lua/helper.lua"
local files = dofile "tests/lua/session_files.lua"
local ebb = helper.ebb
local tail = ebb and require "ebb.session.tail"

local LIVES = math.tointeger(tonumber(os.getenv "LIVES")) or 10
local SEED = math.tointeger(tonumber(os.getenv "SEED")) or os.time()
local STEPS = 60

local places = files.places(...)
LIVES = places.lives or LIVES

local from, count = tail.from, tail.count

local function by_tails() tail.from, tail.count = 1, 3 end
local function by_all() tail.from, tail.count = math.maxinteger, 3 end
local function as_ever() tail.from, tail.count = from, count end

local function user(content) return { role = "user", content = content } end

local function call(id)
  return { role = "assistant", tool_calls = { { id = id, type = "function", ["function"] = { name = "f",
    arguments = "{}" } } } }
end

local function result(id) return { role = "tool", tool_call_id = id, content = "r " .. id } end

local OPTIONS = { conversation = { clock = function() return 1700000000000 end } }

local function open(place) return assert(ebb.session(place, "a", OPTIONS)) end

local function whole(chat) return (chat:fork():write "ebb") end

--- All of the session on disk, as bytes.
local function on_disk(place)
  by_all()
  local session <close> = open(place)
  local info = assert(session.store:find "a")
  return whole(session.chat), info.messages, info.tokens, info.batches, info.stored, session.version
end

---- Random edits; each is a function of a session ----

local random = math.random

local function some_messages()
  local list = {}
  for i = 1, random(3) do
    local id, kind = "c" .. random(6), random(6)
    list[i] = kind == 1 and call(id) or kind == 2 and result(id) or kind == 3 and { role = "system", content = "s" }
      or user(("m %d"):format(random(999)))
  end
  return list
end

local EDITS = {}

local function add(weight, make)
  for _ = 1, weight do EDITS[#EDITS + 1] = make end
end

add(12, function()
  local messages = some_messages()
  return function(session) return session:append(messages) end
end)
add(3, function()
  local n = random(0, 6)
  return function(session) return session:truncate { keep_last = n } end
end)
add(1, function()
  local n = random(0, 6)
  return function(session) return session:truncate { remove_first = n, whole_units = n > 3 } end
end)
add(2, function()
  local place, message = random(), user("replaced " .. random(99))
  return function(session) return #session > 0 and session:replace(1 + math.floor(place * #session), message) end
end)
add(2, function()
  local place, messages = random(), some_messages()
  return function(session) return session:insert(1 + math.floor(place * (#session + 1)), messages) end
end)
add(1, function() return function(session) return session:clear { keep_system_message = true } end end)
add(1, function()
  local place = random()
  return function(session)
    if #session > 0 then session:mark(session[1 + math.floor(place * #session)], "pin") end
    return true
  end
end)
add(3, function()
  local budget, guards, policy = random(10, 60), random(2) == 1, random(2) == 1 and "keep_recent" or nil
  return function(session)
    local report, problem = session:trim { budget = budget, guards = guards, policy = policy }
    if not report then return problem.code end
    return { report.before, report.after, report.dropped, report.batch, #report.ledger:runs() }
  end
end)
add(1, function()
  local content = "window " .. random(99)
  return function(session)
    return session:edit(function(chat) chat.windows:open { id = "w" .. #chat, content = content } return true end)
  end
end)

local ADDING = #EDITS      -- those before do not change rows of earlier versions

add(1, function()
  local place = random()
  return function(session)
    return session:rollback(math.floor(place * session:stats().total_batches))
  end
end)

--- Edits that may replace rows of earlier versions.
local REPLACES = {
  function(session) return session:rollback(random(0, session:stats().total_batches - 1)) end,
  function(session) return session:prune { keep = 1 } end,
  function(session) return #session > 0 and session:forget(1) end,
  function(session) return session:adopt(ebb.conversation { messages = { user "adopted" } }) end,
}

local function same_reads(one, other)
  assert.equal(#one, #other)
  local a, b = one:stats(), other:stats()
  assert.same(a, b)
  for i = #one, math.max(1, #one - random(0, 8)), -1 do
    local m, n = one[i], other[i]
    for _, field in ipairs { "json", "index", "seq", "tokens", "age", "marks", "call" } do
      assert.same(n[field], m[field], field)
    end
  end
  local n = random(0, 5)
  local left, right = one:recent("user", n), other:recent("user", n)
  assert.equal(#left, #right)
  for i = 1, #left do assert.equal(left[i].seq, right[i].seq) end
  if random(6) > 1 then return end
  assert.equal(one:tokens(), other:tokens())
  assert.equal(one:count "user", other:count "user")
  assert.equal(#one:where { role = "system" }, #other:where { role = "system" })
  assert.equal(#one:marked "pin", #other:marked "pin")
  assert.equal(#one:check(), #other:check())
end

local function live(seed)
  math.randomseed(seed)
  local short, long = places.new(), places.new()
  places.remove(short) places.remove(long)
  by_tails()
  local one = open(short)
  by_all()
  local other = open(long)
  for step = 1, STEPS do
    local edit = EDITS[random(#EDITS)]()
    by_all()
    local right, wanted = pcall(edit, other)
    by_tails()
    if random(3) == 1 then
      one:close()
      one = open(short)
    end
    local ok, what, why = pcall(edit, one)
    assert(ok == right, ("seed %d, step %d: %s"):format(seed, step, tostring(what)))
    assert(what ~= nil, ("seed %d, step %d: %s"):format(seed, step, tostring(why)))
    if ok then assert.same(wanted, what, ("seed %d, step %d"):format(seed, step)) end
    same_reads(one, other)
    assert.same({ on_disk(long) }, { on_disk(short) }, ("seed %d, step %d"):format(seed, step))
  end
  one:close() other:close()
  places.remove(short) places.remove(long)
end

--- Commits edits by another session than the one that reads.
local function edit_beside(place, edits)
  by_all()
  local writer <close> = open(place)
  for _, edit in ipairs(edits) do
    local ran, done, problem = pcall(edit, writer)      -- a rollback to what is pruned raises
    assert(not ran or done ~= nil, problem and problem.message)
  end
end

--- Reads a session by its tail, edits it, lets another one commit some edits, and reads the rest of it.
---@return string outcome     "same", or the code of an error; "whole": it could not be read by its tail
---@return boolean? by_tail   its own edits were those of a tail
local function read_beside(place, own, edits)
  by_tails()
  local reader <close> = open(place)
  if not reader.tail then
    edit_beside(place, edits)      -- else the next one could not be read by its tail either
    return "whole"
  end
  for _, edit in ipairs(own) do pcall(edit, reader) end
  local by_tail = #own > 0 and reader.tail
  local before, version = on_disk(place), reader.version
  edit_beside(place, edits)
  by_tails()
  local ok, problem = pcall(function() return reader.chat end)
  if not ok then return problem.code, by_tail end
  assert.same({ before, version }, { whole(reader), reader.version })
  local is_current = select(6, on_disk(place)) == version
  by_tails()
  assert.same({ is_current, true }, { reader:append(user "late") ~= nil, reader:refresh() ~= nil })
  assert.equal(on_disk(place), whole(reader))
  return "same", by_tail
end

describe("sessions by their tails", function()
  teardown(as_ever)
  after_each(as_ever)

  it("are read whole in the version of the tail, whatever others add meanwhile", function()
    math.randomseed(SEED)
    local place = places.new()
    places.remove(place)
    by_all()
    do
      local session <close> = open(place)
      for i = 1, 12 do session:append { user("m " .. i), call("c" .. i), result("c" .. i) } end
    end
    local outcomes, tails = {}, 0
    for round = 1, LIVES * 6 do
      local own, edits = {}, {}
      for i = 1, random(0, 3) do own[i] = EDITS[random(ADDING)]() end
      for i = 1, random(0, 5) do edits[i] = EDITS[random(ADDING)]() end
      local replacing = round % 3 == 0 and REPLACES[random(#REPLACES)]
      if replacing then edits[#edits + 1] = replacing end
      local outcome, by_tail = read_beside(place, own, edits)
      local title = ("seed %d, round %d: %s"):format(SEED, round, outcome)
      assert.truthy(outcome == "same" or outcome == "whole" or replacing and outcome == "conflict", title)
      outcomes[outcome], tails = (outcomes[outcome] or 0) + 1, tails + (by_tail and 1 or 0)
    end
    assert.truthy(LIVES < 10 or outcomes.same > LIVES and outcomes.conflict > 0 and tails > 0)
    places.remove(place)
  end)

  it("are what sessions are that are read whole, at every step of random lives", function()
    for i = 1, LIVES do live(SEED + i) end
  end)

  describe("that are long", function()
    local place

    before_each(function()
      place = places.new()
      places.remove(place)
      by_all()
      local session <close> = open(place)
      for i = 1, 40 do session:append(user("m " .. i)) end
      session:truncate { remove_first = 2 }
      session:append { user "m 41", user "m 42" }
      by_tails()
    end)
    after_each(function() places.remove(place) end)

    it("are read on demand", function()
      local session <close> = open(place)
      assert.truthy(session.tail)
      assert.equal(40, #session)
      assert.equal("m 42", session[40].text)
      assert.equal(38, session[38].index)
      assert.equal("m 3", session[1].text)
      assert.truthy(session.tail)
      assert.equal(40, #session:where { role = "user" })
      assert.truthy(session.tail)
      assert.equal(2, #session:batches())
      assert.falsy(session.tail)
    end)

    it("are read next to one that appends, and not where what was read is gone", function()
      local session <close> = open(place)
      assert(session:append(user "own"))
      local other <close> = open(place)
      other:append(user "later")
      assert.truthy(session.tail)
      assert.same({ "m 3", 41, "m 42" }, { session[1].text, #session, session[40].text })
      local done, why = session:trim { budget = 10 }
      assert.same({ nil, "conflict", other.version }, { done, why.code, why.actual })
      assert.is_true(session:refresh())
      assert.equal("later", session[42].text)
      assert(other:refresh() ~= nil and other:prune { keep = 1 })
      local ok, problem = pcall(function() return session[1] end)
      assert.same({ false, "conflict", other.version }, { ok, problem.code, problem.actual })
      assert.truthy(problem.hint:find("refresh", 1, true))
      assert.equal("later", session[42].text)      -- the tail stays
      assert.is_true(session:refresh())
      assert.same({ "m 3", "later" }, { session[1].text, session[42].text })
    end)

    it("are read next to others that append where they are branches, too", function()
      by_all()
      do
        local origin <close> = open(place)
        assert(origin:branch "b"):append { user "in b", user "last in b" }
      end
      local expected = whole(assert(ebb.session(place, "b", OPTIONS)))
      by_tails()
      local session <close> = assert(ebb.session(place, "b", OPTIONS))
      local other <close> = assert(ebb.session(place, "b", OPTIONS))
      assert(other:append(user "later"))
      local origin <close> = open(place)
      assert(origin:append(user "in the origin"))
      assert.same({ "m 3", "last in b", expected }, { session[1].text, session[#session].text, whole(session) })

      assert(other:append(user "even later"))
      assert(session:refresh())
      assert(origin.store:remove "a")      -- its rows are those of the branch now
      assert(other:append(user "at last"))
      assert.same({ "m 3", "even later" }, { session[1].text, session[#session].text })
    end)

    it("are read where a branch has forgotten a message that they share", function()
      by_all()
      local branch <close> = open(place):branch "b"
      by_tails()
      local session <close>, position = open(place), 5
      local text = branch[position].text
      assert(branch:forget(position))
      assert.not_equal(text, session.chat[position].text)
      assert.equal(branch[position].text, session[position].text)
      assert.same({}, session.store:check())
    end)

    it("give messages that all of the session takes for its own", function()
      local session <close> = open(place)
      local last = session[40]
      session:mark(last, "pin")
      assert.falsy(session.tail)
      assert.equal(last, session[40])
      assert.same({ "pin" }, session[40].marks)
    end)

    it("give no more than they have read when they are closed", function()
      local session = open(place)
      session:close()
      assert.equal("m 42", session[40].text)
      local ok, problem = pcall(function() return session[1] end)
      assert.same({ false, "closed" }, { ok, problem.code })
    end)

    it("refuse an edit of a state that another process has left", function()
      local one <close> = open(place)
      local two <close> = open(place)
      assert(one:append(user "one"))
      local done, problem = two:append(user "two")
      assert.is_nil(done)
      assert.equal("conflict", problem.code)
      assert.equal(one.version, problem.actual)
      assert.is_true(two:refresh())
      assert(two:append(user "two"))
      assert.equal(42, #two)
      assert.same({}, two.store:check())
    end)

    it("tell the caller's on_limit of all tokens", function()
      local told = {}
      local session <close> = assert(ebb.session(place, "a",
        { conversation = { limit = 50, on_limit = function(_, tokens) told[#told + 1] = tokens end } }))
      session:append(user "more")
      assert.is_true(told[1] > 50)
      assert.equal(session:tokens(), told[1])
    end)
  end)
end)

if places.lives then return end

describe("a session that is opened by its tail", function()
  setup(by_tails)
  teardown(as_ever)

  -- Without what the bytes of a file show: a tail meets damage when it reads it.
  assert(loadfile("tests/lua/session_spec.lua", "t", _ENV))(setmetatable({ is_file = false }, { __index = places }))
end)
