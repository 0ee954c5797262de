--- Rows of data sets: speakers by their many names, tools as JSON text, and rows with two answers.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local tree = require "ebb.import.tree"

local dataset = {}

--- The kind of message by the name that data sets give its speaker.
local SPEAKERS = {}
for kind, names in pairs {
  user = "human user prompter", system = "system developer",
  assistant = "gpt assistant chatgpt bing bard claude model bot chatbot ai",
  call = "function_call tool_call", result = "observation tool function function_response tool_response",
} do
  for name in names:gmatch "%S+" do SPEAKERS[name] = kind end
end

--- The text or parts of a turn.
local function content_of(turn)
  for _, name in ipairs { "value", "content", "text" } do
    local value = turn[name]
    if type(value) == "string" or fields.is_list(value) then return value end
  end
end

--- True for a turn of a data set: an object with a speaker.
function dataset.is_turn(value)
  return fields.text(value, "from") ~= nil or fields.text(value, "role") ~= nil
end

---- Calls ----

--- JSON text of arguments, byte for byte; a JSON string holds them as a text.
local function arguments_of(raw)
  if raw == nil then return "{}" end
  local text = fields.json(raw)
  return text:find '^"' and core.json.decode(text) or text
end

--- The calls of a JSON text: one object with name and arguments, or a list; nil for other texts.
---@param text string
---@return { name: string, arguments: string }[]?
function dataset.calls(text)
  local value = core.json.decode(text, { raw = { arguments = true, parameters = true } })
  local list = fields.is_list(value) and value or { value }
  local calls = {}
  for i, each in ipairs(list) do
    local name = fields.text(each, "name")
    if not name then return nil end
    calls[i] = { name = name, arguments = arguments_of(each.arguments or each.parameters) }
  end
  return calls[1] and calls
end

local function add_calls(built, text, line)
  local calls = type(text) == "string" and dataset.calls(text)
  if not calls then
    built.report:add("call that is not JSON", "it stays the text of the assistant", line)
    return built:add { role = "assistant", content = text }
  end
  for _, call in ipairs(calls) do
    call.line = line
    built:call(call)
  end
end

--- Adds a turn to the messages. Raises for an unknown speaker and for a turn without a text.
---@param built ebb.import.Turns
---@param turn any
---@param place string          "conversations[3]"
---@param line? integer
function dataset.add(built, turn, place, line)
  local speaker = fields.text(turn, "from") or fields.text(turn, "role")
  if not speaker then refuse("shape", place .. ": expected a turn with a speaker, in from or role") end
  local kind, content = SPEAKERS[speaker:lower()], content_of(turn)
  if not kind then
    refuse("role", ("%s: unknown speaker %s"):format(place, schema.describe(speaker)),
      "human, gpt, system, function_call, observation and their like are known")
  elseif not content then
    refuse("shape", place .. ": expected a text, in value or content")
  elseif kind == "call" then
    add_calls(built, content, line)
  elseif kind == "result" then
    built:result { id = fields.text(turn, "tool_call_id"), name = fields.text(turn, "name"), content = content,
      line = line }
  else
    built:add { role = kind, content = content }
  end
end

---- Tools ----

--- A tool in the form of Chat Completions.
local function tool_of(value)
  if fields.text(value, "type") == "function" and fields.object(value, "function") then return value end
  return { type = "function", ["function"] = value }
end

--- The tools of a row: a list, or JSON text of one; nil if there are none.
---@param value any
---@param report ebb.import.Report
---@param line? integer
---@return table[]?
function dataset.tools(value, report, line)
  if type(value) == "string" and value ~= "" then
    value = core.json.decode(value)
    if value == nil then report:add("tools that are not JSON", "left out", line) end
  end
  if fields.is_object(value) then value = core.json.array { value } end
  if not fields.is_list(value) or #value == 0 then return nil end
  local tools = core.json.array {}
  for i, tool in ipairs(value) do tools[i] = tool_of(tool) end
  return tools
end

---- Two answers ----

local ANSWERS = { { name = "chosen" }, { name = "rejected" } }

--- True for a row with two answers.
function dataset.has_answers(row)
  return row.chosen ~= nil and row.rejected ~= nil
end

--- Adds one of two answers, never both: the chosen one, or the one that the branch names.
---@param built ebb.import.Turns
---@param entry ebb.import.Entry
---@param answers { chosen: any, rejected: any }   a text, a turn, or a list of turns
---@return integer branches
function dataset.add_answer(built, entry, answers)
  local name = entry.branch and tree.choose(ANSWERS, entry.branch).name or "chosen"
  local answer = answers[name]
  entry.report:add("other answer", "it is a branch of its own", entry.line)
  if type(answer) == "string" then answer = { from = "gpt", value = answer } end
  if fields.is_object(answer) then answer = { answer } end
  if type(answer) ~= "table" then refuse("shape", name .. ": expected a text or a turn") end
  for i, turn in ipairs(answer) do dataset.add(built, turn, ("%s[%d]"):format(name, i - 1), entry.line) end
  return #ANSWERS
end

return dataset
