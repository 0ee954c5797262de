--- ebb run: a Lua script, or the workflow that it returns.
--
-- The script is the user's own: it has all of Lua, its arguments in `arg` and
-- `...`, and standard output to itself. If it returns nodes, they are run on
-- the input, which is its first argument or --input, and the conversation that
-- comes out is the result. With --isolate all
-- of that happens in a child process that the kernel holds (isolate.lua).

local core = require "ebb.support.core"
local edits = require "ebb.cli.io.edits"
local failure = require "ebb.cli.failure"
local hints = require "ebb.cli.hints"
local isolate = require "ebb.cli.host.isolate"
local locate = require "ebb.workflow.locate"
local nodes = require "ebb.workflow"
local options = require "ebb.cli.io.options"
local places = require "ebb.cli.io.places"
local run_host = require "ebb.cli.host.run_host"
local saved_options = require "ebb.conversation.saved_options"
local script_trace = require "ebb.cli.view.script_trace"
local sessions = require "ebb.cli.io.sessions"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

local run = {}

local function form_of(word)
  if word == "dot" or word == "svg" then return word end
  return nil, ("--graph: expected dot or svg, got '%s'"):format(word)
end

function run.declare(parser)
  parser:epilog(options.examples {
    "ebb run script.lua one two", "ebb run flow.lua chat.json -o out.json", "ebb run flow.lua --check",
    "ebb run flow.lua --graph svg -o flow.svg", "ebb run agent.lua chat.json --trace --record session.jsonl",
  }
    .. "\n\nNodes are a list of steps, run in order on the input ('ebb help workflows' says more):\n  return "
    .. nodes.form:gsub("}, {", "},\n    {"))
  parser:argument("script", "Lua file: a script, or one that returns nodes; or nodes in JSON.")
  parser:argument("arguments", "For the script; put -- before those that begin with a dash. For nodes: the input.")
    :args("*"):argname("<argument>")
  options.input_option(parser)
  parser:flag("--check", "Check the nodes, and run none of them.")
  parser:option("--graph", "Draw the nodes, and run none of them: dot (default) or svg."):argname("<form>")
    :convert(form_of)
  parser:flag("--restart", "With --session: begin with the first node, even if an earlier run was ended in the middle.")
  parser:flag("--trace", "Show on standard error what each node does.")
  edits.declare(parser,
    { json = ", with what each node did: with --dry-run on standard output, else on standard error" })
  options.edited(parser)
  run_host.declare(parser)
  isolate.declare(parser)
  options.reading(parser)
end

--- Loads the script. A file that cannot be read fails as I/O, one that is not Lua as a script.
--- The function of a script, or one that returns the nodes of a JSON file.
---@param path string
---@param next_word? string     after it: a Lua file there means that the two were swapped
local function compile(path, next_word)
  local file, why = io.open(path, "rb")
  if not file then failure.raise(failure.IO, why) end
  local is_json = locate.is_json(file:read(64) or "")
  file:close()
  if is_json then
    local workflow, problem = nodes.load(path)
    if not workflow and next_word and next_word:find "%.lua$" then
      failure.raise(failure.exit_of(problem), problem.message, ("ebb run %s %s"):format(next_word, path))
    end
    failure.check(workflow, problem)
    return function() return workflow end
  end
  local chunk, problem = loadfile(path, "t")
  if not chunk then failure.raise(failure.SCRIPT, problem) end
  return chunk
end

--- Makes a handler: the error with the user's part of the traceback.
local function tracer(path)
  return function(problem)
    local message, hint = script_trace.text(problem, path)
    return { message = message, hint = hint }
  end
end

local function call(path, chunk, words)
  local ok, result = xpcall(chunk, tracer(path), table.unpack(words))
  if ok then return result end
  if type(result) ~= "table" then error(result, 0) end   -- out of memory: the handler was not called
  failure.raise(failure.SCRIPT, result.message, result.hint)
end

--- The conversation for nodes: the script's argument, --input, or standard input.
local function load_input(args)
  local words = args.arguments
  if words[1] and (args.file or words[2]) then
    failure.usage(("too many arguments: %s returned nodes, which have one input"):format(args.script),
      ("ebb run %s %s"):format(args.script, words[1]))
  end
  if args.isolate and words[1] then isolate.check_argument(args, words[1]) end
  args.file = args.file or words[1] and places.copy_of(words[1])
  if not args.output then options.use_in_place(args) end
  local chat = options.load(args.file, args)
  if not args.file and #chat == 0 and chat.shape == "jsonl" and not chat.saved then   -- an empty list is input
    failure.usage(("%s returned nodes, but standard input is empty"):format(args.script),
      ("ebb run %s chat.json"):format(args.script))
  end
  return chat
end

--- Checks or draws a workflow, if the command line asks for that; true: it is not run.
local function only_shown(args, workflow)
  if args.graph then
    terminal.result(hints.in_lua(nodes.draw, workflow, args.graph), args.output)
  else
    local list, unknown = hints.in_lua(nodes.check, workflow)   -- before the command waits for input
    for _, line in ipairs(args.check and unknown or {}) do terminal.say("warning: not checked: " .. line) end
    if args.check then terminal.inform(("%s: %s, no mistakes"):format(args.script, text.count(#list, "node"))) end
  end
  return args.graph ~= nil or args.check
end

--- Saves a session after each node, and goes on where an earlier run was ended. Nothing for other inputs.
local function keeping(args, chat)
  if args.restart and not args.session then
    failure.usage("--restart goes with --session", "--session NAME saves the run after each node")
  end
  if args.isolate or args.dry_run or not sessions.is_edited(args) then return {} end
  local position = not args.restart and saved_options.run(chat) or nil
  if position and not args.quiet then
    terminal.say(("ebb: session %s: goes on after %s"):format(args.session, position.after))
  end
  return { save = sessions.keep, position = position }
end

--- Returns what a node did, as plain data.
local function step_data(entry)
  return { node = entry.node, type = entry.type, messages = core.json.array(entry.messages),
    tokens = core.json.array(entry.tokens), milliseconds = entry.milliseconds, notes = core.json.array(entry.notes) }
end

--- Runs the nodes; the result, or a failure that says what a session has.
---@param steps table[]     gets what each node did
local function run_kept(args, chat, workflow, steps)
  local kept = keeping(args, chat)
  local function on_step(entry)
    steps[#steps + 1] = step_data(entry)
    if args.trace then require "ebb.cli.view.run_trace"(entry) end
  end
  local done, result = hints.in_lua(nodes.run, chat, workflow, {
    host = run_host.new(args), on_step = (args.trace or args.json or args.ledger) and on_step or nil,
    on_begin = function(where) terminal.progress(where, true) end, save = kept.save, position = kept.position,
  })
  terminal.progress(nil)
  if done then return result end
  local way = kept.save and ("session %s has what earlier nodes did: the next run goes on at this one, --restart "
    .. "begins again"):format(args.session)
  failure.raise(failure.exit_of(result), result.message, result.hint or way or nil)
end

local function run_nodes(args, workflow, save)
  workflow = locate.in_folder(workflow, args.script)
  if only_shown(args, workflow) then return end
  local chat = load_input(args)
  local before, steps = chat:fork(), core.json.array {}
  local result = run_kept(args, chat, workflow, steps)
  local same_numbers = result == chat or sessions.is_edited(args) and not args.dry_run
  edits.finish(args, { before = before, after = result, by = "run", apart = not same_numbers },
    function() save(result, before) end, function(data) data.nodes = steps end)
end

--- Options that have no meaning for a script.
local FOR_NODES = { "file", "output", "check", "graph", "trace", "record", "replay_model", "dry_run", "explain",
  "ledger", "json", "restart" }

---@param args table
---@param save fun(chat: ebb.Conversation, before: ebb.Conversation)
local function run_script(args, save)
  local chunk = compile(args.script, args.arguments[1])
  io.stdout:setvbuf "line"   -- chat:save("-") does not go through stdio: this keeps the order
  _G.arg = table.move(args.arguments, 1, #args.arguments, 1, { [0] = args.script })
  local result = hints.in_lua(call, args.script, chunk, args.arguments)
  if nodes.is_workflow(result) then return run_nodes(args, result, save) end
  for _, name in ipairs(FOR_NODES) do
    if args[name] then
      local option = ({ file = "--input", output = "-o" })[name] or "--" .. name:gsub("_", "-")
      failure.usage(("%s is for nodes, and %s returned none"):format(option, args.script), "return " .. nodes.form)
    end
  end
  if type(result) == "table" or type(result) == "function" then   -- a policy or filter, or nodes with a slip
    failure.check(nil, nodes.no_workflow(result, args.script))
  end
end

function run.run(args)
  if args.file or args.output then options.use_in_place(args) end
  edits.check(args)
  if args.isolate then return isolate.run(args, run_script) end
  isolate.check_unused(args)
  run_script(args, function(chat, before) options.save(chat, args, before) end)
end

return run
