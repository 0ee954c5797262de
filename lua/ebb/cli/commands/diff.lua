--- ebb diff: the messages that two conversations do not share.
--
-- Like `diff` it writes nothing and exits with 0 if there is no difference, and
-- exits with 1 if there is one. Only messages are compared, not the request
-- around them.

local core = require "ebb.support.core"
local difference = require "ebb.conversation.difference"
local differences_view = require "ebb.cli.view.differences"
local failure = require "ebb.cli.failure"
local json_text = require "ebb.cli.view.json_text"
local options = require "ebb.cli.io.options"
local terminal = require "ebb.cli.view.terminal"

local diff = {}

local DIFFERENT = 1       -- exit code
function diff.declare(parser)
  parser:argument("a", "JSON array, JSONL or request body; - is standard input.")
  parser:argument("b", "The conversation to compare it with.")
  options.output(parser)
  options.json(parser)
  options.reading(parser)
  parser:epilog(options.examples { "ebb diff chat.json trimmed.json" })
end

---- As text ----

local function count_kinds(differences)
  local counts = { removed = 0, added = 0, changed = 0 }
  for _, entry in ipairs(differences) do
    counts[entry.kind] = counts[entry.kind] + 1
  end
  return counts
end

local function as_text(args, differences)
  if #differences == 0 then return "" end
  local counts, page = count_kinds(differences), terminal.results(args.output)
  local line = "%d only in %s, %d only in %s, %d changed"
  line = line:format(counts.removed, args.a, counts.added, args.b, counts.changed)
  return differences_view.lines(differences, page) .. "\n" .. terminal.fill(page, line)
end

---- As JSON ----

local function exact(message)
  return message and core.json.raw(message.json)
end

local function as_json(args, differences, size_a, size_b)
  local list = core.json.array {}
  for n, entry in ipairs(differences) do
    list[n] = {
      kind = entry.kind, a = entry.a, b = entry.b, moved = entry.moved,
      before = exact(entry.before), after = exact(entry.after),
      fields = entry.fields and core.json.array(entry.fields),
    }
  end
  local data = {
    a = { file = args.a, messages = size_a }, b = { file = args.b, messages = size_b },
    equal = #differences == 0, differences = list,
  }
  return json_text.format(data)
end

function diff.run(args)
  if args.a == "-" and args.b == "-" then
    failure.usage("standard input can be only one of the two", "name a file for the other one")
  end
  local a, b = options.load(args.a, args), options.load(args.b, args)
  local differences = difference.compare(a, b)
  terminal.result(args.json and as_json(args, differences, #a, #b) or as_text(args, differences), args.output)
  return #differences > 0 and DIFFERENT or 0
end

return diff
