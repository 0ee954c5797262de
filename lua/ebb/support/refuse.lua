--- Raises the error object that every refusal is: {code, message, hint}.

local core = require "ebb.support.core"

---@param code string
---@param message string
---@param hint? string      what to do instead
return function(code, message, hint)
  error(core.error(code, message, hint), 0)
end
