--- One command's line, read by argparse; only the manner of failing is ours.

local argparse = require "argparse"
local commands = require "ebb.cli.commands"
local failure = require "ebb.cli.failure"
local suggest = require "ebb.support.suggest"

local parser = {}

local HELP = {}   -- raised by --help; argparse itself would print and exit

local function option_names(command_parser)
  local names = {}
  for _, option in ipairs(command_parser._options) do
    for _, alias in ipairs(option._aliases) do
      if alias:sub(1, 2) == "--" then names[#names + 1] = alias end
    end
  end
  return names
end

local function fail(command_parser, message)
  local first = message:match "^[^\n]*"
  local unknown = first:match "^unknown option '(%-%-.*)'$"
  local nearest = unknown and suggest.nearest(unknown, option_names(command_parser))
  local hint = nearest and ("did you mean '%s'?"):format(nearest)
  failure.usage(first, hint or ("see '%s --help'"):format(command_parser._name))
end

---@param name string     of the command
---@param declare fun(parser: table)
---@return table parser
function parser.new(name, declare)
  local made = argparse("ebb " .. name, commands.by_name[name].summary)
  made:add_help(false):help_max_width(100):usage_max_width(100)
  declare(made)
  made:flag("-h --help", "Show this help."):action(function() error(HELP, 0) end)
  made.error = fail
  return made
end

--- Options whose value may be left out, and then is this. argparse would take the
--- next word for it.
local BARE = { ["--repair"] = "drop" }

--- A negative number is a value: no option of ours begins with a digit.
local function with_values(words)
  local filled, literal = {}, false
  for _, word in ipairs(words) do
    literal = literal or word == "--"
    local value, option = not literal and BARE[word], filled[#filled]
    if not literal and word:find "^%-%d" and option and option:find "^%-%-[%l%-]+$" then
      filled[#filled] = option .. "=" .. word
    else
      filled[#filled + 1] = value and word .. "=" .. value or word
    end
  end
  return filled
end

--- The options, or nil if help was asked for.
---@param made table
---@param words string[]
---@return table?
function parser.parse(made, words)
  local ok, result = pcall(made.parse, made, with_values(words))
  if ok then return result end
  if result ~= HELP then error(result, 0) end
end

return parser
