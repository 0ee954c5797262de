--- JSON results.

local core = require "ebb.support.core"

local json_text = {}

--- A value as indented JSON with a newline at its end. Of messages and ledgers in it, which are
--- JSON already, numbers, strings and the order of keys stay as they are written.
---@param value any
---@return string
function json_text.format(value)
  return core.json.encode(value, { indent = 2, newline = true })
end

return json_text
