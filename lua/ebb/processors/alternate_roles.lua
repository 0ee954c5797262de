--- Processor: placeholders between, so that user and assistant alternate.
--
--     user  user             user [assistant: OK.] user
--     assistant  assistant   assistant [user: Continue.] assistant
--
-- System messages are looked past: where a provider takes them out, their
-- neighbours meet. A tool result ends the assistant's turn for what comes after it,
-- and nothing is put before a message that answers calls: it belongs to them.

local content = require "ebb.processors.content"
local quantity = require "ebb.support.quantity"
local refuse = require "ebb.support.refuse"

local SPEAKS = { user = true, assistant = true }
local OTHER = { user = "assistant", assistant = "user" }

local function check_text(config, key)
  if not config[key]:find "%S" then
    refuse("argument", ("alternate-roles: %s is blank, and providers refuse blank messages"):format(key))
  end
  return config[key]
end

---@type ebb.Processor
return {
  id = "alternate-roles",
  name = "Alternate roles",
  description = "puts placeholders between, so that user and assistant alternate",
  priority = 800,
  is_core = true,
  default_enabled = false,
  config_fields = {
    { key = "user_placeholder", type = "text", default = "Continue.", label = "Between two messages of the assistant" },
    { key = "assistant_placeholder", type = "text", default = "OK.", label = "Between two messages of the user" },
    { key = "user_first", type = "boolean", default = false,
      label = "The user's placeholder before an assistant that speaks first" },
  },

  execute = function(context, config)
    local text = { user = check_text(config, "user_placeholder"),
      assistant = check_text(config, "assistant_placeholder") }
    local result, before, count = {}, config.user_first and "assistant" or nil, 0
    for _, message in ipairs(context.messages) do
      local role = message.role
      if SPEAKS[role] and role == before and not content.answers(message) then
        result[#result + 1] = { role = OTHER[role], content = text[OTHER[role]], source = "placeholder" }
        count = count + 1
      end
      if not content.is_system(message) then before = role end
      result[#result + 1] = message
    end
    if count == 0 then return end
    context:log("info", quantity(count, "placeholder"))
    context.messages = result
  end,
}
