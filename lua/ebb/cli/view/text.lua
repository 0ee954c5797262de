--- Text as a terminal shows it: what is wide, what is dangerous, where to cut.
--
-- Messages come from strangers. Escape sequences and bidirectional controls in
-- them must not reach a terminal, so all that is not printable is shown escaped.

local host = require "ebb.host"
local core = require "ebb.support.core"

local text = {}

local EMOJI_STYLE = 0xFE0F   -- after a narrow character: some terminals draw it wide

local cells_by_point = {}   -- by code point

local function cells_of(point)
  local cells = cells_by_point[point]
  if not cells then
    cells = point == EMOJI_STYLE and 1 or host.cells(point)
    cells_by_point[point] = cells
  end
  return cells
end

--- The word of a column of roles.
---@param message ebb.Message
---@return string
function text.kind(message)
  return message.spelling or "window"
end

--- A count with its noun: "1 message", "2 messages".
text.count = require "ebb.support.quantity"

--- The seq for a column: "" where it is the position.
---@param index integer
---@param seq integer
---@return string
function text.seq(index, seq)
  return seq ~= index and tostring(seq) or ""
end

--- The character at byte `at` as it is shown, its cells, and the byte after it.
local function visible(bytes, at)
  local shown, next_at, point = core.printable_character(bytes, at)
  if not point then return shown, #shown, next_at end
  return shown, point < 0x7F and 1 or cells_of(point), next_at
end

--- Returns the text to show at byte `at`, its cells, and the byte after it: a run of plain
--- characters of at most `room` cells, or one other character of any width.
local function shown_run(bytes, at, room)
  local after = bytes:find("[^\x20-\x7E]", at) or #bytes + 1
  if after == at then return visible(bytes, at) end
  local cells = math.min(after - at, math.max(room, 1))
  return bytes:sub(at, at + cells - 1), cells, at + cells
end

--- The text with everything that is not printable escaped; with `lines`, newlines stay.
---@param bytes string
---@param lines? boolean
---@return string
function text.printable(bytes, lines) return core.printable(bytes, lines and "\n" or nil) end

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

--- A text of strangers as HTML shows it: no markup, no hidden characters.
---@param bytes any
---@return string
function text.html(bytes) return (text.printable(tostring(bytes), true):gsub('[&<>"]', ENTITIES)) end

--- The browser loads and runs nothing for a page but its style.
local PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

--- A whole page of HTML, which needs no other file.
---@param title string       plain text
---@param style string       CSS
---@param body string[]      pieces of HTML, a line each
---@return string html
function text.page(title, style, body)
  return table.concat({
    "<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
    ('<meta http-equiv="Content-Security-Policy" content="%s">'):format(PAGE_POLICY),
    ("<title>%s</title>"):format(text.html(title)), "<style>" .. style .. "</style></head><body>",
    table.concat(body, "\n"), "</body></html>", "",
  }, "\n")
end

--- A character from DEL on as JSON escapes it, if a terminal should not get it; else nil.
local function escape_in_json(character)
  local ok, point = pcall(utf8.codepoint, character)
  if not ok or core.printable(character) == character then return not ok and core.printable(character) or nil end
  if point <= 0xFFFF then return ("\\u%04X"):format(point) end
  return ("\\u%04X\\u%04X"):format(0xD800 + (point - 0x10000 >> 10), 0xDC00 + (point - 0x10000 & 0x3FF))
end

--- Lines that hold JSON, or escape sequences of our own, for a terminal: what is hidden in them from DEL on is written
--- as JSON escapes it.
---@param lines string
---@return string
function text.escaped(lines) return (lines:gsub("[\x7F-\xFF][\x80-\xBF]*", escape_in_json)) end

--- The beginning of a text, printable, in at most `room` cells.
---@param bytes string
---@param room integer
---@return string cut         ends with … if something is missing
---@return integer cells
function text.cut(bytes, room)
  if room < 1 then return "", 0 end
  if #bytes <= room and not bytes:find "[^ -~]" then return bytes, #bytes end      -- most texts of a table
  local pieces, used, at = {}, 0, 1
  local fitting, fitting_used = 0, 0        -- pieces that leave a cell for the …
  while at <= #bytes do
    local piece, cells, next_at = shown_run(bytes, at, room - 1 - used)
    if used + cells > room then
      return table.concat(pieces, "", 1, fitting) .. "…", fitting_used + 1
    end
    pieces[#pieces + 1], used, at = piece, used + cells, next_at
    if used < room then fitting, fitting_used = #pieces, used end
  end
  return table.concat(pieces), used
end

--- The cells of a text as `printable` shows it.
---@param bytes string
---@return integer
function text.cells(bytes)
  local _, cells = text.cut(bytes, math.maxinteger)
  return cells
end

--- The printable beginning of a text that fits `room` cells, and what follows it.
local function break_at(bytes, room)
  local used, at = 0, 1
  while at <= #bytes do
    local _, cells, next_at = visible(bytes, at)
    if used + cells > room and at > 1 then break end
    used, at = used + cells, next_at
  end
  return bytes:sub(1, at - 1), bytes:sub(at)
end

--- Adds a word to the lines; one that is longer than a line is broken inside.
local function add_word(lines, line, word, room, indent)
  local cells = text.cells(word)
  while line.cells + cells > room and cells > 1 do
    local head, rest = break_at(word, math.max(room - line.cells, 1))
    if rest == "" then break end
    lines[#lines + 1] = line.text .. head
    line.text, line.cells, word, cells = indent, #indent, rest, text.cells(rest)
  end
  line.text, line.cells, line.begun = line.text .. word, line.cells + cells, true
end

--- A text broken at spaces, and inside of longer words, into lines of at most `room`
--- cells. Its newlines are kept; all else that is not printable is escaped.
---@param bytes string
---@param room integer
---@param indent? string      of each line that continues another
---@return string[] lines
function text.wrap(bytes, room, indent)
  local lines = {}
  indent = #(indent or "") < room and indent or ""
  for paragraph in (text.printable(bytes, true) .. "\n"):gmatch "(.-)\n" do
    local line = { text = "", cells = 0, begun = false }
    for space, word in paragraph:gmatch "( *)([^ ]+)" do
      if line.begun and line.cells + #space + text.cells(word) > room then
        lines[#lines + 1] = line.text
        line, space = { text = indent, cells = #indent, begun = false }, ""
      end
      line.text, line.cells = line.text .. space, line.cells + #space
      add_word(lines, line, word, room, indent)
    end
    lines[#lines + 1] = line.text
  end
  return lines
end

return text
