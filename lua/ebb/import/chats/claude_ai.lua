--- Claude.ai's export: conversations whose messages have a sender, human or assistant, and blocks of Anthropic's form.
--
-- `content` says more than `text`, which replaces it where it is empty. One message of the assistant may hold calls
-- and their results: it becomes one message of calls, a user's message with the results, and the rest.

local chat_tree = require "ebb.import.chats.chat_tree"
local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local many = require "ebb.import.many"
local refuse = require "ebb.support.refuse"

local claude_ai = { name = "claude_ai", title = "Claude.ai export", kind = "json" }

local function is_conversation(value)
  return fields.list(value, "chat_messages") ~= nil and fields.text(value, "uuid") ~= nil
end

function claude_ai.recognise(sample)
  local value = sample.value
  if fields.is_list(value) then value = value[1] end
  return is_conversation(value)
end

---- Blocks: the members that Anthropic's API has; others are the site's own ----

local function text_block(text) return { type = "text", text = text } end

--- The blocks of a result's content. What is not a text or an image becomes its text, its title or its JSON.
local function result_content(value)
  if type(value) == "string" then return value end
  local blocks = core.json.array {}
  for _, block in ipairs(fields.is_list(value) and value or {}) do
    if fields.text(block, "type") == "image" and fields.object(block, "source") then
      blocks[#blocks + 1] = { type = "image", source = block.source }
    else
      local text = type(block) == "string" and block or fields.text(block, "text") or fields.json(block)
      local title = fields.text(block, "type") == "knowledge" and fields.text(block, "title")
      if title then text = ("%s %s\n%s"):format(title, fields.text(block, "url") or "", text) end
      if text ~= "" then blocks[#blocks + 1] = text_block(text) end
    end
  end
  return blocks
end

--- Reads blocks one after the other, and begins a new message where a result follows a call or the reverse.
---@class ebb.import.Blocks
---@field messages table[]
---@field report ebb.import.Report
local Blocks = {}
Blocks.__index = Blocks

--- The last message if it has this role and may still grow; else a new one.
function Blocks:message(role)
  if not self.current or self.current.role ~= role then
    self.current = { role = role, content = core.json.array {} }
    self.messages[#self.messages + 1] = self.current
  end
  return self.current.content
end

function Blocks:put(role, block)
  local list = self:message(role)
  list[#list + 1] = block
end

local READ = {}

function READ.text(blocks, block, role)
  local text = fields.text(block, "text") or ""
  if text ~= "" then blocks:put(role, text_block(text)) end
end

function READ.thinking(blocks, block, role)
  local thinking = fields.text(block, "thinking") or ""
  if thinking ~= "" then
    blocks:put(role, { type = "thinking", thinking = thinking, signature = fields.text(block, "signature") })
  end
end

function READ.image(blocks, block, role)
  local source = fields.object(block, "source")
  if source then blocks:put(role, { type = "image", source = source })
  else blocks.report:add("attachment", "its file is not part of the export", blocks.number) end
end

function READ.tool_use(blocks, block)
  blocks.calls = blocks.calls + 1
  local id = fields.text(block, "id")
  if not id or id == "" then id = ("toolu_%d"):format(blocks.calls) end
  blocks.open[#blocks.open + 1], blocks.open_ids[id] = id, true
  blocks:put("assistant", { type = "tool_use", id = id, name = fields.text(block, "name") or "tool",
    input = fields.object(block, "input") or {} })
end

--- The call that a result answers: the one that it names, or the first that is open.
local function call_of(blocks, block)
  local id = fields.text(block, "tool_use_id")
  if id and blocks.open_ids[id] then return id end
  while blocks.open[blocks.first_open] do
    id = blocks.open[blocks.first_open]
    blocks.first_open = blocks.first_open + 1
    if blocks.open_ids[id] then return id end
  end
end

function READ.tool_result(blocks, block)
  local id = call_of(blocks, block)
  if not id then
    blocks.report:add("result without call", "a call without arguments was added before it", blocks.number)
    READ.tool_use(blocks, { id = block.tool_use_id, name = block.name })
    id = call_of(blocks, block)
  end
  blocks.open_ids[id] = nil
  local result = { type = "tool_result", tool_use_id = id, content = result_content(block.content) }
  if block.is_error == true then
    result.is_error = true
    if #result.content == 0 then result.content = "error" end
  end
  blocks:put("user", result)
end

local function read_blocks(blocks, list, role)
  for _, block in ipairs(list) do
    local kind = fields.text(block, "type")
    if kind and READ[kind] then READ[kind](blocks, block, role)
    else blocks.report:add("other block", "not a block of the API: " .. (kind or "without a type"):sub(1, 40)) end
  end
end

---- Messages ----

local function read_attachments(blocks, message, role)
  for _, attachment in ipairs(fields.list(message, "attachments") or {}) do
    local text = fields.text(attachment, "extracted_content")
    if text and text ~= "" then
      local name = fields.text(attachment, "file_name") or ""
      blocks:put(role, text_block(name ~= "" and ("%s:\n%s"):format(name, text) or text))
    else
      blocks.report:add("attachment", "its text is not part of the export")
    end
  end
  for _ in ipairs(fields.list(message, "files") or {}) do
    blocks.report:add("attachment", "its file is not part of the export")
  end
end

local function has_text(list)
  for _, block in ipairs(list or {}) do
    if fields.text(block, "type") ~= "text" or (fields.text(block, "text") or "") ~= "" then return true end
  end
  return false
end

local ROLES = { human = "user", assistant = "assistant" }

local function add_message(blocks, message)
  local role = ROLES[fields.text(message, "sender") or ""]
  if not role then return blocks.report:add("other message", "its sender is neither human nor assistant") end
  local before = #blocks.messages
  blocks.current = nil
  read_attachments(blocks, message, role)
  local list, text = fields.list(message, "content"), fields.text(message, "text")
  if has_text(list) then read_blocks(blocks, list, role)
  elseif text and text ~= "" then blocks:put(role, text_block(text)) end
  if #blocks.messages == before then blocks.report:add("empty message", "left out") end
end

---- Branches ----

local ROOT = "^[0-]+4?[0-]*8?[0-]*$"   -- the id that stands for "no parent": zeros, but for marks of its version

--- The messages as nodes; of one id the first. `has_parents`: false if the list is the conversation.
local function nodes_of(list)
  local nodes, seen, has_parents = {}, {}, false
  for _, message in ipairs(list) do
    local id, parent = fields.text(message, "uuid"), fields.text(message, "parent_message_uuid")
    if id and not seen[id] then
      seen[id] = true
      if not parent or parent:find(ROOT) then parent = nil end
      nodes[#nodes + 1] = { id = id, parent = parent, message = message, is_message = true }
      has_parents = has_parents or parent ~= nil
    end
  end
  return nodes, has_parents
end

local function path_of(entry, list)
  local nodes, has_parents = nodes_of(list)
  if not has_parents then return list, 1 end
  local current = fields.text(entry.value, "current_leaf_message_uuid") or nodes[#nodes].id
  local path, leaves = chat_tree.path(nodes, current, entry.branch, entry.report)
  local messages = {}
  for i, node in ipairs(path) do messages[i] = node.message end
  return messages, leaves
end

local function name_of(value)
  local title = fields.text(value, "name")
  return fields.text(value, "uuid"), title ~= "" and title or nil
end

local function read_one(entry)
  local list = fields.list(entry.value, "chat_messages")
  if not list then refuse("shape", "expected chat_messages, a list") end
  local messages, leaves = path_of(entry, list)
  local blocks = setmetatable({ messages = {}, report = entry.report, calls = 0, open = {}, open_ids = {},
    first_open = 1 }, Blocks)
  for _, message in ipairs(messages) do add_message(blocks, message) end
  local id, title = name_of(entry.value)
  return {
    dialect = "anthropic", messages = blocks.messages, model = fields.text(entry.value, "model"),
    id = id, conversation = title, branches = leaves,
  }
end

function claude_ai.read(source, options)
  return many.collect(source, options, read_one, name_of)
end

return claude_ai
