--- The gate of growth itself, on acts whose seconds are known.

dofile "tests/lua/helper.lua"
local gate = dofile "tests/lua/growth_gate.lua"

--- Checks an act; its error, and the largest n that it was called with.
local function check(seconds)
  local largest = 0
  local ok, problem = pcall(gate.check, "act", 500, function(n)
    largest = math.max(largest, n)
    return seconds(n)
  end)
  return not ok and problem or nil, largest
end

describe("the gate of growth", function()
  it("lets pass what is linear, or takes a logarithm more", function()
    assert.same({ nil, 2000 }, { check(function(n) return n / 1000 end) })
    assert.same({ nil, 2000 }, { check(function(n) return n * math.log(n) / 1000 end) })
  end)

  it("lets pass what exceeds the bound only until caches are full", function()
    local cached = { [500] = 0.05, [2000] = 0.29, [8000] = 1.59, [32000] = 6.8 }
    assert.same({ nil, 32000 }, { check(function(n) return cached[n] end) })
    local shared = { [500] = 0.011, [2000] = 0.066, [8000] = 0.528, [32000] = 2.2 }
    assert.same({ nil, 32000 }, { check(function(n) return shared[n] end) })
  end)

  it("measures again what one run disturbed", function()
    local disturbed = false
    assert.is_nil((check(function(n)
      if n == 500 or disturbed then return n / 1000 end
      disturbed = true
      return n / 100
    end)))
  end)

  it("stops what is quadratic, and measures no larger inputs than it must", function()
    local problem, largest = check(function(n) return n * n / 1e6 end)
    assert.matches("16.0 times as long; .*16.0 times", problem)
    assert.equal(8000, largest)
  end)

  it("stops what grows a little too fast at every size", function()
    local problem, largest = check(function(n) return n ^ 1.25 / 1000 end)
    assert.matches("^act: .*5.7 times as long; .*5.7 times.*5.7 times", problem)
    assert.equal(128000, largest)
  end)
end)
