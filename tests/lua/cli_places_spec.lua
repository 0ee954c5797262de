--- The files of a command line: what is written replaces no input, no database of sessions and no other output,
--- however the names are spelled. Each refusal comes before anything is written.

local command = dofile "tests/lua/command.lua"
local read, path_of, file = command.read, command.path_of, command.file
local does, fails, contains, files_left = command.does, command.fails, command.contains, command.files_left
local SMALL, USAGE = command.SMALL, command.USAGE

--- D/ is the folder of the test.
local function words(line) return (line:gsub("D/", command.folder .. "/")) end

--- Refuses a command line with this text, and leaves every file as it was.
local function refuses(text, line)
  local before, names = {}, files_left()
  for name in names:gmatch "%S+" do before[name] = read(path_of(name)) end
  contains(text, fails(USAGE, words(line)))
  assert.equal(names, files_left())
  for name, bytes in pairs(before) do assert.equal(bytes, read(path_of(name)), line .. ": " .. name) end
end

describe("a file that is written", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("is not the database of sessions, nor a file next to it", function()
    does(words "session new a D/small.json --db D/d.db")
    os.execute(words "ln -s d.db D/link.db; ln D/d.db D/hard.db")
    file("agent.json", '{"name":"a"}')
    local trim = "trim --session a --db D/d.db --budget 20 "
    for _, line in ipairs {
      "session export a --db D/d.db -o D/d.db", "session export a --db D/d.db -o D/./d.db",
      "session export a --db D/d.db -o D/link.db", "session export a --db D/link.db -o D/d.db",
      "session export a --db D/d.db -o D/hard.db", "session ls --db D/d.db -o D/d.db",
      "session export a --db D/d.db -o D/d.db-wal", "session export a --db D/d.db -o D/d.db-shm",
      "session export a --db D/d.db -o D/d.db-journal", "session export a --db D/d.db -o D/d.db-checkpoint",
      "session backup D/d.db --db D/d.db", "session checkpoint a x --db D/d.db --ledger D/d.db",
      trim .. "-o D/d.db", trim .. "--ledger D/d.db", trim .. "--ledger D/d.db --dry-run",
      "trim --replay session:a --db D/d.db --budget 20 --html D/d.db",
      "trim --replay session:a --db D/d.db --budget 20 --requests D/d.db",
      "convert --session a --db D/d.db --to anthropic -o D/d.db", "report session:a --db D/d.db -o D/d.db",
      "pipeline --session a --db D/d.db --agent D/agent.json -o D/d.db", "inspect --session a --db D/d.db -o D/d.db",
      "run D/nodes.lua --session a --db D/d.db --record D/d.db", "run D/nodes.lua session:a --db D/d.db -o D/d.db",
      "each session:a --db D/d.db --run D/nodes.lua --out D/new --journal D/d.db",
    } do
      refuses("would replace the database", line)
    end
    command.environment = "EBB_DB=" .. path_of "d.db"
    refuses("would replace the database", "session export a -o D/d.db")
    command.environment = nil
    refuses("would replace the input", "session salvage D/d.db D/d.db")
    contains("a ", (does(words "session ls --db D/d.db")))
  end)

  it("is no input, under any of its names", function()
    os.execute(words "ln -s small.json D/link.json; ln D/small.json D/hard.json")
    file("ops.json", '{"operation":"truncate","keepLast":2}')
    file("agent.json", '{"name":"a"}')
    file("p.lua", "return function(draft, budget) draft:drop_oldest { to = budget } end")
    local trim = "trim D/small.json --budget 20 "
    for _, line in ipairs {
      trim .. "--ledger D/small.json", trim .. "--ledger D/small.json --dry-run", trim .. "--ledger D/./small.json",
      trim .. "--ledger D/link.json", trim .. "--ledger D/hard.json", trim .. "-i --ledger D/small.json",
      trim .. "--policy D/p.lua --ledger D/p.lua", trim .. "--policy 'keep_recent;D/p.lua:x=1' -o D/p.lua",
      trim .. "--model-command true --record D/small.json", trim .. "--tools D/ops.json --ledger D/ops.json",
      trim .. "--dry-run --json -o D/small.json", "trim --suggest D/small.json -o D/small.json",
      "trim --replay D/small.json --budget 20 --html D/link.json",
      "apply D/ops.json D/small.json --ledger D/ops.json", "apply D/ops.json D/small.json --ledger D/small.json",
      "apply D/ops.json D/small.json -o D/ops.json", "filter D/upper.lua --input D/small.json --ledger D/upper.lua",
      "filter D/upper.lua --input D/small.json --ledger D/small.json", "filter D/upper.lua --input D/small.json -o "
        .. "D/upper.lua", "convert D/small.json --to anthropic --ledger D/small.json",
      "input Hello D/small.json --ledger D/small.json", "input Hello D/small.json --agent D/agent.json -o D/agent.json",
      "run D/nodes.lua D/small.json --ledger D/small.json", "run D/nodes.lua D/small.json --ledger D/nodes.lua",
      "run D/nodes.lua D/small.json -o D/nodes.lua", "run D/nodes.lua D/small.json --graph -o D/small.json",
      "pipeline D/small.json --agent D/agent.json --ledger D/small.json",
      "pipeline D/small.json --agent D/agent.json -o D/agent.json",
      "pipeline D/small.json --agent D/agent.json --preview -o D/small.json",
      "report D/small.json -o D/hard.json", "inspect D/small.json -o D/link.json", "check D/small.json -o D/small.json",
      "count D/ops.json D/small.json -o D/small.json", "diff D/ops.json D/small.json -o D/small.json",
      "session new a D/small.json --db D/d.db --ledger D/small.json",
      "session append a D/small.json --db D/d.db --ledger D/small.json",
      "vocab import D/small.json -o D/small.json", "models import D/small.json -o D/small.json",
      "rules test D/small.json -o D/small.json",
    } do
      refuses("would replace the input", line)
    end
  end)

  it("may be the conversation that a command edits", function()
    does(words "trim D/small.json --budget 20 -o D/small.json")
    assert.not_equal(SMALL, read(path_of "small.json"))
    file("small.json", SMALL)
    does(words "apply D/ops.json -i D/small.json --ledger D/l.json", nil, file("ops.json",
      '{"operation":"truncate","keepLast":2}'))
    contains("Bye", read(path_of "small.json"))
    assert.not_equal(SMALL, read(path_of "small.json"))
  end)

  it("is not the conversation on a dry run", function()
    local out = does(words "trim D/small.json --budget 20 -i --dry-run --json")
    contains('"dryRun": true', out)
    assert.equal(SMALL, read(path_of "small.json"))
  end)

  it("is no other output", function()
    file("card.json", '{"spec":"chara_card_v2","data":{"name":"Ann","first_mes":"Hello"}}')
    for _, line in ipairs {
      "trim D/small.json --budget 20 --ledger D/x -o D/./x", "import D/card.json --agent D/x --chat D/x",
      "import D/card.json --agent D/x --ledger D/x", "trim --replay D/small.json --budget 20 --html D/x --requests D/x",
      "trim D/small.json --budget 20 --model-command true --record D/x -o D/x", "import D/card.json --agent - --chat -",
    } do
      refuses("go to one place", line)
    end
  end)

  it("is not the card of an import", function()
    file("card.json", '{"spec":"chara_card_v2","data":{"name":"Ann","first_mes":"Hello"}}')
    for _, option in ipairs { "--chat", "--agent", "--ledger" } do
      refuses("would replace the input", "import D/card.json " .. option .. " D/card.json")
    end
  end)

  it("is no source of ebb each", function()
    os.execute(words("mkdir D/ee D/other; cp D/small.json D/ee/a.json; cp D/small.json D/ee/b.json; ln -s ee D/link; "
      .. "ln D/ee/b.json D/other/a.json"))
    for _, line in ipairs {
      "each D/ee --do 'trim --budget 20' --out D/ee", "each D/ee/a.json --do 'trim --budget 20' --out D/link/",
      "each D/ee --run D/nodes.lua --out D/ee", "each D/ee --run D/nodes.lua --out D/other",
      "each D/ee --run D/nodes.lua --out D/ee --shard 1/2",
      "each D/ee --run D/nodes.lua --out D/new --journal D/ee/b.json",
      "each D/ee --run D/nodes.lua --out D/new --journal D/nodes.lua",
      "each D/ee --do 'trim --budget 20 --ledger D/ee/b.json' --out D/new",
    } do
      refuses("would replace the input", line)
    end
    for _, name in ipairs { "ee/a.json", "ee/b.json", "other/a.json" } do assert.equal(SMALL, read(path_of(name))) end
    refuses("go to one place", "each D/ee --do 'trim --budget 20' --out D/new --journal D/new/a.json")
  end)

  it("has a name", function()
    for _, line in ipairs { "trim D/small.json --budget 20 -o ''", "trim D/small.json --budget 20 --ledger ''",
      "count ''", "report D/small.json -o ''" } do
      refuses("the name of a file is empty", line)
    end
  end)
end)

describe("a database that does not exist", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("is not made by what reads it", function()
    local before = files_left()
    for _, line in ipairs { "session ls", "session ls --json", "session log a", "session show a", "session export a",
      "session check", "session vacuum", "session rm a", "session append a D/small.json", "count --session a",
      "session backup D/copy.db", "session new a D/small.json --db D/other.db --dry-run", "trim --session a --budget 9",
      "each 'session:*' --run D/nodes.lua --out D/out" } do
      local run = command.ebb(words(line .. (line:find "other" and "" or " --db D/typo.db")))
      if not line:find "dry" then contains("typo.db: no such file", run.err) end
      assert.equal(line:find "dry" and 0 or command.IO, run.status, line .. run.err)
      assert.equal(before, files_left(), line)
    end
  end)

  it("is no failure of a list where it is the user's own", function()
    command.environment = "EBB_DB= XDG_DATA_HOME=" .. path_of "data"
    local before = files_left()
    contains("no sessions; `ebb session new NAME` begins one", (does "session ls"))
    assert.equal("[]\n", (does "session ls --json"))
    assert.equal(before, files_left())
    does "session new a"
    contains("a ", (does "session ls"))
    command.environment = nil
  end)

  it("is refused with the cause, if it cannot be made", function()
    contains("x.db: it cannot be opened: its folder does not exist", fails(command.IO, words
      "session new a --db D/absent/x.db"))
    does(words "session new a --db D/d.db")
    contains("d.db: a session of that name exists: a", fails(command.REFUSED, words "session new a --db D/d.db"))
  end)
end)
