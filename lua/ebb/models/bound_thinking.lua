--- Bound thinking: which targets cannot use thinking once what came before it has changed, and who leaves it out then.
---
--- Writers, trims, pipelines and replays ask here, so that what is weighed is what will be sent.

local models = require "ebb.models"
local profiles = require "ebb.models.profiles"
local tables = require "ebb.support.tables"
local target = require "ebb.models.target"
local traits = require "ebb.models.traits"

local bound_thinking = {}

local function is_bound(model)
  return model ~= nil and tables.contains(traits.of(model) or {}, "bound_thinking")
end

--- True if requests come without it, as the target would refuse it: some models of Anthropic.
---@param goal ebb.Target
---@param model? string       its name, known or not
---@return boolean
function bound_thinking.is_left_out(goal, model)
  if goal.dialect ~= "anthropic" or not is_bound(model) then return false end
  return not tables.contains(profiles.find(goal.profile).accepts or {}, "bound_thinking")
end

--- Answers as `is_left_out` for a conversation, with the target of its model or its own form.
---@param chat ebb.Conversation
---@return boolean
function bound_thinking.of_chat(chat)
  local name = models.name(chat)
  return is_bound(name) and bound_thinking.is_left_out(target.of_list(chat), name)
end

--- True if it is left out on either side: the server of Responses takes it out itself.
---@param chat ebb.Conversation
---@return boolean
function bound_thinking.is_unread(chat)
  return bound_thinking.of_chat(chat) or target.of_list(chat).dialect == "responses"
end

return bound_thinking
