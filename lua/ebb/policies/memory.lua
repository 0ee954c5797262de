--- What policies remember from one trim to the next.
--
-- Kept per conversation, batch and policy:
--
--     conversation (weak)  ->  batch 4  ->  stable_prefix  ->  { cut = 120 }
--
-- A trim starts from the nearest ancestor of the current batch that has any, so
-- that after a rollback a policy remembers what it knew there. Runs work on
-- copies: what a failed or a dry run wrote is gone with it.
--
-- What is kept never changes: whoever adds to it makes another table of the
-- batches. So forks and their originals share one, and a fork costs nothing.

local core = require "ebb.support.core"

local memory = {}

local kept = setmetatable({}, { __mode = "k" })

--- A copy in depth; tables that stand twice in the original do so in the copy.
local function copy(value, seen)
  if type(value) ~= "table" then return value end
  if seen[value] then return seen[value] end
  local result = {}
  seen[value] = result
  for key, item in pairs(value) do
    result[copy(key, seen)] = copy(item, seen)
  end
  return result
end

--- The same batches in another table.
local function batches_of(by_batch)
  local result = {}
  for batch, memories in pairs(by_batch or {}) do
    result[batch] = memories
  end
  return result
end

--- The memories that hold at the current batch, by policy name; the caller's own.
---@param chat ebb.Conversation
---@return table<string, table>
function memory.recall(chat)
  local by_batch = kept[chat]
  local index = by_batch and core.ancestor(chat, by_batch)
  return copy(index and by_batch[index] or {}, {})
end

--- Keeps `memories` with a batch.
---@param chat ebb.Conversation
---@param batch integer
---@param memories table<string, table>
---@return fun() undo       which needs no memory
function memory.keep(chat, batch, memories)
  if next(memories) == nil then return function() end end
  local before, by_batch = kept[chat], batches_of(kept[chat])
  local function undo() kept[chat] = before end
  by_batch[batch] = copy(memories, {})
  kept[chat] = by_batch
  return undo
end

--- Everything kept for a chat, by batch and policy: to be read, not changed.
---@param chat ebb.Conversation
---@return table<integer, table<string, table>>
function memory.all(chat)
  return kept[chat] or {}
end

--- Puts that in place, for a chat that was read back.
---@param chat ebb.Conversation
---@param all table<integer, table<string, table>>
function memory.set_all(chat, all)
  kept[chat] = all
end

--- A chat remembers what its fork did since, and what the fork knew at its batch
--- `from` under the number `to`.
---@param chat ebb.Conversation
---@param fork ebb.Conversation
---@param from integer
---@param to integer
---@return fun() undo       which needs no memory
function memory.adopt(chat, fork, from, to)
  local before, adopted = kept[chat], kept[fork]
  if adopted and from ~= to then
    adopted = batches_of(adopted)
    adopted[from], adopted[to] = before and before[from], adopted[from]
  end
  local function undo() kept[chat] = before end
  kept[chat] = adopted
  return undo
end

--- A fork remembers what its original did.
---@param chat ebb.Conversation
---@param fork ebb.Conversation
function memory.inherit(chat, fork)
  kept[fork] = kept[chat]
end

return memory
