--- Character cards: V1, V2 and V3, as JSON or out of a picture.
--
-- The card becomes an agent: its texts are preset messages around the history, in the order in which SillyTavern sends
-- them, its book a lorebook, its scripts rules. The first message begins the conversation. What is for people only
-- (creator, source, pictures) is kept in the agent's `extra`.

local agents = require "ebb.import.agents.agents"
local fields = require "ebb.import.fields"
local lore = require "ebb.import.agents.lore"
local macro_text = require "ebb.macros.text"
local members = require "ebb.import.members"

local card = { name = "card", title = "character card", kind = "json" }

local SPECS = { chara_card_v2 = "V2", chara_card_v3 = "V3" }
local NEWEST = 3.0           -- the version of the specification that this reads

function card.recognise(sample)
  local value = sample.value
  if not fields.is_object(value) then return false end
  if SPECS[value.spec] then return true end
  return type(value.name) == "string" and type(value.first_mes) == "string" and type(value.mes_example) == "string"
end

local V1 = { "name", "description", "personality", "scenario", "first_mes", "mes_example" }

--- Members of the outermost object next to `data`: V1's texts again, and what programs add.
local function read_envelope(value, notes)
  local from, data = members.of(value, "", notes), value.data
  from:any "spec"
  local version = from:text "spec_version"
  if (tonumber(version or "") or 0) > NEWEST then
    notes.report:add("newer version", ("of the specification: %s"):format(version))
  end
  from:any "data"
  for _, name in ipairs(V1) do
    local text = from:any(name)
    if text ~= nil and text ~= data[name] then
      notes.report:add("differing member", name .. ": that of data is read")
      notes.extra[name] = text
    end
  end
  for _, name in ipairs { "creatorcomment", "avatar", "chat", "talkativeness", "fav", "tags", "create_date" } do
    from:carry(name, "for the program that wrote the card")
  end
  from:rest()
end

local MAIN = "Write the next reply of {{char}} in this conversation with {{user}}."

--- A text of the card with {{original}}, which stands for what the user would send without it.
local function with_original(text, original)
  return (text:gsub("{{%s*(%a+)%s*}}", function(word) return word:lower() == "original" and original or nil end))
end

local function presets_of(texts)
  local system = texts.system_prompt ~= "" and with_original(texts.system_prompt, MAIN) or MAIN
  local list = {
    agents.preset("system_prompt", system),
    agents.preset("lorebook_before", "", { type = "lorebook_before" }),
  }
  list[#list + 1] = agents.preset("description", texts.description)
  list[#list + 1] = texts.personality ~= ""
    and agents.preset("personality", "{{char}}'s personality: " .. texts.personality) or nil
  list[#list + 1] = texts.scenario ~= "" and agents.preset("scenario", "Scenario: " .. texts.scenario) or nil
  list[#list + 1] = agents.preset("lorebook_after", "", { type = "lorebook_after" })
  local examples = macro_text.strip_right(macro_text.strip_left(macro_text.dialogue(texts.mes_example)))
  list[#list + 1] = agents.preset("examples",
    examples ~= "" and "Examples of dialogue:\n" .. examples or "", { type = "examples" })
  list[#list + 1] = agents.preset("chat_history", "", { type = "chat_history" })
  list[#list + 1] = agents.preset("post_history_instructions", with_original(texts.post_history_instructions, ""))
  return list
end

--- The note of a character at a depth, scripts, and what else programs keep in extensions.
local function read_extensions(from, agent)
  local extensions = members.of(from:object "extensions", from:place "extensions", from.notes)
  local note = members.of(extensions:object "depth_prompt", extensions:place "depth_prompt", from.notes)
  local prompt, depth, role = note:text "prompt", note:count "depth", note:text "role"
  note:rest()
  if prompt and prompt:find "%S" then
    table.insert(agent.presets, agents.preset("character_note", agents.text(prompt),
      { role = role or "system", injectionStrategy = { type = "depth", depth = depth or 4 } }))
  end
  local scripts = extensions:list "regex_scripts"
  if scripts and scripts[1] then agent.rules = { presets = { { name = "scripts of the card", rules = scripts } } } end
  extensions:carry("world", "the name of a lorebook")
  extensions:carry("talkativeness", "for group chats")
  extensions:skip "fav"
  extensions:rest()
end

--- Carries along the card's metadata, which is never sent.
local function carry_about(from)
  for _, row in ipairs {
    { "creator", "card metadata" }, { "creator_notes_multilingual", "card metadata" }, { "source", "card metadata" },
    { "creation_date", "card metadata" }, { "modification_date", "card metadata" },
    { "assets", "files are not sent" }, { "group_only_greetings", "for chats of several characters" },
  } do
    from:carry(row[1], row[2])
  end
end

local function greetings_of(from)
  local list = {}
  local first = from:text "first_mes"
  if first and first ~= "" then list[1] = agents.text(first) end
  for _, text in ipairs(from:texts "alternate_greetings" or {}) do list[#list + 1] = agents.text(text) end
  return list
end

local function texts_of(from)
  local texts = {}
  for _, name in ipairs { "description", "personality", "scenario", "mes_example", "system_prompt",
    "post_history_instructions" } do
    texts[name] = agents.text(from:text(name) or "")
  end
  return texts
end

--- The conversation: the greeting that is asked for, else the first.
local function messages_of(agent, options, notes)
  local number = options.greeting or 0
  local text = agent.greetings[number + 1]
  if not text then return {} end
  agents.note_others(#agent.greetings - 1, notes)
  return { { role = "assistant", content = agents.spoken(text, agent, options, notes) } }
end

--- A text; nil in place of a blank one.
local function filled(text) return text:find "%S" and text or nil end

function card.read(source, options)
  local value, notes = members.required(source.value, "card", "an object"), agents.notes(source.report)
  local has_data = SPECS[value.spec] ~= nil and (value.data ~= nil or fields.text(value, "name") == nil)
  if has_data then members.required(value.data, "data", "an object") end
  if has_data then read_envelope(value, notes) end
  local from = members.of(has_data and value.data or value, has_data and "data" or "", notes)
  if not has_data then from:any "spec" end
  local texts = texts_of(from)
  local nickname = from:text "nickname"
  local agent = {
    name = from:text "name", nickname = nickname ~= "" and nickname or nil, description = texts.description,
    personality = texts.personality, scenario = texts.scenario, creatorNotes = from:text "creator_notes",
    mesExamples = filled(texts.mes_example), charPrompt = filled(with_original(texts.system_prompt, MAIN)),
    charInstruction = filled(with_original(texts.post_history_instructions, "")), tags = from:texts "tags",
    version = from:text "character_version", greetings = greetings_of(from), presets = presets_of(texts),
  }
  local book = from:object "character_book"
  if book then
    agent.lorebooks = { lore.card_book(book, from:place "character_book", notes, agent.name or "card") }
  end
  read_extensions(from, agent)
  carry_about(from)
  from:rest()
  return agents.result(agent, notes, messages_of(agent, options, notes))
end

return card
