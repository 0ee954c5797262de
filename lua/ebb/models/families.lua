--- Families: tells an unlisted model by its name.
--
-- New versions come faster than tables grow, and are mostly counted as the version before. A family
-- says that: a listed model to take for the other one, or fields of its own where no model of the
-- family is listed. Windows are the least of the family, so that what fits here fits there.

local listed = require "ebb.models.listed"

local families = {}

---- Names ----

--- Prefixes that providers and routers put before a model's name. Only the last segment of a path counts anyway.
local REGIONS = { us = true, eu = true, apac = true, global = true, regional = true, au = true, jp = true, ca = true,
  ["us-gov"] = true }
local VENDORS = { anthropic = true, meta = true, mistral = true, amazon = true, cohere = true,
  openai = true, qwen = true, google = true, ai21 = true, writer = true, moonshot = true, minimax = true, xai = true }

local function without_vendors(name)
  local region, rest = name:match "^([%l%-]+)%.(.+)$"
  if region and REGIONS[region] then name = rest end
  local vendor, model = name:match "^([%l%d]+)%.(.+)$"
  if vendor == "deepseek" then return vendor .. "-" .. model end   -- deepseek.r1-v1:0
  return vendor and VENDORS[vendor] and model or name
end

--- "claude-3.5-sonnet-v2" as "claude-sonnet-3-5": the words of Claude's names in one order.
local function claude_name(name)
  name = name:gsub("(%d)%.(%d)", "%1-%2"):gsub("^(claude%-.+)%-v%d+$", "%1")
  name = name:gsub("^claude%-(%d)%-(%d)%-(%l+)", "claude-%3-%1-%2")
  return (name:gsub("^claude%-(%d)%-(%l+)", "claude-%2-%1"))
end

--- "meta-llama-3_1-8b", "llama-v3p1-8b" and "llama3-1-8b" as "llama-3.1-8b".
local function llama_name(name)
  name = name:gsub("^meta%-llama", "llama"):gsub("^llama%-v", "llama-"):gsub("^llama(%d)", "llama-%1")
  return (name:gsub("^(llama%-3)%-([1-3])%-", "%1.%2-"))
end

--- Cuts server, place and build from a model's name: "us.anthropic.claude-opus-4-5-v1:0",
--- "openrouter/anthropic/claude-opus-4.5:beta" and "claude-opus-4-5@20251101" are claude-opus-4-5.
---@param name string
---@return string
function families.plain(name)
  local plain = name:lower()
  plain = plain:match "^ft:([^:]+)" or plain          -- fine-tuned: ft:gpt-4o-mini-2024-07-18:acme::abc
  plain = plain:match "([^/]+)/*$" or plain
  plain = without_vendors((plain:gsub("(.)[:@].*$", "%1"))):gsub("(%d)[p_](%d)", "%1.%2"):gsub("_", "-")
  return plain:find "^claude" and claude_name(plain) or llama_name(plain)
end

---- Families ----

---@class ebb.Family
---@field pattern string      of plain names; what follows is empty, or starts with one of - . : _
---@field like? string        the listed model to take
---@field model? ebb.Model    where none is listed
---@field abilities? table    instead of those of the listed model

local function open(encoding, window, output)
  return { encoding = encoding, window = window, output = output, dialect = "openai" }
end

local function like(name, ...)
  local rows = {}
  for i, pattern in ipairs { ... } do rows[i] = { pattern = pattern, like = name } end
  return rows
end

--- Makes the rows of models that are like the listed one but have other abilities.
local function like_but(able, name, ...)
  local rows = like(name, ...)
  for _, row in ipairs(rows) do row.abilities = able end
  return rows
end

local function own(model, ...)
  local rows = {}
  for i, pattern in ipairs { ... } do rows[i] = { pattern = pattern, model = model } end
  return rows
end

local function claude(window, output, able)
  return { encoding = "claude", window = window, output = output, dialect = "anthropic", image = "area",
    abilities = able }
end

local function gemini(window, output, able)
  return { encoding = "gemma3", window = window, output = output, dialect = "gemini", image = "tiles_258",
    abilities = able }
end

local PAGES, TEXT, ALL = listed["claude-sonnet-4-5"].abilities, listed["gpt-4"].abilities,
  listed["gemini-2.5-pro"].abilities
local SOUND, UNKNOWN = { audio = true }, {}
local SPEAKS = { vision = false, audio = false, video = false, document = false }     -- a text becomes speech

--- The first that fits counts. Windows are those of the providers' pages and the models' cards; abilities are from the
--- sources that listed.lua names.
local ROWS = {
  -- OpenAI
  like("gpt-3.5-turbo", "gpt%-3%.5", "gpt%-35"),
  like("gpt-4.1-nano", "gpt%-4%.1%-nano"), like("gpt-4.1-mini", "gpt%-4%.1%-mini"), like("gpt-4.1", "gpt%-4%.1"),
  like_but(SOUND, "gpt-4o-mini", "gpt%-4o%-mini%-audio", "gpt%-4o%-mini%-realtime"),
  like_but(SOUND, "gpt-4o", "gpt%-4o%-audio", "gpt%-4o%-realtime"),
  like("gpt-4o-mini", "gpt%-4o%-mini"), like("gpt-4o", "gpt%-4o", "chatgpt%-4o", "gpt%-4%.5"),
  like("gpt-4-turbo", "gpt%-4%-turbo", "gpt%-4%-1106", "gpt%-4%-0125", "gpt%-4%-vision"),
  own(open("cl100k_base", 32768, 8192), "gpt%-4%-32k"), like("gpt-4", "gpt%-4"),
  own(open("o200k_base", 131072, 32768), "gpt%-oss"),
  like("gpt-5-mini", "gpt%-[5-9]%-mini", "gpt%-[5-9]%.%d%-mini", "gpt%-[5-9]%.%d%-codex%-mini"),
  like("gpt-5-nano", "gpt%-[5-9]%-nano", "gpt%-[5-9]%.%d%-nano"), like("gpt-5", "gpt%-[5-9]%.%d", "gpt%-[5-9]"),
  like_but(UNKNOWN, "o1", "o1%-mini", "o1%-preview"), like_but(TEXT, "o4-mini", "o3%-mini"),
  like("o1", "o1"), like("o4-mini", "o4%-mini", "codex%-mini"), like("o3", "o3"),
  -- Anthropic: from Opus 4.7 on another tokenizer
  like("claude-opus-4-7", "claude%-%l+%-4%-[7-9]", "claude%-%l+%-[5-9]"),
  like("claude-opus-4-6", "claude%-opus%-4%-6"), like("claude-sonnet-4-6", "claude%-sonnet%-4%-6"),
  like("claude-opus-4-5", "claude%-opus%-4%-5"), like("claude-sonnet-4-5", "claude%-sonnet%-4", "claude%-sonnet%-3%-7"),
  like("claude-haiku-4-5", "claude%-haiku%-4"), own(claude(200000, 32000, PAGES), "claude%-opus%-4"),
  own(claude(200000, 8192, PAGES), "claude%-%l+%-3%-5"), own(claude(200000, 4096, PAGES), "claude%-%l+%-3"),
  own(claude(200000, 4096), "claude%-2%-1"),
  own(claude(100000, 4096), "claude%-2", "claude%-v[12]", "claude%-instant"),
  -- Google: one vocabulary counts for all Gemini models in the SDKs for Python, Java and Go
  own(gemini(32768, 8192), "gemini%-1%.0", "gemini%-pro"),
  own(gemini(1048576, 8192), "gemini%-1%.5", "gemini%-flash%-1%.5"),
  own(gemini(1048576, 8192, ALL), "gemini%-2%.0"),
  like_but(UNKNOWN, "gemini-2.5-flash", "gemini%-[%d.]+%-flash%-image"),
  like_but(UNKNOWN, "gemini-2.5-pro", "gemini%-[%d.]+%-pro%-image"),
  like_but(SPEAKS, "gemini-2.5-flash", "gemini%-[%d.]+%-flash%-preview%-tts"),
  like_but(SPEAKS, "gemini-2.5-pro", "gemini%-[%d.]+%-pro%-preview%-tts"),
  like("gemini-2.5-flash", "gemini%-%d%.%d%-flash", "gemini%-%d%-flash", "gemini%-flash"),
  like("gemini-2.5-pro", "gemini%-%d%.%d", "gemini%-%d", "gemini%-exp"),
  own(open("gemma3", 32768, 8192), "gemma%-?3n?"), own(open("cjk", 8192, 2048), "gemma%-?%d", "gemma"),
  -- Open weights
  own(open("llama3", 131072, 32768), "deepseek%-r1%-distill%-llama"),
  own(open("qwen3", 131072, 32768), "deepseek%-r1%-distill%-qwen", "deepseek%-r1%-0528%-qwen3"),
  own(open("deepseek", 65536, 8192), "deepseek%-v3", "deepseek%-v3%.%d", "deepseek%-chat", "deepseek%-reasoner",
    "deepseek%-r1"),
  own(open("cjk", 16384, 4096), "deepseek%-coder"), own(open("cjk", 65536, 8192), "deepseek"),
  own(open("llama3", 131072, 8192), "llama%-3%.[1-3]", "llama%-guard%-3"), own(open("llama3", 8192, 2048), "llama%-3"),
  own(open("cjk", 131072, 8192), "llama%-4"), own(open("llama2", 4096, 1024), "llama%-2"),
  own(open("llama2", 16384, 4096), "codellama"),
  own(open("cjk", 131072, 8192), "qwen%-?3%.%d"),
  own(open("qwen3", 32768, 8192), "qwen%-?1%.5", "qwen%-?2%.5", "qwen%-?2", "qwen%-?3", "qwq"),
  own(open("cjk", 32768, 8192), "qwen%-%l+"),
  own(open("cjk", 32768, 8192), "mistral", "mixtral", "open%-mi[sx]tral", "codestral"),
  own(open("cjk", 40960, 8192), "magistral"),
  own(open("cjk", 131072, 8192), "ministral", "devstral", "pixtral"),
  own(open("cjk", 32768, 8192), "grok%-2"),
  own(open("cjk", 131072, 16384), "grok", "kimi", "glm%-[4-9]", "glm%-[4-9]%.%d"),
  own(open("cjk", 131072, 4096), "command%-r7b", "command%-[ar]"),
  own(open("cjk", 8192, 2048), "moonshot%-v1%-8k"), own(open("cjk", 32768, 8192), "moonshot"),
  own(open("cjk", 196608, 16384), "minimax"), own(open("cjk", 131072, 5120), "nova"),
  own(open("cjk", 16384, 4096), "phi%-?4"), own(open("cjk", 4096, 1024), "phi%-?3", "phi%-?3%.5", "yi"),
}

--- The family of a plain name.
---@param plain string
---@return ebb.Family?
function families.find(plain)
  for _, rows in ipairs(ROWS) do
    for _, family in ipairs(rows) do
      local _, last = plain:find("^" .. family.pattern)
      local rest = last and plain:sub(last + 1)
      if rest and (rest == "" or rest:find "^[%-%.:_]") then return family end
    end
  end
end

return families
