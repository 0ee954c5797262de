--- What a command is about to write, held against the rules of its provider.
--
-- What was broken before the command stays and is told; --repair mends it, in
-- what is written. What a cut of whole units itself can break is only how the
-- neighbours get on (anthropic: who comes first, who follows whom): that is
-- always mended, where it was in order before.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local options = require "ebb.cli.options"
local terminal = require "ebb.cli.terminal"

local outgoing = {}

local SHOWN = 3   -- violations that are told one by one

local NEIGHBOURS = { "user_first", "alternation", "results_late", "empty_text", "trailing_space" }

local function way_of(word)
  if word == "drop" or word == "synthesize" then return word end
  return nil, ("--repair: expected drop or synthesize, got '%s'"):format(word)
end

function outgoing.declare(parser)
  parser:option("--repair", "Repair what the provider would refuse; unanswered calls: drop (default) or synthesize.")
    :argname("<way>"):convert(way_of)
  outgoing.declare_dialect(parser)
end

function outgoing.declare_dialect(parser)
  parser:option("--dialect", "The provider's rules: openai or anthropic; default: by the form of the messages.")
    :argname("<name>")
end

---@class ebb.cli.Rules         A conversation as it was read
---@field dialect string
---@field original ebb.Conversation   a fork

--- To be called before anything is edited. What was broken is looked for only
--- where something is broken in the end.
---@param chat ebb.Conversation
---@param args table
---@return ebb.cli.Rules
function outgoing.rules(chat, args)
  local nothing = core.conversation()
  if args.dialect then failure.typed(nothing.check, nothing, args.dialect) end      -- is it a name?
  return { dialect = args.dialect or chat:dialect(), original = chat:fork() }
end

--- The conversation mended before anything is cut, so that what mending adds is
--- within the budget too.
---@param chat ebb.Conversation
---@param args table
---@return ebb.Conversation chat
---@return ebb.cli.Rules rules
---@return ebb.RepairReport? report     if --repair was given
function outgoing.prepare(chat, args)
  if not args.repair then return chat, outgoing.rules(chat, args) end
  local copy, report = failure.typed(chat.repaired, chat, { dialect = args.dialect, calls = args.repair })
  return copy, outgoing.rules(copy, { dialect = report.dialect }), report
end

--- Codes that nothing violated in the conversation as it was read.
local function fresh_codes(rules)
  local broken, codes = {}, {}
  for _, violation in ipairs(rules.original:check(rules.dialect)) do
    broken[violation.code] = true
  end
  for _, code in ipairs(NEIGHBOURS) do
    if not broken[code] then codes[#codes + 1] = code end
  end
  return codes
end

local function count_of(n, word)
  return ("%d %s%s"):format(n, word, n == 1 and "" or "s")
end

---@param report ebb.RepairReport
function outgoing.tell_mended(report)
  if not report.ledger then return end
  local counts = { dropped = 0, replaced = 0, inserted = 0 }
  for _, run in ipairs(report.ledger:runs()) do
    counts[run.action] = counts[run.action] + run.count
  end
  terminal.say(("repaired for %s: %d dropped, %d replaced, %d inserted"):format(report.dialect, counts.dropped,
    counts.replaced, counts.inserted))
end

local function tell_left(left, dialect, mends)
  terminal.say(("warning: %s would refuse this: %s"):format(dialect, count_of(#left, "violation")))
  for i = 1, math.min(#left, SHOWN) do
    terminal.say(("  message %d: %s: %s"):format(left[i].index, left[i].code, left[i].text))
  end
  local more = #left > SHOWN and ("and %d more; "):format(#left - SHOWN) or ""
  local mendable = false
  for _, violation in ipairs(left) do
    mendable = mendable or violation.mendable
  end
  terminal.say(("  %s'ebb check' lists them%s"):format(more, mends and mendable and ", --repair mends them" or ""))
end

--- The conversation as it is to be written; all codes are mended, or those alone
--- that the command itself may have broken.
---@param chat ebb.Conversation
---@param rules ebb.cli.Rules
---@param calls? "drop"|"synthesize"    all codes
---@return ebb.Conversation copy
---@return ebb.RepairReport report
function outgoing.mend(chat, rules, calls)
  local found = failure.typed(chat.check, chat, rules.dialect)
  if #found == 0 then return chat, { dialect = rules.dialect, left = found } end
  return chat:repaired { dialect = rules.dialect, calls = calls, codes = not calls and fresh_codes(rules) or nil }
end

--- Says what was mended, and what was not.
---@param report ebb.RepairReport
---@param args table
function outgoing.tell(report, args)
  outgoing.tell_mended(report)
  if #report.left > 0 then tell_left(report.left, report.dialect, not args.repair) end
end

--- Mends, tells, and writes in the shape in which it came.
function outgoing.save(chat, args, rules)
  local copy, report = outgoing.mend(chat, rules, args.repair)
  outgoing.tell(report, args)
  options.save(copy, args, rules.original)
end

return outgoing
