--- Defines the sandbox's entry points, which run in globals of their own: through them
--- the program reaches a script (runtime/bind/sandbox.c).
--
-- An entry answers true and its results, or false, message with file:line, code.
-- Here `_G` is what the script sees; `host(what, word)` asks the program, which
-- answers from loader.lua; `functions` lists what may leave the sandbox; `printer(f)`
-- is a print whose lines go to f.
--
-- Nothing here has more rights than the script, but for what `host` answers.

local traceback = require "ebb.support.traceback"

local entry = {}

local host, printer, script = host, printer, _G
local own_require = require

---- What the script finds ----

--- An Ebb module that is meant for policies.
local FOR_POLICIES = { ["ebb.conversation.parts"] = true }

local loaded = { _G = script, ebb = require "ebb.sandbox.script_face"() }
for _, name in ipairs { "string", "table", "math", "utf8", "coroutine" } do
  loaded[name] = script[name]
end

local function load_module(name)
  if FOR_POLICIES[name] then return own_require(name) end
  local text, path = host("module", name)
  if not text then error(path, 3) end
  local chunk, problem = load(text, "@" .. path, "t", script)
  if not chunk then error(problem, 0) end
  return chunk(name)
end

--- Files next to the script's own or on its path, by names without folders above them.
function script.require(name)
  if type(name) ~= "string" or not (name .. "."):find "^[%w_%-.]+$" or ("." .. name .. "."):find("..", 1, true) then
    error(("'%s' is no module name: words with dots between"):format(tostring(name)), 2)
  end
  if loaded[name] == false then error(("module '%s' requires itself, or failed before"):format(name), 2) end
  if loaded[name] == nil then
    loaded[name] = false
    local value = load_module(name)
    loaded[name] = value == nil and true or value
  end
  return loaded[name]
end

script.print = printer(function(line) host("print", line) end)

---- Entries ----

--- Notes the functions in what a script gives away: they may leave as proxies.
local function register(value, seen)
  if type(value) == "function" and not functions[value] then
    functions[#functions + 1] = value
    functions[value] = #functions
  elseif type(value) == "table" and not seen[value] then
    seen[value] = true
    for _, item in next, value do
      register(item, seen)
    end
  end
end

local function finish(ok, ...)
  if ok then register((...), {}) end
  if ok then return true, (...) end
  return false, (...), select(2, ...) == "memory" and "memory" or "script"
end

--- Runs the text of a script; its first value is the result.
function entry.load(text, name)
  local chunk, problem = load(text, name, "t", script)
  if not chunk then return false, problem, "syntax" end
  return finish(traceback.call(chunk, chunk))
end

--- Calls a function of the script's.
function entry.call(call, ...)
  return traceback.call(call, call, ...)
end

--- Calls a function of the script's and gives back, before its results, what it has made
--- of its first argument.
function entry.edit(call, value, ...)
  local results = table.pack(traceback.call(call, call, value, ...))
  if not results[1] then return table.unpack(results, 1, results.n) end
  return true, value, table.unpack(results, 2, results.n)
end

--- Calls a function of an Ebb module, which is an entry like these.
function entry.use(module, name, ...)
  return own_require(module)[name](...)
end

return entry
