--- Loads processors and macros: from a Lua file, a folder of files, or a table.
--
-- A bare name is that of NAME.lua in the user's folder of their kind, unless a folder has it.
-- Each file runs in a sandbox of its own, unless it is trusted; a table of functions is
-- the program's own and trusted.

local core = require "ebb.support.core"
local macros = require "ebb.macros.registry"
local refuse = require "ebb.support.refuse"
local loader = require "ebb.sandbox.loader"
local registry = require "ebb.pipeline.registry"
local schema = require "ebb.support.schema"
local script_file = require "ebb.sandbox.script_file"

local plugins = {}

---@class ebb.plugins.Kind: ebb.ScriptKind
---@field name string          the field that names it
---@field folders "processors"|"macros"   where the user's own are, by name
---@field check fun(plugin: any, file?: string): table   raises for missing or wrong fields
---@field apart? boolean       each has a sandbox of its own: macros of a file may expand each other

---@type ebb.plugins.Kind
plugins.PROCESSOR = {
  noun = "processor", name = "id", folders = "processors", verb = "execute", check = registry.check,
  hint = 'return { id = "my-step", name = "My step", execute = function(context, config) ... end }',
}

---@type ebb.plugins.Kind
plugins.MACRO = {
  noun = "macro", name = "name", folders = "macros", verb = "run", apart = true,
  check = function(declaration, file)
    macros.check(declaration, file)
    return declaration
  end,
  hint = 'return { name = "shout", summary = "...", stability = "stable", run = function(call) ... end }',
}

--- Describes a value that is neither a plugin nor a list of plugins; nil if it may be one.
local function strange(value, kind)
  if type(value) ~= "table" then return type(value) end
  if next(value) == nil then return "an empty table" end
  if rawlen(value) > 0 or value[kind.name] ~= nil or value[kind.verb] ~= nil then return nil end
  return ("a table without %s and %s"):format(kind.name, kind.verb)
end

--- One plugin, or a list of them, each checked. `file` is nil for tables of the program's own.
local function as_list(value, file, kind)
  local list = type(value) == "table" and rawlen(value) > 0 and value or { value }
  for _, plugin in ipairs(list) do
    if type(plugin) == "table" then script_file.refuse_other(file or "the table", kind, plugin) end
  end
  local problem = strange(value, kind)
  if problem then
    refuse("shape", ("%s: expected a %s or a list of them, %s %s"):format(file or kind.noun, kind.noun,
      file and "the file returned" or "got", problem), kind.hint)
  end
  local checked = {}
  for i, plugin in ipairs(list) do
    checked[i] = kind.check(plugin, file)
  end
  return checked
end

--- The value that a file returns; it runs in this state if it is trusted, else in a sandbox.
---@param path string
---@param loading? ebb.Loading
---@param kind { noun: string }
---@param folder? string        as for script_file.text
---@return any value
---@return ebb.Error? problem
function plugins.file(path, loading, kind, folder)
  if loading and loading.trusted then return script_file.load(path, folder) end
  return loader.load(path, loading and loading.limits, kind, folder)
end

---@class ebb.plugins.Origin
---@field path string
---@field folder? string        in which the path was found; else it is the caller's own
---@field place integer        in the list that the file returns
---@field loading? ebb.Loading
---@field kind ebb.plugins.Kind

---@type table<function, ebb.plugins.Origin>   by proxy
local origins = setmetatable({}, { __mode = "k" })

local function from_file(path, loading, kind, folder)
  local value, problem = plugins.file(path, loading, kind, folder)
  if problem then refuse(problem.code == "script" and kind.noun or problem.code, problem.message, problem.hint) end
  local list = as_list(value, (folder or "") .. path, kind)
  for place, plugin in ipairs(list) do
    local call = type(plugin) == "table" and plugin[kind.verb]
    if type(call) == "function" and loader.holds(call) then
      origins[call] = { path = path, folder = folder, place = place, loading = loading, kind = kind }
    end
  end
  return list
end

--- Loads a script's function again in a new sandbox: state that the script keeps between calls would make a
--- preview differ from the run that follows. `sandboxes` has the sandboxes of one run, which the
--- processors of a file share.
---@param call function        a proxy
---@param sandboxes table
---@return function
function plugins.fresh(call, sandboxes)
  local origin = origins[call]
  if not origin then return call end
  local path = (origin.folder or "") .. origin.path
  local key = origin.kind.apart and call or path
  sandboxes[key] = sandboxes[key] or from_file(origin.path, origin.loading, origin.kind, origin.folder)
  local plugin = sandboxes[key][origin.place]
  local fresh = type(plugin) == "table" and plugin[origin.kind.verb]
  if type(fresh) == "function" then return fresh end
  return refuse(origin.kind.noun, path .. ": it has changed since it was loaded")
end

local function from_folder(folder, loading, kind)
  local entries = core.list_folder(folder)
  if not entries then return nil end
  table.sort(entries)
  local list = {}
  for _, entry in ipairs(entries) do
    if entry:find "%.lua$" then
      for _, plugin in ipairs(from_file(entry, loading, kind, folder .. "/")) do
        list[#list + 1] = plugin
      end
    end
  end
  if #list == 0 then refuse("absent", folder .. ": there is no Lua file in this folder") end
  return list
end

--- Loads the processors or macros of a file, a folder or a table.
---@param source string|table            a file, a folder, or one as it is
---@param loading? ebb.Loading           how files are run
---@param kind ebb.plugins.Kind
---@return table[]
function plugins.load(source, loading, kind)
  if type(source) == "table" then return as_list(source, nil, kind) end
  if type(source) ~= "string" then
    refuse("argument", ("a %s is a table, a Lua file or a folder of them"):format(kind.noun))
  end
  if not source:find "%.lua$" then
    local list = from_folder((source:gsub("/+$", "")), loading, kind)
    if list then return list end
  end
  return from_file(loader.find(source, kind.folders) or source, loading, kind)
end

--- The plugin of this name in NAME.lua of the user's folder; nil: there is no such file. A file without one of this
--- name is refused.
---@param name string
---@param loading? ebb.Loading
---@param kind ebb.plugins.Kind
---@return table?
function plugins.find(name, loading, kind)
  local path = loader.find(name, kind.folders)
  if not path then return nil end
  local list = from_file(path, loading, kind)
  for _, plugin in ipairs(list) do
    if plugin[kind.name] == name then return plugin end
  end
  return refuse("shape", ("%s: it has no %s '%s'"):format(path, kind.noun, name),
    ("a file in this folder is found by its name: %s = %q"):format(kind.name, name))
end

---@type ebb.Processor[]   of the whole program
local of_program = {}

--- Adds processors for all pipelines that this program makes from now on; one with the id of another takes its place.
---@param source ebb.Processor|ebb.Processor[]
function plugins.add(source)
  if type(source) ~= "table" then
    refuse("argument", "ebb.processor: expected a processor or a list of them, got " .. schema.describe(source),
      plugins.PROCESSOR.hint)
  end
  for _, processor in ipairs(as_list(source, nil, plugins.PROCESSOR)) do of_program[#of_program + 1] = processor end
end

--- The processors that plugins.add took, in that order.
---@return ebb.Processor[]
function plugins.of_program() return of_program end

return plugins
