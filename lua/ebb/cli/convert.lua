--- ebb convert: a conversation in the form of another dialect, and what that leaves out.

local conversations = require "ebb.cli.conversations"
local core = require "ebb.support.core"
local edits = require "ebb.cli.edits"
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
  parser:option("--to --dialect", "The dialect to write: openai, responses, anthropic or gemini; default: the model's. "
    .. "ebb: the whole conversation, with batches and windows.")
    :argname("<dialect>")
  parser:option("--shape", "body, array or jsonl; default: the input's, or body where system texts need it.")
    :choices(SHAPES):argname("<shape>")
  parser:flag("--strict", "Write nothing if something of the conversation would be left out.")
  parser:flag("--keep-extra", "Keep id, timestamp, metadata and others in messages that are not written anew.")
  options.edited(parser)
  edits.declare(parser, {
    explain = "Show on standard error each thing that is left out or changed, by message.",
    dry_run = "Write no conversation, only what would be left out or changed.",
    ledger = "Write what is left out or changed to this file, as JSON.",
  })
  options.reading(parser)
  parser:epilog(options.examples {
    "ebb convert chat.json --to anthropic --model claude-opus-4-5 -o body.json",
    "ebb convert body.json --to gemini --strict",
    "ebb convert sharegpt.jsonl --to openai -o bodies.jsonl",
    "ebb convert chat.json --to ebb -o saved.json",
  })
end

--- The text in the dialect, and what is lost. In its own dialect and shape a conversation keeps its bytes.
local function write(chat, dialect, args)
  local is_own = dialect == chat:dialect() and (args.shape or chat.shape) == chat.shape
  if is_own and not args.model then return chat:json(), {} end
  return failure.typed(chat.write, chat, dialect,
    { shape = args.shape, keep_extra = args.keep_extra or is_own, model = args.model })
end

--- Writes the conversation as a whole, without any loss.
local function save(chat, args)
  if args.shape or args.keep_extra then
    failure.usage("--shape and --keep-extra are for requests, and --to ebb writes a whole conversation")
  end
  edits.write(args, function()
    return { from = chat:dialect(), to = "ebb", messages = #chat, losses = core.json.array {} }
  end, function() options.save(chat, args, chat, "ebb") end)
end

function convert.run(args)
  options.use_in_place(args)
  edits.check(args)
  local many = conversations.open(args.file, args)
  if many and args.to == "ebb" then
    failure.usage("--to ebb writes one conversation, and the file has many", "other dialects write a line for each")
  end
  if many then return require("ebb.cli.convert_many").run(args, many, write) end
  local chat = options.load(args.file, args)
  if args.to == "ebb" then return save(chat, args) end
  local wanted = failure.typed(target.of_list, chat, { dialect = args.to, model = args.model })
  local written, lost = write(chat, wanted.dialect, args)
  if args.explain then losses.list(lost) else losses.tell(lost) end
  if args.strict then losses.refuse(lost, wanted.dialect) end
  edits.write(args, function()
    return { from = chat:dialect(), to = wanted.dialect, messages = #chat, losses = core.json.array(lost) }
  end, function()
    terminal.result(written, args.output)
    terminal.inform(("%s for %s%s"):format(text.count(#chat, "message"), wanted.dialect, options.target(args)))
  end)
end

return convert
