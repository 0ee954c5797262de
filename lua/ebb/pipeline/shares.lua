--- What a request is made of: a line per message, and tokens by source. The sources
--- and the framing add up to the request's tokens.

local shares = {}

--- The messages that are sent. What mending put in has no working copy.
---@param chat ebb.Conversation         the request
---@param messages ebb.WorkingMessage[] its seqs are places in this list
function shares.parts(chat, messages)
  local parts = {}
  for i, handle in ipairs(chat) do
    local copy = messages[handle.seq]
    parts[i] = {
      role = handle.spelling, source = copy and (copy.source or "plugin") or "repair", source_id = copy and copy.source_id,
      seq = copy and copy.seq, tokens = handle.tokens, text = handle.text,
    }
  end
  return parts
end

---@param parts table[]
---@param total integer
function shares.by_source(parts, total)
  local list, by_name, left = {}, {}, total
  for _, part in ipairs(parts) do
    local share = by_name[part.source]
    if not share then
      share = { source = part.source, messages = 0, tokens = 0 }
      by_name[part.source] = share
      list[#list + 1] = share
    end
    share.messages, share.tokens = share.messages + 1, share.tokens + part.tokens
    left = left - part.tokens
  end
  list[#list + 1] = { source = "framing and tools", messages = 0, tokens = left }
  for _, share in ipairs(list) do
    share.share = total > 0 and share.tokens / total or 0
  end
  return list
end

return shares
