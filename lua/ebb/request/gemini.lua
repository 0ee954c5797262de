--- The request body of Gemini's generateContent, without its contents.
--
-- The model is in the URL, not in the body; a `model` member is read and kept, as files
-- of requests have it. Names are read in both spellings that the API takes, topP and top_p.

local core = require "ebb.support.core"
local settings = require "ebb.request.settings"
local tool_schema = require "ebb.request.tool_schema"

local gemini = { messages = "contents", system = "systemInstruction" }

local text, scalar, object = settings.text, settings.scalar, settings.object

--- The name as this file has it: top_p -> topP.
function gemini.name(name)
  return (name:gsub("_(%l)", string.upper))
end

--- The members of an object by such names.
local function members_of(value)
  local members, names = {}, {}
  for name, json in pairs(settings.members(value)) do members[gemini.name(name)] = json end
  for name in pairs(members) do names[#names + 1] = name end
  table.sort(names)
  return members, names
end

local MODES = { AUTO = "auto", NONE = "none", ANY = "required", VALIDATED = "auto" }
local CHOICES = { auto = "AUTO", none = "NONE", required = "ANY" }

local TYPES = { STRING = true, NUMBER = true, INTEGER = true, BOOLEAN = true, ARRAY = true, OBJECT = true, NULL = true }

--- JSON Schema out of a schema of Gemini's own, which has the names of types in capitals. In a string of JSON quotes
--- are escaped, so what matches is a member.
local function json_schema(own)
  return own and (own:gsub('("type"%s*:%s*)"(%u+)"', function(member, name)
    return TYPES[name] and ('%s"%s"'):format(member, name:lower()) or nil
  end))
end

local DECLARATION = { name = true, description = true, parameters = true, parametersJsonSchema = true,
  parameters_json_schema = true }

local function read_declaration(members)
  local name = scalar(members.name)
  return name and { name = name, description = scalar(members.description),
    parameters = members.parametersJsonSchema or members.parameters_json_schema or json_schema(members.parameters) }
end

local function read_tools(value, losses)
  if not settings.is_list(value) then return nil end
  local tools = {}
  for i, element in ipairs(settings.elements(value)) do
    local members = settings.is_object(element) and members_of(element) or {}
    local declared = settings.tools(members.functionDeclarations, read_declaration, losses, DECLARATION)
    if not declared then
      losses[#losses + 1] = { code = "lost_tool", subject = tostring(i),
        text = ("tool %d has no form there: left out"):format(i) }
    end
    table.move(declared or {}, 1, #(declared or {}), #tools + 1, tools)
  end
  return tools
end

local function read_choice(value)
  local config = settings.is_object(value) and members_of(value).functionCallingConfig
  if not settings.is_object(config) then return nil end
  local members = members_of(config)
  local names = settings.stops(members.allowedFunctionNames)
  if names and #names == 1 and scalar(members.mode) == "ANY" then return { name = names[1] } end
  return MODES[scalar(members.mode)]
end

gemini.reads = {
  model = true, systemInstruction = true, tools = true, toolConfig = true, generationConfig = true,
}

local GENERATION = {
  maxOutputTokens = true, temperature = true, topP = true, topK = true, stopSequences = true,
  responseMimeType = true, responseSchema = true, responseJsonSchema = true,
}

local function read_generation(members, losses)
  if not settings.is_object(members.generationConfig) then return {} end
  local config, names = members_of(members.generationConfig)
  for _, name in ipairs(names) do
    if not GENERATION[name] then settings.lose_member(losses, "generationConfig." .. name) end
  end
  return config
end

local function system_message(value)
  if not value then return nil end
  if scalar(value) then return object { { "role", '"system"' }, { "content", value } } end
  local parts = settings.is_object(value) and settings.members(value).parts
  return parts and object { { "role", '"system"' }, { "parts", parts } }
end

---@param body table<string, string>
---@param losses ebb.Losses
---@return ebb.RequestSettings
function gemini.read(body, losses)
  local members = {}
  for name, json in pairs(body) do members[gemini.name(name)] = json end
  local config = read_generation(members, losses)
  local schema = config.responseJsonSchema or json_schema(config.responseSchema)
  return {
    model = settings.name(members.model), tools = read_tools(members.tools, losses),
    system = system_message(members.systemInstruction), choice = read_choice(members.toolConfig),
    max_tokens = config.maxOutputTokens, temperature = config.temperature, top_p = config.topP, top_k = config.topK,
    stop = settings.stops(config.stopSequences), schema = schema and { json = schema },
    json_answer = not schema and scalar(config.responseMimeType) == "application/json" or nil,
  }
end

--- The schema of a function, which has to describe an object; nil where it takes no arguments.
local function write_parameters(tool)
  if tool.custom then return tool_schema.OF_TEXT end
  return tool.parameters and tool_schema.fit(tool, tool_schema.PLAIN).parameters
end

local function write_tool(tool)
  return object { { "name", text(tool.name) }, { "description", text(tool.description) },
    { "parametersJsonSchema", write_parameters(tool) } }
end

--- Reports what tools lose, or how their schemas change, in this dialect.
---@param tools ebb.RequestTool[]
---@param losses ebb.Losses
function gemini.tell_tools(tools, losses)
  settings.lose_grammars(tools, losses)
  tool_schema.tell(tools, tool_schema.PLAIN, losses)
end

local function write_choice(choice)
  if not choice then return nil end
  local name = type(choice) == "table" and choice.name
  return object { { "functionCallingConfig", object {
    { "mode", text(name and "ANY" or CHOICES[choice] or "AUTO") },
    { "allowedFunctionNames", name and text(core.json.array { name }) or nil },
  } } }
end

local function write_generation(values)
  local asks_json = values.json_answer or values.schema
  local config = object {
    { "maxOutputTokens", values.max_tokens }, { "temperature", values.temperature }, { "topP", values.top_p },
    { "topK", values.top_k }, { "stopSequences", settings.list(values.stop, text) },
    { "responseMimeType", asks_json and '"application/json"' or nil },
    { "responseJsonSchema", values.schema and values.schema.json },
  }
  return config ~= "{}" and config or nil
end

---@param values ebb.RequestSettings
---@return { [1]: string, [2]: string? }[] members
function gemini.write(values)
  local tools = settings.list(values.tools, write_tool)
  return {
    { "model", text(values.model) },
    { "tools", tools and "[" .. object { { "functionDeclarations", tools } } .. "]" },
    { "toolConfig", values.tools and write_choice(values.choice) },
    { "generationConfig", write_generation(values) },
  }
end

gemini.writes = {
  tools = true, choice = true, max_tokens = true, temperature = true, top_p = true, top_k = true, stop = true,
  schema = true, json_answer = true, model = true,
}

return gemini
