--- The JSON form of what scripts hand to the host: plain values, and messages, lists of
--- them, units, ledgers and windows, wherever they are in a table.
--
--     message                                  its JSON, the bytes as they came
--     conversation, batch, draft, selection    a list of its messages, as ebb_chat_json
--     unit, turn                               {"first", "count", "tokens", "messages"}, first from 0
--     ledger                                   a list of its entries, as in a trim's report
--     window                                   as in ebb_chat_windows
--
-- Plain values are nil, booleans, numbers, strings, and tables of these. `encode` refuses
-- other values, and tables of more than 256 levels.

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"

local json_form = {}

local json = core.json

local DEPTH_MAX = 256   -- levels of tables: as many as the JSON reader accepts

local function messages(list)
  local result = json.array {}
  for i = 1, #list do
    result[i] = json.raw(list[i].json)
  end
  return result
end

local function unit(value)
  return { first = value.first - 1, count = value.count, tokens = value.tokens, messages = messages(value.messages) }
end

local function entries(ledger)
  local result = json.array {}
  for i = 1, #ledger do
    result[i] = ledger[i]
  end
  return result
end

--- The JSON form of the core's values, by type.
local CONVERTERS = {
  Message = function(message) return json.raw(message.json) end,
  Conversation = messages, Batch = messages, Draft = messages, Selection = messages,
  Unit = unit, Turn = unit, Ledger = entries,
}

local function is_window(value)
  return core.methods.Window ~= nil and rawget(value, "chat") ~= nil and value.close == core.methods.Window.close
end

local SHOWN = {
  "id", "description", "closable", "pinned", "important", "hidden", "closed", "render", "refresh", "created", "updated",
  "version", "summary",
}

--- Returns the fields of a window that its JSON shows.
---@param window ebb.Window
---@return table
function json_form.window_fields(window)
  local fields = {}
  for _, name in ipairs(SHOWN) do fields[name] = window[name] end
  return fields
end

local plain   -- forward

--- A table as one that json.encode takes: a copy whose items are plain. Reads the fields raw, so that
--- __pairs and __index of a script's table do not run here.
local function plain_table(value, depth)
  if is_window(value) then return json_form.window_fields(value) end
  local tag = getmetatable(value)   -- "json.array", "json.raw", or another metatable, which does not count
  if tag == "json.raw" then return value end
  local result = tag == "json.array" and json.array {} or {}
  for key, item in next, value do
    result[key] = plain(item, depth + 1)
  end
  return result
end

--- A value as one that json.encode takes. Values without a form stay, for json.encode to refuse.
---@param value any
---@param depth integer      of tables around it; refused above DEPTH_MAX, also in a circle
---@return any
function plain(value, depth)
  if depth > DEPTH_MAX then refuse("limit", "a result has more than " .. DEPTH_MAX .. " levels") end
  if type(value) == "table" then return plain_table(value, depth) end
  local convert = type(value) == "userdata" and CONVERTERS[core.type(value)]
  if convert then return convert(value) end
  return value
end

--- The JSON text of a value. Raises {code, message} for values without a form and for more than 256 levels.
--- Most values are plain, so they are first encoded as they are.
---@param value any
---@return string
function json_form.encode(value)
  local ok, text = pcall(json.encode, value)
  if ok then return text end
  if not core.is_error(text) or text.code ~= "argument" then error(text, 0) end
  return json.encode(plain(value, 0))
end

return json_form
