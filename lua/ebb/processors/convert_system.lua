--- Processor: system messages become user messages, for models without system messages.
--
-- It comes after the merging, so that a converted message stays one of its own;
-- alternate-roles may put something between it and the next.

local content = require "ebb.processors.content"
local quantity = require "ebb.support.quantity"

---@type ebb.Processor
return {
  id = "convert-system",
  name = "System to user",
  description = "turns system messages into user messages, for models that know no system",
  priority = 700,
  is_core = true,
  default_enabled = false,

  execute = function(context)
    local result, count = {}, 0
    for i, message in ipairs(context.messages) do
      result[i] = message
      if content.is_system(message) then
        result[i], count = content.changed(message, { role = "user" }), count + 1
      end
    end
    if count == 0 then return end
    context:log("info", ("%s became %s"):format(quantity(count, "system message"),
      count == 1 and "a user message" or "user messages"))
    context.messages = result
  end,
}
