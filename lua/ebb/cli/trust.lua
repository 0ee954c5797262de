--- Reasons of estimated counts.

local models = require "ebb.models"

local trust = {}

--- The part of a conversation that is counted by an assumption; nil for counts that are not estimated.
---@param chat ebb.Conversation
---@return string? reason
function trust.reason(chat)
  if chat:trust() ~= "estimated" then return nil end
  local encoding = chat:encoding()
  if encoding and models.is_estimator(encoding) then
    local missing = models.missing(chat)
    if missing then return ("%s is not installed, so %s counts"):format(missing, encoding) end
    return ("%s counts; --model or --encoding names a vocabulary"):format(encoding)
  end
  local empty = chat:fork()
  empty:truncate { keep_last = 0 }
  if empty:trust() == "estimated" then return "how the provider frames its tools is assumed" end
  return "the cost of a part that is not text is assumed"
end

return trust
