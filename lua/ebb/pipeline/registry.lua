--- The registry of processors and the order in which they run.
--
-- A lower priority runs earlier; equal ones in the order in which their ids were
-- first registered. Registering an id again replaces it in its place. Core
-- processors can be disabled, not removed.

local hints = require "ebb.support.hints"
local names = require "ebb.support.names"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local settings = require "ebb.pipeline.settings"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local registry = {}

registry.PLUGIN_PRIORITY = 900

--- Ids that stand for several.
registry.groups = {
  ["message-formatters"] = { "merge-system", "merge-roles", "convert-system", "alternate-roles" },
}

---@class ebb.RegistryEntry
---@field processor ebb.Processor
---@field priority number
---@field enabled boolean
---@field place integer        of registration
---@field is_core boolean       it cannot be removed
---@field built_in boolean      its code is Ebb's own: it runs with the context itself, unlimited and unchecked

---@class ebb.Registry
---@field entries table<string, ebb.RegistryEntry>
---@field find? fun(id: string): ebb.Processor?   what has no entry yet: it gets one when it is first named
local Registry = {}
Registry.__index = Registry

local TEXT, FLAG = { type = "string" }, { type = "boolean" }

local PROCESSOR = {
  type = "object", expected = "a processor",
  hint = '{ id = "my-step", name = "My step", execute = function(context, config) ... end }',
  fields = {
    id = {
      type = "string", required = true,
      check = function(id)   -- a dot begins the key of a setting
        if not id:find "^[%w_%-:]+$" then return "an id has letters, digits, - and _ only" end
        if registry.groups[id] then return "this is the name of a group" end
      end,
    },
    name = { type = "string", required = true }, description = TEXT, icon = TEXT, priority = { type = "number" },
    is_core = FLAG, default_enabled = FLAG, config_fields = { type = "any" },
    execute = { type = "function", required = true },
  },
}

-- Plugins of AIO Hub spell their fields in camelCase; both spellings of one field are refused.
for _, field in ipairs { "is_core", "default_enabled", "config_fields" } do
  PROCESSOR.fields[names.camel(field)] = { as = field }
  for key, value in pairs(PROCESSOR.fields[field]) do PROCESSOR.fields[names.camel(field)][key] = value end
end

--- Checks a processor; raises for missing or wrong fields.
---@param processor any
---@param file? string         that returned it
---@return ebb.Processor       a copy, its fields in snake_case
function registry.check(processor, file)
  local id = type(processor) == "table" and processor.id
  local where = (file and file .. ": " or "") .. "processor" .. (type(id) == "string" and (" '%s'"):format(id) or "")
  local read = schema.check(PROCESSOR, processor, where, { code = "shape" })
  read.config_fields = settings.declare(read.config_fields, where)
  return read
end

--- Adds a checked processor.
local function add(self, processor, built_in)
  local before = self.entries[processor.id]
  if not before then self.count = self.count + 1 end
  self.entries[processor.id] = {
    processor = processor,
    priority = processor.priority or registry.PLUGIN_PRIORITY,
    enabled = processor.default_enabled ~= false,
    is_core = processor.is_core or before and before.is_core or false,
    built_in = built_in,
    place = before and before.place or self.count,
  }
  return before and before.processor
end

--- Adds a processor, or replaces the one of the same id, which stays core if it was.
---@param processor ebb.Processor
---@return ebb.Processor? replaced
function Registry:register(processor)
  return add(self, registry.check(processor), false)
end

--- The entry of an id; an unknown one is refused.
---@param id string
---@return ebb.RegistryEntry
function Registry:entry(id)
  local entry = self.entries[id]
  if entry then return entry end
  local processor = self.find and type(id) == "string" and self.find(id)
  if processor then
    self:register(processor)
    return self.entries[id]
  end
  return refuse("unknown_name", ("there is no processor '%s'"):format(tostring(id)),
    suggest.nearest(tostring(id), tables.keys(self.entries)) and suggest.hint(id, tables.keys(self.entries))
      or hints.processors)
end

---@param id string
function Registry:remove(id)
  if self:entry(id).is_core then
    refuse("argument", ("'%s' is a core processor: it cannot be removed"):format(id), "disable it")
  end
  self.entries[id] = nil
end

--- The entries in the order in which they run. `priority_of(entry)` and `place_of(entry)` may say otherwise than the
--- registration.
---@param priority_of? fun(entry: ebb.RegistryEntry): number
---@param place_of? fun(entry: ebb.RegistryEntry): integer?   of all, or of none
---@return ebb.RegistryEntry[]
function Registry:list(priority_of, place_of)
  priority_of = priority_of or function(entry) return entry.priority end
  place_of = place_of or function(entry) return entry.place end
  local list = {}
  for _, entry in pairs(self.entries) do
    list[#list + 1] = entry
  end
  table.sort(list, function(a, b)
    local first, second = priority_of(a), priority_of(b)
    if first ~= second then return first < second end
    return (place_of(a) or a.place) < (place_of(b) or b.place)
  end)
  return list
end

--- A registry of the same entries.
---@return ebb.Registry
function Registry:copy()
  local entries = {}
  for id, entry in pairs(self.entries) do
    entries[id] = entry
  end
  return setmetatable({ entries = entries, count = self.count, find = self.find }, Registry)
end

--- The ids that a word of a configuration means: a group, or one processor.
---@param word string
---@return string[]
function Registry:ids_of(word)
  local group = registry.groups[word]
  if group then return group end
  self:entry(word)
  return { word }
end

---@param built_in? ebb.Processor[]   checked by a test, not at each start
---@param find? fun(id: string): ebb.Processor?
---@return ebb.Registry
function registry.new(built_in, find)
  local result = setmetatable({ entries = {}, count = 0, find = find }, Registry)
  for _, processor in ipairs(built_in or {}) do add(result, processor, true) end
  return result
end

return registry
