--- ebb check: the messages that a provider would refuse, and why.

local conversations = require "ebb.cli.conversations"
local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.grid"
local json_text = require "ebb.cli.json_text"
local options = require "ebb.cli.options"
local outgoing = require "ebb.cli.outgoing"
local terminal = require "ebb.cli.terminal"
local text = require "ebb.cli.text"

local check = {}

local VIOLATED = 1     -- exit status

function check.declare(parser)
  options.input(parser)
  outgoing.declare_dialect(parser)
  options.output(parser)
  options.json(parser)
  options.reading(parser)
  parser:epilog(options.examples { "ebb check chat.json", "ebb check chat.json --dialect anthropic --json" })
end

local function as_json(violations, dialect)
  local list = core.json.array(table.move(violations, 1, #violations, 1, {}))
  return json_text.format({ dialect = dialect, violations = list })
end

local COLUMNS = {
  { title = "pos", right = true }, { title = "seq", right = true, rank = 2 }, { title = "role", max = 12, min = 6 },
  { title = "violation", min = 12 }, { title = "what", wrap = true },
}

--- A line per kind of violation that says what to do.
local function hints(violations)
  local seen, lines = {}, {}
  for _, violation in ipairs(violations) do
    if not seen[violation.code] then
      seen[violation.code] = true
      lines[#lines + 1] = ("%s: %s"):format(violation.code, violation.hint)
    end
  end
  return table.concat(lines, "\n")
end

local function as_text(chat, violations, dialect, page)
  if #violations == 0 then
    local line = ("%s, nothing that %s would refuse"):format(text.count(#chat, "message"), dialect)
    return page.paint("good", terminal.fill(page, line))
  end
  local rows = {}
  for i, violation in ipairs(violations) do
    rows[i] = { tostring(violation.index), text.seq(violation.index, violation.seq), text.kind(chat[violation.index]),
      violation.code,
      violation.text }
  end
  local figures = ("%s in %s, by the rules of %s"):format(text.count(#violations, "violation"),
    text.count(#chat, "message"), dialect)
  return ("%s\n%s%s"):format(grid.render(COLUMNS, rows, page), terminal.fill(page, figures),
    terminal.fill(page, hints(violations), "  "))
end

function check.run(args)
  local many = conversations.open(args.file, args)
  if many then return require("ebb.cli.check_many").run(args, many) and VIOLATED or 0 end
  local chat = options.load(args.file, args)
  local violations, dialect = failure.typed(chat.check, chat, args.dialect)
  terminal.report(args.json and as_json(violations, dialect)
    or as_text(chat, violations, dialect, terminal.results(args.output)), args.output)
  return #violations > 0 and VIOLATED or 0
end

return check
