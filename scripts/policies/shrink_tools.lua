--- Trim policy: old tool results shrink to one line, then the oldest units go.
--
-- Kept whatever happens: system messages, pinned messages, the pending unit and
-- the last user message (the draft sees to that), and the last `recent` units.
--
-- Run:   ebb trim scripts/policies/shrink_tools.in.json --budget 220 \
--          --policy scripts/policies/shrink_tools.lua:recent=2
-- gives scripts/policies/shrink_tools.out.json

---@type ebb.Policy
return {
  name = "shrink_tools",
  summary = "shrink old tool results, then drop the oldest units",
  options = {
    recent = { type = "integer", default = 4, min = 0, help = "units that stay as they are" },
  },

  ---@param draft ebb.Draft        a private fork; guards hold
  ---@param budget integer         tokens that may remain
  ---@param options { recent: integer }
  trim = function(draft, budget, options)
    for message in draft:messages { role = "tool", from = "oldest", skip_last = options.recent } do
      if draft:tokens() <= budget then return end
      local name = message.call and message.call.name or "tool"
      local line = ("[%s: %d tokens left out]"):format(name, message.tokens)
      draft:replace(message, { content = line }, "old tool result")
    end
    draft:drop_oldest { to = budget, keep = options.recent, reason = "oldest" }
  end,
}
