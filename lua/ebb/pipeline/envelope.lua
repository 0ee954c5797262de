--- The part of a request body around its messages.
--
--     {"model": "gpt-4o", "messages": [ ... ], "tools": [...]}
--     \____ before ____________________/   \____ after ____/
--
-- The bytes of a body that was read are kept; only the model is set, and whatever
-- else the caller asks for. Where messages came as a list or one per line, there
-- was none, and a small one is made.

local core = require "ebb.support.core"
local places = require "ebb.support.json_places"
local tables = require "ebb.support.tables"

local envelope = {}

local json = core.json

--- The members of bodies that have the messages, by dialect; in an emptied body it is an empty list.
local MEMBERS = { "messages", "input", "contents" }

---@class ebb.Envelope
---@field before string        up to and with the [
---@field after string         from the ] on

--- Puts values in the place of members; those that are new come first.
local function set(text, fields)
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
    if not present[key] then added[#added + 1] = ("%s: %s, "):format(json.encode(key), fields[key]) end
  end
  local open = text:match "^%s*{%s*()"   -- a body has messages: something always follows
  return text:sub(1, open - 1) .. table.concat(added) .. text:sub(open)
end

--- The body that a conversation was read from, without its messages.
local function emptied(chat)
  local fork = chat:fork()
  if #fork > 0 then fork:truncate { keep_first = 0 } end
  return fork:json()
end

--- The body of a request around the messages of `chat`, with these members set.
---@param chat ebb.Conversation
---@param fields table<string, any>    by name, such as model
---@return ebb.Envelope
function envelope.build(chat, fields)
  local text = chat.shape == "body" and emptied(chat) or '{"messages": []}\n'
  local written = {}
  for key, value in pairs(fields) do
    written[key] = json.encode(value)
  end
  text = set(text, written)
  local members = places.members(text)
  for _, key in ipairs(MEMBERS) do
    for _, member in ipairs(members) do
      if member.key == key and text:sub(member.first, member.past - 1):find "^%[%s*%]$" then
        return { before = text:sub(1, member.first), after = text:sub(member.past - 1) }
      end
    end
  end
  error "a body without messages"
end

return envelope
