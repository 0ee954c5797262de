--- ebb check of a file of many conversations: each kind of violation once, with its number and its first place.
--
-- A file may have more violations than memory holds; kinds are few.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.view.grid"
local outgoing = require "ebb.cli.io.outgoing"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

local check_many = {}

---@class ebb.cli.ViolationKind
---@field code string
---@field dialect string
---@field count integer
---@field conversations integer   that have it
---@field line integer            of the first
---@field index? integer          of its message there; nil: in the request's other members
---@field text string             what it says
---@field hint string
---@field severity ebb.Severity
---@field servers string
---@field source string

--- Counts a conversation's violations.
local function add(kinds, violations, dialect, line)
  local in_this = {}
  for _, violation in ipairs(violations) do
    local key = dialect .. "\0" .. violation.code
    local kind = kinds[key]
    if not kind then
      kind = { code = violation.code, dialect = dialect, count = 0, conversations = 0, line = line,
        index = violation.index, text = violation.text, hint = violation.hint, severity = violation.severity,
        servers = violation.servers, source = violation.source }
      kinds[key], kinds[#kinds + 1] = kind, kind
    end
    kind.count = kind.count + 1
    if not in_this[kind] then in_this[kind], kind.conversations = true, kind.conversations + 1 end
  end
end

local COLUMNS = {
  { title = "count", right = true }, { title = "in", right = true }, { title = "first line", right = true },
  { title = "pos", right = true }, { title = "dialect" }, { title = "violation", min = 12 },
  { title = "what the first one says", wrap = true },
}

local function as_text(kinds, count, page)
  if #kinds == 0 then
    return page.paint("good", terminal.fill(page, ("%s, nothing that would be refused"):format(
      text.count(count, "conversation"))))
  end
  local rows, lines = {}, {}
  for i, kind in ipairs(kinds) do
    rows[i] = { tostring(kind.count), tostring(kind.conversations), tostring(kind.line), tostring(kind.index or "-"),
      kind.dialect, kind.code, kind.text }
    lines[i] = ("%s: %s"):format(kind.code, kind.hint)
  end
  local figures = ("%s of violations in %s"):format(text.count(#kinds, "kind"), text.count(count, "conversation"))
  return ("%s\n%s%s"):format(grid.render(COLUMNS, rows, page), terminal.fill(page, figures),
    terminal.fill(page, table.concat(lines, "\n"), "  "))
end

--- Checks each conversation.
---@param args table
---@param many ebb.cli.Conversations
---@return ebb.cli.CheckedFile
function check_many.run(args, many)
  local kinds, goal = {}, outgoing.target(args)
  goal.severity = args.strict and "strict" or "refused"
  for chat, result in many:each() do
    local violations, dialect = failure.typed(chat.check, chat, goal)
    add(kinds, violations, dialect, result.line)
  end
  many:finish()
  local list, violated = table.move(kinds, 1, #kinds, 1, {}), 0
  for _, kind in ipairs(list) do violated = violated + kind.count end
  return {
    violated = violated, data = { conversations = many.count, violations = core.json.array(list) },
    text = not args.json and as_text(list, many.count, terminal.results(args.output)) or nil,
  }
end

return check_many
