--- Checks and repairs of output by the rules of its provider.
--
-- Violations of the input stay and are reported; --repair repairs them in the output.
-- Dropping whole units can only break rules of neighbours (anthropic: which role is first,
-- which follows which). Those are always repaired if the input obeyed them.

local ebb = require "ebb"
local edits = require "ebb.cli.io.edits"
local failure = require "ebb.cli.failure"
local losses = require "ebb.cli.io.losses"
local models = require "ebb.models"
local options = require "ebb.cli.io.options"
local own_form = require "ebb.cli.io.own_form"
local request = require "ebb.request"
local profile_file = require "ebb.cli.io.profile_file"
local sessions = require "ebb.cli.io.sessions"
local target = require "ebb.models.target"
local terminal = require "ebb.cli.view.terminal"
local quantity = require "ebb.support.quantity"

local outgoing = {}

local SHOWN = 3   -- violations that are reported one by one

local NEIGHBOURS = { "user_first", "alternation", "results_late", "empty_text", "trailing_space" }

local function way_of(word)
  if word == "drop" or word == "synthesize" then return word end
  return nil, ("--repair: expected drop or synthesize, got '%s'"):format(word)
end

function outgoing.declare(parser)
  outgoing.declare_repair(parser)
  outgoing.declare_dialect(parser)
end

function outgoing.declare_repair(parser)
  parser:option("--repair", "Repair what the provider would refuse; unanswered calls: drop (default) or synthesize.")
    :argname("<way>"):convert(way_of)
end

function outgoing.declare_dialect(parser)
  parser:option("--dialect --to", "The form of the request: openai, responses, anthropic or gemini; default: the "
    .. "model's, else that of the messages."):argname("<name>")
  outgoing.declare_profile(parser)
end

function outgoing.declare_profile(parser)
  parser:option("--profile", "The server's rules, by a name that 'ebb profiles' lists or by its URL.")
    :argname("<name>")
end

--- Returns the dialect and profile (or URL) that the command line names as the target.
---@param args table
---@return ebb.CheckOptions
function outgoing.target(args)
  local is_url = args.profile and args.profile:find("://", 1, true) ~= nil
  profile_file.load(not is_url and args.profile or nil)
  return { dialect = args.dialect, profile = not is_url and args.profile or nil,
    base_url = is_url and args.profile or nil }
end

--- True if a conversation is written as a request: a body that is no saved conversation, session or edited file.
local function is_sent(chat, args)
  return chat.shape == "body" and not (chat.saved or args.in_place or args.session or sessions.name_of(args.file))
end

--- A text that is written, read again: the tools of the command line are in it already.
local function read_written(text, args)
  local reading = options.of_conversation(args)
  reading.tools, reading.tools_heading = nil, nil
  return (failure.check(ebb.parse(text, reading)))
end

--- True if a list of messages is written in its target's form: where that is asked for by its name, and an array for
--- its model, too.
local function is_sent_list(chat, args)
  if chat.saved or args.in_place or args.session or sessions.name_of(args.file) then return false end
  return chat.shape == "array" or chat.shape == "jsonl" and args.dialect ~= nil
end

--- The text of a conversation in its target's form, and what it loses; nil where it has that form.
local function changed_text(chat, args, goal, source)
  if is_sent(chat, args) then
    -- With the model of --model: the provider whose form this is does not know the one of the body.
    return failure.typed(request.change, chat, source, goal.dialect,
      { profile = goal.profile, keep_extra = args.keep_extra, model = args.model })
  end
  if not is_sent_list(chat, args) then return nil end
  return failure.typed(request.change_list, chat, goal.dialect,
    { profile = goal.profile, keep_extra = args.keep_extra, model = args.model })
end

--- The conversation in its target's form: itself, or a copy of a body or a list in another form, which is reported.
---@param chat ebb.Conversation
---@param args table
---@return ebb.Conversation
function outgoing.in_form(chat, args)
  local goal, source = failure.typed(target.of_list, chat, outgoing.target(args)), chat:dialect()
  if goal.dialect == source then return chat end
  local text, lost = changed_text(chat, args, goal, source)
  if not text then return chat end
  local copy = read_written(text, args)
  terminal.say(("converted from %s's form to %s's%s; %s become %d"):format(source, goal.dialect,
    (args.dialect or args.profile) and "" or ", its model's: --dialect " .. source .. " keeps it",
    quantity(chat:tokens(), "token"), copy:tokens()))
  losses.tell(lost)
  return copy
end

--- Tells that a body which is checked has another form than its model takes.
---@param chat ebb.Conversation
---@param dialect ebb.Dialect     by whose rules it is checked
---@param args table
function outgoing.tell_form(chat, dialect, args)
  local form = chat:dialect()
  if form == dialect or args.dialect or args.profile then return end
  terminal.say(("checked by the rules of %s, the dialect of its model %s, though it has %s's form: "
    .. "--dialect %s checks it by the rules of its form"):format(dialect, models.name(chat), form, form))
end

--- Tells that a body which is written names a model that does not take its form.
---@param chat ebb.Conversation
---@param dialect ebb.Dialect     the form that is written
---@param args table
function outgoing.tell_model(chat, dialect, args)
  local model = not args.model and (args.shape or chat.shape) == "body" and models.name(chat)
  if not model or target.of { model = model, input = dialect }.dialect == dialect then return end
  terminal.say(("the body names the model %s, whose dialect is %s: --model names a model of %s"):format(
    model, target.dialect_of_model(model), dialect))
end

---@class ebb.cli.Rules         A conversation as it was read
---@field target ebb.CheckOptions     by whose rules it is written
---@field original ebb.Conversation   a fork
---@field is_sent? boolean            it is written as a body of one form
---@field is_request? boolean         it is written as a request

--- Notes the conversation before it is edited. Its violations are looked for only if the
--- output has some.
---@param chat ebb.Conversation
---@param args table
---@return ebb.cli.Rules
function outgoing.rules(chat, args)
  local goal = failure.typed(target.of_list, chat, outgoing.target(args))
  return { target = goal, original = chat:fork() }
end

--- Refuses a repair of what is not sent.
---@param chat ebb.Conversation
---@param args table
function outgoing.check_repair(chat, args)
  if not args.repair or not chat.saved then return end
  failure.usage("--repair changes only what is sent, and a saved conversation is written as a whole",
    "leave it out; what is sent later is repaired then")
end

--- Repairs the conversation before it is trimmed, so that inserted messages count against the budget.
---@param chat ebb.Conversation
---@param args table
---@return ebb.Conversation chat
---@return ebb.cli.Rules rules
---@return ebb.RepairReport? report     if --repair was given
function outgoing.prepare(chat, args)
  outgoing.check_repair(chat, args)
  if not args.repair then return chat, outgoing.rules(chat, args) end
  local goal = failure.typed(target.of_list, chat, outgoing.target(args))
  local copy, report = failure.typed(chat.repaired, chat, {
    dialect = goal.dialect, profile = goal.profile, model = goal.model, calls = args.repair,
  })
  return copy, { target = goal, original = copy:fork() }, report
end

--- Violations without those of reasoning that the writer leaves out.
local function without_bound(list)
  local rest = {}
  for _, violation in ipairs(list) do
    if violation.code ~= "bound_thinking" then rest[#rest + 1] = violation end
  end
  return rest
end

--- Returns the violations that the target refuses, and its dialect. Members of files that requests lack are none.
local function violations_of(chat, rules)
  local goal = rules.target
  local list, dialect = failure.typed(chat.check, chat,
    { dialect = goal.dialect, profile = goal.profile, model = goal.model, members = false })
  return rules.is_request and without_bound(list) or list, dialect
end

--- The codes of rules for neighbours that the input obeys.
local function fresh_codes(rules)
  local broken, codes = {}, {}
  for _, violation in ipairs(violations_of(rules.original, rules)) do
    broken[violation.code] = true
  end
  for _, code in ipairs(NEIGHBOURS) do
    if not broken[code] then codes[#codes + 1] = code end
  end
  return codes
end

---@param report ebb.RepairReport
function outgoing.tell_repaired(report)
  if not report.ledger then return end
  local counts = { dropped = 0, replaced = 0, inserted = 0 }
  for _, run in ipairs(report.ledger:runs()) do
    counts[run.action] = counts[run.action] + run.count
  end
  terminal.say(("repaired for %s: %d dropped, %d replaced, %d inserted"):format(report.dialect, counts.dropped,
    counts.replaced, counts.inserted))
end

--- Reports what a repair did, and what it left out.
---@param report ebb.RepairReport
function outgoing.tell_mended(report)
  outgoing.tell_repaired(report)
  losses.tell(report.lost)
end

--- Reports violations that are left in what is written; not all of a long list.
---@param left ebb.Violation[]
---@param dialect string
---@param mends boolean     --repair would repair some
function outgoing.tell_left(left, dialect, mends)
  if #left == 0 then return end
  terminal.say(("warning: %s would refuse this: %s"):format(dialect, quantity(#left, "violation")))
  for i = 1, math.min(#left, SHOWN) do
    local place = left[i].index and ("message %d"):format(left[i].index) or "the request"
    terminal.say(("  %s: %s: %s"):format(place, left[i].code, left[i].text))
  end
  local more = #left > SHOWN and ("and %d more; "):format(#left - SHOWN) or ""
  local mendable = false
  for _, violation in ipairs(left) do
    mendable = mendable or violation.mendable
  end
  terminal.say(("  %s'ebb check' lists them%s"):format(more, mends and mendable and ", --repair repairs them" or ""))
end

--- The conversation as it is written: repaired for all codes, or for those that the command
--- may have broken.
---@param chat ebb.Conversation
---@param rules ebb.cli.Rules
---@param calls? "drop"|"synthesize"    all codes
---@return ebb.Conversation copy
---@return ebb.RepairReport report
function outgoing.mend(chat, rules, calls)
  local goal = rules.target
  if chat.saved then return chat, { dialect = goal.dialect, left = {}, lost = {} } end   -- it is not sent
  local violations, dialect = violations_of(chat, rules)
  if #violations == 0 then return chat, { dialect = dialect, left = violations, lost = {} } end
  local copy, report = chat:repaired {
    dialect = goal.dialect, profile = goal.profile, model = goal.model, calls = calls,
    codes = not calls and fresh_codes(rules) or nil,
  }
  if rules.is_request then report.left = without_bound(report.left) end
  return copy, report
end

--- Reports what was repaired, and which violations are left.
---@param report ebb.RepairReport
---@param args table
function outgoing.tell(report, args)
  outgoing.tell_mended(report)
  outgoing.tell_left(report.left, report.dialect, not args.repair)
end

--- Decides how the conversation is written: as a request, without members that requests lack and reasoning that is no
--- longer valid; as a body of one form, which keeps them; or unchanged.
---@param rules ebb.cli.Rules
---@param chat ebb.Conversation
---@param args table
function outgoing.decide(rules, chat, args)
  rules.is_sent = is_sent(chat, args)
  rules.is_request = rules.is_sent and not args.keep_extra
end

--- The form of what is written: the original's where that is the target's, though no message that shows it may be left.
local function form_of(copy, rules)
  local original = rules.original:dialect()
  return original == rules.target.dialect and original or copy:dialect()
end

--- The body in its target's form, and what that loses; nil where the conversation is written by itself, unchanged.
local function written_of(copy, rules)
  local goal = rules.target
  if rules.is_request then
    return request.change(copy, form_of(copy, rules), goal.dialect, { profile = goal.profile, keep_ids = true })
  end
  if rules.is_sent then return request.in_own_form(copy, true) end
  return nil, {}
end

--- The body as it is sent; nil where the conversation is written unchanged, by itself.
---@param copy ebb.Conversation
---@param rules ebb.cli.Rules
---@return string?
function outgoing.request(copy, rules)
  local written, lost = written_of(copy, rules)
  losses.tell(lost)
  return written
end

--- A body to which messages in another form were added, as it is written, read again; nil for others.
local function in_own_form(chat, args)
  local text = not chat.saved and not sessions.is_edited(args) and own_form.text(chat)
  return text and read_written(text, args) or nil
end

--- The violations of what is written. It has one form, whatever form its messages came in: a policy's note, or what
--- was appended to a body of Gemini.
---@param copy ebb.Conversation
---@param rules ebb.cli.Rules
---@param left ebb.Violation[]     of the conversation
---@param args table
---@return ebb.Violation[]
function outgoing.left_in(copy, rules, left, args)
  if #left == 0 then return left end
  local written = written_of(copy, rules) or not rules.is_sent and own_form.written(copy)
  return written and violations_of(read_written(written, args), rules) or left
end

---@class ebb.cli.Checked
---@field text string
---@field left ebb.Violation[]           what the target refuses of it
---@field repair? ebb.RepairReport       if something was repaired

--- The last of some messages that has an id, or is a result under another one; of several, one that is not taken.
local function last_with(chat, first, last, id, taken)
  local place
  for _, role in ipairs { false, "tool" } do
    for index = last, first, -1 do
      local fits = role and chat[index].role == role or not role and chat[index].json:find(id, 1, true)
      if fits and not taken[id .. index] then return index end
      place = place or fits and index
    end
  end
  return place or first
end

--- Names the call of a result by the id that it has in its message, where the text has another one.
local function name_call(loss, message)
  local id = message.role == "tool" and message:totable().tool_call_id
  if type(id) ~= "string" or message.json:find(loss.subject, 1, true) then return end
  local from, to = loss.text:find(loss.subject, 1, true)
  if not from then return end
  loss.text = loss.text:sub(1, from - 1) .. id .. loss.text:sub(to + 1)
  loss.subject = id
end

--- Gives losses of a repair the places that their messages have in the conversation of which the text was made.
local function place_losses(lost, chat, written, goal, args)
  local origins = #lost > 0 and request.origins(chat, goal.dialect,
    { model = args.model, profile = args.profile and goal.profile or nil }) or {}
  local system = #written - #origins // 2            -- texts that come before the messages
  local taken = {}
  for i = #lost, 1, -1 do
    local loss = lost[i]
    local at = loss.index and 2 * (loss.index - system) - 1
    local first = at and origins[at]
    if first and first > 0 then
      loss.index = last_with(chat, first, origins[at + 1], loss.subject, taken)
      taken[loss.subject .. loss.index] = true
      name_call(loss, chat[loss.index])
    end
  end
end

--- Checks a text that was made of a conversation by its target's rules, and repairs it where --repair asks for that.
--- The text is read only if the target refuses something of the conversation, which may have another form, or has
--- tools that came in another form, which only the text shows.
---@param chat ebb.Conversation
---@param written string
---@param goal ebb.Target
---@param args table
---@return ebb.cli.Checked
function outgoing.checked(chat, written, goal, args)
  local rules = { target = goal }
  local left = violations_of(chat, rules)
  local has_new_tools = chat:dialect() ~= goal.dialect and written:find('"tools":', 1, true) ~= nil
  if #left == 0 and not has_new_tools then return { text = written, left = left } end
  local copy = read_written(written, args)
  if not args.repair then return { text = written, left = violations_of(copy, rules) } end
  local repaired, report = outgoing.mend(copy, rules, args.repair)
  place_losses(report.lost, chat, copy, goal, args)
  return { text = report.ledger and repaired:json() or written, left = report.left, repair = report }
end

---@class ebb.cli.Saving
---@field by string                      the command
---@field dialect? "ebb"                 writes the whole conversation
---@field extend? fun(data: table): boolean?   adds what else the report has; true: its messages keep their bytes

--- Repairs, reports, and writes in the shape of the input.
---@param chat ebb.Conversation
---@param args table
---@param rules ebb.cli.Rules
---@param saving ebb.cli.Saving
function outgoing.save(chat, args, rules, saving)
  outgoing.check_repair(chat, args)
  local copy, report, formed = chat, nil, nil
  if saving.dialect ~= "ebb" then
    formed = in_own_form(chat, args)
    copy, report = outgoing.mend(formed or chat, rules, args.repair)
    outgoing.tell(report, args)
  end
  local is_apart = formed ~= nil and report.ledger ~= nil
  local after = formed and not is_apart and chat or copy
  edits.finish(args, { before = rules.original, after = after, by = saving.by, apart = is_apart },
    function() options.save(copy, args, rules.original, saving.dialect) end,
    function(data)
      data.violations = report and #report.left or nil
      return saving.extend and saving.extend(data)
    end)
end

return outgoing
