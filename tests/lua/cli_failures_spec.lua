--- Checks failures of the command: exit status, messages, and the files that are left.

local command = dofile "tests/lua/command.lua"
local read, path_of, file = command.read, command.path_of, command.file
local ebb, fails, contains, files_left = command.ebb, command.fails, command.contains, command.files_left
local EBB, USAGE, CANNOT_FIT = command.EBB, command.USAGE, command.CANNOT_FIT
local SCRIPT, REFUSED, IO = command.SCRIPT, command.REFUSED, command.IO

describe("the command", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  describe("fails with", function()
    local cases = {
      -- status      command line; % is the folder                    what standard error says
      { USAGE, "", "hint: see 'ebb help'" },
      { USAGE, "trmi", "did you mean 'trim'?" },
      { USAGE, "-x", "unknown command" },
      { USAGE, "help nothing", "unknown command 'nothing'" },
      { USAGE, "trim %/small.json", "trim needs a budget: the conversation has no model" },
      { USAGE, "trim %/small.json --bugdet 10", "did you mean '--budget'?" },
      { USAGE, "trim %/small.json --budget", "--budget" },
      { USAGE, "trim %/small.json --budget many", "--budget: expected a whole number" },
      { USAGE, "trim %/small.json --budget=-1", "--budget: expected a whole number" },
      { USAGE, "trim %/small.json --budget -5",
        "--budget: expected a whole number such as 8000 or 8k, or a share such as 33%, got '-5'" },
      { USAGE, "trim -- %/small.json -5", "too many arguments" },
      { USAGE, "trim %/small.json --model nonsense", "`ebb models` lists them" },
      { USAGE, "trim %/small.json --budget 10 --policy 'function(d) end'", "'return function(d) end'" },
      { USAGE, "filter 'function(m) end' --input %/small.json", "'return function(m) end'" },
      { USAGE, "trim %/small.json --budget 10 --policy mine --policy-path %/folder",
        "own.lua has this name inside; it is found as 'own'" },
      { USAGE, "trim %/small.json --budget 10 --policy mine:keep=1 --policy-path %/folder", "found as 'own'" },
      { USAGE, "policies mine --policy-path %/folder", "found as 'own'" },
      { USAGE, "filter %/small.json", "small.json is not a filter; it looks like a conversation\n" },
      { USAGE, "filter %/small.json %/keep_user.lua", "hint: --input " },
      { USAGE, "filter %/keep_user.lua %/small.json --input %/small.json", "it looks like a conversation" },
      { USAGE, "trim %/small.json --budget 10 --reserve 9223372036854775807",
        "reserve: expected a whole number of tokens from 0 to 9007199254740992, got 9223372036854775807" },
      { USAGE, "trim %/small.json --budget 9223372036854775807", "budget: expected a whole number of tokens from 0" },
      { USAGE, "trim %/small.json --budget nan", "--budget: expected a whole number" },
      { USAGE, "trim %/small.json extra --budget 10", "too many arguments" },
      { USAGE, "trim %/small.json --budget 10 --policy keep_recnet", "did you mean 'keep_recent'?" },
      { USAGE, "trim %/small.json --budget 10 --policy keep_recent:nonsense=1", "nonsense" },
      { USAGE, "trim %/small.json --budget 10 --encoding utf9", "utf9" },
      { USAGE, "trim %/small.json --model gtp-4o", "did you mean 'gpt-4o'?" },
      { USAGE, "trim %/small.json --budget 10 --max-message many", "--max-message" },
      { USAGE, "apply", "operations" },
      { USAGE, "apply - -", "standard input" },
      { USAGE, "filter", "filter" },
      { USAGE, "run", "script" },
      { USAGE, "run %/quiet.lua --input %/small.json", "returned none" },
      { USAGE, "run %/guessed.lua --input %/small.json", 'return { { type = "trim", budget = 8000 }' },
      { REFUSED, "run %/untyped.lua --input %/small.json", 'as in { { type = "trim", budget = 8000 }' },
      { REFUSED, "run %/guessed.lua %/small.json", "guessed.lua: expected a list of nodes, the file has none" },
      { REFUSED, "run %/keep_user.lua %/small.json", "expected a list of nodes, the file returned function" },
      { REFUSED, "run %/small.json %/keep_user.lua", "has none\nhint: ebb run " },
      { REFUSED, "run %/no_operation.lua %/small.json", "a context_processor node needs operation" },
      { REFUSED, [[apply '{"operation":"clear","operation":"filter"}' %/small.json]],
        "operations:1:22: expected each name once" },
      { REFUSED, "pipeline %/small.json --agent %/twice.json", "twice.json:2:15: expected each name once" },
      { USAGE, "count - -", "standard input can be only one of the files" },
      { USAGE, "trim --replay - - --budget 10", "standard input can be only one of the files" },
      { USAGE, "count --text --session s", "--session and --text do not go together" },
      { USAGE, "trim --session s -i --budget 10", "the result is written to the session" },
      { USAGE, "trim %/small.json --budget 10 --max-message 0", "--max-message: expected bytes" },
      { USAGE, "pipeline %/small.json -i", "hint: ebb pipeline writes over no file: -o names the one to write" },
      { USAGE, "repl -i", "hint: ebb repl writes over no file\n" },
      { USAGE, "--verson", "hint: did you mean '--version'?" },
      { USAGE, "session help", "hint: see 'ebb session --help'" },
      { USAGE, "session diff", "hint: `ebb diff --session NAME` does this" },
      { USAGE, "session check s", "hint: ebb session check\n" },
      { USAGE, "session show s --json", "hint: `ebb inspect --session NAME --json` has the messages" },
      { USAGE, "profiles nobody", "hint: `ebb profiles` lists them" },
      { USAGE, "macros zzzz", "hint: `ebb macros` lists them" },
      { USAGE, "help zzzz", "hint: see 'ebb help'" },
      { USAGE, "each %/small.json --out %/out --do 'trim --budget 8k' --jobs 0",
        "--jobs: expected a whole number from 1, got '0'" },
      { REFUSED, "import %/nothing.json", "nothing.json: fits no known form: it is empty" },
      { USAGE, "count %/small.json --by letter", "--by" },
      { USAGE, "count %/small.json --by message --text", "do not go together" },
      { USAGE, "count %/small.json --by role --text", "do not go together" },
      { USAGE, "policies keep_recnet", "did you mean 'keep_recent'?" },

      { CANNOT_FIT, "trim %/small.json --budget 0", "cannot fit" },
      { CANNOT_FIT, "trim %/small.json --budget 5", "cannot fit" },
      { CANNOT_FIT, "run %/hungry_nodes.lua --input %/small.json", "cannot fit" },

      { SCRIPT, "trim %/small.json --budget 1000 --policy %/raises.lua", "raises.lua:1: boom" },
      { SCRIPT, "trim %/small.json --budget 1000 --policy 'return function() error({ a = 1 }) end'",
        "ebb trim: policy text:1: error value: {\"a\":1}\n" },
      { SCRIPT, "trim %/small.json --budget 16 --policy %/lazy.lua", "over budget" },
      { SCRIPT, "filter 'return function(m) return m.index ~= 3 or { content = 1 } end' --input %/small.json",
        "ebb filter: filter text, message 3: the table lacks role\nhint: message:totable() gives all fields" },
      { SCRIPT, "trim %/small.json --budget 16 --policy %/broken.lua", "broken.lua:1:" },
      { SCRIPT, "trim %/small.json --budget 16 --policy %/number.lua", "expected a policy" },
      { SCRIPT, "filter %/raises_filter.lua --input %/small.json", "raises_filter.lua:1:" },
      { SCRIPT, "filter %/broken.lua --input %/small.json", "broken.lua:1:" },
      { SCRIPT, "filter %/number.lua --input %/small.json", "expected a filter" },
      { SCRIPT, "run %/broken.lua", "broken.lua:1:" },
      { SCRIPT, "run %/refused_script.lua", "refused_script.lua:2:" },
      { SCRIPT, "run %/failing_nodes.lua --input %/small.json", "boom" },

      { REFUSED, "trim %/broken.json --budget 10", "broken.json:2:" },
      { REFUSED, "count --encoding cjk %/small.json %/broken.json", "broken.json:2:" },
      { REFUSED, "inspect %/broken.json", "broken.json:2:" },
      { REFUSED, "count --text %/latin1.txt", "UTF-8" },
      { REFUSED, "trim %/small.json --budget 10 --max-file 20", "max" },
      { REFUSED, "trim %/small.json --budget 10 --max-message 20", "max" },
      { REFUSED, "apply %/beyond.json %/small.json", "operations[1]" },
      { REFUSED, "apply %/unknown.json %/small.json", "did you mean 'keepLast'?" },
      { REFUSED, "apply %/broken.json %/small.json", "/broken.json:2:11: expected ':' after a key" },
      { REFUSED, "run %/bad_nodes.lua --input %/small.json", "did you mean 'trim'?" },

      { IO, "trim %/absent.json --budget 10", "absent.json" },
      { IO, "trim %/small.json --budget 10 --policy-path %/absent", "--policy-path: " },
      { IO, "filter keep --filter-path %/absent --input %/small.json", "/absent: No such file" },
      { IO, "trim % --budget 10", "" },
      { IO, "trim %/small.json --budget 1000 --policy %/absent.lua", "absent.lua" },
      { IO, "trim %/small.json --budget 1000 -o %/absent/out.json", "out.json" },
      { IO, "trim %/small.json --budget 1000 -o /dev/full", "" },
      { IO, "trim %/small.json --budget 1000 --ledger %/absent/ledger.json", "ledger.json" },
      { IO, "apply %/absent.json %/small.json", "absent.json" },
      { IO, "filter %/absent.lua --input %/small.json", "absent.lua" },
      { IO, "run %/absent.lua", "absent.lua" },
    }
    for _, case in ipairs(cases) do
      local status, words, expected = table.unpack(case)
      it(("%d: ebb %s"):format(status, words), function()
        file("beyond.json", '[{"operation":"clear"},{"operation":"rollback","targetBatchIndex":99}]')
        file("unknown.json", '{"operation":"truncate","keepLsat":3}')
        file("latin1.txt", "caf\xE9")
        os.execute("mkdir " .. path_of "folder")
        file("folder/own.lua", "return { name = 'mine', trim = function() end }")
        file("guessed.lua", "return { trim = { budget = 10 } }")
        file("no_operation.lua", 'return { { type = "context_processor" } }')
        file("twice.json", '{"name":"A",\n"presets":[], "name":"B"}')
        file("nothing.json", "\n")
        file("untyped.lua", "return { { trim = { budget = 10 } } }")
        local before = files_left()

        local err = fails(status, (words:gsub("%%", command.folder)))

        contains(expected, err)
        assert.equal(before, files_left())
      end)
    end

    it("5: a script's error, with its way there", function()
      local run = ebb("run " .. path_of "raises_script.lua")

      assert.equal(SCRIPT, run.status)
      assert.equal("partly\n", run.out)
      contains("raises_script.lua:2: boom", run.err)
      contains("raises_script.lua:3: in main chunk", run.err)
      assert.falsy(run.err:find("ebb/cli", 1, true))
    end)
  end)

  describe("output that cannot be written", function()
    local commands = {
      "trim %/small.json --budget 1000", "trim %/small.json --budget 1000 --dry-run --json",
      "apply %/none.json %/small.json", "filter %/keep_user.lua --input %/small.json",
      "run %/nodes.lua --input %/small.json", "run %/hello.lua a", "count %/small.json", "inspect %/small.json",
      "policies", "help", "trim --help", "--version",
    }
    for _, words in ipairs(commands) do
      it("to a full device is status 7: ebb " .. words, function()
        file("none.json", "[]")

        local run = ebb(words:gsub("%%", command.folder), nil, "/dev/full")

        assert.equal(IO, run.status)
        contains("ebb", run.err)
      end)
    end

    it("to a closed pipe is status 141 and no message, as if the signal had ended it", function()
      local big = file("big.json", ('[{"role":"user","content":"%s"}]'):format(("x"):rep(1000000)))
      local line = "{ %s trim %s --budget 100000000 2>%s; echo $? >%s; } | true"

      os.execute(line:format(EBB, big, path_of ".err", path_of "status"))

      assert.equal("141\n", read(path_of "status"))
      assert.equal("", read(path_of ".err"))
    end)

    it("leaves no half file, and the old one as it was", function()
      local big = file("big.json", ('[{"role":"user","content":"%s"}]'):format(("x"):rep(1000000)))
      local out = file("out.json", "old")
      local before = files_left()

      local line = "ulimit -f 64; %s trim %s --budget 100000000 -o %s 2>%s"
      local _, _, status = os.execute(line:format(EBB, big, out, path_of ".err"))

      assert.equal(IO, status)
      assert.equal("old", read(out))
      assert.equal(before, files_left())
    end)
  end)

  local ONE = '{"role":"user","content":"a"}\n'

  describe("hints at --lenient", function()

    local cases = {   -- what the file is, its text, the hint
      { "a line that is cut off", ONE .. '{"role":"user","content":"b"', "--lenient reads 1 message, and skips 1" },
      { "a broken line between others", ONE .. '{"role":"user"\n' .. ONE, "--lenient reads 2 messages, and skips 1" },
      { "a line that is no message", ONE .. "[1]\n", "--lenient reads 1 message, and skips 1" },
      { "a key twice", '[{"role":"user","content":"a","content":"b"}]', "--lenient reads 1 message\n" },
      { "bytes that are not UTF-8", '{"role":"user","content":"\xFF"}\n', "--lenient reads 1 message\n" },
    }
    for _, case in ipairs(cases) do
      it("at " .. case[1], function()
        local path = file("bad", case[2])
        contains("hint: " .. case[3], fails(REFUSED, "inspect " .. path))
        contains("hint: " .. case[3], fails(REFUSED, "inspect -", path))
        assert.equal(3, ebb("inspect --lenient " .. path).status)
      end)
    end

    it("only where it would help", function()
      for _, other in ipairs { "[1, 2]", "no JSON at all\n", '[{"role":"user","content":"a"},]', ONE .. "a\nb\nc\n",
        ONE .. '{"role":"usr","content":"a"}\n' } do
        assert.falsy(fails(REFUSED, "inspect " .. file("bad", other)):find("--lenient", 1, true), other)
      end
    end)
  end)

  it("names no option that does not help against the depth of values", function()
    local deep = file("deep.json", '[{"role":"user","content":"a","x":' .. ("["):rep(257) .. ("]"):rep(257) .. "}]")
    local said = fails(REFUSED, "inspect " .. deep)
    contains("expected at most 256 levels", said)
    assert.falsy(said:find("--max-", 1, true))
  end)

  it("tells a line that lacks its end at its own place", function()
    local lines = ONE .. '{"role":"user","content":"b"\n' .. ONE
    contains("bad:2:29: expected ',' or '}'", fails(REFUSED, "count " .. file("bad", lines)))
    contains("2:29: expected ',' or '}'", fails(REFUSED, "count -", path_of "bad"))
    local broken = ONE .. '{"name":"n",\n"content":}\n'
    contains("bad:3:11: expected a value", fails(REFUSED, "count " .. file("bad", broken)))
  end)

  it("does not call an input empty of which all was skipped", function()
    local skipped, empty = file("skipped", '{"role":"user"}\n'), file("empty", "\n")
    contains("warning: no messages, all of the input was skipped", ebb("inspect --lenient " .. skipped).err)
    contains("warning: no messages, the input is empty", ebb("inspect --lenient " .. empty).err)
  end)

  it("reads a file of several byte order marks leniently, and writes one", function()
    local MARK = "\u{FEFF}"
    for _, text in ipairs { command.SMALL, '{"model":"gpt-4o","messages":' .. command.SMALL .. "}",
      '{"role":"user","content":"Hello"}\n{"role":"user","content":"Bye"}\n' } do
      local marked = file("marked.json", MARK:rep(3) .. text)
      contains("marked.json:1:4: expected a value", fails(REFUSED, "apply '[]' " .. marked))

      local run = ebb("apply --lenient '[]' " .. marked)

      assert.equal(3, run.status)
      assert.equal(MARK .. text, run.out)
      contains("marked.json:1:4: warning: mended (syntax): more than one byte order mark; the first is kept", run.err)
      assert.equal(MARK .. text, (command.does("apply --lenient '[]' " .. file("one.json", MARK .. text))))
    end
  end)

  local LOOPS = {
    ["in a script that catches all errors"] = "while true do pcall(function() while true do end end) end",
    ["in a coroutine"] = "coroutine.wrap(function() while true do end end)()",
    ["in one within another, resumed for ever"] = [[
      while true do
        coroutine.resume(coroutine.create(function()
          while true do pcall(coroutine.wrap(function() while true do end end)) end
        end))
      end]],
    ["in C code, which meets no hook"] = "local _ = ('a'):rep(100000):find '.-.-.-.-b'",
    ["behind one that has ended"] = "for _ = 1, 9 do coroutine.wrap(print)() end while true do end",
  }

  for where, loop in pairs(LOOPS) do
    it("ends with 130 when interrupted " .. where, function()
      file("loop.lua", "io.stderr:write 'begun' " .. loop)
      -- The shell's limit of CPU time, not a parent that the signal would have to pass.
      local line = "(ulimit -t 60; exec %s run %s) 2>%s & until [ -s %s ]; do sleep 0.01; done; kill -INT $!; wait $!"

      local _, _, status = os.execute(line:format(EBB, path_of "loop.lua", path_of "begun", path_of "begun"))

      assert.equal(130, status)
    end)
  end

  it("resumes coroutines as Lua does", function()
    file("coroutines.lua", [[
      local f = coroutine.wrap(function(a) for i = 1, 3 do a = coroutine.yield(a + i) end error "x" end)
      print(f(1), f(2), f(3), pcall(f, 4))
      print(coroutine.resume(coroutine.create(function(...) return select("#", ...), ... end), 1, nil, 3))
      print(select("#", coroutine.resume(coroutine.create(function() error() end))))
      print(pcall(coroutine.resume, 5))
      print(coroutine.resume(coroutine.running()))
      local co
      co = coroutine.create(function() return coroutine.resume(co) end)
      print(coroutine.resume(co))
      print(coroutine.resume(co))
      local w
      w = coroutine.wrap(function() return w() end)
      print(pcall(w))
      local closing = setmetatable({}, { __close = function() print "closed" end })
      print(pcall(coroutine.wrap(function() local _ <close> = closing error "y" end)))
    ]])

    local outputs = {}
    for i, program in ipairs { EBB .. " run ", "lua5.4 " } do
      local pipe = assert(io.popen(program .. path_of "coroutines.lua 2>&1"))
      outputs[i] = pipe:read "a"
      pipe:close()
    end

    assert.equal(outputs[2], outputs[1])
    assert.matches("closed", outputs[1])
  end)
end)
