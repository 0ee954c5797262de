--- Which macros there are. A registry begins with the built-in ones; hosts and
-- plugins add theirs to one of their own, so that runtimes do not meet in it.

local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local registry = {}

--- From what never changes to what changes with every request. A date counts as
--- "session": it changes once a day, and no cache lives that long.
registry.STABILITIES = { "stable", "session", "turn", "volatile" }
registry.RANK = { stable = 1, session = 2, turn = 3, volatile = 4 }

local BUILT_IN = { "values", "variables", "dates", "chance", "texts" }
local FIELDS = {
  "name", "summary", "parameters", "stability", "run", "example", "aliases", "silent", "commas", "trims",
}
local NAME = "^[%w_\x80-\xFF][%w_.\x80-\xFF-]*$"
local ARGUMENTS_MAX = math.maxinteger

local Registry = {}
Registry.__index = Registry

local function check_name(name, where)
  if type(name) ~= "string" or #name > 64 or not (name:find(NAME) or name == "//") then
    refuse("shape", ("%s: a name is up to 64 letters, digits, _ . and -, not '%s'"):format(where, tostring(name)))
  end
end

local function check_fields(declaration, where)
  for field in pairs(declaration) do
    if not tables.contains(FIELDS, field) then
      refuse("shape", ("%s: unknown field '%s'"):format(where, tostring(field)), suggest.hint(field, FIELDS))
    end
  end
end

--- Checks what a macro's author wrote, before anything is kept of it.
local function check(declaration)
  if type(declaration) ~= "table" then refuse("argument", "a macro is a table {name, summary, stability, run}") end
  local where = "macro " .. tostring(declaration.name)
  check_name(declaration.name, where)
  check_fields(declaration, where)
  if type(declaration.run) ~= "function" then
    refuse("shape", where .. ": it has no run", "run = function(call, ...) return text end")
  end
  if type(declaration.summary) ~= "string" then refuse("shape", where .. ": summary is one line of text") end
  if not registry.RANK[declaration.stability] then
    refuse("shape", ("%s: its stability is one of stable, session, turn, volatile, not '%s'"):format(
      where, tostring(declaration.stability)), suggest.hint(declaration.stability, registry.STABILITIES))
  end
  for _, alias in ipairs(declaration.aliases or {}) do
    check_name(alias, where)
  end
  return where
end

--- How many arguments the parameters ask for: at least, at most.
local function arity(parameters, where)
  local least, most = 0, #parameters
  for i, parameter in ipairs(parameters) do
    local name, mark = tostring(parameter):match "^([%w_]+)([?.]*)$"
    if not name or (mark ~= "" and mark ~= "?" and mark ~= "...") then
      refuse("shape", ("%s: '%s' is no parameter"):format(where, tostring(parameter)), "name, name? or name...")
    end
    if mark ~= "?" then
      if least < i - 1 then refuse("shape", where .. ": what may be left out stands behind what may not") end
      least = i
    end
    if mark == "..." then
      if i < #parameters then refuse("shape", where .. ": only the last parameter may stand for several") end
      most = ARGUMENTS_MAX
    end
  end
  return least, most
end

--- Adds a macro; one of the same name, also a built-in one, is replaced.
---@param declaration ebb.MacroDeclaration
function Registry:add(declaration)
  local where = check(declaration)
  local macro = {}
  for field, value in pairs(declaration) do
    macro[field] = value
  end
  macro.parameters = macro.parameters or {}
  macro.least, macro.most = arity(macro.parameters, where)
  macro.rank = registry.RANK[macro.stability]
  self.macros[macro.name] = macro
  for _, alias in ipairs(macro.aliases or {}) do
    self.macros[alias] = macro
  end
end

---@param name string
---@return ebb.MacroDeclaration?
function Registry:find(name)
  return self.macros[name]
end

--- All names and aliases, sorted.
---@return string[]
function Registry:names()
  return tables.keys(self.macros)
end

--- The declarations, sorted by name, an alias with the macro it stands for.
---@return ebb.MacroListing[]
function Registry:list()
  local list = {}
  for name, macro in pairs(self.macros) do
    if name == macro.name then
      list[#list + 1] = {
        name = name, summary = macro.summary, parameters = macro.parameters, stability = macro.stability,
        example = macro.example, aliases = macro.aliases,
      }
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

--- A registry that holds what `parent` (else: what is built in) holds now.
---@param parent? ebb.MacroRegistry
---@return ebb.MacroRegistry
function registry.new(parent)
  local made = setmetatable({ macros = {} }, Registry)
  for name, macro in pairs((parent or registry.built_in()).macros) do
    made.macros[name] = macro
  end
  return made
end

local built_in

--- What is built in. It is shared: `registry.new()` gives one to add to.
---@return ebb.MacroRegistry
function registry.built_in()
  if built_in then return built_in end
  local made = setmetatable({ macros = {} }, Registry)
  for _, group in ipairs(BUILT_IN) do
    for _, declaration in ipairs(require("ebb.macros.builtin." .. group)) do
      made:add(declaration)
    end
  end
  built_in = made
  return made
end

---@param value any
---@return boolean
function registry.is(value)
  return getmetatable(value) == Registry
end

registry.methods = Registry   -- for tests

return registry
