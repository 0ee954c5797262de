--- Lines in a file of the user's that are remembered from run to run, the newest last.
--
-- If the file cannot be read or written there are none, and lines are kept only in memory.

local core = require "ebb.support.core"
local xdg = require "ebb.support.xdg"

local kept_lines = {}

---@class ebb.KeptLines
---@field path fun(): string?             of the file, which need not exist; nil without a home
---@field lines fun(): string             as they were read or written last
---@field has fun(line: string): boolean
---@field add fun(line: string)           remembers a line without its end, if it is new

--- The last lines, so that there is room for another one.
local function newest(text, lines_max)
  local remaining = {}
  for line in text:gmatch "[^\n]+" do
    remaining[#remaining + 1] = line
  end
  return table.move(remaining, math.max(1, #remaining - lines_max + 2), #remaining, 1, {})
end

--- The lines of a file.
---@param kind "state"|"cache"
---@param name string           of the file, in ebb's folder of that kind
---@param limits { bytes: integer, lines: integer }   of a file that is read; of lines that are kept
---@return ebb.KeptLines
function kept_lines.new(kind, name, limits)
  local kept = {}
  local lines

  function kept.path() return xdg.path(kind, name) end

  local function read()
    local path = kept.path()
    return path and core.read_file(path, limits.bytes) or ""
  end

  function kept.lines()
    lines = lines or read()
    return lines
  end

  function kept.has(line)
    return ("\n" .. kept.lines()):find("\n" .. line .. "\n", 1, true) ~= nil
  end

  function kept.add(line)
    if kept.has(line) then return end
    local remaining = newest(read(), limits.lines)   -- other processes add lines, too
    remaining[#remaining + 1] = line
    lines = table.concat(remaining, "\n") .. "\n"
    local path = kept.path()
    if path and core.make_folder(path:match "^(.*)/") then core.write_file(path, lines) end
  end

  return kept
end

return kept_lines
