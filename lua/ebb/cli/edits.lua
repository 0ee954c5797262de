--- Reports of edits: one form for every command that edits.
--
--     --dry-run        writes no result; the report says what it would be
--     --explain        shows on standard error which messages changed
--     --ledger FILE    writes the report to a file, which gets its name when the result stands
--     --json           the report as JSON: on a dry run as the result, else on standard error
--     --quiet          no summary for a person
--
-- A report has {before, after, trust, kept, dropped, replaced, inserted, dryRun, ledger}: tokens, numbers of
-- messages, and runs as those of ebb.Ledger:json, whose tokens add up to `before` less `after`.

local core = require "ebb.support.core"
local diff = require "ebb.cli.diff"
local difference = require "ebb.conversation.difference"
local failure = require "ebb.cli.failure"
local options = require "ebb.cli.options"
local places = require "ebb.cli.places"
local terminal = require "ebb.cli.terminal"

local edits = {}

---- Options ----

local TEXTS = {
  explain = "Show on standard error which messages changed.",
  dry_run = "Write no messages, only what changed.",
  ledger = "Write what was changed to this file, as JSON.",
  json = ": with --dry-run on standard output, else on standard error",
}

--- Declares the options of a report.
---@param parser table
---@param texts? { explain?: string, dry_run?: string, ledger?: string, json?: string }   other words of their help
function edits.declare(parser, texts)
  local function text(name) return texts and texts[name] or TEXTS[name] end
  parser:flag("--explain", text "explain")
  parser:flag("--dry-run", text "dry_run")
  places.writes(parser:option("--ledger", text "ledger"):argname("<file>"))
  options.json(parser, text "json")
  options.quiet(parser)
end

--- Refuses a ledger that goes to standard output with other JSON.
---@param args table
function edits.check(args)
  local output = args.output or "-"
  if args.ledger == "-" and output == "-" and (args.json or not args.dry_run) then
    failure.usage("--ledger and the result cannot both go to standard output", "name a file for one of them")
  end
end

---- Reports ----

---@class ebb.cli.Edit           A conversation before and after
---@field before ebb.Conversation
---@field after ebb.Conversation
---@field by string              the command
---@field reason? string         default: the operations of the batches since
---@field apart? boolean         `after` is another conversation: its numbers say nothing of messages before

---@class ebb.cli.EditCause
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
local function reasons_of(edit)
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

--- What ledgers say of each message, by seq; the last word counts, also of what took a message's place.
local function causes_of(edit)
  local causes, current = {}, {}      -- current: seq that stands there now -> seq that stood there first
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

---@class ebb.cli.EditEntries
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
local function add_difference(entries, entry, cause_of)
  local before, after = entry.before, entry.after
  if before and after and cause_of(before, "replaced").action ~= "dropped" then
    local cause = cause_of(before, "replaced")
    local added = add(entries, "replaced", before, before.tokens - after.tokens, cause, entry.a)
    added.replacement = after.seq
    return
  end
  if before then add(entries, "dropped", before, before.tokens, cause_of(before, "dropped"), entry.a) end
  if after then add(entries, "inserted", after, -after.tokens, cause_of(after, "inserted"), 0) end
end

--- The report of an edit as plain data.
---@param edit ebb.cli.Edit
---@param differences ebb.Difference[]
---@return table
local function data_of(edit, differences)
  local causes, reasons = causes_of(edit), reasons_of(edit)
  local function cause_of(message, action)
    return causes[message.seq] or { action = action, by = edit.by, reason = edit.reason or reasons[action] }
  end
  local entries = { list = core.json.array {}, counts = { dropped = 0, replaced = 0, inserted = 0 } }
  for _, entry in ipairs(differences) do add_difference(entries, entry, cause_of) end
  local counts = entries.counts
  return {
    before = edit.before:tokens(), after = edit.after:tokens(), trust = edit.after:trust(),
    kept = #edit.before - counts.dropped - counts.replaced, dropped = counts.dropped, replaced = counts.replaced,
    inserted = counts.inserted, ledger = entries.list,
  }
end

---- Writing ----

--- Writes the result and the report. On a dry run the JSON of the report is the result.
---@param args table
---@param report fun(): table, boolean?   called where JSON is asked for; true: messages in it keep their bytes
---@param write fun()               writes the result, if this is no dry run
function edits.write(args, report, write)
  local text
  if args.json or args.ledger then
    local data, keeps_bytes = report()
    data.dryRun = args.dry_run or false
    text = core.json.encode(data, { indent = 2, keep_raw = keeps_bytes, newline = true })
  end
  local commit = args.ledger and args.ledger ~= "-" and failure.check(core.stage_file(args.ledger, text))
  if args.json and not args.dry_run then terminal.show(text) end
  if not args.dry_run then
    write()
  elseif args.json then
    terminal.result(text, not args.in_place and args.output or nil)
  end
  if commit then terminal.conclude(args.ledger, function() return commit() end)
  elseif args.ledger then terminal.result(text) end
end

--- Shows what an edit changed, as the command line asks for it, and writes the result.
---@param args table
---@param edit ebb.cli.Edit
---@param write fun()
---@param extend? fun(data: table): boolean?   adds what else the report has; true: messages in it keep their bytes
function edits.finish(args, edit, write, extend)
  local shows = args.explain or args.dry_run and not args.json
  local needs_list = shows or args.json or args.ledger
  local differences = needs_list and difference.compare(edit.before, edit.after)
  if shows then
    local lines = diff.lines(differences, terminal.messages())
    terminal.show(lines == "" and "nothing changed\n" or lines .. "\n")
  end
  edits.write(args, function()
    local data = data_of(edit, differences)
    return data, extend and extend(data)
  end, write)
end

return edits
