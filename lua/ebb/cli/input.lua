--- ebb input: a user's new text enters a conversation. Macros are expanded once, files are attached by reference,
--- and windows open before it.

local core = require "ebb.support.core"
local ebb = require "ebb"
local edits = require "ebb.cli.edits"
local failure = require "ebb.cli.failure"
local json_arguments = require "ebb.support.json_arguments"
local macro_options = require "ebb.cli.macro_options"
local options = require "ebb.cli.options"
local terminal = require "ebb.cli.terminal"

local input = { runs_anew = true }      -- after a conflict of sessions

input.BYTES_MAX = 16 * 1024 * 1024   -- of a text, and of a window

function input.declare(parser)
  parser:argument("text", "What the user says; - is standard input.")
  options.input(parser)
  parser:option("--attach", "A file that belongs to the text; pipelines read it when they make a request. Repeatable.")
    :argname("<file>"):count("*"):target("attachments")
  parser:option("--window", "Open the window of this file before the text: JSON, or markup as models read it. "
    .. "Repeatable."):argname("<file>"):count("*"):target("windows")
  macro_options.declare_speakers(parser)
  macro_options.declare(parser)
  options.sandbox(parser)
  edits.declare(parser, { json = ", with what macros left in variables: with --dry-run on standard output, else on "
    .. "standard error" })
  options.edited(parser)
  options.reading(parser)
  parser:epilog(options.examples {
    "ebb input 'What is in the picture?' chat.json --attach plan.png -i",
    "ebb input 'It is {{time}}. Good morning, {{char}}!' --session inn --agent ann.json",
    "ebb input 'What is left to do?' --session s --window todo.xml --tools tools.json",
  })
end

---- Windows ----

local ANY = { type = "any" }
local FIELDS = {}
for _, name in ipairs { "id", "description", "content", "actions", "closable", "pinned", "important", "render",
  "refresh", "hidden", "item" } do
  FIELDS[name] = ANY
end

--- Refuses a file with its name before the place of the mistake.
local function refuse(path, problem)
  local between = problem.message:find "^%d+:%d+: " and ":" or ": "
  failure.raise(failure.exit_of(problem), path .. between .. problem.message, problem.hint)
end

--- The window of markup, as the options that open it. The built-in `close` is not declared again.
local function of_markup(text, path)
  local view, problem = ebb.read_window(text, { indented = true })
  if not view then refuse(path, problem) end
  local actions, is_closable = {}, false
  for _, action in ipairs(view.actions or {}) do
    if action.id == "close" then is_closable = true else actions[#actions + 1] = action end
  end
  return { id = view.id, description = view.description, content = view.content, actions = actions,
    closable = is_closable, render = view.compact and "compact" or nil }
end

--- The options that open the window of a file.
local function window_of(path)
  local text = terminal.read_file(path, input.BYTES_MAX)
  if text:find "^%s*<" then return of_markup(text:gsub("^%s+", ""), path) end
  local object, problem = core.json.decode(text)
  if problem then refuse(path, problem) end
  if type(object) ~= "table" or getmetatable(object) == "json.array" then
    refuse(path, { code = "shape", message = "expected a window: an object with id and content, or markup" })
  end
  return json_arguments.fields(object, FIELDS, path)
end

--- Opens the window of a file.
local function open(chat, path, window)
  local ok, problem = pcall(chat.windows.open, chat.windows, window)
  if ok then return end
  if not core.is_error(problem) then error(problem, 0) end
  refuse(path, problem)
end

---- The command ----

local function text_of(args)
  if args.text ~= "-" then return args.text end
  if (args.file or "-") == "-" and not args.session then
    failure.usage("the text and the conversation cannot both come from standard input", "name a file for one of them")
  end
  return (terminal.read_file("-", input.BYTES_MAX):gsub("\n$", ""))
end

function input.run(args)
  options.use_in_place(args)
  edits.check(args)
  macro_options.check_readable(args)
  local loading = options.loading(args)
  local windows = {}
  for i, path in ipairs(args.windows) do windows[i] = window_of(path) end
  local text = text_of(args)
  local chat = options.load(args.file, args)
  local before = chat:fork()
  for i, path in ipairs(args.windows) do open(chat, path, windows[i]) end
  local values = macro_options.add({ attachments = args.attachments[1] and args.attachments }, args, loading)
  local _, variables = failure.typed(chat.input, chat, text, values)
  edits.finish(args, { before = before, after = chat, by = "input" }, function() options.save(chat, args, before) end,
    function(data) data.variables = variables end)
end

return input
