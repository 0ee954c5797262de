--- Errors of nodes, with the place of the node in front: "node 2.nodes[1] (trim): cannot fit ...".

local core = require "ebb.support.core"

local faults = {}

--- Marks an error whose message names its node.
---@param problem ebb.Error
---@return ebb.Error
function faults.placed(problem)
  problem.placed = true
  return problem
end

--- The error with its node in front; one that is marked stays as it is.
---@param problem ebb.Error
---@param where string             "node 2 (trim)"
---@param path? (string|integer)[] of the node in its file
---@return ebb.Error
function faults.at(problem, where, path)
  if problem.placed then return problem end
  local named = core.error(problem.code, ("%s: %s"):format(where, problem.message), problem.hint)
  named.path = problem.path and path and table.move(problem.path, 1, #problem.path, #path + 1, { table.unpack(path) })
    or path
  return faults.placed(named)
end

return faults
