--- The activity log: a window that lists the events of the others.
--
--     <Window id="activity" compact="true">[3] opened todo
--     [5] action todo.add -> ok (added)
--     [7] action todo.delete -> failed (there is no item 9)</Window>
--
-- The number is chat.windows.seq. Only the newest lines are kept. They are the window's
-- text, so they are saved with the conversation; after loading, `open` appends to them.

local events = require "ebb.windows.events"
local model_text = require "ebb.windows.model_text"
local schema = require "ebb.support.schema"

local activity = {}

activity.LINES_MAX = 1000

activity.LINE_MAX = 160      -- bytes of one line

local function in_brackets(text)
  return text and text ~= "" and (" (%s)"):format(model_text.line(text, activity.LINE_MAX)) or ""
end

--- The line of an event; nil for updates, which come with actions, and for refused calls.
---@param event ebb.WindowEvent
---@return string?
local function line_of(event)
  if event.type == "opened" or event.type == "closed" then
    return ("[%d] %s %s%s"):format(event.seq, event.type, event.window, in_brackets(event.summary))
  elseif event.type == "action" then
    return ("[%d] action %s.%s -> %s%s"):format(event.seq, event.window, event.action,
      event.ok and "ok" or "failed", in_brackets(event.text))
  end
end

--- Appends a line, and drops the oldest beyond `max`.
---@param text string
---@param line string
---@param max integer
---@return string
local function add_line(text, line, max)
  local lines = {}
  for old in text:gmatch "[^\n]+" do
    lines[#lines + 1] = old
  end
  lines[#lines + 1] = model_text.line(line, activity.LINE_MAX)
  return table.concat(lines, "\n", math.max(1, #lines - max + 1))
end

local function listener(chat, id, max)
  return function(event)
    local window = chat.windows:get(id)
    if event.window == id or not window or window.closed then return end
    local line = line_of(event)
    local text = window.content
    if line then window:update { content = add_line(type(text) == "string" and text or "", line, max) } end
  end
end

local OPTIONS = {
  id = { type = "string", default = "activity" },
  lines = { type = "integer", min = 1, max = activity.LINES_MAX, default = 20 },
  item = { type = "boolean" },
}

--- Opens the log's window, or continues the open one, and writes events to it from now on.
---@param chat ebb.Conversation
---@param options? { id?: string, lines?: integer, item?: boolean }
---@return ebb.Window
function activity.open(chat, options)
  local values = schema.options(OPTIONS, options, "windows:log", "chat.windows:log { lines = 20 }")
  local id = values.id
  local write = listener(chat, id, values.lines)
  events.prepare(chat)                     -- before the window opens: later nothing may fail
  local window = chat.windows:get(id)
  if not window or window.closed then
    window = chat.windows:open {
      id = id, closable = false, important = false, render = "compact", item = values.item,
    }
  end
  events.listen(chat, "log", write)
  return window
end

return activity
