--- The request body of Anthropic's Messages, without its messages.

local models = require "ebb.models"
local settings = require "ebb.request.settings"
local tool_schema = require "ebb.request.tool_schema"

local anthropic = { messages = "messages", system = "system" }

local text, scalar, object = settings.text, settings.scalar, settings.object

local USUAL_ANSWER = 4096      -- tokens: what every model may answer with
-- Default limit of tokens for a reply. Anthropic's packages refuse to wait for more than 21,333 without a stream
-- (npm @anthropic-ai/sdk: src/client.ts, calculateNonstreamingTimeout).
local LONG_ANSWER = 16384

local CHOICES = { auto = "auto", none = "none", any = "required", required = "any" }

local TOOL = { type = true, name = true, description = true, input_schema = true, strict = true }

local function read_tool(members)
  if not members.input_schema then return nil end                    -- a tool of the server
  return { name = scalar(members.name), description = scalar(members.description), parameters = members.input_schema,
    strict = scalar(members.strict) }
end

local function read_choice(value, values)
  if not settings.is_object(value) then return end
  local members = settings.members(value)
  local kind, name = scalar(members.type), scalar(members.name)
  values.choice = kind == "tool" and { name = name } or CHOICES[kind]
  if scalar(members.disable_parallel_tool_use) == true then values.parallel = false end
end

--- Names of settings here, where they differ.
anthropic.names = { user = "metadata.user_id" }

anthropic.reads = {
  model = true, system = true, tools = true, tool_choice = true, max_tokens = true, temperature = true, top_p = true,
  top_k = true, stop_sequences = true, stream = true, metadata = true,
}

--- The `max_tokens` of a request that says nothing of it, since the API demands the member: the output limit of the
--- model, where it is listed and not too long, else what every model takes.
---@param model? string
---@return string
function anthropic.usual_answer(model)
  local known = model and models.is_known(model) and models.find(model)
  local is_own = known and known.dialect == "anthropic"
  return tostring(is_own and math.min(known.output, LONG_ANSWER) or USUAL_ANSWER)
end

---@param members table<string, string>
---@param losses ebb.Losses
---@return ebb.RequestSettings
function anthropic.read(members, losses)
  local metadata = settings.is_object(members.metadata) and settings.members(members.metadata) or {}
  local values = {
    model = settings.name(members.model), tools = settings.tools(members.tools, read_tool, losses, TOOL),
    system = members.system and object { { "role", '"system"' }, { "content", members.system } },
    max_tokens = members.max_tokens, temperature = members.temperature, top_p = members.top_p, top_k = members.top_k,
    stop = settings.stops(members.stop_sequences), stream = scalar(members.stream), user = scalar(metadata.user_id),
  }
  read_choice(members.tool_choice, values)
  return values
end

local function schema_of(tool)
  if tool.custom then return tool_schema.OF_TEXT end
  return tool_schema.fit(tool, tool_schema.PLAIN).parameters
end

local function write_tool(tool)
  return object { { "name", text(tool.name) }, { "description", text(tool.description) },
    { "input_schema", schema_of(tool) }, { "strict", text(tool.strict) } }
end

--- Reports what tools lose, or how their schemas change, in this dialect.
---@param tools ebb.RequestTool[]
---@param losses ebb.Losses
function anthropic.tell_tools(tools, losses)
  settings.lose_grammars(tools, losses)
  tool_schema.tell(tools, tool_schema.PLAIN, losses)
end

local function write_choice(values)
  local choice = values.choice
  local off = values.parallel == false and "true" or nil
  if type(choice) == "table" then
    return object { { "type", '"tool"' }, { "name", text(choice.name) }, { "disable_parallel_tool_use", off } }
  end
  if not choice and not off then return nil end
  return object { { "type", text(CHOICES[choice] or "auto") },
    { "disable_parallel_tool_use", choice ~= "none" and off or nil } }
end

---@param values ebb.RequestSettings
---@return { [1]: string, [2]: string? }[] members
function anthropic.write(values)
  return {
    { "model", text(values.model) },
    { "max_tokens", values.max_tokens or anthropic.usual_answer(values.model) },
    { "tools", settings.list(values.tools, write_tool) },
    { "tool_choice", values.tools and write_choice(values) },
    { "temperature", values.temperature },
    { "top_p", values.top_p },
    { "top_k", values.top_k },
    { "stop_sequences", settings.list(values.stop, text) },
    { "stream", text(values.stream) },
    { "metadata", values.user and object { { "user_id", text(values.user) } } },
  }
end

anthropic.writes = {
  tools = true, choice = true, parallel = true, max_tokens = true, temperature = true, top_p = true, top_k = true,
  stop = true, stream = true, user = true, model = true,
}

return anthropic
