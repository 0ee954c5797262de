--- Hands each request of a replay to the caller, as it was sent, so that others can check the measures.

local requests = {}

---@class ebb.replay.Requests: ebb.replay.Observer
---@field each? fun(request: ebb.ReplayRequest)
local Requests = {}
Requests.__index = Requests

function requests.prepare(_, settings)
  return { each = settings.requests }
end

function requests.observe(prepared)
  return setmetatable({ each = prepared.each, number = 0 }, Requests)
end

local function bytes_of(chat)
  local list = {}
  for i, message in ipairs(chat) do
    list[i] = (message.json:gsub("[\r\n]", " "))   -- in a string, a newline is an escape
  end
  return list
end

function Requests:request(run, request)
  self.number = self.number + 1
  if not self.each then return end
  self.each {
    policy = run.result.policy, number = self.number, reply = request.position, before = request.before,
    budget = run.result.budget, over = request.over or request.refused, refused = request.refused,
    tokens = request.tokens, messages = not request.refused and bytes_of(run.chat) or nil,
  }
end

function Requests.finish() end

return requests
