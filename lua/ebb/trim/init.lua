--- chat:trim: policies edit a draft until it fits; then it becomes one batch.
--
--     windows are rendered, so that they weigh what will be sent
--     draft = a private fork on which guards hold
--     guarded part > budget?      cannot_fit, nothing has run
--     for each policy: run it     a later one only while over budget
--     still > budget?             over_budget
--     commit                      one batch with its ledger; or, for a dry run, discard
--
-- For models that bind thinking to what comes before it, policies weigh it as it will be sent: nothing once a
-- message before it has changed.
--
-- Whatever fails, the draft is discarded and the conversation is as it was.

local bound_thinking = require "ebb.models.bound_thinking"
local call = require "ebb.trim.call"
local quantity = require "ebb.support.quantity"
local schema = require "ebb.support.schema"
local trim_options = require "ebb.trim.options"
local tables = require "ebb.support.tables"
local traceback = require "ebb.support.traceback"
local core = require "ebb.support.core"
local hints = require "ebb.support.hints"
local memory = require "ebb.trim.memory"
local margins = require "ebb.models.margins"
local models = require "ebb.models"
local loader = require "ebb.sandbox.loader"
local policies = require "ebb.trim.policies"
local refuse = require "ebb.support.refuse"
local running = require "ebb.trim.run"

local trim = {}

---@class ebb.TrimRun: ebb.Run   A run with the budget of its caller
---@field requested integer    tokens: the budget of the caller, or the default
---@field reserve integer      tokens of these that stay free
---@field margin integer       percent of an estimate that stay free besides
---@field available integer    tokens: requested minus reserve and margin
---@field measure { weight: function, total: function }

---- Arguments ----

--- The window less the output reserve of the model that was named, or the conversation's.
local function default_budget(chat, named)
  local model = named or models.of_chat(chat)
  if not model then
    refuse("argument", "trim needs a budget: the conversation has no model", hints.budget)
  end
  return model.window - model.output
end

--- The options of a trim, checked; the counter, if a model or an encoding is named; and the budget: `requested` by
--- the caller or the model's default, `available` without the reserve and the margin of estimates. Tokens.
local function read_options(chat, options)
  if core.type(chat) ~= "Conversation" then refuse("argument", "trim needs a conversation", "chat:trim { ... }") end
  options = call.read(options, "policy", "trim")
  local values = schema.options(trim_options.fields, options, "trim", "chat:trim { budget = 8000 }")
  loader.tell_limits(values.limits, "trim")
  local name = type(values.model) == "string" and values.model or nil
  local counter, model
  if values.encoding or name then
    counter, model = models.counter({ encoding = values.encoding, model = name }, "trim")
  end
  local requested = values.budget or default_budget(chat, model)
  local margin = not counter and margins.of_chat(chat) or model and not values.encoding and margins.percent(model, name)
    or 0
  return {
    requested = requested, reserve = values.reserve, margin = margin,
    available = margins.without(math.max(0, requested - values.reserve), margin),
    guards = values.guards, dry_run = values.dry_run, policy = values.policy, options = values.options,
    model = not name and values.model or nil, counter = counter,
    loading = { trusted = values.trusted, limits = values.limits },
  }
end

--- The policies; nil and an error where a file is at fault, which is not the caller's mistake.
local function resolve(request)
  local ok, steps = pcall(policies.resolve, request.policy, request.options, request.loading)
  if ok then return steps end
  local is_file = core.is_error(steps) and steps.code ~= "argument" and steps.code ~= "unknown_name"
  if not is_file then error(steps, 0) end
  local code = (steps.code == "shape" or steps.code == "syntax") and "policy" or steps.code
  return nil, core.error(code, steps.message, steps.hint)
end

--- Policies work with weights, budgets and reports are calibrated totals: a draft is
--- within `weight(budget)` if and only if its total is within the budget.
local function measure_of(chat, request)
  if request.counter then
    local function same(n) return n end
    return { weight = same, total = same }   -- what was learnt is about the chat's own counter
  end
  return {
    weight = function(budget) return core.counter.plain(chat, budget) end,
    total = function(n) return core.counter.calibrated(chat, n) end,
  }
end

---- Running ----

--- Counts refused edits and names the first: they are often why too much is left, or why a loop does not end.
---@return string?
local function refusals_of(draft)
  local refused, first = core.draft.refusals(draft)
  if refused == 0 then return nil end
  return ("%s refused, the first: %s"):format(refused == 1 and "1 edit was" or refused .. " edits were", first)
end

local MESSAGE_FIELDS = { "role", "content", "text", "parts", "calls", "call", "name", "id", "tool_call_id", "metadata",
  "timestamp" }

--- Finds a hint for the author of a policy that failed with `message`.
---@return string?
local function failure_hint(draft, message)
  local field = message:match "a Draft has no field '([%w_]+)'"
  if field and tables.contains(MESSAGE_FIELDS, field) then
    return ("a message has it: draft[1].%s; a function that is asked about each message is a filter"):format(field)
  end
  return message:find("stopped: it ", 1, true) and refusals_of(draft) or nil
end

--- Runs one policy: true, or nil and an error.
local function attempt_step(run, step)
  run.no_answer = nil
  local ok, message, code = traceback.call(step.policy.trim, running.step, run, step)
  if ok then return true end
  if code ~= "memory" then code = run.no_answer and "model" or "policy" end
  return nil, core.error(code, policies.says(step.policy, message), failure_hint(run.draft, message))
end

---- Verdicts ----

--- Names the tokens that the budget keeps free: the reserve (for a part: the rest of the request) and the margin.
local function kept_free(run)
  local words = {}
  if run.reserve > 0 then
    words[1] = (run.is_part and "%d for the rest of the request" or "a reserve of %d"):format(run.reserve)
  end
  if run.margin > 0 then words[#words + 1] = ("a margin of %d %% for estimates"):format(run.margin) end
  return words[1] and ", less " .. table.concat(words, " and ") or ""
end

--- Returns the text of the error "cannot fit": the sizes of guarded messages, tools and framing, and the smallest
--- budget that fits.
local function cannot_fit(run, info, guarded)
  local total, framing = run.measure.total(guarded), run.measure.total(info.overhead)
  local text = "cannot fit: the guarded part is %s (%s) and %d for tools and framing; the budget is %d%s; "
    .. "the smallest that fits is %d"
  local messages = quantity(info.guarded_messages, "message")
  return text:format(messages, quantity(total - framing, "token"), framing, run.requested,
    kept_free(run), margins.with(total, run.margin) + run.reserve)
end

--- No request may be empty. Guards hold no message of a list that has only the assistant's or results: the last one
--- that could stay is what does not fit. History within a pipeline may go whole.
local function empty(run)
  return ("cannot fit: no message would be left, and a request needs one; the budget is %d%s"):format(run.requested,
    kept_free(run))
end

--- The hint if policies that only make messages smaller were not enough: a policy that drops has to follow them.
local DROP = ("nothing was dropped: let a policy follow that drops messages, such as policy = { ..., \"%s\" } or "
  .. "--policy '...;%s'"):format(policies.default, policies.default)

--- Returns a hint if nothing was dropped: another policy, or other options of the policy that drops.
local function drop_hint(steps)
  for _, step in ipairs(steps) do
    if step.policy.name == policies.default then
      return ("nothing was dropped: the options of %s keep all that is not guarded; raise the budget, or let it keep "
        .. "less"):format(policies.default)
    end
  end
  return DROP
end

--- A text, and a hint where there is one.
local function over_budget(run, tokens, steps)
  tokens = run.measure.total(tokens)
  local refusals = refusals_of(run.draft)
  local text = "over budget: %s left %s, %d more than the budget of %d%s%s"
  local label = policies.label(steps)
  local free = kept_free(run)
  if free ~= "" then free = (" (%d%s)"):format(run.requested, free) end
  return text:format(label, quantity(tokens, "token"), tokens - run.available, run.available, free,
    refusals and "; " .. refusals or ""), core.draft.info(run.draft).dropped == 0 and drop_hint(steps) or nil
end

---- One trim ----

--- Thinking that is left out already, where batches cannot tell any more.
---@class ebb.trim.Thinking
---@field first integer     position of the first message that is left without it
---@field past integer      position after the last one
---@field tokens? integer   what that comes to, if it is known

--- Edits the draft until it fits: true, or nil and an error.
local function shape(run, steps)
  local info = core.draft.info(run.draft)
  local guarded = info.guarded_tokens > run.budget and core.draft.guarded(run.draft) or 0
  if guarded > run.budget then return nil, core.error("cannot_fit", cannot_fit(run, info, guarded)) end
  local ok, problem = running.steps(run, steps, attempt_step)
  if not ok then return nil, problem end
  core.draft.settle(run.draft)
  local tokens = run.draft:tokens()
  if tokens > run.budget then return nil, core.error("over_budget", over_budget(run, tokens, steps)) end
  return true
end

local function report_of(chat, run)
  local draft = run.draft
  local info = core.draft.info(draft)
  return {
    before = run.measure.total(info.before), after = run.measure.total(info.tokens), budget = run.available,
    thinking_left = run.measure.total(info.thinking_left),
    trust = draft:trust(), margin = math.max(0, run.requested - run.reserve) - run.available,
    dropped = info.dropped, replaced = info.replaced, inserted = info.inserted, kept = info.kept,
    batch = chat:stats().current_batch_index, refused = (core.draft.refusals(draft)),
    refusals = refusals_of(draft),
    ledger = core.draft.ledger(draft),
  }
end

--- Commits; the last step that may fail.
local function commit(run, remembered, report, steps)
  local description = ("to %d tokens by %s"):format(report.budget, policies.label(steps))
  local ok, batch = pcall(core.draft.commit, run.draft,
    { operation = "trim", description = description, memory = remembered })
  if ok then
    report.batch = batch
    return report
  end
  -- memory ran out, or a policy edited the conversation while the draft was open
  return nil, core.is_error(batch) and batch or core.error("memory", tostring(batch))
end

local function trim_draft(chat, run, steps, request)
  local ok, problem = shape(run, steps)
  if not ok then return nil, problem end
  if request.guards and not run.is_part and #run.draft == 0 and chat:count() > 0 then
    return nil, core.error("cannot_fit", empty(run), "raise the budget")
  end
  local remembered, why = memory.text(run.memories)
  if not remembered then return nil, core.error("policy", why) end
  local report = report_of(chat, run)
  if request.dry_run then return report end
  return commit(run, remembered, report, steps)
end

--- pcall for trim_draft: the raised error, or nil followed by its results.
local function finish(...)
  local ok, report, problem = pcall(trim_draft, ...)
  if not ok then return report end
  return nil, report, problem
end

--- The texts of the windows that the list shows; nil if it shows none.
local function texts_of(chat)
  if core.window.count(chat) == 0 then return nil end
  return (require("ebb.windows.render").texts(chat))
end

--- Makes the draft count thinking as it will be sent. `thinking`: true, bounds and tokens, or nil for the chat's own.
---@param draft ebb.Draft
---@param chat ebb.Conversation
---@param thinking? boolean|ebb.trim.Thinking
local function bind_thinking(draft, chat, thinking)
  if thinking == nil then thinking = bound_thinking.of_chat(chat) end
  if thinking == true then core.draft.bind_thinking(draft) end
  if thinking and thinking ~= true then
    core.draft.bind_thinking(draft, thinking.first, thinking.past, thinking.tokens)
  end
end

--- The draft of a trim, with the policies that shall edit it.
local function start(chat, request, texts, thinking)
  local draft = chat:draft { guards = request.guards, by = request.counter }
  if texts then require("ebb.windows.render").weigh(draft, texts) end
  bind_thinking(draft, chat, thinking)
  local measure = measure_of(chat, request)
  return running.open {
    draft = draft, loading = request.loading, requested = request.requested, reserve = request.reserve,
    available = request.available, margin = request.margin,
    budget = measure.weight(request.available), measure = measure, memories = memory.recall(chat),
    model = request.model,
  }
end

---@param chat ebb.Conversation
---@param options? ebb.Trim
---@param texts? table<string, string>    of the windows, where they have been rendered
---@param thinking? boolean|ebb.trim.Thinking   false: what is written keeps all; true: what changes leave without its
---    reason is left out; default: as the model has it
---@param is_part? boolean     of a request that has other messages, too: all of these may go
---@return ebb.TrimReport? report
---@return ebb.Error? problem
function trim.run(chat, options, texts, thinking, is_part)
  local request = read_options(chat, options)
  local steps, fault = resolve(request)
  if not steps then return nil, fault end
  local run = start(chat, request, texts or texts_of(chat), thinking)
  local draft = run.draft
  run.is_part = is_part

  local raised, report, problem = finish(chat, run, steps, request)
  running.close(run)
  if not report or request.dry_run then core.draft.discard(draft) end
  if raised then error(raised, 0) end
  return report, problem
end

--- Tokens of a conversation whose windows read `texts`, and those of its guarded part.
---@param chat ebb.Conversation
---@param texts? table<string, string>
---@param guards? boolean
---@param thinking? boolean|ebb.trim.Thinking   as for `run`
---@return integer tokens
---@return integer guarded
function trim.weigh(chat, texts, guards, thinking)
  local draft = chat:draft { guards = guards }
  if texts then require("ebb.windows.render").weigh(draft, texts) end
  bind_thinking(draft, chat, thinking)
  local tokens, guarded = draft:tokens(), core.draft.guarded(draft)
  core.draft.discard(draft)
  return tokens, guarded
end

--- Runs policies until it fits, lets `use` look at the draft, and changes nothing.
---@param chat ebb.Conversation
---@param options ebb.Trim
---@param texts? table<string, string>    of the windows, as they were rendered
---@param use fun(draft: ebb.Draft)
---@return boolean? ok
---@return ebb.Error? problem
function trim.look(chat, options, texts, use)
  local request = read_options(chat, options)
  local run = start(chat, request, texts)
  local ok, fits, problem = pcall(shape, run, (resolve(request)))
  local used, raised = true, nil
  if ok and fits then used, raised = pcall(use, run.draft) end
  running.close(run)
  core.draft.discard(run.draft)
  if not ok then error(fits, 0) end
  if not used then error(raised, 0) end
  return fits, problem
end

return trim
