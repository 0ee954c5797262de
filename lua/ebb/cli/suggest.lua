--- ebb trim --suggest: replays one conversation under the policies that suit most, and says which to take, and why.

local built_in = require "ebb.policies"
local choice = require "ebb.replay.choice"
local core = require "ebb.support.core"
local files = require "ebb.cli.replay_files"
local json_text = require "ebb.cli.json_text"
local tables = require "ebb.support.tables"
local terminal = require "ebb.cli.terminal"
local text = require "ebb.cli.text"

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

local function is_needed(none)
  return none.requests_over > 0
end

local function nothing_to_cut(played)
  local none, budget = played.results[1], text.count(played.budget, "token")
  return {
    ("%s as they are: no trimming is needed."):format(none.requests == 1 and "The one request fits " .. budget
      or ("All %d requests fit %s"):format(none.requests, budget)),
    "Take no policy; one would send the same, and cost the same.",
    ("Without trimming %.1f %% of the tokens begin like the request before, which a prompt cache serves.")
      :format(100 * none.share),
    "A smaller budget can still be cheaper: look for one with --budget.",
    "All policies in a table: ebb trim --replay FILE --budget TOKENS --policy NAME ...",
  }
end

--- Where another policy keeps more, or costs less.
local function alternative(results, words, position)
  local other
  for i = 2, #results do
    local is_cheaper = results[i].cost < results[position].cost and results[i].refusals <= results[position].refusals
    if i ~= position and is_cheaper and (not other or results[i].cost < results[other].cost) then other = i end
  end
  if not other then return "None of the others costs less." end
  return ("Cheaper: %s, %s; of what the replies used, its requests had %s."):format(words[other - 1],
    cost_of(results[other]), percent(choice.recall(results[other])))
end

local function lines_of(played, words)
  local results = played.results
  local none, position = results[1], choice.position(results)
  local result, word = results[position], words[position - 1]
  local refusals = result.refusals > 0 and ("; %d cannot fit, whatever the policy"):format(result.refusals) or ""
  return {
    ("Take %s: ebb trim FILE --budget %d --policy %s"):format(word, played.budget, word),
    ("%d of %s %s to be cut to fit %s%s."):format(none.requests_over, text.count(none.requests, "request"),
      none.requests_over == 1 and "has" or "have", text.count(played.budget, "token"), refusals),
    ("Cost: %s; %s of its tokens begin like the request before, so a prompt cache serves them."):format(cost_of(result),
      percent(result.share)),
    ("Kept: of what the replies handed to tools and had read before, the requests still had %s; of what they named %s.")
      :format(percent(result.recall_arguments), percent(result.recall_values)),
    alternative(results, words, position),
  }
end

--- What is to be said, and the policy to take; nil where none is needed.
local function answer_of(played, words)
  if not is_needed(played.results[1]) then return nothing_to_cut(played) end
  return lines_of(played, words), words[choice.position(played.results) - 1]
end

---@param args table           the parsed command line for trim
---@param specs table[]         one policy each
---@param words string[]        how they stand on the command line
---@param loading ebb.Loading
function suggest.run(args, specs, words, loading)
  local played = files.play(args, args.file, specs, loading, true)
  local lines, word = answer_of(played, words)
  if args.json then
    local report = { budget = played.budget, policy = word or core.json.null, lines = lines }
    return terminal.result(json_text.format(report), args.output)
  end
  terminal.result(terminal.fill(terminal.results(args.output), table.concat(lines, "\n"), "  "), args.output)
end

return suggest
