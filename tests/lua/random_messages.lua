--- Messages of random conversations, by math.random: what tests write for every dialect.

local json = require("ebb.support.core").json

local random_messages = {}

local PIXEL = "iVBORw0KGgo="
local WORDS = { "a", "é\"\\\n", "日本", "{\"x\":1}", "word word", "z" }

local function word() return WORDS[math.random(#WORDS)] end

local function chance(n) return math.random(n) == 1 end

--- Messages of OpenAI's form: parallel calls, ids that others refuse, pictures, reasoning, late system messages.
function random_messages.openai(n)
  local messages, id = {}, 0
  if chance(2) then messages[1] = { role = "system", content = "S " .. word() } end
  for _ = 1, n do
    local picture = { type = "image_url", image_url = { url = "data:image/png;base64," .. PIXEL } }
    messages[#messages + 1] = { role = "user", name = chance(4) and "Ann" or nil,
      content = chance(3) and { { type = "text", text = "u " .. word() }, picture } or "u " .. word() }
    if chance(2) then
      local calls = {}
      for i = 1, math.random(3) do
        id = id + 1
        local key = chance(3) and "call " .. id or chance(5) and ("x"):rep(60) .. id
          or ("c%d_%d"):format(math.random(4), id)
        calls[i] = { id = key, type = "function",
          ["function"] = { name = "f" .. i, arguments = chance(6) and "no json" or '{"k":1}' } }
      end
      messages[#messages + 1] = { role = "assistant", content = chance(2) and "t " .. word() or json.null,
        reasoning_content = chance(3) and "hm" or nil, tool_calls = calls }
      for _, each in ipairs(calls) do
        messages[#messages + 1] = { role = "tool", tool_call_id = each.id, content = "r " .. word() }
      end
    end
    messages[#messages + 1] = { role = "assistant", content = "a " .. word() }
    if chance(8) then messages[#messages + 1] = { role = "system", content = "late " .. word() } end
  end
  messages[#messages + 1] = { role = "user", content = "last" }
  return messages
end

--- Makes random messages in Anthropic's form: thinking with and without signatures, failed results, results with
--- pictures.
function random_messages.anthropic(n)
  local messages, id = {}, 0
  for _ = 1, n do
    messages[#messages + 1] = { role = "user", content = "u " .. word() }
    local content, results = {}, {}
    if chance(3) then content[1] = { type = "thinking", thinking = "hm", signature = chance(2) and "sig" or nil } end
    content[#content + 1] = { type = "text", text = "t " .. word() }
    for _ = 1, math.random(0, 2) do
      id = id + 1
      content[#content + 1] = { type = "tool_use", id = "toolu_" .. id, name = "f", input = { k = id } }
      results[#results + 1] = { type = "tool_result", tool_use_id = "toolu_" .. id, is_error = chance(4) or nil,
        content = { { type = "text", text = "r " .. word() },
          { type = "image", source = { type = "base64", media_type = "image/png", data = PIXEL } } } }
      if results[#results].is_error then results[#results].content = "failed" end
    end
    messages[#messages + 1] = { role = "assistant", content = content }
    if #results > 0 then
      messages[#messages + 1] = { role = "user", content = results }
      messages[#messages + 1] = { role = "assistant", content = "a " .. word() }
    end
  end
  messages[#messages + 1] = { role = "user", content = "last" }
  return messages
end

return random_messages
