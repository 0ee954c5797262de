--- Schemas of tools for dialects that take less of JSON Schema than the one in which they were written.
--
-- All want one object at the top: {"type":"object"}, without oneOf, anyOf or allOf there. Their branches become
-- properties of the object, and what all of them require stays required; alternatives that differ in a property leave
-- the choice to it:
--
--     {"oneOf":[{"properties":{"a":A,"b":B},"required":["a"]},{"properties":{"a":C},"required":["a"]}]}
--     {"type":"object","properties":{"a":{"anyOf":[A,C]},"b":B},"required":["a"]}
--
-- Strict tools of OpenAI take still less, at any depth: strict_problem finds what.

local core = require "ebb.support.core"
local settings = require "ebb.request.settings"

local tool_schema = {}

local COMBINERS = { "oneOf", "anyOf", "allOf" }

--- Members that are rewritten.
local REPLACED = { type = true, properties = true, required = true, oneOf = true, anyOf = true, allOf = true }

---@class ebb.SchemaRules       What a dialect takes at the top of a tool's schema
---@field refused string[]       further members that it refuses there
---@field any string              the schema of an object of any kind
---@field none string             that of a tool without arguments

---@type ebb.SchemaRules
tool_schema.PLAIN = { refused = {}, any = '{"type":"object"}', none = '{"type":"object"}' }

---@type ebb.SchemaRules
tool_schema.OPENAI = { refused = { "enum", "const", "not" }, any = '{"type":"object","properties":{}}',
  none = '{"type":"object","properties":{},"additionalProperties":false}' }

--- The schema of a tool that takes free text, where the dialect has only tools with a schema.
tool_schema.OF_TEXT = '{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}'

---- One object at the top ----

--- Members that belong to the place of a schema.
local OF_PLACE = { ["$ref"] = true, ["$defs"] = true, definitions = true }

--- The schema that a reference within the whole names, and the reference; nil for others.
local function definition(reference, whole)
  local path = settings.name(reference)
  local member, name = tostring(path):match "^#/([%$%w]+)/([^/]+)$"
  local group = member and settings.is_object(whole[member]) and settings.members(whole[member])
  local json = group and group[name]
  if json and settings.is_object(json) then return json, path end
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

---@class ebb.ObjectSchema        What a schema says of an object
---@field names string[]           of properties, in their order
---@field variants table<string, string[]>   the schemas of a property, as a list and as keys: any of them holds
---@field required table<string, boolean>

local function add_variants(own, variants)
  for _, json in ipairs(variants) do
    if not own[json] then own[#own + 1], own[json] = json, true end
  end
end

--- Adds variants of a property. Of a property that is there already they are further ones if `is_choice`.
local function add_property(object, name, variants, is_choice)
  local own = object.variants[name]
  if not own then
    own, is_choice = {}, true
    object.names[#object.names + 1], object.variants[name] = name, own
  end
  if is_choice then add_variants(own, variants) end
end

local function new_object() return { names = {}, variants = {}, required = {} } end

--- Joins branches of which one holds: members that all of them require are required.
local function join_alternatives(branches)
  local joined, counts = new_object(), {}
  for _, branch in ipairs(branches) do
    for _, name in ipairs(branch.names) do add_property(joined, name, branch.variants[name], true) end
    for name in pairs(branch.required) do counts[name] = (counts[name] or 0) + 1 end
  end
  for name, count in pairs(counts) do joined.required[name] = count == #branches or nil end
  return joined
end

--- Adds the members of another schema that holds, too; properties that are there stay.
local function add_object(object, more)
  for _, name in ipairs(more.names) do add_property(object, name, more.variants[name], false) end
  for name in pairs(more.required) do object.required[name] = true end
end

--- The branches of a combiner that are schemas with members, equal ones once.
local function branches_of(json)
  local list = {}
  for _, element in ipairs(settings.is_list(json) and settings.elements(json) or {}) do
    if settings.is_object(element) then list[#list + 1] = element end
  end
  local branches = {}
  add_variants(branches, list)
  return branches
end

--- Collects what a schema, its branches and what it refers to say of an object.
---@param json string
---@param whole table<string, string>    members of the schema at the top, which has the definitions
---@param seen table<string, ebb.ObjectSchema>   by reference; of one that is being read, nothing
---@return ebb.ObjectSchema
local function collect(json, whole, seen)
  local members, object = settings.members(json), new_object()
  local properties, names = settings.members(settings.is_object(members.properties) and members.properties or "{}")
  for _, name in ipairs(names) do
    if properties[name] then add_property(object, name, { properties[name] }, false) end
  end
  object.required = names_of(members.required)
  local inner, path = definition(members["$ref"], whole)
  if inner and not seen[path] then
    seen[path] = new_object()
    seen[path] = collect(inner, whole, seen)
  end
  if inner then add_object(object, seen[path]) end
  for _, combiner in ipairs(COMBINERS) do
    local branches = {}
    for i, branch in ipairs(branches_of(members[combiner])) do branches[i] = collect(branch, whole, seen) end
    if combiner ~= "allOf" then branches = { join_alternatives(branches) } end
    for _, branch in ipairs(branches) do add_object(object, branch) end
  end
  return object
end

--- Adds the members of the schema that a reference at the top names, or that this one refers to; members that are there
--- stay.
---@return boolean is_resolved
local function resolve(members, names)
  local inner, path = definition(members["$ref"], members)
  local is_resolved, seen, known = inner ~= nil, {}, {}
  for _, name in ipairs(names) do known[name] = true end
  while inner and not seen[path] do
    seen[path] = true
    local more, more_names = settings.members(inner)
    for _, name in ipairs(more_names) do
      if not (known[name] or REPLACED[name] or OF_PLACE[name]) then
        names[#names + 1], members[name], known[name] = name, more[name], true
      end
    end
    inner, path = definition(more["$ref"], members)
  end
  return is_resolved
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

--- The properties as JSON; nil where there are none, and none are wanted.
local function properties_text(object, is_wanted)
  local list = {}
  for i, name in ipairs(object.names) do
    local variants = object.variants[name]
    list[i] = { name, variants[2] and settings.object { { "anyOf", "[" .. table.concat(variants, ",") .. "]" } }
      or variants[1] }
  end
  return (#list > 0 or is_wanted) and settings.object(list) or nil
end

--- The members of a list that a schema has.
local function present(members, names)
  local list = {}
  for _, name in ipairs(names) do
    if members[name] then list[#list + 1] = name end
  end
  return list
end

--- Describes the changes at the top of a schema.
local function describe(combiners, refused, is_resolved, is_typed)
  local words = {}
  local function add(line, ...) words[#words + 1] = line:format(...) end
  if combiners[1] then add("the branches of %s are joined", table.concat(combiners, " and ")) end
  if is_resolved then add "the reference is resolved" end
  if refused[1] then add("%s %s left out", table.concat(refused, " and "), refused[2] and "are" or "is") end
  if not is_typed then add "the type is object" end
  return table.concat(words, ", ")
end

--- Returns a schema as a dialect takes it, and its changes as words; nil if there are none.
---@param json? string
---@param rules ebb.SchemaRules
---@return string
---@return string? change
function tool_schema.as_object(json, rules)
  if json == nil then return rules.none, nil end
  if not settings.is_object(json) then return rules.any, "it was no object" end
  local members, names = settings.members(json)
  local is_resolved = resolve(members, names)
  local combiners, refused = present(members, COMBINERS), present(members, rules.refused)
  local is_typed = settings.scalar(members.type) == "object"
  if not combiners[1] and not refused[1] and not is_resolved and is_typed then return json, nil end
  local object, left_out = collect(json, members, {}), { ["$ref"] = is_resolved }
  for _, name in ipairs(refused) do left_out[name] = true end
  local list = { { "type", '"object"' } }
  for _, name in ipairs(names) do
    if not REPLACED[name] and not left_out[name] then list[#list + 1] = { name, members[name] } end
  end
  list[#list + 1] = { "properties", properties_text(object, members.properties or rules == tool_schema.OPENAI) }
  list[#list + 1] = { "required", required_list(members.required, object.required) }
  return settings.object(list), describe(combiners, refused, is_resolved, is_typed)
end

---- Strict tools ----

--- Members that OpenAI refuses in a strict schema, at any depth.
local NOT_STRICT = { "oneOf", "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas" }

local function is_plain(value) return type(value) == "table" and getmetatable(value) == nil end

--- The first fault of a schema itself, nil if there is none.
local function own_problem(schema)
  for _, name in ipairs(NOT_STRICT) do
    if schema[name] ~= nil then return name end
  end
  local is_object = schema.type == "object" or is_plain(schema.properties)
  if is_object and schema.additionalProperties ~= false then return "additionalProperties is not false" end
  local required = {}
  for _, name in ipairs(type(schema.required) == "table" and schema.required or {}) do required[name] = true end
  local lacking = {}
  for name in pairs(is_plain(schema.properties) and schema.properties or {}) do
    if not required[name] then lacking[#lacking + 1] = name end
  end
  table.sort(lacking)
  return lacking[1] and ("%s is not required"):format(lacking[1]) or nil
end

--- The first problem of a schema and of those within it, with its place.
local function problem_at(schema, place)
  if not is_plain(schema) then return nil end
  local own = own_problem(schema)
  if own then return ("%s at %s"):format(own, place == "" and "its top" or place:sub(2)) end
  for _, group in ipairs { "properties", "$defs", "definitions" } do
    local names = {}
    for name in pairs(is_plain(schema[group]) and schema[group] or {}) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do
      local problem = problem_at(schema[group][name], ("%s.%s.%s"):format(place, group, name))
      if problem then return problem end
    end
  end
  for _, group in ipairs { "anyOf", "prefixItems" } do
    for i, each in ipairs(type(schema[group]) == "table" and schema[group] or {}) do
      local problem = problem_at(each, ("%s.%s[%d]"):format(place, group, i - 1))
      if problem then return problem end
    end
  end
  return problem_at(schema.items, place .. ".items")
end

--- Returns why OpenAI refuses a schema as that of a strict tool, with the place; nil if it takes it.
---@param json string
---@return string?
function tool_schema.strict_problem(json)
  return problem_at(core.json.decode(json), "")
end

---- Tools ----

---@class ebb.FittedTool
---@field parameters string
---@field strict? boolean
---@field changes string[]       sentences about the tool

--- Returns a tool's schema by the rules of a dialect, and its changes.
---@param tool ebb.RequestTool    one with a schema
---@param rules ebb.SchemaRules
---@return ebb.FittedTool
function tool_schema.fit(tool, rules)
  local parameters, change = tool_schema.as_object(tool.parameters, rules)
  local strict, changes = tool.strict, {}
  if change then
    changes[1] = ("the schema of tool '%s' becomes one object: %s"):format(tool.name, change)
  end
  local problem = rules == tool_schema.OPENAI and strict == true and tool_schema.strict_problem(parameters)
  if problem then
    strict = false
    changes[#changes + 1] = ("tool '%s' is no longer strict, for its schema has %s"):format(tool.name, problem)
  end
  return { parameters = parameters, strict = strict, changes = changes }
end

--- Reports the changes of tools' schemas.
---@param tools ebb.RequestTool[]
---@param rules ebb.SchemaRules
---@param losses ebb.Losses
function tool_schema.tell(tools, rules, losses)
  for _, tool in ipairs(tools) do
    for _, change in ipairs(tool.custom and {} or tool_schema.fit(tool, rules).changes) do
      losses[#losses + 1] = { code = "changed_tool", subject = tool.name or "", changed = true, text = change }
    end
  end
end

return tool_schema
