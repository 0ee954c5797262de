--- Macros of the caller's own: a registry, or a list of files, folders and declarations.
--
--     ebb.pipeline { macros = registry }
--     ebb.pipeline { macros = { "shout.lua", { name = "hush", ... } } }
--
-- The macros of a list are added to the built-in ones. Those of a file run in a sandbox,
-- unless it is trusted: one for each macro and run, so that nothing that a script keeps
-- makes a run differ from its preview.

local core = require "ebb.support.core"
local loader = require "ebb.sandbox.loader"
local macros = require "ebb.macros"
local plugins = require "ebb.pipeline.plugins"
local registries = require "ebb.macros.registry"
local sandboxed_macro = require "ebb.sandbox.macro"

local own_macros = {}

--- What the option `macros` takes.
---@type ebb.Schema
own_macros.SPEC = {
  any_of = { registries.SCHEMA, { type = "list", items = { any_of = { { type = "string" }, { type = "table" } } } } },
  expected = "a registry of ebb.macros.registry(), or a list of files and declarations",
  hint = 'macros = { "mine.lua" }',
}

--- The registry of a spec, all declarations checked.
---@param spec? ebb.MacroRegistry|(string|table)[]
---@param loading? ebb.Loading    how files are run
---@return ebb.MacroRegistry? registry   nil: the built-in one
function own_macros.registry(spec, loading)
  if spec == nil or registries.is(spec) then return spec end
  local registry = macros.registry()
  for _, source in ipairs(spec) do
    for _, declaration in ipairs(plugins.load(source, loading, plugins.MACRO)) do
      registry:add(declaration)
    end
  end
  return registry
end

--- Calls a macro in its sandbox. Once a limit has stopped it, it is stopped for the rest of the run.
local function caller(run, sandboxes)
  local is_stopped = false
  return function(...)
    if is_stopped then error("a limit has stopped it before, in this run", 0) end
    local results = table.pack(pcall(sandboxed_macro.run, plugins.fresh(run, sandboxes), ...))
    if results[1] then return table.unpack(results, 2, results.n) end
    local problem = results[2]
    is_stopped = core.is_error(problem) and problem.code == "limit" and problem.message:find "stopped: " ~= nil
    error(problem, 0)
  end
end

--- The same registry, its macros from files in new sandboxes.
---@param registry? ebb.MacroRegistry
---@return ebb.MacroRegistry?
function own_macros.fresh(registry)
  local sandboxes = {}
  return registry and registries.wrapped(registry, function(run)
    return loader.holds(run) and caller(run, sandboxes) or nil
  end)
end

return own_macros
