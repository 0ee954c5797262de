--- The small parts that the rest stands on: did-you-mean, and declared options.

local helper = dofile "tests/lua/helper.lua"
local refusal = helper.refusal
local options = require "ebb.support.options"
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

describe("options", function()
  local declared = {
    n = { type = "integer", default = 2, min = 1, max = 9 },
    x = { type = "number" },
    on = { type = "boolean", default = false },
    mode = { type = "choice", choices = { "first", "last" }, default = "first" },
    names = { type = "list", default = {} },
    word = { type = "string" },
    map = { type = "table" },
  }

  it("give what was given, else the defaults, each run its own", function()
    local a, b = options.check(declared, { n = 3.0, x = 1 }, "p"), options.check(declared, nil, "p")
    assert.same({ n = 3, x = 1, on = false, mode = "first", names = {} }, a)
    assert.equal("integer", math.type(a.n))
    assert.same({ n = 2, on = false, mode = "first", names = {} }, b)
    assert.not_equal(a.names, b.names)
    assert.is_false(options.check(declared, { on = false }, "p").on)
  end)

  local refused = {
    { { n = 0 } }, { { n = 10 } }, { { n = 1.5 } }, { { n = "3" } }, { { x = 0 / 0 } }, { { x = math.huge } },
    { { on = 1 } }, { { word = 5 } }, { { map = "x" } }, { { names = { a = 1 } } },
    { { mode = "frist" }, "did you mean 'first'?" }, { { mod = "first" }, "did you mean 'mode'?" }, { 5 },
  }
  for i, case in ipairs(refused) do
    it("refuse case " .. i, function()
      local problem = refusal(options.check, declared, case[1], "policy p")
      assert.truthy(problem.code == "argument" or problem.code == "unknown_name", problem.code)
      assert.truthy(problem.message:find("policy p", 1, true))
      if case[2] then assert.equal(case[2], problem.hint) end
    end)
  end

  it("are read from texts by their types", function()
    local given = options.parse(declared, "n=3,x=1.5,on=true,mode=last,names=a,b,word=w,map={\"k\":1}", "p")
    assert.same({ n = 3, x = 1.5, on = true, mode = "last", names = { "a", "b" }, word = "w", map = { k = 1 } }, given)
    assert.same({}, options.parse(declared, "", "p"))
    assert.same({ names = { "a", "b" } }, options.parse(declared, 'names=["a","b"]', "p"))
    for _, text in ipairs { "n=x", "on=maybe", "nn=1", "word", "map=[1" } do
      local code = refusal(options.parse, declared, text, "p").code
      assert.truthy(code == "argument" or code == "unknown_name", code)
    end
  end)

  it("of declarations that are wrong themselves", function()
    for _, bad in ipairs {
      { n = { type = "int" } }, { n = { type = "integer", default = "x" } }, { n = { typ = "integer" } }, { n = 5 },
      { m = { type = "choice" } }, { m = { type = "choice", choices = { "a" }, default = "b" } },
      { s = { type = "string", min = 1 } },
    } do
      assert.equal("shape", refusal(options.declare, bad, "policy p").code)
    end
  end)
end)
