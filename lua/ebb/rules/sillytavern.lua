--- Rules of SillyTavern ("regex scripts"), as it exports them.

local core = require "ebb.support.core"
local rule_schema = require "ebb.rules.schema"
local schema = require "ebb.support.schema"

local sillytavern = {}

--- The roles that a script applies to, by its numbers. 3 is slash commands, which Ebb does not have.
local ROLES = {
  [0] = { "system", "user", "assistant" },
  [1] = { "user" }, [2] = { "assistant" }, [3] = {}, [5] = { "system" }, [6] = { "assistant" },
}
local ALL = { "system", "user", "assistant" }
local MODES = { [0] = "NONE", [1] = "RAW", [2] = "ESCAPED" }

local SCRIPT, OPTIONS = { type = "table", expected = "a script of SillyTavern" }, { unnamed = { type = "string" } }

--- A value that is there: not nil, not null.
local function present(value)
  if value == core.json.null then return nil end
  return value
end

---@return boolean
function sillytavern.is_script(value)
  return type(value) == "table" and value.findRegex ~= nil
end

local function roles_of(placement)
  local placed, roles = {}, {}
  for _, number in ipairs(present(placement) or {}) do
    for _, role in ipairs(ROLES[number] or {}) do
      placed[role] = true
    end
  end
  for _, role in ipairs(ALL) do
    if placed[role] then roles[#roles + 1] = role end
  end
  return #roles > 0 and roles or { table.unpack(ALL) }
end

local function depth_of(value)
  value = present(value)
  return type(value) == "number" and value >= 0 and value or nil
end

--- Replaces SillyTavern's two words for the whole match by Ebb's.
local function replacement_of(text)
  return ((text or ""):gsub("{{match}}", "$&"):gsub("%$0", "$&"))
end

--- A rule as it is in our files. It is checked like all others.
---@param script table      of SillyTavern
---@param options? { unnamed: string? }     what a script without a name is called
---@return table rule
function sillytavern.rule(script, options)
  schema.check(SCRIPT, script, "rules.from_sillytavern")
  options = schema.options(OPTIONS, options, "rules.from_sillytavern")
  local pattern, flags = rule_schema.parse(present(script.findRegex) or "")
  local sliced = pattern ~= script.findRegex
  local name = present(script.scriptName) or ""
  local min, max = depth_of(script.minDepth), depth_of(script.maxDepth)
  local trims = present(script.trimStrings)
  return {
    id = present(script.id),
    name = name ~= "" and name or options.unnamed or "unnamed rule",
    enabled = script.disabled ~= true,
    regex = pattern,
    -- Between slashes, no flags means the first match; a bare pattern has the usual ones.
    flags = flags or (sliced and "u" or "gm"),
    replacement = replacement_of(present(script.replaceString)),
    applyTo = { render = script.promptOnly ~= true or script.markdownOnly == true,
                request = script.markdownOnly ~= true or script.promptOnly == true },
    targetRoles = roles_of(script.placement),
    depthRange = (min or max) and { min = min, max = max } or nil,
    substitutionMode = MODES[present(script.substituteRegex) or 0],
    trimStrings = trims and #trims > 0 and trims or nil,
    order = 0,
  }
end

return sillytavern
