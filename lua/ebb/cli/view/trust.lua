--- Reasons of estimated counts: which part is assumed, and what would make the count better.

local core = require "ebb.support.core"
local ebb = require "ebb"
local models = require "ebb.models"

local trust = {}

local NAMES_SHOWN = 3
local REPORT = "what the provider counted goes to chat:report_usage"

local function is_estimated(list)
  return list:trust() == "estimated"
end

--- Kinds of parts that are never counted by a rule.
local ASSUMED = { file = true, audio = true, asset = true, other = true }

--- True if an image is named by an address or an id, so that its size is unknown.
local function is_elsewhere(part)
  local json = core.json.encode(part.value)
  return not (json:find("base64", 1, true) or json:find "inline_?[Dd]ata")
end

--- The part of a message that is most likely assumed: one without a rule, before an image whose bytes are there.
local function assumed_part(message)
  local image, place
  for i, part in ipairs(message.parts) do
    local is_sealed = part.kind == "reasoning" and not part.text
    if ASSUMED[part.kind] or is_sealed or part.kind == "image" and is_elsewhere(part) then return part, i end
    if part.kind == "image" and not image then image, place = part, i end
  end
  return image, place
end

local IMAGES = "; images count by their size where their bytes are in the request"

--- Returns why the cost of one message is assumed.
---@param message ebb.Message
---@return string reason
function trust.of_message(message)
  local part, place = assumed_part(message)
  if not part then return "the cost of a part other than text is a guess" end
  local kind = type(part.value) == "table" and part.value.type or part.kind
  return ("the cost of part %d (%s) is a guess%s"):format(place, kind, part.kind == "image" and IMAGES or "")
end

--- The names of the tools whose schemas have no published rule.
local function assumed_tools(chat, empty)
  local names, body = {}, core.json.decode(empty:json())
  for _, tool in ipairs(type(body) == "table" and type(body.tools) == "table" and body.tools or {}) do
    local one = ebb.parse(core.json.encode { messages = core.json.array {}, tools = { tool } },
      { encoding = chat:encoding() })
    local called = type(tool) == "table" and (type(tool["function"]) == "table" and tool["function"].name or tool.name)
    local name = type(called) == "string" and called or "one without a name"
    if one and is_estimated(one) then names[#names + 1] = name end
  end
  return names
end

--- Returns why the cost of the request outside of its messages is assumed.
local function of_tools(chat)
  local empty = chat:fork()
  empty:truncate { keep_last = 0 }
  local names = assumed_tools(chat, empty)
  local more = #names > NAMES_SHOWN and (" and %d more"):format(#names - NAMES_SHOWN) or ""
  local which = names[1] and (" (%s%s)"):format(table.concat(names, ", ", 1, math.min(#names, NAMES_SHOWN)), more) or ""
  return ("how the provider frames its tools is assumed%s: their schemas have no published rule"):format(which)
end

--- Returns why all counts of a conversation are estimates; nil where a vocabulary or the caller counts.
---@param chat ebb.Conversation
---@return string? reason
function trust.of_estimator(chat)
  local encoding = chat:encoding()
  if not encoding or not models.is_estimator(encoding) then return nil end
  local missing = models.missing(chat)
  if missing then return ("%s is not installed, so %s counts"):format(missing, encoding) end
  if encoding:find "^claude" then return ("%s counts, for Anthropic publishes no vocabulary"):format(encoding) end
  return ("%s counts; --model or --encoding names a vocabulary"):format(encoding)
end

---@class ebb.cli.Assumed       Parts of a request that are counted by an assumption
---@field messages table<integer, string>    why, by position
---@field first? integer        the first of these positions
---@field tools? string         why what is outside of its messages is assumed

--- The parts of a conversation that are counted by an assumption, whatever counts its texts.
---@param chat ebb.Conversation
---@param all? boolean          also the messages after the first
---@return ebb.cli.Assumed
function trust.assumed(chat, all)
  local assumed = { messages = {} }
  if not is_estimated(chat) then return assumed end
  local places, has_tools = core.counter.guesses(chat)
  for i = 1, all and #places or math.min(1, #places) do
    assumed.messages[places[i]] = trust.of_message(chat[places[i]])
  end
  assumed.first, assumed.tools = places[1], has_tools and of_tools(chat) or nil
  return assumed
end

--- Returns why a conversation's count is estimated: the estimator of its texts, and its first part that is assumed. Nil
--- for counts that are not estimated.
---@param chat ebb.Conversation
---@param assumed? ebb.cli.Assumed
---@return string? reason
function trust.reason(chat, assumed)
  if not is_estimated(chat) then return nil end
  assumed = assumed or trust.assumed(chat)
  local reasons = { trust.of_estimator(chat) }
  reasons[#reasons + 1] = assumed.tools
  if assumed.first then
    local role = chat[assumed.first].role or "window"
    reasons[#reasons + 1] = ("message %d (%s): %s"):format(assumed.first, role, assumed.messages[assumed.first])
  end
  if assumed.tools or assumed.first then reasons[#reasons + 1] = REPORT end
  return table.concat(reasons, "; ")
end

return trust
