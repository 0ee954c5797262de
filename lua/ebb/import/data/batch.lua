--- Files of batches: requests with a `custom_id`, and their results, which come in any order.
--
-- Requests and results in one text (cat requests.jsonl results.jsonl) are joined by their ids: each request with its
-- answer is a conversation, in the order of the requests. Results alone are answers without what was asked.

local bodies = require "ebb.import.data.bodies"
local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local json_places = require "ebb.support.json_places"
local many = require "ebb.import.many"

local batch = {}

---@class ebb.import.BatchForm
---@field request string                                  the member that has the body of a request
---@field is_result fun(record: table): boolean
---@field answer fun(record: table): table[]?, string     messages of a result, or nil and why there are none; and the
---    name of the list that they belong to
---@field dialect? fun(request: table): string?           nil: by the shape of the body

---@class ebb.import.Job        A request, its result, or both
---@field id string
---@field line integer          of the request, else of the result
---@field request? table        the record
---@field raw? string           its bytes
---@field result? table

--- Takes a record into the job with its id.
local function add(jobs, id, part, record, line, raw, report)
  local job = jobs.by_id[id]
  if not job then
    job = { id = id, line = line }
    jobs.by_id[id], jobs[#jobs + 1] = job, job
  end
  if job[part] then report:add("repeated " .. part, "a later one has its custom_id", line) end
  job[part] = record
  if part == "request" then job.line, job.raw = line, raw end
end

--- The requests of a text in order, each with its result, then results without a request.
local function jobs_of(source, form)
  local jobs = { by_id = {} }
  for line, record, raw in source:records() do
    local id = fields.text(record, "custom_id")
    if id and fields.object(record, form.request) then
      add(jobs, id, "request", record, line, raw, source.report)
    elseif id and form.is_result(record) then
      add(jobs, id, "result", record, line, raw, source.report)
    else
      source.report:add("other line", "neither a request nor a result", line)
    end
  end
  return jobs
end

--- The bytes of a member of an object.
local function member(raw, name)
  local bytes
  for _, each in ipairs(json_places.members(raw)) do
    if each.key == name then bytes = raw:sub(each.first, each.past - 1) end
  end
  return bytes
end

--- Appends messages to the list of a body.
local function append(body, messages)
  local _, list = bodies.dialect(body)
  if not list then return end
  if type(body[list]) == "string" then
    body[list] = core.json.array { { role = "user", content = body[list] } }
  end
  table.move(messages, 1, #messages, #body[list] + 1, body[list])
end

--- Reads a text of requests, results or both.
---@param source ebb.import.Source
---@param options ebb.import.Options
---@param form ebb.import.BatchForm
---@return ebb.Import
function batch.read(source, options, form)
  local function read_one(entry)
    local job, answer, list = entry.value, nil, nil
    local body = job.request and job.request[form.request]
    if job.result then
      answer, list = form.answer(job.result)
      if not answer then (body and entry or source).report:add("request without answer", list, entry.line) end
    end
    if not body then
      if not answer then return nil end
      entry.report:add("answer without request", "its request is not in the file", entry.line)
      body = { [list] = core.json.array(answer) }
    elseif answer then
      append(body, answer)
    end
    entry.dialect = form.dialect and form.dialect(job.request or {})
    local result = bodies.result(body, not answer and job.raw and member(job.raw, form.request) or nil, entry)
    result.id = job.id
    return result
  end
  local jobs, number = jobs_of(source, form), 0
  return many.collect(source, options, read_one, function(job) return job.id end, function()
    number = number + 1
    local job = jobs[number]
    if job then return number, job, nil, job.line end
  end)
end

return batch
