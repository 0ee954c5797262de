--- ebb inspect: what is in a conversation, message by message and in figures.

local core = require "ebb.support.core"
local grid = require "ebb.cli.grid"
local options = require "ebb.cli.options"
local terminal = require "ebb.cli.terminal"
local text = require "ebb.cli.text"

local inspect = {}

local ROLES = { "system", "user", "assistant", "tool" }
local TEXT_READ = 2048   -- bytes of a message's text that are looked at

function inspect.declare(parser)
  options.input(parser)
  options.output(parser)
  options.json(parser)
  options.reading(parser)
end

---- What there is ----

local function call_ids(message)
  local ids = core.json.array {}
  for i, call in ipairs(message.calls) do
    ids[i] = call.id or call.name
  end
  return ids
end

local function message_data(position, message)
  local answered = message.call
  return {
    index = position, seq = message.seq, role = message.spelling, tokens = message.tokens,
    id = message.id, name = message.name, timestamp = message.timestamp, calls = call_ids(message),
    answers = answered and (answered.id or answered.name) or nil,
    text = text.head(message.text, TEXT_READ),
  }
end

local function by_role(chat)
  local figures = {}
  for _, role in ipairs(ROLES) do
    figures[role] = { messages = chat:count(role), tokens = chat:where({ role = role }):tokens() }
  end
  return figures
end

--- Units and turns are seen through a draft, which is thrown away.
local function structure(chat)
  local draft = chat:draft { guards = true }
  local info = core.draft.info(draft)
  local found = { units = 0, open = 0, turns = 0, guarded = info.guarded_tokens, overhead = info.overhead }
  for unit in draft:units {} do
    found.units = found.units + 1
    if unit.open then found.open = found.open + 1 end
  end
  for _ in draft:turns {} do
    found.turns = found.turns + 1
  end
  core.draft.discard(draft)
  return found
end

local function data_of(chat)
  local messages, warnings = core.json.array {}, core.json.array {}
  for position, message in ipairs(chat) do
    messages[position] = message_data(position, message)
  end
  for i, warning in ipairs(chat:warnings()) do
    warnings[i] = warning
  end
  local tokens, trust = chat:tokens()
  local found = structure(chat)
  return {
    shape = chat:shape(), messages = messages, warnings = warnings,
    tokens = tokens, trust = trust, guardedTokens = found.guarded, framingTokens = found.overhead,
    roles = by_role(chat),
    units = found.units, openUnits = found.open, turns = found.turns,
  }
end

---- As text ----

local COLUMNS = {
  { title = "pos", right = true }, { title = "seq", right = true }, { title = "role", max = 12 },
  { title = "tokens", right = true }, { title = "name or id", max = 24 }, { title = "calls", max = 32 },
  { title = "text" },
}

local function calls_of(message)
  if message.answers then return "answers " .. message.answers end
  return table.concat(message.calls, " ")
end

local function listing(data)
  local rows = {}
  for i, message in ipairs(data.messages) do
    rows[i] = {
      tostring(message.index), tostring(message.seq), message.role, tostring(message.tokens),
      message.name or message.id or "", calls_of(message), message.text,
    }
  end
  return grid.render(COLUMNS, rows, terminal.columns(true))
end

local function figures(data)
  local lines = {
    ("%d messages, %d tokens (%s), of these %d guarded"):format(#data.messages, data.tokens, data.trust,
      data.guardedTokens),
  }
  for _, role in ipairs(ROLES) do
    local figure = data.roles[role]
    if figure.messages > 0 then
      lines[#lines + 1] = ("  %-10s %6d messages %8d tokens"):format(role, figure.messages, figure.tokens)
    end
  end
  lines[#lines + 1] = ("  %-17s          %8d tokens"):format("tools and framing", data.framingTokens)
  lines[#lines + 1] = ("%d units (%d open), %d turns; shape: %s"):format(data.units, data.openUnits, data.turns,
    data.shape or "none")
  return table.concat(lines, "\n") .. "\n"
end

local function warning_lines(data, path)
  local lines = {}
  for _, warning in ipairs(data.warnings) do
    lines[#lines + 1] = ("warning: %s: %s\n"):format(options.place(path, warning), warning.message)
  end
  return table.concat(lines)
end

function inspect.run(given)
  local chat, path = options.load(given.file, given, true)
  local data = data_of(chat)
  if given.json then return terminal.result(core.json.encode(data, { indent = 2 }) .. "\n", given.output) end
  local out = listing(data) .. "\n" .. figures(data) .. text.printable(warning_lines(data, path), true)
  terminal.result(out, given.output)
end

return inspect
