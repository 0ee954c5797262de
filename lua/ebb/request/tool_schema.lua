--- Schemas of tools for dialects that take less of JSON Schema than the one in which they were written.
--
-- Anthropic wants one object at the top: {"type":"object"}, without oneOf, anyOf or allOf there. Their branches become
-- properties of the object, and what all of them require stays required:
--
--     {"oneOf":[{"properties":{"a":A},"required":["a"]},{"properties":{"b":B},"required":["b"]}]}
--     {"type":"object","properties":{"a":A,"b":B}}

local settings = require "ebb.request.settings"

local tool_schema = {}

local COMBINERS = { "oneOf", "anyOf", "allOf" }

--- Members that are written anew.
local REPLACED = { type = true, properties = true, required = true, oneOf = true, anyOf = true, allOf = true }

--- The schema of a tool that takes free text, where the dialect has only tools with a schema.
tool_schema.OF_TEXT = '{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}'

--- The schema that a reference within the whole names; the schema itself without one.
local function resolve(json, whole)
  local members = settings.is_object(json) and settings.members(json) or {}
  local path = settings.scalar(members["$ref"])
  local member, name = tostring(path):match "^#/([%$%w]+)/([^/]+)$"
  local group = member and settings.is_object(whole[member]) and settings.members(whole[member])
  local definition = group and group[name]
  return definition and settings.is_object(definition) and definition or json
end

--- The strings of a list, as a set; an empty one for other values.
local function names_of(json)
  local set = {}
  for _, element in ipairs(settings.is_list(json) and settings.elements(json) or {}) do
    local name = settings.name(element)
    if name then set[name] = true end
  end
  return set
end

--- Adds properties, in their order; those that are there stay.
local function add_properties(properties, json)
  if not settings.is_object(json) then return end
  local members, names = settings.members(json)
  for _, name in ipairs(names) do
    if not properties[name] then
      properties[name], properties[#properties + 1] = members[name], name
    end
  end
end

--- Adds what the branches of a combiner have. What each of them requires is required: all of it for allOf.
local function add_branches(properties, required, combiner, branches, whole)
  local counts, names = {}, {}
  for _, branch in ipairs(branches) do
    local members = settings.members(resolve(branch, whole))
    add_properties(properties, members.properties)
    for name in pairs(names_of(members.required)) do
      if not counts[name] then names[#names + 1] = name end
      counts[name] = (counts[name] or 0) + 1
    end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    if combiner == "allOf" or counts[name] == #branches then required[name] = true end
  end
end

--- The branches of a combiner at the top that are schemas with members.
local function branches_of(json)
  local list = {}
  for _, element in ipairs(settings.is_list(json) and settings.elements(json) or {}) do
    if settings.is_object(element) then list[#list + 1] = element end
  end
  return list
end

--- The required names: first those of the schema itself, in their order.
local function required_list(own, required)
  local list, added = {}, {}
  for _, element in ipairs(settings.is_list(own) and settings.elements(own) or {}) do
    local name = settings.name(element)
    if name and not added[name] then list[#list + 1], added[name] = element, true end
  end
  local more = {}
  for name in pairs(required) do
    if not added[name] then more[#more + 1] = settings.text(name) end
  end
  table.sort(more)
  table.move(more, 1, #more, #list + 1, list)
  return #list > 0 and "[" .. table.concat(list, ",") .. "]" or nil
end

--- A schema as Anthropic takes it, and what was changed, as words; nil where nothing was.
---@param json? string
---@return string
---@return string? change
function tool_schema.as_object(json)
  if not settings.is_object(json) then return '{"type":"object"}', json and "it was no object" or nil end
  local members, names = settings.members(json)
  local combiners, properties, required = {}, {}, {}
  add_properties(properties, members.properties)
  for _, combiner in ipairs(COMBINERS) do
    if members[combiner] then
      combiners[#combiners + 1] = combiner
      add_branches(properties, required, combiner, branches_of(members[combiner]), members)
    end
  end
  local is_typed = settings.scalar(members.type) == "object"
  if #combiners == 0 and is_typed then return json, nil end
  local list = { { "type", '"object"' } }
  for _, name in ipairs(names) do
    if not REPLACED[name] then list[#list + 1] = { name, members[name] } end
  end
  local pairs_list = {}
  for i, name in ipairs(properties) do pairs_list[i] = { name, properties[name] } end
  if members.properties or #pairs_list > 0 then list[#list + 1] = { "properties", settings.object(pairs_list) } end
  list[#list + 1] = { "required", required_list(members.required, required) }
  local joined = #combiners > 0 and ("the branches of %s are joined"):format(table.concat(combiners, " and "))
  local typed = not is_typed and "the type is object" or nil
  return settings.object(list), joined and typed and joined .. ", " .. typed or joined or typed
end

return tool_schema
