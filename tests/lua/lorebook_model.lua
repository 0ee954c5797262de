--- An independent model of lorebook activation, for tests: it joins what an entry sees into one text and searches
--- that for every key of every entry, in every sweep. Plain keys of ASCII only.

local model = {}

--- The text in which an entry's keys are searched, with a byte 1 before each piece.
local function buffer(world, entry, sweep)
  local depth = (entry.scanDepth or world.settings.scan_depth) + (entry.scanDepth and 0 or world.more)
  local pieces = {}
  for back = 0, depth - 1 do
    local text = world.messages[#world.messages - back]
    if text then pieces[#pieces + 1] = text end
  end
  if sweep ~= "widening" and world.settings.recursive then
    for _, text in ipairs(world.recursed) do pieces[#pieces + 1] = text end
  end
  return "\1" .. table.concat(pieces, "\n\1")
end

local function has(text, key, entry)
  if not entry.caseSensitive then text, key = text:lower(), key:lower() end
  local is_word = entry.wholeWords and not key:find "%s"
  local at = 1
  while true do
    local first, last = text:find(key, at, true)
    if not first then return false end
    local before, after = text:sub(first - 1, first - 1), text:sub(last + 1, last + 1)
    if not is_word or not before:find "^[%w_]" and not after:find "^[%w_]" then return true end
    at = first + 1
  end
end

local function matching(text, keys, entry)
  local n = 0
  for _, key in ipairs(keys) do
    if has(text, key, entry) then n = n + 1 end
  end
  return n
end

local function keys_match(text, entry)
  if matching(text, entry.keys, entry) == 0 then return false end
  local all = #entry.secondaryKeys
  if all == 0 then return true end
  local n = matching(text, entry.secondaryKeys, entry)
  if entry.logic == "and_any" then return n > 0 end
  if entry.logic == "and_all" then return n == all end
  if entry.logic == "not_any" then return n == 0 end
  return n < all
end

local function score(text, entry)
  if #entry.keys == 0 then return 0 end
  local primary, secondary = matching(text, entry.keys, entry), matching(text, entry.secondaryKeys, entry)
  if entry.logic == "and_any" then return primary + secondary end
  if entry.logic == "and_all" and #entry.secondaryKeys > 0 and secondary == #entry.secondaryKeys then
    return primary + secondary
  end
  return primary
end

local function activates(world, entry, sweep)
  local sticky, n = world.sticky[entry], #world.messages
  if n < entry.delay then return false end
  if world.resting[entry] and not sticky then return false end
  if not sticky then
    if sweep ~= "recursion" and entry.delayUntilRecursion > 0 then return false end
    if sweep == "recursion" and entry.delayUntilRecursion > world.level then return false end
    if sweep == "recursion" and world.settings.recursive and entry.excludeRecursion then return false end
  end
  if entry.constant or sticky then return true end
  return keys_match(buffer(world, entry, sweep), entry)
end

local function without(list, entry)
  for i, each in ipairs(list) do
    if each == entry then return table.remove(list, i) end
  end
end

local function in_group(entry, name)
  for _, each in ipairs(entry.groups) do
    if each == name then return true end
  end
end

--- Names of groups in the order of their first members.
local function group_names(list)
  local names, seen = {}, {}
  for _, entry in ipairs(list) do
    for _, name in ipairs(entry.groups) do
      if not seen[name] then names[#names + 1], seen[name] = name, true end
    end
  end
  return names
end

local function members(list, name)
  local result = {}
  for _, entry in ipairs(list) do
    if in_group(entry, name) then result[#result + 1] = entry end
  end
  return result
end

local function filter_groups(world, list, sweep)
  local names, has_sticky, whole = group_names(list), {}, { table.unpack(list) }
  for _, name in ipairs(names) do
    for _, entry in ipairs(members(whole, name)) do has_sticky[name] = has_sticky[name] or world.sticky[entry] end
    for _, entry in ipairs(has_sticky[name] and members(whole, name) or {}) do
      if not world.sticky[entry] then without(list, entry) end
    end
  end
  for _, name in ipairs(names) do
    local group, best = members(list, name), 0
    if not has_sticky[name] and world.settings.group_scoring then
      for _, entry in ipairs(group) do best = math.max(best, score(buffer(world, entry, sweep), entry)) end
      for _, entry in ipairs(group) do
        if score(buffer(world, entry, sweep), entry) < best then without(list, entry) end
      end
    end
  end
  for _, name in ipairs(names) do
    local group = members(list, name)
    local used = #members(world.active, name) > 0
    local winner
    if has_sticky[name] then goto continue end
    if used then
      for _, entry in ipairs(group) do without(list, entry) end
    elseif #group > 1 then
      for _, entry in ipairs(group) do
        if entry.groupPriority and (not winner or entry.order > winner.order) then winner = entry end
      end
      if not winner then
        local total, sum = 0, 0
        for _, entry in ipairs(group) do total = total + entry.groupWeight end
        local roll = world.random("group " .. name) * total
        for _, entry in ipairs(group) do
          sum = sum + entry.groupWeight
          if not winner and roll <= sum then winner = entry end
        end
      end
      for _, entry in ipairs(group) do
        if entry ~= winner then without(list, entry) end
      end
    end
    ::continue::
  end
end

local function one_sweep(world, sweep)
  local now, rest = {}, {}
  for _, entry in ipairs(world.entries) do
    if entry.enabled and not world.done[entry] and activates(world, entry, sweep) then
      table.insert(world.sticky[entry] and now or rest, entry)
    end
  end
  for _, entry in ipairs(rest) do now[#now + 1] = entry end
  filter_groups(world, now, sweep)
  local contents = {}
  for _, entry in ipairs(now) do
    local passes = entry.probability == 100 or world.sticky[entry]
      or entry.probability > 0 and world.random("entry b/" .. entry.id) * 100 <= entry.probability
    if not passes then
      world.done[entry] = true
    else
      local tokens = world.count(entry.content .. "\n")
      if not entry.ignoreBudget and (world.full or world.tokens + tokens >= world.budget) then
        world.full = true
      else
        world.tokens = world.tokens + tokens
        world.done[entry] = true
        world.active[#world.active + 1] = entry
        if not entry.preventRecursion then contents[#contents + 1] = entry.content end
      end
    end
  end
  return contents
end

--- The ids of active entries in the order of their activation.
---@param world table   entries (sorted), messages, settings, sticky, resting, budget, count, random
function model.run(world)
  world.done, world.active, world.recursed, world.more, world.tokens, world.full = {}, {}, {}, 0, 0, false
  local levels, seen, settings = {}, {}, world.settings
  for _, entry in ipairs(world.entries) do
    local level = entry.delayUntilRecursion
    if entry.enabled and level > 0 and not seen[level] then levels[#levels + 1], seen[level] = level, true end
  end
  table.sort(levels)
  world.level = table.remove(levels, 1) or 0
  local sweep, steps = "first", 0
  while sweep and not (settings.max_steps > 0 and steps >= settings.max_steps) do
    steps = steps + 1
    local contents = one_sweep(world, sweep)
    local following
    if settings.recursive and not world.full and (#contents > 0 or sweep == "widening" and #world.recursed > 0) then
      following = "recursion"
    elseif settings.min_activations > 0 and settings.max_steps == 0 and not world.full
      and #world.active < settings.min_activations and settings.scan_depth + world.more <= #world.messages
      and not (settings.min_depth_max > 0 and settings.scan_depth + world.more > settings.min_depth_max) then
      following, world.more = "widening", world.more + 1
    elseif levels[1] then
      following, world.level = "recursion", table.remove(levels, 1)
    end
    if following and #contents > 0 then world.recursed[#world.recursed + 1] = table.concat(contents, "\n") end
    sweep = following
  end
  local ids = {}
  for i, entry in ipairs(world.active) do ids[i] = entry.id end
  return ids
end

return model
