--- Activates the entries for a request: sweeps over candidates until nothing more is activated.
--
--     first sweep     by messages, constants, sticky entries
--     recursion       by the contents of what the sweep before activated; one level of delayed entries after the other
--     widening        one message more, while fewer than `min_activations` are active
--
-- In each sweep: conditions, then groups, then the draw of the probability, then the budget of tokens, for sticky
-- entries first and then in the order of the list. A draw depends on the run's seed and the entry only, so a preview
-- and a repeated run draw the same; an entry that lost a draw stays out of the run.

local groups = require "ebb.lorebook.groups"

local activation = {}

local FIRST, RECURSION, WIDENING = "first", "recursion", "widening"

---@class ebb.LorebookRun
---@field list ebb.LorebookEntry[]      in the order in which they are tried
---@field index ebb.LorebookKeys
---@field always integer[]              places of constants and the like
---@field levels integer[]              of delayed entries, rising
---@field view ebb.LorebookView
---@field timers ebb.LorebookTimers
---@field settings table
---@field facts table                   messages, replies, agent, tags, trigger, greeting
---@field budget number                 tokens
---@field count fun(text: string): integer
---@field random fun(what: string): number
---@field expand fun(text: string, entry: ebb.LorebookEntry): string
---@field check fun()                   raises if the run's time is used up
---@field log fun(level: string, message: string)
local Run = {}
Run.__index = Run

-- ---- which may be active at all ----

local function contains(list, value)
  for _, each in ipairs(list) do
    if each == value then return true end
  end
  return false
end

local function fits_agent(entry, facts)
  local filter = entry.characters
  if not filter then return true end
  if #filter.names > 0 and contains(filter.names, facts.agent) == filter.exclude then return false end
  if #filter.tags == 0 then return true end
  local has_tag = false
  for _, tag in ipairs(facts.tags) do has_tag = has_tag or contains(filter.tags, tag) end
  return has_tag ~= filter.exclude
end

local function fits_count(entry, facts)
  if facts.messages < entry.delay then return false end
  if entry.replies_min and facts.replies < entry.replies_min then return false end
  if entry.replies_every and facts.replies % entry.replies_every ~= 0 then return false end
  return not (entry.greeting and facts.greeting and entry.greeting ~= facts.greeting)
end

--- Conditions of the sweep: recursion that is delayed, or excluded.
local function fits_sweep(self, entry, is_sticky)
  if is_sticky then return true end
  local level = entry.delayUntilRecursion
  if self.sweep ~= RECURSION then return level == 0 end
  return level <= self.level and not (entry.excludeRecursion and entry.recursive)
end

--- True if the entry is activated in this sweep.
local function is_activated(self, entry)
  local facts, timers = self.facts, self.timers
  if #entry.triggers > 0 and not contains(entry.triggers, facts.trigger) then return false end
  local is_sticky = timers.sticky[entry] or false
  if not fits_agent(entry, facts) or not fits_count(entry, facts) then return false end
  if timers.resting[entry] and not is_sticky or not fits_sweep(self, entry, is_sticky) then return false end
  if entry.always or entry.keep_after_match and timers.matched[entry] then return true end
  if entry.never or entry.never_after_match and timers.matched[entry] then return false end
  if entry.constant and not entry.useRegex or is_sticky then return true end
  return self.view:matches(entry)
end

-- ---- candidates ----

local function add_candidate(self, place)
  if self.is_candidate[place] then return end
  self.is_candidate[place], self.sorted = true, false
  self.candidates[#self.candidates + 1] = place
end

local function add_users(self, key)
  local places = self.index.uses[key]
  if type(places) == "table" then
    for _, place in ipairs(places) do add_candidate(self, place) end
  elseif places > 0 then   -- 0: only secondary keys have it
    add_candidate(self, places)
  end
end

--- All that keys near enough, texts of the agent, timers or nothing at all could activate.
local function find_candidates(self)
  local view = self.view
  for _, list in ipairs { self.always, self.index.regex } do
    for _, place in ipairs(list) do add_candidate(self, place) end
  end
  for _, place in ipairs(self.timers.places) do
    local entry = self.list[place]
    if self.timers.sticky[entry] or self.timers.matched[entry] then add_candidate(self, place) end
  end
  local count, more = view.count, self.widest
  for key, at in pairs(view.last) do
    if at > count - self.index.reach[key] - more then add_users(self, key) end
  end
  for key in pairs(view.in_notes) do add_users(self, key) end
  for _, marks in pairs(view.in_sources) do
    for key in pairs(marks) do add_users(self, key) end
  end
end

--- The candidates that nothing has been decided about, in the order of the list.
local function open_candidates(self)
  if not self.sorted then
    table.sort(self.candidates)
    self.sorted = true
  end
  local open, rest = {}, {}
  for _, place in ipairs(self.candidates) do
    local entry = self.list[place]
    if not self.decided[entry] then
      open[#open + 1], rest[#rest + 1] = entry, place
    end
  end
  self.candidates = rest
  return open
end

-- ---- one sweep ----

--- Sticky ones first; those that give way to a full context last.
local function in_turn(self, entries)
  local turns = { {}, {}, {} }
  for _, entry in ipairs(entries) do
    table.insert(turns[self.timers.sticky[entry] and 1 or entry.drops_first and 3 or 2], entry)
  end
  local result = turns[1]
  for i = 2, 3 do table.move(turns[i], 1, #turns[i], #result + 1, result) end
  return result
end

local function passes_draw(self, entry)
  if entry.probability == 100 or self.timers.sticky[entry] then return true end
  if entry.probability > 0 and self.random("entry " .. entry.book.id .. "/" .. entry.id) * 100 <= entry.probability then
    return true
  end
  self.decided[entry] = "probability"
  return false
end

--- True if the entry's tokens are within the budget of the run.
local function fits_budget(self, entry, tokens)
  if entry.ignoreBudget then return true end
  if self.overflowed then return false end
  if self.tokens + tokens < self.budget then return true end
  self.overflowed = true
  self.log("warn", ("%s: its %d tokens go over the budget of %d; no more entries are used"):format(entry.title, tokens,
    math.floor(self.budget)))
  return false
end

local function take(self, entry)
  if not passes_draw(self, entry) then return end
  local text, search_text = self.expand(entry)
  local tokens = self.count(text .. "\n")
  if not fits_budget(self, entry, tokens) then return end
  self.tokens = self.tokens + tokens
  self.decided[entry] = "active"
  self.active[#self.active + 1] = { entry = entry, content = text, search_text = search_text, tokens = tokens }
  for _, name in ipairs(entry.groups) do self.used_groups[name] = true end
end

--- Activates what the sweep's conditions let through. Returns the number of the first new active one.
local function sweep(self)
  local first, activated = #self.active + 1, {}
  for _, entry in ipairs(open_candidates(self)) do
    self.check()
    if is_activated(self, entry) then activated[#activated + 1] = entry end
  end
  local kept = groups.filter(in_turn(self, activated), {
    is_sticky = function(entry) return self.timers.sticky[entry] end,
    is_used = function(name) return self.used_groups[name] end,
    score = function(entry) return self.view:score(entry) end,
    random = self.random, scoring = self.settings.group_scoring,
  })
  for _, entry in ipairs(kept) do take(self, entry) end
  return first
end

-- ---- from sweep to sweep ----

--- The contents of new entries that may activate others.
local function contents_from(self, first)
  local parts = {}
  for i = first, #self.active do
    local each = self.active[i]
    if not each.entry.preventRecursion and each.entry.recursive then parts[#parts + 1] = each.search_text end
  end
  return parts
end

local function may_widen(self)
  local settings, view = self.settings, self.view
  if settings.min_activations == 0 or settings.max_steps > 0 then return false end
  local depth = settings.scan_depth + view.depth_more
  local is_over = settings.min_depth_max > 0 and depth > settings.min_depth_max
  return not self.overflowed and #self.active < settings.min_activations and not is_over and depth <= view.count
end

--- The next sweep: its kind, or nil.
local function next_sweep(self, contents)
  if self.has_recursive and not self.overflowed then
    if #contents > 0 or self.sweep == WIDENING and #self.view.recursed > 0 then return RECURSION end
  end
  if may_widen(self) then
    self.view.depth_more = self.view.depth_more + 1
    return WIDENING
  end
  local level = table.remove(self.levels, 1)
  if not level then return nil end
  self.level = level
  return RECURSION
end

--- Removes what a book's own budget of tokens does not hold: lowest priority first, then the latest.
local function apply_book_budgets(self)
  local sums, ranked = {}, {}
  for i, each in ipairs(self.active) do
    local book = each.entry.book
    if book.tokenBudget and not each.entry.ignoreBudget then
      sums[book] = (sums[book] or 0) + each.tokens
      ranked[#ranked + 1] = { place = i, each = each, rank = each.entry.priority or each.entry.order }
    end
  end
  table.sort(ranked, function(a, b)
    if (a.each.entry.drops_first or false) ~= (b.each.entry.drops_first or false) then
      return a.each.entry.drops_first == true
    end
    if a.rank ~= b.rank then return a.rank < b.rank end
    return a.place > b.place
  end)
  local dropped = {}
  for _, item in ipairs(ranked) do
    local book = item.each.entry.book
    if sums[book] > book.tokenBudget then
      sums[book] = sums[book] - item.each.tokens
      dropped[item.each] = true
      self.decided[item.each.entry] = "book budget"
      self.log("warn", ("%s: lorebook '%s' has more than its %d tokens; it is left out"):format(item.each.entry.title,
        book.id, book.tokenBudget))
    end
  end
  local rest = {}
  for _, each in ipairs(self.active) do
    if not dropped[each] then rest[#rest + 1] = each end
  end
  self.active = rest
end

---@class ebb.LorebookActive
---@field entry ebb.LorebookEntry
---@field content string        with macros expanded
---@field tokens integer

--- Runs all sweeps.
---@param run ebb.LorebookRun
---@return ebb.LorebookActive[] active   in the order of their activation
---@return table<ebb.LorebookEntry, string> decided   "active", "probability" or "book budget"
function activation.run(run)
  local self = setmetatable(run, Run)
  self.candidates, self.is_candidate, self.sorted = {}, {}, true
  self.active, self.decided, self.used_groups, self.tokens, self.overflowed = {}, {}, {}, 0, false
  self.levels = table.move(self.levels, 1, #self.levels, 1, {})
  self.level = table.remove(self.levels, 1) or 0
  self.widest = self.settings.min_activations > 0 and self.view.count or 0
  find_candidates(self)
  local steps = 0
  self.sweep = FIRST
  while self.sweep and (self.settings.max_steps == 0 or steps < self.settings.max_steps) do
    steps = steps + 1
    self.view.skips_recursed = self.sweep == WIDENING
    local contents = contents_from(self, sweep(self))
    self.sweep = next_sweep(self, contents)
    if self.sweep and #contents > 0 then
      for _, key in ipairs(self.view:recurse(table.concat(contents, "\n"))) do add_users(self, key) end
    end
  end
  apply_book_budgets(self)
  return self.active, self.decided
end

return activation
