--- Names of models as providers, routers and runners spell them: what counts for each.
--
-- The spellings are those of price lists and model pages of OpenAI, Anthropic, Google, Azure, Amazon Bedrock,
-- Vertex AI, OpenRouter, Groq, Together, Fireworks, Cloudflare, Hugging Face and Ollama.

local helper = dofile "tests/lua/helper.lua"
local ebb, refusal = helper.ebb, helper.refusal

local models = require "ebb.models"

--- By the listed model whose fields they have, or "encoding window".
local SPELLINGS = {
  ["gpt-3.5-turbo"] = [[gpt-3.5-turbo gpt-3.5-turbo-0125 gpt-3.5-turbo-16k openai/gpt-3.5-turbo-0613 gpt-35-turbo
    azure/gpt-35-turbo-1106 ft:gpt-3.5-turbo-0125:acme::8abc]],
  ["gpt-4"] = "gpt-4 gpt-4-0613 openai/gpt-4 azure/gpt-4",
  ["cl100k_base 32768"] = "gpt-4-32k openai/gpt-4-32k",
  ["gpt-4-turbo"] = [[gpt-4-turbo gpt-4-turbo-2024-04-09 gpt-4-1106-preview openai/gpt-4-0125-preview
    gpt-4-vision-preview]],
  ["gpt-4o"] = [[gpt-4o gpt-4o-2024-11-20 openai/gpt-4o-2024-11-20 gpt-4o:extended chatgpt-4o-latest
    openai/chatgpt-4o-latest gpt-4.5-preview gpt-4o-search-preview gpt-4o-realtime-preview
    ft:gpt-4o-2024-08-06:acme:bot:9xyz openrouter/openai/gpt-4o azure/eu/gpt-4o-2024-08-06]],
  ["gpt-4o-mini"] = [[gpt-4o-mini gpt-4o-mini-2024-07-18 openai/gpt-4o-mini github/gpt-4o-mini
    openai/gpt-4o-mini-search-preview ft:gpt-4o-mini-2024-07-18:acme::abc]],
  ["gpt-4.1"] = "gpt-4.1 gpt-4.1-2025-04-14 openai/gpt-4.1 azure/gpt-4.1",
  ["gpt-4.1-mini"] = "gpt-4.1-mini openai/gpt-4.1-mini-2025-04-14",
  ["gpt-4.1-nano"] = "gpt-4.1-nano openai/gpt-4.1-nano",
  ["gpt-5"] = [[gpt-5 gpt-5-2025-08-07 gpt-5-pro openai/gpt-5-chat gpt-5.1 openai/gpt-5.1-codex gpt-5.2-pro gpt-5.4
    openai.gpt-5.4 openai.gpt-5.5 global.openai.gpt-5.6-sol openai/gpt-6-luna:batch]],
  ["gpt-5-mini"] = "gpt-5-mini openai/gpt-5-mini-2025-08-07 gpt-5.4-mini openai/gpt-5.1-codex-mini",
  ["gpt-5-nano"] = "gpt-5-nano openai/gpt-5-nano gpt-5.4-nano",
  ["o1"] = "o1 o1-2024-12-17 o1-preview openai/o1-mini o1-pro",
  ["o3"] = "o3 o3-2025-04-16 openai/o3-pro o3-deep-research",
  ["o4-mini"] = "o4-mini openai/o4-mini-2025-04-16 o3-mini openai/o3-mini codex-mini-latest openai/codex-mini",
  ["o200k_base 131072"] = [[gpt-oss-120b openai/gpt-oss-20b:free openai.gpt-oss-20b-1:0 @cf/openai/gpt-oss-120b
    gpt-oss:20b accounts/fireworks/models/gpt-oss-120b]],
  ["claude 100000"] = [[claude-2 claude-2.0 anthropic/claude-2 anthropic.claude-v2 claude-instant-1.2
    anthropic.claude-instant-v1]],
  ["claude 200000"] = [[claude-3-opus-20240229 claude-3-opus-latest anthropic/claude-3-haiku claude-2.1
    anthropic.claude-3-sonnet-20240229-v1:0 claude-3-5-sonnet-20241022 claude-3-5-sonnet-latest
    anthropic/claude-3.5-sonnet us.anthropic.claude-3-5-sonnet-20241022-v2:0 claude-3-5-sonnet-v2@20241022
    vertex_ai/claude-3-5-haiku@20241022 claude-opus-4-20250514 claude-opus-4-1 anthropic/claude-opus-4.1
    us.anthropic.claude-opus-4-1-20250805-v1:0]],
  ["claude-sonnet-4-5"] = [[claude-sonnet-4-5 claude-sonnet-4-5-20250929 anthropic/claude-sonnet-4.5
    us.anthropic.claude-sonnet-4-5-20250929-v1:0 claude-sonnet-4-5@20250929 claude-sonnet-4-20250514 claude-4-sonnet
    anthropic/claude-sonnet-4 claude-3-7-sonnet-20250219 anthropic/claude-3.7-sonnet:thinking
    anthropic.claude-3-7-sonnet-20250219-v1:0]],
  ["claude-haiku-4-5"] = [[claude-haiku-4-5 claude-haiku-4-5-20251001 anthropic/claude-haiku-4.5
    global.anthropic.claude-haiku-4-5-20251001-v1:0]],
  ["claude-opus-4-5"] = [[claude-opus-4-5 claude-opus-4-5-20251101 openrouter/anthropic/claude-opus-4.5:beta
    claude-opus-4-5@20251101 global.anthropic.claude-opus-4-5-v1:0]],
  ["claude-opus-4-6"] = "claude-opus-4-6 anthropic/claude-opus-4.6-fast us.anthropic.claude-opus-4-6-v1:0",
  ["claude-sonnet-4-6"] = "claude-sonnet-4-6 anthropic/claude-sonnet-4.6 eu.anthropic.claude-sonnet-4-6-v1:0",
  ["claude-opus-4-7"] = [[claude-opus-4-7 anthropic/claude-opus-4.7 us.anthropic.claude-opus-4-7-v1:0 claude-opus-4-8
    claude-opus-5 global.anthropic.claude-opus-5-5 anthropic/claude-sonnet-5 claude-fable-5-1]],
  ["gemma3 32768"] = [[gemini-pro gemini-1.0-pro-vision-001 gemma-3-27b-it google/gemma-3-12b-it:free gemma3:4b
    google.gemma-3-4b-it google/gemma-3n-e4b-it]],
  ["gemma3 1048576"] = [[gemini-1.5-pro gemini-1.5-flash-002 google/gemini-flash-1.5-8b gemini-2.0-flash-001
    google/gemini-2.0-flash-exp:free]],
  ["gemini-2.5-flash"] = [[gemini-2.5-flash models/gemini-2.5-flash gemini-2.5-flash-lite-preview-06-17
    google/gemini-2.5-flash-preview:thinking gemini-3-flash-preview gemini-3.1-flash-lite gemini-flash-latest]],
  ["gemini-2.5-pro"] = [[gemini-2.5-pro google/gemini-2.5-pro-preview-03-25 vertex_ai/gemini-2.5-pro
    publishers/google/models/gemini-2.5-pro gemini-3.1-pro-preview gemini-exp-1206]],
  ["gemini-3-pro"] = "gemini-3-pro-preview google/gemini-3-pro-preview",
  ["llama3 131072"] = [[meta-llama/Llama-3.1-8B-Instruct meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo llama3.1:70b
    llama-3.3-70b-versatile us.meta.llama3-1-70b-instruct-v1:0 meta.llama3-3-70b-instruct-v1:0
    accounts/fireworks/models/llama-v3p1-70b-instruct @cf/meta/llama-3.2-3b-instruct Meta-Llama-3_3-70B-Instruct
    deepseek-ai/DeepSeek-R1-Distill-Llama-70B nvidia/llama-3.1-nemotron-70b-instruct:free]],
  ["llama3 8192"] = [[meta-llama/Meta-Llama-3-8B-Instruct llama3 llama3:8b meta.llama3-70b-instruct-v1:0
    llama3-70b-8192]],
  ["cjk 131072"] = [[meta-llama/llama-4-scout llama4:scout grok-4 x-ai/grok-3-mini-beta z-ai/glm-4.6 glm-5p1
    moonshotai/Kimi-K2-Instruct command-r-plus-08-2024 cohere/command-a ministral-8b-latest
    mistralai/devstral-2512 qwen/qwen3.6-plus]],
  ["llama2 4096"] = "meta-llama/Llama-2-7b-chat-hf llama2:13b meta.llama2-70b-chat-v1",
  ["llama2 16384"] = "codellama/CodeLlama-34b-Instruct-hf codellama:7b",
  ["qwen3 32768"] = [[Qwen/Qwen2.5-72B-Instruct qwen2.5:7b qwen/qwen-2.5-coder-32b-instruct Qwen/Qwen3-235B-A22B
    qwen3:8b qwen.qwen3-32b-v1:0 qwen3-coder-plus qwen2p5-vl-72b-instruct Qwen/QwQ-32B Qwen/Qwen1.5-7B]],
  ["qwen3 131072"] = "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B deepseek/deepseek-r1-0528-qwen3-8b:free",
  ["deepseek 65536"] = [[deepseek-chat deepseek-reasoner deepseek/deepseek-chat-v3-0324:free
    deepseek-ai/DeepSeek-V3.1 deepseek-ai/DeepSeek-R1 deepseek-r1:671b deepseek.r1-v1:0
    accounts/fireworks/models/deepseek-v3p1 deepseek/deepseek_v3]],
  ["cjk 65536"] = "deepseek-v4-flash deepseek-ai/DeepSeek-V4-Pro-0813",
  ["cjk 32768"] = [[mistral-large-latest mistralai/Mistral-7B-Instruct-v0.3 mistral.mistral-large-2402-v1:0
    mixtral-8x7b-32768 open-mixtral-8x22b codestral-2508 qwen-max x-ai/grok-2-1212]],
  ["cjk 8192"] = "google/gemma-2-9b-it gemma2:9b gemma-7b-it",
  unknown = [[l3-8b-lunaris goliath-120b text-davinci-003 whisper-1 my-model gpt4o gpt-4all gpt-40 claude gemini llama
    o1000 o3x sonar-pro jamba-1-5-large wizardlm-2-8x22b palm-2-chat-bison gpt-latest anthropic/ // : @ a/b/c]],
}

local function counted_as(name)
  if not models.is_known(name) then return "unknown" end
  local model = models.find(name)
  for listed, fields in pairs(ebb.models) do
    if fields == model then return listed end
  end
  local note = models.note(ebb.conversation { model = name }) or ""
  local like = note:match "taken for (%S+)$"      -- with other abilities
  if like then return like end
  return ("%s %d"):format(model.encoding, model.window)
end

describe("names of models", function()
  it("resolve to what counts for them, in 200 spellings and more", function()
    local count = 0
    for expected, spellings in pairs(SPELLINGS) do
      for name in spellings:gmatch "%S+" do
        count = count + 1
        assert.equal(name .. ": " .. expected, name .. ": " .. counted_as(name))
      end
    end
    assert.truthy(count >= 200, count .. " spellings")
  end)

  it("of Claude from Opus 4.7 on have images of high resolution", function()
    assert.equal("area", models.find("claude-opus-4-6").image)
    assert.equal("area_high", models.find("anthropic/claude-opus-4.8").image)
  end)

  it("have a form without provider, region and build", function()
    local plain = require("ebb.models.families").plain
    assert.equal("claude-opus-4-5", plain "us.anthropic.claude-opus-4-5-v1:0")
    assert.equal("claude-sonnet-3-5-20241022", plain "anthropic.claude-3-5-sonnet-20241022-v2:0")
    assert.equal("llama-3.1-8b-instruct", plain "meta-llama/Meta-Llama-3.1-8B-Instruct")
    assert.equal("gpt-4o-mini-2024-07-18", plain "ft:gpt-4o-mini-2024-07-18:acme::abc")
    assert.equal("", plain "")
    for name in ("/ // : @ :: a. .a us. us.anthropic. ft: ft::"):gmatch "%S+" do
      assert.equal("string", type(plain(name)))
    end
  end)

  it("of one family follow an assignment to its listed model", function()
    local before = ebb.models["gpt-4o"]
    ebb.models["gpt-4o"] = { window = 1000, output = 10, encoding = "bytes4" }
    assert.equal(1000, models.find("openai/gpt-4o-search-preview").window)
    ebb.models["gpt-4o"] = nil
    assert.equal("unknown_name", refusal(models.find, "chatgpt-4o-latest").code)
    ebb.models["gpt-4o"] = before
  end)

  it("that are not listed are said, with what counts", function()
    local function note(name) return models.note(ebb.parse(('{"model":%q,"messages":[]}'):format(name))) end
    assert.is_nil(note "openai/gpt-4o-2024-11-20")
    assert.equal("model 'gpt-5.1' is not listed: it is taken for gpt-5", note "gpt-5.1")
    assert.equal("model 'grok-4' is not listed: cjk counts, in a window of 131072", note "grok-4")
    assert.equal("model 'x' is unknown: cjk counts; --model names one that counts alike", note "x")
    assert.is_nil(models.note(ebb.conversation {}))
  end)
end)
