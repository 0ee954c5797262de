--- The texts of what scripts and hosts answer with.

local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local text_form = require "ebb.support.text_form"

describe("the text form of a value", function()
  it("is a number as Lua writes it, else JSON", function()
    assert.equal("3 2.5 true [1,2]", ("%s %s %s %s"):format(text_form(3), text_form(2.5), text_form(true),
      text_form { 1, 2 }))
  end)

  it("is absent where there is none", function()
    assert.is_nil(text_form(print))
    assert.is_nil(text_form { print })
  end)

  it("is no absent one where memory is short", function()
    local encode = core.json.encode
    finally(function() core.json.encode = encode end)
    core.json.encode = function() error(core.error("memory", "not enough memory"), 0) end
    assert.equal("memory", helper.refusal(text_form, {}).code)
    core.json.encode = function() error("not enough memory", 0) end
    local done, problem = pcall(text_form, {})
    assert.same({ false, "not enough memory" }, { done, problem })
  end)
end)
