--- Macros of the caller's own: a registry, or a list of files, folders and declarations.
--
--     ebb.pipeline { macros = registry }
--     ebb.pipeline { macros = { "shout.lua", { name = "hush", ... } } }
--
-- The macros of a list are added to the built-in ones. Those of a file run in a sandbox,
-- unless it is trusted: one for each macro and run, so that nothing that a script keeps
-- makes a run differ from its preview.

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

--- The same registry, its macros from files in new sandboxes.
---@param registry? ebb.MacroRegistry
---@return ebb.MacroRegistry?
function own_macros.fresh(registry)
  local sandboxes = {}
  return registry and registries.wrapped(registry, function(run)
    if not loader.holds(run) then return nil end
    return function(...) return sandboxed_macro.run(plugins.fresh(run, sandboxes), ...) end
  end)
end

return own_macros
