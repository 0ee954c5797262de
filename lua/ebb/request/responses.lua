--- The request body of OpenAI's Responses, without its items.

local openai = require "ebb.request.openai"
local settings = require "ebb.request.settings"
local tool_schema = require "ebb.request.tool_schema"

local responses = { messages = "input" }

local text, scalar, object = settings.text, settings.scalar, settings.object

local TOOL = { type = true, name = true, description = true, parameters = true, strict = true, format = true }

--- The grammar of a custom tool: {"type":"grammar","syntax","definition"}.
local function read_grammar(format)
  local members = settings.is_object(format) and settings.members(format) or {}
  return scalar(members.type) == "grammar" and members or nil
end

local function read_tool(members)
  local kind = scalar(members.type)
  if kind ~= "function" and kind ~= "custom" then return nil end
  return {
    name = scalar(members.name), description = scalar(members.description), parameters = members.parameters,
    strict = scalar(members.strict), custom = kind == "custom" or nil, grammar = read_grammar(members.format),
  }
end

local function read_choice(value)
  if not settings.is_object(value) then return scalar(value) end
  local members = settings.members(value)
  local name = scalar(members.name)
  return name and { name = name, custom = scalar(members.type) == "custom" } or nil
end

local function read_format(value, values)
  local format = settings.is_object(value) and settings.members(value).format
  if not settings.is_object(format) then return end
  local members = settings.members(format)
  values.json_answer = scalar(members.type) == "json_object" or nil
  if members.schema then
    values.schema = { name = scalar(members.name), json = members.schema, strict = scalar(members.strict) }
  end
end

responses.reads = {
  model = true, instructions = true, tools = true, tool_choice = true, parallel_tool_calls = true,
  max_output_tokens = true, temperature = true, top_p = true, stream = true, user = true, reasoning = true, text = true,
}

---@param members table<string, string>
---@param losses ebb.Losses
---@return ebb.RequestSettings
function responses.read(members, losses)
  local reasoning = settings.is_object(members.reasoning) and settings.members(members.reasoning) or {}
  local values = {
    model = settings.name(members.model), tools = settings.tools(members.tools, read_tool, losses, TOOL),
    system = members.instructions and object { { "role", '"system"' }, { "content", members.instructions } },
    choice = read_choice(members.tool_choice), parallel = scalar(members.parallel_tool_calls),
    max_tokens = members.max_output_tokens, temperature = members.temperature, top_p = members.top_p,
    stream = scalar(members.stream), user = scalar(members.user), effort = scalar(reasoning.effort),
  }
  read_format(members.text, values)
  return values
end

local function write_grammar(grammar)
  return object { { "type", '"grammar"' }, { "syntax", grammar.syntax }, { "definition", grammar.definition } }
end

local function write_tool(tool, mends)
  local fitted = mends and not tool.custom and tool_schema.fit(tool, tool_schema.OPENAI) or tool
  return object {
    { "type", text(tool.custom and "custom" or "function") }, { "name", text(tool.name) },
    { "description", text(tool.description) },
    { "parameters", not tool.custom and (fitted.parameters or tool_schema.OPENAI.none) or nil },
    { "strict", not tool.custom and text(fitted.strict or false) or nil },
    { "format", tool.grammar and write_grammar(tool.grammar) },
  }
end

responses.tell_tools = openai.tell_tools

local function write_format(values)
  if values.json_answer then return '{"format":{"type":"json_object"}}' end
  local schema = values.schema
  return schema and object { { "format", object {
    { "type", '"json_schema"' }, { "name", text(schema.name or "answer") }, { "schema", schema.json },
    { "strict", text(schema.strict) },
  } } }
end

---@param values ebb.RequestSettings
---@return { [1]: string, [2]: string? }[] members
function responses.write(values)
  local choice = values.choice
  return {
    { "model", text(values.model) },
    { "tools", settings.list(values.tools, function(tool) return write_tool(tool, values.mends_schemas) end) },
    { "tool_choice", values.tools and (type(choice) == "table"
      and object { { "type", text(choice.custom and "custom" or "function") }, { "name", text(choice.name) } }
      or text(choice)) },
    { "parallel_tool_calls", values.tools and text(values.parallel) },
    { "max_output_tokens", values.max_tokens },
    { "temperature", values.temperature },
    { "top_p", values.top_p },
    { "stream", text(values.stream) },
    { "user", text(values.user) },
    { "reasoning", values.effort and object { { "effort", text(values.effort) } } },
    { "text", write_format(values) },
  }
end

responses.writes = {
  tools = true, choice = true, parallel = true, max_tokens = true, temperature = true, top_p = true, stream = true,
  user = true, effort = true, schema = true, json_answer = true, model = true,
}

return responses
