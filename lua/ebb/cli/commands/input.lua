--- ebb input: a user's new text enters a conversation. Macros are expanded once, files are attached by reference,
--- and windows open before it.

local edits = require "ebb.cli.io.edits"
local failure = require "ebb.cli.failure"
local macro_options = require "ebb.cli.io.macro_options"
local options = require "ebb.cli.io.options"
local terminal = require "ebb.cli.view.terminal"
local window_file = require "ebb.cli.io.window_file"

local input = { runs_anew = true }      -- after a conflict of sessions

input.BYTES_MAX = 16 * 1024 * 1024   -- of a text

function input.declare(parser)
  parser:argument("text", "What the user says; - is standard input.")
  options.input(parser)
  parser:option("--attach", "A file that belongs to the text; pipelines read it when they make a request. Repeatable.")
    :argname("<file>"):count("*"):target("attachments")
  parser:option("--window", "Open the window of this file before the text, or update it where it is open: JSON, "
    .. "or markup as models read it. Repeatable."):argname("<file>"):count("*"):target("windows")
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
  for i, path in ipairs(args.windows) do windows[i] = window_file.read(path) end
  local text = text_of(args)
  local chat = options.load(args.file, args)
  local before = chat:fork()
  window_file.put_all(chat, args.windows, windows, args)
  local values = macro_options.add({ attachments = args.attachments[1] and args.attachments }, args, loading)
  local _, variables = failure.typed(chat.input, chat, text, values)
  edits.finish(args, { before = before, after = chat, by = "input" }, function() options.save(chat, args, before) end,
    function(data) data.variables = variables end)
end

return input
