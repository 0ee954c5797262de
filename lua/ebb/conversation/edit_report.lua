--- Reports of edits: what they did to the messages of a conversation, and why.
--
-- A report has {before, after, trust, kept, dropped, replaced, inserted, ledger}: tokens, numbers of messages, and runs
-- as those of ebb.Ledger:json, whose tokens add up to `before` less `after`; and `windows` where some changed.

local core = require "ebb.support.core"

local edit_report = {}

---@class ebb.Edit           A conversation before and after
---@field before ebb.Conversation
---@field after ebb.Conversation
---@field by string              who edited: a command
---@field reason? string         default: the operations of the batches since
---@field apart? boolean         `after` is another conversation: its numbers say nothing of messages before

---@class ebb.EditCause
---@field action string
---@field by string
---@field reason string

--- The batches that `after` has more.
local function batches_since(edit)
  local list, last = {}, 0
  for _, batch in ipairs(edit.before:batches()) do last = math.max(last, batch.index) end
  for _, batch in ipairs(edit.after:batches()) do
    if batch.index > last then list[#list + 1] = batch end
  end
  return list
end

--- Operations after which a list has messages that it had not.
local ADDS = { insert = true, replace = true }

--- The operations of the batches without ledger that can have led to an action, each once. Appending makes no
--- batch, nor does rolling back.
---@return table<string, string> reasons      by action
local function collect_reasons(edit)
  local names, seen = { dropped = {}, replaced = {}, inserted = {} }, {}
  for _, batch in ipairs(batches_since(edit)) do
    local operation = batch.operation
    if not seen[operation] and (edit.apart or not edit.after:ledger(batch.index)) then
      seen[operation] = true
      if operation ~= "insert" then table.insert(names.dropped, operation) end
      if ADDS[operation] then table.insert(names.inserted, operation) end
      table.insert(names.replaced, operation)
    end
  end
  local grew = edit.after:stats().total_messages > edit.before:stats().total_messages
  local rest = { dropped = "rollback", replaced = "rollback", inserted = grew and "append" or "rollback" }
  for action, list in pairs(names) do
    if list[1] then rest[action] = table.concat(list, ", ") end
  end
  return rest
end

local function ledgers_since(edit)
  local ledgers = {}
  for _, batch in ipairs(batches_since(edit)) do ledgers[#ledgers + 1] = edit.after:ledger(batch.index) end
  return ledgers
end

--- Collects why ledgers dropped or replaced messages, by seq; the newest ledger counts, and a replacement has the cause
--- of what it replaced.
local function collect_causes(edit)
  local causes, current = {}, {}      -- current: seq that is there now -> seq that was there first
  for _, ledger in ipairs(edit.apart and {} or ledgers_since(edit)) do
    for _, entry in ipairs(ledger) do
      local seq = current[entry.seq] or entry.seq
      causes[seq] = { action = entry.action, by = entry.by, reason = entry.reason }
      if entry.replacement then
        current[entry.replacement] = seq
        causes[entry.replacement] = causes[seq]
      end
    end
  end
  return causes
end

---@class ebb.EditEntries
---@field list table[]
---@field counts { dropped: integer, replaced: integer, inserted: integer }

--- Adds an entry; a dropped message joins the run of its neighbour with the same cause.
local function add(entries, action, message, tokens, cause, place)
  local list, counts = entries.list, entries.counts
  counts[action] = counts[action] + 1
  local last = list[#list]
  local joins = action == "dropped" and last and last.action == action and last.by == cause.by
    and last.reason == cause.reason and entries.last_place == place - 1
  entries.last_place = place
  if joins then
    last.count, last.tokens = last.count + 1, last.tokens + tokens
    return last
  end
  list[#list + 1] = { action = action, by = cause.by, count = 1, reason = cause.reason, seq = message.seq,
    tokens = tokens }
  return list[#list]
end

--- The entries of one difference.
local function add_difference(entries, entry, find_cause)
  local before, after = entry.before, entry.after
  if before and after and find_cause(before, "replaced").action ~= "dropped" then
    local cause = find_cause(before, "replaced")
    local added = add(entries, "replaced", before, before.tokens - after.tokens, cause, entry.a)
    added.replacement = after.seq
    return
  end
  if before then add(entries, "dropped", before, before.tokens, find_cause(before, "dropped"), entry.a) end
  if after then add(entries, "inserted", after, -after.tokens, find_cause(after, "inserted"), 0) end
end

--- Finds the windows that an edit opened, updated or closed.
---@param edit ebb.Edit
---@return { id: string, change: "opened"|"updated"|"closed" }[]
function edit_report.changed_windows(edit)
  local list = {}
  for _, window in ipairs(edit.apart and {} or edit.after.windows:list()) do
    local old = edit.before.windows:get(window.id)
    local was_open = old ~= nil and not old.closed
    local change = window.closed and (was_open and "closed" or nil) or not window.closed and
      (not was_open and "opened" or old.version ~= window.version and "updated" or nil)
    if change then list[#list + 1] = { id = window.id, change = change } end
  end
  return list
end

--- The report of an edit as plain data.
---@param edit ebb.Edit
---@param differences ebb.Difference[]
---@return table
function edit_report.read(edit, differences)
  local causes, reasons = collect_causes(edit), collect_reasons(edit)
  local function find_cause(message, action)
    return causes[message.seq] or { action = action, by = edit.by, reason = edit.reason or reasons[action] }
  end
  local entries = { list = core.json.array {}, counts = { dropped = 0, replaced = 0, inserted = 0 } }
  for _, entry in ipairs(differences) do add_difference(entries, entry, find_cause) end
  local counts, windows = entries.counts, edit_report.changed_windows(edit)
  return {
    before = edit.before:tokens(), after = edit.after:tokens(), trust = edit.after:trust(),
    kept = #edit.before - counts.dropped - counts.replaced, dropped = counts.dropped, replaced = counts.replaced,
    inserted = counts.inserted, ledger = entries.list, windows = windows[1] and core.json.array(windows) or nil,
  }
end

return edit_report
