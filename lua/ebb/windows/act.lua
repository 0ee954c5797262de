--- Performs the calls of a model: finds the window, checks the parameters, runs the
--- action, and returns a result for each call.
--
--     text -> calls.parse -> find -> parameters.check -> run -> result
--                 \            \            \             \
--                  problem     refused      refused       failed: an error, a limit,
--                                                         or the action's refusal
--
-- A failing call does not stop the others; its result has a text for the model. The
-- action of a call:
--
--     window_id and action_id     that action of that window
--     name = "todo.add"           the same
--     name = "add"                the one open window that has such an action, or an action of the conversation
--
-- An action of the conversation itself (chat:action) needs no window; `create` may open one.
--
-- Actions of hidden windows can be called, too: a system prompt may describe them.
-- Closable windows have the built-in action `close`, in any case of its letters.
--
-- A successful action updates its window, unless it did that itself. Changes that an
-- action made before it failed stay.

local calls = require "ebb.windows.calls"
local close_action = require "ebb.windows.close_action"
local core = require "ebb.support.core"
local events = require "ebb.windows.events"
local parameters = require "ebb.windows.parameters"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"
local text_form = require "ebb.support.text_form"
local tools = require "ebb.windows.tools"
local model_text = require "ebb.windows.model_text"

local act = {}

act.NAME_MAX = 1024           -- bytes; longer than any window and action

act.INSTRUCTIONS = 50000000     -- for all actions of one text, about half a second
act.MEMORY_MAX = 64 * 1024 * 1024   -- bytes that an action may hold at once
act.ANSWER_MAX = 64 * 1024      -- bytes of one action's result
local CANDIDATES_MAX = 8        -- listed in a message
local NAMES_MAX = 500           -- searched for the nearest

---@class ebb.ResolvedAction
---@field window? ebb.Window      nil: an action of the conversation
---@field run? function           of such an action
---@field id string
---@field params? string
---@field closes? boolean       the built-in one

---- Finding ----

--- The action of a window that is open, or nil.
---@return ebb.ResolvedAction?
local function action_of(window, id)
  if close_action.is(id) then
    if not window.closable then return nil end
    return { window = window, id = close_action.ID, params = close_action.PARAMS, closes = true }
  end
  for _, action in ipairs(window.actions) do
    if action.id == id then return { window = window, id = id, params = action.params } end
  end
end

local function open_windows(chat)
  local list = {}
  for _, window in ipairs(chat.windows:list()) do
    if not window.closed then list[#list + 1] = window end
  end
  return list
end

local function with_hint(message, name, names)
  local hint = suggest.hint(name, names)
  return hint and ("%s (%s)"):format(message, hint) or message
end

local function action_names(window)
  local names = {}
  for i, action in ipairs(close_action.add(window.actions, window.closable)) do
    names[i] = action.id
  end
  return names
end

local function cut_name(name)
  return model_text.line(name, 100)
end

--- Finds by window and action; or nil, a message and its code.
local function find_exact(chat, id, action)
  local window = chat.windows:get(id)
  if not window then
    local names = {}
    for i, open in ipairs(open_windows(chat)) do
      names[i] = i <= NAMES_MAX and open.id or nil
    end
    return nil, with_hint(("window '%s' does not exist"):format(cut_name(id)), id, names), "unknown_name"
  end
  if window.closed then return nil, ("window '%s' is closed"):format(id), "closed" end
  local target = action_of(window, action)
  if target then return target end
  if close_action.is(action) then return nil, ("window '%s' cannot be closed"):format(id), "refused" end
  return nil, with_hint(("action '%s' does not exist on window '%s'"):format(cut_name(action), id), action,
    action_names(window)), "unknown_name"
end

--- The action of the conversation itself with this id, or nil.
local function own_action(chat, id)
  local action = (core.state(chat).actions or {})[id]
  return action and { id = id, params = action.params, run = action.run } or nil
end

--- Every way in which the name is a window's id, a dot and its action.
local function split_candidates(chat, name, list)
  for dot in name:gmatch "()%." do
    local window = chat.windows:get(name:sub(1, dot - 1))
    local action = name:sub(dot + 1)
    local target = window and not window.closed and action ~= "" and action_of(window, action)
    if target then list[#list + 1] = target end
  end
end

local function candidate_names(list)
  local names = {}
  for i = 1, math.min(#list, CANDIDATES_MAX) do
    names[i] = list[i].window and list[i].window.id .. "." .. list[i].id or list[i].id
  end
  if #list > CANDIDATES_MAX then names[#names + 1] = ("and %d more"):format(#list - CANDIDATES_MAX) end
  return table.concat(names, ", ")
end

local function all_names(chat, windows)
  local names = tables.keys(core.state(chat).actions or {})
  for _, window in ipairs(windows) do
    for _, action in ipairs(action_names(window)) do
      if #names >= NAMES_MAX then return names end
      names[#names + 1] = window.id .. "." .. action
      names[#names + 1] = action
    end
  end
  return names
end

--- The refusal of an unknown name. For "todo.ad" the window "todo" gives the best hint.
local function unknown_name(chat, name, windows)
  local id, action = name:match "^(.+)%.([^.]+)$"
  if id and chat.windows:get(id) then return find_exact(chat, id, action) end
  local names = all_names(chat, windows)
  return nil, with_hint(("action '%s' does not exist"):format(cut_name(name)), name, names), "unknown_name"
end

local function find_by_name(chat, name)
  if #name > act.NAME_MAX then return nil, ("a name of %d bytes"):format(#name), "unknown_name" end
  local list, windows = { own_action(chat, name) }, open_windows(chat)
  split_candidates(chat, name, list)
  for _, window in ipairs(windows) do
    local target = action_of(window, name)
    if target then list[#list + 1] = target end
  end
  if #list == 1 then return list[1] end
  if #list == 0 then return unknown_name(chat, name, windows) end
  return nil, ("ambiguous action '%s'; candidates: %s"):format(cut_name(name), candidate_names(list)), "ambiguous"
end

---- Running ----

--- Turns the results of an action into ok, text and code for the model.
local function answer_of(results)
  local first, why = results[1], results[2]
  if first == nil and why == nil or first == true then return true, "done" end
  if first == nil or first == false then
    return false, type(why) == "string" and model_text.cut(why, act.ANSWER_MAX) or "the action refused", "refused"
  end
  if type(first) == "string" then return true, model_text.cut(first, act.ANSWER_MAX) end
  local text = text_form(first)
  if text then return true, model_text.cut(text, act.ANSWER_MAX) end
  return true, ("done; its result has no text form (%s)"):format(type(first))
end

local function close(target, params)
  target.window:close(params.summary)
  return true, "closed"
end

local function code_of(problem)
  local code = core.is_error(problem) and problem.code or problem
  if code == "limit" then return code end
  return (code == "memory" or code == "not enough memory") and "memory" or "failed"
end

---@class ebb.ActRun
---@field chat ebb.Conversation
---@field left integer        instructions
---@field results ebb.ActionResult[]

--- Runs the action under limits: ok, text, code.
local function perform(run, target, params)
  if target.closes then return close(target, params) end
  local window = target.window
  local handler = target.run or window:handler(target.id)
  if not handler then return false, ("action '%s' has no function here"):format(target.id), "absent" end
  if run.left <= 0 then return false, "earlier actions have used up the instructions", "limit" end
  local version, limit, results = window and window.version, run.left, nil
  local ok, problem, left = core.window.call(function()
    results = table.pack(handler(params, window or run.chat))
  end, limit, nil, act.MEMORY_MAX)
  run.left = left
  if not ok then return false, model_text.reason(problem), left <= 0 and "limit" or code_of(problem) end
  local good, text, code = answer_of(results)
  if good and window and window.version == version then   -- closing it counts, too
    local updated, why = pcall(window.update, window)
    if not updated then
      return false, "done, but the window was not refreshed: " .. model_text.reason(why), code_of(why)
    end
  end
  return good, text, code
end

--- The whole name of a call, for texts.
local function name_of(call, target)
  if target then return target.window and target.window.id .. "." .. target.id or target.id end
  if call.name then return cut_name(call.name) end
  return call.window and cut_name(call.window .. "." .. call.action) or "call"
end

local function note(run, call, target, kind, outcome)
  local result = {
    ok = outcome.ok, code = outcome.code, params = outcome.params or call.params, id = call.id, name = call.name,
    window = target and target.window and target.window.id or call.window, action = target and target.id or call.action,
  }
  result.text = outcome.ok and ("%s: %s"):format(name_of(call, target), outcome.text)
    or ("%s: error: %s"):format(name_of(call, target), outcome.text)
  run.results[#run.results + 1] = result
  events.emit_call(run.chat, {
    type = kind, window = result.window, action = result.action, name = result.name, params = result.params,
    ok = result.ok, code = result.code, text = outcome.text,
  })
end

local function refused(run, call, target, message, code)
  note(run, call, target, "refused", { ok = false, text = message, code = code })
end

local function dispatch(run, call)
  if call.problem then return refused(run, call, nil, call.problem, call.code) end
  local target, message, code
  if call.name then target, message, code = find_by_name(run.chat, call.name)
  else target, message, code = find_exact(run.chat, call.window, call.action) end
  if not target then return refused(run, call, nil, message, code) end
  local readable, declared = pcall(parameters.parse, target.params)   -- a saved declaration has not been checked
  if not readable then return refused(run, call, target, model_text.reason(declared), "absent") end
  local params, wrong = parameters.check(declared, call.params, call.is_json)
  if not params then return refused(run, call, target, wrong, "argument") end
  local ok, text, problem = perform(run, target, params)
  note(run, call, target, "action", { ok = ok, text = text, code = problem, params = params })
end

---- The face ----

local TEXT = { type = "string" }

--- A call that could not be read has `problem` and `code`.
local CALL = {
  type = "object", expected = "a call", hint = '{ window = "todo", action = "add", params = {} }',
  fields = { name = TEXT, window = TEXT, action = TEXT, params = { type = "any" }, id = { type = "any" },
    problem = TEXT, code = TEXT, is_json = { type = "boolean" } },
  check = function(call)
    if call.problem then return nil end
    if (call.name == nil) == (call.window ~= nil and call.action ~= nil) then return nil end
    return "expected name, or window and action", '{ window = "todo", action = "add", params = {} }'
  end,
}

--- The text of a model, one call, or a list of them.
local function calls_of(value)
  if type(value) == "string" then return calls.parse(value) end
  if type(value) == "table" and rawlen(value) == 0 and next(value) ~= nil then value = { value } end
  return schema.check({ type = "list", items = CALL, expected = "the text of a model or a list of calls" }, value,
    "windows:act"), 0
end

local OPTIONS = { instructions = { type = "integer", min = 1, default = act.INSTRUCTIONS } }

local function texts_of(results)
  local lines = {}
  for i, result in ipairs(results) do
    lines[i] = result.text
  end
  return table.concat(lines, "\n")
end

local function run_all(chat, list, instructions)
  local run = { chat = chat, left = instructions, results = {} }
  for _, call in ipairs(list) do
    dispatch(run, call)
  end
  run.results.text = texts_of(run.results)
  return run.results
end

--- Performs the calls of a text, or those of a list.
---@param chat ebb.Conversation
---@param source string|table    a model's text, a call, or a list of calls
---@param options? { instructions?: integer }
---@return ebb.ActionResult[] results
---@return integer quoted
function act.run(chat, source, options)
  local values = schema.options(OPTIONS, options, "windows:act", "chat.windows:act(text, { instructions = 100000 })")
  local state = core.state(chat)
  if state.acting then refuse("busy", "an action of this conversation runs: an action cannot call act") end
  local list, quoted = calls_of(source)
  state.acting = true
  local ok, results = pcall(run_all, chat, list, values.instructions)
  state.acting = nil
  if not ok then error(results, 0) end   -- memory, or a limit of the sandbox
  return results, quoted
end

---- Actions of the conversation, and native calls ----

local ACTION = {
  id = { type = "string", required = true, filled = true, max = 64, hint = 'chat:action { id = "create", run = f }',
    check = function(id)
      if close_action.is(id) then return "the id 'close' is a window's", "another id" end
    end },
  label = { type = "string" }, params = { type = "string" }, run = { type = "function", required = true },
}

--- Declares an action of the conversation itself; one of the same id is replaced.
---@param chat ebb.Conversation
---@param options ebb.OwnAction
function act.declare(chat, options)
  local action = schema.options(ACTION, options, "action", 'chat:action { id = "create", run = function(params) end }')
  parameters.parse(action.params)
  local state = core.state(chat)
  local actions = {}
  for id, each in pairs(state.actions or {}) do actions[id] = each end     -- forks share the older table
  actions[action.id] = action
  state.actions = actions
end

--- The actions of the conversation and of all its windows, as tools.
local function all_tools(chat)
  local own, actions = {}, core.state(chat).actions or {}
  for i, id in ipairs(tables.keys(actions)) do own[i] = actions[id] end
  return tools.all(chat, own)
end

--- The actions that can be called now, as tools.
---@param chat ebb.Conversation
---@return ebb.ActionTool[]
function act.tools(chat)
  local list = {}
  for _, tool in ipairs(all_tools(chat)) do
    if not tool.closed then list[#list + 1] = tool end
  end
  return list
end

--- A native call in the form of `run`.
local function native(call, find)
  local tool = find(call.name)
  local text = call.arguments ~= nil and call.arguments:find "%S" and call.arguments or "{}"
  local params, problem = core.json.decode(text, { unique = true })
  if problem then
    return { id = call.id, problem = "the arguments are not JSON: " .. problem.message, code = "syntax" }
  end
  if not tool then return { id = call.id, name = call.name, params = params, is_json = true } end
  if not tool.window then return { id = call.id, name = tool.action, params = params, is_json = true } end
  return { id = call.id, window = tool.window, action = tool.action, params = params, is_json = true }
end

--- Performs native calls.
---@param chat ebb.Conversation
---@param native_calls ebb.Call[]
---@return ebb.ActionResult[]
function act.native(chat, native_calls)
  local every, by_name, list = all_tools(chat), {}, {}
  for _, tool in ipairs(every) do by_name[tool.name] = tool end
  local function find(name) return by_name[name] or tools.find_older(every, name or "") end
  for i, call in ipairs(native_calls) do list[i] = native(call, find) end
  return act.run(chat, list)
end

return act
