--- Registries of macros. A registry begins with the built-in ones; hosts and
-- plugins add theirs to one of their own, so that runtimes do not meet in it.

local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local tables = require "ebb.support.tables"
local texts = require "ebb.macros.text"

local registry = {}

--- Stabilities, from values that never change to values that change with every request. A date counts as
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
    unread = FLAG,
  },
}

--- Returns the least and the largest number of arguments that the parameters allow.
local function arity(parameters, where)
  local least, most = 0, #parameters
  for i, parameter in ipairs(parameters) do
    local name, mark = tostring(parameter):match "^([%w_]+)([?.]*)$"
    if not name or (mark ~= "" and mark ~= "?" and mark ~= "...") then
      refuse("shape", ("%s: '%s' is no parameter"):format(where, tostring(parameter)), "name, name? or name...")
    end
    if mark ~= "?" then
      if least < i - 1 then
        local text = "%s: parameters: '%s' must come before '%s', which may be left out"
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

--- Refuses a file whose name is no macro's.
---@param name string          of the file, without its ending
---@param path string
function registry.check_name(name, path)
  schema.check(MACRO_NAME, name, path .. ": its name is the macro's", { code = "shape" })
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

--- A registry without macros. `macros` and `spelling` have them, and the names as they were declared, by the names in
--- lower case: a name is found in any case.
local function empty()
  return setmetatable({ macros = {}, spelling = {} }, Registry)
end

--- Adds a checked declaration of a macro that takes this number of arguments.
local function add(self, declaration, least, most)
  local macro = {}
  for field, value in pairs(declaration) do
    macro[field] = value
  end
  macro.parameters = macro.parameters or {}
  macro.least, macro.most = least, most
  macro.rank = registry.RANK[macro.stability]
  for _, name in ipairs { macro.name, table.unpack(macro.aliases or {}) } do
    local key = texts.lower(name)
    self.macros[key], self.spelling[key] = macro, name
  end
end

--- Adds a macro; one of the same name in any case, also a built-in one, is replaced.
---@param declaration ebb.MacroDeclaration
function Registry:add(declaration)
  add(self, declaration, registry.check(declaration))
end

--- Asks `seek` for a macro that is not there, once for each name.
local function seek_once(self, name)
  local key = texts.lower(name)
  if self.missed[key] then return nil end
  self.missed[key] = true
  local declaration = self.seek(name)
  if declaration then self:add(declaration) end
  return self.macros[key]
end

---@param name string       in any case
---@return ebb.MacroDeclaration?
function Registry:find(name)
  local macro = self.macros[name] or self.macros[texts.lower(name)]
  if macro or not self.seek then return macro end
  return seek_once(self, name)
end

--- True if a macro has this name. Nothing is loaded for that, so that texts of others may be asked about.
---@param name string       in any case
---@return boolean
function Registry:has(name)
  return self.macros[texts.lower(name)] ~= nil or self.lists ~= nil and self.lists(name)
end

--- Lets a registry ask for macros that are named and not there.
---@param seek fun(name: string): ebb.MacroDeclaration?
---@param lists fun(name: string): boolean     true if `seek` would look for one
function Registry:ask(seek, lists)
  self.seek, self.lists, self.missed = seek, lists, {}
end

--- Returns all names and aliases, sorted.
---@return string[]
function Registry:names()
  local list = {}
  for _, name in pairs(self.spelling) do list[#list + 1] = name end
  table.sort(list)
  return list
end

--- The declarations, sorted by name, an alias with the macro it stands for.
---@return ebb.MacroListing[]
function Registry:list()
  local list = {}
  for key, macro in pairs(self.macros) do
    local name = macro.name
    if self.spelling[key] == name then
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
  parent = parent or registry.built_in()
  local result = empty()
  for key, macro in pairs(parent.macros) do
    result.macros[key], result.spelling[key] = macro, parent.spelling[key]
  end
  return result
end

--- A copy in which each macro's function is `wrap(run)`; where that is nil, it is as it was.
---@param original ebb.MacroRegistry
---@param wrap fun(run: function): function?
---@return ebb.MacroRegistry
function registry.wrapped(original, wrap)
  local result, copies = empty(), {}
  for key, macro in pairs(original.macros) do
    local run = not copies[macro] and wrap(macro.run)
    if run then
      copies[macro] = tables.copy(macro)
      copies[macro].run = run
    end
    result.macros[key], result.spelling[key] = copies[macro] or macro, original.spelling[key]   -- aliases share it
  end
  return result
end

local built_in

--- The built-in macros, which a test checks. This registry is shared; `registry.new()` gives one to add to.
---@return ebb.MacroRegistry
function registry.built_in()
  if built_in then return built_in end
  local result = empty()
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
