--- Agents of AIO Hub: exports with one agent or several, and the file of one agent as the program keeps it. One of
--- several is chosen as a conversation is.

local agents = require "ebb.import.agents.agents"
local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local lore = require "ebb.import.agents.lore"
local members = require "ebb.import.members"
local refuse = require "ebb.support.refuse"

local aiohub = { name = "aiohub", title = "AIO Hub agent", kind = "json" }

--- Members that only AIO Hub has a use for; they are kept.
local ABOUT = { "displayName", "category", "llmThinkRules", "richTextStyleOptions", "assets", "assetGroups",
  "worldbookIds", "userProfileId", "profileId", "displayPresetCount", "interactionConfig", "quickActionSetIds",
  "presetGroups", "defaultGreetingId", "createdAt", "lastUsedAt", "avatarHistory", "visualGuideline",
  "defaultToolCallCollapsed", "extensionConfig" }

local function has_one_of(value, names)
  for _, name in ipairs(names) do
    if value[name] ~= nil then return true end
  end
  return false
end

--- True for an object that is no export, and no conversation.
local function may_be_agent(value)
  return fields.is_object(value) and not has_one_of(value, { "type", "agents", "messages", "nodes", "spec" })
end

--- True for the file of one agent: it has presets under their name there, or a model next to a member that only AIO Hub
--- has.
local function is_own_file(value)
  if not may_be_agent(value) then return false end
  return fields.list(value, "presetMessages") ~= nil
    or (fields.text(value, "modelId") ~= nil or fields.is_object(value.parameters)) and has_one_of(value, ABOUT)
end

function aiohub.recognise(sample)
  local value = sample.value
  if not fields.is_object(value) then return false end
  return value.type == "AIO_Agent_Export" and fields.list(value, "agents") ~= nil or is_own_file(value)
end

--- Members of the request; the others that AIO Hub keeps among them say how it works.
local PARAMETERS = {
  "temperature", "maxTokens", "topP", "topK", "frequencyPenalty", "presencePenalty", "seed", "stop", "n", "logprobs",
  "topLogprobs", "responseFormat", "reasoningEffort", "maxCompletionTokens", "serviceTier", "logitBias", "minP",
}

--- Our processors by their names for steps after the request is put together.
local STEPS = {
  ["post:merge-system-to-head"] = "merge-system", ["post:merge-consecutive-roles"] = "merge-roles",
  ["post:convert-system-to-user"] = "convert-system", ["post:ensure-alternating-roles"] = "alternate-roles",
}

local function add_steps(from, processors)
  local rules = members.of(from:object "contextPostProcessing", from:place "contextPostProcessing", from.notes)
  for i, value in ipairs(rules:list "rules" or {}) do
    local rule = members.of(value, ("%s.rules[%d]"):format(rules.path, i - 1), from.notes)
    local kind, enabled = rule:text "type", rule:flag "enabled"
    local id = STEPS[kind or ""]
    if id then
      processors[id] = { enabled = enabled ~= false, separator = id == "merge-system" and rule:text "separator" or nil,
        user_placeholder = id == "alternate-roles" and rule:text "userPlaceholder" or nil,
        assistant_placeholder = id == "alternate-roles" and rule:text "assistantPlaceholder" or nil }
    else
      from.notes.report:add("unknown processor", tostring(kind) .. ": left out")
    end
    rule:rest()
  end
  rules:rest()
end

local function above_zero(count) return count and count > 0 and count or nil end

--- A limit of tokens becomes the budget, with the characters that a message keeps which is cut short.
local function add_limit(from, processors)
  local limit = members.of(from:object "contextManagement", from:place "contextManagement", from.notes)
  local enabled, budget = limit:flag "enabled", above_zero(limit:count "maxContextTokens")
  local retained = above_zero(limit:count "retainedCharacters")
  limit:rest()
  if not (budget or retained) then return end
  if enabled == false then
    from.notes.extra[limit.path] = limit.value
    return from.notes.report:add("limit of tokens that is off", limit.path .. " (kept, not used)")
  end
  processors["token-limiter"] = { budget = budget, retained_characters = retained }
end

local function read_parameters(from, agent)
  local value = members.of(from:object "parameters", from:place "parameters", from.notes)
  agent.parameters, agent.processors = {}, {}
  for _, name in ipairs(PARAMETERS) do
    agent.parameters[name] = value:any(name)
    if agent.parameters[name] ~= nil then table.insert(from.notes.understood, value:place(name)) end
  end
  add_limit(value, agent.processors)
  add_steps(value, agent.processors)
  value:rest()
end

--- Members of a node that preset messages have, and those that only say where it is.
local PRESET = { "id", "type", "role", "content", "isEnabled", "modelMatch", "injectionStrategy" }
local OF_TREES = { "name", "parentId", "childrenIds", "lastSelectedChildId", "status", "timestamp", "metadata" }

local function preset_of(value, path, notes)
  local from, preset = members.of(value, path, notes), {}
  for _, name in ipairs(PRESET) do preset[name] = from:any(name) end
  for _, name in ipairs(OF_TREES) do from:any(name) end
  table.insert(notes.understood, path)
  from:rest()
  if preset.role == "tool" then preset.role = "user" end
  return preset
end

local function presets_of(from)
  local list = {}
  for i, value in ipairs(from:list "presetMessages" or {}) do
    list[i] = preset_of(value, ("%s[%d]"):format(from:place "presetMessages", i - 1), from.notes)
  end
  return list
end

local function lorebooks_of(from)
  local books = {}
  for i, value in ipairs(from:list "bundledWorldbooks" or {}) do
    local bundle = members.of(value, ("%s[%d]"):format(from:place "bundledWorldbooks", i - 1), from.notes)
    local id, name, file = bundle:text "id", bundle:text "name", bundle:text "fileName"
    local book = bundle:object "content"
    if book then
      books[#books + 1] = lore.world(book, bundle:place "content", from.notes, name)
      books[#books].id = id
    else
      from.notes.report:add("lorebook of its own", ("%s: its file is not part of the agent"):format(name or file or id))
    end
    bundle:rest()
  end
  return books
end

local function add_lorebook_settings(from, agent)
  local value = members.of(from:object "worldbookSettings", from:place "worldbookSettings", from.notes)
  local off, depth = value:flag "disableRecursion", value:count "defaultScanDepth"
  value:rest()
  if off or depth then agent.processors.lorebook = { recursive = not off, scan_depth = depth } end
end

local function greetings_of(from)
  local list = {}
  for i, value in ipairs(from:list "greetings" or {}) do
    local greeting = members.of(value, ("%s[%d]"):format(from:place "greetings", i - 1), from.notes)
    local role, text = greeting:text "role", greeting:text "content"
    greeting:skip("id", "name")
    greeting:carry("attachments", "files are not part of the agent")
    greeting:rest()
    list[#list + 1] = text and { role = role == "user" and "user" or "assistant", content = text } or nil
  end
  return list
end

local function tools_of(from)
  local value = members.of(from:object "toolCallConfig", from:place "toolCallConfig", from.notes)
  local result = { enabled = value:flag "enabled", autoInjectIfMacroMissing = value:flag "autoInjectIfMacroMissing" }
  for name in pairs(value.value) do
    if name ~= "enabled" and name ~= "autoInjectIfMacroMissing" then value:carry(name, "for its own tool calls") end
  end
  return next(result) ~= nil and result or nil
end

--- ISO 8601 as JavaScript writes it, or milliseconds since 1970.
local function is_instant(value)
  return math.type(value) == "integer"
    or type(value) == "string" and value:find "^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d" ~= nil
end

--- The time of a story; kept without use where it is not whole.
local function time_of(from)
  local value = fields.is_object(from.value.virtualTimeConfig) and from.value.virtualTimeConfig or {}
  local scale = value.timeScale == core.json.null and 1 or value.timeScale or 1
  if not is_instant(value.virtualBaseTime) or not is_instant(value.realBaseTime) or type(scale) ~= "number" then
    return from:carry("virtualTimeConfig", "virtualBaseTime, realBaseTime or timeScale is missing or wrong")
  end
  local time = members.of(from:object "virtualTimeConfig", from:place "virtualTimeConfig", from.notes)
  local result = { virtualBaseTime = time:any "virtualBaseTime", realBaseTime = time:any "realBaseTime",
    timeScale = time:any "timeScale" }
  time:rest()
  return result
end

local function carry_about(from)
  for _, name in ipairs(ABOUT) do from:carry(name, "for AIO Hub only") end
end

local function read_agent(value, path, notes, options)
  local from = members.of(members.required(value, path, "an object"), path, notes)
  local greetings = greetings_of(from)
  local agent = {
    id = from:text "id", name = from:text "name", description = from:text "description", icon = from:text "icon",
    model = from:text "modelId", version = from:text "agentVersion", tags = from:texts "tags",
    presets = presets_of(from), rules = from:object "regexConfig", lorebooks = lorebooks_of(from),
    toolCallConfig = tools_of(from), virtualTime = time_of(from), greetings = {},
  }
  if agent.rules then agent.rules.bindingMode = nil end
  read_parameters(from, agent)
  add_lorebook_settings(from, agent)
  from:any "version"
  carry_about(from)
  from:rest()
  for i, greeting in ipairs(greetings) do agent.greetings[i] = greeting.content end
  local first = greetings[(options.greeting or 0) + 1]
  agents.note_others(#greetings - (first and 1 or 0), notes)
  if first then first.content = agents.spoken(first.content, agent, options, notes) end
  return agents.result(agent, notes, { first })
end

--- The number of the agent that is asked for: by number, id or name.
local function chosen(list, wanted)
  local number = math.tointeger(tonumber(wanted))
  if number and list[number] then return number end
  for i, value in ipairs(list) do
    if fields.text(value, "id") == wanted or fields.text(value, "name") == wanted then return i end
  end
  return refuse("unknown_name", ("there is no agent '%s'"):format(wanted), ("it has %d"):format(#list))
end

local SIGNS = { "presetMessages", "modelId", "parameters", "regexConfig", "profileId" }

function aiohub.read(source, options)
  local notes, value = agents.notes(source.report), source.value
  if is_own_file(value) or may_be_agent(value) and has_one_of(value, SIGNS) then
    if options.conversation then chosen({ value }, options.conversation) end
    return read_agent(value, "", notes, options)
  end
  local from = members.of(members.required(value, "export", "an object"), "", notes)
  from:any "type"; from:any "version"
  local list = members.required(from.value.agents, "agents", "a list")
  from:list "agents"
  from:rest()
  if #list == 0 then refuse("shape", "agents: expected at least one agent") end
  local number = options.conversation and chosen(list, options.conversation) or 1
  if #list > 1 then notes.report:add("other agent", "--conversation chooses another", nil, #list - 1) end
  return read_agent(list[number], ("agents[%d]"):format(number - 1), notes, options)
end

return aiohub
