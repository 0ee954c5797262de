--- The messages of a session of Claude Code as they are sent: what the program itself adds is in the message of the
-- user next to it, not in one of its own.
--
--     prompt, attachment                  ->  user: attachment, prompt
--     result, attachment, text of a skill ->  user: result, attachment, text of the skill
--     prompt, attachment as the system    ->  user: prompt; system: attachment
--
-- A message that is alone keeps its bytes.

local anthropic = require "ebb.import.anthropic"
local core = require "ebb.support.core"
local fields = require "ebb.import.fields"

local claude_messages = {}

---@class ebb.import.ClaudeMessage
---@field role string
---@field content? string       JSON, as it was; nil: `blocks` are it
---@field blocks? string[]      JSON of each
---@field line integer
---@field is_made boolean       all of it is the program's

---@class ebb.import.ClaudeMessages
---@field list ebb.import.ClaudeMessage[]
local Messages = {}
Messages.__index = Messages

---@return ebb.import.ClaudeMessages
function claude_messages.new() return setmetatable({ list = {} }, Messages) end

--- The blocks of a message, which it has from then on instead of its content.
local function blocks_of(message)
  if message.blocks then return message.blocks end
  local list = {}
  for i, block in ipairs(anthropic.blocks(message.content) or {}) do list[i] = block.raw end
  message.blocks, message.content = list, nil
  return list
end

--- The message of the user that is being written: the last one, or the one before what the program said as the system.
local function open_user(self)
  local last, before = self.list[#self.list], self.list[#self.list - 1]
  if last and last.role == "system" and last.is_made then last = before end
  return last and last.role == "user" and last or nil
end

local function is_result(raw)
  return raw:find('"tool_result"', 1, true) ~= nil and fields.text(core.json.decode(raw), "type") == "tool_result"
end

--- Puts blocks after what a message has.
local function append(message, blocks)
  local list = blocks_of(message)
  table.move(blocks, 1, #blocks, #list + 1, list)
end

--- Puts blocks before the user's words: after results, and after what was put there before.
local function insert(message, blocks)
  local list, at = blocks_of(message), message.inserted
  if not at then
    at = 0
    while list[at + 1] and is_result(list[at + 1]) do at = at + 1 end
  end
  table.move(list, at + 1, #list, at + 1 + #blocks)
  table.move(blocks, 1, #blocks, at + 1, list)
  message.inserted = at + #blocks
end

--- Adds a message of the user or the assistant. One that the program made joins the message of the user before it, and
--- so does what the user says after one that is only made.
---@param role string
---@param content string       JSON of a text or of blocks
---@param line integer
---@param is_made? boolean
function Messages:add(role, content, line, is_made)
  local user = role == "user" and open_user(self)
  if user and (is_made or user.is_made) then
    local list = {}
    for i, block in ipairs(anthropic.blocks(content) or {}) do list[i] = block.raw end
    append(user, list)
    user.is_made = user.is_made and is_made or false
    return
  end
  self.list[#self.list + 1] = { role = role, content = content, line = line, is_made = is_made or false }
end

--- Adds what was attached.
---@param attached ebb.import.ClaudeAttached
---@param line integer
function Messages:attach(attached, line)
  local last = self.list[#self.list]
  if attached.role == "system" then
    if last and last.role == "system" then return append(last, attached.blocks) end
    self.list[#self.list + 1] = { role = "system", blocks = attached.blocks, line = line, is_made = true }
    return
  end
  local user = open_user(self)
  if not user then
    self.list[#self.list + 1] = { role = "user", blocks = attached.blocks, line = line, is_made = true,
      inserted = #attached.blocks }
  elseif attached.is_behind then
    append(user, attached.blocks)
  else
    insert(user, attached.blocks)
  end
end

--- The messages as JSON, and the lines where they begin.
---@return string[] messages
---@return integer[] lines
function Messages:finish()
  local messages, lines = {}, {}
  for i, message in ipairs(self.list) do
    local content = message.content or ("[%s]"):format(table.concat(message.blocks, ","))
    messages[i], lines[i] = ('{"role":"%s","content":%s}'):format(message.role, content), message.line
  end
  return messages, lines
end

return claude_messages
