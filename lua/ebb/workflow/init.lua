--- Workflows: nodes that run on a conversation, in order, or as the edges of a graph lead.
--
--     return {
--       { operation = "truncate", truncate = { keepLast = 20 } },     the seeds' own configuration
--       { type = "trim", budget = 8000, policy = "keep_recent" },
--       { type = "filter", filter = "drop_tool_noise.lua" },
--       { type = "script", run = function(chat) ... end },
--     }
--
-- or one node alone, or a table {nodes = {...}, edges = {...}, name = ..., types = {...}, tools = {...}, folder = ...}:
-- `types` are the workflow's own (own_types.lua), `tools` are what its models may call, `folder` is where its file
-- lies. All nodes are checked before the first one runs (prepare.lua). A node that fails ends the run; what earlier
-- nodes did are batches of their own, which can be rolled back.

local core = require "ebb.support.core"
local drawing = require "ebb.workflow.drawing"
local json_file = require "ebb.support.json_file"
local locate = require "ebb.workflow.locate"
local own_types = require "ebb.workflow.own_types"
local prepare = require "ebb.workflow.prepare"
local refuse = require "ebb.support.refuse"
local runner = require "ebb.workflow.runner"
local schema = require "ebb.support.schema"
local script_file = require "ebb.sandbox.script_file"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"
local tools = require "ebb.workflow.tools"

local nodes = { common = prepare.common, form = prepare.form }

---@class ebb.NodeType
---@field summary string
---@field example string
---@field fields? table<string, ebb.Schema>    its options; nil: `prepare` checks them
---@field prepare fun(options: table, place: ebb.WorkflowPlace, kit: ebb.WorkflowKit): function|table

local TYPES = { "branch", "check", "context_processor", "convert", "filter", "loop", "model", "parallel", "pipeline",
  "save", "script", "tool", "trim", "workflow" }

--- The types of nodes by name, with those that a workflow brings along.
---@param workflow? table
---@param unknown? string[]    it is only looked at: gets files whose types stay unknown
---@return table<string, ebb.NodeType>
---@return boolean is_open     there may be other types in such files
local function types_of(workflow, unknown)
  schema.check({ type = "table", shared = true, expected = "a workflow" }, workflow or {}, "types")
  local types, is_open = {}, false
  for _, name in ipairs(TYPES) do
    types[name] = require("ebb.workflow.nodes." .. name)
  end
  if workflow and workflow.types ~= nil then
    is_open = own_types.add(types, workflow.types, locate.place(workflow, unknown ~= nil), unknown)
  end
  own_types.find_by_name(types, locate.place(workflow, unknown ~= nil).looks)
  return types, is_open
end

--- The types of nodes by name, with those that a workflow brings along. Of one in JSON nothing runs.
---@param workflow? table
---@return table<string, ebb.NodeType>
function nodes.types(workflow) return (types_of(workflow, {})) end

---- The shape of a workflow ----

local function list_of(workflow)
  if type(workflow) ~= "table" then
    return refuse("argument", "a workflow is a list of nodes, not a " .. type(workflow))
  end
  if workflow.nodes ~= nil then return workflow.nodes end
  if workflow.operation ~= nil or workflow.type ~= nil then return { workflow } end
  return workflow
end

local KNOWN = { "name", "nodes", "types", "folder", "edges", "start", "tools" }

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

local FIELDS = { folder = { type = "string" }, name = { type = "string" } }

local function check_fields(workflow)
  local slip = slip_of(workflow)
  if slip then error(slip, 0) end
  schema.check({ type = "object", fields = FIELDS }, { folder = workflow.folder, name = workflow.name }, "workflow")
end

--- True if this is what a workflow file returns, rather than a script that has done its work.
---@param value any
---@return boolean
function nodes.is_workflow(value)
  if type(value) ~= "table" then return false end
  local first = value[1]
  if type(first) == "table" and first.role and not (first.type or first.operation) then return false end   -- messages
  return type(value.nodes or first) == "table" or value.operation ~= nil or value.type ~= nil
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

---- Checking ----

---@class ebb.PreparedWorkflow
---@field name? string
---@field sequence ebb.Sequence
---@field toolset ebb.Toolset

local prepared_at

--- Prepares a workflow; raises for the first mistake. One in JSON that is about to run is looked at before, so that
--- what is forbidden there is refused before a file of it runs.
---@param workflow table
---@param depth integer        of workflows in one another
---@param unknown? string[]    it is only looked at: gets what that cannot learn
---@return ebb.PreparedWorkflow
local function prepared(workflow, depth, unknown)
  local list = check_shape(workflow)
  local place = locate.place(workflow, unknown ~= nil)
  if place.contained and not unknown then prepared(workflow, depth, {}) end
  local toolset = tools.new(workflow.tools, place)
  local kit = { place = place, toolset = toolset, depth = depth, unknown = unknown, load = nodes.load,
    whole = prepared_at, source = locate.file_of(workflow) }
  kit.types, kit.is_open = types_of(workflow, unknown)
  return { name = workflow.name, sequence = prepare.nodes(list, workflow, kit), toolset = toolset }
end

--- Prepares a workflow as `prepared` does; an error names the workflow's file, and the line of JSON.
function prepared_at(workflow, depth, unknown)
  local ok, result = pcall(prepared, workflow, depth, unknown)
  if ok then return result end
  local file = type(workflow) == "table" and locate.file_of(workflow)
  error(file and core.is_error(result) and json_file.placed(file, {}, result) or result, 0)
end

--- Checks all nodes; the first mistake is refused.
---@param workflow table
---@return ebb.PreparedNode[]
---@return string[] unknown    what is not checked, for it would have to run
function nodes.check(workflow)
  local unknown = {}
  return prepared_at(workflow, 1, unknown).sequence.nodes, unknown
end

--- The workflow as a drawing.
---@param workflow table
---@param form? "dot"|"svg"
---@return string
function nodes.draw(workflow, form)
  form = schema.check({ type = "choice", choices = { "dot", "svg" } }, form or "dot", "draw: form")
  local whole = prepared_at(workflow, 1, {})
  return drawing[form](whole.sequence, whole.name)
end

---- Files ----

nodes.BYTES_MAX = locate.BYTES_MAX   -- of a file

--- Returns why the value of a file is no workflow.
---@param value any
---@param path string
---@return ebb.Error
function nodes.no_workflow(value, path)
  local near = type(value) == "table" and slip_of(value)
  if near then return core.error("unknown_name", ("%s: %s"):format(path, near.message), near.hint) end
  local kind = type(value) == "table" and "has none" or "returned " .. type(value)
  return core.error("shape", ("%s: expected a list of nodes, the file %s"):format(path, kind), nodes.form)
end

--- The workflow of a file: what Lua returns, or JSON. Its `folder` is the file's.
---@param path string
---@return table? workflow
---@return ebb.Error? problem
function nodes.load(path)
  local text, problem = core.read_file(path, nodes.BYTES_MAX)
  if not text then return nil, problem end
  local value, file
  if locate.is_json(text) then
    local ok
    ok, file = pcall(json_file.parse, path, text)
    if not ok then return nil, file end
    value = file.value
  else
    value, problem = script_file.load(path)
    if problem then return nil, problem end
  end
  if not nodes.is_workflow(value) then return nil, nodes.no_workflow(value, path) end
  local ok, workflow = pcall(locate.in_folder, value, path, file)
  if not ok then return nil, workflow end
  return workflow
end

---- Running ----

local OPTIONS = {
  model = { type = "function", help = "answers the requests of model nodes" },
  host = { type = "table", shared = true, help = "what the program gives: see ebb.WorkflowHost" },
  on_step = { type = "function", help = "called after each node" },
  on_begin = { type = "function", help = "called before each node, with its place" },
  save = { type = "function", help = "saves the conversation and the position, after each node" },
  position = { type = "table", help = "where an earlier run of this workflow ended, as save got it" },
}

local POSITION = {
  type = "object", expected = "what save got", fields = {
    workflow = { type = "string", required = true }, after = { type = "string", required = true },
    at = { type = "list", required = true, items = { type = "integer", min = 0 } },
    calls = { type = "object", fields = {}, items = { type = "table" }, expected = "an object" },
  },
}

--- Returns a digest of the places and types of all nodes. Workflows with equal digests mean the same by a position.
local function digest_of(sequence)
  local words = {}
  local function add(part)
    for _, node in ipairs(part.nodes) do
      words[#words + 1] = node.where
      for _, inner in ipairs(node.parts or {}) do
        words[#words + 1] = inner[1]
        if inner[2] then add(inner[2]) end
      end
    end
  end
  add(sequence)
  return core.sha256(table.concat(words, "\n"))
end

--- Checks the position of an earlier run.
local function check_position(position, digest)
  if position == nil then return nil end
  position = schema.check(POSITION, position, "workflow.run: position")
  if position.workflow == digest and #position.at > 0 then return position end
  return refuse("argument", ("an earlier run ended after %s, of a workflow with other nodes"):format(position.after),
    "begin again: --restart, in Lua without position")
end

--- Runs the nodes. Mistakes in the workflow raise before anything runs.
---@param chat ebb.Conversation
---@param workflow table
---@param options? ebb.WorkflowOptions
---@return true? done
---@return ebb.Conversation|ebb.Error result   the conversation at the end; or the error, which names the node
function nodes.run(chat, workflow, options)
  options = schema.options(OPTIONS, options, "workflow.run", "ebb.workflow.run(chat, nodes, { model = function })")
  local whole = prepared_at(workflow, 1)
  local host = setmetatable({ model = options.model }, { __index = options.host or {} })
  local digest = digest_of(whole.sequence)
  local run = runner.new(chat, { host = host, toolset = whole.toolset, on_step = options.on_step, save = options.save,
    on_begin = options.on_begin, digest = digest, position = check_position(options.position, digest) })
  local ok, done, problem = pcall(run.sequence, run, whole.sequence)
  whole.toolset:close()
  if not ok then error(done, 0) end
  if done then done, problem = run:conclude() end
  if not done then return nil, problem end
  return true, run.chat
end

return nodes
