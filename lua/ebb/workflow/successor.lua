--- A conversation of a text instead of another: counted alike.

local core = require "ebb.support.core"
local models = require "ebb.models"
local refuse = require "ebb.support.refuse"

---@param chat ebb.Conversation    the one that it follows
---@param text string
---@return ebb.Conversation
return function(chat, text)
  local kept = core.state(chat).options or {}
  local options = { model = chat:model(), encoding = kept.encoding, limit = kept.limit }
  if options.model and not models.is_known(options.model) then options.model = nil end
  local core_options, model = models.resolve(options)
  local result, problem = core.parse(text, core_options)
  if not result then refuse(problem.code, problem.message, problem.hint) end
  models.assign(result, model, options.model)
  models.keep_options(result, options)
  return result
end
