--- Presets of SillyTavern for chat models: prompts and their order become preset messages, sampling parameters those
-- of the request.
--
-- A marker stands for something else: the history, the texts of the character, the lorebook.

local agents = require "ebb.import.agents.agents"
local fields = require "ebb.import.fields"
local members = require "ebb.import.members"

local st_preset = { name = "st_preset", title = "SillyTavern preset", kind = "json" }

function st_preset.recognise(sample)
  local value = sample.value
  return fields.list(value, "prompts") ~= nil and fields.list(value, "prompt_order") ~= nil
end

--- The preset message that each marker becomes.
local MARKERS = {
  chatHistory = { type = "chat_history" }, worldInfoBefore = { type = "lorebook_before" },
  worldInfoAfter = { type = "lorebook_after" }, dialogueExamples = { type = "examples", content = "{{mesExamples}}" },
  charDescription = { id = "description", content = "{{description}}" },
  charPersonality = { id = "personality", content = "{{personality}}" },
  scenario = { id = "scenario", content = "{{scenario}}" },
  personaDescription = { id = "persona", content = "{{persona}}" },
}

--- Ids under which lorebook entries know prompts.
local IDS = { main = "system_prompt", jailbreak = "post_history_instructions" }

local LIVE, LEFT_OVER = 100001, 100000     -- whose order holds: of all characters; a default of older versions

--- A prompt in the history itself.
local function strategy_of(from)
  local position, depth, order = from:number "injection_position", from:count "injection_depth",
    from:number "injection_order"
  if position ~= 1 then return nil end
  return { type = "depth", depth = depth or 4, order = order or 100 }
end

local function read_prompt(value, path, notes)
  local from = members.of(value, path, notes)
  local id, role, content = from:text "identifier" or path, from:text "role", from:text "content"
  local marker = from:flag "marker" and MARKERS[id]
  local preset = { id = marker and marker.id or IDS[id] or id, role = role or "system", content = content or "" }
  if marker then
    preset.type, preset.content = marker.type, marker.content or ""
  elseif from.value.marker == true then
    notes.report:add("unknown marker", id .. ": left out")
    return nil, id
  end
  if role and role ~= "system" and role ~= "user" and role ~= "assistant" then
    notes.report:add("wrong member", ("%s: role '%s' is unknown"):format(path, role))
    preset.role = "system"
  end
  preset.injectionStrategy = strategy_of(from)
  from:any "system_prompt"; from:any "enabled"
  from:carry("injection_trigger", "prompts are sent in all requests")
  from:skip("name", "forbid_overrides", "show")
  from:rest()
  return preset, id
end

--- The order that holds: of all characters, else the left-over default, else the first.
local function order_of(list, notes)
  local by_character, first = {}, nil
  for i, value in ipairs(list) do
    local from = members.of(value, ("prompt_order[%d]"):format(i - 1), notes)
    local entry = { character = from:number "character_id", order = from:list "order" or {} }
    from:rest()
    first = first or entry
    by_character[entry.character or -1] = entry
  end
  local chosen = by_character[LIVE] or by_character[LEFT_OVER] or first
  if #list > 1 then notes.report:add("other order of prompts", "left out", nil, #list - 1) end
  return chosen and chosen.order or {}
end

local function presets_of(prompts, order, notes)
  local by_id, list, placed = {}, {}, {}
  for i, value in ipairs(prompts) do
    local preset, id = read_prompt(value, ("prompts[%d]"):format(i - 1), notes)
    if preset then by_id[id] = preset end
  end
  for i, value in ipairs(order) do
    local path = ("prompt_order[].order[%d]"):format(i - 1)
    local from = members.of(value, path, notes)
    local id, enabled = from:text "identifier", from:flag "enabled"
    from:rest()
    local preset = id and by_id[id]
    if preset and not placed[id] then
      if enabled == false then preset.isEnabled = false end
      list[#list + 1], placed[id] = preset, true
    elseif not preset then
      notes.report:add("prompt that does not exist", id or path)
    end
  end
  for id in pairs(by_id) do
    if not placed[id] then notes.report:add("prompt without a place", id .. ": no order names it; left out") end
  end
  return list
end

--- Sampling parameters: our member of the request by theirs.
local PARAMETERS = {
  temperature = "temperature", top_p = "topP", frequency_penalty = "frequencyPenalty",
  presence_penalty = "presencePenalty", openai_max_tokens = "maxTokens",
}

--- Settings that only some servers accept, with their neutral values.
local NEUTRAL = { top_k = 0, top_a = 0, min_p = 0, repetition_penalty = 1, seed = -1, n = 1 }

local function parameters_of(from)
  local result = {}
  for name, ours in pairs(PARAMETERS) do result[ours] = from:number(name) end
  for name, neutral in pairs(NEUTRAL) do
    local value = from:number(name)
    if value and value ~= neutral then result[name] = value end
  end
  return result
end

function st_preset.read(source)
  local notes, value = agents.notes(source.report), members.required(source.value, "preset", "an object")
  for _, name in ipairs { "prompts", "prompt_order" } do members.required(value[name], name, "a list") end
  local from = members.of(value, "", notes)
  local parameters = parameters_of(from)
  local window = from:count "openai_max_context"
  local agent = {
    presets = presets_of(from:list "prompts", order_of(from:list "prompt_order", notes), notes),
    parameters = parameters,
  }
  if window then
    agent.processors = { ["token-limiter"] = { budget = math.max(0, window - (parameters.maxTokens or 0)) } }
  end
  local squash = from:flag "squash_system_messages"
  if squash then agent.processors = agent.processors or {} agent.processors["merge-roles"] = { enabled = true } end
  local extensions = members.of(from:object "extensions", "extensions", notes)
  local scripts = extensions:list "regex_scripts"
  if scripts and scripts[1] then agent.rules = { presets = { { name = "scripts of the preset", rules = scripts } } } end
  extensions:rest()
  from:rest()
  return agents.result(agent, notes)
end

return st_preset
