--- Actions as tools: what a model with native calls may call, and what its calls mean.
--
--     window "todo", action "add"     tool "todo__add"
--     action "create" of the chat     tool "create"
--
-- A provider takes letters, digits, _ and - in a name, 64 bytes at most. Other bytes become _, a long name is cut, and
-- equal names are numbered, in the order of the windows: so the names are the same as long as the windows are.

local close_action = require "ebb.windows.close_action"
local parameters = require "ebb.windows.parameters"

local tools = {}

local NAME_BYTES = 64

--- A name that no tool of the list has yet.
local function fresh(word, taken)
  local name = word:gsub("[^%w_-]", "_"):sub(1, NAME_BYTES)
  local number = 1
  while taken[name] do
    number = number + 1
    local ending = "_" .. number
    name = word:gsub("[^%w_-]", "_"):sub(1, NAME_BYTES - #ending) .. ending
  end
  taken[name] = true
  return name
end

local function description_of(window, action)
  local words = {}
  for _, word in ipairs { window and window.description or false, action.label or false } do
    if word and word ~= "" then words[#words + 1] = word end
  end
  if window then words[#words + 1] = ("(window %s)"):format(window.id) end
  return words[1] and table.concat(words, ": "):gsub(": %(", " (") or nil
end

---@class ebb.ActionTool: ebb.RequestTool
---@field window? string
---@field action string

--- The actions that can be called now, as tools.
---@param chat ebb.Conversation
---@param own { id: string, label?: string, params?: string }[]   the conversation's
---@return ebb.ActionTool[]
function tools.list(chat, own)
  local list, taken = {}, {}
  local function add(word, window, action)
    local readable, declared = pcall(parameters.parse, action.params)   -- a saved declaration has not been checked
    if not readable then return end
    list[#list + 1] = { name = fresh(word, taken), description = description_of(window, action),
      parameters = parameters.json_schema(declared), window = window and window.id, action = action.id }
  end
  for _, action in ipairs(own) do add(action.id, nil, action) end
  for _, window in ipairs(chat.windows:list()) do
    if not window.closed then
      for _, action in ipairs(close_action.add(window.actions, window.closable)) do
        add(window.id .. "__" .. action.id, window, action)
      end
    end
  end
  return list
end

return tools
