--- Trim policy: the oldest units go on the grid of stable_prefix, and one note in their place keeps what they named.
--
-- It remembers what a note was chosen from, with the weights: the next note is chosen from that, too, as if it read
-- all that was dropped again. A note that others wrote, or changed, is read unchanged.

local cut = require "ebb.policies.digest.cut"
local entries = require "ebb.policies.digest.entries"
local idle = require "ebb.support.idle"
local marks = require "ebb.support.marks"
local note = require "ebb.policies.digest.note"

local READ = 3           -- times what a note can show, and MORE: older messages are not read any more
local KEPT = 3           -- times what a note can show, and MORE: what is remembered
local MORE = 250         -- tokens: of a small note the choice is wider
local LEAST = 72         -- tokens that a note may have, whatever its share: of a shorter one the heading is too much
local REST = 4 / 3       -- times its share: with large tools the note has that share of what may go, at most
local REMEMBERED = 8000  -- tokens of a note up to which it is remembered what it was chosen from: memory is bounded

--- Returns the policy's memory if it belongs to the old note; an empty table if someone has edited the note since.
local function remembered(draft, old)
  return draft.memory.lines == (old and old.lines) and draft.memory or {}
end

--- Collects entries that a note may show, from the dropped messages and the old note. Reading stops early when
--- there are far more than `room` can hold.
local function candidates(draft, gone, old, room)
  local set = entries.new(cut.turn(draft))
  for message in gone() do
    if set.size > READ * room + MORE then break end
    entries.of_message(set, message)
  end
  entries.of_memory(set, remembered(draft, old).entries or {})
  if old then entries.of_note(set, old.lines) end
  return set
end

--- Puts the note, as far as there is room now, and remembers what it was chosen from by the room that notes may have.
local function put_note(draft, set, old, parts, room)
  local best = entries.best(set, KEPT * room + MORE)
  parts.entries, parts.old_lines = entries.hidden(best, draft), old and old.lines
  local lines = note.put(draft, parts)
  if room <= REMEMBERED then draft.memory = { lines = lines, entries = entries.memory(best), handle = parts.handle } end
end

--- Tokens that the note may have; what a cut leaves free below the low mark comes to them.
local function room_of(at, budget, options)
  local share = math.floor(options.share * math.min(budget, REST * (budget - at.fixed)))
  return options.share == 0 and 0 or math.min(math.max(share, LEAST), options.most)
end

--- Tokens that the note needs, at most.
local function need_of(set, room) return math.min(room, math.ceil(set.size)) end

---@class ebb.DigestOptions
---@field high number
---@field low number
---@field share number
---@field most integer
---@field keep integer
---@field recall boolean
---@field idle integer
---@field role "user"|"assistant"
---@field language "en"|"zh"

local OPTIONS = marks.options(0.5, {
  share = { type = "number", default = 0.3, min = 0, max = 1,
    help = "share of the budget that the note may have, less with large tools; 72 tokens, and what a cut leaves free "
      .. "below the low mark, are its own whatever the share, but 0" },
  most = { type = "integer", default = 4000, min = 0, help = "tokens that the note may have, whatever its share" },
  keep = { type = "integer", default = 2, min = 0, help = "newest units that stay where there is room" },
  recall = { type = "boolean", default = false,
    help = "end the note with a handle, by which chat:recall and the tool recall give back what was left out" },
  idle = idle.OPTION,
  role = { type = "choice", choices = { "user", "assistant" }, default = "user",
    help = "role of the note; where it would be the last user message it is an assistant's" },
  language = { type = "choice", choices = note.languages, default = "en", help = "language of its heading" },
})

---@type ebb.Policy
return {
  name = "digest",
  summary = "cut seldom and deep, and keep a note of names and values that went",
  options = OPTIONS,
  check = marks.check,
  help = [[
Cuts as stable_prefix does. What the messages named that go stays in one note in
their place, after a task that stays at the head. It has a line for each label:
values of JSON by their keys, arguments of calls, and of prose names, numbers,
paths, quotes with the word before them. It shows no value twice and none that the
list still shows; those that weigh most come in first. It changes only where a cut
is made, and grows at its end while there is room; with `idle` cuts are also made
where the provider's cache is cold anyway, down to the low mark. A result at the
end of the list that is too long for the budget is shortened in the same way.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message). No model is asked.]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 500 --policy digest:share=0.2]],

  ---@param draft ebb.Draft
  ---@param budget integer
  ---@param options ebb.DigestOptions
  trim = function(draft, budget, options)
    local at = marks.of(draft, budget, options)
    if idle.is_cold(draft, options.idle) then at.high, at.step = at.low, 1 end
    if draft:tokens() <= at.high then return end
    local room = room_of(at, budget, options)
    local old = note.take(draft)
    local gone = cut.drop(draft, at, options.keep, function(gone)
      return need_of(candidates(draft, gone, old, room), room)
    end)
    if room > 0 then room = math.max(room, math.min(at.low - draft:tokens(), options.most)) end
    local set = candidates(draft, gone, old, room)
    if draft:tokens() > at.high - need_of(set, room) then
      cut.shrink(draft, at.high, need_of(set, room), options.recall)
      set = candidates(draft, gone, old, room)
    end
    local handle = old and old.handle or remembered(draft, old).handle
    put_note(draft, set, old, { room = math.min(room, at.high - draft:tokens()), role = options.role,
      language = options.language, handle = options.recall and cut.handle(gone, handle) or nil }, room)
  end,
}
