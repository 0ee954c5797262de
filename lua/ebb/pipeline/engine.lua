--- Runs processors in order.
--
--     messages --1--> --2--> --3--> ... --> request body
--                 |
--                 fails: the log names it; the messages are as they were before it;
--                 the run stops, or under on_error = "skip" goes on with the next
--
-- Each processor runs in a coroutine of its own: it may ask the host and wait. One that
-- came from a file runs in its sandbox, within limits; one that was given as a function
-- has fuel, so that it cannot run for ever by mistake.

local tables = require "ebb.support.tables"
local traceback = require "ebb.support.traceback"
local context_of = require "ebb.pipeline.context"
local core = require "ebb.support.core"
local sandboxed_processor = require "ebb.sandbox.processor"
local plugins = require "ebb.pipeline.plugins"
local references = require "ebb.processors.references"

local engine = {}

engine.FUEL = 200000000    -- instructions of a function that is not built in: a second or two

local HOOK_STEP = 10000   -- instructions between two checks
local MEMORY = "not enough memory"   -- Lua's own error

---@class ebb.engine.Step
---@field processor ebb.Processor
---@field values table          its settings
---@field folders table<string, string>   of the files that have them
---@field built_in boolean      the context itself is its argument, and its messages are not checked

---@class ebb.engine.Run
---@field request ebb.Request
---@field steps ebb.engine.Step[]
---@field current? string       the id of the processor that runs
---@field place integer         its place in steps
---@field logs ebb.LogEntry[]
---@field answers table         of the host, by question
---@field budget ebb.RunBudget
---@field fresh table           sandboxes of this run
---@field loading ebb.Loading     how processors of others run
---@field on_error "stop"|"skip"
---@field is_predictable fun(): boolean   the later steps, and what is made of their messages, depend on these alone
---@field foreseen? table        the last forecast of such steps: the messages that it was made for, and its results
---@field limited? ebb.WorkingMessage[]   the messages that the token limiter left
---@field trace? fun(step: ebb.engine.Step, messages: ebb.WorkingMessage[], failure: string?)
---@field on_step? fun(step: ebb.engine.Step, failure: string?, chat: ebb.Conversation)

--- Stops the coroutine once its fuel is spent; from then on each instruction raises
--- again, so that no pcall of its own can go on.
local function burn(thread, fuel)
  local fuel_left = fuel
  if fuel == 0 then return end
  local function stop() error(("out of fuel after %d instructions: does it loop?"):format(fuel), 0) end
  debug.sethook(thread, function()
    fuel_left = fuel_left - HOOK_STEP
    if fuel_left > 0 then return end
    debug.sethook(thread, stop, "", 1)
    stop()
  end, "", HOOK_STEP)
end

--- True for Lua's own error and for that of the core.
function engine.is_out_of_memory(problem)
  return problem == MEMORY or core.is_error(problem) and problem.code == "memory"
end

--- Returns the results of a call that raised `problem`: false, the text, the code.
local function failed(problem)
  if problem == MEMORY then return false, problem, "memory" end
  return false, traceback.text(problem), core.is_error(problem) and problem.code or nil
end

--- Calls what says itself where it went wrong: a sandbox does, and where in what is built
--- in something was refused is nobody's business.
local function call_core(execute, ...)
  local ok, problem = pcall(execute, ...)
  if ok then return true end
  return failed(problem)
end

--- The coroutine that runs one step.
local function thread_of(run, step, context)
  local execute, loading = step.processor.execute, run.loading
  if step.built_in then
    return coroutine.create(function() return call_core(execute, context, tables.copy(step.values)) end)
  end
  if sandboxed_processor.holds(execute) then
    return coroutine.create(function()
      return call_core(function()
        sandboxed_processor.run(plugins.fresh(execute, run.fresh), loading.limits, context, tables.copy(step.values))
      end)
    end)
  end
  local thread = coroutine.create(function()
    return traceback.call(execute, execute, context, tables.copy(step.values))
  end)
  if not loading.trusted then burn(thread, loading.limits and loading.limits.fuel or engine.FUEL) end
  return thread
end

--- Runs a step to its end. Its requests to the host are yielded to the caller of the run.
---@return boolean ok
---@return string? message
---@return string? code
local function run_step(run, step, context)
  local thread, answer = thread_of(run, step, context), table.pack()
  while true do
    local results = table.pack(coroutine.resume(thread, table.unpack(answer, 1, answer.n)))
    if not results[1] then return failed(results[2]) end
    if coroutine.status(thread) == "dead" then return results[2], results[3], results[4] end
    answer = table.pack()
    if coroutine.isyieldable() then answer = table.pack(coroutine.yield(table.unpack(results, 2, results.n))) end
  end
end

--- Runs a step whose time counts as the agent's, and refuses it if that is used up.
local function run_counted(run, step, context)
  local _ <close> = run.budget:enter()
  local ok, message, code = run_step(run, step, context)
  if not ok then return ok, message, code end
  ok, message = pcall(run.budget.check, run.budget, "its end")
  return ok, not ok and tostring(message) or nil, not ok and "limit" or nil
end

--- Built-in processors that run user code; their fuel is counted here. Macros of other steps count by themselves.
local COUNTED = { ["regex-processor"] = true, ["injection-assembler"] = true, ["lorebook"] = true }

local function is_counted(step)
  if step.built_in then return COUNTED[step.processor.id] end
  return sandboxed_processor.holds(step.processor.execute)
end

--- Runs a step and checks the messages that it left.
local function attempt(run, step, context)
  local ok, message, code = (is_counted(step) and run_counted or run_step)(run, step, context)
  if not ok then return nil, message, code ~= "memory" and not step.built_in and "processor" or code end
  if step.built_in then return true end
  local fine, problem = pcall(run.request.check, run.request, context.messages)
  if fine then
    references.take_all(context.messages)
    return true
  end
  if engine.is_out_of_memory(problem) then return nil, tostring(problem), "memory" end
  return nil, "it left " .. (core.is_error(problem) and problem.message or tostring(problem)), "processor"
end

local function state_of(run, context)
  if run.on_error ~= "skip" then return nil end
  return { messages = tables.copy(context.messages), shared_data = tables.copy(context.shared_data) }
end

--- Returns which step took all messages away; nil if a later one added some.
local function emptied_by(step, place, before, count, context, emptied)
  if #context.messages > 0 then return nil end
  return count > 0 and { step = step, place = place, before = before } or emptied
end

local function restore(context, state)
  if not state then return end
  context.messages, context.shared_data = state.messages, state.shared_data
end

--- Logs a failure and restores the messages from before it.
---@return ebb.Error? problem    nil under on_error = "skip"
local function fail(run, context, step, before, message, code)
  run.current = step.processor.id
  context:log("error", message)
  restore(context, before)
  if run.on_error == "skip" then return nil end
  return core.error(code or "processor", ("processor '%s': %s"):format(step.processor.id, message))
end

--- Runs the steps from number `first` on. One that took all messages away has failed if no later
--- one added any; a skipped one is taken back, and the later ones run again.
---@param run ebb.engine.Run
---@param context ebb.Context
---@param first integer
---@return true? done
---@return ebb.Error? problem    names the processor
function engine.run(run, context, first)
  local emptied
  for place = first, #run.steps do
    local step = run.steps[place]
    run.current, run.place = step.processor.id, place
    local before, count = state_of(run, context), #context.messages
    local ok, message, code = attempt(run, step, context)
    local problem = not ok and fail(run, context, step, before, message, code)
    if problem then return nil, problem end
    emptied = emptied_by(step, place, before, count, context, emptied)
    if run.trace then run.trace(step, context.messages, message) end
    if run.on_step then run.on_step(step, message, run.request:chat(context.messages)) end
  end
  if emptied then
    local message = "it left no messages, and no later processor added any"
    local problem = fail(run, context, emptied.step, emptied.before, message)
    if problem then return nil, problem end
    return engine.run(run, context, emptied.place + 1)
  end
  run.current = nil
  return true
end

--- A failure of the later steps is reported when they run. Lack of memory is raised at once: without the forecast the
--- result would be another one.
local function no_forecast(is_out_of_memory)
  if is_out_of_memory then error(MEMORY, 0) end
  return nil
end

--- A run of the later steps on copies, whose logs and changes go with it. Predictable steps make new messages where
--- they change any, so that a copy of the list will do; and what was made of them is kept: it need not be made again.
---@param run ebb.engine.Run
---@param fields ebb.ContextFields
---@param messages ebb.WorkingMessage[]
---@param finish fun(messages: ebb.WorkingMessage[]): ebb.Conversation, ebb.RepairReport?, ebb.Loss[], integer[]?
---@return integer? tokens
function engine.forecast(run, fields, context, messages, finish)
  local copy = {}
  for name, value in pairs(run) do
    copy[name] = value
  end
  copy.logs, copy.trace, copy.on_step, copy.macros = {}, nil, nil, run.macros:fork()
  copy.forecast = function(from, list) return engine.forecast(copy, fields, from, list, finish) end
  local trial = {}
  for name, value in pairs(fields) do
    trial[name] = value
  end
  trial.run, trial.preview = copy, true
  local is_predictable = run.is_predictable()
  trial.messages = is_predictable and table.move(messages, 1, #messages, 1, {}) or tables.copy(messages)
  trial.shared_data = tables.copy(context.shared_data)
  local later = context_of.new(trial)
  run.foreseen = nil
  local done, problem = engine.run(copy, later, run.place + 1)
  if not done then return no_forecast(problem.code == "memory") end
  local ok, chat, report, losses, origins = pcall(finish, later.messages)
  if not ok then return no_forecast(engine.is_out_of_memory(chat)) end
  if is_predictable then
    run.foreseen = { messages = messages, chat = chat, report = report, losses = losses, origins = origins }
  end
  return chat:tokens()
end

return engine
