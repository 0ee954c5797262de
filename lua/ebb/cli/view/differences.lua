--- Shows differences of two lists of messages as lines: those removed and added, and the lines of texts that changed.

local lcs = require "ebb.support.lcs"
local text = require "ebb.cli.view.text"
local transcript = require "ebb.conversation.transcript"

local differences_view = {}

local LINES_MAX = 40      -- lines shown of one changed text
local CONTEXT = 20        -- bytes shown of a line before the place where it differs
local BLOCK = 64          -- bytes that are compared at once

local COLOURS = { removed = "dropped", added = "inserted", changed = "replaced" }

--- The position at which two lines begin to differ, less some context; the first byte of a character.
local function start_of(old, new)
  local at, most = 1, math.min(#old, #new)
  if most <= CONTEXT then return 1 end
  while at + BLOCK <= most and old:sub(at, at + BLOCK) == new:sub(at, at + BLOCK) do
    at = at + BLOCK
  end
  while at <= #old and old:byte(at) == new:byte(at) do
    at = at + 1
  end
  at = at - CONTEXT
  while at > 1 and old:find("^[\x80-\xBF]", at) do
    at = at - 1
  end
  return math.max(at, 1)
end

---@class ebb.cli.DiffView
---@field lines string[]
---@field kinds string[]      of each line: what it tells, for its colour
---@field page ebb.cli.Page

local function add(view, kind, line)
  if line:byte(-1) == 32 then line = line:match "^.*[^ ]" end
  local n = #view.lines + 1
  view.lines[n], view.kinds[n] = line, kind
end

--- The lines in one text, printable, cut and coloured. Those of most conversations are plain, which one search tells.
local function show(view)
  local page, lines = view.page, view.lines
  local is_plain = page.width == math.maxinteger and not table.concat(lines, " "):find "[^ -~]"
  if not is_plain or page.coloured then
    for n, line in ipairs(lines) do
      lines[n] = page.paint(COLOURS[view.kinds[n]], (text.cut(line, page.width)))
    end
  end
  return table.concat(lines, "\n")
end

local HEADS = { removed = "    - ", added = "    + " }

--- Writes the beginning of a line, and from `start` on the rest.
local function add_line(view, kind, line, start)
  add(view, kind, HEADS[kind] .. (start > 1 and "…" .. line:sub(start) or line))
end

--- Writes the old and new lines between two equal ones. Each is shown from the place where
--- it differs from its opposite, so that a change far right is visible.
local function add_lines(view, old_lines, new_lines)
  local starts = {}
  for n = 1, math.min(#old_lines, #new_lines) do
    starts[n] = start_of(old_lines[n], new_lines[n])
  end
  for n, line in ipairs(old_lines) do add_line(view, "removed", line, starts[n] or 1) end
  for n, line in ipairs(new_lines) do add_line(view, "added", line, starts[n] or 1) end
end

local function split(bytes)
  local lines = {}
  for line in (bytes .. "\n"):gmatch "(.-)\n" do
    lines[#lines + 1] = line
  end
  return lines
end

local function add_text(view, before, after)
  if before == after then return end
  if not (before:find("\n", 1, true) or after:find("\n", 1, true)) then
    local start = start_of(before, after)
    add_line(view, "removed", before, start)
    return add_line(view, "added", after, start)
  end
  local old, new = split(before), split(after)
  local old_lines, new_lines, lines_left = {}, {}, LINES_MAX
  for i, j in lcs.steps(lcs.match(old, new), #old, #new) do
    if i > 0 and j > 0 then
      add_lines(view, old_lines, new_lines)
      old_lines, new_lines = {}, {}
    else
      lines_left = lines_left - 1
      if lines_left >= 0 and i > 0 then old_lines[#old_lines + 1] = old[i] end
      if lines_left >= 0 and j > 0 then new_lines[#new_lines + 1] = new[j] end
    end
  end
  add_lines(view, old_lines, new_lines)
  if lines_left < 0 then add(view, "changed", ("    and %d more lines"):format(-lines_left)) end
end

local function kind_of(message)
  return message.role or "window"
end

--- The text of a message, and a line for each of its calls.
local function text_of(message)
  return #message.calls == 0 and message.text or transcript.line(message, "\n")
end

local WRITE = {
  removed = function(view, entry)
    add(view, "removed", ("- %d %s: %s"):format(entry.a, kind_of(entry.before), transcript.line(entry.before)))
  end,

  added = function(view, entry)
    add(view, "added", ("+ %d %s: %s"):format(entry.b, kind_of(entry.after), transcript.line(entry.after)))
  end,

  changed = function(view, entry)
    local what = table.concat(entry.fields, ", ")
    if entry.moved then what = what == "" and "moved" or "moved, " .. what end
    add(view, "changed", ("~ %d -> %d %s: %s"):format(entry.a, entry.b, kind_of(entry.after), what))
    add_text(view, text_of(entry.before), text_of(entry.after))
  end,
}

--- The differences as lines, without a newline at the end.
---@param differences ebb.Difference[]
---@param page ebb.cli.Page
---@param most? integer          the most to show, followed by the number of others; default: all
---@return string
function differences_view.lines(differences, page, most)
  local view = { lines = {}, kinds = {}, page = page }
  local shown = math.min(#differences, most or #differences)
  for i = 1, shown do
    WRITE[differences[i].kind](view, differences[i])
  end
  if shown < #differences then add(view, "changed", ("and %d more messages"):format(#differences - shown)) end
  return show(view)
end

return differences_view
