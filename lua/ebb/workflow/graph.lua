--- Workflows as graphs: edges lead from node to node.
--
--     nodes = { { id = "ask", type = "model" }, { id = "route", type = "branch", when = { calls = true } },
--       { id = "work", type = "tool" } },
--     edges = { { "ask", "route" }, { "route", "work", when = true }, { "route", "end", when = false },
--       { "work", "ask" } },
--     start = "ask",                  default: the first node
--
-- A node without an edge ends the run, and so does an edge to "end". Refused before anything runs: an edge to or from
-- an unknown node, two ways on where nothing decides, a branch without an edge for one of its answers, a node that no
-- way leads to, and a cycle that no way leaves.

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local graph = {}

local END = "end"
graph.STEPS_MAX = 10000   -- nodes of one run

---@class ebb.WorkflowGraph
---@field start integer
---@field next table<integer, table<any, integer>>   by node and answer ("" where nothing decides); 0 is the end

local EDGE = {
  type = "object", expected = "an edge", noun = "field of an edge", hint = '{ "ask", "work" }',
  fields = {
    from = { type = "string", required = true }, to = { type = "string", required = true },
    when = { any_of = { { type = "boolean" }, { type = "string", filled = true } },
      expected = "true, false or an answer of the branch" },
  },
}

--- { "a", "b" } as { from = "a", to = "b" }.
local function edge_of(value, where)
  if type(value) == "table" and value[1] ~= nil then
    local copy = { from = value[1], to = value[2] }
    for key, item in pairs(value) do
      if key ~= 1 and key ~= 2 then copy[key] = item end
    end
    value = copy
  end
  return schema.check(EDGE, value, where)
end

local function refuse_at(path, code, message, hint)
  local problem = core.error(code, message, hint)
  problem.path = path
  error(problem, 0)
end

--- Nodes by id.
local function numbers_of(nodes)
  local numbers = {}
  for i, node in ipairs(nodes) do
    local path = { "nodes", i }
    if not node.id then
      refuse_at(path, "argument", node.where .. ": in a graph every node has an id", 'id = "ask"')
    end
    if node.id == END then refuse_at(path, "argument", node.where .. ": 'end' is the end of a run", "another id") end
    if numbers[node.id] then
      refuse_at(path, "argument", ("%s: node %d has this id, too"):format(node.where, numbers[node.id]), "another id")
    end
    numbers[node.id] = i
  end
  return numbers
end

local function number_of(id, numbers, where, path)
  if id == END then return 0 end
  if numbers[id] then return numbers[id] end
  return refuse_at(path, "unknown_name", ("%s: no node has the id '%s'"):format(where, id),
    suggest.hint(id, tables.keys(numbers)))
end

--- Adds an edge to those that leave its node.
local function add(following, nodes, edge, numbers, where, path)
  if edge.from == END then
    refuse_at(path, "argument", where .. ": nothing follows the end", "from = the id of a node")
  end
  local from = number_of(edge.from, numbers, where, path)
  local to, node = number_of(edge.to, numbers, where, path), nodes[from]
  if node.outcomes and edge.when == nil then
    refuse_at(path, "argument", ("%s: %s decides, so the edge needs when"):format(where, node.where), "when = true")
  elseif not node.outcomes and edge.when ~= nil then
    refuse_at(path, "argument", ("%s: only edges from a branch have when"):format(where), "leave out when")
  end
  if type(node.outcomes) == "table" and type(edge.when) ~= "boolean" then
    refuse_at(path, "argument", ("%s: when is true or false, for %s has a condition"):format(where, node.where))
  end
  local answer = edge.when == nil and "" or edge.when
  if following[from][answer] then
    refuse_at(path, "argument", ("%s: another edge leaves %s there already"):format(where, node.where),
      "a branch decides between two ways")
  end
  following[from][answer] = to
end

--- Refuses a branch that lacks the edge for an answer.
local function check_outcomes(nodes, following)
  for i, node in ipairs(nodes) do
    local missing
    for _, answer in ipairs(type(node.outcomes) == "table" and node.outcomes or {}) do
      if following[i][answer] == nil then missing = tostring(answer) end
    end
    if node.outcomes == "any" and next(following[i]) == nil then missing = "any answer" end
    if missing then
      refuse_at({ "nodes", i }, "argument", ("%s: no edge leads on for %s"):format(node.where, missing),
        ('{ "%s", "end", when = %s }'):format(node.id, missing == "any answer" and '"..."' or missing))
    end
  end
end

--- The nodes to which some way leads from a start.
local function reach(start, following)
  local reached, list = { [start] = true }, { start }
  for _, i in ipairs(list) do
    for _, to in pairs(following[i]) do
      if to > 0 and not reached[to] then
        reached[to] = true
        list[#list + 1] = to
      end
    end
  end
  return reached
end

--- The nodes from which some way leads to the end.
local function ending(count, following)
  local before, ends, list = {}, {}, {}
  for i = 1, count do
    local is_end = next(following[i]) == nil
    for _, to in pairs(following[i]) do
      if to == 0 then is_end = true else before[to] = before[to] or {} table.insert(before[to], i) end
    end
    if is_end then ends[i], list[#list + 1] = true, i end
  end
  for _, i in ipairs(list) do
    for _, from in ipairs(before[i] or {}) do
      if not ends[from] then ends[from], list[#list + 1] = true, from end
    end
  end
  return ends
end

local function check_ways(nodes, start, following)
  local reached, ends = reach(start, following), ending(#nodes, following)
  for i, node in ipairs(nodes) do
    if not reached[i] then
      refuse_at({ "nodes", i }, "argument", ("%s: no way leads there from %s"):format(node.where, nodes[start].where),
        ('an edge to "%s", or leave it out'):format(node.id))
    elseif not ends[i] then
      refuse_at({ "nodes", i }, "argument", ("%s: it is in a cycle that no way leaves"):format(node.where),
        'a branch with an edge to "end"')
    end
  end
end

--- Reads the edges of a workflow; raises for the first that is wrong.
---@param nodes ebb.PreparedNode[]
---@param workflow table
---@return ebb.WorkflowGraph
function graph.read(nodes, workflow)
  local edges = workflow.edges
  if type(edges) ~= "table" or #edges == 0 and next(edges) ~= nil then
    refuse("argument", "edges: a list is expected, not " .. schema.describe(edges), 'edges = { { "ask", "work" } }')
  end
  local numbers, following = numbers_of(nodes), {}
  for i = 1, #nodes do following[i] = {} end
  for i, value in ipairs(edges) do
    local where, path = ("edges[%d]"):format(i), { "edges", i }
    local ok, edge = pcall(edge_of, value, where)
    if not ok then refuse_at(path, edge.code, edge.message, edge.hint) end
    add(following, nodes, edge, numbers, where, path)
  end
  local start = 1
  if workflow.start ~= nil then
    if type(workflow.start) ~= "string" then
      refuse_at({ "start" }, "argument", "start: the id of a node is expected")
    end
    start = number_of(workflow.start, numbers, "start", { "start" })
    if start == 0 then refuse_at({ "start" }, "argument", "start: a run cannot begin at its end") end
  end
  check_outcomes(nodes, following)
  check_ways(nodes, start, following)
  return { start = start, next = following }
end

--- The node that follows; 0 is the end. Nil and an error where no edge has the answer.
---@param self ebb.WorkflowGraph
---@param number integer
---@param node ebb.PreparedNode
---@param answer any
---@return integer?
---@return ebb.Error?
function graph.follow(self, number, node, answer)
  local ways = self.next[number]
  if not node.outcomes then return ways[""] or 0 end
  if ways[answer] then return ways[answer] end
  return nil, core.error("script", ("no edge leads on for %s"):format(schema.describe(answer)),
    "one of: " .. table.concat(tables.keys(ways), ", "))
end

return graph
