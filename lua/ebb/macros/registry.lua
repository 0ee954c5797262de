--- Which macros there are. A registry begins with the built-in ones; hosts and
-- plugins add theirs to one of their own, so that runtimes do not meet in it.

local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local tables = require "ebb.support.tables"

local registry = {}

--- From what never changes to what changes with every request. A date counts as
--- "session": it changes once a day, and no cache lives that long.
registry.STABILITIES = { "stable", "session", "turn", "volatile" }
registry.RANK = { stable = 1, session = 2, turn = 3, volatile = 4 }

local BUILT_IN = { "values", "variables", "dates", "chance", "texts" }
local NAME = "^[%w_\x80-\xFF][%w_.\x80-\xFF-]*$"
local ARGUMENTS_MAX = math.maxinteger

local Registry = {}
Registry.__index = Registry

local TEXT, FLAG, TEXTS = { type = "string" }, { type = "boolean" }, { type = "list", items = { type = "string" } }

local MACRO_NAME = {
  type = "string", required = true, expected = "a name of up to 64 letters, digits, _ . and -",
  check = function(name)
    if #name <= 64 and (name:find(NAME) or name == "//") then return nil end
    return ("expected a name of up to 64 letters, digits, _ . and -, got '%s'"):format(name)
  end,
}

local MACRO = {
  type = "object", expected = "a table {name, summary, stability, run}",
  hint = '{ name = "shout", summary = "...", stability = "stable", run = function(call) ... end }',
  fields = {
    name = MACRO_NAME, summary = { type = "string", required = true }, parameters = TEXTS,
    stability = { type = "choice", choices = registry.STABILITIES, required = true },
    run = { type = "function", required = true, hint = "run = function(call, ...) return text end" },
    example = TEXT, aliases = { type = "list", items = MACRO_NAME }, silent = FLAG, commas = FLAG, trims = FLAG,
  },
}

--- How many arguments the parameters ask for: at least, at most.
local function arity(parameters, where)
  local least, most = 0, #parameters
  for i, parameter in ipairs(parameters) do
    local name, mark = tostring(parameter):match "^([%w_]+)([?.]*)$"
    if not name or (mark ~= "" and mark ~= "?" and mark ~= "...") then
      refuse("shape", ("%s: '%s' is no parameter"):format(where, tostring(parameter)), "name, name? or name...")
    end
    if mark ~= "?" then
      if least < i - 1 then
        local text = "%s: parameters: '%s' must stand before '%s', which may be left out"
        refuse("shape", text:format(where, parameter, parameters[i - 1]), 'parameters = { "name", "name?" }')
      end
      least = i
    end
    if mark == "..." then
      if i < #parameters then refuse("shape", where .. ": only the last parameter may stand for several") end
      most = ARGUMENTS_MAX
    end
  end
  return least, most
end

--- Checks a declaration; raises for wrong fields. Returns how many arguments it takes, at least and at most.
---@param declaration any
---@param file? string         that returned it
---@return integer least
---@return integer most
function registry.check(declaration, file)
  local name = type(declaration) == "table" and declaration.name
  local where = (file and file .. ": " or "") .. "macro" .. (type(name) == "string" and " " .. name or "")
  schema.check(MACRO, declaration, where, { code = type(declaration) == "table" and "shape" or "argument" })
  return arity(declaration.parameters or {}, where)
end

--- Adds a checked declaration of a macro that takes so many arguments.
local function add(self, declaration, least, most)
  local macro = {}
  for field, value in pairs(declaration) do
    macro[field] = value
  end
  macro.parameters = macro.parameters or {}
  macro.least, macro.most = least, most
  macro.rank = registry.RANK[macro.stability]
  self.macros[macro.name] = macro
  for _, alias in ipairs(macro.aliases or {}) do
    self.macros[alias] = macro
  end
end

--- Adds a macro; one of the same name, also a built-in one, is replaced.
---@param declaration ebb.MacroDeclaration
function Registry:add(declaration)
  add(self, declaration, registry.check(declaration))
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

--- A registry with the macros that `parent` (default: the built-in registry) has now.
---@param parent? ebb.MacroRegistry
---@return ebb.MacroRegistry
function registry.new(parent)
  if parent ~= nil then schema.check(registry.SCHEMA, parent, "macros.registry") end
  local result = setmetatable({ macros = {} }, Registry)
  for name, macro in pairs((parent or registry.built_in()).macros) do
    result.macros[name] = macro
  end
  return result
end

--- A copy in which each macro's function is `wrap(run)`; where that is nil, it is as it was.
---@param original ebb.MacroRegistry
---@param wrap fun(run: function): function?
---@return ebb.MacroRegistry
function registry.wrapped(original, wrap)
  local result, copies = setmetatable({ macros = {} }, Registry), {}
  for name, macro in pairs(original.macros) do
    local run = not copies[macro] and wrap(macro.run)
    if run then
      copies[macro] = tables.copy(macro)
      copies[macro].run = run
    end
    result.macros[name] = copies[macro] or macro   -- an alias shares the copy
  end
  return result
end

local built_in

--- The built-in macros, which a test checks. This registry is shared; `registry.new()` gives one to add to.
---@return ebb.MacroRegistry
function registry.built_in()
  if built_in then return built_in end
  local result = setmetatable({ macros = {} }, Registry)
  for _, group in ipairs(BUILT_IN) do
    for _, declaration in ipairs(require("ebb.macros.builtin." .. group)) do
      add(result, declaration, arity(declaration.parameters or {}, declaration.name))
    end
  end
  built_in = result
  return result
end

---@param value any
---@return boolean
function registry.is(value)
  return getmetatable(value) == Registry
end

---@type ebb.Schema
registry.SCHEMA = {
  read = function(value) return registry.is(value) and value or nil, "a registry that macros.registry() made" end,
}

registry.methods = Registry   -- for tests

return registry
