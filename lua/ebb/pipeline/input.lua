--- chat:input: how what a user has just said enters a conversation.
--
-- Macros of the text are expanded now, once: what is stored is what was said. Files
-- are attached by reference; the pipeline reads them when a request is made.

local options = require "ebb.support.options"
local pipeline = require "ebb.pipeline"
local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local input = {}

local NAMES = { "attachments", "agent", "model_config", "user_profile", "model", "session", "now", "zone", "seed",
  "limits", "trusted" }
local ATTACHMENT = { "id", "name", "path", "data", "mime", "kind", "placeholder" }
local KINDS = { "text", "image", "audio", "video", "document", "file" }

local function check_attachment(given, where)
  if type(given) == "string" then given = { path = given } end
  if type(given) ~= "table" then
    refuse("argument", where .. ": an attachment is a path, or a table {path} or {data}", '{ path = "plan.png" }')
  end
  options.names(given, ATTACHMENT, where)
  local made = {}
  for name, value in pairs(given) do
    if type(value) ~= "string" or value == "" then
      refuse("argument", ("%s.%s is a text, not %s"):format(where, name, tostring(value)))
    end
    made[name] = value
  end
  if not made.path and not made.data and not made.id then
    refuse("argument", where .. ": it says neither path nor data nor id", '{ path = "plan.png" }')
  end
  if made.path and made.data then refuse("argument", where .. ": path and data are two attachments") end
  if made.kind and not tables.contains(KINDS, made.kind) then
    refuse("argument", ("%s.kind: no such kind: '%s'"):format(where, made.kind), suggest.hint(made.kind, KINDS))
  end
  made.name = made.name or made.path and made.path:match "[^/]+$"
  return made
end

local function attachments_of(given)
  if given == nil then return nil end
  if type(given) ~= "table" then refuse("argument", "attachments is a list") end
  local list = {}
  for i, each in ipairs(given) do
    list[i] = check_attachment(each, ("attachments[%d]"):format(i))
  end
  return list[1] and list
end

--- A list alone is the attachments.
local function read_options(given)
  given = given or {}
  if type(given) ~= "table" then
    refuse("argument", 'input takes a text and a table: { attachments = { "plan.png" } }')
  end
  if given[1] ~= nil then given = { attachments = given } end
  options.names(given, NAMES, "input")
  local made = {}
  for name, value in pairs(given) do
    if name ~= "attachments" then made[name] = value end
  end
  return made, attachments_of(given.attachments)
end

--- Appends what the user says.
---@param chat ebb.Conversation
---@param text string
---@param given? ebb.Input
---@return integer batch
---@return { local: table, global: table } variables   as the macros left them
function input.run(chat, text, given)
  if type(text) ~= "string" then refuse("argument", "input takes a text, not " .. type(text)) end
  local made, attachments = read_options(given)
  local expanded, variables = pipeline.new(made):expand(chat, text)
  return chat:append { role = "user", content = expanded, attachments = attachments }, variables
end

return input
