--- Lorebooks: entries that are put into a request when their keys occur in the history.
--
--     local lore = lorebook.new({ { scope = "agent", books = books } })
--     local result = lore:run { said = speech.of(messages), ... }
--     result.active, result.state, result.placement
--
-- Compiled once: keywords of all entries become one automaton, and what it met in a message is kept. So a run costs
-- what is new in the history, and what is activated, not the number of entries.

local activation = require "ebb.lorebook.activation"
local keys = require "ebb.lorebook.keys"
local lorebook_schema = require "ebb.lorebook.schema"
local matching = require "ebb.lorebook.matching"
local placement = require "ebb.lorebook.placement"
local scanner = require "ebb.lorebook.scanner"
local timers = require "ebb.lorebook.timers"
local trimmed = require "ebb.lorebook.trimmed"

local lorebook = { placement = placement, KEPT_MAX = timers.KEPT_MAX }

--- The checked books of a list; nil and the first problem, its path beginning with the place in the list.
---@param list table[]          as they are in files
---@param check? fun(where: string)    called now and then; raises if there is no time left
---@return ebb.Lorebook[]? books
---@return ebb.SchemaProblem? problem
function lorebook.read(list, check)
  local books, ids = {}, {}
  for i, each in ipairs(list) do
    local book, problem = lorebook_schema.book(each, i, check)
    if not book then
      table.insert(problem.path, 1, i)
      return nil, problem
    end
    if ids[book.id] then
      return nil, { path = { i, book.name == book.id and "name" or "id" }, code = "duplicate",
        message = ("there are two lorebooks '%s'"):format(book.id) }
    end
    ids[book.id], books[i] = true, book
  end
  return books
end

-- ---- entries in the order in which they are tried ----

local function by_order(entries)
  table.sort(entries, function(a, b)
    if a.order ~= b.order then return a.order > b.order end
    return a.rank < b.rank
  end)
  return entries
end

--- The scopes that each strategy sorts together, one group after the other.
local STRATEGIES = {
  evenly = { { "chat" }, { "user" }, { "agent", "global" } },
  character_first = { { "chat" }, { "user" }, { "agent" }, { "global" } },
  global_first = { { "chat" }, { "user" }, { "global" }, { "agent" } },
}

local function either(first, second, third)
  if first ~= nil then return first end
  if second ~= nil then return second end
  return third
end

--- An entry with what its book and the settings say where it says nothing.
local function settled(entry, book, settings, rank)
  entry.__index = entry   -- its own metatable: one table less for each of thousands
  return setmetatable({
    book = book, rank = rank, own_depth = (entry.scanDepth or book.scanDepth) ~= nil,
    scanDepth = entry.scanDepth or book.scanDepth or settings.scan_depth,
    caseSensitive = either(entry.caseSensitive, book.caseSensitive, settings.case_sensitive),
    wholeWords = either(entry.wholeWords, book.wholeWords, settings.whole_words),
    recursive = either(book.recursive, settings.recursive),
  }, entry)
end

local CHECKED = 64           -- entries between two looks at the time

---@param groups { scope: string, books: ebb.Lorebook[] }[]
---@param check fun()
local function entries_of(groups, settings, check)
  local by_scope, rank = {}, 0
  for _, group in ipairs(groups) do
    local list = by_scope[group.scope] or {}
    by_scope[group.scope] = list
    for _, book in ipairs(group.books) do
      for _, entry in ipairs(book.entries) do
        rank = rank + 1
        if rank % CHECKED == 0 then check() end
        if entry.enabled then list[#list + 1] = settled(entry, book, settings, rank) end
      end
    end
  end
  local result = {}
  for _, scopes in ipairs(STRATEGIES[settings.strategy]) do
    local together = {}
    for _, scope in ipairs(scopes) do
      local list = by_scope[scope] or {}
      table.move(list, 1, #list, #together + 1, together)
    end
    by_order(together)
    table.move(together, 1, #together, #result + 1, result)
  end
  return result
end

-- ---- compiled ----

---@class ebb.Lore
---@field groups { scope: string, books: ebb.Lorebook[] }[]
---@field settings_id? string
---@field list ebb.LorebookEntry[]
---@field timed ebb.LorebookTimed
local Lore = {}
Lore.__index = Lore

--- Settings that the list of entries depends on.
local SETTINGS = { "strategy", "scan_depth", "case_sensitive", "whole_words", "recursive" }

local function id_of(settings)
  local words = {}
  for i, name in ipairs(SETTINGS) do words[i] = tostring(settings[name]) end
  return table.concat(words, " ")
end

--- Sorts the entries by what a run looks for.
local function read_list(self)
  self.always, self.timed, self.levels, self.depth_max = {}, timers.of(self.list), {}, 0
  local levels = {}
  self.has_recursive = false
  for place, entry in ipairs(self.list) do
    if entry.constant and not entry.useRegex or entry.always then self.always[#self.always + 1] = place end
    levels[entry.delayUntilRecursion] = entry.delayUntilRecursion > 0 or nil
    self.depth_max = math.max(self.depth_max, entry.scanDepth)
    self.has_recursive = self.has_recursive or entry.recursive
  end
  for level in pairs(levels) do self.levels[#self.levels + 1] = level end
  table.sort(self.levels)
end

--- Brings the entries up to date with the settings, and their keys with the macros in them.
---@param request ebb.LorebookRequest
local function compile(self, request)
  local id = id_of(request.settings)
  if id ~= self.settings_id then
    self.list, self.keys_id = entries_of(self.groups, request.settings, request.check), nil
    self.macro_keys = keys.with_macros(self.list)
    read_list(self)
    self.settings_id = id
  end
  local expanded, texts = {}, {}
  for i, text in ipairs(self.macro_keys) do
    expanded[text] = request.expand(text, "a key")
    texts[i] = expanded[text]
  end
  local keys_id = table.concat(texts, "\0")
  if keys_id == self.keys_id then return end
  self.keys_id = nil
  self.index = keys.build(self.list, {
    expand = function(text) return expanded[text] or text end, check = request.check, hold = request.hold,
  })
  self.scanner, self.keys_id = scanner.new(self.index.set), keys_id
  for _, line in ipairs(self.index.invalid) do request.log("warn", line) end
end

---@class ebb.LorebookRequest
---@field said ebb.LorebookSpeech   the history
---@field sources table<string, string>    by name of lorebook_schema.SOURCES
---@field notes string[]        prompts that are searched for all entries
---@field settings table        of the processor
---@field facts table           messages, replies, agent, tags, trigger, greeting
---@field state? table          of the timers
---@field budget number         tokens
---@field count fun(text: string): integer
---@field random fun(what: string): number
---@field expand fun(text: string, title: string): string
---@field check fun()            raises if the run has no time left
---@field hold? fun(bytes: integer, where: string)   raises if memory that keys take is too much
---@field log fun(level: string, message: string)

--- Decorators and comments in braces, whatever macros there are: neither is sent.
local UNSENT = { comment = "comment", hidden_key = "hidden" }

--- The outermost `{{comment: ..}}` and `{{hidden_key: ..}}` of a text, in order: { first, last, kind, words }.
local function unsent(content)
  local open, list, past = {}, {}, 1
  while true do
    local at, _, braces = content:find("([{}][{}])", past)
    if not at then return list end
    past = at + ((braces == "{{" or braces == "}}") and 2 or 1)
    if braces == "{{" then
      open[#open + 1] = at
    elseif braces == "}}" and open[1] then
      local first = table.remove(open)
      local name, from = content:match("^{{%s*([%a_]+)%s*:+()", first)
      local kind = name and UNSENT[name:lower()]
      while kind and list[1] and list[#list].first > first do list[#list] = nil end   -- those within
      list[#list + 1] = kind and { first = first, last = at + 1, kind = kind, words = content:sub(from, at - 1) }
    end
  end
end

--- The text of an entry, and what recursion searches: that text, and the words of hidden keys.
local function expanded(request, entry)
  local content, at, visible, hidden = entry.content, 1, {}, {}
  for _, each in ipairs(content:find("{{", 1, true) and unsent(content) or {}) do
    visible[#visible + 1] = content:sub(at, each.first - 1)
    if each.kind == "hidden" then hidden[#hidden + 1] = request.expand(trimmed(each.words), entry.title) end
    at = each.last + 1
  end
  visible[#visible + 1] = content:sub(at)
  local text = request.expand(table.concat(visible), entry.title)
  return text, hidden[1] and text .. "\n" .. table.concat(hidden, "\n") or text
end

--- One run over a history.
---@param request ebb.LorebookRequest
---@return { active: ebb.LorebookActive[], state: table, decided: table }
function Lore:run(request)
  local settings = request.settings
  compile(self, request)
  local first = settings.min_activations > 0 and 1 or request.said.count - self.depth_max + 1
  self.scanner:update(request.said, first)
  local timed = timers.open(self.list, self.timed, request.state, request.facts.messages)
  local view = matching.view({
    count = self.scanner.count, texts = self.scanner.texts, names = self.scanner.names, last = self.scanner.last,
    sources = request.sources, notes = request.notes,
    fail = function(key, why) request.log("warn", ("key '%s': %s; it matches nothing"):format(key.text, why)) end,
  }, self.index.set)
  local active, decided = activation.run {
    list = self.list, index = self.index, always = self.always, levels = self.levels, view = view,
    timers = timed, has_recursive = self.has_recursive, settings = settings, facts = request.facts,
    budget = request.budget, count = request.count, random = request.random, check = request.check, log = request.log,
    expand = function(entry) return expanded(request, entry) end,
  }
  return { active = active, state = timed:close(active), decided = decided }
end

--- Makes books ready to be run.
---@param groups { scope: "chat"|"user"|"agent"|"global", books: ebb.Lorebook[] }[]
---@return ebb.Lore
function lorebook.new(groups)
  return setmetatable({ groups = groups }, Lore)
end

return lorebook
