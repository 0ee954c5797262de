--- The values that a reply uses: what it hands to its tools, and what it names in its text.

local core = require "ebb.support.core"
local json_places = require "ebb.support.json_places"

local values = {}

local CHARACTERS_MIN = 3   -- shorter ones are everywhere

local function is_long(value)
  return (utf8.len(value) or #value) >= CHARACTERS_MIN
end

--- The leaf values of a JSON text, in order: strings as they read, numbers as they are spelled. A string is a leaf
--- even where JSON is in it; a text that is not JSON has no leaves.
---@param json string
---@return string[]
function values.leaves(json)
  local list = {}
  if core.json.decode(json) == nil then return list end
  local at = json:find('["%-%d]')
  while at do
    local past, value
    if json:byte(at) == 34 then
      past = json_places.string_end(json, at)
      value = not json:find("^%s*:", past) and core.json.decode(json:sub(at, past - 1))   -- else it is a key
    else
      past = json:match("^[%d.eE+-]+()", at)
      value = json:sub(at, past - 1)
    end
    if value and is_long(value) then list[#list + 1] = value end
    at = json:find('["%-%d]', past)
  end
  return list
end

--- The values that a text names, in order: runs of letters, digits and _ . / @ : # - without . : - at their ends,
--- which have a digit or one of / _ @ . in them.
---@param text string
---@return string[]
function values.runs(text)
  local list = {}
  local starts, pasts, numbers = core.runs(text, "_./@:#-")
  for i, start in ipairs(starts) do
    local value = text:sub(start, pasts[i] - 1):match "^[.:-]*(.-)[.:-]*$"
    if is_long(value) and (numbers[i] or value:find "[/_@.]") then list[#list + 1] = value end
  end
  return list
end

local function add_all(set, list)
  for _, value in ipairs(list) do
    set[value] = true
  end
end

--- Returns the values in a message's own text: its content, without calls and reasoning.
---@param message ebb.Message
---@return table<string, true>
function values.of_text(message)
  local set = {}
  for _, part in ipairs(message.parts) do
    if part.kind == "text" and part.text then add_all(set, values.runs(part.text)) end
  end
  return set
end

--- Returns the values in the arguments of a message's calls.
---@param message ebb.Message
---@return table<string, true>
function values.of_calls(message)
  local set = {}
  for _, call in ipairs(message.calls) do
    add_all(set, values.leaves(call.arguments))
  end
  return set
end

return values
