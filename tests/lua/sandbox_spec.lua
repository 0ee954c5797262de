--- Every bound function says what it costs a sandboxed script.

local core = require "ebb.core"

describe("in a sandbox", function()
  it("each bound function has a charge", function()
    local without = {}
    for name in pairs(core.parameters) do
      if not core.charge(name) then without[#without + 1] = name end
    end
    table.sort(without)
    assert.same({}, without)
  end)

  it("what reaches files is never available", function()
    local files = { "ebb.read_file", "ebb.write_file", "ebb.load", "Conversation:save", "ebb.list_folder", "core.root",
      "Root:read" }
    for _, name in ipairs(files) do
      assert.equal("never", core.charge(name))
    end
    assert.is_nil(core.charge "ebb.nothing")
  end)
end)
