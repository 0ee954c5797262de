--- The command lines, read by argparse. How they fail, and how wide help is, is ours.

local argparse = require "argparse"
local commands = require "ebb.cli.command_list"
local failure = require "ebb.cli.failure"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"
local text = require "ebb.cli.view.text"

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

--- The hint at -i, where a command writes over no file.
local function in_place_hint(command_parser)
  local writes = tables.contains(option_names(command_parser), "--output")
  return ("%s writes over no file%s"):format(command_parser._name, writes and ": -o names the one to write" or "")
end

local function fail(command_parser, message)
  local first = message:match "^[^\n]*"
  local unknown = first:match "^unknown option '(%-%-?.*)'$"
  if unknown == "-i" or unknown == "--in-place" then failure.usage(first, in_place_hint(command_parser)) end
  local nearest = unknown and unknown:find "^%-%-" and suggest.nearest(unknown, option_names(command_parser))
  local hint = nearest and ("did you mean '%s'?"):format(nearest)
  failure.usage(first, hint or ("see '%s --help'"):format(command_parser._name))
end

local NARROW = 60   -- cells of a line below which descriptions are below their options

--- The line of usage: argparse's own lists all options, which no one reads.
local function usage_of(command_parser)
  local words = { "Usage:", command_parser._name, "[options]" }
  for _, argument in ipairs(command_parser._arguments) do
    words[#words + 1] = argument:_get_usage()
  end
  return table.concat(words, " ")
end

--- Puts the options that have no group in a first one: argparse would put them last.
local function group_rest(command_parser, help)
  local rest, grouped = { name = "Options" }, { [help] = true }
  for _, group in ipairs(command_parser._groups) do
    for _, option in ipairs(group) do
      grouped[option] = true
    end
  end
  for _, option in ipairs(command_parser._options) do
    if not grouped[option] then rest[#rest + 1] = option end
  end
  rest[#rest + 1] = help
  table.insert(command_parser._groups, rest[2] and 1 or #command_parser._groups + 1, rest)
end

---@param name string     of the command
---@return table parser   of argparse
function parser.new(name)
  local command_parser = argparse("ebb " .. name, commands.by_name[name].summary)
  command_parser:add_help(false)
  require("ebb.cli.commands." .. name).declare(command_parser)
  local help = command_parser:flag("-h --help", "Show this help."):action(function() error(HELP, 0) end)
  group_rest(command_parser, help)
  command_parser.error = fail
  return command_parser
end

--- True if a command has an option of this name.
---@param name string     of the command
---@param option string   such as "--session"
---@return boolean
function parser.has(name, option) return tables.contains(option_names(parser.new(name)), option) end

--- One parser with all commands below it, for completions.
---@return table parser
function parser.whole()
  local whole = argparse "ebb":add_help(false)
  whole:flag("-h --help", "Show help.")
  whole:flag("-V --version", "Show the version.")
  for _, command in ipairs(commands.list) do
    local part = whole:command(command.name, command.summary):add_help(false)
    require("ebb.cli.commands." .. command.name).declare(part)
    part:flag("-h --help", "Show this help.")
  end
  return whole
end

--- The help of a command.
---@param command_parser table
---@param page ebb.cli.Page
---@return string
function parser.help(command_parser, page)
  local width = page.width
  command_parser:help_max_width(width):help_description_margin(width < NARROW and 8 or 25)
  command_parser:usage(usage_of(command_parser))
  local lines = text.wrap(command_parser:get_help(), width, "    ")
  for i, line in ipairs(lines) do
    if line:find "^%u[%l ]+:$" then lines[i] = page.paint("title", line) end
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Options whose value may be left out, with the values they take; the first one is the default. argparse
--- would take any next word for the value.
local BARE = { ["--repair"] = { "drop", "synthesize" }, ["--graph"] = { "dot", "svg" } }

--- Joins options with their values where argparse would read them otherwise. A negative
--- number is a value, because no option begins with a digit.
local function with_values(words)
  local filled, literal = {}, false
  for i, word in ipairs(words) do
    literal = literal or word == "--"
    local option, before = not literal and BARE[word], words[i - 1]
    local values = not literal and before and BARE[before]
    if option then
      filled[#filled + 1] = ("%s=%s"):format(word, tables.contains(option, words[i + 1]) and words[i + 1] or option[1])
    elseif not literal and word:find "^%-%d" and before and before:find "^%-%-[%l%-]+$" then
      filled[#filled] = before .. "=" .. word
    elseif not (values and tables.contains(values, word)) then
      filled[#filled + 1] = word
    end
  end
  return filled
end

--- Reads the words of a command line.
---@param command_parser table
---@param words string[]
---@return table? args      nil: --help is among them
function parser.parse(command_parser, words)
  local ok, result = pcall(command_parser.parse, command_parser, with_values(words))
  if ok then return result end
  if result ~= HELP then error(result, 0) end
end

return parser
