--- chat:input: appends a user's text to a conversation.
--
-- Macros of the text are expanded once, before it is stored; the conversation keeps the variables that they set. Files
-- are attached by reference; the pipeline reads them when a request is made.

local pipeline = require "ebb.pipeline"
local schema = require "ebb.support.schema"
local variables = require "ebb.pipeline.variables"

local input = {}

local TEXT = { type = "string", filled = true }

local ATTACHMENT = {
  type = "object", expected = "a path, or a table {path} or {data}",
  fields = {
    id = TEXT, name = TEXT, path = TEXT, data = TEXT, mime = TEXT, placeholder = TEXT,
    kind = { type = "choice", choices = { "text", "image", "audio", "video", "document", "file" } },
  },
  check = function(attachment)
    if not (attachment.path or attachment.data or attachment.id) then
      return "path, data or id is needed", '{ path = "plan.png" }'
    end
    if attachment.path and attachment.data then return "path and data are two attachments" end
  end,
}

local OPTIONS = { attachments = { type = "list", items = { any_of = { TEXT, ATTACHMENT } } } }
for _, name in ipairs { "agent", "model_config", "user_profile", "model", "session", "now", "zone", "seed", "limits",
  "trusted", "macros" } do
  OPTIONS[name] = pipeline.OPTIONS[name]
end

--- A list alone is the attachments.
local function read_options(options)
  if type(options) == "table" and options[1] ~= nil then options = { attachments = options } end
  local values = schema.options(OPTIONS, options, "input", 'chat:input(text, { attachments = { "plan.png" } })')
  local attachments = values.attachments or {}
  for i, attachment in ipairs(attachments) do
    if type(attachment) == "string" then attachments[i] = { path = attachment } end
    attachment = attachments[i]
    attachment.name = attachment.name or attachment.path and attachment.path:match "[^/]+$"
  end
  values.attachments = nil
  return values, attachments[1] and attachments
end

--- Appends the text of the user.
---@param chat ebb.Conversation
---@param text string
---@param options? ebb.Input
---@return integer batch
---@return ebb.Variables variables   as the macros left them
function input.run(chat, text, options)
  schema.check({ type = "string" }, text, "input: text")
  local values, attachments = read_options(options)
  local expanded, after, before = pipeline.new(values):expand(chat, text)
  local message = { role = "user", content = expanded, attachments = attachments }
  return variables.append(chat, message, before, after), after
end

return input
