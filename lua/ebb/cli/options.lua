--- The options that several commands share, and what they stand for.

local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local host = require "ebb.host"
local model_file = require "ebb.cli.model_file"
local models = require "ebb.models"
local loader = require "ebb.sandbox.loader"
local script_path = require "ebb.sandbox.script_path"
local terminal = require "ebb.cli.terminal"

local options = {}

local WARNINGS_SHOWN = 10

--- How argparse reads a whole number from 0.
---@param name string     of the option
function options.integer(name)
  return function(word)
    local integer = word:find "^%d+$" and math.tointeger(tonumber(word))
    if integer then return integer end
    return nil, ("%s: expected a whole number from 0, got '%s'"):format(name, word)
  end
end

local UNITS = { [""] = 1, K = 1024, M = 1024 ^ 2, G = 1024 ^ 3 }

--- The same for bytes: 1000, 64K, 16M, 2G.
function options.bytes(name)
  return function(word)
    local digits, unit = word:upper():match "^(%d+)([KMG]?)$"
    local bytes = digits and math.tointeger(tonumber(digits) * UNITS[unit])
    if bytes then return bytes end
    return nil, ("%s: expected bytes such as 1000, 64K or 16M, got '%s'"):format(name, word)
  end
end

local function role_pair(word)
  local old, new = word:match "^([^=]+)=([^=]+)$"
  if old then return { old = old, new = new } end
  return nil, ("--role-map: expected old=new, got '%s'"):format(word)
end

---- Declaring ----

--- For the help of commands that take a policy.
options.OWN_POLICY = [[
A policy of your own is a Lua file, such as:
  return function(draft, budget) draft:drop_oldest { to = budget } end
docs/guide/your-own-policy.md explains it; scripts/policies has examples.]]

function options.input(parser)
  parser:argument("file", "JSON array, JSONL or request body; - is standard input."):args("?")
end

function options.input_option(parser)
  parser:option("--input", "JSON array, JSONL or request body; default: standard input."):argname("<file>")
    :target("file")
end

function options.output(parser)
  parser:option("-o", "Write there instead of to standard output."):argname("<file>"):hidden_name("--output")
    :target("output")
end

---@param parser table
---@param where? string     what else to say
function options.json(parser, where)
  parser:flag("--json", "Report as JSON" .. (where or "") .. ".")
end

local function add_folders(parser, option, what)
  parser:option(option,
    ("Folder in which %s are found by name, before those of the user's settings. Repeatable."):format(what))
    :argname("<folder>"):count("*")
end

function options.policy_path(parser) add_folders(parser, "--policy-path", "policies") end
function options.filter_path(parser) add_folders(parser, "--filter-path", "filters") end

--- How policies and filters from files and texts are run.
function options.sandbox(parser)
  parser:option("--deadline", "Milliseconds that a file or text may run (default 2000, and 0.02 a message; 0: no end).")
    :argname("<ms>"):convert(options.integer "--deadline")
  parser:option("--fuel", "Lua instructions that it may take (default 200 million, and 2000 a message; 0: no end).")
    :argname("<n>"):convert(options.integer "--fuel")
  parser:option("--memory", "Memory that it may use (default 64M, and 64 a message)."):argname("<bytes>")
    :convert(options.bytes "--memory")
  parser:flag("--trusted", "Run it outside of the sandbox: with all of Lua, files and processes too, without limits.")
end

--- What was said about that.
---@param args table       the parsed command line
---@return ebb.Loading
function options.loading(args)
  local limits = { deadline = args.deadline, fuel = args.fuel, memory = args.memory }
  if args.trusted and next(limits) then
    failure.usage("--trusted has no limits", "leave out --deadline, --fuel and --memory, or --trusted")
  end
  return { trusted = args.trusted or false, limits = failure.typed(loader.check_limits, limits) }
end

--- How tokens are counted, and how much is read.
function options.reading(parser)
  parser:option("--model", "Count as for this model."):argname("<name>")
  parser:option("--encoding", "Count by this encoding: a vocabulary such as o200k_base, or cjk, bytes4, utf16_2_5.")
    :argname("<name>")
  parser:option("--max-message", "Largest message that is read (default 16M)."):argname("<bytes>")
    :convert(options.bytes "--max-message")
  parser:option("--max-file", "Largest array or body that is read (default 256M)."):argname("<bytes>")
    :convert(options.bytes "--max-file")
  parser:option("--role-map", "Read messages of role <old> as of role <new>; what is written keeps <old>. Repeatable.")
    :argname("<old=new>"):count("*"):convert(role_pair)
  parser:flag("--lenient", "Leave out what is no message and mend texts and keys, with warnings and exit status 3.")
end

---- Using ----

local function use_folders(option, list, folders)
  for _, folder in ipairs(folders) do
    local entries, why = host.entries(folder)
    if not entries then failure.raise(failure.IO, ("%s: %s: %s"):format(option, folder, why)) end
  end
  script_path.add(list, folders)
end

function options.use_policy_path(args) use_folders("--policy-path", script_path.policies, args.policy_path) end
function options.use_filter_path(args) use_folders("--filter-path", script_path.filters, args.filter_path) end

local function role_map_of(role_pairs)
  local map = {}
  for _, pair in ipairs(role_pairs) do
    map[pair.old] = pair.new
  end
  return next(map) and map or nil
end

---@param args table       the parsed command line
---@return ebb.ConversationOptions
function options.of_conversation(args)
  model_file.load()
  return {
    model = args.model, encoding = args.encoding,
    max_message = args.max_message, max_file = args.max_file,
    lenient = args.lenient, role_map = role_map_of(args.role_map or {}),
  }
end

--- Refuses to wait for somebody to type a conversation.
---@param path? string
---@return string
function options.path(path)
  if path == nil and terminal.stdin_is_terminal then
    failure.usage("no file was given, and standard input is a terminal", "name a file, or - to type into")
  end
  return path or "-"
end

--- file:line:byte of a warning.
function options.place(path, warning)
  local name = path == "-" and "stdin" or path
  if not warning.line then return name end
  return ("%s:%d:%d"):format(name, warning.line, warning.byte or 1)
end

local function warn(path, warning)
  terminal.say(("%s: warning: %s"):format(options.place(path, warning), warning.message))
end

--- What loading found odd, one line each: all that a lenient reading let pass, and the first of the rest.
---@param quiet? boolean      the rest is shown otherwise
---@return boolean lenient    strictly read it would have been refused
function options.warn(path, warnings, quiet)
  local others, lenient = 0, false
  for _, warning in ipairs(warnings) do
    lenient = lenient or warning.lenient
    if not warning.lenient then others = others + 1 end
    if warning.lenient or (not quiet and others <= WARNINGS_SHOWN) then warn(path, warning) end
  end
  if not quiet and others > WARNINGS_SHOWN then
    terminal.say(("and %d more warnings; `ebb inspect` lists them"):format(others - WARNINGS_SHOWN))
  end
  return lenient
end

--- Options that let more be read, by the code of what was refused.
local WAYS_OUT = {
  role = "--role-map old=new reads messages of one role as of another",
  limit = "--max-message and --max-file raise the caps",
}

local function check_loaded(chat, problem)
  local hint = problem and WAYS_OUT[problem.code]
  if hint then failure.raise(failure.REFUSED, problem.message, hint) end
  return failure.check(chat, problem)
end

--- Loads the conversation that the command line names.
---@param file? string      nil is standard input
---@param args table       the parsed command line
---@param quiet? boolean    warnings are shown otherwise
---@return ebb.Conversation
---@return string path
function options.load(file, args, quiet)
  local path = options.path(file)
  local chat = check_loaded(failure.typed(ebb.load, path, options.of_conversation(args)))
  if options.warn(path, chat:warnings(), quiet) then failure.lenient = true end
  return chat, path
end

local told = false

--- Says once that an estimator stands in for the vocabulary of the model, unless it was
--- asked for. A report as JSON says it itself, and may go to standard error.
---@param chat ebb.Conversation
---@param args table
function options.tell_stand_in(chat, args)
  local missing = not args.encoding and models.missing(chat)
  if not missing or told or args.json then return end
  told = true
  terminal.say(("ebb: %s is not installed: tokens are estimated (%s)"):format(missing, chat:encoding()))
end

--- Writes the conversation in the shape in which it came.
---@param chat ebb.Conversation
---@param args table
function options.save(chat, args)
  failure.check(chat:save(args.output or "-"))
end

return options
