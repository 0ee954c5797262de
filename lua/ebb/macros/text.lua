--- Texts by character. Whatever bytes come in, no character is torn; a byte that
-- is no UTF-8 passes through as it is.
--
-- Upper and lower case come from ranges, not from a table of all characters:
-- Latin, Greek, Cyrillic, Armenian and full-width letters, which is what has
-- two cases and is written today.

local core = require "ebb.support.core"
local lpeg = require "ebb.support.lpeg"

local text = {}

local R = lpeg.R
local more = R "\x80\xBF"

--- One character, or one invalid byte; gives the position after it.
local CHARACTER = lpeg.compiled((
  R "\0\x7F" + R "\xC2\xDF" * more + "\xE0" * R "\xA0\xBF" * more + "\xED" * R "\x80\x9F" * more
  + R("\xE1\xEC", "\xEE\xEF") * more * more + "\xF0" * R "\x90\xBF" * more * more
  + R "\xF1\xF3" * more * more * more + "\xF4" * R "\x80\x8F" * more * more + 1) * lpeg.Cp())

local WIDE = "[\xC2-\xF4][\x80-\xBF]+"   -- a character beyond ASCII

--- first, last (of the capitals), distance to the small letter, step.
local CASES = {
  { 0xC0, 0xD6, 32, 1 }, { 0xD8, 0xDE, 32, 1 },                                      -- Latin-1
  { 0x100, 0x12E, 1, 2 }, { 0x132, 0x136, 1, 2 }, { 0x139, 0x147, 1, 2 },            -- Latin Extended-A
  { 0x14A, 0x176, 1, 2 }, { 0x179, 0x17D, 1, 2 }, { 0x218, 0x21E, 1, 2 },
  { 0x386, 0x386, 38, 1 }, { 0x388, 0x38A, 37, 1 }, { 0x38C, 0x38C, 64, 1 }, { 0x38E, 0x38F, 63, 1 },   -- Greek
  { 0x391, 0x3A1, 32, 1 }, { 0x3A3, 0x3AB, 32, 1 },
  { 0x400, 0x40F, 80, 1 }, { 0x410, 0x42F, 32, 1 }, { 0x460, 0x480, 1, 2 }, { 0x48A, 0x4BE, 1, 2 },     -- Cyrillic
  { 0x4C0, 0x4C0, 15, 1 }, { 0x4C1, 0x4CD, 1, 2 }, { 0x4D0, 0x52E, 1, 2 },
  { 0x531, 0x556, 48, 1 },                                                           -- Armenian
  { 0x1E00, 0x1E94, 1, 2 }, { 0x1EA0, 0x1EFE, 1, 2 },                                -- Latin Extended Additional
  { 0xFF21, 0xFF3A, 32, 1 },                                                         -- full width
}

local to_lower, to_upper

--- Makes the tables of letters, which most runs do not need, on first use.
local function letters()
  if to_lower then return end
  to_lower, to_upper = {}, {}
  for _, case in ipairs(CASES) do
    for code = case[1], case[2], case[4] do
      to_lower[utf8.char(code)] = utf8.char(code + case[3])
      to_upper[utf8.char(code + case[3])] = utf8.char(code)
    end
  end
  for i = 0, 25 do
    to_lower[string.char(65 + i)], to_upper[string.char(97 + i)] = string.char(97 + i), string.char(65 + i)
  end
  to_upper["\u{3C2}"] = "\u{3A3}"                                   -- the sigma at a word's end
  to_upper["\u{FF}"], to_lower["\u{178}"] = "\u{178}", "\u{FF}"     -- y with diaeresis
end

---@param s string
---@return string
function text.upper(s)
  letters()
  return (s:gsub("[a-z]", to_upper):gsub(WIDE, to_upper))
end

---@param s string
---@return string
function text.lower(s)
  letters()
  return (s:gsub("[A-Z]", to_lower):gsub(WIDE, to_lower))
end

--- The first character in upper case, the others as they are.
---@param s string
---@return string
function text.capitalize(s)
  letters()
  return (s:gsub("^[a-z]", to_upper):gsub("^" .. WIDE, to_upper))
end

local function characters(s)
  local list, n, position = {}, 0, 1
  while position <= #s do
    local after = CHARACTER:match(s, position)
    n = n + 1
    list[n] = s:sub(position, after - 1)
    position = after
  end
  return list, n
end

---@param s string
---@return integer
function text.length(s)
  local length = utf8.len(s)
  if length then return length end
  local _, n = characters(s)
  return n
end

--- The first `count` characters.
---@param s string
---@param count integer
---@return string
function text.first(s, count)
  local position = 1
  while count > 0 and position <= #s do
    position = CHARACTER:match(s, position)
    count = count - 1
  end
  return s:sub(1, position - 1)
end

--- The beginning of a text for a message: `size` bytes, no character torn.
---@param s string
---@param size integer
---@return string
function text.short(s, size)
  if #s <= size then return s end
  while size > 0 and s:byte(size + 1) & 0xC0 == 0x80 do
    size = size - 1
  end
  return s:sub(1, size) .. "..."
end

--- True if a character belongs to the one before it: accents, variation selectors,
--- skin tones, and whatever a joiner joins.
local function attached(character, before)
  if #character == 1 then return false end
  if before == "\u{200D}" then return true end
  local ok, code = pcall(utf8.codepoint, character)
  if not ok then return false end
  return code >= 0x300 and code <= 0x36F or code == 0x200D or code >= 0xFE00 and code <= 0xFE0F
    or code >= 0x1F3FB and code <= 0x1F3FF or code == 0x20E3
end

--- Reverses a text by character, with combining marks after their character.
---@param s string
---@return string
function text.reverse(s)
  if not s:find "[\x80-\xFF]" then return s:reverse() end
  local list, n = characters(s)
  local parts, last = {}, n
  for i = n, 1, -1 do
    if not attached(list[i], list[i - 1]) then
      parts[#parts + 1] = table.concat(list, "", i, last)
      last = i - 1
    end
  end
  if last > 0 then parts[#parts + 1] = table.concat(list, "", 1, last) end
  return table.concat(parts)
end

--- The text with `with` in all places where `find` occurs; neither is a pattern.
---@param s string
---@param find string
---@param with string
---@return string
function text.replace(s, find, with)
  local parts, from = {}, 1
  while true do
    local first, last = s:find(find, from, true)
    if not first then break end
    parts[#parts + 1] = s:sub(from, first - 1)
    parts[#parts + 1] = with
    from = last + 1
  end
  parts[#parts + 1] = s:sub(from)
  return table.concat(parts)
end

--- Counts `find` in the text, without overlaps.
---@param s string
---@param find string
---@return integer
function text.count(s, find)
  local count, from = 0, 1
  while true do
    local _, last = s:find(find, from, true)
    if not last then return count end
    count, from = count + 1, last + 1
  end
end

--- A number without a needless fraction.
---@param number number
---@return string
function text.of_number(number)
  local integer = math.tointeger(number)
  return integer and ("%d"):format(integer) or (core.tostring(number):gsub("%.0$", ""))
end

--- Sample dialogue as one text: the blocks that lines <START> begin, an empty line between them.
---@param s string
---@return string
function text.dialogue(s)
  if not s:find "<[Ss][Tt][Aa][Rr][Tt]>" then return s end
  local blocks = {}
  for block in (s:gsub("<[Ss][Tt][Aa][Rr][Tt]>", "\0") .. "\0"):gmatch "([^\0]*)\0" do
    local trimmed = block:match "^%s*(.-)%s*$"
    if trimmed ~= "" then blocks[#blocks + 1] = trimmed end
  end
  return table.concat(blocks, "\n\n")
end

-- ---- White space: that of ASCII, and the wide blank of Chinese and Japanese ----

local WIDE_BLANK = "\u{3000}"

---@param s string
---@return string
function text.strip_left(s)
  local from = 1
  while true do
    from = s:find("[^ \t\r\n\v\f]", from) or #s + 1
    if s:sub(from, from + 2) ~= WIDE_BLANK then return from == 1 and s or s:sub(from) end
    from = from + 3
  end
end

--- Cuts blanks from the end, byte by byte: a pattern anchored there only begins again at each blank.
---@param s string
---@return string
function text.strip_right(s)
  local last = #s
  while last > 0 do
    local byte = s:byte(last)
    if byte == 32 or byte >= 9 and byte <= 13 then
      last = last - 1
    elseif s:sub(last - 2, last) == WIDE_BLANK and last >= 3 then
      last = last - 3
    else
      break
    end
  end
  return last == #s and s or s:sub(1, last)
end

return text
