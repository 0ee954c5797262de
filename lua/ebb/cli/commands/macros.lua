--- ebb macros: the macros of presets, rules and input, those of the user's folder too, or one of them in full.

local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.view.grid"
local json_text = require "ebb.cli.view.json_text"
local macros = require "ebb.macros"
local options = require "ebb.cli.io.options"
local own_macros = require "ebb.pipeline.own_macros"
local registries = require "ebb.macros.registry"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"
local terminal = require "ebb.cli.view.terminal"

local command = {}

function command.declare(parser)
  parser:argument("macro", "A macro's name."):args("?")
  options.macros(parser)
  options.sandbox(parser)
  options.output(parser)
  options.json(parser)
  parser:epilog(options.examples { "ebb macros", "ebb macros roll", "ebb macros shout --macro shout.lua" })
end

--- The macro as it is written: {{roll::formula?}}.
local function form_of(macro)
  local words = table.move(macro.parameters or {}, 1, #(macro.parameters or {}), 2, { macro.name })
  return "{{" .. table.concat(words, "::") .. "}}"
end

--- Macros of the user's folder that a text can use: those whose names are not built in, or given.
local function list_own(registry, loading)
  local rows = {}
  for _, own in ipairs(own_macros.of_folder(loading)) do
    if not (registry or registries.built_in()):has(own.file.name) then rows[#rows + 1] = own end
  end
  return rows
end

--- Returns the members of such a macro that the list shows, or the name and the problem of a file that has no macro.
local function describe_own(own)
  local macro = own.macro
  if not macro then return { name = own.file.name, problem = own.problem.message, file = own.file.path } end
  return { name = macro.name, summary = macro.summary, parameters = macro.parameters, stability = macro.stability,
    example = macro.example, aliases = macro.aliases, file = own.file.path }
end

local COLUMNS = { { title = "macro", max = 40, min = 16 }, { title = "what it gives", wrap = true } }

local function list(listings, page)
  local rows = {}
  for i, macro in ipairs(listings) do
    local folder = macro.file and macro.file:match "^(.*)/"
    local said = macro.problem or folder and ("%s (%s)"):format(macro.summary, folder) or macro.summary or ""
    rows[i] = { form_of(macro), said }
  end
  return grid.render(COLUMNS, rows, page)
end

local STABILITY = {
  stable = "never changes", session = "holds for a session", turn = "holds for a turn",
  volatile = "changes with every request",
}

local function describe(macro, page)
  if macro.problem then return terminal.fill(page, macro.problem) end
  local lines = { ("%s: %s"):format(form_of(macro), macro.summary or "") }
  local stable = STABILITY[macro.stability] or macro.stability
  if stable then lines[#lines + 1] = "  value     " .. stable end
  if macro.aliases and macro.aliases[1] then lines[#lines + 1] = "  also      " .. table.concat(macro.aliases, ", ") end
  if macro.example then lines[#lines + 1] = "  example   " .. macro.example end
  if macro.file then lines[#lines + 1] = "  file      " .. macro.file end
  return terminal.fill(page, table.concat(lines, "\n"), "            ")
end

local function find(name, listings)
  local names = {}
  for _, macro in ipairs(listings) do
    if macro.name == name or tables.contains(macro.aliases or {}, name) then return macro end
    names[#names + 1] = macro.name
  end
  failure.usage(("unknown macro '%s'"):format(name), suggest.hint(name, names) or "`ebb macros` lists them")
end

function command.run(args)
  local loading = options.loading(args)
  local registry = options.macro_registry(args, loading)
  local listings = macros.list(registry)
  for _, own in ipairs(list_own(registry, loading)) do listings[#listings + 1] = describe_own(own) end
  local macro = args.macro and find(args.macro:match "^{{(.-)}}$" or args.macro, listings)
  local page = terminal.results(args.output)
  if args.json then return terminal.result(json_text.format(macro or listings), args.output) end
  terminal.result(macro and describe(macro, page) or list(listings, page), args.output)
end

return command
