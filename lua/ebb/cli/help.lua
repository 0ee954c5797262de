--- ebb help: the commands, or one of them in full.

local commands = require "ebb.cli.commands"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.grid"
local suggest = require "ebb.support.suggest"
local terminal = require "ebb.cli.terminal"

local help = {}

function help.declare(parser)
  parser:argument("command", "The command to explain."):args("?")
end

local INTRODUCTION = "Usage: ebb <command> [options]\n\n" ..
  "Keeps conversations with language models, and decides what the model sees of them.\n"

local INPUT = "\nInput is a JSON array, JSONL or a request body. Output has the shape of the input and goes to " ..
  "standard output; diagnostics go to standard error.\n"

local CLOSING = "\n'ebb help <command>' explains a command, 'ebb policies' lists what can decide how to trim, " ..
  "'ebb --version' shows the version."

--- Exit statuses with their meanings.
help.statuses = {
  { "0", "done" },
  { "1", "check or diff found something" },
  { "2", "usage" },
  { "3", "done, but --lenient skipped or repaired something" },
  { "4", "cannot fit the budget" },
  { "5", "a script failed or left too much" },
  { "6", "bad input or a refused operation" },
  { "7", "input or output failed" },
  { "130", "interrupted by Ctrl-C" },
  { "141", "the reader of standard output ended first" },
}

local function summaries()
  local rows = {}
  for i, command in ipairs(commands.list) do
    rows[i] = { command.name, command.summary }
  end
  return rows
end

local function overview(page)
  return terminal.fill(page, INTRODUCTION) ..
    grid.render({ { title = "Command" }, { title = "", wrap = true } }, summaries(), page) ..
    terminal.fill(page, INPUT) ..
    grid.render({ { title = "Exit status" }, { title = "", wrap = true } }, help.statuses, page) ..
    terminal.fill(page, CLOSING)
end

function help.run(args)
  local name, page = args.command, terminal.reading()
  if not name then return terminal.result(overview(page)) end
  if not commands.by_name[name] then
    failure.usage(("unknown command '%s'"):format(name), suggest.hint(name, commands.names))
  end
  local parser = require "ebb.cli.parser"
  terminal.result(parser.help(parser.new(name), page))
end

return help
