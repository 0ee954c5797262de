--- Checks values that enter a sandbox: tables are numbered there as they come, in an order without addresses.

local helper = dofile "tests/lua/helper.lua"
local loader = require "ebb.sandbox.loader"

--- pairs walks over references in the order in which a sandbox has numbered them.
local SCRIPT = [[return { order = function(t)
  local by, list = {}, {}
  for name, value in pairs(t) do by[value] = name end
  for _, name in pairs(by) do list[#list + 1] = name end
  return list
end, call = function(t)
  local results = {}
  for name, value in pairs(t) do results[name] = value() end
  return results
end }]]

local cases = {
  -- what it shows                          keys in their order
  { "fields", (function()
    local names = {}
    for i = 1, 300 do names[i] = ("key %03d"):format(i) end
    return names
  end)() },
  { "a list", { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 } },
  { "keys of all types", { 1, 2, 4, 7, 1 << 40, -5, -0.5, 0, 0.25, 1e100, false, true, "", "a", "a\0", "aa", "b" } },
}

--- A table with these keys, set in a random order; the values are made by `new`.
local function table_of(keys, new)
  local result, rest = {}, table.move(keys, 1, #keys, 1, {})
  while #rest > 0 do
    local key = table.remove(rest, math.random(#rest))
    result[key] = new(key)
  end
  return result
end

describe("what enters a sandbox has the order of its keys:", function()
  local script
  before_each(function() script = loader.load(helper.lua_file(SCRIPT)) end)
  after_each(helper.clean)

  for _, case in ipairs(cases) do
    it("tables, " .. case[1], function()
      assert.same(case[2], script.order(table_of(case[2], function() return {} end)))
    end)

    it("tables next to other values, " .. case[1], function()
      local keys = {}
      for i, key in ipairs(case[2]) do
        if i % 3 ~= 0 then keys[#keys + 1] = key end
      end
      local wanted = table_of(case[2], function(key) return { key } end)
      for i, key in ipairs(case[2]) do
        if i % 3 == 0 then wanted[key] = "text " .. i end
      end
      local order = {}
      for _, key in ipairs(script.order(wanted)) do
        if type(wanted[key]) == "table" then order[#order + 1] = key end
      end
      assert.same(keys, order)
    end)

    it("functions, " .. case[1], function()
      local callbacks = table_of(case[2], function(key) return function() return key end end)
      assert.same(case[2], script.order(callbacks))
      assert.same(table_of(case[2], function(key) return key end), script.call(callbacks))
    end)
  end
end)
