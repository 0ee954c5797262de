--- The models that Ebb lists, by name: encoding, window, output reserve, dialect, image rule.
--
-- Windows and outputs are the providers' published figures, in tokens; `output` is what a trim leaves free for the
-- reply. A module of its own, so that a host that names no model does without it.
--
-- Abilities, what a model reads besides text, are those of models.dev (2026-07-02, `modalities.input`) and of
-- LiteLLM's model_prices_and_context_window.json (2026-07-24, `supports_*_input`). models.dev does not name documents
-- for some of OpenAI's models: there OpenAI's guide "File inputs" decides (read 2026-11: models with vision, gpt-4o and
-- later; of models without vision, such as o3-mini, it says nothing). An ability that is absent is not known: on
-- documents of gpt-4-turbo the sources differ.

local TEXT = { vision = false, audio = false, video = false }
local PAGES = { vision = true, audio = false, video = false, document = true }
local ALL = { vision = true, audio = true, video = true, document = true }

local function openai(encoding, window, output, image, able)
  return { encoding = encoding, window = window, output = output, dialect = "openai", image = image,
    abilities = able or image and PAGES or TEXT }
end

local function anthropic(encoding, window, output)
  local image = encoding == "claude_4_7" and "area_high" or "area"   -- from Opus 4.7 on: high resolution
  return { encoding = encoding, window = window, output = output, dialect = "anthropic", image = image,
    abilities = PAGES }
end

local function gemini(window, output)
  return { encoding = "gemma3", window = window, output = output, dialect = "gemini", image = "tiles_258",
    abilities = ALL }
end

--- Images by patches of 32 x 32 pixels: OpenAI's guide "Images and vision" has the
--- multipliers; those of gpt-5-mini and gpt-5-nano are as billed.
local function patches(multiplier)
  return { rule = "patches_32", multiplier = multiplier }
end

---@type table<string, ebb.Model>
return {
  ["gpt-5"] = openai("o200k_base", 400000, 128000, "tiles_512_5"),
  ["gpt-5-mini"] = openai("o200k_base", 400000, 128000, patches(1.2)),
  ["gpt-5-nano"] = openai("o200k_base", 400000, 128000, patches(1.5)),
  ["gpt-4.1"] = openai("o200k_base", 1047576, 32768, "tiles_512"),
  ["gpt-4.1-mini"] = openai("o200k_base", 1047576, 32768, patches(1.62)),
  ["gpt-4.1-nano"] = openai("o200k_base", 1047576, 32768, patches(2.46)),
  ["gpt-4o"] = openai("o200k_base", 128000, 16384, "tiles_512"),
  ["gpt-4o-mini"] = openai("o200k_base", 128000, 16384, "tiles_512_mini"),
  ["gpt-4-turbo"] = openai("cl100k_base", 128000, 4096, "tiles_512", { vision = true, audio = false, video = false }),
  ["gpt-4"] = openai("cl100k_base", 8192, 2048),   -- its output shares the window: a quarter of it
  ["gpt-3.5-turbo"] = openai("cl100k_base", 16385, 4096),
  ["o1"] = openai("o200k_base", 200000, 100000, "tiles_512_o"),
  ["o3"] = openai("o200k_base", 200000, 100000, "tiles_512_o"),
  ["o4-mini"] = openai("o200k_base", 200000, 100000, patches(1.72)),
  ["claude-opus-4-5"] = anthropic("claude", 200000, 64000),
  ["claude-sonnet-4-5"] = anthropic("claude", 200000, 64000),
  ["claude-haiku-4-5"] = anthropic("claude", 200000, 64000),
  ["claude-sonnet-4-6"] = anthropic("claude", 200000, 64000),   -- a million tokens where that is asked for
  ["claude-opus-4-6"] = anthropic("claude", 200000, 128000),
  ["claude-opus-4-7"] = anthropic("claude_4_7", 1000000, 128000),
  ["gemini-2.5-pro"] = gemini(1048576, 65536),
  ["gemini-2.5-flash"] = gemini(1048576, 65536),
  ["gemini-3-pro"] = gemini(1048576, 65536),
}
