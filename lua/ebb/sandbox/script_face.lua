--- `require "ebb"` in a stranger's script: the same in the command, the module and libebb,
--- so that a policy written for one runs in all.

local core = require "ebb.support.core"

--- A table of one script's own: what it changes there no other script sees.
---@return { json: ebb.json, null: lightuserdata, version: string }
return function()
  local json = {}
  for name, value in pairs(core.json) do
    json[name] = value
  end
  return { json = json, null = core.json.null, version = core.version }
end
