--- The methods of drafts that are written in Lua. What they need of policies, files and
--- options is loaded with the first call.

local core = require "ebb.support.core"

local Draft = core.methods.Draft

function Draft.run(draft, policy, options)
  require("ebb.trim.run").hand_on(draft, policy, options)
end

function Draft.summarize(draft, first, last, options)
  return require("ebb.trim.run").summarize(draft, first, last, options)
end
