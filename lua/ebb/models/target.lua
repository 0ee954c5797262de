--- Chooses the target of a request: the dialect and server by whose rules it is written and checked.
--
--     dialect   the caller's  >  the chosen profile's  >  the model's  >  the input's own form
--     profile   the caller's  >  the server's, by its base URL  >  by the model's name  >  the dialect's own
--
-- Models of OpenAI are served in two forms, so a body of Responses stays one. Names with a
-- vendor before them ("anthropic/claude-opus-5") are those of routers, which speak the input's form.

local core = require "ebb.support.core"
local dialects = require "ebb.models.dialects"
local models = require "ebb.models"
local profiles = require "ebb.models.profiles"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local target = {}

local FALLBACK = "openai"

--- Beginnings of names of models, in lower case, that are served in a provider's own form.
local FAMILIES = {
  ["claude-"] = "anthropic", ["gemini-"] = "gemini", ["models/gemini-"] = "gemini",
  ["publishers/google/models/gemini-"] = "gemini", ["publishers/anthropic/models/claude-"] = "anthropic",
  ["gpt-"] = "openai", ["chatgpt-"] = "openai", ["codex-"] = "openai", ["o1"] = "openai", ["o3"] = "openai",
  ["o4"] = "openai",
}

local OPTIONS = {
  to = { type = "string" }, model = { type = "string" }, base_url = { type = "string" },
  profile = { type = "string" }, input = { type = "string" },
}

---@param name string
---@param caller? string      the function that was called, for the error
---@return ebb.Dialect
local function known_dialect(name, caller)
  if tables.contains(dialects, name) then return name end
  local nearest = suggest.nearest(name, dialects)
  return refuse("unknown_name", ("%sunknown dialect '%s'"):format(caller and caller .. ": " or "", name),
    nearest and ("did you mean '%s'?"):format(nearest) or "dialects are " .. table.concat(dialects, ", "))
end

local function family_of(model)
  local name = model:lower():gsub("^%a*%.?anthropic%.claude", "claude")      -- Bedrock's names
  for beginning, dialect in pairs(FAMILIES) do
    if name:sub(1, #beginning) == beginning then return dialect end
  end
end

--- The dialect of a model's requests; nil where nothing is known of its name.
---@param model string
---@return ebb.Dialect?
function target.dialect_of_model(model)
  return models.is_listed(model) and models.find(model).dialect or family_of(model)
end

--- The dialect that a model means for an input of this form.
local function of_model(model, input)
  local dialect = target.dialect_of_model(model)
  if dialect == "openai" and input == "responses" then return input end
  return dialect or input
end

--- The profile that was chosen: by its name or by the server's address.
local function chosen_profile(options, caller)
  if options.profile then return options.profile, profiles.find(options.profile, caller) end
  local name = options.base_url and profiles.of_url(options.base_url)
  return name, name and profiles.find(name)
end

--- Returns the dialect that a profile means, of those it has.
local function of_profile(profile, options, input)
  local wanted = options.model and of_model(options.model, input) or input
  return tables.contains(profile.dialects, wanted) and wanted or profile.dialects[1]
end

local function refuse_pair(dialect, name, profile)
  refuse("argument", ("profile '%s' has no requests of dialect '%s'"):format(name, dialect),
    "it reads " .. table.concat(profile.dialects, ", "))
end

---@class ebb.TargetOptions
---@field to? string          a dialect that the caller asks for
---@field model? string       its name, known or not
---@field base_url? string    of the server
---@field profile? string     name of one of ebb.profiles
---@field input? string       the dialect of the input's own form; default: openai

---@class ebb.Target
---@field dialect ebb.Dialect
---@field profile string      name of one of ebb.profiles
---@field model? string

--- Chooses the dialect, the profile and the model of a request. Refuses unknown dialects and profiles, and a profile
--- of another dialect.
---@param options ebb.TargetOptions
---@param caller? string      the function that was called, for errors
---@return ebb.Target
function target.of(options, caller)
  options = schema.options(OPTIONS, options, "target", 'target.of { to = "anthropic" }')
  local input = options.input and known_dialect(options.input) or FALLBACK
  local name, profile = chosen_profile(options, caller)
  local dialect = options.to and known_dialect(options.to, caller)
  if dialect and profile and not tables.contains(profile.dialects, dialect) then
    if options.profile then refuse_pair(dialect, name, profile) end
    name = nil                                               -- the server has another form besides its own
  end
  dialect = dialect or profile and of_profile(profile, options, input)
    or options.model and of_model(options.model, input) or input
  name = name or options.model and profiles.of_model(options.model, dialect) or dialect
  return { dialect = dialect, profile = name, model = options.model }
end

--- Chooses the target of a list; `options` go before its model and its own form.
---@param list ebb.List
---@param options? { dialect?: string, profile?: string, model?: string, base_url?: string }
---@param input? ebb.Dialect     its own form; default: list:dialect(), which looks at all messages
---@param caller? string     the function that was called, for errors
---@return ebb.Target
function target.of_list(list, options, input, caller)
  options = options or {}
  return target.of({
    to = options.dialect, profile = options.profile, base_url = options.base_url,
    model = options.model or models.name(core.owner(list)), input = input or list:dialect(),
  }, caller)
end

return target
