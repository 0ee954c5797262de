--- Sessions in PostgreSQL: all that session_spec.lua says, and what a server adds.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local EBB = dofile("tests/lua/command.lua").EBB
local server = dofile("tests/lua/postgres_server.lua").start()

if not server then
  return it("in PostgreSQL", function() pending "skipped: PostgreSQL's server is not installed" end)
end

local SEED = math.tointeger(tonumber(os.getenv "SEED")) or os.time()
local APPENDS = 100      -- of each worker

local function user(content) return { role = "user", content = content } end
local function code_of(_, problem) return problem and problem.code end

describe("in PostgreSQL", function()
  teardown(function() server:remove() end)

  assert(loadfile("tests/lua/session_spec.lua", "t", _ENV)) {
    new = function() return (server:new()) end,
    remove = function() end,
  }

  assert(loadfile("tests/lua/session_tail_spec.lua", "t", _ENV)) {
    new = function() return (server:new()) end,
    remove = function() end,
    lives = 2,
  }

  assert(loadfile("tests/lua/forget_reach_spec.lua", "t", _ENV)) {
    new = function() return (server:new()) end,
    remove = function() end,
    -- Rows that have a word, as the server gives them.
    left = function(place, word)
      local schema = place:match "search_path%%3D(%w+)"
      return server:sql(("SET search_path = %s; SELECT count(*) FROM ebb_row WHERE position('%s'::bytea in body) > 0;")
        :format(schema, word)):gsub("^0$", ""), nil
    end,
  }

  assert(loadfile("tests/lua/session_together_spec.lua", "t", _ENV)) {
    new = function() return (server:new()) end,
    remove = function() end,
  }

  describe("a store", function()
    it("is not made where it is only read", function()
      local place = server:new()
      assert.equal("absent", code_of(ebb.sessions(place, { create = false })))
      assert.equal("absent", code_of(ebb.sessions(place, { create = false })))
    end)

    it("refuses a newer schema, and one without a version", function()
      local place, schema = server:new()
      ebb.session(place, "a"):close()
      server:sql(("UPDATE %s.ebb_schema SET version = 99"):format(schema))
      assert.equal("unknown_version", code_of(ebb.sessions(place)))
      server:sql(("DELETE FROM %s.ebb_schema"):format(schema))
      assert.equal("damaged", code_of(ebb.sessions(place)))
    end)

    it("says which row is damaged, and which rows have no session", function()
      local place, schema = server:new()
      local session <close> = assert(ebb.session(place, "a"))
      session:append { user "the first", user "the second" }
      server:sql(("UPDATE %s.ebb_row SET body = body || 'x' WHERE kind = 1 AND number = 2"):format(schema))
      local again, problem = ebb.session(place, "a")
      assert.is_nil(again)
      assert.equal("damaged", problem.code)
      assert.truthy(problem.message:find("message 2", 1, true))
      server:sql(("INSERT INTO %s.ebb_row VALUES (77, 1, 1, 0, '')"):format(schema))
      local faults = session.store:check()
      assert.equal(2, #faults)
      assert.truthy(table.concat(faults, "\n"):find("session 77", 1, true))
    end)

    it("misses rows, and sees damage of sessions and operations", function()
      local place, schema = server:new()
      local function refused(run, ...)
        local result, problem = run(...)
        assert.is_nil(result)
        assert.equal("damaged", problem.code)
        return problem.message
      end
      local session <close> = assert(ebb.session(place, "a"))
      session:edit(function(chat) chat:append { user "one", user "two" } end, { operation = "op 1" })
      session:insert(1, user "zero")
      local branch <close> = assert(session:branch "b")
      server:sql(("DELETE FROM %s.ebb_row WHERE session = %d AND kind = 3"):format(schema, session.id))
      assert.truthy(refused(ebb.session, place, "a"):find("%d rows, but wrote %d"))
      refused(ebb.session, place, "b")
      assert.equal(2, #session.store:check())
      server:sql(("UPDATE %s.ebb_operation SET version = 7"):format(schema))
      refused(session.edit, session, function(chat) chat:append(user "one") end, { operation = "op 1" })
      server:sql(("ALTER TABLE %s.ebb_session ALTER COLUMN sum DROP EXPRESSION"):format(schema))
      server:sql(("UPDATE %s.ebb_session SET tokens = tokens + 1 WHERE name = 'b'"):format(schema))
      refused(branch.refresh, branch)
      refused(branch.store.list, branch.store)
    end)

    it("is made once by many that open it at the same moment", function()
      local place = server:new()
      local script = "for i in 1 2 3 4 5 6; do %s session new s$i --db '%s' --quiet & done; wait"
      assert.is_true(os.execute(script:format(EBB, place)))
      local store <close> = assert(ebb.sessions(place))
      assert.equal(6, #store:list())
    end)

    it("shows no password", function()
      local _, problem = ebb.session("postgresql://me:secret8f3a@localhost:1/x", "a")
      assert.equal("io", problem.code)
      assert.is_nil(problem.message:find("8f3a", 1, true))
      _, problem = ebb.session("postgresql://me:secret8f3a@localhost:x:y/x", "a")
      assert.is_nil(problem.message:find("8f3a", 1, true))
      local place = server:new():gsub("user=ebb", "user=ebb&password=secret8f3a")
      local store <close> = assert(ebb.sessions(place))
      assert.is_nil(tostring(store):find("8f3a", 1, true))
      _, problem = store:find "none"
      assert.is_nil(problem.message:find("8f3a", 1, true))
    end)

    it("shows no piece of a password whose characters are not escaped", function()
      for _, password in ipairs { "ge@heim", "ge/heim", "ge@heim/x", "ge?heim", "ge/hei?m", "ge%heim", "ge%4",
        "ge#heim", "ge heim", "a@b@ge?heim", "ge:heim@x", "[ge]heim" } do
        for _, url in ipairs { "postgresql://ebb:%s@127.0.0.1:1/db", "postgres://ebb:%s@h.invalid/db?sslmode=disable",
          "postgresql://ebb:%s@127.0.0.1:1/db?user=me%%40corp" } do
          local _, problem = ebb.session(url:format(password), "a")
          assert.equal("io", problem.code)
          assert.is_nil(problem.message:find("ge", 1, true), problem.message)
          assert.is_nil(problem.message:find("hei", 1, true), problem.message)
        end
      end
      for url, words in pairs { ["postgresql://ebb:a%40b@127.0.0.1:1/db"] = "127.0.0.1:1/db: connection to server",
        ["postgresql://127.0.0.1:1/db?user=me@corp"] = "127.0.0.1:1/db: connection to server",
        ["postgresql://me@127.0.0.1:1/db"] = "127.0.0.1:1/db: connection to server" } do
        assert.truthy(select(2, ebb.session(url, "a")).message:find(words, 1, true), url)
      end
    end)

    it("is copied by pg_dump", function()
      local store <close> = assert(ebb.sessions((server:new())))
      local _, problem = store:backup "copy"
      assert.equal("argument", problem.code)
      assert.truthy(problem.message:find("pg_dump", 1, true))
    end)

    it("gives free room back", function()
      local store <close> = assert(ebb.sessions((server:new())))
      assert.is_true(store:settle { vacuum = true })
    end)
  end)

  describe("a session", function()
    it("keeps large messages, and many", function()
      local place = server:new()
      local session <close> = assert(ebb.session(place, "a"))
      local messages = { user(("0123456789"):rep(300000)) }
      for i = 2, 5000 do messages[i] = user(("message %d %s"):format(i, ("x"):rep(i % 700))) end
      assert.truthy(session:append(messages))
      local again <close> = assert(ebb.session(place, "a"))
      assert.equal(5000, #again)
      assert.equal((session:fork():write "ebb"), (again:fork():write "ebb"))
    end)

    it("waits for a lock no longer than it may", function()
      local place, schema = server:new()
      local session <close> = assert(ebb.session(place, "a", { wait = 100 }))
      session:append(user "one")
      local holder = assert(io.popen(("psql -h %s -U ebb -qAtX postgres"):format(server.folder), "w"))
      holder:write(("BEGIN; SELECT FROM %s.ebb_session FOR UPDATE; SELECT pg_notify('held', '');\n"):format(schema))
      holder:flush()
      local blocked = "SELECT count(*) FROM pg_locks WHERE mode = 'RowShareLock' "
        .. "AND relation = '%s.ebb_session'::regclass"
      repeat until server:sql(blocked:format(schema)) ~= "0"
      local done, problem = session:append(user "two")
      assert.is_nil(done)
      assert.equal("io", problem.code)
      assert.truthy(problem.message:find("locked", 1, true))
      holder:write "COMMIT;\n"
      holder:close()
      assert.truthy(session:append(user "two"))
      assert.equal(2, session.version)
    end)

    it("tells of its commits those that listen", function()
      local place = server:new()
      local session <close> = assert(ebb.session(place, "a"))
      local file = os.tmpname()
      local listener = assert(io.popen(("psql -h %s -U ebb -qAtX postgres >%s"):format(server.folder, file), "w"))
      listener:write "LISTEN ebb_session;\n\\! echo listens\n"
      listener:flush()
      repeat until helper.read(file):find "listens"
      session:append(user "one")
      session:refresh()      -- takes the answer to the notice
      listener:write(("SELECT pg_sleep(0.05);\n"):rep(20))
      listener:close()
      local told = helper.read(file)
      os.remove(file)
      assert.truthy(told:find(('"ebb_session" with payload "%d"'):format(session.id), 1, true), told)
    end)

    it("is leased to one writer at a time, and fences off one that slept", function()
      local place, schema = server:new()
      local one <close> = assert(ebb.session(place, "a"))
      local two <close> = assert(ebb.session(place, "a"))
      assert(one:append(user "zero"))
      assert.is_true(one:lease(60000))
      assert.is_true(one:lease(60000))
      local has, left = two:lease(1000)
      assert.is_false(has)
      assert.is_true(left > 50000 and left <= 60000, left)
      assert(one:append(user "one"))
      server:sql(("UPDATE %s.ebb_lease SET ends = 0"):format(schema))      -- it slept for a minute
      assert.is_true(two:lease(60000))
      assert.equal(2, #two)
      local done, problem = one:edit(function(chat) chat:append(user "late") return true end, { retries = 10 })
      assert.is_nil(done)
      assert.equal("conflict", problem.code)
      assert.truthy(problem.message:find("another writer has the session", 1, true))
      assert(two:append(user "two"))
      assert.is_true(two:release())
      assert.is_true(one:lease(1000))
      assert.equal(3, #one)
      assert(one:append(user "three"))
      assert.is_true(one:release())
      assert.equal(0, #server:sql(("SELECT * FROM %s.ebb_lease"):format(schema)))
      assert.has_error(function() one:lease(0) end)
    end)

    it("is opened after a lease was taken over before anything was committed", function()
      local place, schema = server:new()
      local one <close> = assert(ebb.session(place, "a"))
      local two <close> = assert(ebb.session(place, "a"))
      assert.is_true(one:lease(60000))
      server:sql(("UPDATE %s.ebb_lease SET ends = 0"):format(schema))      -- it slept for a minute
      assert.is_true(two:lease(60000))
      assert.equal(0, #two)
      local done, problem = one:append(user "late")
      assert.same({ nil, "conflict" }, { done, problem.code })
      assert(two:append(user "one"))
      local three <close> = assert(ebb.session(place, "a"))
      assert.same({ 1, "one" }, { #three, three[1].text })
      assert.is_true(one:refresh())
      assert.equal(1, #one)
    end)

    it("goes on after the server was killed and started again", function()
      local place = server:new()
      local session <close> = assert(ebb.session(place, "a"))
      session:append(user "one")
      server:kill()
      local done, problem = session:append(user "two")
      assert.is_nil(done)
      assert.equal("io", problem.code)
      assert.equal(1, #session)
      server:start_again()
      assert.truthy(session:append(user "three"))
      assert.is_false(session:refresh())
      local again <close> = assert(ebb.session(place, "a"))
      assert.same({ 2, "three" }, { #again, again[2].text })
    end)
  end)

  describe("many workers", function()
    --- Runs scripts/hosts/workers; `chaos`: a command in the midst of it.
    local function work(place, chaos)
      local words = "EBB='%s' CHAOS='%s' scripts/hosts/workers/run.sh '%s' %d 8 2>&1"
      local pipe = assert(io.popen(words:format(EBB, chaos, place, APPENDS)))
      local output = pipe:read "a"
      local ok = pipe:close()
      assert(ok, output)
      local killed = tonumber(output:match "(%d+) workers killed")
      local acknowledged, messages = output:match "(%d+) appends acknowledged.-(%d+) messages: 0 faults"
      assert.same({ 4 * APPENDS, 4 * APPENDS }, { tonumber(acknowledged), tonumber(messages) })
      assert.is_true(killed > 0)
    end

    it("branch, remove, forget and prune at the same time, and leave nothing damaged", function()
      local place = server:new()
      local root <close> = assert(ebb.session(place, "root"))
      for i = 1, 10 do root:append(user("message " .. i)) end
      local one = "%s run --quiet tests/lua/session_neighbour.lua -- '%s' $i 60 </dev/null & pids=\"$pids $!\""
      local all = ("for i in %d %d %d %d; do %s; done; for p in $pids; do wait $p || exit 1; done"):format(SEED,
        SEED + 1, SEED + 2, SEED + 3, one:format(EBB, place))
      assert(os.execute(all), "SEED=" .. SEED)
      local store <close> = assert(ebb.sessions(place))
      assert.same({}, store:check())
      for _, info in ipairs(store:list()) do
        local session <close> = assert(ebb.session(place, info.name))
        assert.equal(info.messages, #session)
      end
    end)

    it("lose and double nothing when some are killed, and the server", function()
      work(server:new(), ("tests/postgres.sh kill %s; tests/postgres.sh start %s"):format(server.folder,
        server.folder))
    end)

    it("lose and double nothing when answers to commits are lost", function()
      local folder = server.folder .. "/proxy"
      assert(os.execute("mkdir -m 755 " .. folder))
      local start = "cd '%s'; '%s/build/faults/postgres_proxy' .s.PGSQL.5432 ../.s.PGSQL.5432 7 >lost 2>pid"
      local here = assert(io.popen "pwd"):read "l"
      assert(os.execute(start:format(folder, here)))
      local pid = assert(io.open(folder .. "/pid")):read "n"
      local _, schema = server:new()
      local ok, why = pcall(work, server:url(schema, folder), ":")
      os.execute("kill " .. pid)
      assert(ok, why)
      local lost = select(2, assert(io.open(folder .. "/lost")):read "a":gsub("\n", ""))
      assert.is_true(lost > APPENDS / 4, lost)
    end)
  end)
end)
