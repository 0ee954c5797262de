--- chat:state(): all that a conversation is, in the seeds' JSON form.
--
-- camelCase, and positions from 0. Batch 0 has no parent: null says so, where
-- leaving the field out would change the shape.

local core = require "ebb.support.core"
local operations = require "ebb.conversation.operations"

local state = {}

local json = core.json

local function messages_of(chat, exact)
  local messages = json.array {}
  for i, message in ipairs(chat) do
    messages[i] = exact and json.raw(message.json) or message:totable()
  end
  return messages
end

---@param chat ebb.Conversation
---@return table[]
function state.batches(chat)
  local batches = json.array {}
  for i, batch in ipairs(chat:batches()) do
    batches[i] = {
      index = batch.index,
      parent = batch.parent or json.null,
      parentLength = batch.parent_length or json.null,
      operation = batch.operation,
      description = batch.description,
      timestamp = batch.timestamp,
      messageCount = batch.message_count,
      name = batch.name,
      nameLength = batch.name_length,
    }
  end
  return batches
end

---@param chat ebb.Conversation
---@return table[]
function state.results(chat)
  local results = json.array {}
  for i, result in ipairs(operations.results(chat)) do
    results[i] = { operation = result.operation, affectedBatchIndex = result.affected_batch_index }
  end
  return results
end

---@param chat ebb.Conversation
---@return table
function state.stats(chat)
  local stats = chat:stats()
  return {
    totalMessages = stats.total_messages,
    currentBatchMessages = stats.current_batch_messages,
    totalBatches = stats.total_batches,
    currentBatchIndex = stats.current_batch_index,
  }
end

--- The state of a conversation as a table. With `exact` its messages are raw JSON, which json.encode
--- writes byte for byte; without, they are tables.
---@param chat ebb.Conversation
---@param exact? boolean
---@return table
function state.read(chat, exact)
  local stats = state.stats(chat)
  return {
    messages = messages_of(chat, exact),
    batches = state.batches(chat),
    currentBatch = stats.currentBatchIndex,
    stats = stats,
    results = state.results(chat),
  }
end

return state
