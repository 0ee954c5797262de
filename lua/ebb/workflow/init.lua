--- Runs a list of nodes, one after the other, on a conversation.
--
--     return {
--       { operation = "truncate", truncate = { keepLast = 20 } },     the seeds' own configuration
--       { type = "trim", budget = 8000, policy = "keep_recent" },
--       { type = "filter", filter = "drop_tool_noise.lua" },
--       { type = "script", run = function(chat) ... end },
--     }
--
-- or one node alone, or a table {nodes = {...}, name = ..., types = {...}, folder = ...}: `types` are the
-- workflow's own (own_types.lua), `folder` is where its file lies. All nodes are checked before the first
-- one runs. A node that fails ends the run; what earlier nodes did are batches
-- of their own, which can be rolled back.

local core = require "ebb.support.core"
local json_file = require "ebb.support.json_file"
local locate = require "ebb.workflow.locate"
local own_types = require "ebb.workflow.own_types"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local script_file = require "ebb.sandbox.script_file"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local nodes = {}

---@class ebb.NodeType
---@field summary string
---@field example string
---@field fields? table<string, ebb.Schema>    its options; nil: `prepare` checks them
---@field prepare fun(options: table, place: ebb.WorkflowPlace): fun(chat: ebb.Conversation): any, ebb.Error?

local TYPES = { "context_processor", "filter", "script", "trim" }

--- Fields that every node may have.
nodes.common = {
  type = { type = "string", help = "the type of the node" },
  id = { type = "any", help = "ignored: for the program that wrote the workflow" },
  name = { type = "any", help = "ignored, too" },
}

--- For hints.
nodes.form = '{ { type = "trim", budget = 8000 }, { type = "filter", filter = "mine.lua" } }'

---@class ebb.PreparedNode
---@field type string
---@field run fun(chat: ebb.Conversation): any, ebb.Error?   nil and the error when it failed

--- The types of nodes by name, with those that a workflow brings along.
---@param workflow? table
---@return table<string, ebb.NodeType>
function nodes.types(workflow)
  schema.check({ type = "table", shared = true, expected = "a workflow" }, workflow or {}, "types")
  local types = {}
  for _, name in ipairs(TYPES) do
    types[name] = require("ebb.workflow." .. name)
  end
  if workflow and workflow.types ~= nil then own_types.add(types, workflow.types, locate.place(workflow)) end
  return types
end

--- A node without a type is the seeds' configuration of a context processor.
local function type_of(node, types, where)
  if type(node) ~= "table" then return refuse("argument", ("%s is a table, not a %s"):format(where, type(node))) end
  if node.type == nil and node.operation ~= nil then return "context_processor" end
  local names = tables.keys(types)
  local one_of = "one of: " .. table.concat(names, ", ")
  if node.type == nil then
    return refuse("argument", where .. " has no type", ("%s, as in %s"):format(one_of, nodes.form))
  end
  if not types[node.type] then
    local near = suggest.nearest(tostring(node.type), names)
    return refuse("unknown_name", ("%s: unknown type %s"):format(where, schema.describe(node.type)),
      near and ("did you mean '%s'?"):format(near) or one_of)
  end
  return node.type
end

--- Checks a node's own fields; the function that runs it.
local function prepare(node_type, declared, node, place)
  local options = {}
  for key, value in pairs(node) do
    if not nodes.common[key] then options[key] = value end
  end
  if declared.fields then options = schema.options(declared.fields, options, ("a %s node"):format(node_type)) end
  return declared.prepare(options, place)
end

--- Checks a node; errors name it.
local function checked(where, node_type, ...)
  local ok, run = pcall(prepare, node_type, ...)
  if ok then return { type = node_type, run = run } end
  if not core.is_error(run) then error(run, 0) end
  return refuse(run.code, ("%s (%s): %s"):format(where, node_type, run.message), run.hint)
end

local function list_of(workflow)
  if type(workflow) ~= "table" then
    return refuse("argument", "a workflow is a list of nodes, not a " .. type(workflow))
  end
  if workflow.edges ~= nil then
    return refuse("argument", "edges are not available yet", "without edges the nodes run in order")
  end
  if workflow.nodes ~= nil then return workflow.nodes end
  if workflow.operation ~= nil or workflow.type ~= nil then return { workflow } end
  return workflow
end

local KNOWN = { "name", "nodes", "types", "folder", "edges" }

--- The error of a field that looks like a slip of the pen, or nil; others are the business of the program that wrote
--- them.
local function slip_of(workflow)
  for key in pairs(workflow) do
    local is_name = type(key) == "string" and not tables.contains(KNOWN, key)
    local near = is_name and suggest.nearest(key, KNOWN)
    if near then
      local message = ("a workflow has no field '%s'"):format(key)
      return core.error("unknown_name", message, ("did you mean '%s'?"):format(near))
    end
  end
end

local function check_fields(workflow)
  local slip = slip_of(workflow)
  if slip then error(slip, 0) end
  schema.check({ type = "object", fields = { folder = { type = "string" } } }, { folder = workflow.folder }, "workflow")
end

--- Is this what a workflow file returns, rather than a script that has done its work?
---@param value any
---@return boolean
function nodes.is_workflow(value)
  if type(value) ~= "table" then return false end
  return type(value.nodes or value[1]) == "table" or value.operation ~= nil or value.type ~= nil
end

--- The nodes of a workflow; raises for slips in the names of its fields, and where it has no nodes.
local function check_shape(workflow)
  local list = list_of(workflow)
  if type(list) ~= "table" or list[1] ~= workflow then check_fields(workflow) end   -- a node alone has its own fields
  if type(list) ~= "table" or #list == 0 then
    refuse("argument", "a workflow needs at least one node", nodes.form)
  end
  return list
end

--- Checks all nodes; the first mistake is refused.
---@param workflow table
---@return ebb.PreparedNode[]
function nodes.check(workflow)
  local list, prepared = check_shape(workflow), {}
  local types = nodes.types(workflow)
  for i, node in ipairs(list) do
    local where = ("node %d"):format(i)
    local node_type = type_of(node, types, where)
    prepared[i] = checked(where, node_type, types[node_type], node, locate.place(workflow))
  end
  return prepared
end

nodes.BYTES_MAX = 64 * 1024 * 1024   -- of a file

--- The workflow of a file: what Lua returns, or JSON. Its `folder` is the file's.
---@param path string
---@return table? workflow
---@return ebb.Error? problem
function nodes.load(path)
  local text, problem = core.read_file(path, nodes.BYTES_MAX)
  if not text then return nil, problem end
  local value
  local is_json = locate.is_json(text)
  if is_json then
    local ok, file = pcall(json_file.parse, path, text)
    if not ok then return nil, file end
    value = file.value
  else
    value, problem = script_file.load(path)
    if problem then return nil, problem end
  end
  if not nodes.is_workflow(value) then
    local near = type(value) == "table" and slip_of(value)
    if near then return nil, core.error("unknown_name", ("%s: %s"):format(path, near.message), near.hint) end
    local kind = type(value) == "table" and "has none" or "returned " .. type(value)
    return nil, core.error("shape", ("%s: expected a list of nodes, the file %s"):format(path, kind), nodes.form)
  end
  local ok, workflow = pcall(locate.in_folder, value, path, is_json)
  if not ok then return nil, workflow end
  return workflow
end

--- Runs the nodes in order. Mistakes in the list raise before anything runs.
---@param chat ebb.Conversation
---@param workflow table
---@return true? done
---@return ebb.Error? problem  with the number of the node that failed
function nodes.run(chat, workflow)
  for i, node in ipairs(nodes.check(workflow)) do
    local ok, result, problem = pcall(node.run, chat)
    if not ok then result, problem = nil, core.is_error(result) and result or core.error("script", tostring(result)) end
    if result == nil then
      local text = ("node %d (%s): %s"):format(i, node.type, problem.message)
      return nil, core.error(problem.code, text, problem.hint)
    end
  end
  return true
end

return nodes
