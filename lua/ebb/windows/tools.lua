--- Actions as tools: what a model with native calls may call, and what its calls mean.
--
--     window "todo", action "add"     tool "todo__add"
--     window "笔记", action "add"     tool "wa5ca1b2e__add"      w, and a hash of the id
--     action "create" of the chat     tool "create"
--
-- A provider takes letters, digits, _ and - in a name, after a letter or _, 64 bytes at most. The name of a tool
-- depends on the ids of its window and action alone, so that it is the same in every request. Should two be equal
-- nevertheless, the later one gets a number; closed windows keep their names, so that the number stays, and is no
-- other window's.

local close_action = require "ebb.windows.close_action"
local core = require "ebb.support.core"
local parameters = require "ebb.windows.parameters"

local tools = {}

local NAME_BYTES = 64
local PART_BYTES = 30      -- of each half of a long name; two halves, the mark between them, and a number of one digit
local HASH_DIGITS = 8      -- hexadecimal

--- True if a name can contain the id as it is.
local function is_plain(id)
  return id:find "^[A-Za-z_][A-Za-z0-9_-]*$" ~= nil
end

--- True if the id of a window can; the name is cut at its first "__", so that "a__b" and "c" are not "a" and "b__c".
local function is_plain_window(id)
  return is_plain(id) and not id:find "__" and not id:find "_$"
end

--- A word for an id that a name cannot contain: what is ASCII of it, and a hash of all of it.
local function hash_id(id)
  local words = {}
  for word in id:gmatch "[A-Za-z0-9]+" do words[#words + 1] = word end
  local legible = table.concat(words, "_"):sub(1, PART_BYTES - HASH_DIGITS - 2)
  if not legible:find "^%a" then legible = "w" .. legible end
  return legible .. (legible ~= "w" and "_" or "") .. core.sha256(id):sub(1, HASH_DIGITS)
end

local function fit_id(id, is_fit, bytes)
  return is_fit(id) and #id <= bytes and id or hash_id(id)
end

--- The name of an action's tool, before it is compared with others.
local function compose_name(id, action)
  if not id then return fit_id(action, is_plain, NAME_BYTES) end
  for _, bytes in ipairs { NAME_BYTES, PART_BYTES } do
    local name = fit_id(id, is_plain_window, bytes) .. "__" .. fit_id(action, is_plain, bytes)
    if #name <= NAME_BYTES then return name end
  end
end

--- A name that no tool of the list has yet.
local function number_name(word, taken)
  local name, number = word, 1
  while taken[name] do
    number = number + 1
    local ending = "_" .. number
    name = word:sub(1, NAME_BYTES - #ending) .. ending
  end
  taken[name] = true
  return name
end

local function description_of(window, action, name)
  local words = {}
  local label = action.label
  if (label or "") == "" and not name:find(action.id, 1, true) then label = action.id end    -- the name has a hash
  for _, word in ipairs { window and window.description or false, label or false } do
    if word and word ~= "" then words[#words + 1] = word end
  end
  if window then words[#words + 1] = ("(window %s)"):format(window.id) end
  return words[1] and table.concat(words, ": "):gsub(": %(", " (") or nil
end

---@class ebb.ActionTool: ebb.RequestTool
---@field window? string
---@field action string
---@field closed? boolean       its window is closed: the tool cannot be called

--- The actions of a conversation and of all its windows, as tools.
---@param chat ebb.Conversation
---@param own { id: string, label?: string, params?: string }[]   the conversation's
---@return ebb.ActionTool[]
function tools.all(chat, own)
  local list, taken = {}, {}
  local function add(window, action)
    local readable, declared = pcall(parameters.parse, action.params)   -- a saved declaration has not been checked
    local name = number_name(compose_name(window and window.id, action.id), taken)
    if not readable then return end
    list[#list + 1] = { name = name, description = description_of(window, action, name),
      parameters = parameters.json_schema(declared), window = window and window.id, action = action.id,
      closed = window and window.closed or nil }
  end
  for _, action in ipairs(own) do add(nil, action) end
  for _, window in ipairs(chat.windows:list()) do
    for _, action in ipairs(close_action.add(window.actions, window.closable)) do add(window, action) end
  end
  return list
end

--- Tools whose name before names had hashes was this one: other bytes were _, and a name was cut.
---@param list ebb.ActionTool[]     of tools.all
---@param name string
---@return ebb.ActionTool?          nil if there is none, or if several had that name
function tools.find_older(list, name)
  local only_one
  for _, tool in ipairs(list) do
    local word = tool.window and tool.window .. "__" .. tool.action or tool.action
    if word:gsub("[^%w_-]", "_"):sub(1, NAME_BYTES) == name then
      if only_one then return nil end
      only_one = tool
    end
  end
  return only_one
end

return tools
