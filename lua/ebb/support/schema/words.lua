--- Describes values and places for error texts.

local core = require "ebb.support.core"

local words = {}

local QUOTED_BYTES_MAX = 40   -- of a string that an error text quotes
local ESCAPES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

--- True for what JSON writes as a list; an empty table is one, too.
---@param value any
---@return boolean
function words.is_list(value)
  if type(value) ~= "table" or getmetatable(value) == "json.raw" then return false end
  return getmetatable(value) == "json.array" or rawlen(value) > 0 or next(value) == nil
end

--- True for what JSON writes as an object; an empty table is one, too.
---@param value any
---@return boolean
function words.is_object(value)
  local meta = type(value) == "table" and getmetatable(value)
  return type(value) == "table" and meta ~= "json.raw" and meta ~= "json.array" and rawlen(value) == 0
end

--- A noun with its article: "a Batch", "an object".
function words.with_article(noun) return (noun:find "^[aeioAEIO]" and "an " or "a ") .. noun end

--- A string in quotes on one line of UTF-8: a long one is cut, controls are escaped. Quotes inside stay.
local function quote(text)
  local cut = #text > QUOTED_BYTES_MAX
  local valid = core.utf8(cut and text:sub(1, QUOTED_BYTES_MAX) or text)
  local line = valid:gsub("[\0-\31\127]", function(control)
    return ESCAPES[control] or ("\\x%02X"):format(control:byte())
  end)
  return ("'%s%s'"):format(line, cut and "..." or "")
end

--- JSON that is kept as text: numbers beyond those of Lua, and messages.
local function describe_raw(text)
  if text:find '^"' then return quote((core.json.decode(text))) end
  if text:find "^[%[{]" then return text:find "^%[" and "a list" or "an object" end
  return #text <= QUOTED_BYTES_MAX and text or quote(text)
end

--- A value as error texts describe it: 'text', 5, true, null, a list, a table, a Message.
---@param value any
---@return string
function words.describe(value)
  local kind = type(value)
  if value == core.json.null then return "null" end
  if kind == "number" then return value ~= value and "nan" or core.tostring(value) end
  if kind == "string" then return quote(value) end
  if kind == "table" and getmetatable(value) == "json.raw" then return describe_raw(core.json.encode(value)) end
  if kind == "table" and (getmetatable(value) == "json.array" or rawlen(value) > 0) then return "a list" end
  if kind == "table" then return "a table" end
  if kind == "userdata" then return words.with_article(core.type(value) or kind) end
  return (kind == "boolean" or kind == "nil") and tostring(value) or words.with_article(kind)
end

--- "messages[3].role"
---@param path (string|integer)[]
---@param base? integer      number of a list's first place: 1, or 0 for JSON
---@return string
function words.place(path, base)
  local steps = {}
  for i, step in ipairs(path) do
    steps[i] = math.type(step) and ("[%d]"):format(step - 1 + (base or 1)) or (i > 1 and "." or "") .. tostring(step)
  end
  return table.concat(steps)
end

return words
