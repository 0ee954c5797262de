--- ebb trim: the messages that fit a budget, in the bytes in which they came.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local model_command = require "ebb.cli.model_command"
local options = require "ebb.cli.options"
local outgoing = require "ebb.cli.outgoing"
local policies = require "ebb.policies"
local terminal = require "ebb.cli.terminal"

local trim = {}

function trim.declare(parser)
  options.input(parser)
  parser:option("--budget", "Tokens for the whole request; default: the model's window less its output.")
    :argname("<tokens>"):convert(options.integer "--budget")
  parser:option("--policy", "A name, file or Lua text that returns one; names and files with options as :key=value,... "
    .. "Several run in order until it fits."):argname("<policy>"):count("*")
  options.policy_path(parser)
  model_command.declare(parser)
  parser:option("--reserve", "Tokens of the budget to leave free."):argname("<tokens>")
    :convert(options.integer "--reserve")
  parser:flag("--unguarded", "Let policies drop system and pinned messages, pending calls and the last user message.")
  parser:flag("--dry-run", "Write no messages, only the report.")
  parser:flag("--explain", "Show on standard error what became of each message, and why.")
  parser:option("--ledger", "Write what was changed to this file, as JSON."):argname("<file>")
  outgoing.declare(parser)
  options.output(parser)
  options.json(parser)
  options.reading(parser)
end

---@return table? spec      for chat:trim; nil is the default policy
local function policy_of(words)
  local specs = {}
  for i, word in ipairs(words) do
    specs[i] = failure.typed(policies.parse, word)
  end
  return specs[1] and specs
end

--- The report as plain data. The ledger comes as JSON and goes out as it is.
local function as_data(report, dry_run)
  local notes = core.json.array {}
  for i, note in ipairs(report.ledger:notes()) do
    notes[i] = { by = note.by, text = note.text }
  end
  return {
    before = report.before, after = report.after, budget = report.budget, trust = report.trust,
    kept = report.kept, dropped = report.dropped, replaced = report.replaced, inserted = report.inserted,
    refused = report.refused, dryRun = dry_run or false, ledger = core.json.raw(report.ledger:json()), notes = notes,
  }
end

local function as_json(report, dry_run)
  return core.json.encode(as_data(report, dry_run), { indent = 2 }) .. "\n"
end

local function summary(report)
  local text = "%d -> %d tokens, budget %d (%s): %d kept, %d dropped, %d replaced, %d inserted"
  return text:format(report.before, report.after, report.budget, report.trust, report.kept, report.dropped,
    report.replaced, report.inserted)
end

--- All talk about a trim that succeeded. A dry run's JSON is its result.
---@param before? ebb.cli.Before    if it is to be explained
local function tell(given, before, report)
  if before then require("ebb.cli.explain").show(before, report.ledger) end
  for _, note in ipairs(report.ledger:notes()) do
    terminal.say(("note by %s: %s"):format(note.by, note.text))
  end
  if given.json then
    if not given.dry_run then terminal.show(as_json(report)) end
  elseif given.explain or given.dry_run or terminal.talks_to_person then
    terminal.say(summary(report))
  end
end

function trim.run(given)
  if not given.budget and not given.model then
    failure.usage("a budget is needed", "--budget 8000, or --model with a model's name")
  end
  options.use_policy_path(given)
  local policy = policy_of(given.policy)
  local chat = options.load(given.file, given)
  local rules = outgoing.rules(chat, given)
  local before = given.explain and require("ebb.cli.explain").before(chat, not given.unguarded) or nil
  local report = failure.check(failure.typed(chat.trim, chat, {
    budget = given.budget, reserve = given.reserve, policy = policy,
    guards = not given.unguarded, dry_run = given.dry_run, model = model_command.of(given),
  }))

  tell(given, before, report)
  if given.ledger then terminal.result(as_json(report, given.dry_run), given.ledger) end
  if not given.dry_run then
    outgoing.save(chat, given, rules)
  elseif given.json then
    terminal.result(as_json(report, true), given.output)
  end
end

return trim
