--- `require "ebb"` in a stranger's script: the same in the command, the module and libebb,
--- so that a policy written for one runs in all.

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"

--- A table of one script's own: what it changes there no other script sees.
---@return { json: ebb.json, null: lightuserdata, version: string }
return function()
  local json = {}
  for name, value in pairs(core.json) do
    json[name] = value
  end
  local face = { json = json, null = core.json.null, version = core.version }
  return setmetatable(face, { __index = function(_, name)
    refuse("unknown_name", ("ebb.%s is not available in a sandbox, which has ebb.json, ebb.null and ebb.version")
      :format(tostring(name)))
  end })
end
