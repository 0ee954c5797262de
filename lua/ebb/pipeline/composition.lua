--- The composition of a request: a line per message, tokens by source, and what became of the history. The
--- sources and the framing add up to the request's tokens.
--
-- A merged message belongs to all that it was made of: its tokens are shared out by the
-- bytes of their texts. So does one that the target's form makes of several, and the system text of Anthropic, Gemini
-- and Responses, which is outside the messages.

local body = require "ebb.request.body"
local content = require "ebb.processors.content"
local core = require "ebb.support.core"
local requests = require "ebb.request"

local composition = {}

--- The tokens of a message for each of its sources, in their order: whole numbers that add up.
---@param tokens integer
---@param sources ebb.MergedSource[]
---@return integer[]
local function shares_of(tokens, sources)
  local whole, bytes, total, shares = 0, 0, 0, {}
  for _, source in ipairs(sources) do
    whole = whole + source.bytes
  end
  for i, source in ipairs(sources) do
    bytes = bytes + source.bytes
    local up_to = i == #sources and tokens or whole > 0 and tokens * bytes // whole or 0
    shares[i], total = up_to - total, up_to
  end
  return shares
end

--- Returns the bytes of a message's texts and calls.
local function bytes_of(copy)
  local bytes = type(copy.content) == "string" and #copy.content or 0
  for _, part in ipairs(type(copy.content) == "table" and copy.content or {}) do
    if type(part) == "table" and type(part.text) == "string" then bytes = bytes + #part.text end
  end
  for _, call in ipairs(type(copy.tool_calls) == "table" and copy.tool_calls or {}) do
    local called = type(call) == "table" and call["function"]
    local arguments = type(called) == "table" and called.arguments
    bytes = bytes + (type(arguments) == "string" and #arguments or 0)
  end
  return bytes
end

--- Adds the sources that a working copy was made of.
---@param list ebb.MergedSource[]
local function add_sources(list, copy)
  if copy.sources then return table.move(copy.sources, 1, #copy.sources, #list + 1, list) end
  list[#list + 1] = { source = copy.source, source_id = copy.source_id, seq = copy.seq, role = copy.role,
    bytes = bytes_of(copy) }
end

--- The tokens of each source, as they are shown.
local function shown_sources(sources, tokens)
  local shares, list = shares_of(tokens, sources), core.json.array {}
  for i, source in ipairs(sources) do
    list[i] = { source = source.source or "plugin", source_id = source.source_id, seq = source.seq, role = source.role,
      tokens = shares[i] }
  end
  return list
end

---@class ebb.pipeline.Making     How a request was made of the messages that the last step left
---@field messages ebb.WorkingMessage[]
---@field origins? integer[]    {first, last ..}: which of them each message of the request is made of; nil: of its own
---@field weigh fun(text: string): integer    the tokens of a body
---@field own_system integer    bytes of system texts that the body had outside its messages
---@field dialect ebb.Dialect

--- A line of the composition: of a message, or of the system texts, that these working copies make.
local function part_of(role, tokens, text, copies)
  local sources = {}
  for _, copy in ipairs(copies) do add_sources(sources, copy) end
  local first, is_one = copies[1], #sources == 1
  return {
    role = role, tokens = tokens, text = text, seq = is_one and first.seq or nil,
    source = not first and "repair" or is_one and (first.source or "plugin") or "merged",
    source_id = is_one and first.source_id or nil, sources = #sources > 1 and shown_sources(sources, tokens) or nil,
  }
end

--- The system texts that the body had outside its messages, as a working copy.
local function own_system(making)
  local source = { source = "body", role = "system", bytes = making.own_system }
  return { role = "system", source = "body", sources = { source } }
end

--- The working copies of message number `seq` of the request; none for one that the repair has inserted.
local function copies_of(making, seq)
  local origins = making.origins
  if not origins then return { making.messages[seq] } end
  local first, last = origins[2 * seq - 1], origins[2 * seq]
  if not first then return {} end
  if first == 0 then return { own_system(making) } end
  return table.move(making.messages, first, last, 1, {})
end

--- System messages that are outside the messages of the request: those of which none of them is made.
local function beside(making)
  local is_used, list = {}, {}
  for i = 1, #(making.origins or {}), 2 do
    for position = making.origins[i], making.origins[i + 1] do is_used[position] = true end
  end
  for i, copy in ipairs(making.origins and making.messages or {}) do
    if not is_used[i] and content.is_system(copy) then list[#list + 1] = copy end
  end
  if making.own_system > 0 then table.insert(list, 1, own_system(making)) end
  return list
end

--- The line of the system texts that a dialect has outside its messages; nil without any.
local function system_part(chat, making)
  local around = body.around(chat)
  local rest, text = requests.without_system(around, making.dialect)
  if not rest then return nil end
  return part_of("system", making.weigh(around) - making.weigh(rest), text, beside(making))
end

--- Lists what is sent: the system texts outside the messages first, then each message with its number.
---@param chat ebb.Conversation         the request
---@param making ebb.pipeline.Making
local function parts_of(chat, making)
  local parts = { system_part(chat, making) }
  for i, handle in ipairs(chat) do
    local part = part_of(handle.spelling, handle.tokens, handle.text, copies_of(making, handle.seq))
    part.message = i
    parts[#parts + 1] = part
  end
  return parts
end

---@param parts table[]
---@param total integer
local function by_source(parts, total)
  local list, by_name, last_of, rest = {}, {}, {}, total
  local function add(part, source, tokens)
    local share = by_name[source]
    if not share then
      share = { source = source, messages = 0, tokens = 0 }
      by_name[source] = share
      list[#list + 1] = share
    end
    if last_of[source] ~= part then share.messages = share.messages + 1 end
    last_of[source], share.tokens = part, share.tokens + tokens
  end
  for _, part in ipairs(parts) do
    for _, each in ipairs(part.sources or { part }) do
      add(part, each.source, each.tokens)
    end
    rest = rest - part.tokens
  end
  list[#list + 1] = { source = "framing and tools", messages = 0, tokens = rest }
  for _, share in ipairs(list) do
    share.share = total > 0 and share.tokens / total or 0
  end
  return list
end

--- Lists what the limiter did to the history, an entry per message; `seq` is the stored message's.
---@param trimmed? { history: ebb.WorkingMessage[], ledger: ebb.Ledger }
---@return ebb.PipelineCut[]
local function cuts_of(trimmed)
  local list, ledger = core.json.array {}, trimmed and trimmed.ledger or {}
  for i = 1, #ledger do
    local entry = ledger[i]
    local message = entry.action ~= "inserted" and trimmed.history[entry.seq] or {}
    list[i] = { action = entry.action, seq = message.origin, role = entry.role, by = entry.by, reason = entry.reason,
      tokens = entry.tokens, text = entry.text, left = entry.left }
  end
  return list
end

local function data_of_parts(list)
  local parts = core.json.array {}
  for i, part in ipairs(list) do
    parts[i] = { role = part.role, message = part.message, source = part.source, sourceId = part.source_id,
      seq = part.seq, tokens = part.tokens, sources = part.sources and data_of_parts(part.sources) }
  end
  return parts
end

--- A result as plain data, its names in camelCase, without the messages.
---@param result ebb.PipelineResult
---@return { summary: table, parts: table[], ledger: ebb.PipelineCut[], logs: ebb.LogEntry[] }
function composition.data(result)
  local array = core.json.array
  return {
    summary = {
      tokens = result.tokens, trust = result.trust, budget = result.budget, dialect = result.dialect,
      shares = array(result.shares), skipped = array(result.skipped), unasked = array(result.unasked),
      losses = array(result.losses), variables = result.variables,
    },
    parts = data_of_parts(result.parts), ledger = result.ledger, logs = array(result.logs),
  }
end

local MEASURES = {
  parts = function(result, making) return parts_of(result.chat, making) end,
  shares = function(result) return by_source(result.parts, result.tokens) end,
  ledger = function(result) return cuts_of(result.trimmed) end,
}

--- The __index of results: computes `body`, `parts`, `shares`, `ledger` and, where they are lazy, `messages` on first
--- use.
---@param making ebb.pipeline.Making
---@param request ebb.Conversation     a fork of the result's chat, which nobody else sees
---@return fun(result: ebb.PipelineResult, name: string): any
function composition.measure(making, request)
  return function(result, name)
    if name == "messages" then
      core.working.fill(making.messages)
      result.messages = making.messages
    elseif name == "body" then
      result.body = request:json()
    elseif MEASURES[name] then
      result[name] = MEASURES[name](result, making)
    end
    return rawget(result, name)
  end
end

return composition
