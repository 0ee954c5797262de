--- Hands each request of a replay to the caller, as it was sent, so that others can check the measures.

local core = require "ebb.support.core"

local requests = {}

---@class ebb.replay.Requests: ebb.replay.Observer
---@field each? fun(request: ebb.ReplayRequest)
---@field lines table<integer, string>     by seq: JSON on one line of the last request's messages, which changes only
---    where thinking is left out
local Requests = {}
Requests.__index = Requests

function requests.prepare(_, settings)
  return { each = settings.requests }
end

function requests.observe(prepared)
  return setmetatable({ each = prepared.each, number = 0, lines = {} }, Requests)
end

local function line_of(message, lost)
  local json = lost and core.json.encode(message:without "reasoning") or message.json
  return (json:gsub("[\r\n]", " "))   -- in a string, a newline is an escape
end

--- The lines of what is sent; `left` by seq: of those without their thinking.
local function lines_of(self, chat, left)
  local list, lines = {}, {}
  for i, message in ipairs(chat) do
    local seq = message.seq
    lines[seq] = self.lines[seq] or line_of(message, left[seq])
    list[i] = lines[seq]
  end
  self.lines = lines
  return list
end

function Requests:request(run, request)
  self.number = self.number + 1
  for _, seq in ipairs(request.unthought or {}) do
    self.lines[seq] = nil
  end
  if not self.each then return end
  local left = run.thinking and run.thinking.left or {}
  self.each {
    policy = run.result.policy, number = self.number, reply = request.position, before = request.before,
    budget = run.result.budget, over = request.over or request.refused, refused = request.refused,
    tokens = request.tokens, messages = not request.refused and lines_of(self, run.chat, left) or nil,
  }
end

function Requests.finish() end

return requests
