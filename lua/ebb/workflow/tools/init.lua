--- Tools: what a model may call in a workflow, declared once for all of its nodes.
--
--     tools = {
--       { name = "add", description = "Adds numbers.", parameters = "a:number, b:number",
--         run = function(arguments) return arguments.a + arguments.b end },
--       { name = "grep", parameters = "pattern:string", command = "./grep.sh" },    the call as JSON on its stdin
--       { file = "more.lua" },                         a sandboxed file that returns a tool, or a list of them
--       { mcp = "npx -y @modelcontextprotocol/server-everything", only = { "echo" } },
--       { recall = true },                             gives back what a trim with handles left out
--     }
--
-- `parameters` are words, as those of a window's action, or a JSON schema. A tool that fails answers the model with
-- an error; only a host that lacks what a tool needs ends the run. Commands and servers do what a model says: of the
-- environment, where keys are, they get VARIABLES and what `env` names.

local core = require "ebb.support.core"
local loader = require "ebb.sandbox.loader"
local locate = require "ebb.workflow.locate"
local mcp = require "ebb.workflow.tools.mcp"
local parameters = require "ebb.windows.parameters"
local recall = require "ebb.conversation.recall"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"
local text_form = require "ebb.support.text_form"
local traceback = require "ebb.support.traceback"

local tools = {}

tools.SECONDS = 60                    -- for a command, and an answer of a server
tools.RESULT_BYTES = 256 * 1024       -- of a result, as the model reads it
tools.NAME_MAX = 64                   -- of letters
tools.DEFINITION_BYTES = 64 * 1024    -- of what a server says of a tool: each request has it

--- Variables of the environment that programs need; LC_* means all that begin so.
tools.VARIABLES = { "HOME", "LANG", "LANGUAGE", "LC_*", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "TZ",
  "USER", "XDG_*" }

local HINT = '{ name = "add", parameters = "a:number, b:number", run = function(arguments) ... end }'

local TOOL = {
  type = "object", expected = "a tool", hint = HINT,
  fields = {
    name = {
      type = "string", filled = true, max = tools.NAME_MAX,
      check = function(name)
        if name:find "[^%w_-]" then return ("expected letters, digits, _ and -, got '%s'"):format(name) end
      end,
    },
    description = { type = "string" },
    parameters = { any_of = { { type = "string" }, { type = "table" } },
      expected = 'words such as "text:string, n:int?", or a JSON schema' },
    run = { type = "function" }, command = { type = "string", filled = true },
    file = { type = "string", filled = true }, mcp = { type = "string", filled = true },
    env = { type = "list", help = "names of variables of the environment that it gets, too", items = {
      type = "string", check = function(name)
        if not name:find "^[%a_][%w_]*$" then return ("expected the name of a variable, got '%s'"):format(name) end
      end } },
    only = { type = "list", items = { type = "string" } }, prefix = { type = "string" },
    recall = { type = "boolean", default = false },
    tokens = { type = "integer", min = 1, help = "most tokens of a recalled text" },
    timeout = { type = "number", min = 0.001, max = 86400, default = tools.SECONDS, unit = "seconds" },
    result_bytes = { type = "integer", min = 100, default = tools.RESULT_BYTES, unit = "bytes" },
    once = { type = "boolean", default = false, help = "not called again after a run that was killed" },
    trusted = { type = "boolean", default = false }, limits = loader.LIMITS,
  },
}

--- Fields that go with one kind of tool only.
local ONLY = {
  only = { "mcp" }, prefix = { "mcp" }, tokens = { "recall" }, trusted = { "file" }, limits = { "file" },
  once = { "run", "command", "mcp" }, env = { "command", "mcp" }, description = { "run", "command" },
  parameters = { "run", "command" }, name = { "run", "command" },
}

---@class ebb.Tool
---@field name string
---@field description? string
---@field schema string          of its arguments, JSON
---@field declared? ebb.Parameter[]
---@field call fun(arguments: table, call: ebb.Call, chat: ebb.Conversation, host: ebb.WorkflowHost): string?, string?
---@field result_bytes integer
---@field once boolean

---@class ebb.Toolset
---@field list ebb.Tool[]
---@field by_name table<string, ebb.Tool>
---@field servers table[]        declarations
---@field clients ebb.McpClient[]
local Toolset = {}
Toolset.__index = Toolset

---- Declarations ----

local function kind_of(value, where)
  local kind
  for _, name in ipairs { "run", "command", "file", "mcp", "recall" } do
    local is_there = value[name] ~= nil and value[name] ~= false
    if is_there and kind then
      refuse("argument", ("%s: %s and %s do not go together"):format(where, kind, name), HINT)
    end
    kind = is_there and name or kind
  end
  if not kind then refuse("argument", where .. ": a tool needs run, command, file, mcp or recall", HINT) end
  for name, kinds in pairs(ONLY) do
    if value[name] ~= nil and value[name] ~= false and not tables.contains(kinds, kind) then
      refuse("argument", ("%s: %s does not go with %s"):format(where, name, kind))
    end
  end
  if (kind == "run" or kind == "command") and not value.name then
    refuse("argument", where .. ": name is missing", HINT)
  end
  return kind
end

--- The schema of a tool's arguments, as text, and as its own words declare it.
local function schema_of(value, where)
  if value.parameters == nil then return '{"type":"object","properties":{}}' end
  if type(value.parameters) == "table" then return core.json.encode(value.parameters) end
  local ok, declared = pcall(parameters.parse, value.parameters)
  if not ok then refuse("argument", ("%s: parameters: %s"):format(where, declared.message), declared.hint) end
  return parameters.json_schema(declared), declared
end

--- Returns a function's answer as a text; or nil and why it has none.
local function answer_of(first, why)
  if first == nil and why ~= nil or first == false then return nil, tostring(why or "it failed") end
  if first == nil or first == true then return "done" end
  if type(first) == "string" then return first end
  local text = text_form(first)
  if text then return text end
  return nil, "its result has no text form: " .. schema.describe(first)
end

--- The caller of a function; a sandboxed one gets no conversation.
local function caller_of_function(run, limits)
  return function(arguments, _, chat)
    if loader.holds(run) then
      local results = table.pack(pcall(loader.edit, run, limits, arguments))
      if not results[1] then
        return nil, core.is_error(results[2]) and results[2].message or tostring(results[2])
      end
      return answer_of(results[3], results[4])
    end
    local ok, first, why = traceback.call(run, run, arguments, chat)
    if not ok then return nil, first end
    return answer_of(first, why)
  end
end

--- Returns how the host runs a command or a server.
local function running(value)
  local variables = table.move(tools.VARIABLES, 1, #tools.VARIABLES, 1, {})
  local more = value.env or {}
  return { variables = table.move(more, 1, #more, #variables + 1, variables) }
end

--- The caller of a command, which reads the call as JSON.
local function caller_of_command(value)
  local options = running(value)
  return function(arguments, call, _, host)
    local input = core.json.encode { name = value.name, id = call.id, arguments = arguments }
    return host.converse(value.command, input .. "\n", value.timeout, options)
  end
end

local function add(set, tool, where)
  if set.by_name[tool.name] then
    refuse("argument", ("%s: a tool '%s' is there already"):format(where, tool.name), "another name, or prefix")
  end
  set.by_name[tool.name] = tool
  set.list[#set.list + 1] = tool
end

local function add_declared(set, value, call, where)
  local text, declared = schema_of(value, where)
  add(set, { name = value.name, description = value.description, schema = text, declared = declared, call = call,
    result_bytes = value.result_bytes, once = value.once }, where)
end

--- The tool of handles that trims leave; it reads the conversation only.
local function add_recall(set, value, where)
  local definition, options = recall.tool "gemini", { tokens = value.tokens or recall.TOKENS }
  add(set, {
    name = definition.name, description = definition.description, schema = core.json.encode(definition.parameters),
    result_bytes = value.result_bytes, once = false,
    call = function(arguments, _, chat)
      if type(arguments.name) ~= "string" then return nil, recall.EXPECTED end
      local text, problem = recall.read(chat, arguments.name, options)
      return text, text == nil and problem.message or nil
    end,
  }, where)
end

--- The tools of a file, which are functions only.
local function add_file(set, value, where, place)
  local path, folder = locate.path(value.file, place)
  local kind = { noun = "tool", verb = "run", hint = "return " .. HINT }
  local result = loader.read(path, kind, { trusted = value.trusted, limits = value.limits }, folder)
  local list = result.run == nil and result.name == nil and result or { result }
  if #list == 0 then refuse("shape", value.file .. ": expected a tool or a list of them", kind.hint) end
  for i, each in ipairs(list) do
    local name = #list > 1 and ("%s, tool %d"):format(value.file, i) or value.file
    local tool = schema.check(TOOL, each, name, { code = "shape" })
    if kind_of(tool, name) ~= "run" then refuse("shape", name .. ": a file has tools with run", kind.hint) end
    add_declared(set, tool, caller_of_function(tool.run, value.limits), where .. ": " .. name)
  end
end

local function add_one(set, value, where, place)
  locate.check_fields(value, place, where .. ".")
  value = schema.check(TOOL, value, where)
  local kind = kind_of(value, where)
  if kind == "file" then return add_file(set, value, where, place) end
  if kind == "mcp" then
    set.servers[#set.servers + 1] = value
  elseif kind == "recall" then
    add_recall(set, value, where)
  elseif kind == "run" then
    add_declared(set, value, caller_of_function(value.run), where)
  else
    add_declared(set, value, caller_of_command(value), where)
  end
end

--- Reads the tools of a workflow; raises for the first mistake.
---@param list any
---@param place ebb.WorkflowPlace
---@return ebb.Toolset
function tools.new(list, place)
  local set = setmetatable({ list = {}, by_name = {}, servers = {}, clients = {} }, Toolset)
  if list == nil then return set end
  if type(list) ~= "table" or #list == 0 and next(list) ~= nil then
    refuse("argument", "tools: a list is expected, not " .. schema.describe(list), "tools = { " .. HINT .. " }")
  end
  for i, value in ipairs(list) do
    local ok, problem = pcall(add_one, set, value, ("tools[%d]"):format(i), place)
    if not ok and core.is_error(problem) then problem.path = { "tools", i } end
    if not ok then error(problem, 0) end
  end
  return set
end

---- Servers ----

--- The schema of a server's tool, as text; or nil and why no request can have it.
local function schema_of_remote(remote)
  local value = remote.inputSchema
  if value == nil then return '{"type":"object"}' end
  if not parameters.is_object(value) or value.type ~= nil and value.type ~= "object" then
    return nil, "its inputSchema is not the schema of an object"
  end
  value.type = "object"
  return core.json.encode(value)
end

--- A tool of a server as requests list it; or nil and why it cannot be one of them.
---@param taken table<string, boolean>   names of the server's other tools
local function definition_of(remote, server, taken)
  local name = (server.prefix or "") .. remote.name
  if #name > tools.NAME_MAX then return nil, ("its name has more than %d letters"):format(tools.NAME_MAX) end
  if not name:find "^[%w_-]+$" then return nil, "its name has more than letters, digits, _ and -" end
  if taken[name] then return nil, "another tool has its name" end
  local execution = type(remote.execution) == "table" and remote.execution or {}
  if execution.taskSupport == "required" then return nil, "it runs as a task only, and this client has none" end
  local text, why = schema_of_remote(remote)
  if not text then return nil, why end
  local description = type(remote.description) == "string" and remote.description or nil
  if #text + #(description or "") > tools.DEFINITION_BYTES then
    return nil, ("its description and schema have more than %d bytes"):format(tools.DEFINITION_BYTES)
  end
  return { name = name, description = description, schema = text }
end

local function add_remote(set, client, server, remote, definition)
  add(set, {
    name = definition.name, description = definition.description, schema = definition.schema,
    result_bytes = server.result_bytes, once = server.once,
    call = function(arguments)
      local text, failed = client:call(remote.name, arguments)
      if not text then return nil, failed.message end
      if failed then return nil, text end
      return text
    end,
  }, server.mcp)
end

--- Adds the tools of a server, but those that cannot be used: the program says why.
local function add_remotes(set, client, server, remotes, host)
  local taken = {}
  for _, remote in ipairs(remotes) do
    if not server.only or tables.contains(server.only, remote.name) then
      local definition, why = definition_of(remote, server, taken)
      if definition then
        taken[definition.name] = true
        add_remote(set, client, server, remote, definition)
      else
        if host.say then
          host.say(("warning: the MCP server `%s`: its tool %s is left out: %s"):format(server.mcp,
            schema.describe(remote.name), why))
        end
      end
    end
  end
end

local function check_only(server, remotes)
  local names = {}
  for i, remote in ipairs(remotes) do names[i] = remote.name end
  for _, name in ipairs(server.only or {}) do
    if not tables.contains(names, name) then
      return core.error("unknown_name", ("the MCP server `%s` has no tool '%s'"):format(server.mcp, name),
        suggest.hint(name, names))
    end
  end
end

--- Starts the servers, once; their tools are among the others from then on.
---@param host ebb.WorkflowHost
---@return true? done
---@return ebb.Error? problem
function Toolset:open(host)
  while self.servers[1] do
    local server = self.servers[1]
    if not host.dialogue then
      return nil, core.error("host", "nothing here starts the MCP server `" .. server.mcp .. "`",
        "run the workflow with `ebb run`, or give host = { dialogue = function }")
    end
    local client, problem = mcp.open(host, server.mcp, server.timeout, running(server))
    if not client then return nil, problem end
    self.clients[#self.clients + 1] = client
    local remotes, why = client:tools()
    why = why or check_only(server, remotes)
    if why then return nil, why end
    add_remotes(self, client, server, remotes, host)
    table.remove(self.servers, 1)
  end
  return true
end

function Toolset:close()
  for _, client in ipairs(self.clients) do client:close() end
  self.clients = {}
end

---- Use ----

--- The tools as a request lists them; nil if there are none.
---@return ebb.RequestTool[]?
function Toolset:definitions()
  local list = {}
  for i, tool in ipairs(self.list) do
    list[i] = { name = tool.name, description = tool.description, parameters = tool.schema }
  end
  return list[1] and list or nil
end

--- The arguments of a call, as its tool takes them; or nil and what is wrong.
local function arguments_of(tool, call)
  local text = call.arguments
  local value, problem = core.json.decode(text ~= nil and text:find "%S" and text or "{}")
  if problem then return nil, "its arguments are not JSON: " .. problem.message end
  if not parameters.is_object(value) then return nil, "its arguments are no JSON object" end
  if not tool.declared then return value end
  return parameters.check(tool.declared, value, true)
end

--- A result as the model reads it, of a bearable length.
local function cut(text, most)
  text = core.utf8(text)
  if #text <= most then return text end
  local stop = utf8.offset(text, 0, most + 1) - 1
  return ("%s\n[%d more bytes are left out]"):format(text:sub(1, stop), #text - stop)
end

--- Performs a call.
---@param call ebb.Call
---@param chat ebb.Conversation
---@param host ebb.WorkflowHost
---@return string text
---@return boolean failed
function Toolset:perform(call, chat, host)
  local tool = self.by_name[call.name]
  if not tool then
    local hint = suggest.hint(call.name, tables.keys(self.by_name))
    return ("error: there is no tool '%s'%s"):format(call.name, hint and (" (%s)"):format(hint) or ""), true
  end
  local arguments, wrong = arguments_of(tool, call)
  if not arguments then return "error: " .. wrong, true end
  local text, why = tool.call(arguments, call, chat, host)
  if text then return cut(text, tool.result_bytes), false end
  return cut("error: " .. tostring(why), tool.result_bytes), true
end

return tools
