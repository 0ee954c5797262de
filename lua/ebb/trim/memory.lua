--- Keeps what policies remember from one trim to the next.
--
--     draft.memory of each policy   { keep = { cut = 120 }, other = {} }
--     with the batch, in the core   {"keep":{"cut":120}}
--
-- A batch has what its parent had, unless a trim that was committed there remembered
-- something else. So after a rollback a policy remembers what it knew there, forks
-- know what their original did, and what a failed or a dry run wrote is gone with it.
-- A policy that remembers nothing is not kept. A conversation keeps 16 MiB of it over all
-- batches: where that is full, the oldest batches forget theirs.
--
-- Out of a sandbox it comes as the text that is kept: bounded, and no table of a script's.

local core = require "ebb.support.core"

local memory = {}

local json = core.json

--- A table that is not marked as a list: a policy may put names into it, too.
local function unmarked(value)
  if getmetatable(value) ~= "json.array" then return value end
  return table.move(value, 1, #value, 1, {})
end

--- Parses a text of `memory.text` into tables by policy name, which belong to the caller.
---@param text string
---@return table<string, table>
function memory.tables(text)
  local result = text ~= "" and json.decode(text) or {}
  for name, value in pairs(result) do
    result[name] = unmarked(value)
  end
  return result
end

--- Returns the memories at the current batch by policy name. The tables belong to the caller.
---@param chat ebb.Conversation
---@return table<string, table>
function memory.recall(chat) return memory.tables(core.draft.recall(chat) or "") end

--- The policies that remember anything.
local function filled(memories)
  local result = {}
  for name, value in pairs(memories) do
    if next(value) ~= nil then result[name] = value end
  end
  return result
end

--- Returns the path of the first part of a value that has no JSON form, and why; "" stands for the value itself.
local function place_of(value, why)
  local keys = type(value) == "table" and why.code ~= "limit" and value or {}
  for key, item in pairs(keys) do
    local ok, problem = pcall(core.draft.remembered, item)
    if not ok and core.is_error(problem) then
      local rest, reason = place_of(item, problem)
      return ("%s%s"):format(type(key) == "string" and "." .. key or "[" .. tostring(key) .. "]", rest), reason
    end
  end
  return "", why
end

--- Returns the name of a policy for messages: one from a text is called "policy text" already.
local function owner(name) return name:find "^policy%f[^%w_]" and name or "policy " .. name end

local function complaint(memories, problem)
  for name, value in pairs(memories) do
    local ok, why = pcall(core.draft.remembered, value)
    if not ok and core.is_error(why) then
      local place, reason = place_of(value, why)
      return ("%s: draft.memory%s cannot be kept: %s"):format(owner(name), place,
        (reason.message:gsub("^remembered: ", "")))
    end
  end
  return ("draft.memory of all policies cannot be kept: %s"):format((problem.message:gsub("^remembered: ", "")))
end

--- Encodes memories for core.draft.commit; returns nil and a message if they cannot be kept.
---@param memories table<string, table>
---@return string? text
---@return string? message
function memory.text(memories)
  local filled_memories = filled(memories)
  if next(filled_memories) == nil then return "" end
  local ok, text = pcall(core.draft.remembered, filled_memories)
  if ok then return text end
  if not core.is_error(text) then error(text, 0) end   -- no memory, or a limit of the sandbox
  if text.code == "memory" then error(text, 0) end
  return nil, complaint(filled_memories, text)
end

return memory
