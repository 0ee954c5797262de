--- ebb apply: runs the operations of a JSON file, all or none.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local operations = require "ebb.conversation.operations"
local options = require "ebb.cli.options"
local outgoing = require "ebb.cli.outgoing"
local state = require "ebb.conversation.state"
local terminal = require "ebb.cli.terminal"

local apply = {}

apply.BYTES_MAX = 256 * 1024 * 1024   -- bytes, as for an array of messages

function apply.declare(parser)
  parser:argument("operations", "JSON file or text: one operation or a list; positions count from 0.")
  options.input(parser)
  parser:flag("--state", "Write the whole conversation, which any command reads again: batches, checkpoints, "
    .. "marks, windows, ledgers.")
  options.json(parser, ": visible messages, batches, stats and results; writes no conversation")
  outgoing.declare_trial(parser)
  outgoing.declare(parser)
  options.edited(parser)
  options.quiet(parser)
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
  for _, option in ipairs { "state", "json" } do
    if args[option] and (args.dry_run or args.explain) then
      failure.usage(("--%s does not go with --dry-run and --explain"):format(option), "it shows the result itself")
    end
  end
  if args.json and (args.state or args.repair or args.in_place) then
    failure.usage("--json is a report: it does not go with --state, --repair and -i",
      "leave it out to write the result")
  end
end

function apply.run(args)
  check(args)
  options.use_in_place(args)
  local path = options.path(args.file)
  local is_text = args.operations:find "^%s*[{%[]" ~= nil
  local text = is_text and args.operations or failure.check(core.read_file(args.operations, apply.BYTES_MAX))
  local chat = options.load(path, args)
  local rules = outgoing.rules(chat, args)
  operations.apply(chat, text, not is_text and options.name(args.operations) or nil)
  if args.json then
    terminal.result(core.json.encode(state.read(chat, true), { indent = 2, keep_raw = true }) .. "\n", args.output)
  elseif args.state then
    options.save(chat, args, rules.original, "ebb")
  else
    outgoing.save(chat, args, rules)
  end
end

return apply
