--- ebb help: the commands, or one of them in full.

local commands = require "ebb.cli.commands"
local failure = require "ebb.cli.failure"
local suggest = require "ebb.support.suggest"
local terminal = require "ebb.cli.terminal"

local help = {}

function help.declare(parser)
  parser:argument("command", "The command to explain."):args("?")
end

local FRAME = [[
Usage: ebb <command> [options]

Keeps the conversations that people and programs have with language models, and
decides what the model sees of them.

%s

Input is a JSON array, JSONL or a request body; output has the shape of the
input and goes to standard output, all else to standard error.
Exit status: 0 done; 1 check or diff found something; 2 usage; 3 done, but --lenient
skipped or mended something; 4 cannot fit; 5 a script failed or left too much; 6 bad
input or a refused operation; 7 input or output failed; 130 Ctrl-C.

'ebb help <command>' explains a command, 'ebb policies' what can decide how to trim;
'ebb --version' tells the version.
]]

local function overview()
  local lines = {}
  for i, command in ipairs(commands.list) do
    lines[i] = ("  %-10s %s"):format(command.name, command.summary)
  end
  return FRAME:format(table.concat(lines, "\n"))
end

function help.run(args)
  local name = args.command
  if not name then return terminal.result(overview()) end
  if not commands.by_name[name] then
    failure.usage(("unknown command '%s'"):format(name), suggest.hint(name, commands.names))
  end
  local parser = require "ebb.cli.parser"
  terminal.result(parser.new(name, require("ebb.cli." .. name).declare):get_help() .. "\n")
end

return help
