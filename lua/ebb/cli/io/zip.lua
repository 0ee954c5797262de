--- One file out of a zip archive, as gzip has it: CHARX, character cards of version 3, are archives with a card.json.
--
--     { local header, name, data }*   { entry of the list: method, CRC, sizes, offset, name }*   end record
--
-- The list at the end is read. Data are deflated or stored, so that gzip's header and trailer around them make a file
-- that is unpacked, and its CRC checked, as any other.

local zip = { SIGNATURE = "PK\3\4" }

local ENTRY, END = "PK\1\2", "PK\5\6"
local LOCAL_BYTES, ENTRY_BYTES, END_BYTES = 30, 46, 22
local COMMENT_REACH = 65535              -- bytes of the longest comment after the end record
local STORED, DEFLATED, ENCRYPTED = 0, 8, 1
local BLOCK_BYTES = 65535                -- of deflate's stored blocks

--- The position of the end record, whose comment ends the file; nil if the bytes are no whole archive.
local function find_end(bytes)
  local at = math.max(1, #bytes - END_BYTES - COMMENT_REACH + 1)
  while true do
    at = bytes:find(END, at, true)
    if not at or at + END_BYTES - 1 > #bytes then return nil end
    if at + END_BYTES - 1 + ("<I2"):unpack(bytes, at + 20) == #bytes then return at end
    at = at + 1
  end
end

--- The entry of a name in the list; nil if there is none.
---@return { method: integer, flags: integer, crc: integer, packed: integer, size: integer, offset: integer }?
local function find_entry(bytes, name)
  local last = find_end(bytes)
  if not last then return nil end
  local _, size, offset = ("<I2I4I4"):unpack(bytes, last + 10)
  local at = last - size
  local shift = at - 1 - offset         -- of archives after other bytes
  while at >= 1 and at + ENTRY_BYTES <= last and bytes:sub(at, at + 3) == ENTRY do
    local flags, method, crc, packed, whole, name_size, extra_size, comment_size =
      ("<I2I2xxxxI4I4I4I2I2I2"):unpack(bytes, at + 8)
    if bytes:sub(at + ENTRY_BYTES, at + ENTRY_BYTES + name_size - 1) == name then
      return { method = method, flags = flags, crc = crc, packed = packed, size = whole,
        offset = ("<I4"):unpack(bytes, at + 42) + shift }
    end
    at = at + ENTRY_BYTES + name_size + extra_size + comment_size
  end
end

--- Bytes as deflate's blocks without compression.
local function stored_blocks(bytes)
  local blocks = {}
  for from = 1, math.max(1, #bytes), BLOCK_BYTES do
    local block = bytes:sub(from, from + BLOCK_BYTES - 1)
    local is_last = from + BLOCK_BYTES > #bytes
    blocks[#blocks + 1] = ("<I1I2I2"):pack(is_last and 1 or 0, #block, ~#block & 0xFFFF) .. block
  end
  return table.concat(blocks)
end

local GZIP_HEADER = "\x1F\x8B\8\0\0\0\0\0\0\xFF"

--- A file of an archive, as gzip; nil if the archive has none of this name that can be unpacked.
---@param bytes string
---@param name string
---@return string?
function zip.gzip_of(bytes, name)
  local entry = find_entry(bytes, name)
  if not entry or entry.flags & ENCRYPTED ~= 0 then return nil end
  if entry.method ~= STORED and entry.method ~= DEFLATED then return nil end
  local at = entry.offset + 1
  if at < 1 or at + LOCAL_BYTES - 1 > #bytes or bytes:sub(at, at + 3) ~= zip.SIGNATURE then return nil end
  local name_size, extra_size = ("<I2I2"):unpack(bytes, at + 26)
  local first = at + LOCAL_BYTES + name_size + extra_size
  if first + entry.packed - 1 > #bytes then return nil end
  local data = bytes:sub(first, first + entry.packed - 1)
  if entry.method == STORED then data = stored_blocks(data) end
  return GZIP_HEADER .. data .. ("<I4I4"):pack(entry.crc, entry.size)
end

return zip
