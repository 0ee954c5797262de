--- Bounds the texts that a script in a sandbox has expanded: the tree of macros lies in the program's memory,
--- and takes up to 40 times as many bytes.

local refuse = require "ebb.support.refuse"

local expand_bounds = { BYTES_MAX = 256 * 1024 }

--- The text, or an error if it is too long. Who expands it checks the rest.
---@param text any
---@return any
function expand_bounds.text(text)
  if type(text) ~= "string" or #text <= expand_bounds.BYTES_MAX then return text end
  refuse("limit", ("expand: a text of %d bytes; %d are allowed in a sandbox"):format(#text, expand_bounds.BYTES_MAX))
end

return expand_bounds
