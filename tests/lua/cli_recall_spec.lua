--- The command `ebb recall`.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local fails, does, contains = command.fails, command.does, command.contains

local SAMPLE = "scripts/samples/support.json"

describe("ebb recall", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("writes what a trim left out, by the name in its handle", function()
    local short = does("trim " .. SAMPLE .. " --encoding cjk --budget 2000 --policy digest:recall=true")
    local name = assert(short:match "recall (r[%d%-]+)%]")
    local out = does(("recall %s %s"):format(name, SAMPLE))
    local first = ebb.load(SAMPLE)[tonumber(name:match "%d+")]
    contains(first.role .. ": " .. first.text, out)
    contains("tokens left out: recall r", (does(("recall %s %s --tokens 50"):format(name, SAMPLE))))
  end)

  it("writes the messages themselves as JSON", function()
    local list = ebb.json.decode((does(("recall r2-3 %s --json"):format(SAMPLE))))
    assert.equal(2, #list)
    assert.equal(ebb.load(SAMPLE)[2].text, list[1].content)
  end)

  it("refuses other names", function()
    contains("no handle has the name 'seven'", fails(command.USAGE, "recall seven " .. SAMPLE))
    contains("nothing is stored under 'r99999'", fails(command.REFUSED, "recall r99999 " .. SAMPLE))
  end)
end)
