--- Processor: neighbours of one role become one message.
--
-- These stay alone: tool results and messages with calls; messages that hold
-- more than their content (reasoning, a refusal, an unknown field), since
-- it would seem to belong to the others too; neighbours whose names differ; and, unless
-- the settings say otherwise, windows and what was injected at a depth or an anchor.
-- Parts and attachments survive, and `sources` says where each came from.

local content = require "ebb.processors.content"
local quantity = require "ebb.support.quantity"

--- The sources whose messages stay apart.
local function apart_of(config)
  return { window = not config.windows, depth = not config.injections, anchor = not config.injections }
end

--- True if a text is the markup of a window: in a list of messages, which keeps no windows, it is the user's text.
local function is_window(message)
  local text = message.content
  return type(text) == "string" and text:find '^<Window id="' ~= nil and text:find "</Window>$" ~= nil
end

--- True if the message may become a part of another one.
local function joins(message, apart)
  return not apart[message.source] and not (apart.window and is_window(message)) and content.is_plain(message)
end

--- True if `message` can be added to those that begin with `first`, which may be joined.
local function fits(first, message, apart)
  return first.role == message.role and first.name == message.name and joins(message, apart)
end

--- The last of the messages from `i` on that become one; `i` itself if it stays alone.
local function last_of_run(messages, i, apart)
  if not joins(messages[i], apart) then return i end
  local last = i
  while messages[last + 1] and fits(messages[i], messages[last + 1], apart) do last = last + 1 end
  return last
end

--- Adds the messages from `first` to `last` as they are, and the next ones up to `joined` as one.
local function add(result, messages, first, last, joined, separator)
  table.move(messages, first, last, #result + 1, result)
  result[#result + 1] = content.merged(table.move(messages, last + 1, joined, 1, {}), separator)
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
    local messages, result, apart, done = context.messages, {}, apart_of(config), 0
    local before = messages[1] and messages[1].role
    for i = 2, #messages do
      local role = messages[i].role
      if role == before and i > done + 1 then
        local last = last_of_run(messages, i - 1, apart)
        if last >= i then
          add(result, messages, done + 1, i - 2, last, config.separator)
          done = last
        end
      end
      before = role
    end
    if done == 0 then return end
    table.move(messages, done + 1, #messages, #result + 1, result)
    context:log("info", ("%s became %d"):format(quantity(#messages, "message"), #result))
    context.messages = result
  end,
}
