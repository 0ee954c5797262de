--- Files of a MessageArrayState: the messages of now, and snapshots of what the batches before were when an operation
--- left them.
--
--     {"messages": [..], "currentBatchIndex": 1, "totalMessageCount": 5, "batchSnapshots": [
--       {"batchIndex": 0, "messages": [..], "messageCount": 7, "timestamp": 1.7e12, "description": "Before TRUNCATE"}]}
--
-- Each snapshot becomes a batch, and the messages of now the current one, so that a rollback finds all of them. Time
-- and description of a snapshot tell of the operation that left it: they become those of the batch that follows. What
-- two batches share is stored once.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local lcs = require "ebb.support.lcs"
local refuse = require "ebb.support.refuse"

local snapshots = { name = "snapshots", title = "MessageArrayState", kind = "json" }

local KNOWN = { messages = true, batchSnapshots = true, currentBatchIndex = true, totalMessageCount = true }
local KNOWN_OF_SNAPSHOT = {
  batchIndex = true, timestamp = true, messages = true, messageCount = true, description = true,
}

--- Kinds of batches by the last word of "Before INSERT at position 2".
local KINDS = { INSERT = "insert", REPLACE = "replace", TRUNCATE = "truncate", CLEAR = "clear", FILTER = "filter" }

function snapshots.recognise(sample)
  return fields.is_object(sample.value) and fields.list(sample.value, "messages") ~= nil
    and fields.list(sample.value, "batchSnapshots") ~= nil
end

---- Reading ----

---@class ebb.import.Snapshot
---@field index integer        of its batch
---@field texts string[]       its messages, as JSON
---@field place string         of its list of messages
---@field time? integer        in ms, when an operation left it
---@field description? string  of that operation

local function report_others(value, known, place, report)
  for name in pairs(value) do
    if not known[name] then report:add("other member", place .. name) end
  end
end

local function check_index(value, place)
  if math.type(value) == "integer" and value >= 0 then return value end
  return refuse("shape", place .. ": expected the number of a batch, from 0")
end

--- Splits a list of messages, `raw`, into the JSON of each.
local function read_texts(raw, place)
  if type(raw) ~= "string" or not raw:find "^%[" then refuse("shape", place .. ": expected a list of messages") end
  local texts = {}
  for i, element in ipairs(fields.elements(raw)) do texts[i] = element.raw end
  return texts
end

--- Returns the bytes of the lists of messages and of snapshots in an object; nil for one that it lacks.
local function read_lists(raw)
  local members = core.json.decode(raw, { raw = { messages = true, batchSnapshots = true } })
  local messages, list = members.messages, members.batchSnapshots
  return messages and messages[1], list and list[1]
end

local function read_snapshot(element, place, report)
  local value = element.value
  if not fields.is_object(value) then refuse("shape", place .. ": expected an object") end
  report_others(value, KNOWN_OF_SNAPSHOT, place .. ".", report)
  local texts = read_texts(read_lists(element.raw), place .. ".messages")
  local count = fields.integer(value, "messageCount")
  if count and count ~= #texts then
    report:add("wrong count", ("%s.messageCount is %d, it has %d"):format(place, count, #texts))
  end
  return {
    index = check_index(value.batchIndex, place .. ".batchIndex"), texts = texts, place = place .. ".messages",
    time = fields.integer(value, "timestamp"), description = fields.text(value, "description"),
  }
end

--- The states of a file, in the order in which they were; the last one is that of now.
---@return ebb.import.Snapshot[]
local function read_states(source)
  local value, states = source.value, {}
  if not snapshots.recognise(source) then
    refuse("shape", "1:1: expected an object with lists of messages and batchSnapshots")
  end
  report_others(value, KNOWN, "", source.report)
  local messages, list = read_lists(source.text)
  for i, element in ipairs(fields.elements(list)) do
    states[i] = read_snapshot(element, ("batchSnapshots[%d]"):format(i - 1), source.report)
  end
  states[#states + 1] = {
    index = check_index(value.currentBatchIndex, "currentBatchIndex"),
    texts = read_texts(messages, "messages"), place = "messages",
  }
  return states
end

--- Reports numbers of batches that come without the batches before them: these are missing in the file.
local function report_gaps(states, report)
  local following = 0
  for _, state in ipairs(states) do
    if state.index > following then
      report:add("missing batch", ("%s is of batch %d, the one before it is %d"):format(state.place, state.index,
        following - 1))
    end
    following = state.index + 1
  end
end

---- Building ----

--- Runs an edit of messages of a state; what it refuses gets their place.
local function edit(state, act, ...)
  local ok, result, problem = pcall(act, ...)
  if ok and result then return result end
  problem = problem or result
  if not core.is_error(problem) then error(problem, 0) end
  return refuse(problem.code, ("%s: %s"):format(state.place, problem.message), problem.hint)
end

local function raw_messages(texts, first)
  local list = {}
  for i = first, #texts do list[#list + 1] = core.json.raw(texts[i]) end
  return list
end

--- True if `texts` begins with all of `start`.
local function begins_with(texts, start)
  for i, text in ipairs(start) do
    if texts[i] ~= text then return false end
  end
  return true
end

--- Makes the messages of the current batch, which are `before`, those of `state`, in a new batch.
---@param before string[]
---@param left ebb.import.Snapshot   what an operation left
local function add_batch(chat, before, state, left)
  local draft, match = chat:draft { guards = false }, lcs.match(before, state.texts)
  local messages, removed, places, added, kept = {}, {}, {}, {}, 0
  for i, message in ipairs(draft) do messages[i] = message end
  for i, j in lcs.steps(match, #before, #state.texts) do
    if j == 0 then
      removed[#removed + 1] = messages[i]
    elseif i == 0 then
      places[#places + 1], added[#added + 1] = kept + 1, core.json.raw(state.texts[j])
    else
      kept = kept + 1
    end
  end
  for _, message in ipairs(removed) do assert(draft:drop(message, "it is not in the next snapshot")) end
  if added[1] then edit(state, core.draft.insert_all, draft, places, added, "it is in the next snapshot") end
  local description = left.description or ""
  core.draft.commit(draft, {
    operation = KINDS[description:match "^Before (%u+)"] or "filter", description = description, always = true,
  })
  assert(#chat == #state.texts)
end

--- A conversation with a batch for each state. A number that comes again is that of a batch that was rolled back to.
local function build(states)
  local time = states[1].time          -- of batch 0: when it was left, for nothing tells when it began
  local chat = assert(core.parse("[]", { clock = function() return time or core.now() end }))
  local batches, texts = {}, {}        -- by the number in the file: the batch, and what it had
  for i, state in ipairs(states) do
    local left = states[i - 1]
    local known = batches[state.index]
    if known then chat:rollback(known) end
    local before = known and texts[state.index] or left and left.texts or {}
    time = left and left.time or time
    if left and not (known and begins_with(state.texts, before)) then
      add_batch(chat, before, state, left)
    else
      local more = raw_messages(state.texts, #before + 1)
      if more[1] then edit(state, chat.append, chat, more) end
    end
    batches[state.index], texts[state.index] = chat:stats().current_batch_index, state.texts
  end
  return chat
end

function snapshots.read(source)
  local states = read_states(source)
  report_gaps(states, source.report)
  local chat, messages = build(states), {}
  for i, message in ipairs(chat) do messages[i] = message:totable() end
  for _, state in ipairs(states) do
    if not state.texts[1] and state.description then
      source.report:add("batch without messages", ("%s, %s"):format(state.place, state.description))
    end
  end
  return { dialect = chat:dialect(), messages = messages, body = chat:write "ebb", report = source.report }
end

return snapshots
