--- A client of the Model Context Protocol, over a command's standard input and output: a JSON message in each line.
--
--     initialize -> notifications/initialized -> tools/list (page by page) -> tools/call ...
--
-- What a server does is not trusted: it may hang, die, flood, answer other requests than ours, or not in JSON.

local core = require "ebb.support.core"

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

--- Answers what a server asks: it may ping, and we offer nothing else.
local function answer_request(client, message)
  local reply = message.method == "ping" and { id = message.id, result = {} }
    or { id = message.id, error = { code = -32601, message = "this client has no " .. tostring(message.method) } }
  return client.dialogue:say(line_of(reply), client.seconds)
end

--- What an answer says: the result, or nil and why not.
local function result_of(message)
  if type(message.result) == "table" then return message.result end
  local failed = type(message.error) == "table" and message.error
  return nil, failed and tostring(failed.message or failed.code) or "its answer has neither result nor error"
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
    local message = line:find "%S" and core.json.decode(line)
    if type(message) == "table" and message.method and message.id ~= nil then
      answer_request(self, message)
    elseif type(message) == "table" and message.id == self.last then
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

--- A part of a result as text.
local function text_of(part)
  if type(part) ~= "table" then return "" end
  if part.type == "text" then return tostring(part.text) end
  local inner = part.type == "resource" and type(part.resource) == "table" and part.resource
  if inner and type(inner.text) == "string" then return inner.text end
  local data = type(part.data) == "string" and part.data or inner and inner.blob
  if type(data) == "string" then
    return ("[%s, %s, %d bytes: not shown]"):format(part.type, part.mimeType or inner and inner.mimeType or "unknown",
      #data * 3 // 4)
  end
  return ("[%s: %s]"):format(tostring(part.type), tostring(part.uri or part.name or "not shown"))
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
