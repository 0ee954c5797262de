--- LangChain's messages, read as data and never constructed: stored ({type, data}) or dumped ({lc, type, id, kwargs}).
--
-- Calls are in tool_calls and, in a reply of Anthropic's models, once more as blocks of the content: they count once.
-- A message of version 1 may have its blocks in `content_blocks`, instead of `content`. Pieces of a streamed reply
-- are one message.

local blocks = require "ebb.import.libraries.langchain_blocks"
local chunks = require "ebb.import.libraries.langchain_chunks"
local content = require "ebb.import.content"
local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local many = require "ebb.import.many"
local refuse = require "ebb.support.refuse"
local turns = require "ebb.import.turns"

local langchain = { name = "langchain", title = "LangChain messages", kind = "json" }

---- What a message is ----

local TYPES = {
  human = "user", HumanMessage = "user", ai = "assistant", AIMessage = "assistant", system = "system",
  SystemMessage = "system", tool = "result", ToolMessage = "result", ["function"] = "result",
  FunctionMessage = "result", chat = "chat", ChatMessage = "chat", generic = "chat", remove = "remove",
  RemoveMessage = "remove",
}

local function type_of(name)
  return name and TYPES[(name:gsub("Chunk$", ""))]
end

--- The kind of a message, its members and the name of its class; nil for other values.
local function message_of(value)
  if fields.object(value, "__lc_escaped__") then value = value.__lc_escaped__ end
  local id, kwargs = fields.list(value, "id"), fields.object(value, "kwargs")
  if value and value.lc ~= nil and id and kwargs then
    local last = type(id[#id]) == "string" and id[#id] or nil
    return type_of(last), kwargs, last
  end
  local kind = fields.text(value, "type")
  return type_of(kind), fields.object(value, "data"), kind
end

local function is_message(value)
  if not fields.is_object(value) then return false end
  local kind, members = message_of(value)
  if not kind or not members then return false end
  return members.content ~= nil or members.content_blocks ~= nil or kind == "remove"
end

---- Where the messages are ----

local NESTING_MAX, LOOKS_MAX = 8, 10000   -- levels, and values that the search for the list looks at
local ELEMENTS_MAX = 8                     -- of each list, there

--- The lists and objects within a value, in an order that does not change.
local function parts_of(value)
  if fields.is_list(value) then return table.move(value, 1, math.min(#value, ELEMENTS_MAX), 1, {}) end
  local keys, parts = {}, {}
  for key, item in pairs(value) do
    if type(item) == "table" then keys[#keys + 1] = key end
  end
  table.sort(keys)
  for i, key in ipairs(keys) do parts[i] = value[key] end
  return parts
end

--- The first list of messages within a value, the highest one.
local function find_list(value)
  local level, looks = { value }, 0
  for _ = 1, NESTING_MAX do
    local below = {}
    for _, each in ipairs(level) do
      looks = looks + 1
      if looks > LOOKS_MAX then return nil end
      if fields.is_list(each) and is_message(each[1]) then return each end
      if fields.is_object(each) or fields.is_list(each) then
        for _, part in ipairs(parts_of(each)) do below[#below + 1] = part end
      end
    end
    level = below
  end
end

--- A record is one if its first message is.
function langchain.recognise(sample)
  local value = sample.value or sample.records and sample.records[1]
  return value ~= nil and find_list(value) ~= nil
end

---- Contents ----

--- The content of a message; where it has none, its blocks say it.
local function content_of(members, built, calls)
  local value, list = members.content, fields.list(members, "content_blocks")
  if list and list[1] and (value == nil or value == "" or value == core.json.null) then value = list end
  if type(value) == "string" then return value end
  return fields.is_list(value) and blocks.read(value, built, calls) or ""
end

---- Messages ----

--- The calls of a reply: parsed ones, those that could not be parsed, and the provider's own where both are absent.
local function calls_of(members)
  local calls = {}
  for _, name in ipairs { "tool_calls", "invalid_tool_calls" } do
    for _, call in ipairs(fields.list(members, name) or {}) do
      calls[#calls + 1] = { id = fields.text(call, "id"), name = fields.text(call, "name"),
        arguments = content.arguments(fields.is_object(call) and call.args) }
    end
  end
  local kwargs = fields.object(members, "additional_kwargs")
  if calls[1] or not kwargs then return calls end
  for _, call in ipairs(fields.list(kwargs, "tool_calls") or {}) do
    local called = fields.object(call, "function")
    calls[#calls + 1] = { id = fields.text(call, "id"), name = fields.text(called, "name"),
      arguments = content.arguments(called and called.arguments) }
  end
  local called = fields.object(kwargs, "function_call")
  if not calls[1] and called then
    calls[1] = { name = fields.text(called, "name"), arguments = content.arguments(called.arguments) }
  end
  return calls
end

local function add_reply(built, members)
  local calls, kwargs = calls_of(members), fields.object(members, "additional_kwargs")
  local reasoning = fields.text(kwargs, "reasoning_content")
  local said = content_of(members, built, calls)
  if reasoning and reasoning ~= "" then built:reason(reasoning) end
  if fields.object(kwargs, "reasoning") then blocks.reason(built, kwargs.reasoning) end
  if content.is_empty(said) and not calls[1] then return built.report:add("empty message", "left out") end
  local message = built:add { role = "assistant", content = content.is_empty(said) and core.json.null or said }
  for _, call in ipairs(calls) do built:call(call, message) end
end

local function add_result(built, members)
  if members.artifact ~= nil and members.artifact ~= core.json.null then
    built.report:add("artifact", "of a result, not for the model")
  end
  if members.status == "error" then built.report:add("result of a failed call", "its status is left out") end
  built:result { id = fields.text(members, "tool_call_id"), name = fields.text(members, "name"),
    content = content_of(members, built, {}) }
end

local CHAT_ROLES = { user = "user", human = "user", assistant = "assistant", ai = "assistant", system = "system" }

local function add_message(built, value)
  local kind, members = message_of(fields.is_object(value) and value or {})
  if kind == "chat" then kind = CHAT_ROLES[fields.text(members, "role") or ""] end
  if not kind or not members then
    built.report:add("other message", "of no type that is known")
  elseif kind == "remove" then
    built.report:add("removal", "an order to the program, no message")
  elseif kind == "assistant" then
    add_reply(built, members)
  elseif kind == "result" then
    add_result(built, members)
  else
    local name = fields.text(members, "name")
    built:add { role = kind, content = content_of(members, built, {}), name = name ~= "" and name or nil }
  end
end

--- Adds the reply whose pieces have been collected.
local function finish_pieces(built, pieces)
  if pieces[1] then add_reply(built, chunks.join(pieces)) end
end

local function read_list(list, report)
  local built, pieces = turns.new(report), {}
  for _, value in ipairs(list) do
    local kind, members, class = message_of(fields.is_object(value) and value or {})
    if kind == "assistant" and members and chunks.is_piece(members, class) then
      if pieces[1] and not chunks.follows(pieces[#pieces], members) then
        finish_pieces(built, pieces)
        pieces = {}
      end
      pieces[#pieces + 1] = members
    else
      finish_pieces(built, pieces)
      pieces = {}
      add_message(built, value)
    end
  end
  finish_pieces(built, pieces)
  return { dialect = "openai", messages = built:finish(), report = report, branches = 1 }
end

function langchain.read(source, options)
  if fields.is_list(source.value) and is_message(source.value[1]) then
    return read_list(source.value, source.report)
  end
  return many.collect(source, options, function(entry)
    local list = find_list(entry.value)
    if not list then refuse("shape", "expected a list of messages") end
    return read_list(list, entry.report)
  end, function(value) return fields.text(value, "id") end)
end

return langchain
