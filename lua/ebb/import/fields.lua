--- Members of decoded records, whose types nothing promises: a member of another type counts as absent.

local core = require "ebb.support.core"
local json_places = require "ebb.support.json_places"

local type, rawget, getmetatable, math_type = type, rawget, getmetatable, math.type    -- asked for each member

local fields = {}

local LIST = getmetatable(core.json.array {})

--- A member that is a string.
---@param record any
---@param name string
---@return string?
function fields.text(record, name)
  local value = type(record) == "table" and rawget(record, name)
  return type(value) == "string" and value or nil
end

--- True for a JSON array.
---@param value any
---@return boolean
function fields.is_list(value)
  return type(value) == "table" and getmetatable(value) == LIST
end

--- True for a JSON object.
---@param value any
---@return boolean
function fields.is_object(value)
  return type(value) == "table" and getmetatable(value) == nil
end

--- A member that is a list.
---@param record any
---@param name string|integer
---@return any[]?
function fields.list(record, name)
  local value = type(record) == "table" and rawget(record, name)
  if type(value) == "table" and getmetatable(value) == LIST then return value end
  return nil
end

--- A member that is an object.
---@param record any
---@param name string|integer
---@return table?
function fields.object(record, name)
  local value = type(record) == "table" and rawget(record, name)
  if type(value) == "table" and getmetatable(value) == nil then return value end
  return nil
end

--- A member that is an integer.
---@param record any
---@param name string
---@return integer?
function fields.integer(record, name)
  local value = type(record) == "table" and rawget(record, name)
  return math_type(value) == "integer" and value or nil
end

--- A value as JSON: the bytes of a raw one, others rewritten.
---@param value any
---@return string
function fields.json(value)
  return core.json.encode(value)
end

--- A value as JSON without space between its tokens, as programs send it; members keep their order.
---@param value any            or ebb.json.raw
---@return string
function fields.compact(value)
  local text = core.json.encode(value)
  if not text:find "[ \t\r\n]" then return text end
  local pieces, at = {}, 1
  while at <= #text do
    local quote = text:find('"', at, true)
    pieces[#pieces + 1] = text:sub(at, (quote or #text + 1) - 1):gsub("[ \t\r\n]+", "")
    if not quote then break end
    at = json_places.string_end(text, quote)
    pieces[#pieces + 1] = text:sub(quote, at - 1)
  end
  return table.concat(pieces)
end

--- The elements of a JSON array, each decoded and as its bytes.
---@param text string                             valid JSON of an array
---@param options? table                          of ebb.json.decode
---@return { value: any, raw: string, first: integer }[]   first: the byte where it begins
function fields.elements(text, options)
  local list, at = {}, text:match "^%s*%[%s*()"
  while at and text:byte(at) ~= 93 do   -- ]
    local value, past = core.json.decode_at(text, at, options)
    if value == nil then error(past, 0) end
    list[#list + 1] = { value = value, raw = text:sub(at, past - 1), first = at }
    at = text:match("^[%s,]*()", past)
  end
  return list
end

return fields
