--- Hands each request of a replay to the caller, as it was sent, so that others can check the measures.

local requests = {}

---@class ebb.replay.Requests: ebb.replay.Observer
---@field each? fun(request: ebb.ReplayRequest)
---@field lines table<integer, string>     by seq: JSON on one line of the last request's messages, which never changes
local Requests = {}
Requests.__index = Requests

function requests.prepare(_, settings)
  return { each = settings.requests }
end

function requests.observe(prepared)
  return setmetatable({ each = prepared.each, number = 0, lines = {} }, Requests)
end

local function line_of(message)
  return (message.json:gsub("[\r\n]", " "))   -- in a string, a newline is an escape
end

local function lines_of(self, chat)
  local list, lines = {}, {}
  for i, message in ipairs(chat) do
    local seq = message.seq
    lines[seq] = self.lines[seq] or line_of(message)
    list[i] = lines[seq]
  end
  self.lines = lines
  return list
end

function Requests:request(run, request)
  self.number = self.number + 1
  if not self.each then return end
  self.each {
    policy = run.result.policy, number = self.number, reply = request.position, before = request.before,
    budget = run.result.budget, over = request.over or request.refused, refused = request.refused,
    tokens = request.tokens, messages = not request.refused and lines_of(self, run.chat) or nil,
  }
end

function Requests.finish() end

return requests
