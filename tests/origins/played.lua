--- Recordings played turn by turn under a policy: every request as it was sent, for recall.py and for specs.
--
--     recording   system user | assistant tool | assistant user | assistant
--     requests                1                2                3
--
-- `lua played.lua SHARE POLICY FILE...` prints what recall.py reads: SHARE of the whole conversation's tokens is the
-- budget, POLICY is written as on the command line.

local core = require "ebb.support.core"
local ebb = require "ebb"
local policies = require "ebb.trim.policies"

local played = {}

local json = ebb.json

local function request_of(chat)
  local messages = {}
  for i = 1, #chat do
    messages[i] = chat[i]:totable()
  end
  return json.array(messages)
end

--- Tokens that a request has in common with the one before, from the beginning on.
local function shared_tokens(chat, last, sent)
  if not last then return 0 end
  local _, tokens = core.common(chat, last.batch, last.length, sent.batch, sent.length)
  return tokens
end

---@class ebb.PlayedRequest
---@field reply integer       position, from 0, of the message of the assistant that answered it
---@field over boolean        all messages before the reply would not have fitted
---@field messages? table     as sent; nil: refused
---@field tokens? integer
---@field shared? integer     tokens that it shares with the request before, from the beginning on

--- Plays a recording; `budget` in tokens, `policy` as in chat:trim.
---@return ebb.PlayedRequest[]
function played.requests(recording, budget, policy)
  local chat, requests, last = core.like(recording), {}, nil
  local whole = chat:tokens()
  for position = 1, #recording do
    local message = recording[position]
    if message.role == "assistant" and #chat > 0 then
      local report, problem = chat:trim { budget = budget, policy = policy }
      local refused = problem and (problem.code == "cannot_fit" or problem.code == "over_budget")
      if problem and not refused then error(problem) end
      local request = { reply = position - 1, over = whole > budget }
      if report then
        local sent = { batch = chat:stats().current_batch_index, length = #chat }
        request.messages, request.tokens = request_of(chat), chat:tokens()
        request.shared = shared_tokens(chat, last, sent)
        last = sent
      end
      requests[#requests + 1] = request
    end
    chat:append(json.raw(message.json))
    whole = whole + chat[#chat].tokens
  end
  return requests, whole
end

---@param path string
---@return ebb.Conversation
function played.load(path, encoding)
  return assert(ebb.load(path, { encoding = encoding or "cjk" }))
end

--- The lines that recall.py reads.
function played.lines(name, recording, requests)
  local messages = {}
  for i = 1, #recording do
    messages[i] = recording[i]:totable()
  end
  local lines = { json.encode { recording = name, messages = json.array(messages) } }
  for _, request in ipairs(requests) do
    lines[#lines + 1] = json.encode { reply = request.reply, over = request.over,
      messages = request.messages or json.null }
  end
  return table.concat(lines, "\n") .. "\n"
end

if arg and (arg[0] or ""):find "played.lua$" then
  local policy = policies.parse_chain(arg[2])
  local encoding = os.getenv "ENCODING"
  for i = 3, #arg do
    local recording = played.load(arg[i], encoding)
    local budget = math.floor(recording:tokens() * tonumber(arg[1]))
    local requests = played.requests(recording, budget, policy)
    local sent, shared = 0, 0
    for _, request in ipairs(requests) do
      sent, shared = sent + (request.tokens or 0), shared + (request.shared or 0)
    end
    io.stderr:write(("%s %d %d %.4f %.1f\n"):format(arg[i]:match "[^/]*$", budget, sent, shared / math.max(sent, 1),
      sent - 0.9 * shared))
    io.write(played.lines(arg[i]:match "[^/]*$", recording, requests))
  end
end

return played
