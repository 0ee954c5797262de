--- Request bodies in lines of JSONL, or in a list: data sets for fine-tuning, recorded requests.
--
-- A body stays the bytes that it was. Only where providers would refuse what data sets of communities have, arguments
-- of a call as an object, it is rewritten. Rows of preferences (`input`, `preferred_output`) have two branches.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local many = require "ebb.import.many"
local refuse = require "ebb.support.refuse"
local tree = require "ebb.import.tree"

local bodies = { name = "bodies", title = "JSONL of request bodies", kind = "jsonl", each_line = true }

---- Dialects ----

local ANTHROPIC_BLOCKS = { tool_use = true, tool_result = true, thinking = true, redacted_thinking = true }

local function has_anthropic_blocks(messages)
  for _, message in ipairs(messages) do
    for _, block in ipairs(fields.list(message, "content") or {}) do
      if ANTHROPIC_BLOCKS[fields.text(block, "type") or ""] then return true end
    end
  end
  return false
end

--- The dialect of a body, and the name of its list of messages; nil for an object that is no body.
---@param body table
---@return "openai"|"anthropic"|"responses"|"gemini"|nil dialect
---@return string? list
function bodies.dialect(body)
  local messages = fields.list(body, "messages")
  if messages then
    local is_anthropic = body.system ~= nil or has_anthropic_blocks(messages)
    return is_anthropic and "anthropic" or "openai", "messages"
  elseif fields.list(body, "contents") then
    return "gemini", "contents"
  elseif fields.list(body, "input") or fields.text(body, "input") and body.encoding_format == nil then
    return "responses", "input"
  end
end

---- Mending ----

--- Writes arguments that are objects as JSON text; how many there were.
local function mend_arguments(messages)
  local mended = 0
  for _, message in ipairs(messages) do
    for _, call in ipairs(fields.list(message, "tool_calls") or {}) do
      local called = fields.object(call, "function")
      if called and type(called.arguments) ~= "string" then
        local is_absent = called.arguments == nil or called.arguments == core.json.null
        called.arguments = is_absent and "{}" or fields.json(called.arguments)
        mended = mended + 1
      end
    end
  end
  return mended
end

--- The system text of a body whose form keeps it apart; for reports, since the body has it.
local function system_of(body)
  local value = body.system or body.instructions or body.systemInstruction or body.system_instruction
  if type(value) == "string" then return value end
  return type(value) == "table" and fields.json(value) or nil
end

--- The answer of an importer for one body. Raises for an object that is no body.
---@param body table            decoded
---@param raw? string           its bytes; nil: it is rewritten
---@param entry { report: ebb.import.Report, line?: integer, dialect?: string }
---@return ebb.Import
function bodies.result(body, raw, entry)
  local dialect, list = bodies.dialect(body)
  if not dialect then refuse("shape", "expected a request body, with messages, input or contents") end
  dialect = entry.dialect or dialect
  local mended = dialect == "openai" and mend_arguments(body[list]) or 0
  if mended > 0 then
    entry.report:add("call with arguments as a value", "they became JSON text", entry.line, mended)
    raw = nil
  end
  local messages = body[list]
  if type(messages) == "string" then messages = { { role = "user", content = messages } } end
  return {
    dialect = dialect, messages = messages, body = raw or fields.json(body), tools = fields.list(body, "tools"),
    model = fields.text(body, "model"), system = system_of(body), branches = 1,
  }
end

---- Data sets ----

local function is_row(value)
  local messages = fields.list(value, "messages")
  if fields.object(value, "conv") then return false end   -- a chat of llama.cpp's page
  if messages then return fields.text(messages[1], "role") ~= nil end
  return fields.object(value, "input") ~= nil and fields.list(value, "preferred_output") ~= nil
    or fields.list(value, "contents") ~= nil
end

--- One object alone is a body, and needs no importer, unless it has two answers.
function bodies.recognise(sample)
  if fields.is_list(sample.value) then return is_row(sample.value[1]) end
  if sample.value ~= nil then return fields.list(sample.value, "preferred_output") ~= nil end
  return sample.records ~= nil and is_row(sample.records[1])
end

local ANSWERS = { { name = "preferred_output" }, { name = "non_preferred_output" } }

--- The body of a row of preferences: the input, and one of the answers.
local function preferred(entry)
  local name = entry.branch and tree.choose(ANSWERS, entry.branch).name or ANSWERS[1].name
  local body, answer = entry.value.input, fields.list(entry.value, name)
  local messages = fields.list(body, "messages")
  if not messages or not answer then refuse("shape", ("expected input.messages and %s, lists"):format(name)) end
  table.move(answer, 1, #answer, #messages + 1, messages)
  entry.report:add("other answer", "it is a branch of its own", entry.line)
  local result = bodies.result(body, nil, entry)
  result.branches = #ANSWERS
  return result
end

local function id_of(value) return fields.text(value, "id") end

local function read_one(entry)
  local result
  if fields.object(entry.value, "input") and entry.value.preferred_output ~= nil then result = preferred(entry)
  else result = bodies.result(entry.value, entry.raw, entry) end
  result.id = id_of(entry.value)
  return result
end

function bodies.read(source, options) return many.collect(source, options, read_one, id_of) end

return bodies
