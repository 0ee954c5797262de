--- Windows of a conversation, as scripts see them.
--
-- Windows are outside the batches: a rollback does not change them. Items of the list,
-- messages with a window's id, show them; `chat.windows:open` appends one, and so does
-- each update of a window with refresh = "append". The core has all state; a Window is
-- a handle.

local close_action = require "ebb.windows.close_action"
local core = require "ebb.support.core"
local elements = require "ebb.windows.elements"
local events = require "ebb.windows.events"
local hints = require "ebb.support.hints"
local parameters = require "ebb.windows.parameters"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local views = require "ebb.windows.view"

local windows = {}

windows.ID_MAX = 256         -- bytes
windows.ACTIONS_MAX = 256    -- of one window

---- From a caller's options to the core's fields ----

local FLAG, TEXT = { type = "boolean" }, { type = "string" }

local ACTION = {
  type = "object", expected = "an action", fields = {
    id = { type = "string", filled = true, required = true }, label = TEXT, params = TEXT, run = { type = "function" },
  },
}

local ACTIONS = {
  type = "list", items = ACTION,
  check = function(actions)
    if #actions > windows.ACTIONS_MAX then return ("more than %d"):format(windows.ACTIONS_MAX), nil, "limit" end
  end,
}

local CHOICES = {
  render = { type = "choice", choices = { "full", "compact" } },
  refresh = { type = "choice", choices = { "in_place", "append" } },
}

local UPDATE = {
  description = TEXT, actions = ACTIONS, closable = FLAG, pinned = FLAG, important = FLAG, hidden = FLAG,
  content = {
    any_of = { TEXT, { type = "table", shared = true }, { type = "function" } },
    expected = "text, elements or a function",
  },
  render = CHOICES.render, refresh = CHOICES.refresh,
}

local OPTIONS = { id = { type = "string", filled = true, max = windows.ID_MAX, required = true }, item = FLAG }
for name, field in pairs(UPDATE) do
  OPTIONS[name] = field
end

local function put_content(fields, content)
  local kind = type(content)
  fields.functions = fields.functions or {}
  fields.functions.content = nil
  if kind == "string" then
    fields.kind, fields.content = content == "" and "empty" or "text", content
  elseif kind == "table" then
    fields.kind, fields.content = "elements", elements.encode(elements.copy(content))
  else
    fields.kind, fields.content, fields.functions.content = "source", nil, content
  end
end

local function check_action(action, seen)
  local id = action.id
  if seen[id] then refuse("argument", ("action id '%s': each action has its own"):format(id)) end
  if id:lower() == close_action.ID and not close_action.is_label(action) then
    refuse("argument", ("action id '%s' is built in: it takes a label, and nothing else"):format(id),
      '{ id = "close", label = "Done" }')
  end
  local ok, problem = pcall(parameters.parse, action.params)
  if not ok and not core.is_error(problem) then error(problem, 0) end
  if not ok then refuse(problem.code, ("action '%s': %s"):format(id, problem.message), problem.hint) end
  seen[id] = true
  return { id = id, label = action.label, params = action.params }
end

local function put_actions(fields, actions)
  local list, runs, seen = core.json.array {}, {}, {}
  for i, action in ipairs(actions) do
    list[i] = check_action(action, seen)
    runs[list[i].id] = action.run
  end
  fields.actions = core.json.encode(list)
  fields.functions = fields.functions or {}
  fields.functions.actions = runs
end

--- Puts checked options over the fields of a state.
local function merge(fields, options)
  if options.content ~= nil then put_content(fields, options.content) end
  if options.actions ~= nil then put_actions(fields, options.actions) end
  for _, name in ipairs { "description", "closable", "pinned", "important", "hidden" } do
    if options[name] ~= nil then fields[name] = options[name] end
  end
  if options.render then fields.compact = options.render == "compact" end
  if options.refresh then fields.append = options.refresh == "append" end
  return fields
end

--- A copy: other versions of the window may share the table.
local function copy_functions(functions)
  if not functions then return nil end
  return { content = functions.content, actions = functions.actions }
end

local function state_of(chat, id)
  local state = core.window.get(chat, id)
  if state then state.functions = copy_functions(state.functions) end
  return state
end

--- Stores the fields, without those that the core sets itself.
local function put(chat, state)
  state.created, state.updated, state.version = nil, nil, nil
  local functions = state.functions
  if functions and not functions.content and not next(functions.actions or {}) then state.functions = nil end
  core.window.put(chat, state)
end

---- Windows ----

local Window = {}

local FIELDS = {
  id = true, description = true, pinned = true, important = true, closable = true, hidden = true, closed = true,
  created = true, updated = true, version = true, summary = true,
}

local DERIVED = {
  content = function(state)
    if state.kind == "source" then return state.functions and state.functions.content end
    if state.kind == "elements" then return elements.decode(state.content) end
    return state.content
  end,
  actions = function(state)
    return state.actions ~= "" and core.json.decode(state.actions) or {}
  end,
  render = function(state) return state.compact and "compact" or "full" end,
  refresh = function(state) return state.append and "append" or "in_place" end,
}

local meta = { __metatable = false, __name = "Window" }

--- Returns the chat and the id of a handle; refuses calls without the colon.
local function chat_and_id(window)
  local chat = type(window) == "table" and rawget(window, "chat")
  if not chat then refuse("argument", "expected a Window, got " .. schema.describe(window), "window:update { ... }") end
  return chat, rawget(window, "name")
end

function meta.__index(window, key)
  if Window[key] then return Window[key] end
  local state = core.window.get(rawget(window, "chat"), rawget(window, "name"))
  if FIELDS[key] then return state[key] end
  if DERIVED[key] then return DERIVED[key](state) end
  return refuse("unknown_name", ("a Window has no field '%s'"):format(tostring(key)))
end

function meta.__newindex(_, key)
  refuse("argument", ("the field '%s' of a window cannot be assigned"):format(tostring(key)), "window:update { ... }")
end

function meta.__eq(a, b)
  return rawget(a, "chat") == rawget(b, "chat") and rawget(a, "name") == rawget(b, "name")
end

function meta.__tostring(window)
  return ("window '%s'%s"):format(window.id, window.closed and " (closed)" or "")
end

local function handle(chat, id)
  return setmetatable({ chat = chat, name = id }, meta)
end

--- Changes windows and appends an item, in one transaction.
local function with_item(chat, id, run)
  core.transaction(chat, function(copy)
    run(copy)
    copy:append { type = "window", window = id }
  end)
end

function Window.update(window, fields)
  local chat, id = chat_and_id(window)
  local state = state_of(chat, id)
  if state.closed then
    refuse("closed", ("window '%s' is closed"):format(id), hints.window_closed)
  end
  if fields ~= nil then
    merge(state, schema.options(UPDATE, fields, "window:update"))
  end
  if state.append then
    with_item(chat, id, function(copy) put(copy, state) end)
  else
    put(chat, state)
  end
  events.emit(chat, "updated", id)
  return window
end

local function set(window, name, value)
  local chat, id = chat_and_id(window)
  local state = state_of(chat, id)
  if state[name] ~= value then
    state[name] = value
    put(chat, state)
    events.emit(chat, "updated", id)
  end
  return window
end

function Window.close(window, summary)
  local chat, id = chat_and_id(window)
  if summary ~= nil then schema.check(TEXT, summary, "window:close: summary") end
  local state = state_of(chat, id)
  if state.closed then return window end
  state.closed, state.summary = true, summary
  put(chat, state)
  events.emit(chat, "closed", id, summary)
  return window
end

function Window.hide(window) return set(window, "hidden", true) end

function Window.show(window) return set(window, "hidden", false) end

function Window.pin(window, flag)
  if flag ~= nil then schema.check(FLAG, flag, "window:pin") end
  return set(window, "pinned", flag ~= false)
end

local function view_of(make, window)
  local chat, id = chat_and_id(window)
  return make(views.pass(chat), id)
end

function Window.view(window)
  return view_of(views.get, window)
end

function Window.markup(window)
  return (view_of(views.markup, window))
end

function Window.handler(window, action)
  local state = core.window.get(chat_and_id(window))
  local runs = state.functions and state.functions.actions
  return runs and runs[action] or nil
end

core.methods.Window = Window

---- Of a conversation ----

--- Opens a window, and appends an item that shows it.
function windows.open(chat, options)
  local values = schema.options(OPTIONS, options, "windows:open", 'chat.windows:open { id = "todo" }')
  local id = values.id
  local before = core.window.get(chat, id)
  if before and not before.closed then
    refuse("exists", ("there is a window '%s'"):format(id), hints.window_exists)
  end
  local state = merge({ id = id, kind = "empty", closable = true, important = true, opened = true }, values)
  local window = handle(chat, id)   -- before it opens: later nothing may fail
  if values.item == false then
    put(chat, state)
  else
    with_item(chat, id, function(copy) put(copy, state) end)
  end
  events.emit(chat, "opened", id)
  return window
end

function windows.get(chat, id)
  if not core.window.get(chat, schema.check(TEXT, id, "windows:get: id")) then return nil end
  return handle(chat, id)
end

function windows.all(chat)
  local list = core.window.ids(chat)
  for i, id in ipairs(list) do
    list[i] = handle(chat, id)
  end
  return list
end

---- Of a save ----

--- Raises unless the stored JSON is what `open` would store, byte for byte.
local function check_state(state)
  schema.check(OPTIONS.id, state.id, "id")
  if state.kind == "elements" then
    local content = elements.copy((elements.decode(state.content)))
    if elements.encode(content) ~= state.content then refuse("shape", "content: expected elements") end
  end
  if state.actions == "" then return end
  local actions, problem = core.json.decode(state.actions)
  if problem then refuse("shape", "actions: " .. problem.message) end
  local fields = {}
  put_actions(fields, schema.check(ACTIONS, actions, "actions"))
  if fields.actions ~= state.actions then refuse("shape", "actions: expected a list of actions") end
end

--- Raises for windows that no call could have created, as in a damaged save.
function windows.check_saved(chat)
  for _, id in ipairs(core.window.ids(chat)) do
    local ok, problem = pcall(check_state, core.window.get(chat, id))
    if not ok and (not core.is_error(problem) or problem.code == "memory") then error(problem, 0) end
    if not ok then refuse("damaged", ("load: window '%s': %s"):format(id, problem.message)) end
  end
end

return windows
