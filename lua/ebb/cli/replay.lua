--- ebb trim --replay: the cost of each policy over a recorded conversation.

local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.grid"
local json_text = require "ebb.cli.json_text"
local model_command = require "ebb.cli.model_command"
local options = require "ebb.cli.options"
local terminal = require "ebb.cli.terminal"

local replay = {}

--- Options of trim that concern the trimmed messages; a replay writes none.
local OF_A_LIST = { dry_run = "--dry-run", explain = "--explain", ledger = "--ledger", repair = "--repair" }

local COLUMNS = {
  { title = "requests", right = true, rank = 2 }, { title = "sent", right = true }, { title = "shared", right = true },
  { title = "best", right = true, rank = 4 }, { title = "cost", right = true }, { title = "x none", right = true },
  { title = "fill", right = true, rank = 1 },
  { title = "args", right = true }, { title = "values", right = true }, { title = "labelled", right = true, rank = 5 },
  { title = "dropped", right = true, rank = 3 }, { title = "refused", right = true }, { title = "policy" },
}

local LEGEND = [[
sent: tokens of all requests (%s); shared: of these, what begins like the
request before, which a prompt cache can serve; best: the most that cuts can
share that send as much; cost: of input in %s, by the cache
"%s"; x none: in costs of no trimming; fill: of %d tokens, where the
whole history is longer; args, values: of what the replies handed to tools and
named in their text, and what their history says, the share that the request
has where something had to go; labelled: with the word before it that the
history has; dropped: units; refused: requests that cannot fit]]

local REFUSED = [[
* without the refused requests, which cost their whole history, all of it fresh,
and have nothing of what their replies used]]

local UNITS = { money = "the currency of the prices", tokens = "tokens of fresh input" }

local function percent(share)
  return share and ("%.1f %%"):format(100 * share) or ""
end

local function row_of(word, result)
  local mark = result.refusals > 0 and "*" or ""
  return {
    tostring(result.requests), result.sent .. mark, percent(result.share),
    percent(result.optimum), (result.cost_unit == "money" and "%.4f" or "%.0f"):format(result.cost),
    result.relative_cost and ("%.2f"):format(result.relative_cost) or "", percent(result.fill),
    percent(result.recall_arguments), percent(result.recall_values), percent(result.recall_labelled),
    tostring(result.units_dropped), tostring(result.refusals), word, colour = result.refusals > 0 and "warning" or nil,
  }
end

--- A row per policy, those with refused requests last: their sums lack requests.
local function as_text(results, words, budget, page)
  local rows, refused, trust = {}, {}, "none"
  for i, result in ipairs(results) do
    local list = result.refusals > 0 and refused or rows
    list[#list + 1] = row_of(words[i], result)
    trust = result.trust or trust
  end
  table.move(refused, 1, #refused, #rows + 1, rows)
  local legend = LEGEND:format(trust, UNITS[results[1].cost_unit], results[1].cache, budget)
  if refused[1] then legend = legend .. "\n" .. REFUSED end
  return grid.render(COLUMNS, rows, page) .. "\n" .. terminal.fill(page, legend)
end

local function as_json(results, words, budget)
  local list = core.json.array {}
  for i, result in ipairs(results) do
    list[i] = {
      policy = words[i], requests = result.requests, refusals = result.refusals, firstRefusal = result.first_refusal,
      tokensSent = result.sent, trust = result.trust, tokensShared = result.shared, share = result.share,
      fill = result.fill, cache = result.cache, tokensCached = result.cached, tokensWritten = result.written,
      cost = result.cost, costUnit = result.cost_unit, relativeCost = result.relative_cost,
      replyTokens = result.reply_tokens, replyCost = result.reply_cost, optimum = result.optimum,
      distance = result.distance, unitsDropped = result.units_dropped,
      messagesDropped = result.messages_dropped, messagesReplaced = result.messages_replaced,
      messagesInserted = result.messages_inserted, recallArguments = result.recall_arguments,
      recallValues = result.recall_values, recallLabelled = result.recall_labelled,
      arguments = result.arguments, values = result.values,
    }
  end
  return json_text.format({ budget = budget, policies = list })
end

local function check(args)
  for field, option in pairs(OF_A_LIST) do
    if args[field] then
      failure.usage(("%s does not go with --replay"):format(option), "a replay only reports")
    end
  end
end

local function progress_of(chat)
  local count = #chat
  return function(policy, position)
    terminal.progress(("%s: message %d of %d"):format(policy, position, count))
  end
end

---@param args table           the parsed command line for trim
---@param specs table[]         one policy each
---@param words string[]        how they stand on the command line; the first result is that of `none`
---@param loading ebb.Loading
function replay.run(args, specs, words, loading)
  check(args)
  local chat = options.load(args.file, args)
  local results = failure.check(failure.typed(ebb.replay, chat, {
    policies = specs, budget = args.budget, reserve = args.reserve, guards = not args.unguarded,
    model = model_command.reader(args), progress = progress_of(chat), prices = args.price, cache = args.cache,
    limits = loading.limits, trusted = loading.trusted,
  }))
  terminal.progress(nil)
  words = table.move(words, 1, #words, 2, { results[1].policy })
  local budget = results[1].budget
  local page = terminal.results(args.output)
  terminal.result((args.json and as_json or as_text)(results, words, budget, page), args.output)
  for i, result in ipairs(results) do
    if result.first_refusal then terminal.say(("%s: first refusal: %s"):format(words[i], result.first_refusal)) end
  end
end

return replay
