--- Agents, models and user profiles: files in JSON (camelCase) or Lua, read and checked.
--
-- A JSON file is refused with file:line:byte of the value that is wrong. Presets are checked, and handed on unchanged,
-- as rules are: the processors that use them know their form.
-- The results are in snake_case; only this module translates.

local core = require "ebb.support.core"
local environments = require "ebb.macros.environment"
local hints = require "ebb.support.hints"
local injection = require "ebb.injection"
local json_file = require "ebb.support.json_file"
local lorebook = require "ebb.lorebook"
local macro_messages = require "ebb.macros.messages"
local names = require "ebb.support.names"
local plugins = require "ebb.pipeline.plugins"
local refuse = require "ebb.support.refuse"
local run_budget = require "ebb.pipeline.run_budget"
local schema = require "ebb.support.schema"
local settings = require "ebb.pipeline.settings"
local tables = require "ebb.support.tables"

local files = {}

files.BYTES_MAX = 64 * 1024 * 1024   -- bytes; presets may hold whole documents

---@class ebb.files.Source: ebb.JsonFile   The file, or a table: then its name is that of the kind
---@field path? string          of a file
---@field member? string        under which the settings of processors are
---@field rules_member? string  under which the rules are

--- Raises an error with its place in the source.
local function fail(source, problem)
  refuse(problem.code or "argument", schema.message(problem, json_file.where(source, problem.path), 0), problem.hint)
end

---- Values ----

local TEXT, FLAG, ANY = { type = "string" }, { type = "boolean" }, { type = "any" }

local function is_object(value) return type(value) == "table" and value[1] == nil and value ~= core.json.null end

local function in_snake_case(fields)
  local result = {}
  for name, value in pairs(fields) do
    result[names.snake(name)] = value
  end
  return result
end

local SCOPE = {
  type = "object", fields = {}, items = { any_of = { TEXT, { type = "number" }, FLAG } }, default = {},
  expected = "an object of variables",
}
local GROUPED = { type = "object", fields = { ["local"] = SCOPE, global = SCOPE } }

--- {"local": {...}, "global": {...}}, or the local ones alone.
local VARIABLES = {
  choose = function(value)
    return is_object(value) and (is_object(value["local"]) or is_object(value.global)) and GROUPED or SCOPE
  end,
  into = function(variables)
    local grouped = type(variables["local"]) == "table" or type(variables.global) == "table"
    return grouped and variables or { ["local"] = variables, global = {} }
  end,
}

local CAPABILITIES = {
  type = "object", expected = "an object of abilities", noun = "ability",
  fields = { vision = FLAG, audio = FLAG, video = FLAG, document = FLAG },
}

--- Switches: {"enabled": true, "autoInjectIfMacroMissing": true}.
local FLAGS = { type = "object", expected = "an object of switches", fields = {}, items = FLAG, into = in_snake_case }

--- {"virtualBaseTime": "1888-11-09T22:00:00Z", "realBaseTime": "2025-11-07T22:30:05Z", "timeScale": 60}
local VIRTUAL_TIME = { type = "object", camel = true, noun = "field of the virtual time", fields = {},
  expected = "an object {virtualBaseTime, realBaseTime, timeScale}" }
for field, name in pairs { virtual_base = "virtualBaseTime", real_base = "realBaseTime", scale = "timeScale" } do
  VIRTUAL_TIME.fields[name] = tables.copy(environments.VIRTUAL_TIME.fields[field])
  VIRTUAL_TIME.fields[name].as = field
end

local OWN = { read = function() return nil, "no such member: the pipeline itself sets it" end }

--- AIO Hub keeps settings of its pipeline among the parameters. Other values of such a name are the provider's own.
local function refuse_settings(is_setting, hint)
  return { type = "any", check = function(value)
    if not is_object(value) or not is_setting(value) then return nil end
    return "this is a setting of AIO Hub, and would be sent with the request", hint
  end }
end

local LIMIT = refuse_settings(function(value)
  return value.maxContextTokens ~= nil or value.max_context_tokens ~= nil or value.retainedCharacters ~= nil
    or value.retained_characters ~= nil or value.enabled ~= nil and value.edits == nil
end, 'here it is "processors": {"token-limiter": {"budget": 4000, "retainedCharacters": 40}}')

local STEPS = refuse_settings(function(value) return value.rules ~= nil end,
  'here it is "processors": {"merge-roles": true, "convert-system": true}')

--- Members of the request body, in its own spelling: {"temperature": 0.7, "maxTokens": 500}.
local PARAMETERS = {
  type = "object", expected = "an object of members of the request", fields = { messages = OWN, model = OWN,
    contextManagement = LIMIT, context_management = LIMIT,
    contextPostProcessing = STEPS, context_post_processing = STEPS },
  items = ANY, into = in_snake_case,
}

local PRESETS = { type = "list" }
local LOREBOOKS = { type = "list" }
local TEXTS = { type = "list", items = TEXT }
local RULES = { type = "table", expected = "a list or an object" }

---- The files ----

--- The schemas of a kind of file: in JSON names are in camelCase, in Lua snake_case is read, too.
---@param noun string
---@param fields table<string, ebb.Schema>    in snake_case, as the pipeline gets them
---@param aliases table<string, string>       other names in files
---@param help table<string, string>          what the reference says of each field
local function forms(noun, fields, aliases, help)
  local declared = {}
  local function add(name, field)
    declared[name] = tables.copy(fields[field])
    declared[name].as = field
  end
  for field in pairs(fields) do
    add(names.camel(field), field)
  end
  for alias, field in pairs(aliases) do
    add(alias, field)
  end
  local json_form = { type = "object", expected = "an object", noun = "field of " .. noun, fields = declared }
  local lua_form = tables.copy(json_form)
  lua_form.camel = true
  return { json = json_form, lua = lua_form, fields = fields, aliases = aliases, help = help }
end

files.FORMS = {
  agent = forms("an agent", {
    id = TEXT, name = TEXT, description = TEXT, version = TEXT, model = TEXT, provider = TEXT,
    personality = TEXT, scenario = TEXT, presets = PRESETS, rules = RULES, processors = settings.ENTRIES,
    variables = VARIABLES, asset_root = TEXT, parameters = PARAMETERS, anchors = { type = "table" }, icon = TEXT,
    tool_call_config = FLAGS, virtual_time = VIRTUAL_TIME, lorebooks = LOREBOOKS, nickname = TEXT, tags = TEXTS,
    creator_notes = TEXT, mes_examples = TEXT, char_prompt = TEXT, char_instruction = TEXT, greetings = TEXTS,
    extra = { type = "table" },
    macro_errors = { type = "choice", choices = macro_messages.languages },
  }, { presetMessages = "presets", regexConfig = "rules", modelId = "model", virtualTimeConfig = "virtual_time" }, {
    id = "kept, not used", name = "{{char}}", description = "{{description}}", version = "{{agentVersion}}",
    model = "the model's name, unless the caller or the model's file names one", provider = "{{provider}}",
    personality = "{{personality}}", scenario = "{{scenario}}", icon = "kept, not used",
    nickname = "{{char}}, before the name", tags = "for lorebook entries that are for some agents only",
    greetings = "first messages; lorebook entries may be for one of them",
    extra = "what an import kept that nothing uses",
    creator_notes = "{{creatorNotes}}; lorebook entries may search it",
    mes_examples = "{{mesExamples}}: sample dialogue, its blocks begun by <START>", char_prompt = "{{charPrompt}}",
    char_instruction = "{{charInstruction}}",
    lorebooks = "entries that are put in when their keys occur; see below",
    presets = "messages that are put around and into the history; see below",
    rules = "regex rules; see below",
    processors = "settings by processor, false to disable one, or a list of {id, ...}",
    variables = "what {{getvar}} reads: local ones, or {local, global}",
    asset_root = "the folder of attachments, below this file",
    parameters = "members of the request body, such as temperature",
    anchors = "further anchors by name; true: a preset of that type is shown there",
    tool_call_config = "switches: enabled, autoInjectIfMacroMissing: {{tools}}, {{tool_usage}} and {{tool_context}} "
      .. "before the history",
    macro_errors = "a macro that fails becomes its error in this language; without it, it stays as it is",
    virtual_time = "the time that macros tell: {virtualBaseTime, realBaseTime, timeScale}; ms since 1970 or ISO 8601",
  }),
  model = forms("a model's file", {
    model = TEXT, name = TEXT, provider = TEXT, capabilities = CAPABILITIES, processors = settings.ENTRIES,
    parameters = PARAMETERS, profile = TEXT,
  }, { id = "model", modelId = "model", defaultPostProcessingRules = "processors" }, {
    model = "the model's name", name = "{{modelName}}", provider = "{{provider}}", profile = "{{profileId}}",
    capabilities = "what the model takes: vision, audio, video, document; true or false each",
    processors = "as an agent's; an agent's entry for one replaces it whole",
    parameters = "members of the request body; an agent's come first",
  }),
  user = forms("a user's profile", {
    id = TEXT, name = TEXT, description = TEXT, icon = TEXT, rules = RULES, variables = VARIABLES,
    lorebooks = LOREBOOKS,
  }, { regexConfig = "rules" }, {
    id = "kept, not used", name = "{{user}}", description = "{{persona}}", icon = "kept, not used",
    rules = "regex rules; see below", variables = "what {{getvar}} reads, besides the agent's",
    lorebooks = "entries that are put in when their keys occur; see below",
  }),
}

--- Files of an agent's own lie next to it or deeper, because its author could have any file
--- of the user's read into a request otherwise. asset_base names the folder.
local function place_assets(source, fields)
  local root, base = fields.asset_root, source.path:match "^(.*/)[^/]*$" or "."
  local climbs = root:find "^/" or ("/" .. root .. "/"):find("/../", 1, true) or root:find("\0", 1, true)
  if climbs then
    local expected = "expected a folder beneath the agent's own (%s), got %s"
    fail(source, { path = { "assetRoot" }, code = "forbidden", message = expected:format(base, schema.describe(root)),
      hint = "the caller may name another one: " .. hints.asset_root })
  end
  fields.asset_base = base
end

--- The name under which a source has a field.
local function member_of(form, source, field)
  for name, declared in pairs(form.fields) do
    if declared.as == field and source.value[name] ~= nil then return name end
  end
end

local function check_presets(form, source, fields)
  local problem = injection.first_problem(fields.presets or {}, fields.anchors)
  if not problem then return end
  table.insert(problem.path, 1, member_of(form, source, "presets") or "presets")
  fail(source, problem)
end

--- The lorebooks of a source, checked within the time that its rules and macros have in a run.
local function read_lorebooks(form, source, fields, loading)
  if not fields.lorebooks then return end
  local books, problem = run_budget.timed(loading, lorebook.read, fields.lorebooks)
  if problem then
    table.insert(problem.path, 1, member_of(form, source, "lorebooks") or "lorebooks")
    fail(source, problem)
  end
  fields.lorebooks = books
end

--- The checked fields, and the source for errors that show later.
local function check(form, source, loading)
  local fields, problems = schema.read(form, source.value)
  if problems then fail(source, problems[1]) end
  if fields.asset_root and source.path then place_assets(source, fields) end
  check_presets(form, source, fields)
  read_lorebooks(form, source, fields, loading)
  source.member, source.rules_member = member_of(form, source, "processors"), member_of(form, source, "rules")
  return fields, source
end

--- The title of the form that a text of another program has; nil: none is known. The face of the library sets it, for
--- libebb has no imports.
---@type (fun(text: string): string?)?
files.form_of = nil

--- Raises the problem of a source; if it has the form of another program, with a hint at the import.
---@param text string     as JSON
local function refuse_source(problem, text)
  local form = core.is_error(problem) and files.form_of and files.form_of(text)
  if not form then error(problem, 0) end
  local hint = ("it looks like a file of another program (%s): %s"):format(form, hints.import)
  refuse(problem.code, problem.message, hint)
end

--- `path` is that of a file; nil for a text of the caller's.
local function from_json(kind, text, path, loading)
  local source = json_file.parse(path or kind, text)
  source.path = path
  local ok, fields, checked = pcall(check, files.FORMS[kind].json, source, loading)
  if not ok then refuse_source(fields, text) end
  return fields, checked
end

local function from_table(kind, value, loading)
  local ok, fields, source = pcall(check, files.FORMS[kind].lua, { name = kind, value = value }, loading)
  if ok then return fields, source end
  local is_json, text = pcall(core.json.encode, value)
  return refuse_source(fields, is_json and text or "")
end

local function from_lua(kind, path, loading)
  local value, problem = plugins.file(path, loading, { noun = kind })
  if problem then error(problem, 0) end
  return check(files.FORMS[kind].lua, { name = path, path = path, value = value }, loading)
end

--- Reads an agent, a model or a user: the name of a file, the text of a JSON object, or a table as it would be in
--- a Lua file.
---@param kind "agent"|"model"|"user"
---@param source string|table
---@param loading? ebb.Loading    how a Lua file is run, and how long lorebooks are read
---@return table fields       in snake_case
---@return ebb.files.Source source
function files.read(kind, source, loading)
  if type(source) == "table" then return from_table(kind, source, loading) end
  schema.check({ type = "string", expected = "a table or the name of a file" }, source, kind)
  if source:find "%.lua$" then return from_lua(kind, source, loading) end
  if source:find "^%s*{" then return from_json(kind, source, nil, loading) end
  local text, problem = core.read_file(source, files.BYTES_MAX)
  if not text then error(problem, 0) end
  return from_json(kind, text, source, loading)
end

return files
