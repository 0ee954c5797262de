--- Rules and presets as they stand in files, and what becomes of them here.
--
-- A rule that is checked is a table {id, name, enabled, pattern, flags,
-- replacement, trims, render, request, streaming, kinds, depth_first, depth_last,
-- order, mode, test_input}: what the core takes, and when it applies.

local fields = require "ebb.support.fields"

local schema = {}

--- The kinds of text that rules tell apart, as bits.
schema.KINDS = { system = 1, developer = 1, user = 2, assistant = 4, tool = 8, ["function"] = 8 }

local DEFAULT_KINDS = schema.KINDS.system | schema.KINDS.user | schema.KINDS.assistant
local DEPTH_MAX = 0xFFFFFFFF

local TRIMS_MAX = 64   -- the core's bound

local function trims(value)
  local list, expected = fields.list(fields.text)(value)
  if list and #list > TRIMS_MAX then return nil, ("at most %d texts"):format(TRIMS_MAX) end
  return list, expected
end

local function role(value)
  return schema.KINDS[value] and value or nil, "a role: system, user, assistant or tool"
end

schema.APPLY_TO = { { "render", fields.boolean, false }, { "request", fields.boolean, false } }
schema.DEPTH_RANGE = { { "min", fields.count }, { "max", fields.count } }

schema.RULE = {
  { "id", fields.text },
  { "name", fields.text },
  { "enabled", fields.boolean, true },
  { "regex", fields.text },
  { "flags", fields.text },
  { "replacement", fields.text, "" },
  { "applyTo", fields.record(schema.APPLY_TO) },
  { "applyInStreaming", fields.boolean, true },
  { "targetRoles", fields.list(role) },
  { "depthRange", fields.record(schema.DEPTH_RANGE) },
  { "order", fields.number, 0 },
  { "substitutionMode", fields.choice("NONE", "RAW", "ESCAPED"), "NONE" },
  { "trimStrings", trims, {} },
  { "testInput", fields.text },
}

schema.PRESET = {
  { "id", fields.text },
  { "name", fields.text },
  { "enabled", fields.boolean, true },
  { "order", fields.number, 0 },
  { "priority", fields.number, 100 },
  { "rules", function(value) return type(value) == "table" and value or nil, "a list of rules" end, {} },
}

--- What programs that share such files write besides, and means nothing here.
local PRESET_CARRIED = { description = true, author = true, version = true, createdAt = true, updatedAt = true }

--- Fields of one program that are taken only with the value that says "as usual".
local USUAL = { replacementType = { regex = true }, scriptContent = { [""] = true } }

--- "/x/flags" as pattern and flags, or a bare pattern. Of several slashes the last
--- one counts; what follows it is flags only if all of it is.
---@param text string
---@return string pattern
---@return string? flags     nil for a bare pattern, and where none are given
function schema.parse(text)
  local pattern, flags = text:match "^/(.*)/([gimsuy]*)$"
  if not pattern then return text end
  return pattern, flags ~= "" and flags or nil
end

--- What to call a rule where something is wrong with it.
function schema.title(rule, place)
  local id = type(rule) == "table" and (rule.name or rule.id)
  return type(id) == "string" and id ~= "" and ("rule '%s'"):format(id) or ("rule %d"):format(place)
end

local function kinds_of(roles)
  if not roles then return DEFAULT_KINDS end
  local kinds = 0
  for _, name in ipairs(roles) do
    kinds = kinds | schema.KINDS[name]
  end
  return kinds
end

--- The given rule without fields that only say what holds anyway; or what is wrong.
local function without_usual(given)
  local rest = {}
  for key, value in pairs(given) do
    local usual = USUAL[key]
    if usual and not usual[value] then return nil, { field = key, message = "only regular expressions are run" } end
    if not usual then rest[key] = value end
  end
  return rest
end

local function finish(record)
  local pattern, flags = schema.parse(record.regex)
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

--- A checked rule, or nil and what is wrong: {field, message, hint}.
---@param given any
function schema.rule(given)
  if type(given) ~= "table" then return nil, { field = "rule", message = "expected an object" } end
  local rest, problem = without_usual(given)
  local record
  if rest then record, problem = fields.read(rest, schema.RULE) end
  if not record then return nil, problem end
  if (record.regex or "") == "" then return nil, { field = "regex", message = "a rule needs one" } end
  local range = record.depthRange
  if range and (range.min or 0) > (range.max or DEPTH_MAX) then
    return nil, { field = "depthRange", message = ("min %d is beyond max %d"):format(range.min, range.max) }
  end
  return finish(record)
end

--- A checked preset, its rules as they are, or nil and what is wrong.
---@param given any
function schema.preset(given)
  if type(given) ~= "table" then return nil, { field = "preset", message = "expected an object" } end
  return fields.read(given, schema.PRESET, PRESET_CARRIED)
end

return schema
