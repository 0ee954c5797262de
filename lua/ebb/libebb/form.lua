--- The JSON form of what scripts hand to the host: plain values, and messages, lists of
--- them, units, ledgers and windows, wherever they stand in a table.
--
--     message                                  its JSON, the bytes as they came
--     conversation, batch, draft, selection    a list of its messages, as ebb_chat_json
--     unit, turn                               {"first", "count", "tokens", "messages"}, first from 0
--     ledger                                   a list of its entries, as in a trim's report
--     window                                   as in ebb_chat_windows

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"

local form = {}

local json = core.json

local DEPTH_MAX = 256   -- as deep as JSON may be

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

local FORMS = {
  Message = function(message) return json.raw(message.json) end,
  Conversation = messages, Batch = messages, Draft = messages, Selection = messages,
  Unit = unit, Turn = unit, Ledger = entries,
}

local function is_window(value)
  return core.methods.Window ~= nil and rawget(value, "chat") ~= nil and value.close == core.methods.Window.close
end

local of

local function of_table(value, depth)
  if is_window(value) then return require("ebb.libebb.windows").fields(value) end
  local mark = getmetatable(value)
  if mark == "json.raw" then return value end
  local result = mark == "json.array" and json.array {} or {}
  for key, item in next, value do
    result[key] = of(item, depth + 1)
  end
  return result
end

function of(value, depth)
  if depth > DEPTH_MAX then refuse("limit", "a result has more than " .. DEPTH_MAX .. " levels") end
  if type(value) == "table" then return of_table(value, depth) end
  local convert = type(value) == "userdata" and FORMS[core.type(value)]
  if convert then return convert(value) end
  return value
end

--- The text of a value; what has no form is refused.
---@param value any
---@return string
function form.encode(value)
  local ok, text = pcall(json.encode, value)
  if ok then return text end
  if not core.is_error(text) or text.code ~= "argument" then error(text, 0) end
  return json.encode(of(value, 0))
end

return form
