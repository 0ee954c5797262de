--- The call of a macro that runs in a sandbox (macro.lua has the other end).
--
--     program                            sandbox
--     name, held, now, zone ...  --copies-->  call.name, call.environment.now ...
--     values, variables, draws   <--calls---  call:value(...), call.environment:draw(6) ...
--     stability                  <--copies--  call.stability, as the macro left it

local tables = require "ebb.support.tables"
local traceback = require "ebb.support.traceback"

local macro_call = {}

--- The variables of a scope: read, changed and walked as a table of the program's is.
local function variables_of(calls, scope)
  return setmetatable({}, {
    __index = function(_, name) return calls.variable(scope, name) end,
    __newindex = function(_, name, value) calls.set(scope, name, value) end,
    __pairs = function() return next, calls.variables(scope) end,
  })
end

local function call_of(facts, calls)
  local call, environment = facts, facts.environment
  for _, name in ipairs { "value", "expand", "allow" } do
    call[name] = function(_, ...) return calls[name](...) end
  end
  for _, name in ipairs { "draw", "instant" } do
    environment[name] = function(_, ...) return calls[name](...) end
  end
  environment.history = calls.history
  environment.variables = { ["local"] = variables_of(calls, "local"), global = variables_of(calls, "global") }
  tables.strict(environment, "call.environment", facts.facts)
  return tables.strict(call, "call", { "stability" })
end

--- Runs a macro; an entry of the sandbox: true, the stability and the results, or false, message, code.
---@param run function
---@param facts table          copies of the call's fields
---@param calls table<string, function>   of the program
---@param ... string           the arguments
---@return boolean ok
---@return any ...
function macro_call.run(run, facts, calls, ...)
  local call = call_of(facts, calls)
  local results = table.pack(traceback.call(run, run, call, ...))
  if not results[1] then return table.unpack(results, 1, results.n) end
  return true, call.stability, table.unpack(results, 2, results.n)
end

return macro_call
