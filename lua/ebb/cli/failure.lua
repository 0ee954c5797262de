--- Failures of commands: an exit code, a message, and a hint.
--
-- They are raised, and `cli.main` catches them. Errors of the library get their exit code
-- here, by their own code.

local core = require "ebb.support.core"

local failure = {}

failure.USAGE, failure.CANNOT_FIT, failure.SCRIPT, failure.REFUSED, failure.IO = 2, 4, 5, 6, 7

--- The reader of standard output has read enough: a shell's exit code for SIGPIPE.
failure.PIPE = 141

--- The exit code of a command that succeeded after `lenient` was set: part of its input was
--- repaired or skipped.
failure.MENDED, failure.lenient = 3, false

--- Exit codes by the library's error codes; all others mean bad input or a refused operation.
local BY_CODE = {
  cannot_fit = failure.CANNOT_FIT,
  over_budget = failure.SCRIPT, policy = failure.SCRIPT, filter = failure.SCRIPT, script = failure.SCRIPT,
  processor = failure.SCRIPT, node = failure.SCRIPT, host = failure.SCRIPT,
  io = failure.IO, model = failure.IO, memory = failure.IO, absent = failure.IO, conflict = failure.IO,
}

---@class ebb.cli.Failure
---@field exit integer
---@field message string
---@field hint? string
local Failure = {}
Failure.__index = Failure
Failure.__tostring = function(self) return self.message end

local function make(exit, message, hint)
  return setmetatable({ exit = exit, message = message, hint = hint }, Failure)
end

function failure.raise(exit, message, hint)
  error(make(exit, message, hint), 0)
end

function failure.usage(message, hint)
  failure.raise(failure.USAGE, message, hint)
end

--- The exit code for an error object.
function failure.exit_of(problem)
  return BY_CODE[problem.code] or failure.REFUSED
end

--- Returns `result`; a nil with an error object is raised as a failure.
function failure.check(result, problem)
  if result == nil then failure.raise(failure.exit_of(problem), problem.message, problem.hint) end
  return result
end

--- Exit codes for errors that are caused by values of the command line. A bad Lua file counts as
--- a failed script.
local BY_CODE_TYPED = {
  argument = failure.USAGE, unknown_name = failure.USAGE,
  syntax = failure.SCRIPT, shape = failure.SCRIPT,
}

--- The message without the function of the library that refused a name: a command line has options.
local function without_function(message)
  return (message:gsub("^%l+: (unknown %l+ ')", "%1"))
end

--- Calls a function with values of the command line.
function failure.typed(call, ...)
  local results = table.pack(pcall(call, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local problem = results[2]
  local exit = core.is_error(problem) and BY_CODE_TYPED[problem.code]
  if exit then failure.raise(exit, without_function(problem.message), problem.hint) end
  error(problem, 0)
end

--- Turns a caught value into a failure; nil for a bug or a plain Lua error.
---@param problem any
---@return ebb.cli.Failure?
function failure.from_value(problem)
  if getmetatable(problem) == Failure then return problem end
  if core.is_error(problem) then
    return make(BY_CODE[problem.code] or failure.REFUSED, problem.message, problem.hint)
  end
  if problem == "not enough memory" then return make(failure.IO, problem) end
end

return failure
