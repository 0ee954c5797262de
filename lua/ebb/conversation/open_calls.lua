--- The calls at the end of a conversation that have no result yet.

--- Calls that a message makes, which `answered` lacks.
local function add_open(list, message, answered)
  local first, is_open = #list + 1, false
  for _, call in ipairs(message.calls) do
    local key = call.id or call.name
    if (answered[key] or 0) > 0 then
      answered[key] = answered[key] - 1
    else
      table.insert(list, first, call)
      first, is_open = first + 1, true
    end
  end
  return is_open
end

--- In the order in which they were made. Calls before the last message of a user are over.
---@param chat ebb.Conversation
---@return ebb.Call[]
return function(chat)
  local groups, answered = {}, {}
  for i = #chat, 1, -1 do
    local message = chat[i]
    for _, id in ipairs(message.role and message.answers or {}) do
      answered[id] = (answered[id] or 0) + 1
    end
    if message.role == "user" or message.role == "system" then break end
    if message.role and #message.calls > 0 then
      local group = {}
      if not add_open(group, message, answered) then break end   -- older ones have their results
      groups[#groups + 1] = group
    end
  end
  local list = {}
  for i = #groups, 1, -1 do
    table.move(groups[i], 1, #groups[i], #list + 1, list)
  end
  return list
end
