--- Messages as text for people and models: a called tool is named before its
--- arguments, and a result after the tool that gave it.
--
--     user         Where is my order?
--     assistant    Let me look. get_order({"id":"W1"})
--     tool         get_order -> {"status":"shipped"}

local transcript = {}

--- The text of a message without the arguments of its calls. `message.text` has both.
---@param message ebb.Message
---@return string
function transcript.text(message)
  if #message.calls == 0 then return message.text end
  local texts = {}
  for _, part in ipairs(message.parts) do
    if part.kind == "text" then texts[#texts + 1] = part.text end
  end
  return table.concat(texts, "\n")
end

--- A call as `name(arguments)`.
---@param call ebb.Call
---@return string
function transcript.call(call)
  return ("%s(%s)"):format(call.name, call.arguments or "")
end

--- A message in one text: a window by its id, one without any text as its JSON.
---@param message ebb.Message
---@param separator? string     between the text and each call; default: a space
---@return string
function transcript.line(message, separator)
  if message.window then return message.window end
  if #message.calls == 0 then
    local text = message.text
    local name = message.call and message.call.name
    if name then return name .. " -> " .. text end
    return text ~= "" and text or message.json
  end
  local text = transcript.text(message)
  local pieces = { text ~= "" and text or nil }
  for _, call in ipairs(message.calls) do
    pieces[#pieces + 1] = transcript.call(call)
  end
  return table.concat(pieces, separator or " ")
end

return transcript
