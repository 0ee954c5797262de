--- ebb.replay: a recorded conversation, lived once more under each of several
--- policies.
--
--     recording   system user | assistant tool | assistant user | assistant
--     requests                1                2                3
--
-- Before each message of the assistant a request was made. So the recording is
-- appended message by message to an empty conversation, which is trimmed wherever
-- a request was due, as in production: what was cut stays cut, and a policy remembers
-- what it kept in its memory. Nothing is read twice, so a replay costs what the
-- conversation itself cost.
--
-- A prompt cache would have served the beginning that a request
-- shares, message by message and byte by byte, with the request before. Providers
-- serve less if that is short, or was sent too long ago: replay/cost.lua.
--
-- If the model binds thinking to the messages before it, requests leave out what a trim has made worthless
-- (replay/thinking.lua): it is not sent, and what it changes is not shared.
--
-- The first result is always that of `none`, which trims nothing whatever the budget. The
-- figures besides come from measures, which see each request, sent or refused.

local bound_thinking = require "ebb.models.bound_thinking"
local caches = require "ebb.models.caches"
local check = require "ebb.models.check"
local core = require "ebb.support.core"
local cost = require "ebb.replay.cost"
local hints = require "ebb.support.hints"
local margins = require "ebb.models.margins"
local models = require "ebb.models"
local optimum = require "ebb.replay.optimum"
local policies = require "ebb.trim.policies"
local recall = require "ebb.replay.recall"
local refuse = require "ebb.support.refuse"
local requests = require "ebb.replay.requests"
local schema = require "ebb.support.schema"
local thinking = require "ebb.replay.thinking"
local trim = require "ebb.trim"
local trim_options = require "ebb.trim.options"

local replay = {}

local OPTIONS = trim_options.with({ "budget", "reserve", "guards", "limits", "trusted" }, {
  model = { type = "function", help = "answers the requests for summaries" },
  progress = { type = "function", help = "is called with the policy's name and a position before each message" },
  cache = { type = "choice", choices = caches.names(), help = "whose prompt cache serves; default: the model's" },
  prices = check.PRICES,
  requests = { type = "function", help = "is called with each request as it was sent" },
  policies = { type = "list", items = policies.SPEC, hint = '{ policies = { "keep_recent", "mine.lua" } }' },
})
local EXAMPLE = "ebb.replay(chat, { budget = 8000 })"

local PRUNE_EVERY = 64   -- requests; only the last one's state is looked at again

---@class ebb.replay.Request    One request, as the measures see it
---@field position integer     of the reply in the recording
---@field reply ebb.Message    the message of the recording that answered it
---@field before integer       tokens of a request with all that was said so far
---@field over boolean         that is more than the budget: something has to go
---@field refused boolean      it was not sent; the fields below are those of no request then
---@field tokens? integer      as it was sent
---@field shared? integer      of these, tokens of the beginning in common with the last request that was sent
---@field shared_messages? integer  of that beginning
---@field report? ebb.TrimReport   nil without a trim
---@field unthought? integer[]  seqs of messages whose thinking is left out from this request on

---@class ebb.replay.Observer  Watches one policy
---@field append? fun(self, seq: integer, position: integer)   a message of the recording enters run.chat
---@field request fun(self, run: ebb.ReplayRun, request: ebb.replay.Request)   run.chat is the list as it was sent
---@field finish fun(self, result: ebb.ReplayResult)       adds its figures

---@class ebb.replay.Measure
---@field prepare fun(recording: ebb.Conversation, settings: table): any    what is alike for all policies
---@field observe fun(prepared: any): ebb.replay.Observer

---@type ebb.replay.Measure[]
local MEASURES = { cost, optimum, recall, requests }

---- One life ----

---@class ebb.ReplayRun
---@field chat ebb.Conversation      grows and is trimmed
---@field trim table                 for chat:trim
---@field trims boolean              false for `none`
---@field result ebb.ReplayResult
---@field is_head table<integer, boolean>   by seq: messages with which units begin
---@field whole integer              tokens of a request with all that was said so far
---@field last? { batch: integer, length: integer }   the last request that was sent
---@field full integer               requests that had to be cut
---@field filled number              the sum of their fills
---@field thinking? ebb.replay.Thinking   nil: whatever is trimmed, thinking is read
---@field leaves_out boolean        requests come without it; else the server takes it out
---@field observers ebb.replay.Observer[]

--- The steps as a policy list for chat:trim, with the policies themselves: no file is read again.
local function specs_of(steps)
  local specs = {}
  for i, step in ipairs(steps) do
    specs[i] = { step.policy }
    for name, value in pairs(step.options) do
      specs[i][name] = value
    end
  end
  return specs
end

local function observe(prepared)
  local observers = {}
  for i, measure in ipairs(MEASURES) do
    observers[i] = measure.observe(prepared[i])
  end
  return observers
end

--- No steps are the policy `none`.
local function start(recording, steps, settings)
  local chat = core.like(recording)
  models.inherit(chat, recording)
  return {
    chat = chat, observers = observe(settings.prepared), trims = #steps > 0,
    is_head = {}, whole = chat:tokens(), full = 0, filled = 0,
    thinking = settings.is_unread and #steps > 0 and thinking.new(#recording) or nil,
    leaves_out = settings.leaves_out,
    trim = { budget = settings.budget, reserve = settings.reserve, guards = settings.guards, policy = specs_of(steps),
      model = settings.model, limits = settings.loading.limits, trusted = settings.loading.trusted },
    result = {
      policy = #steps > 0 and policies.label(steps) or "none", budget = settings.available, margin = settings.margin,
      requests = 0, refusals = 0, refused_tokens = 0, sent = 0, shared = 0, thinking_lost = 0,
      units_dropped = 0, messages_dropped = 0, messages_replaced = 0, messages_inserted = 0,
    },
  }
end

--- The recorded message as it was; one whose role was mapped says its new role.
local function copy_of(message)
  if message.spelling == message.role or message.spelling == "developer" or message.spelling == "function" then
    return core.json.raw(message.json)
  end
  local fields = message:totable()
  fields.role = message.role
  return fields
end

local function live_on(run, message, position)
  local chat = run.chat
  chat:append(copy_of(message))
  local copy = chat[#chat]
  for _, mark in ipairs(message.marks) do
    chat:mark(copy, mark)
  end
  run.is_head[copy.seq] = message.call == nil
  run.whole = run.whole + copy.tokens
  if run.thinking then run.thinking:append(copy) end
  for _, observer in ipairs(run.observers) do
    if observer.append then observer:append(copy.seq, position) end
  end
end

local function count_dropped(run, report)
  local result = run.result
  result.messages_dropped = result.messages_dropped + report.dropped
  result.messages_replaced = result.messages_replaced + report.replaced
  result.messages_inserted = result.messages_inserted + report.inserted
  for _, dropped in ipairs(report.dropped > 0 and report.ledger:runs() or {}) do
    for seq = dropped.seq, dropped.seq + dropped.count - 1 do
      local counts = dropped.action == "dropped" and run.is_head[seq] ~= false   -- what policies insert is a unit
      if counts then result.units_dropped = result.units_dropped + 1 end
    end
  end
end

--- Returns how much of this request the one before it had begun with: messages and tokens. A message whose thinking
--- this request is the first to leave out is not shared.
local function shared_with_last(run, batch, length, unthought)
  if not run.last then return 0, 0 end
  local oldest = unthought and unthought[#unthought]
  local most = oldest and run.thinking:position(run.chat, oldest)
  local messages, tokens = core.common(run.chat, run.last.batch, run.last.length, batch, length, most)
  return messages, run.thinking and tokens - run.thinking:before(run.chat, messages) or tokens
end

local function send(run, report, request)
  local result, chat = run.result, run.chat
  local batch, length = chat:stats().current_batch_index, #chat
  local lost = run.thinking and run.thinking.tokens or 0
  request.tokens = report.after - (run.leaves_out and 0 or lost)
  request.shared_messages, request.shared = shared_with_last(run, batch, length, request.unthought)
  result.thinking_lost = result.thinking_lost + lost
  result.requests = result.requests + 1
  result.sent = result.sent + request.tokens
  result.shared = result.shared + request.shared
  result.trust = report.trust
  if request.over and result.budget > 0 then
    run.full, run.filled = run.full + 1, run.filled + request.tokens / result.budget
  end
  count_dropped(run, report)
  run.last = { batch = batch, length = length }
end

--- The report of a request that carries the whole list.
local function untrimmed(chat)
  return { after = chat:tokens(), trust = chat:trust(), dropped = 0, replaced = 0, inserted = 0 }
end

--- Trims: a report, or nil and an error; and the seqs of messages that lose their thinking by that.
local function trimmed(run)
  local chat = run.chat
  if not run.trims then return untrimmed(chat) end
  local before = { batch = chat:stats().current_batch_index, length = #chat }
  local known = run.leaves_out and run.thinking:known(chat) or false
  local report, problem = trim.run(chat, run.trim, nil, known)
  local has_changed = report and report.batch ~= before.batch
  if has_changed and run.thinking then return report, nil, run.thinking:follow(chat, before, report) end
  return report, problem
end

--- The smallest budget of a caller with which the guarded part of a request fits.
local function smallest_budget(run)
  local chat = run.chat
  local _, guarded = trim.weigh(chat, nil, run.trim.guards)
  return margins.with(core.counter.calibrated(chat, guarded), margins.of_chat(chat)) + run.trim.reserve
end

--- A request that cannot be made to fit is not sent; life goes on without it. A
--- policy that fails ends the replay.
local function request(run, reply, position)
  local result = run.result
  local seen = { position = position, reply = reply, before = run.whole, over = run.whole > result.budget,
    refused = false }
  local report, problem, unthought = trimmed(run)
  seen.unthought = unthought
  if report then
    seen.report = run.trims and report or nil
    send(run, report, seen)
  elseif problem.code == "cannot_fit" or problem.code == "over_budget" then
    seen.refused = true
    result.refusals = result.refusals + 1
    result.refused_tokens = result.refused_tokens + seen.before
    result.first_refusal = result.first_refusal or problem.message
    result.smallest_budget = math.max(result.smallest_budget or 0, smallest_budget(run))
  else
    return nil, problem
  end
  for _, observer in ipairs(run.observers) do
    observer:request(run, seen)
  end
  if not seen.refused and result.requests % PRUNE_EVERY == 0 then run.chat:prune { keep = 1 } end
  return true
end

---- Figures ----

local function finish(run)
  local result = run.result
  result.share = result.sent > 0 and result.shared / result.sent or 0
  result.fill = run.full > 0 and run.filled / run.full or nil
  result.requests_over = run.full
  for _, observer in ipairs(run.observers) do
    observer:finish(result)
  end
  return result
end

local function play(recording, steps, settings)
  local run = start(recording, steps, settings)
  for position, message in ipairs(recording) do
    if settings.progress then settings.progress(run.result.policy, position) end
    if message.role == "assistant" and #run.chat > 0 then
      local ok, problem = request(run, message, position)
      if not ok then return nil, problem end
    end
    live_on(run, message, position)
  end
  return finish(run)
end

---- The face ----

--- Tokens that a request may have, as trims reckon: without the reserve and the margin of estimates.
---@return integer available
---@return integer margin    tokens
local function available_of(recording, values)
  local like = core.like(recording)
  models.inherit(like, recording)
  local whole = math.max(0, values.budget - values.reserve)
  local available = margins.without(whole, margins.of_chat(like))
  return available, whole - available
end

local function read_options(recording, options)
  if core.type(recording) ~= "Conversation" then refuse("argument", "replay needs a conversation", EXAMPLE) end
  local values = schema.options(OPTIONS, options, "replay", EXAMPLE)
  local model = models.of_chat(recording)
  values.budget = values.budget or model and model.window - model.output
  if not values.budget then
    refuse("argument", "replay needs a budget: the conversation has no model", hints.budget)
  end
  values.loading = { limits = values.limits, trusted = values.trusted }
  values.available, values.margin = available_of(recording, values)
  return values
end

---@param recording ebb.Conversation
---@param options? ebb.Replay
---@return ebb.ReplayResult[]? results    that of `none`, then one per policy
---@return ebb.Error? problem
function replay.run(recording, options)
  local settings = read_options(recording, options)
  local specs = settings.policies or { policies.default }
  local lives, results = { {} }, {}
  for i, spec in ipairs(specs) do
    lives[i + 1] = policies.resolve(spec, nil, settings.loading)
  end
  settings.prepared = {}
  settings.is_unread, settings.leaves_out = bound_thinking.is_unread(recording), bound_thinking.of_chat(recording)
  for i, measure in ipairs(MEASURES) do
    settings.prepared[i] = measure.prepare(recording, settings)
  end
  for i, steps in ipairs(lives) do
    local result, problem = play(recording, steps, settings)
    if not result then return nil, problem end
    results[i] = result
  end
  return results
end

return replay
