--- Anthropic's batches of messages: requests with `params`, results with `result`.

local batch = require "ebb.import.data.batch"
local fields = require "ebb.import.fields"

local anthropic_batch = { name = "anthropic_batch", title = "Anthropic batch", kind = "jsonl", each_line = true }

local function is_result(record)
  return fields.text(fields.object(record, "result"), "type") ~= nil
end

function anthropic_batch.recognise(sample)
  local first = sample.records and sample.records[1]
  return fields.text(first, "custom_id") ~= nil and (fields.object(first, "params") ~= nil or is_result(first))
end

--- The answer as a request may hold it: role and content.
local function answer_of(record)
  local message = fields.object(record.result, "message")
  if message and fields.list(message, "content") then
    return { { role = "assistant", content = message.content } }, "messages"
  end
  return nil, fields.text(record.result, "type"):sub(1, 40)
end

function anthropic_batch.read(source, options)
  return batch.read(source, options, {
    request = "params", is_result = is_result, answer = answer_of, dialect = function() return "anthropic" end,
  })
end

return anthropic_batch
