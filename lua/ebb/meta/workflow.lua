---@meta
--- ebb.workflow: lists of nodes, run in order on a conversation. `require "ebb.workflow"` is the same table.

---@class ebb.workflow
local nodes = {}
--- Runs the nodes in order; each leads to a batch of its own. All are checked before the first one runs, and mistakes
--- in them raise. A node that fails ends the run; what earlier nodes did stays, and can be rolled back.
--- `ebb.workflow.run(chat, { { type = "trim", budget = 8000 }, { type = "filter", filter = "no_tools.lua" } })`
---@param chat ebb.Conversation
---@param workflow table          a list of nodes, or { name =, nodes = }
---@return true? done
---@return ebb.Error? problem  with the number of the node that failed
function nodes.run(chat, workflow) end
--- Checks a workflow without running it; raises for the first mistake.
---@param workflow table
---@return { type: string, run: fun(chat: ebb.Conversation): any, ebb.Error? }[]
function nodes.check(workflow) end
--- The workflow that a Lua file returns. The file runs with all rights of the program.
---@param path string
---@return table? workflow
---@return ebb.Error? problem
function nodes.load(path) end
--- True for a value of the form of a workflow, as a file returns it.
---@param value any
---@return boolean
function nodes.is_workflow(value) end
--- The types of nodes, with their options and an example of each.
---@return table<string, { summary: string, example: string, fields?: table }>
function nodes.types() end
