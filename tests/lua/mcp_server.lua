--- A server of the Model Context Protocol for the specs: ebb run mcp_server.lua WAY
--
-- WAY is "good", or what is wrong with it: "hangs", "dies", "floods", "lies", "refuses", "garbage".

local json = require("ebb").json
local way = arg[1] or "good"

local function say(message)
  message.jsonrpc = "2.0"
  io.write(json.encode(message), "\n")
  io.flush()
end

local TOOLS = {
  { name = "echo", description = "Says it again.", inputSchema = { type = "object",
    properties = { text = { type = "string" } }, required = { "text" } } },
  { name = "fails", inputSchema = { type = "object" } },
  { name = "parts", inputSchema = { type = "object" } },
}

local function call(id, params)
  if params.name == "echo" then return { content = { { type = "text", text = "echo: " .. params.arguments.text } } } end
  if params.name == "fails" then return { isError = true, content = { { type = "text", text = "it cannot" } } } end
  say { id = "s" .. id, method = "ping" }
  say { id = "t" .. id, method = "roots/list" }
  say { method = "notifications/message", params = { level = "info", data = "x" } }
  return { content = { { type = "text", text = "one" }, { type = "image", mimeType = "image/png", data = "AAAA" },
    { type = "resource", resource = { uri = "file:x", text = "two" } } } }
end

local answers = {
  initialize = function() return { protocolVersion = "2025-06-18", capabilities = { tools = {} },
    serverInfo = { name = "t", version = "1" } } end,
  ["tools/list"] = function(_, params)
    local second = params.cursor == "2"
    return { tools = second and { TOOLS[2], TOOLS[3] } or { TOOLS[1] }, nextCursor = not second and "2" or nil }
  end,
  ["tools/call"] = call,
}

local broken = {
  hangs = function() while true do io.read(1) end end,
  dies = function() os.exit(3) end,
  floods = function()
    while true do say { method = "notifications/message", params = { data = ("x"):rep(1000) } } end
  end,
  lies = function(id) say { id = id + 1000, result = {} } end,
  refuses = function(id) say { id = id, error = { code = -32000, message = "not today" } } end,
  garbage = function() io.write(("no JSON\n"):rep(20)) io.flush() os.exit(0) end,
}

for line in io.lines() do
  local message = json.decode(line)
  if message.id and message.method then
    if broken[way] and message.method == "tools/call" then broken[way](message.id)
    else say { id = message.id, result = answers[message.method](message.id, message.params) } end
  end
end
