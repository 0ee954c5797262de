--- OpenAI's batches: requests with `body`, results with `response`. The url of a request names its dialect.

local batch = require "ebb.import.data.batch"
local core = require "ebb.support.core"
local fields = require "ebb.import.fields"

local openai_batch = { name = "openai_batch", title = "OpenAI batch", kind = "jsonl", each_line = true }

--- A result has a response, or an error and null for the response.
local function is_result(record)
  return fields.object(record, "response") ~= nil
    or record.response == core.json.null and record.error ~= nil
end

function openai_batch.recognise(sample)
  local first = sample.records and sample.records[1]
  return fields.text(first, "custom_id") ~= nil and (fields.object(first, "body") ~= nil or is_result(first))
end

local DIALECTS = { { "/chat/completions$", "openai" }, { "/responses$", "responses" }, { "/messages$", "anthropic" } }

local function dialect_of(request)
  local url = fields.text(request, "url") or ""
  for _, row in ipairs(DIALECTS) do
    if url:find(row[1]) then return row[2] end
  end
end

--- Returns why a result has no answer: the status, and the code of the error.
local function failure_of(record)
  local response = fields.object(record, "response")
  local problem = fields.object(record, "error") or fields.object(fields.object(response, "body"), "error")
  local code = fields.text(problem, "code") or fields.text(problem, "type") or "without a code"
  return ("status %d, %s"):format(fields.integer(response, "status_code") or 0, code:sub(1, 40))
end

local function answer_of(record)
  local body = fields.object(fields.object(record, "response"), "body")
  local choice = fields.list(body, "choices") and body.choices[1]
  local message = fields.object(choice, "message")
  if message then return { message }, "messages" end
  local output = fields.list(body, "output")
  if output and output[1] then return output, "input" end
  return nil, failure_of(record)
end

function openai_batch.read(source, options)
  return batch.read(source, options,
    { request = "body", is_result = is_result, answer = answer_of, dialect = dialect_of })
end

return openai_batch
