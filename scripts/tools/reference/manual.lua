--- man/ebb.1, from what the command line declares.

local host = require "ebb.host"
local parsers = require "reference.parsers"

local manual = {}

--- A text as roff: nothing in it is a request or an escape.
local function plain(text)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("\n%s*", "\n")
  return (text:gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1"))
end

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
  if command.epilog ~= "" then add(lines, ".PP", ".nf", (plain(command.epilog):gsub("\n+$", "")), ".fi") end
end

local DESCRIPTION = [[
Keeps the conversations that people and programs have with language models, and decides
what the model sees of them.
Input is a JSON array of messages, JSONL or a request body, from a file or from standard
input (\-).
Output has the shape of the input and goes to standard output, or atomically to a file
(\fB\-o\fR); diagnostics go to standard error.]]

local FILES = {
  { "~/.config/ebb/policies, ~/.config/ebb/filters", "Policies and filters that are found by name." },
  { "~/.config/ebb/models.json", "Models of your own: windows, encodings, prices." },
  { "~/.local/share/ebb/vocab, PREFIX/share/ebb/vocab", "Vocabularies for exact token counts." },
  { "~/.local/state/ebb", "The history of ebb repl." },
}

local ENVIRONMENT = {
  { "EBB_VOCAB_PATH", "A folder of vocabularies that is searched first." },
  { "XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME",
    "Absolute paths in place of ~/.config, ~/.local/share and ~/.local/state." },
  { "NO_COLOR", "If set and not empty, nothing is coloured." },
  { "COLUMNS", "The width of tables where standard error is not a terminal." },
}

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
  add_list(lines, "FILES", FILES)
  add_list(lines, "ENVIRONMENT", ENVIRONMENT)
  add(lines, ".SH EXAMPLES", ".nf",
    "ebb trim chat.json \\-\\-budget 4000 \\-\\-explain \\-o trimmed.json",
    "ebb count chat.json \\-\\-by message",
    "ebb trim \\-\\-replay chat.json \\-\\-budget 8000 \\-\\-policy keep_recent \\-\\-policy stable_prefix",
    ".fi", ".SH SEE ALSO", "The guide and the reference in PREFIX/share/doc/ebb.")
  return table.concat(lines, "\n") .. "\n"
end

return manual
