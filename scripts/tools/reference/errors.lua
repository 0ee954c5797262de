--- Exit codes of the command and codes of errors.

local annotations = require "reference.annotations"
local help = require "ebb.cli.commands.help"
local markdown = require "reference.markdown"

local errors = {}

--- The alias ebb.ErrorCode of the annotations.
---@param sources string[]     texts of the annotation files
---@return { value: string, text: string }[]
function errors.codes(sources)
  for _, source in ipairs(sources) do
    for _, item in ipairs((annotations.read(source))) do
      if item.name == "ebb.ErrorCode" then return item.values end
    end
  end
  return {}
end

---@param sources string[]
---@return string
function errors.page(sources)
  local exits, codes = {}, {}
  for i, each in ipairs(help.statuses) do exits[i] = { markdown.code(each[1]), each[2] } end
  for i, each in ipairs(errors.codes(sources)) do codes[i] = { markdown.code(each.value:gsub('"', "")), each.text } end
  return markdown.page("Errors and exit codes", {
    "## Exit codes of the command\n", markdown.table({ "code", "" }, exits),
    "## Codes of errors\n", [[
In Lua an invalid edit or argument raises an error object `{code, message, hint}`, whose `tostring` is readable; calls
that the world may refuse (`trim`, `load`, `save`) return `nil` and such an object. In C the codes are the names of
`ebb_status` in small letters, and `ebb_last_error` has code and message. Whatever failed, nothing has changed; of a
workflow, nothing that the failed node did: the nodes before it have their batches.]],
    markdown.table({ "code", "" }, codes),
  })
end

return errors
