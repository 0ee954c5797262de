--- Finds the place of a value in a JSON text: for errors that name file, line and byte.
--
-- Walks the text along one path, and only when it is asked; the text was decoded
-- before, so it is valid.

local core = require "ebb.support.core"

local text_place = require "ebb.support.text_place"

local json_places = {}

--- The byte after the string whose first quote is at `at`.
---@param text string         valid JSON
---@param at integer
---@return integer past
function json_places.string_end(text, at)
  at = at + 1
  while true do
    local stop = text:find('["\\]', at)
    if text:byte(stop) == 34 then return stop + 1 end
    at = stop + 2   -- what a backslash escapes is no end
  end
end

--- The byte after the value that begins at `at` of valid JSON.
local function value_end(text, at)
  local first = text:sub(at, at)
  if first == '"' then return json_places.string_end(text, at) end
  if first ~= "[" and first ~= "{" then return text:find("[%s,%]}]", at) end
  local depth = 0
  repeat
    at = text:find('["%[%]{}]', at)
    local byte = text:sub(at, at)
    if byte == '"' then
      at = json_places.string_end(text, at)
    else
      depth = depth + ((byte == "[" or byte == "{") and 1 or -1)
      at = at + 1
    end
  until depth == 0
  return at
end

---@class ebb.JsonMember
---@field key string
---@field first integer        where its value begins
---@field past integer         the byte after it

--- The members of the object that begins at `at`.
---@param text string         valid JSON
---@param at? integer          default: the beginning
---@return ebb.JsonMember[]
function json_places.members(text, at)
  local members = {}
  at = text:match("^%s*{()", at or 1)
  while true do
    local key = text:match('^[%s,]*()"', at)
    if not key then return members end
    local key_end = json_places.string_end(text, key)
    local first = text:match("^%s*:%s*()", key_end)
    at = value_end(text, first)
    members[#members + 1] = { key = core.json.decode(text:sub(key, key_end - 1)), first = first, past = at }
  end
end

--- The places where the elements of the list that begins at `at` begin.
---@param text string         valid JSON
---@param at? integer          default: the beginning
---@return integer[] places
---@return integer[] pasts     the byte after each element
function json_places.elements(text, at)
  local places, pasts = {}, {}
  at = text:match("^%s*%[%s*()", at or 1)
  while text:sub(at, at) ~= "]" do
    places[#places + 1] = at
    pasts[#places] = value_end(text, at)
    at = text:match("^[%s,]*()", pasts[#places])
  end
  return places, pasts
end

--- The places where the elements of the list at `at` begin, up to number `count`.
local function element(text, at, count)
  at = text:match("^%s*%[%s*()", at)
  for _ = 2, count do
    at = text:match("^%s*,%s*()", value_end(text, at))
  end
  return at
end

--- Returns the byte at which the value at a path begins. If the path ends early, the last value that it reaches.
---@param text string
---@param path any[]           keys, and positions from 1
---@return integer at
function json_places.find(text, path)
  local at = text:match "^%s*()"
  for _, step in ipairs(path) do
    local next_at
    if math.type(step) == "integer" then
      next_at = element(text, at, step)
    else
      for _, member in ipairs(json_places.members(text, at)) do
        if member.key == step then next_at = member.first end
      end
    end
    if not next_at then return at end
    at = next_at
  end
  return at
end

--- "line:byte" of the value at a path.
---@param text string
---@param path any[]
---@return string
function json_places.place(text, path)
  return text_place(text, json_places.find(text, path))
end

return json_places
