--- Regex rules by themselves: scripts of SillyTavern, presets of AIO Hub. Both are read unchanged by `ebb.rules`.

local agents = require "ebb.import.agents.agents"
local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local refuse = require "ebb.support.refuse"

local scripts = { name = "scripts", title = "regex rules", kind = "json" }

local function is_script(value) return type(value) == "table" and type(value.findRegex) == "string" end
local function is_rule(value) return type(value) == "table" and type(value.regex) == "string" end

local function all(list, fits)
  if not fields.is_list(list) or not list[1] then return false end
  for _, each in ipairs(list) do
    if not fits(each) then return false end
  end
  return true
end

local function is_preset(value) return fields.is_object(value) and all(value.rules, is_rule) end

--- The presets of a file: { name, rules } each.
local function presets_of(value)
  if is_script(value) then return { { name = "scripts", rules = core.json.array { value } } } end
  if all(value, is_script) or all(value, is_rule) then return { { name = "scripts", rules = value } } end
  if is_preset(value) then return { value } end
  if all(value, is_preset) then return value end
  return fields.is_object(value) and all(value.presets, is_preset) and value.presets or nil
end

function scripts.recognise(sample) return presets_of(sample.value) ~= nil end

--- Members of a script that have a meaning here.
local KNOWN = {
  "id", "scriptName", "findRegex", "replaceString", "trimStrings", "placement", "disabled", "markdownOnly",
  "promptOnly", "runOnEdit", "substituteRegex", "minDepth", "maxDepth",
}

--- Scripts have members that say when a program runs them; those that it does not know are reported.
local function note_script(script, path, notes)
  local known = {}
  for _, name in ipairs(KNOWN) do known[name] = true end
  notes.understood[#notes.understood + 1] = path
  if script.runOnEdit == true then
    notes.report:add("ignored member", "runOnEdit (each request is built again)")
  end
  for _, number in ipairs(fields.list(script, "placement") or {}) do
    if number == 3 then notes.report:add("ignored member", "placement 3 (there are no slash commands)") end
  end
  for name in pairs(script) do
    if not known[name] then notes.report:add("unknown member", ("%s.%s (left out)"):format(path, name)) end
  end
end

function scripts.read(source)
  local notes, presets = agents.notes(source.report), presets_of(source.value)
  if not presets then refuse("shape", "expected scripts with findRegex, or presets of rules with regex") end
  for i, preset in ipairs(presets) do
    for j, rule in ipairs(preset.rules) do
      local path = ("presets[%d].rules[%d]"):format(i - 1, j - 1)
      if is_script(rule) then note_script(rule, path, notes)
      else notes.understood[#notes.understood + 1] = path end
    end
  end
  return agents.result({ rules = { presets = presets } }, notes)
end

return scripts
