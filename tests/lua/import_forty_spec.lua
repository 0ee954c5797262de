--- Forty cards, lorebooks, presets and rules, made after the published forms (Character Card V2 and V3, the world info,
--- presets and scripts that SillyTavern writes), every member in use and every value of a choice in one of them. Of
--- each file all members are understood or named in the report, no text is lost, and the pipeline runs what comes out.

local helper = dofile "tests/lua/helper.lua"
local import = require "ebb.import"
local core = require "ebb.support.core"
local ebb = helper.ebb
local json = ebb.json

local function list(...) return json.array { ... } end

--- A text that is nowhere else.
local count = 0
local function text(what)
  count = count + 1
  return ("%s zz%dzz"):format(what, count)
end

local function pick(values, i) return values[i % #values + 1] end

local POSITIONS, LOGICS, ROLES = { 0, 1, 2, 3, 4, 5, 6, 7 }, { 0, 1, 2, 3 }, { 0, 1, 2 }
local TRIGGERS = { "normal", "continue", "impersonate", "swipe", "regenerate", "quiet" }
local DECORATORS = { "activate", "dont_activate", "activate_only_after 1", "activate_only_every 2",
  "keep_activate_after_match", "dont_activate_after_match", "depth 3", "reverse_depth 1", "role user", "scan_depth 5",
  "is_greeting 0", "position before_desc", "ignore_on_max_context", "additional_keys a,b", "exclude_keys c",
  "disable_ui_prompt system_prompt", "instruct_depth 2\n@@@depth 2", "reverse_instruct_depth 1\n@@@reverse_depth 1",
  "instruct_scan_depth 9\n@@@scan_depth 2", "is_user_icon x\n@@@constant_of_nobody" }

--- The members that world info and the extensions of a card's entry have, in camelCase.
local function behaviour(i)
  return {
    selectiveLogic = pick(LOGICS, i), probability = 10 * i % 101, useProbability = i % 2 == 0, depth = i,
    role = pick(ROLES, i), excludeRecursion = i % 3 == 0, preventRecursion = i % 3 == 1,
    delayUntilRecursion = i % 4 == 0 and true or i % 4, group = text "group", groupOverride = i % 2 == 1,
    groupWeight = 20 + i, useGroupScoring = i % 2 == 0, scanDepth = 1 + i, caseSensitive = i % 2 == 0,
    matchWholeWords = i % 2 == 1, sticky = i % 5, cooldown = i % 4, delay = i % 3, ignoreBudget = i % 2 == 0,
    outletName = text "outlet", triggers = list(pick(TRIGGERS, i)), automationId = text "automation",
    vectorized = true, displayIndex = i, position = pick(POSITIONS, i), matchPersonaDescription = true,
    matchCharacterDescription = true, matchCharacterPersonality = true, matchCharacterDepthPrompt = true,
    matchScenario = true, matchCreatorNotes = true,
  }
end

local function snake(name) return (name:gsub("%u", function(letter) return "_" .. letter:lower() end)) end

local function card_entry(i, version)
  local extensions = {}
  for name, value in pairs(behaviour(i)) do extensions[name == "useProbability" and name or snake(name)] = value end
  extensions.selectiveLogic, extensions.selective_logic = extensions.selective_logic, nil
  extensions.match_character_depth_prompt = true
  extensions.character_filter = { isExclude = i % 2 == 0, names = list(text "name"), tags = list(text "tag") }
  return {
    keys = list(text "elf", "/or[ck]" .. i .. "/i"), secondary_keys = list(text "wood"),
    content = (version == 3 and "@@" .. pick(DECORATORS, i) .. "\n" or "") .. text "content", extensions = extensions,
    enabled = i % 5 ~= 0, insertion_order = i, case_sensitive = i % 2 == 0, name = text "entry", priority = i,
    id = i, comment = text "comment", selective = true, constant = i % 4 == 0, use_regex = version == 3 and i % 6 == 0,
    position = pick({ "before_char", "after_char" }, i),
  }
end

local function book(i, version)
  return { name = text "book", description = text "about", scan_depth = i, token_budget = 100 * i,
    recursive_scanning = i % 2 == 0, extensions = { of_others = text "other" },
    entries = list(card_entry(i, version), card_entry(i + 100, version)) }
end

local function script(i)
  return { id = text "id", scriptName = text "script", findRegex = "/x" .. i .. "/g", replaceString = text "by",
    trimStrings = list(text "trim"), placement = list(pick({ 1, 2, 3, 5, 6 }, i), 2), disabled = i % 4 == 0,
    markdownOnly = i % 3 == 0, promptOnly = i % 3 == 1, runOnEdit = true, substituteRegex = i % 3, minDepth = i % 2,
    maxDepth = i + 2 }
end

local function card_data(i, version)
  local data = {
    name = text "Ann", description = text "<BOT> is", personality = text "calm", scenario = text "with {{user}}",
    first_mes = text "Hello", mes_example = "<START>\n" .. text "{{char}}: Ho", creator_notes = text "notes",
    system_prompt = text "Be {{char}}. {{original}}", post_history_instructions = text "Brief. {{original}}",
    alternate_greetings = list(text "Second"), tags = list(text "tag"), creator = text "me",
    character_version = text "v", character_book = book(i, version),
    extensions = { world = text "world", talkativeness = text "talk", fav = true, of_others = { a = text "deep" },
      regex_scripts = list(script(i)),
      depth_prompt = { prompt = text "tired", depth = i, role = pick({ "system", "user", "assistant" }, i) } },
  }
  if version == 3 then
    data.assets = list { type = "icon", uri = "embeded://" .. text "path", name = text "main", ext = "png" }
    data.nickname, data.creator_notes_multilingual = text "Nick", { de = text "Notiz" }
    data.source, data.group_only_greetings = list(text "source"), list(text "all")
    data.creation_date, data.modification_date = 1700000000 + i, 1800000000 + i
  end
  return data
end

local function card(i, version)
  return { spec = "chara_card_v" .. version, spec_version = version .. ".0", data = card_data(i, version) }
end

local function world_entry(i)
  local entry = behaviour(i)
  entry.uid, entry.key, entry.keysecondary = i, list(text "elf"), list(text "wood")
  entry.comment, entry.content, entry.constant, entry.selective = text "comment", text "content", i % 4 == 0, true
  entry.addMemo, entry.order, entry.disable = true, i, i % 5 == 0
  entry.characterFilter = { isExclude = i % 2 == 0, names = list(text "name"), tags = list(text "tag") }
  return entry
end

local MARKERS = { "worldInfoBefore", "personaDescription", "charDescription", "charPersonality", "scenario",
  "worldInfoAfter", "dialogueExamples", "chatHistory" }

local function preset(i)
  local prompts, order = list(), list()
  local function add(prompt, enabled)
    prompts[#prompts + 1] = prompt
    order[#order + 1] = { identifier = prompt.identifier, enabled = enabled }
  end
  for n, name in ipairs { "main", "nsfw", "enhanceDefinitions", "jailbreak", "own" .. i } do
    add({ identifier = name, name = text "prompt", role = pick({ "system", "user", "assistant" }, i + n),
      content = text "say", system_prompt = n < 5, marker = false, injection_position = n == 5 and 1 or 0,
      injection_depth = i, injection_order = 10 * i, forbid_overrides = n == 1,
      injection_trigger = list(pick(TRIGGERS, i)) }, (n + i) % 4 ~= 0)
  end
  for _, name in ipairs(MARKERS) do
    add({ identifier = name, name = text "marker", system_prompt = true, marker = true }, true)
  end
  return { temperature = i / 10, top_p = 0.9, frequency_penalty = 0.1, presence_penalty = 0.2, top_k = i, seed = i,
    openai_max_context = 8000 + i, openai_max_tokens = 300 + i, stream_openai = true, names_behavior = 0,
    wi_format = text "{0}", scenario_format = text "{{scenario}}", prompts = prompts,
    prompt_order = list({ character_id = 100001, order = order }) }
end

---- PNG, made by hand ----

local function crc32(bytes)
  local crc = 0xFFFFFFFF
  for i = 1, #bytes do
    crc = crc ~ bytes:byte(i)
    for _ = 1, 8 do crc = crc & 1 == 1 and (crc >> 1) ~ 0xEDB88320 or crc >> 1 end
  end
  return crc ~ 0xFFFFFFFF
end

local function chunk(kind, bytes) return (">I4"):pack(#bytes) .. kind .. bytes .. (">I4"):pack(crc32(kind .. bytes)) end

local function picture(value, keyword)
  return "\x89PNG\r\n\x1A\n" .. chunk("IHDR", (">I4I4"):pack(1, 1) .. "\8\2\0\0\0")
    .. chunk("tEXt", keyword .. "\0" .. core.base64.encode(json.encode(value)))
    .. chunk("IDAT", "x\x9c\x63\0\0\0\4\0\1") .. chunk("IEND", "")
end

---- The files ----

local FILES = {}
local function file(name, value, bytes) FILES[#FILES + 1] = { name = name, value = value, bytes = bytes } end

for i = 1, 8 do file("card V2, " .. i, card(i, 2)) end
for i = 1, 10 do file("card V3, " .. i, card(i, 3)) end
for i = 11, 12 do
  local value = card(i, 3)
  file("card V3 in a picture, " .. i, value, picture(value, i == 11 and "ccv3" or "chara"))
end
for i = 1, 8 do
  file("world info, " .. i, { name = text "world", description = text "about",
    entries = { ["0"] = world_entry(i), ["1"] = world_entry(i + 50) }, extensions = { of_others = text "other" } })
end
for i = 13, 15 do file("lorebook_v3, " .. i, { spec = "lorebook_v3", data = book(i, 3) }) end
for i = 1, 5 do file("preset, " .. i, preset(i)) end
for i = 1, 4 do file("scripts, " .. i, list(script(i), script(i + 4))) end

--- Calls found(name, value) for all members of objects, at any depth.
local function each_member(value, found)
  if type(value) ~= "table" then return end
  for key, item in pairs(value) do
    if type(key) == "string" then found(key, item) end
    each_member(item, found)
  end
end

--- Members whose meaning is the form itself, and keys of maps.
local FORM = { spec = true, spec_version = true, data = true, entries = true, ["0"] = true, ["1"] = true, de = true }

describe("of forty files", function()
  it("there are forty", function() assert.equal(40, #FILES) end)

  for _, each in ipairs(FILES) do
    it(each.name .. " loses nothing unsaid", function()
      local result, problem = import.read(each.bytes or json.encode(each.value), { path = "dir/file.json" })
      assert(result, tostring(problem))
      local lines = {}
      for i, entry in ipairs(result.report) do lines[i] = entry.kind .. ": " .. entry.message end
      local report, understood = table.concat(lines, "\n"), table.concat(result.understood, "\n")
      local agent = json.encode { result.agent, result.messages }

      assert.falsy(report:find("wrong member", 1, true), report)
      each_member(each.value, function(name, item)
        local is_named = FORM[name] or understood:find(name, 1, true) or report:find(name, 1, true)
          or agent:find('"' .. name .. '"', 1, true)
        assert.truthy(is_named, ("nothing is said of '%s' in:\n%s\n%s"):format(name, report, understood))
        for _, leaf in ipairs(type(item) == "table" and item or { item }) do
          local mark = type(leaf) == "string" and leaf:match "zz%d+zz"
          local is_kept = not mark or agent:find(mark, 1, true) or report:find(name, 1, true)
          assert.truthy(is_kept, ("the text of '%s' is gone: %s\n%s"):format(name, tostring(leaf), report))
        end
      end)

      local chat = ebb.conversation { messages = { { role = "user", content = "elf orc1 wood x1" } } }
      assert(ebb.pipeline({ agent = json.decode(json.encode(result.agent)) }):run(chat))
    end)
  end
end)
