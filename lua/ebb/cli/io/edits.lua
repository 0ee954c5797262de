--- Reports of edits: one form for every command that edits.
--
--     --dry-run        writes no result; the report says what it would be
--     --explain        shows on standard error which messages changed
--     --ledger FILE    writes the report to a file, which gets its name once the result is written
--     --json           the report as JSON: on a dry run as the result, else on standard error
--     --quiet          no summary for a person
--
-- A report is that of ebb.conversation.edit_report, and says whether this was a dry run.

local core = require "ebb.support.core"
local differences_view = require "ebb.cli.view.differences"
local difference = require "ebb.conversation.difference"
local edit_report = require "ebb.conversation.edit_report"
local failure = require "ebb.cli.failure"
local options = require "ebb.cli.io.options"
local places = require "ebb.cli.io.places"
local terminal = require "ebb.cli.view.terminal"

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

---@class ebb.cli.Edit: ebb.Edit      a command's

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
    local lines = { differences_view.lines(differences, terminal.messages()) }
    for _, each in ipairs(edit_report.changed_windows(edit)) do
      table.insert(lines, #lines, ("the window '%s' is %s"):format(core.printable(each.id), each.change))
    end
    if lines[#lines] == "" then lines[#lines] = nil end
    terminal.show((lines[1] and table.concat(lines, "\n") or "nothing changed") .. "\n")
  end
  edits.write(args, function()
    local data = edit_report.read(edit, differences)
    return data, extend and extend(data)
  end, write)
end

return edits
