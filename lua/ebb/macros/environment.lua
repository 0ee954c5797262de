--- The environment of macros: values, variables, the clock, random numbers.
--
--     values, now, session ...   given once, only read
--     variables                  the host's own tables: setvar writes into them
--     state                      of the draws, and how long each variable's value holds
--
-- `fork` copies what changes and shares the rest: a preview expands in a fork, and
-- then the real run draws the same numbers and finds the same variables.

local calendar = require "ebb.macros.calendar"
local random = require "ebb.macros.random"
local messages = require "ebb.macros.messages"
local registry = require "ebb.macros.registry"
local schema = require "ebb.support.schema"

local Environment = {}
Environment.__index = Environment

local environment = { methods = Environment }

--- The values that the built-in macros know.
environment.VALUES = {
  "user", "char", "agent", "persona", "description", "personality", "scenario", "mes_examples", "group",
  "model", "model_id", "model_name", "profile_id", "profile_name", "provider", "agent_version", "input",
  "tools", "tool_usage", "tool_context", "creator_notes", "char_prompt", "char_instruction",
}

--- Values that the author of an agent wrote, or the user of a profile: templates themselves, which are expanded where a
--- macro asks for them. All others are texts.
environment.TEMPLATES = {
  persona = true, description = true, personality = true, scenario = true, mes_examples = true, creator_notes = true,
  char_prompt = true, char_instruction = true,
}

local ZONE_MAX = 24 * 60       -- no place on earth is further than 14 hours from UTC
local SCALE_MAX = 1000000      -- a real second is at most eleven days of the story

--- A value is a constant, or a function that is called when a macro asks for it.
local VALUE = { any_of = { { type = "string" }, { type = "number" }, { type = "function" } } }

local VALUES = { type = "object", expected = "a table of values", noun = "name", fields = {} }
for _, name in ipairs(environment.VALUES) do
  VALUES.fields[name] = VALUE
end

local VARIABLES = { type = "object", expected = "a table {local, global}", noun = "scope", fields = {
  ["local"] = { type = "table" }, global = { type = "table" },
} }

local MS = { type = "integer", min = -calendar.MS_MAX, max = calendar.MS_MAX, unit = "milliseconds" }

--- Milliseconds since 1970, or a date.
local INSTANT = {
  required = true,
  read = function(value)
    local ms = type(value) == "string" and calendar.parse(value) or schema.read(MS, value)
    return ms, "milliseconds since 1970, or ISO 8601 such as 2025-11-07T22:30:05Z"
  end,
}

--- The time of a story: it passes `scale` times as fast as the clock.
environment.VIRTUAL_TIME = { type = "object", expected = "a table {virtual_base, real_base, scale}", fields = {
  virtual_base = INSTANT, real_base = INSTANT,
  scale = { type = "number", min = -SCALE_MAX, max = SCALE_MAX, default = 1 },
} }

local ENVIRONMENT = { type = "object", expected = "a table of fields", noun = "name", fields = {
  values = VALUES, variables = VARIABLES, now = MS,
  zone = { type = "integer", min = -ZONE_MAX, max = ZONE_MAX, unit = "minutes", default = 0 },
  seed = { type = "integer" }, session_id = { type = "string" }, history = { type = "function" },
  virtual_time = environment.VIRTUAL_TIME, error_text = { type = "choice", choices = messages.languages },
  registry = registry.SCHEMA,
  outlets = { type = "object", expected = "a table of texts", fields = {}, items = { type = "string" } },
} }

--- Checks the values; raises for wrong ones.
---@param values? table
function environment.check_values(values)
  schema.check(VALUES, values or {}, "macro values")
  return values or {}
end

--- An environment of checked fields; raises {code, message, hint}.
---@param fields? ebb.MacroFields
---@return ebb.MacroEnvironment
function environment.new(fields)
  local checked = schema.check(ENVIRONMENT, fields or {}, "macro environment")
  local seed = checked.seed or random.seed(("%s %d"):format(checked.session_id or "", checked.now or 0))
  local variables = checked.variables or {}
  return setmetatable({
    values = fields and fields.values or {},
    variables = { ["local"] = variables["local"] or {}, global = variables.global or {} },
    now = checked.now, zone = checked.zone, session_id = checked.session_id, history = checked.history,
    virtual_time = checked.virtual_time, registry = checked.registry or registry.built_in(),
    error_text = checked.error_text, seed = seed, outlets = checked.outlets,
    state = { draws = seed, held = { ["local"] = {}, global = {} } },
  }, Environment)
end

---@param value any
---@return boolean
function environment.is(value)
  return getmetatable(value) == Environment
end

local function copy(from)
  local result = {}
  for key, value in pairs(from) do
    result[key] = value
  end
  return result
end

--- A copy of the environment; changes of one do not reach the other.
---@return ebb.MacroEnvironment
function Environment:fork()
  local result = setmetatable(copy(self), Environment)
  result.journal = nil   -- but the budget, where a macro forks: it may not spend more than the original
  result.variables = { ["local"] = copy(self.variables["local"]), global = copy(self.variables.global) }
  local ranks = self.state.held
  result.state = { draws = self.state.draws, held = { ["local"] = copy(ranks["local"]), global = copy(ranks.global) } }
  return result
end

--- A number from 0 to `count` - 1.
---@param count integer
---@return integer
function Environment:draw(count)
  local state, number = random.below(self.state.draws, count)
  self.state.draws = state
  return number
end

--- The instant that dates tell, or nil without a clock.
---@return integer? ms
function Environment:instant()
  local virtual = self.virtual_time
  if not virtual or not self.now then return self.now end
  local ms = virtual.virtual_base + (self.now - virtual.real_base) * virtual.scale
  ms = math.max(-calendar.MS_MAX, math.min(calendar.MS_MAX, ms))
  return math.tointeger(ms) or math.floor(ms)
end

local function size_of(value) return type(value) == "string" and #value or 0 end

--- Sets a variable, or removes it by nil. `rank` says how long its value holds. `hold` of the environment raises if
--- variables take too much memory.
---@param scope "local"|"global"
---@param name string
---@param value string|number|nil
---@param rank integer?
function Environment:set(scope, name, value, rank)
  local variables, ranks = self.variables[scope], self.state.held[scope]
  local growth = size_of(value) - size_of(variables[name])
  if self.hold and growth > 0 then self.hold(growth) end
  if self.journal then
    self.journal[#self.journal + 1] = { scope, name, variables[name], ranks[name] }
  end
  variables[name], ranks[name] = value, rank
end

--- Undoes the changes of a journal, the newest first.
---@param journal table
---@param drawn integer      the draws' state at that time
function Environment:roll_back(journal, drawn)
  for i = #journal, 1, -1 do
    local scope, name, value, rank = journal[i][1], journal[i][2], journal[i][3], journal[i][4]
    self.variables[scope][name], self.state.held[scope][name] = value, rank
  end
  self.state.draws = drawn
end

environment.methods = Environment   -- for tests

return environment
