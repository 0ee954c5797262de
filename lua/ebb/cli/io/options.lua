--- The options that several commands share: their declarations and their use.

local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local figures = require "ebb.support.figures"
local host = require "ebb.host"
local imported = require "ebb.cli.io.imported"
local model_file = require "ebb.cli.io.model_file"
local models = require "ebb.models"
local loader = require "ebb.sandbox.loader"
local own_form = require "ebb.cli.io.own_form"
local places = require "ebb.cli.io.places"
local script_path = require "ebb.sandbox.script_path"
local sessions = require "ebb.cli.io.sessions"
local suggest = require "ebb.support.suggest"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"
local tool_file = require "ebb.cli.io.tool_file"

local options = {}

local WARNINGS_SHOWN = 10

--- A converter of argparse: a whole number from 0, such as 2000 or 2k.
---@param name string     of the option
function options.integer(name)
  return function(word)
    local integer = figures.whole(word)
    if integer then return integer end
    return nil, ("%s: expected a whole number from 0, got '%s'"):format(name, word)
  end
end

--- A converter of argparse: a whole number from 1.
---@param name string     of the option
function options.positive(name)
  return function(word)
    local integer = figures.whole(word)
    if integer and integer > 0 then return integer end
    return nil, ("%s: expected a whole number from 1, got '%s'"):format(name, word)
  end
end

--- A converter of argparse: a number of tokens such as 8000 or 8k.
function options.tokens(name)
  return function(word)
    local tokens = figures.whole(word)
    if tokens then return tokens end
    return nil, ("%s: expected a whole number such as 8000 or 8k, got '%s'"):format(name, word)
  end
end

--- A converter of argparse: tokens, or a share of the whole conversation such as 33%.
function options.budget(name)
  return function(word)
    local percent = tonumber(word:match "^(%d+%.?%d*)%%$")
    if percent and percent > 0 and percent < math.huge then return { share = percent / 100 } end
    local tokens = figures.whole(word)
    if tokens then return tokens end
    return nil, ("%s: expected a whole number such as 8000 or 8k, or a share such as 33%%, got '%s'"):format(name, word)
  end
end

--- The tokens of a budget of the command line.
---@param budget? integer|{ share: number }
---@param chat ebb.Conversation     as it was read
---@return integer? tokens
function options.budget_of(budget, chat)
  if type(budget) ~= "table" then return budget end
  return math.max(1, math.floor(budget.share * chat:tokens()))
end

local UNITS = { [""] = 1, K = 1024, M = 1024 ^ 2, G = 1024 ^ 3 }

--- A converter of argparse: a number of bytes such as 1000, 64K, 16M, 2G.
function options.bytes(name)
  return function(word)
    local digits, unit = word:upper():match "^(%d+)([KMG]?)$"
    local bytes = digits and math.tointeger(tonumber(digits) * UNITS[unit])
    if bytes and bytes > 0 then return bytes end
    return nil, ("%s: expected bytes such as 1000, 64K or 16M, got '%s'"):format(name, word)
  end
end

local function role_pair(word)
  local old, new = word:match "^([^=]+)=([^=]+)$"
  if old then return { old = old, new = new } end
  return nil, ("--role-map: expected old=new, got '%s'"):format(word)
end

---- Declaring ----

--- Gives the options that `declare` adds a heading of their own in the help.
---@param parser table
---@param name string
---@param declare fun()
function options.group(parser, name, declare)
  local first = #parser._options + 1
  declare()
  parser:group(name, table.unpack(parser._options, first))
end

--- The examples of a command's help.
---@param lines string[]
---@return string
function options.examples(lines)
  return "Examples:\n  " .. table.concat(lines, "\n  ")
end

--- A paragraph for the help of commands that take a policy.
options.OWN_POLICY = [[
Your own policy is a Lua file, such as:
  return function(draft, budget) draft:drop_oldest { to = budget } end
'ebb help policies-in-lua' says more; share/doc/ebb/examples/policies has examples.]]

function options.input(parser)
  parser:argument("file", "JSON array, JSONL or request body; - is standard input."):args("?")
end

--- Several inputs, `files`; `file` is the first.
function options.inputs(parser)
  parser:argument("file", "JSON array, JSONL or request body; - is standard input. With --replay several, and folders.")
    :args("*"):target("files")
end

--- Refuses a second input, where one is read; sets `file`.
---@param args table
function options.one_input(args)
  if args.files[2] then failure.usage("too many arguments", "one file is trimmed; --replay takes several") end
  args.file = args.files[1]
end

function options.input_option(parser)
  parser:option("--input", "JSON array, JSONL or request body; default: standard input."):argname("<file>")
    :target("file")
end

---@param parser table
---@param rewrites? boolean     the file may be the conversation that is read
function options.output(parser, rewrites)
  places.writes(parser:option("-o", "Write to this file instead of standard output."):argname("<file>")
    :hidden_name("--output"):target("output"), rewrites)
end

--- The output of commands that edit a conversation.
function options.edited(parser)
  options.output(parser, true)
  tool_file.declare(parser)
  parser:flag("-i --in-place", "Write the result to the input file, unless another program changed it meanwhile.")
end

--- Makes the input file the output, under --in-place; call it before the input is read.
---@param args table
function options.use_in_place(args)
  if not args.in_place then return end
  if args.output then failure.usage("-i and -o do not go together", "-i writes to the input file") end
  if args.session then failure.usage("-i does not go with --session", "the result is written to the session") end
  if (args.file or "-") == "-" then failure.usage("-i needs a file, and the input is standard input") end
  local session = sessions.name_of(args.file)
  if session then
    failure.usage(("-i needs a file, and the input is %s"):format(args.file),
      ("--session %s writes to it"):format(session))
  end
  args.output = args.file
end

function options.quiet(parser)
  parser:flag("-q --quiet", "Do not report success or progress.")
end

---@param parser table
---@param where? string     what else to say
function options.json(parser, where)
  parser:flag("--json", "Report as JSON" .. (where or "") .. ".")
end

local function add_folders(parser, option, what)
  parser:option(option,
    ("A folder of %s, searched before the user's own. Repeatable."):format(what))
    :argname("<folder>"):count("*")
end

function options.policy_path(parser) add_folders(parser, "--policy-path", "policies") end
function options.filter_path(parser) add_folders(parser, "--filter-path", "filters") end

function options.macros(parser)
  parser:option("--macro", "Your own macros: a Lua file, or a folder of them. Repeatable."):argname("<file>"):count("*")
    :target("macros")
end

--- The registry with the macros of the command line; nil if it names no file.
---@param args table
---@param loading ebb.Loading
---@return ebb.MacroRegistry?
function options.macro_registry(args, loading)
  if not args.macros[1] then return nil end
  return failure.typed(require("ebb.pipeline.own_macros").registry, args.macros, loading)
end

--- Adds the options for running policies and filters from files and texts.
function options.sandbox(parser)
  options.group(parser, "Limits of your own Lua", function()
    parser:option("--deadline", "Time limit in ms (default: 2000 plus 0.02 per message; 0: unlimited).")
      :argname("<ms>"):convert(options.integer "--deadline")
    parser:option("--fuel", "Lua instruction limit (default: 200 million plus 2000 per message; 0: unlimited).")
      :argname("<n>"):convert(options.integer "--fuel")
    parser:option("--memory", "Memory limit (default: 64M plus 64 bytes per message)."):argname("<bytes>")
      :convert(options.bytes "--memory")
    parser:flag("--trusted", "Run it outside of the sandbox: with all of Lua, files and processes, without limits.")
  end)
end

--- The limits that these options set.
---@param args table       the parsed command line
---@return ebb.Loading
function options.loading(args)
  local limits = { deadline = args.deadline, fuel = args.fuel, memory = args.memory }
  if args.trusted and next(limits) then
    failure.usage("--trusted takes no limits", "leave out --deadline, --fuel and --memory, or --trusted")
  end
  return { trusted = args.trusted or false, limits = failure.typed(loader.check_limits, limits) }
end

--- Adds the options for counting tokens and reading input.
---@param parser table
---@param is_session? boolean     the command names sessions itself
function options.reading(parser, is_session)
  options.group(parser, "Counting and reading", function()
    parser:option("--model", "Count as for this model."):argname("<name>")
    parser:option("--encoding", ("Count by this encoding: a vocabulary such as o200k_base, or %s.")
      :format(table.concat(models.estimators, ", "))):argname("<name>")
    parser:option("--max-message", "Size limit of a message (default 16M)."):argname("<bytes>")
      :convert(options.bytes "--max-message")
    parser:option("--max-file", "Size limit of an array or body (default 256M), or a line that is one (64M).")
      :argname("<bytes>"):convert(options.bytes "--max-file")
    parser:option("--role-map", "Read messages of role <old> as role <new>; output keeps <old>. Repeatable.")
      :argname("<old=new>"):count("*"):convert(role_pair)
    parser:flag("--lenient", "Skip invalid messages, repair text and keys, with warnings and exit status 3.")
    imported.declare(parser)
  end)
  options.group(parser, "Sessions", function() sessions.declare(parser, not is_session) end)
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

--- Rolls a conversation back to a batch of the command line.
---@param chat ebb.Conversation
---@param word string          its number, or the name of a checkpoint
---@param label string         what comes before the word: "--batch"
function options.roll_back(chat, word, label, length)
  local number, size = math.tointeger(tonumber(word)), length and math.tointeger(tonumber(length))
  if length and not size then failure.usage(("length %s: expected a number of messages"):format(length)) end
  local ok, problem = pcall(chat.rollback, chat, number or word, size)
  if ok then return end
  if not core.is_error(problem) then error(problem, 0) end
  local last, names = 0, {}
  for _, batch in ipairs(chat:batches()) do
    last = math.max(last, batch.index)
    names[#names + 1] = batch.name
  end
  if number and (number < 0 or number > last) then
    failure.raise(failure.REFUSED, ("%s %s: expected a batch from 0 to %d, or the name of a checkpoint"):format(label,
      word, last))
  end
  if number then failure.raise(failure.exit_of(problem), ("%s %s: %s"):format(label, word, problem.message)) end
  failure.usage(("%s %s: no checkpoint '%s', and no number of a batch"):format(label, word, word),
    suggest.hint(word, names) or ("batches are numbered 0 to %d"):format(last))
end

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
  model_file.load(args.model)
  local tools, heading = tool_file.read(args)
  return {
    tools = tools, tools_heading = heading, model = args.model, encoding = args.encoding,
    max_message = args.max_message, max_file = args.max_file,
    lenient = args.lenient, role_map = role_map_of(args.role_map or {}),
  }
end

--- The path of the input. A terminal is refused: a conversation is not typed.
---@param path? string
---@return string
function options.path(path)
  if path == nil and terminal.stdin_is_terminal then
    failure.usage("no file is named, and standard input is a terminal", "name a file, or - to type the input")
  end
  return path or "-"
end

--- The files of a command that takes several; standard input, which is read once, can be only one of them.
---@param words string[]
---@param args table
---@return string[]
function options.files(words, args)
  local inputs = 0
  for _, word in ipairs(words) do
    if word == "-" then inputs = inputs + 1 end
  end
  if inputs > 1 then failure.usage("standard input can be only one of the files", "name files for the others") end
  if words[1] then return words end
  return { args.session and "session:" .. args.session or options.path(nil) }
end

--- The name of an input in messages.
---@param path string
---@return string
function options.name(path)
  return path == "-" and "stdin" or terminal.name_of(path)
end

--- file:line:byte of a warning.
function options.place(path, warning)
  local name = options.name(path)
  if not warning.line then return name end
  return ("%s:%d:%d"):format(name, warning.line, warning.byte or 1)
end

local function warn(path, warning)
  terminal.say(("%s: warning: %s"):format(options.place(path, warning), warning.message))
end

--- Writes the warnings of loading, a line each: all of a lenient reading, and the first of the others.
---@param quiet? boolean      the caller shows the others
---@return boolean lenient    a strict reading would have refused the input
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

--- Writes the warnings that a caller of options.load shows itself: those of parts that stay as they are.
---@param path string
function options.warn_of_parts(path, warnings)
  local list = {}
  for _, warning in ipairs(warnings) do
    if not warning.lenient then list[#list + 1] = warning end
  end
  options.warn(path, list)
end

--- Hints by the code of an error of reading.
local WAYS_OUT = {
  role = "--role-map old=new reads messages of one role as of another",
  limit = "--max-message and --max-file raise caps; `ebb limits` lists all limits",
  damaged = "--lenient reads what is left of a conversation whose digest differs",
}

--- Codes of problems that a lenient reading skips or mends.
local LENIENT = { syntax = true, shape = true, encoding = true, duplicate = true }

--- True if a lenient reading skipped a call or a result: what is left would be half of a conversation.
local function skips_call(warnings)
  for _, warning in ipairs(warnings) do
    local what = warning.lenient and warning.message:match "^skipped .*: expected (.*)"
    what = what and what:gsub("%b()", "")       -- "content (why it is expected)" is of none
    if what and (what:find("call", 1, true) or what:find("result", 1, true)) then return true end
  end
  return false
end

--- The hint at --lenient, where it reads more messages of the file than it skips, and no call or result is skipped.
---@param path string
---@param args table
---@param code string       of the problem of a strict reading
---@param bytes? string     of standard input, or of a file that was compressed
local function lenient_way(path, args, code, bytes)
  if args.lenient or not LENIENT[code] then return nil end
  if not bytes then
    local identity, size = core.file_identity(path)
    if not identity or size == 0 then return nil end       -- a pipe is read once
  end
  local chat_options = options.of_conversation(args)
  chat_options.lenient = true
  local chat
  if bytes then chat = ebb.parse(bytes, chat_options) else chat = ebb.load(path, chat_options) end
  if not chat or #chat == 0 then return nil end
  local skipped = 0
  for _, warning in ipairs(chat:warnings()) do
    if warning.lenient and warning.message:find "^skipped" then skipped = skipped + 1 end
  end
  if skipped > #chat or skips_call(chat:warnings()) then return nil end
  local others = skipped > 0 and (", and skips %d"):format(skipped) or ""
  return ("--lenient reads %s%s"):format(text.count(#chat, "message"), others)
end

--- Reads a conversation, or a file of another program.
local function read(path, args)
  local chat_options = options.of_conversation(args)
  if imported.is_asked(args) then return imported.read(path, options.name(path), args, chat_options) end
  local chat, problem, bytes = failure.typed(ebb.load, path, chat_options)
  bytes = bytes or chat and imported.suspect(chat, path)
  if chat and not bytes then return chat end
  local other, result, packed = imported.rescue(path, options.name(path), args, chat_options, problem, bytes)
  if other then return other, result end
  if chat then return chat end
  if packed then problem, bytes = packed.problem, packed.text end
  local is_depth = problem.code == "limit" and problem.message:find("levels", 1, true)      -- which no option raises
  local way = not is_depth and WAYS_OUT[problem.code] or lenient_way(path, args, problem.code, bytes)
  failure.raise(failure.exit_of(problem), problem.message, way or result or problem.hint)
end

local LONG_TO_READ = 100e6   -- bytes; about a second

--- Shows which file is being read, without opening it: a FIFO is opened once.
local function show_reading(path)
  local known, size = core.file_identity(path)
  if known and size >= LONG_TO_READ then terminal.progress(("reading %s, %.0f MB"):format(path, size / 1e6), true) end
end

--- Loads a session as a file is loaded.
local function load_session(args, name)
  sessions.check_options(args)
  local chat = sessions.load(args, name, options.of_conversation(args))
  imported.check_dialect(chat, args, "session:" .. name)
  return chat, "session:" .. name
end

--- Loads the conversation of the command line.
---@param file? string      nil is standard input
---@param args table       the parsed command line
---@param quiet? boolean    the caller shows the warnings
---@return ebb.Conversation
---@return string path
---@return ebb.Import? result   of a file of another program
function options.load(file, args, quiet)
  local name = args.session or sessions.name_of(file)
  if name then return load_session(args, name) end
  local path = options.path(file)
  terminal.guard(path, args.output)
  show_reading(path)
  local chat, result = read(path, args)
  terminal.progress(nil)
  imported.check_dialect(chat, args, options.name(path))
  if options.warn(path, chat:warnings(), quiet) then failure.lenient = true end
  local is_empty = #chat == 0 and chat.shape == "jsonl" and not chat.saved   -- so empty input is read
  if is_empty then
    local why = chat:warnings()[1] and "all of the input was skipped" or "the input is empty"
    terminal.say(("%s: warning: no messages, %s"):format(options.place(path, {}), why))
  end
  return chat, path, result
end

local told_in      -- the run of the command (terminal.run_number)

--- Tells once what counts for a model that is not listed, and that an estimator replaces the model's
--- vocabulary, unless --encoding names what counts. Reports as JSON have it as a field.
---@param chat ebb.Conversation
---@param args table
---@return boolean? is_reason     it was said now why the counts are estimates
function options.tell_stand_in(chat, args)
  if told_in == terminal.run_number or args.json or args.encoding then return end
  local missing, note = models.missing(chat), models.note(chat)
  if note or missing then told_in = terminal.run_number end
  if note then terminal.say("ebb: " .. note) end
  if not missing then return note ~= nil and models.of_chat(chat) == nil end
  local is_published = require("ebb.cli.io.vocab_fetch").SOURCES[missing] ~= nil
  local fetch = is_published and ("; ebb vocab fetch %s brings it"):format(missing)
  terminal.say(("ebb: %s is not installed: tokens are estimated (%s)%s"):format(missing, chat:encoding(), fetch or ""))
  return true
end

--- Writes the conversation in the shape in which it came, or in a dialect, and tells a person.
---@param chat ebb.Conversation
---@param args table
---@param before? ebb.Conversation     as it was read
---@param dialect? "ebb"
---@param written? string              in place of what the conversation writes itself
function options.save(chat, args, before, dialect, written)
  if sessions.save(chat, args) then return end
  written = written or not dialect and not chat.saved and own_form.text(chat) or nil
  terminal.conclude(args.output, function(path, unchanged)
    if written then return core.write_file(path, written, unchanged) end
    return chat:save(path, { unchanged = unchanged, dialect = dialect })
  end)
  if not before then return end
  local counts = "%d -> %s, %d -> %s%s"
  terminal.inform(counts:format(#before, text.count(#chat, "message"), before:tokens(),
    text.count(chat:tokens(), "token"), options.target(args)))
end

--- " -> out.json" for the end of a line that reports success.
function options.target(args)
  return args.output and args.output ~= "-" and " -> " .. args.output or ""
end

return options
