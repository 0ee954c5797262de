--- A client of the Model Context Protocol, over a command's standard input and output: a JSON message in each line.
--
--     initialize -> notifications/initialized -> tools/list (page by page) -> tools/call ...
--
-- A server is not trusted: it may hang, die, flood, answer other requests than ours, or not in JSON. A line
-- that cannot be read may have been the answer, so it ends the request at once.

local core = require "ebb.support.core"
local schema = require "ebb.support.schema"

local mcp = {}

mcp.LINES_MAX = 10000          -- that a server may write before it answers a request
mcp.TOOLS_MAX, mcp.PAGES_MAX = 1000, 100
local PROTOCOL = "2025-06-18"

---@class ebb.McpClient
---@field dialogue table        of the host
---@field command string
---@field seconds number        for an answer
---@field last integer          id of the newest request
local Client = {}
Client.__index = Client

local function problem(client, message)
  return nil, core.error("host", ("the MCP server `%s`: %s"):format(client.command, message))
end

local function line_of(message)
  message.jsonrpc = "2.0"
  return core.json.encode(message) .. "\n"
end

--- A value that ought to be a text, as one.
local function words(value)
  if type(value) == "table" then return core.json.encode(value) end
  return tostring(value)
end

--- Answers what a server asks: it may ping, and we offer nothing else.
local function answer_request(client, message)
  local reply = message.method == "ping" and { id = message.id, result = {} }
    or { id = message.id, error = { code = -32601, message = "this client has no " .. words(message.method) } }
  return client.dialogue:say(line_of(reply), client.seconds)
end

--- Returns an answer's result, or nil and why there is none.
local function result_of(message)
  if type(message.result) == "table" then return message.result end
  local failed = message.error
  if type(failed) == "table" then failed = failed.message or failed.code end
  return nil, failed ~= nil and words(failed) or "its answer has neither result nor error"
end

--- The messages of a line: one, those of a batch, or none of a blank line; nil and what is wrong.
local function messages_of(line)
  if not line:find "%S" then return {} end
  local value, why = core.json.decode(line)
  if why then return nil, "its line is not JSON: " .. why.message:gsub("^1:(%d+):", "byte %1:") end
  local list = getmetatable(value) == "json.array" and value or { value }
  for _, message in ipairs(list) do
    if type(message) ~= "table" or message[1] ~= nil then
      return nil, ("its line is no message: expected an object, got %s"):format(schema.describe(message))
    end
  end
  return list
end

--- Answers what the messages of a line ask; the one that answers the newest request, or nil.
local function answer_in(client, messages)
  local answer
  for _, message in ipairs(messages) do
    if message.method and message.id ~= nil then
      answer_request(client, message)
    elseif message.id == client.last then
      answer = message
    end
  end
  return answer
end

--- Sends a request and waits for its answer.
---@param method string
---@param parameters table
---@return table? result
---@return ebb.Error? why
function Client:request(method, parameters)
  self.last = self.last + 1
  local text = line_of { id = self.last, method = method, params = parameters }
  local deadline = core.now() + self.seconds * 1000
  for _ = 1, mcp.LINES_MAX do
    local left = (deadline - core.now()) / 1000
    if left <= 0 then return problem(self, ("no answer to %s in %g seconds"):format(method, self.seconds)) end
    local line, why = self.dialogue:say(text, left, true)
    text = ""
    if not line then return problem(self, ("%s (%s)"):format(why, method)) end
    local messages, wrong = messages_of(line)
    if not messages then return problem(self, ("%s (%s)"):format(wrong, method)) end
    local message = answer_in(self, messages)
    if message then
      local result, failed = result_of(message)
      if not result then return problem(self, ("%s: %s"):format(method, failed)) end
      return result
    end
  end
  return problem(self, ("%d lines, and none of them answers %s"):format(mcp.LINES_MAX, method))
end

--- Starts a server.
---@param host ebb.WorkflowHost
---@param command string
---@param seconds number
---@param options table         of host.dialogue
---@return ebb.McpClient?
---@return ebb.Error? problem
function mcp.open(host, command, seconds, options)
  local client = setmetatable({ command = command, seconds = seconds, last = 0 }, Client)
  local dialogue, why = host.dialogue(command, options)
  if not dialogue then return problem(client, why) end
  client.dialogue = dialogue
  local result, failed = client:request("initialize", {
    protocolVersion = PROTOCOL, capabilities = {}, clientInfo = { name = "ebb", version = core.version },
  })
  if not result then
    client:close()
    return nil, failed
  end
  local ok, broken = dialogue:say(line_of { method = "notifications/initialized" }, seconds)
  if not ok then
    client:close()
    return problem(client, broken)
  end
  return client
end

function Client:close() self.dialogue:close() end

--- The tools of a server, as it declares them.
---@return table[]? tools
---@return ebb.Error? problem
function Client:tools()
  local list, cursor = {}, nil
  for _ = 1, mcp.PAGES_MAX do
    local result, why = self:request("tools/list", { cursor = cursor })
    if not result then return nil, why end
    if type(result.tools) ~= "table" then return problem(self, "tools/list: its answer has no tools") end
    for _, tool in ipairs(result.tools) do
      if type(tool) == "table" and type(tool.name) == "string" then list[#list + 1] = tool end
    end
    if #list > mcp.TOOLS_MAX then return problem(self, ("it has more than %d tools"):format(mcp.TOOLS_MAX)) end
    cursor = type(result.nextCursor) == "string" and result.nextCursor or nil
    if not cursor then return list end
  end
  return problem(self, ("its tools have more than %d pages"):format(mcp.PAGES_MAX))
end

--- A linked resource: its address, and what a model chooses it by.
local function link_of(part, resource)
  local about = {}
  for _, name in ipairs { "name", "title", "description" } do
    local said = resource[name]
    if type(said) == "string" and said ~= "" and said ~= about[#about] then about[#about + 1] = said end
  end
  local link = ("%s: %s"):format(words(part.type), resource.uri ~= nil and words(resource.uri) or "not shown")
  return ("[%s%s]"):format(link, about[1] and ", " .. table.concat(about, ": ") or "")
end

--- A part of a result as text.
local function text_of(part)
  if type(part) ~= "table" then return "" end
  if part.type == "text" then return words(part.text) end
  local inner = part.type == "resource" and type(part.resource) == "table" and part.resource
  if inner and type(inner.text) == "string" then return inner.text end
  local data = type(part.data) == "string" and part.data or inner and inner.blob
  if type(data) == "string" then
    local mime = part.mimeType or inner and inner.mimeType or "unknown"
    return ("[%s, %s, %d bytes: not shown]"):format(words(part.type), words(mime), #data * 3 // 4)
  end
  return link_of(part, inner or part)
end

--- Calls a tool.
---@param name string
---@param arguments table
---@return string? text
---@return ebb.Error|boolean failed   with nil the error; else whether the tool says that it failed
function Client:call(name, arguments)
  local result, why = self:request("tools/call", { name = name, arguments = arguments })
  if not result then return nil, why end
  local texts = {}
  for _, part in ipairs(type(result.content) == "table" and result.content or {}) do
    texts[#texts + 1] = text_of(part)
  end
  if not texts[1] and result.structuredContent ~= nil then texts[1] = core.json.encode(result.structuredContent) end
  return table.concat(texts, "\n"), result.isError == true
end

return mcp
