--- Pages of the rules of check, and of profiles.

local ebb = require "ebb"
local markdown = require "reference.markdown"
local profiles = require "ebb.models.profiles"
local violations = require "ebb.models.violations"

local checks = {}

local code = markdown.code

local function codes(list)
  local words = {}
  for i, word in ipairs(list) do words[i] = code(word) end
  return table.concat(words, ", ")
end

local function whom_of(rule)
  local words = {}
  if rule.servers ~= "" then words[#words + 1] = rule.servers end
  if rule.models ~= "" then words[#words + 1] = rule.models end
  return table.concat(words, "; ")
end

---@return string
function checks.rules()
  local rows = {}
  for i, rule in ipairs(violations.explain()) do
    rows[i] = { code(rule.code), table.concat(rule.dialects, ", "), rule.severity, whom_of(rule),
      (rule.text:gsub("%%", "..")), rule.hint, rule.mendable and "yes" or "", rule.example, rule.source }
  end
  return markdown.page("Rules of check", { [[
What `ebb check` and `chat:check()` look for. `ebb check --explain CODE` says one of these. The severity is `refused`,
`strict` (refused by the servers or models that are named) `changed` (accepted, but the server takes something out)
or `none` (refused by the servers that are named, and by no others).
A [profile](profiles.md) makes some rules refusals and takes others away.]],
    markdown.table({ "rule", "dialects", "severity", "for whom", "what is wrong", "what to do", "repaired", "example",
      "source" }, rows) })
end

---@return string
function checks.profiles()
  local rows = {}
  for i, name in ipairs(profiles.names()) do
    local profile = ebb.profiles[name]
    rows[i] = { code(name), profile.summary, table.concat(profile.dialects, ", "), codes(profile.models or {}),
      codes(profile.hosts or {}), codes(profile.refuses or {}), codes(profile.accepts or {}),
      codes(profile.members or {}), profile.reasoning or "", table.concat(profile.sources, "; ") }
  end
  return markdown.page("Profiles", { [[
What servers demand or refuse beyond their dialect. A profile is chosen by `--profile NAME` or `--profile URL`
(`chat:check { profile = , base_url = }`), else by the name of the model. Profiles of your own are in
`~/.config/ebb/profiles.json`, or in Lua in `ebb.profiles`; the codes are those of the [rules](checks.md).]],
    markdown.table({ "profile", "", "dialects", "models", "hosts", "refuses", "accepts", "further members", "reasoning",
      "sources" }, rows) })
end

return checks
