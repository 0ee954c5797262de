--- What macros read and change: values, variables, the clock, draws.
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
local refuse = require "ebb.support.refuse"
local registry = require "ebb.macros.registry"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

---@class ebb.MacroFields           all may be missing
---@field values table<string, string|number|fun(): string?>   see VALUES
---@field variables { ["local"]: table?, global: table? }      changed in place; what is missing is made
---@field now integer               ms since 1970: the injected clock; without it dates are errors
---@field zone integer              minutes east of UTC (0)
---@field seed integer              of random, randomInt and roll; else made of session_id and now
---@field session_id string         what pick keeps to
---@field history fun(kind: "last"|"user"|"assistant"): string?   the last message, the last one of a role
---@field virtual_time { virtual_base: integer|string, real_base: integer|string, scale: number? }
---                                 `now` as told in the story: virtual_base + (now - real_base) * scale; ms or ISO 8601
---@field registry ebb.MacroRegistry
---@field error_text "en"|"zh"      a macro that fails becomes its error in this language; else it stays as it stands

---@class ebb.MacroEnvironment: ebb.MacroFields
local Environment = {}
Environment.__index = Environment

local environment = {}

--- The values that the built-in macros know.
environment.VALUES = {
  "user", "char", "agent", "persona", "description", "personality", "scenario", "mes_examples", "group",
  "model", "model_id", "model_name", "profile_id", "profile_name", "provider", "agent_version", "input",
}

local FIELDS = {
  "values", "variables", "now", "zone", "seed", "session_id", "history", "virtual_time", "registry", "error_text",
}
local SCOPES = { "local", "global" }
local VIRTUAL = { "virtual_base", "real_base", "scale" }
local ZONE_MAX = 24 * 60       -- no place on earth is further than 14 hours from UTC
local SCALE_MAX = 1000000      -- a second of ours is at most eleven days of the story's

local function known(given, names, owner)
  for name in pairs(given) do
    if not tables.contains(names, name) then
      refuse("unknown_name", ("%s: unknown name '%s'"):format(owner, tostring(name)), suggest.hint(name, names))
    end
  end
end

local function expect(ok, what)
  if not ok then refuse("argument", "macro environment: " .. what) end
end

local function check_integer(value, name, limit)
  local integer = type(value) == "number" and math.tointeger(value)
  expect(integer and math.abs(integer) <= limit, ("%s is a whole number within +-%d"):format(name, limit))
  return integer
end

--- Values are texts, numbers, or functions that give one when it is asked for.
---@param values? table
function environment.check_values(values)
  values = values or {}
  expect(type(values) == "table", "values is a table")
  known(values, environment.VALUES, "macro values")
  for name, value in pairs(values) do
    local kind = type(value)
    expect(kind == "string" or kind == "number" or kind == "function",
      ("value '%s' is a text, a number or a function, not a %s"):format(name, kind))
  end
  return values
end

local function check_variables(variables)
  variables = variables or {}
  expect(type(variables) == "table", "variables is a table {local, global}")
  known(variables, SCOPES, "macro variables")
  for _, scope in ipairs(SCOPES) do
    expect(variables[scope] == nil or type(variables[scope]) == "table", "variables." .. scope .. " is a table")
  end
  return { ["local"] = variables["local"] or {}, global = variables.global or {} }
end

local function instant(value, name)
  if type(value) == "string" then
    local ms = calendar.parse(value)
    expect(ms, ("%s: expected ISO 8601, such as 2025-11-07T22:30:05Z, got '%s'"):format(name, value))
    return ms
  end
  return check_integer(value, name, calendar.MS_MAX)
end

local function check_virtual_time(given)
  if given == nil then return nil end
  expect(type(given) == "table", "virtual_time is a table {virtual_base, real_base, scale}")
  known(given, VIRTUAL, "virtual_time")
  local scale = given.scale or 1
  expect(type(scale) == "number" and scale == scale and math.abs(scale) <= SCALE_MAX,
    ("virtual_time.scale is a number within +-%d"):format(SCALE_MAX))
  return {
    virtual_base = instant(given.virtual_base, "virtual_time.virtual_base"),
    real_base = instant(given.real_base, "virtual_time.real_base"),
    scale = scale,
  }
end

local function check_function(value, name)
  expect(value == nil or type(value) == "function", name .. " is a function")
  return value
end

--- An environment of checked fields; raises {code, message, hint}.
---@param fields? ebb.MacroFields
---@return ebb.MacroEnvironment
function environment.new(fields)
  fields = fields or {}
  expect(type(fields) == "table", "expected a table of fields")
  known(fields, FIELDS, "macro environment")
  expect(fields.session_id == nil or type(fields.session_id) == "string", "session_id is a text")
  expect(fields.registry == nil or registry.is(fields.registry), "registry is one that macros.registry() made")
  expect(fields.error_text == nil or tables.contains(messages.languages, fields.error_text),
    "error_text is 'en' or 'zh'")
  local now = fields.now and check_integer(fields.now, "now", calendar.MS_MAX)
  local seed = fields.seed and check_integer(fields.seed, "seed", math.maxinteger)
    or random.seed(("%s %d"):format(fields.session_id or "", now or 0))
  return setmetatable({
    values = environment.check_values(fields.values),
    variables = check_variables(fields.variables),
    now = now,
    zone = check_integer(fields.zone or 0, "zone", ZONE_MAX),
    session_id = fields.session_id,
    history = check_function(fields.history, "history"),
    virtual_time = check_virtual_time(fields.virtual_time),
    registry = fields.registry or registry.built_in(),
    error_text = fields.error_text,
    seed = seed,
    state = { draws = seed, held = { ["local"] = {}, global = {} } },
  }, Environment)
end

---@param value any
---@return boolean
function environment.is(value)
  return getmetatable(value) == Environment
end

local function copy(from)
  local made = {}
  for key, value in pairs(from) do
    made[key] = value
  end
  return made
end

--- An environment that begins as this one is now; neither sees what the other changes.
---@return ebb.MacroEnvironment
function Environment:fork()
  local made = setmetatable(copy(self), Environment)
  made.journal = nil   -- but the budget, where a macro forks: it may not spend more than the original
  made.variables = { ["local"] = copy(self.variables["local"]), global = copy(self.variables.global) }
  local held = self.state.held
  made.state = { draws = self.state.draws, held = { ["local"] = copy(held["local"]), global = copy(held.global) } }
  return made
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

--- Sets a variable, or removes it by nil. `rank` says how long its value holds.
---@param scope "local"|"global"
---@param name string
---@param value string|number|nil
---@param rank integer?
function Environment:set(scope, name, value, rank)
  local variables, held = self.variables[scope], self.state.held[scope]
  if self.journal then
    self.journal[#self.journal + 1] = { scope, name, variables[name], held[name] }
  end
  variables[name], held[name] = value, rank
end

--- Takes back what has been set since the journal was begun, the newest first.
---@param journal table
---@param drawn integer      the draws' state at that time
function Environment:roll_back(journal, drawn)
  for i = #journal, 1, -1 do
    local scope, name, value, rank = journal[i][1], journal[i][2], journal[i][3], journal[i][4]
    self.variables[scope][name], self.state.held[scope][name] = value, rank
  end
  self.state.draws = drawn
end

return environment
