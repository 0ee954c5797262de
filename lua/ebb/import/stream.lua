--- JSONL whose lines are conversations of their own, read in constant memory: data sets, batches, recorded requests.
--
--     local next_one = stream.open(function() return file:read(65536) end, { path = "set.jsonl" })
--     for result in next_one do ... end
--
-- The first lines tell the form. Then one line after the other is read, converted and forgotten: the longest line
-- decides over the memory. Requests and results of a batch are not joined, for they may be anywhere in the file.

local import = require "ebb.import"
local refuse = require "ebb.support.refuse"
local reports = require "ebb.import.report"
local source = require "ebb.import.source"

local stream = {}

stream.LINE_BYTES_MAX = 64 * 1024 * 1024   -- of a conversation on one line, unless `max_line` says otherwise
stream.HEAD_BYTES_MAX = 4 * 1024 * 1024    -- in which the first two lines must lie
local PROBE_BYTES = 64 * 1024              -- in which a line must have a member of a conversation

local BOM = "\xEF\xBB\xBF"

---@class ebb.import.StreamOptions
---@field path? string
---@field from? string
---@field branch? string
---@field skip_bad? boolean     counts bad lines and reads on
---@field max_line? integer     bytes

--- Iterates over the lines of pieces: number, bytes, and whether the newline is missing. Blank lines are skipped.
---@param read fun(): string?   the next piece; nil at the end
---@param most integer          bytes of a line
local function lines(read, most)
  local piece, at, number = read(), 1, 0
  if piece and piece:sub(1, #BOM) == BOM then at = #BOM + 1 end
  return function()
    local parts, size = {}, 0
    while piece do
      local stop = piece:find("\n", at, true)
      local part = piece:sub(at, (stop or #piece + 1) - 1)
      size = size + #part
      if size > most then
        refuse("limit", ("%d: the line has more than %d bytes"):format(number + 1, most))
      end
      parts[#parts + 1] = part
      if stop then at = stop + 1 else piece, at = read(), 1 end
      if stop or not piece then
        local line = table.concat(parts)
        number, parts, size = number + 1, {}, 0
        if line:find "[^ \t\r]" then return number, (line:gsub("\r$", "")), not stop end
      end
    end
  end
end

--- Members that a line with a conversation has.
local MEMBERS = {
  "messages", "contents", "input", "conversations", "conversation", "instruction", "prompt", "custom_id",
}

--- True if the first line is an object with such a member, as far as it is there.
local function may_begin(head)
  local line = head:match("^%s*({[^\n]*)", head:sub(1, #BOM) == BOM and #BOM + 1 or 1)
  for _, name in ipairs(line and MEMBERS or {}) do
    if line:find(('"%s"'):format(name), 1, true) then return true end
  end
  return false
end

--- The first byte after the first line and blank ones; nil if there is none yet.
local function second_line(head)
  local first = head:match("^%s*()", head:sub(1, #BOM) == BOM and #BOM + 1 or 1)
  local stop = head:find("\n", first, true)
  return stop and head:match("^%s*(%S)", stop + 1)
end

--- The beginning of a file, two lines at least; nil if these are not two objects. Other files are given up after
--- PROBE_BYTES, or HEAD_BYTES_MAX at most.
local function head_of(read)
  local pieces, size, breaks, is_probed = {}, 0, 0, false
  while breaks < 2 or not second_line(table.concat(pieces)) do
    local piece = read()
    if not piece then break end
    pieces[#pieces + 1], size = piece, size + #piece
    breaks = breaks + select(2, piece:gsub("\n", ""))
    if not is_probed and size >= PROBE_BYTES then
      is_probed = true
      if not may_begin(table.concat(pieces)) then return nil end
    end
    if size > stream.HEAD_BYTES_MAX then return nil end
  end
  local head = table.concat(pieces)
  return may_begin(head) and second_line(head) == "{" and head or nil
end

--- The importer of a file that begins so, if each of its lines is a conversation.
local function importer_of(head, options)
  if not head then return nil end
  local name = options.from or import.recognise(head:match "^.*\n" or head)
  local importer = name and import.importer(name)
  return importer and importer.each_line and importer or nil
end

--- The conversation of one line; nil if the line has none.
local function read_line(importer, from, options, number, record, raw)
  local is_read = false
  local line = {
    path = from.path, text = raw, report = reports.new(), skip_bad = from.skip_bad, is_line = true,
    records = function()
      return function()
        if is_read then return nil end
        is_read = true
        return number, record, raw
      end
    end,
  }
  local result = importer.read(line, { branch = options.branch })
  for _, entry in ipairs(result and {} or line.report) do
    from.report:add(entry.kind, entry.message, entry.line, entry.count)
  end
  return result
end

--- Opens a file of conversations; nil if it is something else, of which the first pieces have been read then. The
--- iterator raises {code, message, hint}, whose message begins with the number of the line.
---@param read fun(): string?   the next piece of the file; nil at the end
---@param options ebb.import.StreamOptions
---@return (fun(): ebb.Import?)? next_one
---@return ebb.import.Report report     what is in no conversation, once they are read
---@return string title                 of the form
function stream.open(read, options)
  local most = options.max_line or stream.LINE_BYTES_MAX
  local head = head_of(read)
  local importer = importer_of(head, options)
  local report = reports.new()
  if not importer then return nil, report, "" end
  local from = {
    path = options.path or "text", text = "", report = report, skip_bad = options.skip_bad or false,
    next_line = lines(function()
      local piece = head or read()
      head = nil
      return piece
    end, most),
  }
  local next_record, count = source.records(from), 0
  return function()
    for number, record, raw in next_record do
      local result = read_line(importer, from, options, number, record, raw)
      if result then
        count = count + 1
        result.name, result.title, result.number, result.branches = importer.name, importer.title, count,
          result.branches or 1
        return result
      end
    end
  end, report, importer.title
end

return stream
