--- Arranges a pipeline's processors, their order and their settings: what may be changed once it is made.
--
-- Each change is tried on a copy: where a setting is wrong with it, the pipeline stays as it was.

local budgets = require "ebb.processors.token_limiter"
local json_file = require "ebb.support.json_file"
local plugins = require "ebb.pipeline.plugins"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local settings = require "ebb.pipeline.settings"

local arrangement = {}

local STEP = 100   -- between the priorities that a reordering gives

---- Settings that are checked by what they are for ----

--- Returns the file that sets a setting of the token limiter, and the path to it; nil if no file does.
local function place_of(self, setting, key)
  local origin = setting.origins[key]
  local source, owner = self.sources[origin], origin == "agent" and self.agent or origin == "model" and self.model_file
  if not source or not source.path then return nil, {} end
  for _, entry in ipairs(owner.processors or {}) do
    if entry.id == budgets.processor.id then return source, { source.member, entry.step, key } end
  end
  return nil, {}
end

--- Refuses settings that are wrong, and a policy of the token limiter that would fail on the day when something has
--- to go.
---@param self ebb.Pipeline
function arrangement.check(self)
  for _, each in ipairs(self:order()) do
    if each.processor == budgets.processor and each.setting.enabled then
      local source, path = place_of(self, each.setting, "policy")
      json_file.check(source, path, budgets.check, each.setting.values,
        { limits = self.loading.limits, trusted = self.loading.trusted, folder = each.setting.folders.policy })
    end
  end
end

--- Puts another value into a field, if all settings are right with it.
local function change(self, field, value)
  local before = self[field]
  self[field] = value
  local ok, problem = pcall(arrangement.check, self)
  if ok then return end
  self[field] = before
  error(problem, 0)
end

--- Adds single settings, which the earlier ones give way to.
---@param list ebb.SettingGiven[]
local function add_singles(self, list)
  local singles = table.move(self.singles, 1, #self.singles, 1, {})
  change(self, "singles", table.move(list, 1, #list, #singles + 1, singles))
end

---- Methods ----

local methods = {}

local own   -- the schema of self

local function check_self(self, name) schema.check(own, self, "pipeline:" .. name) end

--- Changes one setting: "token-limiter.budget=4000".
---@param word string
function methods.set(self, word)
  check_self(self, "set")
  if type(word) ~= "string" then refuse("argument", 'set takes a text: "token-limiter.budget=4000"') end
  add_singles(self, { settings.parse(self.registry, word) })
end

--- Adds processors; one with the id of another takes its place.
---@param source string|ebb.Processor|ebb.Processor[]   a file or a folder of them, or processors
function methods.add(self, source)
  check_self(self, "add")
  local registry = self.registry:copy()
  for _, processor in ipairs(plugins.load(source, self.loading, plugins.PROCESSOR)) do
    registry:register(processor)
  end
  change(self, "registry", registry)
end

--- Removes a processor that is not a core one, with the single settings that it was given.
---@param id string
function methods.remove(self, id)
  check_self(self, "remove")
  local registry, singles = self.registry:copy(), {}
  registry:remove(id)
  for _, single in ipairs(self.singles) do
    if single.id ~= id then singles[#singles + 1] = single end
  end
  local before = self.singles
  self.singles = singles
  local earlier = self.registry
  local ok, problem = pcall(change, self, "registry", registry)
  if ok and not registry.entries[id] then return end
  self.singles, self.registry = before, earlier
  if ok then   -- it lies in the user's folder, and was found again
    refuse("argument", ("the agent or the model's file names '%s': it cannot be removed"):format(id), "disable it")
  end
  error(problem, 0)
end

--- Lets a processor or a group run, or not.
---@param id string
---@param enabled? boolean     default true
function methods.enable(self, id, enabled)
  check_self(self, "enable")
  self.registry:ids_of(id)
  if enabled == nil then enabled = true end
  schema.check({ type = "boolean" }, enabled, "pipeline:enable")
  add_singles(self, { { id = id, key = "enabled", value = enabled } })
end

local function place_in(order, id)
  for place, each in ipairs(order) do
    if each.processor.id == id then return place end
  end
end

--- Lets these run first, in this order; the others follow in theirs. Their priorities become 100, 200, 300 ...
---@param ids string[]
function methods.reorder(self, ids)
  check_self(self, "reorder")
  schema.check({ type = "list", items = { type = "string" } }, ids, "pipeline:reorder")
  local rest, list = self:order(), {}
  for i, id in ipairs(ids) do
    self.registry:entry(id)
    local place = place_in(rest, id)
    if not place then refuse("argument", ("reorder: '%s' is in the list twice"):format(id)) end
    table.remove(rest, place)
    list[i] = { id = id, key = "priority", value = i * STEP }
  end
  for _, each in ipairs(rest) do
    list[#list + 1] = { id = each.processor.id, key = "priority", value = (#list + 1) * STEP }
  end
  add_singles(self, list)
end

--- Adds the methods to the class of pipelines.
---@param class table
---@param schema_of_self ebb.Schema
function arrangement.install(class, schema_of_self)
  own = schema_of_self
  for name, method in pairs(methods) do
    class[name] = method
  end
end

return arrangement
