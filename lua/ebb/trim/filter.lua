--- chat:filter with a function: it sees message after message and says what becomes of each.
--
--     nil, true     keeps it
--     false         drops it
--     a table       takes its place
--     a list        several take its place; the message itself may be among them
--
-- Units stay whole: a dropped message takes its unit along, as in a draft, and a
-- message of a larger unit can be replaced by one message only, its role, ids
-- and calls as they were. A filter with `exact = true` drops just what it says,
-- and may tear units. Guards do not hold: a filter is the caller's own will.
--
-- All answers are collected before the first edit, so a filter always looks at
-- the list as it was; one that fails changes nothing. One filter, one batch. Drops and
-- replacements only mark messages, and all that is added is one edit:
--
--     list      1  2  3  4        2 becomes a, b    3 drops   c follows 4
--     drops     1        4        a, b at place 2, c at place 3
--     becomes   1  a  b  4  c

local call = require "ebb.trim.call"
local schema = require "ebb.support.schema"
local traceback = require "ebb.support.traceback"
local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local loader = require "ebb.sandbox.loader"
local script_file = require "ebb.sandbox.script_file"
local trim_options = require "ebb.trim.options"

local filter = {}

--- Messages that one filter in a sandbox may add; their bytes are bounded by its memory.
filter.ADDED_MAX = 100000

loader.provide "trim"

local json = core.json

local FILTER = {
  type = "object", expected = "a filter (a function, or a table that has one)",
  hint = "return function(message, options) ... end; lists of nodes are for ebb run", fields = {
    name = { type = "string" }, summary = { type = "any" }, options = { type = "any" }, exact = { type = "any" },
    check = { type = "function" },
    filter = {
      type = "function", required = true, expected = "a function", hint = "filter = function(message, options) ... end",
    },
  },
}

---- What a caller passes ----

local function check_table(value, where)
  schema.check(FILTER, value, where, { code = "shape" })
  schema.declare(value.options, where)
  return value
end

local KIND = {
  noun = "filter", verb = "filter", hint = "return function(message, options) ... end",
}

local function made_of(value, name)
  check_table(value, name)
  return { name = value.name or name, options = value.options, check = value.check, exact = value.exact,
    filter = value.filter }
end

local function from_file(path, loading, folder)
  local value, name = loader.read(path, KIND, loading, folder)
  return made_of(check_table(value, path), name)
end

local function from_source(text, loading)
  return made_of(loader.read_source(text, KIND, loading))
end

--- A file, the text of one, or a name in the filter path.
local function from_word(word, loading)
  if script_file.is_source(word) then return from_source(word, loading) end
  script_file.refuse_without_return(word, "filter")
  local path = not script_file.is_path(word) and loader.find(word, "filters")
  if path then return from_file(path, loading) end
  return from_file(word, loading, loading and loading.folder)   -- a plain name is still a file of the working directory
end

--- A filter to run, or nil if the value is a table of conditions.
---@param value any
---@param loading? ebb.Loading    how files and texts are run
---@return ebb.FilterFile?
function filter.find(value, loading)
  if type(value) == "function" then return { name = "function", filter = value } end
  if type(value) == "string" then return from_word(value, loading) end
  if type(value) ~= "table" then return nil end
  if value.source ~= nil then return from_source(script_file.source_in(value, KIND), loading) end
  if value.filter ~= nil then
    return made_of(check_table(value, "filter " .. tostring(value.name or "?")), "filter")
  end
end

---- Asking ----

--- Returns the name of a filter for errors: a text has no name.
---@param definition ebb.FilterFile
---@return string
function filter.owner(definition)
  local name = definition.name
  return name:find "^filter%f[^%w_]" and name or "filter " .. name
end

local function complain(definition, index, text, hint)
  return refuse("filter", ("%s, message %d: %s"):format(filter.owner(definition), index, text), hint)
end

local ANSWERS = "true or nil keeps, false drops, a table replaces, a list puts several in its place"

--- Normalizes a filter's answer to nil (keep), false (drop) or a list of replacements. Raises on other types.
local function verdict(definition, message, answer)
  if answer == nil or answer == true then return nil end
  if answer == false then return false end
  if core.type(answer) == "Message" then answer = { answer } end
  if type(answer) ~= "table" then
    return complain(definition, message.index, ("it returned a %s"):format(type(answer)), ANSWERS)
  end
  if answer[1] == nil and next(answer) ~= nil then return { answer } end
  return #answer == 0 and false or answer
end

--- Asks a filter in a sandbox, a batch of messages at a time: it holds their answers
--- until they have crossed.
local CHUNK = 4096

local function ask_sandboxed(definition, draft, values, limits)
  local answers, added = {}, 0
  loader.begin(definition.filter, limits, #draft)
  for first = 1, #draft, CHUNK do
    local some, at, message, kind = loader.use(definition.filter, "ebb.trim.sandboxed_run", "filter", draft, values,
      first, math.min(first + CHUNK - 1, #draft))
    if message then complain(definition, at, message) end
    if kind then complain(definition, at, ("it returned a %s"):format(kind), ANSWERS) end
    for i, answer in pairs(some) do
      answers[i] = verdict(definition, draft[i], answer)
      added = added + (answers[i] and #answers[i] - 1 or 0)
      if added > filter.ADDED_MAX then
        complain(definition, i, ("a filter adds at most %d messages"):format(filter.ADDED_MAX))
      end
    end
  end
  return answers
end

--- The answers by position; positions that are kept are left out.
local function ask(definition, draft, values, limits)
  if loader.holds(definition.filter) then
    local ok, answers = traceback.call(definition.filter, ask_sandboxed, definition, draft, values, limits)
    if ok then return answers end
    if answers:find "^filter%f[^%w_]" then refuse("filter", answers) end
    return refuse("filter", ("%s: %s"):format(filter.owner(definition), answers))
  end
  local answers = {}
  for i, message in ipairs(draft) do
    local ok, answer = traceback.call(definition.filter, definition.filter, message, values)
    if not ok then complain(definition, i, answer) end
    answers[i] = verdict(definition, message, answer)
  end
  return answers
end

---- Doing ----

--- Makes an edit of the draft; whatever refuses it, the filter and the message are named.
--- Edits the draft. A failure is reported as the filter's, unless memory ran out.
local function attempt(definition, index, edit, draft, ...)
  local ok, result, why = pcall(edit, draft, ...)
  if not ok and core.is_error(result) and result.code == "memory" then error(result, 0) end
  if not ok then complain(definition, index, core.is_error(result) and result.message or tostring(result)) end
  if result == false then complain(definition, index, tostring(why)) end
end

--- Fields that identify a part of a unit.
local FIXED = { "role", "id", "tool_call_id" }

--- Raises if an answer cannot become a message. The error names the filter's answer, not the edit that would fail.
local function check_answer(definition, index, answer)
  if core.type(answer) ~= "Message" and answer.role == nil and answer.window == nil then
    complain(definition, index, "the table lacks role",
      "message:totable() gives all fields, to be changed and returned")
  end
end

local function check_fixed(definition, index, answer, fields)
  for _, name in ipairs(FIXED) do
    if answer[name] == nil and fields[name] ~= nil then
      complain(definition, index, "the table lacks " .. name,
        "message:totable() gives all fields, to be changed and returned")
    elseif fields[name] ~= nil then
      complain(definition, index, ("it belongs to a call and its results: its %s stays"):format(name))
    end
  end
end

--- The fields of `answer` that differ from the message's own, and whether it
--- leaves fields out: null removes those.
local function changes(message, answer)
  local present, fields, leaves_out = message:totable(), {}, false
  for key, value in pairs(answer) do
    if present[key] == nil or json.encode(value) ~= json.encode(present[key]) then fields[key] = value end
  end
  for key in pairs(present) do
    if answer[key] == nil then
      fields[key], leaves_out = json.null, true
    end
  end
  return fields, leaves_out
end

---@class ebb.filter.Edits      What becomes of a draft; places are those that the list had at first
---@field messages ebb.Message[]
---@field gone table<integer, true>
---@field before table<integer, any[]>   messages to add before a place
---@field after table<integer, any[]>    and after it
---@field place_of table<integer, integer>   of the seqs, made on first use

local function place_of(edits, message)
  if not edits.place_of then
    edits.place_of = {}
    for place, each in ipairs(edits.messages) do
      edits.place_of[each.seq] = place
    end
  end
  return edits.place_of[message.seq]
end

--- Drops a whole unit: an unguarded draft drops single messages, so all of the unit's are named.
local function drop(definition, draft, edits, index, message)
  local unit = not definition.exact and message.unit
  if unit and unit.count > 1 then
    for _, each in ipairs(unit.messages) do
      edits.gone[place_of(edits, each)] = true
    end
  end
  edits.gone[index] = true
  attempt(definition, index, draft.drop, draft, unit or message, "filter")
end

local function add(lists, place, item)
  if core.type(item) == "Message" then item = json.raw(item.json) end
  local list = lists[place] or {}
  lists[place] = list
  list[#list + 1] = item
end

--- Puts the messages of `list` around the place of `message`, which is dropped unless it is among them.
local function spread(definition, draft, edits, index, message, list)
  local side, stays = edits.before, false
  for _, item in ipairs(list) do
    if not stays and core.type(item) == "Message" and item.seq == message.seq then
      side, stays = edits.after, true
    else
      add(side, index, item)
    end
  end
  if not stays then drop(definition, draft, edits, index, message) end
end

--- Replaces results that stay while their caller's calls change by copies, which find the new caller.
local function relink(definition, draft, edits, index, results)
  for _, result in ipairs(results) do
    local place = place_of(edits, result)
    if not edits.gone[place] then
      add(edits.before, place, result)
      edits.gone[place] = true
      attempt(definition, index, draft.drop, draft, result, "filter")
    end
  end
end

--- One message for another: its place, links and marks stay as they are if they can.
local function replace(definition, draft, edits, index, message, answer, alone)
  local fields, leaves_out = changes(message, answer)
  if next(fields) == nil then return end
  local anew = leaves_out or fields.role or fields.id or fields.tool_calls
  if alone and (anew or #message.calls > 0 and fields.content) then
    local results = table.move(message.unit.messages, 2, message.unit.count, 1, {})
    spread(definition, draft, edits, index, message, { answer })
    return relink(definition, draft, edits, index, results)
  end
  check_fixed(definition, index, answer, fields)
  attempt(definition, index, draft.replace, draft, message, fields, "filter")
end

local function apply_list(definition, draft, edits, index, message, list)
  for _, answer in ipairs(list) do
    check_answer(definition, index, answer)
  end
  local alone = definition.exact or message.unit.count == 1
  if #list == 1 and core.type(list[1]) ~= "Message" then
    return replace(definition, draft, edits, index, message, list[1], alone)
  end
  if not alone then
    local hint = "a call and its results stay together: replace one by one, or drop the unit"
    return complain(definition, index, "several messages cannot take the place of a part of a unit", hint)
  end
  return spread(definition, draft, edits, index, message, list)
end

local function apply_answer(definition, draft, edits, index, answer)
  local message = edits.messages[index]
  if edits.gone[index] then return end   -- it was dropped with its unit
  if answer == false then return drop(definition, draft, edits, index, message) end
  if answer then apply_list(definition, draft, edits, index, message, answer) end
end

--- Returns the messages to add, their positions once the drops are done, and the indexes of the messages that the
--- filter answered them for.
local function additions(edits)
  local items, places, origins, place = {}, {}, {}, 1
  local function take(list, index)
    for _, item in ipairs(list or {}) do
      items[#items + 1], places[#places + 1], origins[#origins + 1] = item, place, index
    end
  end
  for index = 1, #edits.messages do
    take(edits.before[index], index)
    if not edits.gone[index] then place = place + 1 end
    take(edits.after[index], index)
  end
  return items, places, origins
end

--- Names the first message before `last` whose answer cannot be added.
local function blame(definition, draft, items, origins, last)
  for i, item in ipairs(items) do
    if origins[i] >= last then return end
    local ok = pcall(draft.cost, draft, item)
    if not ok then attempt(definition, origins[i], draft.insert, draft, 1, item, "filter") end
  end
end

--- Codes of errors for values without a JSON form.
local NOT_WRITABLE = { encoding = true, argument = true, limit = true }

--- Edits from the newest to the oldest, so that a caller comes after its results. Of several
--- answers that are refused the first message's is raised.
local function edit(definition, draft, answers, bytes_max)
  local edits = { messages = {}, gone = {}, before = {}, after = {} }
  local refusal, refused = nil, math.huge
  for i, message in ipairs(draft) do
    edits.messages[i] = message
  end
  for i = #edits.messages, 1, -1 do
    local ok, problem = pcall(apply_answer, definition, draft, edits, i, answers[i])
    if not ok and core.is_error(problem) and NOT_WRITABLE[problem.code] then
      ok, problem = pcall(complain, definition, i, (problem.message:gsub("^json%.encode: ", "")))
    end
    if not ok and not (core.is_error(problem) and problem.code == "filter") then error(problem, 0) end
    if not ok then refusal, refused = problem, i end
  end
  local items, places, origins = additions(edits)
  local ok, problem = not refusal, refusal
  if ok and items[1] then ok, problem = pcall(core.draft.insert_all, draft, places, items, "filter", bytes_max) end
  if ok then return end
  if core.is_error(problem) and problem.code == "limit" then
    refuse("limit", ("%s: %s"):format(filter.owner(definition), problem.message),
      "limits = { memory = ... } allows more, --memory on the command line")
  end
  if not core.is_error(problem) or problem.code ~= "memory" then blame(definition, draft, items, origins, refused) end
  error(problem, 0)
end

---- One filter ----

---@param chat ebb.Conversation
---@param definition ebb.FilterFile
---@param options? table
---@param limits? ebb.Limits
---@param description? string     of the batch; default: the filter's name
---@return integer batch
local function run_one(chat, definition, options, limits, description)
  local values = schema.options_of(definition, options, filter.owner(definition), "filter")
  local draft = chat:draft { guards = false }
  local ok, result = pcall(function()
    core.draft.by(draft, definition.name)
    local bytes_max = loader.holds(definition.filter) and loader.limit(limits, "memory", #draft) or nil
    edit(definition, draft, ask(definition, draft, values, limits), bytes_max)
    return core.draft.commit(draft, { operation = "filter", description = description or filter.owner(definition) })
  end)
  if ok then return result end
  core.draft.discard(draft)
  error(result, 0)
end

local CALL = trim_options.with({ "limits", "trusted" }, {
  filter = { type = "any", shared = true }, options = { type = "table" },
  description = { type = "string", max = 4096 },
})

--- True if the argument is the call's own table, with the filter first, and not a filter or conditions.
local function is_call(argument)
  return type(argument) == "table" and argument[1] ~= nil
end

--- chat:filter on top of the core's, which knows conditions only.
---@param chat ebb.Conversation
---@param argument any          a filter, conditions, or { filter, options =, limits =, trusted = }
---@param filter_conditions fun(chat: ebb.Conversation, conditions: table): integer
---@return integer batch
function filter.run(chat, argument, filter_conditions)
  if not is_call(argument) then argument = { argument } end
  if argument[1] == nil then return filter_conditions(chat, nil) end
  local values = schema.options(CALL, call.read(argument, "filter", "filter"), "filter")
  loader.tell_limits(values.limits, "filter")
  local definition = filter.find(values.filter, values)
  if definition then return run_one(chat, definition, values.options, values.limits, values.description) end
  if values.options ~= nil then refuse("argument", "conditions have no options: they belong in one table") end
  if values.description then refuse("argument", "the description of conditions belongs in their own table") end
  return filter_conditions(chat, values.filter)
end

return filter
