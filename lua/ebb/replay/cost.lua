--- Measure: what the requests of a replay cost as input, by the provider's cache and prices.
--
--     cost = fresh x input + read x cached + written x write
--
-- in money where prices are known, else in tokens of fresh input, of which the rule of the cache
-- says what reading and writing are worth. Replies cost the same under every policy; their price
-- is a figure of its own.
--
-- A refused request is not sent: it costs nothing, and counts as refused. Policies are compared by their
-- refusals first.

local cache = require "ebb.replay.cache"
local caches = require "ebb.models.caches"
local core = require "ebb.support.core"
local models = require "ebb.models"

local cost = {}

---@class ebb.replay.Rates     Of one token
---@field fresh number
---@field read number
---@field written number
---@field reply? number        of a million; nil: no price is known

---@param prices? table        of a model, per million tokens
---@param rule ebb.CacheRule
---@return ebb.replay.Rates
function cost.rates(prices, rule)
  if not prices then return { fresh = 1, read = rule.read, written = rule.write } end
  local input, cached = prices.input, prices.cached_input
  local write = prices.cache_write or cached and input * rule.write or input
  return { fresh = input / 1e6, read = (cached or input) / 1e6, written = write / 1e6,
    reply = prices.output }
end

--- Returns, by position of a reply in the recording, when its request was made, in ms.
local function request_times(recording)
  local times, before = {}, nil
  for position, message in ipairs(recording) do
    local time = message.timestamp
    times[position] = before or time
    before = time
  end
  return times
end

---@param recording ebb.Conversation
---@param settings { prices?: table, cache?: string }   what overrides the model's own
function cost.prepare(recording, settings)
  local model = models.of_chat(recording)
  local rule, name = caches.of(models.name(recording), model, settings.cache)
  local prices = settings.prices or model and model.prices
  return { rule = rule, cache = name, rates = cost.rates(prices, rule), has_prices = prices ~= nil,
    times = request_times(recording), base = core.like(recording):tokens() }
end

--- Tokens and number of the leading system messages.
local function head_of(chat)
  local tokens, count = 0, 0
  for i = 1, #chat do
    local message = chat[i]
    if message.role ~= "system" then break end
    tokens, count = tokens + message.tokens, i
  end
  return tokens, count
end

local Observer = {}
Observer.__index = Observer

function cost.observe(prepared)
  return setmetatable({
    prepared = prepared, cache = cache.new(prepared.rule), is_first = true,
    read = 0, written = 0, cost = 0, replies = 0,
  }, Observer)
end

--- Describes a request for the cache. Tokens before the messages, such as tools, are part of it.
local function cache_request(self, run, request)
  local base = self.prepared.base
  local head, head_messages = head_of(run.chat)
  return {
    tokens = request.tokens, shared = self.is_first and 0 or base + request.shared,
    shared_messages = self.is_first and -1 or request.shared_messages, messages = #run.chat,
    head = base + head, head_messages = head_messages, time = self.prepared.times[request.position],
  }
end

function Observer:request(run, request)
  local rates = self.prepared.rates
  self.replies = self.replies + request.reply.tokens
  if request.refused then return end
  local read, written = cache.serve(self.cache, cache_request(self, run, request))
  self.is_first = false
  self.read, self.written = self.read + read, self.written + written
  local fresh = request.tokens - read - written
  self.cost = self.cost + fresh * rates.fresh + read * rates.read + written * rates.written
end

--- The first result is that of no trimming, with which the others are compared.
function Observer:finish(result)
  local prepared = self.prepared
  prepared.untrimmed = prepared.untrimmed or self.cost
  result.cache, result.cached, result.written = prepared.cache, self.read, self.written
  result.cost, result.cost_unit = self.cost, prepared.has_prices and "money" or "tokens"
  result.relative_cost = prepared.untrimmed > 0 and self.cost / prepared.untrimmed or nil
  result.reply_tokens = self.replies
  result.reply_cost = prepared.rates.reply and self.replies * prepared.rates.reply / 1e6
end

return cost
