--- ebb pipeline --trace: the changes of each processor, as `ebb diff` shows them.

local core = require "ebb.support.core"
local difference = require "ebb.conversation.difference"
local differences_view = require "ebb.cli.view.differences"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

local trace = {}

local CHANGES_MAX = 200   -- messages shown of one processor

--- Makes the option `on_step` of pipeline:run, which writes to standard error.
---@return fun(step: table, failure: string?, chat: ebb.Conversation)
function trace.new()
  local before, page = core.conversation(), terminal.messages()
  return function(step, failure, chat)
    local id = step.processor.id
    if failure then return terminal.say(("== %s failed: %s"):format(id, failure)) end
    local differences = difference.compare(before, chat)
    local outcome = #differences == 0 and "nothing changed" or text.count(#chat, "message") .. " now"
    terminal.show(page.paint("title", terminal.fill(page, ("== %s: %s"):format(id, outcome), "   ")))
    if #differences > 0 then terminal.show(differences_view.lines(differences, page, CHANGES_MAX) .. "\n") end
    before = chat
  end
end

return trace
