--- Edits of many sessions as one transaction: all of them are on disk, or none is, with one sync.
--- In SQLite; session_postgres_spec.lua runs the same over PostgreSQL. Crashes and faults: tests/faults.

local helper = dofile "tests/lua/helper.lua"
local files = dofile "tests/lua/session_files.lua"
local ebb = helper.ebb

local place

local places = files.places(...)

local function user(content) return { role = "user", content = content } end

--- All of a conversation, as bytes.
local function whole(chat) return (chat:fork():write "ebb") end

local function open_store(options) return assert(ebb.sessions(place, options)) end

--- Names, versions and texts of all sessions, as another process sees them.
local function on_disk()
  local store <close> = open_store()
  local lines = {}
  for i, info in ipairs(assert(store:list())) do
    local texts = {}
    for k, message in ipairs(assert(store:session(info.name)):all()) do texts[k] = message.text end
    lines[i] = ("%s %d: %s"):format(info.name, info.version, table.concat(texts, " "))
  end
  assert.same({}, store:check())
  return table.concat(lines, "\n")
end

describe("edits that are made together", function()
  local store

  before_each(function()
    place = places.new()
    places.remove(place)
    store = open_store()
  end)
  after_each(function()
    store:close()
    places.remove(place)
  end)

  it("are all on disk when the call returns, and give what the function gives", function()
    local a, b = store:session "a", store:session "b"
    local results = table.pack(store:together(function(s)
      assert.equal(store, s)
      assert(a:append(user "one"))
      assert(b:append { user "two", user "three" })
      assert(a:append(user "four"))
      assert(s:session "c":append(user "five"))
      assert.same({ 2, "four", 2 }, { #a, a[2].text, a.version })      -- seen by later calls
      return "done", nil, 3
    end))
    assert.same({ "done", nil, 3, n = 3 }, results)
    assert.equal("a 2: one four\nb 1: two three\nc 1: five", on_disk())
    assert.equal(whole(a), whole(assert(ebb.session(place, "a"))))
    assert(a:truncate { keep_last = 1 })
    assert(store:together(function() return a:rollback(0) end))
    assert.equal("a 4: one four\nb 1: two three\nc 1: five", on_disk())
  end)

  for what, fail in pairs {
    ["raises"] = function() error("no", 0) end,
    ["returns an error"] = function() return nil, select(2, store:find "none") end,
  } do
    it("are undone where the function " .. what, function()
      local a, b = store:session "a", store:session "b"
      a:append(user "one")
      local state, before = on_disk(), whole(a)
      local ok, result, problem = pcall(store.together, store, function()
        a:append(user "lost")
        b:append(user "lost")
        store:session "c":append(user "lost")
        assert(b:branch "d"):append(user "lost")
        assert(a:rename "e" and a:rename "f")
        assert(store:rename("b", "g"))
        return fail()
      end)
      assert.equal(what == "raises" and "no" or "absent", ok and problem.code or result)
      assert.equal(state, on_disk())
      assert.same({ before, 1, 0, 0, "a" }, { whole(a), a.version, #b, b.version, a.name })
      assert.is_false(a:refresh())
      assert(a:append(user "two"))
      assert(store:together(function() return b:append(user "three") end))
      assert.equal("a 2: one two\nb 1: three", on_disk())
    end)
  end

  it("that are refused leave the others as they are", function()
    local a, b = store:session "a", store:session "b"
    a:append(user "one")
    local other <close> = assert(ebb.session(place, "b"))
    other:append(user "by another")
    local problem
    assert(store:together(function()
      a:append(user "two")
      problem = select(2, b:append(user "refused"))
      assert(b:refresh())
      assert(b:append(user "again"))
      assert.is_nil((store:rename("a", "b")))
      return a:append(user "three")
    end))
    assert.same({ "conflict", 1 }, { problem.code, problem.actual })
    assert.equal("a 3: one two three\nb 2: by another again", on_disk())
  end)

  it("are read, and forgotten, in the same way", function()
    local a = store:session "a"
    a:append { user "one", user "two" }
    local branch = assert(store:branch("a", "b")) and store:session "b"
    assert(store:together(function()
      assert(branch:append(user "three"))
      assert(branch:forget(1))
      assert(store:session("b"):append(user "four"))
      assert(store:remove "a")
      return true
    end))
    assert.equal("conflict", select(2, branch:append(user "five")).code)
    assert(branch:refresh())
    assert.same({ 4, "two", "four" }, { #branch, branch[2].text, branch[4].text })
    assert(store:settle())
    on_disk()
  end)

  local QUOTING = { name = "quoting", trim = function(draft)
    draft.memory.text = "the password was said"
    draft:drop(draft[2], "no password")
  end }

  --- Makes the n-th commit from now on fail, once.
  local function fail_commit(session, n)
    local db, count = session.store.db, 0
    local failing = setmetatable({}, { __index = function(_, name)
      return function(_, ...) return db[name](db, ...) end
    end })
    function failing.commit(_, change)
      count = count + 1
      if count == n then return nil, { code = "io", message = "another program has locked it for longer than 1 ms" } end
      return db:commit(change)
    end
    session.store.db = failing
    return function() session.store.db = db end
  end

  for what, forget in pairs {
    ["alone"] = function(_, session) return session:forget(1) end,
    ["with other edits"] = function(s, session)
      return s:together(function()
        assert(session:append(user "other"))
        session:forget(1)      -- the error is ignored
        return true
      end)
    end,
  } do
    for n = 1, 2 do
      it(("forget in all sessions that share a message, or in none: %s, session %d fails"):format(what, n), function()
        local a = store:session "a"
        a:append { user "the password is hidden", user "two" }
        assert(a:trim { budget = 12, guards = false, policy = QUOTING })
        assert(a:branch "b")
        local before, memory = on_disk(), whole(a)
        local of_commit = what == "alone" and n or n + 1
        local mend = fail_commit(a, of_commit)

        local done, problem = forget(store, a)

        mend()
        if done then      -- its own commit was refused, and nothing else was forgotten
          assert.same({ "with other edits", 1 }, { what, n })
          assert.equal("a 3: the password is hidden two other\nb 1: the password is hidden two", on_disk())
        else
          assert.equal("io", problem.code)
          assert.same({ before, memory }, { on_disk(), whole(a) })
        end
        assert(forget(store, a))
        for _, name in ipairs { "a", "b" } do
          assert.is_nil(whole(assert(ebb.session(place, name))):find("password", 1, true), name)
        end
      end)
    end
  end

  it("are not kept where one forgot in part, though a later one forgets", function()
    local a = store:session "a"
    a:append { user "the password is hidden", user "two", user "three" }
    assert(a:trim { budget = 20, guards = false, policy = QUOTING })
    local b = assert(a:branch "b")
    local before = on_disk()
    local mend
    local done, problem = store:together(function()
      mend = fail_commit(a, 2)
      assert.is_nil(a:forget(1))
      b:forget(2)      -- its session is as it was
      return true
    end)
    mend()
    assert.same({ nil, "io" }, { done, problem and problem.code })
    assert.equal(before, on_disk())
  end)

  it("forget in branches, too, where the same edit prunes what they share", function()
    local a = store:session "a"
    a:append { user "the password is hidden", user "two", user "three" }
    assert(a:trim { budget = 20, guards = false, policy = QUOTING })
    local b = assert(a:branch "b")
    assert(b:branch "c")
    assert(a:edit(function(chat)
      chat:forget(1)
      chat:prune { keep = 1 }
      return true
    end))
    for _, name in ipairs { "a", "b", "c" } do
      assert.is_nil(whole(assert(ebb.session(place, name))):find("password", 1, true), name)
    end
    assert.same({}, store:check())
  end)

  it("are repeated by their operations after a lost answer", function()
    local a, b = store:session "a", store:session "b"
    local function run()
      local function edit(session, text)
        return assert(session:edit(function(chat) return chat:append(user(text)) end, { operation = text }))
      end
      edit(a, "one")
      edit(b, "two")
      return true
    end
    assert(store:together(run))
    assert(store:together(run))
    assert.equal("a 1: one\nb 1: two", on_disk())
  end)

  it("are not seen by others before the end, who wait, and are told", function()
    local a, b = store:session "a", store:session "b"
    a:append(user "zero")
    local reader <close> = assert(ebb.session(place, "a"))
    local writer <close> = assert(ebb.session(place, "a", { wait = 50 }))
    assert(store:together(function()
      a:append(user "one")
      b:append(user "two")
      assert.is_false(reader:refresh())
      local done, problem = writer:append(user "early")
      assert.same({ nil, "io" }, { done, problem.code })
      return true
    end))
    assert.is_true(reader:wait(60000))
    assert.equal("one", reader[2].text)
  end)

  it("have no place for upkeep, for themselves, or for other things than functions", function()
    local a = store:session "a"
    local codes = {}
    local function note(_, problem) codes[#codes + 1] = problem and problem.code or "none" end
    assert(store:together(function()
      note(store:together(function() end))
      note(store:settle())
      note(store:check())
      note(store:backup "copy")
      note(a:wait(1))
      note(a:lease(1))
      return a:append(user "one")
    end))
    assert.equal("argument argument argument argument argument argument", table.concat(codes, " "))
    assert.equal("a 1: one", on_disk())
    for _, wrong in ipairs { 3, {}, "x" } do
      assert.has_error(function() store:together(wrong) end)
    end
    assert.is_nil((store:together(function() end)))
    assert.has_error(function() store:session(3) end)
    assert.equal("absent", select(2, store:session("none", { create = false })).code)
  end)

  it("keep the store open when a session of it is closed", function()
    local a, b = store:session "a", store:session "b"
    a:close()
    assert.has_error(function() a:append(user "one") end)
    assert(b:append(user "one"))
  end)
end)
