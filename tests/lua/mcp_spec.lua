--- The client of MCP: what servers write, line by line, and what the model reads and is offered.

local core = require "ebb.support.core"
local helper = dofile "tests/lua/helper.lua"
local nodes = require "ebb.workflow"

local encode, array = core.json.encode, core.json.array

local INITIALIZED = { protocolVersion = "2025-06-18", capabilities = {} }
local TOOL = { name = "t", inputSchema = { type = "object" } }

--- A host whose server answers with lines: of each method, a function of the id, or the result. It never hangs: a
--- server that has no more to say has ended.
local function host_of(answers, said)
  return {
    say = function(line) said[#said + 1] = line end,
    dialogue = function()
      local lines = {}
      return {
        close = function() end,
        say = function(_, text, _, wants_line)
          local message = text ~= "" and core.json.decode(text)
          if message and message.id and message.method then
            local answer = answers[message.method]
            if type(answer) == "function" then answer = answer(message.id, message.params)
            else answer = { encode { jsonrpc = "2.0", id = message.id, result = answer } } end
            table.move(answer, 1, #answer, #lines + 1, lines)
          end
          if not wants_line then return true end
          local line = table.remove(lines, 1)
          if line then return line end
          return nil, "it took too long"
        end,
      }
    end,
  }
end

--- Runs a model whose server has these tools and answers a call of `t`; returns what it is offered and reads.
local function run(list, answer, more)
  local said, asked = {}, {}
  local host = host_of({ initialize = INITIALIZED,
    ["tools/list"] = type(list) == "function" and list or { tools = array(list) },
    ["tools/call"] = answer or { content = array {} } }, said)
  local server = { mcp = "server" }
  for name, value in pairs(more or {}) do server[name] = value end
  local chat = helper.ebb.conversation { encoding = "cjk", messages = { { role = "user", content = "u1" } } }
  local done, problem = nodes.run(chat, { tools = { server }, nodes = { { type = "model", model = "gpt-4o" },
    { type = "tool" } } }, { host = host, model = function(request)
      asked = request.tools or {}
      return { choices = { { message = { role = "assistant", content = core.json.null, tool_calls = { { id = "c",
        type = "function", ["function"] = { name = "t", arguments = "{}" } } } }, finish_reason = "tool_calls" } } }
    end })
  local names = {}
  for i, tool in ipairs(asked) do names[i] = tool["function"].name end
  return { done = done, problem = not done and problem.message or nil, text = done and chat[#chat].text, said = said,
    names = table.concat(names, " "), tools = asked }
end

local function line(text) return function(id) return { (text:gsub("ID", id)) } end end

describe("a line of an MCP server", function()
  local BROKEN = {
    { "with a byte of Latin-1", '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"\xe9"}]}}',
      "its line is not JSON: byte 69: expected valid UTF-8" },
    { "nested too deep", '{"id":ID,"result":' .. ("["):rep(300) .. ("]"):rep(300) .. "}",
      "expected at most 256 levels" },
    { "that is cut", '{"jsonrpc":"2.0","id":ID,"resu', "its line is not JSON: byte " },
    { "that is no JSON", "Server is running", "its line is not JSON: byte 1: expected " },
    { "with more behind it", '{"id":ID,"result":{}} x', "expected end of input" },
    { "that is a text", '"hello"', "its line is no message: expected an object, got 'hello'" },
    { "that is a number", "7", "expected an object, got 7" }, { "that is null", "null", "expected an object" },
    { "with a batch of texts", '["a"]', "expected an object, got 'a'" },
    { "with a list in a batch", '[[{"id":ID,"result":{}}]]', "expected an object" },
  }
  for _, row in ipairs(BROKEN) do
    it("ends the request at once: " .. row[1], function()
      local text = run({ TOOL }, line(row[2])).text
      assert.matches("error: the MCP server `server`: ", text, 1, true)
      assert.matches(row[3], text, 1, true)
      assert.matches("(tools/call)", text, 1, true)
      local problem = run(line(row[2])).problem
      assert.matches(row[3], problem, 1, true)
      assert.matches("(tools/list)", problem, 1, true)
    end)
  end

  local OK = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"fine"}]}}'
  local READ = {
    { "a batch of one", "[" .. OK .. "]" },
    { "a batch with a notice", '[{"method":"notifications/message"},' .. OK .. "]" },
    { "a batch with others behind it", "[" .. OK .. ',{"id":99,"result":{}}]' },
    { "a batch that asks, too", '[{"id":"s1","method":"ping"},' .. OK .. "]" },
  }
  for _, row in ipairs(READ) do
    it("is read: " .. row[1], function() assert.equal("fine", run({ TOOL }, line(row[2])).text) end)
  end

  it("may be blank, an empty batch, or the late answer to another request", function()
    local text = run({ TOOL }, function(id)
      return { "", "  ", "[]", '{"id":77,"result":{}}', (OK:gsub("ID", id)) }
    end).text
    assert.equal("fine", text)
  end)
end)

describe("the result of an MCP tool", function()
  local PARTS = {
    { { type = "text", text = "a" }, "a" },
    { { type = "text", text = array { 1, 2 } }, "[1,2]" }, { { type = "text", text = { a = 1 } }, '{"a":1}' },
    { { type = { 1 } }, "[[1]: not shown]" }, { { type = "image", data = "AAAA", mimeType = { x = 1 } },
      '[image, {"x":1}, 3 bytes: not shown]' },
    { { type = "resource_link", uri = "file:///a", name = "Log", description = "Of today" },
      "[resource_link: file:///a, Log: Of today]" },
    { { type = "resource_link", uri = "file:///a", name = "log", title = "The log" },
      "[resource_link: file:///a, log: The log]" },
    { { type = "resource_link", uri = "file:///a" }, "[resource_link: file:///a]" },
    { { type = "resource_link", uri = { 1 }, name = { 2 } }, "[resource_link: [1]]" },
    { { type = "resource", resource = { uri = "x:1", name = "N" } }, "[resource: x:1, N]" },
  }
  for i, row in ipairs(PARTS) do
    it(("is a text, part %d: %s"):format(i, row[2]), function()
      assert.equal(row[2], run({ TOOL }, { content = array { row[1] } }).text)
    end)
  end

  it("that is an error has its words, not the address of a table", function()
    for _, row in ipairs {
      { '{"message":"no"}', "no" }, { '{"message":["a","b"]}', '["a","b"]' }, { '{"message":{"x":1}}', '{"x":1}' },
      { '{"code":-1}', "-1" }, { '"plain"', "plain" }, { '{"code":{}}', "{}" },
    } do
      assert.equal("error: the MCP server `server`: tools/call: " .. row[2],
        run({ TOOL }, line('{"id":ID,"error":' .. row[1] .. "}")).text)
    end
  end)
end)

describe("a tool of an MCP server that no request can have", function()
  local long = ("x"):rep(65)
  local ROWS = {
    { { name = "a b", inputSchema = { type = "object" } },
      "its tool 'a b' is left out: its name has more than letters" },
    { { name = "\27[2J" }, "its name has more than letters, digits, _ and -" },
    { { name = "" }, "its name has more than" }, { { name = "\u{e9}t\u{e9}" }, "its name has more than letters" },
    { { name = "files.read" }, "its name has more than letters" },
    { { name = long }, "its name has more than 64 letters" }, { { name = ("y"):rep(100000) }, "more than 64 letters" },
    { { name = "l", inputSchema = array { 1 } }, "its inputSchema is not the schema of an object" },
    { { name = "l", inputSchema = array {} }, "its inputSchema is not" },
    { { name = "l", inputSchema = "object" }, "its inputSchema is not" },
    { { name = "l", inputSchema = { type = "array" } }, "its inputSchema is not" },
    { { name = "h", inputSchema = { type = "object", description = ("x"):rep(70000) } }, "more than 65536 bytes" },
    { { name = "h", description = ("x"):rep(30 * 1024 * 1024) }, "more than 65536 bytes" },
    { TOOL, "its tool 't' is left out: another tool has its name" },
    { { name = "slow", execution = { taskSupport = "required" } }, "it runs as a task only" },
  }
  for i, row in ipairs(ROWS) do
    it(("is left out, row %d: %s"):format(i, row[2]), function()
      local result = run { TOOL, row[1], { name = "last" } }
      assert.equal("t last", result.names)
      assert.equal(1, #result.said)
      assert.matches("warning: the MCP server `server`: ", result.said[1], 1, true)
      assert.matches(row[2], result.said[1], 1, true)
      assert.is_true(#result.said[1] < 300)
      assert.equal("t last", run({ row[1], TOOL, { name = "last" } }).names)
    end)
  end

  it("is not spoken of where `only` does not name it", function()
    local result = run({ TOOL, { name = "a b" } }, nil, { only = { "t" } })
    assert.same({ "t", {} }, { result.names, result.said })
  end)

  it("by its prefix, too", function()
    local result = run({ TOOL, { name = ("z"):rep(64) } }, nil, { prefix = "p_" })
    assert.equal("p_t", result.names)
    assert.equal(1, #result.said)
  end)

  it("is not one of these", function()
    local result = run { { name = "a", inputSchema = {} }, { name = "b-1_B" }, { name = "c",
      execution = { taskSupport = "optional" } }, { name = "d", execution = { taskSupport = "forbidden" } },
      { name = ("n"):rep(64), inputSchema = { properties = { x = { type = "string" } } } } }
    assert.equal("a b-1_B c d " .. ("n"):rep(64), result.names)
    assert.same({}, result.said)
    for _, tool in ipairs(result.tools) do assert.equal("object", tool["function"].parameters.type) end
  end)
end)
