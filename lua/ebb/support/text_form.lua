--- The text of a value that a script or host answered with: a number as Lua writes it, else JSON.

local core = require "ebb.support.core"

---@param value any
---@return string? text     nil: it has none, such as a function. Raises where there is no memory for it
return function(value)
  if type(value) == "number" then return core.tostring(value) end
  local ok, text = pcall(core.json.encode, value)
  if ok then return text end
  if not core.is_error(text) or text.code == "memory" then error(text, 0) end
  return nil
end
