--- The part of a request body around its messages.
--
--     {"model": "gpt-4o", "messages": [ ... ], "tools": [...]}
--     \____ before ____________________/   \____ after ____/
--
-- The bytes of a body that was read are kept; only the model is set, and whatever
-- else the caller asks for. Where messages came as a list or one per line, there
-- was none, and a small one is made.

local core = require "ebb.support.core"
local body = require "ebb.request.body"
local places = require "ebb.support.json_places"

local envelope = {}

local json = core.json

--- The members of bodies that have the messages, by dialect; in an emptied body it is an empty list.
local MEMBERS = { "messages", "input", "contents" }

---@class ebb.Envelope
---@field before string        up to and with the [
---@field after string         from the ] on

--- The body of a request around the messages of `chat`, with these members set.
---@param chat ebb.Conversation
---@param fields table<string, any>    by name, such as model
---@return ebb.Envelope
function envelope.build(chat, fields)
  local text = chat.shape == "body" and body.around(chat) or '{"messages": []}\n'
  local written = {}
  for key, value in pairs(fields) do
    written[key] = json.encode(value)
  end
  text = body.set(text, written)
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
