--- Pieces of a streamed reply of LangChain, as one message.
--
--     {"id": "m", "content": "I lo", "tool_call_chunks": []}
--     {"id": "m", "content": "ok.", "tool_call_chunks": [{"index": 0, "id": "c", "name": "f", "args": "{\"a"}]}
--     {"id": "m", "content": "", "tool_call_chunks": [{"index": 0, "args": "\":1}"}]}
--
-- Chunks of calls are joined by their index, and replace `tool_calls` and `invalid_tool_calls` of a piece, which are
-- guesses at half an argument.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"

local chunks = {}

--- True for the members of a piece of a reply.
---@param members table
---@param class? string        "AIMessageChunk"
---@return boolean
function chunks.is_piece(members, class)
  if class == "AIMessageChunk" or fields.text(members, "type") == "AIMessageChunk" then return true end
  return fields.list(members, "tool_call_chunks") ~= nil
end

--- True if a piece goes on with the reply of the piece before.
---@param before table
---@param members table
---@return boolean
function chunks.follows(before, members)
  local id, other = fields.text(before, "id"), fields.text(members, "id")
  if id or other then return id == other end
  return fields.text(fields.object(before, "response_metadata"), "finish_reason") == nil
end

---- Calls ----

--- Adds a chunk to the call that it belongs to, or begins one.
local function add_chunk(calls, by_index, chunk)
  local index, id = chunk.index, fields.text(chunk, "id")
  local call = index ~= nil and by_index[index] or index == nil and not id and calls[#calls] or nil
  if call and id and call.id and id ~= call.id then call = nil end
  if not call then
    call = { type = "tool_call", names = {}, pieces = {} }
    calls[#calls + 1] = call
    if index ~= nil then by_index[index] = call end
  end
  call.id = call.id or id
  if call.names then table.insert(call.names, fields.text(chunk, "name")) end
  local piece = fields.is_object(chunk.args) and fields.json(chunk.args) or chunk.args
  if call.pieces and type(piece) == "string" then table.insert(call.pieces, piece) end
end

--- The chunks of calls as OpenAI sends them, next to the content, in versions that have no others.
local function deltas_of(members)
  local kwargs, list = fields.object(members, "additional_kwargs"), {}
  for _, delta in ipairs(fields.list(kwargs, "tool_calls") or {}) do
    local called = fields.object(delta, "function")
    list[#list + 1] = { index = fields.is_object(delta) and delta.index or nil, id = fields.text(delta, "id"),
      name = fields.text(called, "name"), args = fields.text(called, "arguments") }
  end
  local called = fields.object(kwargs, "function_call")
  if called then
    list[#list + 1] = { index = 0, name = fields.text(called, "name"), args = fields.text(called, "arguments") }
  end
  return list
end

--- The calls of all pieces: from their chunks, or whole ones of pieces without chunks.
local function calls_of(pieces)
  local calls, by_index = core.json.array {}, {}
  for _, members in ipairs(pieces) do
    local list = fields.list(members, "tool_call_chunks") or {}
    for _, chunk in ipairs(list) do
      if fields.is_object(chunk) then add_chunk(calls, by_index, chunk) end
    end
    for _, call in ipairs(not list[1] and fields.list(members, "tool_calls") or {}) do calls[#calls + 1] = call end
  end
  for _, members in ipairs(calls[1] and {} or pieces) do
    for _, delta in ipairs(deltas_of(members)) do add_chunk(calls, by_index, delta) end
  end
  for _, call in ipairs(calls) do
    if fields.is_object(call) and call.pieces then
      call.name, call.args = table.concat(call.names), table.concat(call.pieces)
    end
  end
  return calls
end

---- Contents ----

local GROWING = { "text", "thinking", "reasoning", "signature" }
local OF_CALLS = { tool_use = true, input_json_delta = true, tool_call_chunk = true, tool_call = true,
  invalid_tool_call = true }

--- A block that grows: its members, and the texts that are to be joined.
local function new_block(block, kind)
  local copy, texts = {}, {}
  for name, value in pairs(block) do copy[name] = value end
  copy.type, copy.index = kind, nil
  for _, name in ipairs(GROWING) do texts[name] = fields.text(block, name) and { block[name] } end
  return { value = copy, kind = kind, texts = texts }
end

--- Adds a block to the one of its index, or to the last one of its type where blocks of pieces have none.
local function add_block(list, by_index, block, is_piece)
  if type(block) == "string" then block = { type = "text", text = block } end
  if not fields.is_object(block) then return end
  local index, kind, last = block.index, fields.text(block, "type") or "text", list[#list]
  local same = index ~= nil and by_index[index] or is_piece and index == nil and last or nil
  if not same or same.kind ~= kind then
    list[#list + 1] = new_block(block, kind)
    if index ~= nil then by_index[index] = list[#list] end
    return
  end
  for _, name in ipairs(GROWING) do
    local texts = same.texts[name] or {}
    texts[#texts + 1] = fields.text(block, name)
    same.texts[name] = texts[1] and texts
  end
end

--- The blocks as they are, their texts joined.
local function finish_blocks(list)
  for i, block in ipairs(list) do
    for name, texts in pairs(block.texts) do block.value[name] = table.concat(texts) end
    list[i] = block.value
  end
  return list
end

--- The content of all pieces: a text, or a list of blocks.
local function content_of(pieces, has_calls)
  local texts, list, by_index, is_text = {}, core.json.array {}, {}, true
  for _, members in ipairs(pieces) do
    local value = members.content
    if value == nil or value == "" then value = fields.list(members, "content_blocks") or value end
    if type(value) == "string" then
      texts[#texts + 1] = value
      if value ~= "" then add_block(list, by_index, value, true) end
    end
    for _, block in ipairs(fields.is_list(value) and value or {}) do
      is_text = false
      local is_of_call = has_calls and OF_CALLS[fields.text(block, "type") or ""]
      if not is_of_call then add_block(list, by_index, block, pieces[2] ~= nil) end
    end
  end
  return is_text and table.concat(texts) or finish_blocks(list)
end

--- The reasoning that is next to the contents.
local function kwargs_of(pieces)
  local words, summaries = {}, {}
  for _, members in ipairs(pieces) do
    local kwargs = fields.object(members, "additional_kwargs")
    words[#words + 1] = fields.text(kwargs, "reasoning_content")
    for _, each in ipairs(fields.list(fields.object(kwargs, "reasoning"), "summary") or {}) do
      summaries[#summaries + 1] = fields.text(each, "text")
    end
  end
  local text = table.concat(words) .. table.concat(summaries)
  return { reasoning_content = text ~= "" and text or nil }
end

--- The members of one message that pieces are.
---@param pieces table[]       members of each, in order
---@return table
function chunks.join(pieces)
  local calls = calls_of(pieces)
  return { id = fields.text(pieces[1], "id"), content = content_of(pieces, calls[1] ~= nil), tool_calls = calls,
    additional_kwargs = kwargs_of(pieces) }
end

return chunks
