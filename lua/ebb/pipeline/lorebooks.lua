--- Lorebooks of a pipeline: whose they are, and what their timers remember with the conversation.
--
--     agent, user profile, caller --take--> one lore, compiled once
--     conversation --recall--> state --run--> state --remember--> conversation
--
-- The state is with the current batch, next to what policies remember: a rollback brings back what held there,
-- and forks know it. A preview, and a run that fails, leave it as it was.

local core = require "ebb.support.core"
local lorebook = require "ebb.lorebook"
local memory = require "ebb.trim.memory"
local refuse = require "ebb.support.refuse"
local run_budget = require "ebb.pipeline.run_budget"
local schema = require "ebb.support.schema"

local lorebooks = {}

local MEMORY = "pipeline:lorebook"   -- no policy has such a name: a colon ends it

--- The schema of the option `lorebooks`.
---@type ebb.Schema
lorebooks.SPEC = { type = "list", items = { type = "table", expected = "a lorebook" } }

--- The books of the option, checked; raises.
local function of_caller(list, loading)
  local books, problem = run_budget.timed(loading, lorebook.read, list)
  if books then return books end
  refuse(problem.code or "argument", schema.message(problem, "pipeline: lorebooks"), problem.hint)
end

--- The lore of all books; nil without any. Takes those of the agent and of the user out of their fields, which each
--- run copies.
---@param list? table[]         of the caller
---@param agent table
---@param user? table
---@param loading ebb.Loading   how long the caller's are read
---@return ebb.Lore?
function lorebooks.take(list, agent, user, loading)
  local groups = {
    { scope = "agent", books = agent.lorebooks or {} }, { scope = "user", books = user and user.lorebooks or {} },
    { scope = "global", books = list and of_caller(list, loading) or {} },
  }
  agent.lorebooks = nil
  if user then user.lorebooks = nil end
  local ids, count = {}, 0
  for _, group in ipairs(groups) do
    for _, book in ipairs(group.books) do
      if ids[book.id] then book.id = ("%s (%s)"):format(book.id, group.scope) end   -- timers stay apart
      ids[book.id], count = true, count + #book.entries
    end
  end
  return count > 0 and lorebook.new(groups) or nil
end

--- The state of the timers at the current batch.
---@param chat ebb.Conversation
---@return table?
function lorebooks.recall(chat) return memory.recall(chat)[MEMORY] end

--- Keeps the state with the current batch.
---@param chat ebb.Conversation
---@param state table
---@return ebb.Error? problem
function lorebooks.remember(chat, state)
  local all = memory.recall(chat)
  if next(state) == nil and all[MEMORY] == nil then return nil end
  all[MEMORY] = state
  local text, message = memory.text(all)
  if not text then return core.error("limit", message) end
  local draft = chat:draft { guards = false }
  core.draft.commit(draft, { operation = "filter", description = "", memory = text })
end

return lorebooks
