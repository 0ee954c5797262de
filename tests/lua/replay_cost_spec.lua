--- Checks the costs of a replay: each provider's cache, and prices, with sums worked out by hand.

local helper = dofile "tests/lua/helper.lua"
local ebb, conversation, refusal = helper.ebb, helper.conversation, helper.refusal
local cache = require "ebb.replay.cache"
local caches = require "ebb.models.caches"

local function rule_of(model)
  return (caches.of(model, ebb.models[model]))
end

--- Requests in steps: tokens shared with the one before, tokens of it all, minutes at which it is sent; then
--- what is read, and what is written.
local IN_STEPS = {
  { "gpt-5", "nothing was sent before; 2,000 are 15 steps of 128 and 80 tokens",
    { 0, 2000, 0, read = 0, written = 1920 } },
  { "gpt-5", "15 steps are served; 19 steps are kept then",
    { 0, 2000, 0 }, { 2000, 2500, 1, read = 1920, written = 512 } },
  { "gpt-5", "1,023 are too few, 1,024 are not",
    { 0, 9000, 0 }, { 1023, 9000, 0, read = 0 }, { 1024, 9000, 0, read = 1024 } },
  { "gpt-5", "ten minutes are not too long, a millisecond more is",
    { 0, 2048, 0 }, { 2048, 2048, 10, read = 2048 }, { 2048, 2048, 20 + 1 / 60000, read = 0 } },
  { "gpt-5", "each use begins ten more minutes", { 0, 2048, 0 }, { 2048, 2048, 9 }, { 2048, 2048, 18, read = 2048 } },
  { "gpt-5.6", "lives for half an hour", { 0, 2048, 0 }, { 2048, 2048, 30, read = 2048 } },
  { "gemini-2.5-pro", "2,047 are too few; there are no steps",
    { 0, 5000, 0 }, { 2047, 5000, 0, read = 0 }, { 2049, 5000, 0, read = 2049 }, { 2049, 5000, 6, read = 0 } },
  { "gemini-3-pro-preview", "needs 4,096",
    { 0, 5000, 0 }, { 4095, 5000, 0, read = 0 }, { 4096, 5000, 0, read = 4096 } },
  { "deepseek-chat", "units of 64: 130 are two of them",
    { 0, 500, 0 }, { 63, 500, 0, read = 0 }, { 130, 500, 0, read = 128 }, { 130, 500, 120, read = 128 },
    { 130, 500, 241, read = 0 } },
  { "any-model", "every token counts, for five minutes",
    { 0, 3, 0 }, { 1, 3, 5, read = 1, written = 2 }, { 2, 3, 11, read = 0 } },
}

--- Marked beginnings: tokens and messages shared, tokens and messages of it all, tokens of the head of one message.
local MARKED = {
  { "claude-sonnet-4-5", "the end of the request before is found; the rest is written",
    { 0, 0, 1500, 3, 1100, read = 0, written = 1500 }, { 1500, 3, 1800, 5, 1100, read = 1500, written = 300 } },
  { "claude-sonnet-4-5", "after a cut only the head is",
    { 0, 0, 1500, 3, 1100 }, { 1250, 2, 1400, 3, 1100, read = 1100, written = 300 } },
  { "claude-sonnet-4-5", "a head below 1,024 is not kept: after a cut nothing is found",
    { 0, 0, 1500, 3, 1023 }, { 1250, 2, 1400, 3, 1023, read = 0, written = 1400 } },
  { "claude-sonnet-4-5", "a request below 1,024 is fresh, not written", { 0, 0, 1023, 3, 500, read = 0, written = 0 } },
  { "claude-opus-4-5", "needs 4,096: the second request is the first that is kept",
    { 0, 0, 4000, 3, 1500, read = 0, written = 0 }, { 4000, 3, 4200, 5, 1500, read = 0, written = 4200 },
    { 4200, 5, 4300, 7, 1500, read = 4200, written = 100 } },
  { "claude-opus-4-7", "needs 2,048",
    { 0, 0, 2047, 3, 9, written = 0 }, { 2047, 3, 2048, 5, 9, read = 0, written = 2048 } },
  { "claude-sonnet-4-5", "an end 20 messages back is found, also when the request before is not shared whole",
    { 0, 0, 2000, 10, 9 }, { 2000, 10, 9000, 40, 9, read = 2000 }, { 2500, 12, 2600, 30, 9, read = 2000 } },
  { "claude-sonnet-4-5", "an end 21 messages back is not",
    { 0, 0, 2000, 10, 9 }, { 2000, 10, 9000, 40, 9 }, { 2500, 12, 2600, 31, 9, read = 0 } },
  { "claude-sonnet-4-5", "a beginning that changed is forgotten",
    { 0, 0, 2000, 10, 9 }, { 0, 0, 2000, 10, 9, read = 0 }, { 2000, 10, 2100, 11, 9, read = 2000 } },
}

local function serve_all(rule, requests, read_case)
  local self = cache.new(rule)
  for i, request in ipairs(requests) do
    local read, written = cache.serve(self, read_case(request))
    assert.equal(request.read or read, read, "read, request " .. i)
    assert.equal(request.written or written, written, "written, request " .. i)
  end
end

describe("a cache", function()
  for _, case in ipairs(IN_STEPS) do
    it(("of %s: %s"):format(case[1], case[2]), function()
      serve_all(rule_of(case[1]), table.move(case, 3, #case, 1, {}), function(request)
        return { shared = request[1], tokens = request[2], time = request[3] * 60000, shared_messages = 0, messages = 1,
          head = 0, head_messages = 0 }
      end)
    end)
  end

  for _, case in ipairs(MARKED) do
    it(("of %s: %s"):format(case[1], case[2]), function()
      serve_all(rule_of(case[1]), table.move(case, 3, #case, 1, {}), function(request)
        return { shared = request[1], shared_messages = request[2], tokens = request[3], messages = request[4],
          head = request[5], head_messages = 1 }
      end)
    end)
  end

  it("of Anthropic lives five minutes after its last use, or an hour", function()
    local function request(minutes)
      return { shared = 2000, shared_messages = 4, tokens = 2000, messages = 4, head = 9, head_messages = 1,
        time = minutes * 60000 }
    end
    for name, minutes in pairs { anthropic = 5, anthropic_1h = 60 } do
      local self = cache.new((caches.of("claude-sonnet-4-5", nil, name)))
      cache.serve(self, request(0))
      assert.equal(2000, (cache.serve(self, request(minutes))))
      assert.equal(2000, (cache.serve(self, request(2 * minutes))))
      assert.equal(0, (cache.serve(self, request(3 * minutes + 0.1))))
    end
  end)
end)

describe("the rule of a cache", function()
  local cases = {
    -- name                        model                             choice          rule            minimum  write
    { "gpt-4o",                    nil,                              nil,            "openai",          1024, 1 },
    { "openai/gpt-5.6-mini",       nil,                              nil,            "openai_30m",      1024, 1.25 },
    { "anthropic/claude-opus-4-6", nil,                              nil,            "anthropic",       4096, 1.25 },
    { "claude-opus-4-1",           nil,                              nil,            "anthropic",       1024, 1.25 },
    { "claude-haiku-4-5-20251001", nil,                              "anthropic_1h", "anthropic_1h",    4096, 2 },
    { "claude-haiku-4-5",          nil,                              "openai",       "openai",          1024, 1 },
    { "llama-3",                   { dialect = "openai" },           nil,            "general",            1, 1 },
    { "mine",                      { dialect = "anthropic" },        nil,            "anthropic",       1024, 1.25 },
    { "mine",                      { cache = "deepseek" },           nil,            "deepseek",          64, 1 },
    { "gpt-4o",                    { cache = { minimum = 7 } },      nil,            "own",                7, 1 },
    { nil,                         nil,                              nil,            "general",            1, 1 },
  }
  for _, case in ipairs(cases) do
    it(("of %s is %s"):format(case[1], case[4]), function()
      local rule, name = caches.of(case[1], case[2], case[3])
      assert.same({ case[4], case[5], case[6] }, { name, rule.minimum, rule.write })
    end)
  end

  it("is checked where a model says it", function()
    local function set(rule)
      return function() ebb.models.cached = { encoding = "cjk", window = 9, cache = rule } end
    end
    assert.truthy(refusal(set "opnai").message:find "cache", 1, true)
    assert.truthy(refusal(set { minimum = -1 }).message:find("cache.minimum", 1, true))
    assert.truthy(refusal(set { steps = 5 }).message:find("cache.steps", 1, true))
    set { minimum = 5, step = 5 }()
    ebb.models.cached = nil
  end)
end)

--- A conversation that counts as its words say, for a model.
local function chat_of(words, model)
  return conversation(words, { model = model })
end

local function results_of(chat, options)
  options.budget = options.budget or 100000
  return assert(ebb.replay(chat, options))
end

local function near(expected, value)
  assert(math.abs(expected - value) < 1e-9, ("expected %.9g, got %.9g"):format(expected, value))
end

describe("the cost of a replay", function()
  it("is in tokens of fresh input where no price is known", function()
    -- requests of 4, 11, 18 tokens, which share 0, 4, 11: 18 fresh ones and 15 at a tenth
    local none = results_of(conversation "u4 a3 u4 a3 u4 a3", {})[1]
    assert.same({ "general", "tokens", 15 }, { none.cache, none.cost_unit, none.cached })
    near(18 + 1.5, none.cost)
    near(1, none.relative_cost)
    assert.is_nil(none.reply_cost)
  end)

  it("counts what is written: Claude", function()
    -- 2,000 written at 1.25; then 2,000 read at 0.1 and 800 written
    near(2500 + 200 + 1000, results_of(chat_of("u2000 a500 u300 a1", "claude-sonnet-4-5"), {})[1].cost)
    -- the same for an hour: written at 2
    local hour = results_of(chat_of("u2000 a500 u300 a1", "claude-sonnet-4-5"), { cache = "anthropic_1h" })[1]
    near(4000 + 200 + 1600, hour.cost)
    assert.same({ "anthropic_1h", 2000, 2800 }, { hour.cache, hour.cached, hour.written })
  end)

  it("is in money where prices are known, those of the call first", function()
    -- gpt-4o: 400, 1,100 and 1,800 tokens; the last one shares 1,100, of which 1,024 are served
    local chat, before = chat_of("u400 a300 u400 a300 u400 a300", "gpt-4o"), ebb.models["gpt-4o"].prices
    ebb.models["gpt-4o"].prices = { input = 2, cached_input = 0.5, output = 9 }
    local result = results_of(chat, {})[2]
    local dearer = results_of(chat, { prices = { input = 4, output = 10 } })[2]   -- without a price for cached ones
    ebb.models["gpt-4o"].prices = before
    near((2276 * 2 + 1024 * 0.5) / 1e6, result.cost)
    near(900 * 9 / 1e6, result.reply_cost)
    assert.same({ "money", 900 }, { result.cost_unit, result.reply_tokens })
    near(3300 * 4 / 1e6, dearer.cost)
  end)

  it("takes the rule's price for writing from the price of input, unless there is one", function()
    local chat = chat_of("u2000 a500 u300 a1", "claude-sonnet-4-5")
    local prices = { input = 4, cached_input = 1, output = 9 }
    near((2800 * 5 + 2000 * 1) / 1e6, results_of(chat, { prices = prices })[1].cost)
    prices.cache_write = 6
    near((2800 * 6 + 2000 * 1) / 1e6, results_of(chat, { prices = prices })[1].cost)
  end)

  it("is cold after a gap in the messages' timestamps", function()
    local function played(seconds)
      local messages = helper.messages "u4 a3 u4 a3"
      for i, ms in ipairs { 0, 999, 1000 * seconds, 1000 * seconds + 9 } do messages[i].timestamp = ms end
      local chat = conversation ""
      chat:append(messages)
      return results_of(chat, {})[1].cost
    end
    near(4 + 7 + 0.4, played(300))
    near(4 + 11, played(301))
  end)

  it("counts tools with the head, which every request shares", function()
    local body = ebb.json.encode {
      messages = { { role = "user", content = "one" }, { role = "assistant", content = "two" },
        { role = "user", content = "three" }, { role = "assistant", content = "four" } },
      tools = { { type = "function", ["function"] = { name = "f", description = ("word "):rep(400) } } },
    }
    local chat = ebb.parse(body, { encoding = "bytes4" })
    local base = chat:fork():tokens() - chat[1].tokens - chat[2].tokens - chat[3].tokens - chat[4].tokens
    assert.is_true(base > 400)
    assert.equal(base + chat[1].tokens, results_of(chat, {})[1].cached)
  end)

  it("has no price for a refused request, which is not sent", function()
    -- 1 is sent, 52 refused, 3 (a1 u2) sent; no trimming: 1, 51 + 0.1, 3 + 5.2
    local chat = conversation "u1 a1 u50 a1 u2 a1"
    local results = results_of(chat, { budget = 20, policies = { "keep_recent", function() end } })
    assert.same({ 0, 1, 2 }, { results[1].refusals, results[2].refusals, results[3].refusals })
    near(60.3, results[1].cost)
    near(1 + 3, results[2].cost)
    near(1, results[3].cost)
    near(1 / 60.3, results[3].relative_cost)
    assert.is_nil(results[2].optimum)
  end)

  it("is never less for refusing, with what the refused requests had", function()
    local chat = chat_of("s900 u400 a300 u400 c50(x) r300(x) a100 u50 a900 u30 a10", "claude-sonnet-4-5")
    local function refusing(positions)
      local count = 0
      return function(draft, budget)
        count = count + 1
        if not positions[count] then draft:drop_oldest { to = budget } end
      end
    end
    local policies = { refusing {} }
    for i = 1, 5 do policies[i + 1] = refusing { [i] = true } end
    local results = results_of(chat, { budget = 1500, policies = policies })
    local dearest = math.max(1, rule_of("claude-sonnet-4-5").write)   -- tokens of fresh input
    local refused = 0
    for i = 3, #results do
      assert.is_true(results[i].cost + results[i].refused_tokens * dearest >= results[2].cost)
      refused = refused + results[i].refusals
    end
    assert.is_true(refused > 0)
    assert.equal(0, results[2].refusals)
    assert.equal(2, require("ebb.replay.choice").position(results))
  end)

  it("is not asked for before refusals: a cheaper policy that refuses more is not taken", function()
    local chat = chat_of("s900 u400 a300 u400 c50(x) r300(x) a100 u50 a900 u30 a10", "claude-sonnet-4-5")
    local results = results_of(chat, { budget = 1500, policies = { function() end, "keep_recent" } })
    assert.is_true(results[2].refusals > 0)
    assert.equal(0, results[3].refusals)
    assert.is_true(results[2].cost < results[3].cost)
    assert.equal(3, require("ebb.replay.choice").position(results))
  end)
end)

describe("a replay's optimum", function()
  it("is no less than what policies share that only cut", function()
    local chat = conversation "s3 u4:a a3:a u4:b a3:b u4:c c3(x) r9(x) a2 u4:d a3:d u4:e a3:e u4:f a3:f"
    for budget = 14, 40, 2 do
      local results = results_of(chat, { budget = budget, policies = { "keep_recent", "stable_prefix" } })
      for i = 2, #results do
        local result = results[i]
        if result.optimum then
          assert(result.optimum >= result.share - 1e-9, ("%s, budget %d"):format(result.policy, budget))
          near(result.optimum - result.share, result.distance)
        end
      end
    end
  end)

  it("is missing where no trimming sends more than the budget", function()
    local results = results_of(conversation "u4 a3 u4 a3 u4 a3", { budget = 12 })
    assert.is_nil(results[1].optimum)
    assert.truthy(results[2].optimum)
  end)
end)
