--- ebb help: the commands and topics, or one of them in full.

local commands = require "ebb.cli.command_list"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.view.grid"
local suggest = require "ebb.support.suggest"
local terminal = require "ebb.cli.view.terminal"
local topics = require "ebb.cli.view.topics"

local help = {}

function help.declare(parser)
  parser:argument("command", "The command or topic to explain."):args("?")
end

local INTRODUCTION = "Usage: ebb <command> [options]\n\n" ..
  "Keeps conversations with language models, and decides what the model sees of them.\n"

local INPUT = "\nInput is a JSON array, JSONL or a request body. Output has the shape of the input and goes to " ..
  "standard output; diagnostics go to standard error.\n"

local CLOSING = "\n'ebb help <command>' explains a command or a topic, 'ebb policies' lists what can decide how " ..
  "to trim, 'ebb --version' shows the version."

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

local function table_of(title, list, page)
  local rows = {}
  for i, entry in ipairs(list) do
    rows[i] = { entry.name, entry.summary }
  end
  return grid.render({ { title = title }, { title = "", wrap = true } }, rows, page)
end

local function explain_topic(name, page)
  local explanation = topics.text(name)
  if explanation then return terminal.result(terminal.fill(page, explanation)) end
  local names = table.move(commands.names, 1, #commands.names, 1, {})
  for _, topic in ipairs(topics.list) do
    names[#names + 1] = topic.name
  end
  failure.usage(("unknown command '%s'"):format(name), suggest.hint(name, names) or "see 'ebb help'")
end

local function overview(page)
  return terminal.fill(page, INTRODUCTION) ..
    table_of("Command", commands.list, page) .. "\n" .. table_of("Topic", topics.list, page) ..
    terminal.fill(page, INPUT) ..
    grid.render({ { title = "Exit status" }, { title = "", wrap = true } }, help.statuses, page) ..
    terminal.fill(page, CLOSING)
end

function help.run(args)
  local name, page = args.command, terminal.reading()
  if not name then return terminal.result(overview(page)) end
  if not commands.by_name[name] then return explain_topic(name, page) end
  local parser = require "ebb.cli.parser"
  terminal.result(parser.help(parser.new(name), page))
end

return help
