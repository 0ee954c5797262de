--- Rules and presets as they are in files, and what becomes of them here.
--
-- A rule that is checked is a table {id, name, enabled, pattern, flags,
-- replacement, trims, render, request, streaming, kinds, depth_first, depth_last,
-- order, mode, test_input}: what the core takes, and when it applies.

local schema = require "ebb.support.schema"

local rule_schema = {}

--- The kinds of text that rules tell apart, as bits.
rule_schema.KINDS = { system = 1, developer = 1, user = 2, assistant = 4, tool = 8, ["function"] = 8 }

local DEFAULT_KINDS = rule_schema.KINDS.system | rule_schema.KINDS.user | rule_schema.KINDS.assistant
local DEPTH_MAX = 0xFFFFFFFF

local TRIMS_MAX = 64   -- the core's bound

local function text_field(help) return { type = "string", utf8 = true, help = help } end
local function flag_field(default, help) return { type = "boolean", default = default, help = help } end
local function number(default, help) return { type = "number", default = default, help = help } end
local function depth(help) return { type = "integer", min = 0, help = help } end

local ROLE = {
  type = "choice", choices = { "system", "developer", "user", "assistant", "tool", "function" },
  expected = "a role: system, user, assistant or tool",
}

---@type ebb.Schema
rule_schema.RULE = {
  type = "object", camel = true, expected = "an object", fields = {
    id = text_field(), name = text_field "what errors call it", enabled = flag_field(true),
    flags = text_field "of the expression: g, i, m, s, u, y; default: those after /.../, else gm",
    testInput = text_field "a text to try the rule on (`ebb rules`)",
    applyInStreaming = flag_field(true, "for hosts that show answers while they arrive"),
    order = number(0, "a lower one is applied first"),
    regex = { type = "string", utf8 = true, filled = true, required = true,
      help = "an expression as in JavaScript, \"/x/g\" or bare" },
    replacement = { type = "string", utf8 = true, default = "",
      help = "with $1, $<name> and $& as in JavaScript; macros in it are expanded" },
    applyTo = { type = "object", camel = true, help = "default: both", fields = {
      render = flag_field(false, "what a person sees"), request = flag_field(false, "what the model sees"),
    } },
    targetRoles = { type = "list", items = ROLE, help = "default: system, user and assistant" },
    depthRange = {
      type = "object", help = "how far from the newest message, which has depth 0",
      fields = { min = depth "default: 0", max = depth "default: no end" },
      check = function(range)
        if (range.min or 0) > (range.max or DEPTH_MAX) then
          return ("min %d is beyond max %d"):format(range.min, range.max)
        end
      end,
    },
    substitutionMode = { type = "choice", choices = { "NONE", "RAW", "ESCAPED" }, default = "NONE",
      help = "macros in the expression: not expanded, expanded, expanded and escaped" },
    trimStrings = { type = "list", items = text_field(), max = TRIMS_MAX, default = {},
      help = "removed from what the expression matched, before it is put into the replacement" },
    -- Fields of one program that are taken only with the value that says "as usual".
    replacementType = { type = "choice", choices = { "regex" }, expected = "regex: no other replacement is supported" },
    scriptContent = { type = "choice", choices = { "" }, expected = "no script: only regular expressions are run" },
  },
}

---@type ebb.Schema
rule_schema.PRESET = {
  type = "object", camel = true, expected = "an object",
  fields = {
    id = text_field(), name = text_field "what errors call it", enabled = flag_field(true),
    order = number(0, "a lower one is applied first"), priority = number(100, "a lower one is applied first"),
    rules = { type = "table", expected = "a list of rules", default = {}, help = "each as below" },
  },
  -- Members that programs with the same kind of file write besides; they mean nothing here.
  ignored = { description = true, author = true, version = true, createdAt = true, updatedAt = true },
}

local SOURCE = { type = "string" }

--- "/x/flags" as pattern and flags, or a bare pattern. Of several slashes the last
--- one counts; what follows it is flags only if all of it is.
---@param text string
---@return string pattern
---@return string? flags     nil for a bare pattern, and where none are given
function rule_schema.parse(text)
  schema.check(SOURCE, text, "rules.parse")
  local pattern, flags = text:match "^/(.*)/([gimsuy]*)$"
  if not pattern then return text end
  return pattern, flags ~= "" and flags or nil
end

--- Returns the name of a rule for errors: its name, its id, or its place.
function rule_schema.title(rule, place)
  local id = type(rule) == "table" and (rule.name or rule.id)
  return type(id) == "string" and id ~= "" and ("rule '%s'"):format(id) or ("rule %d"):format(place)
end

local function kinds_of(roles)
  if not roles then return DEFAULT_KINDS end
  local kinds = 0
  for _, name in ipairs(roles) do
    kinds = kinds | rule_schema.KINDS[name]
  end
  return kinds
end

local function finish(record)
  local pattern, flags = rule_schema.parse(record.regex)
  local stages, range = record.applyTo or { render = true, request = true }, record.depthRange or {}
  return {
    id = record.id, name = record.name, enabled = record.enabled,
    pattern = pattern,
    flags = record.flags and record.flags ~= "" and record.flags or flags or "gm",
    replacement = record.replacement, trims = record.trimStrings,
    render = stages.render, request = stages.request, streaming = record.applyInStreaming,
    kinds = kinds_of(record.targetRoles),
    depth_first = range.min or 0, depth_last = math.min(range.max or DEPTH_MAX, DEPTH_MAX),
    order = record.order, mode = record.substitutionMode, test_input = record.testInput,
  }
end

local NULL_IS_ABSENT = { null = true }

--- Returns a checked rule, or nil and its problem.
---@param rule any
---@return table? rule
---@return ebb.SchemaProblem? problem
function rule_schema.rule(rule)
  local record, problems = schema.read(rule_schema.RULE, rule, NULL_IS_ABSENT)
  if problems then return nil, problems[1] end
  return finish(record)
end

--- Returns a checked preset, its rules as they are, or nil and its problem.
---@param preset any
---@return table? preset
---@return ebb.SchemaProblem? problem
function rule_schema.preset(preset)
  local record, problems = schema.read(rule_schema.PRESET, preset, NULL_IS_ABSENT)
  return record, problems and problems[1]
end

return rule_schema
