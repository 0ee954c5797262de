--- Writes files for the specs of importers: records as tables, results as one line per message.

local assert = require "luassert"
local helper = dofile "tests/lua/helper.lua"
local import = require "ebb.import"

local kit = { import = import, json = helper.ebb.json }

--- JSONL of records (tables) and of lines that are written as they are (strings).
function kit.jsonl(records)
  local lines = {}
  for i, record in ipairs(records) do
    lines[i] = type(record) == "string" and record or kit.json.encode(record)
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Reads, and expects success, a body that parses and a name that recognition gives.
function kit.read(name, text, options)
  local result, problem = import.read(text, options)
  assert(result, tostring(problem))
  assert.equal(name, result.name)
  assert.equal(#result.messages, #(result.lines or result.messages))
  return result
end

local function decoded(message)
  return kit.json.decode(type(message) == "string" and message or kit.json.encode(message))
end

--- The messages as words: "u:text", "a:text+name(id)", "r(id):text".
local WORDS = {
  text = function(block) return block.text end,
  thinking = function(block) return "<" .. block.thinking .. ">" end,
  tool_use = function(block) return ("%s(%s)"):format(block.name, block.id) end,
  tool_result = function(block)
    local content = block.content
    return ("r(%s):%s%s"):format(block.tool_use_id, block.is_error == true and "!" or "", type(content) == "table"
      and content[1].text or content)
  end,
}

--- Anthropic's messages, a word each: role's first letter, and the blocks joined by "+".
function kit.anthropic(result)
  local words = {}
  for i, message in ipairs(result.messages) do
    message = decoded(message)
    local blocks = message.content
    if type(blocks) == "table" then
      local pieces = {}
      for n, block in ipairs(blocks) do pieces[n] = WORDS[block.type] and WORDS[block.type](block) or block.type end
      blocks = table.concat(pieces, "+")
    end
    words[i] = message.role:sub(1, 1) .. ":" .. blocks
  end
  return table.concat(words, " | ")
end

--- Messages of Chat Completions as words: "u:text", "a:text+name(id){arguments}", "t(id):text", "a:<reasoning>text".
function kit.openai(result)
  local words = {}
  for i, message in ipairs(result.messages) do
    message = kit.json.decode(type(message) == "string" and message or kit.json.encode(message))
    local pieces = {}
    for _, part in ipairs(type(message.content) == "table" and message.content or {}) do
      pieces[#pieces + 1] = part.text or part.type
    end
    if type(message.content) == "string" then pieces[1] = message.content end
    for _, call in ipairs(message.tool_calls or {}) do
      pieces[#pieces + 1] = ("%s(%s)%s"):format(call["function"].name, call.id, call["function"].arguments)
    end
    local call = message.tool_call_id and ("(%s)"):format(message.tool_call_id) or ""
    local reasoning = message.reasoning_content and ("<%s>"):format(message.reasoning_content) or ""
    words[i] = ("%s%s:%s%s"):format(message.role:sub(1, 1), call, reasoning, table.concat(pieces, "+"))
  end
  return table.concat(words, " | ")
end

--- Items of Responses as words: "u:text", "f(id)", "r(id):output", or the type.
function kit.responses(result)
  local words = {}
  for i, item in ipairs(result.messages) do
    item = decoded(item)
    if item.type == "function_call" then words[i] = ("%s(%s)"):format(item.name, item.call_id)
    elseif item.type == "function_call_output" then words[i] = ("r(%s):%s"):format(item.call_id, item.output)
    elseif item.role then
      words[i] = ("%s:%s"):format(item.role:sub(1, 1), type(item.content) == "string" and item.content
        or item.content[1].text)
    else words[i] = item.type end
  end
  return table.concat(words, " | ")
end

--- Gemini's contents as words: "u:text+r(name)", "m:text+f(name)".
function kit.gemini(result)
  local words = {}
  for i, content in ipairs(result.messages) do
    content = decoded(content)
    local pieces = {}
    for n, part in ipairs(content.parts) do
      local call, answer = part.functionCall, part.functionResponse
      pieces[n] = part.text or call and ("%s(%s)"):format(call.name, call.id)
        or answer and ("r(%s):%s"):format(answer.id, answer.response.output or "!" .. tostring(answer.response.error))
        or next(part)
    end
    words[i] = content.role:sub(1, 1) .. ":" .. table.concat(pieces, "+")
  end
  return table.concat(words, " | ")
end

--- The report as words: "2 other line: summary".
function kit.report(result)
  local words = {}
  for i, entry in ipairs(result.report) do words[i] = ("%d %s: %s"):format(entry.count, entry.kind, entry.message) end
  return words
end

--- Returns the number that the report counts of a kind.
function kit.count(result, kind)
  local count = 0
  for _, entry in ipairs(result.report) do
    if entry.kind == kind then count = count + entry.count end
  end
  return count
end

--- The message of a refusal.
function kit.refusal(text, options)
  local result, problem = import.read(text, options)
  assert.is_nil(result)
  return tostring(problem), problem
end

return kit
