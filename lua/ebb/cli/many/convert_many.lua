--- ebb convert of a file of many conversations: a line for each, written while the next ones are read.

local core = require "ebb.support.core"
local edits = require "ebb.cli.io.edits"
local failure = require "ebb.cli.failure"
local imported = require "ebb.cli.io.imported"
local losses = require "ebb.cli.io.losses"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

local convert_many = {}

local PIECE_BYTES = 256 * 1024   -- that are written at once

--- Opens an output of one JSON value per line. A file appears under its name when `finish` is called; standard output
--- has the lines before an error, too.
---@param path? string
---@return fun(json: string) write     a value, which may have several lines
---@return fun() finish
local function output(path)
  local commit, append = core.stage_file(path or "-", "")
  if not commit then failure.check(nil, append) end
  local lines, size = {}, 0
  local function flush()
    terminal.written(path or "-", append(table.concat(lines)))
    lines, size = {}, 0
  end
  local function write(json)
    local line = json:gsub("[\r\n]+", " ")   -- no string of JSON has such bytes
    lines[#lines + 1] = line:gsub(" $", "") .. "\n"
    size = size + #line
    if size >= PIECE_BYTES then flush() end
  end
  return write, function()
    flush()
    terminal.conclude(path, function(_, unchanged) return commit(unchanged) end)
  end
end

--- Counts what one conversation loses: each kind once.
local function add_losses(kinds, list, line)
  local seen = {}
  for _, loss in ipairs(list) do
    local kind = kinds[loss.code]
    if not kind then
      kind = { loss = loss, count = 0, line = line }
      kinds[loss.code], kinds[#kinds + 1] = kind, kind
    end
    if not seen[kind] then seen[kind], kind.count = true, kind.count + 1 end
  end
end

local function tell_losses(kinds)
  for _, kind in ipairs(kinds) do
    terminal.say(("%s: %s (%s, the first in line %d)"):format(kind.loss.code, kind.loss.text,
      text.count(kind.count, "conversation"), kind.line))
  end
end

--- Shows what one conversation loses, with its line.
local function list_losses(list, path, line)
  if list[1] then terminal.say(("%s:%d:"):format(path, line)) end
  losses.list(list)
end

--- Counts what the target refuses of one conversation, or what was repaired in it.
local function add_violations(refused, converted, line)
  local list, repair = converted.left, converted.repair
  if repair and repair.ledger then refused.repaired = refused.repaired + 1 end
  if #list == 0 then return end
  refused.first = refused.first or { violation = list[1], dialect = converted.goal.dialect, line = line }
  refused.conversations, refused.violations = refused.conversations + 1, refused.violations + #list
end

local function tell_refused(refused, args)
  local first = refused.first
  if refused.repaired > 0 then terminal.say("repaired in " .. text.count(refused.repaired, "conversation")) end
  if not first then return end
  local index = first.violation.index
  terminal.say(("warning: %s would refuse %s: %s"):format(first.dialect,
    text.count(refused.conversations, "conversation"), text.count(refused.violations, "violation")))
  terminal.say(("  the first in line %d: %s: %s: %s%s"):format(first.line,
    index and ("message %d"):format(index) or "the request", first.violation.code, first.violation.text,
    args.repair and "" or "; --repair repairs what can be"))
end

--- Returns the losses as data: each kind with the number of conversations and the first line.
local function data_of(kinds, refused, many)
  local list = core.json.array {}
  for i, kind in ipairs(kinds) do
    list[i] = { code = kind.loss.code, text = kind.loss.text, conversations = kind.count, line = kind.line }
  end
  return { conversations = many.count, losses = list, refused = refused.conversations, repaired = refused.repaired,
    violations = refused.violations }
end

--- Refuses a conversation that loses something, with its line.
local function refuse_losses(list, dialect, path, line)
  local ok, problem = pcall(losses.refuse, list, dialect)
  local refusal = not ok and failure.from_value(problem)
  if refusal then failure.raise(refusal.exit, ("%s:%d: %s"):format(path, line, refusal.message), refusal.hint) end
  if not ok then error(problem, 0) end
end

---@param args table
---@param many ebb.cli.Conversations
---@param convert fun(chat: ebb.Conversation, args: table): ebb.cli.Converted
function convert_many.run(args, many, convert)
  if args.shape == "jsonl" then
    failure.usage("each conversation is one line, a body or an array", "--shape jsonl is for one conversation")
  end
  imported.check_output(many.path, args, many)
  local function nothing() end
  local write, finish = nothing, nothing
  if not args.dry_run then write, finish = output(args.output) end
  local kinds, refused = {}, { conversations = 0, violations = 0, repaired = 0 }
  for chat, result in many:each() do
    local converted = convert(chat, args)
    local lost = converted.losses
    if args.explain then list_losses(lost, many.path, result.line) end
    if args.strict then
      imported.refuse_losses(result, ("%s:%d"):format(many.path, result.line))
      refuse_losses(lost, converted.goal.dialect, many.path, result.line)
    end
    add_losses(kinds, lost, result.line)
    add_violations(refused, converted, result.line)
    write(converted.text)
  end
  tell_losses(kinds)
  tell_refused(refused, args)
  many:finish()
  edits.write(args, function() return data_of(kinds, refused, many) end, finish)
end

return convert_many
