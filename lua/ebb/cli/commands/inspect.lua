--- ebb inspect: a row per message of a conversation, figures, and warnings.

local conversation_state = require "ebb.conversation.state"
local core = require "ebb.support.core"
local grid = require "ebb.cli.view.grid"
local imported = require "ebb.cli.io.imported"
local json_text = require "ebb.cli.view.json_text"
local options = require "ebb.cli.io.options"
local session_log = require "ebb.cli.view.session_log"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"
local transcript = require "ebb.conversation.transcript"
local trust = require "ebb.cli.view.trust"

local inspect = {}

local ROLES = require "ebb.conversation.roles"

function inspect.declare(parser)
  options.input(parser)
  parser:option("--batch", "Show this batch: its number, or the name of a checkpoint."):argname("<batch>")
  options.output(parser)
  options.json(parser)
  options.reading(parser)
  parser:epilog(options.examples { "ebb inspect chat.json", "ebb inspect chat.json --json | jq '.messages[3]'",
    "ebb inspect saved.json --batch 0" })
end

---- As data ----

local function call_ids(calls)
  local ids = core.json.array {}
  for i, call in ipairs(calls) do
    ids[i] = call.id or call.name
  end
  return ids
end

local function message_data(position, message, is_obsolete)
  local answered = message.call
  return {
    index = position, seq = message.seq, role = text.kind(message), tokens = message.tokens,
    id = message.id, name = message.name, timestamp = message.timestamp, calls = call_ids(message.calls),
    answers = answered and (answered.id or answered.name) or nil,
    window = message.window, text = message.window or message.text, obsolete = is_obsolete,
  }
end

local function messages_of(chat, obsolete)
  local list = core.json.array {}
  for position, message in ipairs(chat) do
    list[position] = message_data(position, message, obsolete[position])
  end
  return list
end

--- Returns by position of each window's item whether a newer version has made it obsolete.
local function obsolete_items(chat)
  local obsolete = {}
  for _, item in ipairs(core.window.items(chat)) do
    obsolete[item.position] = item.obsolete
  end
  return obsolete
end

local function by_role(chat)
  local figures, positions = {}, chat:indices()
  for _, role in ipairs(ROLES) do
    figures[role] = { messages = chat:count(role), tokens = chat:where({ role = role }):tokens(),
      positions = core.json.array(positions[role]) }
  end
  return figures
end

--- Counts units and turns; only a draft has them.
local function structure(chat)
  local draft = chat:draft { guards = true }
  local info = core.draft.info(draft)
  local counts = { units = 0, open = 0, turns = 0, guarded = info.guarded_tokens, overhead = info.overhead }
  for unit in draft:units {} do
    counts.units = counts.units + 1
    if unit.open then counts.open = counts.open + 1 end
  end
  for _ in draft:turns {} do
    counts.turns = counts.turns + 1
  end
  core.draft.discard(draft)
  return counts
end

--- The windows of a conversation as plain data.
local function windows_of(chat)
  local list = core.json.array {}
  for i, window in ipairs(chat.windows:list()) do
    list[i] = {
      id = window.id, description = window.description, closed = window.closed, hidden = window.hidden,
      pinned = window.pinned, important = window.important, version = window.version, created = window.created,
      updated = window.updated,
    }
  end
  return list
end

--- Returns what --json shows, without the messages.
local function data_of(chat)
  local warnings = core.json.array {}
  for i, warning in ipairs(chat:warnings()) do
    warnings[i] = warning
  end
  local tokens, level = chat:tokens(), chat:trust()
  local counts = structure(chat)
  return {
    shape = chat.shape, saved = chat.saved, warnings = warnings,
    tokens = tokens, trust = level, guardedTokens = counts.guarded, framingTokens = counts.overhead,
    roles = by_role(chat), windows = windows_of(chat),
    units = counts.units, openUnits = counts.open, turns = counts.turns,
    batches = conversation_state.batches(chat), currentBatch = chat:stats().current_batch_index,
  }
end

---- As text ----

local COLUMNS = {
  { title = "pos", right = true }, { title = "seq", right = true, rank = 3 }, { title = "role", max = 12, min = 6 },
  { title = "tokens", right = true }, { title = "name or id", max = 24, min = 10, rank = 2 },
  { title = "calls", max = 32, min = 12, rank = 4 }, { title = "text" },
}

local function calls_of(message, is_obsolete)
  if message.window then return is_obsolete and "obsolete" or "" end
  local answered = message.call
  if answered then return "answers " .. (answered.id or answered.name) end
  local calls = message.calls
  return #calls > 0 and table.concat(call_ids(calls), " ") or ""
end

local function listing(chat, obsolete, page)
  local positions, seqs, roles, tokens, names, calls, texts, colours = {}, {}, {}, {}, {}, {}, {}, {}
  for i, message in ipairs(chat) do
    positions[i], seqs[i], roles[i] = tostring(i), text.seq(i, message.seq), text.kind(message)
    tokens[i], names[i] = tostring(message.tokens), message.name or message.id or ""
    calls[i], texts[i] = calls_of(message, obsolete[i]), transcript.line(message)
    colours[i] = message.role or "window"
  end
  return grid.render_columns(COLUMNS, { positions, seqs, roles, tokens, names, calls, texts }, page, colours)
end

--- The noun of a count that has its own column.
local function noun(n, word) return n == 1 and word or word .. "s" end

local function add_windows(lines, data, obsolete)
  local items, count = 0, 0
  for _, is_obsolete in pairs(obsolete) do
    items = items + 1
    if is_obsolete then count = count + 1 end
  end
  local line = "  %-10s %6d %s, of these %d obsolete"
  if items > 0 then lines[#lines + 1] = line:format("windows", items, noun(items, "item"), count) end
  for _, window in ipairs(data.windows) do
    local state = window.closed and "closed" or window.hidden and "hidden" or "open"
    lines[#lines + 1] = ("    %s: %s, version %d of seq %d"):format(window.id, state, window.version, window.updated)
  end
end

--- A line per kind of what an import left out or mended.
local function add_import(lines, import)
  lines[#lines + 1] = ("read as %s, %s"):format(import.form, import.missing or "with system prompt and tools")
  for _, entry in ipairs(import.report) do
    local place = entry.line and (", the first in line %d"):format(entry.line) or ""
    lines[#lines + 1] = ("  %6d %s: %s%s"):format(entry.count, entry.kind, entry.message, place)
  end
end

--- A line for each batch, where there are several.
local function add_batches(lines, data)
  for _, batch in ipairs(#data.batches > 1 and data.batches or {}) do
    local line = ("  batch %d: %s, %s"):format(batch.index, batch.operation, text.count(batch.messageCount, "message"))
    if batch.index > 0 then line = ("%s, from batch %d at %d"):format(line, batch.parent, batch.parentLength) end
    if batch.name then line = ("%s, checkpoint '%s' at %d"):format(line, batch.name, batch.nameLength) end
    local says_more = batch.description ~= batch.operation and batch.operation ~= "rollback"
    if says_more then line = line .. session_log.description(batch) end
    lines[#lines + 1] = batch.index == data.currentBatch and line .. " <- current" or line
  end
end

local function figures(chat, data, obsolete)
  local lines = {
    ("%s, %s (%s), of these %d guarded"):format(text.count(#chat, "message"), text.count(data.tokens, "token"),
      data.trust, data.guardedTokens),
  }
  for _, role in ipairs(ROLES) do
    local figure = data.roles[role]
    if figure.messages > 0 then
      lines[#lines + 1] = ("  %-10s %6d %-8s %8d %s"):format(role, figure.messages, noun(figure.messages, "message"),
        figure.tokens, noun(figure.tokens, "token"))
    end
  end
  add_windows(lines, data, obsolete)
  lines[#lines + 1] = ("  %-17s          %8d %s"):format("tools and framing", data.framingTokens,
    noun(data.framingTokens, "token"))
  lines[#lines + 1] = ("%s (%d open), %s; shape: %s%s"):format(text.count(data.units, "unit"), data.openUnits,
    text.count(data.turns, "turn"), data.shape or "none", data.saved and ", saved whole" or "")
  add_batches(lines, data)
  if data.imported then add_import(lines, data.imported) end
  local reason = trust.reason(chat)
  if reason then lines[#lines + 1] = "estimated: " .. reason end
  return table.concat(lines, "\n")
end

local function warning_lines(data, path, page)
  local lines = {}
  for i, warning in ipairs(data.warnings) do
    local line = ("warning: %s: %s"):format(options.place(path, warning), warning.message)
    lines[i] = page.paint("warning", (terminal.fill(page, line, "  "):gsub("\n$", ""))) .. "\n"
  end
  return table.concat(lines)
end

function inspect.run(args)
  local chat, path, result = options.load(args.file, args, true)
  if args.batch then options.roll_back(chat, args.batch, "--batch") end
  local data, obsolete = data_of(chat), obsolete_items(chat)
  data.imported = imported.data(result)
  if args.json then
    data.messages = messages_of(chat, obsolete)
    return terminal.result(json_text.format(data), args.output)
  end
  local page = terminal.results(args.output)
  local out = listing(chat, obsolete, page) .. "\n" .. terminal.fill(page, figures(chat, data, obsolete), "    ")
  terminal.result(out .. warning_lines(data, path, page), args.output)
end

return inspect
