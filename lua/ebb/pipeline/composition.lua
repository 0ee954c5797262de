--- The composition of a request: a line per message, tokens by source, and what became of the history. The
--- sources and the framing add up to the request's tokens.
--
-- A merged message belongs to all that it was made of: its tokens are shared out by the
-- bytes of their texts.

local core = require "ebb.support.core"

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

--- What a merged message was made of, with the tokens of each; nil for others.
local function sources_of(copy, tokens)
  if not copy or not copy.sources then return nil end
  local shares, list = shares_of(tokens, copy.sources), core.json.array {}
  for i, source in ipairs(copy.sources) do
    list[i] = { source = source.source or "plugin", source_id = source.source_id, seq = source.seq, role = source.role,
      tokens = shares[i] }
  end
  return list
end

--- The messages that are sent. Those inserted by the repair have no working copy.
---@param chat ebb.Conversation         the request
---@param messages ebb.WorkingMessage[] its seqs are places in this list
local function parts_of(chat, messages)
  local parts = {}
  for i, handle in ipairs(chat) do
    local copy = messages[handle.seq]
    parts[i] = {
      role = handle.spelling, source = copy and (copy.source or "plugin") or "repair", tokens = handle.tokens,
      source_id = copy and copy.source_id, seq = copy and copy.seq, text = handle.text,
      sources = sources_of(copy, handle.tokens),
    }
  end
  return parts
end

---@param parts table[]
---@param total integer
local function by_source(parts, total)
  local list, by_name, rest = {}, {}, total
  local function add(source, tokens)
    local share = by_name[source]
    if not share then
      share = { source = source, messages = 0, tokens = 0 }
      by_name[source] = share
      list[#list + 1] = share
    end
    share.messages, share.tokens = share.messages + 1, share.tokens + tokens
  end
  for _, part in ipairs(parts) do
    for _, each in ipairs(part.sources or { part }) do
      add(each.source, each.tokens)
    end
    rest = rest - part.tokens
  end
  list[#list + 1] = { source = "framing and tools", messages = 0, tokens = rest }
  for _, share in ipairs(list) do
    share.share = total > 0 and share.tokens / total or 0
  end
  return list
end

--- What the limiter did to the history, an entry per message; `seq` is the stored message's.
---@param trimmed? { history: ebb.WorkingMessage[], ledger: ebb.Ledger }
---@return ebb.PipelineCut[]
local function cuts_of(trimmed)
  local list, ledger = core.json.array {}, trimmed and trimmed.ledger or {}
  for i = 1, #ledger do
    local entry = ledger[i]
    local message = entry.action ~= "inserted" and trimmed.history[entry.seq] or {}
    list[i] = { action = entry.action, seq = message.origin, role = entry.role, by = entry.by, reason = entry.reason,
      tokens = entry.tokens }
  end
  return list
end

local function data_of_parts(list)
  local parts = core.json.array {}
  for i, part in ipairs(list) do
    parts[i] = { role = part.role, source = part.source, sourceId = part.source_id, seq = part.seq,
      tokens = part.tokens, sources = part.sources and data_of_parts(part.sources) }
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
  parts = function(result) return parts_of(result.chat, result.messages) end,
  shares = function(result) return by_source(result.parts, result.tokens) end,
  ledger = function(result) return cuts_of(result.trimmed) end,
}

--- The __index of results: computes `body`, `parts`, `shares`, `ledger` and, where they are lazy, `messages` on first
--- use.
---@param messages ebb.WorkingMessage[]
---@param request ebb.Conversation     a fork of the result's chat, which nobody else sees
---@return fun(result: ebb.PipelineResult, name: string): any
function composition.measure(messages, request)
  return function(result, name)
    if name == "messages" then
      core.working.fill(messages)
      result.messages = messages
    elseif name == "body" then
      result.body = request:json()
    elseif MEASURES[name] then
      result[name] = MEASURES[name](result)
    end
    return rawget(result, name)
  end
end

return composition
