--- ebb count: tokens of conversations or plain text, with how far each count can be trusted.

local conversations = require "ebb.cli.many.conversations"
local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.view.grid"
local imported = require "ebb.cli.io.imported"
local models = require "ebb.models"
local margins = require "ebb.models.margins"
local model_file = require "ebb.cli.io.model_file"
local json_text = require "ebb.cli.view.json_text"
local options = require "ebb.cli.io.options"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"
local trust = require "ebb.cli.view.trust"
local usage_reports = require "ebb.models.usage_reports"

local count = {}

count.BYTES_MAX = 256 * 1024 * 1024   -- bytes, unless --max-file says otherwise

function count.declare(parser)
  parser:argument("files", "JSON arrays, JSONL or request bodies, or folders of them; - is standard input."):args("*")
  parser:flag("--text", "The files are plain text, not conversations.")
  parser:option("--by", "A line per message, per role, or per tool: its calls and results.")
    :choices { "message", "role", "tool" }
  parser:option("--reported", "Keep what the provider counted for this request: it narrows the margin of its model.")
    :argname("<tokens>"):convert(options.tokens "--reported")
  options.output(parser)
  options.quiet(parser)
  options.json(parser)
  options.reading(parser)
  parser:epilog(options.examples {
    "ebb count chat.json --by role", "ebb count --text prompt.md notes.md --model gpt-4o",
  })
end

local ROLES = require "ebb.conversation.roles"

--- Per role, the reason of its first message of which a part is assumed.
local function reasons_of_roles(chat, assumed)
  local reasons = {}
  for place, reason in pairs(assumed.messages) do
    local role = chat[place].role or "window"
    local is_earlier = not reasons[role] or place < reasons[role].place
    if is_earlier then reasons[role] = { place = place, text = ("message %d: %s"):format(place, reason) } end
  end
  return reasons
end

local function roles_of(chat, assumed)
  local roles, reasons = core.json.array {}, reasons_of_roles(chat, assumed)
  for _, role in ipairs(ROLES) do
    local messages = chat:count(role)
    if messages > 0 then
      roles[#roles + 1] = { role = role, messages = messages, tokens = chat:where({ role = role }):tokens(),
        reason = reasons[role] and reasons[role].text }
    end
  end
  return roles
end

--- Names the tools whose calls and results a message has, which share its tokens. `named` has the names by ids of
--- calls.
local function name_tools(message, named)
  local names = {}
  for _, call in ipairs(message.calls) do
    names[#names + 1] = call.name
    if call.id then named[call.id] = call.name end
  end
  if names[1] then return names end
  for _, id in ipairs(message.answers) do
    names[#names + 1] = named[id] or message.name or id
  end
  return names
end

--- Sums tokens by tool, the largest first; and those of messages without calls and results.
local function sum_tools(chat)
  local by_name, list, others, named = {}, core.json.array {}, { tokens = 0, messages = 0 }, {}
  for _, message in ipairs(chat) do
    local names, left = name_tools(message, named), message.tokens
    if not names[1] then others.tokens, others.messages = others.tokens + left, others.messages + 1 end
    for i, name in ipairs(names) do
      local tool = by_name[name]
      if not tool then
        tool = { tool = name, calls = 0, tokens = 0 }
        by_name[name], list[#list + 1] = tool, tool
      end
      local part = left // (#names - i + 1)
      tool.tokens, left = tool.tokens + part, left - part
      if #message.calls > 0 then tool.calls = tool.calls + 1 end
    end
  end
  table.sort(list, function(a, b) return a.tokens > b.tokens or a.tokens == b.tokens and a.tool < b.tool end)
  return list, others
end

--- Tokens of a request outside of its messages: tools and framing.
local function framing_of(chat)
  local draft = chat:draft { guards = false }
  local framing = core.draft.info(draft).overhead
  core.draft.discard(draft)
  return framing
end

local function messages_of(chat, assumed)
  local messages = core.json.array {}
  for i, message in ipairs(chat) do
    messages[i] = { index = i, seq = message.seq, role = text.kind(message), tokens = message.tokens,
      reason = assumed.messages[i] }
  end
  return messages
end

--- The price of input tokens; nil for a model without prices.
local function price_of(model, tokens)
  local prices = model and model.prices
  return prices and tokens * prices.input / 1e6
end

--- Levels of trust, the best first. A sum has the lowest level of its parts.
local TRUST = { exact = 1, derived = 2, given = 3, calibrated = 4, estimated = 5 }

local function add_to(total, result)
  total.tokens = total.tokens + result.tokens
  if TRUST[result.trust] > TRUST[total.trust] then total.trust = result.trust end
  total.price = result.price and (total.price or 0) + result.price or total.price
end

local shown_reasons = {}     -- of estimators, which hold for many files

local function tell_stand_in(chat, args)
  local general = trust.of_estimator(chat)
  if options.tell_stand_in(chat, args) and general then shown_reasons[general] = true end
end

--- Says on standard error why a count is estimated. That an estimator counts is said once, and not where --encoding
--- names it.
local function tell_reason(path, args, reason, general)
  if not reason or args.json or terminal.quiet then return end
  if reason == general then
    if args.encoding or shown_reasons[general] then return end
    shown_reasons[general] = true
  end
  terminal.say(("%s: estimated: %s"):format(path, reason))
end

--- The sum over the conversations of a file.
local function count_many(args, path, many)
  if args.by then
    failure.usage(("%s holds many conversations, and --by %s lists the parts of one"):format(path, args.by),
      "--conversation names one")
  end
  local total = { file = terminal.name_of(path), tokens = 0, trust = "exact" }
  local reason, general, place       -- of the first conversation whose count is estimated
  for chat in many:each() do
    tell_stand_in(chat, args)
    local tokens = chat:tokens()
    if not reason then
      reason, general, place = trust.reason(chat), trust.of_estimator(chat), many.count
    end
    add_to(total, { tokens = tokens, trust = chat:trust(), price = price_of(models.of_chat(chat), tokens) })
    total.encoding = chat:encoding()
  end
  many:finish()
  tell_reason(path, args, reason, general)
  total.conversations, total.reason = many.count, reason and ("conversation %d: %s"):format(place, reason)
  return total
end

--- Calibrates a conversation by what the provider counted, and keeps that for its model.
local function take_report(chat, args)
  local model = models.name(chat)
  if not model then failure.usage("--reported needs a model", "--model, or a request body that names one") end
  local known = failure.typed(models.find, model)
  local ratio = failure.check(chat:report_usage { prompt_tokens = args.reported })
  usage_reports.add(chat, model, ratio)
  terminal.inform(("%s: %.4g times the estimate; budgets keep a margin of %d %%"):format(model, ratio,
    margins.percent(known, model)))
end

local function count_conversation(args, path)
  local many = conversations.open(path, args)
  if many then return count_many(args, path, many) end
  local chat, _, result = options.load(path, args)
  if args.reported then take_report(chat, args) end
  local tokens, assumed = chat:tokens(), trust.assumed(chat, args.by ~= nil)
  local reason = trust.reason(chat, assumed)
  tell_stand_in(chat, args)
  tell_reason(path, args, reason, trust.of_estimator(chat))
  local tools, others
  if args.by == "tool" then tools, others = sum_tools(chat) end
  return {
    file = terminal.name_of(path), tokens = tokens, trust = chat:trust(), reason = reason, encoding = chat:encoding(),
    price = price_of(models.of_chat(chat), tokens),
    messages = args.by == "message" and messages_of(chat, assumed) or nil,
    roles = args.by == "role" and roles_of(chat, assumed) or nil,
    tools = tools, otherMessages = others,
    framingTokens = args.by and framing_of(chat) or nil, framingReason = args.by and assumed.tools or nil,
    imported = imported.data(result),
  }
end

local function warn_of_replaced(path, first)
  terminal.say(("%s: warning: byte %d is not UTF-8; U+FFFD replaces it and all such bytes"):format(path, first))
  failure.lenient = true
end

local function count_text(args, path)
  local chat = failure.typed(ebb.conversation, { model = args.model, encoding = args.encoding })
  local content = failure.check(core.read_file(path, args.max_file or count.BYTES_MAX))
  local tokens, level, mended = core.counter.text(chat, content, args.lenient)
  if not tokens then failure.check(nil, core.error(level.code, ("%s: %s"):format(path, level.message))) end
  local reason = trust.of_estimator(chat)
  tell_stand_in(chat, args)
  tell_reason(path, args, level == "estimated" and reason or nil, reason)
  if mended then warn_of_replaced(path, mended) end
  return {
    file = terminal.name_of(path), tokens = tokens, trust = level, reason = reason, encoding = chat:encoding(),
    price = price_of(models.of_chat(chat), tokens),
  }
end

local function add_row(rows, result, tokens, what)
  rows[#rows + 1] = { tostring(tokens), result.trust, "", result.file .. what }
end

--- Rows for one file: its messages or roles under --by, then the file.
local function add_rows(rows, result)
  for _, message in ipairs(result.messages or {}) do
    add_row(rows, result, message.tokens, ("[%d] %s"):format(message.index, message.role))
  end
  for _, each in ipairs(result.roles or {}) do
    add_row(rows, result, each.tokens, (" %s (%s)"):format(each.role, text.count(each.messages, "message")))
  end
  for _, tool in ipairs(result.tools or {}) do
    add_row(rows, result, tool.tokens, (" %s (%s)"):format(tool.tool, text.count(tool.calls, "call")))
  end
  local others = result.otherMessages
  if others then
    add_row(rows, result, others.tokens, (" other messages (%s)"):format(text.count(others.messages, "message")))
  end
  if result.framingTokens then add_row(rows, result, result.framingTokens, " tools and framing") end
  local price = result.price and ("%.4f"):format(result.price) or ""
  local missing = result.imported and result.imported.missing
  local file = missing and ("%s (%s)"):format(result.file, missing) or result.file
  if result.conversations then file = ("%s (%s)"):format(file, text.count(result.conversations, "conversation")) end
  rows[#rows + 1] = { tostring(result.tokens), result.trust, price, file }
end

local COLUMNS = {
  { title = "tokens", right = true }, { title = "trust" }, { title = "price", right = true }, { title = "file" },
}

local function as_table(results, page)
  local rows = {}
  for _, result in ipairs(results) do
    add_rows(rows, result)
  end
  if #results > 1 then
    local total = { file = "total", tokens = 0, trust = "exact" }
    for _, result in ipairs(results) do add_to(total, result) end
    add_rows(rows, total)
  end
  return grid.render(COLUMNS, rows, page)
end

--- Refuses options that have no meaning for plain text.
local function check_text(args)
  if args.by then failure.usage(("--by %s and --text do not go together"):format(args.by)) end
  if args.session then failure.usage "--session and --text do not go together" end
  if args.max_message then failure.usage "--max-message and --text do not go together" end
  if args.role_map and args.role_map[1] then failure.usage "--role-map and --text do not go together" end
end

--- Refuses a report with plain text or with several files.
local function check_report(args, files)
  if not args.reported then return end
  if args.text or #files > 1 then failure.usage "--reported is what a provider counted for one request" end
  if args.reported < 1 then failure.usage "--reported: expected 1 or more" end
end

function count.run(args)
  local files = args.text and options.files(args.files, args)
    or require("ebb.cli.replay.replay_files").expand(args.files, args)
  model_file.load(args.model)
  check_report(args, files)
  if args.text then check_text(args) end
  local results = core.json.array {}
  for i, path in ipairs(files) do
    results[i] = args.text and count_text(args, path) or count_conversation(args, path)
  end
  terminal.result(args.json and json_text.format(results)
    or as_table(results, terminal.results(args.output)), args.output)
end

return count
