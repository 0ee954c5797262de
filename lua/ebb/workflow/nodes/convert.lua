--- Node `convert`: the conversation goes on in the form of another provider.
--
--     { type = "convert", to = "anthropic" }
--
-- It becomes a new conversation of its visible messages: earlier batches, marks and windows are not copied.

local core = require "ebb.support.core"
local dialects = require "ebb.models.dialects"
local request = require "ebb.request"
local successor = require "ebb.workflow.successor"

---@type ebb.NodeType
return {
  summary = "writes the conversation in the form of another provider",
  example = '{ type = "convert", to = "anthropic" }',
  fields = {
    to = { type = "choice", choices = dialects, required = true },
    shape = { type = "choice", choices = { "body", "array", "jsonl" }, help = "default: as it is" },
    model = { type = "string", help = "instead of the body's" },
    keep_extra = { type = "boolean", help = "members that requests do not have stay" },
    strict = { type = "boolean", default = false, help = "ends the run where something is left out" },
  },
  prepare = function(options)
    return function(chat, run)
      local text, losses = request.write(chat, options.to,
        { shape = options.shape, model = options.model, keep_extra = options.keep_extra })
      for _, loss in ipairs(losses) do
        if options.strict and not loss.changed then return nil, core.error("refused", loss.text) end
        run:note(loss.text)
      end
      run:use(successor(chat, text))
      return true
    end
  end,
}
