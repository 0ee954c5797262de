--- Settings of processors: declared by their config_fields, checked here.
--
--     defaults  <-  the model's entry  <-  the agent's entry  <-  single settings
--                   (an entry replaces the one before it whole)   (one key each)
--
-- An entry is {enabled?, priority?, and keys of the config_fields}. Every value
-- keeps where it came from, for --show-config.
--
-- The merged settings are written as such entries, in the order in which processors run, with `origins` next to the
-- values: an agent takes the list as its `processors`, and reads no origins.

local json_file = require "ebb.support.json_file"
local names_of = require "ebb.support.names"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local script_file = require "ebb.sandbox.script_file"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local settings = {}

--- Settings of every processor.
local COMMON = {
  { key = "enabled", type = "boolean", label = "Does it run at all?" },
  { key = "priority", type = "number", label = "Its place in the order: a lower one runs earlier" },
}

--- The values of a select.
---@param field ebb.ConfigField
---@return any[]
function settings.choices(field)
  local choices = {}
  for i, option in ipairs(field.options or {}) do
    choices[i] = type(option) == "table" and option.value or option
  end
  return choices
end

local TYPES = { text = "string", number = "number", boolean = "boolean", select = "choice" }

--- The schema of a field's values.
---@param field ebb.ConfigField
---@return ebb.Schema
local function schema_of(field)
  return {
    type = field.whole and "integer" or TYPES[field.type or "text"], min = field.min, max = field.max,
    choices = field.type == "select" and settings.choices(field) or nil,
  }
end

local TEXT, FLAG, ANY = { type = "string" }, { type = "boolean" }, { type = "any" }

--- A value of a select, or {label, value}.
local VALUE = { any_of = { TEXT, { type = "number" }, FLAG }, expected = "a string, a number or a boolean" }
local LABELLED = { type = "object", fields = { label = TEXT, value = { required = true } },
  hint = '{ label = "Fast", value = "fast" }' }
for key, value in pairs(VALUE) do LABELLED.fields.value[key] = value end
local OPTION = { choose = function(option) return type(option) == "table" and LABELLED or VALUE end }

--- Members of an entry that are no settings of one processor.
local RESERVED = { id = true, origins = true, enabled = true, priority = true }

--- The declaration of a field.
local FIELD = {
  type = "object", expected = '{ key = "budget", type = "number" }',
  fields = {
    key = {
      type = "string", required = true, expected = "a key in snake_case",
      check = function(key)
        if not key:find "^%l[%w_]*$" then
          return ("expected a key in snake_case or camelCase, got '%s'"):format(key)
        end
        if RESERVED[key] then return ("'%s' is there already"):format(key) end
      end,
    },
    type = { type = "choice", choices = { "text", "number", "boolean", "select" } },
    label = TEXT, default = { type = "any" }, placeholder = TEXT, help = TEXT,
    options = { type = "list", items = OPTION }, whole = FLAG, min = { type = "number" }, max = { type = "number" },
  },
  check = function(field)
    if (field.whole or field.min or field.max) and field.type ~= "number" then
      return 'whole, min and max go with type = "number"'
    end
    if field.type == "select" and #(field.options or {}) == 0 then return "a select needs options = { ... }" end
    if field.default == nil then return nil end
    local _, problems = schema.read(schema_of(field), field.default)
    if problems then return "default: " .. problems[1].message, problems[1].hint end
  end,
}

local FIELDS = { type = "list", items = FIELD }

--- Checks declarations; raises for mistakes in the processor. A key in camelCase reaches `execute` as it is spelled.
---@param fields? ebb.ConfigField[]
---@param where string
---@return ebb.ConfigField[]?   a copy
function settings.declare(fields, where)
  if fields == nil then return nil end
  local read = schema.check(FIELDS, fields, where .. ": config_fields", { code = "shape", joined = true })
  local seen = {}
  for i, field in ipairs(read) do
    local key = names_of.snake(field.key)
    if seen[key] then
      refuse("shape", ("%s: config_fields[%d]: '%s' is there already"):format(where, i, field.key))
    end
    seen[key] = true
  end
  return read
end

--- The field of a key, in either spelling.
---@param processor ebb.Processor
---@param key string
---@return ebb.ConfigField?
function settings.field(processor, key)
  key = names_of.snake(key)
  for _, list in ipairs { processor.config_fields or {}, COMMON } do
    for _, field in ipairs(list) do
      if names_of.snake(field.key) == key then return field end
    end
  end
end

local function known_keys(processors)
  local keys = { "enabled", "priority" }
  for _, processor in ipairs(processors) do
    for _, field in ipairs(processor.config_fields or {}) do
      keys[#keys + 1] = field.key
    end
  end
  return keys
end

--- Reads one key for the processors that have it; raises if none has.
local function spread(processors, word, key, read, put)
  local is_setting = false
  for _, processor in ipairs(processors) do
    local field = settings.field(processor, key)
    if field then
      is_setting = true
      put(processor.id, field, read(field))
    end
  end
  if not is_setting then
    refuse("unknown_name", ("processor '%s' has no setting '%s'"):format(word, key),
      suggest.hint(key, known_keys(processors)))
  end
end

---@class ebb.Setting
---@field enabled boolean
---@field priority number
---@field values table<string, any>      the config of execute
---@field origins table<string, "default"|"model"|"agent"|"set">
---@field folders table<string, string>  of the file that has a value, where a file has it
---@field place? integer        in a list that names every processor: it orders those of equal priority

local function default_of(entry)
  local setting = { enabled = entry.enabled, priority = entry.priority, values = {}, folders = {},
    origins = { enabled = "default", priority = "default" } }
  for _, field in ipairs(entry.processor.config_fields or {}) do
    setting.values[field.key], setting.origins[field.key] = field.default, "default"
  end
  return setting
end

local function put_value(setting, key, value, origin, folder)
  if key == "enabled" or key == "priority" then setting[key] = value else setting.values[key] = value end
  setting.origins[key], setting.folders[key] = origin, folder
end

local function processors_of(registry, word)
  local processors = {}
  for i, id in ipairs(registry:ids_of(word)) do
    processors[i] = registry:entry(id).processor
  end
  return processors
end

--- The settings of an entry that is a text alone: the first one has it.
local function alone(processors, entry)
  local first = (processors[1].config_fields or {})[1]
  if first and not processors[2] then return { [first.key] = entry.value } end
  return refuse("argument", ("'%s' takes no text alone"):format(entry.id), "an object of settings, true or false")
end

--- Lays one entry over the others. A setting that it leaves out has its default again.
--- `path` leads to the entry, and to the key that is read; `folder` is that of the file.
local function lay_one(merged, registry, entry, origin, path, folder)
  local key_step = entry.value == nil and #path + 1 or nil
  local processors = processors_of(registry, entry.id)
  for _, processor in ipairs(processors) do
    merged[processor.id] = default_of(registry:entry(processor.id))
    put_value(merged[processor.id], "enabled", entry.enabled ~= false, origin)   -- a configured processor is enabled
  end
  for key, value in pairs(entry.value == nil and entry.values or alone(processors, entry)) do
    local where = ("%s.%s of the %s"):format(entry.id, key, origin)
    if key_step then path[key_step] = key end
    spread(processors, entry.id, key, function(field) return schema.check(schema_of(field), value, where) end,
      function(id, field, read) put_value(merged[id], field.key, read, origin, folder) end)
  end
end

--- Groups come first, so that an entry for one of their processors has the last word.
local function lay(merged, registry, entries, origin, source)
  local file = source and source.path and source
  local folder = file and script_file.folder(file.path)
  for _, groups in ipairs { true, false } do
    for _, entry in ipairs(entries) do
      local path = { source and source.member, entry.step }
      local ids = json_file.check(file, path, registry.ids_of, registry, entry.id)
      if (#ids > 1) == groups then
        json_file.check(file, path, lay_one, merged, registry, entry, origin, path, folder)
      end
    end
  end
end

--- Lets a list that names every processor order those of equal priority.
local function place_all(merged, entries)
  for id in pairs(merged) do
    local is_named = false
    for _, entry in ipairs(entries) do is_named = is_named or entry.id == id and math.type(entry.step) == "integer" end
    if not is_named then return end
  end
  for _, entry in ipairs(entries) do
    if merged[entry.id] then merged[entry.id].place = entry.step end
  end
end

---@class ebb.ProcessorEntry     of a model or an agent
---@field id string
---@field step string|integer       the key or the position under which it is
---@field enabled? boolean
---@field values table<string, any>
---@field value? string          of its first setting, instead of values

---@class ebb.SettingGiven       one key
---@field id string
---@field key string
---@field value any

--- Merges all settings.
---@param registry ebb.Registry
---@param entries { model?: ebb.ProcessorEntry[], agent?: ebb.ProcessorEntry[] }
---@param singles? ebb.SettingGiven[]
---@param sources? { model?: ebb.files.Source, agent?: ebb.files.Source }   for errors
---@return table<string, ebb.Setting>   by id
function settings.merge(registry, entries, singles, sources)
  local merged = {}
  for id, entry in pairs(registry.entries) do
    merged[id] = default_of(entry)
  end
  for _, origin in ipairs { "model", "agent" } do
    lay(merged, registry, entries[origin] or {}, origin, sources and sources[origin])
  end
  place_all(merged, entries.model or {})
  place_all(merged, entries.agent or {})
  for _, each in ipairs(singles or {}) do
    local where = ("%s.%s"):format(each.id, each.key)
    spread(processors_of(registry, each.id), each.id, each.key,
      function(field) return schema.check(schema_of(field), each.value, where) end,
      function(id, field, read) put_value(merged[id], field.key, read, "set") end)
  end
  return merged
end

--- The settings as an agent's `processors` take them.
---@param order { processor: ebb.Processor, setting: ebb.Setting }[]   in which they run
---@return ebb.SettingEntry[]
function settings.entries(order)
  local list = {}
  for i, each in ipairs(order) do
    local setting = each.setting
    list[i] = tables.copy(setting.values)
    list[i].id, list[i].enabled, list[i].priority = each.processor.id, setting.enabled, setting.priority
    list[i].origins = tables.copy(setting.origins)
  end
  return list
end

--- Reads "id.key=value" as on a command line.
---@param registry ebb.Registry
---@param word string
---@return ebb.SettingGiven
function settings.parse(registry, word)
  local id, key, text = word:match "^([^.=]+)%.([%w_]+)=(.*)$"
  if not id then
    refuse("argument", ("expected id.key=value, got '%s'"):format(word), "token-limiter.budget=4000")
  end
  local value
  spread(processors_of(registry, id), id, key, function(field)
    local declaration = schema_of(field)
    local read = schema.from_text(declaration, text)
    if read == nil then read = text end   -- the check reports it
    return schema.check(declaration, read, ("%s.%s"):format(id, key))
  end, function(_, _, read) value = read end)
  return { id = id, key = key, value = value }
end

---- Configurations ----

local EXPECTED = "an object of settings"

--- The schema of `origins`, which says where each value came from; it is for readers only.
local ORIGINS = { type = "object", fields = {}, items = { type = "string" }, expected = "an object of texts" }

--- {"token-limiter": {"budget": 4000}, "merge-roles": false, "merge-system": "all"}
local BY_ID = {
  type = "object", fields = {}, expected = "settings by the ids of processors",
  items = {
    any_of = { FLAG, TEXT, { type = "object", fields = { enabled = FLAG, origins = ORIGINS }, items = ANY } },
    expected = EXPECTED .. ", true, false or the text of the first setting",
  },
  into = function(by_id)
    local entries = {}
    for id, values in pairs(by_id) do
      local entry = { id = id, step = id, values = {} }
      if type(values) == "boolean" then entry.enabled = values
      elseif type(values) ~= "table" then entry.value = values
      else
        entry.values, entry.enabled, values.enabled, values.origins = values, values.enabled, nil, nil
      end
      entries[#entries + 1] = entry
    end
    return entries
  end,
}

--- [{"id": "token-limiter", "budget": 4000}, "merge-roles"]; `type` names a processor where there is no id.
local LIST = {
  type = "list",
  items = {
    any_of = { TEXT, {
      type = "object", fields = { enabled = FLAG, id = TEXT, origins = ORIGINS }, items = ANY,
      check = function(entry)
        if type(entry.id or entry.type) ~= "string" then return "expected the id of a processor" end
      end,
    } },
    expected = EXPECTED,
    into = function(entry)
      if type(entry) == "string" then return { id = entry, values = {} } end
      local id, enabled = entry.id or entry.type, entry.enabled
      if not entry.id then entry.type = nil end
      entry.id, entry.enabled, entry.origins = nil, nil, nil
      return { id = id, enabled = enabled, values = entry }
    end,
  },
  check = function(entries)
    local seen = {}
    for i, entry in ipairs(entries) do
      if seen[entry.id] then return ("'%s' occurs twice"):format(entry.id) end
      seen[entry.id], entry.step = true, i
    end
  end,
}

--- The settings of a file, in either form.
---@type ebb.Schema
settings.ENTRIES = {
  choose = function(value) return type(value) == "table" and value[1] ~= nil and LIST or BY_ID end,
  into = function(entries)
    table.sort(entries, function(a, b) return a.id < b.id end)
    return entries
  end,
}

return settings
