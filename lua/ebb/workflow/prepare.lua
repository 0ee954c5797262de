--- Prepares a workflow: every node is checked before any of them runs.
--
--     workflow --sequence--> prepared nodes, each a function of the conversation
--                  \
--                   a node with nodes of its own (branch, loop, parallel) asks its kit for theirs

local core = require "ebb.support.core"
local faults = require "ebb.workflow.faults"
local graph = require "ebb.workflow.graph"
local locate = require "ebb.workflow.locate"
local operations = require "ebb.conversation.operations"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local script_file = require "ebb.sandbox.script_file"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local prepare = {}

prepare.DEPTH_MAX = 8   -- workflows in one another: a file that names itself has no end

--- Fields that every node may have.
prepare.common = {
  type = { type = "string", help = "the type of the node" },
  id = { type = "any", help = "in a graph: the name by which edges lead to it" },
  name = { type = "any", help = "ignored: for people and the program that wrote the workflow" },
}

--- For hints.
prepare.form = '{ { type = "trim", budget = 8000 }, { type = "filter", filter = "mine.lua" } }'

---@class ebb.PreparedNode
---@field type string
---@field where string          "node 2", for errors
---@field label string          for drawings and traces
---@field id? string
---@field run fun(chat: ebb.Conversation, run: ebb.WorkflowRun): any, ebb.Error?   nil and the error when it failed
---@field kind? "branch"|"loop"|"parallel"|"workflow"   of a node with parts
---@field parts? { [1]: string, [2]: ebb.Sequence? }[]
---@field outcomes? (string|boolean)[]|"any"   of a branch in a graph: the edges that it may follow

---@class ebb.Sequence
---@field nodes ebb.PreparedNode[]
---@field graph? ebb.WorkflowGraph
---@field contained? boolean     it is in JSON: its nodes count as rounds

---@class ebb.WorkflowKit       What a node is prepared with
---@field place ebb.WorkflowPlace
---@field unknown? string[]      the workflow is only looked at: gets what that cannot learn; nil: it is about to run
---@field is_open boolean        types of nodes are among what it cannot learn
---@field toolset ebb.Toolset
---@field depth integer          of workflows in one another
---@field in_graph boolean       edges lead to and from the node
local Kit = {}
Kit.__index = Kit

--- Operations are nodes by their field `operation`.
local OPERATIONS = tables.keys(operations.FORMS)

--- Stands for a type that a look at a workflow does not learn.
local UNREAD = { is_own = true, prepare = function() return function() return true end end }

--- A node without a type is the seeds' configuration of a context processor.
local function type_of(node, types, is_open)
  if type(node) ~= "table" then
    return refuse("argument", ("a node is a table, not %s"):format(schema.describe(node)))
  end
  if node.type == nil and node.operation ~= nil then return "context_processor" end
  local names = tables.keys(types)
  local one_of = "one of: " .. table.concat(names, ", ")
  if node.type == nil then
    return refuse("argument", "it has no type", ("%s, as in %s"):format(one_of, prepare.form))
  end
  if not types[node.type] and not (is_open and type(node.type) == "string") then
    local word = tostring(node.type)
    local near, operation = suggest.nearest(word, names), suggest.nearest(word, OPERATIONS)
    local hint = near and ("did you mean '%s'?"):format(near) or one_of
    if operation and not near then
      hint = ('it is an operation: operation = "%s", %s = { ... } instead of type'):format(operation, operation)
    end
    return refuse("unknown_name", ("unknown type %s"):format(schema.describe(node.type)), hint)
  end
  return node.type
end

--- The fields of a node, as its type declares them. The place of an error names the node already.
local function own_fields(declared, node, node_type)
  local options, owner = {}, ("a %s node"):format(node_type)
  for key, value in pairs(node) do
    if not prepare.common[key] then options[key] = value end
  end
  if not declared.fields then return options end
  local ok, values = pcall(schema.options, declared.fields, options, owner)
  if ok then return values end
  if core.is_error(values) and values.message:sub(1, #owner + 2) == owner .. ": " then
    refuse(values.code, values.message:sub(#owner + 3), values.hint)
  end
  return error(values, 0)
end

--- Returns the table that a type's `prepare` gave, or one with the function that it gave.
local function prepared_node(result)
  if type(result) == "function" then return { run = result } end
  return result
end

local function label_of(node, node_type)
  local word = node_type == "context_processor" and tostring(node.operation):lower() or node_type
  local name = type(node.name) == "string" and node.name or type(node.id) == "string" and node.id or nil
  return name and ("%s: %s"):format(word, name) or word
end

--- Raises with the place of the node in front.
local function placed(where, path, call, ...)
  local results = table.pack(pcall(call, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local problem = results[2]
  return error(core.is_error(problem) and faults.at(problem, where, path) or problem, 0)
end

--- Prepares the node at a place.
local function node_at(kit, node, where, path, in_graph)
  local node_type = placed(where, path, type_of, node, kit.types, kit.is_open)
  local id = type(node.id) == "string" and node.id or nil
  where = id and ("%s '%s' (%s)"):format(where, id, node_type) or ("%s (%s)"):format(where, node_type)
  local inner = setmetatable({ where = where, path = path, in_graph = in_graph }, { __index = kit })
  local declared = kit.types[node_type] or UNREAD
  local prepared = prepared_node(placed(where, path, function()
    if not declared.is_own then locate.check_fields(node, kit.place) end
    return declared.prepare(own_fields(declared, node, node_type), kit.place, inner)
  end))
  prepared.source, prepared.path = kit.source, path
  prepared.type, prepared.id, prepared.where, prepared.label = node_type, id, where, label_of(node, node_type)
  return prepared
end

local function extended(path, ...)
  local longer = table.move(path, 1, #path, 1, {})
  for _, key in ipairs { ... } do longer[#longer + 1] = key end
  return longer
end

--- Prepares a list of nodes within the node: its field, or an element of that.
---@param list any
---@param field string
---@param index? integer
---@return ebb.Sequence
function Kit:sequence(list, field, index)
  local path = index and extended(self.path, field, index) or extended(self.path, field)
  local name = index and ("%s[%d]"):format(field, index) or field
  local where = self.where:gsub(" %([%w_]+%)$", "")
  if type(list) == "table" and (list.type ~= nil or list.operation ~= nil) then
    return { nodes = { node_at(self, list, ("%s.%s"):format(where, name), path, false) } }
  end
  if type(list) ~= "table" or #list == 0 then
    refuse("argument", name .. ": a list of nodes is expected, with at least one", prepare.form)
  end
  local nodes = {}
  for i, node in ipairs(list) do
    nodes[i] = node_at(self, node, ("%s.%s[%d]"):format(where, name, i), extended(path, i), false)
  end
  return { nodes = nodes }
end

--- Prepares another file. One in Lua is a program: in a look at a workflow in JSON its nodes stay unknown.
---@param path string
---@return { sequence?: ebb.Sequence, name?: string }
function Kit:file(path)
  if self.depth >= prepare.DEPTH_MAX then
    refuse("limit", ("%s: workflows in one another are more than %d deep"):format(path, prepare.DEPTH_MAX))
  end
  local text = self.place.looks and core.read_file(path, locate.BYTES_MAX)
  if text and not locate.is_json(text) then
    local wrong = script_file.check(path)
    if wrong then error(wrong, 0) end
    table.insert(self.unknown, ("%s: the nodes of a workflow in Lua"):format(path))
    return {}
  end
  local workflow, problem = self.load(path)
  if not workflow then error(problem, 0) end
  return self.whole(workflow, self.depth + 1, self.unknown)
end

--- Prepares the nodes of a workflow, in order, or as edges lead.
---@param list table[]
---@param workflow table
---@param kit table             types, place, toolset, depth, load, whole
---@return ebb.Sequence
function prepare.nodes(list, workflow, kit)
  kit = setmetatable(kit, Kit)
  local nodes, in_graph = {}, workflow.edges ~= nil
  local prefix = workflow.nodes ~= nil and { "nodes" } or {}
  for i, node in ipairs(list) do
    nodes[i] = node_at(kit, node, ("node %d"):format(i), extended(prefix, i), in_graph)
  end
  if not in_graph and workflow.start ~= nil then
    refuse("argument", "start: only a graph has a start", "edges = {...}")
  end
  return { nodes = nodes, graph = in_graph and graph.read(nodes, workflow) or nil, contained = kit.place.contained }
end

return prepare
