--- ebb trim --replay over several recordings, its forms, --requests and --suggest, as typed.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local it_exact = dofile "tests/lua/it_exact.lua"(it, function(why) pending(why) end)

local does, fails, contains, file, read = command.does, command.fails, command.contains, command.file, command.read
local path_of = command.path_of
local json = helper.ebb.json

local SAMPLE = "scripts/samples/support.json"
local POLICIES = "--policy keep_recent --policy stable_prefix --policy 'clear_tool_uses,stable_prefix'"

--- A recording of questions and answers about tickets.
local function recording(count, first)
  local list = {}
  for i = 1, count do
    list[#list + 1] = ('{"role":"user","content":"ticket T-%d%03d please, and nothing else"}'):format(first, i)
    list[#list + 1] = ('{"role":"assistant","content":"T-%d%03d it is, as before T-%d001."}'):format(first, i, first)
  end
  return "[" .. table.concat(list, ",\n") .. "]"
end

local function lines_of(text)
  local lines = {}
  for line in text:gmatch "[^\r\n]+" do
    lines[#lines + 1] = line
  end
  return lines
end

--- Two recordings in a folder, next to a file of another kind.
local function make_recordings()
  os.execute(("mkdir %s"):format(path_of "logs"))
  file("logs/a.json", recording(20, 1))
  file("logs/b.json", recording(40, 2))
  file("logs/notes.txt", "not a recording")
  return path_of "logs"
end

describe("trim --replay", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("explains the columns that are shown, and no others", function()
    local line = ("trim --replay %s --limit 2000 --policy keep_recent"):format(SAMPLE)
    local wide = does(line)
    for _, words in ipairs { "best: the most", "labelled: with the word" } do contains(words, wide) end
    command.columns = 70
    local narrow = does(line)
    command.columns = nil
    contains("shared: of these", narrow)
    for _, title in ipairs { "best", "labelled" } do assert.is_nil(narrow:find(title, 1, true), narrow) end
  end)

  it("begins with no trimming, then sorts by cost", function()
    local report = json.decode((does(("trim --replay %s --budget 3000 --json %s"):format(SAMPLE, POLICIES))))
    assert.equal("none", report.policies[1].policy)
    for i = 3, #report.policies do
      assert.is_true(report.policies[i - 1].cost <= report.policies[i].cost)
    end
    local lines = lines_of((does(("trim --replay %s --budget 3000 %s"):format(SAMPLE, POLICIES))))
    assert.equal("none", lines[2]:match "%S+$")
  end)

  it("has a column for thinking that a model binds and trims made worthless", function()
    local list = {}
    for i = 1, 8 do
      list[#list + 1] = ('{"role":"user","content":"What about ticket T-%d?"}'):format(i)
      list[#list + 1] = ('{"role":"assistant","content":[{"type":"thinking","thinking":"%s","signature":"s"},'
        .. '{"type":"text","text":"It is open."}]}'):format(("Let me see. "):rep(9))
    end
    local words = ("trim --replay %s --budget 300 --policy keep_recent --model claude-opus-%%s "):format(
      file("log.json", "[" .. table.concat(list, ",\n") .. "]"))
    local bound = json.decode((does(words:format "5-5" .. "--json")))
    assert.same({ 0, true }, { bound.policies[1].thinkingLost, bound.policies[2].thinkingLost > 0 })
    contains("thinking  refused  policy", (does(words:format "5-5")))
    contains("binds thinking to what", (does(words:format "5-5")))
    assert.is_nil((does(words:format "4-5")):find("thinking", 1, true))
  end)

  it("plays names with commas between them in a row, as ; does", function()
    local words = "trim --replay " .. SAMPLE .. " --budget 3000 --json --policy 'clear_tool_uses%sstable_prefix'"
    local comma = json.decode((does(words:format ",")))
    local semicolon = json.decode((does(words:format ";")))
    assert.equal("clear_tool_uses,stable_prefix", comma.policies[2].policy)
    comma.policies[2].policy = semicolon.policies[2].policy
    assert.same(semicolon, comma)
  end)

  it("plays several recordings and folders, and shows them together", function()
    local folder = make_recordings()
    local report = json.decode((does(("trim --replay %s %s --budget 200 --json %s"):format(folder, SAMPLE, POLICIES))))
    assert.same({ folder .. "/a.json", folder .. "/b.json", SAMPLE },
      { report.files[1].file, report.files[2].file, report.files[3].file })
    for _, together in ipairs(report.policies) do
      local sums = { 0, 0, 0, 0 }
      for _, one in ipairs(report.files) do
        for _, row in ipairs(one.policies) do
          if row.policy == together.policy then
            sums = { sums[1] + row.requests, sums[2] + row.tokensSent, sums[3] + row.refusals,
              sums[4] + row.values.present }
          end
        end
      end
      assert.same(sums, { together.requests, together.tokensSent, together.refusals, together.values.present })
      assert.equal(together.values.total > 0 and together.values.present / together.values.total or nil,
        together.recallValues)
    end
    contains("together, 3 recordings",
      (does(("trim --replay %s %s --budget 200 %s"):format(folder, SAMPLE, POLICIES))))
  end)

  it("gives a file among others the figures that it has alone", function()
    local folder = make_recordings()
    local all = json.decode((does(("trim --replay %s --budget 33%% --json %s"):format(folder, POLICIES))))
    local alone = json.decode((does(("trim --replay %s/b.json --budget 33%% --json %s"):format(folder, POLICIES))))
    assert.is_nil(alone.files)
    assert.equal(alone.budget, all.files[2].budget)
    assert.same(alone.policies, all.files[2].policies)
    assert.is_nil(all.budget)
  end)

  it("names the file that it cannot read", function()
    local folder = make_recordings()
    file("logs/broken.json", '[{"role":"user","content":"x"},]')
    contains("broken.json", fails(command.REFUSED, ("trim --replay %s --budget 200"):format(folder)))
    os.execute(("mkdir %s"):format(path_of "empty"))
    contains("no .json or .jsonl file", fails(command.IO, ("trim --replay %s --budget 9"):format(path_of "empty")))
    local raises = command.file("raises.lua", "return function() error 'boom' end")
    local words = ("trim --replay %s %s --budget 900 --policy %s"):format(SAMPLE, SAMPLE, raises)
    contains("boom", fails(command.SCRIPT, words))
  end)

  it("says how a process ended that plays one of several", function()
    local kills = "trim --replay %s %s --budget 900 --trusted "
      .. "--policy 'return function() os.execute [[kill -9 $PPID]] end'"
    contains("support.json: the process was ended by signal 9", fails(command.SCRIPT, kills:format(SAMPLE, SAMPLE)))
  end)

  it("ends its processes when it is interrupted", function()
    local script = file("interrupt.sh", ([[
%s trim --replay %s %s --budget 900 --trusted --policy 'return function() while true do end end' 2>%s &
parent=$!
until pgrep -P $parent >/dev/null; do sleep 0.05; done
kids=$(pgrep -P $parent)
kill -INT $parent
wait $parent
echo "status $?"
for kid in $kids; do
  while kill -0 $kid 2>/dev/null && [ "$(ps -o stat= -p $kid | cut -c 1)" != Z ]; do sleep 0.05; done
done
echo ended
]]):format(command.EBB, SAMPLE, SAMPLE, path_of "err"))
    local pipe = io.popen("timeout 60 sh " .. script)
    assert.equal("status 130\nended\n", pipe:read "a")
    pipe:close()
  end)

  it("takes none for what it always shows", function()
    local report = json.decode((does(("trim --replay %s --budget 3000 --json --policy none"):format(SAMPLE))))
    assert.equal(1, #report.policies)
    assert.equal("none", report.policies[1].policy)
  end)

  it("asks the model of --model-command in each recording", function()
    local folder = make_recordings()
    local report = json.decode((does(("trim --replay %s --budget 60%% --json --policy summarize "
      .. "--model-command 'echo all was said'"):format(folder))))
    for _, one in ipairs(report.files) do
      assert.is_true(one.policies[2].messagesInserted > 0)
    end
  end)

  it("answers policies from a recorded model", function()
    local folder, tape = make_recordings(), path_of "tape.jsonl"
    local line = "trim --replay %s/a.json --budget 60%% --json --policy summarize --policy 'summarize,keep_recent' %s"
    local asked = does(line:format(folder, "--record " .. tape .. " --model-command 'echo all was said'"))
    assert.equal(asked, (does(line:format(folder, "--replay-model " .. tape))))
    assert.is_true(json.decode(asked).policies[2].messagesInserted > 0)
    local one = ("trim %s/a.json --budget 400 --policy summarize "):format(folder)
    local other = path_of "other.jsonl"
    assert.equal(does(one .. "--model-command 'echo so it was' --record " .. other),
      (does(one .. "--replay-model " .. other)))
    contains("has no answer to this request", fails(command.IO, one .. "--replay-model " .. tape))
    contains("is there already", fails(command.USAGE, one .. "--model-command true --record " .. tape))
    contains("there is none", fails(command.USAGE, one .. "--record " .. path_of "new.jsonl"))
    contains("do not go together",
      fails(command.USAGE, one .. "--model-command true --record x --replay-model " .. tape))
    contains("one recording", fails(command.USAGE, ("trim --replay %s --budget 60%% --policy summarize "
      .. "--model-command true --record %s"):format(folder, path_of "new.jsonl")))
  end)

  it("reports as CSV, a line per recording and policy", function()
    local folder = make_recordings()
    local lines = lines_of((does(("trim --replay %s --budget 200 --csv %s"):format(folder, POLICIES))))
    assert.equal(1 + 3 * 4, #lines)
    local _, commas = lines[1]:gsub(",", "")
    for _, line in ipairs(lines) do
      local _, count = line:gsub('"[^"]*"', ""):gsub(",", "")
      assert.equal(commas, count)
    end
    contains('"clear_tool_uses,stable_prefix"', table.concat(lines, "\n"))
    contains("--json and --csv", fails(command.USAGE, ("trim --replay %s --budget 9 --csv --json"):format(SAMPLE)))
  end)

  it("writes a page with charts that needs nothing else", function()
    local path = path_of "report.html"
    does(("trim --replay %s --budget 3000 --html %s %s --policy 'return function(d, b) d:drop_oldest { to = b } end'")
      :format(SAMPLE, path, POLICIES))
    local page = read(path)
    local _, charts = page:gsub("<svg ", "")
    assert.equal(2, charts)
    local _, opened = page:gsub("<circle ", "")
    assert.equal(2 * 5, opened)
    contains("d:drop_oldest", page)
    assert.falsy(page:find("<script", 1, true) or page:find("https?:") or page:find("src=", 1, true))
    local strange = command.file("<b>.json", read(SAMPLE))
    local shown = does(("trim --replay '%s' --budget 3000 --html - -o %s --policy '%s'"):format(strange,
      path_of "table", "return function(d, b) if #d < 0 then return end d:drop_oldest { to = b } end"))
    contains("&lt;b&gt;.json</title>", shown)
    contains("#d &lt; 0", shown)
    assert.falsy(shown:find("<b>", 1, true))
  end)

  it("writes the requests as they were sent", function()
    local path = path_of "requests.jsonl"
    local report = json.decode((does(("trim --replay %s --budget 3000 --json --requests %s --policy clear_tool_uses")
      :format(SAMPLE, path))))
    local counts, tokens = {}, {}
    for _, line in ipairs(lines_of(read(path))) do
      local request = json.decode(line)
      local kind = request.policy .. (request.refused and " refused" or "")
      counts[kind] = (counts[kind] or 0) + 1
      tokens[kind] = (tokens[kind] or 0) + (request.tokens or 0)
      assert.equal(request.refused, request.messages == json.null)
    end
    local none, cleared = report.policies[1], report.policies[2]
    assert.same({ none = none.requests, clear_tool_uses = cleared.requests,
      ["clear_tool_uses refused"] = cleared.refusals }, counts)
    assert.same({ none.tokensSent, cleared.tokensSent }, { tokens.none, tokens.clear_tool_uses })
    contains("one recording", fails(command.USAGE,
      ("trim --replay %s %s --budget 9 --requests %s"):format(SAMPLE, SAMPLE, path)))
    contains("--replay", fails(command.USAGE, ("trim %s --budget 9 --requests %s"):format(SAMPLE, path)))
  end)

  it("does not write two results to one place", function()
    for _, words in ipairs { "--html - ", "--requests - ", "--html %s/x -o %s/x", "--html %s/x --requests %s/./x" } do
      contains("go to one place", fails(command.USAGE,
        ("trim --replay %s --budget 900 "):format(SAMPLE) .. words:gsub("%%s", command.folder)))
    end
    does(("trim --replay %s --budget 3000 --html - -o %s"):format(SAMPLE, path_of "table"))
    contains("requests", read(path_of "table"))
  end)

  it("does not write a result in the place of a recording", function()
    local copy = command.file("chat.json", read(SAMPLE))
    for _, words in ipairs { "-o %s", "--html %s", "--requests %s", "-o %s --csv" } do
      contains("would replace the input",
        fails(command.USAGE, ("trim --replay %s --budget 900 "):format(copy) .. words:format(copy)))
    end
    contains("would replace the recording", fails(command.USAGE,
      ("trim --replay %s --budget 900 -o %s"):format(command.folder, copy)))
    for _, words in ipairs { "trim --suggest %s --budget 900", "inspect %s", "count %s", "check %s",
      "diff %s " .. SAMPLE } do
      contains("would replace the input", fails(command.USAGE, (words .. " -o %s"):format(copy, copy)))
    end
    assert.equal(read(SAMPLE), read(copy))
  end)

  it("refuses wrong budgets, prices and cache rules", function()
    local words = ("trim --replay %s --policy keep_recent "):format(SAMPLE)
    local long = ("9"):rep(400)
    for _, budget in ipairs { "0%", "-1%", "x%", "%", "10%%", long .. "%", long, "99999999999999999k", "1e3", "''" } do
      contains("--budget: expected a whole number such as 8000 or 8k, or a share such as 33%, got",
        fails(command.USAGE, words .. "--budget " .. budget))
    end
    for _, price in ipairs { "abc", "nan", "inf", "1,2,3,4,5", "-1,2,3,4", "3,0.3,3.75", ",,,", "1e5,1,1,1", "''",
      long .. ",1,1,1" } do
      contains("--price: expected in,cached,write,out", fails(command.USAGE, words .. "--budget 900 --price " .. price))
    end
    contains("must be one of 'anthropic'", fails(command.USAGE, words .. "--budget 900 --cache nope"))
    contains("no/r.jsonl", fails(command.IO, words .. "--budget 900 --requests no/r.jsonl"))
    contains("no/r.html", fails(command.IO, words .. "--budget 900 --html no/r.html"))
    contains("--csv needs --replay", fails(command.USAGE, ("trim %s --budget 900 --csv"):format(SAMPLE)))
  end)

  it("explains which values each reply used and its request lost", function()
    local out, err = does(("trim --replay %s --budget 3000 --json --explain"):format(SAMPLE))
    local losses = json.decode(out).policies[2].losses
    assert.is_true(#losses > 0)
    assert.equal(#losses, #lines_of(err))
    for i, line in ipairs(lines_of(err)) do
      contains(("keep_recent: reply %d used the %s %s of message %d"):format(losses[i].reply, losses[i].use,
        losses[i].value, losses[i].message), line)
    end
  end)

  it_exact("takes a share of the conversation as the budget, as a trim does", function()
    local half = json.decode((does(("trim --replay %s --budget 50%% --json"):format(SAMPLE)))).budget
    local whole = json.decode((does(("count %s --json"):format(SAMPLE))))[1].tokens
    assert.equal(whole // 2, half)
    contains(("budget %d"):format(half), select(2, does(("trim %s --budget 50%% --dry-run"):format(SAMPLE))))
    contains("got '50p'", fails(command.USAGE, ("trim %s --budget 50p"):format(SAMPLE)))
    contains("too many arguments", fails(command.USAGE, ("trim %s %s --budget 50%%"):format(SAMPLE, SAMPLE)))
  end)
end)

describe("trim --suggest", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it_exact("says in five lines which policy to take, and why", function()
    local lines = lines_of((does(("trim --suggest %s --budget 3000"):format(SAMPLE))))
    assert.equal(5, #lines)
    local word = lines[1]:match "^Take (%S+): ebb trim FILE %-%-budget 3000 %-%-policy "
    assert.truthy(word)
    contains("times the cost of no trimming", lines[3])
    does(("trim --budget 3000 --policy %s %s"):format(word, SAMPLE))
  end)

  it_exact("plays the policies of the command line, too", function()
    local words = ("trim --suggest %s --budget 3000 --json --policy 'keep_recent:keep=2'"):format(SAMPLE)
    local report = json.decode((does(words)))
    assert.equal(5, #report.lines)
    assert.equal(3000, report.budget)
    assert.equal("string", type(report.policy))
    contains("kepe", fails(command.USAGE, (words:gsub("keep=", "kepe="))))
    contains("--explain", fails(command.USAGE, ("trim --suggest %s --budget 9 --explain"):format(SAMPLE)))
    contains("two reports", fails(command.USAGE, ("trim --suggest --replay %s --budget 9"):format(SAMPLE)))
  end)

  it("says that no trimming is needed where all fits", function()
    local lines = lines_of((does(("trim --suggest %s --model gpt-4o"):format(SAMPLE))))
    assert.equal(5, #lines)
    contains("no trimming is needed", lines[1])
  end)

  it("recommends nothing where no policy fits, and says the smallest budget, which then fits", function()
    for _, row in ipairs { "20", "50 --reserve 10", "1%%" } do
      local words = ("trim --suggest %s --budget "):format(SAMPLE)
      local problem = fails(command.CANNOT_FIT, words .. (row:gsub("%%%%", "%%")))
      contains("no policy fits", problem)
      local smallest = problem:match "the smallest budget is (%d+)"
      local reserve = row:match "%-%-reserve %d+" or ""
      contains("Take ", (does(("%s%s %s"):format(words, smallest, reserve))))
    end
  end)

  it("takes folders and several files, and has the figures after its lines", function()
    local folder = path_of "logs"
    os.execute(("mkdir -p %s && cp %s %s/a.json && cp %s %s/b.json"):format(folder, SAMPLE, folder, SAMPLE, folder))
    local words = "trim --suggest %s --budget 3000 --json"
    local one = json.decode((does(words:format(SAMPLE))))
    local both = json.decode((does(words:format(folder))))
    local again = json.decode((does(words:format(folder .. "/a.json " .. folder .. "/b.json"))))
    assert.same(both, again)
    assert.same({ 1, 2 }, { one.recordings, both.recordings })
    for i, row in ipairs(both.policies) do
      assert.equal(one.policies[i].policy, row.policy)
      assert.equal(2 * one.policies[i].tokensSent, row.tokensSent)
    end
    assert.equal("none", one.policies[1].policy)
    contains("--budget 33% --policy", (does(("trim --suggest %s --budget 33%%"):format(folder .. " " .. SAMPLE
      .. " scripts/policies/agent.json"))))
  end)

  it("takes the cheapest of those that keep nearly as much, and no refuser", function()
    local choose = require("ebb.replay.choice").position
    local function result(cost, present, refusals)
      return { cost = cost, refusals = refusals or 0, arguments = { present = present, total = 100 },
        values = { present = 0, total = 0 } }
    end
    local none = result(1, 100)
    assert.equal(3, choose { none, result(9, 99), result(5, 98), result(4, 97) })
    assert.equal(4, choose { none, result(1, 99, 2), result(9, 80), result(5, 79) })
    assert.equal(2, choose { none, result(1, 50, 2) })
  end)
end)
