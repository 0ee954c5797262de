--- ebb run: a Lua script, or the nodes that it returns.
--
-- The script is the user's own: it has all of Lua, its arguments in `arg` and
-- `...`, and standard output to itself. If it returns nodes, they are run on
-- the input, and the conversation that comes out is the result. With --isolate all
-- of that happens in a child process that the kernel holds (isolate.lua).

local failure = require "ebb.cli.failure"
local isolate = require "ebb.cli.isolate"
local nodes = require "ebb.workflow"
local options = require "ebb.cli.options"

local run = {}

function run.declare(parser)
  parser:epilog("Nodes are a list of steps, run in order on --input:\n  return " .. nodes.form)
  parser:argument("script", "Lua file: a script, or one that returns a list of nodes.")
  parser:argument("arguments", "For the script; put -- before those that begin with a dash."):args("*")
    :argname("<argument>")
  options.input_option(parser)
  options.output(parser)
  isolate.declare(parser)
  options.reading(parser)
end

--- A file that cannot be read is not the same as one that is no Lua.
local function compile(path)
  local file, why = io.open(path, "rb")
  if not file then failure.raise(failure.IO, why) end
  file:close()
  local chunk, problem = loadfile(path, "t")
  if not chunk then failure.raise(failure.SCRIPT, problem) end
  return chunk
end

--- The error with its way through the script, as far as that is the user's.
local function trace(problem)
  local known = failure.of(problem)
  local message = known and known.message or tostring(problem)
  local way = debug.traceback(message, 2):gsub("\n%s+ebb/cli/.*", ""):gsub("\n%s+%[C%]: in [^\n]*", "")
  return { message = way:gsub("\t", "  "), hint = known and known.hint }
end

local function call(chunk, words)
  local ok, result = xpcall(chunk, trace, table.unpack(words))
  if ok then return result end
  if type(result) ~= "table" then error(result, 0) end   -- no memory: no handler was called
  failure.raise(failure.SCRIPT, result.message, result.hint)
end

---@param args table
---@param save fun(chat: ebb.Conversation)
local function run_script(args, save)
  local chunk = compile(args.script)
  io.stdout:setvbuf "line"   -- chat:save("-") does not go through stdio: this keeps the order
  _G.arg = table.move(args.arguments, 1, #args.arguments, 1, { [0] = args.script })
  local result = call(chunk, args.arguments)
  if not nodes.is_workflow(result) then
    if args.file or args.output then
      failure.usage(("--input and -o are for nodes, and %s returned none"):format(args.script),
        "return " .. nodes.form)
    end
    return
  end
  nodes.check(result)   -- before a conversation is waited for
  local chat = options.load(args.file, args)
  failure.check(nodes.run(chat, result))
  save(chat)
end

function run.run(args)
  if args.isolate then return isolate.run(args, run_script) end
  isolate.check_unused(args)
  run_script(args, function(chat) options.save(chat, args) end)
end

return run
