--- Runs prepared nodes, in order or as edges lead, and says what each did.
--
-- A program that saves the conversation after each node saves a position with it, from which a later run goes on:
--
--     { workflow = "4f1c..", after = "node 2.nodes[1] (model)", at = { 2, 3, 2 } }
--
-- `at` has a number for each node with parts that is at work, from the outside in: the node of a list or graph that is
-- next, the round of a loop, the part of a branch. Here node 2 of the workflow is a loop in round 3, whose second node
-- is next. What runs on copies (parallel) has no position: it is done as a whole.

local core = require "ebb.support.core"
local faults = require "ebb.workflow.faults"
local graph = require "ebb.workflow.graph"
local json_file = require "ebb.support.json_file"

local runner = {}

runner.ROUNDS_MAX = 10000   -- of all loops of a run, and nodes of its graphs, where they are in JSON

---@class ebb.WorkflowRun
---@field chat ebb.Conversation      the present one: nodes may put another in its place
---@field host ebb.WorkflowHost
---@field toolset ebb.Toolset
---@field outcome? string|boolean    the answer of the branch that has just run
---@field on_step? fun(entry: ebb.WorkflowStep)
---@field steps integer
---@field notes string[]             of the node that runs
---@field on_begin? fun(where: string)
---@field keep? function             saves the conversation with a position
---@field digest string              of the workflow's structure
---@field at integer[]               the position
---@field goal? integer[]            of the position that the run goes on from; nil: it is there
---@field calls table<string, table> of the node that runs: calls of tools marked `once`, with their results
---@field rounds integer             of loops in JSON
---@field copies integer             how many copies in one another the run works on
local Run = {}
Run.__index = Run

---@param chat ebb.Conversation
---@param fields { host: ebb.WorkflowHost, toolset: ebb.Toolset, on_step?: function, on_begin?: function,
---    save?: function, digest: string, position?: ebb.WorkflowPosition }
---@return ebb.WorkflowRun
function runner.new(chat, fields)
  local position = fields.position
  return setmetatable({
    chat = chat, host = fields.host, toolset = fields.toolset, on_step = fields.on_step, on_begin = fields.on_begin,
    steps = 0, notes = {}, keep = fields.save, digest = fields.digest, at = {}, copies = 0, rounds = 0,
    goal = position and table.move(position.at, 1, #position.at, 1, {}), calls = position and position.calls or {},
  }, Run)
end

--- Counts rounds of a loop that a workflow in JSON has: all of them share one bound.
---@param rounds integer
---@return true? counted
---@return ebb.Error? problem
function Run:count_rounds(rounds)
  self.rounds = self.rounds + rounds
  if self.rounds <= runner.ROUNDS_MAX then return true end
  return nil, core.error("limit", ("all loops of a workflow in JSON have taken %d rounds"):format(runner.ROUNDS_MAX),
    "write the workflow in Lua")
end

---- Positions ----

--- Begins a node with parts, or a list: its number in the position is the first one, or that of the earlier run.
---@param first integer
---@return integer depth
---@return integer number
function Run:enter(first)
  local depth = #self.at + 1
  local goal = self.goal
  self.at[depth] = goal and goal[depth] or first
  if goal and depth >= #goal then self.goal = nil end
  return depth, self.at[depth]
end

--- Ends it.
---@param depth integer
function Run:leave(depth) self.at[depth] = nil end

--- Saves the conversation with the position; what follows works on the conversation that the program goes on with.
---@param after string           the place of the node that has run, or runs
---@return true? done
---@return ebb.Error? problem
function Run:save(after)
  if not self.keep or self.copies > 0 then return true end
  local chat, problem = self.keep(self.chat, {
    workflow = self.digest, after = after, at = table.move(self.at, 1, #self.at, 1, {}),
    calls = next(self.calls) and self.calls or nil,
  })
  if not chat then return nil, problem end
  self.chat = chat
  return true
end

--- Saves the conversation without a position: the run is over.
---@return true? done
---@return ebb.Error? problem
function Run:conclude()
  local chat, problem = self.chat, nil
  if self.keep then chat, problem = self.keep(chat, nil) end
  if not chat then return nil, problem end
  self.chat = chat
  return true
end

--- Lets later nodes work on another conversation.
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
  self.chat, self.copies = copy, self.copies + 1
  local done, problem = self:sequence(sequence)
  self.chat, self.copies = chat, self.copies - 1
  return done, problem
end

--- An error of a node, with the node and its place in the workflow's file in front.
local function fault_of(node, problem)
  local where = node.where
  if node.source then where = ("%s: %s"):format(json_file.where(node.source, node.path), where) end
  return faults.at(problem, where)
end

local function call(node, run)
  local ok, result, problem = pcall(node.run, run.chat, run)
  if not ok then result, problem = nil, core.is_error(result) and result or core.error("script", tostring(result)) end
  if result == nil then
    return nil, fault_of(node, problem or core.error("script", "it failed and gave no reason"))
  end
  return result
end

--- After a node: the next one is number `next` of its list.
local function moved(run, depth, node, next)
  run.at[depth], run.calls = next, {}
  local done, problem = run:save(node.where)
  if not done then return nil, fault_of(node, problem) end
  return true
end

--- Runs a node, and tells the listener.
local function step(run, node)
  run.steps, run.outcome = run.steps + 1, nil
  if run.on_begin then run.on_begin(node.where) end
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

--- Counts a node of a graph, the `count`th of a run; nil and the error beyond what a run may take.
local function count_node(run, sequence, count)
  if count > graph.STEPS_MAX then
    return nil, core.error("limit", ("the run has taken %d nodes"):format(graph.STEPS_MAX))
  end
  if sequence.contained then return run:count_rounds(1) end
  return true
end

local function follow_edges(run, sequence)
  local edges, count = sequence.graph, 0
  local depth, number = run:enter(sequence.graph.start)
  while number ~= 0 do
    local node = sequence.nodes[number]
    count = count + 1
    local counted, limit = count_node(run, sequence, count)
    if not counted then return nil, fault_of(node, limit) end
    local result, problem = step(run, node)
    if result == nil then return nil, problem end
    number, problem = graph.follow(edges, number, node, run.outcome)
    if not number then return nil, fault_of(node, problem) end
    local saved, why = moved(run, depth, node, number)
    if not saved then return nil, why end
  end
  run:leave(depth)
  return true
end

--- Runs a sequence.
---@param sequence ebb.Sequence
---@return true? done
---@return ebb.Error? problem
function Run:sequence(sequence)
  if sequence.graph then return follow_edges(self, sequence) end
  local depth, first = self:enter(1)
  for i = first, #sequence.nodes do
    local result, problem = step(self, sequence.nodes[i])
    if result ~= nil then result, problem = moved(self, depth, sequence.nodes[i], i + 1) end
    if result == nil then return nil, problem end
  end
  self:leave(depth)
  return true
end

return runner
