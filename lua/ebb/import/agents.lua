--- Files that become an agent: what all their importers share.

local members = require "ebb.import.members"
local refuse = require "ebb.support.refuse"

local agents = {}

--- Words of older cards that stand for the names of user and character.
local NAMES = { user = "{{user}}", char = "{{char}}", bot = "{{char}}" }

--- A text of a card with macros in place of its older words.
---@param text string
---@return string
function agents.text(text)
  return (text:gsub("<(%a+)>", function(word) return NAMES[word:lower()] end))
end

--- A text for a conversation file, in which no macros are expanded.
---@param text string
---@param char string
---@param user string
---@return string
function agents.spoken(text, char, user)
  local names = { ["{{char}}"] = char, ["{{user}}"] = user }
  return (agents.text(text):gsub("{{%a+}}", function(word) return names[word:lower()] end))
end

--- Removes members without a value, so that files hold what is there.
local function compact(value)
  if type(value) ~= "table" then return value end
  for name, each in pairs(value) do
    if type(each) == "table" and next(each) == nil then value[name] = nil end
  end
  return value
end

--- The result of an importer; raises where nothing was understood.
---@param agent table          as it stands in an agent file
---@param notes ebb.import.Notes
---@param messages? table[]
---@return ebb.Import
function agents.result(agent, notes, messages)
  if not notes.understood[1] then refuse("shape", "none of its members is known: nothing is read") end
  agent.extra = next(notes.extra) ~= nil and notes.extra or nil
  return { dialect = "openai", messages = messages or {}, agent = compact(agent), understood = notes.understood,
    report = notes.report, branches = 1 }
end

--- A preset message; nil for a blank text.
---@param id string
---@param content? string
---@param fields? table
---@return table?
function agents.preset(id, content, fields)
  local preset = { id = id, role = "system", content = content or "" }
  for name, value in pairs(fields or {}) do preset[name] = value end
  if preset.content:find "%S" or preset.type then return preset end
end

agents.notes = members.notes

return agents
