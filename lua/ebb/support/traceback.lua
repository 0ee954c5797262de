--- Calls a user's function, and says where in it something went wrong.
--
-- Plain Lua errors carry "file:line:" already. Refusals are objects without a
-- place; they get that of the newest frame in the same file as the function.

local core = require "ebb.support.core"

local traceback = {}

--- "file:line: " of the frame that runs code of `source`, or "".
local function place(source)
  local level = 3   -- above: this function and the handler
  while true do
    local frame = debug.getinfo(level, "Sl")
    if not frame then return "" end
    if frame.source == source and frame.currentline > 0 then
      return ("%s:%d: "):format(frame.short_src, frame.currentline)
    end
    level = level + 1
  end
end

local NO_WORDS = { ["function"] = true, thread = true, userdata = true, table = true }

--- Returns a text for a raised value; a table without words shows its content. Never an address: that would
--- be another one in each run.
---@param problem any
---@return string
function traceback.text(problem)
  local kind = type(problem)
  if not NO_WORDS[kind] or core.is_error(problem) then return tostring(problem) end
  local meta = getmetatable(problem)
  if type(meta) == "table" and meta.__tostring then return tostring(problem) end
  local ok, json = pcall(core.json.encode, problem)
  return kind == "table" and ok and json or "a " .. kind
end

--- Without the place that Lua names for code that has no debug information (libebb's own).
local function placed(text)
  return (text:gsub("^%?:%-1: ", "", 1))
end

local ABSENT = { io = true, os = true, debug = true, package = true, dofile = true, loadfile = true }

--- In a sandbox, where there is no io: says so where a script fails at a library that programs have.
local function with_reason(text)
  local name = io == nil and text:match "%(global '(%a+)'%)$"
  return name and ABSENT[name] and ("%s: a sandbox has no %s"):format(text, name) or text
end

local function describe(problem, source)
  if core.is_error(problem) then
    return { message = place(source) .. tostring(problem), code = problem.code }
  end
  local text = type(problem) == "string" and with_reason(placed(core.utf8(problem)))
    or "error value: " .. traceback.text(problem)
  if text:find "^[^\n]-:%d+: " then return { message = text } end
  return { message = place(source) .. text, code = text == "not enough memory" and "memory" or nil }
end

--- Makes a handler for xpcall that turns an error below `subject` into {message, code}.
---@param subject function    the user's function
---@return fun(problem: any): table
function traceback.handler(subject)
  local source = debug.getinfo(subject, "S").source
  return function(problem) return describe(problem, source) end
end

--- Calls `run(...)`. Returns true and its results, or false, a message with
--- file:line, and the code of the refusal if it was one.
---@param subject function    the user's function that `run` leads to
---@param run function
---@return boolean ok
---@return any ...
function traceback.call(subject, run, ...)
  local results = table.pack(xpcall(run, traceback.handler(subject), ...))
  if results[1] then return table.unpack(results, 1, results.n) end
  local failure = results[2]
  if type(failure) ~= "table" then return false, tostring(failure), "memory" end   -- the handler itself failed
  return false, failure.message, failure.code
end

return traceback
