--- One prompt cache, as the requests of a replay meet it.
--
-- Rules without `lookback` keep every beginning of the last request, in steps:
--
--     request before   [ tools and messages that are the same ][ others ]
--     request          [ ............ served .......... ][ . ][ new ... ]
--                                       a multiple of `step`, if `minimum` or more
--
-- Rules with `lookback` keep only the beginnings that a request marked: its head (tools and leading
-- system messages) and its end. A request finds the entry at its head, at the end of the request
-- before, and any other within `lookback` messages of its own end:
--
--     entries          head ....... end ... end ... end
--     request          [ the same as the request before     ][ others ]
--     served           [ ... the last entry in this that is found ... ]
--
-- An entry that is unused for longer than the lifetime is cold. Time is that of the messages; a request
-- without a time comes at the time of the request before.

local cache = {}

---@class ebb.replay.CacheRequest   A request, as the cache sees it
---@field tokens integer         of all of it
---@field shared integer         of these, tokens of the beginning that equals that of the request before
---@field shared_messages integer
---@field messages integer
---@field head integer           tokens before the first message that is not a leading system message
---@field head_messages integer
---@field time? integer          ms

---@class ebb.replay.Cache
---@field rule ebb.CacheRule
---@field time? integer          of the last request, ms
---@field entries { messages: integer, tokens: integer, used?: integer }[]   of marked beginnings, shortest first
---@field last_end? integer      messages of the request before

---@param rule ebb.CacheRule
---@return ebb.replay.Cache
function cache.new(rule)
  return { rule = rule, entries = {} }
end

--- True if so long a time has passed since a use. Unknown times have not passed.
local function is_cold(rule, used, now)
  return used ~= nil and now ~= nil and now - used > 1000 * rule.lifetime
end

local function in_steps(rule, tokens)
  return tokens >= rule.minimum and tokens - tokens % rule.step or 0
end

--- Tokens that the marked beginnings serve; those that are served begin a new lifetime.
local function read_entries(self, request, now)
  local rule, kept, hit = self.rule, {}, 0
  for _, entry in ipairs(self.entries) do
    if entry.messages <= request.shared_messages and not is_cold(rule, entry.used, now) then
      kept[#kept + 1] = entry
      local is_found = entry.messages == request.head_messages or entry.messages == self.last_end
        or request.messages - entry.messages <= rule.lookback
      if is_found then hit = #kept end
    end
  end
  for i = 1, hit do
    kept[i].used = now
  end
  self.entries = kept
  return hit > 0 and kept[hit].tokens or 0
end

--- Keeps a beginning in its place among the others, unless it is there or too short.
local function add_entry(self, messages, tokens, now)
  local entries, at = self.entries, 1
  while entries[at] and entries[at].messages < messages do at = at + 1 end
  if tokens < self.rule.minimum or entries[at] and entries[at].messages == messages then return end
  table.insert(entries, at, { messages = messages, tokens = tokens, used = now })
end

--- Tokens that a request reads from the cache, and those that it writes; the rest is fresh input.
---@param self ebb.replay.Cache
---@param request ebb.replay.CacheRequest
---@return integer read
---@return integer written
function cache.serve(self, request)
  assert(request.shared <= request.tokens and request.head <= request.tokens, "a part is larger than the request")
  local rule, now, read = self.rule, request.time or self.time, 0
  if rule.lookback then
    read = read_entries(self, request, now)
    add_entry(self, request.head_messages, request.head, now)
    add_entry(self, request.messages, request.tokens, now)
  elseif not is_cold(rule, self.time, now) then
    read = in_steps(rule, request.shared)
  end
  self.time, self.last_end = now, request.messages
  local kept = in_steps(rule, request.tokens)
  return read, math.max(0, kept - read)
end

return cache
