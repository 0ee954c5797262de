--- A conversation at a glance: figures, and a line per message.
--
--     [✓] [0003] Assistant: On it.
--     [✓] [0004] Window: todo_12345
--     [X] [0005] Window: temp_67890

local core = require "ebb.support.core"

local listing = {}

local WIDTH = 50   -- characters of a content

--- The first characters in one line, with `...` after a shortened text.
local function cut(text)
  text = text:gsub("[\0-\31\127]+", " ")
  local length = utf8.len(text)
  if not length then return text:sub(1, WIDTH) end   -- not reached: texts of messages are valid
  if length <= WIDTH then return text end
  return text:sub(1, utf8.offset(text, WIDTH + 1) - 1) .. "..."
end

local function kind(message)
  if message.window then return "Window" end
  return (message.role:gsub("^%l", string.upper))
end

--- Returns the positions of obsolete items, as a set.
local function obsolete_of(list)
  local set = {}
  for _, item in ipairs(core.window.items(list)) do
    set[item.position] = item.obsolete or nil
  end
  return set
end

---@param list ebb.List
---@return string      a line per message, each with its newline
function listing.text(list)
  local lines, obsolete = {}, obsolete_of(list)
  for i = 1, #list do
    local message = list[i]
    lines[i] = ("[%s] [%04d] %s: %s\n"):format(obsolete[i] and "X" or "✓", message.seq, kind(message),
      cut(message.window or message.text))
  end
  return table.concat(lines)
end

---@param chat ebb.Conversation
---@return { total: integer, active: integer, obsolete: integer, windows: integer, estimated_tokens: integer }
function listing.stats(chat)
  local obsolete = 0
  for _, item in ipairs(core.window.items(chat)) do
    if item.obsolete then obsolete = obsolete + 1 end
  end
  return {
    total = #chat, active = #chat - obsolete, obsolete = obsolete, windows = core.window.count(chat),
    estimated_tokens = chat:tokens(),
  }
end

return listing
