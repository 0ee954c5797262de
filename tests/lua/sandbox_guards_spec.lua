--- What lua/ebb/sandbox itself keeps from scripts: the globals of the library beside them, modules that go in circles.
--- Each test fails when its guard is taken out.

local helper = dofile "tests/lua/helper.lua"

--- A folder with a policy and modules beside it; trims by it, and gives the error's message.
--- `link`: what m.lua leads to.
local function run(files, link)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
  finally(function() os.execute("rm -r " .. folder) end)
  for name, text in pairs(files) do
    local file = assert(io.open(folder .. "/" .. name, "wb"))
    file:write(text)
    file:close()
  end
  if link then assert(os.execute(("ln -s %s %s/m.lua"):format(link, folder))) end
  local report, problem = helper.conversation("u20 a20 u5"):trim { budget = 1000, policy = folder .. "/policy.lua" }
  return report == nil and problem.message or nil
end

--- Names that the library has in its sandbox, and the script has not.
local NOTHING_OF_THE_LIBRARY = [[
  for _, name in ipairs { "host", "functions", "printer", "io", "os", "debug", "package", "setmode" } do
    if _ENV[name] ~= nil or _G[name] ~= nil then error("global " .. name) end
  end
]]

describe("the library beside a script", function()
  it("keeps its globals from the script", function()
    assert.is_nil(run { ["policy.lua"] = NOTHING_OF_THE_LIBRARY .. "return function() end" })
  end)

  it("keeps its globals from modules", function()
    assert.is_nil(run { ["policy.lua"] = "require 'm' return function() end", ["m.lua"] = NOTHING_OF_THE_LIBRARY })
  end)

  it("refuses a module that requires itself", function()
    local message = run { ["policy.lua"] = "require 'm' return function() end",
      ["m.lua"] = "local m = require 'm' return m" }

    assert.matches("m.lua:1: module 'm' requires itself, or failed before", message, 1, true)
  end)

  it("opens no module through a link", function()
    local message = run({ ["policy.lua"] = "require 'm' return function() end", ["n.lua"] = "return 1" }, "n.lua")

    assert.matches("m.lua: .*a symbolic link is not followed", message)
  end)

  it("opens no module of more than a mebibyte", function()
    local message = run { ["policy.lua"] = "require 'm' return function() end", ["m.lua"] = ("-"):rep(1024 * 1024 + 1) }

    assert.matches("m.lua: it is larger than 1048576 bytes", message, 1, true)
  end)

  it("loads a module once", function()
    assert.is_nil(run { ["policy.lua"] = "assert(require 'm' == require 'm') return function() end",
      ["m.lua"] = "return {}" })
  end)
end)
