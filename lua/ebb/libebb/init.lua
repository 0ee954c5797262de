--- Serves libebb from the Lua library: JSON in, JSON out, one function per call
-- of the C API that needs Lua.
--
-- The library runs in the state of the sandbox, but not in the sandbox: it has
-- globals of its own (runtime/api/library.c), which no script sees. What comes
-- from outside (policies, scripts) is compiled here into globals of its own.

local hints = require "ebb.libebb.hints"   -- first: others take its words when they are loaded

local built_in = require "ebb.policies"
local core = require "ebb.support.core"
local ebb = require "ebb"
local json_form = require "ebb.libebb.json_form"
local functions = require "ebb.libebb.functions"
local json_arguments = require "ebb.support.json_arguments"
local models = require "ebb.models"
local refuse = require "ebb.support.refuse"
local roles = require "ebb.conversation.roles"
local script_face = require "ebb.sandbox.script_face"
local script_path = require "ebb.sandbox.script_path"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"
local vocabularies = require "ebb.models.vocabularies"

local api = {}

local json = core.json
local decode = json_arguments.decode

--- The policies that the host has loaded, by name.
---@type table<string, ebb.Policy>
local loaded = {}

--- The results of a pcall; raises its error. The host gets a code and a text, so the hint goes into the text.
local function finish(ok, ...)
  if ok then return ... end
  local problem = ...
  if not core.is_error(problem) or not problem.hint then error(problem, 0) end
  return error(core.error(problem.code, ("%s (%s)"):format(problem.message, problem.hint)), 0)
end

--- The function, with the hints of its errors in their messages.
---@param run function
---@return function
local function with_hints(run)
  return function(...) return finish(pcall(run, ...)) end
end

---- Chats ----

local ANY = { type = "any" }   -- the conversation checks them
local TABLE = { type = "object", fields = {}, items = ANY, camel = true, expected = "an object" }

local CHAT_OPTIONS = { model = ANY, encoding = ANY, limit = ANY, tools = ANY, tools_heading = ANY }

--- Vocabularies are the host's (runtime/api/counting.c): each has one tokenizer here, to the runtime's end.
local tokenizers = {}

vocabularies.list = core.vocab.list

function vocabularies.find(encoding)
  return encoding
end

function vocabularies.open(encoding)
  local tokenizer, problem = tokenizers[encoding], nil
  if not tokenizer then tokenizer, problem = core.tokenizer(encoding) end
  tokenizers[encoding] = tokenizer
  if problem and problem.code ~= "absent" then error(problem, 0) end
  return tokenizer
end

--- Options of chats that are read from a file or text.
local BYTES = { type = "integer", min = 1, unit = "bytes" }
local ROLE = {
  type = "string", expected = "the name of a role",
  check = function(role)
    if tables.contains(roles, role) then return nil end
    return ("unknown role '%s'"):format(role), suggest.hint(role, roles), "unknown_name"
  end,
}
local READ_OPTIONS = {
  lenient = ANY, max_message = BYTES, max_file = BYTES,
  role_map = {
    type = "object", fields = {}, items = ROLE, camel = true, expected = "an object", hint = '{"old": "user"}',
  },
}
for name, field in pairs(CHAT_OPTIONS) do READ_OPTIONS[name] = field end

local function chat_options(text, was_read)
  local options = json_arguments.options(text, was_read and READ_OPTIONS or CHAT_OPTIONS, "a chat")
  options.clock = api.clock
  return options
end

--- A conversation with the host's clock, `api.clock`.
---@param text? string
---@param was_read? boolean     the options are those of `api.read`
function api.conversation(text, was_read)
  return ebb.conversation(chat_options(text, was_read))
end

--- One of messages that `parse` reads.
---@param text? string          options
---@param parse fun(options: table): ebb.Conversation?, string?, string?
---@param message_limit integer
function api.read(text, parse, message_limit)
  local options = chat_options(text, true)
  options.max_message = options.max_message or message_limit
  local core_options, model = models.resolve(options)
  local chat, problem = parse(core_options)
  if not chat then error(problem, 0) end
  models.assign(chat, model, options.model)
  models.adopt(chat, options)
  return chat
end

--- Counts a loaded chat for the model that its body names, unless its options say otherwise.
function api.adopt(chat, text)
  models.adopt(chat, chat_options(text, true))
end

function api.apply(chat, text)
  local results = json.array {}
  for i, result in ipairs(require("ebb.conversation.operations").apply(chat, text)) do
    results[i] = { operation = result.operation, affectedBatchIndex = result.affected_batch_index }
  end
  return json.encode(results)
end

--- Refuses a save whose windows hold what only this library can tell to be wrong.
function api.check_windows(chat)
  require("ebb.windows").check_saved(chat)
end

---- Policies and scripts ----

--- A module for policies, loaded on first use.
local parts_of_script = {
  __index = function(_, name) return require("ebb.conversation.parts")[name] end, __metatable = false,
}

local function policies() return require "ebb.trim.policies" end

--- Returns a script's globals: libraries that no other script can change, and the
--- host's functions. `api.new_globals` is the runtime's.
local function globals_of_script()
  local modules = { ebb = script_face(), ["ebb.conversation.parts"] = setmetatable({}, parts_of_script) }
  return setmetatable(api.new_globals(modules), { __index = functions.view(), __metatable = false })
end

script_path.globals = globals_of_script   -- files that the host's `read` brings are scripts, too

--- Compiles the text of a script.
local function compile(name, source)
  local chunk, problem = load(source, "@" .. name, "t", globals_of_script())
  return chunk or refuse("syntax", problem)
end

--- Runs a compiled script and returns its value. Refusals get the script's line, which other errors have.
local function run_script(chunk)
  local describe = require("ebb.support.traceback").handler(chunk)
  local ok, value = xpcall(chunk, function(problem)
    return core.is_error(problem) and describe(problem) or problem
  end)
  if ok then return value end
  if type(value) == "table" and getmetatable(value) == nil then refuse(value.code, value.message) end
  return error(value, 0)
end

--- Compiles and runs the text of a script; returns its value.
local function evaluate(name, source) return run_script(compile(name, source)) end

local function refuse_built_in(name)
  if not built_in.find(name) then return end
  refuse("argument", ("'%s' is the name of a built-in policy"):format(name), "give it another name")
end

--- The policy that a text has returned, under the host's name for it: that is what
--- ledgers and memories say.
local function check_policy(name, value)
  if type(value) == "function" then value = { trim = value } end
  if type(value) ~= "table" then
    refuse("shape", ("%s: expected a policy, the text returned %s"):format(name, type(value)),
      "return { name = ..., trim = function(draft, budget, options) ... end }")
  end
  local policy = {}
  for field, part in pairs(policies().find(value)) do
    policy[field] = part
  end
  policy.name = name
  return policy
end

local function find(name)
  if type(name) ~= "string" then refuse("argument", "a policy is named by a string") end
  if loaded[name] then return loaded[name] end
  local policy = built_in.find(name)
  if policy then return policy end
  if name:find "%.lua$" then return policies().find(name) end
  local names = tables.keys(loaded)
  table.move(built_in.names, 1, #built_in.names, #names + 1, names)
  return refuse("unknown_name", ("unknown policy '%s'"):format(name), suggest.hint(name, names) or hints.policies)
end

--- { "name", { name = "other", option = value } } as chat:trim takes it.
local function policy_list(list)
  local steps = {}
  for i, entry in ipairs(list) do
    local step = {}
    if type(entry) == "table" then
      for key, value in pairs(entry) do
        if key ~= "name" then step[key] = value end
      end
    end
    step[1] = find(type(entry) == "table" and entry.name or entry)
    steps[i] = step
  end
  if #steps == 0 then refuse("argument", "policy: an empty list") end
  return steps
end

local function resolve(policy, options)
  if policy:find "^%s*%[" then
    if options ~= nil then refuse("argument", "options of several policies belong in their list") end
    return policy_list(decode(policy, "policy"))
  end
  local spec = { find(policy) }
  for name, value in pairs(options or {}) do
    spec[name] = value
  end
  return spec
end

--- Checks all arguments before anything runs; and
--- what a trim needs is loaded here, at no script's expense.
local function read_trim(policy, text)
  require "ebb.trim"
  local fields = require("ebb.trim.options").with({ "budget", "reserve", "guards", "dry_run" }, { options = TABLE })
  local options = json_arguments.options(text, fields, "a trim")
  options.policy = resolve(policy or built_in.default, options.options)
  options.options = nil
  return options
end

local COUNTS = { "before", "after", "budget", "trust", "dropped", "replaced", "inserted", "kept", "batch", "refused" }

--- As JSON, and the ledger, which the C side writes after it: that may be too long for a string.
local function encode_report(report)
  local result = {}
  for _, name in ipairs(COUNTS) do
    result[name] = report[name]
  end
  result.notes = json.array {}
  for i, note in ipairs(report.ledger:notes()) do
    result.notes[i] = { by = note.by, text = note.text }
  end
  return json.encode(result), report.ledger
end

local function trim(chat, options)
  local report, problem = chat:trim(options)
  if not report then error(problem, 0) end
  return encode_report(report)
end

--- The calls below give a function that runs within limits.

function api.trim(chat, policy, text)
  local options = read_trim(policy, text)
  return with_hints(function() return trim(chat, options) end)
end

--- Compiles, checks and swaps; whatever fails, the old one stays.
function api.policy_loader(name, source)
  refuse_built_in(name)
  policies()
  return with_hints(function() loaded[name] = check_policy(name, evaluate(name, source)) end)
end

--- Compiles and checks, for `api.keep_chunk`, which is the runtime's; nothing is swapped.
function api.policy_compiler(name, source)
  refuse_built_in(name)
  policies()
  return with_hints(function()
    local chunk = compile(name, source)
    api.keep_chunk(chunk)   -- before it runs
    check_policy(name, run_script(chunk))
  end)
end

--- Checks and swaps what was compiled before.
---@param chunk function      with globals of its own, `api.script_globals`
function api.policy_adder(name, chunk)
  policies()
  return with_hints(function() loaded[name] = check_policy(name, run_script(chunk)) end)
end

api.script_globals = globals_of_script

---- Tasks ----

local TIMER_MAX = 1000 * 86400 * 36525   -- milliseconds: a hundred years

--- Writes { timer = milliseconds } for runtime/api/step.c: not as JSON, so that it is no request of the host's.
local function timer_text(value)
  if type(value) ~= "table" or value.timer == nil or next(value, (next(value))) ~= nil then return nil end
  local milliseconds = math.tointeger(value.timer)
  if type(value.timer) ~= "number" or not milliseconds or milliseconds < 0 or milliseconds > TIMER_MAX then
    refuse("argument", "timer: expected milliseconds, an integer from 0 to a hundred years")
  end
  return "timer " .. milliseconds
end

--- request() for scripts and policies: a value goes to the host as JSON, its
--- answer comes back so. A refusal is {code, message} of the sandbox, and raised as an error of the library's.
---@param ask fun(text: string): string
function api.requester(ask)
  return function(value)
    local ok, answer = pcall(ask, timer_text(value) or json_form.encode(value))
    if ok then return (json.decode(answer)) end
    if type(answer) == "table" and not core.is_error(answer) then answer = core.error(answer.code, answer.message) end
    return error(answer, 0)
  end
end

--- The host's model for policies, as chat:trim wants it.
local function model(request)
  request.type = "model"
  local ok, answer = pcall(_G.request, request)
  if ok then return answer end
  return nil, core.is_error(answer) and answer.message or type(answer) == "table" and answer.message or tostring(answer)
end

function api.task_trim(chat, policy, text)
  local options = read_trim(policy, text)
  options.model = model
  return with_hints(function() return trim(chat, options) end)
end

--- Says where in the script it happened. A table of the script's own, {code, message},
--- is its own business.
local function script_handler(chunk)
  local describe = require("ebb.support.traceback").handler(chunk)
  return function(problem)
    if type(problem) == "table" and not core.is_error(problem) then return problem end
    return describe(problem)
  end
end

function api.task_script(chat, name, source, arguments)
  local chunk = compile(name, source)
  local value
  if arguments ~= "" then value = decode(arguments, "arguments") end
  local handler = script_handler(chunk)
  return function()
    local ok, result = xpcall(chunk, handler, chat, value)
    if not ok then error(result, 0) end
    return json_form.encode(result == nil and json.null or result)
  end
end

---- Replays, filters, queries ----

function api.task_replay(...) return require("ebb.libebb.replays").task(with_hints, policy_list, ...) end

for _, name in ipairs { "filter_loader", "filter_unload", "filterer" } do
  api[name] = function(...) return require("ebb.libebb.filters")[name](with_hints, evaluate, ...) end
end

function api.policy_lister() return require("ebb.libebb.settings").policy_lister(with_hints, api, loaded) end

--- Tasks that run end with it.
function api.policy_unload(name)
  refuse_built_in(name)
  if not loaded[name] then
    refuse("unknown_name", ("no policy '%s' is loaded"):format(name), suggest.hint(name, tables.keys(loaded)))
  end
  loaded[name] = nil
end

function api.querier(...) return require("ebb.libebb.queries").querier(with_hints, api, ...) end

for name, run in pairs(functions) do
  api[name] = run
end

for name, run in pairs(api) do
  api[name] = with_hints(run)
end

---- Functions of other modules ----

local function call_module(module, name, ...)
  return require("ebb.libebb." .. module)[name](with_hints, api, ...)
end

--- Loads rarely needed functions at their first call, so that a runtime without them stays small.
for module, names in pairs {
  windows = { "window_open", "window_update", "window_close", "window_content", "windows", "renderer",
    "actor" },
  documents = { "writer", "checker", "request_writer", "repairer" },
  settings = { "models_adder", "model_lister", "counter", "tokenizer", "changed", "change",
    "report_usage" },
  pipelines = { "pipeline_opener", "pipeline_runner", "task_pipeline" },
} do
  for _, name in ipairs(names) do
    api[name] = function(...) return finish(pcall(call_module, module, name, ...)) end
  end
end

return api
