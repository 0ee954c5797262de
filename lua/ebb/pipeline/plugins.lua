--- Loads processors: from a Lua file, a folder of files, or a table.
--
-- Each file runs in a sandbox of its own, unless it is trusted; a table of functions is
-- the program's own and trusted.

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local loader = require "ebb.sandbox.loader"
local script_file = require "ebb.sandbox.script_file"

local plugins = {}

--- One processor, or a list of them.
local function as_list(value, where)
  if type(value) ~= "table" then
    refuse("shape", ("%s: expected a processor or a list of them, the file returned %s"):format(where, type(value)),
      'return { id = "my-step", name = "My step", execute = function(context, config) ... end }')
  end
  if value.execute ~= nil or value.id ~= nil then return { value } end
  return value
end

local KIND = { noun = "processor" }

--- The value that a file returns; it runs in this state if it is trusted, else in a sandbox.
---@param path string
---@param loading? ebb.Loading
---@param kind { noun: string }
---@return any value
---@return ebb.Error? problem
function plugins.file(path, loading, kind)
  if loading and loading.trusted then return script_file.load(path) end
  return loader.load(path, loading and loading.limits, kind)
end

---@class ebb.plugins.Origin
---@field path string
---@field place integer        in the list that the file returns
---@field loading? ebb.Loading

---@type table<function, ebb.plugins.Origin>   by proxy
local origins = setmetatable({}, { __mode = "k" })

local function from_file(path, loading)
  local value, problem = plugins.file(path, loading, KIND)
  if problem then refuse(problem.code == "script" and "processor" or problem.code, problem.message, problem.hint) end
  local list = as_list(value, path)
  for place, processor in ipairs(list) do
    local execute = type(processor) == "table" and processor.execute
    if type(execute) == "function" and loader.holds(execute) then
      origins[execute] = { path = path, place = place, loading = loading }
    end
  end
  return list
end

--- The same function in a new sandbox: state that a script keeps between calls would make a
--- preview differ from the run that follows. `sandboxes` has the sandboxes of one run, which the
--- processors of a file share.
---@param execute function     a proxy
---@param sandboxes table
---@return function
function plugins.fresh(execute, sandboxes)
  local origin = origins[execute]
  if not origin then return execute end
  sandboxes[origin.path] = sandboxes[origin.path] or from_file(origin.path, origin.loading)
  local processor = sandboxes[origin.path][origin.place]
  local fresh = type(processor) == "table" and processor.execute
  if type(fresh) == "function" then return fresh end
  return refuse("processor", origin.path .. ": it has changed since it was loaded")
end

local function from_folder(folder, loading)
  local entries = core.list_folder(folder)
  if not entries then return nil end
  table.sort(entries)
  local list = {}
  for _, entry in ipairs(entries) do
    if entry:find "%.lua$" then
      for _, processor in ipairs(from_file(("%s/%s"):format(folder, entry), loading)) do
        list[#list + 1] = processor
      end
    end
  end
  if #list == 0 then refuse("absent", folder .. ": there is no Lua file in this folder") end
  return list
end

--- Loads the processors of a file, a folder or a table.
---@param source string|ebb.Processor    a file, a folder, or one as it is
---@param loading? ebb.Loading           how files are run
---@return ebb.Processor[]
function plugins.load(source, loading)
  if type(source) == "table" then return as_list(source, "processor") end
  if type(source) ~= "string" then refuse("argument", "a processor is a table, a Lua file or a folder of them") end
  if not source:find "%.lua$" then
    local list = from_folder((source:gsub("/+$", "")), loading)
    if list then return list end
  end
  return from_file(source, loading)
end

return plugins
