--- Files that are compressed with gzip or zstd, and CHARX, zip archives with a card: told by their first bytes,
--- unpacked in memory.

local failure = require "ebb.cli.failure"
local host = require "ebb.host"
local zip = require "ebb.cli.io.zip"

local unpacked = {}

local CARD = "card.json"     -- of a CHARX

local MAGIC = { gzip = "\x1F\x8B", zstd = "\x28\xB5\x2F\xFD" }

--- Returns the program that compressed a file; nil for other files.
---@param bytes string
---@return "gzip"|"zstd"|nil
function unpacked.form(bytes)
  for form, magic in pairs(MAGIC) do
    if bytes:sub(1, #magic) == magic then return form end
  end
end

--- The name of a file without the ending that says so: "a.json.gz" is "a.json".
---@param name string
---@return string
function unpacked.name(name) return (name:gsub("%.gz$", ""):gsub("%.zst$", "")) end

local EXITS = { absent = failure.IO, limit = failure.REFUSED, broken = failure.REFUSED }
local HINTS = { absent = "or unpack it first with %s", limit = "--max-file raises the cap" }

--- The text of a compressed file, or the bytes of another one.
---@param bytes string
---@param name string          of the file, in messages
---@param limit integer        bytes of the text
---@return string text
---@return "gzip"|"zstd"|"zip"|nil form
function unpacked.text(bytes, name, limit)
  local form = unpacked.form(bytes)
  local card = not form and bytes:sub(1, #zip.SIGNATURE) == zip.SIGNATURE and zip.gzip_of(bytes, CARD)
  if card then form, bytes = "zip", card end
  if not form then return bytes end
  local text, why, kind = host.unpack(bytes, limit)
  if text then return text, form end
  failure.raise(EXITS[kind], ("%s: compressed with %s: %s"):format(name, form, why),
    HINTS[kind] and HINTS[kind]:format(form))
end

return unpacked
