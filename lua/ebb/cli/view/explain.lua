--- ebb trim --explain: a line per message, what became of it and why.
--
-- Below RUNS_FROM messages each has its own line. From there on neighbours that were
-- kept, or dropped, for one reason share a line. A replaced or inserted message shows
-- the text that is there now.

local core = require "ebb.support.core"
local grid = require "ebb.cli.view.grid"
local tables = require "ebb.support.tables"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"
local transcript = require "ebb.conversation.transcript"

local explain = {}

local RUNS_FROM = 200

local COLUMNS = {
  { title = "pos", right = true },
  { title = "seq", right = true, rank = 2 },
  { title = "role", max = 12, min = 6, rank = 1 },
  { title = "tokens", right = true },
  { title = "fate" },
  { title = "by", max = 20, min = 6, rank = 3 },
  { title = "why", max = 48, min = 10 },
  { title = "text" },
}

--- The guard of a message in a guarded unit, in words.
local function guard_of(message, unit)
  if message.role == "system" then return "guarded: system" end
  if tables.contains(message.marks, "pinned") then return "guarded: pinned" end
  if unit.pending then return "guarded: pending call" end
  return message.role == "user" and "guarded: last user message" or "guarded: its unit"
end

---@class ebb.cli.Before        A conversation before its trim
---@field chat ebb.Conversation
---@field guards table<integer, string>   by seq; only drafts know guards
---@field overhead integer      tokens of the request outside of its messages

--- Notes what `show` needs; call it before the trim.
---@param chat ebb.Conversation
---@param guarded boolean
---@return ebb.cli.Before
function explain.before(chat, guarded)
  local draft, guards = chat:draft { guards = guarded }, {}
  for unit in draft:units {} do
    for _, message in ipairs(unit.guarded and unit.messages or {}) do
      guards[message.seq] = guard_of(message, unit)
    end
  end
  local overhead = core.draft.info(draft).overhead
  core.draft.discard(draft)
  return { chat = chat:fork(), guards = guards, overhead = overhead }
end

---@return table<integer, ebb.LedgerEntry> by_seq    dropped and replaced ones
---@return ebb.LedgerEntry[] inserted
local function sort_entries(ledgers)
  local by_seq, inserted = {}, {}
  for _, ledger in ipairs(ledgers) do
    for i = 1, ledger and #ledger or 0 do
      local entry = ledger[i]
      if entry.action == "inserted" or not entry.seq then   -- of a pipeline: what a plugin added has no seq
        inserted[#inserted + 1] = entry
      else
        by_seq[entry.seq] = entry
      end
    end
  end
  return by_seq, inserted
end

---@class ebb.cli.Fate          What became of a message in the end
---@field action string
---@field by string
---@field why string            the last reason, and those before it
---@field left? integer         tokens of the message that replaced it
---@field text? string          of a message that was cut short
---@field before? integer       tokens that it had with its files
---@field seq integer           of the last message that was in its place

--- Follows a message through its replacements.
---@return ebb.cli.Fate?
local function fate_of(message, by_seq)
  local entry, fate, tokens_left = by_seq[message.seq], nil, message.tokens
  while entry do
    tokens_left = entry.left or tokens_left - entry.tokens
    local why = fate and ("%s, %s before: %s"):format(entry.reason, fate.action, fate.why) or entry.reason
    fate = { action = entry.action, by = entry.by, why = why, left = tokens_left, text = entry.text,
      before = entry.left and entry.left + entry.tokens,
      seq = entry.replacement or entry.seq }
    entry = by_seq[entry.replacement]
  end
  return fate
end

---@class ebb.cli.Kept          Why a message is still there
---@field action "kept"
---@field by string             the policy that kept it on purpose, or ""
---@field why string

local FITS = { action = "kept", by = "", why = "fits" }   -- there was room

---@return table<integer, ebb.cli.Kept> by_seq
local function kept_of(before, ledgers)
  local fates = {}
  for seq, guard in pairs(before.guards) do
    fates[seq] = { action = "kept", by = "", why = guard }
  end
  for _, ledger in ipairs(ledgers) do
    for _, keep in ipairs(ledger and ledger.keeps and ledger:keeps() or {}) do
      fates[keep.seq] = { action = "kept", by = keep.by, why = keep.reason }
    end
  end
  return fates
end

local function messages_by_seq(chat)
  local messages = {}
  for _, message in ipairs(chat) do
    messages[message.seq] = message
  end
  return messages
end

---@param fate ebb.cli.Fate|ebb.cli.Kept
local function row_of(position, message, fate, after)
  local tokens, visible = tostring(message.tokens), message
  if fate.action == "replaced" then
    tokens, visible = ("%s -> %d"):format(fate.before or tokens, fate.left), after[fate.seq] or message
  end
  return {
    tostring(position), text.seq(message.index, message.seq), text.kind(message), tokens, fate.action, fate.by,
    fate.why, fate.text or transcript.line(visible), colour = fate.action,
  }
end

local function row_of_inserted(entry, after)
  return {
    "", tostring(entry.seq or ""), entry.role, tostring(-entry.tokens), entry.action, entry.by, entry.reason,
    after[entry.seq] and transcript.line(after[entry.seq]) or "", colour = entry.action,
  }
end

--- Neighbours that were kept, or dropped, for one reason.
---@class ebb.cli.Run
---@field first integer
---@field last integer
---@field tokens integer
---@field fate ebb.cli.Fate|ebb.cli.Kept

local function row_of_run(run)
  return {
    ("%d-%d"):format(run.first, run.last), "", "", tostring(run.tokens), run.fate.action, run.fate.by, run.fate.why,
    text.count(run.last - run.first + 1, "message"), colour = run.fate.action,
  }
end

local function extends(run, position, fate)
  return run and run.last == position - 1 and fate.action ~= "replaced" and run.fate.action == fate.action
    and run.fate.why == fate.why and run.fate.by == fate.by
end

local function rows_of(before, by_seq, kept_by_seq, after)
  local rows, run = {}, nil
  local folds = #before.chat >= RUNS_FROM
  for position, message in ipairs(before.chat) do
    local fate = fate_of(message, by_seq) or kept_by_seq[message.seq] or FITS
    if folds and extends(run, position, fate) then
      run.last, run.tokens = position, run.tokens + message.tokens
      rows[#rows] = row_of_run(run)
    else
      run = { first = position, last = position, tokens = message.tokens, fate = fate }
      rows[#rows + 1] = row_of(position, message, fate, after)
    end
  end
  return rows
end

---@param before ebb.cli.Before
---@param ledgers (ebb.Ledger|ebb.PipelineCut[]|false)[]     in the order in which they were written
---@param after ebb.Conversation           with all that they name
---@param thinking_left? integer           tokens of thinking that the request leaves out
function explain.show(before, ledgers, after, thinking_left)
  local by_seq, inserted = sort_entries(ledgers)
  local messages, page = messages_by_seq(after), terminal.messages()
  local rows = rows_of(before, by_seq, kept_of(before, ledgers), messages)
  for _, entry in ipairs(inserted) do
    if not by_seq[entry.seq] then rows[#rows + 1] = row_of_inserted(entry, messages) end
  end
  rows[#rows + 1] = { "", "", "", tostring(before.overhead), "kept", "", "tools, framing", "", colour = "kept" }
  if thinking_left and thinking_left > 0 then
    rows[#rows + 1] = { "", "", "", tostring(-thinking_left), "dropped", "", "thinking, bound to what has changed", "",
      colour = "dropped" }
  end
  terminal.show(grid.render(COLUMNS, rows, page))
end

return explain
