--- Windows for libebb: options in JSON, contents and actions that are the host's.
--
--     content   a text; elements, ["item", {"id": 1}, "text"]; or a function of the
--               host's, called when the window is rendered
--     actions   {"id", "label", "params", "run"}: `run` names a function that the host
--               has registered, looked up when the model calls the action

local core = require "ebb.support.core"
local functions = require "ebb.libebb.functions"
local json_arguments = require "ebb.support.json_arguments"
local json_form = require "ebb.libebb.json_form"
local refuse = require "ebb.support.refuse"
local render = require "ebb.windows.render"
local tables = require "ebb.support.tables"
local trim = require "ebb.trim"

local windows = {}

local json = core.json

---- What a host gives ----

local ANY = { type = "any" }   -- the window itself checks them

local UPDATE = {}
for _, name in ipairs { "description", "content", "actions", "closable", "pinned", "important", "render", "refresh",
  "hidden" } do
  UPDATE[name] = ANY
end
local OPTIONS = tables.copy(UPDATE)
OPTIONS.item = ANY

local function is_object(value)
  return type(value) == "table" and type(next(value)) == "string"
end

local node_of

--- ["item", {"id": 1}, "text"] -> {"item", id = 1, "text"}; an object in the second place is always the attributes.
local function list_of(value)
  local out, from = {}, 1
  if type(value[1]) == "string" and is_object(value[2]) then
    for name, attribute in pairs(value[2]) do out[name] = attribute end
    out[1], from = value[1], 3
  end
  for i = from, #value do out[#out + 1] = node_of(value[i]) end
  return out
end

function node_of(value)
  if type(value) ~= "table" or is_object(value) then return value end
  return list_of(value)
end

--- The host's function of that name, when the action runs.
local function runner(name)
  if type(name) ~= "string" then refuse("argument", "run: the name of a registered function is expected") end
  return function(params, window)
    local run = functions.find(name)
    if not run then refuse("absent", ("no function '%s' is registered"):format(name)) end
    return run(params, window.id)
  end
end

local function action_of(value)
  if not is_object(value) then refuse("shape", "actions: expected a list of objects") end
  local action = {}
  for name, part in pairs(value) do
    if part ~= json.null then action[name] = part end
  end
  if action.run ~= nil then action.run = runner(action.run) end
  return action
end

local function fields_of(text, declared)
  local fields = json_arguments.fields(json_arguments.object(text, "a window"), declared, "a window")
  if type(fields.content) == "table" then fields.content = node_of(fields.content) end
  if fields.actions == nil then return fields end
  if type(fields.actions) ~= "table" or is_object(fields.actions) then
    refuse("shape", "actions: expected a list of objects")
  end
  local actions = {}
  for i, value in ipairs(fields.actions) do actions[i] = action_of(value) end
  fields.actions = actions
  return fields
end

local function window_of(chat, id)
  return chat.windows:get(id) or refuse("unknown_name", ("there is no window '%s'"):format(id))
end

---- Lives ----

function windows.window_open(_, _, chat, id, text)
  local fields = fields_of(text, OPTIONS)
  fields.id = id
  chat.windows:open(fields)
end

function windows.window_update(_, _, chat, id, text)
  window_of(chat, id):update(fields_of(text, UPDATE))
end

function windows.window_close(_, _, chat, id, summary)
  window_of(chat, id):close(summary)
end

---@param make fun(id: string): string
function windows.window_content(_, _, chat, id, make)
  window_of(chat, id):update { content = function(window) return make(window.id) end }
end

function windows.windows(_, _, chat)
  local list = json.array {}
  for i, window in ipairs(chat.windows:list()) do
    list[i] = json_form.window_fields(window)
  end
  return json.encode(list)
end

---- Requests, and what the model answers ----

--- `api.write_messages` writes the list; what is given runs within limits.
function windows.renderer(with_hints, api, chat, text)
  local options = json_arguments.options(text, render.OPTIONS, "a rendering")
  return with_hints(function()
    local ok, problem = render.run(chat, options, trim.look, api.write_messages)
    if not ok then error(problem, 0) end
  end)
end

local RESULT = { "ok", "text", "code", "window", "action", "name", "params", "id" }

--- `api.write` writes what became of each call; what is given runs within limits. What ran
--- out of memory has not been done, so none of it is.
function windows.actor(with_hints, api, chat, text)
  return with_hints(function()
    local separator = "["
    for _, result in ipairs((chat.windows:act(text))) do
      if result.code == "memory" then error(core.error("memory", result.text), 0) end
      local entry = {}
      for _, name in ipairs(RESULT) do entry[name] = result[name] end
      api.write(separator .. json.encode(entry))
      separator = ","
    end
    api.write(separator == "[" and "[]" or "]")
  end)
end

return windows
