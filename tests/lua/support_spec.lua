--- "Did you mean", and tables.

dofile "tests/lua/helper.lua"
local suggest = require "ebb.support.suggest"

describe("suggest", function()
  local names = { "keep_first", "keep_last", "remove_last", "role", "range" }
  local cases = {
    { "keepLast", "keep_last" }, { "keep-last", "keep_last" }, { "KEEP_LAST", "keep_last" },
    { "kepe_last", "keep_last" },
    { "rol", "role" }, { "rnage", "range" }, { "temperature", nil }, { "", nil }, { ("x"):rep(10000), nil },
  }
  for _, case in ipairs(cases) do
    it(case[1]:sub(1, 20) .. " -> " .. tostring(case[2]), function()
      assert.equal(case[2], suggest.nearest(case[1], names))
    end)
  end

  it("lists a few names where none is near", function()
    assert.equal("one of: a_long_one, b", suggest.hint("temperature", { "a_long_one", "b" }))
  end)
end)

describe("tables", function()
  local tables = require "ebb.support.tables"

  it("lists keys sorted, and copies in depth with marks of JSON", function()
    local core = require "ebb.support.core"
    local original = { list = core.json.array {}, nested = { 1, { 2 } } }
    local copy = tables.copy(original)
    assert.same({ "list", "nested" }, tables.keys(original))
    assert.equal('{"list":[],"nested":[1,[2]]}', core.json.encode(copy))
    copy.nested[2][1] = 3
    assert.equal(2, original.nested[2][1])
  end)
end)
