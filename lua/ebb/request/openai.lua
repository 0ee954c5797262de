--- The request body of OpenAI's Chat Completions, without its messages.

local settings = require "ebb.request.settings"
local tool_schema = require "ebb.request.tool_schema"

local openai = { messages = "messages" }

local text, scalar, object = settings.text, settings.scalar, settings.object

local TOOL = { type = true, ["function"] = true, custom = true }

--- The grammar of a custom tool: {"type":"grammar","grammar":{"syntax","definition"}}.
local function read_grammar(format)
  local grammar = settings.is_object(format) and settings.members(format).grammar
  return settings.is_object(grammar) and settings.members(grammar) or nil
end

local function read_tool(members)
  local custom = members.custom ~= nil
  local inner = members["function"] or members.custom
  if not settings.is_object(inner) then return nil end
  local fields = settings.members(inner)
  return {
    name = scalar(fields.name), description = scalar(fields.description), parameters = fields.parameters,
    strict = scalar(fields.strict), custom = custom or nil, grammar = read_grammar(fields.format),
  }
end

local function read_choice(value)
  if not settings.is_object(value) then return scalar(value) end
  local members = settings.members(value)
  local inner = members["function"] or members.custom
  return settings.is_object(inner) and { name = scalar(settings.members(inner).name), custom = members.custom ~= nil }
    or nil
end

local function read_format(value, values)
  if not settings.is_object(value) then return end
  local members = settings.members(value)
  values.json_answer = scalar(members.type) == "json_object" or nil
  if not settings.is_object(members.json_schema) then return end
  local schema = settings.members(members.json_schema)
  values.schema = { name = scalar(schema.name), json = schema.schema, strict = scalar(schema.strict) }
end

openai.reads = {
  model = true, tools = true, tool_choice = true, parallel_tool_calls = true, max_completion_tokens = true,
  max_tokens = true, temperature = true, top_p = true, stop = true, stream = true, user = true,
  reasoning_effort = true, response_format = true,
}

---@param members table<string, string>
---@param losses ebb.Losses
---@return ebb.RequestSettings
function openai.read(members, losses)
  local values = {
    model = settings.name(members.model), tools = settings.tools(members.tools, read_tool, losses, TOOL),
    choice = read_choice(members.tool_choice), parallel = scalar(members.parallel_tool_calls),
    max_tokens = members.max_completion_tokens or members.max_tokens, temperature = members.temperature,
    top_p = members.top_p, stop = settings.stops(members.stop), stream = scalar(members.stream),
    user = scalar(members.user), effort = scalar(members.reasoning_effort),
  }
  read_format(members.response_format, values)
  return values
end

local function write_grammar(grammar)
  return object { { "type", '"grammar"' }, { "grammar", object { { "syntax", grammar.syntax },
    { "definition", grammar.definition } } } }
end

local function write_tool(tool, mends)
  local kind = tool.custom and "custom" or "function"
  local fitted = mends and not tool.custom and tool.parameters and tool_schema.fit(tool, tool_schema.OPENAI) or tool
  return object {
    { "type", text(kind) },
    { kind, object { { "name", text(tool.name) }, { "description", text(tool.description) },
      { "parameters", not tool.custom and fitted.parameters or nil }, { "strict", text(fitted.strict) },
      { "format", tool.grammar and write_grammar(tool.grammar) } } },
  }
end

--- Reports how the schemas of tools change, for servers that refuse them as they are.
---@param tools ebb.RequestTool[]
---@param losses ebb.Losses
---@param values ebb.RequestSettings
function openai.tell_tools(tools, losses, values)
  if values.mends_schemas then tool_schema.tell(tools, tool_schema.OPENAI, losses) end
end

local function write_choice(choice)
  if type(choice) ~= "table" then return text(choice) end
  local kind = choice.custom and "custom" or "function"
  return object { { "type", text(kind) }, { kind, object { { "name", text(choice.name) } } } }
end

local function write_format(values)
  if values.json_answer then return '{"type":"json_object"}' end
  local schema = values.schema
  return schema and object {
    { "type", '"json_schema"' },
    { "json_schema", object { { "name", text(schema.name or "answer") }, { "schema", schema.json },
      { "strict", text(schema.strict) } } },
  }
end

---@param values ebb.RequestSettings
---@return { [1]: string, [2]: string? }[] members
function openai.write(values)
  return {
    { "model", text(values.model) },
    { "tools", settings.list(values.tools, function(tool) return write_tool(tool, values.mends_schemas) end) },
    { "tool_choice", values.tools and write_choice(values.choice) },
    { "parallel_tool_calls", values.tools and text(values.parallel) },
    { "max_completion_tokens", values.max_tokens },
    { "temperature", values.temperature },
    { "top_p", values.top_p },
    { "stop", settings.list(values.stop, text) },
    { "stream", text(values.stream) },
    { "user", text(values.user) },
    { "reasoning_effort", text(values.effort) },
    { "response_format", write_format(values) },
  }
end

openai.writes = {
  tools = true, choice = true, parallel = true, max_tokens = true, temperature = true, top_p = true, stop = true,
  stream = true, user = true, effort = true, schema = true, json_answer = true, model = true,
}

return openai
