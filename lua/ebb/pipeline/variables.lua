--- Macro variables that a conversation keeps.
--
--     user, agent  --defaults-->  run  <--recall--  conversation
--                                  \---- what macros changed, a new batch ---->
--
-- They are next to what policies remember. A change begins a batch, which shows the same messages: so a rollback to
-- the batch before brings back the values before, and forks, branches and files of dialect `ebb` know them. Only what
-- was changed is kept, each value in a list: an empty list is a variable that was removed, and hides the agent's.
-- Global variables are kept with the conversation, too: a program that shares them gives them by session.variables.

local core = require "ebb.support.core"
local memory = require "ebb.trim.memory"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"

local variables = {}

variables.BYTES_MAX = 256 * 1024      -- as JSON: the rest of 1 MiB is the policies'

local MEMORY = "pipeline:variables"   -- no policy has such a name: a colon ends it
local SCOPES = { "local", "global" }
local NAMES_SHOWN, NAME_SHOWN = 8, 40  -- in the description of a batch: the number of names, and the bytes of one

---@alias ebb.KeptVariables { ["local"]: table<string, any[]>, global: table<string, any[]> }

--- Returns the variables that the conversation keeps at its current batch.
---@param chat ebb.Conversation
---@return ebb.KeptVariables
local function recall(chat)
  local kept = memory.recall(chat)[MEMORY] or {}
  return { ["local"] = kept["local"] or {}, global = kept.global or {} }
end

--- Gives variables the values that the conversation keeps.
---@param chat ebb.Conversation
---@param values ebb.Variables    changed
function variables.recall(chat, values)
  local kept = recall(chat)
  for _, scope in ipairs(SCOPES) do
    for name, value in pairs(kept[scope]) do values[scope][name] = value[1] end
  end
end

---@param chat ebb.Conversation
---@return ebb.Variables
function variables.read(chat)
  local result = { ["local"] = {}, global = {} }
  variables.recall(chat, result)
  return result
end

local function equal(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  return core.json.encode(a) == core.json.encode(b)
end

--- Puts the changed variables of one scope into the kept ones.
local function take(kept, before, after, changed)
  for name in pairs(before) do
    if after[name] == nil then kept[name], changed[#changed + 1] = core.json.array {}, name end
  end
  for name, value in pairs(after) do
    if not equal(value, before[name]) then kept[name], changed[#changed + 1] = core.json.array { value }, name end
  end
end

--- "variables: mood, turn and 3 more". Names of odd characters, or long ones, are only counted.
local function describe(names)
  local shown = {}
  table.sort(names)
  for _, name in ipairs(names) do
    if #shown < NAMES_SHOWN and name:find "^[%w_.-]+$" and #name <= NAME_SHOWN then shown[#shown + 1] = name end
  end
  local more = #names - #shown
  if #shown == 0 then return ("variables: %d changed"):format(more) end
  local rest = more > 0 and (" and %d more"):format(more) or ""
  return ("variables: %s%s"):format(table.concat(shown, ", "), rest)
end

---@class ebb.VariablesChange
---@field memory table        what the batch remembers
---@field description string  of the batch

--- Returns the change that the conversation is to keep after a run; nil if the run changed nothing.
---@param chat ebb.Conversation
---@param before ebb.Variables    as the run found them; a copy
---@param after ebb.Variables
---@return ebb.VariablesChange? change
---@return ebb.Error? problem     they have no JSON form, or are too large
function variables.change(chat, before, after)
  local kept, changed = recall(chat), {}
  for _, scope in ipairs(SCOPES) do
    local ok, problem = pcall(take, kept[scope], before[scope], after[scope], changed)
    if not ok then return nil, core.is_error(problem) and problem or error(problem, 0) end
  end
  if not changed[1] then return nil end
  local ok, result = pcall(core.draft.remembered, kept)      -- the text, or an error
  if not ok and (not core.is_error(result) or result.code == "memory") then error(result, 0) end
  if not ok then return nil, core.error(result.code, (result.message:gsub("^remembered: ", ""))) end
  if #result > variables.BYTES_MAX then
    local text = ("they have %d bytes as JSON, %d are the most"):format(#result, variables.BYTES_MAX)
    return nil, core.error("limit", text)
  end
  return { memory = kept, description = describe(changed) }
end

--- Keeps a change in a new batch.
---@param chat ebb.Conversation
---@param change ebb.VariablesChange
---@return integer? batch
---@return ebb.Error? problem
function variables.keep(chat, change)
  local all = memory.recall(chat)
  all[MEMORY] = change.memory
  local text, message = memory.text(all)
  if not text then return nil, core.error("limit", message) end
  local draft = chat:draft { guards = false }
  return core.draft.commit(draft,
    { operation = "variables", description = change.description, memory = text, always = true })
end

--- The first value; raises where there is a problem in its place.
local function check(value, problem)
  if problem then refuse(problem.code, "the variables cannot be kept: " .. problem.message, problem.hint) end
  return value
end

--- Appends a message and keeps the variables that its macros changed: both or none.
---@param chat ebb.Conversation
---@param message table
---@param before ebb.Variables
---@param after ebb.Variables
---@return integer batch
function variables.append(chat, message, before, after)
  local change = check(variables.change(chat, before, after))
  if not change then return chat:append(message) end
  return core.transaction(chat, function(copy)
    check(variables.keep(copy, change))
    return copy:append(message)
  end)
end

local VALUES = { type = "table", expected = "a table of variables" }
local VARIABLES = { type = "object", expected = "a table {local, global}", noun = "scope",
  fields = { ["local"] = VALUES, global = VALUES } }

--- Makes these the conversation's variables: others are removed.
---@param chat ebb.Conversation
---@param values { local?: table, global?: table }
---@return integer batch
function variables.set(chat, values)
  schema.check(VARIABLES, values, "set_variables")
  local after = { ["local"] = values["local"] or {}, global = values.global or {} }
  for _, scope in ipairs(SCOPES) do
    for name in pairs(after[scope]) do
      if type(name) ~= "string" then refuse("argument", ("set_variables: %s: expected names"):format(scope)) end
    end
  end
  local change = check(variables.change(chat, variables.read(chat), after))
  return change and check(variables.keep(chat, change)) or chat:stats().current_batch_index
end

return variables
