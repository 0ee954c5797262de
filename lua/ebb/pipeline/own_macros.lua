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
local script_path = require "ebb.sandbox.script_path"
local tables = require "ebb.support.tables"

local own_macros = {}

--- The schema of the option `macros`.
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

--- Macros of the user's folder, which are loaded where a text uses them; those of a file with a wrong name, too, and
--- of one that fails, with what is wrong.
---@param loading? ebb.Loading
---@return { file: { name: string, path: string, folder: string }, macro?: ebb.Macro, problem?: ebb.Error }[]
function own_macros.of_folder(loading)
  local rows = {}
  for i, file in ipairs(script_path.list(script_path.macros, true)) do
    local ok, result = pcall(function()
      registries.check_name(file.name, file.path)
      return plugins.find(file.name, loading, plugins.MACRO)
    end)
    if not ok and not core.is_error(result) then error(result, 0) end
    rows[i] = { file = file, macro = ok and result or nil, problem = not ok and result or nil }
  end
  return rows
end

--- Finds macros in the user's folder, by the name of their file; each has a sandbox of its own, unless it is trusted.
local function seek_in_folder(loading)
  return function(name)
    local declaration = plugins.find(name, loading, plugins.MACRO)
      or plugins.find(name:lower(), loading, plugins.MACRO)
    if not declaration or not loader.holds(declaration.run) then return declaration end
    local copy = tables.copy(declaration)
    copy.run = caller(declaration.run, {})
    return copy
  end
end

local function is_in_folder(name)
  return (script_path.find(name, script_path.macros) or script_path.find(name:lower(), script_path.macros)) ~= nil
end

local function has_folder()
  for _, folder in ipairs(script_path.macros) do
    if core.file_identity(folder) then return true end
  end
  return false
end

--- Copies a registry, with its macros from files in new sandboxes; the user's folder is searched when a macro is used.
---@param registry? ebb.MacroRegistry   nil: the built-in one
---@param loading? ebb.Loading          how files of the folder are run
---@return ebb.MacroRegistry?           nil: the built-in one, without a folder
function own_macros.fresh(registry, loading)
  local asks = has_folder()
  if not registry and not asks then return nil end
  local sandboxes = {}
  local result = registries.wrapped(registry or registries.built_in(), function(run)
    return loader.holds(run) and caller(run, sandboxes) or nil
  end)
  if asks then result:ask(seek_in_folder(loading), is_in_folder) end
  return result
end

return own_macros
