--- Agents, models and user profiles: files in JSON (camelCase) or Lua, read and checked.
--
-- A JSON file is refused with file:line:byte of the value that is wrong. Presets and
-- rules are handed on as they stand: the processors that use them know their form.
-- What a pipeline gets is in snake_case; this is the one place that translates.

local core = require "ebb.support.core"
local hints = require "ebb.support.hints"
local json_places = require "ebb.support.json_places"
local names = require "ebb.support.names"
local plugins = require "ebb.pipeline.plugins"
local refuse = require "ebb.support.refuse"
local settings = require "ebb.pipeline.settings"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local files = {}

local FILE_MAX = 64 * 1024 * 1024   -- bytes; presets may hold whole documents

local json = core.json

---@class ebb.files.Source      What is read, and how its mistakes are told
---@field noun string
---@field name string           of the file, or of the noun
---@field text? string          of a JSON file
---@field snake boolean         names in snake_case are right too
---@field path? string          of the file, if it is one

--- Raises what is wrong at a path of the source.
local function fail(source, message, path, hint, code)
  local where = source.name
  if source.text then where = ("%s:%s"):format(source.name, json_places.place(source.text, path)) end
  local steps = {}
  for i, step in ipairs(path) do
    steps[i] = math.type(step) == "integer" and ("[%d]"):format(step - 1) or (i > 1 and "." or "") .. tostring(step)
  end
  local field = #steps > 0 and table.concat(steps) .. ": " or ""
  refuse(code or "argument", ("%s: %s%s"):format(where, field, message), hint)
end

local function shown(value)
  if value == json.null then return "null" end
  if type(value) == "string" then return ("'%s'"):format(value) end
  return type(value) == "table" and (value[1] ~= nil and "a list" or "an object") or tostring(value)
end

local function expect(good, source, path, expected, value)
  if not good then fail(source, ("expected %s, got %s"):format(expected, shown(value)), path) end
end

local function is_object(value) return type(value) == "table" and value[1] == nil and value ~= json.null end

---- Kinds of values: each gives what the pipeline gets ----

local KIND = {}

function KIND.text(source, value, path)
  expect(type(value) == "string", source, path, "a text", value)
  return value
end

function KIND.flag(source, value, path)
  expect(type(value) == "boolean", source, path, "true or false", value)
  return value
end

function KIND.number(source, value, path)
  expect(type(value) == "number" and value == value, source, path, "a number", value)
  return value
end

function KIND.list(source, value, path)
  expect(type(value) == "table" and (value[1] ~= nil or next(value) == nil), source, path, "a list", value)
  return value
end

--- As it stands.
function KIND.table(source, value, path)
  expect(type(value) == "table", source, path, "a list or an object", value)
  return value
end

--- Variables: {"local": {...}, "global": {...}}, or the local ones alone.
function KIND.variables(source, value, path)
  expect(is_object(value), source, path, "an object of variables", value)
  local grouped = is_object(value["local"]) or is_object(value.global)
  local found = grouped and { ["local"] = value["local"] or {}, global = value.global or {} }
    or { ["local"] = value, global = {} }
  for group, variables in pairs(found) do
    for name, item in pairs(variables) do
      local at = grouped and { path[1], group, name } or { path[1], name }
      local plain = type(item) == "string" or type(item) == "number" or type(item) == "boolean"
      expect(plain, source, at, "a text, a number or true or false", item)
    end
  end
  return found
end

function KIND.processors(source, value, path)
  return settings.entries(value, function(message, inner)
    fail(source, message, table.move(inner, 1, #inner, #path + 1, table.move(path, 1, #path, 1, {})))
  end)
end

local ABILITIES = { "vision", "audio", "video", "document" }

function KIND.capabilities(source, value, path)
  expect(is_object(value), source, path, "an object of abilities", value)
  for name, able in pairs(value) do
    local at = { path[1], name }
    local known = false
    for _, ability in ipairs(ABILITIES) do
      known = known or ability == name
    end
    if not known then fail(source, "unknown ability", at, suggest.hint(name, ABILITIES), "unknown_name") end
    KIND.flag(source, able, at)
  end
  return value
end

--- Switches: {"enabled": true, "autoInjectIfMacroMissing": true}.
function KIND.flags(source, value, path)
  expect(is_object(value), source, path, "an object of switches", value)
  local found = {}
  for name, item in pairs(value) do
    found[names.snake(name)] = KIND.flag(source, item, { path[1], name })
  end
  return found
end

--- Members of the request body, in its own spelling: {"temperature": 0.7, "maxTokens": 500}.
function KIND.parameters(source, value, path)
  expect(is_object(value), source, path, "an object of members of the request", value)
  local found = {}
  for name, item in pairs(value) do
    local key = names.snake(name)
    if key == "messages" or key == "model" then
      fail(source, "the pipeline itself sets this", { path[1], name })
    end
    found[key] = item
  end
  return found
end

---- The files ----

--- Per file: fields in snake_case, other names for them, and what the reference says of them.
local FORMS = {
  agent = {
    fields = {
      id = "text", name = "text", description = "text", version = "text", model = "text", provider = "text",
      personality = "text", scenario = "text", presets = "list", rules = "table", processors = "processors",
      variables = "variables", asset_root = "text", parameters = "parameters", anchors = "table", icon = "text",
      tool_call_config = "flags",
    },
    aliases = { presetMessages = "presets", regexConfig = "rules", modelId = "model" },
    help = {
      id = "carried along", name = "{{char}}", description = "{{description}}", version = "{{agentVersion}}",
      model = "the model's name, unless the caller or the model's file names one", provider = "{{provider}}",
      personality = "{{personality}}", scenario = "{{scenario}}", icon = "carried along",
      presets = "messages that are put around and into the history; see below",
      rules = "regex rules; see below",
      processors = "settings by processor, false to disable one, or a list of {id, ...}",
      variables = "what {{getvar}} reads: local ones, or {local, global}",
      asset_root = "the folder of attachments, below this file",
      parameters = "members of the request body, such as temperature",
      anchors = "further anchors by name; true: a preset of that type is shown there",
      tool_call_config = "switches: enabled, autoInjectIfMacroMissing",
    },
  },
  model = {
    fields = {
      model = "text", name = "text", provider = "text", capabilities = "capabilities", processors = "processors",
      parameters = "parameters", profile = "text",
    },
    aliases = { id = "model", modelId = "model", defaultPostProcessingRules = "processors" },
    help = {
      model = "the model's name", name = "{{modelName}}", provider = "{{provider}}", profile = "{{profileId}}",
      capabilities = "what the model takes: vision, audio, video, document; true or false each",
      processors = "as an agent's; an agent's entry for one replaces it whole",
      parameters = "members of the request body; an agent's come first",
    },
  },
  user = {
    fields = {
      id = "text", name = "text", description = "text", icon = "text", rules = "table", variables = "variables",
    },
    aliases = { regexConfig = "rules" },
    help = {
      id = "carried along", name = "{{user}}", description = "{{persona}}", icon = "carried along",
      rules = "regex rules; see below", variables = "what {{getvar}} reads, beside the agent's",
    },
  },
}

files.FORMS = FORMS

--- The field that a name means.
local function field_of(form, name, source)
  if form.aliases[name] then return form.aliases[name] end
  local field = names.snake(name)
  if form.fields[field] and (source.snake or names.camel(field) == name) then return field end
end

local function spellings(form, source)
  local known = tables.keys(form.aliases)
  for field in pairs(form.fields) do
    known[#known + 1] = source.snake and field or names.camel(field)
  end
  table.sort(known)
  return known
end

--- Files of an agent's own lie beside it, or deeper: whoever wrote it may have anybody's
--- files read into a request, but for this. asset_base says so to those that read.
local function place_assets(source, value, path)
  local base = source.path:match "^(.*/)[^/]*$" or "."
  local climbs = value:find "^/" or ("/" .. value .. "/"):find("/../", 1, true) or value:find("\0", 1, true)
  if climbs then
    fail(source, ("expected a folder beneath the agent's own (%s), got %s"):format(base, shown(value)), path,
      "another one is named by whoever runs it: " .. hints.asset_root, "forbidden")
  end
  return value, base
end

local function check(form, value, source)
  expect(is_object(value), source, {}, "an object", value)
  local found = {}
  for name, item in pairs(value) do
    local field = type(name) == "string" and field_of(form, name, source)
    if not field then
      fail(source, ("unknown field of %s"):format(source.noun), { name },
        suggest.hint(name, spellings(form, source)), "unknown_name")
    end
    if found[field] ~= nil then fail(source, ("%s stands there twice"):format(field), { name }) end
    found[field] = KIND[form.fields[field]](source, item, { name })
    if field == "asset_root" and source.path then
      found.asset_root, found.asset_base = place_assets(source, item, { name })
    end
  end
  return found
end

local NOUNS = { agent = "an agent", model = "a model's file", user = "a user's profile" }

local function from_json(kind, path)
  local text, problem = core.read_file(path, FILE_MAX)
  if not text then error(problem, 0) end
  local value, syntax = json.decode(text)
  if value == nil then refuse(syntax.code, ("%s: %s"):format(path, syntax.message)) end
  return check(FORMS[kind], value, { noun = NOUNS[kind], name = path, text = text, snake = false, path = path })
end

local function from_lua(kind, path, loading)
  local value, problem = plugins.file(path, loading, { noun = kind })
  if problem then error(problem, 0) end
  return check(FORMS[kind], value, { noun = NOUNS[kind], name = path, snake = true, path = path })
end

--- Reads an agent, a model or a user: the name of a file, or a table as it would stand in a Lua file.
---@param kind "agent"|"model"|"user"
---@param given string|table
---@param loading? ebb.Loading    how a Lua file is run
---@return table fields       in snake_case
function files.read(kind, given, loading)
  if type(given) == "table" then
    return check(FORMS[kind], given, { noun = NOUNS[kind], name = kind, snake = true })
  end
  if type(given) ~= "string" then refuse("argument", ("%s is a table or the name of a file"):format(kind)) end
  return given:find "%.lua$" and from_lua(kind, given, loading) or from_json(kind, given)
end

return files
