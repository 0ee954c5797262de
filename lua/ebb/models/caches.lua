--- Prompt caches: what the providers promise about the beginning of a request that they have
--- read before, and which rule holds for a model.
--
--     minimum    tokens; a shorter beginning is not cached
--     step       tokens; a beginning is served up to a multiple of it
--     lifetime   seconds after its last use during which a beginning is served
--     read       price of a token that the cache serves, in prices of fresh input
--     write      price of a token that it did not have and keeps; 1: that of fresh input
--     lookback   messages: beginnings are kept where a request marks them, and one is found only so
--                near to a mark. The rule takes the client to mark the end of the leading system
--                messages, the end of the request before and its own end. nil: every beginning is kept
--
-- These are the providers' documents as of November 2026:
--
--   OpenAI      developers.openai.com/api/docs/guides/prompt-caching: from 1,024 tokens, in steps of 128,
--               cleared after 5 to 10 minutes without use (read 2026-10); from GPT-5.6 on writes cost
--               1.25 times the input and entries live for 30 minutes.
--   Anthropic   platform.claude.com/docs/en/build-with-claude/prompt-caching (read 2026-09): at most 4 marks,
--               20 blocks looked back, 5 minutes for 1.25 times the input or an hour for twice; every use
--               restarts the lifetime; minima by model.
--   Gemini      ai.google.dev/gemini-api/docs/caching (2026-10-13): implicit, minima by model, no price for
--               writing and no lifetime promised; 5 minutes stand for its "short amount of time".
--   DeepSeek    api-docs.deepseek.com/guides/kv_cache: on disk, in units of 64 tokens, cleared after hours
--               without use: the shortest that this may mean, two.
--
-- The price of reading is a tenth at each of them (of input; older models less), so it is the same
-- in all rules; a model's own prices go before it.

local caches = {}

local function rule(minimum, step, lifetime, write, lookback)
  return { minimum = minimum, step = step, lifetime = lifetime, read = 0.1, write = write, lookback = lookback }
end

---@type table<string, ebb.CacheRule>
caches.rules = {
  general = rule(1, 1, 300, 1),   -- any server that keeps the last request
  none = rule(math.maxinteger, 1, 0, 1),
  openai = rule(1024, 128, 600, 1),
  openai_30m = rule(1024, 128, 1800, 1.25),
  anthropic = rule(1024, 1, 300, 1.25, 20),
  anthropic_1h = rule(1024, 1, 3600, 2, 20),
  gemini = rule(4096, 1, 300, 1),
  deepseek = rule(64, 64, 7200, 1),
}

--- The cache's rules by the beginning of a model's name; the longest one that fits counts.
local FAMILIES = {
  ["gpt-"] = { "openai" }, ["chatgpt-"] = { "openai" }, ["o1"] = { "openai" }, ["o3"] = { "openai" },
  ["o4"] = { "openai" }, ["codex-"] = { "openai" },
  ["gpt-5.6"] = { "openai_30m" }, ["gpt-5.7"] = { "openai_30m" }, ["gpt-5.8"] = { "openai_30m" },
  ["gpt-5.9"] = { "openai_30m" }, ["gpt-6"] = { "openai_30m" },
  ["claude-"] = { "anthropic" },
  ["claude-opus-5"] = { "anthropic", 512 }, ["claude-fable-5"] = { "anthropic", 512 },
  ["claude-mythos-5"] = { "anthropic", 512 },
  ["claude-opus-4-7"] = { "anthropic", 2048 },
  ["claude-opus-4-5"] = { "anthropic", 4096 }, ["claude-opus-4-6"] = { "anthropic", 4096 },
  ["claude-haiku-4-5"] = { "anthropic", 4096 },
  ["claude-3-haiku"] = { "anthropic", 2048 }, ["claude-3-5-haiku"] = { "anthropic", 2048 },
  ["gemini-"] = { "gemini" },
  ["gemini-2.5"] = { "gemini", 2048 },
  ["deepseek-"] = { "deepseek" },
}

--- The cache's rules by the form of requests, for unknown names. Many servers accept OpenAI's form.
local BY_DIALECT = { anthropic = "anthropic", gemini = "gemini", responses = "openai" }

--- Returns the names of all caches, sorted.
---@return string[]
function caches.names()
  local names = {}
  for name in pairs(caches.rules) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- The family of a model's name, without a provider before it ("anthropic/claude-...").
local function family_of(name)
  name = name:match "[^/]*$"
  local longest
  for prefix in pairs(FAMILIES) do
    if name:sub(1, #prefix) == prefix and #prefix > #(longest or "") then longest = prefix end
  end
  return longest and FAMILIES[longest]
end

--- A rule with other values in some fields.
local function changed(base, fields)
  local result = {}
  for field, value in pairs(base) do result[field] = value end
  for field, value in pairs(fields) do result[field] = value end
  return result
end

--- The rule for a conversation's requests, and its name.
---@param name? string         of the model
---@param model? ebb.Model     its own `cache` overrides that of its name
---@param choice? string       a rule's name, which overrides both
---@return ebb.CacheRule
---@return string
function caches.of(name, model, choice)
  local family = name and family_of(name) or {}
  choice = choice or model and model.cache or family[1] or BY_DIALECT[model and model.dialect] or "general"
  if type(choice) == "table" then return changed(caches.rules.general, choice), "own" end
  local rule_of_family = family[2] and choice:sub(1, #family[1]) == family[1]   -- its minimum holds for both lifetimes
  return changed(caches.rules[choice], { minimum = rule_of_family and family[2] or nil }), choice
end

return caches
