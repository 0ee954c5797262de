--- Node `branch`: which nodes run next is decided by a condition.
--
--     { type = "branch", when = { tokens_over = 8000 }, nodes = {...}, otherwise = {...} }
--
-- In a graph it has no nodes of its own: edges leave it, one for each answer.
--
--     { id = "route", type = "branch", choose = function(chat) return "tools" end }

local condition = require "ebb.workflow.condition"
local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"

local LIST = { type = "table", shared = true, expected = "a list of nodes" }

--- The answer of a condition decides between two lists. A run that goes on inside of one has its answer.
local function between(when, nodes, otherwise)
  return function(chat, run)
    local depth, part = run:enter(0)
    if part == 0 then
      local answer, problem = when(chat)
      if answer == nil and problem then return nil, problem end
      part = answer and 1 or 2
      run.at[depth] = part
    end
    local chosen = part == 1 and nodes or part == 2 and otherwise
    local done, problem = true, nil
    if chosen then done, problem = run:sequence(chosen) end
    if not done then return nil, problem end
    run:leave(depth)
    return true
  end
end

--- The answer is the name of the edge.
local function choice(ask, is_flag)
  return function(chat, run)
    local answer, problem = ask(chat)
    if answer == nil and problem then return nil, problem end
    if is_flag then answer = answer and true or false end
    if type(answer) ~= "string" and type(answer) ~= "boolean" then
      return nil, core.error("script", ("choose answered %s, not the name of an edge"):format(schema.describe(answer)))
    end
    run.outcome = answer
    return true
  end
end

local function in_graph(options, kit)
  if options.nodes or options.otherwise then
    refuse("argument", "in a graph a branch has no nodes of its own: its edges lead to them", "leave out nodes")
  end
  local name = options.when ~= nil and "when" or "choose"
  if (options.when == nil) == (options.choose == nil) then
    refuse("argument", "a branch needs when or choose", "when = { tokens_over = 8000 }")
  end
  local ask = condition.read(options[name], name, kit.place)
  return { run = choice(ask, name == "when"), kind = "branch", outcomes = name == "when" and { true, false } or "any" }
end

---@type ebb.NodeType
return {
  summary = "runs one list of nodes or another; in a graph, edges with `when` leave it",
  example = '{ type = "branch", when = { tokens_over = 8000 }, nodes = { { type = "trim", budget = 4000 } } }',
  fields = {
    when = condition.SPEC, nodes = LIST, otherwise = LIST,
    choose = { any_of = { { type = "function" }, { type = "string" } },
      expected = "a function, or the name of a Lua file",
      help = "in a graph: answers the `when` of the edge that is followed" },
  },
  prepare = function(options, _, kit)
    if kit.in_graph then return in_graph(options, kit) end
    if options.choose then refuse("argument", "choose is for graphs", "edges = { ... }") end
    if options.when == nil then refuse("argument", "a branch needs when", "when = { tokens_over = 8000 }") end
    if not options.nodes and not options.otherwise then
      refuse("argument", "a branch needs nodes, otherwise, or both", "nodes = { { type = \"trim\", budget = 4000 } }")
    end
    local nodes = options.nodes and kit:sequence(options.nodes, "nodes")
    local otherwise = options.otherwise and kit:sequence(options.otherwise, "otherwise")
    return {
      run = between(condition.read(options.when, "when", kit.place), nodes, otherwise), kind = "branch",
      parts = { { "yes", nodes or nil }, { "no", otherwise or nil } },
    }
  end,
}
