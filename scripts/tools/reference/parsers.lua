--- Returns as plain data what the command line's parsers declare.

local commands = require "ebb.cli.command_list"
local parser = require "ebb.cli.parser"

local parsers = {}

---@class reference.Argument
---@field names string[]       of an option: "-o", "--output"; of an argument: its placeholder
---@field value string         what follows the option, such as "<file>", or ""
---@field text string
---@field repeatable boolean

---@class reference.Command
---@field name string
---@field summary string
---@field usage string
---@field arguments reference.Argument[]
---@field options reference.Argument[]
---@field epilog string

local function value_of(option)
  local words = option:_get_argument_list()
  return table.concat(words, " ")
end

local function option_of(option)
  return { names = option._aliases, value = value_of(option), text = option._description or "",
    repeatable = option._maxcount > 1 }
end

--- argparse has no public way to list what was declared; these are the fields that its own help reads.
local function elements(list, convert)
  local converted = {}
  for _, element in ipairs(list) do
    if not element._hidden then converted[#converted + 1] = convert(element) end
  end
  return converted
end

local function argument_of(argument)
  local words = argument:_get_argument_list()
  return { names = { table.concat(words, " ") }, value = "", text = argument._description or "", repeatable = false }
end

local function usage_of(command_parser)
  return (command_parser:get_usage():gsub("^Usage:%s*", ""):gsub("%s*\n%s*", " "))
end

---@return reference.Command[]
function parsers.commands()
  local list = {}
  for i, command in ipairs(commands.list) do
    local command_parser = parser.new(command.name)
    list[i] = {
      name = command.name, summary = command.summary, usage = usage_of(command_parser),
      arguments = elements(command_parser._arguments, argument_of),
      options = elements(command_parser._options, option_of),
      epilog = command_parser._epilog or "",
    }
  end
  return list
end

return parsers
