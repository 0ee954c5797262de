--- Finds many texts in one in a single pass (Aho and Corasick): a state is a beginning of some of them, the longest
--- that the bytes read so far end with.
--
--     he, she, hers        0 -h-> 1 -e-> 2* -r-> 3 -s-> 4*
--                          0 -s-> 5 -h-> 6 -e-> 7*       fail: 6 to 1, 7 to 2
--
-- Only the first PREFIX bytes of long texts are states; the rest is compared wherever these are found.

local matcher = {}

local PREFIX = 64      -- bytes
local CHUNK = 4096     -- bytes that are unpacked at once

---@class ebb.replay.Matcher
---@field next table<integer, integer>    by state << 8 | byte
---@field fail table<integer, integer>
---@field ends table<integer, integer[]>  numbers of the texts whose prefix ends in a state
---@field link table<integer, integer>    the next state on the way of failures in which one ends
---@field depth integer[]
---@field texts string[]

local function add(built, number, text)
  local state = 0
  for i = 1, math.min(#text, PREFIX) do
    local key = state << 8 | text:byte(i)
    local following = built.next[key]
    if not following then
      built.states = built.states + 1
      following = built.states
      built.next[key], built.depth[following] = following, i
      built.order[i] = built.order[i] or {}
      table.insert(built.order[i], { state, text:byte(i), following })
    end
    state = following
  end
  built.ends[state] = built.ends[state] or {}
  table.insert(built.ends[state], number)
end

--- The state after `state` at a byte, by the way of failures.
local function step(built, state, byte)
  while true do
    local following = built.next[state << 8 | byte]
    if following then return following end
    if state == 0 then return 0 end
    state = built.fail[state]
  end
end

--- Failures, level by level: each leads to a level above.
local function connect(built)
  for depth, level in ipairs(built.order) do
    for _, edge in ipairs(level) do
      local parent, byte, state = edge[1], edge[2], edge[3]
      local fail = depth == 1 and 0 or step(built, built.fail[parent], byte)
      built.fail[state] = fail
      built.link[state] = built.ends[fail] and fail or built.link[fail]
    end
  end
  built.order = nil
  return built
end

---@param texts string[]      different ones, none empty
---@return ebb.replay.Matcher
function matcher.new(texts)
  local built = { next = {}, fail = {}, ends = {}, link = {}, depth = {}, order = {}, states = 0, texts = texts }
  for number, text in ipairs(texts) do
    add(built, number, text)
  end
  return connect(built)
end

--- Calls `each` with the texts whose prefix ends at byte `at` of the text.
local function report(built, state, text, at, each)
  local ending = built.ends[state] and state or built.link[state]
  while ending do
    local first = at - built.depth[ending] + 1
    for _, number in ipairs(built.ends[ending]) do
      local wanted = built.texts[number]
      if #wanted <= PREFIX or text:sub(first, first + #wanted - 1) == wanted then each(number, first) end
    end
    ending = built.link[ending]
  end
end

--- Calls each(number, first) for each place where one of the texts begins in `text`.
---@param built ebb.replay.Matcher
---@param text string
---@param each fun(number: integer, first: integer)
function matcher.scan(built, text, each)
  local state, next_of, fail, ends, link = 0, built.next, built.fail, built.ends, built.link
  for start = 1, #text, CHUNK do
    local bytes = { text:byte(start, start + CHUNK - 1) }
    for i = 1, #bytes do
      local byte = bytes[i]
      local following = next_of[state << 8 | byte]
      while not following and state ~= 0 do
        state = fail[state]
        following = next_of[state << 8 | byte]
      end
      state = following or 0
      if ends[state] or link[state] then report(built, state, text, start + i - 1, each) end
    end
  end
end

return matcher
