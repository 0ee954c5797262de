--- Texts of strangers as a terminal may show them: escape sequences, controls and what turns
--- the direction of a line are written out, and so is what no terminal draws.

local printable = {}

local NAMED = { [0x09] = "\\t", [0x0A] = "\\n", [0x0D] = "\\r", [0x1B] = "\\e" }

-- Ranges of code points, sorted: controls, what turns the direction of a line, and
-- what no terminal draws, such as the tags that can hide a text inside another.
local HIDDEN = {
  { 0x00, 0x1F }, { 0x7F, 0x9F }, { 0x061C, 0x061C }, { 0x180E, 0x180E }, { 0x200B, 0x200B }, { 0x200E, 0x200F },
  { 0x2028, 0x202E }, { 0x2060, 0x206F }, { 0xFEFF, 0xFEFF }, { 0xFFF9, 0xFFFB }, { 0xE0000, 0xE007F },
}

local function is_hidden(point)
  for _, range in ipairs(HIDDEN) do
    if point < range[1] then return false end
    if point <= range[2] then return true end
  end
  return false
end

--- The character at byte `at` as it is shown, and the byte after it.
---@param bytes string
---@param at integer
---@return string shown
---@return integer next_at
---@return integer? point      of a character that is shown as it is
function printable.character(bytes, at)
  local character = bytes:match("^[\0-\x7F\xC2-\xF4][\x80-\xBF]*", at)
  if not character or utf8.len(character) ~= 1 then return ("\\x%02X"):format(bytes:byte(at)), at + 1 end
  local point, next_at = utf8.codepoint(character), at + #character
  if is_hidden(point) then return NAMED[point] or ("\\u{%X}"):format(point), next_at end
  return character, next_at, point
end

--- The text with everything that is not printable escaped, but for the characters in `kept`.
---@param bytes string
---@param kept? string         "\n\t"
---@return string
function printable.text(bytes, kept)
  local pieces, at = {}, 1
  while true do
    local after = bytes:find("[^\x20-\x7E]", at)
    if not after and at == 1 then return bytes end
    pieces[#pieces + 1] = bytes:sub(at, (after or 0) - 1)
    if not after then return table.concat(pieces) end
    local character = bytes:sub(after, after)
    if kept and kept:find(character, 1, true) then pieces[#pieces + 1], at = character, after + 1
    else pieces[#pieces + 1], at = printable.character(bytes, after) end
  end
end

return printable
