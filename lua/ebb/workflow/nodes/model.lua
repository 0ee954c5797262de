--- Node `model`: asks a model, and appends its answer.
--
--     { type = "model", model = "gpt-4o-mini" }               by HTTP, key and address from the environment
--     { type = "model", command = "./ask.sh" }                the request on its stdin, the answer on its stdout
--     { type = "model", pipeline = { agent = "agent.json" } } what a pipeline makes of the conversation is sent
--
-- A recording of the run comes first, then the node's command, the host's, and HTTP.

local act = require "ebb.windows.act"
local core = require "ebb.support.core"
local dialects = require "ebb.models.dialects"
local pipelines = require "ebb.workflow.nodes.pipeline"
local profiles = require "ebb.models.profiles"
local repair = require "ebb.models.repair"
local provider = require "ebb.provider"
local answers = require "ebb.provider.answer"
local schema = require "ebb.support.schema"
local target = require "ebb.models.target"
local traceback = require "ebb.support.traceback"

local function seconds(help) return { type = "number", min = 0.001, max = 86400, unit = "seconds", help = help } end

local FIELDS = {
  model = { type = "string", filled = true, help = "default: the conversation's" },
  dialect = { type = "choice", choices = dialects, help = "default: the model's" },
  profile = { type = "string", help = "the server's rules: a name that `ebb profiles` lists" },
  base_url = { type = "string", help = "default: EBB_BASE_URL, OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GEMINI_BASE_URL" },
  key_env = { type = "string", help = "the variable of the environment with the key; default: EBB_API_KEY, "
    .. "OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY" },
  command = { type = "string", filled = true, help = "a shell command that answers instead" },
  pipeline = { type = "table", shared = true, help = "fields of a pipeline node, whose request is sent" },
  tools = { type = "boolean", default = true, help = "false: the model is not told of tools and actions" },
  tool_choice = { type = "string", help = "auto, none, required, or a tool's name" },
  max_tokens = { type = "integer", min = 1, unit = "tokens" },
  temperature = { type = "number", min = 0, max = 2 },
  request = { type = "table", help = "other members of the request, as they are" },
  stream = { type = "boolean", default = true, help = "false: the answer comes whole, also on a terminal" },
  timeout = seconds "of a whole answer; default 600", idle = seconds "without a byte; default 120",
  retries = { type = "integer", min = 0, max = 20, default = provider.RETRIES,
    help = "of an answer that was cut, slow, 429 or 5xx" },
  back_off = { type = "number", min = 0.001, max = 60, default = provider.BACK_OFF, unit = "seconds",
    help = "before the first retry; each waits twice as long, or as the provider says" },
  on_cut = { type = "choice", choices = { "keep", "fail" }, default = "keep",
    help = "what becomes of an answer that ended at a limit" },
}

---- Answers of commands and functions ----

--- A text, {text = ...}, or a provider's response, as an answer.
local function read_answer(form, value)
  local text = type(value) == "string" and value or nil
  local body = text and text:find "^%s*{" and core.json.decode(text) or type(value) == "table" and value or nil
  if body and body.text == nil then
    return answers.read(form, text or core.json.encode(body))
  end
  local said = body and body.text or text
  if type(said) ~= "string" then return nil, { message = "it is neither a text nor a response" } end
  said = said:gsub("%s+$", "")
  local message = core.json.encode { role = "assistant", content = said }
  return { messages = said ~= "" and "[" .. message .. "]" or "[]", usage = {}, dialect = "openai",
    body = text or core.json.encode(body) }
end

local function by_command(command, wants, body, form, host)
  if not host.converse then
    return nil, core.error("host", "nothing here runs the command", "run the workflow with `ebb run`")
  end
  local output, why = host.converse(command, body .. "\n", wants.timeout or provider.SECONDS)
  if not output then return nil, core.error("model", ("the command failed: %s"):format(why)) end
  local answer, problem = read_answer(form, output)
  if not answer then return nil, core.error("model", "the command's answer: " .. problem.message) end
  return answer
end

local function by_function(call, body, form)
  local ok, value, why = traceback.call(call, call, core.json.decode(body))
  if not ok then return nil, core.error("model", value) end
  if value == nil or value == false then
    return nil, core.error("model", "the model gave no answer: " .. tostring(why or "no reason given"))
  end
  local answer, problem = read_answer(form, value)
  if not answer then return nil, core.error("model", "the model's answer: " .. problem.message) end
  return answer
end

---- Asking ----

--- Returns the endpoint of the request; without HTTP an address and a key are not needed.
local function endpoint_of(chat, wants, by_http)
  if by_http then return provider.endpoint(chat, wants) end
  local model = wants.model or chat:model()
  local goal = target.of { to = wants.dialect, model = model, profile = wants.profile, input = chat:dialect() }
  return { dialect = goal.dialect, form = provider.form(goal.dialect), model = model, profile = goal.profile }
end

--- The answer to a request, from wherever it comes.
local function ask(endpoint, wants, body, host)
  if host.replay then
    local recorded, why = host.replay(body, endpoint.dialect)
    if not recorded then return nil, core.error("model", why.message, why.hint) end
    local answer, problem = read_answer(endpoint.form, recorded)
    if not answer then return nil, core.error("model", "the recording's answer: " .. problem.message) end
    return answer
  end
  local command = wants.command or host.model_command
  if command then return by_command(command, wants, body, endpoint.form, host) end
  if host.model then return by_function(host.model, body, endpoint.form) end
  local show = wants.stream and host.show or nil
  local answer, problem = provider.ask(endpoint, wants, body,
    { http = host.http, sleep = host.sleep, say = host.say, show = show })
  if show then show "\n" end
  return answer, problem
end

---- The node ----

--- Lists what the model may call: the workflow's tools, and the actions of the conversation and its windows.
local function tools_of(chat, run)
  local list = run.toolset:definitions() or {}
  for _, tool in ipairs(act.tools(chat)) do list[#list + 1] = tool end
  return list[1] and list or nil
end

local function wants_of(options, run)
  local wants = {}
  for name, value in pairs(options) do wants[name] = value end
  wants.base_url = options.base_url or run.host.base_url
  wants.members, wants.choice = options.request, options.tool_choice
  wants.model = options.model or run.host.model_name
  wants.tools = options.tools and tools_of(run.chat, run) or nil
  return wants
end

--- Returns the conversation to send: the chat itself, or the one that a pipeline makes of it.
local function source_of(chat, pipe, run)
  if not pipe then return chat end
  pipelines.serve(pipe, run.host)
  local result, problem = pipe:run(chat)
  if not result then return nil, problem end
  for _, entry in ipairs(result.logs) do
    if entry.level ~= "info" then run:note(("%s: %s"):format(entry.processor, entry.message)) end
  end
  return result.chat
end

--- Appends an answer, and takes note of what it has cost.
local function take(chat, answer, endpoint, wants, run, is_same)
  if answer.cut and wants.on_cut == "fail" then
    return nil, core.error("model", ("the answer was cut off (%s)"):format(answer.stop))
  end
  if answer.cut and run.host.say then run.host.say(("warning: the answer was cut off (%s)"):format(answer.stop)) end
  local usage = answer.usage
  if is_same and usage.input and usage.input > 0 then
    local ratio = chat:report_usage { prompt_tokens = usage.input }
    if ratio and run.host.reported then run.host.reported(chat, ratio) end
  end
  local ok, count = pcall(provider.append, chat, answer, answer.dialect or endpoint.dialect)
  if not ok then
    if not core.is_error(count) then error(count, 0) end
    return nil, core.error("model", "the answer cannot be used: " .. count.message)
  end
  if count == 0 then
    local why = answer.stop and (" (%s)"):format(answer.stop) or ""
    return nil, core.error("model", "the answer is empty" .. why)
  end
  if usage.input or usage.output then
    run:note(("%s tokens read, %s written, %s of them from a cache"):format(usage.input or "?", usage.output or "?",
      usage.cached or 0))
  end
  return true
end

--- Asks about a conversation: the answer, and where it came from; or nil and the error.
local function answer_to(source, wants, run)
  local host = run.host
  local is_http = not (host.replay or wants.command or host.model_command or host.model)
  if is_http and not host.http then
    return nil, core.error("model", "there is no model to ask",
      "ebb.workflow.run(chat, nodes, { model = function(request) ... end }), or `ebb run`")
  end
  local endpoint, lack = endpoint_of(source, wants, is_http)
  if not endpoint then return nil, lack end
  local body, losses, report = provider.body(source, wants, endpoint, is_http and host.show and wants.stream or false)
  for _, loss in ipairs(losses) do
    if not loss.changed or loss.code == "changed_tool" then run:note(loss.text) end
  end
  for _, line in ipairs(report and repair.lines(report) or {}) do run:note(line) end
  local answer, problem = ask(endpoint, wants, body, host)
  if not answer then return nil, problem end
  if host.record then host.record(body, endpoint.dialect, answer.body) end
  return answer, endpoint
end

local function runner(options, pipe)
  return function(chat, run)
    local opened, problem = run.toolset:open(run.host)
    if not opened then return nil, problem end
    local source, failed = source_of(chat, pipe, run)
    if not source then return nil, failed end
    local wants = wants_of(options, run)
    local answer, endpoint = answer_to(source, wants, run)
    if not answer then return nil, endpoint end
    return take(chat, answer, endpoint, wants, run, not pipe and not wants.tools)
  end
end

--- Checks the fields that ask a model, in the node of another type too.
local function check(options)
  if options.profile then profiles.find(options.profile) end
  target.of { to = options.dialect, profile = options.profile, model = options.model }
end

local model = {}

--- A function that answers the requests of policies, as chat:trim takes it; nil where no model is named.
---@param chat ebb.Conversation
---@param options? table        fields of a model node
---@param run ebb.WorkflowRun
---@return (fun(request: ebb.ModelRequest): string?, string?)?
function model.asker(chat, options, run)
  local host = run.host
  if not (options or host.model or host.model_command or host.replay) then return nil end
  local wants = schema.options(FIELDS, options, "ask")
  check(wants)
  wants.model, wants.base_url = wants.model or chat:model(), wants.base_url or host.base_url
  wants.members, wants.tools, wants.stream = wants.request, nil, false
  return function(request)
    local copy = core.conversation()
    copy:append(request.messages)
    wants.max_tokens = request.max_tokens
    local answer, problem = answer_to(copy, wants, run)
    if not answer then return nil, problem.message end
    local before = #copy
    provider.append(copy, answer, answer.dialect or problem.dialect)
    if #copy == before then return nil, "the answer is empty" end
    return { text = copy[#copy].text, finish_reason = answer.cut and "length" or nil }
  end
end

model.summary = "asks a model, and appends its answer"
model.example = '{ type = "model", model = "gpt-4o-mini", max_tokens = 1000 }'
model.fields = FIELDS

function model.prepare(options, place)
  check(options)
  local pipe = options.pipeline and pipelines.open(options.pipeline, place) or nil
  return runner(options, pipe)
end

---@type ebb.NodeType
return model
