--- Checks a model's entry, whether a script or a file wrote it.

local schema = require "ebb.support.schema"

local check = {}

local function price(required)
  return { type = "number", min = 0, required = required, expected = "a price per million tokens" }
end

local MODEL = {
  type = "object", expected = "a table {encoding, window, output}",
  fields = {
    encoding = { type = "string", required = true },
    window = { type = "integer", min = 1, unit = "tokens", required = true },
    output = { type = "integer", min = 0, unit = "tokens" },
    dialect = { type = "choice", choices = { "openai", "responses", "anthropic", "gemini" }, default = "openai" },
    image = { any_of = { { type = "string" }, { type = "table" } }, expected = "a rule" },
    prices = { type = "object", expected = "a table {input, output}", fields = {
      input = price(true), output = price(true), cached_input = price(false),
    } },
  },
  check = function(model)
    if model.output and model.output >= model.window then
      return ("output: expected less than the window, got %d"):format(model.output)
    end
  end,
}

--- The entry itself, with fields that were left out; raises what is wrong.
---@param name string
---@param model any
---@return ebb.Model
function check.model(name, model)
  local values = schema.check(MODEL, model, "model " .. name)
  model.dialect = values.dialect
  model.output = values.output or values.window // 4
  return model
end

return check
