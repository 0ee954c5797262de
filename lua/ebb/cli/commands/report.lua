--- ebb report: a conversation as one page of HTML, which needs nothing else: figures, its batches, and its messages,
--- those that an edit took away at their old places, with what took them and why.

local figures = require "ebb.support.figures"
local options = require "ebb.cli.io.options"
local session_log = require "ebb.cli.view.session_log"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"
local transcript = require "ebb.conversation.transcript"
local trust = require "ebb.cli.view.trust"

local report = {}

local escape = text.html
local ROLES = require "ebb.conversation.roles"

local OPEN_BYTES = 2000      -- of a text that is shown whole at once
local BEGINNING = 160        -- cells of a longer one, which opens
report.LOOKS_MAX = 2000000   -- batches that are looked through, for all messages; about two seconds

local STYLE = [[
:root { color-scheme: light dark; --line: #8886; --system: #8250df; --user: #1f6feb; --assistant: #2da44e;
  --tool: #bf8700; --window: #0e7490; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; margin: 1rem 0; }
th, td { padding: .25rem .6rem; text-align: left; border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; }
.bar { height: .7rem; min-width: 1px; background: var(--user); }
article { border-left: 4px solid var(--line); margin: .8rem 0; padding: 0 .8rem; }
article.gone { opacity: .55; border-left-style: dashed; }
header { font-size: .85rem; color: #888; } header b { color: inherit; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .2rem 0; font: 13px/1.45 ui-monospace, monospace; }
summary { cursor: pointer; }
.system { border-color: var(--system); } .user { border-color: var(--user); } .tool { border-color: var(--tool); }
.assistant { border-color: var(--assistant); } .window { border-color: var(--window); }]]

function report.declare(parser)
  options.input(parser)
  parser:option("--batch", "Show this batch: its number, or the name of a checkpoint."):argname("<batch>")
  options.output(parser)
  options.quiet(parser)
  options.reading(parser)
  parser:epilog(options.examples { "ebb report chat.json -o chat.html",
    "ebb report --session support -o support.html" })
end

---- Figures ----

--- A row of the table of roles. `colour` is the name of a property of the style.
local function role_row(name, count, tokens, whole, colour)
  local share = tokens / math.max(1, whole)
  return ('<tr><td>%s</td><td class="number">%s</td><td class="number">%s</td><td class="number">%s</td>'
    .. '<td style="width:40%%"><div class="bar" style="width:%.1f%%;background:var(--%s)"></div></td></tr>')
    :format(name, count, figures.grouped(tokens), figures.percent(share), 100 * share, colour)
end

--- The rows of roles, and one for the rest of the request, with which they add up to the whole.
local function role_rows(chat, whole)
  local rows, rest = {}, whole
  for _, role in ipairs(ROLES) do
    local count, tokens = chat:count(role), chat:where({ role = role }):tokens()
    if count > 0 then rows[#rows + 1] = role_row(role, figures.grouped(count), tokens, whole, role) end
    rest = rest - tokens
  end
  rows[#rows + 1] = role_row("tools and framing", "", rest, whole, "line")
  return table.concat(rows, "\n")
end

local function summary(chat)
  local tokens, level = chat:tokens(), chat:trust()
  local model, reason = chat:model(), trust.reason(chat)
  return ("<p>%s, %s tokens (%s)%s%s</p>"):format(text.count(#chat, "message"), figures.grouped(tokens),
    level, model and ", model " .. escape(model) or "", reason and "<br>estimated: " .. escape(reason) or "")
    .. '\n<table><thead><tr><th>role</th><th class="number">messages</th><th class="number">tokens</th>'
    .. '<th class="number">share</th><th></th></tr></thead><tbody>\n' .. role_rows(chat, tokens) .. "\n</tbody></table>"
end

--- The batches, where there are several.
local function batches_of(chat)
  local batches, current = chat:batches(), chat:stats().current_batch_index
  if #batches < 2 then return "" end
  local rows = {}
  for i, batch in ipairs(batches) do
    local name = batch.name and (", checkpoint %s"):format(batch.name) or ""
    local counts = session_log.figures(chat, batch)
    rows[i] = ('<tr><td class="number">%d</td><td>%s%s</td><td>%s</td><td class="number">%s</td><td>%s</td>'
      .. '<td class="number">%s</td><td class="number">%s</td></tr>'):format(batch.index,
      batch.index == current and "current: " or "", escape(batch.operation .. name), escape(batch.description),
      batch.parent or "", session_log.changes(counts), figures.grouped(counts.messages),
      figures.grouped(counts.tokens))
  end
  return '<h2>Batches</h2>\n<table><thead><tr><th class="number">batch</th><th>operation</th><th>what</th>'
    .. '<th class="number">from</th><th>changed</th><th class="number">messages</th><th class="number">tokens</th>'
    .. '</tr></thead><tbody>\n'
    .. table.concat(rows, "\n") .. "\n</tbody></table>"
end

---- Messages ----

local function body_of(message)
  local bytes = transcript.line(message, "\n")
  local whole = "<pre>" .. escape(bytes) .. "</pre>"
  if #bytes <= OPEN_BYTES then return whole end
  local beginning = text.cut(bytes:sub(1, 4 * BEGINNING):gsub("%s+", " "), BEGINNING)
  return ("<details><summary>%s (%s bytes)</summary>%s</details>"):format(escape(beginning), figures.grouped(#bytes),
    whole)
end

---@class ebb.cli.Fates        What edits did to messages
---@field by_seq table<integer, string>    by the ledgers of the batches that led to the current one
---@field batches integer
---@field left integer          batches that may still be looked through for messages that no ledger names

--- The batches that led to the current one, the oldest first.
local function way_to_current(chat)
  local by_index, way = {}, {}
  for _, batch in ipairs(chat:batches()) do by_index[batch.index] = batch end
  local batch = by_index[chat:stats().current_batch_index]
  while batch do
    table.insert(way, batch.index)
    batch = by_index[batch.parent]
  end
  table.sort(way)
  return way
end

local function words_of(event)
  if event.action == "absent" then return "of another branch" end
  return ("%s by %s%s"):format(event.action, event.by or "an edit", event.reason and ": " .. event.reason or "")
end

---@return ebb.cli.Fates? fates    nil without edits
local function fates_of(chat)
  local way = way_to_current(chat)
  if #way < 2 then return nil end
  local by_seq = {}
  for _, index in ipairs(way) do
    local ledger = chat:ledger(index)
    for i = 1, ledger and #ledger or 0 do
      local entry = ledger[i]
      if entry.seq then by_seq[entry.seq] = words_of(entry) end
    end
  end
  return { by_seq = by_seq, batches = #way, left = report.LOOKS_MAX }
end

--- Returns what an edit did to a message; nil if the message was only kept, or once the limit of look-ups is reached.
local function fate_of(chat, fates, message)
  if fates.by_seq[message.seq] then return fates.by_seq[message.seq] end
  fates.left = fates.left - fates.batches
  if fates.left < 0 then return not message.index and "taken away" or nil end
  local event = chat:explain(message)
  return event.action ~= "kept" and words_of(event) or nil
end

local function article(chat, message, fates)
  local kind, words = text.kind(message), {}
  words[1] = message.index and tostring(message.index) or ("seq %d"):format(message.seq)
  words[2] = ("<b>%s</b>"):format(escape(kind))
  if message.name then words[#words + 1] = escape(message.name) end
  words[#words + 1] = figures.grouped(message.tokens) .. " tokens"
  local fate = fates and fate_of(chat, fates, message)
  if fate then words[#words + 1] = escape(fate) end
  local class = (message.role or "window") .. (message.index and "" or " gone")
  return ('<article class="%s"><header>%s</header>%s</article>'):format(class, table.concat(words, " · "),
    body_of(message))
end

--- Lists all messages that were ever stored: the visible ones in order, the others before the next newer one.
local function articles(chat)
  local list, fates = {}, fates_of(chat)
  local all, next_stored = chat:all(), 1
  local function add_gone(before)
    while all[next_stored] and all[next_stored].seq < before do
      local message = all[next_stored]
      if not message.index then list[#list + 1] = article(chat, message, fates) end
      next_stored = next_stored + 1
    end
  end
  for _, message in ipairs(chat) do
    if fates then add_gone(message.seq) end
    list[#list + 1] = article(chat, message, fates)
  end
  if fates then add_gone(math.maxinteger) end
  return table.concat(list, "\n")
end

---- The command ----

--- The page of a conversation.
---@param chat ebb.Conversation
---@param title string
---@return string html
function report.page(chat, title)
  return text.page(title, STYLE, {
    ("<h1>%s</h1>"):format(escape(title)), summary(chat), batches_of(chat), "<h2>Messages</h2>", articles(chat),
  })
end

function report.run(args)
  local chat, path = options.load(args.file, args)
  if args.batch then options.roll_back(chat, args.batch, "--batch") end
  local fork = chat:fork()      -- of a session: all of it
  terminal.result(report.page(fork, options.name(path)), args.output)
  if args.output then terminal.inform(text.count(#fork, "message") .. options.target(args)) end
end

return report
