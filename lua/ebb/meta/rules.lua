---@meta
--- ebb.rules: regular expressions that rewrite messages, of requests or of what a reader is shown.
--- `require "ebb.rules"` is the same table. A pipeline applies the rules of its agent by itself.

---@class ebb.rules
local rules = {}
--- Compiles presets of rules, also in SillyTavern's form. Rules that are wrong are left out.
---@param presets table       a list of presets; or { global =, agent =, user = } of such lists
---@param budget? table         of a pipeline's run: its limits of time and memory raise
---@return ebb.RuleSet set
---@return ebb.RuleProblem[] problems   of the rules that were left out
function rules.compile(presets, budget) end
--- Takes "/pattern/flags" apart, as files of rules have it.
---@param text string
---@return string pattern
---@return string? flags       nil: the text has none
function rules.parse(text) end
--- Turns a script of SillyTavern into a rule; `compile` and `test` do it by themselves.
---@param script table
---@param options? { unnamed?: string }   unnamed: the name of a script without one
---@return table rule
function rules.from_sillytavern(script, options) end
--- Applies one rule to a text, by default to its own `testInput`, whatever its roles, depths and stages.
---@param rule table          as it is in a file
---@param options? { input?: string, expand?: fun(text: string): string }
---@return string? output
---@return integer|ebb.Error replacements   with nil the error: code "shape" for a rule that is wrong, "limit" for one
---                           that took too long, "absent" without a text
function rules.test(rule, options) end

---@class ebb.RuleSet
local RuleSet = {}
--- Rewrites messages in place; a changed message loses its `seq`. Items of windows are skipped.
---@param messages ebb.WorkingMessage[]
---@param options? ebb.RuleOptions
---@return ebb.RuleReport
function RuleSet:apply(messages, options) end

---@class ebb.RuleOptions
---@field stage? "request"|"render"   default: request; render: what a reader is shown
---@field streaming? boolean   render: the last message is still being written
---@field roles? string[]      only messages of these
---@field depth? integer       of the last message; default 0
---@field expand? fun(text: string): string   expands macros in rules
---@field log? fun(level: string, message: string, details?: table)

---@class ebb.RuleProblem     A rule that was left out
---@field rule string         its name in messages, such as "rule 'quotes'"
---@field preset? string
---@field message string      one line with preset, rule and field
---@field level? "global"|"agent"|"user"
---@field path (string|integer)[]   its place in what was compiled, or in its level

---@class ebb.RuleReport
---@field rules integer       rules of this stage
---@field messages integer    messages that changed
---@field replacements integer
---@field counts { rule: string, messages: integer, replacements: integer, failures: integer }[]   of the rules that matched or failed
---@field failures { rule: string?, message: integer, reason: string }[]   message: its position
