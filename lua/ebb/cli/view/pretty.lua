--- Lua values as a person reads them: `{ role = "user", content = "Hi" }`.
--
-- Tables are written three deep and up to a limit, on one line if it is wide enough.
-- Texts are quoted, with escapes for everything that a terminal would obey.

local core = require "ebb.support.core"
local text = require "ebb.cli.view.text"
local transcript = require "ebb.conversation.transcript"

local pretty = {}

local DEPTH_MAX = 3
local ITEMS_MAX = 50       -- of a table
local TEXT_INSIDE = 200    -- columns of a string inside a table

local function quoted(bytes, columns)
  local escaped = text.printable((bytes:gsub('[\\"]', "\\%0")))
  return '"' .. text.cut(escaped, columns) .. '"'
end

local function is_name(key)
  return type(key) == "string" and key:find "^[%a_][%w_]*$" ~= nil
end

--- Compares keys: names first, in order; then others by type and text.
local function key_order(a, b)
  if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then return a < b end
  if type(a) ~= type(b) then return type(a) == "string" or type(b) ~= "string" and type(a) < type(b) end
  return tostring(a) < tostring(b)
end

--- The keys after the list part, which ends at `size`.
local function keys_of(value, size)
  local keys = {}
  for key in next, value do
    if not (math.type(key) == "integer" and key >= 1 and key <= size) then keys[#keys + 1] = key end
  end
  table.sort(keys, key_order)
  return keys
end

local write

local function items_of(value, width, depth)
  local items, size = {}, rawlen(value)
  for i = 1, math.min(size, ITEMS_MAX) do
    items[i] = write(rawget(value, i), width, depth)
  end
  local keys = keys_of(value, size)
  for i = 1, math.min(#keys, ITEMS_MAX - #items) do
    local key = keys[i]
    local name = is_name(key) and key or "[" .. write(key, width, DEPTH_MAX) .. "]"
    items[#items + 1] = name .. " = " .. write(rawget(value, key), width, depth)
  end
  local more = size + #keys - #items
  if more > 0 then items[#items + 1] = ("... %d more"):format(more) end
  return items
end

local function write_table(value, width, depth)
  if next(value) == nil then return "{}" end
  if depth >= DEPTH_MAX then return "{...}" end
  local items = items_of(value, width - 2, depth + 1)
  local line = "{ " .. table.concat(items, ", ") .. " }"
  if #line <= width and not line:find "\n" then return line end
  return "{\n" .. table.concat(items, ",\n"):gsub("[^\n]+", "  %0") .. "\n}"
end

--- One line of a list: cut, because lists are for an overview.
local function row(width, format, ...)
  return (text.cut(("  " .. format):format(...), width))
end

local function message_row(message, width)
  return row(width, "%d %s: %s", message.index or 0, text.kind(message), transcript.line(message))
end

local function change_row(entry, width)
  return row(width, "%s %d (%s, %d tokens) by %s: %s", entry.action, entry.seq, entry.role, entry.tokens, entry.by,
    entry.reason)
end

local function listed(value, items, width, row_of)
  local lines = { tostring(value) .. (#items > 0 and ":" or "") }
  for i = 1, math.min(#items, ITEMS_MAX) do
    lines[#lines + 1] = row_of(items[i], width)
  end
  if #items > ITEMS_MAX then lines[#lines + 1] = ("  ... %d more"):format(#items - ITEMS_MAX) end
  return table.concat(lines, "\n")
end

--- Values of the core that are shown with what they hold, where they are not part of a table.
local HANDLES = {
  Message = function(message, width)
    return (text.cut(("%s: %s"):format(tostring(message), transcript.line(message)), width))
  end,
  Unit = function(unit, width) return listed(unit, unit.messages, width, message_row) end,
  Selection = function(selection, width) return listed(selection, selection, width, message_row) end,
  Ledger = function(ledger, width) return listed(ledger, ledger, width, change_row) end,
}

--- A value at `depth` tables down, by its own __tostring if it has one.
function write(value, width, depth)
  if type(value) == "string" then return quoted(value, depth > 0 and TEXT_INSIDE or math.maxinteger) end
  if value == core.json.null then return "ebb.null" end
  local metatable = debug.getmetatable(value)
  if type(value) ~= "table" or metatable and rawget(metatable, "__tostring") then
    return text.printable(tostring(value), depth == 0)
  end
  return write_table(value, width, depth)
end

---@param value any
---@param width integer     columns
---@param brief? boolean      values of the core in a few words
---@return string           may be several lines
function pretty.format(value, width, brief)
  local handle = not brief and HANDLES[core.type(value)]
  if handle then
    local ok, lines = pcall(handle, value, width)      -- it may be closed
    if ok then return lines end
  end
  return write(value, width, 0)
end

return pretty
