--- The note of a digest: lines of a label and its values, under a heading by which a later cut finds it.
--
--     [From earlier messages, newest first]
--     user_id: omar_davis_3817
--     reservations: JG7FMM LQ940Q "a b"
--     [Later messages]
--     reservations: ZK11AB
--
-- A cut that has room for all of the note writes what it adds after it, so that the beginning stays; one that has not
-- rewrites the note.

local core = require "ebb.support.core"

local note = {}

local json = core.json

local HEADINGS = {
  en = "[From earlier messages, newest first]",
  zh = "[来自较早的消息，从新到旧]",
}

local LATER = { en = "[Later messages]", zh = "[后来的消息]" }

note.languages = { "en", "zh" }

note.RESULT_HEADING = "[Shortened to what it names]"

--- The lines under the heading of a note or of a shortened result, and its handle; nil for any other text.
---@param text string
---@return string? lines
---@return string? handle
function note.lines_of(text)
  for _, heading in ipairs { HEADINGS.en, HEADINGS.zh, note.RESULT_HEADING } do
    if text:sub(1, #heading) == heading then
      local lines, handle = text:sub(#heading + 2):match "^(.-)\n?(%[[%d,]+ tokens left out: recall r[%d%-]+%])$"
      return lines or text:sub(#heading + 2), handle
    end
  end
end

---- Lines ----

--- A value as it is in a line; in quotes, as JSON, where spaces or quotes in it would mislead.
local function written(value) return value:find '["%s]' and json.encode(value) or value end

--- Lines of entries, grouped by label; groups and values in the order in which they come.
---@param list ebb.DigestEntry[]
---@return string
function note.lines(list)
  local groups, by_label = {}, {}
  for _, entry in ipairs(list) do
    local group = by_label[entry.label]
    if group then
      group[#group + 1] = written(entry.value)
    else
      group = { entry.label .. ": " .. written(entry.value) }
      groups[#groups + 1], by_label[entry.label] = group, group
    end
  end
  for i, group in ipairs(groups) do
    groups[i] = table.concat(group, " ")
  end
  return table.concat(groups, "\n")
end

local function read_values(text, label, use)
  local at = 1
  while at <= #text do
    local value, after
    if text:byte(at) == 34 then value, after = json.decode_at(text, at) end
    if type(value) ~= "string" then
      local from, to = text:find(" ", at, true)
      value, after = text:sub(at, (from or 0) - 1), to and to + 1 or #text + 1
    else
      after = after + 1
    end
    use(label, value)
    at = after
  end
end

--- Calls use(label, value) for each of the lines' values.
---@param lines string
---@param use fun(label: string, value: string)
function note.read(lines, use)
  for line in lines:gmatch "[^\n]+" do
    local label, rest = line:match "^(.-): (.*)$"
    if label then read_values(rest, label, use) end
  end
end

---- Fitting ----

local function newest_first(a, b) return a.order < b.order end

local function with_handle(text, handle) return handle and text .. "\n" .. handle or text end

--- The longest text of a heading and the first entries of a ranked list that `fits`; nil if not even one does.
---@param list ebb.DigestEntry[]
---@param heading string
---@param fits fun(text: string): boolean
---@param handle? string       the last line
---@return string? text
---@return ebb.DigestEntry[] entries    that it has
function note.fitting(list, heading, fits, handle)
  local low, high, best, entries = 0, #list, nil, {}
  while low < high do
    local middle = (low + high + 1) // 2
    local first = table.move(list, 1, middle, 1, {})
    table.sort(first, newest_first)
    local text = with_handle(heading .. "\n" .. note.lines(first), handle)
    if fits(text) then low, best, entries = middle, text, first else high = middle - 1 end
  end
  return best, entries
end

--- The lines of an old note, and after them the entries that it lacks; nil if it has one that is not among them.
local function grown(old_lines, list, language)
  local is_old, missing, added = {}, 0, {}
  note.read(old_lines, function(_, value)
    if not is_old[value] then is_old[value], missing = true, missing + 1 end
  end)
  for _, entry in ipairs(list) do
    if is_old[entry.value] then missing = missing - 1 else added[#added + 1] = entry end
  end
  if missing > 0 then return nil end
  if #added == 0 then return old_lines end
  return ("%s\n%s\n%s"):format(old_lines, LATER[language], note.lines(added))
end

---- In a draft ----

--- The lines and the handle of a message that is a note.
local function lines_of(message)
  if message.role == "tool" or message.window then return nil end
  return note.lines_of(message.text)
end

--- Takes the note of an earlier cut out of a draft. It is the oldest message that may go, or comes after a user
--- message that was the last one then.
---@param draft ebb.Draft
---@return { lines: string, handle?: string }? note
function note.take(draft)
  local users = 0
  for unit in draft:units { droppable = true } do
    local message = unit.messages[1]
    local lines, handle = lines_of(message)
    if lines then
      draft:drop(message, "digest of more")
      return { lines = lines, handle = handle }
    end
    users = users + 1
    if users > 1 or message.role ~= "user" then return nil end
  end
end

--- Returns the position and the role for a note. It replaces the dropped messages: it comes before the oldest
--- droppable message, after what is kept at the head, such as a task. A user's note after the last user message
--- would take the guard from that message, so there the role is assistant. If nothing else can be dropped, the note
--- follows the system messages.
---@param draft ebb.Draft
---@param role "user"|"assistant"
---@return integer place
---@return "user"|"assistant" role
local function place_of(draft, role)
  local users = draft:recent("user", 1)
  local last_user = #users > 0 and users[1].index or 0
  local unit = draft:units { droppable = true }()
  local place = unit and unit.messages[1].index
  if not place then
    place = 1
    while place <= #draft and draft[place].role == "system" do place = place + 1 end
  end
  return place, place <= last_user and role or "assistant"
end

---@class ebb.DigestNote
---@field entries ebb.DigestEntry[]   ranked
---@field room integer                tokens
---@field role "user"|"assistant"
---@field language "en"|"zh"
---@field handle? string              the last line
---@field old_lines? string           of the note that this one takes the place of

--- Puts a note with the first of the entries that fit; after the lines of the old one if these are all among them.
---@param draft ebb.Draft
---@param parts ebb.DigestNote
function note.put(draft, parts)
  local place, role = place_of(draft, parts.role)
  local heading = HEADINGS[parts.language]
  local function fits(text) return draft:cost { role = role, content = text } <= parts.room end
  local text, list = note.fitting(parts.entries, heading, fits, parts.handle)
  local lines = text and parts.old_lines and grown(parts.old_lines, list, parts.language)
  local longer = lines and with_handle(heading .. "\n" .. lines, parts.handle)
  if longer and fits(longer) then text = longer end
  if not text then return nil end
  draft:insert(place, { role = role, content = text }, "digest")
  return note.lines_of(text)
end

return note
