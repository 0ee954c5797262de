--- Node `script`: a function of the user's, called with the conversation.
--
--     { type = "script", run = function(chat) chat:mark(1, "pinned") end }
--     { type = "script", file = "my/step.lua" }      a file that returns such a function

local locate = require "ebb.workflow.locate"
local refuse = require "ebb.support.refuse"
local step = require "ebb.workflow.step"

---@type ebb.NodeType
return {
  summary = "a step of your own, in your own Lua state",
  example = '{ type = "script", run = function(chat) chat:mark(1, "pinned") end }',
  fields = {
    run = { type = "function", help = "called with the conversation; an error, or nil and a reason, ends the run" },
    file = { type = "string", help = "in place of run: a file that returns such a function, next to the workflow's" },
  },
  prepare = function(options, place)
    local run = options.file and locate.script(options.file, place) or options.run
    if not run then refuse("argument", "a script node needs run = function(chat), or file = a path") end
    return function(chat) return step.call(run, chat) end
  end,
}
