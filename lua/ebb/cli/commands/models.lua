--- ebb models: windows, prices and encodings of models, and how each one is counted here.

local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.view.grid"
local registry = require "ebb.models"
local margins = require "ebb.models.margins"
local model_file = require "ebb.cli.io.model_file"
local json_text = require "ebb.cli.view.json_text"
local options = require "ebb.cli.io.options"
local tables = require "ebb.support.tables"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"
local usage_reports = require "ebb.models.usage_reports"

local command = {}

function command.declare(parser)
  parser:argument("model", "A model's name; import, to take prices and models from a file; "
    .. "or update, to take them from @pydantic/genai-prices with npm."):args("?")
  parser:argument("file", "import: LiteLLM's model_prices_and_context_window.json, or data.json or a module of "
    .. "@pydantic/genai-prices."):args("?")
  parser:option("--only", "import, update: take the models of this name; * stands for any text.")
    :argname("<name>"):count("*")
  parser:flag("--all", "import, update: take models that other providers than their own offer, too.")
  parser:flag("--dry-run", "import, update: write nothing, only report.")
  options.output(parser)
  options.json(parser)
end

--- Runs the import, or refuses what belongs to one.
local function import(args)
  if args.model == "update" and args.file then failure.usage "update takes no file: import does" end
  if args.model == "import" or args.model == "update" then
    if args.model == "import" and not args.file then failure.usage "import needs a file" end
    return require("ebb.cli.io.models_import").run(args)
  end
  if args.file then failure.usage(("too many arguments: '%s'"):format(args.file), "ebb models import FILE") end
  failure.usage("--only, --all and --dry-run belong to import and update", "ebb models import FILE")
end

--- The encoding that counts for a model, and the trust of its counts.
local function counted_by(name)
  local chat = ebb.conversation { model = name }
  local trust = chat:trust()
  return chat:encoding(), trust
end

local function image_of(model)
  local image = model.image
  if type(image) ~= "table" then return image or "none" end
  return image.multiplier and ("%s x %s"):format(image.rule, image.multiplier) or image.rule
end

--- Lists the kinds of input besides text that a model is known to read; nil if none is known.
local function reads_of(model)
  local able = core.json.array(tables.keys(model.abilities or {}))
  for i = #able, 1, -1 do
    if not model.abilities[able[i]] then table.remove(able, i) end
  end
  return able[1] and able or nil
end

--- The number of conversations for which a provider reported what an estimate was; nil for exact counts.
local function reports_of(name, encoding, trust)
  if trust ~= "estimated" then return nil end
  local _, conversations = usage_reports.of(name, encoding)
  return conversations
end

local function as_data(name)
  local model = failure.typed(registry.find, name)
  local encoding, trust = counted_by(name)
  local prices = model.prices
  return {
    name = name, encoding = model.encoding, countedBy = encoding, trust = trust, window = model.window,
    output = model.output, dialect = model.dialect, image = image_of(model),
    reads = reads_of(model), margin = margins.percent(model, name), reports = reports_of(name, encoding, trust),
    prices = prices and { input = prices.input, cachedInput = prices.cached_input, cacheWrite = prices.cache_write,
      output = prices.output },
  }
end

local COLUMNS = {
  { title = "model" }, { title = "encoding", rank = 3 }, { title = "trust", rank = 4 },
  { title = "window", right = true }, { title = "output", right = true, rank = 5 }, { title = "dialect", rank = 6 },
  { title = "images", max = 24, rank = 2 }, { title = "price in / cached / out", rank = 1 }, { title = "" },
}

local PRICES = { "input", "cachedInput", "output" }

--- "2.5 / 1.25 / 10": what a million tokens cost, in the currency of models.json.
local function price_of(prices)
  if not prices then return "" end
  local words = {}
  for i, name in ipairs(PRICES) do
    words[i] = prices[name] and ("%.10g"):format(prices[name]) or "-"
  end
  return table.concat(words, " / ")
end

local function list(models, page)
  local rows = {}
  for i, model in ipairs(models) do
    rows[i] = {
      model.name, model.encoding, model.trust, tostring(model.window), tostring(model.output), model.dialect,
      model.image, price_of(model.prices), "",
    }
  end
  return grid.render(COLUMNS, rows, page)
end

local LINES = { "encoding", "countedBy", "trust", "window", "output", "dialect", "image" }

local function describe(model)
  local lines = { model.name }
  for _, field in ipairs(LINES) do
    lines[#lines + 1] = ("  %-10s %s"):format(field:gsub("%u", " %0"):lower(), model[field])
  end
  if model.reads then lines[#lines + 1] = ("  %-10s %s"):format("reads", table.concat(model.reads, ", ")) end
  if model.margin > 0 or model.reports then
    lines[#lines + 1] = ("  %-10s %d %% of estimates stay free%s"):format("margin", model.margin,
      model.reports > 0 and (", by reports of %s"):format(text.count(model.reports, "conversation")) or "")
  end
  if model.prices then
    lines[#lines + 1] = ("  %-10s %s per million tokens (input / cached input / output)"):format("price",
      price_of(model.prices))
  end
  return table.concat(lines, "\n") .. "\n"
end

function command.run(args)
  local imports = args.model == "import" or args.model == "update"
  if imports or args.file or args.only[1] or args.all or args.dry_run then return import(args) end
  model_file.load(args.model)
  local models = core.json.array {}
  for i, name in ipairs(args.model and { args.model } or tables.keys(ebb.models)) do
    models[i] = as_data(name)
  end
  local out
  if args.json then out = json_text.format(args.model and models[1] or models)
  else out = args.model and text.printable(describe(models[1]), true) or list(models, terminal.results(args.output)) end
  terminal.result(out, args.output)
end

return command
