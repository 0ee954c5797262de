--- Files of other programs, where a command reads a conversation: recognised when reading them as one fails.
--
-- The one place that knows of both. An ordinary file costs nothing: it is read once, by C.

local request_body = require "ebb.request.body"
local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local settings = require "ebb.request.settings"
local suggest = require "ebb.support.suggest"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"
local tables = require "ebb.support.tables"
local unpacked = require "ebb.cli.io.unpacked"

local imported = {}

local BY_MESSAGES = { openai = true, anthropic = true }     -- dialects whose bodies have `messages`

imported.BYTES_MAX = 256 * 1024 * 1024   -- bytes, unless --max-file says otherwise

local DIALECTS = require "ebb.models.dialects"

--- Keeps the value of --from: the form of another program, or a dialect, of which it is only made sure.
local function keep_from(args, _, value)
  local forms = table.move(DIALECTS, 1, #DIALECTS, 1, {})
  table.move(ebb.import.names, 1, #ebb.import.names, #forms + 1, forms)
  if not tables.contains(forms, value) then
    table.sort(forms)
    failure.usage(("--from: unknown form '%s'"):format(value),
      suggest.hint(value, forms) or "the forms are " .. table.concat(forms, ", "))
  end
  args[tables.contains(DIALECTS, value) and "from_dialect" or "from"] = value
end

function imported.declare(parser)
  parser:option("--from", "Read a file of this form of another program, such as claude_code, or of this dialect; "
    .. "default: recognised.")
    :argname("<form>"):action(keep_from)
  parser:option("--branch", "In such a file, read this branch, by number or id; or a sidechain. Default: current.")
    :argname("<branch>")
  parser:option("--conversation", "In such a file with several conversations, read this one, by number, id or title.")
    :argname("<which>")
end

--- Codes of problems that a file of another program may have as a conversation.
local NO_CONVERSATION = { syntax = true, shape = true, role = true, encoding = true, duplicate = true }

--- True if the options of the command line ask for an import.
---@param args table
---@return boolean
function imported.is_asked(args)
  return (args.from or args.branch or args.conversation) ~= nil
end

--- Refuses a conversation that is not in the dialect of --from. Plain texts are openai's and anthropic's alike.
---@param chat ebb.Conversation
---@param args table
---@param name string       of the file
function imported.check_dialect(chat, args, name)
  local expected, actual = args.from_dialect, chat:dialect()
  if not expected or expected == actual then return end
  local is_plain = (BY_MESSAGES[expected] and BY_MESSAGES[actual]) or #chat == 0
  for _, violation in ipairs(is_plain and chat:check { dialect = expected } or {}) do
    if violation.code:find "^foreign_" then is_plain = false end
  end
  if is_plain then return end
  failure.raise(failure.REFUSED, ("%s: expected messages in the form of %s, they are in that of %s"):format(name,
    expected, actual), "without --from the form is recognised")
end

---- What was read ----

local PLURALS = { batch = "batches", branch = "branches", entry = "entries" }

--- Words that follow a noun and explain it: "calls without result".
local EXPLAINS = { as = true, before = true, ["for"] = true, ["in"] = true, of = true, that = true, with = true,
  without = true }

--- "34 other lines", "2 results without call"
local function count(n, noun)
  local head, rest = noun, ""
  for at, word in noun:gmatch "() (%l+)" do
    if EXPLAINS[word] then
      head, rest = noun:sub(1, at - 1), noun:sub(at)
      break
    end
  end
  local last = head:match "%w+$"
  if n ~= 1 and PLURALS[last] then return ("%d %s%s"):format(n, (head:gsub("%w+$", PLURALS)), rest) end
  return text.count(n, head) .. rest
end

--- Kinds that say nothing without their messages, which name what was left out.
local NAMELESS = {
  ["other line"] = true, ["other block"] = true, ["other part"] = true, ["other entry"] = true, ["other item"] = true,
  ["unknown block"] = true, ["other member"] = true, attachment = true, ["attachment in other words"] = true,
}

local NAMES_SHOWN = 4

--- " (attachment, last-prompt and 2 more)" of a kind that is nameless.
local function format_names(kind, messages)
  if not NAMELESS[kind] or not messages[1] then return "" end
  local shown = table.concat(messages, ", ", 1, math.min(#messages, NAMES_SHOWN))
  local more = #messages > NAMES_SHOWN and (" and %d more"):format(#messages - NAMES_SHOWN) or ""
  return (" (%s%s)"):format(shown:gsub(", left out", ""):gsub(": left out", ""), more)
end

--- Adds "34 other lines (mode, summary)" for each kind of a report.
---@param words string[]
---@param report ebb.import.ReportEntry[]
function imported.add_counts(words, report)
  local counts, messages = {}, {}
  for _, entry in ipairs(report) do
    if not counts[entry.kind] then counts[#counts + 1], messages[entry.kind] = entry.kind, {} end
    counts[entry.kind] = (counts[entry.kind] or 0) + entry.count
    if entry.message ~= "" then table.insert(messages[entry.kind], entry.message) end
  end
  for _, kind in ipairs(counts) do
    words[#words + 1] = count(counts[kind], kind) .. format_names(kind, messages[kind])
  end
end

--- Kinds of what an import leaves out though a model got it.
local LOST = {
  ["other block"] = true, ["other part"] = true, ["other item"] = true, ["other message"] = true,
  ["other entry"] = true, ["unknown block"] = true, attachment = true, file = true, audio = true,
  ["encrypted reasoning"] = true, ["thought signature"] = true, ["signature of reasoning"] = true,
  ["lost reasoning"] = true, ["dropped call"] = true, ["unfinished call"] = true, ["call that is not JSON"] = true,
  compaction = true,
}

--- Refuses a result of which the import left something out, under --strict.
---@param result? ebb.Import
---@param name string       of the file, in messages
function imported.refuse_losses(result, name)
  local lost = {}
  for _, entry in ipairs(result and result.report or {}) do
    if LOST[entry.kind] then lost[#lost + 1] = entry end
  end
  if not lost[1] then return end
  local words = {}
  imported.add_counts(words, lost)
  failure.raise(failure.REFUSED, ("%s: the import leaves out %s"):format(name, table.concat(words, ", ")),
    "without --strict it is written all the same")
end

--- "Claude Code session: 120 messages, 34 other lines, 2 branches"
---@param result ebb.Import
---@return string
function imported.summary(result)
  local words = { text.count(#result.messages, "message") }
  imported.add_counts(words, result.report)
  if result.branches > 1 then words[#words + 1] = count(result.branches, "branch") end
  return ("%s: %s"):format(result.title, table.concat(words, ", "))
end

--- Names what a request with the imported messages lacks: "without system prompt and tools"; nil for nothing.
---@param result? ebb.Import
---@return string?
function imported.missing(result)
  if not result then return nil end
  local first = result.messages[1]
  local has_system = result.system or type(first) == "table" and (first.role == "system" or first.role == "developer")
  if has_system then return not result.tools and "without tools" or nil end
  return result.tools and "without system prompt" or "without system prompt and tools"
end

--- Returns what reports in JSON say of an import.
---@param result? ebb.Import
---@return table?
function imported.data(result)
  if not result then return nil end
  return {
    form = result.name, dialect = result.dialect, branches = result.branches, missing = imported.missing(result),
    report = core.json.array(table.move(result.report, 1, #result.report, 1, {})),
  }
end

---- Reading ----

--- Refuses what an import refused: a branch or conversation that does not exist is a mistake of the command line.
local function refuse(problem)
  if problem.code == "unknown_name" or problem.code == "absent" then failure.usage(problem.message, problem.hint) end
  failure.check(nil, problem)
end

--- Refuses to replace the file of another program by what a command writes.
---@param path string
---@param args table
---@param result { title: string }
function imported.check_output(path, args, result)
  if path == "-" or not args.output or args.output == "-" then return end
  if core.target_key(path) ~= core.target_key(args.output) then return end
  failure.raise(failure.REFUSED, ("%s is a %s, and is not written back"):format(path, result.title),
    "name another file with -o")
end

--- The message of a problem of the body that an import wrote, with the place in the file.
local function placed(problem, name, result)
  local line, rest = problem.message:match "^text:(%d+):%d+: (.*)$"
  local place = line and (result.lines or {})[math.tointeger(tonumber(line)) - 1]
  return ("%s%s: %s"):format(name, place and (":%d"):format(place) or "", rest or problem.message)
end

--- The conversation of an import.
local function conversation_of(result, name, chat_options)
  local chat, problem = failure.typed(ebb.parse, ebb.import.body(result), chat_options)
  if not chat then failure.check(nil, core.error(problem.code, placed(problem, name, result), problem.hint)) end
  return chat
end

local function tell(name, result)
  if terminal.quiet then return end
  terminal.say(("%s: read as %s"):format(name, imported.summary(result)))
end

local function use(result, path, name, args, chat_options)
  if result.conversations then
    failure.usage(("%s has %d conversations, and one is read"):format(name, #result.conversations),
      "--conversation names one:\n" .. require("ebb.import.many").listing(result.conversations))
  end
  if result.agent and not result.messages[1] then
    failure.raise(failure.REFUSED, ("%s is a %s, which holds no conversation"):format(name, result.title),
      ("'ebb import %s' makes an agent of it"):format(name))
  end
  imported.check_output(path, args, result)
  for _, entry in ipairs(result.report) do
    if entry.kind == "bad line" then failure.lenient = true end
  end
  local chat = conversation_of(result, name, chat_options)
  tell(name, result)
  return chat, result
end

local function import_options(name, args)
  return {
    path = name, from = args.from, branch = args.branch, conversation = args.conversation, skip_bad = args.lenient,
  }
end

--- Reads the file that --from, --branch or --conversation are for.
---@param path string
---@param name string          of the file, in messages
---@param args table
---@param chat_options ebb.ConversationOptions
---@return ebb.Conversation
---@return ebb.Import
function imported.read(path, name, args, chat_options)
  local cap = args.max_file or imported.BYTES_MAX
  local bytes = unpacked.text(failure.check(core.read_file(path, cap)), name, cap)
  local result, problem = failure.typed(ebb.import.read, bytes, import_options(name, args))
  if not result then refuse(problem) end
  return use(result, path, name, args, chat_options)
end

--- The bytes of a file that was read before; nil for standard input and a FIFO, which have them no more.
---@return string? bytes
---@return ebb.Error? problem   of a file that was not read again
local function read_again(path, cap)
  local known, size = core.file_identity(path)
  if path == "-" or not known or size == 0 then return nil end
  return core.read_file(path, cap or imported.BYTES_MAX)
end

--- Refuses a compressed file above the cap; others may be conversations, whose problem says more.
---@return string? hint     that the file is of no other program, as far as it was read
local function refuse_large(path, name, problem)
  if problem.code ~= "limit" then return nil end
  local handle = io.open(path, "rb")
  local form = handle and unpacked.form(handle:read(4) or "")
  if handle then handle:close() end
  local hint = "--max-file raises the cap"
  if not form then return hint .. ", above which no file of another program is looked for" end
  failure.raise(failure.REFUSED, (problem.message:gsub("^.*: it is", ("%s: compressed with %s: it is"):format(name,
    form))), hint)
end

--- True if a message of a list hides another one, as those of Roo do.
local function hides(chat)
  for _, message in ipairs(chat) do
    local bytes = message.json
    if bytes:find('"condenseParent"', 1, true) or bytes:find('"truncationParent"', 1, true) then return true end
  end
  return false
end

--- Members of messages that requests do not have, and other programs do.
local TELLTALES = { '"convId"', '"threadId"', '"thread_id"', '"resourceId"', '"modelInfo"', '"providerData"',
  '"toolInvocations"', '"experimental_attachments"' }

--- True for parts next to a content, and for an item of reasoning that has a content and no summary.
local function is_mixed(bytes)
  if not bytes:find('"content"', 1, true) then return false end
  return bytes:find('"parts"', 1, true) ~= nil
    or bytes:find('"reasoning"', 1, true) ~= nil and not bytes:find('"summary"', 1, true)
end

local LOOK_MESSAGES, LOOK_BYTES = 3, 65536    -- of each of these: they are recognized at the begin or the end

--- True if one of the first messages has a member that names another program, or is mixed. `first_bytes`: the first
--- message, which may be large and is copied once.
local function has_telltale(chat, first_bytes)
  for i = 1, math.min(LOOK_MESSAGES, #chat) do
    local bytes = i == 1 and first_bytes or chat[i].json
    if #bytes > 2 * LOOK_BYTES then bytes = bytes:sub(1, LOOK_BYTES) .. "\n" .. bytes:sub(-LOOK_BYTES) end
    if is_mixed(bytes) then return true end
    for _, member in ipairs(TELLTALES) do
      if bytes:find(member, 1, true) then return true end
    end
  end
  return false
end

--- The text of a list of Roo's, of its second form, or of a session of Cline; nil for others with times.
local function timed(chat)
  if chat.shape == "array" then return hides(chat) and chat:json() or nil end
  local body = chat.shape == "body" and chat:json() or ""
  local is_version_2 = body:find '^%s*{%s*"version"%s*:%s*2%s*,' or body:find '"version"%s*:%s*2%s*}%s*$'
  return (is_version_2 or body:find('"sessionId"', 1, true)) and body or nil
end

--- True for a body that has snapshots of other batches besides its messages.
local function has_snapshots(chat)
  return chat.shape == "body" and settings.members(request_body.around(chat)).batchSnapshots ~= nil
end

--- True if a lenient reading skipped messages for their form.
local function was_skipped(chat)
  for _, warning in ipairs(chat:warnings()) do
    if warning.lenient and (warning.code == "shape" or warning.code == "role") then return true end
  end
  return false
end

--- The text of a conversation that could be read, and may be a file of another program all the same: a lenient
--- reading skipped some of it, or its members tell. Others cost a look at one message.
---@param chat ebb.Conversation
---@param path string
---@return string? text
function imported.suspect(chat, path)
  if chat.saved then return nil end
  if has_snapshots(chat) then return chat:json() end
  local first = chat[1]
  if was_skipped(chat) or not first and #chat:warnings() > 0 then return read_again(path) end
  if not first then return nil end
  local first_bytes = first.json
  local whole = first_bytes:find('"ts"', 1, true) and timed(chat) or nil
  return whole or has_telltale(chat, first_bytes) and chat:json() or nil
end

--- Reads the text of a compressed file: a conversation, or a file of another program. Results as of `rescue`.
local function read_unpacked(unpacked_text, form, path, name, args, chat_options)
  imported.check_output(path, args, { title = "file that is compressed with " .. form })
  local chat, problem = failure.typed(ebb.parse, unpacked_text, chat_options)
  if chat then return chat end
  local why = problem.message:gsub("^text:", name .. ":")
  if not NO_CONVERSATION[problem.code] then failure.check(nil, core.error(problem.code, why, problem.hint)) end
  local result, reason, is_known = ebb.import.read(unpacked_text, import_options(name, args))
  if result then return use(result, path, name, args, chat_options) end
  if is_known then refuse(reason) end
  local packed = { text = unpacked_text, problem = core.error(problem.code, why, problem.hint) }
  return nil, reason.code == "shape" and reason.message or nil, packed
end

--- Reads a file that is no conversation; raises `problem`, with what the file looks like, if it is of no known form.
---@param path string
---@param name string
---@param args table
---@param chat_options ebb.ConversationOptions
---@param problem? ebb.Error   of reading it as a conversation; nil: the conversation is suspect
---@param bytes? string        of the file, if they were read
---@return ebb.Conversation?   nil: the problem holds
---@return ebb.Import|string|nil result   with nil: what the file looks like, where something is to be said
---@return { text: string, problem: ebb.Error }? packed   of a compressed file: its text, and what replaces
---    the problem
function imported.rescue(path, name, args, chat_options, problem, bytes)
  if problem and not NO_CONVERSATION[problem.code] then return nil end
  local unread
  if not bytes then bytes, unread = read_again(path, args.max_file) end
  if not bytes then return nil, unread and refuse_large(path, name, unread) end
  local text_of_file, form_of_file = unpacked.text(bytes, name, args.max_file or imported.BYTES_MAX)
  if form_of_file then return read_unpacked(text_of_file, form_of_file, path, name, args, chat_options) end
  local result, reason, form = ebb.import.read(bytes, import_options(name, args))
  if result then return use(result, path, name, args, chat_options) end
  if form then refuse(reason) end
  return nil, reason.code == "shape" and reason.message or nil
end

return imported
