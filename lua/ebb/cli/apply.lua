--- ebb apply: runs the operations of a JSON file, all or none.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local options = require "ebb.cli.options"
local outgoing = require "ebb.cli.outgoing"
local state = require "ebb.conversation.state"
local terminal = require "ebb.cli.terminal"

local apply = {}

local OPERATIONS_MAX = 256 * 1024 * 1024   -- bytes, as for an array of messages

function apply.declare(parser)
  parser:argument("operations", "JSON file: one operation or a list. Positions count from 0, ranges are half-open.")
  options.input(parser)
  parser:flag("--state", "Write messages, batches, stats and results as one JSON object.")
  outgoing.declare(parser)
  options.output(parser)
  options.quiet(parser)
  options.reading(parser)
  parser:epilog(options.examples {
    "ebb apply operations.json chat.json -o edited.json",
    [[echo '{"operation":"TRUNCATE","keepLast":5}' | ebb apply - chat.json --state]],
  } .. "\n\n'ebb help operations' lists the operations and their fields.")
end

function apply.run(args)
  if args.operations == "-" and (args.file or "-") == "-" then
    failure.usage("operations and messages cannot both come from standard input", "name a file for one of them")
  end
  if args.state and args.repair then
    failure.usage("--state writes what is stored, --repair changes only what is sent", "use one of them")
  end
  local path = options.path(args.file)
  local operations = failure.check(core.read_file(args.operations, OPERATIONS_MAX))
  local chat = options.load(path, args)
  local rules = outgoing.rules(chat, args)
  chat:apply(operations)
  if args.state then
    terminal.result(core.json.encode(state.of(chat, true), { indent = 2 }) .. "\n", args.output)
  else
    outgoing.save(chat, args, rules)
  end
end

return apply
