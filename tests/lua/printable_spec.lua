--- Checks how strangers' texts are made fit for a terminal.

local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"

math.randomseed(helper.seed())

local RANGES = {   -- what is hidden, beside the controls
  0x061C, 0x061C, 0x180E, 0x180E, 0x200B, 0x200B, 0x200E, 0x200F, 0x2028, 0x202E, 0x2060, 0x206F, 0xFEFF, 0xFEFF,
  0xFFF9, 0xFFFB, 0xE0000, 0xE007F,
}

local function is_hidden(point)
  if point < 0x20 or (point >= 0x7F and point <= 0x9F) then return true end
  for i = 1, #RANGES, 2 do
    if point >= RANGES[i] and point <= RANGES[i + 1] then return true end
  end
  return false
end

--- The plain model: one character after the other.
local function expected(bytes, kept)
  local shown, at = {}, 1
  while at <= #bytes do
    local ok, point = pcall(utf8.codepoint, bytes, at)
    local character = ok and utf8.char(point) or bytes:sub(at, at)
    if not ok then shown[#shown + 1] = ("\\x%02X"):format(bytes:byte(at))
    elseif not is_hidden(point) or kept:find(character, 1, true) then shown[#shown + 1] = character
    else shown[#shown + 1] = ({ ["\t"] = "\\t", ["\n"] = "\\n", ["\r"] = "\\r", ["\27"] = "\\e" })[character]
      or ("\\u{%X}"):format(point) end
    at = at + #character
  end
  return table.concat(shown)
end

local function random_text()
  local pieces = {}
  for i = 1, math.random(0, 30) do
    local kind = math.random(5)
    if kind == 1 then pieces[i] = string.char(math.random(0, 255))
    elseif kind == 2 then pieces[i] = utf8.char(RANGES[math.random(#RANGES)] + math.random(-1, 1))
    elseif kind == 3 then pieces[i] = utf8.char(math.random(0x100, 0xD7FF)):sub(1, math.random(3))
    elseif kind == 4 then pieces[i] = ("\0\t\n\r\27\127"):sub(math.random(6)):sub(1, 1)
    else pieces[i] = ("plain "):rep(math.random(3)) end
  end
  return table.concat(pieces)
end

describe("what is printable", function()
  it("is what the plain model shows, in 2,000 random texts", function()
    for _ = 1, 2000 do
      local bytes, kept = random_text(), ({ "", "\n", "\n\t" })[math.random(3)]
      assert.equal(expected(bytes, kept), core.printable(bytes, kept))
    end
  end)

  it("is the same character by character", function()
    for _ = 1, 500 do
      local bytes, shown, at = random_text(), {}, 1
      while at <= #bytes do
        local character, next_at, point = core.printable_character(bytes, at)
        assert.equal(point and utf8.char(point), point and character)
        shown[#shown + 1], at = character, next_at
      end
      assert.equal(core.printable(bytes), table.concat(shown))
    end
  end)

  it("has no character next to the text", function()
    for _, at in ipairs { 0, 4, -1 } do
      assert.is_false((pcall(core.printable_character, "abc", at)))
    end
  end)
end)
