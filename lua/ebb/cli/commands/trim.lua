--- ebb trim: the messages that fit a budget, in the bytes in which they came.

local bound_thinking = require "ebb.models.bound_thinking"
local core = require "ebb.support.core"
local edits = require "ebb.cli.io.edits"
local failure = require "ebb.cli.failure"
local model_command = require "ebb.cli.host.model_command"
local options = require "ebb.cli.io.options"
local outgoing = require "ebb.cli.io.outgoing"
local places = require "ebb.cli.io.places"
local policies = require "ebb.trim.policies"
local prices = require "ebb.cli.replay.prices"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"
local trimming = require "ebb.trim"
local trust = require "ebb.cli.view.trust"

local trim = { runs_anew = true }      -- after a conflict of sessions

local LONG_TO_TRIM = 200000   -- messages; about a second

function trim.declare(parser)
  options.inputs(parser)
  options.group(parser, "What to cut", function()
    parser:option("--budget --limit", "Tokens for the whole request, or a share of the conversation such as 33%; "
      .. "default: the model's window less its output."):argname("<tokens>"):convert(options.budget "--budget")
    parser:option("--reserve", "Tokens of the budget to leave free."):argname("<tokens>")
      :convert(options.tokens "--reserve")
    parser:option("--policy", "A name, file or Lua text that returns one; names and files with options as "
      .. ":key=value,... Several run in order until it fits, also in one, joined by ; or, before any options, by a "
      .. "comma."):argname("<policy>"):count("*")
    options.policy_path(parser)
    parser:flag("--unguarded", "Let policies drop system and pinned messages, pending calls and the last user message.")
  end)
  options.group(parser, "What to show", function()
    edits.declare(parser, {
      explain = "Show on standard error what became of each message, and why; with --replay, which values of the "
        .. "history each reply used and its request lost.",
      dry_run = "Write no messages, only the report.",
      json = ", notes included: with --dry-run or --replay on standard output, else on standard error",
    })
    parser:flag("--replay", "Replay conversations turn by turn under each --policy, and show what each would cost and "
      .. "lose; a,b is a chain.")
    parser:flag("--suggest", "Replay conversations under the best-suited policies, and each --policy, and say in five "
      .. "lines which to take, and why.")
    places.writes(parser:option("--requests", "With --replay: write each request as it was sent to this file, as JSON "
      .. "lines."):argname("<file>"))
    places.writes(parser:option("--html", "With --replay: write the report as a page with charts to this file.")
      :argname("<file>"))
    parser:flag("--csv", "With --replay: report as CSV, a line per recording and policy.")
    prices.declare(parser)
  end)
  options.group(parser, "What to write", function()
    options.edited(parser)
    outgoing.declare(parser)
    parser:flag("--keep-extra", "Keep members of a body's messages that requests do not have, as id and timestamp.")
  end)
  model_command.declare(parser)
  options.sandbox(parser)
  options.reading(parser)
  parser:epilog(options.examples {
    "ebb trim chat.json --budget 8000 --explain -o trimmed.json",
    "ebb trim chat.json --budget 8000 \\\n    --policy 'clear_tool_uses;keep_recent:keep=6'",
    "ebb trim --replay chat.json --budget 8000 \\\n    --policy keep_recent --policy clear_tool_uses,stable_prefix",
    "ebb trim --suggest chat.json --model gpt-5",
  } .. "\n\n" .. options.OWN_POLICY)
end

---@return table? spec      for chat:trim; nil is the default policy
local function policy_of(words, loading)
  local specs = {}
  for _, word in ipairs(words) do
    local chain = failure.typed(require("ebb.cli.commands.policies").named, policies.parse_chain, word, loading)
    table.move(chain, 1, #chain, #specs + 1, specs)
  end
  return specs[1] and specs
end

--- Options that only a replay has, and those that concern the trimmed messages: a replay writes none.
local OF_A_REPLAY = { requests = "--requests", html = "--html", csv = "--csv" }
local OF_A_LIST = { dry_run = "--dry-run", ledger = "--ledger", repair = "--repair", in_place = "--in-place" }

local function check_replay(args)
  local mode = args.replay and "--replay" or args.suggest and "--suggest"
  for field, option in pairs(mode and OF_A_LIST or {}) do
    if args[field] then failure.usage(("%s does not go with %s"):format(option, mode), "a replay only reports") end
  end
  for field, option in pairs(args.replay and {} or OF_A_REPLAY) do
    if args[field] then failure.usage(("%s needs --replay"):format(option), "ebb trim --replay FILE") end
  end
  if args.suggest and args.explain then
    failure.usage("--explain does not go with --suggest", "--replay --explain shows what each policy loses")
  end
  if args.replay and args.suggest then
    failure.usage("--replay and --suggest are two reports", "take one of them")
  end
end

--- Loads the policies of each word by itself; those joined by `;` or `,` run in order.
local function specs_of(words, loading)
  local specs = {}
  for i, word in ipairs(words) do
    specs[i] = policy_of({ word }, loading)
  end
  return specs
end

local function replay_all(args, loading)
  local words = {}
  for _, word in ipairs(args.policy[1] and args.policy or { policies.default }) do
    if word ~= "none" then words[#words + 1] = word end   -- no trimming is always there
  end
  require("ebb.cli.replay.replay").run(args, specs_of(words, loading), words, loading)
end

local function suggest_one(args, loading)
  local suggest = require "ebb.cli.replay.suggest"
  local words = suggest.words(args.policy)
  suggest.run(args, specs_of(words, loading), words, loading)
end

---@class ebb.cli.Trimmed
---@field chat ebb.Conversation         as it is to be written
---@field report ebb.TrimReport
---@field budget integer                of the first trim: a second one leaves room for what a repair inserts
---@field after integer                 tokens of what is written: the report's, and what the last repair changed
---@field repair? ebb.RepairReport      before the trim, under --repair
---@field mended ebb.RepairReport       after the trim

--- The ledgers of repairs before and after the trim; nil without repairs.
local function repairs_of(trimmed)
  local repairs = core.json.array {}
  for _, each in pairs { trimmed.repair or trimmed.mended, trimmed.repair and trimmed.mended } do
    if each.ledger then repairs[#repairs + 1] = core.json.raw(each.ledger:json()) end
  end
  return #repairs > 0 and repairs or nil
end

--- The report as plain data, with the ledger as raw JSON.
local function as_data(trimmed)
  local report, notes, keeps = trimmed.report, core.json.array {}, core.json.array {}
  for i, note in ipairs(report.ledger:notes()) do
    notes[i] = { by = note.by, text = note.text }
  end
  for i, keep in ipairs(report.ledger:keeps()) do
    keeps[i] = keep
  end
  return {
    before = report.before, after = trimmed.after, budget = trimmed.budget, margin = report.margin,
    trust = report.trust, thinkingLeft = report.thinking_left,
    kept = report.kept, dropped = report.dropped, replaced = report.replaced, inserted = report.inserted,
    refused = report.refused, refusals = report.refusals,
    ledger = core.json.raw(report.ledger:json()), notes = notes,
    keeps = keeps, repairs = repairs_of(trimmed), violations = #trimmed.mended.left,
  }
end

local function summary(trimmed, args)
  local report = trimmed.report
  local line = "%d -> %s, budget %d%s (%s): %d kept, %d dropped, %d replaced, %d inserted%s"
  local margin = report.margin > 0 and (" and a margin of %d"):format(report.margin) or ""
  return line:format(report.before, text.count(trimmed.after, "token"), trimmed.budget, margin, report.trust,
    report.kept, report.dropped, report.replaced, report.inserted, args.dry_run and "" or options.target(args))
end

--- Tells a person of a trim that succeeded.
---@param before? ebb.cli.Before    if it is to be explained
local function tell(args, before, trimmed)
  local report = trimmed.report
  if before then
    local repaired, mended = trimmed.repair and trimmed.repair.ledger, trimmed.mended.ledger
    require("ebb.cli.view.explain").show(before, { repaired or false, report.ledger, mended or false }, trimmed.chat,
      report.thinking_left)
    if report.refusals then terminal.say(report.refusals) end
  end
  for _, note in ipairs(args.json and {} or report.ledger:notes()) do
    terminal.say(("note by %s: %s"):format(note.by, note.text))
  end
  if not args.json and (args.explain or args.dry_run) then
    terminal.say(summary(trimmed, args))
    local reason = trust.reason(trimmed.chat)
    if reason then terminal.say("estimated: " .. reason) end
  elseif not args.json then
    terminal.inform(summary(trimmed, args))
  end
  if trimmed.repair then outgoing.tell_mended(trimmed.repair) end
  outgoing.tell(trimmed.mended, args)
end

--- The report, or a failure with a hint if the conversation may fit without guards.
local function check_fit(args, report, problem)
  if not report and problem.code == "cannot_fit" and not args.unguarded then
    failure.raise(failure.CANNOT_FIT, problem.message, "--unguarded lets policies drop guarded messages too")
  end
  return failure.check(report, problem)
end

--- Returns the thinking to weigh: a written request leaves out thinking that is bound to what has changed, other files
--- keep it, and saved conversations know it when they are written.
local function thinking_of(chat, rules)
  if chat.saved then return nil end
  return rules.is_request and bound_thinking.is_left_out(rules.target, rules.target.model)
end

--- Trims, then repairs the new neighbours. A repair may insert a message; if the result does not
--- fit any more, a second trim cuts that much more.
---@param chat ebb.Conversation
---@param rules ebb.cli.Rules
---@return ebb.cli.Trimmed
local function trim_to_fit(chat, args, policy, rules, loading)
  if #chat >= LONG_TO_TRIM then terminal.progress(("trimming %d messages"):format(#chat), true) end
  local start, length, reserve = chat:stats().current_batch_index, #chat, args.reserve or 0
  local model = model_command.reader(args)
  local aim
  local thinking = thinking_of(chat, rules)
  while true do
    local report = check_fit(args, failure.typed(trimming.run, chat, {
      budget = args.budget, reserve = reserve, policy = policy, guards = not args.unguarded,
      model = model, limits = loading.limits, trusted = loading.trusted,
    }, nil, thinking))
    aim = aim or report.budget
    local copy, mended = outgoing.mend(chat, rules)
    local after = mended.ledger and core.counter.calibrated(copy, (trimming.weigh(copy, nil, true, thinking)))
      or report.after
    if after <= aim or not mended.ledger then
      mended.left = outgoing.left_in(copy, rules, mended.left, args)
      return { chat = copy, report = report, budget = aim, after = after, mended = mended }
    end
    chat:rollback(start, length)
    reserve = reserve + after - aim
  end
end

function trim.run(args)
  args.file = args.files[1]
  options.use_in_place(args)
  edits.check(args)
  prices.check(args)
  options.use_policy_path(args)
  local loading = options.loading(args)
  check_replay(args)
  if args.replay then return replay_all(args, loading) end
  if args.suggest then return suggest_one(args, loading) end
  options.one_input(args)
  local policy = policy_of(args.policy, loading)
  local read = options.load(args.file, args)
  args.budget = options.budget_of(args.budget, read)      -- a share is one of what `ebb count` counts
  local loaded = outgoing.in_form(read, args)
  options.tell_stand_in(loaded, args)
  local chat, rules, repair = outgoing.prepare(loaded, args)
  outgoing.decide(rules, chat, args)
  local before = args.explain and require("ebb.cli.view.explain").before(loaded, not args.unguarded) or nil
  local trimmed = trim_to_fit(chat, args, policy, rules, loading)
  terminal.progress(nil)
  trimmed.repair, trimmed.rules = repair, rules

  tell(args, before, trimmed)
  edits.write(args, function() return as_data(trimmed) end,
    function() options.save(trimmed.chat, args, nil, nil, outgoing.request(trimmed.chat, trimmed.rules)) end)
end

return trim
