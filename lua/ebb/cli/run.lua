--- ebb run: a Lua script, or the nodes that it returns.
--
-- The script is the user's own: it has all of Lua, its arguments in `arg` and
-- `...`, and standard output to itself. If it returns nodes, they are run on
-- the input, and the conversation that comes out is the result. With --isolate all
-- of that happens in a child process that the kernel holds (isolate.lua).

local failure = require "ebb.cli.failure"
local hints = require "ebb.cli.hints"
local isolate = require "ebb.cli.isolate"
local locate = require "ebb.workflow.locate"
local nodes = require "ebb.workflow"
local options = require "ebb.cli.options"

local run = {}

function run.declare(parser)
  parser:epilog(options.examples { "ebb run script.lua one two", "ebb run flow.lua --input chat.json -o out.json" }
    .. "\n\nNodes are a list of steps, run in order on --input:\n  return "
    .. nodes.form:gsub("}, {", "},\n    {"))
  parser:argument("script", "Lua file: a script, or one that returns nodes; or nodes in JSON.")
  parser:argument("arguments", "For the script; put -- before those that begin with a dash."):args("*")
    :argname("<argument>")
  options.input_option(parser)
  options.edited(parser)
  options.quiet(parser)
  isolate.declare(parser)
  options.reading(parser)
end

--- Loads the script. A file that cannot be read fails as I/O, one that is not Lua as a script.
local function compile(path)
  local file, why = io.open(path, "rb")
  if not file then failure.raise(failure.IO, why) end
  local is_json = locate.is_json(file:read(64) or "")
  file:close()
  if is_json then
    local workflow = failure.check(nodes.load(path))
    return function() return workflow end
  end
  local chunk, problem = loadfile(path, "t")
  if not chunk then failure.raise(failure.SCRIPT, problem) end
  return chunk
end

--- The error with the user's part of the traceback.
local function trace(problem)
  local failed = failure.from_value(problem)
  local message = failed and failed.message or tostring(problem)
  local way = debug.traceback(message, 2):gsub("\n%s+ebb/cli/.*", ""):gsub("\n%s+%[C%]: in [^\n]*", "")
  return { message = way:gsub("\t", "  "), hint = failed and failed.hint }
end

local function call(chunk, words)
  local ok, result = xpcall(chunk, trace, table.unpack(words))
  if ok then return result end
  if type(result) ~= "table" then error(result, 0) end   -- out of memory: the handler was not called
  failure.raise(failure.SCRIPT, result.message, result.hint)
end

local function looks_like_conversation(path)
  local file = io.open(path, "rb")
  local first = file and file:read(1)
  if file then file:close() end
  return first == "[" or first == "{"
end

--- The conversation for nodes. A file among the script's arguments is not read; it is meant
--- where standard input has nothing.
local function load_input(args)
  local chat = options.load(args.file, args)
  if args.file or #chat > 0 then return chat end
  local path = args.arguments[1]
  if path and looks_like_conversation(path) then
    failure.usage(("%s returned nodes, but standard input has no messages for them"):format(args.script),
      ("--input %s reads that file; behind the script it is an argument of the script"):format(path))
  end
  if chat.shape == "jsonl" and not chat.saved then   -- nothing was read: an empty list is input
    failure.usage(("%s returned nodes, but standard input is empty"):format(args.script), "--input chat.json")
  end
  return chat
end

---@param args table
---@param save fun(chat: ebb.Conversation, before: ebb.Conversation)
local function run_script(args, save)
  local chunk = compile(args.script)
  io.stdout:setvbuf "line"   -- chat:save("-") does not go through stdio: this keeps the order
  _G.arg = table.move(args.arguments, 1, #args.arguments, 1, { [0] = args.script })
  local result = hints.in_lua(call, chunk, args.arguments)
  if not nodes.is_workflow(result) then
    if args.file or args.output then
      failure.usage(("--input and -o are for nodes, and %s returned none"):format(args.script),
        "return " .. nodes.form)
    end
    return
  end
  result = locate.in_folder(result, args.script)
  hints.in_lua(nodes.check, result)   -- before the command waits for input
  local chat = load_input(args)
  local before = chat:fork()
  failure.check(hints.in_lua(nodes.run, chat, result))
  save(chat, before)
end

function run.run(args)
  options.use_in_place(args)
  if args.isolate then return isolate.run(args, run_script) end
  isolate.check_unused(args)
  run_script(args, function(chat, before) options.save(chat, args, before) end)
end

return run
