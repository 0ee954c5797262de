--- ebb policies: the trim policies, or the options and help of one.

local core = require "ebb.support.core"
local built_in = require "ebb.policies"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.view.grid"
local json_text = require "ebb.cli.view.json_text"
local options = require "ebb.cli.io.options"
local policies = require "ebb.trim.policies"
local script_file = require "ebb.sandbox.script_file"
local script_path = require "ebb.sandbox.script_path"
local tables = require "ebb.support.tables"
local terminal = require "ebb.cli.view.terminal"

local command = {}

function command.declare(parser)
  parser:argument("policy", "The name of a policy, or its file."):args("?")
  options.policy_path(parser)
  options.output(parser)
  options.json(parser)
  parser:epilog(options.OWN_POLICY)
end

--- The file in the policy path whose policy has this name: a policy is found by the name of
--- its file only.
---@param name string
---@return string? path
function command.calling_itself(name)
  for _, file in ipairs(script_path.list(script_path.policies)) do
    local ok, policy = pcall(policies.find, file.name .. ".lua", { folder = file.folder .. "/" })
    if ok and policy.name == name then return file.path end
  end
end

--- Runs `call`, which looks for a policy by its name. For the name that a file gives its policy
--- the error names the file.
---@param call function
---@param word string
---@param loading? ebb.Loading
function command.named(call, word, loading)
  local ok, result = pcall(call, word, loading)
  if ok then return result end
  local name = word:match "^[^:]*"
  local path = core.is_error(result) and result.code == "unknown_name"
    and result.message:find("unknown policy", 1, true)
    and command.calling_itself(name)
  if path then
    failure.usage(result.message, ("%s has this name inside; it is found as '%s'"):format(path, script_file.name(path)))
  end
  error(result, 0)
end

--- The summary of a policy's file; the error of one that cannot be loaded.
local function summary_of(path)
  local ok, policy = pcall(policies.find, path)
  return ok and policy.summary or ok and "a policy" or tostring(policy):match "^[^\n]*"
end

--- The names by which policies are found: the built-in ones, then files of the policy path with their path.
---@return { name: string, path: string?, folder: string? }[]
local function listed_names()
  local rows, listed = {}, {}
  for i, name in ipairs(policies.names) do
    rows[i], listed[name] = { name = name }, true
  end
  for _, file in ipairs(script_path.list(script_path.policies)) do
    if not listed[file.name] then rows[#rows + 1] = file end
  end
  return rows
end

local function list(page)
  local rows = {}
  for i, row in ipairs(listed_names()) do
    local note = row.name == policies.default and " (default)" or ""
    rows[i] = { row.name, row.path and ("%s (%s)"):format(summary_of(row.path), row.folder)
      or (policies.find(row.name).summary or "") .. note }
  end
  return grid.render({ { title = "policy" }, { title = "what it does", wrap = true } }, rows, page)
end

local function limits(declaration)
  local words = {}
  if declaration.choices then
    for i, choice in ipairs(declaration.choices) do
      words[i] = tostring(choice)
    end
    return table.concat(words, " | ")
  end
  if declaration.min then words[1] = ("%s or more"):format(declaration.min) end
  if declaration.max then words[#words + 1] = ("%s or less"):format(declaration.max) end
  return table.concat(words, ", ")
end

local function shown_default(declaration)
  local value = declaration.default
  if declaration.required then return "(required)" end
  if value == nil then return "" end
  if type(value) == "table" then return next(value) == nil and "none" or table.concat(value, ",") end
  return tostring(value)
end

local OPTION_COLUMNS = {
  { title = "option" }, { title = "type", rank = 1 }, { title = "default", max = 40, min = 8 },
  { title = "values", min = 12, rank = 2 }, { title = "meaning", wrap = true },
}

local function describe_options(policy, page)
  local names = tables.keys(policy.options or {})
  if #names == 0 then return "It has no options.\n" end
  local rows = {}
  for i, name in ipairs(names) do
    local declared = policy.options[name]
    rows[i] = { name, declared.type, shown_default(declared), limits(declared), declared.help or "" }
  end
  return "\n" .. grid.render(OPTION_COLUMNS, rows, page)
end

--- The page of a policy: its summary, its options, its help, an example.
local function describe(policy, page)
  local pieces = {
    terminal.fill(page, ("%s: %s"):format(policy.name, policy.summary or "a policy")), describe_options(policy, page),
  }
  if policy.help then pieces[#pieces + 1] = "\n" .. terminal.fill(page, policy.help) end
  if policy.example then
    local result = built_in.find(policy.name) == policy and (", whose result is scripts/policies/%s.out.json")
      :format(policy.name) or ""
    pieces[#pieces + 1] = terminal.fill(page, ("\nExample%s\n  %s"):format(result, policy.example), "    ")
  end
  return table.concat(pieces)
end

--- A policy as JSON. Options have their names in the policy.
local function to_data(policy)
  local declared = core.json.array {}
  for _, name in ipairs(tables.keys(policy.options or {})) do
    local option = policy.options[name]
    declared[#declared + 1] = {
      name = name, type = option.type, default = option.default, required = option.required, min = option.min,
      max = option.max, choices = option.choices and core.json.array { table.unpack(option.choices) },
      help = option.help,
    }
  end
  return {
    name = policy.name, summary = policy.summary, isDefault = policy.name == policies.default, options = declared,
    help = policy.help, example = policy.example,
  }
end

--- Lists all policies as JSON; a file that cannot be loaded has its `error`.
local function list_as_json()
  local data = core.json.array {}
  for i, row in ipairs(listed_names()) do
    local ok, policy = pcall(policies.find, row.path or row.name)
    data[i] = ok and to_data(policy) or { error = tostring(policy) }
    data[i].name, data[i].file = row.name, row.path
  end
  return data
end

function command.run(args)
  options.use_policy_path(args)
  local page = terminal.results(args.output)
  local policy = args.policy and failure.typed(command.named, policies.find, args.policy)
  local out
  if args.json then out = json_text.format(policy and to_data(policy) or list_as_json())
  else out = policy and describe(policy, page) or list(page) end
  terminal.result(out, args.output)
end

return command
