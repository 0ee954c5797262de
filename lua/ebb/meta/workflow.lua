---@meta
--- ebb.workflow: lists of nodes, run in order on a conversation. `require "ebb.workflow"` is the same table.

---@alias ebb.Workflow table[]|table|{ nodes: table[], name: string?, types: (string|ebb.OwnNodeType)[]?, folder: string? }
---    a list of nodes, a node alone, or a table with a list. types: of nodes, beside the built-in ones: tables, or Lua files that return
---    some. folder: names of files are looked for there first, then in the current folder; `load` sets it

---@class ebb.OwnNodeType         A type of nodes that a workflow brings along
---@field name string             snake_case; not a built-in one
---@field summary? string
---@field example? string
---@field fields? table<string, ebb.OptionDeclaration>   of a node, beside type, id and name
---@field check? fun(options: table): string|boolean?, string?   what is wrong with options that are right one by one:
---                            a text, or nil and a text; nil, false or true: nothing
---@field run fun(chat: ebb.Conversation, options: table): any, string?   fails: an error, or nil and a reason

---@class ebb.workflow
---@field BYTES_MAX integer      of a file in JSON
local nodes = {}
--- Runs the nodes in order; each leads to a batch of its own. All are checked before the first one runs, and mistakes
--- in them raise. A node that fails ends the run; what earlier nodes did stays, and can be rolled back.
--- `ebb.workflow.run(chat, { { type = "trim", budget = 8000 }, { type = "filter", filter = "no_tools.lua" } })`
---@param chat ebb.Conversation
---@param workflow ebb.Workflow
---@return true? done
---@return ebb.Error? problem  with the number of the node that failed
function nodes.run(chat, workflow) end
--- Checks a workflow without running it; raises for the first mistake.
---@param workflow ebb.Workflow
---@return { type: string, run: fun(chat: ebb.Conversation): any, ebb.Error? }[]
function nodes.check(workflow) end
--- The workflow of a JSON file, or that a Lua file returns; the file runs with all rights of the program.
---@param path string
---@return table? workflow
---@return ebb.Error? problem
function nodes.load(path) end
--- True for a value of the form of a workflow, as a file returns it.
---@param value any
---@return boolean
function nodes.is_workflow(value) end
--- The types of nodes, with their options and an example of each; `prepare` is for `check`.
---@param workflow? ebb.Workflow   with its own types, too
---@return table<string, { summary: string, example: string, fields?: table, prepare: function }>
function nodes.types(workflow) end
