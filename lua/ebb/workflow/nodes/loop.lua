--- Node `loop`: runs its nodes again and again, until a condition holds, up to a number of times.
--
--     { type = "loop", stop_when = { answered = true }, at_most = 8, nodes = { {type="model"}, {type="tool"} } }
--
-- The condition is looked at after each round. Without one the nodes run `at_most` times. In JSON all loops of a run
-- share a bound, too: see Run:count_rounds.

local condition = require "ebb.workflow.condition"
local core = require "ebb.support.core"

local function runner(stop, sequence, options, contained)
  return function(_, run)
    local depth, first = run:enter(1)
    for round = first, options.at_most do
      run.at[depth] = round
      local done, problem = true, nil
      if contained then done, problem = run:count_rounds(1) end
      if done then done, problem = run:sequence(sequence) end
      if not done then return nil, problem end
      if stop then
        local over, why = stop(run.chat)
        if over == nil and why then return nil, why end
        if over then
          run:leave(depth)
          return true
        end
      end
    end
    run:leave(depth)
    if not stop or options.on_limit == "go_on" then return true end
    return nil, core.error("limit", ("stop_when does not hold after %d rounds"):format(options.at_most),
      'at_most = ... allows more, on_limit = "go_on" goes on')
  end
end

---@type ebb.NodeType
return {
  summary = "repeats its nodes until a condition holds",
  example = '{ type = "loop", stop_when = { answered = true }, nodes = { { type = "model" }, { type = "tool" } } }',
  fields = {
    nodes = { type = "table", shared = true, required = true, expected = "a list of nodes",
      hint = 'nodes = { { type = "model" } }' },
    stop_when = condition.SPEC,
    at_most = { type = "integer", min = 1, max = 10000, default = 10, unit = "rounds" },
    on_limit = { type = "choice", choices = { "fail", "go_on" }, default = "fail",
      help = "what follows when stop_when does not hold after the last round" },
  },
  prepare = function(options, place, kit)
    local sequence = kit:sequence(options.nodes, "nodes")
    local stop = options.stop_when ~= nil and condition.read(options.stop_when, "stop_when", place) or nil
    return { run = runner(stop, sequence, options, place.contained), kind = "loop", parts = { { "again", sequence } } }
  end,
}
