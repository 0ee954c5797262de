--- ChatGPT's export: conversations.json, or its shards; each conversation is a tree of messages.
--
-- The path from `current_node` to the root is the conversation. An assistant's message to a recipient other than
-- "all" is a call, a message of role tool its result; neither has an id. Nothing in the file is sure to be there.

local chat_tree = require "ebb.import.chats.chat_tree"
local content = require "ebb.import.content"
local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local many = require "ebb.import.many"
local refuse = require "ebb.support.refuse"
local turns = require "ebb.import.turns"

local chatgpt = { name = "chatgpt", title = "ChatGPT export", kind = "json" }

local function is_conversation(value)
  local mapping = fields.object(value, "mapping")
  if not mapping then return false end
  local _, node = next(mapping)
  return fields.text(value, "current_node") ~= nil or fields.list(node, "children") ~= nil
end

function chatgpt.recognise(sample)
  local value = sample.value
  if fields.is_list(value) then value = value[1] end
  return is_conversation(value)
end

---- The tree ----

local function time_of(message)
  local time = message and message.create_time
  return type(time) == "number" and time or 0
end

--- Digits whose order is that of times, which are not negative: those of the bits of a double.
local function digits_of(time)
  return ("%016x"):format((string.unpack(">i8", string.pack(">d", time))))
end

local function sort_by_comparing(list)
  table.sort(list, function(a, b)
    if a.time ~= b.time then return a.time < b.time end
    return a.id < b.id
  end)
end

--- Sorts by time, then by id: by one text for each, which Lua compares without a call.
local function sort_nodes(list)
  local keys, by_key, digits = {}, {}, {}
  for i, node in ipairs(list) do
    local time = node.time
    if time < 0 then return sort_by_comparing(list) end
    digits[time] = digits[time] or digits_of(time + 0.0)
    keys[i] = digits[time] .. node.id
    by_key[keys[i]] = node
  end
  table.sort(keys)
  for i, key in ipairs(keys) do list[i] = by_key[key] end
end

--- The nodes; an object has no order, so that they are sorted by time, then by id.
local function nodes_of(mapping)
  local list, listers = {}, {}
  for id, node in pairs(mapping) do
    local message = fields.object(node, "message")
    list[#list + 1] = { id = id, parent = fields.text(node, "parent"), time = time_of(message), message = message,
      is_message = message ~= nil }
    for _, child in ipairs(fields.list(node, "children") or {}) do
      if type(child) == "string" then listers[child] = id end
    end
  end
  for _, node in ipairs(list) do node.lister = listers[node.id] end
  sort_nodes(list)
  return list
end

---- Contents ----

local TEXT_MEMBERS = { "text", "result", "content" }   -- of contents without parts

local function pointer_of(part) return fields.text(part, "asset_pointer") or "without a name" end

--- A part as one of Chat Completions; images are files next to the export, and a text names them.
local function part_of(part, report)
  if type(part) == "string" then return part ~= "" and content.text(part) or nil end
  local kind = fields.text(part, "content_type") or ""
  if fields.text(part, "text") then return part.text ~= "" and content.text(part.text) or nil end
  report:add("attachment", "its file is not part of the export; a text names it")
  return content.text(("[%s %s]"):format(kind:match "^(%a+)" or "file", pointer_of(part)))
end

local function content_of(message, report)
  local value = fields.object(message, "content")
  local parts = {}
  for _, part in ipairs(fields.list(value, "parts") or {}) do
    parts[#parts + 1] = part_of(part, report)
  end
  for _, name in ipairs(TEXT_MEMBERS) do
    local text = fields.text(value, name)
    if not parts[1] and text and text ~= "" then parts[1] = content.text(text) end
  end
  local joined = content.join(parts)
  if type(joined) == "string" and joined:find("\u{E200}", 1, true) then
    report:add("citation mark", "private characters in a text; they stay")
  end
  return joined
end

local function instructions_of(value)
  local texts = {}
  for _, name in ipairs { "user_profile", "user_instructions" } do
    local text = fields.text(value, name)
    if text and text ~= "" then texts[#texts + 1] = text end
  end
  return texts[1] and table.concat(texts, "\n\n")
end

local function thoughts_of(value)
  local texts = {}
  for _, thought in ipairs(fields.list(value, "thoughts") or {}) do
    local text = fields.text(thought, "content")
    if not text or text == "" then text = fields.text(thought, "summary") end
    if text and text ~= "" then texts[#texts + 1] = text end
  end
  return table.concat(texts, "\n")
end

---- Messages ----

---@param text string|table[]
local function arguments_of(text)
  local is_object = type(text) == "string" and text:find "^%s*{" and fields.is_object((core.json.decode(text)))
  return is_object and text --[[@as string]] or fields.json { input = text }
end

--- Contents that are no text of their author; true if the message was one.
local function take_other(state, message, value)
  local kind, report = fields.text(value, "content_type"), state.report
  if kind == "user_editable_context" then
    state.system = instructions_of(value) or state.system
    report:add("custom instructions", "they became the system text")
  elseif kind == "thoughts" then
    local text = thoughts_of(value)
    if text ~= "" then state.turns:reason(text) end
  elseif kind == "reasoning_recap" then
    report:add("recap", "of reasoning, for the reader only")
  elseif kind == "model_editable_context" then
    report:add("memory", "of the assistant, kept outside of the conversation")
  else
    local metadata = fields.object(message, "metadata")
    if message.weight == 0 or metadata and metadata.is_visually_hidden_from_conversation == true then
      report:add("hidden message", "left out")
    else
      return false
    end
  end
  return true
end

local function add_result(state, name, text)
  local messages = state.turns.messages
  local last = messages[#messages]
  if last and last.role == "tool" and state.tool == name and type(last.content) == "string"
    and type(text) == "string" then
    last.content = last.content .. "\n" .. text   -- a tool may answer in several messages
  else
    state.turns:result { name = name, content = text }
  end
  state.tool = name
end

local ROLES = { user = "user", assistant = "assistant", system = "system", developer = "system" }

local function add_message(state, message)
  local author = fields.object(message, "author")
  local role, value = fields.text(author, "role"), fields.object(message, "content")
  if take_other(state, message, value) then return end
  local text = content_of(message, state.report)
  local slug = fields.text(fields.object(message, "metadata"), "model_slug")
  if role == "assistant" and slug then state.model = slug end
  local recipient = fields.text(message, "recipient") or "all"
  if role == "tool" then
    add_result(state, fields.text(author, "name") or "tool", text)
  elseif content.is_empty(text) then
    state.report:add("empty message", "left out")
  elseif role == "assistant" and recipient ~= "all" then
    state.turns:call { name = recipient, arguments = arguments_of(text) }
  elseif ROLES[role] then
    state.turns:add { role = ROLES[role], content = text }
  else
    state.report:add("other message", "its author is unknown")
  end
end

local function name_of(value)
  return fields.text(value, "conversation_id") or fields.text(value, "id"), fields.text(value, "title")
end

local function model_of(value, state)
  local slug = state.model or fields.text(value, "default_model_slug")
  return slug ~= "auto" and slug or nil
end

local function read_one(entry)
  local value = entry.value
  local mapping = fields.object(value, "mapping")
  if not mapping then refuse("shape", "expected mapping, an object of messages") end
  local current = fields.text(value, "current_node")
  local path, leaves = chat_tree.path(nodes_of(mapping), current, entry.branch, entry.report)
  local state = { report = entry.report, turns = turns.new(entry.report) }
  for _, node in ipairs(path) do
    if node.message then add_message(state, node.message) end
  end
  local id, title = name_of(value)
  return {
    dialect = "openai", messages = state.turns:finish(), system = state.system, model = model_of(value, state),
    id = id, conversation = title, branches = leaves,
  }
end

function chatgpt.read(source, options)
  return many.collect(source, options, read_one, name_of)
end

return chatgpt
