--- ebb window: opens, updates, closes and shows the windows of a session or a saved conversation.

local edits = require "ebb.cli.io.edits"
local failure = require "ebb.cli.failure"
local options = require "ebb.cli.io.options"
local suggest = require "ebb.support.suggest"
local terminal = require "ebb.cli.view.terminal"
local window_file = require "ebb.cli.io.window_file"

local command = { runs_anew = true }      -- after a conflict of sessions

function command.declare(parser)
  parser:argument("action", "open, close or show; see below.")
  parser:argument("window", "open: a file of the window, JSON or markup; - is standard input. close, show: its id.")
  options.input(parser)
  parser:option("--summary", "close: what is left to say of it; `chat.windows:log()` shows it."):argname("<text>")
  edits.declare(parser)
  options.edited(parser)
  options.reading(parser)
  parser:epilog("open updates a window that is open: a file of markup in whole, one of JSON in the members that it "
    .. "has. show writes the markup that a model reads. `ebb inspect` lists all windows with their states.\n\n"
    .. options.examples {
      "ebb window open todo.xml --session s",
      "./todo.sh | ebb window open - chat.ebb -i",
      "ebb window close todo --session s --summary 'all done'",
      "ebb window show todo --session s",
    })
end

---- Actions ----

--- The window with an id; refuses others.
local function find(chat, id, args)
  local window, ids = chat.windows:get(id), {}
  if window then return window end
  for i, each in ipairs(chat.windows:list()) do ids[i] = each.id end
  local hint = suggest.hint(id, ids)
  if not hint and not window_file.keeps_windows(chat, args) then
    hint = "a list of messages keeps no windows; a session does, and a file of `ebb convert --to ebb`"
  end
  return failure.raise(failure.REFUSED, ("there is no window '%s'"):format(id), hint)
end

local ACTIONS = {}

function ACTIONS.open(chat, args)
  window_file.put_all(chat, { args.window }, { args.values }, args)
end

function ACTIONS.close(chat, args)
  local window = find(chat, args.window, args)
  if window.closed then terminal.say(("the window '%s' is closed already"):format(args.window)) end
  window:close(args.summary)
end

--- Options of commands that edit, which `show` does not.
local EDITS = { in_place = "-i", json = "--json", dry_run = "--dry-run", explain = "--explain", ledger = "--ledger" }

--- Refuses options that do not go together.
local function check(args)
  if args.action ~= "show" and not ACTIONS[args.action] then
    failure.usage(("unknown action '%s'"):format(args.action), suggest.hint(args.action, { "open", "close", "show" })
      or "open, close or show")
  end
  if args.summary and args.action ~= "close" then
    failure.usage("--summary does not go with " .. args.action, "it goes with close")
  end
  local reads_input = (args.file or "-") == "-" and not args.session
  if args.action == "open" and args.window == "-" and reads_input then
    failure.usage("the window and the conversation cannot both come from standard input", "name a file for one of them")
  end
  for name, option in pairs(args.action == "show" and EDITS or {}) do
    if args[name] then failure.usage(option .. " does not go with show", "show edits nothing") end
  end
  edits.check(args)
end

--- The file of a window; the id of one is no file.
---@param args table
---@return ebb.cli.Places
function command.places(args)
  check(args)
  local is_file = args.action == "open" and args.window ~= "-"
  return { reads = is_file and { { path = args.window, what = "the window", owner = args, key = "window" } } or {},
    writes = {} }
end

function command.run(args)
  options.use_in_place(args)
  if args.action == "open" then args.values = window_file.read(args.window) end
  local chat = options.load(args.file, args)
  if args.action == "show" then
    local window = find(chat, args.window, args)
    if window.closed then terminal.say(("the window '%s' is closed: no request has it"):format(args.window)) end
    return terminal.result(window:markup() .. "\n", args.output)
  end
  local before = chat:fork()
  ACTIONS[args.action](chat, args)
  edits.finish(args, { before = before, after = chat, by = "window" }, function() options.save(chat, args, before) end)
end

return command
