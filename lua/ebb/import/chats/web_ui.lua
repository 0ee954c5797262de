--- Chats that web pages keep as trees: llama.cpp's own page, Z.ai and pages of its kind.

local chat_tree = require "ebb.import.chats.chat_tree"
local content = require "ebb.import.content"
local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local many = require "ebb.import.many"
local refuse = require "ebb.support.refuse"
local turns = require "ebb.import.turns"

local web_ui = { name = "web_ui", title = "chat of llama.cpp's page, Z.ai or AIO Hub", kind = "json" }

--- The messages of a history, an object without an order: sorted by time, then by id.
local function sorted(messages)
  local list = {}
  for id, message in pairs(messages) do
    if fields.is_object(message) then
      local time = message.timestamp
      list[#list + 1] = { id = id, message = message, time = type(time) == "number" and time or 0 }
    end
  end
  table.sort(list, function(a, b)
    if a.time ~= b.time then return a.time < b.time end
    return a.id < b.id
  end)
  return list
end

---@class ebb.import.WebForm
---@field fits fun(value: table): boolean
---@field nodes fun(value: table): table[]          { id, message } each, from the oldest
---@field parent string                             the member with the parent's id
---@field current fun(value: table): string?
---@field name fun(value: table): string?, string?    id and title

---@type ebb.import.WebForm[]
local FORMS = {
  { parent = "parent",     -- llama.cpp
    fits = function(value) return fields.object(value, "conv") ~= nil and fields.list(value, "messages") ~= nil end,
    nodes = function(value)
      local list, seen = {}, {}
      for _, message in ipairs(value.messages) do
        local id = fields.text(message, "id")
        if id and not seen[id] then list[#list + 1], seen[id] = { id = id, message = message }, true end
      end
      return list
    end,
    current = function(value) return fields.text(value.conv, "currNode") end,
    name = function(value) return fields.text(value.conv, "id"), fields.text(value.conv, "name") end,
  },
  { parent = "parentId",   -- Z.ai
    fits = function(value)
      local history = fields.object(fields.object(value, "chat"), "history")
      return fields.object(history, "messages") ~= nil
    end,
    nodes = function(value) return sorted(value.chat.history.messages) end,
    current = function(value) return fields.text(value.chat.history, "currentId") end,
    name = function(value) return fields.text(value, "id"), fields.text(value, "title") end,
  },
  { parent = "parentId",   -- AIO Hub
    fits = function(value)
      return fields.object(value, "nodes") ~= nil and fields.text(value, "activeLeafId") ~= nil
    end,
    nodes = function(value) return sorted(value.nodes) end,
    current = function(value) return fields.text(value, "activeLeafId") end,
    name = function(value) return fields.text(value, "id"), fields.text(value, "name") end,
  },
}

local function form_of(value)
  for _, form in ipairs(FORMS) do
    if fields.is_object(value) and form.fits(value) then return form end
  end
end

function web_ui.recognise(sample)
  local value = sample.value
  if fields.is_list(value) then value = value[1] end
  return form_of(value) ~= nil
end

---- Messages ----

--- A file that a message of llama.cpp's page has within itself, as a part; nil if it is not there.
local function part_of(extra)
  local kind, name = fields.text(extra, "type"), fields.text(extra, "name") or "file"
  if kind == "imageFile" and fields.text(extra, "base64Url") then return content.image(extra.base64Url) end
  if fields.text(extra, "content") then return content.text(("%s:\n%s"):format(name, extra.content)) end
end

local function content_of(message, report)
  local parts, text = {}, fields.text(message, "content") or ""
  if text ~= "" then parts[1] = content.text(text) end
  for _, extra in ipairs(fields.list(message, "extra") or {}) do
    local part = part_of(extra)
    if part then parts[#parts + 1] = part
    else report:add("attachment", "left out: it is neither an image nor a text") end
  end
  for _ in ipairs(fields.list(message, "files") or {}) do
    report:add("attachment", "its file is not part of the chat")
  end
  return content.join(parts)
end

--- The calls of a message: JSON text of a list, in the form of Chat Completions.
local function add_calls(built, message, spoken)
  local text = fields.text(message, "toolCalls")
  local list = text and text ~= "" and core.json.decode(text)
  if text and text ~= "" and not fields.is_list(list) then
    built.report:add("call that is not JSON", "left out")
  end
  for _, call in ipairs(fields.is_list(list) and list or {}) do
    local called = fields.object(call, "function")
    built:call({ id = fields.text(call, "id"), name = fields.text(called, "name"),
      arguments = content.arguments(called and called.arguments) }, spoken)
  end
end

local function add_message(built, message)
  local role, report = fields.text(message, "role"), built.report
  if fields.text(message, "type") == "root" then return end
  if message.isEnabled == false then return report:add("disabled message", "left out") end
  if message.isSynthetic == true then report:add("message of the program", "a user's turn that no user wrote") end
  local said = content_of(message, report)
  local reasoning = fields.text(message, "thinking") or fields.text(message, "reasoningContent") or ""
  if role == "tool" then
    built:result { id = fields.text(message, "toolCallId"), content = said }
  elseif role == "assistant" then
    if reasoning ~= "" then built:reason(reasoning) end
    local spoken = not content.is_empty(said) and built:add { role = role, content = said } or nil
    add_calls(built, message, spoken)
  elseif content.is_empty(said) then
    report:add("empty message", "left out")
  elseif role == "user" or role == "system" then
    built:add { role = role, content = said }
  else
    report:add("other message", "its role is unknown")
  end
end

local function name_of(value)
  local form = form_of(value)
  if form then return form.name(value) end
end

local function read_one(entry)
  local value, report = entry.value, entry.report
  local form = form_of(value)
  if not form then return refuse("shape", "expected conv and messages, or chat.history.messages") end
  local nodes = form.nodes(value)
  for _, node in ipairs(nodes) do
    node.parent = fields.text(node.message, form.parent)
    node.is_message = fields.text(node.message, "type") ~= "root"
  end
  local path, leaves = chat_tree.path(nodes, form.current(value), entry.branch, report)
  local built = turns.new(report)
  for _, node in ipairs(path) do add_message(built, node.message) end
  local id, title = form.name(value)
  return { dialect = "openai", messages = built:finish(), id = id, conversation = title, branches = leaves }
end

function web_ui.read(source, options) return many.collect(source, options, read_one, name_of) end

return web_ui
