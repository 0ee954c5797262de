--- Media types: what a file is, by its first bytes, by what was said of it, by its name.
--
-- Bytes know best: a JPEG that is called photo.png and declared as image/png is a
-- JPEG, and a provider that is told otherwise refuses the request.

local media = {}

---- By first bytes ----

local function at(bytes, position, word) return bytes:sub(position, position + #word - 1) == word end

--- 'RIFF' size kind
local function riff(bytes)
  if at(bytes, 9, "WEBP") then return "image/webp" end
  return at(bytes, 9, "WAVE") and "audio/wav" or nil
end

local BRANDS = { ["M4A "] = "audio/mp4", ["M4B "] = "audio/mp4", ["qt  "] = "video/quicktime", heic = "image/heic",
  heix = "image/heic", mif1 = "image/heif", avif = "image/avif" }

--- size 'ftyp' brand
local function iso_media(bytes)
  return at(bytes, 5, "ftyp") and (BRANDS[bytes:sub(9, 12)] or "video/mp4") or nil
end

local function ogg(bytes)
  return bytes:sub(1, 64):find("theora", 1, true) and "video/ogg" or "audio/ogg"
end

local function matroska(bytes)
  return bytes:sub(1, 64):find("webm", 1, true) and "video/webm" or "video/x-matroska"
end

--- A frame of MPEG audio: eleven bits set, then version, layer, rates. Layer 0 is AAC in ADTS.
local function mpeg_audio(bytes)
  local first, second, third = bytes:byte(1, 3)
  if not third or first ~= 0xFF or second & 0xE0 ~= 0xE0 or second & 0x18 == 0x08 then return nil end
  if second & 0xF6 == 0xF0 then return "audio/aac" end
  local is_layer_3 = second & 0x06 == 0x02
  return is_layer_3 and third & 0xF0 ~= 0xF0 and third & 0x0C ~= 0x0C and "audio/mpeg" or nil
end

--- "ID3" and its version: a text may begin with the letters.
local function tagged_audio(bytes)
  local version = bytes:byte(4)
  return version and version >= 2 and version <= 4 and "audio/mpeg" or nil
end

--- In order; what several begin with is told apart by a function.
local MAGIC = {
  { "\137PNG\r\n\26\n", "image/png" }, { "\255\216\255", "image/jpeg" }, { "GIF87a", "image/gif" },
  { "GIF89a", "image/gif" }, { "RIFF", riff }, { "%PDF-", "application/pdf" }, { "ID3", tagged_audio },
  { "OggS", ogg }, { "fLaC", "audio/flac" }, { "\26\69\223\163", matroska }, { "PK\3\4", "application/zip" },
  { "\31\139\8", "application/gzip" }, { "\127ELF", "application/x-elf" }, { "II*\0", "image/tiff" },
  { "MM\0*", "image/tiff" },
}

--- The type by the first bytes; nil if it is unknown.
---@param bytes string
---@return string?
function media.of_bytes(bytes)
  for _, entry in ipairs(MAGIC) do
    if at(bytes, 1, entry[1]) then
      local mime = entry[2]
      if type(mime) == "function" then mime = mime(bytes) end
      return mime
    end
  end
  return iso_media(bytes) or mpeg_audio(bytes)
end

--- Containers may hold what was said of them: sound alone in an MP4, a document in a ZIP.
local MAY_HOLD = {
  ["application/zip"] = { document = true, file = true }, ["video/mp4"] = { audio = true },
  ["video/webm"] = { audio = true }, ["audio/ogg"] = { video = true }, ["video/x-matroska"] = { audio = true },
}

---- By name ----

local EXTENSIONS = {
  ["image/png"] = "png", ["image/jpeg"] = "jpg jpeg", ["image/gif"] = "gif", ["image/webp"] = "webp",
  ["image/svg+xml"] = "svg", ["image/bmp"] = "bmp", ["image/tiff"] = "tif tiff", ["image/heic"] = "heic",
  ["image/avif"] = "avif", ["audio/mpeg"] = "mp3", ["audio/wav"] = "wav", ["audio/ogg"] = "ogg oga opus",
  ["audio/flac"] = "flac", ["audio/aac"] = "aac", ["audio/mp4"] = "m4a", ["video/mp4"] = "mp4 m4v",
  ["video/webm"] = "webm", ["video/quicktime"] = "mov", ["video/x-matroska"] = "mkv", ["video/ogg"] = "ogv",
  ["application/pdf"] = "pdf", ["application/json"] = "json", ["application/xml"] = "xml",
  ["application/zip"] = "zip", ["application/gzip"] = "gz", ["text/html"] = "html htm", ["text/css"] = "css",
  ["text/csv"] = "csv", ["text/markdown"] = "md markdown", ["application/yaml"] = "yaml yml",
  ["application/toml"] = "toml",
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document"] = "docx",
  ["text/plain"] = "txt text log ini conf cfg tsv rst tex sql sh bash bat ps1 c h cc cpp hpp cs go java js jsx ts tsx "
    .. "kt lua m php pl py r rb rs scala swift vue zig diff patch srt vtt jsonl",
}

local BY_EXTENSION = {}
for mime, extensions in pairs(EXTENSIONS) do
  for extension in extensions:gmatch "%S+" do
    BY_EXTENSION[extension] = mime
  end
end

--- The type by the ending of a name; nil if it is unknown.
---@param name string
---@return string?
function media.of_name(name)
  local extension = name:match "%.([%w]+)$"
  return extension and BY_EXTENSION[extension:lower()]
end

---- Kinds ----

local ALIASES = { ["audio/mp3"] = "audio/mpeg", ["audio/x-wav"] = "audio/wav", ["audio/wave"] = "audio/wav",
  ["audio/vnd.wave"] = "audio/wav", ["image/jpg"] = "image/jpeg", ["audio/x-m4a"] = "audio/mp4",
  ["application/x-pdf"] = "application/pdf", ["application/ogg"] = "audio/ogg" }

--- "Image/PNG; charset=x" as "image/png", and one spelling for those that have several.
---@param mime string
---@return string
function media.normal(mime)
  local plain = mime:match "^%s*([^;%s]*)":lower()
  return ALIASES[plain] or plain
end

local TEXTS = { ["application/json"] = true, ["application/xml"] = true, ["application/yaml"] = true,
  ["application/toml"] = true, ["application/javascript"] = true, ["application/x-sh"] = true,
  ["application/sql"] = true, ["application/x-yaml"] = true }

local DOCUMENTS = { ["application/pdf"] = true,
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document"] = true }

--- The kind of attachment that a media type is: text, image, audio, video, document or file.
---@param mime? string         normal
---@return string
function media.kind(mime)
  if not mime then return "file" end
  local family = mime:match "^([^/]+)/"
  if family == "text" or TEXTS[mime] or mime:find "%+json$" then return "text" end
  if family == "image" or family == "audio" or family == "video" then return family end
  return DOCUMENTS[mime] and "document" or "file"
end

--- The media type of a file; nil if it is unknown.
---@param bytes string
---@param declared? string         the declared type, normal
---@return string? mime
---@return boolean recognised  its bytes have said so
function media.decide(bytes, declared)
  local mime = media.of_bytes(bytes)
  if not mime then return declared, false end
  local kinds = declared and MAY_HOLD[mime]
  return kinds and kinds[media.kind(declared)] and declared or mime, true
end

---- Text ----

--- Returns why bytes are no text that a model could read; nil if they are one.
---@param bytes string
---@return string?
function media.text_fault(bytes)
  local nul = bytes:find("\0", 1, true)
  if nul then return ("it is binary: a NUL byte at byte %d"):format(nul) end
  local length, bad = utf8.len(bytes)
  return not length and ("it is not UTF-8 at byte %d"):format(bad) or nil
end

return media
