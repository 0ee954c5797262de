--- Processor: the system messages at the head become one.
--
--     scope head   system system user system   ->  system user system
--     scope all    system system user system   ->  system user
--
-- A system message that is deeper was put there: an author's note at a depth, a
-- preset at an anchor. It moves to the head under scope "all" only. A message of role
-- developer counts as system; the first one's role is kept. Parts and attachments
-- survive, and `sources` says where each came from.

local content = require "ebb.processors.content"

--- The system messages that become one, and all others, each in their order. Most requests have one at the head: then
--- nothing after it is read.
local function split(messages, scope)
  local heads = 0
  while messages[heads + 1] and content.is_system(messages[heads + 1]) do heads = heads + 1 end
  local system, rest = table.move(messages, 1, heads, 1, {}), {}
  if scope == "head" then
    return system, heads > 1 and table.move(messages, heads + 1, #messages, 1, rest) or rest
  end
  for i = heads + 1, #messages do
    local list = content.is_system(messages[i]) and system or rest
    list[#list + 1] = messages[i]
  end
  return system, rest
end

--- The position of the only system message; nil if there are several, or none.
local function lone(messages)
  local position
  for i, message in ipairs(messages) do
    if content.is_system(message) then
      if position then return nil end
      position = i
    end
  end
  return position
end

local function join(context, system, rest, separator)
  local merged, lost = content.merged(system, separator)
  context:log("info", ("joined %d system messages into one"):format(#system), { sources = merged.sources })
  for _, field in ipairs(lost or {}) do
    context:log("warn", ("the system messages differ in '%s': that of the first is kept"):format(field))
  end
  table.insert(rest, 1, merged)
  context.messages = rest
end

---@type ebb.Processor
return {
  id = "merge-system",
  name = "Merge system messages",
  description = "joins the system messages at the head into one",
  priority = 500,
  is_core = true,
  config_fields = {
    { key = "scope", type = "select", default = "head", label = "Which system messages are joined",
      options = { { label = "those at the head; others stay where they are", value = "head" },
        { label = "all of them, at the head", value = "all" } } },
    { key = "separator", type = "text", default = "\n\n---\n\n", label = "Text between them" },
    { key = "lone", type = "select", default = "stay", label = "A single system message that is not the first",
      options = { { label = "stays where it is", value = "stay" }, { label = "goes to the head", value = "head" } } },
  },

  execute = function(context, config)
    local system, rest = split(context.messages, config.scope)
    if #system > 1 then return join(context, system, rest, config.separator) end
    local position = config.lone == "head" and lone(context.messages)
    if not position then return end
    local list = table.move(context.messages, 1, #context.messages, 1, {})
    table.insert(list, 1, table.remove(list, position))
    context.messages = list
  end,
}
