--- Writes the texts of {{tools}} and {{tool_usage}}: the tools that the request offers.
--
--     tools        - weather: the weather of a place
--     tool_usage   weather(place: string, days?: integer)
--                    place: the name of a town

local settings = require "ebb.request.settings"

local tool_texts = {}

--- A line per tool.
local function list(tools)
  local lines = {}
  for i, tool in ipairs(tools) do
    local about = tool.description and ": " .. tool.description or ""
    lines[i] = ("- %s%s"):format(tool.name, about)
  end
  return table.concat(lines, "\n")
end

--- The members of an object among those of another one, and their names in order.
local function object_in(members, name)
  local text = members[name]
  if not settings.is_object(text) then return {}, {} end
  return settings.members(text)
end

local function type_of(property)
  local kinds = settings.stops(property.type)
  return kinds and table.concat(kinds, " or ") or property.enum and "choice" or "any"
end

--- Returns the names of required parameters as a set.
local function required_of(members)
  local required = {}
  for _, name in ipairs(settings.stops(members.required) or {}) do
    required[name] = true
  end
  return required
end

--- A tool as a call with the types of its parameters, and a line for each that is described.
local function usage(tool, lines)
  local schema = settings.is_object(tool.parameters) and settings.members(tool.parameters) or {}
  local properties, names = object_in(schema, "properties")
  local required, words, notes = required_of(schema), {}, {}
  for i, name in ipairs(names) do
    local property = settings.is_object(properties[name]) and settings.members(properties[name]) or {}
    words[i] = ("%s%s: %s"):format(name, required[name] and "" or "?", type_of(property))
    local about = settings.scalar(property.description)
    if about then notes[#notes + 1] = ("  %s: %s"):format(name, about) end
  end
  lines[#lines + 1] = ("%s(%s)"):format(tool.name, table.concat(words, ", "))
  table.move(notes, 1, #notes, #lines + 1, lines)
end

--- The texts for macros, each written when it is first asked for.
---@param tools fun(): ebb.RequestTool[]
---@return { tools: (fun(): string), tool_usage: (fun(): string) }
function tool_texts.of(tools)
  local texts = {}
  return {
    tools = function()
      texts.tools = texts.tools or list(tools())
      return texts.tools
    end,
    tool_usage = function()
      if texts.usage then return texts.usage end
      local lines = {}
      for _, tool in ipairs(tools()) do
        usage(tool, lines)
      end
      texts.usage = table.concat(lines, "\n")
      return texts.usage
    end,
  }
end

return tool_texts
