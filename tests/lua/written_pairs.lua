--- Pairs the calls of a request with their results, read plainly from its JSON as the provider does, by id and place.
--- For tests whose calls have the argument n = 1, 2 .. and whose results are plain texts.

local json = require("ebb.support.core").json

local read = {}

--- The text of a result, also of a response as JSON.
local function text_of(content)
  local text = type(content) == "table" and content[1].text or content
  return text:match '^{"output":"(.*)"}$' or text
end

--- Messages of calls, with the results that may answer them: {calls = {{n, key}}, results = {{key, text}}}.
function read.openai(list)
  local steps, step = {}, nil
  for _, message in ipairs(list) do
    if message.role == "tool" then
      step = step or { calls = {}, results = {} }
      table.insert(step.results, { message.tool_call_id, message.content })
      steps[#steps + (steps[#steps] == step and 0 or 1)] = step
    else
      step = nil
      if message.tool_calls then
        step = { calls = {}, results = {} }
        for _, call in ipairs(message.tool_calls) do
          table.insert(step.calls, { json.decode(call["function"].arguments).n, call.id })
        end
        steps[#steps + 1] = step
      end
    end
  end
  return steps
end

--- All calls and outputs are one step; a call_id that comes again has other outputs after it.
function read.responses(list)
  local steps, open = {}, {}
  for _, item in ipairs(list) do
    if item.type == "function_call" then
      open[item.call_id] = { calls = { { json.decode(item.arguments).n, item.call_id } }, results = {} }
      steps[#steps + 1] = open[item.call_id]
    elseif item.type == "function_call_output" then
      local step = open[item.call_id] or { calls = {}, results = {} }
      if not open[item.call_id] then steps[#steps + 1] = step end
      table.insert(step.results, { item.call_id, item.output })
    end
  end
  return steps
end

--- Consecutive messages of a role are one turn.
function read.anthropic(list)
  local steps, before, step = {}, nil, nil
  for _, message in ipairs(list) do
    if message.role == "assistant" and before ~= "assistant" then
      step = { calls = {}, results = {} }
      steps[#steps + 1] = step
    end
    before = message.role
    for _, part in ipairs(type(message.content) == "table" and message.content or {}) do
      if part.type == "tool_use" then table.insert(step.calls, { part.input.n, part.id }) end
      if part.type == "tool_result" then
        if not step then
          step = { calls = {}, results = {} }
          steps[1] = step
        end
        table.insert(step.results, { part.tool_use_id, part.content })
      end
    end
  end
  return steps
end

--- A content of calls and the one after it. What has no id is known by its name, and by the order.
function read.gemini(list)
  local steps, step = {}, nil
  for _, content in ipairs(list) do
    local calls, results = {}, {}
    for _, part in ipairs(content.parts) do
      local call, response = part.functionCall, part.functionResponse
      if call then table.insert(calls, { call.args.n, call.id or call.name }) end
      if response then
        local value = response.response
        table.insert(results, { response.id or response.name, value.output or value.content or value.error })
      end
    end
    if #results > 0 then
      if not step then
        step = { calls = {} }
        steps[#steps + 1] = step
      end
      step.results = results
    end
    step = nil
    if #calls > 0 then
      step = { calls = calls, results = {} }
      steps[#steps + 1] = step
    end
  end
  return steps
end

--- {results = text by the call's n, orphans = results of no call, unanswered = calls without one}
return function(text, dialect)
  local found = { results = {}, orphans = 0, unanswered = 0 }
  for _, step in ipairs(read[dialect](json.decode(text))) do
    for _, call in ipairs(step.calls) do
      local place
      for i, result in ipairs(step.results) do
        if result[1] == call[2] then
          place = i
          break
        end
      end
      if place then found.results[call[1]] = text_of(table.remove(step.results, place)[2])
      else found.unanswered = found.unanswered + 1 end
    end
    found.orphans = found.orphans + #step.results
  end
  return found
end
