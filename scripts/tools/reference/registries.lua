--- Pages of what is registered: policies, processors, macros.

local ebb = require "ebb"
local macros = require "ebb.macros"
local markdown = require "reference.markdown"
local settings = require "ebb.pipeline.settings"
local tables = require "ebb.support.tables"

local registries = {}

local code = markdown.code

---- Policies ----

local function default_of(value)
  if value == nil then return "" end
  if type(value) == "table" and next(value) == nil then return "none" end
  return code(type(value) == "table" and table.concat(value, ",") or tostring(value))
end

local function values_of(declared)
  local words = {}
  for i, choice in ipairs(declared.choices or {}) do words[i] = code(choice) end
  if declared.min then words[#words + 1] = ("%s or more"):format(declared.min) end
  if declared.max then words[#words + 1] = ("%s or less"):format(declared.max) end
  return table.concat(words, ", ")
end

local function option_rows(options)
  local rows = {}
  for i, name in ipairs(tables.keys(options or {})) do
    local declared = options[name]
    rows[i] = { code(name), declared.type, default_of(declared.default), values_of(declared), declared.help or "" }
  end
  return rows
end

local OPTION_TITLES = { "option", "type", "default", "values", "meaning" }

---@return string
function registries.policies()
  local names, parts = {}, {}
  for name in pairs(ebb.policies) do names[#names + 1] = name end
  local rows = {}
  for i, name in ipairs(names) do rows[i] = { markdown.link(name), ebb.policies[name].summary } end
  parts[1] = [[
Built-in trim policies. In Lua: `chat:trim { budget = 4000, policy = { "keep_recent", keep = 6 } }`; in a command:
`--policy keep_recent:keep=6`. `ebb policies NAME` shows the same page. How to write one:
[your own policy](../guide/your-own-policy.md).]]
  parts[2] = markdown.table({ "policy", "" }, rows)
  for _, name in ipairs(names) do
    local policy = ebb.policies[name]
    parts[#parts + 1] = ("## %s\n"):format(name)
    parts[#parts + 1] = markdown.sentence(policy.summary)
    parts[#parts + 1] = markdown.table(OPTION_TITLES, option_rows(policy.options))
    parts[#parts + 1] = policy.help or ""
    parts[#parts + 1] = policy.example and markdown.block("sh", policy.example) or ""
  end
  return markdown.page("Trim policies", parts)
end

---- Processors ----

local function json_of(value)
  return value == nil and "" or code(ebb.json.encode(value))
end

local function field_rows(fields)
  local rows = {}
  for i, field in ipairs(fields or {}) do
    local choices = settings.choices(field)
    for n, choice in ipairs(choices) do choices[n] = code(tostring(choice)) end
    local hint = field.placeholder and (" (%s)"):format(field.placeholder) or ""
    rows[i] = { code(field.key), field.type or "text", json_of(field.default), table.concat(choices, ", "),
      (field.label or "") .. hint }
  end
  return rows
end

---@return string
function registries.processors()
  local rows, parts = {}, {}
  for i, each in ipairs(ebb.pipeline():order()) do
    local processor, setting = each.processor, each.setting
    rows[i] = { tostring(setting.priority), markdown.link(processor.id), setting.enabled and "yes" or "no",
      processor.description or processor.name }
    parts[#parts + 1] = ("## %s\n"):format(processor.id)
    parts[#parts + 1] = ("%s: %s."):format(processor.name, processor.description or processor.name)
    local fields = field_rows(processor.config_fields)
    parts[#parts + 1] = #fields > 0 and markdown.table({ "setting", "type", "default", "values", "meaning" }, fields)
      or "It has no settings of its own."
  end
  table.insert(parts, 1, [[
The processors of a pipeline, in the order in which they run. A setting is in an agent's or a model's file
(`"processors": {"token-limiter": {"budget": 8000}}`) or on the command line (`--set token-limiter.budget=8000`); every
processor has `enabled` and `priority`, too. How to write one: [your own processor](../guide/your-own-processor.md).]])
  table.insert(parts, 2, markdown.table({ "priority", "id", "runs by default", "" }, rows))
  return markdown.page("Processors", parts)
end

---- Macros ----

local STABILITY = {
  stable = "never changes", session = "holds for a session", turn = "holds for a turn",
  volatile = "changes with every request",
}

local MOMENT = 1762554605000   -- of all examples: November 7, 2025

local VALUES = {
  user = "Ann", char = "Mira", agent = "Mira", persona = "a traveller", description = "keeper of a lighthouse",
  personality = "patient", scenario = "a storm", mes_examples = "Ann: Loud! Mira: This is quiet.", group = "Mira, Bo",
  model = "gpt-4o", model_id = "openai/gpt-4o", model_name = "GPT-4o", profile_id = "p1", profile_name = "Evening",
  provider = "openai", agent_version = "1.2", input = "Good evening",
}

local HISTORY = { last = "Good evening", user = "Good evening", assistant = "Come in." }

--- Expands a macro's example; returns the result as a JSON text.
local function result_of(example)
  local environment = macros.environment {
    values = VALUES, now = MOMENT, seed = 1, session_id = "demo", history = function(kind) return HISTORY[kind] end,
  }
  return ebb.json.encode((macros.expand(example, environment)))
end

local function call_of(macro)
  local words = { macro.name }
  for _, parameter in ipairs(macro.parameters or {}) do words[#words + 1] = parameter end
  return "{{" .. table.concat(words, "::") .. "}}"
end

local VALUES_OF = [[
## Values of an environment

In Lua these names may be in `ebb.macros.environment { values = ... }`, and `call:value(name)` reads them. A pipeline
takes them from the agent, the user's profile and the model: `%s`.]]

---@return string
function registries.macros()
  local rows = {}
  for i, macro in ipairs(macros.list()) do
    local aliases = {}
    for n, alias in ipairs(macro.aliases or {}) do aliases[n] = code("{{" .. alias .. "}}") end
    local example = macro.example or "{{" .. macro.name .. "}}"
    rows[i] = { code(call_of(macro)), macro.summary, macro.example and code(macro.example) or "",
      code(result_of(example)), STABILITY[macro.stability] or macro.stability, table.concat(aliases, " ") }
  end
  return markdown.page("Macros", { [[
Macros are expanded in presets, in rules and in what a user types (`chat:input`). Arguments follow `::`; `name?` may be
left out, `name...` may be repeated. A first argument may also follow a blank or one colon: `{{roll 1d6}}`,
`{{roll:1d6}}`. A macro may be in the argument of another. An unknown one stays as it is, and `\{{`
writes braces. A value that changes with every request and comes before the history keeps the provider from caching
anything after it: the pipeline warns of that.

The results below are those of a user Ann and an agent Mira on November 7, 2025, as JSON strings. How to write a macro:
[here](../guide/your-own-processor.md#a-macro).]],
    markdown.table({ "macro", "meaning", "example", "result", "the value", "also" }, rows), VALUES_OF:format(
      table.concat(macros.values, "`, `")) })
end

return registries
