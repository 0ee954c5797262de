--- Node `script`: a function of the user's, called with the conversation.
--
--     { type = "script", run = function(chat) chat:mark(1, "pinned") end }
--     { type = "script", file = "my/step.lua" }      a file that returns such a function

local traceback = require "ebb.support.traceback"
local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local script_file = require "ebb.sandbox.script_file"

local function from_file(path)
  local value, problem = script_file.load(path)
  if problem then error(problem, 0) end
  if type(value) ~= "function" then
    refuse("shape", ("%s: expected a function, the file returned %s"):format(path, type(value)))
  end
  return value
end

---@type ebb.NodeType
return {
  summary = "a step of your own, in your own Lua state",
  example = '{ type = "script", run = function(chat) chat:mark(1, "pinned") end }',
  fields = {
    run = { type = "function", help = "called with the conversation; an error it raises ends the run" },
    file = { type = "string", help = "in place of run: a file that returns such a function" },
  },
  prepare = function(options)
    local run = options.file and from_file(options.file) or options.run
    if not run then refuse("argument", "a script node needs run = function(chat), or file = a path") end
    return function(chat)
      local ok, message, code = traceback.call(run, run, chat)
      if ok then return true end
      return nil, core.error(code or "script", message)
    end
  end,
}
