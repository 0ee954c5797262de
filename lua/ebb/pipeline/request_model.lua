--- The model of a request: its name, its capabilities, how its tokens are counted.
--
--     name   the caller's  >  the model file's  >  the agent's  >  the body's own

local core = require "ebb.support.core"
local margins = require "ebb.models.margins"
local models = require "ebb.models"
local refuse = require "ebb.support.refuse"

local request_model = {}

local BODY_DIALECT = "openai"   -- the form of the bodies that pipelines write, whatever the model
local ABILITIES = { "vision", "audio", "video", "document" }

--- The model named by the caller, the model's file or the agent; not that of the body.
---@param self ebb.Pipeline
---@return string?
local function asked_name(self)
  return self.options.model or self.model_file and self.model_file.model or self.agent.model
end

local function model_named(name)
  if not name then return nil end
  local ok, model = pcall(models.find, name)
  return ok and model or nil
end

--- Capabilities of a model: true, false, or nil where nothing is known. An unknown model is assumed to read images, as
--- most do.
local function abilities_of(model, declared)
  local abilities = {}
  for _, ability in ipairs(ABILITIES) do
    local able = declared and declared[ability]
    if able == nil and model and model.abilities then able = model.abilities[ability] end
    if able == nil and ability == "vision" and (not model or model.image ~= nil) then able = true end
    abilities[ability] = able
  end
  return abilities
end

--- Percent of an estimate that a budget keeps free; none after a report of the provider.
local function margin_of(chat, model, name)
  return chat:trust() == "calibrated" and 0 or margins.percent(model, name)
end

--- The `capabilities` of the context.
---@param self ebb.Pipeline
---@param chat ebb.Conversation
---@return table
function request_model.capabilities(self, chat)
  local name = asked_name(self) or core.body_model(chat)
  local model = model_named(name) or models.of_chat(chat)
  local file = self.model_file or {}
  local capabilities = abilities_of(model, file.capabilities)
  capabilities.dialect, capabilities.model, capabilities.model_name = BODY_DIALECT, name, file.name
  capabilities.provider, capabilities.profile = file.provider or self.agent.provider, file.profile
  capabilities.window, capabilities.output = model and model.window, model and model.output
  local is_chosen = self.options.encoding or self.options.counter
  capabilities.margin = model and not is_chosen and margin_of(chat, model, name) or 0
  return capabilities
end

--- Members of the body that are set; the model's parameters first, the agent's over them.
---@param self ebb.Pipeline
---@return table<string, any>
function request_model.members(self)
  local members = {}
  for _, source in ipairs { self.model_file or {}, self.agent } do
    for name, value in pairs(source.parameters or {}) do
      members[name] = value
    end
  end
  members.model = asked_name(self)
  return members
end

--- Returns the options by which the request is read and counted.
---@param self ebb.Pipeline
---@param chat ebb.Conversation
---@return table core_options
function request_model.parse_options(self, chat)
  local options, name = self.options, asked_name(self) or core.body_model(chat)
  local result
  if options.counter then
    result = { counter = options.counter }
  else
    local encoding = options.encoding or not model_named(name) and chat:encoding() or nil
    if not model_named(name) and not encoding then
      refuse("argument", "the conversation has a counter of its own: the pipeline needs it too", "counter = function")
    end
    result = models.resolve { model = model_named(name) and name or nil, encoding = encoding }
    result.limit = nil
  end
  result.role_map, result.max_message, result.max_file = options.role_map, options.max_message, options.max_file
  return result
end

return request_model
