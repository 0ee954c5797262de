--- The command against scripts of strangers: policies and filters that run away, and
--- `ebb run --isolate`.

local command = dofile "tests/lua/command.lua"
local cpu_time = dofile "tests/lua/cpu_time.lua"
local path_of, file = command.path_of, command.file
local fails, does, contains = command.fails, command.does, command.contains

local BUILD = command.EBB:match "^(.*)/"
local SANITIZED = BUILD:find "sanitize" ~= nil   -- whose memory cannot be bounded from outside
if SANITIZED then command.EBB = "env ASAN_OPTIONS=detect_leaks=0 " .. command.EBB end   -- leaks need a process

describe("a policy file that runs away #time", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local DEADLINE = 500   -- milliseconds

  local runaways = {
    loop = "while true do end",
    pcall_loop = "while true do pcall(function() while true do end end) end",
    coroutine_loop = "while true do coroutine.wrap(function() while true do end end)() end",
    pattern_bomb = "local _ = ('a'):rep(50000):find('.-.-.-.-b')",
    memory_bomb = "local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end",
    handler_loop = "xpcall(function() while true do end end, function() while true do end end)",
    edits = "while true do draft:note('x') end",
    files = "io.open('planted', 'w')",
    programs = "os.execute('touch planted')",
    module = "require('ebb.host').converse('touch planted', '', 1)",
  }
  for name, body in pairs(runaways) do
    it("is stopped, and nothing is written: " .. name, function()
      local path = file(name .. ".lua", "return function(draft, budget)\n" .. body .. "\nend")
      local before = command.read(path_of "small.json")
      local words = ("trim %s --budget 16 --policy %s --deadline %d --fuel 0 -o %s")
        :format(path_of "small.json", path, DEADLINE, path_of "small.json")
      cpu_time.processes_within(50, function() return (select(2, command.timed(words))) end, DEADLINE / 1000)
      local err = fails(command.SCRIPT, words)
      contains("policy " .. name, (err:gsub("[^ ]*/(" .. name .. ")%.lua", "policy %1")))
      assert.equal(before, command.read(path_of "small.json"))
      assert.is_nil(io.open "planted")
    end)
  end

  it("is told which limit it was, and what allows more", function()
    local path = file("slow.lua", "return function(draft, budget) for i = 1, 1e6 do local _ = #draft end "
      .. "draft:drop_oldest { to = budget } end")
    local words = ("trim %s --budget 16 --policy %s "):format(path_of "small.json", path)
    contains("slow.lua:1: stopped: it used up its fuel of 100000", fails(command.SCRIPT, words .. "--fuel 100000"))
    contains("--fuel", fails(command.SCRIPT, words .. "--fuel 100000"))
    does(words)
    does(words .. "--trusted")
    contains("memory: expected a whole number of bytes from 1048576", fails(command.USAGE, words .. "--memory 10"))
    contains("--trusted takes no limits", fails(command.USAGE, words .. "--trusted --fuel 5"))
  end)

  it("may have all of Lua with --trusted", function()
    local path = file("reads.lua", "return function(draft, budget) draft:note(io.open(os.getenv 'EBB_TEST'):read 'l') "
      .. "draft:drop_oldest { to = budget } end")
    local told = file("told.txt", "read from a file\n")
    local words = ("trim %s --budget 16 --policy %s --trusted --dry-run"):format(path_of "small.json", path)
    assert(os.execute(("EBB_TEST=%s %s %s 2>%s >/dev/null"):format(told, command.EBB, words, path_of "err")))
    contains("read from a file", command.read(path_of "err"))
  end)

  it("is asked about windows whose contents run away, in a script that goes on", function()
    local policy = file("sees.lua", [[return function(draft, budget)
      for message in draft:messages { window = true } do draft:note(message.window .. " " .. message.tokens) end
      draft:drop_oldest { to = budget }
    end]])
    local script = file("runaways.lua", ([[local ebb = require "ebb"
      local chat = ebb.conversation { encoding = "bytes4" }
      for _ = 1, 20 do chat:append { role = "user", content = ("x"):rep(400) } end
      for _, row in ipairs {
        { "loop", function() while true do end end }, { "rep", function() return ("x"):rep(100000000) end },
        { "raise", function() error "no" end }, { "large", function() return ("x"):rep(300000) end },
      } do chat.windows:open { id = row[1], content = row[2] } end
      local report = assert(chat:trim { budget = 900, policy = %q })
      for _, note in ipairs(report.ledger:notes()) do print(note.text) end
      print(chat:tokens() <= 900)
      for _, message in ipairs(chat.windows:render()) do print(message.content:match "<Failed>(.*)</Failed>") end]])
      :format(policy))
    local out = does("run " .. script)
    for _, text in ipairs { "loop %d+", "large %d+", "true", "it takes too long", "it takes too much memory", ": no",
      "more than the limit of" } do
      assert.truthy(out:find(text), text .. " in " .. out)
    end
  end)

  it("is stopped in a replay, and a filter too", function()
    local loop = "return function() while true do end end"
    contains("ran longer than 100.0 ms", fails(command.SCRIPT,
      ("trim --replay %s --budget 16 --deadline 100 --policy '%s'"):format(path_of "small.json", loop)))
    contains("ran longer than 100.0 ms", fails(command.SCRIPT, ("filter --input %s --deadline 100 '%s'")
      :format(path_of "small.json", loop)))
    contains("global 'io'", fails(command.SCRIPT, ("filter --input %s 'return function() io.read() end'")
      :format(path_of "small.json")))
    does(("filter --input %s --trusted 'return function() io.stderr:write() end'"):format(path_of "small.json"))
  end)

  it("is ended by Ctrl-C, without limits too", function()
    local path = file("loop.lua", "return function() while true do end end")
    local line = "timeout -s INT -k 60 0.5 %s trim %s --budget 16 --policy %s --deadline 0 --fuel 0 >%s 2>&1"
    local _, _, status = os.execute(line:format(command.EBB, path_of "small.json", path, path_of "out"))
    assert.equal(124, status)   -- timeout's, when its first signal was enough
  end)
end)

describe("ebb run --isolate #kernel", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local function script(text) return file("script.lua", text) end

  local unreachable = {
    { "other files",      "assert(io.open(arg[1]))",                        "Permission denied" },
    { "files to write",   "assert(io.open(arg[1], 'w'))",                   "Permission denied" },
    { "files to remove",  "assert(os.remove(arg[1]))",                      "Permission denied" },
    { "files to rename",  "assert(os.rename(arg[1], arg[1] .. 'x'))",       "Permission denied" },
    { "its own folder to write", "assert(io.open(arg[0] .. 'x', 'w'))",     "Permission denied" },
    { "the system's files", "assert(io.open '/proc/self/environ')",         "Permission denied" },
    { "temporary files",  "assert(io.tmpfile())",                           "Permission denied" },
    { "programs",         "assert(os.execute 'true')",                      "Operation not permitted" },
    { "pipes",            "assert(io.popen 'true')",                        "script.lua:1: true: " },
    { "the host's child", "assert(require 'ebb.host'.converse('true', '', 1))", "Operation not permitted" },
    { "native code",      "assert(package.loadlib(arg[2], '*'))",           "nil value (field 'loadlib')" },
    { "native modules",   "package.cpath = arg[2] require 'core'",          "module 'core' not found" },
    { "loaders of native modules", "package.searchers[4] 'core'",           "attempt to call a nil value" },
    { "a native path",    "assert(package.cpath ~= '')",                    "assertion failed" },
    { "the environment",  "assert(os.getenv 'PATH')",                       "assertion failed" },
  }
  for _, case in ipairs(unreachable) do
    it("keeps from the script: " .. case[1], function()
      local other = os.tmpname()   -- outside of the script's folder
      finally(function() os.remove(other) end)
      contains(case[3], fails(command.SCRIPT, ("run --isolate %s %s %s/lua/ebb/core.so")
        :format(script(case[2]), other, BUILD)))
    end)
  end

  it("says which option allows what was refused", function()
    local cases = {
      { "assert(io.open '/etc/passwd')", "hint: with --isolate a script reads what --allow-read names" },
      { "assert(require 'ebb'.load '/etc/passwd')", "and writes what --allow-write names" },
      { "assert(require 'ebb'.conversation {}:save(arg[0] .. 'x'))", "hint: with --isolate a script reads" },
      { "return { { type = 'pipeline', agent = '/etc/passwd' } }", "hint: with --isolate a script reads" },
      { "assert(os.execute 'true')", "hint: with --isolate a script starts no program" },
    }
    for _, case in ipairs(cases) do
      local run = command.ebb(("run --isolate %s --input %s"):format(script(case[1]), path_of "small.json"))
      assert.not_equal(0, run.status)
      contains(case[2], run.err)
    end
    local refused = fails(command.SCRIPT, "run --isolate " .. script "error 'boom'")
    assert.falsy(refused:find("hint", 1, true))
  end)

  it("lets it read its own folder, and what is allowed", function()
    file("words.lua", "return 'from beside'")
    os.execute("mkdir " .. path_of "sub" .. " " .. path_of "sub/out")
    file("sub/main.lua", "print(io.open(arg[1]):read 'a') print(io.open(arg[2] .. '/made', 'w'):write 'x' ~= nil) "
      .. "print(dofile(arg[0]:match '^(.*/)' .. 'beside.lua'))")
    file("sub/beside.lua", "return 'from beside'")
    local words = ("run --isolate --allow-read %s --allow-write %s %s %s %s"):format(path_of "words.lua",
      path_of "sub/out", path_of "sub/main.lua", path_of "words.lua", path_of "sub/out")
    assert.equal("return 'from beside'\ntrue\nfrom beside\n", (does(words)))
    assert.equal("x", command.read(path_of "sub/out/made"))
    contains("No such file", fails(command.IO, "run --isolate --allow-read /no/such x.lua"))
  end)

  it("lets it save over a file", function()
    os.execute("mkdir " .. path_of "out")
    local path = file("out/chat.json", command.read(path_of "small.json"))
    local words = ("run --isolate --allow-write %s %s %s"):format(path_of "out", script([[
      local chat = require "ebb".load(arg[1])
      chat:append { role = "user", content = "more" }
      assert(chat:save(arg[1]))]]), path)
    for _, mode in ipairs { "644", "600" } do
      os.execute(("chmod %s %s"):format(mode, path))
      does(words)
    end
    assert.equal(2, select(2, command.read(path):gsub("more", "")))
  end)

  it("ends it at its deadline, in processor time or not", function()
    for _, body in ipairs { "while true do end", "io.read 'a'" } do
      assert(os.execute("mkfifo " .. path_of "silent" .. " 2>/dev/null || true"))
      local line = "(exec 3<>%s; timeout -s KILL 60 %s run --isolate --deadline 400 %s <&3 2>%s)"
      local _, _, status = os.execute(line:format(path_of "silent", command.EBB, script(body), path_of "err"))
      assert.equal(command.SCRIPT, status)
      contains("stopped: it ran longer than 400 ms", command.read(path_of "err"))
    end
  end)

  it("bounds its memory and what it writes", function()
    if SANITIZED then return pending "memory cannot be bounded under a sanitizer" end
    contains("not enough memory", fails(command.IO,
      "run --isolate --memory 100M " .. script "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e6) .. i end"))
    os.execute("mkdir " .. path_of "out")
    contains("File too large", fails(command.SCRIPT, ("run --isolate --file-size 1000 --allow-write %s %s")
      :format(path_of "out", script(("local f = io.open(%q, 'w') f:setvbuf 'no' assert(f:write(('x'):rep(5000)))")
        :format(path_of "out/big")))))
  end)

  it("answers as the script does for a parent that ignores its children, too", function()
    local line = "env --ignore-signal=CHLD %s run --isolate %s >%s 2>%s"
    local _, _, status = os.execute(line:format(command.EBB, script "print 'hello' os.exit(3)", path_of "out",
      path_of "err"))
    assert.equal("hello\n", command.read(path_of "out"))
    assert.is_nil(command.read(path_of "err"):find("ebb: ", 1, true))
    assert.equal(3, status)
  end)

  it("answers as the script does, with the same result", function()
    assert.equal("hello 1\n", (does("run --isolate " .. script "print('hello', ...)" .. " 1"):gsub("\t", " ")))
    contains("script.lua:1: boom", fails(command.SCRIPT, "run --isolate " .. script "error 'boom'"))
    assert.equal(3, command.ebb("run --isolate " .. script "os.exit(3)").status)
    contains("No such file", fails(command.IO, "run --isolate " .. path_of "absent.lua"))
    local nodes = script "print 'on the way' return { { type = 'trim', budget = 16 } }"
    local input = path_of "small.json"
    local plain = does(("run %s --input %s"):format(nodes, input))
    assert.equal(plain, (does(("run --isolate %s --input %s"):format(nodes, input))))
    assert.equal("on the way\n", (does(("run --isolate %s --input %s -o %s"):format(nodes, input, path_of "out.json"))))
    assert.equal(plain, "on the way\n" .. command.read(path_of "out.json"))
    fails(command.CANNOT_FIT, ("run --isolate %s --input %s -o %s")
      :format(script "return { { type = 'trim', budget = 1 } }", input, path_of "other.json"))
    assert.is_nil(command.read(path_of "other.json"))
  end)

  it("refuses an input of nodes that the script's process could neither read nor give back", function()
    local nodes, input = script "return { { type = 'trim', budget = 16 } }", path_of "beside.json"
    file("beside.json", command.read(path_of "small.json"))
    assert.equal(does(("run --isolate %s --input %s"):format(nodes, input)),
      (does(("run --isolate %s %s"):format(nodes, input))))
    local other = os.tmpname()   -- outside of the script's folder
    finally(function() os.remove(other) end)
    contains("--input " .. other, fails(command.USAGE, ("run --isolate %s %s"):format(nodes, other)))
    contains("--input " .. input, fails(command.USAGE, ("run --isolate %s %s -i"):format(nodes, input)))
    contains("No such file", fails(command.IO, ("run --isolate %s %s"):format(nodes, path_of "absent.json")))
    for _, words in ipairs { "--session s", "--input session:s", "session:s" } do
      contains("ebb session export s", fails(command.USAGE, ("run --isolate %s %s"):format(nodes, words)))
    end
  end)

  it("is what its options go with", function()
    contains("--isolate", fails(command.USAGE, "run --deadline 5 " .. script ""))
    contains("67108864 or more", fails(command.USAGE, "run --isolate --memory 5 " .. script ""))
  end)
end)
