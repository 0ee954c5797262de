--- docs/man/ebb.1, from what the command line declares.

local host = require "ebb.host"
local parsers = require "reference.parsers"
local topics = require "ebb.cli.view.topics"

local manual = {}

--- A text as roff: nothing in it is a request or an escape.
local function escape(text)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-")
  return (text:gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1"))
end

--- Escapes words that are filled into lines.
local function plain(text) return escape((text:gsub("\n%s*", "\n"))) end

--- Lines that stay as they are.
local function literal(text) return ".nf\n" .. escape((text:gsub("^\n+", ""):gsub("%s+$", ""))) .. "\n.fi" end

local function option_head(option)
  local names = {}
  for i, name in ipairs(option.names) do names[i] = "\\fB" .. plain(name) .. "\\fR" end
  return table.concat(names, ", ") .. (option.value ~= "" and " \\fI" .. plain(option.value) .. "\\fR" or "")
end

local function add(lines, ...)
  for _, line in ipairs { ... } do lines[#lines + 1] = line end
end

local function add_command(lines, command)
  add(lines, ".SS ebb " .. command.name, plain(command.summary), ".PP", "\\fB" .. plain(command.usage) .. "\\fR")
  for _, argument in ipairs(command.arguments) do
    add(lines, ".TP", "\\fI" .. plain(argument.names[1]) .. "\\fR", plain(argument.text))
  end
  for _, option in ipairs(command.options) do add(lines, ".TP", option_head(option), plain(option.text)) end
  if command.epilog ~= "" then add(lines, ".PP", literal(command.epilog)) end
end

local DESCRIPTION = [[
Keeps the conversations that people and programs have with language models, and decides
what the model sees of them.
Input is a JSON array of messages, JSONL or a request body, from a file or from standard
input (\-).
Output has the shape of the input and goes to standard output, or atomically to a file
(\fB\-o\fR); diagnostics go to standard error.]]

local function add_list(lines, title, list)
  add(lines, ".SH " .. title)
  for _, each in ipairs(list) do add(lines, ".TP", "\\fB" .. plain(each[1]) .. "\\fR", plain(each[2])) end
end

---@param exits { [1]: string, [2]: string }[]   exit codes with their meaning
---@return string
function manual.page(exits)
  local lines = {
    ".\\\" Written by `make docs` from the sources; edit those.",
    (".TH EBB 1 \"\" \"Ebb %s\" \"User Commands\""):format(host.version),
    ".SH NAME", "ebb \\- keep conversations with language models, and decide what the model sees",
    ".SH SYNOPSIS", ".B ebb", "\\fIcommand\\fR [\\fIoptions\\fR]",
    ".SH DESCRIPTION", DESCRIPTION, ".SH COMMANDS",
  }
  for _, command in ipairs(parsers.commands()) do add_command(lines, command) end
  add_list(lines, "EXIT STATUS", exits)
  add(lines, ".SH ENVIRONMENT AND FILES", literal(topics.text "environment"))
  add(lines, ".SH EXAMPLES", ".nf",
    "ebb trim chat.json \\-\\-budget 4000 \\-\\-explain \\-o trimmed.json",
    "ebb count chat.json \\-\\-by message",
    "ebb trim \\-\\-replay chat.json \\-\\-budget 8000 \\-\\-policy keep_recent \\-\\-policy stable_prefix",
    ".fi", ".SH SEE ALSO", "The guide, the reference and examples are in share/doc/ebb "
    .. "below the folder of the installation: /usr/local/share/doc/ebb, or /usr/share/doc/ebb.")
  return table.concat(lines, "\n") .. "\n"
end

return manual
