--- Longest common subsequence: which items of two lists belong together, in order.
--
-- It is the longest chain of pairs (i, j) of equal keys in which both numbers rise:
--
--     a:  s u a u a      pairs   1-1  2-3  3-2  3-5  4-3  5-2  5-5
--     b:  s a u x a      chain   1-1  3-2  4-3  5-5
--
-- `ends[n]` is the smallest j at which a chain of n pairs ends, so each pair
-- finds its place by halving: O(p log n) for p pairs. What both lists begin and
-- end with is taken off first; lists with few differences leave few pairs.
--
-- A key that occurs p times here and q times there makes p * q pairs. Beyond
-- PAIRS_MAX only pairs of about the same rank are looked at: the chain is a
-- common subsequence still, but perhaps not the longest.

local lcs = {}

local PAIRS_MAX = 4096   -- of one key
local REACH = 32         -- ranks to both sides, beyond that

--- Counts each key in list[first..last].
local function counts_of(list, first, last)
  local counts = {}
  for i = first, last do
    counts[list[i]] = (counts[list[i]] or 0) + 1
  end
  return counts
end

--- Places of each key in list[first..last], rising; of the keys of `among` only.
local function places_of(list, first, last, among)
  local places = {}
  for i = first, last do
    local key = list[i]
    local list_of_key = places[key]
    if list_of_key then
      list_of_key[#list_of_key + 1] = i
    elseif among[key] then
      places[key] = { i }
    end
  end
  return places
end

--- Returns the first and last of q places in b that the `rank`-th of p places in a is paired with.
local function reach(rank, p, q)
  if p * q <= PAIRS_MAX then return 1, q end
  local middle = rank * q // p
  return math.max(1, middle - REACH), math.min(q, middle + REACH)
end

--- The length of the shortest chain that ends at j or later; one more than there are if none does.
local function chain_ending_at(ends, j)
  local low, high = 1, #ends + 1
  while low < high do
    local middle = (low + high) // 2
    if ends[middle] < j then low = middle + 1 else high = middle end
  end
  return low
end

--- All pairs in order of i, each linked to the pair before it in its chain.
---@return table? last      pair of the longest chain: {i, j, before}
local function longest_chain(a, first, last, in_a, in_b)
  local ends, tails, rank = {}, {}, {}
  for i = first, last do
    local key = a[i]
    local js = in_b[key]
    if js then
      rank[key] = (rank[key] or 0) + 1
      local low, high = reach(rank[key], in_a[key], #js)
      for n = high, low, -1 do   -- the largest j first, so that no chain takes two pairs of this i
        local length = chain_ending_at(ends, js[n])
        ends[length], tails[length] = js[n], { i, js[n], tails[length - 1] }
      end
    end
  end
  return tails[#tails]
end

--- For each place in `a` that has a partner, its place in `b`.
---@param a any[]      keys; equal ones belong together
---@param b any[]
---@return table<integer, integer>
function lcs.match(a, b)
  local match = {}
  local first, last_a, last_b = 1, #a, #b
  while first <= last_a and first <= last_b and a[first] == b[first] do
    match[first], first = first, first + 1
  end
  while last_a >= first and last_b >= first and a[last_a] == b[last_b] do
    match[last_a], last_a, last_b = last_b, last_a - 1, last_b - 1
  end
  if last_a < first or last_b < first then return match end
  local in_a = counts_of(a, first, last_a)
  local pair = longest_chain(a, first, last_a, in_a, places_of(b, first, last_b, in_a))
  while pair do
    match[pair[1]], pair = pair[2], pair[3]
  end
  return match
end

--- Walks both lists at once: (i, j) for partners, (i, 0) and (0, j) for what
--- is in one list only, that of `a` before that of `b`.
---@param match table<integer, integer>
---@param size_a integer
---@param size_b integer
---@return fun(): integer?, integer?
function lcs.steps(match, size_a, size_b)
  local i, j = 1, 1
  return function()
    if i <= size_a and not match[i] then
      i = i + 1
      return i - 1, 0
    elseif j <= size_b and j ~= match[i] then
      j = j + 1
      return 0, j - 1
    elseif i <= size_a then
      i, j = i + 1, j + 1
      return i - 1, j - 1
    end
  end
end

return lcs
