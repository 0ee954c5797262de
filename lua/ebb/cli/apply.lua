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
  parser:flag("--state", "Write messages, batches, stats and results as one JSON object.")
  outgoing.declare_trial(parser)
  outgoing.declare(parser)
  options.output(parser)
  options.quiet(parser)
  options.reading(parser)
  parser:epilog(options.examples {
    "ebb apply operations.json chat.json -o edited.json",
    [[ebb apply '{"operation":"truncate","keepLast":5}' chat.json --dry-run]],
  } .. "\n\n'ebb help operations' lists the operations and their fields.")
end

function apply.run(args)
  if args.operations == "-" and (args.file or "-") == "-" then
    failure.usage("operations and messages cannot both come from standard input", "name a file for one of them")
  end
  if args.state and args.repair then
    failure.usage("--state writes what is stored, --repair changes only what is sent", "use one of them")
  end
  if args.state and (args.dry_run or args.explain) then
    failure.usage("--state does not go with --dry-run and --explain", "it shows the result itself")
  end
  local path = options.path(args.file)
  local is_text = args.operations:find "^%s*[{%[]" ~= nil
  local text = is_text and args.operations or failure.check(core.read_file(args.operations, apply.BYTES_MAX))
  local chat = options.load(path, args)
  local rules = outgoing.rules(chat, args)
  operations.apply(chat, text, not is_text and options.name(args.operations) or nil)
  if args.state then
    terminal.result(core.json.encode(state.read(chat, true), { indent = 2, keep_raw = true }) .. "\n", args.output)
  else
    outgoing.save(chat, args, rules)
  end
end

return apply
