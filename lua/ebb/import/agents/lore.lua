--- Lorebooks of other programs as ours: world info of SillyTavern, books of cards, lorebook_v3.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local members = require "ebb.import.members"

local lore = {}

local LOGICS = { [0] = "and_any", "not_all", "not_any", "and_all" }
local POSITIONS = { [0] = "before_char", "after_char", "note_top", "note_bottom", "depth", "examples_top",
  "examples_bottom", "outlet" }
local ROLES = { [0] = "system", "user", "assistant" }
local NAMED_POSITIONS = { before_char = "before_char", after_char = "after_char" }

--- Switches for further texts: the member of world info, that of a card's extensions, the source.
local SOURCES = {
  { "matchPersonaDescription", "match_persona_description", "persona" },
  { "matchCharacterDescription", "match_character_description", "description" },
  { "matchCharacterPersonality", "match_character_personality", "personality" },
  { "matchCharacterDepthPrompt", "match_character_depth_prompt", "note" },
  { "matchScenario", "match_scenario", "scenario" },
  { "matchCreatorNotes", "match_creator_notes", "creator_notes" },
}

--- A member that is one of a table's values by number; others are reported.
local function choice(from, name, values)
  local number = from:number(name)
  if number == nil then return nil end
  local value = values[math.tointeger(number) or -1]
  if value == nil then
    from.notes.report:add("wrong member", ("%s: %s is unknown; the default holds"):format(from:place(name), number))
  end
  return value
end

local function words_of(text)
  local list = {}
  for word in ((text or "") .. ","):gmatch "%s*(.-)%s*," do
    if word ~= "" then list[#list + 1] = word end
  end
  return #list > 0 and list or nil
end

--- Levels are numbers; true is the first.
local function level_of(from, name)
  local value = from:any(name)
  if type(value) == "boolean" then return from:flag(name) and 1 or 0 end
  return value ~= nil and from:count(name) or nil
end

local function filter_of(from, name)
  local value = from:object(name)
  if not value then return nil end
  local filter = members.of(value, from:place(name), from.notes)
  local result = { names = filter:texts "names", tags = filter:texts "tags", exclude = filter:flag "isExclude" }
  filter:rest()
  return (result.names and result.names[1] or result.tags and result.tags[1]) and result or nil
end

local function sources_of(from, column)
  local list = {}
  for _, row in ipairs(SOURCES) do
    if from:flag(row[column]) then list[#list + 1] = row[3] end
  end
  return #list > 0 and list or nil
end

--- Reads the members that world info and a card's extensions spell differently; `name` translates a member's name.
local function common(from, entry, name)
  entry.logic = choice(from, "selectiveLogic", LOGICS)
  local probability, uses = from:number "probability", from:flag "useProbability"
  if uses ~= false and probability then entry.probability = math.max(0, math.min(100, probability)) end
  entry.depth, entry.role = from:count "depth", choice(from, "role", ROLES)
  entry.excludeRecursion = from:flag(name "excludeRecursion")
  entry.preventRecursion = from:flag(name "preventRecursion")
  entry.delayUntilRecursion = level_of(from, name "delayUntilRecursion")
  entry.groups = words_of(from:text "group")
  entry.groupPriority, entry.groupWeight = from:flag(name "groupOverride"), from:number(name "groupWeight")
  entry.groupScoring, entry.scanDepth = from:flag(name "useGroupScoring"), from:count(name "scanDepth")
  entry.wholeWords = from:flag(name "matchWholeWords")
  entry.sticky, entry.cooldown, entry.delay = from:count "sticky", from:count "cooldown", from:count "delay"
  entry.ignoreBudget = from:flag(name "ignoreBudget")
  local outlet = from:text(name "outletName")
  entry.outlet = outlet ~= "" and outlet or nil
  entry.triggers = from:texts "triggers"
  from:carry(name "automationId", "scripts are not run")
  from:carry("vectorized", "entries are not chosen by similarity")
  from:skip(name "displayIndex", "addMemo")
end

local snakes = setmetatable({}, { __index = function(known, name)
  known[name] = name:gsub("%u", function(letter) return "_" .. letter:lower() end)
  return known[name]
end })

local function snake(name) return snakes[name] end
local function plain(name) return name end

--- An entry of position outlet without a name is never sent.
local function check_outlet(entry, notes)
  if entry.position ~= "outlet" or entry.outlet then return true end
  notes.report:add("outlet without a name", ("entry '%s' is left out: it is never sent"):format(entry.name or entry.id))
  return false
end

local function keys_of(from, entry, key, secondary)
  entry.keys, entry.secondaryKeys = from:texts(key), from:texts(secondary)
  if from:flag "selective" == false and entry.secondaryKeys and entry.secondaryKeys[1] then
    from.notes.report:add("secondary keys that are off", "left out")
    from.notes.extra[from:place(secondary)] = entry.secondaryKeys
    entry.secondaryKeys = nil
  end
end

--- An entry of world info.
local function world_entry(value, path, notes)
  local from, entry = members.of(value, path, notes), {}
  entry.id = from:id "uid"
  local name = from:text "comment"
  entry.name = name ~= "" and name or nil
  keys_of(from, entry, "key", "keysecondary")
  entry.content, entry.constant, entry.order = from:text "content", from:flag "constant", from:number "order"
  entry.enabled = not from:flag "disable"
  entry.position, entry.caseSensitive = choice(from, "position", POSITIONS), from:flag "caseSensitive"
  common(from, entry, plain)
  entry.characters, entry.sources = filter_of(from, "characterFilter"), sources_of(from, 1)
  from:carry("extensions", "for other programs")
  from:skip("entryStateSelector", "displayName", "characterFilterNames", "characterFilterTags",
    "characterFilterExclude")
  from:rest()
  return entry
end

--- An entry of a card's book.
local function card_entry(value, path, notes)
  local from, entry = members.of(value, path, notes), {}
  entry.id = from:id "id"
  local comment, name = from:text "comment", from:text "name"
  entry.name = comment ~= "" and comment or name ~= "" and name or nil
  if entry.name == comment and name ~= "" and name ~= comment then from:carry("name", "the comment names the entry") end
  keys_of(from, entry, "keys", "secondary_keys")
  entry.content, entry.order = from:text "content", from:number "insertion_order"
  entry.enabled, entry.constant = from:flag "enabled", from:flag "constant"
  entry.useRegex, entry.priority = from:flag "use_regex", from:number "priority"
  entry.caseSensitive = from:flag "case_sensitive"
  local position = from:text "position"
  entry.position = NAMED_POSITIONS[position or ""]
  if position and position ~= "" and not entry.position then
    notes.report:add("wrong member", ("%s: '%s' is unknown; the default holds"):format(from:place "position", position))
  end
  local extensions = members.of(from:object "extensions", from:place "extensions", notes)
  entry.position = choice(extensions, "position", POSITIONS) or entry.position or "after_char"
  common(extensions, entry, snake)
  local case = extensions:flag "case_sensitive"
  if entry.caseSensitive == nil then entry.caseSensitive = case end
  entry.sources = sources_of(extensions, 2)
  entry.characters = filter_of(extensions, "character_filter")
  extensions:rest()
  from:rest()
  return entry
end

---@class ebb.import.EntryRecord
---@field entry table
---@field path string              where it is
---@field preferred string|integer its id if it has none of its own

--- Gives each entry without an id the one that it would have, or the next number that no entry has.
local function number_entries(records)
  local taken, free = {}, #records
  for _, record in ipairs(records) do
    if record.entry.id ~= nil then taken[tostring(record.entry.id)] = true end
  end
  for _, record in ipairs(records) do
    if record.entry.id == nil then
      local id = record.preferred
      while taken[tostring(id)] do
        id, free = free, free + 1
      end
      taken[tostring(id)], record.entry.id = true, id
    end
  end
end

--- The entries of a list in order; of two with one id the later replaces the earlier, as in SillyTavern.
---@param records ebb.import.EntryRecord[]
local function distinct(records, notes)
  local places, result, paths = {}, {}, {}
  number_entries(records)
  for _, record in ipairs(records) do
    local entry = record.entry
    local id = tostring(entry.id)
    if places[id] then
      notes.report:add("entry with the id of another", ("%s: it replaces %s, whose id is %s, too"):format(record.path,
        paths[id], id))
      result[places[id]] = entry
    else
      result[#result + 1] = entry
      places[id] = #result
    end
    paths[id] = record.path
    if type(entry.id) ~= "string" and math.type(entry.id) ~= "integer" then entry.id = id end
  end
  return result
end

local function kept_entries(records, notes)
  local result = core.json.array {}
  for _, entry in ipairs(distinct(records, notes)) do
    if check_outlet(entry, notes) then result[#result + 1] = entry end
  end
  return result
end

--- The book of a card, or the data of lorebook_v3.
---@param value table
---@param path string
---@param notes ebb.import.Notes
---@param name? string         of a book without one
---@return table book
function lore.card_book(value, path, notes, name)
  local from, book, list = members.of(value, path, notes), {}, {}
  local own = from:text "name"
  book.name, book.description = own ~= "" and own or name, from:text "description"
  book.scanDepth, book.tokenBudget = from:count "scan_depth", from:count "token_budget"
  book.recursive = from:flag "recursive_scanning"
  for i, entry in ipairs(from:list "entries" or {}) do
    local place = ("%s.entries[%d]"):format(path, i - 1)
    list[i] = { entry = card_entry(entry, place, notes), path = place, preferred = i - 1 }
  end
  book.entries = kept_entries(list, notes)
  members.of(from:object "extensions", from:place "extensions", notes):rest()
  from:rest()
  return book
end

--- True for world info: an object of entries, each with keys and a content.
---@param value any
---@return boolean
function lore.is_world(value)
  local entries = fields.object(value, "entries")
  if not entries then return false end
  local _, first = next(entries)
  return first == nil or fields.is_object(first) and (fields.list(first, "key") ~= nil or first.uid ~= nil)
    and type(first.content) == "string"
end

--- World info.
---@param value table
---@param path string
---@param notes ebb.import.Notes
---@param name? string
---@return table book
function lore.world(value, path, notes, name)
  local from, keys, list = members.of(value, path, notes), {}, {}
  local entries = from:object "entries" or {}
  for key in pairs(entries) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b)
    local x, y = tonumber(a), tonumber(b)
    if x and y and x ~= y then return x < y end
    if (x == nil) ~= (y == nil) then return x ~= nil end
    return a < b
  end)
  for _, key in ipairs(keys) do
    local place = from:place("entries." .. key)
    list[#list + 1] = { entry = world_entry(entries[key], place, notes), path = place, preferred = key }
  end
  local own = from:text "name"
  local description = from:text "description"
  from:carry("originalData", "the card's own form of the same entries")
  from:carry("metadata", "file metadata")
  from:carry("extensions", "for other programs")
  from:rest()
  return { name = own ~= "" and own or name, description = description, entries = kept_entries(list, notes) }
end

return lore
