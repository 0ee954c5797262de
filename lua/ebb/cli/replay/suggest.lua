--- ebb trim --suggest: replays conversations under the policies that suit most, and says which to take, and why.

local built_in = require "ebb.policies"
local choice = require "ebb.replay.choice"
local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local files = require "ebb.cli.replay.replay_files"
local json_text = require "ebb.cli.view.json_text"
local tables = require "ebb.support.tables"
local terminal = require "ebb.cli.view.terminal"
local tables_of = require "ebb.cli.replay.replay_table"
local text = require "ebb.cli.view.text"
local together = require "ebb.replay.together"

local suggest = {}

local CANDIDATES = { "agent", "digest", "stable_prefix", "keep_recent", "clear_tool_uses,stable_prefix",
  "shrink_results,stable_prefix" }

--- The candidates whose policies are all built in, and those of the command line.
---@param more string[]
---@return string[] words
function suggest.words(more)
  local words = {}
  for _, word in ipairs(CANDIDATES) do
    local exists = true
    for name in word:gmatch "[^,]+" do
      exists = exists and tables.contains(built_in.names, name)
    end
    if exists then words[#words + 1] = word end
  end
  for _, word in ipairs(more) do
    if not tables.contains(words, word) then words[#words + 1] = word end
  end
  return words
end

local function percent(share)
  return share and ("%.0f %%"):format(100 * share) or "all"
end

--- "0.47 times the cost of no trimming".
local function cost_of(result)
  return ("%.2f times the cost of no trimming"):format(result.relative_cost or 1)
end

local function nothing_to_cut(summary)
  local none = summary.results[1]
  return {
    ("%s %s as they are: no trimming is needed."):format(none.requests == 1 and "The one request fits"
      or ("All %d requests fit"):format(none.requests), summary.budget_words),
    "No trimming needed: a policy would change nothing.",
    ("Without trimming %.1f %% of the tokens begin like the request before, which a prompt cache serves.")
      :format(100 * none.share),
    "A smaller budget can still be cheaper: look for one with --budget.",
    "All policies in a table: ebb trim --replay FILE --budget TOKENS --policy NAME ...",
  }
end

--- Names the cheapest of the other policies that cost less and refuse no more than the suggested one.
local function alternative(results, words, position)
  local other
  for i = 2, #results do
    local is_cheaper = results[i].cost < results[position].cost and results[i].refusals <= results[position].refusals
    if i ~= position and is_cheaper and (not other or results[i].cost < results[other].cost) then other = i end
  end
  if not other then return "None of the others costs less." end
  return ("Cheaper: %s, %s; its requests still contained %s of the values that replies used."):format(words[other - 1],
    cost_of(results[other]), percent(choice.recall(results[other])))
end

local function refusals_of(result)
  if result.refusals == 0 then return "" end
  return ("; %d cannot fit, whatever the policy: the smallest budget for all is %d"):format(result.refusals,
    result.smallest_budget)
end

local function lines_of(summary, words)
  local results = summary.results
  local none, position = results[1], choice.position(results)
  local result, word = results[position], words[position - 1]
  return {
    ("Take %s: ebb trim FILE --budget %s --policy %s"):format(word, summary.budget_option, word),
    ("%d of %s %s to be cut to fit %s%s."):format(none.requests_over, text.count(none.requests, "request"),
      none.requests_over == 1 and "has" or "have", summary.budget_words, refusals_of(result)),
    ("Cost: %s; %s of its tokens begin like the request before, so a prompt cache serves them."):format(cost_of(result),
      percent(result.share)),
    ("Kept: %s of the values passed to tools and %s of those mentioned in replies were still in the request.")
      :format(percent(result.recall_arguments), percent(result.recall_values)),
    alternative(results, words, position),
  }
end

--- Fails where no policy could make one of the requests fit that had to be cut.
local function check_fit(summary)
  local result = summary.results[choice.position(summary.results)]
  if result.refusals == 0 or result.requests_over > 0 then return end
  failure.raise(failure.CANNOT_FIT, ("no policy fits %s: %s; the smallest budget is %d"):format(summary.budget_words,
    result.refusals == 1 and "the one request that has to be cut cannot be"
      or ("none of the %d requests that have to be cut can be"):format(result.refusals), result.smallest_budget))
end

---@class ebb.cli.SuggestionBasis        What a suggestion is made of
---@field results ebb.ReplayResult[]   over all recordings
---@field budget? integer      tokens less the reserve and the margin; nil: not the same for all
---@field margin? integer      tokens; likewise
---@field budget_words string
---@field budget_option string  as the command line takes it

---@param args table
---@param played ebb.cli.Played[]
---@return ebb.cli.SuggestionBasis
local function summarize(args, played)
  local lists = {}
  for i, one in ipairs(played) do lists[i] = one.results end
  local budget = files.common(played, "requested")
  local share = type(args.budget) == "table" and ("%g%%"):format(100 * args.budget.share)
  return {
    results = played[2] and together.of(lists) or lists[1],
    budget = files.common(played, "budget"), margin = files.common(played, "margin"),
    budget_words = budget and text.count(budget, "token") or share and ("%s of each conversation"):format(share)
      or "the budgets of their models",
    budget_option = budget and tostring(budget) or share or "TOKENS",
  }
end

local function data_of(summary, lines, word, words, count)
  return json_text.format { budget = summary.budget or core.json.null,
    margin = summary.margin or core.json.null, recordings = count,
    policy = word or core.json.null, lines = lines, policies = tables_of.data(tables_of.rows(summary.results, words)) }
end

---@param args table           the parsed command line for trim
---@param specs table[]         one policy each
---@param words string[]        as on the command line
---@param loading ebb.Loading
function suggest.run(args, specs, words, loading)
  local played = files.play_all(args, files.expand(args.files, args), specs, loading)
  local summary = summarize(args, played)
  local lines, word
  if summary.results[1].requests_over == 0 then
    lines = nothing_to_cut(summary)
  else
    check_fit(summary)
    lines, word = lines_of(summary, words), words[choice.position(summary.results) - 1]
  end
  if args.json then return terminal.result(data_of(summary, lines, word, words, #played), args.output) end
  terminal.result(terminal.fill(terminal.results(args.output), table.concat(lines, "\n"), "  "), args.output)
end

return suggest
