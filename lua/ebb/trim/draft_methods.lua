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

local core_check = Draft.check

--- The rules are those of the target: of the options, of the model, or of the messages' own form.
function Draft.check(draft, options)
  local rules, profile = require("ebb.trim.run").rules(draft, options, Draft.dialect(draft))
  local listed, dialect = core_check(draft, rules)
  return listed, dialect, profile
end
