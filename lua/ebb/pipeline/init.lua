--- Builds the body of a request from a stored conversation.
--
--     local pipeline = ebb.pipeline { agent = "agent.json", set = { "token-limiter.budget=4000" } }
--     local result, problem = pipeline:run(chat)
--     print(result.body, result.tokens)
--
-- Processors run in order of their priority on copies of the visible history. The
-- conversation is only read. A preview is the same run: the same clock, the same
-- dice, the same bytes.

local arrangement = require "ebb.pipeline.arrangement"
local budgets = require "ebb.processors.token_limiter"
local context = require "ebb.pipeline.context"
local core = require "ebb.support.core"
local engine = require "ebb.pipeline.engine"
local lorebooks = require "ebb.pipeline.lorebooks"
local expansion = require "ebb.pipeline.expansion"
local files = require "ebb.pipeline.files"
local own_macros = require "ebb.pipeline.own_macros"
local plugins = require "ebb.pipeline.plugins"
local processors = require "ebb.processors"
local quantity = require "ebb.support.quantity"
local refuse = require "ebb.support.refuse"
local registry = require "ebb.pipeline.registry"
local final_warnings = require "ebb.pipeline.final_warnings"
local repair = require "ebb.models.repair"
local request = require "ebb.pipeline.request"
local rewriting = require "ebb.processors.regex_processor"
local requests = require "ebb.request"
local loader = require "ebb.sandbox.loader"
local schema = require "ebb.support.schema"
local settings = require "ebb.pipeline.settings"
local composition = require "ebb.pipeline.composition"
local request_model = require "ebb.pipeline.request_model"
local run_budget = require "ebb.pipeline.run_budget"
local tables = require "ebb.support.tables"
local target = require "ebb.models.target"
local unbound = require "ebb.pipeline.unbound"
local kept_variables = require "ebb.pipeline.variables"

local pipeline = {}

local ANY, TEXT, FLAG, INTEGER, TABLE =
  { type = "any" }, { type = "string" }, { type = "boolean" }, { type = "integer" }, { type = "table", shared = true }
local FILE = { any_of = { TEXT, TABLE }, expected = "a table or the name of a file" }

--- The options of ebb.pipeline.
---@type table<string, ebb.Schema>
pipeline.OPTIONS = {
  agent = FILE, model_config = FILE, user_profile = FILE, model = TEXT, encoding = TEXT, to = TEXT, keep_extra = FLAG,
  lorebooks = lorebooks.SPEC,
  counter = { type = "function" }, set = { type = "list", items = TEXT }, processors = { type = "list", items = ANY },
  macros = own_macros.SPEC,
  on_error = { type = "choice", choices = { "stop", "skip" }, default = "stop" },
  limits = loader.LIMITS, trusted = { type = "boolean", default = false }, asset_root = TEXT,
  reads = { type = "list", items = TEXT, expected = "a list of names of services" },
  session = TABLE, host = TABLE, now = INTEGER, zone = INTEGER, seed = INTEGER,
  role_map = ANY, max_message = ANY, max_file = ANY,
}

local Pipeline = {}
Pipeline.__index = Pipeline

function Pipeline.__tostring(self)
  local enabled = 0
  for _, step in ipairs(self:order()) do
    if step.setting.enabled then enabled = enabled + 1 end
  end
  return ("Pipeline of %d processors"):format(enabled)
end
pipeline.methods = Pipeline

local PIPELINE = {
  read = function(value) return getmetatable(value) == Pipeline and value or nil, "a Pipeline" end,
  hint = "call methods with a colon: pipeline:run(chat)",
}

arrangement.install(Pipeline, PIPELINE)

---- Making one ----

--- Returns how files of others are run.
---@return ebb.Loading
local function loading_of(options)
  if options.trusted and options.limits and next(options.limits) then
    refuse("argument", "pipeline: limits: trusted code has none", "leave out trusted, or limits")
  end
  return { trusted = options.trusted, limits = options.limits }
end

--- A folder that the caller names stands for the agent's.
local function place_assets(agent, root)
  if root == nil then return agent end
  agent.asset_root, agent.asset_base = root, nil
  return agent
end

---@param options? ebb.PipelineOptions
---@return ebb.Pipeline
function pipeline.new(options)
  options = schema.options(pipeline.OPTIONS, options, "pipeline", 'ebb.pipeline { agent = "agent.json" }')
  local loading = loading_of(options)
  local function find(id) return plugins.find(id, loading, plugins.PROCESSOR) end
  local pipe = setmetatable({ options = options, registry = registry.new(processors.built_in(), find), singles = {},
    loading = loading }, Pipeline)
  for _, processor in ipairs(plugins.of_program()) do pipe.registry:register(processor) end
  for _, each in ipairs(options.processors or {}) do
    for _, processor in ipairs(plugins.load(each, pipe.loading, plugins.PROCESSOR)) do
      pipe.registry:register(processor)
    end
  end
  pipe.macros = own_macros.registry(options.macros, pipe.loading)
  local agent, agent_source = files.read("agent", options.agent or {}, pipe.loading)
  pipe.agent, pipe.sources = place_assets(agent, options.asset_root), { agent = agent_source }
  if options.model_config then
    pipe.model_file, pipe.sources.model = files.read("model", options.model_config, pipe.loading)
  end
  if options.user_profile then
    pipe.user, pipe.sources.user = files.read("user", options.user_profile, pipe.loading)
  end
  pipe.lore = lorebooks.take(options.lorebooks, pipe.agent, pipe.user, pipe.loading)
  for _, word in ipairs(options.set or {}) do
    pipe.singles[#pipe.singles + 1] = settings.parse(pipe.registry, word)
  end
  arrangement.check(pipe)   -- mistakes are raised now
  return pipe
end

--- Returns all settings by id, each with its origin.
---@return table<string, ebb.Setting>
local function merge_settings(self)
  local of_model = self.model_file and self.model_file.processors
  return settings.merge(self.registry, { model = of_model, agent = self.agent.processors }, self.singles, self.sources)
end

--- The settings of all processors in the order in which they run, as an agent's `processors` take them.
---@return ebb.SettingEntry[]
function Pipeline:settings()
  schema.check(PIPELINE, self, "pipeline:settings")
  return settings.entries(self:order())
end

--- The processors in the order in which they run, disabled ones too.
---@return { processor: ebb.Processor, setting: ebb.Setting, is_core: boolean, built_in: boolean }[]
function Pipeline:order()
  schema.check(PIPELINE, self, "pipeline:order")
  local merged, order = merge_settings(self), {}
  local list = self.registry:list(function(entry) return merged[entry.processor.id].priority end,
    function(entry) return merged[entry.processor.id].place end)
  for i, entry in ipairs(list) do
    order[i] = { processor = entry.processor, setting = merged[entry.processor.id], is_core = entry.is_core,
      built_in = entry.built_in }
  end
  return order
end

---- One run ----

local function steps_of(self)
  local steps, skipped = {}, {}
  for _, each in ipairs(self:order()) do
    if each.setting.enabled then
      steps[#steps + 1] = { processor = each.processor, values = each.setting.values, folders = each.setting.folders,
        built_in = each.built_in }
    else
      skipped[#skipped + 1] = each.processor.id
    end
  end
  return steps, skipped
end

--- An integer from a text, the same one everywhere.
local function seed_from(text)
  return tonumber(core.sha256(text):sub(1, 15), 16)
end

local function session_of(self, chat, options)
  local session = tables.copy(options.session or self.options.session or {})
  local first = chat:all()[1]
  session.id = session.id or core.sha256(first and first.json or ""):sub(1, 16)
  return session
end

local function add_variables(result, source)
  for group, variables in pairs(source and source.variables or {}) do
    for name, value in pairs(variables) do
      result[group][name] = value
    end
  end
end

--- Merges macro variables; later ones win: the user's, the agent's, the conversation's, the caller's.
local function variables_of(self, chat, session)
  local result = { ["local"] = {}, global = {} }
  add_variables(result, self.user)
  add_variables(result, self.agent)
  kept_variables.recall(chat, result)
  add_variables(result, session)
  return result
end

--- The text of the last user message.
local function newest_input(chat)
  local message = chat:recent("user", 1)[1]
  return message and message.text
end

local function fields_of(self, chat, options)
  local session = session_of(self, chat, options)
  session.variables = variables_of(self, chat, session)   -- the tables that macros change
  local before = tables.copy(session.variables)
  local newest = chat[#chat]
  local fields = {
    chat = chat, preview = options.preview or false, session = session,
    timestamp = options.now or self.options.now or core.now(),
    agent_config = tables.copy(self.agent), user_profile = tables.copy(self.user), zone = self.options.zone,
    capabilities = request_model.capabilities(self, chat), variables = session.variables,
    input = newest_input(chat),
    seed = options.seed or self.options.seed
      or seed_from(("%s %d %s"):format(session.id, #chat, newest and newest.json or "")),
  }
  local budget = run_budget.new(self.loading, #chat)
  fields.run = { macros = expansion.new(fields, self.macros, budget, self.loading), budget = budget,
    variables_before = before }
  fields.session = tables.read_only(session, "session")
  fields.capabilities = tables.read_only(fields.capabilities, "capabilities")
  return fields
end

local CANNOT_WAIT = "nobody answers '%s' at once, and a sandboxed processor cannot wait for an answer"
local WAIT_HINT = "give a function: host = { retrieve = function(request) ... end }, or trust the processor"

--- Services that a preview may ask, too: they only read.
local READS = { asset = true, retrieve = true }

local function only_reads(self, service, arguments)
  return READS[service] or service == "cache" and arguments.set == nil
    or tables.contains(self.options.reads or {}, service)
end

--- Asks the host, or in a task without such a function the caller of `step`. A preview does
--- not ask services with side effects, and notes their requests.
local function ask_of(self, run, in_task)
  local host = self.options.host or {}
  return function(service, arguments)
    if run.preview and (host[service] or in_task) and not only_reads(self, service, arguments) then
      run.unasked[#run.unasked + 1] = { service = service, request = arguments }
      return nil, "a preview does not ask the host"
    end
    if host[service] then return host[service](arguments) end
    if in_task then
      if not coroutine.isyieldable() then refuse("argument", CANNOT_WAIT:format(service), WAIT_HINT) end
      return coroutine.yield { service = service, request = arguments }
    end
    return nil, ("the host does not answer '%s'"):format(service)
  end
end

--- Writes unchanged messages of a conversation that was read in another form from their original bytes, if the target
--- is the source's dialect. Returns the losses of the reading, and the origins of the messages.
---@return ebb.Loss[] lost       by that reading
local function read_back(run, messages, chat, options)
  if not run.link then return {} end
  if run.target.dialect ~= run.source then return run.link.losses end
  local body, lost, origins = requests.read_back(run.link, run.source, messages)
  options.list, options.model = run.request:parse(body), chat:model()
  return lost, origins
end

--- Origins in a list that was made of others, as origins in these.
local function origins_through(origins, list)
  if not list or not origins then return origins or list end
  local result = {}
  for i, position in ipairs(origins) do
    result[i] = position > 0 and list[2 * position - i % 2] or 0
  end
  return result
end

--- The request as it is sent: in its target's form, checked, and mended where a provider would refuse it.
local function finish(run, messages)
  if not run.adds_only_texts then run.request:check(messages) end
  local chat, goal = run.request:chat(messages), run.target
  local options = { profile = goal.profile, keep_extra = run.keep_extra, reasoning = true, origins = true,
    keeps_schemas = run.base ~= nil }
  if run.unbound then options.unbound_from, options.unbound_past = unbound.range(run.unbound, messages) end
  local lost, list = read_back(run, messages, chat, options)
  local text, losses, origins = requests.change(chat, run.form, goal.dialect, options)
  table.move(lost, 1, #lost, #losses + 1, losses)
  if text and run.base then text, losses = requests.keep_own(run.link, run.source, run.base, text, losses) end
  if text then chat = run.request:parse(text) end
  local copy, report = repair.outgoing(chat, { dialect = goal.dialect, profile = goal.profile })
  return copy, report, losses, origins_through(origins, list)
end

local function only_core_follows(run)
  return function()
    if run.link then return false end   -- signatures come back, which weigh something
    for place = run.place + 1, #run.steps do
      if not run.steps[place].built_in then return false end
    end
    return true
  end
end

--- Built-in processors that change nothing in place, and whose results depend on the messages only.
local FORMATTERS = {
  ["merge-system"] = true, ["merge-roles"] = true, ["convert-system"] = true, ["alternate-roles"] = true,
  ["asset-resolver"] = true,   -- without files
}

--- True if the later steps are formatters of texts: a forecast of them comes true.
local function is_predictable(run)
  return function()
    if run.link or run.request.refers or not run.adds_only_texts then return false end
    for place = run.place + 1, #run.steps do
      if not FORMATTERS[run.steps[place].processor.id] then return false end
    end
    return true
  end
end

--- True if all that is added to the history are texts, by built-in processors: no file, and nothing to be checked.
local function adds_only_texts(self, run)
  for _, step in ipairs(run.steps) do
    if not step.built_in then return false end
  end
  for _, preset in ipairs(self.agent.presets or {}) do
    if type(preset.content) == "table" or preset.attachments or preset._attachments then return false end
  end
  return run.trace == nil   -- it gets the messages themselves
end

local function prepare(self, chat, options)
  local fields = fields_of(self, chat, options)
  local run = fields.run
  run.steps, run.skipped = steps_of(self)
  run.logs, run.answers, run.loading = {}, {}, self.loading
  run.lore, run.lorebook_state = self.lore, self.lore and lorebooks.recall(chat) or nil
  run.on_error, run.trace, run.on_step = self.options.on_error or "stop", options.trace, options.on_step
  run.adds_only_texts = adds_only_texts(self, run)
  run.is_lazy = run.adds_only_texts and run.on_error == "stop" and not options.in_task   -- nobody else sees messages
  run.preview, run.unasked, run.fresh = options.preview, {}, {}
  run.ask = ask_of(self, run, options.in_task)
  local source, parse_options = chat:dialect(), request_model.parse_options(self, chat)
  run.keep_extra = self.options.keep_extra
  run.target = target.of { to = self.options.to, model = fields.capabilities.model, input = source }
  run.source, run.sources = source, self.sources
  run.link = requests.read_as(chat, source, function(text)
    local copy, problem = core.parse(text, parse_options)
    if not copy then error(problem, 0) end
    return copy
  end, run.target)
  run.form = run.link and "openai" or source
  run.base = run.link and run.target.dialect == source and requests.base(run.link, source) or nil
  run.request = request.open(run.link and run.link.copy or chat, request_model.members(self), parse_options, chat)
  run.unbound = not run.link and unbound.open(chat, run.target) or nil
  run.thinking_of = function(history) return unbound.of_history(run.unbound, history) end
  run.tools = function() return requests.read_tools(run.request:around(), run.form) end
  run.only_core_follows, run.is_predictable = only_core_follows(run), is_predictable(run)
  run.forecast = function(from, messages)
    return engine.forecast(run, fields, from, messages, function(list) return finish(run, list) end)
  end
  return run, context.new(fields)
end

local function budget_of(run, run_context)
  for _, step in ipairs(run.steps) do
    if step.processor.id == "token-limiter" then return budgets.budget(run_context.capabilities, step.values) end
  end
end

--- Finishes the request with the last step's messages; reuses the limiter's forecast if it exists.
local function finish_last(run, messages)
  local seen = run.foreseen
  if seen and seen.messages == run.limited then return seen.chat, seen.report, seen.losses, seen.origins end
  return finish(run, messages)
end

--- Returns what the composition needs to know about the making of the request.
---@return ebb.pipeline.Making
local function made_of(run, messages, origins)
  local _, system = requests.without_system(run.request:around(), run.form)
  return {
    messages = messages, origins = origins, dialect = run.target.dialect, own_system = system and #system or 0,
    weigh = function(text) return run.request:parse(text):tokens() end,
  }
end

--- The result; or nil, the error, and what was done until then.
local function conclude(run, run_context)
  run.current = "request"
  final_warnings.model(run_context)
  final_warnings.left(run_context)
  final_warnings.unasked(run_context, run.unasked)
  final_warnings.volatile(run_context, run.macros.volatile)
  final_warnings.braces(run_context, run.macros)
  if #run_context.messages == 0 then
    return nil, core.error("shape", "the request has no messages: the conversation has none, and no preset adds one")
  end
  local ok, chat, report, losses, origins = pcall(finish_last, run, run_context.messages)
  if not ok and core.is_error(chat) then return nil, chat end
  if not ok then return nil, core.error(engine.is_out_of_memory(chat) and "memory" or "processor", tostring(chat)) end
  final_warnings.repair(run_context, report)
  final_warnings.losses(run_context, losses)
  local tokens, trust = chat:tokens(), chat:trust()
  local result = {
    chat = chat, tokens = tokens, trust = trust, budget = budget_of(run, run_context),
    messages = not run.is_lazy and run_context.messages or nil,
    logs = run.logs, repair = report, shared_data = run_context.shared_data,
    dialect = run.target.dialect, losses = losses, skipped = run.skipped, unasked = run.unasked,
    variables = run.macros:variables(), trimmed = run.trimmed,
  }
  setmetatable(result, { __index = composition.measure(made_of(run, run_context.messages, origins), chat:fork()) })
  if result.budget and tokens > result.budget then
    local text = ("cannot fit: the request has %s, the budget is %d"):format(quantity(tokens, "token"), result.budget)
    return nil, core.error("cannot_fit", text), result
  end
  return result
end

local CHAT = { type = "handle", class = "Conversation" }

local CALLBACK = { type = "function" }

--- The options of a run; a session, a time and a seed take the place of the pipeline's.
---@type table<string, ebb.Schema>
pipeline.RUN = {
  preview = FLAG, trace = CALLBACK, on_step = CALLBACK, session = TABLE, now = INTEGER, seed = INTEGER,
}
local RUN = pipeline.RUN
local DISPLAY = { streaming = FLAG }

local function check_chat(self, chat, method)
  schema.check(PIPELINE, self, method)
  return schema.check(CHAT, chat, method .. ": chat")
end

--- Keeps what the run changed besides its result: macro variables, and timers in the batch that these begin.
local function remember(chat, run, run_context)
  local change, problem = kept_variables.change(chat, run.variables_before, run.macros:variables())
  if change then problem = select(2, kept_variables.keep(chat, change)) end
  if problem then run_context:log("warn", "the macro variables are not kept: " .. problem.message) end
  if not run.lorebook_state then return end
  local why = lorebooks.remember(chat, run.lorebook_state)
  if why then run_context:log("warn", "the lorebook's timers are not kept: " .. why.message) end
end

local function run_all(self, chat, options)
  local run, run_context = prepare(self, chat, options)
  local ok, problem = engine.run(run, run_context, 1)
  if not ok then return nil, problem, { logs = run.logs, skipped = run.skipped } end
  local result, refusal, partial = conclude(run, run_context)
  if result and not options.preview then remember(chat, run, run_context) end
  return result, refusal, partial
end

--- Runs all processors. `trace(step, messages, failure)` is called after each, and so is
--- `on_step(step, failure, chat)`, for which messages that no processor read need not be made.
---@param chat ebb.Conversation
---@param options? ebb.PipelineRun
---@return ebb.PipelineResult? result
---@return ebb.Error? problem     names the processor that failed; code: "cannot_fit", "processor", "absent" ...
---@return table? partial         with the logs of what was done
function Pipeline:run(chat, options)
  return run_all(self, check_chat(self, chat, "run"), schema.options(RUN, options, "run"))
end

--- Runs all processors without effects outside of the run.
function Pipeline:preview(chat, options)
  local values = schema.options(RUN, options, "preview")
  values.preview = true
  return run_all(self, check_chat(self, chat, "preview"), values)
end

--- A run that may wait: where no function of the host answers, `step` returns the request.
--
--     local task = pipeline:task(chat)
--     local request = task:step()
--     while request do request = task:step(answer(request.service, request.request)) end
--     print(task.result.body)
local Task = { __name = "PipelineTask" }
Task.__index = Task

function Task.__tostring(task)
  return "PipelineTask, " .. (not task.done and "under way" or task.result and "done" or "failed")
end

--- Continues with the answer to the last request, or with nil and the reason.
function Task:step(answer, why)
  if self.done then refuse("closed", "the task is done: task.result, or task.error") end
  local results = table.pack(coroutine.resume(self.thread, answer, why))
  if not results[1] then
    self.done = true
    error(results[2], 0)
  end
  if coroutine.status(self.thread) ~= "dead" then return results[2] end
  self.done, self.result, self.error, self.partial = true, table.unpack(results, 2, 4)
end

---@param chat ebb.Conversation
---@param options? ebb.PipelineRun
---@return ebb.PipelineTask
function Pipeline:task(chat, options)
  local values = schema.options(RUN, options, "task")
  values.in_task = true
  check_chat(self, chat, "task")
  local thread = coroutine.create(function() return run_all(self, chat, values) end)
  return setmetatable({ thread = thread, done = false }, Task)
end

--- Expands the macros of a text of the user, as a run would do it now. The conversation stays as it is.
---@param chat ebb.Conversation
---@param text string
---@return string
---@return ebb.Variables variables   as the macros left them
---@return ebb.Variables before      as they found them
function Pipeline:expand(chat, text)
  check_chat(self, chat, "expand")
  schema.check(TEXT, text, "expand: text")
  local run, run_context = prepare(self, chat, {})
  run.current = "input"
  local expanded = run_context:expand(text, { values = { input = text } })
  return expanded, run.macros:variables(), run.variables_before
end

--- The visible history as a reader is shown it: with the rules of stage `render`.
---@param chat ebb.Conversation
---@param options? { streaming?: boolean }
---@return ebb.WorkingMessage[] messages
---@return ebb.LogEntry[] logs
function Pipeline:display(chat, options)
  check_chat(self, chat, "display")
  local values = schema.options(DISPLAY, options, "display")
  local run, run_context = prepare(self, chat, { preview = true })
  local id, messages = rewriting.processor.id, run_context:history()
  local setting = merge_settings(self)[id]
  run.current = id
  if setting.enabled then
    local _ <close> = run.budget:enter()
    rewriting.apply(run_context, setting.values, messages, { stage = "render", streaming = values.streaming })
  end
  return messages, run.logs
end

pipeline.task_methods = Task

return pipeline
