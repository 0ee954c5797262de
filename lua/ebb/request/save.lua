--- chat:save with a provider's dialect: the messages are converted, and the file is written whole.
--- Messages that are not rewritten keep the ids and times that only files have.

local request = require "ebb.request"
local schema = require "ebb.support.schema"

local DIALECTS = table.move(require "ebb.models.dialects", 1, 4, 1, {})
DIALECTS[#DIALECTS + 1] = "ebb"

local OPTIONS = {
  dialect = { type = "choice", choices = DIALECTS, required = true },
  shape = { type = "choice", choices = { "array", "jsonl", "body" } }, unchanged = { type = "string" },
}

---@param chat ebb.Conversation
---@param path string
---@param options { dialect: ebb.Dialect, shape?: string, unchanged?: string }
---@param write function      the core's save: chat, path, { unchanged }, the text of the file
---@return true? done
---@return ebb.Error|string? problem
---@return ebb.Loss[]? losses
return function(chat, path, options, write)
  options = schema.options(OPTIONS, options, "save", 'chat:save("out.json", { dialect = "anthropic" })')
  local text, losses = request.write(chat, options.dialect, { shape = options.shape, keep_extra = true })
  local done, problem = write(chat, path, { unchanged = options.unchanged }, text)
  return done, problem, done and losses or nil
end
