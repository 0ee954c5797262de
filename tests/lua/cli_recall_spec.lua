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
    for _, name in ipairs { "r0", "r0-3", "r5-2", "r5-", "r", "5", "R5", "r1.5", "r99999999999999999999" } do
      contains(("has the name '%s'"):format(name), fails(command.USAGE, ("recall %s %s"):format(name, SAMPLE)))
    end
    for _, tokens in ipairs { "-1", "x", "1e3", "99999999999999999k" } do
      contains(("got '%s'"):format(tokens), fails(command.USAGE, ("recall r5 %s --tokens %s"):format(SAMPLE, tokens)))
    end
  end)

  it("does not replace the conversation", function()
    local copy = command.file("chat.json", helper.read(SAMPLE))
    contains("would replace the input", fails(command.USAGE, ("recall r5 %s -o %s"):format(copy, copy)))
    assert.equal(helper.read(SAMPLE), helper.read(copy))
  end)
end)
