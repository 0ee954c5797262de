--- Files of windows: JSON, or markup as models read it. A file opens its window, or updates the one that is open.
--
-- Windows live in sessions and in saved conversations. A plain list of messages keeps their markup, as text.

local close_action = require "ebb.windows.close_action"
local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local json_arguments = require "ebb.support.json_arguments"
local terminal = require "ebb.cli.view.terminal"

local window_file = {}

window_file.BYTES_MAX = 16 * 1024 * 1024

local UNIQUE = { unique = true }     -- of two values of one name, one would be ignored
local ANY = { type = "any" }
local FIELDS = {}
for _, name in ipairs { "id", "description", "content", "actions", "closable", "pinned", "important", "render",
  "refresh", "hidden", "item" } do
  FIELDS[name] = ANY
end

--- Refuses a file with its name before the place of the mistake.
local function refuse(path, problem)
  local between = problem.message:find "^%d+:%d+: " and ":" or ": "
  failure.raise(failure.exit_of(problem), path .. between .. problem.message, problem.hint)
end

--- The window of markup, as the options that open it. The built-in `close` is declared where it has its own label.
--- Markup is all of a window: what it lacks, an update empties.
local function read_markup(text, path)
  local view, problem = ebb.read_window(text, { indented = true })
  if not view then refuse(path, problem) end
  local actions, is_closable = {}, false
  for _, action in ipairs(view.actions or {}) do
    is_closable = is_closable or action.id == close_action.ID
    if not close_action.is_built_in(action) then actions[#actions + 1] = action end
  end
  return { id = view.id, description = view.description or "", content = view.content or "", actions = actions,
    closable = is_closable, render = view.compact and "compact" or "full" }
end

--- The options that open or update the window of a file.
---@param path string      - is standard input
---@return table
function window_file.read(path)
  local text = terminal.read_file(path, window_file.BYTES_MAX)
  if text:find "^%s*<" then return read_markup(text:gsub("^%s+", ""), path) end
  local object, problem = core.json.decode(text, UNIQUE)
  if problem then refuse(path, problem) end
  if type(object) ~= "table" or getmetatable(object) == "json.array" then
    refuse(path, { code = "shape", message = "expected a window: an object with id and content, or markup" })
  end
  return json_arguments.fields(object, FIELDS, path)
end

--- Opens the window of a file, or updates it where it is open; members that the file lacks stay then. What shows it may
--- have gone with the messages since: a new item does then, unless the file says item = false.
local function put(chat, values)
  local window = type(values.id) == "string" and chat.windows:get(values.id)
  if not window or window.closed then
    chat.windows:open(values)      -- which checks all that is there; nothing is written when the next line raises
    if values.content ~= nil then return end
    error(core.error("shape", ("the window '%s' is not open: expected its content"):format(values.id)), 0)
  end
  local fields = {}
  for name, value in pairs(values) do fields[name] = value end
  fields.id, fields.item = nil, nil      -- what is open has both
  window:update(fields)
  if values.item ~= false and #chat:where { window = values.id } == 0 then
    chat:append { type = "window", window = values.id }
  end
end

--- True if the conversation is written with its windows: to a session, or as a saved conversation.
---@param chat ebb.Conversation
---@param args table
---@return boolean
function window_file.keeps_windows(chat, args)
  return args.session ~= nil or chat.saved
end

--- Refuses two files of one window.
local function check_ids(paths, windows)
  local seen = {}
  for i, path in ipairs(paths) do
    local id = windows[i].id
    if id and seen[id] then
      failure.raise(failure.REFUSED, ("%s: there is a window '%s' in %s"):format(path, id, seen[id]),
        "each window has an id of its own")
    end
    seen[id or i] = path
  end
end

--- Opens or updates the windows of files. Says so where they are written as text.
---@param chat ebb.Conversation
---@param paths string[]
---@param windows table[]       of window_file.read, in the same order
---@param args table
function window_file.put_all(chat, paths, windows, args)
  check_ids(paths, windows)
  for i, path in ipairs(paths) do
    local ok, problem = pcall(put, chat, windows[i])
    if not ok and not core.is_error(problem) then error(problem, 0) end
    if not ok then refuse(path, problem) end
  end
  for i, path in ipairs(window_file.keeps_windows(chat, args) and {} or paths) do
    terminal.say(("%s: the window '%s' becomes text: a list of messages keeps no windows, so that nothing updates or "
      .. "closes it (a session does, and a file of `ebb convert --to ebb`)"):format(path, windows[i].id))
  end
end

return window_file
