--- --tools FILE: the tools that a conversation describes in a system message, at its head and after `clear`.
--
--     [{"name": "search", "description": "Searches the web."}, ..]
--
-- A provider's list of tools is read, too: of it the names and descriptions count.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local terminal = require "ebb.cli.view.terminal"

local tool_file = {}

tool_file.BYTES_MAX = 16 * 1024 * 1024

---@param parser table
function tool_file.declare(parser)
  parser:option("--tools", "Describe the tools of this JSON file in a system message, unless one does: a list of "
    .. "{name, description}, or of a provider's tools."):argname("<file>")
  parser:option("--tools-heading", "The first line of that message (default: Available tools:)."):argname("<text>")
end

local EXPECTED = '[{"name": "search", "description": "Searches the web."}]'

--- A tool of a list; nil where it has no name or description. OpenAI's Chat Completions nest it.
local function tool_of(value)
  if type(value) == "table" and type(value["function"]) == "table" then value = value["function"] end
  if type(value) ~= "table" or type(value.name) ~= "string" then return nil end
  if type(value.description) ~= "string" then return nil end
  return { name = value.name, description = value.description }
end

--- The elements of a list, those of Gemini's lists in it one by one.
local function elements_of(list)
  local elements = {}
  for _, value in ipairs(type(list) == "table" and list or {}) do
    local inner = type(value) == "table" and (value.functionDeclarations or value.function_declarations)
    if type(inner) == "table" then table.move(inner, 1, #inner, #elements + 1, elements)
    else elements[#elements + 1] = value end
  end
  return elements
end

--- The tools of the command line, as options of a conversation. The file, which may be a pipe, is read once.
---@param args table     keeps them
---@return { name: string, description: string }[]? tools
---@return string? heading
function tool_file.read(args)
  if not args.tools then
    if args.tools_heading then failure.usage("--tools-heading goes with --tools", "--tools tools.json") end
    return nil
  end
  if args.tool_list then return args.tool_list, args.tools_heading end
  local text = terminal.read_file(args.tools, tool_file.BYTES_MAX)
  local list, why = core.json.decode(text)
  if list == nil then failure.raise(failure.REFUSED, ("%s: %s"):format(args.tools, why and why.message or why)) end
  if type(list) == "table" and type(list.tools) == "table" then list = list.tools end
  local tools = {}
  for i, value in ipairs(elements_of(list)) do
    tools[i] = tool_of(value) or failure.raise(failure.REFUSED,
      ("%s: tool %d: expected an object with name and description"):format(args.tools, i), EXPECTED)
  end
  if not tools[1] then failure.raise(failure.REFUSED, ("%s: expected a list of tools"):format(args.tools), EXPECTED) end
  args.tool_list = tools
  return tools, args.tools_heading
end

return tool_file
