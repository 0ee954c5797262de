--- Checks any text that ebb.import reads: it is refused with its place, or each of its conversations is
--- read, and can be written in every dialect.

local ebb = require "ebb"
local core = require "ebb.support.core"
local import = require "ebb.import"

local DIALECTS = { "openai", "responses", "anthropic", "gemini" }

--- A conversation is JSON in every dialect; what is too deep or too large is refused.
local function check_writing(chat)
  for _, dialect in ipairs(DIALECTS) do
    local ok, text, losses = pcall(chat.write, chat, dialect, { shape = "body" })
    if ok then
      assert(core.json.decode(text), "not JSON: " .. text)
      for _, loss in ipairs(losses) do assert(loss.code and loss.text) end
    else
      assert(core.is_error(text), text)
    end
  end
end

local function check_conversation(result)
  if not result.messages then return end
  local body = import.body(result)
  assert(type(core.json.decode(body)) == "table", body)
  local chat, problem = ebb.parse(body)
  assert(chat or core.is_error(problem))
  if chat then check_writing(chat) end
end

local function check_result(result)
  assert(result.dialect and result.branches >= 0)
  for _, entry in ipairs(result.report) do
    assert(type(entry.kind) == "string" and type(entry.message) == "string" and entry.count >= 1)
  end
  for _, each in ipairs(result.conversations or { result }) do check_conversation(each) end
end

--- Raises if a text is not read or refused as it should be. `options.path` is "f".
return function(text, options)
  local ok, result, problem = pcall(import.read, text, options)
  if not ok then
    assert(core.is_error(result), result)
  elseif result then
    check_result(result)
  else
    assert(core.is_error(problem) and problem.message:find("^f:"), tostring(problem))
    assert(#problem.message < 1000, "an error echoes too much")
  end
end
