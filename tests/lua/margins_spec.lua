--- Margins: budgets of models that are counted by estimates keep so much free as these may be short of.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local margins = require "ebb.models.margins"

local function chat_of(options)
  local chat = ebb.conversation(options)
  for i = 1, 40 do chat:append { role = "user", content = ("word "):rep(50) .. i } end
  return chat
end

describe("margins", function()
  it("are undone exactly, whatever the figures", function()
    for percent = 0, 30 do
      for tokens = 0, 300 do
        local whole = margins.with(tokens, percent)
        assert.equal(tokens, margins.without(whole, percent))
        assert.truthy(whole == 0 or margins.without(whole - 1, percent) < tokens)
      end
    end
    assert.equal(1 << 53, margins.without(margins.with(1 << 53, 15), 15))
  end)

  it("stay free in a trim for a model that is estimated, and the report says how much", function()
    local rows = {
      { { model = "claude-opus-4-5" }, 909 }, { { model = "anthropic/claude-opus-4.7" }, 869 },
      { { model = "claude-opus-4-5", encoding = "bytes4" }, 1000 }, { {}, 1000 },
      { { model = "claude-opus-4-5" }, 909, { encoding = "cjk" }, 1000 },
      { {}, 1000, { model = "claude-opus-4-5" }, 909 },
      { { model = "claude-opus-4-5", encoding = "claude" }, 1000 },
    }
    for i, row in ipairs(rows) do
      local options, own, named, other = table.unpack(row)
      local report = assert(chat_of(options):trim { budget = 1000, dry_run = true })
      assert.same({ i, own, 1000 - own }, { i, report.budget, report.margin })
      if named then
        named.budget, named.dry_run = 1000, true
        report = assert(chat_of(options):trim(named))
        assert.same({ i, other, 1000 - other }, { i, report.budget, report.margin })
      end
    end
  end)

  it("are none by an encoding of the caller's choice, even the substitute", function()
    local model = "ebb-test-margin"
    ebb.models[model] = { encoding = "not-installed", window = 8000, output = 1000, dialect = "openai" }
    finally(function() ebb.models[model] = nil end)
    local function margin(chat) return assert(chat:trim { budget = 1000, dry_run = true }).margin end
    local chat = chat_of { model = model }
    assert.same({ "cjk", 131 }, { chat:encoding(), margin(chat) })
    assert.equal(0, margin(chat_of { model = model, encoding = "cjk" }))
    assert.equal(0, margin((assert(ebb.parse('{"model":"ebb-test-margin","messages":[]}', { encoding = "cjk" })))))
    chat:recount { encoding = "cjk" }
    assert.equal(0, margin(chat:fork()))
    chat:recount { model = model }
    assert.equal(131, margin(chat))
  end)

  it("go after a report of the provider", function()
    local chat = chat_of { model = "claude-opus-4-5" }
    chat:report_usage { prompt_tokens = chat:tokens() + 100 }
    assert.equal(0, assert(chat:trim { budget = 1000, dry_run = true }).margin)
  end)

  it("count in the smallest budget that fits", function()
    local chat = ebb.conversation { model = "claude-opus-4-5" }
    chat:append { role = "user", content = ("word "):rep(50) }
    local _, problem = chat:trim { budget = 1 }
    local smallest = tonumber(problem.message:match "the smallest that fits is (%d+)")
    assert.equal(margins.with(chat:tokens(), 10), smallest)
    assert.truthy(chat:trim { budget = smallest })
    assert.is_nil((chat:trim { budget = smallest - 1 }))
  end)

  it("stay free in a replay: its figures are those of the smaller budget without one", function()
    local function replayed(options, budget)
      local chat = ebb.conversation(options)
      for i = 1, 60 do
        local role = i % 2 == 1 and "user" or "assistant"
        chat:append { role = role, content = ("word "):rep(20) .. "T-" .. 7000 + i // 9 }
      end
      return assert(ebb.replay(chat, { budget = budget, policies = { "stable_prefix" }, cache = "general" }))[2]
    end

    local estimated = replayed({ model = "claude-opus-4-5" }, 1000)
    local exact = replayed({ encoding = "claude" }, 909)
    for _, field in ipairs { "budget", "requests_over", "fill", "optimum", "share", "recall_values" } do
      assert.truthy(exact[field], field)
      assert.equal(exact[field], estimated[field], field)
    end
  end)

  it("stay free in a pipeline, which says so", function()
    local function run(options)
      options.set = { "token-limiter.budget=1000" }
      local result = assert(ebb.pipeline(options):run(chat_of {}))
      for _, entry in ipairs(result.logs) do
        local said = entry.message:match "^%d+ %-> %d+ tokens, (budget.-):"
        if said then return result, said end
      end
    end

    local result, said = run { model = "claude-opus-4-5" }
    assert.equal("budget 909 and 10 % for estimates", said)
    assert.equal(909, result.budget)
    local one = result.chat[#result.chat].tokens
    assert.truthy(result.tokens <= 909 and result.tokens > 909 - one - 4, result.tokens)   -- once, not twice
    assert.equal("budget 1000", select(2, run { model = "claude-opus-4-5", encoding = "claude" }))
  end)

  it("are taken off once in a pipeline, whose request is as full as it may be", function()
    local list = {}
    for i = 1, 400 do list[i] = { role = "user", content = "word word " .. i } end
    local model = "claude-opus-4-5"
    for name, options in pairs { own = { model = model }, chosen = { model = model, encoding = "claude" } } do
      local chat = ebb.conversation(options)
      chat:append(list)
      local body = assert(ebb.parse(ebb.json.encode { model = model, messages = list }, options))
      for _, source in ipairs { chat, body } do
        local result = assert(ebb.pipeline { encoding = options.encoding, set = { "token-limiter.budget=1000" } }
          :run(source))
        local budget = name == "own" and 909 or 1000
        assert.equal(budget, result.budget)
        assert.truthy(result.tokens <= budget and result.tokens > budget - 32, name .. result.tokens)
      end
    end
  end)
end)
