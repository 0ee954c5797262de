--- The text of a request body: its members around the messages, and the replacement of values.

local core = require "ebb.support.core"
local places = require "ebb.support.json_places"
local tables = require "ebb.support.tables"

local body = {}

--- Replaces members by JSON texts; new ones come first, in the order of their names.
---@param text string                     a JSON object that has a member
---@param fields table<string, string>
---@return string
function body.set(text, fields)
  local edits, present = {}, {}
  for _, member in ipairs(places.members(text)) do
    present[member.key] = true
    if fields[member.key] then edits[#edits + 1] = { member.first, member.past, fields[member.key] } end
  end
  for i = #edits, 1, -1 do   -- from the end, so that places stay right
    local first, past, value = table.unpack(edits[i])
    text = text:sub(1, first - 1) .. value .. text:sub(past)
  end
  local added = {}
  for _, key in ipairs(tables.keys(fields)) do
    if not present[key] then added[#added + 1] = ("%s: %s, "):format(core.json.encode(key), fields[key]) end
  end
  local open = text:match "^%s*{%s*()"
  return text:sub(1, open - 1) .. table.concat(added) .. text:sub(open)
end

--- The object without some of its members.
---@param text string                     a JSON object
---@param names string[]
---@return string
function body.without(text, names)
  local kept, is_whole = {}, true
  for _, member in ipairs(places.members(text)) do
    if tables.contains(names, member.key) then
      is_whole = false
    else
      kept[#kept + 1] = core.json.encode(member.key) .. ":" .. text:sub(member.first, member.past - 1)
    end
  end
  return is_whole and text or "{" .. table.concat(kept, ",") .. "}"
end

--- The body that a conversation was read from, without its messages.
---@param chat ebb.Conversation
---@return string
function body.around(chat)
  local fork = chat:fork()
  if #fork > 0 then fork:truncate { keep_first = 0 } end
  return fork:json()
end

return body
