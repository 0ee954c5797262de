--- ebb recall: what a trim left out, by the name in its handle.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local json_text = require "ebb.cli.view.json_text"
local options = require "ebb.cli.io.options"
local terminal = require "ebb.cli.view.terminal"

local recall = {}

function recall.declare(parser)
  parser:argument("name", "The name in a handle, such as r17-42.")
  options.input(parser)
  parser:option("--tokens", "Most tokens to write; a handle stands for the rest. Default: all."):argname("<n>")
    :convert(options.tokens "--tokens")
  options.output(parser)
  options.json(parser)
  options.reading(parser)
  parser:epilog("The file is the one that was trimmed: names count its messages from 1.\n\n"
    .. options.examples { "ebb trim chat.json --budget 8k --policy digest:recall=true > short.json",
      "ebb recall r2-42 chat.json" })
end

local function as_json(messages)
  local list = core.json.array {}
  for i, message in ipairs(messages) do
    list[i] = core.json.raw(message.json)
  end
  return json_text.format(list)
end

function recall.run(args)
  local chat = options.load(args.file, args)
  local text, messages = failure.typed(chat.recall, chat, args.name, { tokens = args.tokens })
  if not text then
    local exit = messages.code == "unknown_name" and failure.USAGE or failure.REFUSED
    failure.raise(exit, messages.message, messages.hint)
  end
  if not args.json and terminal.results(args.output).is_terminal then text = core.printable(text, "\n\t") end
  terminal.result(args.json and as_json(messages) or text .. "\n", args.output)
end

return recall
