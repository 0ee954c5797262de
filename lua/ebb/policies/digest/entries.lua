--- The entries of a digest: labels and values of messages that go, weighed.
--
-- A value weighs more where a person or a model chose it (prose, arguments of calls) than as one of many in a result,
-- and under a key that calls use as an argument; values that occur often, and late, weigh more, and so do those of
-- results that no user message follows: they are still to be answered. The figures are those with which requests kept
-- most of what the replies of recorded agents used.

local note = require "ebb.policies.digest.note"
local values = require "ebb.policies.digest.values"

local entries = {}

local WEIGHTS = { user = 4, assistant = 3, tool = 1, system = 3 }
local CALL_WEIGHT = 2
local NOTE_WEIGHT = 0.8        -- of what a note says of which no weights are remembered
local REPEATED = 0.3           -- of the weight of one more mention
local KIND_WEIGHTS = { leaf = 1, key = 1, run = 0.7, quote = 0.3, names = 0.4, name = 0.05 }
local RANKS = { leaf = 4, key = 3, run = 2, quote = 1, names = 1, name = 1 }   -- of labels: the higher one stays
local KEY_FACTOR = 1.5         -- for values of keys by which things are looked up
local ARGUMENT_FACTOR = 1.6    -- for values of keys that are arguments of later calls, too
local CROWD = 20               -- values of a text, with which each of them weighs half
local FADE = 0.97              -- of a weight, per message of age
local LASTING = { user = 0.5, assistant = 0.2, tool = 0.1, system = 0 }   -- of a weight that never fades
local UNANSWERED = 2           -- for values of results that are still to be answered

--- Keys by which things are looked up.
local KEY = "[iI][dD]$|number$|code$|email$|name$|date$|path$|file$|url$|key$|zip$|phone$|dob$"
local KEYS = {}
for pattern in KEY:gmatch "[^|]+" do
  KEYS[#KEYS + 1] = pattern
end

local function is_key(label)
  for _, pattern in ipairs(KEYS) do
    if label:find(pattern) then return true end
  end
  return false
end

---@class ebb.DigestEntry
---@field label string
---@field value string
---@field weight number       what of it fades
---@field lasting number      what of it does not
---@field density? number     weight for its size in a note
---@field rank integer        of the label
---@field order integer       smaller: newer
---@field result? integer     seq of the result that named it last; nil: something else did
---@field remembered? boolean  an earlier note was chosen from it, too

---@class ebb.DigestEntries
---@field list ebb.DigestEntry[]
---@field by_value table<string, ebb.DigestEntry>
---@field size number         of all values in a note, in tokens, roughly
---@field turn? integer       seq of the user message that began the last turn; nil: there is none
---@field fade number         factor of the weights of the message that is read
---@field lasting number      share of these weights that does not fade
---@field result? integer     its seq, if a result is read
---@field arguments table<string, true>   keys of the arguments of the calls that were read

---@param turn? integer
---@return ebb.DigestEntries
function entries.new(turn)
  return { turn = turn, list = {}, by_value = {}, size = 0, fade = 1, lasting = 0, arguments = {} }
end

--- Tokens of a value in a note with its share of a label, roughly.
local function size_of(value) return 4 + #value / 4 end

--- Adds the entries of one weight; the newest come first.
local function add(set, label, value, rank, weight, lasting)
  local entry = set.by_value[value]
  if entry then
    entry.weight, entry.lasting = entry.weight + REPEATED * weight, entry.lasting + REPEATED * lasting
    if rank > entry.rank then entry.label, entry.rank = label, rank end
    return
  end
  entry = { label = label, value = value, weight = weight, lasting = lasting, rank = rank, order = #set.list + 1,
    result = set.result }
  set.list[entry.order], set.by_value[value] = entry, entry
  set.size = set.size + size_of(value)
end

--- Adds a mention of a value in the message that is read.
local function add_mention(set, label, value, rank, weight)
  local lasting = set.lasting * weight
  add(set, label, value, rank, (weight - lasting) * set.fade, lasting)
end

--- The last key of a path.
local function key_of(name) return name:match "[^.]*$" end

--- Returns the factor of an entry's weight for its kind and its label.
local function factor_of(set, name, kind)
  local factor = KIND_WEIGHTS[kind]
  if kind ~= "leaf" then return factor end
  if is_key(name) then factor = factor * KEY_FACTOR end
  return set.arguments[key_of(name)] and factor * ARGUMENT_FACTOR or factor
end

--- Adds the values of one text; the more there are, the less each of them weighs.
local function add_text(set, text, label, weight)
  local mentions, seen = {}, {}
  values.of(text, label, function(name, value, kind)
    local rank, factor, before = RANKS[kind], factor_of(set, name, kind), seen[value]
    if before then
      before.factor = math.max(before.factor, factor)
      if rank > before.rank then before.label, before.rank = name, rank end
      return
    end
    seen[value] = { label = name, value = value, factor = factor, rank = rank }
    mentions[#mentions + 1] = seen[value]
  end)
  local share = weight / (1 + #mentions / CROWD)
  for _, mention in ipairs(mentions) do
    add_mention(set, mention.label, mention.value, mention.rank, mention.factor * share)
  end
end

local function add_content(set, text, label, weight)
  local lines = note.lines_of(text)
  if lines then entries.of_note(set, lines) else add_text(set, text, label, weight) end
end

--- Returns the label for values that have no key or word before them: the tool's name, or the source.
local function label_of(message, source)
  if source ~= "tool" then return source end
  return message.call and message.call.name or message.name or "result"
end

--- Adds the arguments of a call, and notes their keys.
local function add_call(set, call)
  values.of(call.arguments, call.name, function(name, _, kind)
    if kind == "leaf" then set.arguments[key_of(name)] = true end
  end)
  add_text(set, call.arguments, call.name, CALL_WEIGHT)
end

--- Adds a text of a message; `source` is "tool" for results, else the role.
local function add_said(set, message, source, text)
  set.lasting, set.result = LASTING[source], source == "tool" and message.seq or nil
  add_content(set, text, label_of(message, source), WEIGHTS[source])
end

--- Adds the values that a message names; messages come from the newest on. Windows name nothing: they are not gone.
---@param set ebb.DigestEntries
---@param message ebb.Message
function entries.of_message(set, message)
  if message.window then return end
  set.fade, set.lasting, set.result = set.fade * FADE, LASTING[message.role], nil
  local calls = message.calls
  for i = #calls, 1, -1 do
    add_call(set, calls[i])
  end
  local content = message.content
  if type(content) == "string" then return add_said(set, message, message.role, content) end
  for _, part in ipairs(message.parts) do
    local source = part.kind == "tool_result" and "tool" or message.role
    if part.text and (source == "tool" or part.kind == "text") then add_said(set, message, source, part.text) end
  end
end

--- Adds the values in the lines of a note: what was chosen once weighs something, however little it did before.
---@param set ebb.DigestEntries
---@param lines string
function entries.of_note(set, lines)
  local weight = NOTE_WEIGHT * set.fade
  set.result = nil
  note.read(lines, function(label, value)
    local entry = set.by_value[value]
    if entry and entry.remembered then entry.weight = math.max(entry.weight, weight)
    else add(set, label, value, RANKS.run, weight, 0) end
  end)
end

--- Adds the entries that an earlier note was chosen from.
---@param set ebb.DigestEntries
---@param remembered ebb.DigestEntry[]   newest first, as entries.memory gave them
function entries.of_memory(set, remembered)
  for _, old in ipairs(remembered) do
    set.result = old.result
    add(set, old.label, old.value, old.rank, old.weight * set.fade, old.lasting)
    set.by_value[old.value].remembered = true
  end
end

--- Copies entries for the policy's memory, newest first, without the fields that each trim computes again.
---@param list ebb.DigestEntry[]
---@return table[]
function entries.memory(list)
  local kept = table.move(list, 1, #list, 1, {})
  table.sort(kept, function(a, b) return a.order < b.order end)
  for i, entry in ipairs(kept) do
    kept[i] = { label = entry.label, value = entry.value, weight = entry.weight, lasting = entry.lasting,
      rank = entry.rank, result = entry.result }
  end
  return kept
end

---- Choice ----

--- Returns the entries whose values the draft's messages no longer show.
---@param all ebb.DigestEntry[]
---@param draft ebb.Draft
---@return ebb.DigestEntry[]
function entries.hidden(all, draft)
  local texts, list = {}, {}
  for i, entry in ipairs(all) do
    texts[i] = entry.value
  end
  local shown = draft:shows(texts)
  for i, entry in ipairs(all) do
    if not shown[i] then list[#list + 1] = entry end
  end
  return list
end

--- Identifiers and dates cannot be guessed, nor can long numbers.
local function rarity(value)
  return value:find "%d" and (value:find "[%a_@/-]" or value:find "%d%d%d%d%d%d") and 2 or 1
end

--- The weight of an entry for its size in a note.
local function density_of(set, entry)
  local is_unanswered = set.turn and entry.result and entry.result > set.turn
  local weight = (entry.weight + entry.lasting) * (is_unanswered and UNANSWERED or 1)
  return weight * rarity(entry.value) / size_of(entry.value)
end

--- The entries that weigh most for their size, those first, as far as `tokens` reach.
---@param set ebb.DigestEntries
---@param tokens number
---@return ebb.DigestEntry[]
function entries.best(set, tokens)
  local list, size = table.move(set.list, 1, #set.list, 1, {}), 0
  for _, entry in ipairs(list) do
    entry.density = density_of(set, entry)
  end
  table.sort(list, function(a, b)
    if a.density ~= b.density then return a.density > b.density end
    return a.order < b.order
  end)
  for i, entry in ipairs(list) do
    size = size + size_of(entry.value)
    if size > tokens then return table.move(list, 1, i - 1, 1, {}) end
  end
  return list
end

return entries
