--- What policies remember from one trim to the next.
--
-- Kept per conversation, batch and policy:
--
--     conversation (weak)  ->  batch 4  ->  stable_prefix  ->  { cut = 120 }
--
-- A trim starts from the nearest ancestor of the current batch that has any, so
-- that after a rollback a policy remembers what it knew there. Runs work on
-- copies: what a failed or a dry run wrote is gone with it.

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

--- The memories that hold at the current batch, by policy name; the caller's own.
---@param chat ebb.Conversation
---@return table<string, table>
function memory.recall(chat)
  local by_batch = kept[chat]
  if not by_batch then return {} end
  local parents = {}
  for _, batch in ipairs(chat:batches()) do
    parents[batch.index] = batch.parent
  end
  local index = chat:stats().current_batch_index
  while index and not by_batch[index] do
    index = parents[index]
  end
  return copy(index and by_batch[index] or {}, {})
end

--- Keeps `memories` with a batch.
---@param chat ebb.Conversation
---@param batch integer
---@param memories table<string, table>
---@return fun() undo       which needs no memory
function memory.keep(chat, batch, memories)
  if next(memories) == nil then return function() end end
  kept[chat] = kept[chat] or {}
  local by_batch, before = kept[chat], kept[chat][batch]
  local function undo() by_batch[batch] = before end
  by_batch[batch] = copy(memories, {})
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
  local before, adopted = kept[chat], copy(kept[fork], {})
  if adopted and from ~= to then adopted[from], adopted[to] = before and before[from], adopted[from] end
  local function undo() kept[chat] = before end
  kept[chat] = adopted
  return undo
end

--- A fork remembers what its original did.
---@param chat ebb.Conversation
---@param fork ebb.Conversation
function memory.inherit(chat, fork)
  kept[fork] = copy(kept[chat], {})
end

return memory
