--- Character cards within pictures: PNG and APNG files, whose chunks are walked, never decoded.
--
--     89 50 4E 47 0D 0A 1A 0A   { length, type, data, CRC }*   ... tEXt: "ccv3" NUL base64 of JSON ... IEND
--
-- The first chunk of `ccv3` wins, then that of `chara`, then that of `aiob` (AIO Hub); keywords have any case. Files
-- in further chunks, `chara-ext-asset_:path`, are counted.

local content = require "ebb.import.content"
local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"

local png = { SIGNATURE = "\x89PNG\r\n\x1A\n" }

png.TEXT_BYTES_MAX = 64 * 1024 * 1024   -- of one card, as JSON

local KEYWORDS = { "ccv3", "chara", "aiob" }   -- the first that is there is read
local ASSET = "^chara%-ext%-asset_:"

local crc_table

--- CRC-32 as PNG and zip have it.
local function crc32(bytes)
  if not crc_table then
    crc_table = {}
    for i = 0, 255 do
      local crc = i
      for _ = 1, 8 do crc = crc & 1 == 1 and 0xEDB88320 ~ (crc >> 1) or crc >> 1 end
      crc_table[i] = crc
    end
  end
  local crc = 0xFFFFFFFF
  for i = 1, #bytes do crc = crc_table[(crc ~ bytes:byte(i)) & 0xFF] ~ (crc >> 8) end
  return crc ~ 0xFFFFFFFF
end

local function fail(at, message) refuse("syntax", ("byte %d: %s"):format(at, message), "the file is damaged") end

--- The end of a chunk that begins at `at`; raises if the file ends before it.
---@return string kind
---@return integer size
---@return integer past
local function chunk_at(bytes, at)
  if at + 11 > #bytes then fail(at, "expected a chunk of at least 12 bytes, the file ends") end
  local size, kind = (">I4c4"):unpack(bytes, at)
  if not kind:find "^%a%a%a%a$" then fail(at + 4, "expected the type of a chunk, four letters") end
  if size > 0x7FFFFFFF or at + 11 + size > #bytes then
    fail(at, ("chunk %s: expected %d bytes of data, the file ends after %d"):format(kind, size,
      math.max(0, #bytes - at - 7)))
  end
  return kind, size, at + 12 + size
end

local function check_crc(bytes, at, kind, size)
  local expected = (">I4"):unpack(bytes, at + 8 + size)
  if crc32(bytes:sub(at + 4, at + 7 + size)) ~= expected then
    fail(at + 8 + size, ("chunk %s: its checksum does not fit its data"):format(kind))
  end
end

--- The texts of tEXt chunks by keyword in small letters, the first of each, with the bytes where they begin.
local function texts_of(bytes)
  local texts, assets, at, is_whole = {}, 0, #png.SIGNATURE + 1, false
  while at <= #bytes and not is_whole do
    local kind, size, past = chunk_at(bytes, at)
    if at == #png.SIGNATURE + 1 and kind ~= "IHDR" then fail(at, "expected the chunk IHDR, got " .. kind) end
    if kind == "tEXt" then
      check_crc(bytes, at, kind, size)
      local keyword, past_keyword = bytes:match("^([^\0]*)\0()", at + 8)
      if not keyword or past_keyword > at + 8 + size then fail(at + 8, "expected a keyword and a NUL") end
      local name = keyword:lower()
      if name:find(ASSET) then assets = assets + 1 end
      texts[name] = texts[name] or { at = past_keyword, text = bytes:sub(past_keyword, at + 7 + size) }
    end
    at, is_whole = past, kind == "IEND"
  end
  if not is_whole then fail(at, "expected the chunk IEND, the file ends") end
  return texts, assets, #bytes - at + 1
end

--- Base64, which may be wrapped, URL-safe or without padding.
local function decode(entry, keyword)
  local text = entry.text:gsub("%s+", ""):gsub("-", "+"):gsub("_", "/"):gsub("=+$", "")
  text = text .. ("="):rep(-#text % 4)
  local decoded, problem = core.base64.decode(text, png.TEXT_BYTES_MAX)
  if decoded then return decoded end
  return fail(entry.at, ("chunk tEXt '%s': %s"):format(keyword, problem.message or problem))
end

--- The card in a picture, as JSON text; raises where the file is damaged, or holds none.
---@param bytes string          with the signature
---@param report ebb.import.Report
---@return string json
---@return "ccv3"|"chara"|"aiob" keyword
function png.card(bytes, report)
  local texts, assets, excess = texts_of(bytes)
  report:add("asset of the picture", "left out", nil, assets)
  if excess > 0 then report:add("bytes after the picture", "left out", nil, excess) end
  for i, keyword in ipairs(KEYWORDS) do
    if texts[keyword] then
      local json = decode(texts[keyword], keyword)
      for j = i + 1, #KEYWORDS do
        local other = texts[KEYWORDS[j]]
        if other then
          local same = content.trim(decode(other, KEYWORDS[j])) == content.trim(json)
          report:add("second card", ("chunk %s %s"):format(KEYWORDS[j], same and "is the same" or
            ("gives way to %s"):format(keyword)))
        end
      end
      return json, keyword
    end
  end
  return refuse("shape", "is a picture without a character card", "cards are in chunks ccv3 or chara of a PNG file")
end

return png
