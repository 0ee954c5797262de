--- Processor: keeps the request within its budget, by dropping history.
--
--     budget = fixed part + history + growth by later stages
--
-- Only history is trimmed, its windows included, by a policy of ebb.policies, on which
-- guards hold and which tears no unit. Everything else (presets, injections, framing, tools) is the
-- fixed part. What later stages add or save is not guessed: they are tried on
-- copies (`forecast`), and the history is cut again by as much as they made of it.
-- Files, attached or parts of the content, are weighed as they will be resolved.
--
-- Invariant: the messages fit after the later stages have run, or the run is refused.

local assets = require "ebb.processors.assets"
local built_in = require "ebb.policies"
local content = require "ebb.processors.content"
local core = require "ebb.support.core"
local margins = require "ebb.models.margins"
local policies = require "ebb.trim.policies"
local quantity = require "ebb.support.quantity"
local refuse = require "ebb.support.refuse"
local tables = require "ebb.support.tables"
local trim = require "ebb.trim"

local ATTEMPTS = 6      -- to find the growth; it hardly changes after the second
local SLACK = 16        -- tokens that are not worth another attempt
local SAVING_MAX = 8    -- tokens per message that merging saves at most
local GROWTH_MAX = 64   -- tokens per message that built-in stages add at most
local ROOM = 1000       -- tokens for an empty request, which has only framing

local limiter = {}

---- The history by itself ----

---@class ebb.limiter.Parts
---@field history ebb.WorkingMessage[]   with the markup of windows
---@field fixed { message: ebb.WorkingMessage, rank: integer }[]    rank: number of history messages that come before it

local function parts_of(messages)
  local history, count, fixed = {}, 0, {}
  for i = 1, #messages do
    local message = messages[i]
    local source = message.source
    if source == "history" or source == "window" then
      count = count + 1
      history[count] = message
    else
      fixed[#fixed + 1] = { message = message, rank = count }
    end
  end
  return { history = history, fixed = fixed }
end

---@class ebb.limiter.Kept
---@field messages ebb.WorkingMessage[]   what remains of the history
---@field places integer[]     of each in the history before, or of the last one before it

--- The messages of the fixed part and those that remain of the history, in their old order.
---@param parts ebb.limiter.Parts
---@param kept ebb.limiter.Kept
local function weave(parts, kept)
  local fixed, places, messages, done = parts.fixed, kept.places, {}, 0
  for _, each in ipairs(fixed) do
    local from = done + 1
    while places[done + 1] and places[done + 1] <= each.rank do done = done + 1 end
    table.move(kept.messages, from, done, #messages + 1, messages)
    messages[#messages + 1] = each.message
  end
  return table.move(kept.messages, done + 1, #kept.messages, #messages + 1, messages)
end

--- A message that a policy wrote, as a working copy over the original's other fields. Of the parts of its content those
--- remain that the policy left.
local function rewritten(handle, before)
  local copy = core.json.decode(handle.json)
  copy.source, copy.source_id = "history", before and before.source_id
  copy.origin, copy.attachments = before and before.origin, before and before.attachments
  return copy
end

--- The positions of replaced messages, by the seqs of what replaced them.
---@param report ebb.TrimReport
---@return table<integer, integer>
local function replaced_places(report)
  local place_of = {}
  if report.replaced == 0 then return place_of end
  for _, entry in ipairs(report.ledger) do
    if entry.replacement then place_of[entry.replacement] = place_of[entry.seq] or entry.seq end
  end
  return place_of
end

--- Maps the trimmed list back to working messages; seqs up to #history are positions.
---@return ebb.limiter.Kept
local function kept_of(chat, parts, report)
  local place_of, history, count, last = replaced_places(report), parts.history, #parts.history, 0
  local messages, places = {}, {}
  local seqs = core.working.seqs(chat)
  for i = 1, #seqs do
    local seq = seqs[i]
    if seq <= count then
      messages[i], last = history[seq], seq
    else
      local place = place_of[seq]
      messages[i], last = rewritten(chat[i], history[place]), place or last
    end
    places[i] = last
  end
  return { messages = messages, places = places }
end

---- One cut ----

---@class ebb.limiter.Cut
---@field messages ebb.WorkingMessage[]
---@field tokens integer           before later stages
---@field report ebb.TrimReport

--- The message without its files.
local function without_files(message)
  local bare = tables.copy(message)
  bare.attachments = nil
  if type(bare.content) ~= "table" then return bare end
  bare.content = content.map_parts(bare.content, function(part) return part.type ~= "asset" and part or nil end)
  if not bare.content[1] then bare.content[1] = { type = "text", text = "." } end   -- an empty one may be left out
  return bare
end

--- A user's message with the files of a result: the result by itself answers no call, and would be left out.
local function as_user(message)
  local list = core.json.array { { type = "text", text = "." } }
  content.map_parts(message.content, function(part)
    if assets.is_part(part) then list[#list + 1] = part end
    return part
  end)
  return { role = "user", source = message.source, content = list, attachments = message.attachments }
end

--- Returns the tokens that a message's files add to its present weight. A part's name counts now already.
local function weight_of_files(context, message)
  if content.answers(message) then message = as_user(message) end
  local bare = without_files(message)
  local with, without = context:forecast { message }, context:forecast { bare }
  if not (with and without) then return 0 end
  return with - without - (context:weigh { message } - context:weigh { bare })
end

--- Per message with files, the tokens that they come to in the end. Equal ones are tried once.
---@return table<ebb.WorkingMessage, integer>
local function files_of(context, messages)
  local extra, weights = {}, {}
  if assets.none(context) then return extra end
  for _, message in ipairs(messages) do
    if assets.has(message) then
      local key = core.json.encode { message.role, message.attachments or false, message.content or "" }
      weights[key] = weights[key] or weight_of_files(context, message)
      extra[message] = weights[key]
    end
  end
  return extra
end

---@class ebb.limiter.Plan
---@field context ebb.Context
---@field config table
---@field budget integer
---@field parts ebb.limiter.Parts
---@field fixed integer            tokens of the fixed part, where nothing else is said: framing and tools too
---@field extra table<ebb.WorkingMessage, integer>   tokens of files
---@field chat ebb.Conversation     the history
---@field texts? table<string, string>   markup of its windows
---@field thinking false|ebb.trim.Thinking   of the history
---@field whole integer            tokens before anything is cut
---@field counter? fun(message: ebb.Message): integer   where there are attachments

--- Weighs a message as the request does, its attachments included.
local function counter_of(plan, plain)
  local context, history = plan.context, plan.parts.history
  local nothing = context:weigh {}
  return function(handle)
    local before = history[handle.seq]
    if before then return math.max(0, plain[handle.seq].tokens + (plan.extra[before] or 0)) end
    local copy = rewritten(handle)   -- written by a policy
    local files = assets.has(copy) and weight_of_files(context, copy) or 0
    return context:weigh { copy } - nothing + files
  end
end

--- The history as a conversation; each cut takes a fork of it.
local function history_chat(context, plan)
  local chat, texts = context:history_chat(plan.parts.history)
  if not next(plan.extra) then return chat, texts end
  plan.counter = counter_of(plan, chat)
  return context:history_chat(plan.parts.history, plan.counter)
end

--- The newest dropped message, cut short, if it alone made its unit and now fits.
local function cut_short(plan, report, room)
  local count = plan.config.retained_characters
  if count == 0 then return nil end
  local place = 0
  for _, entry in ipairs(report.ledger) do
    if entry.action == "dropped" then place = math.max(place, entry.seq) end
  end
  local message = plan.parts.history[place]
  local is_whole = message and message.source == "history" and type(message.content) == "string"
    and not message.tool_calls and not message.tool_call_id
  if not is_whole then return nil end
  local text = message.content
  local stop = utf8.offset(text, count + 1)
  local copy = tables.copy(message)
  copy.content = text:sub(1, (stop or #text + 1) - 1) .. plan.config.retained_note
  copy.seq, copy.attachments, copy.reasoning_content, copy.reasoning = nil, nil, nil, nil
  local cost = plan.context:weigh { copy } - plan.context:weigh {}
  if cost <= room then return { message = copy, place = place }, cost end
end

local function add_short(kept, cut_message)
  local at = 1
  while kept.places[at] and kept.places[at] < cut_message.place do
    at = at + 1
  end
  table.insert(kept.messages, at, cut_message.message)
  table.insert(kept.places, at, cut_message.place)
end

--- Trims the history so that everything weighs `budget` at most.
---@param plan ebb.limiter.Plan
---@param growth integer
---@return ebb.limiter.Cut?
---@return ebb.Error? problem
local function cut(plan, growth)
  local chat, loading = plan.chat:fork(), plan.context:loading "policy"
  local reserve = plan.fixed + growth
  margins.settle(chat)   -- the plan's budget is net
  local report, problem = trim.run(chat, {
    budget = plan.budget - math.min(reserve, 0), reserve = math.max(reserve, 0),
    policy = plan.policy, guards = plan.config.guards,
    limits = loading.limits, trusted = loading.trusted,
  }, plan.texts, plan.thinking, true)
  if not report then return nil, problem end
  local kept = kept_of(chat, plan.parts, report)
  local tokens = report.after + plan.fixed
  local cut_message, cost = cut_short(plan, report, report.budget - report.after)
  if cut_message then
    add_short(kept, cut_message)
    tokens = tokens + cost
  end
  return { messages = weave(plan.parts, kept), tokens = tokens, report = report,
    short = cut_message and { place = cut_message.place, tokens = cost, text = cut_message.message.content } }
end

--- Cuts the history to its guarded messages.
local function cut_to_guarded(plan)
  local _, guarded = trim.weigh(plan.chat, plan.texts, plan.config.guards, plan.thinking)
  return cut(plan, plan.budget - guarded - plan.fixed)
end

--- The result without any history.
local function none(plan)
  local nothing = plan.counter and 0 or plan.context:weigh {}   -- framing is in one of the two
  return { messages = weave(plan.parts, { messages = {}, places = {} }), tokens = plan.fixed + nothing }
end

---- The search, with forecasts of the later stages ----

local function final_tokens(plan, result)
  result.final = plan.context:forecast(result.messages) or result.tokens
  return result.final
end

--- Raises cannot_fit: in the words of the trim, or with the growth by later stages.
local function cannot_fit(plan, result, message)
  if not result then refuse("cannot_fit", message) end
  refuse("cannot_fit", ("cannot fit: what may not be dropped makes a request of %s; the budget is %d")
    :format(quantity(result.final, "token"), plan.budget),
    "raise the budget, use fewer presets, or set when_full = drop_history")
end

--- Refuses the run, for the guarded history alone is too much.
local function give_up(plan, message)
  local smallest = cut_to_guarded(plan)
  if smallest and final_tokens(plan, smallest) <= plan.budget then return smallest end
  if plan.config.when_full == "drop_history" then
    plan.context:log("warn", "all history was dropped: the guarded part of it did not fit")
    smallest = none(plan)
    final_tokens(plan, smallest)
    return smallest   -- the pipeline refuses it if it is still too long
  end
  return cannot_fit(plan, smallest, message)
end

--- The growth to try after a cut that was made for `growth` and grew by `seen`; nil: no better cut is to be expected.
---@param fits? integer        the least growth whose cut fitted
---@param over? integer        the greatest growth whose cut did not
local function next_growth(growth, seen, excess, fits, over)
  local guess = excess > 0 and math.max(seen, growth + excess) or seen
  if fits and over and (guess <= over or guess >= fits) then guess = (over + fits) // 2 end
  if fits and fits - guess <= (over and SLACK or 0) then return nil end
  return guess
end

--- The cut that leaves most and still fits in the end.
local function search(plan, growth)
  local best, fits, over
  for _ = 1, ATTEMPTS do
    local result, problem = cut(plan, growth)
    if not result and problem.code ~= "cannot_fit" then error(problem, 0) end
    if not result then return best or give_up(plan, problem.message) end
    local excess = final_tokens(plan, result) - plan.budget
    if excess > 0 then
      over = math.max(over or growth, growth)
    else
      if not best or result.tokens > best.tokens then best = result end
      if -excess <= SLACK then return best end
      fits = math.min(fits or growth, growth)
    end
    growth = next_growth(growth, result.final - result.tokens, excess, fits, over)
    if not growth then return best end
  end
  return best or give_up(plan, "cannot fit: the later stages add more than can be dropped")
end

--- True if later stages cannot exceed the budget, so no forecast is needed.
local function fits_for_sure(plan, whole, messages)
  if not plan.context:only_core_follows() then return false end
  return whole + GROWTH_MAX * #messages <= plan.budget
end

---- The processor ----

local function policy_of(config, loading)
  if config.policy:find "%S" then return policies.parse_chain(config.policy, loading) end
end

--- Refuses a policy that does not exist, or built-in ones with options that they refuse: an empty conversation shows
--- that. Files are loaded, and not run.
---@param config table
---@param loading? ebb.Loading
function limiter.check(config, loading)
  for _, spec in ipairs(policy_of(config, loading) or {}) do
    if built_in.find(spec[1].name) == spec[1] then
      local report, problem = trim.run(core.conversation(), { budget = ROOM, policy = spec, dry_run = true })
      if not report then
        local code = problem.code == "memory" and "memory" or "argument"
        refuse(code, "token-limiter.policy: " .. problem.message, problem.hint)
      end
    end
  end
end

--- The budget of the request in tokens, less the reserve and the margin of estimates; nil for no limit.
---@param capabilities table
---@param config table
---@return integer?
function limiter.budget(capabilities, config)
  local budget = config.budget
  if budget == nil then
    if not capabilities.window then return nil end
    budget = capabilities.window - capabilities.output
  end
  return margins.without(math.max(0, budget - config.reserve), capabilities.margin or 0)
end

--- The ledger of a trim, an entry per message. The one that was cut short counts as replaced: the trim dropped it.
local function ledger_of(report, short, count)
  local list, ledger = {}, report.ledger
  for i = 1, #ledger do
    local entry = ledger[i]
    list[i] = { action = entry.action, by = entry.by, reason = entry.reason, role = entry.role, seq = entry.seq,
      replacement = entry.replacement, tokens = entry.tokens }
    if entry.action == "dropped" and entry.seq == short.place then
      list[i].action, list[i].tokens, list[i].text = "replaced", entry.tokens - short.tokens, short.text
      list[i].left = short.tokens
      list[i].reason = ("%s: cut to %s"):format(entry.reason, quantity(count, "character"))
    end
  end
  return list
end

--- Gives the facts of a trim its ledger as a list, decoded when it is first read; at once where a later step may get
--- the facts as a copy, in a sandbox.
local function add_ledger(facts, report, is_read_here)
  if not report then return facts end
  local function read() return core.json.decode(report.ledger:json()) end
  if not is_read_here then
    facts.ledger = read()
    return facts
  end
  return setmetatable(facts, { __index = function(self, name)
    if name ~= "ledger" then return nil end
    self.ledger = read()
    return self.ledger
  end })
end

local function tell(context, plan, before, result)
  local dropped, report = #context.messages - #result.messages, result.report
  local changed = report and report.replaced + report.inserted + (result.short and 1 or 0) or 0
  local entries = result.short and ledger_of(report, result.short, plan.config.retained_characters)
  context.shared_data.token_limiter = add_ledger({
    budget = plan.budget, before = before, after = result.tokens, final = result.final, fixed = plan.fixed,
    dropped = dropped, ledger = entries or nil,
  }, not entries and report, context:only_core_follows())
  context.run.trimmed = { history = plan.parts.history, before = before, dropped = dropped,
    ledger = entries or report and report.ledger or {} }
  local percent = context.capabilities.margin or 0
  local margin = percent > 0 and (" and %d %% for estimates"):format(percent) or ""
  context:log("info", ("%d -> %s, budget %d%s: %s dropped, %d changed"):format(before,
    quantity(result.final, "token"), plan.budget, margin, quantity(dropped, "message"), changed))
end

local function fixed_of(parts)
  local fixed = {}
  for i, each in ipairs(parts.fixed) do fixed[i] = each.message end
  return fixed
end

--- The plan of a cut. Weights add up: framing is counted once.
local function plan_of(context, config, budget)
  local plan = { context = context, config = config, budget = budget, parts = parts_of(context.messages),
    policy = policy_of(config, context:loading "policy") }
  plan.extra = files_of(context, context.messages)
  local fixed, nothing = fixed_of(plan.parts), context:weigh {}
  local weight = context:weigh(fixed)
  plan.chat, plan.texts = history_chat(context, plan)
  plan.thinking = context.run.thinking_of(plan.parts.history)
  local has_more = plan.texts or plan.thinking
  local history = has_more and trim.weigh(plan.chat, plan.texts, nil, plan.thinking) or plan.chat:tokens()
  plan.whole = weight + history - (plan.counter and 0 or nothing)
  for _, each in ipairs(fixed) do
    plan.whole = plan.whole + (plan.extra[each] or 0)
  end
  plan.fixed = plan.whole - history
  return plan
end

--- The tokens of the request as it will be, if that can be foreseen and fits: then the history need not be weighed by
--- itself. Tried only where it looks like it.
local function fitting_tokens(context, budget)
  local run = context.run
  if not run.is_predictable() or run.request.texts or run.request.original:tokens() > budget then return nil end
  local tokens = context:forecast(context.messages)
  return tokens and tokens <= budget and tokens or nil
end

local function limit(context, config, budget)
  local messages, fitting = context.messages, fitting_tokens(context, budget)
  if fitting then
    local plan = { budget = budget, parts = parts_of(messages) }
    plan.fixed = context:weigh(fixed_of(plan.parts)) - context:weigh {}
    return tell(context, plan, fitting, { messages = messages, tokens = fitting, final = fitting })
  end
  local plan = plan_of(context, config, budget)
  local unchanged = { messages = messages, tokens = plan.whole, final = plan.whole }
  if not fits_for_sure(plan, plan.whole, messages) then
    local growth = 0
    if plan.whole - budget <= SAVING_MAX * #messages then growth = final_tokens(plan, unchanged) - plan.whole end
    if plan.whole + growth > budget then
      local result = search(plan, growth)
      tell(context, plan, plan.whole, result)
      context.messages = result.messages
      return
    end
  end
  tell(context, plan, plan.whole, unchanged)
end

local function execute(context, config)
  local budget = limiter.budget(context.capabilities, config)
  if not budget then return context:log("info", "no budget: nothing is known of the model, and none was given") end
  limit(context, config, budget)
  context.run.limited = context.messages
end

limiter.processor = {
  id = "token-limiter",
  name = "Token limiter",
  description = "drops history until the request is within its budget",
  priority = 400,
  is_core = true,
  config_fields = {
    { key = "budget", type = "number", whole = true, min = 0,
      label = "Tokens of the whole request; default: the model's window less its output" },
    { key = "reserve", type = "number", whole = true, min = 0, default = 0,
      label = "Tokens of the budget to leave free" },
    { key = "policy", type = "text", default = "keep_recent",
      label = "The policy that trims, as for a trim; several with ; between; an agent's files lie below it" },
    { key = "guards", type = "boolean", default = true,
      label = "Keep system and pinned messages, pending calls and the last user message" },
    { key = "when_full", type = "select", default = "refuse", options = { "refuse", "drop_history" },
      label = "If even the guarded history does not fit: refuse, or drop all history" },
    { key = "retained_characters", type = "number", whole = true, min = 0, default = 0,
      label = "Characters of the newest dropped message to keep, if they fit" },
    { key = "retained_note", type = "text", default = "\n...(truncated)", label = "Text after them" },
  },
  execute = execute,
}

return limiter
