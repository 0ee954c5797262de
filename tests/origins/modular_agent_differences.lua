--- Lists where Ebb, by BEHAVIOUR.md section 2, gives something else than the original
--- modular-agent did in its cases (modular_agent_spec.lua puts this to use).
--
--     rows     by case: the original's bug in one line, the words that decide,
--              and the fields that differ after each operation
--     rules    by op: the same for what differs wherever it occurs
--
-- `decides` quotes the section; "new batch" is its table's second column. What
-- is not named here is asserted as the file has it.

local util = require "luassert.util"

---- A small notation for what is given instead ----

local LONG = { U1 = "U1 Hello", A1 = "A1 Hi" }

--- The contents of the seven messages that most cases begin with, and others.
local function words(text)
  local contents = {}
  for word in text:gmatch "%S+" do
    contents[#contents + 1] = LONG[word] or word
  end
  return contents
end

local ALL = words "S U1 A1 T1 U2 A2 U3"
local NOTHING = {}   -- as a field's value: the field is not there

local function shows(text)
  local visible = words(text)
  return { visible = visible, stats = { currentBatchMessages = #visible } }
end

--- A refusal of the first operation on the seven messages.
local function refuses(reason)
  return {
    refused = reason, affected = NOTHING, visible = ALL, current = 0, snapshots = {},
    stats = { currentBatchMessages = 7, totalBatches = 1, currentBatchIndex = 0 },
  }
end

local function next_batch(fields)
  fields.batches, fields.current = { 0, 1 }, 1
  return fields
end

local BEFORE_CLEAR = { { batch = 0, count = 7, before = "clear", visible = ALL } }

---- Differences in single cases ----

--- `cases[name][n]` are the fields that differ after the case's operation n.
local ROWS = {
  -- conversation_manager
  {
    bug = "a message's index is compared with the length of the list just shortened: throws, with the list changed",
    decides = "truncate, clear: new batch",
    cases = {
      ["conv truncate role user keepLast 1"] = { next_batch { refused = NOTHING } },
      ["conv clear keep, system late"] = { next_batch { refused = NOTHING } },
    },
  },
  {
    bug = "a truncate or filter that leaves nothing begins no batch",
    decides = "truncate, filter: new batch",
    cases = {
      ["conv truncate keepFirst 0"] = { next_batch {} },
      ["conv filter none left"] = { next_batch {} },
    },
  },
  {
    bug = "rollback restores the boundary only: what was cut never comes back, and later batches are gone",
    decides = "rollback: makes that batch current, in its latest state. Later batches stay listed and reachable",
    cases = {
      ["conv truncate then rollback 0"] = { [2] = {
        visible = ALL, indices = { 0, 1, 2, 3, 4, 5, 6 }, batches = { 0, 1 }, by_role = { user = { 1, 4, 6 } },
      } },
      ["conv filter then rollback 0"] = { [2] = {
        visible = ALL, indices = { 0, 1, 2, 3, 4, 5, 6 }, batches = { 0, 1 },
      } },
    },
  },
  {
    bug = "replace edits a copy: no effect",
    decides = "replace: the new message is appended to the store and takes the place; the old one stays in the store",
    cases = {
      ["conv replace 1"] = { next_batch {
        visible = words "S R A1 T1 U2 A2 U3", all = 8, indices = { 0, 7, 2, 3, 4, 5, 6 },
        by_role = { user = { 7, 4, 6 } },
      } },
    },
  },
  {
    bug = "insert begins no batch",
    decides = "insert: new batch",
    cases = {
      ["conv insert 0"] = { next_batch {} },
      ["conv insert 2 two"] = { next_batch {} },
      ["conv insert after truncate"] = { [2] = { batches = { 0, 1, 2 }, current = 2 } },
    },
  },
  {
    bug = "insert beyond the end appends",
    decides = "insert: 0 <= position <= count",
    cases = {
      ["conv insert 99"] = { {
        refused = "operations[0].insert.position: 99 is beyond the list of 7 messages",
        visible = ALL, all = 7, indices = { 0, 1, 2, 3, 4, 5, 6 }, by_role = { user = { 1, 4, 6 } },
      } },
    },
  },
  {
    bug = "the index by role is not told of clear and of an insert's place: role queries go stale",
    decides = "Queries on the visible list",
    cases = {
      ["conv clear all"] = { { by_role = { user = {}, system = {} } } },
      ["conv clear keep, system late"] = { { by_role = { user = {} } } },
      ["conv clear keep with tools"] = { { by_role = { user = {} } } },
      ["conv clear all with tools"] = { { by_role = { user = {} } } },
      ["conv insert 0"] = { { by_role = { user = { 7, 1, 4, 6 } } } },
      ["conv insert 2 two"] = { { by_role = { user = { 1, 7, 8, 4, 6 } } } },
      ["conv insert after truncate"] = { [2] = { by_role = { user = { 7, 1 } } } },
    },
  },
  {
    bug = "the tool description is not there before the first clear",
    decides = "Tools: one is appended at creation and after clear",
    cases = {
      ["conv clear all with tools"] = { { all = 9, indices = { 8 }, by_role = { system = { 8 } } } },
    },
  },

  -- message_array
  {
    bug = "slice(-0): keepLast 0 keeps everything",
    decides = "truncate: 0 means 0 (`keepLast: 0` keeps nothing",
    cases = {
      ['msgarray-old truncate {"keepLast":0}'] = { shows "" },
      ['msgarray-head truncate {"keepLast":0}'] = { shows "" },
    },
  },
  {
    bug = "slice(0, -0): removeLast 0 removes everything",
    decides = "truncate: `removeLast: 0` removes nothing",
    cases = {
      ['msgarray-old truncate {"removeLast":0}'] = { shows "S U1 A1 T1 U2 A2 U3" },
      ['msgarray-head truncate {"removeLast":0}'] = { shows "S U1 A1 T1 U2 A2 U3" },
    },
  },
  {
    bug = "a negative range counts from the end",
    decides = "truncate: negative or start > end refused",
    cases = {
      ['msgarray-old truncate {"range":{"start":-2,"end":99}}'] = {
        refuses "operations[0].range.start: expected a whole number, 0 or more, got -2",
      },
    },
  },
  {
    bug = "of several cuts only the first of keepFirst > keepLast > removeFirst > removeLast > range is made",
    decides = "truncate: compose in the order written here, each on the result of the one before",
    cases = {
      ["msgarray-old combined strategies: only the first of keepFirst>keepLast>removeFirst>removeLast>range applies"] =
        { shows "A2 U3" },
    },
  },
  {
    bug = "appending an empty list passes",
    decides = "append: an empty list is refused",
    cases = {
      ["msgarray-old append empty list"] = {
        { refused = "operations[0] (append): no messages", affected = NOTHING },
      },
    },
  },
  {
    bug = "a filter without conditions makes a batch",
    decides = "filter: at least one condition",
    cases = {
      ["msgarray-old filter no criteria still makes a batch"] = { refuses "operations[0]: nothing is asked" },
      ["msgarray-head filter no criteria still makes a batch"] = { refuses "operations[0]: nothing is asked" },
    },
  },
  {
    bug = "keywords are looked for in the text parts joined by spaces, so across their borders",
    decides = "filter: in string content, text parts, tool arguments",
    cases = {
      ["msgarray-head filter text of parts joined by space"] = { shows "" },
    },
  },
  {
    bug = "CLEAR's snapshot is empty: rolling back over it loses all messages",
    decides = "No state that ever was visible is out of reach",
    cases = {
      ["msgarray-old clear default"] = { { snapshots = BEFORE_CLEAR } },
      ["msgarray-old clear keep false"] = { { snapshots = BEFORE_CLEAR } },
      ["msgarray-old clear then rollback to it is lossy"] = {
        { snapshots = BEFORE_CLEAR }, shows "S U1 A1 T1 U2 A2 U3",
      },
      ["msgarray-head clear then rollback to it is lossy"] = {
        { snapshots = BEFORE_CLEAR }, shows "S U1 A1 T1 U2 A2 U3",
      },
    },
  },
  {
    bug = "the later CLEAR lost its option and drops system messages too",
    decides = "clear{keepSystemMessage = true}",
    cases = {
      ["msgarray-head clear then rollback to it is lossy"] = { shows "S" },
      ["visible clear newBatch batch0"] = { { visible = { "S" }, indices = { 0 } } },
    },
  },
  {
    bug = "rollback to the current batch finds no snapshot and wipes everything",
    decides = "rollback: makes that batch current, in its latest state",
    cases = {
      ["msgarray-old rollback to CURRENT batch wipes everything"] = { [2] = {
        visible = words "S X U1 A1 T1 U2 A2 U3", affected = 1, current = 1,
        snapshots = { { batch = 0, count = 7, before = "insert", visible = ALL } },
        stats = { currentBatchMessages = 8, currentBatchIndex = 1 },
      } },
      ["msgarray-head rollback 0 with no batches wipes everything"] = { shows "S U1 A1 T1 U2 A2 U3" },
    },
  },
  {
    bug = "the number of a batch that a rollback dropped is given again",
    decides = "Batches are numbered 0, 1, 2 ... in order of creation and form a tree",
    cases = {
      ["msgarray-head three batches, back to 1, then new op reuses index"] = {
        [6] = { affected = 4, current = 4, stats = { currentBatchIndex = 4 } },
      },
    },
  },

  -- visible_operation
  {
    bug = "what is inserted at the visible part's first place lands before the boundary and is hidden",
    decides = "insert: relative to the visible list",
    cases = {
      ["visible insert 0 batch0"] = { {
        visible = words "X S U1 A1 T1 U2 A2 U3", indices = { 7, 0, 1, 2, 3, 4, 5, 6 },
      } },
    },
  },
  {
    bug = "position -1 appends in the flat form too",
    decides = "insert: `-1` is refused (\"use append\"); only the node form of seed 000 maps -1 to append",
    cases = {
      ["visible insert -1 batch0"] = { { instead = "operations[0].position: -1 is not a position" } },
      ["visible insert -1 boundary 3"] = { { instead = "operations[0].position: -1 is not a position" } },
    },
  },
  {
    bug = "an insert beyond the visible part silently does nothing",
    decides = "insert: 0 <= position <= count",
    cases = {
      ["visible insert 99 batch0"] = { { instead = "operations[0].position: 99 is beyond the list of 7 messages" } },
      ["visible insert 99 boundary 3"] = {
        { instead = "operations[0].position: 99 is beyond the list of 4 messages" },
      },
    },
  },

  -- type_index, message_index
  {
    bug = "slice(-0): the 0 most recent of a role are all of them",
    decides = "Queries: short forms recent(role, n) (0 means 0, as in truncate)",
    cases = { ["type index manager"] = { { recent_user_0 = {} } } },
  },
  {
    bug = "an equal boundary is accepted but fails the manager's own check",
    decides = "truncate: new batch",
    cases = { ["message index manager"] = { { consistent_after_equal_boundary = true } } },
  },
  {
    bug = "a lower boundary brings hidden messages back",
    decides = "truncate: negative or start > end refused",
    cases = { ["message index manager"] = { { after_lower_boundary = { 3, 4 } } } },
  },
  {
    bug = "rollback drops the later batches",
    decides = "rollback: Later batches stay listed and reachable",
    cases = { ["message index manager"] = { { after_rollback = { batches = { 0, 1 } } } } },
  },
}

---- Differences by rule ----

--- Counts the messages that one operation of the original adds to the store.
local function added(operation)
  return #(operation.messages or {}) + (operation.message and 1 or 0)
end

--- Bug: what is cut is gone for good and not counted. Decides: stats total_messages (ever stored).
--- Bug: rollback drops the batches after its target. Decides: Later batches stay listed and reachable.
local function count_all_that_ever_was(steps, case)
  local stored, batches = #case.input, 1
  for i, step in ipairs(steps) do
    if not step.refused then stored = stored + added(case.options.ops[i]) end
    batches = math.max(batches, step.current + 1)
    step.stats.totalMessages, step.stats.totalBatches = stored, batches
  end
end

--- Bug: without createNewBatch an edit changes the current batch. Decides: new batch: yes; createNewBatch is ignored.
local function begin_a_batch(steps, case)
  local operation, step = case.options.operation, steps[1]
  if step.refused or operation.createNewBatch or operation.batchOperation then return end
  step.current, step.affected = step.current + 1, step.affected + 1
  step.batches[#step.batches + 1] = step.current
end

--- Bug: what is cut is gone for good. Decides: No state that ever was visible is out of reach.
local function keep_the_hidden(steps, case)
  local step, contents, visible = steps[1], {}, {}
  if step.refused then return end
  for _, list in ipairs { case.input, case.options.operation.messages or {} } do
    for _, message in ipairs(list) do
      contents[#contents + 1] = message.content
    end
  end
  for _, index in ipairs(step.indices) do
    visible[index + 1] = true
  end
  step.stored, step.hidden = #contents, {}
  for i, content in ipairs(contents) do
    if not visible[i] then table.insert(step.hidden, content) end
  end
end

local RULES = {
  message_array = { count_all_that_ever_was },
  visible_operation = { begin_a_batch, keep_the_hidden },
}

---- Changing what the original said ----

local function merge(target, fields)
  for key, value in pairs(fields) do
    local is_list = type(value) == "table" and (value[1] ~= nil or next(value) == nil)
    if value == NOTHING then
      target[key] = nil
    elseif type(value) ~= "table" or is_list then
      target[key] = util.deepcopy(value)
    else
      merge(target[key], value)
    end
  end
end

--- Puts a row's fields into the case's steps; `instead` is a refusal that leaves no more to say.
local function change(steps, fields_by_step)
  for i, fields in pairs(fields_by_step) do
    if fields.instead then steps[i] = { refused = fields.instead } else merge(steps[i], fields) end
  end
end

return { rows = ROWS, rules = RULES, change = change }
