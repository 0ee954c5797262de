--- Reads and writes the settings that request bodies of all dialects share, and the members besides them.
--
--     body of a dialect  --read-->  settings  --write-->  members of another dialect's body
--
-- Values that all dialects write alike stay JSON texts, so that schemas and numbers keep
-- their bytes.

local core = require "ebb.support.core"
local places = require "ebb.support.json_places"

local settings = {}

local json = core.json

---@class ebb.RequestTool
---@field name string
---@field description? string
---@field parameters? string   a JSON schema, as text
---@field strict? boolean
---@field custom? boolean      takes free text
---@field grammar? { syntax?: string, definition?: string }   of free text, as JSON texts; nil: any text

---@class ebb.RequestSettings  members that are absent are nil
---@field model? string
---@field system? string              a system message, as JSON
---@field tools? ebb.RequestTool[]
---@field choice? "auto"|"none"|"required"|{ name: string }
---@field parallel? boolean           false: one call at a time
---@field max_tokens? string          numbers and lists are JSON texts
---@field temperature? string
---@field top_p? string
---@field top_k? string
---@field stop? string[]
---@field stream? boolean
---@field user? string
---@field effort? string              of reasoning
---@field mends_schemas? boolean      its server refuses tools whose schemas are not one object
---@field schema? { name?: string, json: string, strict?: boolean }   of the answer
---@field json_answer? boolean        the answer is JSON of any shape

---@class ebb.Losses                  list of { code, subject, text }

--- The members of a JSON object, by name, as JSON texts; and their names in order.
---@param text string
---@return table<string, string> members
---@return string[] names
function settings.members(text)
  local members, names = {}, {}
  for _, member in ipairs(places.members(text)) do
    if not members[member.key] then names[#names + 1] = member.key end
    local value = text:sub(member.first, member.past - 1)
    members[member.key] = value ~= "null" and value or nil
  end
  return members, names
end

--- The elements of a JSON list, as JSON texts.
---@param text string
---@return string[]
function settings.elements(text)
  local list = {}
  local firsts, pasts = places.elements(text)
  for i, first in ipairs(firsts) do
    list[i] = text:sub(first, pasts[i] - 1)
  end
  return list
end

--- The string, boolean or number of a JSON text; nil for other values.
---@param text? string
---@return any
function settings.scalar(text)
  if not text or text:find "^%s*[%[{]" then return nil end
  local value = json.decode(text)
  if type(value) == "table" or value == json.null then return nil end      -- a number that Lua cannot hold
  return value
end

--- The string of a JSON text; nil for other values.
---@param text? string
---@return string?
function settings.name(text)
  local value = settings.scalar(text)
  return type(value) == "string" and value or nil
end

--- True for the JSON text of an object.
function settings.is_object(text)
  return text and text:find "^%s*{" ~= nil or false
end

--- True for the JSON text of a list.
function settings.is_list(text)
  return text and text:find "^%s*%[" ~= nil or false
end

--- Writes an object from pairs of a name and a JSON text; pairs without a text are left out.
---@param pairs_list { [1]: string, [2]: string? }[]
---@return string
function settings.object(pairs_list)
  local out = {}
  for _, each in ipairs(pairs_list) do
    if each[2] ~= nil then out[#out + 1] = json.encode(each[1]) .. ":" .. each[2] end
  end
  return "{" .. table.concat(out, ",") .. "}"
end

--- A JSON text, or nil for nil.
function settings.text(value)
  if value == nil then return nil end
  return json.encode(value)
end

--- Notes that are next to a lost member of tools, where its loss says more than its name.
local LOST_OF_TOOLS = { defer_loading = "offered from the beginning" }

--- Reports the members of a tool that no other dialect has, each once for all tools.
local function lose_members(members, names, known, tool, lost, losses)
  for _, name in ipairs(names) do
    if not known[name] and not lost[name] and members[name] then
      lost[name] = { code = "lost_member", subject = "tools." .. name, tools = {} }
      losses[#losses + 1] = lost[name]
    end
    if not known[name] and members[name] then table.insert(lost[name].tools, ("'%s'"):format(tool.name)) end
  end
end

--- Reads the tools of a list by a function for each; what it does not know is a loss.
---@param text? string
---@param read fun(members: table<string, string>): ebb.RequestTool?
---@param losses ebb.Losses
---@param known table<string, boolean>   members that are read, or that say nothing more
---@return ebb.RequestTool[]?
function settings.tools(text, read, losses, known)
  if not settings.is_list(text) then return nil end
  local tools, lost = {}, {}
  for i, element in ipairs(settings.elements(text)) do
    local members, names = settings.members(settings.is_object(element) and element or "{}")
    local tool = settings.is_object(element) and read(members)
    if tool then
      tools[#tools + 1] = tool
      lose_members(members, names, known, tool, lost, losses)
    else
      losses[#losses + 1] = { code = "lost_tool", subject = tostring(i),
        text = ("tool %d has no form there: left out"):format(i) }
    end
  end
  for name, loss in pairs(lost) do
    local words, count = LOST_OF_TOOLS[name] or "left out", #loss.tools
    loss.text = ("the member '%s' of %s %s has no form there: %s"):format(name, count == 1 and "tool" or "tools",
      table.concat(loss.tools, ", "), words)
    loss.tools = nil
  end
  return tools
end

--- Notes that dialects in which every tool has a schema leave out what texts a tool takes.
---@param tools ebb.RequestTool[]
---@param losses ebb.Losses
function settings.lose_grammars(tools, losses)
  for _, tool in ipairs(tools) do
    if tool.grammar then
      losses[#losses + 1] = { code = "lost_grammar", subject = tool.name or "",
        text = ("the grammar of tool '%s' has no form there: it takes any text as its input"):format(tool.name) }
    end
  end
end

--- Notes that a member of a body is left out.
---@param losses ebb.Losses
---@param name string
function settings.lose_member(losses, name)
  losses[#losses + 1] = { code = "lost_member", subject = name,
    text = ("the member '%s' has no form there: left out"):format(name) }
end

--- Writes a list by a function for each element; nil for nil.
---@param list? any[]
---@param write fun(element: any): string
---@return string?
function settings.list(list, write)
  if not list then return nil end
  local out = {}
  for i, element in ipairs(list) do
    out[i] = write(element)
  end
  return "[" .. table.concat(out, ",") .. "]"
end

--- Stop texts: a string or a list.
---@param text? string
---@return string[]?
function settings.stops(text)
  local one = settings.scalar(text)
  if one then return { one } end
  if not settings.is_list(text) then return nil end
  local list = {}
  for _, element in ipairs(settings.elements(text)) do
    list[#list + 1] = settings.scalar(element)
  end
  return list
end

return settings
