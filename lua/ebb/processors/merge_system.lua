--- Processor: several system messages become one, at the head.
--
-- A message of role developer counts as one; the first one's role is kept. Their
-- parts and attachments survive, and `sources` says where each came from. A single
-- system message stays where it is, unless `lone` says otherwise.

local content = require "ebb.processors.content"

--- The system messages, and all others, each in their order.
local function split(messages)
  local system, rest = {}, {}
  for _, message in ipairs(messages) do
    local list = content.is_system(message) and system or rest
    list[#list + 1] = message
  end
  return system, rest
end

---@type ebb.Processor
return {
  id = "merge-system",
  name = "Merge system messages",
  description = "joins several system messages into one, at the head",
  priority = 500,
  is_core = true,
  config_fields = {
    { key = "separator", type = "text", default = "\n\n---\n\n", label = "Text between them" },
    { key = "lone", type = "select", default = "stay", label = "A single system message that is not the first",
      options = { { label = "stays where it is", value = "stay" }, { label = "goes to the head", value = "head" } } },
  },

  execute = function(context, config)
    local system, rest = split(context.messages)
    if #system == 0 or #system == 1 and config.lone ~= "head" then return end
    local merged, lost = system[1], nil
    if #system > 1 then
      merged, lost = content.merged(system, config.separator)
      context:log("info", ("joined %d system messages into one"):format(#system), { sources = merged.sources })
    end
    for _, field in ipairs(lost or {}) do
      context:log("warn", ("the system messages differ in '%s': that of the first is kept"):format(field))
    end
    table.insert(rest, 1, merged)
    context.messages = rest
  end,
}
