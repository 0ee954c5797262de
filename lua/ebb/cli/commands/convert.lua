--- ebb convert: a conversation in the form of another dialect, and what that leaves out.

local conversations = require "ebb.cli.many.conversations"
local core = require "ebb.support.core"
local edits = require "ebb.cli.io.edits"
local failure = require "ebb.cli.failure"
local imported = require "ebb.cli.io.imported"
local losses = require "ebb.cli.io.losses"
local options = require "ebb.cli.io.options"
local outgoing = require "ebb.cli.io.outgoing"
local request = require "ebb.request"
local target = require "ebb.models.target"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

local convert = { runs_anew = true }      -- after a conflict of sessions

local SHAPES = { "body", "array", "jsonl" }

function convert.declare(parser)
  options.input(parser)
  parser:option("--to --dialect", "The dialect to write: openai, responses, anthropic or gemini; default: the model's. "
    .. "ebb: the whole conversation, with batches and windows.")
    :argname("<dialect>"):target "dialect"
  outgoing.declare_profile(parser)
  outgoing.declare_repair(parser)
  parser:option("--shape", "body, array or jsonl; default: the input's, or body where system texts need it.")
    :choices(SHAPES):argname("<shape>")
  parser:flag("--strict", "Write nothing if something of the conversation would be left out, or was left out when the "
    .. "file of another program was read.")
  parser:flag("--keep-extra", "Keep id, timestamp, metadata and others in messages that are not rewritten.")
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

--- A conversation in its own dialect and shape. Messages of a body that are in another form are written in its own;
--- all others keep their bytes.
local function write_own(chat)
  local written, lost = failure.typed(request.in_own_form, chat, true)
  return written or chat:json(), lost
end

--- The text for the target, and what is lost. In its own dialect and shape a conversation keeps its bytes, but for
--- another model, for which a request is written, for what an importer made of a file of another program, which gets
--- what a request must have, and for a list with parts that no dialect has.
local function write(chat, goal, args, import)
  local dialect = goal.dialect
  local is_own = dialect == chat:dialect() and (args.shape or chat.shape) == chat.shape
  local keeps = is_own and not args.model and not import
  if keeps and (chat.shape == "body" or not core.has_wrapped(chat)) then return write_own(chat) end
  return failure.typed(chat.write, chat, dialect, {
    shape = args.shape, keep_extra = args.keep_extra or is_own and not (args.model or import), model = args.model,
    profile = args.profile and goal.profile or nil,
  })
end

---@class ebb.cli.Converted : ebb.cli.Checked
---@field goal ebb.Target
---@field losses ebb.Loss[]

--- A conversation in the form of its target, repaired if that is asked for.
---@param chat ebb.Conversation
---@param args table
---@param import? ebb.Import     of a file of another program
---@return ebb.cli.Converted
function convert.converted(chat, args, import)
  outgoing.check_repair(chat, args)
  local goal = failure.typed(target.of_list, chat, outgoing.target(args))
  local written, lost = write(chat, goal, args, import)
  local converted = outgoing.checked(chat, written, goal, args)
  converted.goal, converted.losses = goal, lost
  for _, loss in ipairs(converted.repair and converted.repair.lost or {}) do lost[#lost + 1] = loss end
  return converted
end

--- Writes the conversation as a whole, without any loss.
local function save(chat, args)
  if args.shape or args.keep_extra or args.repair or args.profile then
    failure.usage("--to ebb writes a whole conversation, as it is",
      "leave out --shape, --keep-extra, --repair and --profile, which are for requests")
  end
  edits.write(args, function()
    return { from = chat:dialect(), to = "ebb", messages = #chat, losses = core.json.array {} }
  end, function() options.save(chat, args, chat, "ebb") end)
end

--- Reports what is lost, repaired, and still refused.
local function tell(converted, args)
  if args.explain then losses.list(converted.losses) else losses.tell(converted.losses) end
  if args.strict then losses.refuse(converted.losses, converted.goal.dialect) end
  if converted.repair then outgoing.tell_repaired(converted.repair) end
  outgoing.tell_left(converted.left, converted.goal.dialect, not args.repair)
end

function convert.run(args)
  options.use_in_place(args)
  edits.check(args)
  local many = conversations.open(args.file, args)
  if many and args.dialect == "ebb" then
    failure.usage("--to ebb writes one conversation, and the file has many", "other dialects write a line for each")
  end
  if many then return require("ebb.cli.many.convert_many").run(args, many, convert.converted) end
  local chat, path, import = options.load(args.file, args, true)
  local converted = args.dialect ~= "ebb" and convert.converted(chat, args, import) or nil
  local dialect = converted and converted.goal.dialect or "ebb"
  if not converted or dialect == chat:dialect() then options.warn_of_parts(path, chat:warnings()) end
  if not converted then return save(chat, args) end
  if args.strict then imported.refuse_losses(import, options.name(path)) end
  tell(converted, args)
  edits.write(args, function()
    local ledger = converted.repair and converted.repair.ledger
    return { from = chat:dialect(), to = dialect, messages = #chat, losses = core.json.array(converted.losses),
      repairs = ledger and core.json.array { core.json.raw(ledger:json()) }, violations = #converted.left }
  end, function()
    terminal.result(converted.text, args.output)
    if dialect == chat:dialect() then outgoing.tell_model(chat, dialect, args) end
    terminal.inform(("%s for %s%s"):format(text.count(#chat, "message"), dialect, options.target(args)))
  end)
end

return convert
