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
-- Errors that only the conversation can see (a position after its end) are found
-- while running, on a copy that replaces the conversation if all went well.

local core = require "ebb.support.core"
local json_file = require "ebb.support.json_file"
local log = require "ebb.support.log"
local places = require "ebb.conversation.operation_places"
local quantity = require "ebb.support.quantity"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local operations = {}

local json = core.json

--- Returns the first byte of JSON that is kept as text, which tells its kind; nil for other values.
local function raw_kind(value)
  if getmetatable(value) ~= "json.raw" then return nil end
  return json.encode(value):match "^%s*(.)"
end

---- Values of fields ----

local FLAG, TEXT, COUNT = { type = "boolean" }, { type = "string" }, { type = "integer", min = 0 }
local TEXTS = { type = "list", items = TEXT, expected = "a list of strings" }

local function is_list(value)
  return type(value) == "table" and not raw_kind(value) and (next(value) == nil or value[1] ~= nil)
end

--- The schema of insert's position. The node form of the first design wrote -1 for "at the end".
local NODE_POSITION = { type = "integer", min = -1, required = true, expected = "a whole number, 0 or more" }

local POSITION = {
  type = "integer", min = -1, required = true, expected = "a whole number, 0 or more",
  check = function(position)
    if position == -1 then return "-1 is not a position", "use append", "out_of_range" end
  end,
}

local INDEX = { type = "integer", min = 0, required = true }

--- Half-open, from 0; becomes {first, last}, from 1.
local RANGE = {
  type = "object", expected = "{start, end}",
  fields = { start = INDEX, ["end"] = INDEX },
  check = function(range)
    if range.start > range["end"] then
      return ("start %d is greater than end %d"):format(range.start, range["end"]), "the range is half-open"
    end
  end,
  into = function(range) return { range.start + 1, range["end"] } end,
}

local MESSAGE = {
  required = true,
  read = function(value)
    local kind = raw_kind(value)
    local fits = kind == "{" or kind == nil and type(value) == "table" and value[1] == nil
    return fits and value or nil, "a message"
  end,
}

local MESSAGES = {
  required = true,
  read = function(value)
    local fits = raw_kind(value) == "[" or is_list(value)
    return fits and value or nil, "a list of messages"
  end,
}

--- The schema of a field whose name in Lua differs.
local function named(name, field)
  local result = { as = name }
  for key, value in pairs(field) do
    result[key] = value
  end
  return result
end

--- The caller's description of the batch that an operation makes.
local DESCRIPTION = { type = "string" }

--- Appends the messages of an insert at position -1, which starts no batch.
local function append_inserted(chat, fields, path)
  if fields.description then
    refuse("argument", path .. ".description: at position -1 no batch starts that could be described")
  end
  return chat:append(fields.messages), "append"
end

---- The operations: their fields, and what each becomes ----

--- Positions are checked here once more, in the numbers of the file.
local function check_position(chat, position, last, path)
  if position > last then
    local hint = last < 0 and "the list is empty" or ("it may be 0 to %d"):format(last)
    refuse("out_of_range", ("%s: %d is beyond the list of %s"):format(path, position, quantity(#chat, "message")), hint)
  end
end

---@class ebb.OperationForm
---@field fields table<string, ebb.Schema>        in camelCase; the result has the names of Lua
---@field node_fields? table<string, ebb.Schema>  of the node form, where they differ
---@field one_of? string[]                        at least one of these is needed
---@field run fun(chat: ebb.Conversation, fields: table, path: string): integer, string?

---@type table<string, ebb.OperationForm>
local FORMS = {
  append = {
    fields = { messages = MESSAGES },
    run = function(chat, fields) return chat:append(fields.messages) end,
  },
  insert = {
    fields = { position = POSITION, messages = MESSAGES, description = DESCRIPTION },
    node_fields = { position = NODE_POSITION, messages = MESSAGES, description = DESCRIPTION },
    run = function(chat, fields, path)
      if fields.position == -1 then return append_inserted(chat, fields, path) end
      check_position(chat, fields.position, #chat, path .. ".position")
      return chat:insert(fields.position + 1, fields.messages, { description = fields.description })
    end,
  },
  replace = {
    fields = { index = INDEX, message = MESSAGE, description = DESCRIPTION },
    run = function(chat, fields, path)
      check_position(chat, fields.index, #chat - 1, path .. ".index")
      return chat:replace(fields.index + 1, fields.message, { description = fields.description })
    end,
  },
  truncate = {
    fields = {
      role = TEXT, scope = { type = "choice", choices = { "only", "within" } }, range = RANGE,
      keepFirst = named("keep_first", COUNT), keepLast = named("keep_last", COUNT),
      removeFirst = named("remove_first", COUNT), removeLast = named("remove_last", COUNT),
      wholeUnits = named("whole_units", FLAG), description = DESCRIPTION,
    },
    one_of = { "role", "keepFirst", "keepLast", "removeFirst", "removeLast", "range" },
    run = function(chat, fields) return chat:truncate(fields) end,
  },
  clear = {
    fields = { keepSystemMessage = named("keep_system_message", FLAG), description = DESCRIPTION },
    run = function(chat, fields) return chat:clear(fields) end,
  },
  filter = {
    fields = {
      roles = TEXTS,
      contentContains = named("content_contains", TEXTS), contentExcludes = named("content_excludes", TEXTS),
      includeNames = named("include_names", TEXTS), excludeNames = named("exclude_names", TEXTS),
      includeIds = named("include_ids", TEXTS), excludeIds = named("exclude_ids", TEXTS),
      excludeToolCalls = { as = "exclude_tool_calls", any_of = { FLAG, TEXTS } },
      wholeUnits = named("whole_units", FLAG), description = DESCRIPTION,
    },
    one_of = {
      "roles", "contentContains", "contentExcludes", "includeNames", "excludeNames", "includeIds", "excludeIds",
      "excludeToolCalls",
    },
    run = function(chat, fields) return chat:filter(fields) end,
  },
  rollback = {
    fields = {
      targetBatchIndex = named("target", COUNT), checkpoint = TEXT, length = COUNT,
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
---@field form ebb.OperationForm
---@field fields table         for the Lua face
---@field path string          of its fields
---@field place any[]          the same, for a look-up in the file
---@field entry table          the fields as they are in the file

local NAME = { type = "string", expected = "the name of an operation" }

--- Refuses an object without the member `operation`, which may have nearly that name.
local function refuse_nameless(entry, path)
  local slip = suggest.nearest("operation", tables.keys(entry))
  refuse("argument", path .. ".operation is missing", slip and ("did you mean 'operation' by '%s'?"):format(slip)
    or "one of: " .. table.concat(tables.keys(FORMS), ", "))
end

local function operation_name(entry, path)
  if entry.operation == nil then refuse_nameless(entry, path) end
  local ok, name = pcall(schema.check, NAME, entry.operation, path .. ".operation")
  if not ok then error(places.with_path(name, { "operation" }), 0) end
  local lower = name:lower()
  if not FORMS[lower] then
    local hint = suggest.hint(name, tables.keys(FORMS))
    local text = ("%s.operation: unknown operation %s"):format(path, schema.describe(name))
    error(places.with_path(core.error("unknown_name", text, hint), { "operation" }), 0)
  end
  return lower
end

--- The node form keeps the fields in a table under the operation's own name.
local function node_key(entry, name)
  for _, key in ipairs { name, name:upper() } do
    if type(entry[key]) == "table" then return key end
  end
end

local JSON = { base = 0, joined = true }
local IGNORED = { operation = true, createNewBatch = true }

local function log_ignored(entry, path)
  if entry.createNewBatch == nil then return end
  log.write(("ebb: %s.createNewBatch is ignored: whether a batch begins is the operation's own rule"):format(path))
end

--- Refuses fields that ask for nothing; an empty list is no condition.
local function check_asks(entry, path, one_of)
  for _, key in ipairs(one_of) do
    local value = entry[key]
    if value ~= nil and not (type(value) == "table" and next(value) == nil) then return end
  end
  refuse("argument", path .. ": nothing is asked", "one of: " .. table.concat(one_of, ", "))
end

---@return ebb.Step
local function step_of(name, form, fields, entry, path)
  local declaration = { type = "object", fields = fields, ignored = IGNORED, expected = "an operation" }
  local values = schema.check(declaration, entry, path, JSON)
  if form.one_of then check_asks(entry, path, form.one_of) end
  log_ignored(entry, path)
  return { name = name, form = form, path = path, fields = values, entry = entry }
end

local ANY = { type = "any" }
local OPERATION = { type = "table", expected = "an operation" }

--- Reads the node form; a description may be in the table of the fields, or next to it.
local function read_node(entry, name, key, path, place)
  local form = FORMS[name]
  local beside = { [key] = ANY, description = form.fields.description }
  local declaration = { type = "object", fields = beside, ignored = IGNORED }
  local description = schema.check(declaration, entry, path, JSON).description
  log_ignored(entry, path)
  if description and entry[key].description ~= nil then
    refuse("argument", ("%s: description occurs twice, in %s too"):format(path, key))
  end
  place[#place + 1] = key
  local step = step_of(name, form, form.node_fields or form.fields, entry[key], path .. "." .. key)
  step.fields.description = description or step.fields.description
  return step
end

---@param entry any
---@param path string
---@param place any[]      of the entry; grows to that of its fields
---@return ebb.Step
local function read_one(entry, path, place)
  schema.check(OPERATION, entry, path)
  local name = operation_name(entry, path)
  local form = FORMS[name]
  local key = node_key(entry, name)
  if not key then return step_of(name, form, form.fields, entry, path) end
  return read_node(entry, name, key, path, place)
end

local RAW = { raw = { messages = true, message = true } }   -- so that messages stay as they were written

local function is_empty_object(value)
  return type(value) == "table" and next(value) == nil and getmetatable(value) ~= "json.array"
end

--- The file of a text; nil for a table.
local function parse(source, name)
  return type(source) == "string" and json_file.parse(name or "operations", source, RAW) or nil
end

--- An error of the operation at `index` (from 0), whatever it was that failed.
local function with_place(index, name, problem)
  if not core.is_error(problem) then return problem end
  local reason = problem.message
  local function_name = name .. ": "   -- which the call puts before its errors; the operation is named already
  if reason:sub(1, #function_name) == function_name then reason = reason:sub(#function_name + 1) end
  if not reason:find("^operation") then reason = ("operations[%d] (%s): %s"):format(index, name, reason) end
  return core.error(problem.code, reason, problem.hint)
end

local LIST = { type = "table", expected = "an operation or a list of them" }

local function read_list(value, file, is_text)
  json_file.check(file, {}, schema.check, LIST, value, "operations")
  if value.operation ~= nil then
    local place = {}
    local step = json_file.check(file, place, read_one, value, "operations[0]", place)
    step.place = place
    return { step }
  end
  if not is_list(value) or is_text and is_empty_object(value) then
    json_file.check(file, {}, refuse_nameless, value, "operations[0]")
  end
  local steps = {}
  for i, entry in ipairs(value) do
    local place = { i }
    steps[i] = json_file.check(file, place, read_one, entry, ("operations[%d]"):format(i - 1), place)
    steps[i].place = place
  end
  return steps
end

--- Reads operations from JSON text or from tables with the same fields.
---@param source string|table    one operation or a list
---@param name? string           of the file of the text: errors say where in it
---@return ebb.Step[]
---@return ebb.JsonFile? file    with a name
function operations.read(source, name)
  local text = parse(source, name)   -- a value may be false or null
  local value = source
  if text then value = text.value end
  local file = name and text
  return read_list(value, file, text ~= nil), file
end

---- Running ----

local function run_steps(chat, steps, file)
  local results = {}
  for i, step in ipairs(steps) do
    local ok, batch, became = pcall(step.form.run, chat, step.fields, step.path)
    if not ok then
      local problem = with_place(i - 1, step.name, batch)
      if file and core.is_error(problem) then
        problem = places.with_path(problem, places.find(step.entry, problem, step.path))
      end
      error(file and json_file.placed(file, step.place, problem) or problem, 0)
    end
    results[i] = { operation = became or step.name, affected_batch_index = batch }
  end
  return results
end

--- Runs all of them, or none: the first that is refused leaves no trace of the others.
---@param chat ebb.Conversation
---@param source string|table
---@param name? string          of the file of the text: errors say where in it
---@param finish? fun(copy: ebb.Conversation, results: table[]): any   called after the last one, with a copy that has
---                              all; where it fails, nothing is done
---@return { operation: string, affected_batch_index: integer }[]
---@return any finished          what `finish` gives
function operations.apply(chat, source, name, finish)
  local steps, file = operations.read(source, name)
  local state = core.state(chat)
  state.results = state.results or false   -- the field exists: nothing may fail after the transaction
  local results, finished = core.transaction(chat, function(copy)
    local done = run_steps(copy, steps, file)
    return done, finish and finish(copy, done)
  end)
  state.results = results                  -- for chat:state()
  return results, finished
end

--- The results of the newest `apply`; an empty list if there was none.
---@param chat ebb.Conversation
function operations.results(chat)
  return core.state(chat).results or {}
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
    summary = "replaces a message by another one",
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
