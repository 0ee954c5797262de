--- Workflow: a model that works with windows. It opens a to-do list, adds and deletes
--- items, and closes it.
--
-- The model reads the list as it is at that moment, once, however often it
-- has changed; when it is closed, it is gone from the context. The model here is a
-- recording; put your own instead of `model`.
--
-- Run:   ebb run scripts/workflows/todo/todo.lua
-- prints what the model read and wrote at each step, which is tests/golden/todo/steps.txt.
-- A recording of your own:   ebb run scripts/workflows/todo/todo.lua mine.json

local ebb = require "ebb"

local CALLS_MAX = 8   -- requests that one message of the user may lead to

---- The application: a list that lives in Lua, and a window that shows it ----

local function todo_window(id)
  local items, last = {}, 0   -- {id, text} in order; an id is never used again
  local function position_of(wanted)
    for i, item in ipairs(items) do
      if item.id == wanted then return i end
    end
  end

  local function content()
    local list = {}
    for i, item in ipairs(items) do
      list[i] = { "item", id = item.id, item.text }
    end
    return list
  end

  local function add(params)
    last = last + 1
    table.insert(items, { id = last, text = params.text })
    return "item " .. last
  end

  local function delete(params)
    local i = position_of(params.index)
    if not i then return nil, "there is no item " .. params.index end
    return ("deleted '%s'"):format(table.remove(items, i).text)
  end

  return {
    id = id, description = "Things to do", content = content,
    actions = {
      { id = "add", label = "Add an item", params = "text:string", run = add },
      { id = "delete", label = "Delete an item", params = "index:int", run = delete },
    },
  }
end

--- The window that opens others; the model cannot close it.
local function open_desktop(chat)
  local opened = 0
  chat.windows:open {
    id = "apps", description = "Applications", closable = false,
    actions = {
      { id = "create", label = "Open an application", params = "name:enum(todo)", run = function(params)
        opened = opened + 1
        return "opened " .. chat.windows:open(todo_window(("%s_%d"):format(params.name, opened))).id
      end },
    },
  }
end

---- The model: what it wrote when this was recorded ----

local function read_recording(path)
  local file = assert(io.open(path, "rb"))
  local recording = assert(ebb.json.decode(file:read "a"))
  file:close()
  return recording
end

---@param messages table[]     what it reads
---@param replies string[]     what it wrote
local function model(messages, replies)
  assert(#messages > 0)
  return assert(table.remove(replies, 1), "the recording has no answer to this")
end

---- The loop: ask, perform, tell what became of it, until there is nothing to perform ----

local step = 0

local function show(messages, reply)
  step = step + 1
  print(("==== step %d: the model reads"):format(step))
  for _, message in ipairs(messages) do
    print(("%s: %s"):format(message.role, message.content))
  end
  print("---- and writes")
  print(reply)
end

local function answer(chat, replies)
  for _ = 1, CALLS_MAX do
    local messages = chat.windows:render()
    local reply = model(messages, replies)
    show(messages, reply)
    chat:append { role = "assistant", content = reply }
    local results = chat.windows:act(reply)
    if #results == 0 then return end
    chat:append { role = "user", content = results.text }
  end
  error "the model goes on calling"
end

local here = debug.getinfo(1, "S").source:match "^@(.*/)" or ""
local recording = read_recording(arg[1] or here .. "recording.json")
local chat = ebb.conversation { encoding = "cjk" }
chat:append { role = "system", content = recording.system }
open_desktop(chat)
for _, turn in ipairs(recording.turns) do
  chat:append { role = "user", content = turn.user }
  answer(chat, turn.replies)
end

print "==== the conversation"
io.write(chat.windows:listing())
