--- The cases of modular-agent (the project that seeds 000, 003 and 004 were
--- written for), run on Ebb.
--
-- For each `op` of the file there are two readers, which give the same shape:
--
--     recorded[op](case)     what the original's run recorded
--     computed[op](case)     what Ebb gives for the same operations
--
-- Nothing but names and the forms of operations is translated between them:
--
--     index i of a message              seq - 1
--     originalIndices from the current boundary on    the visible messages
--     boundaryToBatch                   the numbers of the batches
--     snapshots                         the batches from the first one to the current one's parent
--     an error's words                  REFUSALS
--
-- Two of the original's fields have no counterpart: batchBoundaries (what they
-- hide is seen in the visible messages) and typeIndices (empty in all cases).
-- A field that is not known here is an error, so that none is passed over.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local json = ebb.json
local log = require "ebb.support.log"

local adaptor = { recorded = {}, computed = {} }
local recorded, computed = adaptor.recorded, adaptor.computed

--- All cases of the file, or nil and why there are none.
function adaptor.cases()
  if not helper.shared then return nil, "EBB_SHARED is not set" end
  local path = helper.shared .. "/data/cases/modular_agent.json"
  local file = io.open(path, "rb")
  if not file then return nil, "EBB_SHARED has no data/cases/modular_agent.json" end
  file:close()
  return assert(json.decode(helper.read(path)))
end

---- What both sides share ----

local REFUSALS = {
  ["Unsupported operation type: NOPE"] = "operations[0].operation: unknown operation 'NOPE'",
  ["Invalid insert position: -1. Must be between 0 and 7"] = "operations[0].position: -1 is not a position",
  ["Invalid insert position: 99. Must be between 0 and 7"] =
    "operations[0].position: 99 is beyond the list of 7 messages",
  ["Invalid replace index: -1. Must be between 0 and 6"] =
    "operations[0].index: expected a whole number, 0 or more, got -1",
  ["Invalid replace index: 7. Must be between 0 and 6"] = "operations[0].index: 7 is beyond the list of 7 messages",
  ["Visible index 99 out of bounds. Visible messages count: 4"] =
    "operations[0].index: 99 is beyond the list of 4 messages",
  ["Invalid batch index: -1. Must be between 0 and 0"] =
    "operations[0].targetBatchIndex: expected a whole number, 0 or more, got -1",
  ["Invalid batch index: 10. Must be between 0 and 0"] =
    "operations[0] (rollback): batch: 10 is out of range",
  ["Target batch 5 not found. Available batches: 0, 1"] =
    "operations[0] (rollback): batch: 5 is out of range",
  ["Target batch 99 not found"] = "operations[0] (rollback): batch: 99 is out of range",
  ["Invalid boundary index: 8. Must be between 0 and 7"] = "operations[0].range: start 8 is greater than end 7",
  ["Invalid boundary index: 5"] = "operations[0].range: start 5 is greater than end 2",
}

local function refusal_of(text) return REFUSALS[text] or text end

local function check_fields(value, names)
  for key in pairs(value) do
    if not (" " .. names .. " "):find(" " .. key .. " ", 1, true) then error("not known here: " .. key) end
  end
  return value
end

local function each(list, run)
  local results = {}
  for i = 1, #list do
    results[i] = run(list[i])
  end
  return results
end

local function content_of(message) return message.content end
local function index_of(message) return message.seq - 1 end

local function batch_numbers(chat)
  return each(chat:batches(), function(batch) return batch.index end)
end

local function by_role(chat, role) return each(chat:where { role = role }, index_of) end

--- Returns what the mark map shows: the indices from the current batch's boundary on.
local function shown_indices(mark)
  check_fields(mark, "originalIndices typeIndices batchBoundaries boundaryToBatch currentBatch")
  local shown, boundary = {}, mark.batchBoundaries[mark.currentBatch + 1]
  for _, index in ipairs(mark.originalIndices) do
    if index >= boundary then shown[#shown + 1] = index end
  end
  return shown
end

local STRATEGIES = {
  KEEP_FIRST = "keepFirst", KEEP_LAST = "keepLast", REMOVE_FIRST = "removeFirst", REMOVE_LAST = "removeLast",
}

--- To begin a batch at a boundary is to show what is from there on.
local function start_batch(chat, boundary)
  local hidden = chat:stats().total_messages - #chat
  return { operation = "truncate", range = { start = boundary - hidden, ["end"] = #chat } }
end

--- The operation in the form that Ebb reads.
local function translate(chat, operation)
  if operation.rollbackToBatch then
    return { operation = "rollback", targetBatchIndex = operation.rollbackToBatch }
  elseif operation.add then
    return { operation = "append", messages = operation.add }
  elseif operation.batchOperation == "ROLLBACK_TO_BATCH" then
    return { operation = "rollback", targetBatchIndex = operation.targetBatch }
  elseif operation.batchOperation == "START_NEW_BATCH" then
    return start_batch(chat, operation.boundaryIndex)
  elseif operation.strategy then
    return {
      operation = operation.operation, role = operation.role, createNewBatch = operation.createNewBatch,
      [STRATEGIES[operation.strategy.type]] = operation.strategy.count,
    }
  end
  return operation
end

--- Runs one operation: the batch it led to, or nil and the refusal's words.
-- A refusal changes nothing, and only createNewBatch is warned of.
local function apply(chat, operation)
  local wanted, warnings, before = translate(chat, operation), 0, helper.snapshot(chat)
  local writer = log.to(function() warnings = warnings + 1 end)
  local ok, result = pcall(chat.apply, chat, json.encode(wanted))
  log.to(writer)
  assert(warnings == (wanted.createNewBatch and 1 or 0), "warnings")
  if ok then return result[1].affected_batch_index end
  assert(type(result) ~= "string", result)
  assert(before == helper.snapshot(chat), "a refused operation changed something")
  return nil, result.message
end

local function conversation(messages, options)
  return assert(ebb.parse(json.encode(messages), options))
end

---- conversation_manager: ConversationManager with the handler of seed 000 ----

function recorded.conversation_manager(case)
  return each(case.expected, function(step)
    check_fields(step, "op error visible all mark by_role")
    return {
      refused = refusal_of(step.error), visible = step.visible, all = step.all, indices = shown_indices(step.mark),
      batches = step.mark.boundaryToBatch, current = step.mark.currentBatch, by_role = step.by_role,
    }
  end)
end

--- The file names a case's tools only in the description that comes back.
local function tools_of(case)
  if not case.name:find "with tools$" then return nil end
  local shown = case.expected[1].visible
  local heading, tools = shown[#shown]:match "^[^\n]*", {}
  for name, description in shown[#shown]:gmatch "\n%- (%S+): ([^\n]+)" do
    tools[#tools + 1] = { name = name, description = description }
  end
  return { tools = tools, tools_heading = heading }
end

function computed.conversation_manager(case)
  local chat = conversation(case.input, tools_of(case))
  return each(case.options.ops, function(operation)
    local _, refused = apply(chat, operation)
    local stats = chat:stats()
    return {
      refused = refused, visible = each(chat, content_of), all = stats.total_messages, indices = each(chat, index_of),
      batches = batch_numbers(chat), current = stats.current_batch_index,
      by_role = { user = by_role(chat, "user"), system = by_role(chat, "system") },
    }
  end)
end

---- message_array: MessageArrayManager of seed 004 ----

function recorded.message_array(case)
  return each(case.expected, function(step)
    check_fields(step, "op error messages affectedBatchIndex currentBatchIndex snapshots stats")
    return {
      refused = refusal_of(step.error), visible = step.messages, affected = step.affectedBatchIndex,
      current = step.currentBatchIndex, stats = step.stats,
      snapshots = each(step.snapshots, function(snapshot)
        check_fields(snapshot, "batchIndex messageCount description messages")
        return {
          batch = snapshot.batchIndex, count = snapshot.messageCount, visible = snapshot.messages,
          before = snapshot.description:match "^Before (%u+)":lower(),
        }
      end),
    }
  end)
end

--- The states that the current one was made from, oldest first.
local function snapshots_of(chat)
  local batches, snapshots = chat:batches(), {}
  local batch = batches[chat:stats().current_batch_index + 1]
  while batch.parent do
    table.insert(snapshots, 1, {
      batch = batch.parent, count = batch.parent_length, before = batch.operation,
      visible = each(chat:batch(batch.parent, batch.parent_length), content_of),
    })
    batch = batches[batch.parent + 1]
  end
  return snapshots
end

function computed.message_array(case)
  local chat = conversation(case.input)
  return each(case.options.ops, function(operation)
    local affected, refused = apply(chat, operation)
    local state = chat:state()
    return {
      refused = refused, visible = each(state.messages, content_of), affected = affected,
      current = state.currentBatch, stats = state.stats, snapshots = snapshots_of(chat),
    }
  end)
end

---- visible_operation: operations on the visible part, hidden messages kept ----

local function slice(list, first, last) return table.move(list, first, last, 1, {}) end

function recorded.visible_operation(case)
  local expected = check_fields(case.expected, "error messages markMap stats affectedBatchIndex")
  if expected.error then return { { refused = refusal_of(expected.error) } } end
  local stats, messages, mark = expected.stats, expected.messages, expected.markMap
  return { {
    visible = slice(messages, stats.invisibleMessageCount + 1, #messages), indices = shown_indices(mark),
    hidden = slice(messages, 1, stats.invisibleMessageCount), stored = stats.originalMessageCount,
    batches = mark.boundaryToBatch, current = mark.currentBatch, affected = expected.affectedBatchIndex,
  } }
end

local function hidden_messages(chat)
  local hidden = {}
  for _, message in ipairs(chat:all()) do
    if not message.index then hidden[#hidden + 1] = message.content end
  end
  return hidden
end

function computed.visible_operation(case)
  local chat, mark = conversation(case.input), case.options.markMap
  if mark.currentBatch == 1 then apply(chat, start_batch(chat, mark.batchBoundaries[2])) end
  local affected, refused = apply(chat, case.options.operation)
  if refused then return { { refused = refused } } end
  local stats = chat:stats()
  return { {
    visible = each(chat, content_of), indices = each(chat, index_of), hidden = hidden_messages(chat),
    stored = stats.total_messages, batches = batch_numbers(chat), current = stats.current_batch_index,
    affected = affected,
  } }
end

---- type_index: TypeIndexManager ----

function recorded.type_index(case) return { case.expected } end

local function ids(indices)
  return each(indices, function(index) return "m" .. index end)
end

local function counts_add_up(chat)
  return chat:count "system" + chat:count "user" + chat:count "assistant" + chat:count "tool" == #chat
end

function computed.type_index(case)
  local chat = conversation(each(case.options.add, function(entry)
    return { role = entry[1], content = "", id = "m" .. entry[2] }
  end))
  local function range(role, start, past) return each(chat:range(role, start + 1, past), index_of) end
  local results = {
    recent_user_0 = each(chat:recent("user", 0), index_of),
    recent_user_1 = each(chat:recent("user", 1), index_of),
    recent_user_5 = each(chat:recent("user", 5), index_of),
    range_user_0_1 = range("user", 0, 1), range_user_1_2 = range("user", 1, 2),
    range_assistant_0_2 = range("assistant", 0, 2),
    count_user = chat:count "user", total = #chat, consistent = counts_add_up(chat),
  }
  apply(chat, { operation = "filter", excludeIds = ids { 1, 4 } })
  results.after_remove_1_4 = { user = by_role(chat, "user"), assistant = by_role(chat, "assistant"), total = #chat }
  apply(chat, { operation = "filter", includeIds = ids { 0, 2, 5 } })
  results.after_keep_0_2_5 = {
    system = by_role(chat, "system"), user = by_role(chat, "user"), assistant = by_role(chat, "assistant"),
    tool = by_role(chat, "tool"), total = #chat,
  }
  return { results }
end

---- message_index: MessageIndexManager ----

function recorded.message_index(case)
  local expected = case.expected
  check_fields(expected, "current modified batchIndex mark after_rollback errors equal_boundary_consistent"
    .. " decreasing_allowed")
  local function state(mark)
    return { indices = shown_indices(mark), batches = mark.boundaryToBatch, current = mark.currentBatch }
  end
  return { {
    shown = expected.current, hidden = expected.modified, positions = expected.batchIndex,
    after_start = state(expected.mark), after_rollback = state(expected.after_rollback),
    start5 = refusal_of(expected.errors.start5), rb99 = refusal_of(expected.errors.rb99),
    consistent_after_equal_boundary = expected.equal_boundary_consistent,
    after_lower_boundary = expected.decreasing_allowed,
  } }
end

local function plain(count)
  local messages = {}
  for i = 1, count do
    messages[i] = { role = "user", content = "m" .. i - 1 }
  end
  return conversation(messages)
end

local function batches_hold_their_counts(chat)
  for _, batch in ipairs(chat:batches()) do
    if #chat:batch(batch.index) ~= batch.message_count then return false end
  end
  return true
end

local function index_state(chat)
  return {
    indices = each(chat, index_of), batches = batch_numbers(chat), current = chat:stats().current_batch_index,
  }
end

--- Boundaries one after the other; then the conversation.
local function started(count, boundaries)
  local chat = plain(count)
  for _, boundary in ipairs(boundaries) do
    apply(chat, start_batch(chat, boundary))
  end
  return chat
end

function computed.message_index(case)
  local count = case.options.n
  local chat, two = started(count, { 2 }), plain(2)   -- the original refuses boundary 5 of a list of two
  local results = { shown = each(chat, index_of), after_start = index_state(chat) }
  local function stored(index) return chat:all()[index + 1] end
  results.hidden = each({ 0, 1, 2, 3 }, function(index) return stored(index).index == nil end)
  results.positions = each({ 2, 3, 4 }, function(index) return stored(index).index - 1 end)
  results.start5 = select(2, apply(two, start_batch(two, 5)))
  results.rb99 = select(2, apply(chat, { rollbackToBatch = 99 }))
  apply(chat, { rollbackToBatch = 0 })
  results.after_rollback = index_state(chat)
  results.consistent_after_equal_boundary = batches_hold_their_counts(started(count, { 2, 2 }))
  results.after_lower_boundary = each(started(count, { 3, 1 }), index_of)
  return { results }
end

return adaptor
