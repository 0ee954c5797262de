--- Differences between two lists of messages.
--
-- Messages with an id that both lists have are the same message, wherever they are. All others
-- are equal if their JSON is, whatever its key order and white space. Between two
-- equal messages the rest is paired by role: a removed and an added user message
-- make one changed message.
--
-- Ids decide first: two messages with different ids are never a changed pair.

local lcs = require "ebb.support.lcs"
local core = require "ebb.support.core"

local difference = {}

---@class ebb.Difference
---@field kind "removed"|"added"|"changed"
---@field a? integer            position in the first list; nil when added
---@field b? integer            position in the second; nil when removed
---@field before? ebb.Message
---@field after? ebb.Message
---@field fields? string[]      of a changed one: the fields that differ, sorted
---@field moved? boolean        of a changed one: its id is in another order

---@class ebb.support.Side
---@field list ebb.List
---@field before integer              messages of the list before the first one
---@field texts string[]              canonical JSON
---@field ids table<integer, string>  by place, of messages that have one
---@field roles string[]              "window" for items of windows
---@field by_id table<string, integer>

--- The messages of a list from place `first` to `last`.
local function side_of(list, first, last)
  local texts, ids, roles = core.canonical_messages(list, first, last)
  local by_id = {}
  for i = #texts, 1, -1 do                -- the first one of an id is the one that counts
    if ids[i] then by_id[ids[i]] = i end
  end
  return { list = list, before = first - 1, texts = texts, ids = ids, roles = roles, by_id = by_id }
end

local function message_at(side, i) return side.list[i + side.before] end

--- Returns a key per message; messages with equal keys are the same one. The key is the id if both sides have it, else
--- the text. No JSON text begins with "id".
local function keys_of(side, other)
  local texts, ids, keys = side.texts, side.ids, {}
  if next(ids) == nil then return texts end
  for i = 1, #texts do
    local id = ids[i]
    keys[i] = id and other.by_id[id] and "id " .. id or texts[i]
  end
  return keys
end

--- Same ids that no rising chain holds: for each place in `b` that in `a`, and the reverse.
local function moves_of(a, b, match)
  local from, to, is_taken = {}, {}, {}
  for _, j in pairs(match) do
    is_taken[j] = true
  end
  for id, i in pairs(a.by_id) do
    local j = b.by_id[id]
    if j and not match[i] and not is_taken[j] then from[j], to[i] = i, j end
  end
  return from, to
end

local function has_id(side, places)
  if next(side.ids) == nil then return false end
  for _, i in ipairs(places) do
    if side.ids[i] then return true end
  end
  return false
end

--- Roles to pair by; where both sides have ids, what has one pairs with nothing.
local function roles_of(side, places, by_id, mark)
  local roles = {}
  for n, i in ipairs(places) do
    roles[n] = by_id and side.ids[i] and mark .. n or side.roles[i]
  end
  return roles
end

local function removed_entry(place, message) return { kind = "removed", a = place, before = message } end
local function added_entry(place, message) return { kind = "added", b = place, after = message } end

--- Collects the differences between two sides, before which `skipped` messages are equal.
local function comparison(a, b, skipped)
  local list = {}
  local self = { list = list }

  function self.changed(i, j, moved)
    list[#list + 1] = {
      kind = "changed", a = i + skipped, b = j + skipped, before = message_at(a, i), after = message_at(b, j),
      fields = core.differing_members(a.texts[i], b.texts[j]), moved = moved,
    }
  end

  --- Reports the stretch between two partners: its positions in `a` and in `b`.
  function self.gap(removed, added)
    local match = {}
    if #removed > 0 and #added > 0 then
      local by_id = has_id(a, removed) and has_id(b, added)
      match = lcs.match(roles_of(a, removed, by_id, "-"), roles_of(b, added, by_id, "+"))
    end
    for n, m in lcs.steps(match, #removed, #added) do
      local i, j = removed[n], added[m]
      if i and j then
        self.changed(i, j)
      elseif i then
        list[#list + 1] = removed_entry(i + skipped, message_at(a, i))
      else
        list[#list + 1] = added_entry(j + skipped, message_at(b, j))
      end
    end
  end

  return self
end

--- Messages in one list only, from place `first` to `last`.
local function entries_of(list, first, last, entry)
  local differences = {}
  for place = first, last do
    differences[#differences + 1] = entry(place, list[place])
  end
  return differences
end

--- The differences, in order.
---@param list_a ebb.List
---@param list_b ebb.List
---@return ebb.Difference[]
function difference.compare(list_a, list_b)
  local front, back = core.common_ends(list_a, list_b)
  local last_a, last_b = #list_a - back, #list_b - back
  if last_a == front then return entries_of(list_b, front + 1, last_b, added_entry) end
  if last_b == front then return entries_of(list_a, front + 1, last_a, removed_entry) end
  local a, b = side_of(list_a, front + 1, last_a), side_of(list_b, front + 1, last_b)
  local match = lcs.match(keys_of(a, b), keys_of(b, a))
  local moved_from, moved_to = moves_of(a, b, match)
  local compared = comparison(a, b, front)
  local removed, added = {}, {}
  for i, j in lcs.steps(match, #a.texts, #b.texts) do
    local from = i == 0 and moved_from[j] or i
    if j == 0 then
      if not moved_to[i] then removed[#removed + 1] = i end
    elseif from == 0 then
      added[#added + 1] = j
    else
      compared.gap(removed, added)
      removed, added = {}, {}
      if i == 0 or a.texts[i] ~= b.texts[j] then compared.changed(from, j, i == 0 or nil) end
    end
  end
  compared.gap(removed, added)
  return compared.list
end

return difference
