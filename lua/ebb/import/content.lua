--- Contents of messages in the form of Chat Completions.

local core = require "ebb.support.core"

local content = {}

--- A part for a text.
---@param text string
function content.text(text) return { type = "text", text = text } end

--- A part for an image.
---@param url string           http or a data URI
function content.image(url) return { type = "image_url", image_url = { url = url } } end

--- Parts as a content: texts alone are one string.
---@param parts table[]
---@return string|table[]
function content.join(parts)
  local texts = {}
  for i, part in ipairs(parts) do
    if part.type ~= "text" then return core.json.array(parts) end
    texts[i] = part.text
  end
  return table.concat(texts, "\n")
end

--- True for a content without anything in it.
---@param value string|table[]
---@return boolean
function content.is_empty(value)
  return value == "" or type(value) == "table" and value[1] == nil
end

local function is_space(byte) return byte == 32 or byte ~= nil and byte >= 9 and byte <= 13 end

--- The text without space at its ends. Linear: a pattern would go back over each run of spaces.
---@param text string
---@return string
function content.trim(text)
  local first, last = text:find "%S" or #text + 1, #text
  while last >= first and is_space(text:byte(last)) do last = last - 1 end
  return text:sub(first, last)
end

--- JSON text of a call's arguments: a text as it is, a value written.
---@param value any            nil: no arguments
---@return string
function content.arguments(value)
  if value == nil or value == core.json.null or value == "" then return "{}" end
  return type(value) == "string" and value or core.json.encode(value)
end

return content
