--- Operations in their JSON form, as calls of the Lua face.
--
-- The one place where camelCase, positions from 0 and half-open ranges become
-- snake_case, positions from 1 and inclusive ranges. Two spellings are read:
--
--     flat   {"operation": "TRUNCATE", "keepLast": 5}
--     node   {"operation": "truncate", "truncate": {"keepLast": 5}}
--
-- Everything is read and checked before anything runs, so that a wrong field is
-- named by its path (`operations[2].truncate.keepLast`) and has done nothing.
-- What only the conversation can refuse (a position behind its end) is found
-- while running, on a copy: see support/transaction.lua.

local core = require "ebb.support.core"
local log = require "ebb.support.log"
local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local operations = {}

local json = core.json

--- Is this JSON that is kept as text? Then its kind shows in its first byte.
local function raw_kind(value)
  if getmetatable(value) ~= "json.raw" then return nil end
  return json.encode(value):match "^%s*(.)"
end

---- Checks of single fields: the value for the Lua face, or a refusal that names the path ----

local function shown(value)
  if value == json.null then return "null" end
  if type(value) == "string" then return ("'%s'"):format(value) end
  if raw_kind(value) then return json.encode(value) end
  if type(value) == "table" or type(value) == "userdata" then return "a " .. type(value) end
  return tostring(value)
end

local function wrong(path, expected, value, hint)
  return refuse("argument", ("%s: expected %s, got %s"):format(path, expected, shown(value)), hint)
end

local function count(value, path)
  local integer = type(value) == "number" and math.tointeger(value)
  if not integer then return wrong(path, "a whole number", value) end
  if integer < 0 then return wrong(path, "0 or more", value) end
  return integer
end

local function insert_position(value, path)
  if value == -1 then
    return refuse("out_of_range", path .. ": -1 is not a position", "use append")
  end
  return count(value, path)
end

--- The node form of the first design wrote -1 for "at the end".
local function node_position(value, path)
  if value == -1 then return -1 end
  return count(value, path)
end

local function flag(value, path)
  if type(value) ~= "boolean" then return wrong(path, "true or false", value) end
  return value
end

local function text(value, path)
  if type(value) ~= "string" then return wrong(path, "a string", value) end
  return value
end

local function is_list(value)
  return type(value) == "table" and not raw_kind(value) and (next(value) == nil or value[1] ~= nil)
end

local function texts(value, path)
  if not is_list(value) then return wrong(path, "a list of strings", value) end
  for i, item in ipairs(value) do
    text(item, ("%s[%d]"):format(path, i - 1))
  end
  return value
end

local function flag_or_texts(value, path)
  if type(value) == "boolean" then return value end
  return texts(value, path)
end

local function scope(value, path)
  if value ~= "only" and value ~= "within" then return wrong(path, "'only' or 'within'", value) end
  return value
end

--- {start, end}, half-open from 0, becomes {first, last}, inclusive from 1.
local function range(value, path)
  if type(value) ~= "table" then return wrong(path, "{start, end}", value) end
  for key in pairs(value) do
    if key ~= "start" and key ~= "end" then
      refuse("unknown_name", ("%s: unknown field %s"):format(path, shown(key)), suggest.hint(key, { "start", "end" }))
    end
  end
  local first, past = count(value.start, path .. ".start"), count(value["end"], path .. ".end")
  if first > past then
    refuse("argument", ("%s: start %d is greater than end %d"):format(path, first, past), "the range is half-open")
  end
  return { first + 1, past }
end

local function message(value, path)
  local kind = raw_kind(value)
  local fits = kind == "{" or kind == nil and type(value) == "table" and value[1] == nil
  if not fits then return wrong(path, "a message", value) end
  return value
end

local function messages(value, path)
  local kind = raw_kind(value)
  local fits = kind == "[" or kind == nil and is_list(value)
  if not fits then return wrong(path, "a list of messages", value) end
  return value
end

---- The operations: their fields, and what each becomes ----

--- Positions are checked here once more, in the numbers of the file.
local function check_position(chat, position, last, path)
  if position > last then
    local hint = last < 0 and "the list is empty" or ("it may be 0 to %d"):format(last)
    refuse("out_of_range", ("%s: %d is beyond the list of %d messages"):format(path, position, #chat), hint)
  end
end

local FORMS = {
  append = {
    fields = { messages = { "messages", messages } },
    required = { "messages" },
    run = function(chat, fields) return chat:append(fields.messages) end,
  },
  insert = {
    fields = { position = { "position", insert_position }, messages = { "messages", messages } },
    node_fields = { position = { "position", node_position }, messages = { "messages", messages } },
    required = { "position", "messages" },
    run = function(chat, fields, path)
      if fields.position == -1 then return chat:append(fields.messages), "append" end
      check_position(chat, fields.position, #chat, path .. ".position")
      return chat:insert(fields.position + 1, fields.messages)
    end,
  },
  replace = {
    fields = { index = { "index", count }, message = { "message", message } },
    required = { "index", "message" },
    run = function(chat, fields, path)
      check_position(chat, fields.index, #chat - 1, path .. ".index")
      return chat:replace(fields.index + 1, fields.message)
    end,
  },
  truncate = {
    fields = {
      role = { "role", text }, scope = { "scope", scope }, range = { "range", range },
      keepFirst = { "keep_first", count }, keepLast = { "keep_last", count },
      removeFirst = { "remove_first", count }, removeLast = { "remove_last", count },
      wholeUnits = { "whole_units", flag },
    },
    one_of = { "role", "keepFirst", "keepLast", "removeFirst", "removeLast", "range" },
    run = function(chat, fields) return chat:truncate(fields) end,
  },
  clear = {
    fields = { keepSystemMessage = { "keep_system_message", flag } },
    run = function(chat, fields) return chat:clear(fields) end,
  },
  filter = {
    fields = {
      roles = { "roles", texts },
      contentContains = { "content_contains", texts }, contentExcludes = { "content_excludes", texts },
      includeNames = { "include_names", texts }, excludeNames = { "exclude_names", texts },
      includeIds = { "include_ids", texts }, excludeIds = { "exclude_ids", texts },
      excludeToolCalls = { "exclude_tool_calls", flag_or_texts },
      wholeUnits = { "whole_units", flag },
    },
    one_of = {
      "roles", "contentContains", "contentExcludes", "includeNames", "excludeNames", "includeIds", "excludeIds",
      "excludeToolCalls",
    },
    run = function(chat, fields) return chat:filter(fields) end,
  },
  rollback = {
    fields = {
      targetBatchIndex = { "target", count },
      checkpoint = { "checkpoint", text },
      length = { "length", count },
    },
    one_of = { "targetBatchIndex", "checkpoint" },
    run = function(chat, fields)
      if fields.checkpoint and fields.target then
        refuse("argument", "a rollback goes to targetBatchIndex or to checkpoint, not both")
      end
      return chat:rollback(fields.checkpoint or fields.target, fields.length)
    end,
  },
}

---- Reading ----

---@class ebb.Step             An operation, read and checked
---@field name string
---@field form table
---@field fields table         for the Lua face
---@field path string          of its fields

local function operation_name(entry, path)
  local name = entry.operation
  if type(name) ~= "string" then return wrong(path .. ".operation", "the name of an operation", name) end
  local lower = name:lower()
  if not FORMS[lower] then
    local hint = suggest.hint(name, tables.keys(FORMS))
    refuse("unknown_name", ("%s.operation: unknown operation %s"):format(path, shown(name)), hint)
  end
  return lower
end

--- The node form keeps the fields in a table under the operation's own name.
local function node_key(entry, name)
  for _, key in ipairs { name, name:upper() } do
    if type(entry[key]) == "table" then return key end
  end
end

local function ignored(key, path)
  if key ~= "createNewBatch" then return false end
  log.write(("ebb: %s.createNewBatch is ignored: whether a batch begins is the operation's own rule"):format(path))
  return true
end

local function unknown_field(key, path, known)
  local hint = suggest.hint(key, tables.keys(known))
  return refuse("unknown_name", ("%s: unknown field %s"):format(path, shown(key)), hint)
end

--- Refuses fields that ask for nothing; an empty list is no condition.
local function check_asks(given, path, one_of)
  for _, key in ipairs(one_of) do
    local value = given[key]
    if value ~= nil and not (type(value) == "table" and next(value) == nil) then return end
  end
  refuse("argument", path .. ": nothing is asked", "one of: " .. table.concat(one_of, ", "))
end

--- Reads the fields of `given`, which may also hold `operation` if it is flat.
local function read_fields(given, path, known, form, flat)
  local fields = {}
  for key, value in pairs(given) do
    local field = known[key]
    if field then
      fields[field[1]] = field[2](value, path .. "." .. key)
    elseif not (flat and key == "operation") and not ignored(key, path) then
      unknown_field(key, path, known)
    end
  end
  for _, key in ipairs(form.required or {}) do
    if given[key] == nil then refuse("argument", ("%s.%s is missing"):format(path, key)) end
  end
  if form.one_of then check_asks(given, path, form.one_of) end
  return fields
end

---@return ebb.Step
local function read_one(entry, path)
  if type(entry) ~= "table" then return wrong(path, "an operation", entry) end
  local name = operation_name(entry, path)
  local form = FORMS[name]
  local key = node_key(entry, name)
  if not key then
    local fields = read_fields(entry, path, form.fields, form, true)
    return { name = name, form = form, path = path, fields = fields }
  end
  for other in pairs(entry) do
    if other ~= key and other ~= "operation" and not ignored(other, path) then
      unknown_field(other, path, { operation = true, [key] = true })
    end
  end
  local inner = path .. "." .. key
  local fields = read_fields(entry[key], inner, form.node_fields or form.fields, form, false)
  return { name = name, form = form, path = inner, fields = fields }
end

local RAW = { raw = { messages = true, message = true } }   -- so that messages stay as they were written

local function decode(given)
  if type(given) ~= "string" then return given end
  local value, problem = json.decode(given, RAW)
  if problem then refuse(problem.code, "operations: " .. problem.message) end
  local is_empty_object = type(value) == "table" and next(value) == nil and getmetatable(value) ~= "json.array"
  if is_empty_object then return wrong("operations[0].operation", "the name of an operation", nil) end
  return value
end

--- An error of the operation at `index` (from 0), whatever it was that failed.
local function blame(index, name, problem)
  if not core.is_error(problem) then return problem end
  local reason = problem.message
  if not reason:find("^operation") then reason = ("operations[%d] (%s): %s"):format(index, name, reason) end
  return core.error(problem.code, reason, problem.hint)
end

--- Reads operations from JSON text or from tables with the same fields.
---@param given string|table    one operation or a list
---@return ebb.Step[]
function operations.read(given)
  local value = decode(given)
  if type(value) ~= "table" then return wrong("operations", "an operation or a list of them", value) end
  if value.operation ~= nil then return { read_one(value, "operations[0]") } end
  if not is_list(value) then return wrong("operations[0].operation", "the name of an operation", nil) end
  local steps = {}
  for i, entry in ipairs(value) do
    steps[i] = read_one(entry, ("operations[%d]"):format(i - 1))
  end
  return steps
end

---- Running ----

--- What the last `apply` on a conversation led to, for chat:state().
local results_of = setmetatable({}, { __mode = "k" })

local function run_steps(chat, steps)
  local results = {}
  for i, step in ipairs(steps) do
    local ok, batch, became = pcall(step.form.run, chat, step.fields, step.path)
    if not ok then error(blame(i - 1, step.name, batch), 0) end
    results[i] = { operation = became or step.name, affected_batch_index = batch }
  end
  return results
end

--- Runs all of them, or none: the first that is refused leaves no trace of the others.
---@param chat ebb.Conversation
---@param given string|table
---@return { operation: string, affected_batch_index: integer }[]
function operations.apply(chat, given)
  local steps = operations.read(given)
  local results = core.transaction(chat, function(copy) return run_steps(copy, steps) end)
  results_of[chat] = results
  return results
end

--- The results of the newest `apply`; an empty list if there was none.
---@param chat ebb.Conversation
function operations.results(chat)
  return results_of[chat] or {}
end

---- For the reference ----

operations.FORMS = FORMS

---@type table<string, { summary: string, example: string }>
operations.WORDS = {
  append = {
    summary = "adds messages at the end; starts no batch",
    example = '{"operation": "append", "messages": [{"role": "user", "content": "Hello"}]}',
  },
  insert = {
    summary = "puts messages before the one at a position",
    example = '{"operation": "insert", "position": 0, "messages": [{"role": "system", "content": "Be brief."}]}',
  },
  replace = {
    summary = "puts another message in the place of one",
    example = '{"operation": "replace", "index": 2, "message": {"role": "user", "content": "Hello again"}}',
  },
  truncate = {
    summary = "keeps or removes messages by their place; each cut works on the result of the one before it, in the "
      .. "order keepFirst, keepLast, removeFirst, removeLast, range",
    example = '{"operation": "truncate", "truncate": {"role": "user", "keepLast": 5}}',
  },
  clear = {
    summary = "removes all messages but the system messages",
    example = '{"operation": "clear", "keepSystemMessage": false}',
  },
  filter = {
    summary = "keeps the messages that meet all conditions",
    example = '{"operation": "filter", "roles": ["user", "assistant"], "excludeToolCalls": true}',
  },
  rollback = {
    summary = "makes an earlier batch current, or the state that a checkpoint names",
    example = '{"operation": "rollback", "targetBatchIndex": 0}',
  },
}

return operations
