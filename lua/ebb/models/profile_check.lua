--- Checks a profile, whether a script or a file wrote it.

local core = require "ebb.support.core"
local dialects = require "ebb.models.dialects"
local schema = require "ebb.support.schema"
local suggest = require "ebb.support.suggest"

local profile_check = {}

local WORDS = { type = "list", items = { type = "string", filled = true } }

local function texts(expected, help)
  return { type = "list", items = WORDS.items, default = {}, expected = expected, help = help }
end

local rules      -- the codes of all rules

--- The first code that no rule has.
local function wrong_code(codes)
  if not rules then
    local all = {}                -- memory may run out between two
    for _, rule in ipairs(core.rules()) do all[rule.code] = true end
    rules = all
  end
  for _, code in ipairs(codes) do
    if not rules[code] then return code end
  end
end

local function check_codes(profile)
  for _, field in ipairs { "refuses", "accepts" } do
    local wrong = wrong_code(profile[field])
    if wrong then
      local known = {}
      for code in pairs(rules) do known[#known + 1] = code end
      return ("%s: no rule '%s'"):format(field, wrong), suggest.hint(wrong, known)
    end
  end
end

--- Ids that are made have up to 16 characters; fewer than 8 would not tell all calls apart.
local function check_id(rule)
  if not rule then return nil end
  local most = math.min(16, rule.max or 16)
  if rule.min and rule.min > most then return ("call_id: min: expected at most %d, got %d"):format(most, rule.min) end
  if rule.max and rule.max < 8 then return ("call_id: max: expected 8 or more, got %d"):format(rule.max) end
end

local function check_limits(limits)
  if limits and (limits.many_images == nil) ~= (limits.many_images_side == nil) then
    return "limits: many_images and many_images_side go together"
  end
end

local function count(unit) return { type = "integer", min = 1, unit = unit } end

profile_check.PROFILE = {
  type = "object", expected = "a table {dialects, refuses, accepts}",
  fields = {
    summary = { type = "string", default = "" },
    dialects = { type = "list", items = { type = "choice", choices = dialects }, default = { dialects[1] },
      help = "forms of requests that the server reads; the first is its own" },
    models = texts("beginnings of names of models", "beginnings of names of models that are served there"),
    hosts = texts("ends of host names", "ends of the host in its base URL"),
    refuses = texts("codes of rules", "rules that hold there as refusals"),
    accepts = texts("codes of rules", "rules that do not hold there"),
    call_id = {
      type = "object", expected = "a table {min, max, characters}", fields = {
        min = count "characters", max = count "characters",
        characters = { type = "choice", choices = { "any", "word", "alphanumeric" }, default = "word" },
      },
    },
    tool_name = count "characters",
    members = texts("names of members", "further members that a message may have there"),
    reasoning = { type = "choice", choices = { "drop", "keep", "require", "require_with_calls" },
      help = "what becomes of reasoning text" },
    limits = {
      type = "object", expected = "a table {bytes, messages, images, image_side, image_bytes}",
      fields = { bytes = count "bytes", messages = count(), images = count(), image_side = count "pixels",
        image_bytes = count "bytes", many_images = count(), many_images_side = count "pixels" },
    },
    sources = texts("texts", "where this is documented or reported"),
  },
  check = function(profile)
    if #profile.dialects == 0 then return "dialects: expected one or more" end
    return check_id(profile.call_id) or check_limits(profile.limits) or check_codes(profile)
  end,
}

--- Returns a copy with fields that were left out; raises if one is wrong.
---@param name string
---@param profile any
---@return ebb.Profile
function profile_check.profile(name, profile)
  return schema.check(profile_check.PROFILE, profile, "profile " .. name)
end

return profile_check
