--- ebb rules test: what the rules of a file make of a text.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.view.grid"
local json_file = require "ebb.support.json_file"
local json_text = require "ebb.cli.view.json_text"
local macros = require "ebb.macros"
local options = require "ebb.cli.io.options"
local rules = require "ebb.rules"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

local command = {}

command.BYTES_MAX = 64 * 1024 * 1024   -- bytes

function command.declare(parser)
  parser:argument("action", "test."):choices { "test" }
  parser:argument("file", "JSON: a rule, a list of rules, a preset or an agent; SillyTavern's scripts, too.")
  parser:option("--text", "The text to rewrite; default: the testInput of each rule."):argname("<text>")
  options.macros(parser)
  options.sandbox(parser)
  options.output(parser)
  options.json(parser)
  parser:epilog(options.examples { "ebb rules test quotes.json", "ebb rules test agent.json --text 'He said \"Hi\".'" })
end

--- Collects the rules of a file in their order, however they are nested, each with its path.
local function collect(value, list, path)
  if type(value) ~= "table" then return list end
  if value.regex or value.findRegex then
    list[#list + 1] = { rule = value, path = path }
    return list
  end
  local function collect_at(key)
    if not value[key] then return end
    local inner = table.move(path, 1, #path, 1, {})
    inner[#inner + 1] = key
    collect(value[key], list, inner)
  end
  collect_at "presets"
  collect_at(value.rules and "rules" or "regexConfig")
  for _, level in ipairs { "global", "agent", "user" } do collect_at(level) end
  for place = 1, #value do collect_at(place) end
  return list
end

local function name_of(rule, position)
  local name = rule.name or rule.scriptName or rule.id
  return type(name) == "string" and name or ("rule %d"):format(position)
end

--- Returns a function that expands the macros of rules; nil if no file of macros is named: they then stay unexpanded.
local function expansion_of(args)
  local own_macros = require "ebb.pipeline.own_macros"
  local registry = own_macros.fresh(options.macro_registry(args, options.loading(args)))
  local environment = registry and macros.environment { registry = registry, now = core.now() }
  return environment and function(input)
    local output, report = macros.expand(input, environment)
    for _, problem in ipairs(report.errors) do
      terminal.say(("ebb rules: warning: %s"):format(problem.message))
    end
    return output
  end
end

local function try(list, input, expand)
  local results = core.json.array {}
  for i, entry in ipairs(list) do
    local output, replacements = rules.test(entry.rule, { input = input, expand = expand })
    results[i] = { rule = name_of(entry.rule, i), output = output }
    if output then results[i].replacements = replacements
    else results[i].problem, entry.problem = replacements.message, replacements end
  end
  return results
end

local COLUMNS = {
  { title = "rule", max = 30, min = 10 }, { title = "hits", right = true }, { title = "result", wrap = true },
}

local function as_text(results, page)
  local rows = {}
  for i, result in ipairs(results) do
    rows[i] = { result.rule, result.problem and "" or tostring(result.replacements), result.problem or result.output,
      colour = result.problem and "error" or nil }
  end
  return grid.render(COLUMNS, rows, page)
end

function command.run(args)
  local file = json_file.parse(options.name(args.file), failure.check(core.read_file(args.file, command.BYTES_MAX)))
  local list = collect(file.value, {}, {})
  if #list == 0 then
    failure.raise(failure.REFUSED, args.file .. ": no rules found", 'a rule is {"regex": "...", "replacement": "..."}')
  end
  local results = try(list, args.text, expansion_of(args))
  local out = args.json and json_text.format(results) or as_text(results, terminal.results(args.output))
  terminal.result(out, args.output)
  local problems = 0
  for _, entry in ipairs(list) do
    if entry.problem then
      problems = problems + 1
      terminal.say("ebb rules: " .. json_file.placed(file, entry.path, entry.problem).message)
    end
  end
  if problems > 0 then failure.raise(failure.REFUSED, text.count(problems, "rule") .. " could not be run") end
end

return command
