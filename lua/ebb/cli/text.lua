--- Text as a terminal shows it: what is wide, what is dangerous, where to cut.
--
-- Messages come from strangers. Escape sequences and bidirectional controls in
-- them must not reach a terminal, so all that is not printable is shown escaped.

local text = {}

local NAMED = { [0x09] = "\\t", [0x0A] = "\\n", [0x0D] = "\\r", [0x1B] = "\\e" }

-- Ranges of code points, sorted. East Asian wide and fullwidth blocks and emoji.
local WIDE = {
  { 0x1100, 0x115F }, { 0x231A, 0x231B }, { 0x23E9, 0x23EC }, { 0x25FD, 0x25FE }, { 0x2614, 0x2615 },
  { 0x2648, 0x2653 }, { 0x26A1, 0x26A1 }, { 0x26BD, 0x26BE }, { 0x26D4, 0x26D4 }, { 0x2705, 0x2705 },
  { 0x270A, 0x270B }, { 0x2728, 0x2728 }, { 0x274C, 0x274C }, { 0x2753, 0x2755 }, { 0x2757, 0x2757 },
  { 0x2795, 0x2797 }, { 0x2B50, 0x2B50 }, { 0x2B55, 0x2B55 }, { 0x2E80, 0x303E }, { 0x3041, 0x33FF },
  { 0x3400, 0x4DBF }, { 0x4E00, 0xA4CF }, { 0xA960, 0xA97F }, { 0xAC00, 0xD7A3 }, { 0xF900, 0xFAFF },
  { 0xFE30, 0xFE6F }, { 0xFF01, 0xFF60 }, { 0xFFE0, 0xFFE6 }, { 0x16FE0, 0x18DFF }, { 0x1B000, 0x1B2FF },
  { 0x1F004, 0x1F004 }, { 0x1F0CF, 0x1F0CF }, { 0x1F18E, 0x1F19A }, { 0x1F1E6, 0x1F320 }, { 0x1F32D, 0x1F64F },
  { 0x1F680, 0x1F6FF }, { 0x1F7E0, 0x1F7EB }, { 0x1F900, 0x1F9FF }, { 0x1FA70, 0x1FAFF }, { 0x20000, 0x3FFFD },
}

-- Marks that sit on the character before them, joiners and variation selectors.
local NARROW = { { 0x0300, 0x036F }, { 0x200B, 0x200D }, { 0x20D0, 0x20F0 }, { 0xFE00, 0xFE0F }, { 0xE0100, 0xE01EF } }

-- Controls, and what turns the direction of the line.
local HIDDEN = {
  { 0x00, 0x1F }, { 0x7F, 0x9F }, { 0x061C, 0x061C }, { 0x200E, 0x200F }, { 0x2028, 0x202E }, { 0x2066, 0x2069 },
  { 0xFEFF, 0xFEFF },
}

local function within(ranges, point)
  for _, range in ipairs(ranges) do
    if point < range[1] then return false end
    if point <= range[2] then return true end
  end
  return false
end

local function columns_of(point)
  if point < 0x300 then return 1 end
  if within(NARROW, point) then return 0 end
  return within(WIDE, point) and 2 or 1
end

--- What stands in a column of roles.
---@param message ebb.Message
---@return string
function text.kind(message)
  return message.spelling or "window"
end

--- The character at byte `at`: what to show, its columns, and where the next begins.
local function shown(bytes, at)
  local character = bytes:match("^[\0-\x7F\xC2-\xF4][\x80-\xBF]*", at)
  if not character or utf8.len(character) ~= 1 then
    return ("\\x%02X"):format(bytes:byte(at)), 4, at + 1
  end
  local point, next_at = utf8.codepoint(character), at + #character
  if within(HIDDEN, point) then
    local escaped = NAMED[point] or ("\\u{%X}"):format(point)
    return escaped, #escaped, next_at
  end
  return character, columns_of(point), next_at
end

--- The text with all that is not printable escaped; with `lines`, newlines stay.
---@param bytes string
---@param lines? boolean
---@return string
function text.printable(bytes, lines)
  if not bytes:find "[^\x20-\x7E]" then return bytes end
  local pieces, at = {}, 1
  while at <= #bytes do
    local piece, _, next_at = shown(bytes, at)
    pieces[#pieces + 1] = lines and piece == "\\n" and "\n" or piece
    at = next_at
  end
  return table.concat(pieces)
end

--- The first bytes of a text, cut between characters.
---@param bytes string       UTF-8
---@param size integer
---@return string
function text.head(bytes, size)
  if #bytes <= size then return bytes end
  while size > 0 and bytes:find("^[\x80-\xBF]", size + 1) do
    size = size - 1
  end
  return bytes:sub(1, size)
end

--- The beginning of a text, printable, in at most `columns` columns. Reads no
--- more of it than is shown.
---@param bytes string
---@param columns integer
---@return string cut         ends with … if something is missing
---@return integer used       columns
function text.cut(bytes, columns)
  local plain = bytes:find "[^\x20-\x7E]" or #bytes + 1   -- before it a byte is a column
  if plain > #bytes and #bytes <= columns then return bytes, #bytes end
  if columns < 1 then return "", 0 end
  if plain > columns then return bytes:sub(1, columns - 1) .. "…", columns end

  local pieces, used, at = { bytes:sub(1, plain - 1) }, plain - 1, plain
  local fitting, fitting_used = 1, used     -- pieces that leave a column for the …
  while at <= #bytes do
    local piece, width, next_at = shown(bytes, at)
    if used + width > columns then
      return table.concat(pieces, "", 1, fitting) .. "…", fitting_used + 1
    end
    pieces[#pieces + 1], used, at = piece, used + width, next_at
    if used < columns then fitting, fitting_used = #pieces, used end
  end
  return table.concat(pieces), used
end

return text
