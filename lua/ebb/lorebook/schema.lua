--- Lorebooks as they are in files: books of entries.
--
-- An entry that is checked has every field below, those with their defaults through a metatable, decorators applied;
-- `words` and `filters` are its keys and secondary keys.

local decorators = require "ebb.lorebook.decorators"
local schema = require "ebb.support.schema"

local lorebook_schema = {}

local function text_field(help) return { type = "string", utf8 = true, help = help } end
local function flag_field(default, help) return { type = "boolean", default = default, help = help } end
local function whole(help, default) return { type = "integer", min = 0, default = default, help = help } end
local function texts_field(help)
  return { type = "list", items = { type = "string", utf8 = true }, default = {}, help = help }
end

--- Positions of activated entries. before_char and after_char are around the character; the others are next to a
--- preset message of that id, in the history, or where {{outlet::name}} asks for them.
lorebook_schema.POSITIONS = {
  "before_char", "after_char", "note_top", "note_bottom", "depth", "examples_top", "examples_bottom", "outlet",
  "personality", "scenario",
}

lorebook_schema.LOGICS = { "and_any", "not_all", "not_any", "and_all" }

--- Texts besides the history in which an entry's keys may be searched.
lorebook_schema.SOURCES = { "persona", "description", "personality", "note", "scenario", "creator_notes" }

lorebook_schema.ROLES = { "system", "user", "assistant" }

local ID = { any_of = { { type = "string", utf8 = true }, { type = "integer" } }, expected = "a text or a number",
  help = "default: its place in the book" }

---@type ebb.Schema
lorebook_schema.ENTRY = {
  type = "object", camel = true, bare = true, expected = "an object", noun = "field of an entry",
  fields = {
    id = ID, name = text_field "what the log calls it",
    enabled = flag_field(true, "false: it is never used"),
    keys = texts_field "texts of which one must occur: plain, or /an expression/flags; macros are expanded in them",
    secondaryKeys = texts_field "further keys, on which logic depends; none: no condition",
    logic = { type = "choice", choices = lorebook_schema.LOGICS, default = "and_any",
      help = "which secondary keys must occur, or not" },
    useRegex = flag_field(false,
      "all keys are expressions, and a wrong one matches nothing; secondary keys are unused"),
    caseSensitive = { type = "boolean", help = "default: the book's" },
    wholeWords = { type = "boolean", help = "keys without spaces match whole words only; default: the book's" },
    scanDepth = whole "messages that are searched, from the newest; default: the book's",
    sources = { type = "list", items = { type = "choice", choices = lorebook_schema.SOURCES }, default = {},
      help = "texts besides the history that are searched" },
    content = { type = "string", utf8 = true, default = "",
      help = "what is put in; macros are expanded; lines @@name at its start are decorators" },
    constant = flag_field(false, "it needs no keys"),
    probability = { type = "number", min = 0, max = 100, default = 100, unit = "percent",
      help = "how often it is used when it is activated" },
    order = { type = "number", default = 100, help = "a larger one is nearer the newest message, and is chosen first" },
    priority = { type = "number", help = "lower ones exceed the book's token budget first; default: order" },
    position = { type = "choice", choices = lorebook_schema.POSITIONS, default = "before_char" },
    depth = whole("of position depth: before the last n messages of the history", 4),
    role = { type = "choice", choices = lorebook_schema.ROLES, default = "system", help = "of position depth" },
    outlet = text_field "of position outlet: the name for {{outlet::name}}",
    sticky = whole("messages for which it stays active, the one that activates it included", 0),
    cooldown = whole("messages for which it rests", 0),
    delay = whole("messages that the history must have", 0),
    excludeRecursion = flag_field(false, "contents of other entries do not activate it"),
    preventRecursion = flag_field(false, "its content activates no others"),
    delayUntilRecursion = whole("from this level of recursion on; 0: from the start", 0),
    groups = texts_field "of all entries of a group one is used",
    groupPriority = flag_field(false, "it wins over entries without this flag in its groups"),
    groupWeight = { type = "number", min = 0, default = 100, help = "its share of the draw within a group" },
    groupScoring = { type = "boolean", help = "within its groups those with most keys win; default: the setting's" },
    ignoreBudget = flag_field(false, "it is used beyond the budget of tokens"),
    characters = { type = "object", camel = true, help = "the agents it is for", fields = {
      names = texts_field "names of agents", tags = texts_field "tags of agents",
      exclude = flag_field(false, "it is for all others"),
    } },
    triggers = texts_field "kinds of request it is for: normal, continue, impersonate, swipe, regenerate, quiet",
  },
}

---@type ebb.Schema
lorebook_schema.BOOK = {
  type = "object", camel = true, expected = "an object", noun = "field of a lorebook",
  fields = {
    id = text_field "of its timers; default: its name, or its place",
    name = text_field "what the log calls it", description = text_field "kept, not used",
    scanDepth = whole "messages that are searched, from the newest; default: the setting's",
    tokenBudget = whole "tokens of all its entries; beyond it those of lowest priority are left out",
    recursive = { type = "boolean", help = "contents of entries activate its entries; default: the setting's" },
    caseSensitive = { type = "boolean", help = "default: the setting's" },
    wholeWords = { type = "boolean", help = "default: the setting's" },
    entries = { type = "table", expected = "a list of entries", default = {}, help = "each as below" },
  },
}

--- Fields that say what the default says are here once, for all entries: books have thousands of them.
local DEFAULTS = {}
for name, field in pairs(lorebook_schema.ENTRY.fields) do DEFAULTS[name] = field.default end
local SPARSE = { __index = DEFAULTS }

local function is_default(value, default)
  return value == default or type(value) == "table" and type(default) == "table" and next(value) == nil
end

--- The record without the fields that only have their defaults.
local function sparse(record)
  for name, value in pairs(record) do
    if is_default(value, DEFAULTS[name]) then record[name] = nil end
  end
  return setmetatable(record, SPARSE)
end

local CHECKED = 64           -- entries between two looks at the time

local NULL_IS_ABSENT = { null = true }

--- Returns the name of an entry for messages: its name, its id, or its place in the list.
---@param entry any            as it is in a file
---@param place integer
---@return string
function lorebook_schema.title(entry, place)
  local name = type(entry) == "table" and (entry.name or entry.id)
  if type(name) ~= "string" or name == "" then name = nil end
  return name and ("entry '%s'"):format(name) or ("entry %d"):format(place)
end

--- A checked entry; nil and what is wrong.
---@param entry any
---@param place integer        in its book
---@return ebb.LorebookEntry?
---@return ebb.SchemaProblem?
---@return string[]? skipped   decorators that are unknown or wrong
function lorebook_schema.entry(entry, place)
  local record, problems = schema.read(lorebook_schema.ENTRY, entry, NULL_IS_ABSENT)
  if problems then return nil, problems[1] end
  sparse(record)
  if record.position == "outlet" and (record.outlet or "") == "" then
    return nil, { path = { "outlet" }, message = "position 'outlet' needs it", code = "argument" }
  end
  record.title = lorebook_schema.title(entry, place)
  record.id = tostring(record.id or place)
  local skipped = decorators.apply(record)
  return record, nil, skipped
end

--- A checked book with its entries; nil and the first problem, its path from the book.
---@param book any
---@param place integer        of the book
---@param check? fun(where: string)    called now and then; raises if there is no time left
---@return ebb.Lorebook?
---@return ebb.SchemaProblem?
function lorebook_schema.book(book, place, check)
  local record, problems = schema.read(lorebook_schema.BOOK, book, NULL_IS_ABSENT)
  if problems then return nil, problems[1] end
  local entries, ids, skipped = {}, {}, {}
  for i, each in ipairs(record.entries) do
    if check and i % CHECKED == 0 then check(("entry %d of a lorebook"):format(i)) end
    local entry, problem, words = lorebook_schema.entry(each, i)
    if problem then
      table.move({ "entries", i }, 1, 2, 1, table.move(problem.path, 1, #problem.path, 3, problem.path))
      return nil, problem
    end
    if ids[entry.id] then
      return nil, { path = { "entries", i, "id" }, message = ("'%s' occurs twice"):format(entry.id),
        code = "duplicate" }
    end
    ids[entry.id], entries[i] = true, entry
    for _, word in ipairs(words) do skipped[#skipped + 1] = ("%s: %s"):format(entry.title, word) end
  end
  record.entries, record.skipped = entries, skipped
  record.id = record.id or record.name or ("book %d"):format(place)
  return record
end

return lorebook_schema
