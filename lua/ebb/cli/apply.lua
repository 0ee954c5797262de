--- ebb apply: runs the operations of a JSON file, all or none.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local options = require "ebb.cli.options"
local outgoing = require "ebb.cli.outgoing"
local state = require "ebb.support.state"
local terminal = require "ebb.cli.terminal"

local apply = {}

local OPERATIONS_MAX = 256 * 1024 * 1024   -- bytes, as for an array of messages

function apply.declare(parser)
  parser:argument("operations", "JSON file: one operation or a list. Positions count from 0, ranges are half-open.")
  options.input(parser)
  parser:flag("--state", "Write messages, batches, stats and results as one JSON object.")
  outgoing.declare(parser)
  options.output(parser)
  options.reading(parser)
end

function apply.run(given)
  if given.operations == "-" and (given.file or "-") == "-" then
    failure.usage("operations and messages cannot both come from standard input", "name a file for one of them")
  end
  if given.state and given.repair then
    failure.usage("--state shows what is kept, --repair mends what is sent", "give one of them")
  end
  local path = options.path(given.file)
  local operations = failure.check(core.read_file(given.operations, OPERATIONS_MAX))
  local chat = options.load(path, given)
  local rules = outgoing.rules(chat, given)
  chat:apply(operations)
  if given.state then
    terminal.result(core.json.encode(state.of(chat, true), { indent = 2 }) .. "\n", given.output)
  else
    outgoing.save(chat, given, rules)
  end
end

return apply
