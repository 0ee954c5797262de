--- Checks a model's entry, whether a script or a file wrote it.

local caches = require "ebb.models.caches"
local core = require "ebb.support.core"
local dialects = require "ebb.models.dialects"
local schema = require "ebb.support.schema"

local check = {}

local function price(required)
  return { type = "number", min = 0, required = required, expected = "a price per million tokens" }
end

--- Returns the core's complaint about a rule for images, and its hint; nil if the rule is valid.
local function image_problem(image)
  local ok, problem = pcall(core.conversation, { encoding = "bytes4", image = image })
  if not ok and (not core.is_error(problem) or problem.code == "memory") then error(problem, 0) end
  if not ok then return (problem.message:gsub("^conversation: ", ""):gsub("^image: ", "")), problem.hint end
end

check.PRICES = {
  type = "object", expected = "a table {input, output}", fields = {
    input = price(true), output = price(true), cached_input = price(false), cache_write = price(false),
  },
}

local RULE = {
  type = "object", expected = "a table {minimum, step, lifetime, read, write}", fields = {
    minimum = { type = "integer", min = 0, unit = "tokens" }, step = { type = "integer", min = 1, unit = "tokens" },
    lifetime = { type = "number", min = 0, unit = "seconds" }, lookback = { type = "integer", min = 0 },
    read = { type = "number", min = 0 }, write = { type = "number", min = 0 },
  },
}

check.MODEL = {
  type = "object", expected = "a table {encoding, window, output}",
  fields = {
    encoding = { type = "string", required = true, help = "a vocabulary, or an estimator" },
    window = { type = "integer", min = 1, unit = "tokens", required = true, help = "of request and answer together" },
    output = { type = "integer", min = 0, unit = "tokens",
      help = "part of the window that a trim leaves for the answer; default: a quarter" },
    dialect = { type = "choice", choices = dialects, default = dialects[1],
      help = "the provider's form of requests" },
    image = { any_of = { { type = "string" }, { type = "table" } }, expected = "a rule", check = image_problem,
      help = "how images are counted: the name of a rule, or {rule, base, tile, multiplier}" },
    abilities = { type = "object", expected = "an object {vision, audio, video, document}", fields = {
      vision = { type = "boolean" }, audio = { type = "boolean" }, video = { type = "boolean" },
      document = { type = "boolean" } }, help = "what the model reads besides text, for pipelines" },
    margin = { type = "integer", min = 0, max = 100, unit = "percent",
      help = "what budgets keep free of an estimate; default: by the encoding, and by what providers reported" },
    prices = check.PRICES,
    cache = { any_of = { { type = "choice", choices = caches.names() }, RULE }, expected = "a rule",
      help = "how its prompt cache serves: the name of a rule, or fields of one" },
  },
  check = function(model)
    if model.output and model.output >= model.window then
      return ("output: expected less than the window, got %d"):format(model.output)
    end
  end,
}

--- Checks an entry and fills in fields that were left out; raises if one is wrong.
---@param name string
---@param model any
---@return ebb.Model
function check.model(name, model)
  local values = schema.check(check.MODEL, model, "model " .. name)
  model.dialect = values.dialect
  model.output = values.output or values.window // 4
  return model
end

return check
