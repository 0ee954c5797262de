--- Runs a macro of a stranger's file in its sandbox (macro_call.lua has the other end).
--
-- The sandbox gets the arguments, the facts of the environment, and functions that read and
-- change it in the program: values, variables, draws, the budget of the expansion.

local bounds = require "ebb.sandbox.expand_bounds"
local loader = require "ebb.sandbox.loader"

local sandboxed_macro = {}

--- Fields of the environment that are copied into the sandbox.
local FACTS = { "now", "zone", "seed", "session_id", "error_text" }

local function facts_of(call)
  local facts = { name = call.name, position = call.position, held = call.held, environment = {}, facts = FACTS }
  for _, field in ipairs(FACTS) do
    facts.environment[field] = call.environment[field]
  end
  return facts
end

--- Functions of the call for the sandbox, without the call, which would be copied each time.
local function calls_of(call)
  local environment = call.environment
  return {
    value = function(name) return call:value(name) end,
    expand = function(text) return call:expand(bounds.text(text)) end,
    allow = function(bytes) call:allow(bytes) end,
    draw = function(count) return environment:draw(count) end,
    instant = function() return environment:instant() end,
    history = function(kind) return environment.history and environment.history(kind) end,
    variable = function(scope, name) return environment.variables[scope][name] end,
    variables = function(scope) return environment.variables[scope] end,
    set = function(scope, name, value) environment:set(scope, name, value, call.held) end,
  }
end

--- Calls the function of a macro; raises its errors, a limit's too.
---@param run function         a proxy
---@param call ebb.MacroCall
---@param ... string           the arguments
---@return any result          or nil and the reason, as the macro gave them
---@return any ...
function sandboxed_macro.run(run, call, ...)
  local results = table.pack(loader.use(run, "ebb.sandbox.macro_call", "run", facts_of(call), calls_of(call), ...))
  call.stability = results[1]
  return table.unpack(results, 2, results.n)
end

return sandboxed_macro
