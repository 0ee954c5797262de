--- Between working copies and bytes: history in, request body out.
--
-- A working copy knows the stored message that it came from (`seq`). As long as it
-- still says the same, the stored bytes are written; whether it does is looked at
-- here, and nobody is trusted to have said so. What a message itself calls
-- `source`, `seq` ... waits in `own` until it is written.

local core = require "ebb.support.core"
local envelope = require "ebb.pipeline.envelope"
local refuse = require "ebb.support.refuse"
local values = require "ebb.support.values"

local request = {}

local json = core.json

--- Fields of a working copy that are no fields of a message.
local INTERNAL = { attachments = true, source = true, source_id = true, seq = true, origin = true, trusted = true,
  own = true }

local ROLES = { system = true, developer = true, user = true, assistant = true, tool = true, ["function"] = true }

---@class ebb.Request
---@field original ebb.Conversation
---@field envelope ebb.Envelope
---@field parse_options table       for core.parse: the counter, the caps
---@field stored table<integer, { json: string, message: table }>   by seq
local Request = {}
Request.__index = Request

--- The attachments of a stored message, if it has any of ours.
local function attachments_of(message)
  local list = message.attachments
  if type(list) ~= "table" or list[1] == nil then return nil end
  for _, each in ipairs(list) do
    if type(each) ~= "table" or not (each.path or each.data or each.id) then return nil end
  end
  return list
end

local function working_copy(handle, message)
  local copy = values.copy(message)
  local own
  for name in pairs(INTERNAL) do
    if copy[name] ~= nil then
      own = own or {}
      own[name], copy[name] = copy[name], nil
    end
  end
  copy.attachments = own and attachments_of(own) and own.attachments or nil
  if copy.attachments then own.attachments = nil end
  copy.own = own and next(own) and own or nil
  copy.source, copy.source_id, copy.seq = "history", handle.id, handle.seq
  copy.origin = handle.seq
  return copy
end

--- The visible history as working copies.
---@return ebb.WorkingMessage[]
function Request:history()
  local copies = {}
  for i, handle in ipairs(self.original) do
    local bytes = handle.json
    local message = json.decode(bytes)
    self.stored[handle.seq] = { json = bytes, message = message }
    copies[i] = working_copy(handle, message)
  end
  return copies
end

--- The bytes of the stored message that a copy still is; nil if it says something else.
local function stored_bytes(self, copy)
  local stored = copy.seq and self.stored[copy.seq]
  if not stored or copy.attachments or copy.own and copy.own.attachments then return nil end
  local message, own = stored.message, copy.own
  for name, value in next, copy do
    if not INTERNAL[name] and not values.same(value, message[name]) then return nil end
  end
  for name in next, message do
    if copy[name] == nil and not (own and own[name] ~= nil) then return nil end
  end
  return stored.json
end

--- Is a working copy still the stored message, byte for byte?
---@param copy ebb.WorkingMessage
---@return boolean
function Request:is_stored(copy)
  return stored_bytes(self, copy) ~= nil
end

--- The message as JSON; role and content come first.
local function encode(copy)
  local rest, pieces = {}, { ('"role": %s'):format(json.encode(copy.role)) }
  for name, value in pairs(copy) do
    if not INTERNAL[name] and name ~= "role" and name ~= "content" then rest[name] = value end
  end
  for name, value in pairs(copy.own or {}) do
    rest[name] = value
  end
  if copy.content ~= nil then pieces[2] = ('"content": %s'):format(json.encode(copy.content)) end
  if next(rest) ~= nil then pieces[#pieces + 1] = json.encode(rest):sub(2, -2) end
  return "{" .. table.concat(pieces, ", ") .. "}"
end

local function wrong(i, what)
  refuse("shape", ("messages[%d]: %s"):format(i, what))
end

local function check_parts(i, parts)
  for n, part in ipairs(parts) do
    if type(part) ~= "table" or type(part.type) ~= "string" then
      wrong(i, ("content[%d] is a part: a table with a type"):format(n))
    end
  end
end

--- Refuses a list that holds anything but messages.
---@param messages any
function request.check(messages)
  if type(messages) ~= "table" then refuse("shape", "messages is a list, not " .. type(messages)) end
  local count = 0
  for i, message in ipairs(messages) do
    count = i
    if type(message) ~= "table" then wrong(i, "a message is a table, not " .. type(message)) end
    if not ROLES[message.role] and not (message.seq and type(message.role) == "string") then
      wrong(i, ("role is %s: expected system, user, assistant or tool"):format(tostring(message.role)))
    end
    local content = message.content
    if type(content) == "table" then
      check_parts(i, content)
    elseif type(content) ~= "string" then
      local speaks = message.tool_calls or message.function_call or message.refusal or message.audio
      if not speaks or content ~= nil and content ~= json.null then
        wrong(i, ("content is %s: expected a text or parts"):format(content == json.null and "null" or type(content)))
      end
    end
  end
  for key in pairs(messages) do
    if math.type(key) ~= "integer" or key < 1 or key > count then
      refuse("shape", ("messages has a key %s: it is a list without holes"):format(tostring(key)))
    end
  end
end

--- The whole body.
---@param messages ebb.WorkingMessage[]
---@return string
function Request:text(messages)
  local lines = {}
  for i, copy in ipairs(messages) do
    lines[i] = stored_bytes(self, copy) or encode(copy)
  end
  local list = #lines > 0 and "\n  " .. table.concat(lines, ",\n  ") .. "\n" or ""
  return self.envelope.before .. list .. self.envelope.after
end

--- The body as a conversation of its own, counted.
---@param messages ebb.WorkingMessage[]
---@param counter? fun(message: ebb.Message): integer   default: the request's
---@return ebb.Conversation
function Request:chat(messages, counter)
  request.check(messages)
  local asked = self.parse_options
  if counter then
    asked = values.copy(asked)
    asked.counter, asked.encoding, asked.tokenizer, asked.image = counter, nil, nil, nil
  end
  local chat, message, code = core.parse(self:text(messages), asked)
  if not chat then refuse(code, "the request: " .. message) end
  return chat
end

--- These messages as a conversation with the marks of the stored ones.
---@param messages ebb.WorkingMessage[]
---@param counter? fun(message: ebb.Message): integer
---@return ebb.Conversation
function Request:history_chat(messages, counter)
  local chat, place_of = self:chat(messages, counter), {}
  for i, copy in ipairs(messages) do
    if copy.origin then place_of[copy.origin] = i end
  end
  for _, handle in ipairs(self.original) do
    local place = place_of[handle.seq]
    for _, name in ipairs(place and handle.marks or {}) do
      chat:mark(place, name)
    end
  end
  return chat
end

---@param original ebb.Conversation
---@param fields table          members of the body that are set, such as model
---@param parse_options table
---@return ebb.Request
function request.open(original, fields, parse_options)
  return setmetatable({
    original = original, envelope = envelope.of(original, fields), parse_options = parse_options, stored = {},
  }, Request)
end

return request
