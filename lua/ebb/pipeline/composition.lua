--- The composition of a request: a line per message, and tokens by source. The sources
--- and the framing add up to the request's tokens.

local composition = {}

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
    }
  end
  return parts
end

---@param parts table[]
---@param total integer
local function by_source(parts, total)
  local list, by_name, rest = {}, {}, total
  for _, part in ipairs(parts) do
    local share = by_name[part.source]
    if not share then
      share = { source = part.source, messages = 0, tokens = 0 }
      by_name[part.source] = share
      list[#list + 1] = share
    end
    share.messages, share.tokens = share.messages + 1, share.tokens + part.tokens
    rest = rest - part.tokens
  end
  list[#list + 1] = { source = "framing and tools", messages = 0, tokens = rest }
  for _, share in ipairs(list) do
    share.share = total > 0 and share.tokens / total or 0
  end
  return list
end

--- Computes `parts` or `shares` of a result on first use: the __index of results.
---@param result ebb.PipelineResult
---@param name string
function composition.measure(result, name)
  if name == "parts" then
    result.parts = parts_of(result.chat, result.messages)
    return result.parts
  elseif name == "shares" then
    result.shares = by_source(result.parts, result.tokens)
    return result.shares
  end
end

return composition
