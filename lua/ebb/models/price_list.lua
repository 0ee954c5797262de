--- Reads price lists of others: entries about models become entries of ebb.models.
--
--   LiteLLM        model_prices_and_context_window.json: an object of models by name, prices per token
--   genai-prices   of @pydantic: a list of providers with their models, prices per million tokens; as
--                  data.json, or as the module in the npm package (dist/index.js, dist/index.cjs)
--
-- Reading only: where a list comes from, and where its entries go, is the business of the caller.

local core = require "ebb.support.core"
local javascript = require "ebb.models.javascript"
local json_places = require "ebb.support.json_places"
local models = require "ebb.models"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local text_place = require "ebb.support.text_place"

local price_list = {}

---@class ebb.PriceListEntry
---@field name string
---@field at integer           where it begins in the file
---@field model? ebb.Model     what the list says of it; window and prices may be missing
---@field left_out? string     why it is no model for a conversation, or not the provider's own
---@field problem? string      what is wrong with it
---@field tiers? boolean       it has higher prices for long requests or other hours, which are left out

---@class ebb.PriceList
---@field name string          of the file
---@field form "LiteLLM"|"genai-prices"
---@field entries ebb.PriceListEntry[]
---@field place fun(at: integer): string   "name:line:byte"

local READING = { null = true, base = 0 }   -- JSON: null is absent, lists count from 0
local OTHERS = "offered by other providers"

local function count(min)
  return { type = "integer", min = min, unit = "tokens" }
end

local function check_above_zero(value)
  if value <= 0 then return ("expected a price above 0, got %.10g"):format(value) end
end

local PRICE = { type = "number", max = 1e9, expected = "a price", check = check_above_zero }
local PRICE_OR_ZERO = { type = "number", min = 0, max = 1e9, expected = "a price" }

--- A price per million tokens, without the noise of a multiplication.
local function per_million(price)
  return price and tonumber(("%.10g"):format(price * 1e6))
end

---- What a model's name and provider tell ----

--- Providers whose requests have a form of their own.
local DIALECTS = { anthropic = "anthropic", google = "gemini", gemini = "gemini" }
local IMAGES = { anthropic = "area", gemini = "tiles_258" }

--- An entry of ebb.models.
local function model_of(name, provider, window, output, prices, abilities)
  local dialect = DIALECTS[provider] or "openai"
  if output and window and output >= window then output = nil end   -- its output may fill the window
  local encoding = models.encoding_of(name) or "cjk"
  local image = encoding == "claude_4_7" and "area_high" or IMAGES[dialect]   -- as in the listed models
  return { encoding = encoding, window = window, output = output, dialect = dialect,
    image = image, prices = prices, abilities = abilities }
end

---- LiteLLM ----

local LITELLM = {
  type = "object", expected = "an object", items = { type = "any" }, fields = {
    litellm_provider = { type = "string" }, mode = { type = "string" },
    max_input_tokens = count(1), max_output_tokens = count(0), max_tokens = count(1),
    input_cost_per_token = PRICE, output_cost_per_token = PRICE,
    cache_read_input_token_cost = PRICE, cache_creation_input_token_cost = PRICE_OR_ZERO,
    supports_vision = { type = "boolean" }, supports_audio_input = { type = "boolean" },
    supports_video_input = { type = "boolean" }, supports_pdf_input = { type = "boolean" },
  },
}

local CHAT_MODES = { chat = true, responses = true, completion = true }

local function has_tiers(value)
  for field in pairs(value) do
    if field:find "^input_cost_per_token_above_" then return true end
  end
  return false
end

--- Returns the kinds of input besides text that the list says a model reads; nil if it says nothing.
local function abilities_of(fields)
  local abilities = { vision = fields.supports_vision, audio = fields.supports_audio_input,
    video = fields.supports_video_input, document = fields.supports_pdf_input }
  return next(abilities) and abilities or nil
end

local function read_litellm(name, value)
  local fields = schema.check(LITELLM, value, "model " .. name, READING)
  if not CHAT_MODES[fields.mode or "chat"] then return { left_out = "not for chats: " .. fields.mode } end
  local write = fields.cache_creation_input_token_cost
  local prices = { input = per_million(fields.input_cost_per_token), output = per_million(fields.output_cost_per_token),
    cached_input = per_million(fields.cache_read_input_token_cost),
    cache_write = per_million(write ~= 0 and write or nil) }   -- 0: writing costs no more than input
  local window = fields.max_input_tokens or fields.max_tokens
  local model = model_of(name, fields.litellm_provider, window, fields.max_output_tokens,
    next(prices) and prices or nil, abilities_of(fields))
  return { model = model, left_out = name:find "/" and OTHERS or nil, tiers = has_tiers(value) }
end

local SAMPLE = "sample_spec"   -- explains the fields in place of values

local function litellm(text)
  local entries = {}
  local value = core.json.decode(text)
  for _, member in ipairs(json_places.members(text)) do
    if member.key ~= SAMPLE then
      entries[#entries + 1] = { name = member.key, at = member.first, value = value[member.key], read = read_litellm }
    end
  end
  return entries
end

---- genai-prices ----

local TIERED = {
  any_of = { PRICE, { type = "object", fields = { base = { type = "number", required = true, expected = "a price",
    check = check_above_zero } },
    items = { type = "any" } } },
  expected = "a price, or {base, tiers}",
}

local PRICES = {
  type = "object", expected = "an object of prices", items = { type = "any" },
  fields = { input_mtok = TIERED, output_mtok = TIERED, input_audio_mtok = TIERED, cache_read_mtok = TIERED,
    cache_write_mtok = TIERED },
}

local CONDITIONAL = {
  type = "object", items = { type = "any" }, fields = {
    constraint = { type = "object", fields = { start_date = { type = "string" } }, items = { type = "any" } },
    prices = PRICES,
  },
}

local GENAI = {
  type = "object", items = { type = "any" }, fields = {
    context_window = count(1),
    prices = { any_of = { { type = "list", items = CONDITIONAL }, PRICES }, required = true, expected = "prices" },
  },
}

--- The prices that hold on a day: the last ones that begin on it or before; those for some hours are left out.
local function prices_on(prices, day)
  if not prices[1] then return prices, false end
  local chosen, has_others
  for _, each in ipairs(prices) do
    local starts = each.constraint and each.constraint.start_date
    has_others = has_others or each.constraint ~= nil and starts == nil
    if not each.constraint or starts and starts <= day then chosen = each.prices end
  end
  return chosen or {}, has_others
end

local function base_of(price)
  if type(price) == "table" then return price.base, true end
  return price, false
end

local function read_genai(name, value, provider, day)
  local fields = schema.check(GENAI, value, "model " .. name, READING)
  local prices, tiers = prices_on(fields.prices, day)
  local input, input_tiers = base_of(prices.input_mtok)
  local output = base_of(prices.output_mtok)
  if not (input and output) then return { left_out = "not for chats: no prices of input and output" } end
  return {
    model = model_of(name, provider.id, fields.context_window, nil, { input = input, output = output,
      cached_input = base_of(prices.cache_read_mtok), cache_write = base_of(prices.cache_write_mtok) },
      prices.input_audio_mtok and { audio = true } or nil),
    left_out = not provider.is_own and OTHERS or nil, tiers = tiers or input_tiers,
  }
end

local MATCHES = {
  equals = function(name, word) return name == word end,
  contains = function(name, word) return name:find(word, 1, true) ~= nil end,
  starts_with = function(name, word) return name:sub(1, #word) == word end,
  ends_with = function(name, word) return name:sub(-#word) == word end,
  regex = function(name) return not name:find("/", 1, true) end,   -- others have a provider before the name
}

--- True if one of the conditions fits a name; `and` lists are as rare as they are for single models: not read.
local function fits(name, match)
  for kind, word in pairs(type(match) == "table" and match or {}) do
    if MATCHES[kind] and type(word) == "string" and MATCHES[kind](name, word) then return true end
    for _, each in ipairs(kind == "or" and type(word) == "table" and word or {}) do
      if fits(name, each) then return true end
    end
  end
  return false
end

local PROVIDERS = {
  type = "list", items = { type = "object", items = { type = "any" }, fields = {
    id = { type = "string", filled = true, required = true },
    models = { type = "list", required = true, items = { type = "object", items = { type = "any" }, fields = {
      id = { type = "string", filled = true, required = true },
    } } },
  } },
}

--- A provider owns the names that its pattern fits; other models have the provider before their names.
local function genai(text, providers)
  local entries = {}
  for i, at in ipairs(json_places.elements(text)) do
    local provider, models_at = providers[i], nil
    for _, member in ipairs(json_places.members(text, at)) do
      if member.key == "models" then models_at = member.first end
    end
    for j, first in ipairs(json_places.elements(text, models_at)) do
      local model = provider.models[j]
      local is_own = fits(model.id, provider.model_match)
      local name = is_own and model.id or provider.id .. "/" .. model.id
      entries[#entries + 1] = { name = name, at = first, value = model, read = read_genai,
        provider = { id = provider.id, is_own = is_own } }
    end
  end
  return entries
end

---- Reading ----

--- The data in a module of JavaScript: the first list of objects that begin with an id.
local function literal_in(name, text)
  if text:find "^%s*[%[{]" then return nil end
  local at = text:match "=%s*()%[%s*{%s*[\"']?id[\"']?%s*:"
  if not at then
    refuse("syntax", ("%s:1:1: expected JSON, or a module of @pydantic/genai-prices"):format(name))
  end
  return javascript.literal(name, text, at)
end

local EXPECTED = "expected models of LiteLLM's model_prices_and_context_window.json, or providers of "
  .. "@pydantic/genai-prices"

local function is_litellm(value)
  if getmetatable(value) == "json.array" then return false end
  for _, model in pairs(value) do
    if type(model) == "table" and (model.litellm_provider or model.input_cost_per_token or model.max_tokens) then
      return true
    end
  end
  return false
end

--- Returns the entries of a decoded list; raises if it is wrong as a whole.
local function entries_of(json, value)
  if type(value) == "table" and is_litellm(value) then return litellm(json) end
  if getmetatable(value) ~= "json.array" or not value[1] then refuse("syntax", EXPECTED) end
  schema.check(PROVIDERS, value, "the list", READING)
  return genai(json, value)
end

--- True for an error that the list is to blame for.
local function is_refusal(problem)
  return core.is_error(problem) and problem.code ~= "memory"
end

--- Reads an entry of the list; returns a table with its `problem` if it is wrong.
local function read_entry(entry, day)
  if entry.name == "" then return { problem = "expected the name of a model", name = entry.name, at = entry.at } end
  local ok, result = pcall(entry.read, entry.name, entry.value, entry.provider, day)
  if not ok and not is_refusal(result) then error(result, 0) end
  if not ok then result = { problem = result.message } end
  result.name, result.at = entry.name, entry.at
  return result
end

--- Raises "name:line:byte: ..." for a text of another form; entries that are wrong say so themselves.
---@param name string       of the file, for errors
---@param text string
---@param day string        "2026-11-23": prices that hold then
---@return ebb.PriceList
function price_list.read(name, text, day)
  local literal = literal_in(name, text)
  local json = literal and literal.json or text
  local list = { name = name, entries = {} }
  function list.place(at)
    return ("%s:%s"):format(name, text_place(text, literal and javascript.place(literal, at) or at))
  end
  local value, problem = core.json.decode(json)
  if problem then refuse(problem.code, ("%s:%s%s"):format(name, literal and " as JSON: " or "", problem.message)) end
  local ok, entries = pcall(entries_of, json, value)
  if not ok and not is_refusal(entries) then error(entries, 0) end
  if not ok then
    refuse("syntax", ("%s: %s"):format(list.place(json_places.find(json, entries.path or {})), entries.message))
  end
  list.form = value[1] and "genai-prices" or "LiteLLM"
  for i, entry in ipairs(entries) do
    list.entries[i] = read_entry(entry, day)
  end
  return list
end

return price_list
