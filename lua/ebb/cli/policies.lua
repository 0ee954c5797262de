--- ebb policies: what trim policies there are, and what options one takes.

local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.grid"
local options = require "ebb.cli.options"
local policies = require "ebb.policies"
local suggest = require "ebb.support.suggest"
local terminal = require "ebb.cli.terminal"
local text = require "ebb.cli.text"

local command = {}

function command.declare(parser)
  parser:argument("policy", "A policy's name, or the file of one."):args("?")
  options.output(parser)
end

local function list()
  local rows = {}
  for i, name in ipairs(policies.names) do
    local note = name == policies.default and " (default)" or ""
    rows[i] = { name, (policies.find(name).summary or "") .. note }
  end
  return grid.render({ { title = "policy" }, { title = "what it does" } }, rows, terminal.columns(true))
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

local function shown_default(value)
  if value == nil then return "" end
  return type(value) == "table" and "(table)" or tostring(value)
end

local OPTION_COLUMNS = {
  { title = "option" }, { title = "type" }, { title = "default" }, { title = "values", max = 40 },
  { title = "meaning" },
}

local function describe(policy)
  local head = ("%s: %s\n"):format(policy.name, policy.summary or "a policy")
  local names = suggest.names(policy.options or {})
  if #names == 0 then return head .. "It takes no options.\n" end
  local rows = {}
  for i, name in ipairs(names) do
    local declared = policy.options[name]
    rows[i] = { name, declared.type, shown_default(declared.default), limits(declared), declared.help or "" }
  end
  return head .. "\n" .. grid.render(OPTION_COLUMNS, rows, terminal.columns(true))
end

function command.run(given)
  local out = given.policy and describe(failure.typed(policies.find, given.policy)) or list()
  terminal.result(text.printable(out, true), given.output)
end

return command
