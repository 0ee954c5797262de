--- Keeps the steps of commands in a session, so that each can be taken back, an append too.
--
-- A state of a session is a batch and how many messages it had (chat:rollback). A step has the state before it and the
-- one that it led to. To undo it is a step, too: nothing is lost, and the states that were left stay in the log.
--
--     1 append   0:2 -> 0:3
--     2 trim     0:3 -> 1:2
--     3 undo     1:2 -> 0:3     of 2
--     4 undo     0:3 -> 2:2     of 1; batch 0 has grown since it had 2, so that state is a new batch

local core = require "ebb.support.core"
local saved_options = require "ebb.conversation.saved_options"

local steps = {}

local KEPT = 200      -- the newest; they are written with each commit

---@class ebb.SessionStep
---@field by string           the command
---@field at integer          ms since 1970
---@field before integer[]    batch and messages
---@field after integer[]
---@field undoes? integer     of an undo: the number of its step
---@field number integer      from 1 on

--- The present state.
---@param chat ebb.Conversation
---@return integer[]
function steps.state(chat)
  local stats = chat:stats()
  return { stats.current_batch_index, stats.current_batch_messages }
end

local function equal(a, b) return a[1] == b[1] and a[2] == b[2] end

---@param chat ebb.Conversation
---@return ebb.SessionStep[]
function steps.list(chat) return saved_options.steps(chat) end

local function add(chat, step)
  local list = steps.list(chat)
  step.number, step.at = (list[#list] and list[#list].number or 0) + 1, core.now()
  list[#list + 1] = step
  while #list > KEPT do table.remove(list, 1) end
  saved_options.keep_steps(chat, list)
  return step
end

--- Notes what a command did since a state; nothing, where the list is what it was.
---@param chat ebb.Conversation
---@param before integer[]
---@param by string
---@param undoes? integer
---@return ebb.SessionStep? step
function steps.note(chat, before, by, undoes)
  local after = steps.state(chat)
  if equal(before, after) then return nil end
  return add(chat, { by = by, before = before, after = after, undoes = undoes })
end

--- Extends the last step of a command, which committed before, by what it did since.
---@param chat ebb.Conversation
---@param number integer
function steps.extend(chat, number)
  local list = steps.list(chat)
  for i, step in ipairs(list) do
    if step.number == number then
      local longer = {}
      for key, value in pairs(step) do longer[key] = value end
      longer.after = steps.state(chat)
      list[i] = longer
    end
  end
  saved_options.keep_steps(chat, list)
end

--- The newest step that is not undone; an undo is none. What a program did without a command is a step as well: from
--- the state that the last command led to.
---@param chat ebb.Conversation
---@return integer[]? before     the state that an undo leads to
---@return ebb.SessionStep? step   nil: of no command
function steps.last(chat)
  local list, undone = steps.list(chat), {}
  local newest = list[#list]
  if newest and not equal(newest.after, steps.state(chat)) then return newest.after end
  for i = #list, 1, -1 do
    local step = list[i]
    if step.undoes then undone[step.undoes] = true
    elseif not undone[step.number] then return step.before, step end
  end
end

return steps
