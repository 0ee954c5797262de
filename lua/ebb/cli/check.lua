--- ebb check: what a provider would refuse in a list of messages, sent as it is.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.grid"
local options = require "ebb.cli.options"
local outgoing = require "ebb.cli.outgoing"
local terminal = require "ebb.cli.terminal"
local text = require "ebb.cli.text"

local check = {}

local FOUND = 1     -- exit status
local WIDTH = 400   -- what is wrong is told in full, however narrow the terminal

function check.declare(parser)
  options.input(parser)
  outgoing.declare_dialect(parser)
  options.output(parser)
  options.json(parser)
  options.reading(parser)
end

local function as_json(found, dialect)
  local violations = core.json.array {}
  for i, violation in ipairs(found) do
    violations[i] = violation
  end
  return core.json.encode({ dialect = dialect, violations = violations }, { indent = 2 }) .. "\n"
end

local COLUMNS = {
  { title = "pos", right = true }, { title = "seq", right = true }, { title = "role", max = 12 },
  { title = "violation" }, { title = "what" },
}

--- What to do, once per kind of violation.
local function hints(found)
  local seen, lines = {}, {}
  for _, violation in ipairs(found) do
    if not seen[violation.code] then
      seen[violation.code] = true
      lines[#lines + 1] = ("%s: %s\n"):format(violation.code, violation.hint)
    end
  end
  return table.concat(lines)
end

local function as_text(chat, found, dialect)
  if #found == 0 then return ("%d messages, nothing that %s would refuse\n"):format(#chat, dialect) end
  local rows = {}
  for i, violation in ipairs(found) do
    local role = text.kind(chat[violation.index])
    rows[i] = { tostring(violation.index), tostring(violation.seq), role, violation.code, violation.text }
  end
  local figures = ("%d violations in %d messages, by the rules of %s"):format(#found, #chat, dialect)
  return ("%s\n%s\n%s"):format(grid.render(COLUMNS, rows, WIDTH), figures, hints(found))
end

function check.run(args)
  local chat = options.load(args.file, args)
  local found, dialect = failure.typed(chat.check, chat, args.dialect)
  terminal.result(args.json and as_json(found, dialect) or as_text(chat, found, dialect), args.output)
  return #found > 0 and FOUND or 0
end

return check
