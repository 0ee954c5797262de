--- The policies that come with the library, by name; each is loaded on first use.

local refuse = require "ebb.support.refuse"

local built_in = {}

---@type string[]
built_in.names = {
  "keep_recent", "keep_turns", "stable_prefix", "idle", "digest", "agent", "summarize", "clear_tool_uses",
  "prune_messages", "trim_messages", "quota", "supersede", "fold_output", "shrink_results", "mask_results",
}

built_in.default = "keep_recent"

---@param name any
---@return ebb.Policy?       nil where no built-in policy has this name
function built_in.find(name)
  for _, known in ipairs(built_in.names) do
    if known == name then return require("ebb.policies." .. name) end
  end
end

--- The built-in policies by name, each loaded when it is looked at: `ebb.policies`.
built_in.policies = setmetatable({}, {
  __index = function(_, name) return built_in.find(name) end,
  __newindex = function()
    refuse("argument", "ebb.policies lists what is built in", "give a policy of your own to chat:trim as it is")
  end,
  __pairs = function()
    local i = 0
    return function()
      i = i + 1
      local name = built_in.names[i]
      if name then return name, built_in.find(name) end
    end
  end,
})

return built_in
