--- Server-sent events: the bytes of a streamed answer, cut anywhere, as events.
--
--     event: message_start          one event, ended by an empty line
--     data: {"type": ...}

local events = {}

events.BYTES_MAX = 16 * 1024 * 1024   -- of one event

---@class ebb.EventReader
---@field pieces string[]        of a line that has not ended
---@field size integer           its bytes
---@field name? string
---@field data string[]
local Reader = {}
Reader.__index = Reader

---@return ebb.EventReader
function events.new()
  return setmetatable({ pieces = {}, size = 0, data = {} }, Reader)
end

local function finish_event(reader, hear)
  local name, data = reader.name, reader.data
  reader.name, reader.data = nil, {}
  if data[1] then hear(table.concat(data, "\n"), name) end
end

local function read_line(reader, line, hear)
  if line == "" then return finish_event(reader, hear) end
  local field, value = line:match "^([^:]+): ?(.*)$"
  if field == "data" then reader.data[#reader.data + 1] = value end
  if field == "event" then reader.name = value end
end

--- Reads more bytes, and calls hear(data, name) for each event that they end.
---@param bytes string
---@param hear fun(data: string, name?: string)
---@return boolean fits        false: a line is longer than BYTES_MAX
function Reader:feed(bytes, hear)
  self.pieces[#self.pieces + 1], self.size = bytes, self.size + #bytes
  if bytes:find("\n", 1, true) then
    local text, at = table.concat(self.pieces), 1
    for line, past in text:gmatch "([^\n]*)\n()" do
      read_line(self, (line:gsub("\r$", "")), hear)
      at = past
    end
    self.pieces, self.size = { text:sub(at) }, #text - at + 1
  end
  return self.size <= events.BYTES_MAX
end

--- Ends the stream: a last event may lack its empty line.
---@param hear fun(data: string, name?: string)
function Reader:close(hear)
  local rest = table.concat(self.pieces):gsub("\r$", "")
  self.pieces, self.size = {}, 0
  if rest ~= "" then read_line(self, rest, hear) end
  finish_event(self, hear)
end

return events
