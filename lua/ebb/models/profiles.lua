--- Profiles: demands and refusals of a server beyond its dialect.
--
-- `known` is the table that users see as `ebb.profiles`. They may add profiles and change
-- fields of those that are there; what they assign is checked. The four profiles that have
-- the name of a dialect are the providers' own APIs; a profile changes their rules:
--
--     dialects    forms of requests that the server reads; the first is its own
--     models      beginnings of names of models that are served there, in lower case
--     hosts       ends of the host in its base URL
--     refuses     codes of rules that hold there as refusals
--     accepts     codes of rules that do not hold there
--     call_id     {min, max, characters = "any" | "word" | "alphanumeric"}
--     tool_name   its most characters
--     members     further members that a message may have there
--     reasoning   what becomes of reasoning text: "drop", "keep", "require" (on every message of
--                 the assistant), "require_with_calls"
--     limits      {bytes, messages, images} of a request; {image_side, image_bytes} of an image, a side in pixels, the
--                 bytes as base64; {many_images, many_images_side}: with more images a side has at most so many
--     sources     where this is documented or reported
--
-- `ebb check --explain CODE` explains a rule, `ebb profiles` lists what is here.

local hints = require "ebb.support.hints"
local suggest = require "ebb.support.suggest"
local refuse = require "ebb.support.refuse"
local tables = require "ebb.support.tables"

local profiles = {}

local MEBIBYTE = 1024 * 1024
local ANY_ID, WORDS_64 = { min = 1, characters = "any" }, { min = 1, max = 64, characters = "word" }
local TEMPLATE = { "alternation", "system_late", "assistant_last", "developer_role" }
local STRICT = { "extra_member", "developer_role" }
local MANY, MANY_SIDE, IMAGE_SIDE = 20, 2000, 8000      -- of images for Claude

---@type table<string, ebb.Profile>
local list = {
  openai = {
    summary = "OpenAI, Chat Completions", dialects = { "openai" }, hosts = { "api.openai.com" },
    refuses = { "tool_description", "tool_schema" },
    sources = { "npm openai 7.57.0: resources/chat/completions/completions.d.ts" },
  },
  responses = {
    summary = "OpenAI, Responses", dialects = { "responses" }, refuses = { "tool_schema" },
    sources = { "npm openai 7.57.0: resources/responses/responses.d.ts" },
  },
  anthropic = {
    summary = "Anthropic, Messages", dialects = { "anthropic" }, hosts = { "api.anthropic.com" },
    limits = { bytes = 32 * MEBIBYTE, messages = 100000, images = 600, image_side = IMAGE_SIDE,
      image_bytes = 10 * MEBIBYTE, many_images = MANY, many_images_side = MANY_SIDE },
    sources = { "platform.claude.com/docs/en/api/errors", "platform.claude.com/docs/en/build-with-claude/vision" },
  },
  gemini = {
    summary = "Google, Gemini API: generateContent", dialects = { "gemini" },
    hosts = { "generativelanguage.googleapis.com" },
    sources = { "npm @google/genai 3.1.0: dist/genai.d.ts", "ai.google.dev/gemini-api/docs/thought-signatures" },
  },

  azure = {
    summary = "OpenAI models on Azure", dialects = { "openai", "responses" },
    hosts = { "openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com" },
    refuses = { "tools_with_effort", "tool_description", "tool_schema" },
    sources = { "github can1357/oh-my-pi issue 11052" },
  },
  codex = {
    summary = "the Codex backend of a ChatGPT login", dialects = { "responses" }, hosts = { "chatgpt.com" },
    refuses = { "sampling", "stored_items", "output_limit", "tool_schema" },
    sources = { "npm @oh-my-pi/pi-ai 18.2.11: src/providers/openai-shared.ts" },
  },
  ["responses-stateless"] = {
    summary = "Responses without storage (store: false, zero data retention)", dialects = { "responses" },
    refuses = { "stored_items", "tool_schema" }, sources = { "github earendil-works/pi issue 5059" },
  },

  mistral = {
    summary = "Mistral's API, and mistral-common in vLLM", dialects = { "openai" },
    models = { "mistral", "ministral", "codestral", "devstral", "magistral", "pixtral", "open-mistral",
      "open-mixtral" },
    hosts = { "api.mistral.ai" }, call_id = { min = 9, max = 9, characters = "alphanumeric" },
    refuses = { "user_after_tool", "assistant_last", "extra_member", "empty_tools", "developer_role" },
    members = { "prefix" },
    sources = { "github mistralai/mistral-common issue 169", "github charmbracelet/crush issue 279",
      "github vllm-project/vllm issue 12864" },
  },
  deepseek = {
    summary = "DeepSeek V4 and later, thinking on", dialects = { "openai" }, models = { "deepseek-v", "deepseek-chat" },
    hosts = { "api.deepseek.com" }, reasoning = "require", refuses = { "reasoning_content", "media", "developer_role" },
    members = { "reasoning_content", "prefix" }, call_id = ANY_ID,
    sources = { "github danny-avila/LibreChat issue 12836", "github NousResearch/hermes-agent issue 15228" },
  },
  ["deepseek-r1"] = {
    summary = "DeepSeek R1: old reasoning is not sent back", dialects = { "openai" },
    models = { "deepseek-reasoner", "deepseek-r1" }, reasoning = "drop", refuses = { "extra_member", "developer_role" },
    members = { "prefix" }, call_id = ANY_ID, sources = { "npm @ai-sdk/deepseek 3.0.56" },
  },
  kimi = {
    summary = "Kimi K2.5 and later, thinking on", dialects = { "openai" }, models = { "kimi-", "moonshot-" },
    hosts = { "api.moonshot.ai", "api.moonshot.cn", "api.kimi.com" }, reasoning = "require_with_calls",
    refuses = { "reasoning_content", "forced_tool", "developer_role" }, members = { "reasoning_content" },
    call_id = ANY_ID,
    sources = { "github continuedev/continue issue 11600", "npm @ai-sdk/moonshotai 3.0.60" },
  },
  fireworks = {
    summary = "Fireworks", dialects = { "openai" }, models = { "accounts/fireworks/" }, hosts = { "api.fireworks.ai" },
    refuses = STRICT, members = { "reasoning_content" }, reasoning = "keep", call_id = ANY_ID,
    sources = { "github BerriAI/litellm issue 39962" },
  },
  groq = {
    summary = "Groq", dialects = { "openai" }, hosts = { "api.groq.com" }, refuses = STRICT, members = { "reasoning" },
    call_id = ANY_ID,
    sources = { "github BerriAI/litellm issue 25595", "github NousResearch/hermes-agent issue 75089" },
  },
  cerebras = {
    summary = "Cerebras", dialects = { "openai" }, hosts = { "api.cerebras.ai" }, refuses = STRICT,
    members = { "reasoning" }, call_id = ANY_ID, sources = { "github NVIDIA/garak issue 748" },
  },
  nvidia = {
    summary = "NVIDIA NIM", dialects = { "openai" }, hosts = { "integrate.api.nvidia.com" }, refuses = STRICT,
    call_id = ANY_ID, sources = { "github NVIDIA/garak issue 748" },
  },
  zai = {
    summary = "Z.AI, Chat form", dialects = { "openai" }, models = { "glm-" },
    hosts = { "api.z.ai", "open.bigmodel.cn" }, refuses = STRICT, members = { "reasoning_content" },
    reasoning = "keep", call_id = ANY_ID, sources = { "npm @oh-my-pi/pi-ai 18.2.11: CHANGELOG.md" },
  },
  copilot = {
    summary = "GitHub Copilot", dialects = { "openai", "responses", "anthropic" }, hosts = { "githubcopilot.com" },
    refuses = { "empty_text", "media_type" }, sources = { "github anomalyco/opencode issue 31259" },
  },
  openrouter = {
    summary = "OpenRouter, Chat form", dialects = { "openai" }, hosts = { "openrouter.ai" },
    models = { "anthropic/", "openai/", "google/", "meta-llama/", "mistralai/", "deepseek/", "qwen/", "x-ai/",
      "moonshotai/", "z-ai/", "cohere/", "minimax/" },
    members = { "reasoning", "reasoning_details", "cache_control" }, reasoning = "keep", call_id = ANY_ID,
    refuses = { "media_type" },
    sources = { "npm @oh-my-pi/pi-ai 18.2.11: src/providers/openai-completions.ts",
      "github OpenRouterTeam/ai-sdk-provider" },
  },

  vllm = {
    summary = "vLLM with a chat template of its model", dialects = { "openai" }, members = { "reasoning_content",
      "reasoning" }, reasoning = "keep", refuses = { "empty_calls", "call_arguments" }, call_id = ANY_ID,
    accepts = { "extra_member", "image_type", "file_name" },
    sources = { "github vllm-project/vllm pull 10463", "github vllm-project/vllm issue 6862",
      "github agentscope-ai/agentscope issue 2469" },
  },
  ["llama.cpp"] = {
    summary = "llama.cpp's server and LM Studio", dialects = { "openai" },
    members = { "reasoning_content" }, reasoning = "keep",
    refuses = { "null_content", "assistants_last", "named_tool_choice" }, accepts = { "image_type" }, call_id = ANY_ID,
    sources = { "npm @oh-my-pi/pi-ai 18.2.11: src/providers/openai-completions.ts", "npm @ai-sdk/openai 4.0.118" },
  },
  template = {
    summary = "chat templates that want turns: Mistral's, Gemma's, Llama 2's", dialects = { "openai" },
    refuses = { "user_first", table.unpack(TEMPLATE) }, call_id = ANY_ID,
    sources = { "github vllm-project/vllm issue 41114", "github vllm-project/vllm issue 6862" },
  },
  qwen = {
    summary = "chat templates of Qwen 3.5 and later", dialects = { "openai" }, models = { "qwen3.5", "qwen3.6" },
    refuses = { "system_late", "no_user", "assistant_last", "developer_role" }, members = { "reasoning_content" },
    reasoning = "keep", call_id = ANY_ID,
    sources = { "npm @oh-my-pi/pi-ai 18.2.11: src/providers/openai-completions.ts" },
  },

  ["bedrock-converse"] = {
    summary = "Claude through Amazon Bedrock's Converse", dialects = { "anthropic" },
    refuses = { "user_first", "alternation", "tools_missing", "error_empty" }, call_id = WORDS_64,
    limits = { bytes = 20 * MEBIBYTE, image_side = IMAGE_SIDE, image_bytes = 5 * MEBIBYTE, many_images = MANY,
      many_images_side = MANY_SIDE },
    sources = { "github NousResearch/hermes-agent issue 55092", "github langgenius/dify issue 17545",
      "platform.claude.com/docs/en/build-with-claude/claude-on-amazon-bedrock" },
  },
  bedrock = {
    summary = "Claude on Amazon Bedrock, Messages form", dialects = { "anthropic" },
    models = { "anthropic.claude", "us.anthropic.claude", "eu.anthropic.claude", "apac.anthropic.claude",
      "jp.anthropic.claude", "global.anthropic.claude" },
    hosts = { "amazonaws.com" }, call_id = WORDS_64,
    limits = { bytes = 20 * MEBIBYTE, image_side = IMAGE_SIDE, image_bytes = 5 * MEBIBYTE, many_images = MANY,
      many_images_side = MANY_SIDE },
    sources = { "platform.claude.com/docs/en/build-with-claude/vision" },
  },
  vertex = {
    summary = "Claude and Gemini on Google Cloud's Vertex AI", dialects = { "gemini", "anthropic" },
    hosts = { "aiplatform.googleapis.com" }, refuses = { "sentinel_signature" }, call_id = WORDS_64,
    limits = { bytes = 30 * MEBIBYTE },
    sources = { "docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures",
      "npm @oh-my-pi/pi-ai 18.2.11: src/providers/google-shared.ts" },
  },
  ["anthropic-compatible"] = {
    summary = "Anthropic's form at Z.AI, Kimi, MiniMax, DeepSeek", dialects = { "anthropic" },
    accepts = { "unsigned_thinking", "assistant_last", "bound_thinking" }, refuses = { "result_empty" },
    sources = { "npm @oh-my-pi/pi-ai 18.2.11: CHANGELOG.md" },
  },
}

--- Loaded where one is used.
local function check(name, profile)
  return require("ebb.models.profile_check").profile(name, profile)
end

--- Puts a profile of one's own in, or changes fields of one; false or nil takes it out.
local function assign(_, name, fields)
  if type(name) ~= "string" or name == "" then
    refuse("argument", "ebb.profiles: the name of a profile is a string that is not empty")
  end
  local profile = fields and tables.copy(list[name] or {}) or nil
  for field, value in pairs(type(fields) == "table" and fields or {}) do profile[field] = value end
  list[name] = fields and check(name, type(fields) == "table" and profile or fields) or nil
end

profiles.known = setmetatable({}, {
  __index = function(_, name) return list[name] end,
  __newindex = assign,
  __pairs = function() return pairs(list) end,
})

--- Returns the names of all profiles, sorted.
---@return string[]
function profiles.names() return tables.keys(list) end

--- A profile by its name; an unknown one is refused.
---@param name any
---@param caller? string      the function that was called, for the error
---@return ebb.Profile
function profiles.find(name, caller)
  local where = caller and caller .. ": " or ""
  if type(name) ~= "string" then refuse("argument", where .. "profile is the name of a profile, a string") end
  local profile = list[name]
  if profile then return check(name, profile) end      -- a field may have been set since
  return refuse("unknown_name", ("%sunknown profile '%s'"):format(where, name),
    suggest.hint(name, profiles.names()) or hints.profiles)
end

--- The one whose pattern of the name is longest.
local function longest(name, fits)
  local best, best_size
  for candidate, profile in pairs(list) do
    local size = fits(name, profile)
    if size and (not best or size > best_size or size == best_size and candidate < best) then
      best, best_size = candidate, size
    end
  end
  return best
end

local function size_of_match(words, matches)
  local size
  for _, word in ipairs(words or {}) do
    if matches(word) and #word > (size or 0) then size = #word end
  end
  return size
end

--- The profile of a server, by its address; nil: none is known.
---@param url string
---@return string? name
function profiles.of_url(url)
  local host = (url:match "^%a[%w+.-]*://([^/]*)" or url:match "^[^/]*"):lower():gsub("^.*@", ""):gsub(":%d+$", "")
  return longest(host, function(name, profile)
    return size_of_match(profile.hosts, function(word)
      return name == word or name:sub(-#word) == word and name:sub(-#word - 1, -#word - 1):find "[.-]" ~= nil
    end)
  end)
end

--- The profile that the name of a model means for requests of a dialect; nil: none.
---@param model string
---@param dialect ebb.Dialect
---@return string? name
function profiles.of_model(model, dialect)
  return longest(model:lower(), function(name, profile)
    if not tables.contains(profile.dialects, dialect) then return nil end
    return size_of_match(profile.models, function(word) return name:sub(1, #word) == word end)
  end)
end

return profiles
