--- The model of a request: its name, its capabilities, how its tokens are counted.
--
--     name   the caller's  >  the model file's  >  the agent's  >  the body's own

local core = require "ebb.support.core"
local models = require "ebb.models"
local refuse = require "ebb.support.refuse"

local request_model = {}

local ABILITIES = { "vision", "audio", "video", "document" }

--- The model named by the caller, the model's file or the agent; not that of the body.
---@param self ebb.Pipeline
---@return string?
local function asked_name(self)
  return self.options.model or self.model_file and self.model_file.model or self.agent.model
end

local function known(name)
  if not name then return nil end
  local ok, model = pcall(models.find, name)
  return ok and model or nil
end

--- Capabilities of a model. An unknown model is assumed to read images, as most do.
local function abilities_of(model, given)
  local found = {}
  for _, ability in ipairs(ABILITIES) do
    local able = given and given[ability]
    if able == nil and model and model.abilities then able = model.abilities[ability] end
    if able == nil then able = ability == "vision" and (not model or model.image ~= nil) end
    found[ability] = able
  end
  return found
end

--- The `capabilities` of the context.
---@param self ebb.Pipeline
---@param chat ebb.Conversation
---@return table
function request_model.capabilities(self, chat)
  local name = asked_name(self) or core.body_model(chat)
  local model = known(name) or models.of(chat)
  local file = self.model_file or {}
  local found = abilities_of(model, file.capabilities)
  found.dialect, found.model, found.model_name = "openai", name, file.name
  found.provider, found.profile = file.provider or self.agent.provider, file.profile
  found.window, found.output = model and model.window, model and model.output
  return found
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

--- How the request is read and counted.
---@param self ebb.Pipeline
---@param chat ebb.Conversation
---@return table core_options
function request_model.parse_options(self, chat)
  local given, name = self.options, asked_name(self) or core.body_model(chat)
  local found
  if given.counter then
    found = { counter = given.counter }
  else
    local encoding = given.encoding or not known(name) and chat:encoding() or nil
    if not known(name) and not encoding then
      refuse("argument", "the conversation has a counter of its own: the pipeline needs it too", "counter = function")
    end
    found = models.resolve { model = known(name) and name or nil, encoding = encoding }
    found.limit = nil
  end
  found.role_map, found.max_message, found.max_file = given.role_map, given.max_message, given.max_file
  return found
end

return request_model
