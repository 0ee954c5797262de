--- Random agents: presets in all places, rules, a lorebook, macros and settings; and conversations with calls, windows
--- and marks for them.
--
--     local agents = dofile "tests/random/agents.lua"
--     local roll = agents.dice(seed)
--     local agent, set, chat = agents.agent(roll), agents.settings(roll), agents.chat(ebb, roll)

local agents = {}

--- The time of runs and of conversations, in ms since 1970.
agents.NOW = 1700000000000

local WORDS = { "rain", "dragon", "the inn", "Oslo", "gold", "a horse", "night", "old king", "雨", "河边的客栈", "song",
  "bridge", "winter" }
local MACROS = { "{{char}}", "{{user}}", "{{roll:1d20}}", "{{pick::red::blue::green}}", "{{setvar::n::3}}{{getvar::n}}",
  "{{time}}", "{{outlet::Lore}}", "" }

--- A function that gives whole numbers from 1 to `n`, or from `first` to `n`.
function agents.dice(seed)
  local state = seed
  return function(first, n)
    if not n then first, n = 1, first end
    state = state * 6364136223846793005 + 1442695040888963407
    return first + (state >> 33) % (n - first + 1)
  end
end

local function one_of(roll, list) return list[roll(#list)] end

--- True in `percent` of a hundred calls.
local function chance(roll, percent) return roll(100) <= percent end

local function sentence(roll, longest)
  local words = {}
  for i = 1, roll(longest) do words[i] = one_of(roll, WORDS) end
  return table.concat(words, " ")
end

local function list_of(count, make)
  local list = {}
  for i = 1, count do list[i] = make(i) end
  return list
end

---- Agents ----

local STRATEGIES = {
  function() return nil end,
  function(roll) return { type = "depth", depth = roll(0, 12), order = roll(200) } end,
  function(roll)
    return { type = "advanced_depth", depthConfig = ("%d, %d~%d"):format(roll(0, 3), roll(2, 6), roll(2, 9)) }
  end,
  function(roll)
    return { type = "anchor", anchorTarget = "chat_history", anchorPosition = one_of(roll, { "before", "after" }),
      order = roll(200) }
  end,
}

local function preset(roll, i)
  return {
    id = "p" .. i, role = one_of(roll, { "system", "system", "user", "assistant" }),
    content = one_of(roll, MACROS) .. " " .. sentence(roll, 12) .. " " .. one_of(roll, MACROS),
    isEnabled = not chance(roll, 10), injectionStrategy = one_of(roll, STRATEGIES)(roll),
  }
end

local function presets(roll)
  local list = list_of(roll(0, 8), function(i) return preset(roll, i) end)
  if not chance(roll, 10) then table.insert(list, roll(#list + 1), { type = "chat_history" }) end
  if chance(roll, 20) then table.insert(list, roll(#list + 1), { id = "authors_note", role = "system",
    content = "Note. " .. sentence(roll, 5), injectionStrategy = { type = "depth", depth = roll(0, 4) } }) end
  return list
end

local function rule(roll, i)
  local least = roll(0, 3)
  return {
    id = "r" .. i, regex = one_of(roll, { "\\bdragon\\b", "o", "(rain|night)\\s+(\\w+)", "雨", "^.{0,9}", "\\d+" }),
    flags = one_of(roll, { "g", "gi", "" }), replacement = one_of(roll, { "", "X", "$1", "$& and $&", "{{char}}" }),
    applyTo = { request = true, render = chance(roll, 30) },
    targetRoles = one_of(roll, { { "user" }, { "assistant", "tool" }, { "system", "user", "assistant" } }),
    depthRange = chance(roll, 40) and { min = least, max = least + roll(0, 6) } or nil,
    substitutionMode = one_of(roll, { "NONE", "RAW", "ESCAPED" }),
  }
end

local function entry(roll, i)
  local position = one_of(roll, { "before_char", "after_char", "depth", "depth", "outlet", "note_top", "examples_top" })
  return {
    id = "e" .. i, keys = { one_of(roll, WORDS), chance(roll, 20) and "/n[io]/i" or nil },
    secondaryKeys = chance(roll, 20) and { one_of(roll, WORDS) } or nil,
    logic = one_of(roll, { "and_any", "not_any", "and_all", "not_all" }),
    content = sentence(roll, 15) .. one_of(roll, MACROS), constant = chance(roll, 10), wholeWords = chance(roll, 50),
    probability = chance(roll, 20) and 50 or nil, order = roll(200), position = position,
    outlet = position == "outlet" and "Lore" or nil, depth = roll(0, 8),
    role = one_of(roll, { "system", "user", "assistant" }),
    sticky = chance(roll, 20) and roll(4) or nil, cooldown = chance(roll, 20) and roll(4) or nil,
    groups = chance(roll, 20) and { "g" } or nil, scanDepth = chance(roll, 30) and roll(0, 9) or nil,
  }
end

--- An agent as its file in JSON has it.
function agents.agent(roll)
  local agent = { name = one_of(roll, { "Mara", "Ann", "老板" }), presets = presets(roll) }
  if chance(roll, 60) then
    agent.rules = { { id = "own", rules = list_of(roll(5), function(i) return rule(roll, i) end) } }
  end
  if chance(roll, 70) then
    agent.lorebooks = { { id = "book", entries = list_of(roll(12), function(i) return entry(roll, i) end) } }
  end
  return agent
end

local SETTINGS = {
  { "token-limiter.policy=",
    { "keep_recent", "keep_turns", "stable_prefix", "digest", "mask_results;keep_recent", "agent" } },
  { "token-limiter.when_full=", { "drop_history" } }, { "token-limiter.retained_characters=", { "20", "100" } },
  { "merge-roles.enabled=", { "false" } },
  { "merge-system.enabled=", { "false" } }, { "merge-system.scope=", { "all" } },
  { "convert-system.enabled=", { "true" } }, { "alternate-roles.enabled=", { "true" } },
  { "lorebook.scan_depth=", { "1", "4", "20" } }, { "lorebook.recursive=", { "false" } },
  { "lorebook.budget_cap=", { "40" } },
}

--- Single settings without a budget.
function agents.settings(roll)
  local set = {}
  for _, each in ipairs(SETTINGS) do
    if chance(roll, 20) then set[#set + 1] = each[1] .. one_of(roll, each[2]) end
  end
  return set
end

---- Conversations ----

local function exchange(roll, i)
  local list = { { role = "user", content = sentence(roll, 30) } }
  if chance(roll, 30) then
    local id = "call" .. i
    list[2] = { role = "assistant", content = "I look.", tool_calls = {
      { id = id, type = "function", ["function"] = { name = "look", arguments = '{"at":"it"}' } } } }
    list[3] = { role = "tool", tool_call_id = id, content = sentence(roll, 60) }
  end
  if not chance(roll, 10) then list[#list + 1] = { role = "assistant", content = sentence(roll, 30) } end
  return list
end

local function open_window(roll, chat, i)
  chat.windows:open {
    id = "w" .. i, description = sentence(roll, 3), content = sentence(roll, 40),
    pinned = chance(roll, 20), important = chance(roll, 20),
  }
end

--- A message of the user.
function agents.question(roll) return { role = "user", content = sentence(roll, 20) } end

--- A conversation of up to 15 exchanges that ends with a question; it counts as options.encoding says.
function agents.chat(ebb, roll)
  local chat = ebb.conversation { encoding = "cjk", clock = function() return agents.NOW end }
  if chance(roll, 50) then chat:append { role = "system", content = sentence(roll, 10) } end
  for i = 1, roll(0, 15) do
    chat:append(exchange(roll, i))
    if chance(roll, 15) then open_window(roll, chat, i) end
    if chance(roll, 10) then chat:mark(#chat, "pinned") end
  end
  chat:append(agents.question(roll))
  return chat
end

return agents
