--- The scenarios of the design documents (seeds 000 and 003), through their own
--- JSON. Each folder of tests/golden named after one has input.json and
--- expected.json; with operations.json the expectation is the whole state, else
--- the messages that a query finds.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local json = ebb.json

local function path(flow, name) return ("tests/golden/%s/%s.json"):format(flow, name) end

local function decoded(flow, name) return assert(json.decode(helper.read(path(flow, name)))) end

--- Descriptions are words for people: they may be reworded.
local function without_descriptions(state)
  for _, batch in ipairs(state.batches) do
    batch.description = nil
  end
  return state
end

local function load_flow(flow)
  local has_options = io.open(path(flow, "options"))
  local options = has_options and has_options:close() and decoded(flow, "options") or {}
  options.clock = function() return 0 end
  return assert(ebb.load(path(flow, "input"), options))
end

describe("operations of the seeds", function()
  local flows = {
    "seed000_1_truncate", "seed000_2_insert", "seed000_3_clear", "seed000_3_clear_tools", "seed000_4_filter",
    "seed003_2_keep_last_users",
  }
  for _, flow in ipairs(flows) do
    it(flow, function()
      local chat = load_flow(flow)

      chat:apply(helper.read(path(flow, "operations")))

      local expected = json.encode(decoded(flow, "expected"), { indent = 2 })
      assert.equal(expected, json.encode(without_descriptions(chat:state()), { indent = 2 }))
    end)

    it(flow .. " as a node", function()
      local chat = load_flow(flow)

      assert(require("ebb.workflow").run(chat, { decoded(flow, "operations") }))

      assert.same(decoded(flow, "expected").messages, chat:state().messages)
    end)

    it(flow .. " loses nothing", function()
      local chat = load_flow(flow)
      local before = chat:json()

      chat:apply(helper.read(path(flow, "operations")))
      chat:rollback(0)

      assert.equal(before, chat:json())
    end)
  end
end)

describe("queries of the seeds", function()
  local hour_ago = 1700000000000 + 4 * 600000
  local queries = {
    seed003_1_recent_users = function(chat) return chat:recent("user", 3) end,
    seed003_3_system = function(chat) return chat:where { role = "system" } end,
    seed003_4_assistant_range = function(chat) return chat:range("assistant", 2, 5) end,   -- [1, 5) from 0
    seed003_5_recent_of_roles = function(chat) return chat:recent({ "user", "assistant" }, 3) end,
    seed003_6_last_hour = function(chat) return chat:where { role = "user", since = hour_ago } end,
    seed003_7_marked = function(chat)
      for _, i in ipairs { 2, 1 } do
        chat:mark(chat:recent("user", 7)[i == 1 and 5 or 2], "important")
      end
      chat:mark(1, "important")
      return chat:where { role = "user", marked = "important" }
    end,
  }
  for flow, query in pairs(queries) do
    it(flow, function()
      local found, expected = query(load_flow(flow)), decoded(flow, "expected")

      assert.equal(#expected, found:count())
      for i, message in ipairs(expected) do
        assert.same(message, found[i]:totable())
      end
    end)
  end
end)
