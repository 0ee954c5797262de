--- Trim policy: of turns that are over, the tool exchanges go, oldest turn first;
--- questions and answers stay as long as they fit.
--
-- Run:   ebb trim scripts/policies/agent.json --encoding cjk --budget 250 \
--          --policy scripts/policies/answers_only.lua
-- gives scripts/policies/answers_only.out.json

---@type ebb.Policy
return {
  name = "answers_only",
  summary = "drop tool exchanges of finished turns, then the oldest units",

  ---@param draft ebb.Draft
  ---@param budget integer
  trim = function(draft, budget)
    for turn, _, age in draft:turns { has = "tool_use" } do
      if age == 0 then break end   -- the turn that is under way
      for _, message in ipairs(turn.messages) do
        if draft:tokens() <= budget then return end
        if #message.calls > 0 then draft:drop(message, "exchange of a finished turn") end
      end
    end
    draft:drop_oldest { to = budget }
  end,
}
