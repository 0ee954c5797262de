--- Runs prepared nodes, in order or as edges lead, and says what each did.

local core = require "ebb.support.core"
local faults = require "ebb.workflow.faults"
local graph = require "ebb.workflow.graph"

local runner = {}

---@class ebb.WorkflowRun
---@field chat ebb.Conversation      the present one: nodes may put another in its place
---@field host ebb.WorkflowHost
---@field toolset ebb.Toolset
---@field outcome? string|boolean    the answer of the branch that has just run
---@field on_step? fun(entry: ebb.WorkflowStep)
---@field steps integer
---@field notes string[]             of the node that runs
local Run = {}
Run.__index = Run

---@param chat ebb.Conversation
---@param fields { host: ebb.WorkflowHost, toolset: ebb.Toolset, on_step?: function }
---@return ebb.WorkflowRun
function runner.new(chat, fields)
  return setmetatable({ chat = chat, host = fields.host, toolset = fields.toolset, on_step = fields.on_step, steps = 0,
    notes = {} }, Run)
end

--- From now on the nodes work on another conversation.
---@param chat ebb.Conversation
function Run:use(chat) self.chat = chat end

--- Notes something for the trace.
---@param line string
function Run:note(line) self.notes[#self.notes + 1] = line end

--- Runs nodes on a copy, and comes back to the conversation.
---@param copy ebb.Conversation
---@param sequence ebb.Sequence
---@return true? done
---@return ebb.Error? problem
function Run:apart(copy, sequence)
  local chat = self.chat
  self.chat = copy
  local done, problem = self:sequence(sequence)
  self.chat = chat
  return done, problem
end

local function call(node, run)
  local ok, result, problem = pcall(node.run, run.chat, run)
  if not ok then result, problem = nil, core.is_error(result) and result or core.error("script", tostring(result)) end
  if result == nil then
    return nil, faults.at(problem or core.error("script", "it failed and gave no reason"), node.where)
  end
  return result
end

--- Runs a node, and tells the listener.
local function step(run, node)
  run.steps, run.outcome = run.steps + 1, nil
  local hear, outer = run.on_step, run.notes
  if not hear then return call(node, run) end
  local messages, tokens, begin = #run.chat, run.chat:tokens(), core.now()
  run.notes = {}
  local result, problem = call(node, run)
  hear {
    node = node.where, type = node.type, messages = { messages, #run.chat }, tokens = { tokens, run.chat:tokens() },
    milliseconds = core.now() - begin, notes = run.notes, problem = problem,
    ledger = type(result) == "table" and result.ledger or nil,
  }
  run.notes = outer
  return result, problem
end

local function follow_edges(run, sequence)
  local edges, number, count = sequence.graph, sequence.graph.start, 0
  while number ~= 0 do
    local node = sequence.nodes[number]
    count = count + 1
    if count > graph.STEPS_MAX then
      return nil, faults.at(core.error("limit", ("the run has taken %d nodes"):format(graph.STEPS_MAX)), node.where)
    end
    local result, problem = step(run, node)
    if result == nil then return nil, problem end
    number, problem = graph.follow(edges, number, node, run.outcome)
    if not number then return nil, faults.at(problem, node.where) end
  end
  return true
end

--- Runs a sequence.
---@param sequence ebb.Sequence
---@return true? done
---@return ebb.Error? problem
function Run:sequence(sequence)
  if sequence.graph then return follow_edges(self, sequence) end
  for _, node in ipairs(sequence.nodes) do
    local result, problem = step(self, node)
    if result == nil then return nil, problem end
  end
  return true
end

return runner
