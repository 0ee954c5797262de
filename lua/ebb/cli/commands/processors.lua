--- ebb processors: the stages of a pipeline, or the settings of one.

local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.view.grid"
local json_text = require "ebb.cli.view.json_text"
local options = require "ebb.cli.io.options"
local plugins = require "ebb.pipeline.plugins"
local registry = require "ebb.pipeline.registry"
local script_path = require "ebb.sandbox.script_path"
local settings = require "ebb.pipeline.settings"
local tables = require "ebb.support.tables"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

local command = {}

function command.declare(parser)
  parser:argument("id", "A processor's id, or message-formatters for these four."):args("?")
  parser:option("--processor --plugin", "Your own processor: a Lua file, or a folder of them. Repeatable.")
    :argname("<file>"):count("*"):target("plugins")
  options.sandbox(parser)
  options.output(parser)
  options.json(parser)
end

---- All of them ----

local LIST = {
  { title = "priority", right = true, rank = 1 }, { title = "id" }, { title = "runs", rank = 2 },
  { title = "what it does", wrap = true },
}

--- Processors of the user's folder, which run where they are named: {each, file}, or {problem, file}.
local function list_own(pipeline, loading)
  local rows = {}
  for _, file in ipairs(script_path.list(script_path.processors)) do
    if not pipeline.registry.entries[file.name] then
      local ok, result = pcall(plugins.find, file.name, loading, plugins.PROCESSOR)
      if not ok and not core.is_error(result) then error(result, 0) end
      local setting = ok and { priority = result.priority or registry.PLUGIN_PRIORITY, enabled = false }
      rows[#rows + 1] = { file = file, problem = not ok and result or nil,
        each = ok and { processor = result, setting = setting, is_core = result.is_core or false } or nil }
    end
  end
  return rows
end

local function list(pipeline, loading, page)
  local rows = {}
  for i, each in ipairs(pipeline:order()) do
    rows[i] = { tostring(each.setting.priority), each.processor.id, each.setting.enabled and "yes" or "no",
      each.processor.description or each.processor.name }
  end
  for _, own in ipairs(list_own(pipeline, loading)) do
    local processor, folder = own.each and own.each.processor, own.file.folder
    rows[#rows + 1] = { processor and tostring(own.each.setting.priority) or "", own.file.name, "if named",
      processor and ("%s (%s)"):format(processor.description or processor.name, folder) or own.problem.message }
  end
  return grid.render(LIST, rows, page)
end

---- One of them ----

local FIELDS = {
  { title = "setting" }, { title = "type", rank = 1 }, { title = "default", max = 40, min = 8 },
  { title = "values", min = 12, rank = 2 }, { title = "meaning", wrap = true },
}

local function text_of_value(value)
  if value == nil then return "" end
  return type(value) == "string" and core.json.encode(value) or tostring(value)
end

local function describe(each, page)
  local processor, rows = each.processor, {}
  for i, field in ipairs(processor.config_fields or {}) do
    local choices = settings.choices(field)
    for n, choice in ipairs(choices) do
      choices[n] = tostring(choice)
    end
    local meaning = (field.label or "") .. (field.placeholder and (" (%s)"):format(field.placeholder) or "")
      .. (field.help and (field.label and ". " or "") .. field.help or "")
    rows[i] = { field.key, field.type or "text", text_of_value(field.default), table.concat(choices, " | "), meaning }
  end
  local head = ("%s (%s)%s\npriority %s, %s"):format(processor.id, processor.name,
    processor.description and ": " .. processor.description or "",
    tostring(each.setting.priority), each.setting.enabled and "runs by default" or "off by default")
  head = terminal.fill(page, head)
  if #rows == 0 then return head .. "It has no settings of its own.\n" end
  local example = ("\n--set %s.%s=...\n"):format(processor.id, rows[1][1])
  return ("%s\n%s%s"):format(head, grid.render(FIELDS, rows, page), text.printable(example, true))
end

local function describe_all(chosen, page)
  local texts = {}
  for i, each in ipairs(chosen) do
    texts[i] = describe(each, page)
  end
  return table.concat(texts, "\n")
end

--- The processor of an id, or those of a group, in the order in which they run.
local function find(pipeline, id)
  local ids, chosen = failure.typed(pipeline.registry.ids_of, pipeline.registry, id), {}
  for _, each in ipairs(pipeline:order()) do
    if tables.contains(ids, each.processor.id) then chosen[#chosen + 1] = each end
  end
  return chosen
end

--- All that a form needs of a field; options are as they are declared, with their labels.
local function field_data(field)
  local choices = field.options and core.json.array(tables.copy(field.options)) or nil
  return { key = field.key, label = field.label, type = field.type or "text", default = field.default,
    placeholder = field.placeholder, help = field.help, options = choices,
    whole = field.whole, min = field.min, max = field.max }
end

local function as_data(each)
  local fields = core.json.array {}
  for i, field in ipairs(each.processor.config_fields or {}) do
    fields[i] = field_data(field)
  end
  return {
    id = each.processor.id, name = each.processor.name, description = each.processor.description,
    icon = each.processor.icon, priority = each.setting.priority, enabled = each.setting.enabled, isCore = each.is_core,
    configFields = fields,
  }
end

function command.run(args)
  local loading = options.loading(args)
  local pipeline = failure.typed(ebb.pipeline, { processors = args.plugins, limits = loading.limits,
    trusted = loading.trusted or nil })
  local chosen = args.id and find(pipeline, args.id) or pipeline:order()
  local out
  if args.json then
    local data = core.json.array {}
    for i, each in ipairs(chosen) do
      data[i] = as_data(each)
    end
    for _, own in ipairs(args.id and {} or list_own(pipeline, loading)) do
      data[#data + 1] = own.each and as_data(own.each) or { id = own.file.name, problem = own.problem.message }
      data[#data].file = own.file.path
    end
    out = json_text.format(args.id and #data == 1 and data[1] or data)
  else
    local page = terminal.results(args.output)
    out = args.id and describe_all(chosen, page) or list(pipeline, loading, page)
  end
  terminal.result(out, args.output)
end

---- The merged settings of a pipeline, for `ebb pipeline --show-config` ----

local CONFIG = {
  { title = "priority", right = true, rank = 1 }, { title = "processor", min = 12 }, { title = "setting" },
  { title = "value", max = 48, min = 12 }, { title = "from" },
}

local function config_rows(each)
  local setting, id = each.setting, each.processor.id
  local rows = { { tostring(setting.priority), id, "enabled", tostring(setting.enabled), setting.origins.enabled } }
  if setting.origins.priority ~= "default" then
    rows[2] = { "", "", "priority", tostring(setting.priority), setting.origins.priority }
  end
  for _, field in ipairs(each.processor.config_fields or {}) do
    rows[#rows + 1] = { "", "", field.key, text_of_value(setting.values[field.key]), setting.origins[field.key] }
  end
  return rows
end

--- The text of `ebb pipeline --show-config`.
---@param pipeline ebb.Pipeline
---@param args table
---@return string
function command.config(pipeline, args)
  if args.json then return json_text.format(core.json.array(pipeline:settings())) end
  local rows = {}
  for _, each in ipairs(pipeline:order()) do
    for _, row in ipairs(config_rows(each)) do
      rows[#rows + 1] = row
    end
  end
  return grid.render(CONFIG, rows, terminal.results(args.output))
end

return command
