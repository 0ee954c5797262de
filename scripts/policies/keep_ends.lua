--- Trim policy: the first user message says what it is all about and stays, with
--- what was answered to it; the newest stay; the middle goes, oldest first, and a
--- line says that it is missing.
--
-- Run:   ebb trim scripts/policies/agent.json --encoding cjk --budget 300 \
--          --policy scripts/policies/keep_ends.lua
-- gives scripts/policies/keep_ends.out.json

---@type ebb.Policy
return {
  name = "keep_ends",
  summary = "keep the first question and the newest units, drop the middle",
  options = {
    line = { type = "string", default = "[Messages are left out here.]",
      help = "the text that replaces the middle" },
  },

  ---@param draft ebb.Draft
  ---@param budget integer
  ---@param options { line: string }
  trim = function(draft, budget, options)
    local first = draft:messages { role = "user" }()
    if not first or draft:tokens() <= budget then return end
    draft:keep(first, "the task")
    local line = { role = "assistant", content = options.line }
    draft:drop_oldest { to = budget - draft:cost(line), reason = "middle" }
    draft:insert(first.index + 1, line, "gap")
  end,
}
