--- The `ebb` command: finds the command that is named first, runs it, and reports how it ended.
--
-- Exit codes: 0 done; 1 check or diff found something; 2 usage; 3 done, but a lenient
-- reading skipped or repaired something; 4 cannot fit; 5 a script failed, or left too
-- much; 6 bad input or a refused operation; 7 I/O or memory; 130 (the host) Ctrl-C;
-- 141 the reader of standard output ended first.

require "ebb.cli.hints"   -- first: other modules copy its hints when they are loaded

local commands = require "ebb.cli.command_list"
local failure = require "ebb.cli.failure"
local host = require "ebb.host"
local suggest = require "ebb.support.suggest"
local terminal = require "ebb.cli.view.terminal"

local cli = {}

local function find(name)
  if commands.by_name[name] then return require("ebb.cli.commands." .. name) end
  local hint = suggest.nearest(name, name:find "^%-" and { "--version", "--help" } or commands.names)
  failure.usage(("unknown command '%s'"):format(name), hint and ("did you mean '%s'?"):format(hint) or "see 'ebb help'")
end

--- Keeps failures as they are; adds a traceback to other errors.
local function catch(problem)
  local is_caught = type(problem) == "string" and problem:find "^internal error: "
  return is_caught and problem or failure.from_value(problem)
    or debug.traceback("internal error: " .. tostring(problem), 2):gsub("\t", "  ")
end

local RETRIES = 20      -- where others write to the session at the same time

local FASTER = ("other programs were faster %d times; run the command again"):format(RETRIES + 1)

--- A copy, for a run that changes it.
local function copy(args)
  local list = {}
  for key, value in pairs(args) do list[key] = type(value) == "table" and copy(value) or value end
  return list
end

--- Runs a command that edits a session, again after each conflict: it means the same in a newer version. What it says
--- is that of the last run.
local function run_anew(command, args)
  local sessions = require "ebb.cli.io.sessions"
  for try = 0, RETRIES do
    terminal.hold()
    local ok, result = xpcall(command.run, catch, copy(args))
    local is_late = sessions.take_late()
    if ok or not is_late or try == RETRIES then
      terminal.release()
      if ok then return result end
      if is_late then result.hint = FASTER end
      error(result, 0)
    end
    terminal.drop()
  end
end

local function run_command(name, words)
  local command = find(name)
  local parser = require "ebb.cli.parser"
  local command_parser = parser.new(name)
  local args = parser.parse(command_parser, words)
  if args then
    args.command_name = name
    terminal.quiet = args.quiet or false
    require("ebb.cli.io.places").prepare(command_parser, args, command.places and command.places(args))
    if command.runs_anew and args.session and not args.output then return run_anew(command, args) end
    return command.run(args)
  end
  terminal.result(parser.help(command_parser, terminal.reading()))
end

--- `ebb session trim NAME ...` is `ebb trim --session NAME ...`.
local function of_session(words)
  if words[1] ~= "session" or words[2] ~= "trim" or not words[3] or words[3]:find "^%-" then return words end
  return table.move(words, 4, #words, 4, { "trim", "--session", words[3] })
end

local function run(words)
  words = of_session(words)
  local first = words[1]
  if first == "--version" or first == "-V" or first == "-v" then
    terminal.result("ebb " .. host.version .. "\n")
  elseif first == "-h" or first == "--help" then
    require("ebb.cli.commands.help").run {}
  elseif first == nil then
    failure.usage("a command is needed", "see 'ebb help'")
  else
    return run_command(first, table.move(words, 2, #words, 1, {}))
  end
end

local STDOUT = 1

--- True if the reader of standard output ended early, as `head` does.
local function is_broken_pipe(problem)
  return problem.exit == failure.IO and problem.message:find("standard output", 1, true) ~= nil
    and host.reader_is_gone(STDOUT)
end

---@param arguments string[]    arguments[0] is the program
---@return integer exit_code
function cli.main(arguments)
  local words = table.move(arguments, 1, #arguments, 1, {})
  local ok, result = xpcall(run, catch, words)
  if ok and (result or 0) == 0 then return failure.lenient and failure.MENDED or 0 end
  if ok then return result end
  local problem = failure.from_value(result) or { exit = failure.SCRIPT, message = tostring(result) }
  if is_broken_pipe(problem) then return failure.PIPE end
  local name = commands.by_name[words[1]] and "ebb " .. words[1] or "ebb"
  terminal.say(("%s: %s"):format(name, problem.message))
  if problem.hint then terminal.say("hint: " .. problem.hint) end
  return problem.exit
end

return cli
