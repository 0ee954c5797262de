--- ebb convert: a conversation in the form of another dialect, and what that leaves out.

local failure = require "ebb.cli.failure"
local losses = require "ebb.cli.losses"
local options = require "ebb.cli.options"
local target = require "ebb.models.target"
local terminal = require "ebb.cli.terminal"
local text = require "ebb.cli.text"

local convert = {}

local SHAPES = { "body", "array", "jsonl" }

function convert.declare(parser)
  options.input(parser)
  parser:option("--to", "The dialect to write: openai, responses, anthropic or gemini; default: the model's.")
    :argname("<dialect>")
  parser:option("--shape", "body, array or jsonl; default: the input's, or body where system texts need it.")
    :choices(SHAPES):argname("<shape>")
  parser:flag("--strict", "Write nothing if something of the conversation would be left out.")
  parser:flag("--keep-extra", "Keep members that requests do not have: id, timestamp, metadata and others.")
  options.output(parser)
  options.reading(parser)
  parser:epilog(options.examples {
    "ebb convert chat.json --to anthropic --model claude-opus-4-5 -o body.json",
    "ebb convert body.json --to gemini --strict",
  })
end

function convert.run(args)
  local chat = options.load(args.file, args)
  local wanted = failure.typed(target.of_list, chat, { dialect = args.to, model = args.model })
  local written, lost = failure.typed(chat.write, chat, wanted.dialect,
    { shape = args.shape, keep_extra = args.keep_extra, model = args.model })
  losses.tell(lost)
  if args.strict then losses.refuse(lost, wanted.dialect) end
  terminal.result(written, args.output)
  terminal.inform(("%s for %s%s"):format(text.count(#chat, "message"), wanted.dialect, options.target(args)))
end

return convert
