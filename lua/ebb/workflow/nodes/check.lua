--- Node `check`: ends the run where a provider would refuse the conversation.
--
--     { type = "check", dialect = "anthropic", severity = "strict" }

local core = require "ebb.support.core"
local target = require "ebb.models.target"

---@type ebb.NodeType
return {
  summary = "ends the run where a provider would refuse the conversation",
  example = '{ type = "check", dialect = "anthropic" }',
  fields = {
    dialect = { type = "string", help = "default: the model's, or that of the messages" },
    profile = { type = "string" }, model = { type = "string" },
    severity = { type = "choice", choices = { "refused", "strict", "changed" }, default = "refused" },
  },
  prepare = function(options)
    target.of { to = options.dialect, profile = options.profile, model = options.model }   -- raises for wrong names
    return function(chat)
      local violations, dialect = chat:check(options)
      local first = violations[1]
      if not first then return true end
      local place = first.index and ("message %d"):format(first.index) or "the request"
      return nil, core.error("refused", ("%s refuses this: %s: %s%s"):format(dialect, place, first.text,
        #violations > 1 and (" (and %d more)"):format(#violations - 1) or ""), first.hint)
    end
  end,
}
