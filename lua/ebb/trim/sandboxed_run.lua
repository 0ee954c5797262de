--- Policies and filters within their sandbox: what trim.lua and filter.lua ask of the
--- library next to the script (sandbox/entry.lua). The draft is the program's, lent
--- for the call.

require "ebb.trim.draft_methods"

local memory = require "ebb.trim.memory"
local traceback = require "ebb.support.traceback"
local core = require "ebb.support.core"
local tables = require "ebb.support.tables"

local sandboxed_run = {}

--- Returns a table of memories by policy name, which calls `recall` when a name is first read.
local function memories_of(recall)
  return setmetatable({}, { __index = function(_, name) return recall(name) end })
end

---@param trim function        the policy's
---@param draft ebb.Draft
---@param name string
---@param budget integer
---@param options table
---@param host { model?: function, answered: function, recall: function, rules: function }
---@param declared? string[]  names of its options; nil: it may read any
---@return boolean ok
---@return string memories   as `memory.text` writes them; or why there are none
---@return string[]|string? names   of the policies that ran; or the error's code
function sandboxed_run.trim(trim, draft, name, budget, options, host, declared)
  local run = require "ebb.trim.run"
  local record = run.open {
    draft = draft, budget = budget, memories = memories_of(host.recall), model = host.model, answered = host.answered,
    rules = host.rules,
  }
  local step = { policy = { name = name, trim = trim }, options = options, declared = declared }
  local ok, message, code = traceback.call(trim, run.step, record, step)
  run.close(record)
  if not ok then return false, message, code end
  local text, complaint = memory.text(record.memories)
  if not text then return false, complaint, "policy" end
  return true, text, tables.keys(record.memories)
end

--- Type name of an invalid filter result, nil if it is valid.
local function wrong_kind(answer)
  local kind = type(answer)
  if kind == "table" or kind == "boolean" or kind == "nil" or core.type(answer) == "Message" then return nil end
  return kind
end

--- Asks a filter about the messages `first` to `last` of a draft.
---@param filter function      the file's
---@param draft ebb.Draft
---@param options table
---@param first integer
---@param last integer
---@return boolean ok
---@return table<integer, any>|string answers    by position; or why there are none
---@return integer? at         where it failed or gave no answer
---@return string? message     how it failed
---@return string? kind        what it answered instead
function sandboxed_run.filter(filter, draft, options, first, last)
  local answers, at, kind = {}, first, nil
  local ok, message, code = traceback.call(filter, function()
    for i = first, last do
      at = i
      local answer = filter(draft[i], options)
      kind = wrong_kind(answer)
      if kind then return end
      answers[i] = answer
    end
  end)
  if ok and not kind then return true, answers end
  if code == "memory" then return false, message, code end   -- whose limit it was, the sandbox says
  return true, answers, at, not ok and message or nil, kind
end

return sandboxed_run
