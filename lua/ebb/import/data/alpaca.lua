--- Alpaca's form of data sets, and its like: a row is an instruction with its output, or a prompt with its completion.
--
-- The user's text is the instruction, and the input in a line of its own; pairs of `history` come first. A row with
-- two answers, `chosen` and `rejected`, has two branches.

local dataset = require "ebb.import.dataset"
local fields = require "ebb.import.fields"
local many = require "ebb.import.many"
local refuse = require "ebb.support.refuse"
local turns = require "ebb.import.turns"

local alpaca = { name = "alpaca", title = "data set of instructions or prompts", kind = "jsonl", each_line = true }

local function is_row(value)
  if not fields.is_object(value) then return false end
  local has_prompt = type(value.prompt) == "string" or fields.is_list(value.prompt)
  return type(value.instruction) == "string" and (type(value.output) == "string" or dataset.has_answers(value))
    or has_prompt and (value.completion ~= nil or dataset.has_answers(value))
end

function alpaca.recognise(sample)
  if fields.is_list(sample.value) then return is_row(sample.value[1]) end
  return is_row(sample.value or sample.records and sample.records[1])
end

local function add_history(built, value)
  for i, pair in ipairs(fields.list(value, "history") or {}) do
    local question, answer = fields.text(pair, 1), fields.text(pair, 2)
    if not question or not answer then refuse("shape", ("history[%d]: expected two texts"):format(i - 1)) end
    built:add { role = "user", content = question }
    built:add { role = "assistant", content = answer }
  end
end

--- Adds a text of a role, or a list of turns.
local function add_texts(built, value, role, name, line)
  if type(value) == "string" then return built:add { role = role, content = value } end
  if not fields.is_list(value) then refuse("shape", name .. ": expected a text or a list of turns") end
  for i, turn in ipairs(value) do dataset.add(built, turn, ("%s[%d]"):format(name, i - 1), line) end
end

local function add_question(built, value, line)
  if type(value.instruction) ~= "string" then return add_texts(built, value.prompt, "user", "prompt", line) end
  local input = fields.text(value, "input") or ""
  local question = value.instruction .. (input ~= "" and value.instruction ~= "" and "\n" or "") .. input
  built:add { role = "user", content = question }
end

local function read_one(entry)
  local value, line = entry.value, entry.line
  if not is_row(value) then refuse("shape", "expected instruction and output, or prompt and completion") end
  local built, branches = turns.new(entry.report), 1
  add_history(built, value)
  add_question(built, value, line)
  if dataset.has_answers(value) then branches = dataset.add_answer(built, entry, value)
  else add_texts(built, value.output or value.completion, "assistant", "output", line) end
  local system = fields.text(value, "system")
  return {
    dialect = "openai", messages = built:finish(), system = system ~= "" and system or nil,
    tools = dataset.tools(value.tools, entry.report, line), id = fields.text(value, "id"), branches = branches,
  }
end

function alpaca.read(source, options)
  return many.collect(source, options, read_one, function(value) return fields.text(value, "id") end)
end

return alpaca
