--- ebb trim --replay: what each policy would have cost over a recorded conversation.

local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.grid"
local json_text = require "ebb.cli.json_text"
local options = require "ebb.cli.options"
local terminal = require "ebb.cli.terminal"

local replay = {}

--- Options of trim that say what to do with a trimmed list; a replay makes none.
local OF_A_LIST = { dry_run = "--dry-run", explain = "--explain", ledger = "--ledger", repair = "--repair" }

local COLUMNS = {
  { title = "requests", right = true },
  { title = "sent", right = true },
  { title = "shared", right = true },
  { title = "cost", right = true },
  { title = "fill", right = true },
  { title = "dropped", right = true },
  { title = "refused", right = true },
  { title = "policy" },
}

local LEGEND = [[
sent: tokens of all requests (%s); shared: of these, what begins like the
request before, which a prompt cache can serve; fill: of %d tokens, where the
whole history is longer; dropped: units; refused: requests that cannot fit
]]

local function percent(share)
  return share and ("%.1f %%"):format(100 * share) or "-"
end

local function row_of(word, result)
  return {
    tostring(result.requests), tostring(result.sent), percent(result.share),
    result.cost and ("%.4f"):format(result.cost) or "-", percent(result.fill), tostring(result.units_dropped),
    tostring(result.refusals), word,
  }
end

local function as_text(results, words, budget, page)
  local rows, trust = {}, "none"
  for i, result in ipairs(results) do
    rows[i], trust = row_of(words[i], result), result.trust or trust
  end
  return grid.render(COLUMNS, rows, page) .. "\n" .. terminal.fill(page, LEGEND:format(trust, budget))
end

local function as_json(results, words, budget)
  local list = core.json.array {}
  for i, result in ipairs(results) do
    list[i] = {
      policy = words[i], requests = result.requests, refusals = result.refusals, firstRefusal = result.first_refusal,
      tokensSent = result.sent, trust = result.trust, tokensShared = result.shared, share = result.share,
      fill = result.fill, cost = result.cost, unitsDropped = result.units_dropped,
      messagesDropped = result.messages_dropped, messagesReplaced = result.messages_replaced,
      messagesInserted = result.messages_inserted,
    }
  end
  return json_text.of({ budget = budget, policies = list })
end

local function check(args)
  for field, option in pairs(OF_A_LIST) do
    if args[field] then
      failure.usage(("%s does not go with --replay"):format(option), "a replay only reports")
    end
  end
end

---@param args table           the parsed command line for trim
---@param specs table[]         one policy each
---@param words string[]        how they stand on the command line
---@param loading ebb.Loading
function replay.run(args, specs, words, loading)
  check(args)
  local chat = options.load(args.file, args)
  local results = failure.check(failure.typed(ebb.replay, chat, {
    policies = specs, budget = args.budget, reserve = args.reserve, guards = not args.unguarded,
    limits = loading.limits, trusted = loading.trusted,
  }))
  local budget = results[1].budget
  local page = terminal.results(args.output)
  terminal.result((args.json and as_json or as_text)(results, words, budget, page), args.output)
  for i, result in ipairs(results) do
    if result.first_refusal then terminal.say(("%s: first refusal: %s"):format(words[i], result.first_refusal)) end
  end
end

return replay
