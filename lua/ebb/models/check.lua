--- What a model's entry must be, whoever wrote it: a script or a file.

local options = require "ebb.support.options"
local refuse = require "ebb.support.refuse"

local check = {}

local FIELDS = { "encoding", "window", "output", "dialect", "image", "prices" }
local PRICES = { "input", "cached_input", "output" }
local DIALECTS = { openai = true, responses = true, anthropic = true, gemini = true }

local function expect(good, name, field, what, value)
  local shown = type(value) == "table" and "a table" or tostring(value)
  if not good then refuse("argument", ("model %s: %s is %s, not %s"):format(name, field, what, shown)) end
end

local function is_count(value, least)
  return math.type(value) == "integer" and value >= least
end

local function is_price(value)
  return type(value) == "number" and value >= 0 and value < math.huge
end

local function check_prices(name, prices)
  expect(type(prices) == "table", name, "prices", "a table {input, output}", prices)
  options.names(prices, PRICES, ("model %s: prices"):format(name))
  for _, field in ipairs(PRICES) do
    local needed = field ~= "cached_input"
    local value = prices[field]
    local fine = is_price(value) or (value == nil and not needed)
    expect(fine, name, "prices." .. field, "a price per million tokens", value)
  end
end

--- Refuses what is no model; fills in what may be left out.
---@param name string
---@param model any
---@return ebb.Model
function check.model(name, model)
  expect(type(model) == "table", name, "it", "a table {encoding, window, output}", model)
  options.names(model, FIELDS, ("model %s"):format(name))
  expect(type(model.encoding) == "string", name, "encoding", "a name", model.encoding)
  expect(is_count(model.window, 1), name, "window", "a number of tokens, 1 or more", model.window)
  if model.output == nil then model.output = model.window // 4 end
  local fits = is_count(model.output, 0) and model.output < model.window
  expect(fits, name, "output", "less than the window", model.output)
  if model.dialect == nil then model.dialect = "openai" end
  expect(DIALECTS[model.dialect], name, "dialect", "openai, responses, anthropic or gemini", model.dialect)
  local image = type(model.image)
  expect(image == "nil" or image == "string" or image == "table", name, "image", "a rule", model.image)
  if model.prices ~= nil then check_prices(name, model.prices) end
  return model
end

return check
