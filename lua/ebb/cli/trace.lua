--- What each processor changed, as `ebb diff` shows it.

local core = require "ebb.support.core"
local difference = require "ebb.conversation.difference"
local diff = require "ebb.cli.diff"
local terminal = require "ebb.cli.terminal"

local trace = {}

--- A tracer for pipeline:run, which tells on standard error.
---@return fun(step: table, messages: ebb.WorkingMessage[], failure: string?, chat: ebb.Conversation)
function trace.new()
  local before = core.conversation()
  return function(step, _, failure, chat)
    local id = step.processor.id
    if failure then return terminal.say(("== %s failed: %s"):format(id, failure)) end
    local found = difference.of(before, chat)
    terminal.say(terminal.colour("title", ("== %s: %s"):format(id, #found == 0 and "nothing changed" or
      ("%d messages now"):format(#chat))))
    if #found > 0 then terminal.show(diff.lines(found)) end
    before = chat
  end
end

return trace
