--- Lorebooks: a case per rule with its source, random books against an independent model, decorators, timers, places,
--- and the pipeline around them. SEED=n repeats a run.

local helper = dofile "tests/lua/helper.lua"
local model = dofile "tests/lua/lorebook_model.lua"
local lorebook = require "ebb.lorebook"
local decorators = require "ebb.lorebook.decorators"
local core = require "ebb.support.core"
local ebb = helper.ebb
local keywords = require "ebb.lorebook.scanner"
local speech = require "ebb.lorebook.speech"

local SETTINGS = {
  scan_depth = 2, recursive = true, max_steps = 0, min_activations = 0, min_depth_max = 0, case_sensitive = false,
  whole_words = true, group_scoring = false, strategy = "character_first",
}

local function merged(base, change)
  local result = {}
  for key, value in pairs(base) do result[key] = value end
  for key, value in pairs(change or {}) do result[key] = value end
  return result
end

local function lore_of(books, scope)
  local read, problem = lorebook.read(books)
  assert(read, problem and problem.message)
  return lorebook.new { { scope = scope or "agent", books = read } }
end

--- Texts as messages of users, under names such as "Bob: ".
local function said_by(texts, names)
  local messages = {}
  for i, text in ipairs(texts) do
    messages[i] = { role = "user", content = text, name = names and names[i]:match "^(.*): $" }
  end
  return speech.of(messages, { user = "", assistant = "" })
end

--- Runs entries over messages: their names are what tests compare. `options`: settings, facts, state, budget, random.
local function run(lore, texts, options)
  options = options or {}
  local logs = {}
  local result = lore:run {
    said = said_by(texts, options.names), sources = options.sources or {}, notes = options.notes or {},
    settings = merged(SETTINGS, options.settings),
    facts = merged({ messages = #texts, replies = #texts // 2, agent = "Ann", tags = {}, trigger = "normal" },
      options.facts),
    state = options.state, budget = options.budget or math.huge,
    count = options.count or function(text) return #text end,
    random = options.random or function() return 0.5 end,
    expand = options.expand or function(text) return text end,
    check = function() end, log = function(_, line) logs[#logs + 1] = line end,
  }
  local active = {}
  for i, each in ipairs(result.active) do active[i] = each.entry.name or each.entry.id end
  return table.concat(active, " "), result, logs
end

local function entries(list)
  for i, entry in ipairs(list) do
    entry.content = entry.content or "content of " .. (entry.name or i)
    entry.name = entry.name or string.char(64 + i)
  end
  return { { name = "b", entries = list } }
end

local function active(list, messages, options) return (run(lore_of(entries(list)), messages, options)) end

---- A case per rule ----

--- Sources: ST = SillyTavern's public/scripts/world-info.js (the function is named), DOC = its page on World Info (the
--- heading is named), V2 and V3 = the character card specifications (the field or decorator is named).
local CASES = {
  { "any key activates", "V3 keys", { { keys = { "elf", "orc" } } }, { "An orc came." }, "A" },
  { "without a key nothing is activated", "V3 keys", { { keys = { "elf" } } }, { "A dwarf" }, "" },
  { "an entry without keys is skipped", "ST checkWorldInfo: no keys defined", { {} }, { "text" }, "" },
  { "case does not count by default", "DOC Case-sensitive keys", { { keys = { "ELF" } } }, { "an Elf" }, "A" },
  { "case counts where the entry says so", "V2 case_sensitive", { { keys = { "Rose" }, caseSensitive = true } },
    { "a rose" }, "" },
  { "and its own case matches", "V2 case_sensitive", { { keys = { "Rose" }, caseSensitive = true } }, { "a Rose" },
    "A" },
  { "a word within a word is no match", "DOC Match whole words", { { keys = { "king" } } }, { "my liking" }, "" },
  { "a whole word is", "DOC Match whole words", { { keys = { "king" } } }, { "long live the king" }, "A" },
  { "whole words end at punctuation", "ST matchKeys: \\W", { { keys = { "king" } } }, { "(king)" }, "A" },
  { "an underscore goes on a word", "ST matchKeys: \\W", { { keys = { "king" } } }, { "king_1" }, "" },
  { "letters beyond ASCII end words", "ST matchKeys: \\W without u", { { keys = { "龙" } } }, { "这条龙很大" }, "A" },
  { "a key with a space matches within words", "ST matchKeys: keyWords.length > 1",
    { { keys = { "he king" } } }, { "the kings" }, "A" },
  { "whole words can be off", "DOC Match whole words", { { keys = { "king" }, wholeWords = false } }, { "liking" },
    "A" },
  { "keys are trimmed", "ST checkWorldInfo: substituted.trim()", { { keys = { " elf " } } }, { "elf" }, "A" },
  { "a blank key matches nothing", "ST checkWorldInfo: substituted &&", { { keys = { " " } } }, { "a  b" }, "" },
  { "macros in keys are expanded", "ST checkWorldInfo: substituteParams(key)", { { keys = { "{{char}}" } } },
    { "Ann is here" }, "A", { expand = function(text) return (text:gsub("{{char}}", "Ann")) end } },
  -- expressions
  { "a key between slashes is an expression", "DOC Regular Expression (Regex) as Keys",
    { { keys = { "/dra(gon|ke)s?/" } } }, { "two drakes" }, "A" },
  { "with its own flags", "ST parseRegexFromString", { { keys = { "/DRAKE/i" } } }, { "a drake" }, "A" },
  { "without them case counts", "ST parseRegexFromString", { { keys = { "/DRAKE/" } } }, { "a drake" }, "" },
  { "a bare slash within makes it a plain key", "ST parseRegexFromString: unescaped slash",
    { { keys = { "/a/b/" }, wholeWords = false } }, { "path /a/b/ here" }, "A" },
  { "an expression that cannot be compiled is a plain key", "ST parseRegexFromString: catch",
    { { keys = { "/(/" }, wholeWords = false } }, { "text /(/ text" }, "A" },
  { "a message begins with a byte 1", "DOC Advanced Regex Per-Message Matching",
    { { keys = { "/\\x01Bob:[^\\x01]*?hello/" } } }, { "hello", "hi" }, "", { names = { "Bob: ", "Ann: " },
    settings = { scan_depth = 1 } } },
  { "which an expression can ask for", "DOC Advanced Regex Per-Message Matching",
    { { keys = { "/\\x01Bob:[^\\x01]*?hello/" } } }, { "hello", "hi" }, "A", { names = { "Bob: ", "Ann: " } } },
  { "the newest message comes first", "ST checkWorldInfo: chat in reverse order",
    { { keys = { "/new[^]*old/" } } }, { "old", "new" }, "A" },
  { "use_regex takes bare patterns", "V3 use_regex", { { keys = { "dr.ke" }, useRegex = true } }, { "a drake" }, "A" },
  { "and a wrong one matches nothing", "V3 use_regex", { { keys = { "(" }, useRegex = true } }, { "( (" }, "" },
  { "use_regex ignores secondary keys", "V3 secondary_keys",
    { { keys = { "a" }, secondaryKeys = { "b" }, useRegex = true } }, { "a" }, "A" },
  { "use_regex ignores constant", "V3 constant", { { keys = { "x" }, constant = true, useRegex = true } }, { "a" },
    "" },
  -- secondary keys
  { "and_any needs one", "DOC Optional Filter",
    { { keys = { "a" }, secondaryKeys = { "b", "c" } }, { keys = { "a" }, secondaryKeys = { "d" } } }, { "a c" }, "A" },
  { "and_all needs all", "DOC Optional Filter",
    { { keys = { "a" }, secondaryKeys = { "b", "c" }, logic = "and_all" } }, { "a c" }, "" },
  { "and has all", "DOC Optional Filter",
    { { keys = { "a" }, secondaryKeys = { "b", "c" }, logic = "and_all" } }, { "a c b" }, "A" },
  { "not_any forbids each", "DOC Optional Filter",
    { { keys = { "a" }, secondaryKeys = { "b", "c" }, logic = "not_any" } }, { "a c" }, "" },
  { "and lets others pass", "DOC Optional Filter",
    { { keys = { "a" }, secondaryKeys = { "b", "c" }, logic = "not_any" } }, { "a d" }, "A" },
  { "not_all forbids all together", "DOC Optional Filter",
    { { keys = { "a" }, secondaryKeys = { "b", "c" }, logic = "not_all" } }, { "a b c" }, "" },
  { "and lets some pass", "DOC Optional Filter",
    { { keys = { "a" }, secondaryKeys = { "b", "c" }, logic = "not_all" } }, { "a b" }, "A" },
  { "no secondary keys are no condition", "DOC Optional Filter",
    { { keys = { "a" }, secondaryKeys = {}, logic = "and_all" } }, { "a" }, "A" },
  -- depth
  { "only the last messages are searched", "DOC Scan Depth", { { keys = { "elf" } } }, { "elf", "x", "y" }, "" },
  { "an entry has its own depth", "V3 @@scan_depth", { { keys = { "elf" }, scanDepth = 3 } }, { "elf", "x", "y" },
    "A" },
  { "depth 1 is the last message", "DOC Scan Depth", { { keys = { "elf" } } }, { "elf", "x" }, "",
    { settings = { scan_depth = 1 } } },
  { "depth 0 leaves recursion", "DOC Scan Depth: only recursed entries", { { keys = { "x" }, scanDepth = 1,
    content = "elf" }, { keys = { "elf" }, scanDepth = 0 } }, { "elf x" }, "A B" },
  { "names of speakers are searched", "DOC Include Names", { { keys = { "bob" } } }, { "hi" }, "A",
    { names = { "Bob: " } } },
  -- constant, enabled, probability
  { "constants need no keys", "V2 constant", { { constant = true } }, { "x" }, "A" },
  { "what is off is never used", "V3 enabled", { { constant = true, enabled = false } }, { "x" }, "" },
  { "probability 0 is never", "DOC Probability (Trigger %)", { { constant = true, probability = 0 } }, { "x" }, "" },
  { "a draw below it passes", "ST verifyProbability: rollValue <= probability",
    { { constant = true, probability = 50 } }, { "x" }, "A" },
  { "a draw above it does not", "ST verifyProbability", { { constant = true, probability = 49 } }, { "x" }, "" },
  { "a lost draw is not repeated", "ST failedProbabilityChecks", { { keys = { "x" }, probability = 10 },
    { keys = { "x" }, content = "more x" } }, { "x" }, "B" },
  -- recursion
  { "contents activate others", "DOC Recursive scanning", { { keys = { "bessie" }, content = "friends with Rufus" },
    { keys = { "rufus" } } }, { "Bessie" }, "A B" },
  { "not when recursion is off", "DOC Recursive scanning", { { keys = { "bessie" }, content = "friends with Rufus" },
    { keys = { "rufus" } } }, { "Bessie" }, "A", { settings = { recursive = false } } },
  { "what is excluded is not activated by others", "DOC Non-recursable",
    { { keys = { "bessie" }, content = "Rufus" }, { keys = { "rufus" }, excludeRecursion = true } }, { "Bessie" },
      "A" },
  { "what prevents it activates no others", "DOC Prevent further recursion",
    { { keys = { "bessie" }, content = "Rufus", preventRecursion = true }, { keys = { "rufus" } } }, { "Bessie" },
      "A" },
  { "what is delayed waits for recursion", "DOC Delay until recursion",
    { { keys = { "bessie" }, delayUntilRecursion = 1 } }, { "Bessie" }, "" },
  { "and comes with it", "DOC Delay until recursion", { { keys = { "bessie" }, delayUntilRecursion = 1 },
    { keys = { "x" } } }, { "Bessie x" }, "B A" },
  { "levels follow each other", "DOC Recursion Level", { { keys = { "x" } }, { keys = { "x" },
    delayUntilRecursion = 2 },
    { keys = { "x" }, delayUntilRecursion = 1 } }, { "x" }, "A C B" },
  { "one step is no recursion", "DOC Max Recursion Steps", { { keys = { "a" }, content = "b" }, { keys = { "b" } } },
    { "a" }, "A", { settings = { max_steps = 1 } } },
  { "two steps are one", "DOC Max Recursion Steps", { { keys = { "a" }, content = "b" }, { keys = { "b" },
    content = "c" }, { keys = { "c" } } }, { "a" }, "A B", { settings = { max_steps = 2 } } },
  { "circles end", "ST allActivatedEntries", { { keys = { "a" }, content = "b" }, { keys = { "b" }, content = "a" } },
    { "a" }, "A B" },
  { "hidden keys are for recursion", "V3 {{hidden_key:A}}", { { keys = { "a" }, content = "x{{hidden_key:b}}" },
    { keys = { "b" } } }, { "a" }, "A B" },
  { "comments are not", "V3 {{comment: A}}", { { keys = { "a" }, content = "x{{comment: b}}" }, { keys = { "b" } } },
    { "a" }, "A" },
  -- min activations
  { "older messages are searched for more", "DOC Min Activations", { { keys = { "elf" } } }, { "elf", "x", "y", "z" },
    "A", { settings = { min_activations = 1 } } },
  { "but not beyond the depth", "DOC Max Depth", { { keys = { "elf" } } }, { "elf", "x", "y", "z" }, "",
    { settings = { min_activations = 1, min_depth_max = 2 } } },
  { "an entry's own depth is not widened", "ST get: entry.scanDepth ?? getDepth()",
    { { keys = { "elf" }, scanDepth = 1 } }, { "elf", "x" }, "", { settings = { min_activations = 1 } } },
  { "steps rule it out", "DOC Max Recursion Steps: mutually exclusive", { { keys = { "elf" } } },
    { "elf", "x", "y", "z" }, "", { settings = { min_activations = 1, max_steps = 5 } } },
  -- order and budget
  { "higher orders come first", "ST sortFn", { { constant = true, order = 1 }, { constant = true, order = 9 } },
    { "x" }, "B A" },
  { "the budget stops the sweep", "ST: >= budget, token_budget_overflowed", { { constant = true, order = 3,
    content = "1234" }, { constant = true, order = 2, content = "1234" }, { constant = true, order = 1,
      content = "" } },
    { "x" }, "A", { budget = 10 } },
  { "what ignores it goes on", "ST ignoreBudget", { { constant = true, order = 3, content = "1234" },
    { constant = true, order = 2, content = "1234" }, { constant = true, order = 1, ignoreBudget = true } },
    { "x" }, "A C", { budget = 10 } },
  { "what yields to a full context comes last", "V3 @@ignore_on_max_context",
    { { constant = true, order = 3, content = "@@ignore_on_max_context\n1234" }, { constant = true, order = 2,
    content = "1234" } }, { "x" }, "B", { budget = 8 } },
  -- groups
  { "one of a group is used", "DOC Inclusion Group", { { constant = true, groups = { "g" } },
    { constant = true, groups = { "g" } } }, { "x" }, "A" },
  { "by weight", "DOC Inclusion Group: Group Weight", { { constant = true, groups = { "g" }, groupWeight = 10 },
    { constant = true, groups = { "g" }, groupWeight = 90 } }, { "x" }, "B" },
  { "by priority and order", "DOC Prioritize Inclusion", { { constant = true, groups = { "g" } },
    { constant = true, groups = { "g" }, groupPriority = true, order = 5 },
    { constant = true, groups = { "g" }, groupPriority = true, order = 7 } }, { "x" }, "C" },
  { "by score", "DOC Use Group Scoring", { { keys = { "song", "sing", "cat" }, groups = { "s" } },
    { keys = { "song", "sing", "ghosts" }, groups = { "s" } } }, { "sing me a song about ghosts" }, "B",
    { settings = { group_scoring = true } } },
  { "equal scores leave it to the draw", "DOC Use Group Scoring", { { keys = { "song", "cat" }, groups = { "s" } },
    { keys = { "song", "ghosts" }, groups = { "s" } } }, { "a song" }, "A", { settings = { group_scoring = true } } },
  { "an entry has several groups", "DOC Inclusion Group: comma-separated", { { constant = true, groups = { "g", "h" },
    groupPriority = true }, { constant = true, groups = { "h" } }, { constant = true, groups = { "g" } } }, { "x" },
      "A" },
  { "a group with an active entry takes no other", "DOC Inclusion Group", { { keys = { "a" }, groups = { "g" },
    content = "b" }, { keys = { "b" }, groups = { "g" } } }, { "a" }, "A" },
  -- filters
  { "names of agents", "DOC Character Filter", { { constant = true, characters = { names = { "Bob" } } },
    { constant = true, characters = { names = { "Ann" } } } }, { "x" }, "B" },
  { "excluded names", "DOC Character Filter: Exclude", { { constant = true, characters = { names = { "Ann" },
    exclude = true } } }, { "x" }, "" },
  { "tags", "DOC Character Filter: tag", { { constant = true, characters = { tags = { "elf" } } },
    { constant = true, characters = { tags = { "orc" } } } }, { "x" }, "B", { facts = { tags = { "orc" } } } },
  { "triggers", "DOC Triggers", { { constant = true, triggers = { "swipe" } },
    { constant = true, triggers = { "normal", "swipe" } } }, { "x" }, "B" },
  { "texts of the agent", "DOC Additional matching sources", { { keys = { "tower" }, sources = { "scenario" } },
    { keys = { "tower" } } }, { "x" }, "A", { sources = { scenario = "In a tower" } } },
  { "prompts that all entries see", "ST addInject", { { keys = { "note" } } }, { "x" }, "A",
    { notes = { "a note" } } },
  { "delay counts messages", "DOC Delay = 2", { { constant = true, delay = 2 }, { constant = true, delay = 1 } },
    { "x" }, "B" },
  -- decorators
  { "@@activate", "V3 @@activate", { { content = "@@activate\nx" } }, { "x" }, "A" },
  { "@@dont_activate", "V3 @@dont_activate", { { keys = { "x" }, content = "@@dont_activate\nx" } }, { "x" }, "" },
  { "@@activate wins", "V3 @@dont_activate", { { content = "@@dont_activate\n@@activate\nx" } }, { "x" }, "A" },
  { "enabled wins over @@activate", "V3 enabled: in any case", { { enabled = false, content = "@@activate\nx" } },
    { "x" }, "" },
  { "@@activate_only_after", "V3 @@activate_only_after", { { constant = true, content = "@@activate_only_after 2\nx" },
    { constant = true, content = "@@activate_only_after 1\nx" } }, { "u", "a", "u" }, "B" },
  { "@@activate_only_every", "V3 @@activate_only_every", { { constant = true, content = "@@activate_only_every 2\nx" },
    { constant = true, content = "@@activate_only_every 3\nx" } }, { "u", "a", "u", "a", "u" }, "A" },
  { "@@scan_depth", "V3 @@scan_depth", { { keys = { "elf" }, content = "@@scan_depth 3\nx" } }, { "elf", "a", "b" },
    "A" },
  { "@@additional_keys", "V3 @@additional_keys", { { keys = { "a" }, content = "@@additional_keys b,c\nx" },
    { keys = { "a" }, content = "@@additional_keys d\nx" } }, { "a c" }, "A" },
  { "@@additional_keys twice", "V3: can be used multiple times", { { keys = { "a" },
    content = "@@additional_keys b\n@@additional_keys d\nx" } }, { "a b" }, "" },
  { "@@exclude_keys", "V3 @@exclude_keys", { { keys = { "a" }, content = "@@exclude_keys b\nx" },
    { keys = { "a" }, content = "@@exclude_keys d\nx" } }, { "a b" }, "B" },
  { "@@is_greeting", "V3 @@is_greeting", { { constant = true, content = "@@is_greeting 1\nx" },
    { constant = true, content = "@@is_greeting 0\nx" } }, { "x" }, "B", { facts = { greeting = 0 } } },
  { "@@is_greeting without greetings", "V3 @@is_greeting: ignored", { { constant = true,
    content = "@@is_greeting 1\nx" } }, { "x" }, "A" },
  { "a fallback of an unknown decorator", "V3 Decorators: fallback", { { keys = { "x" },
    content = "@@one_of_theirs 4\n@@@dont_activate\nx" } }, { "x" }, "" },
  { "no fallback of a known one", "V3 Decorators: fallback", { { constant = true,
    content = "@@scan_depth 4\n@@@dont_activate\nx" } }, { "x" }, "A" },
}

describe("a lorebook", function()
  for _, case in ipairs(CASES) do
    local name, source, list, messages, expected, options = table.unpack(case, 1, 6)
    it(("%s (%s)"):format(name, source), function()
      assert.equal(expected, active(list, messages, options))
    end)
  end
end)

---- Random books against the model ----

local WORDS = { "elf", "orc", "king", "Tower", "red", "two words", "kin", "or", "the" }
local LOGICS = { "and_any", "not_all", "not_any", "and_all" }

local function chance(percent) return math.random(100) <= percent end
local function pick(list) return list[math.random(#list)] end

local function words(most)
  local list = {}
  for i = 1, math.random(0, most) do list[i] = pick(WORDS) end
  return list
end

local function random_entry(number)
  return {
    id = tostring(number), keys = words(3), secondaryKeys = chance(40) and words(3) or {}, logic = pick(LOGICS),
    content = table.concat(words(4), " ") .. " c" .. number, constant = chance(8), enabled = not chance(8),
    order = math.random(5) * 10, probability = chance(20) and math.random(0, 100) or 100,
    caseSensitive = chance(30), wholeWords = chance(60), scanDepth = chance(30) and math.random(0, 5) or nil,
    excludeRecursion = chance(15), preventRecursion = chance(15),
    delayUntilRecursion = chance(20) and math.random(3) or 0,
    groups = chance(30) and { pick { "g", "h" }, chance(30) and "i" or nil } or {}, groupPriority = chance(20),
    groupWeight = math.random(1, 100), ignoreBudget = chance(10), delay = chance(10) and math.random(6) or 0,
    sticky = chance(15) and math.random(4) or 0, cooldown = chance(15) and math.random(4) or 0,
  }
end

local function random_messages(count)
  local list = {}
  for i = 1, count do
    local parts = {}
    for j = 1, math.random(6) do parts[j] = chance(50) and pick(WORDS) or pick { "and", "liking", "x", "torch",
      "." } end
    list[i] = table.concat(parts, " ")
  end
  return list
end

--- A draw that depends on what is drawn for, the same one here and there.
local function draws(seed)
  return function(what)
    local sum = seed
    for i = 1, #what do sum = (sum * 31 + what:byte(i)) % 1000003 end
    return sum / 1000003
  end
end

--- The model's own account of timers: intervals by entry, set by each turn of a history that only grows.
local function advance_timers(world, timers, n)
  world.sticky, world.resting = {}, {}
  for _, entry in ipairs(world.entries) do
    local timer = timers[entry] or {}
    timers[entry] = timer
    if timer.sticky and n >= timer.sticky then
      timer.sticky = nil
      if entry.cooldown > 0 then timer.cooldown = n + entry.cooldown end
    end
    if timer.cooldown and n >= timer.cooldown then timer.cooldown = nil end
    world.sticky[entry], world.resting[entry] = timer.sticky ~= nil, timer.cooldown ~= nil
  end
end

local function set_timers(world, timers, n)
  for _, entry in ipairs(world.active) do
    local timer = timers[entry]
    if entry.sticky > 0 and not timer.sticky then timer.sticky = n + entry.sticky end
    if entry.cooldown > 0 and not timer.cooldown then timer.cooldown = n + entry.cooldown end
  end
end

local function sorted(list)
  local result = { table.unpack(list) }
  table.sort(result, function(a, b)
    if a.order ~= b.order then return a.order > b.order end
    return tonumber(a.id) < tonumber(b.id)
  end)
  return result
end

local function random_settings()
  return {
    scan_depth = math.random(0, 4), recursive = chance(70), max_steps = chance(20) and math.random(4) or 0,
    min_activations = chance(25) and math.random(4) or 0, min_depth_max = chance(30) and math.random(5) or 0,
    group_scoring = chance(30),
  }
end

describe("random lorebooks", function()
  it("activate the same entries as an independent model, turn by turn", function()
    local seed = tonumber(os.getenv "SEED") or os.time()
    local compared = 0
    for round = 1, 500 do
      math.randomseed(seed + round)
      local list = {}
      for i = 1, math.random(12) do list[i] = random_entry(i) end
      local lore, settings = lore_of { { name = "b", entries = list } }, merged(SETTINGS, random_settings())
      local history = random_messages(math.random(2, 9))
      local budget = chance(40) and math.random(10, 120) or math.huge
      local world = { entries = sorted(list), settings = settings, budget = budget,
        count = function(text) return #text end }
      local state, timers = nil, {}
      for n = 1, #history do
        local messages = table.move(history, 1, n, 1, {})
        local random = draws(seed + round * 100 + n)
        world.messages, world.random = messages, random
        advance_timers(world, timers, n)
        local expected = table.concat(model.run(world), " ")
        set_timers(world, timers, n)
        local got, result = run(lore, messages, { settings = settings, budget = budget, random = random,
          state = state })
        state = result.state
        assert.equal(expected, got, ("SEED=%d: round %d, turn %d"):format(seed, round, n))
        compared = compared + 1
      end
    end
    assert.is_true(compared > 1500)
  end)
end)

---- Decorators ----

describe("decorators", function()
  it("are cut from the text with the lines around them", function()
    local entry = { content = "@@depth 5\n@@role user\n\nSome text\n@@depth 1" }
    assert.same({}, decorators.apply(entry))
    assert.equal("Some text\n@@depth 1", entry.content)
    assert.equal("depth", entry.position)
    assert.equal(5, entry.depth)
    assert.equal("user", entry.role)
  end)

  it("count once, but for keys", function()
    local entry = { content = "@@depth 5\n@@depth 6\n@@additional_keys a\n@@additional_keys b, c\nx" }
    decorators.apply(entry)
    assert.equal(5, entry.depth)
    assert.same({ { "a" }, { "b", "c" } }, entry.additional_keys)
  end)

  it("that are unknown, wrong or not used are told", function()
    local entry = { content = "@@mood happy\n@@depth many\n@@instruct_depth 3\n@@is_user_icon x\nx" }
    assert.same({ "@@mood", "@@depth", "@@instruct_depth", "@@is_user_icon" }, decorators.apply(entry))
  end)

  it("of depth give way to a position", function()
    local entry = { content = "@@depth 3\n@@position before_desc\nx", position = "after_char" }
    decorators.apply(entry)
    assert.equal("before_char", entry.position)
  end)

  it("have five fallbacks and more", function()
    local entry = { content = "@@a 1\n@@@b 1\n@@@c 1\n@@@d 1\n@@@e 1\n@@@f 1\n@@@scan_depth 9\nx" }
    assert.same({}, decorators.apply(entry))
    assert.equal(9, entry.scanDepth)
  end)
end)

---- Timers ----

describe("timers", function()
  local function turns(list, texts, order)
    local lore, states, seen = lore_of(entries(list)), {}, {}
    for _, n in ipairs(order) do
      local before = states[n - 1]
      for m = n - 1, 1, -1 do before = before or states[m] end
      local messages = table.move(texts, 1, n, 1, {})
      local line, result = run(lore, messages, { settings = { scan_depth = 1 }, state = before })
      states[n], seen[#seen + 1] = result.state, line
    end
    return seen
  end

  it("cost what was activated, not what there is", function()
    local list, sha256, hashed, state = {}, core.sha256, 0, nil
    for i = 1, 200 do list[i] = { name = "N" .. i, keys = { "elf" .. i }, sticky = 2, cooldown = 1 } end
    local lore = lore_of(entries(list))
    core.sha256 = function(...)
      hashed = hashed + 1
      return sha256(...)
    end
    for turn = 1, 5 do
      local _, result = run(lore, { "elf7", "elf7 elf" .. turn }, { state = state })
      state = result.state
    end
    core.sha256 = sha256
    assert.equal(6, hashed)      -- each once, of elf1 to elf5 and elf7
  end)

  -- DOC Timed Effects Example
  it("run as in the manual: sticky 3, cooldown 2, delay 2", function()
    local texts = { "elf", "elf", "x", "x", "x", "elf", "elf", "elf" }
    local list = { { keys = { "elf" }, sticky = 3, cooldown = 2, delay = 2, content = "c" } }
    assert.same({ "", "A", "A", "A", "", "", "A", "A" }, turns(list, texts, { 1, 2, 3, 4, 5, 6, 7, 8 }))
  end)

  it("are as they were after a rollback, whatever came later", function()
    local lore = lore_of(entries { { keys = { "elf" }, sticky = 2, cooldown = 2, content = "c" } })
    local texts, lines = { "elf", "x", "x", "elf", "elf" }, {}
    local state
    for n = 1, 5 do
      local line, result = run(lore, table.move(texts, 1, n, 1, {}), { settings = { scan_depth = 1 }, state = state })
      state, lines[n] = result.state, line
    end
    for n = 5, 1, -1 do   -- the newest state serves every earlier length
      local line = run(lore, table.move(texts, 1, n, 1, {}), { settings = { scan_depth = 1 }, state = state })
      assert.equal(lines[n], line, "at " .. n)
    end
  end)

  it("do not begin anew while they run", function()
    local list = { { keys = { "elf" }, sticky = 2, content = "c" } }
    assert.same({ "A", "A", "" }, turns(list, { "elf", "elf", "x" }, { 1, 2, 3 }))
  end)

  it("of an entry that was edited are gone", function()
    local _, result = run(lore_of(entries { { keys = { "elf" }, sticky = 5, content = "c" } }), { "elf" })
    local line = run(lore_of(entries { { keys = { "elf" }, sticky = 5, content = "d" } }), { "elf", "x", "x" },
      { state = result.state })
    assert.equal("", line)
  end)

  it("make stickies pass draws and win their groups", function()
    local list = { { keys = { "elf" }, sticky = 5, probability = 60, groups = { "g" }, content = "c" },
      { keys = { "x" }, groups = { "g" }, groupPriority = true, content = "d" } }
    local lore = lore_of(entries(list))
    local _, result = run(lore, { "elf" })
    assert.equal("A", (run(lore, { "elf", "x", "x" }, { state = result.state, random = function() return 0.9 end })))
  end)

  it("remember earlier matches for the decorators that ask", function()
    local lore = lore_of(entries { { keys = { "elf" }, content = "@@keep_activate_after_match\nc" },
      { keys = { "elf" }, content = "@@dont_activate_after_match\nc" } })
    local first, result = run(lore, { "elf" })
    assert.equal("A B", first)
    assert.equal("A", (run(lore, { "elf", "x", "elf" }, { state = result.state })))
    assert.equal("A B", (run(lore, { "elf" }, { state = result.state })))     -- the same turn again
  end)
end)

---- What is new ----

describe("a scan", function()
  it("searches only what is new", function()
    local lore = lore_of(entries { { keys = { "elf" }, scanDepth = 1000 } })
    local messages = {}
    for i = 1, 100 do messages[i] = "message " .. i end
    run(lore, messages)
    assert.equal(100, lore.scanner.searched)
    messages[101] = "an elf"
    assert.equal("A", (run(lore, messages)))
    assert.equal(101, lore.scanner.searched)
    messages[101] = "no one"
    assert.equal("", (run(lore, messages)))
    assert.equal(102, lore.scanner.searched)
    messages[50] = "an elf"
    assert.equal("A", (run(lore, messages)))
    assert.equal(102 + 52, lore.scanner.searched)
  end)

  it("keeps the texts that a run may see, and no others", function()
    local lore = lore_of(entries { { keys = { "elf" }, scanDepth = 3 } })
    local messages = {}
    for i = 1, 50 do
      messages[i] = "elf " .. i
      run(lore, messages)
    end
    local kept = 0
    for _ in pairs(lore.scanner.texts) do kept = kept + 1 end
    assert.equal(3, kept)
    assert.equal(50, lore.scanner.searched)
  end)

  it("finds what a search of all finds, however the history changes", function()
    math.randomseed(tonumber(os.getenv "SEED") or os.time())
    local beings = { "elf", "orc", "imp", "owl", "none" }
    local lore = lore_of(entries { { keys = { "elf", "orc", "imp", "owl" } } })
    run(lore, {})
    local messages = {}
    for round = 1, 3000 do
      local deed, place = math.random(5), math.random(math.max(1, #messages))
      if deed <= 2 then messages[#messages + 1] = beings[math.random(5)] .. " " .. beings[math.random(5)]
      elseif deed == 3 then messages[place] = beings[math.random(5)]
      elseif deed == 4 and #messages > 8 then
        for i = #messages, place, -1 do messages[i] = nil end
      end
      local first = math.random(math.max(1, #messages + 2))
      lore.scanner:update(said_by(messages), first)
      local expected, fresh = {}, keywords.new(lore.index.set)
      fresh:update(said_by(messages), first)
      for key = 1, 4 do expected[key] = fresh.last[key] end
      local found = {}
      for key, at in pairs(lore.scanner.last) do found[key] = at end
      assert.same(expected, found, "round " .. round)
    end
  end)

  it("reads no message beyond the greatest scan depth", function()
    local lore = lore_of(entries { { keys = { "elf" } } })
    local messages = {}
    for i = 1, 100 do messages[i] = "message " .. i end
    run(lore, messages)
    assert.equal(2, lore.scanner.searched)
  end)
end)

---- Files ----

describe("a lorebook in a file", function()
  local REFUSED = {
    { "lorebooks[0].entries[0].keys: expected a list", { { entries = { { keys = "elf" } } } } },
    { "keyz", { { entries = { { keyz = {} } } } } },
    { "outlet: position 'outlet' needs it", { { entries = { { position = "outlet" } } } } },
    { "'7' occurs twice", { { entries = { { id = 7 }, { id = "7" } } } } },
    { "there are two lorebooks 'x'", { { name = "x" }, { name = "x" } } },
    { "probability", { { entries = { { probability = 101 } } } } },
  }

  for _, case in ipairs(REFUSED) do
    it("is refused: " .. case[1], function()
      local ok, problem = pcall(ebb.pipeline, { agent = { lorebooks = case[2] } })
      assert.is_false(ok)
      assert.truthy(tostring(problem):find(case[1], 1, true), tostring(problem))
    end)
  end
end)

---- Through the pipeline ----

local function chat_of(texts)
  local chat = ebb.conversation()
  for i, text in ipairs(texts) do chat:append { role = i % 2 == 1 and "user" or "assistant", content = text } end
  return chat
end

local function contents(result)
  local parts = {}
  for i, message in ipairs(ebb.json.decode(result.body).messages) do
    parts[i] = ("%s:%s"):format(message.role:sub(1, 1), message.content)
  end
  return table.concat(parts, " | ")
end

local OFF = { ["merge-system"] = false, ["merge-roles"] = false }

local function agent_of(list, presets, more)
  return merged({ name = "Ann", lorebooks = entries(list), presets = presets or {}, processors = OFF }, more)
end

local function request(agent, texts, options)
  local pipe = ebb.pipeline(merged({ agent = agent, now = 0, seed = 1 }, options))
  return assert(pipe:run(chat_of(texts)))
end

describe("the pipeline", function()
  local PRESETS = {
    { id = "main", content = "M" }, { type = "lorebook_before" }, { id = "description", content = "D" },
    { type = "lorebook_after" }, { type = "examples", content = "E" }, { type = "chat_history" },
    { id = "authors_note", content = "N", injectionStrategy = { depth = 1 } }, { id = "scenario", content = "S" },
  }
  local ALL = {
    { constant = true, position = "before_char", content = "before" },
    { constant = true, position = "after_char", content = "after" },
    { constant = true, position = "examples_top", content = "top" },
    { constant = true, position = "examples_bottom", content = "bottom" },
    { constant = true, position = "note_top", content = "over" },
    { constant = true, position = "note_bottom", content = "under" },
    { constant = true, position = "scenario", content = "more" },
    { constant = true, position = "depth", depth = 0, role = "assistant", content = "deep" },
    { constant = true, position = "outlet", outlet = "here", content = "out" },
  }

  it("puts entries at all positions", function()
    local presets = { table.unpack(PRESETS) }
    presets[#presets + 1] = { id = "end", content = "[{{outlet::here}}{{outlet::other}}]" }
    assert.equal("s:M | s:before | s:D | s:after | s:top | s:E | s:bottom | u:hi | s:over\nN\nunder | a:ho | a:deep"
      .. " | s:S\nmore | s:[out]", contents(request(agent_of(ALL, presets), { "hi", "ho" })))
  end)

  it("has places for them without such presets, and says what is lost", function()
    local result = request(agent_of(ALL, { { content = "M" }, { type = "chat_history" } }), { "hi", "ho" })
    assert.equal("s:before | s:M | s:after | s:top | s:bottom | u:hi | a:ho | a:deep", contents(result))
    local said = ebb.json.encode(result.logs)
    assert.truthy(said:find("position note_top are not sent", 1, true))
    assert.truthy(said:find("position scenario are not sent", 1, true))
  end)

  it("joins entries of one place by their order", function()
    local list = { { constant = true, order = 5, content = "five" }, { constant = true, order = 1, content = "one" },
      { constant = true, order = 9, content = "nine" } }
    assert.equal("s:one\nfive\nnine | u:hi", contents(request(agent_of(list), { "hi" })))
  end)

  it("expands macros in contents once", function()
    local list = { { constant = true, content = "{{char}} {{getvar::x}}" } }
    local agent = agent_of(list, {}, { variables = { x = "{{char}}" } })
    assert.equal("s:Ann {{char}} | u:hi", contents(request(agent, { "hi" })))
  end)

  it("leaves out the prompts that entries disable", function()
    local list = { { constant = true, content = "@@disable_ui_prompt system_prompt\nx" } }
    assert.equal("s:x | u:hi", contents(request(agent_of(list, { { id = "system_prompt", content = "P" } }), { "hi" })))
  end)

  it("draws the same in a preview, a run and a repeated run", function()
    local list = {}
    for i = 1, 30 do list[i] = { constant = true, probability = 50, content = "c" .. i } end
    local chat, pipe = chat_of { "hi" }, ebb.pipeline { agent = agent_of(list), now = 0 }
    local preview, first, second = assert(pipe:preview(chat)), assert(pipe:run(chat)), assert(pipe:run(chat))
    assert.equal(preview.body, first.body)
    assert.equal(first.body, second.body)
    assert.truthy(first.body:find "c%d")
    assert.is_nil(first.body:find("c1\\nc2\\nc3\\nc4\\nc5\\nc6\\nc7\\nc8\\nc9", 1, true))
  end)

  it("takes lorebooks of the user and of the caller, too", function()
    local result = request(agent_of { { keys = { "hi" }, content = "agent's", order = 1 } }, { "hi" }, {
      user_profile = { lorebooks = { { entries = { { keys = { "hi" }, content = "user's", order = 2 } } } } },
      lorebooks = { { entries = { { keys = { "hi" }, content = "caller's", order = 3 } } } } })
    assert.equal("s:agent's\nuser's\ncaller's | u:hi", contents(result))
  end)

  it("keeps the budget of all entries and of a book", function()
    local list = { { constant = true, order = 2, content = ("word "):rep(50) }, { constant = true, order = 1,
      content = "short" } }
    local agent = agent_of(list, {}, { processors = merged(OFF, { lorebook = { budget_cap = 20 } }) })
    assert.equal("u:hi", contents(request(agent, { "hi" })))
    agent = agent_of { { constant = true, order = 2, content = "a" }, { constant = true, order = 1, content = "b" } }
    agent.lorebooks[1].tokenBudget = 1
    assert.equal("s:a | u:hi", contents(request(agent, { "hi" })))
  end)

  it("keeps timers with the conversation, but for a preview, and a rollback undoes them", function()
    local agent = agent_of({ { keys = { "elf" }, sticky = 4, content = "lore" } }, {},
      { processors = merged(OFF, { lorebook = { scan_depth = 1 } }) })
    local pipe, chat = ebb.pipeline { agent = agent, now = 0 }, chat_of { "an elf" }
    chat:checkpoint "begin"
    local before = chat:write "ebb"
    assert.equal(before, chat:write "ebb")
    assert(pipe:run(chat))
    assert.not_equal(before, chat:write "ebb")
    chat:append { role = "assistant", content = "yes" }
    chat:append { role = "user", content = "so" }
    assert.truthy(assert(pipe:run(chat)).body:find "lore")
    local fork = chat:fork()
    local saved = assert(ebb.parse(chat:write "ebb"))
    for _, each in ipairs { fork, saved } do
      assert.truthy(assert(ebb.pipeline { agent = agent, now = 0 }:run(each)).body:find "lore")
    end
    chat:rollback "begin"
    chat:replace(1, { role = "user", content = "none" })
    assert.is_nil(assert(pipe:run(chat)).body:find "lore")
    chat:append { role = "assistant", content = "yes" }
    assert.is_nil(assert(pipe:run(chat)).body:find "lore")
  end)

  it("leaves what policies remember", function()
    local chat = chat_of { "an elf", "x", "y" }
    assert(chat:trim { budget = 1000, policy = { name = "keeps", trim = function(draft) draft.memory.x = 1 end } })
    local pipe = ebb.pipeline { agent = agent_of { { keys = { "y" }, sticky = 4, content = "lore" } }, now = 0 }
    assert(pipe:run(chat))
    local seen
    assert(chat:trim { budget = 1000, policy = { name = "keeps", trim = function(draft) seen = draft.memory.x end } })
    assert.equal(1, seen)
    chat:append { role = "user", content = "z" }
    assert.truthy(assert(pipe:run(chat)).body:find "lore")
  end)
end)

---- Settings ----

describe("a setting of the lorebook processor alone changes the request:", function()
  local WORD = ("word "):rep(20)
  local SET = {
    scan_depth = { { { keys = { "elf" } } }, 3 },
    recursive = { { { keys = { "so" }, content = "orc" }, { keys = { "orc" } } }, false },
    max_steps = { { { keys = { "so" }, content = "orc" }, { keys = { "orc" } } }, 1 },
    min_activations = { { { keys = { "elf" } } }, 2 },
    min_depth_max = { { { keys = { "elf" } } }, 1, { min_activations = 2 } },
    case_sensitive = { { { keys = { "SO" } } }, true },
    whole_words = { { { keys = { "s" } } }, false },
    include_names = { { { keys = { "Ann" } } }, false },
    note_scan = { { { keys = { "remark" } } }, true },
    group_scoring = { { { keys = { "so" }, groups = { "g" }, groupWeight = 99 },
      { keys = { "so", "yes" }, groups = { "g" }, groupWeight = 1 } }, true },
    strategy = { { { keys = { "so" }, order = 1, content = "A" .. WORD } }, "global_first", { budget_cap = 35 } },
    budget_percent = { { { keys = { "so" }, content = WORD } }, 1 },
    budget_cap = { { { keys = { "so" }, content = WORD } }, 5 },
    enabled = { { { constant = true } }, false }, priority = { { { constant = true } }, 350 },
  }

  local function body_of(list, settings)
    local agent = agent_of(list, { { id = "authors_note", content = "a remark" } }, {
      processors = merged(OFF, { lorebook = settings, ["token-limiter"] = { budget = 1000 } }) })
    return request(agent, { "elf", "yes", "so" }, { seed = 1,
      lorebooks = { { entries = { { keys = { "so" }, order = 1, content = "G" .. WORD } } } } }).body
  end

  for name, case in pairs(SET) do
    it(name, function()
      assert.not_equal(body_of(case[1], merged(case[3] or {}, {})), body_of(case[1], merged(case[3] or {},
        { [name] = case[2] })))
    end)
  end

  it("each has a case", function()
    for _, field in ipairs(require("ebb.processors.lorebook").config_fields) do
      assert.truthy(SET[field.key], field.key)
    end
  end)
end)

describe("white space around messages", function()
  local trimmed = require "ebb.lorebook.trimmed"

  it("is not searched", function()
    local cases = { [""] = "", [" \n"] = "", ["a"] = "a", [" a b\t"] = "a b", ["a "] = "a", ["\na"] = "a" }
    for text, expected in pairs(cases) do
      assert.equal(expected, trimmed(text))
    end
    assert.equal("1", (run(lore_of { { entries = { { keys = { "/^\\x01elf$/" } } } } }, { "  elf \n" })))
  end)

  it("costs time in proportion to its length #time", function()
    local gate = dofile "tests/lua/growth_gate.lua"
    for name, shape in pairs { ["runs within"] = "a%sb ", ["runs around"] = "%sa ", ["blank"] = "%s" } do
      gate.check("trim: " .. name, 20000, function(n)
        local text = shape:format((" "):rep(n))
        return gate.seconds(function() trimmed(text) end)
      end)
    end
  end)
end)
