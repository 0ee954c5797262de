--- The command as its users meet it: arguments in; exit status, standard output,
-- standard error and files out. EBB names another build of it.

local EBB = os.getenv "EBB" or "build/ebb"
local SAMPLE, LINES = "scripts/samples/support.json", "scripts/samples/chat.jsonl"
local USAGE, CANNOT_FIT, SCRIPT, REFUSED, IO = 2, 4, 5, 6, 7

---- Running ----

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
  return path
end

local folder   -- of this test; gone after it

local function path_of(name)
  return folder .. "/" .. name
end

local function file(name, text)
  return write(path_of(name), text)
end

---@param words string     as typed; {input} in it and the like are the caller's business
---@param input? string    a file for standard input
---@param output? string   instead of a file that is read back
local function ebb(words, input, output)
  local out, err = path_of ".out", path_of ".err"
  local line = ("%s %s <%s >%s 2>%s"):format(EBB, words, input or "/dev/null", output or out, err)
  local _, _, status = os.execute(line)
  return { status = status, out = not output and read(out), err = read(err) }
end

--- Runs, and expects this status and nothing on standard output; gives standard error.
local function fails(status, words, input)
  local run = ebb(words, input)
  assert.equal(status, run.status, words .. "\n" .. run.err)
  assert.equal("", run.out)
  assert.truthy(run.err:find "^ebb", run.err)
  return run.err
end

--- Runs, and expects success; gives both streams.
local function does(words, input)
  local run = ebb(words, input)
  assert.equal(0, run.status, words .. "\n" .. run.err)
  return run.out, run.err
end

local function contains(needle, text)
  assert.truthy(text:find(needle, 1, true), ("expected %q in:\n%s"):format(needle, text))
end

--- What stands in the folder, without the two streams.
local function files_left()
  local pipe = io.popen(("ls -A %s"):format(folder))
  local names = {}
  for name in pipe:lines() do
    if name ~= ".out" and name ~= ".err" then names[#names + 1] = name end
  end
  pipe:close()
  return table.concat(names, " ")
end

---- Conversations ----

--- Where the string ends that begins at `at`.
local function string_end(text, at)
  local here = at + 1
  while true do
    here = text:find('["\\]', here)
    if text:sub(here, here) == '"' then return here end
    here = here + 2   -- over the escaped character
  end
end

--- The elements of a JSON array, as they are written.
local function elements(text)
  local list, depth, start, at = {}, 0, nil, 1
  while true do
    local here = text:find('["%[%]{}]', at)
    if not here then return list end
    local byte = text:sub(here, here)
    if byte == '"' then
      here = string_end(text, here)
    elseif byte == "[" or byte == "{" then
      depth = depth + 1
      if depth == 2 then start = here end
    else
      depth = depth - 1
      if depth == 1 then list[#list + 1] = text:sub(start, here) end
    end
    at = here + 1
  end
end

local function as_jsonl(text)
  local lines = elements(text)
  for i, line in ipairs(lines) do
    lines[i] = line:gsub("\n", "")
  end
  return table.concat(lines, "\n") .. "\n"
end

local function as_body(text)
  return '{ "model": "gpt-4o",\r\n\t"messages" : ' .. text .. ' , "temperature": 1.0, "x": {"messages": []} }\n'
end

local SMALL = '[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"},' ..
  '{"role":"assistant","content":"Hi"},{"role":"user","content":"Bye"}]'

local SYNTAX_ERROR = '[{"role":"user",\n"content" "Hello"}]'

-- Every case gets these files: small.json, broken.json, and the scripts below.
local SCRIPTS = {
  ["raises.lua"] = "return function(draft) error('boom') end",
  ["lazy.lua"] = "return function(draft) end",
  ["broken.lua"] = "return = 1",
  ["number.lua"] = "return 5",
  ["keep_user.lua"] = "return function(message) return message.role == 'user' end",
  ["raises_filter.lua"] = "return function(message) local x = nil; return x.y end",
  ["upper.lua"] = "return function(message) if message.role == 'assistant' then " ..
    "return { role = 'assistant', content = message.content:upper() } end end",
  ["hello.lua"] = "print(arg[0] ~= nil, ...)",
  ["quiet.lua"] = "local nothing = arg",
  ["script.lua"] = "local ebb = require 'ebb'\nlocal chat = assert(ebb.load(arg[1]))\nprint(#chat, chat[2].content)",
  ["raises_script.lua"] = "print('partly')\nlocal function inner() error('boom') end\ninner()",
  ["refused_script.lua"] = "local ebb = require 'ebb'\nebb.conversation():rollback(7)",
  ["nodes.lua"] = "return { { operation = 'truncate', truncate = { keepLast = 1 } } }",
  ["bad_nodes.lua"] = "return { { type = 'trimm', budget = 4 } }",
  ["failing_nodes.lua"] = "return { { type = 'script', run = function() error('boom') end } }",
  ["hungry_nodes.lua"] = "return { { type = 'trim', budget = 1 } }",
}

describe("the command", function()
  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
  end)
  after_each(function() os.execute("rm -rf " .. folder) end)

  local function prepare()
    file("small.json", SMALL)
    file("broken.json", SYNTAX_ERROR)
    for name, text in pairs(SCRIPTS) do
      file(name, text)
    end
  end

  describe("fails with", function()
    local cases = {
      -- status      command line; % is the folder                    what standard error says
      { USAGE, "", "hint: see 'ebb help'" },
      { USAGE, "trmi", "did you mean 'trim'?" },
      { USAGE, "-x", "unknown command" },
      { USAGE, "help nothing", "unknown command 'nothing'" },
      { USAGE, "trim %/small.json", "a budget is needed" },
      { USAGE, "trim %/small.json --bugdet 10", "did you mean '--budget'?" },
      { USAGE, "trim %/small.json --budget", "--budget" },
      { USAGE, "trim %/small.json --budget many", "--budget: expected a whole number" },
      { USAGE, "trim %/small.json --budget=-1", "--budget: expected a whole number" },
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
      { USAGE, "count %/small.json --by letter", "--by" },
      { USAGE, "count %/small.json --by message --text", "do not go together" },
      { USAGE, "policies keep_recnet", "did you mean 'keep_recent'?" },

      { CANNOT_FIT, "trim %/small.json --budget 0", "cannot fit" },
      { CANNOT_FIT, "trim %/small.json --budget 5", "cannot fit" },
      { CANNOT_FIT, "run %/hungry_nodes.lua --input %/small.json", "cannot fit" },

      { SCRIPT, "trim %/small.json --budget 1000 --policy %/raises.lua", "raises.lua:1: boom" },
      { SCRIPT, "trim %/small.json --budget 14 --policy %/lazy.lua", "over budget" },
      { SCRIPT, "trim %/small.json --budget 14 --policy %/broken.lua", "broken.lua:1:" },
      { SCRIPT, "trim %/small.json --budget 14 --policy %/number.lua", "expected a policy" },
      { SCRIPT, "filter %/raises_filter.lua --input %/small.json", "raises_filter.lua:1:" },
      { SCRIPT, "filter %/broken.lua --input %/small.json", "broken.lua:1:" },
      { SCRIPT, "filter %/number.lua --input %/small.json", "expected a filter" },
      { SCRIPT, "run %/broken.lua", "broken.lua:1:" },
      { SCRIPT, "run %/refused_script.lua", "refused_script.lua:2:" },
      { SCRIPT, "run %/failing_nodes.lua --input %/small.json", "boom" },

      { REFUSED, "trim %/broken.json --budget 10", "broken.json:2:" },
      { REFUSED, "count %/small.json %/broken.json", "broken.json:2:" },
      { REFUSED, "inspect %/broken.json", "broken.json:2:" },
      { REFUSED, "count --text %/latin1.txt", "UTF-8" },
      { REFUSED, "trim %/small.json --budget 10 --max-file 20", "max" },
      { REFUSED, "trim %/small.json --budget 10 --max-message 20", "max" },
      { REFUSED, "apply %/beyond.json %/small.json", "operations[1]" },
      { REFUSED, "apply %/unknown.json %/small.json", "did you mean 'keepLast'?" },
      { REFUSED, "apply %/broken.json %/small.json", "operations" },
      { REFUSED, "run %/bad_nodes.lua --input %/small.json", "did you mean 'trim'?" },

      { IO, "trim %/absent.json --budget 10", "absent.json" },
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
        prepare()
        file("beyond.json", '[{"operation":"clear"},{"operation":"rollback","targetBatchIndex":99}]')
        file("unknown.json", '{"operation":"truncate","keepLsat":3}')
        file("latin1.txt", "caf\xE9")
        local before = files_left()

        local err = fails(status, (words:gsub("%%", folder)))

        contains(expected, err)
        assert.equal(before, files_left())
      end)
    end

    it("5: a script's error, with its way there", function()
      prepare()

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
        prepare()
        file("none.json", "[]")

        local run = ebb(words:gsub("%%", folder), nil, "/dev/full")

        assert.equal(IO, run.status)
        contains("ebb", run.err)
      end)
    end

    it("to a closed pipe is status 7", function()
      local big = file("big.json", ('[{"role":"user","content":"%s"}]'):format(("x"):rep(1000000)))
      local line = "{ %s trim %s --budget 100000000 2>%s; echo $? >%s; } | true"

      os.execute(line:format(EBB, big, path_of ".err", path_of "status"))

      assert.equal("7\n", read(path_of "status"))
      contains("ebb trim:", read(path_of ".err"))
    end)

    it("leaves no half file, and the old one as it was", function()
      local big = file("big.json", ('[{"role":"user","content":"%s"}]'):format(("x"):rep(1000000)))
      local out = file("out.json", "old")

      local line = "ulimit -f 64; %s trim %s --budget 100000000 -o %s 2>%s"
      local _, _, status = os.execute(line:format(EBB, big, out, path_of ".err"))

      assert.equal(IO, status)
      assert.equal("old", read(out))
      assert.equal("big.json out.json", files_left())
    end)
  end)

  it("ends with 130 when interrupted, even if the script catches all errors", function()
    file("loop.lua", "while true do pcall(function() while true do end end) end")
    local line = "%s run %s 2>%s & sleep 0.3; kill -INT $!; wait $!"

    local _, _, status = os.execute(line:format(EBB, path_of "loop.lua", path_of ".err"))

    assert.equal(130, status)
  end)

  describe("help", function()
    for _, name in ipairs { "trim", "filter", "apply", "run", "count", "inspect", "policies", "help" } do
      it("explains " .. name, function()
        local by_option = does(name .. " --help")
        local by_command = does("help " .. name)

        contains("Usage: ebb " .. name, by_option)
        assert.equal(by_option, by_command)
        contains(name, (does "help"))
      end)
    end

    it("tells the version, and the same as the library", function()
      file("version.lua", "print('ebb ' .. require('ebb').version)")

      assert.equal(does("--version"), does("run " .. path_of "version.lua"))
    end)
  end)

  describe("trim", function()
    it("writes the kept messages in the shape of the input, and nothing else", function()
      prepare()

      local out, err = does(("trim %s --budget 14"):format(path_of "small.json"))

      assert.equal('[{"role":"system","content":"Be brief."},{"role":"user","content":"Bye"}]', out)
      assert.equal("", err)
    end)

    it("reads standard input when no file is named", function()
      prepare()

      assert.equal(SMALL, (does("trim --budget 1000", path_of "small.json")))
      assert.equal(SMALL, (does("trim --budget 1000 -", path_of "small.json")))
    end)

    it("writes to -o, then nothing to standard output", function()
      prepare()

      local out = does(("trim %s --budget 1000 -o %s"):format(path_of "small.json", path_of "out.json"))

      assert.equal("", out)
      assert.equal(SMALL, read(path_of "out.json"))
    end)

    it("explains each message, in the order of the conversation", function()
      local _, err = does(("trim %s --budget 4000 --explain"):format(SAMPLE))

      local position = 0
      for line in err:gmatch "[^\n]+" do
        local pos, fate = line:match "^ *(%d+) +%d+ +%l+ +%d+ +(%l+)"
        if pos then
          position = position + 1
          assert.equal(position, tonumber(pos))
          assert.truthy(fate == "kept" or fate == "dropped", line)
        end
      end
      assert.equal(60, position)
      contains("guarded: system", err)
      contains("guarded: last user message", err)
      contains("keep_recent", err)
      assert.truthy(err:find "%d+ %-> %d+ tokens, budget 4000 %(%l+%): %d+ kept, %d+ dropped")
    end)

    it("explains long conversations in runs of kept messages", function()
      local lines = {}
      for i = 1, 300 do
        lines[i] = ('{"role":"%s","content":"message %d"}'):format(i % 2 == 1 and "user" or "assistant", i)
      end
      local path = file("long.jsonl", table.concat(lines, "\n") .. "\n")

      local _, err = does(("trim %s --budget 100000 --explain"):format(path))

      contains("1-298", err)
      contains("298 messages", err)
      contains("300 kept", err)
    end)

    it("shows no control characters of messages", function()
      local path = file("evil.json", [=[[{"role":"user","content":"a\u001b[31mred\u202eback\nline"}]]=])

      local _, err = does(("trim %s --budget 1000 --explain"):format(path))

      contains([[a\e[31mred\u{202E}back\nline]], err)
      assert.falsy(err:find "\27")
    end)

    it("writes a ledger whose entries add up", function()
      local ledger = path_of "ledger.json"

      does(("trim %s --budget 4000 --ledger %s"):format(SAMPLE, ledger))

      local json = read(ledger)
      local before, after = tonumber(json:match '"before": (%d+)'), tonumber(json:match '"after": (%d+)')
      local freed = 0
      for tokens in json:gmatch '"tokens": ?(%-?%d+)' do
        freed = freed + tonumber(tokens)
      end
      assert.equal(before - after, freed)
      contains('"budget": 4000', json)
      contains('"by":"keep_recent"', (json:gsub('": "', '":"')))
    end)

    it("on a dry run writes no messages, and the ledger of the real run", function()
      local dry, real = path_of "dry.json", path_of "real.json"

      local out, err = does(("trim %s --budget 4000 --dry-run --ledger %s"):format(SAMPLE, dry))
      does(("trim %s --budget 4000 --ledger %s"):format(SAMPLE, real))

      assert.equal("", out)
      contains("budget 4000", err)
      assert.equal(read(real), (read(dry):gsub('"dryRun": true', '"dryRun": false')))
    end)

    it("reports as JSON: on a dry run as the result, else to standard error", function()
      local out = does(("trim %s --budget 4000 --dry-run --json"):format(SAMPLE))
      local _, err = does(("trim %s --budget 4000 --json"):format(SAMPLE))

      contains('"before": ', out)
      assert.equal(err, (out:gsub('"dryRun": true', '"dryRun": false')))
    end)

    it("drops what is guarded only if it is told so", function()
      prepare()
      local policy = file("all.lua", "return function(draft) for i = #draft, 1, -1 do draft:drop(i, 'all') end end")
      local words = ("trim %s --budget 8 --policy %s"):format(path_of "small.json", policy)

      fails(CANNOT_FIT, words)

      assert.equal("[]", (does(words .. " --unguarded")))
    end)

    it("gives policies their options, and runs several in order", function()
      prepare()
      local policy = file("mine.lua", [[return {
        name = "mine",
        options = { n = { type = "integer", default = 1 }, word = { type = "string" } },
        trim = function(draft, _, options) draft:note(math.type(options.n) .. " " .. options.n .. options.word) end,
      }]])

      local line = "trim %s --budget 14 --explain --policy %s:n=5,word=7 --policy keep_recent"
      local out, err = does(line:format(path_of "small.json", policy))

      contains("note by mine: integer 57", err)
      assert.equal('[{"role":"system","content":"Be brief."},{"role":"user","content":"Bye"}]', out)
    end)

    it("keeps a policy's print off standard output", function()
      prepare()
      local policy = file("loud.lua", "return function(draft) print('loud', #draft) end")

      local out, err = does(("trim %s --budget 1000 --policy %s"):format(path_of "small.json", policy))

      assert.equal(SMALL, out)
      contains("loud\t4", err)
    end)
  end)

  describe("apply", function()
    it("runs operations in both spellings", function()
      prepare()
      file("ops.json", [=[[{"operation":"TRUNCATE","keepLast":3},
        {"operation":"truncate","truncate":{"range":{"start":0,"end":1}}}]]=])

      local out = does(("apply %s %s"):format(path_of "ops.json", path_of "small.json"))

      assert.equal('[{"role":"user","content":"Hello"}]', out)
    end)

    it("gives the state, messages in their own bytes", function()
      prepare()
      file("ops.json", '{"operation":"truncate","keepLast":1}')

      local out = does(("apply --state %s %s"):format(path_of "ops.json", path_of "small.json"))

      contains('{"role":"user","content":"Bye"}', out)
      contains('"currentBatch": 1', out)
      contains('"affectedBatchIndex": 1', out)
    end)
  end)

  describe("filter", function()
    it("runs several filters in order", function()
      prepare()
      file("not_bye.lua", "return function(message) return message.text ~= 'Bye' end")

      local line = "filter %s %s --input %s"
      local out = does(line:format(path_of "keep_user.lua", path_of "not_bye.lua", path_of "small.json"))

      assert.equal('[{"role":"user","content":"Hello"}]', out)
    end)

    it("rewrites messages and leaves the bytes of the others", function()
      prepare()

      local out = does(("filter %s --input %s"):format(path_of "upper.lua", path_of "small.json"))

      contains('{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"},', out)
      contains('"HI"', out)
    end)
  end)

  describe("run", function()
    it("gives a script its arguments, also those with a dash", function()
      prepare()

      assert.equal("true\ta\t-b\n", (does(("run %s a -- -b"):format(path_of "hello.lua"))))
    end)

    it("gives a script the library", function()
      prepare()

      local out = does(("run %s %s"):format(path_of "script.lua", path_of "small.json"))

      assert.equal("4\tHello\n", out)
    end)

    it("keeps the order of what a script prints and saves", function()
      prepare()
      local script = file("order.lua", "print('first') require('ebb').load(arg[1]):save('-') print('last')")

      local out = does(("run %s %s"):format(script, path_of "small.json"))

      assert.equal("first\n" .. SMALL .. "last\n", out)
    end)

    it("runs the nodes that a file returns", function()
      prepare()

      local out = does("run " .. path_of "nodes.lua", path_of "small.json")

      assert.equal('[{"role":"user","content":"Bye"}]', out)
    end)

    it("loads no library of that name from LUA_PATH", function()
      file("ebb.lua", "error('not ours')")
      file("version.lua", "print(require('ebb').version ~= nil)")
      local line = "LUA_PATH='%s/?.lua;;' %s run %s >%s"

      os.execute(line:format(folder, EBB, path_of "version.lua", path_of ".out"))

      assert.equal("true\n", read(path_of ".out"))
    end)
  end)

  describe("count", function()
    it("says how far the count can be trusted", function()
      prepare()

      local out = does(("count %s"):format(path_of "small.json"))

      assert.truthy(out:find("%d+ +estimated +" .. folder:gsub("%p", "%%%0")), out)
    end)

    it("adds up several files, and lists messages", function()
      prepare()
      local path = path_of "small.json"

      local out = does(("count %s %s --by message --encoding bytes4"):format(path, path))

      local _, lines = out:gsub("\n", "")
      assert.equal(1 + 2 * (4 + 1) + 1, lines)
      local one, total = out:match "(%d+) +estimated +[^%[\n]*\n", out:match "(%d+) +estimated +total"
      assert.equal(2 * tonumber(one), tonumber(total))
    end)

    it("counts plain text", function()
      file("text.txt", ("x"):rep(400))

      contains('"tokens": 100', (does(("count --text --json --encoding bytes4 %s"):format(path_of "text.txt"))))
    end)
  end)

  describe("inspect", function()
    it("lists every message, with figures", function()
      local out = does("inspect " .. SAMPLE)

      contains("60 messages", out)
      contains("shape: body", out)
      assert.truthy(out:find "\n +60 +60 +user ")
      assert.truthy(out:find "%d+ units %(0 open%), %d+ turns")
    end)

    it("gives the same as JSON", function()
      local out = does(("inspect %s --json"):format(LINES))

      contains('"shape": "jsonl"', out)
      contains('"openUnits": 0', out)
    end)
  end)

  it("policies lists what there is, and the options of one", function()
    contains("keep_recent", (does "policies"))
    contains("keep_recent:", (does "policies keep_recent"))
  end)

  describe("real conversations come back byte for byte", function()
    local shared = os.getenv "EBB_SHARED"
    local listing = shared and io.popen(("ls %s/data/conversations/*.json 2>/dev/null"):format(shared))
    local paths = {}
    for path in listing and listing:lines() or function() end do
      paths[#paths + 1] = path
    end
    if listing then listing:close() end
    if #paths == 0 then
      pending "EBB_SHARED is not set, or holds no conversations"
    end

    for _, path in ipairs(paths) do
      it(path:match "[^/]*$", function()
        local text = read(path)
        for _, shaped in ipairs { text, as_jsonl(text), as_body(text) } do
          local input = file("in", shaped)

          local run = ebb("trim --budget 100000000", input)

          assert.equal(0, run.status, run.err)
          assert.truthy(shaped == run.out, "the bytes differ")
        end
      end)
    end
  end)
end)
