--- Files that become an agent: what all their importers share.

local macros = require "ebb.macros"
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

--- The value of each macro that an agent's texts are read by, as the pipeline has it.
local function values_of(agent, user)
  return {
    user = user, char = agent.nickname or agent.name, agent = agent.name, description = agent.description,
    personality = agent.personality, scenario = agent.scenario, mes_examples = agent.mesExamples,
    creator_notes = agent.creatorNotes, char_prompt = agent.charPrompt, char_instruction = agent.charInstruction,
    agent_version = agent.version,
  }
end

--- Reports macros of a text that stay as they are.
local function note_macros(report, place, notes)
  for _, each in ipairs(report.unknown) do
    notes.report:add("macro that stays as it is", ("%s: {{%s}}: unknown"):format(place, each.name))
  end
  for _, each in ipairs(report.errors) do
    local kind = each.level == "error" and "macro that stays as it is" or "macro with a mistake"
    notes.report:add(kind, ("%s: %s: %s"):format(place, each.source or "{{", each.message))
  end
end

--- A greeting for a conversation file, in which no macros are expanded. Variables that it sets become the agent's.
---@param text string
---@param agent table          as it is in an agent file
---@param options ebb.import.Options   user, now, zone
---@param notes ebb.import.Notes
---@return string
function agents.spoken(text, agent, options, notes)
  local environment = macros.environment { values = values_of(agent, options.user), now = options.now,
    zone = options.zone }
  local spoken, report = macros.expand(agents.text(text), environment)
  note_macros(report, "greeting", notes)
  local variables = environment.variables
  if next(variables["local"]) or next(variables.global) then agent.variables = variables end
  return spoken
end

--- Reports the greetings that do not begin the conversation.
---@param count integer
---@param notes ebb.import.Notes
function agents.note_others(count, notes)
  notes.report:add("alternate greeting", "kept (choose one with --greeting)", nil, count)
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
---@param agent table          as it is in an agent file
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
