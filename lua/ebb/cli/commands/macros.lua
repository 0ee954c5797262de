--- ebb macros: the macros of presets, rules and input, or one of them in full.

local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.view.grid"
local json_text = require "ebb.cli.view.json_text"
local macros = require "ebb.macros"
local options = require "ebb.cli.io.options"
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

local COLUMNS = { { title = "macro", max = 40, min = 16 }, { title = "what it gives", wrap = true } }

local function list(listings, page)
  local rows = {}
  for i, macro in ipairs(listings) do
    rows[i] = { form_of(macro), macro.summary or "" }
  end
  return grid.render(COLUMNS, rows, page)
end

local STABILITY = {
  stable = "never changes", session = "holds for a session", turn = "holds for a turn",
  volatile = "changes with every request",
}

local function describe(macro, page)
  local lines = { ("%s: %s"):format(form_of(macro), macro.summary or "") }
  local stable = STABILITY[macro.stability] or macro.stability
  if stable then lines[#lines + 1] = "  value     " .. stable end
  if macro.aliases and macro.aliases[1] then lines[#lines + 1] = "  also      " .. table.concat(macro.aliases, ", ") end
  if macro.example then lines[#lines + 1] = "  example   " .. macro.example end
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
  local listings = macros.list(options.macro_registry(args, options.loading(args)))
  local macro = args.macro and find(args.macro:match "^{{(.-)}}$" or args.macro, listings)
  local page = terminal.results(args.output)
  if args.json then return terminal.result(json_text.format(macro or listings), args.output) end
  terminal.result(macro and describe(macro, page) or list(listings, page), args.output)
end

return command
