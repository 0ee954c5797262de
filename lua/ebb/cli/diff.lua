--- ebb diff: what two conversations do not have in common.
--
-- Like `diff` it says nothing and answers 0 when there is no difference, and
-- answers 1 when there is one. Only messages are compared, not the request
-- around them.

local lcs = require "ebb.support.lcs"
local core = require "ebb.support.core"
local difference = require "ebb.conversation.difference"
local failure = require "ebb.cli.failure"
local options = require "ebb.cli.options"
local terminal = require "ebb.cli.terminal"
local text = require "ebb.cli.text"

local diff = {}

local DIFFERENT = 1       -- exit code
local TEXT_READ = 2048    -- bytes of a message's text that are looked at for one line
local LINES_MAX = 40      -- lines shown of one changed text
local CONTEXT = 20        -- bytes shown of a line before the place where it differs
local WIDTH_MIN = 20

local COLOURS = { removed = "dropped", added = "inserted", changed = "replaced" }

function diff.declare(parser)
  parser:argument("a", "JSON array, JSONL or request body; - is standard input.")
  parser:argument("b", "The one to compare it with.")
  options.output(parser)
  options.json(parser)
  options.reading(parser)
end

---- As text ----

--- Where two lines begin to differ, less some context, at a character's first byte.
local function start_of(old, new)
  local at = 1
  while at <= #old and old:byte(at) == new:byte(at) do
    at = at + 1
  end
  at = at - CONTEXT
  while at > 1 and old:find("^[\x80-\xBF]", at) do
    at = at - 1
  end
  return math.max(at, 1)
end

---@class ebb.cli.DiffPage
---@field lines string[]
---@field width integer
---@field paint fun(kind: string, line: string): string

local function add(page, kind, head, body)
  local line = head .. text.cut(body, math.max(page.width - #head, WIDTH_MIN))
  page.lines[#page.lines + 1] = page.paint(kind, (line:gsub(" +$", "")))
end

--- Lines that went and came between two that stayed. Each is shown from where
--- it differs from its opposite, so that a change far right can be seen.
local function add_lines(page, gone, came)
  local starts = {}
  for n = 1, math.min(#gone, #came) do
    starts[n] = start_of(gone[n], came[n])
  end
  for _, side in ipairs { { "removed", "    - ", gone }, { "added", "    + ", came } } do
    for n, line in ipairs(side[3]) do
      local start = starts[n] or 1
      add(page, side[1], side[2], start > 1 and "…" .. line:sub(start) or line)
    end
  end
end

local function split(bytes)
  local lines = {}
  for line in (bytes .. "\n"):gmatch "(.-)\n" do
    lines[#lines + 1] = line
  end
  return lines
end

local function add_text(page, before, after)
  if before == after then return end
  local old, new = split(before), split(after)
  local gone, came, left = {}, {}, LINES_MAX
  for i, j in lcs.steps(lcs.of(old, new), #old, #new) do
    if i > 0 and j > 0 then
      add_lines(page, gone, came)
      gone, came = {}, {}
    else
      left = left - 1
      if left >= 0 and i > 0 then gone[#gone + 1] = old[i] end
      if left >= 0 and j > 0 then came[#came + 1] = new[j] end
    end
  end
  add_lines(page, gone, came)
  if left < 0 then add(page, "changed", "    ", ("and %d more lines"):format(-left)) end
end

--- What one line can say of a message: its text, or what it has instead.
local function gist(message)
  local words = message.window or message.text
  return text.head(words ~= "" and words or message.json, TEXT_READ)
end

local function kind_of(message)
  return message.role or "window"
end

local WRITE = {
  removed = function(page, entry)
    add(page, "removed", ("- %d %s: "):format(entry.a, kind_of(entry.before)), gist(entry.before))
  end,

  added = function(page, entry)
    add(page, "added", ("+ %d %s: "):format(entry.b, kind_of(entry.after)), gist(entry.after))
  end,

  changed = function(page, entry)
    local what = table.concat(entry.fields, ", ")
    if entry.moved then what = what == "" and "moved" or "moved, " .. what end
    add(page, "changed", ("~ %d -> %d %s: "):format(entry.a, entry.b, kind_of(entry.after)), what)
    add_text(page, entry.before.text, entry.after.text)
  end,
}

local function counts_of(found)
  local counts = { removed = 0, added = 0, changed = 0 }
  for _, entry in ipairs(found) do
    counts[entry.kind] = counts[entry.kind] + 1
  end
  return counts
end

local function as_text(args, found)
  if #found == 0 then return "" end
  local page = { lines = {}, width = terminal.columns(true) }
  page.paint = function(kind, line)
    return args.output and line or terminal.colour(COLOURS[kind], line, true)
  end
  for _, entry in ipairs(found) do
    WRITE[entry.kind](page, entry)
  end
  local counts = counts_of(found)
  local line = "%d only in %s, %d only in %s, %d changed"
  line = line:format(counts.removed, args.a, counts.added, args.b, counts.changed)
  page.lines[#page.lines + 1] = text.printable(line)
  return table.concat(page.lines, "\n") .. "\n"
end

--- The differences alone, for standard error.
---@param found ebb.Difference[]
---@return string
function diff.lines(found)
  local page = { lines = {}, width = terminal.columns() }
  page.paint = function(kind, line) return terminal.colour(COLOURS[kind], line) end
  for _, entry in ipairs(found) do
    WRITE[entry.kind](page, entry)
  end
  return table.concat(page.lines, "\n") .. "\n"
end

---- As JSON ----

local function exact(message)
  return message and core.json.raw(message.json)
end

local function as_json(args, found, size_a, size_b)
  local differences = core.json.array {}
  for n, entry in ipairs(found) do
    differences[n] = {
      kind = entry.kind, a = entry.a, b = entry.b, moved = entry.moved,
      before = exact(entry.before), after = exact(entry.after),
      fields = entry.fields and core.json.array(entry.fields),
    }
  end
  local data = {
    a = { file = args.a, messages = size_a }, b = { file = args.b, messages = size_b },
    equal = #found == 0, differences = differences,
  }
  return core.json.encode(data, { indent = 2 }) .. "\n"
end

function diff.run(args)
  if args.a == "-" and args.b == "-" then
    failure.usage("standard input can be only one of the two", "name a file for the other")
  end
  local a, b = options.load(args.a, args), options.load(args.b, args)
  local found = difference.of(a, b)
  terminal.result(args.json and as_json(args, found, #a, #b) or as_text(args, found), args.output)
  return #found > 0 and DIFFERENT or 0
end

return diff
