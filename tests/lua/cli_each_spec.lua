--- ebb each: many conversations, each result exactly once, whatever ends the run.

local command = dofile "tests/lua/command.lua"
local core = require "ebb.support.core"

local path_of, file = command.path_of, command.file

local function conversation(i)
  return ('[{"role":"user","content":"question %d"},{"role":"assistant","content":"answer"},'
    .. '{"role":"user","content":"%d"}]'):format(i, i)
end

local function folder(count)
  os.execute("mkdir " .. path_of "in")
  for i = 1, count do file(("in/%03d.json"):format(i), conversation(i)) end
end

local function lines_of(name)
  local list = {}
  for line in (command.read(path_of(name)) or ""):gmatch "[^\n]+" do list[#list + 1] = core.json.decode(line) end
  return list
end

local function each(options)
  return ("each %s --run %s --out %s %s"):format(path_of "in", path_of "flow.lua", path_of "out", options or "")
end

describe("ebb each", function()
  before_each(function()
    command.make_folder()
    file("flow.lua", "return { { operation = 'truncate', truncate = { keepLast = 1 } } }")
  end)
  after_each(command.remove_folder)

  it("writes a result for each file of a folder, and a journal", function()
    folder(30)
    local _, err = command.does(each())
    command.contains("30 conversations done", err)
    for i = 1, 30 do
      assert.equal(('[{"role":"user","content":"%d"}]'):format(i), command.read(path_of(("out/%03d.json"):format(i))))
    end
    local journal = lines_of "out/journal.jsonl"
    assert.equal(31, #journal)
    _, err = command.does(each())
    command.contains("0 conversations done, 30 done before", err)
    assert.equal(31, #lines_of "out/journal.jsonl")
  end)

  it("takes lines of a file, too, and shares for several machines", function()
    local lines = {}
    for i = 1, 10 do lines[i] = '{"messages":' .. conversation(i) .. "}\n" end
    file("all.jsonl", table.concat(lines))
    for part = 1, 3 do
      command.does(("each %s --run %s --out %s --shard %d/3 --quiet"):format(path_of "all.jsonl", path_of "flow.lua",
        path_of "out", part))
    end
    for i = 1, 10 do
      command.contains(('"content":"%d"'):format(i), command.read(path_of(("out/all-%d.json"):format(i))))
    end
    assert.same({ 5, 4, 4 }, { #lines_of "out/journal-1-3.jsonl", #lines_of "out/journal-2-3.jsonl",
      #lines_of "out/journal-3-3.jsonl" })
  end)

  it("goes on after what fails, lists it, and runs it again where that is wanted", function()
    folder(6)
    file("in/003.json", "[{")
    file("in/005.json", conversation(5):gsub("answer", "fail"))
    file("flow.lua", [[return { { type = "script", run = function(chat)
      if chat[2].text == "fail" then error "this one" end end } }]])
    local run = command.ebb(each())
    assert.equal(command.REFUSED, run.status)
    command.contains("4 conversations done, 2 failed (--retry runs them again)", run.err)
    command.contains("in/003.json:1:", run.err)
    command.contains("this one", run.err)
    assert.is_nil(command.read(path_of "out/003.json"))
    run = command.ebb(each "--json")
    local report = core.json.decode(run.out)
    assert.same({ 0, 4, 2, 6 }, { report.done, report.skipped, #report.failures, report.failures[1].exit })
    file("in/003.json", conversation(3))     -- another file now: it is not the one that failed
    run = command.ebb(each())
    command.contains("1 conversation done, 4 done before, 1 failed", run.err)
    assert.equal(command.SCRIPT, run.status)
    run = command.ebb(each "--retry")
    command.contains("0 conversations done, 5 done before, 1 failed", run.err)
  end)

  it("that is killed goes on, and every conversation has one result", function()
    folder(40)
    file("flow.lua", ([[return { { type = "script", run = function(chat)
      local log = io.open(%q, "a") log:write(chat[1].text, "\n") log:close()
      os.execute "sleep 0.02"
    end } }]]):format(path_of "log"))
    os.execute(("timeout -s KILL 0.4 %s %s >/dev/null 2>&1"):format(command.EBB, each "--jobs 2"))
    local before = #lines_of "out/journal.jsonl"
    assert.truthy(before < 41, "it was killed before its end")
    local _, err = command.does(each "--jobs 2")
    command.contains(("%d done before"):format(math.max(0, before - 1)), before > 1 and err or "0 done before")
    for i = 1, 40 do assert.truthy(command.read(path_of(("out/%03d.json"):format(i)))) end
    local done = {}
    for _, entry in ipairs(lines_of "out/journal.jsonl") do
      if entry.item then assert.is_nil(done[entry.item]) done[entry.item] = true end
    end
    local runs = select(2, command.read(path_of "log"):gsub("\n", ""))
    assert.truthy(runs >= 40 and runs <= 42, runs)   -- those two that were at work when it was killed
  end)

  --- CONVERSATIONS=n sets how many; make check-hard has 10,000.
  it("that is killed again and again has every result of a large file once", function()
    local count, lines = tonumber(os.getenv "CONVERSATIONS") or 600, {}
    for i = 1, count do lines[i] = '{"messages":' .. conversation(i) .. "}\n" end
    file("all.jsonl", table.concat(lines))
    local words = ("each %s --run %s --out %s"):format(path_of "all.jsonl", path_of "flow.lua", path_of "out")
    for part = 1, 3 do
      os.execute(([[%s %s >/dev/null 2>&1 & pid=$!
        while kill -0 $pid 2>/dev/null && [ "$(cat %s 2>/dev/null | wc -l)" -lt %d ]; do sleep 0.005; done
        kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null]]):format(command.EBB, words, path_of "out/journal.jsonl",
          count * part // 5))
      local done = #lines_of "out/journal.jsonl" - 1
      assert.truthy(done >= count * part // 5 - 1 and done < count, done)
    end
    local _, err = command.does(words)
    command.contains("done before", err)
    local done = {}
    for _, entry in ipairs(lines_of "out/journal.jsonl") do
      if entry.item then
        assert.is_nil(done[entry.item])
        done[entry.item] = true
      end
    end
    for i = 1, count do
      assert.is_true(done[("%s:%d"):format(path_of "all.jsonl", i)])
      local result = command.read(path_of(("out/all-%d.json"):format(i)))
      assert.equal(('{"messages":[{"role":"user","content":"%d"}]}\n'):format(i), result)
    end
  end)

  it("takes sessions, by name and pattern, and again when they have changed", function()
    finally(function() command.environment = nil end)
    command.environment = "EBB_DB=" .. path_of "db"
    for i, name in ipairs { "alpha", "al-two", "beta" } do
      command.does(("session import %s %s"):format(file(i .. ".json", conversation(i)), name))
    end
    local function run(pattern) return command.ebb(("each '%s' --do 'trim --budget 1000' --out %s"):format(pattern,
      path_of "out")) end
    command.contains("2 conversations done", run("session:al*").err)
    command.contains("question 2", command.read(path_of "out/al-two.json"))
    assert.is_nil(command.read(path_of "out/beta.json"))
    command.contains("1 conversation done, 2 done before", run("session:*").err)
    command.does(("run %s --session alpha"):format(path_of "flow.lua"))
    command.contains("1 conversation done", run("session:a*").err)
    local failed = run "session:gamma"
    assert.equal(command.IO, failed.status)
    command.contains("session:gamma: no session has this name", failed.err)
  end)

  it("runs a command for each file", function()
    folder(3)
    command.does(("each %s --do 'trim --budget 20 --policy keep_recent:keep=1' --out %s --quiet"):format(path_of "in",
      path_of "out"))
    assert.truthy(#command.read(path_of "out/001.json") < #conversation(1))
    local words = ("each %s --out %s --do "):format(path_of "in", path_of "out2")
    command.contains("expected one of trim", command.fails(command.USAGE, words .. "'inspect'"))
    command.contains("unknown option", command.fails(command.USAGE, words .. "'trim --bugdet 5'"))
  end)

  it("names the file in each line of a warning, and says none under --quiet", function()
    os.execute("mkdir " .. path_of "in")
    local open = '[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"k",' ..
      '"type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"r"}]'
    for _, name in ipairs { "in/a.json", "in/b.json" } do file(name, open) end
    file("in/c.json", '[{"role":"user", x')

    local words = "each %s --do 'convert --to openai' --out %s %s"
    local loud = command.ebb(words:format(path_of "in", path_of "loud", ""))
    local quiet = command.ebb(words:format(path_of "in", path_of "quiet", "--quiet"))

    assert.equal(command.REFUSED, loud.status)
    for line in loud.err:gmatch "[^\n]+" do
      assert.truthy(line:find(path_of "in/", 1, true) == 1 or line:find "^2 conversations done", line)
      assert.is_nil(line:find(path_of "in/.*" .. "in/c.json"), line)
    end
    for _, name in ipairs { "a.json", "b.json" } do
      command.contains(path_of("in/" .. name) .. ": warning: openai would refuse this: 1 violation", loud.err)
    end
    command.contains("in/c.json:1:18: expected a key", loud.err)
    assert.is_nil(quiet.err:find("warning", 1, true))
    command.contains("in/c.json:1:18: expected a key", quiet.err)
    assert.equal(command.read(path_of "loud/a.json"), command.read(path_of "quiet/a.json"))
  end)

  it("counts, checks and reports, too", function()
    folder(2)
    local words = "each %s --do '%s' --out %s"
    local results = { count = "out1/001.txt", ["count --json"] = "out2/001.json", report = "out3/001.html",
      check = "out4/001.txt" }
    for what, result in pairs(results) do
      command.ebb(words:format(path_of "in", what, path_of(result:match "^%w+")))
      assert.truthy(#command.read(path_of(result)) > 0, what)
    end
  end)

  it("refuses what it cannot do before anything runs", function()
    folder(1)
    local cases = {
      { "each IN --out OUT", "--run or --do is needed" }, { "each IN --run FLOW", "--out is needed" },
      { "each IN --run FLOW --out OUT --shard 5/4", "expected such as 1/4" },
      { "each IN IN/001.json --run FLOW --out OUT", "would have one name, 001.json" },
    }
    for _, case in ipairs(cases) do
      local names = { IN = path_of "in", OUT = path_of "out", FLOW = path_of "flow.lua" }
      local words = case[1]:gsub("%f[%u]%u%u+%f[%U]", names)
      command.contains(case[2], command.fails(command.USAGE, words))
    end
    file("flow.lua", "return { { type = 'trimm' } }")
    command.contains("did you mean 'trim'?", command.fails(command.REFUSED, each()))
    command.does(("each %s --do 'trim --budget 90' --out %s -q"):format(path_of "in", path_of "out"))
    command.contains("belongs to other work", command.fails(command.USAGE,
      ("each %s --do 'trim --budget 91' --out %s"):format(path_of "in", path_of "out")))
  end)

  local measure = os.execute "script -qec true /dev/null </dev/null >/dev/null 2>&1" and it or pending
  measure("tells on a terminal how far it is, how fast, and how long it will take; --quiet does not", function()
    folder(30)
    local out = command.on_terminal(each "--jobs 2")
    assert.matches("\r\27%[K%d+ of 30, 0 failed, %d+ per second, %d+ s left", out)
    os.execute("rm -r " .. path_of "out")
    assert.is_nil(command.on_terminal(each "--jobs 2 --quiet"):find("per second", 1, true))
  end)
end)
