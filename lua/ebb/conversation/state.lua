--- chat:state(): all that a conversation is, in the seeds' JSON form.
--
-- camelCase, and positions from 0. Batch 0 has no parent: null says so, where
-- leaving the field out would change the shape.

local core = require "ebb.support.core"
local difference = require "ebb.conversation.difference"
local edit_report = require "ebb.conversation.edit_report"
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

--- The positions of each role's messages, from 0.
---@param list ebb.List
---@return table<ebb.Role, integer[]>
function state.indices(list)
  local result = {}
  for role, positions in pairs(list:indices()) do
    local from_zero = json.array {}
    for i, position in ipairs(positions) do from_zero[i] = position - 1 end
    result[role] = from_zero
  end
  return result
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

---- Reports of operations ----

--- Adds to the report of an edit what the report of operations has besides.
---@param data table          of edit_report.read
---@param chat ebb.Conversation   after the operations
---@param exact? boolean      as in state.read
---@return table data
function state.extend(data, chat, exact)
  for name, value in pairs(state.read(chat, exact)) do data[name] = value end
  data.indices = state.indices(chat)
  data.affectedBatchIndex = data.results[1] and data.results[#data.results].affectedBatchIndex or nil
  return data
end

local function read_report(before, after)
  local edit = { before = before, after = after, by = "apply" }
  return state.extend(edit_report.read(edit, difference.compare(before, after)), after)
end

--- Members of a report that have another name in Lua.
local ALSO = { state = state.read, affected_batch_index = function(after)
  local results = operations.results(after)
  return results[1] and results[#results].affected_batch_index or nil
end }

--- Results with the report as members, which is made when one is asked for: of the conversation as it was then.
local function with_report(results, before, after)
  local report
  return setmetatable(results, { __metatable = false, __index = function(_, name)
    if ALSO[name] then return ALSO[name](after) end
    if type(name) ~= "string" then return nil end
    report = report or read_report(before, after)
    return report[name]
  end })
end

--- Runs operations; what it gives has a result for each, and as members what `ebb apply --json` tells.
---@param chat ebb.Conversation
---@param source string|table
---@return ebb.ApplyReport
function state.apply(chat, source)
  local before = chat:fork()
  local _, report = operations.apply(chat, source, nil, function(copy, results)
    local after, own = copy:fork(), {}
    core.state(after).results = results
    for i, result in ipairs(results) do own[i] = result end      -- the chat keeps its own list
    return with_report(own, before, after)
  end)
  return report
end

return state
