--- ebb run --isolate: the script in a child process with limits, which reaches only
--- the files that it is allowed (runtime/host/confine.h says how).
--
--     reads     its own folder with all that is in it, the input, the user's folders of policies, filters, processors,
--               macros and types, vocabularies with the list of those that were checked, --allow-read
--     writes    --allow-write; standard output and error
--     none of   other files, programs, processes, network
--
-- The result of nodes goes back to the parent, which alone writes -o FILE.

local checked_images = require "ebb.models.checked_images"
local failure = require "ebb.cli.failure"
local host = require "ebb.host"
local model_file = require "ebb.cli.io.model_file"
local options = require "ebb.cli.io.options"
local script_path = require "ebb.sandbox.script_path"
local sessions = require "ebb.cli.io.sessions"
local terminal = require "ebb.cli.view.terminal"
local vocabularies = require "ebb.models.vocabularies"

local isolate = {}

local MIB = 1024 * 1024
isolate.DEFAULT = { deadline = 60000, memory = 1024 * MIB, file_size = 256 * MIB }
local SMALLEST = { deadline = 1, memory = 64 * MIB, file_size = 1 }

function isolate.declare(parser)
  parser:flag("--isolate", "Run in a child process without network, other processes, C modules, or files except "
    .. "those below and the script's own folder, which it may read whole: in your home folder, all of your home.")
  parser:option("--deadline", "With --isolate: wall-clock limit in ms, also applied to CPU time (default 60000).")
    :argname("<ms>"):convert(options.integer "--deadline")
  parser:option("--memory", "With --isolate: address space limit, 64M or more (default 1024M).")
    :argname("<bytes>"):convert(options.bytes "--memory")
  parser:option("--file-size", "With --isolate: size limit of written files (default 256M).")
    :argname("<bytes>"):convert(options.bytes "--file-size")
  parser:option("--allow-read", "With --isolate: a file or folder that may be read. Repeatable.")
    :argname("<path>"):count("*")
  parser:option("--allow-write", "With --isolate: a file or folder that may be read and written. Repeatable.")
    :argname("<path>"):count("*")
end

--- Refuses options that have no effect without --isolate.
function isolate.check_unused(args)
  for _, name in ipairs { "deadline", "memory", "file_size", "allow_read", "allow_write" } do
    local value = args[name]
    if value and (type(value) ~= "table" or value[1]) then
      failure.usage(("--%s goes with --isolate"):format((name:gsub("_", "-"))), "ebb run --isolate SCRIPT")
    end
  end
end

local function bounds_of(args)
  local bounds = {}
  for name, default in pairs(isolate.DEFAULT) do
    bounds[name] = args[name] or default
    if bounds[name] < SMALLEST[name] then
      failure.usage(("--%s is %d or more"):format((name:gsub("_", "-")), SMALLEST[name]))
    end
  end
  return bounds
end

--- Files and folders that every script may read.
local function readable(args)
  local list = { args.script:match "^(.*/)" or "./" }
  if args.file and args.file ~= "-" then list[2] = args.file end
  for _, more in ipairs { script_path.policies, script_path.filters, script_path.processors, script_path.macros,
    script_path.types, vocabularies.folders(), args.allow_read } do
    table.move(more, 1, #more, #list + 1, list)
  end
  list[#list + 1] = checked_images.path()
  return list
end

--- Refuses pipes: the child has standard input alone, and opens only files.
local function check_pipes(args)
  if host.is_descriptor(args.script) and args.script ~= "/dev/stdin" then
    failure.usage(("--isolate: %s is a pipe, which the script's process does not have"):format(args.script),
      "name a file")
  elseif args.file and host.is_descriptor(args.file) then
    failure.usage(("--isolate: %s is a pipe, which the script's process does not have"):format(args.file),
      "--input - reads standard input")
  end
end

local function check_paths(args)
  for _, name in ipairs { "allow_read", "allow_write" } do
    for _, path in ipairs(args[name]) do
      local file, why = io.open(path, "rb")
      if not file then failure.raise(failure.IO, ("--%s: %s"):format((name:gsub("_", "-")), why)) end
      file:close()
    end
  end
end

--- Refuses files that only the parent could write, and whose content it does not have.
local function check_report(args)
  if args.ledger then
    failure.usage("--ledger does not go with --isolate", "--json shows the report on standard error")
  elseif args.dry_run and args.json and args.output then
    failure.usage("-o does not go with --isolate --dry-run --json", "the report goes to standard output")
  end
end

--- Refuses a session: the child opens no database.
local function check_session(name)
  if not name then return end
  failure.usage("--isolate does not go with sessions: the script's process reaches no database",
    ("`ebb session export %s -o FILE` writes it to a file, for --input FILE"):format(name))
end

local EACCES = 13

--- Refuses an argument as the input of nodes that the parent had to know: it runs the child before it knows that the
--- script returns nodes.
---@param args table
---@param path string
function isolate.check_argument(args, path)
  check_session(sessions.name_of(path))
  local file, _, number = io.open(path, "rb")
  if file then file:close() end
  if not args.in_place and number ~= EACCES then return end
  failure.usage("--isolate takes the input of nodes as --input: an argument is the script's, which may not read it",
    ("ebb run --isolate %s --input %s"):format(args.script, path))
end

--- Hints by what the kernel's refusals say of a call of the script's.
local WAYS = {
  { "Permission denied", "with --isolate a script reads what --allow-read names besides its own folder, "
    .. "and writes what --allow-write names" },
  { "Operation not permitted", "with --isolate a script starts no program and opens no connection" },
  { "SQLite is not installed", "with --isolate a script reaches no database" },
}

--- A failure of the script with what would allow it; other errors with their traceback.
local function explain(problem)
  local failed = failure.from_value(problem)
  if not failed then return debug.traceback(tostring(problem), 2) end
  for _, way in ipairs(WAYS) do
    if failed.message:find(way[1], 1, true) then failed.hint = failed.hint or way[2] end
  end
  return failed
end

--- Runs the command in the child; its result goes to the parent.
local function run_child(args, run_script)
  local ok, problem = xpcall(run_script, explain, args, function(chat)
    io.stdout:flush()
    if args.output then host.capture() end
    failure.check(chat:save "-")
  end)
  if not ok then error(problem, 0) end
  return failure.lenient and failure.MENDED or 0
end

--- Raises: a limit could not be set, so nothing has run.
local function refuse_child(problem)
  failure.raise(failure.IO, "--isolate: " .. problem, "without it the script has all of your rights")
end

---@param args table       the parsed command line
---@param run_script fun(args: table, save: fun(chat: ebb.Conversation))
---@return integer? exit_code
function isolate.run(args, run_script)
  local bounds = bounds_of(args)
  check_report(args)
  check_session(args.session or sessions.name_of(args.file))
  check_pipes(args)
  check_paths(args)
  model_file.load()
  terminal.guard(args.file, args.output)
  io.stdout:flush()
  local role, number, result = host.isolate {
    milliseconds = bounds.deadline, memory = bounds.memory, file_size = bounds.file_size,
    read = readable(args), write = args.allow_write,
  }
  if role == "failed" then refuse_child(number) end
  if role == "child" then return run_child(args, run_script) end
  if role == "deadline" then
    failure.raise(failure.SCRIPT, ("stopped: it ran longer than %d ms"):format(bounds.deadline),
      "--deadline allows more")
  elseif role == "unknown" then
    failure.raise(failure.IO, "how the script's process ended cannot be determined: " .. number)
  elseif role == "signal" then
    failure.raise(failure.SCRIPT, ("the script's process was ended by signal %d"):format(number))
  end
  local succeeded = number == 0 or number == failure.MENDED
  if succeeded and args.output then terminal.result(result, args.output) end
  if succeeded and args.output and #result == 0 then
    terminal.say("nothing was written: the script returned no nodes")
  end
  return number
end

return isolate
