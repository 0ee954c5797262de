--- Sessions: what an edit returned is on disk; a session that is opened again is the one that was left.
--- In SQLite; session_postgres_spec.lua runs the same over PostgreSQL.
--
-- LIVES=n sets how many random lives are led, SEED=n repeats a run.

local helper = dofile "tests/lua/helper.lua"
local files = dofile "tests/lua/session_files.lua"
local ebb = helper.ebb
local EBB = dofile("tests/lua/command.lua").EBB

local LIVES = math.tointeger(tonumber(os.getenv "LIVES")) or 6
local STEPS = 60

local place

local places = files.places(...)

local function remove() places.remove(place) end

--- For what the bytes of a file show.
local function in_file(title, run) if places.is_file then it(title, run) end end

local function user(content) return { role = "user", content = content } end

--- All of a conversation, as bytes.
local function whole(chat) return (chat:fork():write "ebb") end

local function open(name, options) return assert(ebb.session(place, name, options)) end

--- The whole of the session as another process sees it.
local function on_disk(name)
  local session <close> = open(name, { create = false })
  return whole(session), session.version
end

local function bytes_of(path)
  local file = assert(io.open(path, "rb"))
  local bytes = file:read "a"
  file:close()
  return bytes
end

describe("a session", function()
  before_each(function() place = places.new() remove() end)
  after_each(remove)

  it("is on disk when an edit returns", function()
    local session <close> = open "a"
    session:append { user "one", user "two" }
    assert.equal(1, session.version)
    assert.equal(whole(session), (on_disk "a"))
    session:truncate { keep_last = 1 }
    assert.equal("two", open("a")[1].text)
    session:rollback(0)
    assert.equal(2, #open "a")
    assert.equal(whole(session), (on_disk "a"))
  end)

  it("is named alone where options have the place", function()
    do
      local session <close> = assert(ebb.session("a", { db = place, conversation = { encoding = "cjk" } }))
      session:append(user "one")
    end
    assert.equal("one", open("a")[1].text)
    for _, wrong in ipairs { { "a", {} }, { "a", { db = place }, {} }, { place, 5 } } do
      local ok, problem = pcall(ebb.session, table.unpack(wrong))
      assert.same({ false, "argument" }, { ok, problem.code })
      assert.truthy(problem.message:find("^session: "))
    end
    assert.is_nil(io.open "a")
  end)

  it("commits nothing where nothing changed", function()
    local session <close> = open "a"
    session:append(user "one")
    session:edit(function(chat) return #chat end)
    session:rollback(0)
    assert.equal(1, select(2, on_disk "a"))
  end)

  it("has what a function returns, and all of its edits are one commit", function()
    local session <close> = open "a"
    local count, word = session:edit(function(chat)
      chat:append(user "one")
      chat:append(user "two")
      return #chat, "done"
    end)
    assert.same({ 2, "done", 1 }, { count, word, session.version })
  end)

  it("has no trace of an edit that raises", function()
    local session <close> = open "a"
    session:append(user "one")
    local before = whole(session)
    assert.has_error(function()
      session:edit(function(chat)
        chat:append(user "two")
        error("no", 0)
      end)
    end, "no")
    assert.equal(before, whole(session))
    assert.equal(before, (on_disk "a"))
    session:append(user "three")
    assert.equal(whole(session), (on_disk "a"))
  end)

  it("refuses an edit of a state that another process has left, and reads it on demand", function()
    local one <close> = open "a"
    local two <close> = open "a"
    one:append(user "by one")
    local result, problem = two:append(user "by two")
    assert.is_nil(result)
    assert.same({ "conflict", 1 }, { problem.code, problem.actual })
    assert.equal(0, #two)
    assert.is_true(two:refresh())
    assert.is_false(two:refresh())
    assert.equal("by one", two[1].text)
    assert.truthy(two:append(user "by two"))
    assert.equal(2, select(2, on_disk "a"))
  end)

  it("edits anew after a conflict, where that is asked for", function()
    local one <close> = open "a"
    local two <close> = open "a"
    one:append(user "by one")
    assert.equal(2, two:edit(function(chat)
      chat:append(user "by two")
      return #chat
    end, { retries = 1 }))
    assert.same({ "by one", "by two" }, { two[1].text, two[2].text })
  end)

  it("keeps the macro variables of the first of two requests, and refuses the other one's", function()
    local function request(text)
      local pipe = ebb.pipeline { agent = { presets = { { role = "system", content = text } } }, now = 0, zone = 0 }
      return function(chat) return assert(pipe:run(chat)).chat[1].text end
    end
    local function kept(session) return ebb.json.encode(session:variables()) end
    local first <close> = open "a"
    first:append(user "one")
    local second <close> = open "a"
    local reader <close> = open "a"
    assert.equal("1", first:edit(request "{{setglobalvar::by::first}}{{incvar::n}}{{getvar::n}}"))
    local state = on_disk "a"

    local result, problem = second:edit(request "{{setglobalvar::by::second}}{{incvar::n}}{{getvar::n}}")

    assert.same({ nil, "conflict", first.version }, { result, problem.code, problem.actual })
    assert.same({ nil, "conflict" }, { result, select(2, second:input("{{incvar::n}}two", { now = 0 })).code })
    assert.equal(state, (on_disk "a"))
    assert.equal('{"global":{},"local":{}}', kept(second))
    assert.equal("[]", reader:edit(request "[{{getvar::n}}]"))      -- a request that changes none conflicts with none
    assert.equal("2", second:edit(request "{{incvar::n}}{{getvar::n}}", { retries = 1 }))
    assert.equal('{"global":{"by":"first"},"local":{"n":2}}', kept(open "a"))
  end)

  it("does an operation once, however often it is sent", function()
    local one <close> = open "a"
    local two <close> = open "a"
    local function say(chat) chat:append(user "once") return true end
    assert.is_true(one:edit(say, { operation = "op 1" }))
    two:edit(say, { operation = "op 1" })
    assert.equal(1, #open "a")
    assert.equal(1, select(2, on_disk "a"))
  end)

  it("reads what is on disk where an operation was done before", function()
    local one <close> = open "a"
    local two <close> = open "a"
    local function say(chat) chat:append(user "once") end
    one:edit(say, { operation = "op 1" })
    one:append(user "later")
    two:refresh()
    two:edit(say, { operation = "op 1" })
    assert.same({ 2, 2 }, { #two, two.version })
    assert.equal(whole(one), whole(two))
    assert.truthy(two:append(user "more"))
    assert.equal(whole(two), (on_disk "a"))
  end)

  it("tells the version of an edit though it cannot be merged, nor the disk be read", function()
    local storage = require "ebb.support.storage"
    local merge = storage.merge
    finally(function() storage.merge = merge end)
    local one = open "a"
    one:append(user "one")
    storage.merge = function() error "no memory" end
    assert.truthy(one:append(user "two"))
    one:close()
    assert.equal(2, one.version)
    assert.equal("closed", helper.refusal(function() return one[1] end).code)
  end)

  it("waits for what another process writes", function()
    local reader <close> = open "a"
    assert.is_false(reader:wait(0))
    assert.is_false(reader:wait(20))
    local writer <close> = open "a"
    writer:append(user "one")
    assert.is_true(reader:wait(60000))
    assert.equal("one", reader[1].text)
    assert.is_false(writer:wait(0))
    local other = assert(io.popen(("sleep 0.3; %s apply --session a --db '%s' '[%s]'"):format(EBB, place,
      '{"operation":"append","messages":[{"role":"user","content":"two"}]}')))
    assert.is_true(reader:wait(60000))
    assert.equal("two", reader[2].text)
    other:close()
    assert.has_error(function() reader:wait(-1) end)
  end)

  it("keeps model, limit and tools", function()
    local session <close> = open("a", { conversation = { model = "gpt-4o", limit = 900 } })
    session:append(user "one")
    local again <close> = open "a"
    assert.same({ "gpt-4o", 900 }, { again:model(), again.limit })
  end)

  it("keeps lorebooks' timers and policies' memory, which a rollback undoes, and reported usage", function()
    local book = { name = "b", entries = { { name = "A", keys = { "elf" }, sticky = 9, content = "lore" } } }
    local pipe = ebb.pipeline { agent = { name = "Ann", lorebooks = { book } }, now = 0, seed = 1 }
    local counting = { name = "counts", trim = function(draft) draft.memory.n = (draft.memory.n or 0) + 1 end }
    local function run(session) return assert(session:edit(function(chat) return pipe:run(chat) end)).body end
    local function counted(session)
      local seen
      local look = { name = "counts", trim = function(draft) seen = draft.memory.n end }
      session:fork():trim { budget = 1000, policy = look }
      return seen
    end

    local session = open("kept", { conversation = { encoding = "bytes4" } })
    session:append { user "one", user "two" }
    session:truncate { keep_last = 1 }
    session:append { user "an elf" }
    run(session)
    session:trim { budget = 1000, policy = counting }
    session:report_usage { prompt_tokens = session:tokens() + 7 }
    session:append { { role = "assistant", content = "yes" }, user "so", user "and so", user "on" }
    local tokens, before = session:tokens(), whole(session)
    session:close()

    local again <close> = open("kept", { create = false })
    assert.equal(before, whole(again))
    assert.same({ 1, tokens }, { counted(again), again:tokens() })
    assert.truthy(run(again):find "lore")
    again:rollback(0)
    assert.is_nil(counted(again))
    again:append { user "so" }
    assert.is_nil(run(again):find "lore")
  end)

  it("takes over a conversation with its batches", function()
    local chat = ebb.conversation { messages = { user "one", user "two" } }
    chat:truncate { keep_last = 1 }
    chat:mark(1, "pinned")
    local session <close> = open "a"
    session:append(user "old")
    assert.is_true(session:adopt(chat))
    assert.equal(whole(chat), whole(session))
    assert.equal(whole(chat), (on_disk "a"))
    session:rollback(0)
    assert.equal("one", open("a")[1].text)
  end)
end)

describe("branches", function()
  before_each(function() place = places.new() remove() end)
  after_each(remove)

  local function three()
    local session = open "main"
    session:append { user "one", user "two", user "three" }
    session:truncate { keep_last = 2 }
    return session
  end

  it("share messages, and go their own ways", function()
    local main <close> = three()
    local try <close> = assert(main:branch "try")
    assert.equal(whole(main), whole(try))
    try:append(user "in try")
    main:append(user "in main")
    assert.same({ "two", "three", "in try" }, { try[1].text, try[2].text, try[3].text })
    assert.equal(whole(try), (on_disk "try"))
    assert.equal(whole(main), (on_disk "main"))
  end)

  it("of branches read through all their origins", function()
    local main <close> = three()
    local try <close> = assert(main:branch "try")
    try:append(user "in try")
    local deep <close> = assert(try:branch "deep")
    deep:append(user "in deep")
    try:append(user "later")
    assert.equal(whole(deep), (on_disk "deep"))
    assert.equal(4, #deep)
  end)

  it("outlive their origin, pruned or removed", function()
    local main <close> = three()
    local try <close> = assert(main:branch "try")
    try:append(user "in try")
    local deep <close> = assert(try:branch "deep")
    local states = { try = whole(try), deep = whole(deep) }
    main:prune { keep = 1 }
    assert.equal(whole(main), (on_disk "main"))
    local store <close> = assert(ebb.sessions(place))
    assert.is_true(store:remove "main")
    assert.same(states, { try = on_disk "try", deep = on_disk "deep" })
    assert.is_true(store:remove "try")
    assert.equal(states.deep, (on_disk "deep"))
    assert.same({}, store:check())
  end)

  it("forget what is forgotten in one of them", function()
    local main <close> = open "main"
    main:append { user "one", user "the secret 8f3a", user "three" }
    local try <close> = assert(main:branch "try")
    try:forget(2)
    try:append(user "more")
    assert.equal(whole(try), (on_disk "try"))
    for _, rest in ipairs(places.is_file and { "", "-wal" } or {}) do
      assert.is_nil(bytes_of(place .. rest):find("8f3a", 1, true), rest)
    end
  end)

  it("refuse a name that is taken", function()
    local main <close> = three()
    local _, problem = main:branch "main"
    assert.equal("duplicate", problem.code)
    assert.truthy(problem.message:find "name exists: main$")
  end)
end)

describe("a store", function()
  before_each(function() place = places.new() remove() end)
  after_each(remove)

  it("lists, renames and removes sessions", function()
    local session <close> = open "b"
    session:append(user "one")
    open("a"):close()
    local store <close> = assert(ebb.sessions(place))
    local names = {}
    for i, info in ipairs(store:list()) do names[i] = ("%s %d"):format(info.name, info.messages) end
    assert.same({ "a 0", "b 1" }, names)
    assert.is_true(store:rename("b", "c"))
    local _, problem = store:rename("c", "a")
    assert.equal("duplicate", problem.code)
    assert.truthy(problem.message:find "name exists: a$")
    assert.is_true(store:remove "c")
    assert.equal("absent", select(2, store:find "c").code)
    assert.equal("absent", select(2, store:remove "c").code)
  end)

  in_file("copies itself to a new file", function()
    local session <close> = open "a"
    session:append(user "one")
    local copy = place .. ".copy"
    local store <close> = assert(ebb.sessions(place))
    assert.is_true(store:backup(copy))
    assert.equal("duplicate", select(2, store:backup(copy)).code)
    local again <close> = assert(ebb.session(copy, "a"))
    assert.equal(whole(session), whole(again))
    files.remove(copy)
  end)

  local function refused(bytes)
    local file = assert(io.open(place, "wb"))
    file:write(bytes)
    file:close()
    local store, problem = ebb.sessions(place)
    assert.is_nil(store)
    assert.equal(bytes, bytes_of(place))
    return problem.code
  end

  in_file("refuses what it is not, and leaves it as it is", function()
    assert.equal("damaged", refused("no database at all, " .. ("x"):rep(2000)))
    remove()
    open("a"):close()
    local bytes = bytes_of(place)
    assert.equal("unknown_version", refused(bytes:sub(1, 60) .. "\0\0\0\99" .. bytes:sub(65)))
    assert.equal("damaged", refused(bytes:sub(1, 68) .. "\0\0\0\99" .. bytes:sub(73)))
    assert.equal("damaged", refused(bytes:sub(1, 1500)))
  end)

  in_file("says which row is damaged", function()
    local session = open "a"
    session:append { user "the first", user "the second" }
    session:close()
    local bytes = bytes_of(place)
    local at = assert(bytes:find("the second", 1, true))
    local file = assert(io.open(place, "wb"))
    file:write(bytes:sub(1, at - 1), "THE", bytes:sub(at + 3))
    file:close()
    local again, problem = ebb.session(place, "a")
    assert.is_nil(again)
    assert.equal("damaged", problem.code)
    assert.truthy(problem.message:find("message 2", 1, true))
    local store <close> = assert(ebb.sessions(place))
    assert.equal(1, #store:check())
  end)

  --- A number as SQLite writes it before a row's bytes.
  local function varint(number)
    local bytes = string.char(number & 0x7f)
    while number > 0x7f do
      number = number >> 7
      bytes = string.char(0x80 | number & 0x7f) .. bytes
    end
    return bytes
  end

  in_file("misses a row whose key is damaged", function()
    local session = open "a"
    session:append(user "one")
    session.windows:open { id = "w", description = "d", content = "c" }
    session:branch("b"):close()
    session:close()
    local bytes = bytes_of(place)
    local right, wrong = varint(1 << 38 | 6 << 35), varint(5 << 38 | 6 << 35)      -- the window's row
    local at = assert(bytes:find(right, 1, true))
    local file = assert(io.open(place, "wb"))
    file:write(bytes:sub(1, at - 1), wrong, bytes:sub(at + #right))
    file:close()
    local again, problem = ebb.session(place, "a")
    assert.is_nil(again)
    assert.equal("damaged", problem.code)
    assert.truthy(problem.message:find("%d rows, but wrote %d"), problem.message)
    local store <close> = assert(ebb.sessions(place))
    assert.is_true(#store:check() > 0)
  end)

  in_file("is locked for no longer than the wait", function()
    open("a"):close()
    if not os.execute "command -v sqlite3 >/dev/null" then return pending "sqlite3 is not installed" end
    local session <close> = assert(ebb.session(place, "a", { wait = 50 }))
    local pipe = assert(io.popen(("sqlite3 '%s'"):format(place), "w"))
    pipe:write(("BEGIN IMMEDIATE;\n.shell touch '%s.copy'\n"):format(place))
    pipe:flush()
    repeat until io.open(place .. ".copy")
    os.remove(place .. ".copy")
    local reopened = false
    session.store.reopen = function() reopened = true end
    local done, problem = session:append(user "one")
    session.store.reopen = nil
    pipe:close()
    assert.is_false(reopened)      -- waiting for the lock once more
    assert.is_nil(done)
    assert.equal("io", problem.code)
    assert.truthy(problem.message:find("locked", 1, true))
    assert.truthy(session:append(user "one"))
  end)

  --- The size of a database after 1,000 turns, and that of its messages as JSONL.
  local function grow(trims)
    local session = assert(ebb.session(place, "a", { relaxed = true }))
    local sizes, jsonl, state = { 480, 520, 700, 800, 960, 1040 }, 0, 1
    local function text()
      state = (state * 1103515245 + 12345) % 0x80000000
      return ("%08x"):format(state):rep(sizes[1 + (state >> 8) % #sizes] // 8)
    end
    for _ = 1, 1000 do
      assert(session:append { user(text()), { role = "assistant", content = text() } })
      if trims then assert(session:trim { budget = 4000 }) end
    end
    for _, message in ipairs(session:all()) do jsonl = jsonl + #message.json + 1 end
    assert(session.store:settle())
    session:close()
    return #bytes_of(place), jsonl
  end

  in_file("takes at most 1.25 times its messages, and at most 512 bytes for a trim", function()
    local file, jsonl = grow(false)
    assert.is_true(file <= 1.25 * jsonl, ("%d bytes for %d"):format(file, jsonl))
    remove()
    local with_trims = grow(true)
    assert.is_true((with_trims - file) / 1000 <= 512, ("%d bytes, %d without trims"):format(with_trims, file))
  end)

  in_file("has no leases", function()
    local session <close> = open "a"
    local has, problem = session:lease(1000)
    assert.is_nil(has)
    assert.equal("argument", problem.code)
  end)

  in_file("takes nothing once its file has vanished or was replaced", function()
    local session <close> = open "a"
    session:append(user "one")
    local before = whole(session)
    os.remove(place)
    for _ = 1, 2 do
      local done, problem = session:append(user "two")
      assert.is_nil(done)
      assert.equal("absent", problem.code)
      assert.truthy(problem.message:find("was removed, or replaced", 1, true))
      assert.equal(before, whole(session))
      local file = assert(io.open(place, "wb"))
      file:write "of another program"
      file:close()
    end
    assert.equal("of another program", bytes_of(place))
  end)

  in_file("is read in a folder that may not be written, and refuses edits", function()
    local folder = place .. ".folder"
    local path, quoted = folder .. "/chats.db", ("'%s'"):format(folder)
    assert(os.execute("mkdir -p " .. quoted))
    local session = assert(ebb.session(path, "a"))
    session:append(user "one")
    local before = whole(session)
    session:close()
    os.execute(("chmod 444 %s/*; chmod 555 %s"):format(quoted, quoted))
    local may_write = os.execute(("test -w %s"):format(quoted))      -- as root
    local code, text, message
    if not may_write then
      local reader = assert(ebb.session(path, "a"))
      local _, problem = reader:append(user "two")
      code, text, message = problem.code, whole(reader), problem.message
      reader:close()
    end
    os.execute(("chmod 755 %s; rm -r %s"):format(quoted, quoted))
    if may_write then return pending "root may write everywhere" end
    assert.same({ "read_only", before }, { code, text })
    assert.truthy(message:find("may only be read", 1, true))
  end)

  in_file("is not made where it is only read", function()
    local store, problem = ebb.sessions(place, { create = false })
    assert.is_nil(store)
    assert.equal("absent", problem.code)
    assert.is_nil(io.open(place))
  end)
end)

---- Random lives ----

local random

--- Edits by name; each takes a conversation or a session.
local STEPS_OF_LIFE = {
  function(chat, n) chat:append(user("message " .. n)) end,
  function(chat, n) chat:append { user("a " .. n), { role = "assistant", content = "b " .. n } } end,
  function(chat, n)
    chat:append { { role = "assistant", tool_calls = { { id = "c" .. n % 7, type = "function",
      ["function"] = { name = "f", arguments = "{}" } } } },
      { role = "tool", tool_call_id = "c" .. n % 7, content = "result " .. n } }
  end,
  function(chat, n) chat:insert(random(#chat + 1), user("inserted " .. n)) end,
  function(chat, n) if #chat > 0 then chat:replace(random(#chat), user("replaced " .. n)) end end,
  function(chat) chat:truncate { keep_last = random(0, 12) } end,
  function(chat) chat:trim { budget = random(20, 200), policy = "keep_recent" } end,
  function(chat) chat:trim { budget = random(40, 200), policy = "stable_prefix" } end,
  function(chat) chat:rollback(random(0, chat:stats().total_batches - 1)) end,
  function(chat, n) chat:checkpoint("point " .. n % 5) end,
  function(chat) chat:report_usage { prompt_tokens = chat:tokens() + random(9) } end,
  function(chat) if #chat > 0 then chat:mark(random(#chat), "m" .. random(3)) end end,
  function(chat) if #chat > 0 then chat:unmark(random(#chat), "m" .. random(3)) end end,
  function(chat) if #chat > 0 then chat:forget(random(#chat)) end end,
  function(chat) chat:prune { keep = random(1, 4) } end,
  function(chat) chat:clear() end,
  function(chat, n)
    chat:input(("{{setvar::v%d::%d}}{{incvar::n}}said {{getvar::n}}"):format(n % 3, n), { now = n })
  end,
  function(chat, n) chat:set_variables { ["local"] = { n = random(3) }, global = { g = n // 9 } } end,
  function(chat, n)      -- in a transaction of its own
    chat:apply { { operation = "append", messages = { user("by an operation " .. n) } },
      { operation = "truncate", keepLast = 5 } }
  end,
  function(chat, n)
    local id = "w" .. n % 3
    local window = chat.windows:get(id)
    if window then return window:update { content = "update " .. n } end
    chat.windows:open { id = id, description = "d", content = "content " .. n }
  end,
}

--- One life: the session, a plain conversation that lives the same, and what is on disk are equal after each step.
local function live(seed)
  local state = seed
  function random(low, high)
    if not high then low, high = 1, low end
    state = (state * 1103515245 + 12345) % 0x80000000
    return low + (state >> 8) % (high - low + 1)
  end
  local session = open "life"
  session:append(user "the first")
  for n = 1, STEPS do
    local step, at = STEPS_OF_LIFE[random(#STEPS_OF_LIFE)], state
    local model = session:fork()
    local ok, why = pcall(step, model, n)
    state = at
    local done, problem = pcall(session.edit, session, function(chat) step(chat, n) return true end)
    assert(ok == done, ("seed %d, step %d: %s, %s"):format(seed, n, why, problem))
    local disk = on_disk "life"
    assert(whole(session) == disk, ("seed %d, step %d: the disk has another state"):format(seed, n))
    if random(6) == 1 then
      session:close()
      session = open "life"
      assert(whole(session) == disk, ("seed %d, step %d: reopened"):format(seed, n))
    end
  end
  session:close()
end

describe("random lives", function()
  it("are the same in memory and on disk after each step", function()
    local first = math.tointeger(tonumber(os.getenv "SEED")) or os.time() % 100000
    for i = 0, LIVES - 1 do
      place = places.new()
      remove()
      live(first + i)
      remove()
    end
  end)
end)
