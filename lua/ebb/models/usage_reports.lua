--- Remembers from run to run, by model, what providers counted for requests that were estimated.
--
--     1.083 claude_4_7 18f2a3c.1 claude-opus-4-8     reported / counted, what counted, conversation, model
--
-- The lines are in $XDG_STATE_HOME/ebb/usage. A report narrows the margin that budgets of this model
-- keep free in all conversations: the greatest of n ratios is exceeded by the next one in one case of
-- n + 1, so that from ENOUGH on it is the margin, and before that the rest of the usual margin shrinks
-- evenly. Requests of one conversation resemble each other: they are one report, that of their greatest
-- ratio.

local core = require "ebb.support.core"
local families = require "ebb.models.families"

local usage_reports = {}

local ENOUGH = 19                -- conversations: 1 of 20 is above the greatest of them
local BYTES_MAX = 1024 * 1024    -- of a file that is read
local LINES_MAX = 1000           -- that are kept

local kept = require("ebb.support.kept_lines").new("state", "usage", { bytes = BYTES_MAX, lines = LINES_MAX })

--- Path of the file; nil without a home.
usage_reports.path = kept.path

--- Numbers of the conversations that reported in this process, and the moment of the first report.
local numbers, count, started = setmetatable({}, { __mode = "k" }), 0, nil

local function conversation_id(chat)
  started = started or core.now()
  if not numbers[chat] then count, numbers[chat] = count + 1, count + 1 end
  return ("%x.%d"):format(started, numbers[chat])
end

--- Remembers what a provider counted.
---@param chat ebb.Conversation
---@param model string       its name, however it is spelled
---@param ratio number       reported / counted, 1 or more
function usage_reports.add(chat, model, ratio)
  local name = families.plain(model)
  if name == "" or name:find "%c" then return end   -- no name of a provider's
  kept.add(("%.4f %s %s %s"):format(ratio, chat:encoding(), conversation_id(chat), name))
end

--- The greatest ratio for a model, and the number of conversations that reported.
---@param model string
---@param encoding string    that counts for it
---@return number greatest   1 or more
---@return integer conversations
function usage_reports.of(model, encoding)
  local name, greatest, seen, conversations = families.plain(model), 1, {}, 0
  for ratio, by, id, reported in kept.lines():gmatch "([%d.]+) (%S+) (%S+) ([^\n]+)" do
    ratio = tonumber(ratio)
    if ratio and by == encoding and reported == name then
      greatest = math.max(greatest, ratio)
      if not seen[id] then seen[id], conversations = true, conversations + 1 end
    end
  end
  return greatest, conversations
end

--- The margin that remains of the usual one, in percent.
---@param model string
---@param encoding string
---@param percent integer    without reports
---@return integer percent
function usage_reports.margin(model, encoding, percent)
  local greatest, conversations = usage_reports.of(model, encoding)
  if conversations == 0 then return percent end
  local shown = (greatest - 1) * 100
  local rest = math.max(0, percent - shown) * math.max(0, ENOUGH - conversations) / ENOUGH
  return math.ceil(shown + rest - 1e-6)   -- 1.07 is 7 % although its binary fraction is more
end

return usage_reports
