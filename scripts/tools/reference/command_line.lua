--- The page of the command line.

local markdown = require "reference.markdown"
local parsers = require "reference.parsers"
local topics = require "ebb.cli.view.topics"

local command_line = {}

local code = markdown.code

local function option_words(option)
  local words = {}
  for i, name in ipairs(option.names) do words[i] = code(name) end
  return table.concat(words, ", ") .. (option.value ~= "" and " " .. code(option.value) or "")
end

local function rows_of(list)
  local rows = {}
  for i, each in ipairs(list) do rows[i] = { option_words(each), each.text } end
  return rows
end

local function render(command)
  local epilog = command.epilog ~= "" and markdown.block("text", command.epilog) or ""
  return {
    ("## ebb %s\n"):format(command.name), command.summary,
    markdown.block("sh", command.usage),
    markdown.table({ "argument", "" }, rows_of(command.arguments)),
    markdown.table({ "option", "" }, rows_of(command.options)),
    epilog,
  }
end

---@param help string     what `ebb help` prints
---@return string
function command_line.page(help)
  local parts = { markdown.block("text", help) }
  for _, command in ipairs(parsers.commands()) do
    for _, part in ipairs(render(command)) do parts[#parts + 1] = part end
  end
  parts[#parts + 1] = "## Environment and files\n"
  parts[#parts + 1] = markdown.block("text", topics.text "environment")
  return markdown.page("Command line", parts)
end

return command_line
