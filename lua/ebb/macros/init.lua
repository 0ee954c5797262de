--- Macros: {{user}}, {{setvar::mood::calm}}, {{roll::2d6}} in prompts and templates.
--
--     local environment = macros.environment { values = { user = "Ann" }, now = 1762554605000 }
--     macros.expand("Hello {{user}}, it is {{time}}.", environment)  --> "Hello Ann, it is 10:30 PM.", report
--
-- Rules: one pass from left to right; each occurrence is evaluated;
-- arguments before the macro that takes them; a value is never read again; an
-- unknown macro stays as it is. Only trusted texts may be expanded: who
-- expands decides that, a text cannot tell where it comes from.

local check = require "ebb.macros.check"
local environments = require "ebb.macros.environment"
local evaluate = require "ebb.macros.evaluate"
local messages = require "ebb.macros.messages"
local refuse = require "ebb.support.refuse"
local registries = require "ebb.macros.registry"
local schema = require "ebb.support.schema"

local macros = {
  limits = evaluate.LIMITS,
  values = environments.VALUES,
}

local EXPAND_OPTIONS = { values = { type = "table", shared = true }, transform = { type = "function" } }
local VALIDATE_OPTIONS = {
  registry = registries.SCHEMA,
  language = { type = "choice", choices = messages.languages, default = "en" },
}

local function registry_of(registry, owner)
  if registry == nil then return registries.built_in() end
  return schema.check(registries.SCHEMA, registry, owner .. ": registry")
end

local function expect_text(text, owner)
  schema.check({ type = "string" }, text, owner)
end

--- Expands the macros of a trusted text.
---
--- `values` come before those of the environment; `transform` changes what each
--- outermost macro gave (a pattern's macros are escaped with it). Where a limit is
--- reached, or `transform` raises, nothing has changed, and the text is as it was.
---@param text string
---@param environment ebb.MacroEnvironment
---@param options? { values: table<string, any>?, transform: (fun(text: string): string)? }
---@return string text
---@return ebb.MacroReport report
function macros.expand(text, environment, options)
  expect_text(text, "macros.expand")
  if not environments.is(environment) then
    refuse("argument", "macros.expand: expected an environment", "macros.environment { values = ..., now = ... }")
  end
  return evaluate.expand(text, environment, schema.options(EXPAND_OPTIONS, options, "macros.expand"))
end

--- Makes an environment; raises for wrong fields.
---@param fields? ebb.MacroFields
---@return ebb.MacroEnvironment
function macros.environment(fields)
  return environments.new(fields)
end

--- A registry to add macros to; it begins with the built-in ones, or with `parent`'s.
---@param parent? ebb.MacroRegistry
---@return ebb.MacroRegistry
function macros.registry(parent)
  return registries.new(parent)
end

--- The declarations, sorted by name.
---@param registry? ebb.MacroRegistry
---@return ebb.MacroListing[]
function macros.list(registry)
  return registry_of(registry, "macros.list"):list()
end

--- The problems of a template, without expanding it.
---@param text string
---@param registry? ebb.MacroRegistry
---@return ebb.MacroProblem[]
function macros.check(text, registry)
  expect_text(text, "macros.check")
  return check.template(text, registry_of(registry, "macros.check"))
end

--- True if the content of braces is a macro with the right number of arguments.
---@param content string       "user", "setvar::a::b"
---@param options? { registry: ebb.MacroRegistry?, language: ("en"|"zh")? }
---@return { valid: boolean, error: string?, suggestions: string[]? }
function macros.validate(content, options)
  expect_text(content, "macros.validate")
  local values = schema.options(VALIDATE_OPTIONS, options, "macros.validate")
  return check.content(content, values.registry or registries.built_in(), values.language)
end

--- A text that expands to this one, outside of macros.
---@param text string
---@return string
function macros.escape(text)
  expect_text(text, "macros.escape")
  return (text:gsub("{{", "\\{{"))
end

return macros
