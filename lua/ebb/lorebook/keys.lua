--- Keys of entries: numbers of a set of keywords, or regular expressions.
--
--     "dragon"            a keyword, of whole words where the entry says so; one with a space matches anywhere
--     "/dra(gon|ke)/i"    an expression, if it can be compiled and has no bare slash; else a keyword
--
-- A key becomes a number (a keyword), a table (an expression), or false: it matches nothing.

local core = require "ebb.support.core"
local trimmed = require "ebb.lorebook.trimmed"

local keys = {}

local CASE, WHOLE = 1, 2

keys.BYTES = 64              -- of memory that a byte of a key takes, in the automaton and in an expression
local CHECKED = 64           -- entries between two looks at the time

--- Pattern and flags of "/pattern/flags" whose inner slashes are escaped; nil for other texts.
---@param text string
---@return string? pattern
---@return string? flags
function keys.parse(text)
  local pattern, flags = text:match "^/(.+)/([gimsuy]*)$"
  if not pattern or pattern:find "^/" or pattern:find "[^\\]/" then return nil end
  return pattern:gsub("\\/", "/"), flags
end

---@class ebb.LorebookRegex
---@field regex ebb.Regex
---@field text string          as it is in the entry

local function regex_of(pattern, flags, text)
  local ok, regex = pcall(core.regex.compile, pattern, flags)   -- repeated flags raise
  return ok and regex and { regex = regex, text = text } or nil
end

--- The expression that a key is.
---@param text string
---@param only_regex boolean    a bare pattern is one, too
---@return ebb.LorebookRegex?
local function expression(text, only_regex)
  local pattern, flags = keys.parse(text)
  if pattern then return regex_of(pattern, flags, text) end
  return only_regex and regex_of(text, "", text) or nil
end

---@class ebb.LorebookKeys
---@field set ebb.Keywords
---@field uses (integer|integer[])[]   by keyword: places of the entries whose keys have it; a number: of the only one
---@field reach integer[]      by keyword: the greatest scan depth of an entry that asks for it
---@field regex integer[]      places of the entries with expressions among their keys
---@field invalid string[]     keys that match nothing, with the titles of their entries

local Builder = {}
Builder.__index = Builder

--- Counts what a key takes toward the run's memory.
function Builder:charge(entry, text)
  if self.hold then self.hold(#text * keys.BYTES, "a key of " .. entry.title) end
end

--- The number of a keyword, which is added if it is new.
function Builder:keyword(entry, text, flags)
  local id = ("%d%s"):format(flags, text)
  local number = self.numbers[id]
  if not number then
    self:charge(entry, text)
    number = #self.texts + 1
    self.numbers[id], self.texts[number], self.flags[number] = number, text, flags
    self.uses[number], self.reach[number] = 0, 0
  end
  return number
end

function Builder:key(entry, text)
  text = trimmed(text)
  if text == "" then return false end
  local is_expression = entry.useRegex or keys.parse(text) ~= nil
  if is_expression then self:charge(entry, text) end
  local regex = is_expression and expression(text, entry.useRegex)
  if regex then return regex end
  if entry.useRegex then
    local line = "%s: key '%s' is not an expression; it matches nothing"
    self.invalid[#self.invalid + 1] = line:format(entry.title, text)
    return false
  end
  local is_whole = entry.wholeWords and not text:find "%s"
  local number = self:keyword(entry, text, (entry.caseSensitive and CASE or 0) | (is_whole and WHOLE or 0))
  self.reach[number] = math.max(self.reach[number], entry.scanDepth)
  return number
end

--- Many entries share it: nothing is ever added.
local NONE = {}

function Builder:list(entry, texts)
  if #texts == 0 then return NONE end
  local list = {}
  for i, text in ipairs(texts) do list[i] = self:key(entry, self.expand(text)) end
  return list
end

local function lists(builder, entry, groups)
  if not groups then return NONE end
  local result = {}
  for i, texts in ipairs(groups) do result[i] = builder:list(entry, texts) end
  return result
end

--- Notes that the entry at a place has a keyword.
local function add_use(uses, key, place)
  local before = uses[key]
  if before == 0 or before == place then uses[key] = place
  elseif type(before) == "number" then uses[key] = { before, place }
  elseif before[#before] ~= place then before[#before + 1] = place end
end

--- Adds the entry's keys, and where it is to be looked at when one of them occurs.
function Builder:add(entry, place)
  entry.words = self:list(entry, entry.keys)
  entry.filters = entry.useRegex and NONE or self:list(entry, entry.secondaryKeys)
  entry.required = lists(self, entry, entry.additional_keys)
  entry.forbidden = entry.useRegex and NONE or lists(self, entry, entry.exclude_keys)
  local has_regex = false
  for _, key in ipairs(entry.words) do
    if type(key) == "table" then has_regex = true
    elseif key then add_use(self.uses, key, place) end
  end
  if has_regex then self.regex[#self.regex + 1] = place end
end

--- Reads the keys of all entries, which get `words`, `filters`, `required` and `forbidden`.
---@param entries ebb.LorebookEntry[]
---@param run { expand: (fun(text: string): string), check: fun(), hold: (fun(bytes: integer, where: string))? }
---@return ebb.LorebookKeys
function keys.build(entries, run)
  local builder = setmetatable({
    numbers = {}, texts = {}, flags = {}, uses = {}, reach = {}, regex = {}, invalid = {}, expand = run.expand,
    hold = run.hold,
  }, Builder)
  for place, entry in ipairs(entries) do
    if place % CHECKED == 0 then run.check() end
    builder:add(entry, place)
  end
  return {
    set = core.keywords(builder.texts, builder.flags), uses = builder.uses, reach = builder.reach,
    regex = builder.regex, invalid = builder.invalid,
  }
end

--- The keys in which macros are, each once.
---@param entries ebb.LorebookEntry[]
---@return string[]
function keys.with_macros(entries)
  local list, seen = {}, {}
  for _, entry in ipairs(entries) do
    local all = { entry.keys, entry.secondaryKeys }
    for _, more in ipairs { entry.additional_keys or {}, entry.exclude_keys or {} } do
      table.move(more, 1, #more, #all + 1, all)
    end
    for _, texts in ipairs(all) do
      for _, text in ipairs(texts) do
        if text:find("{{", 1, true) and not seen[text] then list[#list + 1], seen[text] = text, true end
      end
    end
  end
  return list
end

return keys
