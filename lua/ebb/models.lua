--- What is known of models: encoding, window, output reserve, dialect, image rule.
--
-- `known` is the table that users see as `ebb.models`; they may add to it. A
-- dated version ("gpt-4o-2024-08-06") is found under the name that it begins
-- with. Windows and outputs are the providers' published figures, in tokens;
-- `output` is what a trim leaves free for the reply.

local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"

local models = {}

--- Encodings that need a vocabulary, and the estimator that stands in for them
--- while none is installed.
local VOCABULARIES = { cl100k_base = true, o200k_base = true }
local ESTIMATORS = { "bytes4", "cjk", "utf16_2_5" }
local ESTIMATOR = "cjk"

local function openai(encoding, window, output, image)
  return { encoding = encoding, window = window, output = output, dialect = "openai", image = image }
end

local function anthropic(window, output)
  return { encoding = ESTIMATOR, window = window, output = output, dialect = "anthropic", image = "area" }
end

local function gemini(window, output)
  return { encoding = ESTIMATOR, window = window, output = output, dialect = "gemini", image = "tiles_258" }
end

---@class ebb.Model
---@field encoding string
---@field window integer
---@field output integer
---@field dialect string
---@field image? string     the rule by which images cost; nil: it reads none

---@type table<string, ebb.Model>
models.known = {
  ["gpt-5"] = openai("o200k_base", 400000, 128000, "tiles_512"),
  ["gpt-4.1"] = openai("o200k_base", 1047576, 32768, "tiles_512"),
  ["gpt-4.1-mini"] = openai("o200k_base", 1047576, 32768, "patches_32"),
  ["gpt-4o"] = openai("o200k_base", 128000, 16384, "tiles_512"),
  ["gpt-4o-mini"] = openai("o200k_base", 128000, 16384, "tiles_512"),
  ["gpt-4-turbo"] = openai("cl100k_base", 128000, 4096, "tiles_512"),
  ["gpt-4"] = openai("cl100k_base", 8192, 2048),   -- its output shares the window: a quarter of it
  ["gpt-3.5-turbo"] = openai("cl100k_base", 16385, 4096),
  ["o3"] = openai("o200k_base", 200000, 100000, "tiles_512"),
  ["o4-mini"] = openai("o200k_base", 200000, 100000, "patches_32"),
  ["claude-opus-4-5"] = anthropic(200000, 64000),
  ["claude-sonnet-4-5"] = anthropic(200000, 64000),
  ["claude-haiku-4-5"] = anthropic(200000, 64000),
  ["gemini-2.5-pro"] = gemini(1048576, 65536),
  ["gemini-2.5-flash"] = gemini(1048576, 65536),
}

--- Which model a conversation was made for. Weak: it ends with the conversation.
local model_of = setmetatable({}, { __mode = "k" })

--- Is `rest` what may follow a model's name: a date, a build, "latest"?
local function is_version(rest)
  return rest:find "^%-%d[%d%-]*$" ~= nil or rest == "-latest" or rest == "-preview"
end

--- The model of this name, dated versions included; nil if nobody knows it.
local function known(name)
  if models.known[name] then return models.known[name] end
  local best
  for candidate in pairs(models.known) do
    local fits = name:sub(1, #candidate) == candidate and is_version(name:sub(#candidate + 1))
    if fits and (not best or #candidate > #best) then best = candidate end
  end
  return best and models.known[best]
end

--- The same; an unknown one is refused.
---@param name string
---@return ebb.Model
function models.find(name)
  if type(name) ~= "string" then refuse("argument", "model is the name of a model, a string") end
  local model = known(name)
  if model then return model end
  local hint = suggest.hint(name, suggest.names(models.known))
    or "ebb.models lists them; or give budget, limit and encoding yourself"
  return refuse("unknown_name", ("unknown model '%s'"):format(name), hint)
end

--- An exact encoding asked for by name must not become an estimate in silence.
local function check_encoding(encoding)
  if VOCABULARIES[encoding] then
    local hint = "use an estimator: " .. table.concat(ESTIMATORS, ", ")
    refuse("unknown_name", ("vocabulary %s is not installed"):format(encoding), hint)
  end
end

--- Translates the options of a conversation into those of the core, which knows no models.
---@param options? ebb.ConversationOptions
---@return table? core_options
---@return ebb.Model? model
function models.resolve(options)
  if options == nil then return nil end
  if type(options) ~= "table" then refuse("argument", "the options of a conversation are a table") end
  check_encoding(options.encoding)
  local translated = {}
  for name, value in pairs(options) do
    translated[name] = value
  end
  if options.model == nil then return translated end
  local model = models.find(options.model)
  translated.model = nil
  if options.encoding == nil and options.counter == nil then
    translated.encoding = VOCABULARIES[model.encoding] and ESTIMATOR or model.encoding
  end
  translated.limit = options.limit or model.window
  return translated, model
end

--- Notes which model `chat` is for.
---@param chat ebb.Conversation
---@param model? ebb.Model
function models.assign(chat, model)
  model_of[chat] = model
end

--- The model that the caller named, or else the request body that was loaded.
---@param chat ebb.Conversation
---@return ebb.Model?
function models.of(chat)
  local named = chat:model()
  return model_of[chat] or named and known(named)
end

return models
