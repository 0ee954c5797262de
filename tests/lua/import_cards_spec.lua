--- Imports of agents: character cards, lorebooks, presets, rules and agents, made after their published forms with
--- every member in use. Each member is understood, kept or reported, and the pipeline takes what comes out.

local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local import = require "ebb.import"
local ebb = helper.ebb
local json = ebb.json

local function list(...) return json.array { ... } end

local function read(value, options)
  local text = type(value) == "string" and value or json.encode(value)
  local result, problem = import.read(text, options)
  assert(result, tostring(problem))
  return result
end

--- The report as lines: "kind: message".
local function lines(result)
  local found = {}
  for i, entry in ipairs(result.report) do found[i] = entry.kind .. ": " .. entry.message end
  return table.concat(found, "\n")
end

local function mentions(result, text)
  local found = lines(result)
  assert.truthy(found:find(text, 1, true), ("'%s' is not in:\n%s"):format(text, found))
end

--- The agent as the pipeline gets it: written, and read again.
local function pipeline(result)
  return ebb.pipeline { agent = json.decode(json.encode(result.agent)) }
end

local function preset(result, id)
  for _, each in ipairs(result.agent.presets) do
    if each.id == id then return each end
  end
end

---- Made after the specifications ----

--- V2 and V3 entry with every field, and the extensions that SillyTavern writes.
local function card_entry(id, change)
  local entry = {
    keys = list("elf", "/or[ck]/i"), content = "@@depth 2\nElves live long.", enabled = true, insertion_order = 10,
    case_sensitive = false, name = "Elves", priority = 5, id = id, comment = "about elves", selective = true,
    secondary_keys = list "wood", constant = false, position = "before_char", use_regex = false,
    extensions = {
      position = 4, exclude_recursion = true, prevent_recursion = true, delay_until_recursion = 2, display_index = 1,
      probability = 80, useProbability = true, depth = 3, selectiveLogic = 3, outlet_name = "", group = "races, woods",
      group_override = true, group_weight = 50, scan_depth = 7, case_sensitive = true, match_whole_words = false,
      use_group_scoring = true, automation_id = "run", role = 1, vectorized = true, sticky = 2, cooldown = 3,
      delay = 1, ignore_budget = true, match_persona_description = true, match_character_description = true,
      match_character_personality = true, match_character_depth_prompt = true, match_scenario = true,
      match_creator_notes = true, triggers = list "normal", of_others = { x = 1 },
    },
  }
  for name, value in pairs(change or {}) do entry[name] = value end
  return entry
end

local SCRIPT = { id = "s1", scriptName = "quotes", findRegex = "/\"(.*?)\"/g", replaceString = "<$1>",
  trimStrings = list(), placement = list(1, 2), disabled = false, markdownOnly = false, promptOnly = true,
  runOnEdit = true, substituteRegex = 0, minDepth = json.null, maxDepth = json.null }

local function data(change)
  local result = {
    name = "Ann", description = "<BOT> is an elf.", personality = "calm", scenario = "In a wood with <USER>.",
    first_mes = "Hello {{user}}, I am <BOT>.", mes_example = "<START>\n{{user}}: Hi\n{{char}}: Ho\n<START>\nmore",
    creator_notes = "play nicely", system_prompt = "Be {{char}}. {{original}}",
      post_history_instructions = "Stay brief.",
    alternate_greetings = list("Second", "Third"), tags = list("elf", "wood"), creator = "me",
      character_version = "1.2",
    extensions = { world = "woods", talkativeness = "0.5", fav = true, of_others = { a = 1 },
      regex_scripts = list(SCRIPT),
      depth_prompt = { prompt = "{{char}} is tired", depth = 2, role = "system" } },
    character_book = { name = "woods", description = "all of it", scan_depth = 4, token_budget = 500,
      recursive_scanning = true, extensions = { of_others = 1 }, entries = list(card_entry(1)) },
  }
  for name, value in pairs(change or {}) do result[name] = value end
  return result
end

local V3_MORE = {
  assets = list { type = "icon", uri = "ccdefault:", name = "main", ext = "png" }, nickname = "Annie",
  creator_notes_multilingual = { en = "notes" }, source = list "https://example.org/1",
  group_only_greetings = list "Hello all", creation_date = 1700000000, modification_date = 1700000001,
}

local function v2(change) return { spec = "chara_card_v2", spec_version = "2.0", data = data(change) } end
local function v3(change)
  local more = data(V3_MORE)
  for name, value in pairs(change or {}) do more[name] = value end
  return { spec = "chara_card_v3", spec_version = "3.0", data = more }
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

local function chunk(kind, bytes)
  return (">s4"):pack(bytes):sub(1, 4) .. kind .. bytes .. (">I4"):pack(crc32(kind .. bytes))
end

local HEAD = "\x89PNG\r\n\x1A\n" .. chunk("IHDR", (">I4I4"):pack(1, 1) .. "\8\2\0\0\0")
local TAIL = chunk("IDAT", "x\x9c\x63\0\0\0\4\0\1") .. chunk("IEND", "")

local function text_chunk(keyword, value)
  return chunk("tEXt", keyword .. "\0" .. core.base64.encode(type(value) == "string" and value or json.encode(value)))
end

describe("a character card", function()
  it("V2 becomes an agent, a lorebook, rules and a first message", function()
    local result = read(v2())
    local agent = result.agent
    assert.equal("card", result.name)
    assert.equal("Ann", agent.name)
    assert.equal("{{char}} is an elf.", agent.description)
    assert.equal("Be {{char}}. Write the next reply of {{char}} in this conversation with {{user}}.",
      preset(result, "system_prompt").content)
    assert.equal("Stay brief.", preset(result, "post_history_instructions").content)
    assert.equal("Examples of dialogue:\n{{user}}: Hi\n{{char}}: Ho\n\nmore", preset(result, "examples").content)
    assert.same({ type = "depth", depth = 2 }, preset(result, "character_note").injectionStrategy)
    assert.same({ "elf", "wood" }, agent.tags)
    assert.equal("1.2", agent.version)
    assert.equal("Hello User, I am Ann.", result.messages[1].content)
    assert.equal("assistant", result.messages[1].role)
    assert.same({ "Hello {{user}}, I am {{char}}.", "Second", "Third" }, agent.greetings)
    pipeline(result)
  end)

  it("V3 has a nickname, and what is for people is kept", function()
    local result = read(v3(), { user = "Bob" })
    assert.equal("Hello Bob, I am Annie.", result.messages[1].content)
    assert.equal("Annie", result.agent.nickname)
    for _, name in ipairs { "creator", "assets", "source", "creation_date", "group_only_greetings",
      "creator_notes_multilingual", "extensions.world", "extensions.of_others" } do
      assert.is_not_nil(result.agent.extra["data." .. name], name)
      mentions(result, "data." .. name)
    end
    pipeline(result)
  end)

  it("V1 is flat", function()
    local result = read { name = "Ann", description = "d", personality = "", scenario = "", first_mes = "Hi",
      mes_example = "" }
    assert.equal("Hi", result.messages[1].content)
    assert.equal(0, #result.report)
    pipeline(result)
  end)

  it("gives another greeting on request", function()
    assert.equal("Third", read(v2(), { greeting = 2 }).messages[1].content)
    assert.equal(0, #read(v2(), { greeting = 9 }).messages)
  end)

  it("says which texts differ from those of data", function()
    local card = v2()
    card.name, card.description = "Ann", "older"
    local result = read(card)
    mentions(result, "differing member: description")
    assert.equal("{{char}} is an elf.", result.agent.description)
    assert.equal("older", result.agent.extra.description)
  end)

  it("of a newer version is read with a word", function()
    local card = v3()
    card.spec_version = "3.1"
    mentions(read(card), "newer version: of the specification: 3.1")
  end)

  it("keeps every field of its book", function()
    local result = read(v2())
    local book = result.agent.lorebooks[1]
    local entry = book.entries[1]
    assert.same({ "woods", "all of it", 4, 500, true },
      { book.name, book.description, book.scanDepth, book.tokenBudget, book.recursive })
    assert.same({ keys = { "elf", "/or[ck]/i" }, secondaryKeys = { "wood" }, logic = "and_all", id = 1,
      name = "about elves", content = "@@depth 2\nElves live long.", enabled = true, order = 10, constant = false,
      useRegex = false, priority = 5, caseSensitive = false, position = "depth", depth = 3, role = "user",
      probability = 80, excludeRecursion = true, preventRecursion = true, delayUntilRecursion = 2,
      groups = { "races", "woods" }, groupPriority = true, groupWeight = 50, groupScoring = true, scanDepth = 7,
      wholeWords = false, sticky = 2, cooldown = 3, delay = 1, ignoreBudget = true, triggers = { "normal" },
      sources = { "persona", "description", "personality", "note", "scenario", "creator_notes" } }, entry)
    for _, text in ipairs { "entries[0].name", "automation_id", "vectorized", "of_others" } do mentions(result,
      text) end
  end)

  it("loses no member: unknown and wrong ones are kept", function()
    local card = v2 { mood = { x = 1 }, tags = 7 }
    card.data.character_book.entries[1].colour = "red"
    local result = read(card)
    assert.same({ x = 1 }, result.agent.extra["data.mood"])
    assert.equal(7, result.agent.extra["data.tags"])
    assert.equal("red", result.agent.extra["data.character_book.entries[0].colour"])
    mentions(result, "wrong member: data.tags: expected a list")
  end)

  it("has entries whose probability is a percentage, whatever the file says", function()
    for given_number, kept in pairs { [150] = 100, [-5] = 0, [80] = 80, [0] = 0, [100] = 100 } do
      local entry = card_entry(1)
      entry.extensions.probability = given_number
      local card = v2()
      card.data.character_book.entries = list(entry)
      assert.equal(kept, read(json.encode(card)).agent.lorebooks[1].entries[1].probability)
    end
  end)

  it("with two entries of one id keeps the later", function()
    local card = v2()
    card.data.character_book.entries = list(card_entry(1, { content = "a" }), card_entry(1, { content = "b" }))
    local result = read(card)
    assert.equal(1, #result.agent.lorebooks[1].entries)
    assert.equal("b", result.agent.lorebooks[1].entries[1].content)
    mentions(result, "entry with the id of another: data.character_book.entries[1]: it replaces "
      .. "data.character_book.entries[0], whose id is 1, too")
  end)

  it("with an entry without an id gives it one that no other has", function()
    local card = v2()
    local unnamed = card_entry(1, { content = "a" })
    unnamed.id = nil
    card.data.character_book.entries = list(unnamed, card_entry(0, { content = "b" }), card_entry(3, { content = "c" }))
    local ids = {}
    for i, entry in ipairs(read(card).agent.lorebooks[1].entries) do
      ids[i] = entry.content .. entry.id
    end
    assert.same({ "a4", "b0", "c3" }, ids)
  end)

  it("and world info, too", function()
    local world = json.decode [[{"entries": {"0": {"key": ["a"], "content": "a"},
      "1": {"uid": 0, "key": [], "content": "b"}}}]]
    assert.equal(2, #read(world).agent.lorebooks[1].entries)
  end)
end)

describe("a card in a picture", function()
  it("is that of ccv3, then that of chara", function()
    local both = HEAD .. text_chunk("chara", v2 { name = "Old" }) .. text_chunk("CCV3", v3()) .. TAIL
    local result = read(both)
    assert.equal("Ann", result.agent.name)
    mentions(result, "second card: chunk chara gives way to ccv3")
    assert.equal("Old", read(HEAD .. text_chunk("Chara", v2 { name = "Old" }) .. TAIL).agent.name)
  end)

  it("may be wrapped, URL-safe and without padding", function()
    local text = core.base64.encode(json.encode(v2 { name = "Zoë ???>>>" })):gsub("+", "-"):gsub("/", "_"):gsub("=", "")
    local wrapped = text:gsub(("."):rep(60), "%0\n")
    assert.equal("Zoë ???>>>", read(HEAD .. chunk("tEXt", "chara\0" .. wrapped) .. TAIL).agent.name)
  end)

  it("counts the files next to it", function()
    local result = read(HEAD .. chunk("tEXt", "chara-ext-asset_:a.png\0AAAA") .. text_chunk("ccv3",
      v3()) .. TAIL .. "xx")
    mentions(result, "asset of the picture")
    mentions(result, "bytes after the picture")
  end)

  local whole = HEAD .. text_chunk("ccv3", v3()) .. TAIL
  local DAMAGED = {
    { "without a card", HEAD .. TAIL, "is a picture without a character card" },
    { "cut within a chunk", whole:sub(1, 200),
      "byte 34: chunk tEXt: expected %d+ bytes of data, the file ends after 159" },
    { "cut before the end", whole:sub(1, -13), "byte %d+: expected the chunk IEND, the file ends" },
    { "with a flipped bit", whole:sub(1, 99) .. string.char(whole:byte(100) ~ 1) .. whole:sub(101),
      "byte %d+: chunk tEXt: its checksum does not fit its data" },
    { "without a header", "\x89PNG\r\n\x1A\n" .. TAIL, "byte 9: expected the chunk IHDR, got IDAT" },
    { "with a wrong type of chunk", HEAD .. "\0\0\0\0\1\2\3\4\0\0\0\0", "byte 38: expected the type of a chunk" },
    { "with bad base64", HEAD .. chunk("tEXt", "chara\0@@@@") .. TAIL, "chunk tEXt 'chara': byte 1: expected" },
    { "with bad JSON", HEAD .. chunk("tEXt", "chara\0" .. core.base64.encode '{"spec": }') .. TAIL, "1:10" },
    { "with the bundle of another program", HEAD .. text_chunk("aiob", { type = "AIO_Agent_Bundle" }) .. TAIL,
      "a zip archive of AIO Hub" },
  }

  for _, case in ipairs(DAMAGED) do
    it("is refused " .. case[1], function()
      local result, problem = import.read(case[2], { path = "ann.png" })
      assert.is_nil(result)
      assert.truthy(problem.message:find "^ann%.png", problem.message)
      assert.truthy(problem.message:find(case[3]), problem.message)
    end)
  end

  it("is refused at every cut, never misread", function()
    for size = 8, #whole - 1 do
      local result, problem = import.read(whole:sub(1, size))
      assert.is_nil(result)
      assert.truthy(problem.message:find "byte %d+", problem.message)
    end
  end)
end)

describe("a file that says it is an agent's, and holds none,", function()
  local rows = {
    { '{"spec":"chara_card_v2","data":5}', "data: expected an object, not a number" },
    { '{"spec":"chara_card_v3","data":[]}', "data: expected an object, not a list" },
    { '{"spec":"chara_card_v3"}', "data: expected an object, not nothing" },
    { '{"spec":"chara_card_v2","data":{}}', "none of its members is known" },
    { '{"spec":"chara_card_v2","data":{"name":5}}', "none of its members is known" },
    { '{"spec":"lorebook_v3","data":"x"}', "data: expected an object, not a text" },
    { '{"spec":"lorebook_v3","data":{"entries":5}}', "data.entries: expected a list, not a number" },
    { '{"entries":null}', "entries: expected an object, not null", "world" },
    { '[1]', "lorebook: expected an object, not a list", "world" },
    { '[1]', "card: expected an object, not a list", "card" },
    { '{"a":1}', "none of its members is known", "card" },
    { '{"prompts":5,"prompt_order":[]}', "prompts: expected a list, not a number", "st_preset" },
    { '{"type":"AIO_Agent_Export","agents":[5]}', "agents[0]: expected an object, not a number" },
    { '{"agents":true}', "agents: expected a list, not true or false", "aiohub" },
  }
  for _, row in ipairs(rows) do
    it(("is refused: %s%s"):format(row[1], row[3] and " as " .. row[3] or ""), function()
      local result, problem = ebb.import.read(row[1], { from = row[3] })
      assert.is_nil(result)
      assert.equal("shape", problem.code)
      assert.truthy(problem.message:find(row[2], 1, true), problem.message)
    end)
  end

  it("reports elements of its lists that are not objects", function()
    mentions(assert(ebb.import.read '{"spec":"lorebook_v3","data":{"entries":[5, {"keys": ["a"], "content": "c"}]}}'),
      "wrong member: data.entries[0]: expected an object")
  end)
end)

describe("a lorebook by itself", function()
  local ENTRY = {
    uid = 4, key = list "elf", keysecondary = list "wood", comment = "Elves", content = "long", constant = true,
    vectorized = false, selective = true, selectiveLogic = 2, addMemo = true, order = 90, position = 7, disable = false,
    excludeRecursion = true, preventRecursion = true, delayUntilRecursion = true, probability = 70,
    useProbability = false, depth = 6, group = "g", groupOverride = true, groupWeight = 30, scanDepth = 8,
    caseSensitive = true, matchWholeWords = true, useGroupScoring = false, automationId = "", role = 2, sticky = 1,
    cooldown = 2, delay = 3, displayIndex = 0, ignoreBudget = true, outletName = "world", triggers = list("normal"),
    characterFilter = { isExclude = true, names = list "Ann", tags = list "t" }, matchPersonaDescription = true,
    matchCharacterDescription = false, matchCharacterPersonality = false, matchCharacterDepthPrompt = false,
    matchScenario = true, matchCreatorNotes = false,
  }

  it("of world info keeps every field", function()
    local result = read({ entries = { ["0"] = ENTRY } }, { path = "dir/woods.json" })
    assert.equal("world", result.name)
    local book = result.agent.lorebooks[1]
    assert.equal("woods", book.name)
    assert.same({ id = 4, name = "Elves", keys = { "elf" }, secondaryKeys = { "wood" }, content = "long",
      constant = true,
      order = 90, enabled = true, position = "outlet", outlet = "world", logic = "not_any", depth = 6,
        role = "assistant",
      excludeRecursion = true, preventRecursion = true, delayUntilRecursion = 1, groups = { "g" }, groupPriority = true,
      groupWeight = 30, groupScoring = false, scanDepth = 8, caseSensitive = true, wholeWords = true, sticky = 1,
      cooldown = 2, delay = 3, ignoreBudget = true, triggers = { "normal" },
      characters = { names = { "Ann" }, tags = { "t" }, exclude = true }, sources = { "persona", "scenario" } },
      book.entries[1])
    for _, entry in ipairs(result.report) do assert.equal("display member", entry.kind) end
    pipeline(result)
  end)

  it("takes its entries in the order of their numbers", function()
    local entries = {}
    for i = 0, 11 do entries[tostring(i)] = { uid = i, key = list "k", content = "c" .. i } end
    local result = read { entries = entries }
    for i, entry in ipairs(result.agent.lorebooks[1].entries) do assert.equal("c" .. i - 1, entry.content) end
  end)

  it("of lorebook_v3 is the book of a card", function()
    local result = read { spec = "lorebook_v3", data = data().character_book }
    assert.equal("woods", result.agent.lorebooks[1].name)
    assert.equal(1, #result.agent.lorebooks[1].entries)
    pipeline(result)
  end)

  it("leaves out and reports an outlet without a name, and secondary keys that are off", function()
    local result = read { entries = {
      ["0"] = { uid = 0, key = list "a", content = "x", position = 7 },
      ["1"] = { uid = 1, key = list "a", keysecondary = list "b", selective = false, content = "y" } } }
    assert.equal(1, #result.agent.lorebooks[1].entries)
    mentions(result, "outlet without a name")
    mentions(result, "secondary keys that are off")
  end)

  it("holds no conversation", function()
    assert.equal(0, #read({ entries = { ["0"] = ENTRY } }).messages)
  end)
end)

describe("a preset of SillyTavern", function()
  local PRESET = {
    temperature = 0.7, top_p = 0.9, frequency_penalty = 0.1, presence_penalty = 0.2, openai_max_context = 8000,
    openai_max_tokens = 500, top_k = 40, seed = -1, n = 1, stream_openai = true,
    prompts = list(
      { identifier = "main", name = "Main", role = "system", content = "Be good.", system_prompt = true },
      { identifier = "worldInfoBefore", marker = true, system_prompt = true, name = "W" },
      { identifier = "charDescription", marker = true, system_prompt = true, name = "D" },
      { identifier = "chatHistory", marker = true, system_prompt = true, name = "H" },
      { identifier = "jailbreak", role = "user", content = "Go on.", system_prompt = true, name = "J" },
      { identifier = "deep", role = "assistant", content = "deep", injection_position = 1, injection_depth = 3,
        injection_order = 50, name = "X", forbid_overrides = false },
      { identifier = "lost", role = "system", content = "lost" }),
    prompt_order = list(
      { character_id = 100000, order = list { identifier = "jailbreak", enabled = true } },
      { character_id = 100001, order = list({ identifier = "main", enabled = true },
        { identifier = "worldInfoBefore", enabled = true }, { identifier = "charDescription", enabled = false },
        { identifier = "chatHistory", enabled = true }, { identifier = "jailbreak", enabled = true },
        { identifier = "deep", enabled = true }, { identifier = "nowhere", enabled = true }) }),
  }

  it("becomes presets in their order, parameters and a budget", function()
    local result = read(PRESET)
    local names = {}
    for i, each in ipairs(result.agent.presets) do
      names[i] = (each.type or each.id) .. (each.isEnabled == false and "!" or "")
    end
    assert.equal("system_prompt lorebook_before description! chat_history post_history_instructions deep",
      table.concat(names, " "))
    assert.same({ type = "depth", depth = 3, order = 50 }, preset(result, "deep").injectionStrategy)
    assert.same({ temperature = 0.7, topP = 0.9, frequencyPenalty = 0.1, presencePenalty = 0.2, maxTokens = 500,
      top_k = 40 }, result.agent.parameters)
    assert.equal(7500, result.agent.processors["token-limiter"].budget)
    mentions(result, "prompt without a place: lost")
    mentions(result, "prompt that does not exist: nowhere")
    mentions(result, "unknown member: stream_openai")
    pipeline(result)
  end)

  it("takes an order whose identifier is no text for a prompt that does not exist", function()
    for _, wrong in ipairs { list(), {}, 5, true, json.null } do
      local result = read { prompts = list({ identifier = "", content = "nameless" }, { identifier = "main" }),
        prompt_order = list { character_id = 100001,
          order = list({ identifier = wrong, enabled = true }, { identifier = "main" }, "main") } }
      assert.equal(1, #result.agent.presets)
      assert.equal("system_prompt", result.agent.presets[1].id)
      mentions(result, "prompt that does not exist: prompt_order[].order[0]")
      mentions(result, "prompt that does not exist: prompt_order[].order[2]")
      mentions(result, "prompt without a place: : no order names it")
    end
  end)

  it("for text completion is known, and refused", function()
    for _, value in ipairs { { story_string = "x", name = "n" }, { input_sequence = "a", output_sequence = "b" } } do
      local result, problem, form = import.read(json.encode(value))
      assert.is_nil(result)
      assert.truthy(problem.message:find "template")
      assert.is_not_nil(form)
    end
  end)
end)

describe("rules by themselves", function()
  it("are scripts of SillyTavern or presets of AIO Hub", function()
    local PRESETS = { presets = list { id = "p", name = "P", enabled = true, order = 0, rules = list { id = "r",
      regex = "x", replacement = "y", flags = "g" } } }
    for _, value in ipairs { SCRIPT, list(SCRIPT), PRESETS, PRESETS.presets, PRESETS.presets[1] } do
      local result = read(value)
      assert.equal("scripts", result.name)
      local chat = ebb.conversation { messages = { { role = "user", content = 'say "x"' } } }
      local made = assert(pipeline(result):run(chat))
      local is_script = value.findRegex or value[1] and value[1].findRegex
      assert.truthy(made.body:find(is_script and "<x>" or 'say \\"y\\"', 1, true), made.body)
    end
  end)
end)
