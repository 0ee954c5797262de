--- ShareGPT's form of data sets: `conversations`, a list of turns with `from` and `value`.

local dataset = require "ebb.import.dataset"
local fields = require "ebb.import.fields"
local many = require "ebb.import.many"
local refuse = require "ebb.support.refuse"
local turns = require "ebb.import.turns"

local sharegpt = { name = "sharegpt", title = "ShareGPT data set", kind = "jsonl", each_line = true }

local function is_row(value)
  local list = fields.list(value, "conversations") or fields.list(value, "conversation")
  return list ~= nil and dataset.is_turn(list[1])
end

function sharegpt.recognise(sample)
  if fields.is_list(sample.value) then return is_row(sample.value[1]) end
  return is_row(sample.value or sample.records and sample.records[1])
end

local function id_of(value) return fields.text(value, "id") end

local function read_one(entry)
  local value, report, line = entry.value, entry.report, entry.line
  local built, branches = turns.new(report), 1
  local list = fields.list(value, "conversations") or fields.list(value, "conversation")
  if not list then return refuse("shape", "expected conversations, a list of turns") end
  for i, turn in ipairs(list) do dataset.add(built, turn, ("conversations[%d]"):format(i - 1), line) end
  if dataset.has_answers(value) then branches = dataset.add_answer(built, entry, value) end
  if value.kto_tag ~= nil then report:add("tag", "kto_tag, left out", line) end
  local system = fields.text(value, "system")
  return {
    dialect = "openai", messages = built:finish(), system = system ~= "" and system or nil,
    tools = dataset.tools(value.tools, report, line), id = id_of(value), branches = branches,
  }
end

function sharegpt.read(source, options) return many.collect(source, options, read_one, id_of) end

return sharegpt
