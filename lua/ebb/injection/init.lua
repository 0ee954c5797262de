--- Weaves preset messages into a history.
--
--     skeleton          preset messages before the anchor `chat_history`, as they stand
--     before group      what is anchored before chat_history
--     history           with the depth injections in it
--     after group       what is anchored after it
--     skeleton          the rest
--
-- Other anchors stand in the skeleton: a template anchor renders its own content
-- there, between what is anchored before and after it. Within a group, and at one
-- depth, a larger `order` is nearer the newest message.
--
-- Depth n is before the last n messages of the history, whatever else is put in:
--
--     depth    4    3    2    1    0
--              |h0| |h1| |h2| |h3|
--
-- A place inside of a unit gives way to the one before that unit.

local fields = require "ebb.support.fields"
local model_match = require "ebb.injection.model_match"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.injection.schema"
local suggest = require "ebb.support.suggest"
local units = require "ebb.injection.units"

local injection = { points = schema.points, matches = model_match.matches }

local HISTORY = "chat_history"
local TEMPLATES = { [HISTORY] = false, user_profile = true }

--- Texts that old files have where a template should be: names of what it would show.
local NO_TEMPLATE = { ["用户档案"] = true, user_profile = true, ["User Profile"] = true }

local TOOLS = {
  id = "auto-tool-macro", title = "the tools", type = "message", role = "system", kind = "anchor",
  target = HISTORY, side = "before", order = -100, content = "{{tools}}\n{{tool_usage}}\n{{tool_context}}",
}

-- ---- reading ----

local function title_of(given, place)
  local id = type(given) == "table" and given.id
  return type(id) == "string" and id ~= "" and ("preset message '%s'"):format(id) or ("preset message %d"):format(place)
end

--- The preset messages that can be used, and what is wrong with the others.
---@param presets table[]    as they stand in files
---@param templates? table<string, boolean>   anchors besides the two that are known: has it a template?
---@return table[] messages
---@return { message: string }[] problems     one line each, naming message and field
function injection.read(presets, templates)
  if type(presets) ~= "table" then
    refuse("argument", "injection: expected a list of preset messages, got " .. tostring(presets))
  end
  local anchors, messages, problems = setmetatable(templates or {}, { __index = TEMPLATES }), {}, {}
  for place, given in ipairs(presets) do
    local title = title_of(given, place)
    local message, problem = schema.message(given)
    if message and message.type ~= "message" and anchors[message.type] == nil then
      local names = suggest.names(TEMPLATES)
      table.move(suggest.names(templates or {}), 1, 100, #names + 1, names)
      names[#names + 1] = "message"
      problem = { field = "type", message = ("no anchor '%s'"):format(message.type), hint = suggest.hint(message.type, names) }
      message = nil
    end
    if message then
      message.title = title
      messages[#messages + 1] = message
    else
      problems[#problems + 1] = { message = ("%s: %s"):format(title, fields.say(problem)) }
    end
  end
  return messages, problems
end
return injection
