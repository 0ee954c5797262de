--- ebb trim --explain: a line per message, what became of it and why.
--
-- Up to RUNS_FROM messages each gets its own line; beyond that neighbours that
-- were kept for one reason share one.

local core = require "ebb.support.core"
local grid = require "ebb.cli.grid"
local terminal = require "ebb.cli.terminal"
local text = require "ebb.cli.text"

local explain = {}

local RUNS_FROM = 200
local TEXT_READ = 2048   -- bytes of a message's text that are looked at

local COLUMNS = {
  { title = "pos", right = true },
  { title = "seq", right = true },
  { title = "role", max = 12 },
  { title = "tokens", right = true },
  { title = "fate" },
  { title = "by", max = 20, min = 6 },
  { title = "why", max = 48, min = 10 },
  { title = "text" },
}

local function has(list, word)
  for _, item in ipairs(list) do
    if item == word then return true end
  end
  return false
end

--- The guard that holds a message, whose unit is guarded.
local function guard_of(message, unit)
  if message.role == "system" then return "guarded: system" end
  if has(message.marks, "pinned") then return "guarded: pinned" end
  if unit.pending then return "guarded: pending call" end
  return message.role == "user" and "guarded: last user message" or "guarded: its unit"
end

---@class ebb.cli.Before        A conversation before its trim
---@field chat ebb.Conversation
---@field guards table<integer, string>   by seq; guards are seen in a draft only
---@field overhead integer      tokens of the request that are of no message

--- To be called before the trim.
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
      if entry.action == "inserted" then
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
---@field left integer          tokens of what stands in its place

--- A replacement may have been replaced, or dropped, later.
---@return ebb.cli.Fate?
local function fate_of(message, by_seq)
  local entry, fate, left = by_seq[message.seq], nil, message.tokens
  while entry do
    left = left - entry.tokens
    local why = fate and ("%s, %s before: %s"):format(entry.reason, fate.action, fate.why) or entry.reason
    fate = { action = entry.action, by = entry.by, why = why, left = left }
    entry = by_seq[entry.replacement]
  end
  return fate
end

---@class ebb.cli.Kept          Why a message is there still
---@field by string             the policy that kept it on purpose, or ""
---@field why string

local FITS = { by = "", why = "fits" }   -- there was room

---@return table<integer, ebb.cli.Kept> by_seq
local function kept_of(before, ledgers)
  local kept = {}
  for seq, guard in pairs(before.guards) do
    kept[seq] = { by = "", why = guard }
  end
  for _, ledger in ipairs(ledgers) do
    for _, keep in ipairs(ledger and ledger:keeps() or {}) do
      kept[keep.seq] = { by = keep.by, why = keep.reason }
    end
  end
  return kept
end

---@param fate? ebb.cli.Fate
---@param kept ebb.cli.Kept
local function row_of(position, message, fate, kept)
  local tokens = tostring(message.tokens)
  if fate and fate.action == "replaced" then tokens = ("%s -> %d"):format(tokens, fate.left) end
  return {
    tostring(position), tostring(message.seq), text.kind(message), tokens,
    fate and fate.action or "kept", (fate or kept).by, (fate or kept).why,
    text.head(message.text, TEXT_READ), colour = fate and fate.action or "kept",
  }
end

local function row_of_inserted(entry)
  return {
    "", tostring(entry.seq), entry.role, tostring(-entry.tokens), entry.action, entry.by, entry.reason, "",
    colour = entry.action,
  }
end

--- Neighbours kept for one reason, as one line.
---@class ebb.cli.KeptRun
---@field first integer
---@field last integer
---@field tokens integer
---@field kept ebb.cli.Kept

local function row_of_run(run)
  local count = run.last - run.first + 1
  return {
    ("%d-%d"):format(run.first, run.last), "", "", tostring(run.tokens), "kept", run.kept.by, run.kept.why,
    ("%d messages"):format(count), colour = "kept",
  }
end

local function extends(run, position, kept)
  return run and run.last == position - 1 and run.kept.why == kept.why and run.kept.by == kept.by
end

local function rows_of(before, by_seq, kept_by_seq)
  local rows, run = {}, nil
  local collapse = #before.chat >= RUNS_FROM
  for position, message in ipairs(before.chat) do
    local fate = fate_of(message, by_seq)
    local kept = kept_by_seq[message.seq] or FITS
    if not fate and collapse and extends(run, position, kept) then
      run.last, run.tokens = position, run.tokens + message.tokens
      rows[#rows] = row_of_run(run)
    else
      run = { first = position, last = position, tokens = message.tokens, kept = kept }
      rows[#rows + 1] = row_of(position, message, fate, kept)
      if fate then run = nil end
    end
  end
  return rows
end

---@param before ebb.cli.Before
---@param ledgers (ebb.Ledger|false)[]     in the order in which they were written
function explain.show(before, ledgers)
  local by_seq, inserted = sort_entries(ledgers)
  local rows = rows_of(before, by_seq, kept_of(before, ledgers))
  for _, entry in ipairs(inserted) do
    if not by_seq[entry.seq] then rows[#rows + 1] = row_of_inserted(entry) end
  end
  rows[#rows + 1] = { "", "", "", tostring(before.overhead), "kept", "", "tools, framing", "", colour = "kept" }
  terminal.show(grid.render(COLUMNS, rows, terminal.columns(), function(row, line)
    return terminal.colour(row.colour, line)
  end))
end

return explain
