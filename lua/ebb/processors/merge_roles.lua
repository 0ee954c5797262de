--- Processor: neighbours of one role become one message.
--
-- What is left alone: tool results and messages with calls; messages that hold
-- more than their content (reasoning, a refusal, an unknown field), since
-- that would be said of the others too; neighbours whose names differ; and, unless
-- the settings say otherwise, windows and what was injected at a depth or an anchor.
-- Parts and attachments survive, and `sources` says where each came from.

local content = require "ebb.processors.content"

--- The sources whose messages stay apart.
local function apart_of(config)
  return { window = not config.windows, depth = not config.injections, anchor = not config.injections }
end

--- May the message become a part of another one?
local function joins(message, apart)
  return not apart[message.source] and content.is_plain(message)
end

--- Can `message` be added to those that begin with `first`, which may be joined?
local function fits(first, message, apart)
  return first.role == message.role and first.name == message.name and joins(message, apart)
end

--- The messages from `i` on that become one, and the position behind them.
local function run_at(messages, i, apart)
  local run = { messages[i] }
  if not messages[i + 1] or messages[i + 1].role ~= messages[i].role or not joins(messages[i], apart) then
    return run, i + 1
  end
  local last = i + 1
  while messages[last] and fits(messages[i], messages[last], apart) do
    run[#run + 1], last = messages[last], last + 1
  end
  return run, last
end

---@type ebb.Processor
return {
  id = "merge-roles",
  name = "Merge neighbours of one role",
  description = "joins messages of the same role that follow each other",
  priority = 600,
  is_core = true,
  config_fields = {
    { key = "separator", type = "text", default = "\n\n---\n\n", label = "Text between them" },
    { key = "windows", type = "boolean", default = false, label = "Join windows, too" },
    { key = "injections", type = "boolean", default = false,
      label = "Join presets that were injected at a depth or an anchor, too" },
  },

  execute = function(context, config)
    local messages, result, i, apart = context.messages, {}, 1, apart_of(config)
    while i <= #messages do
      local run, next_one = run_at(messages, i, apart)
      result[#result + 1] = #run > 1 and content.merged(run, config.separator) or run[1]
      i = next_one
    end
    if #result == #messages then return end
    context:log("info", ("%d messages became %d"):format(#messages, #result))
    context.messages = result
  end,
}
