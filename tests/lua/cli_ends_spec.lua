--- Checks how the command ends if files meet: two outputs, outputs that are inputs, and what a new
--- file keeps of the old one. tests/faults/ends.sh has signals and writers at random moments.

local command = dofile "tests/lua/command.lua"
local read, path_of, file = command.read, command.path_of, command.file
local ebb, does, fails, contains, files_left = command.ebb, command.does, command.fails, command.contains,
  command.files_left
local EBB, USAGE, IO = command.EBB, command.USAGE, command.IO

describe("the command's files:", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  describe("a ledger", function()
    it("and the result do not both go to standard output", function()
      for _, more in ipairs { "", "--json", "--dry-run --json" } do
        contains("--ledger and the result cannot both go to standard output",
          fails(USAGE, ("trim %s --budget 1000 --ledger - %s"):format(path_of "small.json", more)))
      end
      local out = does(("trim %s --budget 1000 --ledger - -o %s"):format(path_of "small.json", path_of "out.json"))
      contains('"ledger"', out)
      contains('"ledger"', (does(("trim %s --budget 1000 --ledger - --dry-run"):format(path_of "small.json"))))
    end)

    it("and the result do not share a file", function()
      os.execute("ln -s out.json " .. path_of "link.json")
      for _, ledger in ipairs { path_of "out.json", path_of "./out.json" } do
        contains("--ledger and -o go to one place", fails(USAGE, ("trim %s --budget 1000 --ledger %s -o %s")
          :format(path_of "small.json", ledger, path_of "out.json")))
      end
      file("out.json", "old")
      contains("go to one place", fails(USAGE, ("trim %s --budget 1000 --ledger %s -o %s"):format(path_of "small.json",
        path_of "link.json", path_of "out.json")))
      assert.equal("old", read(path_of "out.json"))
    end)

    it("is not left of a trim that could not be written", function()
      local before = files_left()
      for _, output in ipairs { "/dev/full", path_of "absent/out.json", command.folder } do
        fails(IO, ("trim %s --budget 1000 --ledger %s -o %s"):format(path_of "small.json", path_of "ledger.json",
          output))
        assert.equal(before, files_left())
      end
      file("ledger.json", "old")
      local run = ebb(("trim %s --budget 1000 --ledger %s"):format(path_of "small.json", path_of "ledger.json"), nil,
        "/dev/full")
      assert.equal(IO, run.status)
      assert.equal("old", read(path_of "ledger.json"))
    end)

    it("that cannot be written keeps the output as it was", function()
      local out = file("out.json", "old")
      for _, ledger in ipairs { "/dev/full", path_of "absent/ledger.json" } do
        fails(IO, ("trim %s --budget 1000 --ledger %s -o %s"):format(path_of "small.json", ledger, out))
        assert.equal("old", read(out))
      end
    end)
  end)

  describe("a file that is both input and output", function()
    local COMMANDS = {
      "filter %/change.lua --input %/small.json --trusted -o %/small.json",
      "trim %/small.json --budget 1000 --policy %/change_policy.lua --trusted -o %/link.json",
      "run %/change_nodes.lua --input %/link.json -o %/small.json",
    }
    for _, words in ipairs(COMMANDS) do
      it("is not replaced if another program has changed it: " .. words, function()
        local chat = path_of "small.json"
        local change = ("local f = io.open(%q, 'a') f:write ' ' f:close()"):format(chat)
        file("change.lua", ("return function() %s end"):format(change))
        file("change_policy.lua", ("return { name = 'p', trim = function() %s end }"):format(change))
        file("change_nodes.lua", ("return { { type = 'script', run = function() %s end } }"):format(change))
        os.execute("ln -s small.json " .. path_of "link.json")
        local before = files_left()

        local err = fails(IO, (words:gsub("%%", command.folder)))

        contains("was changed by another program since it was read\nhint: nothing was written", err)
        assert.equal(command.SMALL, (read(chat):gsub("%s+$", "")))
        assert.equal(before, files_left())
      end)
    end

    it("is replaced otherwise, under any of its names", function()
      os.execute("ln -s small.json " .. path_of "link.json")
      does(([[apply '{"operation":"truncate","keepLast":1}' %s -o %s]]):format(path_of "small.json",
        path_of "link.json"))
      assert.equal('[{"role":"user","content":"Bye"}]', (read(path_of "small.json"):gsub("%s+", ""):gsub("\n", "")))
    end)

    it("keeps its mode, and says that other names keep the old content", function()
      local chat = path_of "small.json"
      assert(os.execute(("chmod 640 %s && ln %s %s"):format(chat, chat, path_of "other.json")))
      local _, err = does(([[apply '{"operation":"clear"}' %s -o %s]]):format(chat, chat))
      contains("small.json: warning: its other names (hard links) keep the old content", err)
      local pipe = io.popen("stat -c %a " .. chat)
      assert.equal("640\n", pipe:read "a")
      pipe:close()
      assert.equal(command.SMALL, read(path_of "other.json"))
    end)
  end)

  it("a script's saves answer what a file does not keep, and refuse one that has changed", function()
    file("save.lua", [[
      local ebb, path = require "ebb", arg[1]
      local identity = assert(ebb.file_identity(path))
      local chat = assert(ebb.load(path))
      os.execute(("ln %s %s.other"):format(path, path))
      print(chat:save(path, { unchanged = identity }))
      print(select(2, chat:save(path, { unchanged = identity })).code)
      print(pcall(chat.save, chat, path, { unchanged = "x" }))
      print(ebb.file_identity "/absent")
    ]])
    local out = does(("run %s %s"):format(path_of "save.lua", path_of "small.json"))
    contains("true\tits other names (hard links) keep the old content\nconflict\n", out)
    contains("false\tsave: expected the identity", out)
    contains("nil\t/absent: No such file or directory", out)
  end)

  it("standard streams that are closed do not lend their numbers to a script's files #kernel", function()
    file("print.lua", ("local f = io.open(%q, 'w') print 'lost' f:write 'kept' f:close()"):format(path_of "out.txt"))
    local _, _, status = os.execute(("%s run %s >&- 2>%s"):format(EBB, path_of "print.lua", path_of ".err"))
    assert.equal("kept", read(path_of "out.txt"))
    assert.equal(IO, status)
  end)
end)
