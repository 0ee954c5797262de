--- Reads the speech of users and models in working copies: the texts that keys are searched in.
--
--     local said = speech.of(messages, { user = "Ann: ", assistant = "" })
--     said.count, said.replies, said:text(said.count)
--
-- Messages that speak are looked up once (bind/speech.c); a text is read when it is needed, so most stay in the core.

local core = require "ebb.support.core"

local speech = {}

speech.NAME_BYTES_MAX = 256   -- of an agent's or user's name that is searched: it comes before each text

---@class ebb.LorebookSpeech
---@field count integer         messages that say something
---@field replies integer       those of assistants
---@field messages ebb.WorkingMessage[]
---@field positions integer[]   of those that say something
---@field labels? table<string, string>   by role: what comes before texts of messages without a name
local Speech = {}
Speech.__index = Speech

---@param messages ebb.WorkingMessage[]
---@param labels? table<string, string>   nil: no names come before texts
---@return ebb.LorebookSpeech
function speech.of(messages, labels)
  local positions, replies = core.working.spoken(messages)
  return setmetatable({ messages = messages, labels = labels, positions = positions, count = #positions,
    replies = replies }, Speech)
end

--- The text of message i among those that say something, and what comes before it: "Ann: ", or "".
---@param i integer
---@return string text
---@return string name
function Speech:text(i) return core.working.said(self.messages, self.positions, self.labels, i) end

--- The last message from `first` on up to which they say these texts after these names; first - 1: none does.
---@param texts table<integer, string>
---@param names table<integer, string>
---@param first integer
---@param last integer
---@return integer
function Speech:same(texts, names, first, last)
  return core.working.same_speech(self.messages, self.positions, self.labels, texts, names, first, last)
end

return speech
