--- Traits: what models know or refuse, by their names; the rules that hold for some models
--- only ask them (`ebb check --explain CODE` says for which).
--
-- A family's name has its version: claude-opus-4-8-20260601, gpt-5.4-mini, gemini-3-pro. Sources:
-- Claude: platform.claude.com/docs/en/build-with-claude/{thinking-troubleshooting, preserved-thinking,
-- mid-conversation-system-messages} and /api/errors; OpenAI: npm @ai-sdk/openai 4.0.118,
-- github can1357/oh-my-pi issue 5606; Gemini: ai.google.dev/gemini-api/docs/thought-signatures,
-- npm @ai-sdk/google 4.0.121.

local traits = {}

--- The first version of each family that has a trait; `all` stands for families that are not named.
local CLAUDE = {
  no_prefill = { all = 4.06, mythos = 0 },
  system_role = { opus = 4.08, fable = 5, mythos = 5 },
  bound_thinking = { opus = 5.05, sonnet = 5.05, haiku = 5.05, fable = 5.01, mythos = 5.01 },
  no_forced_tool = { opus = 5.05, sonnet = 5.05, fable = 5.01, mythos = 0 },
  no_manual_thinking = { all = 4.07, mythos = 0 },
  no_disabled_thinking = { opus = 5.05, sonnet = 5.05, fable = 5, mythos = 0 },
  no_sampling = { opus = 4.07, sonnet = 5, haiku = 5, fable = 5, mythos = 0 },
}

--- 4.5 -> 4.05, so that 4.10 follows 4.9; a date is no minor version.
local function version(major, minor)
  minor = minor and #minor <= 2 and tonumber(minor) or 0
  return tonumber(major) + minor / 100
end

local function claude(name)
  local family, major, minor = name:match "claude%-(%a+)%-(%d+)[-.]?(%d*)"
  if not family then
    major, minor, family = name:match "claude%-(%d+)[-.]?(%d*)%-(%a+)"
  end
  if name:find "claude%-mythos" and not family then family, major, minor = "mythos", "0", "" end
  if not family then return nil end
  local number, list = version(major, minor ~= "" and minor or nil), {}
  for trait, first in pairs(CLAUDE) do
    local from = first[family] or first.all
    if from and number >= from then list[#list + 1] = trait end
  end
  if number < 4.06 and family ~= "mythos" then list[#list + 1] = "no_adaptive_thinking" end
  return list
end

local function openai(name)
  if name:find "^o1%-mini" or name:find "^o1%-preview" then return { "no_system", "no_sampling" } end
  if name:find "^o%d" then return { "no_sampling" } end
  local major = name:match "^gpt%-(%d+)"
  if not major then return nil end
  if tonumber(major) < 5 then return {} end
  return name:find "%-chat" and { "control_tokens" } or { "control_tokens", "no_sampling" }
end

local function gemini(name)
  local major = name:match "gemini%-(%d+)"
  if not major then return nil end
  if tonumber(major) < 3 then return { "no_mixed_tools" } end
  return name:find "image" and {} or { "signed_calls" }
end

--- The traits of a model; nil where nothing is known of its name.
---@param model? string
---@return string[]?
function traits.of(model)
  if not model then return nil end
  local name = model:lower():match "[^/]*$"
  local list = claude(name) or gemini(name) or openai(name)
  if list then table.sort(list) end
  return list
end

--- True for models of OpenAI that call the role of system messages developer: o1 and later, GPT-5 and later.
---@param model? string
---@return boolean
function traits.takes_developer(model)
  local name = (model or ""):lower():match "[^/]*$"
  local generation = tonumber(name:match "^gpt%-(%d+)")
  return name:find "^o%d" ~= nil or generation ~= nil and generation >= 5 and not name:find "chat"
end

return traits
