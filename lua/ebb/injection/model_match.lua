--- Tells whether a preset message is meant for a model.
--
-- Patterns are regular expressions, without case, searched in the model's id, in
-- what follows its profile ("openai:gpt-4o"), and in the last segment of that.
-- With mode `any` one side that is given must match, model or profile; with `all`
-- each that is given. A side without patterns has no say: what names patterns of
-- models only is for those models only.

local core = require "ebb.support.core"

local model_match = {}

--- The forms of a model's id in which patterns are searched.
local function forms(id)
  local plain = id:match "^[^:]*:(.+)$" or id
  return { id, plain, plain:match "([^/]+)$" or plain }
end

--- True if one of the patterns matches one of the texts.
local function any_matches(patterns, texts, report)
  for _, pattern in ipairs(patterns) do
    local regex, problem = core.regex.compile(pattern, "i")
    if not regex then report(pattern, problem.message) end
    for _, text in ipairs(regex and texts or {}) do
      local matches, refusal = regex:matches(text)
      if matches == nil then report(pattern, refusal.message) end
      if matches then return true end
    end
  end
  return false
end

--- Matches models and profiles against the lists of patterns; returns a result for each list that is not empty.
local function sides(match, model, profile, report)
  local texts, results = forms(model or ""), {}
  if match.matchProfileName and profile then texts[#texts + 1] = profile end
  if #match.patterns > 0 then results[#results + 1] = any_matches(match.patterns, texts, report) end
  if #match.profilePatterns > 0 then
    results[#results + 1] = any_matches(match.profilePatterns, { profile }, report)
  end
  return results
end

---@param match table        checked: enabled, mode, exclude, patterns, profilePatterns, matchProfileName
---@param model string?      its id
---@param profile string?    the name of the profile that it is reached by
---@param report fun(pattern: string, why: string)   of patterns that are bad or take too long; they match nothing
---@return boolean
function model_match.matches(match, model, profile, report)
  if not match.enabled then return true end
  local results = sides(match, model, profile, report)
  if #results == 0 then return true end
  local first, second = results[1], results[2]
  local matched = first
  if second ~= nil then
    if match.mode == "all" then matched = first and second else matched = first or second end
  end
  return matched ~= match.exclude
end

return model_match
