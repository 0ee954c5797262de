--- Queries for libebb: one table of what may be asked, by name.
--
-- A query is a JSON object. Names are camelCase, positions count from 0, ranges are
-- half-open; here they become those of the Lua face:
--
--     {"query": "range", "role": "user", "start": 0, "end": 2, "batch": 1, "answer": "positions"}
--
-- Queries of messages take the fields of LIST too: in which state to look, which of
-- the messages found to give, and what of them.

local core = require "ebb.support.core"
local emit = require "ebb.libebb.emit"
local json_arguments = require "ebb.support.json_arguments"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local state = require "ebb.conversation.state"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local queries = {}

local json = core.json

---- Readers of fields ----

local INTEGER, COUNT, TEXT = { type = "integer" }, { type = "integer", min = 0 }, { type = "string" }
local FLAG, TEXTS = { type = "boolean" }, { type = "list", items = { type = "string" } }
local BATCH = { any_of = { TEXT, COUNT }, expected = "the number of a batch or the name of a checkpoint" }
local TEXT_OR_TEXTS = { any_of = { TEXT, TEXTS }, expected = "a text or a list of texts" }
local WINDOW = { any_of = { TEXT, { type = "choice", choices = { true } } }, expected = "true or the id of a window" }
local RANGE = { type = "object", fields = { start = COUNT, ["end"] = COUNT } }

---- Lists of messages ----

--- Fields of all queries of messages.
local LIST = {
  batch = BATCH, length = COUNT, first = COUNT, last = COUNT, slice = RANGE,
  answer = { type = "choice", choices = { "messages", "positions", "seqs", "count", "tokens" }, default = "messages" },
}

--- Returns the list that a query reads: the chat, or a state of one of its batches.
local function source(chat, query)
  if query.batch ~= nil then return chat:batch(query.batch, query.length) end
  if query.length ~= nil then refuse("argument", "query: length is for a batch", '"batch": 0') end
  return chat
end

--- {start, end}, both there, the first not above the second.
local function check_range(range, place)
  if range.start == nil or range["end"] == nil then
    refuse("argument", ("query: %sstart and %send are needed"):format(place, place))
  end
  if range.start > range["end"] then
    refuse("argument", ("query: %sstart %d is greater than %send %d"):format(place, range.start, place, range["end"]),
      "the range is half-open")
  end
end

local function part(selection, query)
  if query.slice then
    check_range(query.slice, "slice.")
    selection = selection:slice(query.slice.start + 1, query.slice["end"])
  end
  if query.first then selection = selection:first(query.first) end
  if query.last then selection = selection:last(query.last) end
  return selection
end

local ANSWERS = {
  messages = function(api, selection) api.write_list(selection) end,
  positions = function(api, selection)
    emit.numbers(api.write, selection:positions(), function(position) return position - 1 end)
  end,
  seqs = function(api, selection)
    emit.numbers(api.write, selection, function(message) return message.seq end)
  end,
  count = function(api, selection) api.write(("%d"):format(selection:count())) end,
  tokens = function(api, selection) api.write(("%d"):format(selection:tokens())) end,
}

local function answer_list(api, selection, query)
  ANSWERS[query.answer](api, part(selection, query))
end

--- Adds the fields of LIST.
local function list_query(fields, find)
  for name, field in pairs(LIST) do
    fields[name] = field
  end
  return {
    fields = fields,
    run = function(api, chat, query)
      answer_list(api, find(source(chat, query), query), query)
    end,
  }
end

local function need(query, ...)
  for _, name in ipairs { ... } do
    if query[name] == nil then refuse("argument", ("query %s: %s is needed"):format(query.query, name)) end
  end
end

local LISTS = {
  messages = list_query({}, function(list) return list:where {} end),
  where = list_query({
    role = TEXT_OR_TEXTS, since = INTEGER, before = INTEGER, marked = TEXT, matches = TEXT,
    name = TEXT_OR_TEXTS, id = TEXT_OR_TEXTS, window = WINDOW, obsolete = FLAG,
    important = FLAG,
  }, function(list, query)
    local conditions = {}
    for _, name in ipairs { "role", "since", "before", "marked", "matches", "name", "id", "window", "obsolete",
      "important" } do
      conditions[name] = query[name]
    end
    return list:where(conditions)
  end),
  recent = list_query({ role = TEXT_OR_TEXTS, n = { type = "integer", min = 0, default = 1 } }, function(list, query)
    if not query.role then return list:recent(query.n) end
    return list:recent(query.role, query.n)
  end),
  range = list_query({ role = TEXT_OR_TEXTS, start = COUNT, ["end"] = COUNT }, function(list, query)
    check_range(query, "")
    if not query.role then return list:range(query.start + 1, query["end"]) end
    return list:range(query.role, query.start + 1, query["end"])
  end),
  marked = list_query({ name = TEXT }, function(list, query)
    need(query, "name")
    return list:marked(query.name)
  end),
  active = list_query({}, function(list) return list:active() end),
  all = list_query({}, function(list, query)
    if query.batch ~= nil then refuse("argument", "query all: of all batches together", "messages has those of one") end
    if query.answer == "positions" then refuse("argument", "query all: not all have a position", '"answer": "seqs"') end
    return list:all()
  end),
}

---- Units and turns ----

--- Written by hand: there may be many. A unit of a window's item has no role.
local function encode_unit(unit)
  local role = unit.role and ('"role":"%s",'):format(unit.role) or ""
  return ('{"age":%d,"count":%d,"first":%d,"guarded":%s,"open":%s,"pending":%s,%s"tokens":%d}'):format(unit.age,
    unit.count, unit.first - 1, unit.guarded, unit.open, unit.pending, role, unit.tokens)
end

local function encode_turn(turn)
  return ('{"age":%d,"count":%d,"first":%d,"tokens":%d}'):format(turn.age, turn.count, turn.first - 1, turn.tokens)
end

--- Walks are the draft's: one that nothing is done with.
local function walk(api, chat, kind, encode)
  local draft, separator = chat:draft(), "["
  for each in draft[kind](draft) do
    api.write(separator .. encode(each))
    separator = ","
  end
  core.draft.discard(draft)
  api.write(separator == "[" and "[]" or "]")
end

---- What happened ----

local function encode_event(event)
  return {
    action = event.action, by = event.by, reason = event.reason, batch = event.batch, seq = event.seq,
    replacement = event.replacement, before = event.before, after = event.after,
  }
end

local function explain(api, chat, query)
  if (query.index == nil) == (query.seq == nil) then
    refuse("argument", "query explain: index or seq is needed, and one of them alone")
  end
  local message = query.seq or chat[query.index + 1]
  if not message then
    refuse("out_of_range", ("query explain: message %d: the chat has %d"):format(query.index, #chat))
  end
  local explanation = chat:explain(message)
  local result = encode_event(explanation)
  result.visible, result.events = explanation.visible, json.array {}
  for i, event in ipairs(explanation.events) do
    result.events[i] = encode_event(event)
  end
  api.write(json.encode(result))
end

local function diff(api, chat, query)
  need(query, "from")
  local difference = chat:diff(query.from, query.to or chat:stats().current_batch_index)
  api.write '{"added":'
  api.write_list(difference.added)
  api.write ',"removed":'
  api.write_list(difference.removed)
  api.write ',"replaced":['
  for i, pair in ipairs(difference.replaced) do
    api.write(i == 1 and '{"before":' or ',{"before":')
    api.write_message(pair.before)
    api.write ',"after":'
    api.write_message(pair.after)
    api.write "}"
  end
  api.write "]}"
end

--- Writes the text and the messages that a handle stands for.
local function recalled(api, chat, query)
  need(query, "name")
  local text, messages = require("ebb.conversation.recall").read(chat, query.name, { tokens = query.tokens })
  if not text then error(messages, 0) end
  api.write(('{"text":%s,"messages":'):format(json.encode(text)))
  api.write_list(messages)
  api.write "}"
end

local function ledger(api, chat, query)
  local record = chat:ledger(query.batch)
  if not record then return api.write "null" end
  emit.list(api.write, query.runs and record:runs() or record, json.encode)
end

local function whole_state(api, chat)
  api.write(('{"currentBatch":%d,"messages":'):format(chat:stats().current_batch_index))
  api.write_list(chat)
  api.write ',"batches":'
  emit.list(api.write, state.batches(chat), json.encode)
  api.write(',"stats":' .. json.encode(state.stats(chat)) .. ',"results":')
  emit.list(api.write, state.results(chat), json.encode)
  api.write "}"
end

---- Figures ----

local function window_stats(chat)
  local stats = chat.windows:stats()
  return {
    total = stats.total, active = stats.active, obsolete = stats.obsolete, windows = stats.windows,
    estimatedTokens = stats.estimated_tokens,
  }
end

local function tokens(chat, query)
  local list = source(chat, query)
  local counter_options = (query.encoding or query.model) and { encoding = query.encoding, model = query.model } or nil
  return { tokens = list:tokens(counter_options), trust = list:trust(counter_options) }
end

--- A query whose answer is one value.
local function value_query(fields, find)
  return {
    fields = fields,
    run = function(api, chat, query)
      local value = find(chat, query)
      api.write(json.encode(value == nil and json.null or value))
    end,
  }
end

local OF_BATCH = { batch = BATCH, length = COUNT }
local OF_ROLE = { batch = BATCH, length = COUNT, role = TEXT_OR_TEXTS }
local OF_COUNTER = { batch = BATCH, length = COUNT, encoding = TEXT, model = TEXT }

local OTHERS = {
  count = value_query(OF_ROLE, function(chat, query) return source(chat, query):count(query.role) end),
  tokens = value_query(OF_COUNTER, tokens),
  indices = value_query(OF_BATCH, function(chat, query) return state.indices(source(chat, query)) end),
  dialect = value_query(OF_BATCH, function(chat, query) return source(chat, query):dialect() end),
  stats = value_query({}, state.stats),
  windows = value_query({}, window_stats),
  listing = value_query({}, function(chat) return chat.windows:listing() end),
  limit = value_query({}, function(chat)
    return { limit = chat.limit or json.null, tokens = chat:tokens(), over = chat:over_limit() }
  end),
  calibration = value_query({}, function(chat) return chat:calibration() end),
  encoding = value_query({}, function(chat) return chat:encoding() end),
  model = value_query({}, function(chat) return chat:model() end),
  shape = value_query({}, function(chat) return chat.shape end),
  warnings = { fields = {}, run = function(api, chat) emit.list(api.write, chat:warnings(), json.encode) end },
  units = { fields = {}, run = function(api, chat) walk(api, chat, "units", encode_unit) end },
  turns = { fields = {}, run = function(api, chat) walk(api, chat, "turns", encode_turn) end },
  state = { fields = {}, run = whole_state },
  diff = { fields = { from = BATCH, to = BATCH }, run = diff },
  ledger = { fields = { batch = BATCH, runs = FLAG }, run = ledger },
  recall = { fields = { name = TEXT, tokens = COUNT }, run = recalled },
  explain = { fields = { index = COUNT, seq = COUNT }, run = explain },
}

---- Asking ----

local ALL = {}
for name, query in pairs(LISTS) do ALL[name] = query end
for name, query in pairs(OTHERS) do ALL[name] = query end

local function find(name)
  if type(name) ~= "string" then refuse("argument", 'query: expected its name, {"query": "where", ..}') end
  local query = ALL[name]
  return query or refuse("unknown_name", ("unknown query '%s'"):format(name), suggest.hint(name, tables.keys(ALL)))
end

local IGNORED = { query = true }

local function read(object)
  local definition = find(object.query)
  local declaration = { type = "object", fields = definition.fields, ignored = IGNORED }
  local query, problems = schema.read(declaration, object, { null = true })
  if problems then
    refuse(problems[1].code, schema.message(problems[1], "query " .. object.query, 0), problems[1].hint)
  end
  query.query = object.query
  return definition, query
end

--- Runs a query within limits. An unknown role is a name in a query, no message's.
function queries.querier(with_hints, api, chat, text)
  local entry, query = read(json_arguments.object(text, "query"))
  return with_hints(function()
    local ok, problem = pcall(entry.run, api, chat, query)
    if ok then return end
    if core.is_error(problem) and problem.code == "role" then
      problem = core.error("unknown_name", problem.message, problem.hint)
    end
    error(problem, 0)
  end)
end

return queries
