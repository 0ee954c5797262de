--- ebb apply: runs the operations of a JSON file, all or none.

local edits = require "ebb.cli.io.edits"
local failure = require "ebb.cli.failure"
local operations = require "ebb.conversation.operations"
local options = require "ebb.cli.io.options"
local outgoing = require "ebb.cli.io.outgoing"
local state = require "ebb.conversation.state"
local terminal = require "ebb.cli.view.terminal"

local apply = { runs_anew = true }      -- after a conflict of sessions

apply.BYTES_MAX = 256 * 1024 * 1024   -- bytes, as for an array of messages

function apply.declare(parser)
  parser:argument("operations", "JSON file or text: one operation or a list; positions count from 0.")
  options.input(parser)
  parser:flag("--state", "Write the whole conversation, which any command reads again: batches, checkpoints, "
    .. "marks, windows, ledgers.")
  edits.declare(parser, { json = ", with the visible messages, batches, stats and results; without -i, -o, --state or "
    .. "--session this is a dry run" })
  outgoing.declare(parser)
  options.edited(parser)
  options.reading(parser)
  parser:epilog(options.examples {
    "ebb apply operations.json chat.json -o edited.json",
    [[ebb apply '{"operation":"truncate","keepLast":5}' chat.json --dry-run]],
    "ebb apply operations.json chat.json --state -o saved.json",
    [[ebb apply '{"operation":"rollback","targetBatchIndex":0}' saved.json -i]],
  } .. "\n\n'ebb help operations' lists the operations and their fields.")
end

--- Refuses options that do not go together.
local function check(args)
  if args.operations == "-" and (args.file or "-") == "-" then
    failure.usage("operations and messages cannot both come from standard input", "name a file for one of them")
  end
  if args.state and args.repair then
    failure.usage("--state writes what is stored, --repair changes only what is sent", "use one of them")
  end
  edits.check(args)
end

--- Adds the conversation's state to the report of operations; reports of other edits do not have it.
local function add_state(chat)
  return function(data)
    state.extend(data, chat, true)
    return true
  end
end

function apply.run(args)
  options.use_in_place(args)
  if args.json and not (args.output or args.state or args.session) then args.dry_run = true end
  check(args)
  local path = options.path(args.file)
  local is_text = args.operations:find "^%s*[{%[]" ~= nil
  local text = is_text and args.operations or terminal.read_file(args.operations, apply.BYTES_MAX)
  local chat = options.load(path, args)
  local rules = outgoing.rules(chat, args)
  operations.apply(chat, text, not is_text and options.name(args.operations) or nil)
  outgoing.save(chat, args, rules, { by = "apply", dialect = args.state and "ebb" or nil, extend = add_state(chat) })
end

return apply
