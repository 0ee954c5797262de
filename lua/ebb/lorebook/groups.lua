--- Inclusion groups: of all entries of a group that are activated in one sweep, one is used.
--
-- In each group, in the order of their names' first entries: an entry that is sticky wins; else only those with the
-- highest score stay, where scoring is on; a group that has an active entry takes no other; else the entry with
-- groupPriority and the highest order wins; else a draw by weight decides.

local groups = {}

--- The groups of a sweep's entries: { name, members } in the order of first members.
local function groups_of(entries)
  local list, by_name = {}, {}
  for _, entry in ipairs(entries) do
    for _, name in ipairs(entry.groups) do
      if not by_name[name] then
        by_name[name] = { name = name, members = {} }
        list[#list + 1] = by_name[name]
      end
      table.insert(by_name[name].members, entry)
    end
  end
  return list
end

--- The members that no other group has removed.
local function remaining(group, removed)
  local list = {}
  for _, entry in ipairs(group.members) do
    if not removed[entry] then list[#list + 1] = entry end
  end
  return list
end

local function remove_all_but(members, removed, keeps)
  for _, entry in ipairs(members) do
    if not keeps(entry) then removed[entry] = true end
  end
end

local function keep_sticky(group, sweep)
  local any = false
  for _, entry in ipairs(group.members) do any = any or sweep.is_sticky(entry) end
  if any then remove_all_but(group.members, sweep.removed, sweep.is_sticky) end
  return any
end

--- Removes those whose scores are below the highest, where they are scored.
local function keep_best(group, sweep)
  local members = remaining(group, sweep.removed)
  local wanted, best, scores = sweep.scoring, 0, {}
  for _, entry in ipairs(members) do wanted = wanted or entry.groupScoring end
  if not wanted then return end
  for i, entry in ipairs(members) do
    scores[i] = sweep.score(entry)
    best = math.max(best, scores[i])
  end
  for i, entry in ipairs(members) do
    local is_scored = entry.groupScoring
    if is_scored == nil then is_scored = sweep.scoring end
    if is_scored and scores[i] < best then sweep.removed[entry] = true end
  end
end

local function by_priority(members)
  local winner
  for _, entry in ipairs(members) do
    if entry.groupPriority and (not winner or entry.order > winner.order) then winner = entry end
  end
  return winner
end

--- The member on which a draw falls; `random` is from 0 to below 1.
local function by_weight(members, random)
  local total, sum = 0, 0
  for _, entry in ipairs(members) do total = total + entry.groupWeight end
  for _, entry in ipairs(members) do
    sum = sum + entry.groupWeight
    if random * total <= sum then return entry end
  end
  return members[#members]
end

local function choose(group, sweep)
  local members = remaining(group, sweep.removed)
  if sweep.is_used(group.name) then
    return remove_all_but(members, sweep.removed, function() return false end)
  end
  if #members < 2 then return end
  local winner = by_priority(members) or by_weight(members, sweep.random("group " .. group.name))
  remove_all_but(members, sweep.removed, function(entry) return entry == winner end)
end

---@class ebb.LorebookSweep
---@field is_sticky fun(entry: ebb.LorebookEntry): boolean
---@field is_used fun(group: string): boolean      an active entry has it
---@field score fun(entry: ebb.LorebookEntry): integer   keys that occur
---@field random fun(what: string): number
---@field scoring boolean

--- The entries that their groups leave.
---@param entries ebb.LorebookEntry[]
---@param sweep ebb.LorebookSweep
---@return ebb.LorebookEntry[]
function groups.filter(entries, sweep)
  local list = groups_of(entries)
  if #list == 0 then return entries end
  sweep.removed = {}
  local has_sticky = {}
  for _, group in ipairs(list) do has_sticky[group] = keep_sticky(group, sweep) end
  for _, group in ipairs(list) do
    if not has_sticky[group] then keep_best(group, sweep) end
  end
  for _, group in ipairs(list) do
    if not has_sticky[group] then choose(group, sweep) end
  end
  return remaining({ members = entries }, sweep.removed)
end

return groups
