--- Recall on demand: a trim leaves a handle instead of what it left out, by which a model or a person asks for it.
--
--     [3,120 tokens left out: recall r17-42]     the messages with the seqs 17 to 42
--
-- The name is made of seqs, which a store never gives twice: it needs no table, holds in forks and in saved states,
-- and leaves with the batch that shows it. Of the messages between them those are given that the list no longer shows,
-- and none that it never showed; for a list that shows them all, such as the original file, all of them.

local core = require "ebb.support.core"
local figures = require "ebb.support.figures"
local parts = require "ebb.conversation.parts"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local transcript = require "ebb.conversation.transcript"

local recall = {}

recall.NAME = "recall"         -- of the tool
recall.TOKENS = 2000           -- most of a result of the tool
recall.EXPECTED = [[expected {"name": "r17"}]]

local HINT = [[a name such as "r17" or "r17-42", as a handle in the list says]]

---- Handles ----

---@param tokens integer      that were left out
---@param first integer       seq
---@param last? integer       seq; default: first
---@return string
function recall.handle(tokens, first, last)
  local name = last and last > first and ("r%d-%d"):format(first, last) or "r" .. first
  return ("[%s tokens left out: recall %s]"):format(figures.grouped(tokens), name)
end

--- Reads the last handle of a text; returns nil if it has none.
---@param text string
---@return integer? tokens
---@return integer? first
---@return integer? last
function recall.read_handle(text)
  local tokens, first, last
  for count, from, to in text:gmatch "%[([%d,]+) tokens left out: recall r(%d+)%-?(%d*)%]" do
    tokens, first, last = math.tointeger((count:gsub(",", ""))), math.tointeger(from), math.tointeger(to)
  end
  return tokens, first, last or first
end

---@return integer? first
---@return integer? last
local function range_of(name)
  local from, to = name:match "^%s*r(%d+)%-(%d+)%s*$"
  if not from then from = name:match "^%s*r(%d+)%s*$" end
  local first, last = math.tointeger(from), math.tointeger(to or from)
  if first and last and 0 < first and first <= last then return first, last end
end

---- Messages ----

--- The place in all messages of the first one with at least this seq.
local function place_of(all, seq)
  local low, high = 1, #all + 1
  while low < high do
    local middle = (low + high) // 2
    if all[middle].seq >= seq then high = middle else low = middle + 1 end
  end
  return low
end

--- The messages with these seqs that the list once showed, but for those that edits put there: those that it no
--- longer shows, or else all.
local function messages_of(chat, first, last)
  local all, gone, shown = chat:all(), {}, {}
  local place = place_of(all, first)
  for _, seq in ipairs(core.appended(chat, first, last)) do
    while place <= #all and all[place].seq < seq do place = place + 1 end
    local message = all[place]
    if message and message.seq == seq then
      local list = message.index and shown or gone
      list[#list + 1] = message
    end
  end
  return #gone > 0 and gone or shown
end

--- The messages as text, the oldest first, as many as fit; a handle stands for the rest.
local function text_of(messages, limit)
  local lines, tokens = {}, 0
  for i, message in ipairs(messages) do
    tokens = tokens + message.tokens
    if limit > 0 and tokens > limit and i > 1 then
      local rest = 0
      for k = i, #messages do rest = rest + messages[k].tokens end
      lines[i] = recall.handle(rest, message.seq, messages[#messages].seq)
      break
    end
    lines[i] = ("%s: %s"):format(message.role or "window", transcript.line(message))
  end
  return table.concat(lines, "\n\n")
end

local OPTIONS = {
  tokens = { type = "integer", default = 0, min = 0, help = "most tokens of the text, at least one message; 0: all" },
}

--- chat:recall(name, options)
---@param chat ebb.Conversation
---@param name string
---@param options? { tokens?: integer }
---@return string? text
---@return ebb.Message[]|ebb.Error messages
function recall.read(chat, name, options)
  if core.type(chat) ~= "Conversation" then refuse("argument", "recall: expected a Conversation") end
  if type(name) ~= "string" then refuse("argument", "recall: a name is expected, not a " .. type(name), HINT) end
  local values = schema.options(OPTIONS, options, "recall", 'chat:recall("r17-42", { tokens = 2000 })')
  local first, last = range_of(name)
  if not first then return nil, core.error("unknown_name", ("no handle has the name '%s'"):format(name), HINT) end
  local messages = messages_of(chat, first, last)
  if #messages == 0 then
    return nil, core.error("absent", ("nothing is stored under '%s'"):format(name),
      "the messages were pruned, or belong to another conversation")
  end
  return text_of(messages, values.tokens), messages
end

---- The tool ----

local DESCRIPTION = "Gives back messages of this conversation that were left out. A text such as "
  .. "[3,120 tokens left out: recall r17-42] says what to ask for."

local PARAMETERS = {
  type = "object", required = core.json.array { "name" },
  properties = { name = { type = "string", description = "the name after the word recall, such as r17-42" } },
}

local TOOLS = {
  openai = { type = "function",
    ["function"] = { name = recall.NAME, description = DESCRIPTION, parameters = PARAMETERS } },
  responses = { type = "function", name = recall.NAME, description = DESCRIPTION, parameters = PARAMETERS },
  anthropic = { name = recall.NAME, description = DESCRIPTION, input_schema = PARAMETERS },
  gemini = { name = recall.NAME, description = DESCRIPTION, parameters = PARAMETERS },
}

--- The definition of the tool, as a request lists it.
---@param dialect? "openai"|"responses"|"anthropic"|"gemini"
---@return table
function recall.tool(dialect)
  return TOOLS[dialect or "openai"]
    or refuse("argument", ("recall.tool: unknown dialect '%s'"):format(tostring(dialect)),
      "dialects are openai, responses, anthropic, gemini")
end

local ANSWER = {
  tokens = { type = "integer", default = recall.TOKENS, min = 1,
    help = "most tokens of each result, at least one message" },
}

--- The calls of the tool in the newest message of the assistant that have no result yet.
local function open_calls(chat)
  local newest = chat:recent("assistant", 1)[1]
  local answered, open = {}, {}
  for i = newest and newest.index + 1 or 1, #chat do
    for _, id in ipairs(parts.answers(chat[i]:totable())) do answered[id] = true end
  end
  for _, call in ipairs(newest and newest.calls or {}) do
    if call.name == recall.NAME and call.id and not answered[call.id] then open[#open + 1] = call end
  end
  return open, newest
end

local function result_of(chat, call, options)
  local arguments = core.json.decode(call.arguments)
  local name = type(arguments) == "table" and arguments.name
  if type(name) ~= "string" then return "error: " .. recall.EXPECTED end
  local text, problem = recall.read(chat, name, options)
  return text or "error: " .. problem.message
end

--- True if a message has its calls as parts, so that results are parts of one user's message.
local function calls_in_parts(message)
  for _, part in ipairs(parts.list(message:totable())) do
    if parts.call_id(part) then return true end
  end
  return false
end

--- The tool's handler: appends the results of its calls in the newest message of the assistant.
---@param chat ebb.Conversation
---@param options? { tokens?: integer }
---@return integer answered
function recall.answer(chat, options)
  if core.type(chat) ~= "Conversation" then refuse("argument", "recall.answer: expected a Conversation") end
  local values = schema.options(ANSWER, options, "recall.answer", "ebb.recall.answer(chat, { tokens = 2000 })")
  local calls, newest = open_calls(chat)
  if #calls == 0 then return 0 end
  local messages, content = {}, core.json.array {}
  for i, call in ipairs(calls) do
    local text = result_of(chat, call, values)
    messages[i] = { role = "tool", tool_call_id = call.id, content = text }
    content[i] = { type = "tool_result", tool_use_id = call.id, content = text }
  end
  chat:append(calls_in_parts(newest) and { { role = "user", content = content } } or messages)
  return #calls
end

return recall
