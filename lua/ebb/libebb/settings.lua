--- Lists and changes a runtime's models and policies, and how a chat is counted.

local built_in = require "ebb.policies"
local core = require "ebb.support.core"
local ebb = require "ebb"
local emit = require "ebb.libebb.emit"
local json_arguments = require "ebb.support.json_arguments"
local models = require "ebb.models"
local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"
local vocabularies = require "ebb.models.vocabularies"

local settings = {}

local json = core.json

---- Models ----

local ANY = { type = "any" }   -- ebb.models checks them

local MODEL = {
  encoding = ANY, window = ANY, output = ANY, dialect = ANY, image = ANY,
  prices = { type = "object", fields = { input = ANY, cached_input = ANY, output = ANY } },
}

--- The fields of a model in the form of ebb.models; null takes the model out.
local function read_model(name, value)
  local what = ("model %s"):format(name)
  if value == json.null then return false end
  if type(value) ~= "table" or value[1] ~= nil then refuse("shape", what .. ": expected an object") end
  return json_arguments.fields(value, MODEL, what)
end

--- A function that adds the models of a JSON object by name, all of them or none.
function settings.models_adder(with_hints, _, text)
  local entries = {}
  for name, value in pairs(json_arguments.object(text, "models")) do
    entries[name] = read_model(name, value)
  end
  return with_hints(function()
    for _, fields in pairs(entries) do
      if fields and fields.image ~= nil then core.conversation { image = fields.image } end   -- is it a rule?
    end
    models.add(entries)
  end)
end

local function encode_model(name)
  local model = ebb.models[name]
  local prices = model.prices
  return json.encode {
    name = name, encoding = model.encoding, window = model.window, output = model.output, dialect = model.dialect,
    image = model.image or json.null,
    prices = prices and { input = prices.input, cachedInput = prices.cached_input, output = prices.output } or nil,
  }
end

--- A function that writes all models as a JSON list, sorted by name.
function settings.model_lister(with_hints, api)
  return with_hints(function() emit.list(api.write, tables.keys(ebb.models), encode_model) end)
end

---- Policies ----

--- The declared options of a policy, as a copy in depth. Lists are marked as arrays, so that an
--- empty one encodes as [] and not as {}.
---@param policy ebb.Policy
---@return table<string, ebb.OptionDeclaration>
local function declared_options(policy)
  local options = tables.copy(policy.options or {})
  for _, option in pairs(options) do
    if option.type == "list" and type(option.default) == "table" then json.array(option.default) end
    if option.choices then json.array(option.choices) end
  end
  return options
end

--- A function that writes the policies of a runtime as a JSON list, one object for each: name,
--- summary, builtIn, options. The loaded ones come first, sorted, then the built-in ones. No name
--- occurs twice, because none is loaded under a built-in one's.
---@param with_hints fun(run: function): function    the function, with the hints of its errors in their messages
---@param api { write: fun(text: string) }
---@param loaded table<string, ebb.Policy>            by name: those of ebb_policy_load
---@return fun()
function settings.policy_lister(with_hints, api, loaded)
  return with_hints(function()
    local names = tables.keys(loaded)
    table.move(built_in.names, 1, #built_in.names, #names + 1, names)
    emit.list(api.write, names, function(name)
      local policy = loaded[name] or built_in.find(name)
      return json.encode {
        name = name, summary = policy.summary or "", builtIn = loaded[name] == nil, options = declared_options(policy),
      }
    end)
  end)
end

---- Counting ----

--- Empty chats that count by a model or an encoding. Weak: models may change.
local counters = setmetatable({}, { __mode = "v" })

local function counter_options(name)
  if models.is_known(name) then return { model = name } end
  if models.is_estimator(name) or vocabularies.find(name) and vocabularies.open(name) then
    return { encoding = name }
  end
  local names = tables.keys(ebb.models)
  for _, image in ipairs(vocabularies.list()) do names[#names + 1] = image.name end
  table.move(models.estimators, 1, #models.estimators, #names + 1, names)
  return refuse("unknown_name", ("there is no encoding or model '%s'"):format(name), suggest.hint(name, names))
end

--- An empty conversation that counts so.
function settings.counter(_, _, name)
  local options = counter_options(name)
  local existing = options.encoding and counters[name]
  local chat = existing or ebb.conversation(options)
  if options.encoding then counters[name] = chat end
  return chat
end

function settings.tokenizer(_, _, encoding)
  return vocabularies.tokenizer(encoding)
end

---- Chats ----

local CHANGES = { model = "model", encoding = "encoding", limit = "limit" }

local function check_changes(changes)
  local limit = changes.limit
  if limit ~= nil and limit ~= json.null and not (math.type(limit) == "integer" and limit >= 0) then
    refuse("argument", "limit: expected a number of tokens, 0 or more, or null")
  end
end

--- The options of a chat as they are after a change, for its saves, and what to change.
---@param text string       options
---@param changes_text string
local function changed(text, changes_text)
  local options, changes = json_arguments.object(text, "options"), json_arguments.object(changes_text, "changes")
  for name in pairs(changes) do
    if not CHANGES[name] then
      refuse("unknown_name", ("a chat has no setting '%s'"):format(name), suggest.hint(name, tables.keys(CHANGES)))
    end
  end
  check_changes(changes)
  if changes.model ~= nil and changes.encoding == nil then options.encoding = nil end
  for name, value in pairs(changes) do
    options[name] = value ~= json.null and value or nil
  end
  return options, changes
end

function settings.changed(_, _, text, changes_text)
  return json.encode((changed(text, changes_text)))
end

--- Counts as the changes say, which is the last step that may fail.
---@return integer? limit      as the options say, or the model's window
function settings.change(_, _, chat, text, changes_text)
  local options, changes = changed(text, changes_text)
  local limit = options.limit or options.model and models.find(options.model).window or nil
  if changes.model == nil and changes.encoding == nil then return limit end
  if options.model == nil and options.encoding == nil then
    refuse("argument", "a model or an encoding is needed: there is nothing else to count by")
  end
  chat:recount { model = options.model, encoding = options.encoding }
  return limit
end

function settings.report_usage(_, _, chat, tokens)
  local ratio, problem = chat:report_usage { prompt_tokens = tokens }
  if not ratio then refuse("argument", "usage: " .. problem.message) end
end

return settings
