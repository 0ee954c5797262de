--- Schemas: what values must be, declared as tables and checked in one place.
--
--     local TRIM = {
--       budget = { type = "integer", min = 0, unit = "tokens" },
--       roles = { type = "list", items = { type = "choice", choices = { "user", "assistant" } } },
--       prices = { type = "object", fields = { input = { type = "number", required = true } } },
--     }
--     local values = schema.options(TRIM, options, "trim")     raises {code, message, hint}
--
--     trim: roles[2]: expected one of user, assistant, got 'usr'      hint: did you mean 'user'?
--     trim has no option 'bugdet'                                     hint: did you mean 'budget'?
--
-- Results are new tables: fields with defaults are filled in, whole floats become
-- integers. `read` returns problems instead of raising: for files, which know lines,
-- and for models, which are told all that is wrong at once.
--
-- This is the face of schema/: words.lua describes values, types.lua has the types, reader.lua reads values by
-- declarations, and options.lua those of calls, authors and the command line.

local options = require "ebb.support.schema.options"
local reader = require "ebb.support.schema.reader"
local words = require "ebb.support.schema.words"

---@class ebb.Schema             What one value must be
---@field type? "integer"|"number"|"string"|"boolean"|"choice"|"list"|"table"|"object"|"function"|"handle"|"any"
---@field class? string          of handles: "Conversation", as core.type says it
---@field any_of? ebb.Schema[]   in place of type: the first that the value fits
---@field read? fun(value: any): any, string?   in place of type: the result, or nil and what is expected
---@field choose? fun(value: any): ebb.Schema    in place of type: the schema by the value
---@field check? fun(result: any): string?, string?, string?   nil, or message, hint, code
---@field into? fun(result: any): any   called last, on what is right: what the result becomes
---@field expected? string       replaces the words for what is expected
---@field default? any           of an absent field; each result has a copy
---@field required? boolean      a field that must be present
---@field as? string             the field's name in the result
---@field min? number            of numbers
---@field max? number            of numbers; of lists and strings: the largest length
---@field unit? string           of numbers: "tokens"
---@field utf8? boolean          of strings
---@field filled? boolean        of strings: not empty
---@field choices? any[]
---@field shared? boolean        of tables among options: the result is the value itself, no copy
---@field items? ebb.Schema      of a list; of an object: of all keys that are not declared
---@field fields? table<string, ebb.Schema>     of an object
---@field camel? boolean         of an object: fields are declared in camelCase, and snake_case is read too
---@field ignored? table<string, boolean>       of an object: keys that are skipped
---@field bare? boolean          of an object: defaults stay out of its result, for its reader has them in a metatable
---@field noun? string           of an object: what its keys are called; default: "field"
---@field hint? string           of a wrong type; of an object also of missing and unknown fields
---@field help? string

---@class ebb.SchemaProblem
---@field kind "type"|"unknown"|"missing"|"value"
---@field path (string|integer)[]   from the outermost value; places of lists count from 1
---@field message string            without the place
---@field hint? string
---@field code string               of the refusal
---@field expected? string          of "type" and "missing"
---@field value? any                the wrong value

---@class ebb.SchemaContext
---@field read_part fun(declaration: ebb.Schema, value: any, step: string|integer, context: ebb.SchemaContext): any
---@field problems ebb.SchemaProblem[]
---@field path (string|integer)[]
---@field most integer              problems that are collected
---@field null boolean              JSON's null counts as absent
---@field options boolean           of a call: a string stands for a list without `items`, tables are copied

return {
  describe = words.describe, place = words.place,
  read = reader.read, message = reader.message, say = reader.say, check = reader.check,
  options = options.options, declare = options.declare, check_together = options.check_together,
  options_of = options.options_of, from_text = options.from_text, parse = options.parse,
}
