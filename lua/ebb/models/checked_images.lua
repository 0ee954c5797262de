--- Images of vocabularies that were read in full once and found right, remembered from run to run
--- by the identities of their files: a file that was written since has another one.
--
--     sum IDENTITY                its check sum is right
--     source IDENTITY DIGEST      its tables agree, and its tokens are the .tiktoken file with this SHA-256
--
-- The lines are in $XDG_CACHE_HOME/ebb/vocab, the newest last. Where this file cannot be read or
-- written, images are read in full each time. Who can write it can make ebb trust a damaged image,
-- as who can write the image can.

local core = require "ebb.support.core"
local xdg = require "ebb.support.xdg"

local checked_images = {}

local BYTES_MAX = 1024 * 1024   -- of a cache that is read
local LINES_MAX = 200           -- that are kept

--- The file of the lines, which need not exist; nil without a home.
---@return string?
function checked_images.path()
  return xdg.path("cache", "vocab")
end

local function read()
  local path = checked_images.path()
  return path and core.read_file(path, BYTES_MAX) or ""
end

local lines   -- as they were read or written last

---@return string
function checked_images.lines()
  lines = lines or read()
  return lines
end

---@param line string    without its end
---@return boolean
function checked_images.has(line)
  return checked_images.lines():find(line .. "\n", 1, true) ~= nil
end

--- The last lines, so that there is room for another one.
local function newest(text)
  local remaining = {}
  for line in text:gmatch "[^\n]+" do
    remaining[#remaining + 1] = line
  end
  return table.move(remaining, math.max(1, #remaining - LINES_MAX + 2), #remaining, 1, {})
end

--- Remembers a line, if it is new.
---@param line string    without its end
function checked_images.add(line)
  if checked_images.has(line) then return end
  local remaining = newest(read())   -- other processes add lines, too
  remaining[#remaining + 1] = line
  lines = table.concat(remaining, "\n") .. "\n"
  local path = checked_images.path()
  if path and core.make_folder(path:match "^(.*)/") then core.write_file(path, lines) end
end

return checked_images
