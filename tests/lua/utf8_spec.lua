--- Errors, reasons and the log are UTF-8, whatever a script says: other bytes become U+FFFD.

local helper = dofile "tests/lua/helper.lua"
local ebb, refusal = helper.ebb, helper.refusal
local log = require "ebb.support.log"

local WORDS = "u10 a10 u10 a10 u10"

--- A file that is gone after the call.
local function with_file(text, run)
  local path = os.tmpname() .. ".lua"
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local results = table.pack(pcall(run, path))
  os.remove(path)
  assert(results[1], results[2])
  return table.unpack(results, 2, results.n)
end

describe("what a script says in bytes that are no UTF-8", function()
  local failing = { "error '\\xff'", "error { code = 'c', message = 'm\\xff' }", "draft['\\xff']()" }
  for _, body in ipairs(failing) do
    it("is mended in the refusal of its policy: " .. body, function()
      local _, message = with_file("return function(draft) " .. body .. " end", function(path)
        return helper.conversation(WORDS):trim { budget = 20, policy = path }
      end)
      assert.truthy(utf8.len(message.message))
      local _, other = helper.conversation(WORDS):trim { budget = 20, policy = function() error "a\xffb" end }
      assert.truthy(other.message:find("a\u{FFFD}b", 1, true))
    end)
  end

  it("is mended in reasons, notes and the log", function()
    local lines = {}
    local before = log.to(function(line) lines[#lines + 1] = line end)
    local report = with_file([[return function(draft, budget)
      print "p\xff" draft:note "n\xff" draft:drop_oldest { to = budget, reason = "r\xff" } end]], function(path)
      return assert(helper.conversation(WORDS):trim { budget = 20, policy = path })
    end)
    log.to(before)
    assert.same({ "p\u{FFFD}" }, lines)
    assert.equal("r\u{FFFD}", report.ledger[1].reason)
    assert.truthy(utf8.len(ebb.json.encode { report.ledger[1].reason }))
  end)

  it("is refused as a name", function()
    local chat = helper.conversation(WORDS)
    assert.equal("encoding", refusal(function() chat:mark(1, "\xff") end).code)
    assert.equal("encoding", refusal(function() chat:checkpoint "\xff" end).code)
    assert.equal("rollback: no checkpoint '\u{FFFD}'", refusal(function() chat:rollback "\xff" end).message)
  end)
end)
