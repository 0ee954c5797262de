--- Trim policy: the oldest units become one message that a model writes.

local idle = require "ebb.support.idle"
local marks = require "ebb.support.marks"

local OPTIONS = {
  keep = { type = "integer", default = 6, min = 0, help = "newest units that are never summarized" },
  to = { type = "number", default = 0.8, min = 0, max = 1,
    help = "share of the budget that is in use afterwards; more where tools and guarded messages have much of it" },
  instructions = { type = "string", help = "instructions for the model",
    default = "Summarize the conversation below for the one who continues it. Keep facts, names, numbers, decisions, "
      .. "file paths and what is still to be done; leave out pleasantries. Fold the earlier summary in, if there is "
      .. "one. Answer with the summary only." },
  heading = { type = "string", default = "[Summary of earlier messages]",
    help = "first line of the summary, by which a later one finds it" },
  role = { type = "choice", choices = { "user", "assistant" }, default = "user", help = "role of its message" },
  max_tokens = { type = "integer", default = 1024, min = 1, help = "limit of the summary in tokens" },
  min_savings = { type = "integer", default = 1, min = 1, help = "tokens that the summary must free" },
  idle = idle.OPTION,
}

--- The last of the oldest units whose place a summary must take, to free `need` tokens.
local function last_needed(draft, need, keep)
  local first, last, freed = nil, nil, 0
  for unit, tokens in draft:units { droppable = true, skip_last = keep } do
    first, last, freed = first or unit.first, unit.first, freed + tokens
    if freed >= need then break end
  end
  return first, last
end

---@type ebb.Policy
return {
  name = "summarize",
  summary = "replace the oldest units by a summary that a model writes",
  options = OPTIONS,
  help = [[
Acts only on a draft that is over the budget; then it comes down to the share
`to` of it, so that the next summary is not due at once. With `idle` half of the
budget (more with large tools) counts where the provider's cache is cold anyway. The host answers the
request: `model = function(request)` in Lua, `--model-command` on the command
line. A summary that is empty, cut off, or not smaller is refused, and with it
the trim; an earlier summary is folded into the new one and dropped.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message), and the newest `keep` units.]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 400 --policy summarize:keep=4,max_tokens=60 \
    --model-command "echo 'The queue was slow with three workers; queue.yaml now says five.'"]],

  trim = function(draft, budget, options)
    local now = draft:tokens()
    budget = idle.budget(draft, budget, options.idle)
    if now <= budget then return end
    local target = marks.at(draft, budget, options.to)
    local first, last = last_needed(draft, now - target + options.max_tokens, options.keep)
    if not first then return draft:note "nothing to summarize: all units are guarded or among the newest" end

    local passed_on = {}
    for name, value in pairs(options) do
      if name ~= "keep" and name ~= "to" and name ~= "idle" then passed_on[name] = value end
    end
    local freed, problem = draft:summarize(first, last, passed_on)
    if problem and problem.code == "model" then error(problem.message, 0) end
    if not freed then draft:note(problem.message) end
  end,
}
