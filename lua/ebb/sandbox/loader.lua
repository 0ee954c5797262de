--- Loads untrusted Lua files into sandboxes: policies, filters, processors.
--
--     local value = loader.load("mine.lua", limits)      -- what the file returned
--     value.name, value.options, value.list[1]                 -- plain data: copies
--     value.execute(context, config)                           -- a proxy: runs in the file's sandbox
--     local after, result = loader.edit(value.execute, limits, context, config)
--
-- Each file has a sandbox of its own, which lives as long as one of its functions is
-- held here. What crosses into a call:
--
--     nil, booleans, numbers, strings, ebb.null    as they are
--     tables                                       copies in depth; fields are read raw
--     a draft, and its messages                    lent: the script edits the very draft
--     functions                                    lent: called back into the program
--     a proxy of the same sandbox                  the script's function again
--
-- Whatever was lent is taken back when the call ends; a handle that the script kept
-- says so. Results are copies; of functions only those leave that the file returned
-- when it was loaded. `edit` also gives back what became of the first argument, for
-- functions that change a table in place.
--
-- Errors are raised: a text with file:line, or an error object {code, message, hint} whose message begins
-- with it; its code is that of a refusal, or "limit" where fuel, deadline or
-- memory ran out: then the message says which, and how much was allowed.
--
-- In a sandbox that has the whole library already (libebb), files run in the same sandbox,
-- within its limits.

local core = require "ebb.support.core"
local log = require "ebb.support.log"
local schema = require "ebb.support.schema"
local script_file = require "ebb.sandbox.script_file"
local script_path = require "ebb.sandbox.script_path"

local loader = {}

local sandbox = core.sandbox

---- Limits ----

local MIB = 1024 * 1024

--- Absent limits. What a list may cost grows with its messages.
loader.DEFAULT = { fuel = 200 * 1000 * 1000, deadline = 2000, memory = 64 * MIB }
loader.PER_MESSAGE = { fuel = 2000, deadline = 0.02, memory = 64 }

--- A schema, also for options that hold limits.
---@type ebb.Schema
loader.LIMITS = {
  type = "object", expected = "a table of limits", hint = "limits = { deadline = 500 }", noun = "limit",
  fields = {
    fuel = { type = "integer", min = 0, max = 10 ^ 15 // 1 | 0,
      help = "Lua instructions; 0: no limit; default: 200 million, and 2000 per message" },
    deadline = { type = "number", min = 0, max = 1e15, unit = "milliseconds",
      help = "0: no limit; default: 2000, and 0.02 per message" },
    memory = { type = "integer", min = MIB, max = 10 ^ 15 // 1 | 0, unit = "bytes",
      help = "default: 64 MiB, and 64 bytes per message" },
  },
}

--- Checks limits and returns them; raises if one is wrong.
---@param limits? ebb.Limits
---@return ebb.Limits?
function loader.check_limits(limits)
  return limits and schema.check(loader.LIMITS, limits, "limits") or nil
end

--- A limit as it holds.
---@param limits? ebb.Limits
---@param name "fuel"|"deadline"|"memory"
---@param messages? integer     of the list that a script works on
---@return number
function loader.limit(limits, name, messages)
  if limits and limits[name] then return limits[name] end
  return loader.DEFAULT[name] + loader.PER_MESSAGE[name] * (messages or 0)
end

local limits_reported = false

--- Says once that a call's own limits do not hold: in libebb all of a script runs within the host's.
---@param limits? ebb.Limits
---@param method string         "trim"
function loader.tell_limits(limits, method)
  if sandbox or limits_reported or not limits or next(limits) == nil then return end
  limits_reported = true
  log.write(("chat:%s: limits: the host's hold here, for all of a script; these are left out"):format(method))
end

local function set_limits(box, limits, messages)
  local microseconds = math.ceil(loader.limit(limits, "deadline", messages) * 1000)
  sandbox.limit(box, loader.limit(limits, "fuel", messages), microseconds, loader.limit(limits, "memory", messages))
end

---- Requests of sandboxes ----

--- Folders of lua/ebb whose modules sandboxes may load, or the module itself.
local provided = { support = true, conversation = true }

--- Modules of this folder that a sandbox may load: the name in a require, and the module that is loaded for it.
local SANDBOX = {
  ["ebb.sandbox.loader"] = "ebb.sandbox.inner_loader",
}
for _, name in ipairs { "entry", "context_fields", "processor_context", "macro_call", "script_face", "script_file",
  "script_path" } do
  SANDBOX["ebb.sandbox." .. name] = "ebb.sandbox." .. name
end

--- Lets sandboxes load the modules of a folder above this one.
---@param folder string         of lua/ebb
function loader.provide(folder)
  provided[folder] = true
end

local dumps = {}

--- A chunk of the library under the name by which a sandbox tells it from its script (outcome.c): a file of it may lie
--- in any folder.
local function under_own_name(chunk, name, path)
  local source = debug.getinfo(chunk, "S").source
  if source:sub(1, 1) ~= "@" or source:find "^@ebb/" then return chunk end
  local text = script_file.text(path)
  return text and load(text, ("@%s.lua"):format(name:gsub("%.", "/"))) or chunk
end

--- The bytecode of a module, searched for as `require` does.
local function dump(name)
  for _, search in ipairs(package.searchers) do
    local chunk, where = search(name)
    if type(chunk) == "function" and debug.getinfo(chunk, "S").what ~= "C" then
      return string.dump(under_own_name(chunk, name, where)), where
    end
  end
  return error(("sandbox: no module '%s'"):format(name), 0)
end

local function library(name)
  local module = SANDBOX[name] or provided[name:match "^ebb%.(%w+)%f[%z.]"] and name
  if not module then error(("sandbox: module '%s' cannot be loaded there"):format(name), 0) end
  dumps[name] = dumps[name] or dump(module)
  return dumps[name]
end

--- True if the name stays below a folder.
local function is_below(word)
  return word:find "^[%w_%-][%w_%-./]*$" ~= nil and not word:find("..", 1, true) and not word:find "/[./]"
end

--- Text and path of the first file of this name next to the script or on its path; or nil, and why it is not read
--- or else `absent`.
local function find_first(place, name, absent)
  if is_below(name) then
    for _, folder in ipairs(place.folders()) do
      local text, path = script_file.text(name, folder)
      if text then return text, path end
      if path.code ~= "absent" then return nil, path.message end
    end
  end
  return nil, absent
end

local function find_file(place, name)
  return find_first(place, name, ("'%s' is neither next to the %s nor on its path"):format(name, place.noun))
end

local function find_module(place, name)
  return find_first(place, name:gsub("%.", "/") .. ".lua",
    ("module '%s' not found: a sandboxed %s finds those next to it and on its path"):format(name, place.noun))
end

--- The function `host(what, word)` of a sandbox.
local function host_of(place)
  return function(what, word)
    if what == "print" then return log.write(core.printable(core.utf8(word), "\n\t")) end
    if what == "library" then return library(word) end
    if what == "module" then return find_module(place, word) end
    return find_file(place, word:find "%.lua$" and word or word .. ".lua")
  end
end

--- The lists of script_path by the noun of a kind; others look where policies are.
local PATHS = { filter = "filters", processor = "processors", macro = "macros", type = "types" }

--- The folders in which a script finds other files: its own, and the path of its kind.
local function place_of(path, kind)
  local own_folder = path and script_file.folder(path)
  local noun = kind and kind.noun or "script"
  return { noun = noun, folders = function()
    local list = { own_folder }
    for _, folder in ipairs(script_path[PATHS[noun] or "policies"]) do
      list[#list + 1] = folder .. "/"
    end
    return list
  end }
end

---- Loading ----

local function run(text, chunk_name, place, limits)
  if not sandbox then return script_file.run(text, chunk_name) end
  local box = sandbox.new(host_of(place))
  set_limits(box, limits)
  local ok, value = pcall(sandbox.enter, box, "load", text, chunk_name)
  if ok then return value end
  if not core.is_error(value) then error(value, 0) end   -- no memory
  return nil, core.error(value.code == "syntax" and "syntax" or "script", value.message, value.hint)
end

--- Runs a file and returns its value, with functions as proxies.
---@param path string
---@param limits? ebb.Limits    also of the loading; proxies keep them
---@param kind? ebb.ScriptKind
---@param folder? string        as for script_file.text
---@return any value            nil when it failed, or when the file returned nothing
---@return ebb.Error? problem   as of script_file.load
function loader.load(path, limits, kind, folder)
  local text, whole_path = script_file.text(path, folder)
  if not text then return nil, script_file.hinted(whole_path, (folder or "") .. path) end
  return run(text, "@" .. whole_path, place_of(whole_path, kind), limits)
end

--- Runs a file and returns its table; a bare function is put into one. Raises if it has another shape.
---@param path string
---@param kind ebb.ScriptKind
---@param loading? ebb.Loading
---@param folder? string        as for script_file.text
---@return table value
---@return string name          of the file
function loader.read(path, kind, loading, folder)
  if loading and loading.trusted then return script_file.read(path, kind, folder) end
  local value, problem = loader.load(path, loading and loading.limits, kind, folder)
  return script_file.shaped(path, kind, value, problem), script_file.name(path)
end

--- Reads the text of a script as `read` does a file.
---@param text string
---@param kind ebb.ScriptKind
---@param loading? ebb.Loading
---@return table value
---@return string name          which also comes before lines in errors
function loader.read_source(text, kind, loading)
  if loading and loading.trusted then return script_file.read_source(text, kind) end
  local name = script_file.source_name(text, kind)
  return script_file.shaped(name, kind, run(text, "=" .. name, place_of(nil, kind), loading and loading.limits)), name
end

--- The path of NAME.lua in the folders of a kind, or nil.
---@param name string
---@param kind "policies"|"filters"|"processors"|"macros"|"types"
---@return string?
function loader.find(name, kind)
  return script_path.find(name, script_path[kind])
end

---- Calling ----

--- True if the function runs in a sandbox.
---@param call function
---@return boolean
function loader.holds(call)
  return sandbox ~= nil and sandbox.box_of(call) ~= nil
end

--- Calls the function of a proxy; returns its first argument as it is after the call, then its results.
---@param proxy function
---@param limits? ebb.Limits
---@param value any             a table that the function may change in place
---@param ... any
---@return any value
---@return any ...              what the function returned
function loader.edit(proxy, limits, value, ...)
  if not loader.holds(proxy) then return value, proxy(value, ...) end
  local box = sandbox.box_of(proxy)
  set_limits(box, limits)
  return sandbox.enter(box, "edit", proxy, value, ...)
end

--- Begins a run of several calls within one set of limits.
---@param proxy function
---@param limits? ebb.Limits
---@param messages? integer     on which it works: absent limits grow with them
function loader.begin(proxy, limits, messages)
  set_limits(sandbox.box_of(proxy), limits, messages)
end

--- Calls a function of an Ebb module that is next to the script.
---@param proxy function        the script's, which is the first argument
---@param module string
---@param name string
---@param ... any
---@return any ...
function loader.use(proxy, module, name, ...)
  return sandbox.enter(sandbox.box_of(proxy), "use", module, name, proxy, ...)
end

return loader
