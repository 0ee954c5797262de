--- The note of a digest: lines of a label and its values, under a heading by which a later cut finds it.
--
--     [From earlier messages, newest first]
--     user_id: omar_davis_3817
--     reservations: JG7FMM, LQ940Q, "a, b"

local core = require "ebb.support.core"

local note = {}

local json = core.json

local HEADINGS = {
  en = "[From earlier messages, newest first]",
  zh = "[来自较早的消息，从新到旧]",
}

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

--- A value as it stands in a line; in quotes, as JSON, where commas or quotes in it would mislead.
local function written(value)
  if value:find '[",\n]' or value:find "^%s" or value:find "%s$" then return json.encode(value) end
  return value
end

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
    groups[i] = table.concat(group, ", ")
  end
  return table.concat(groups, "\n")
end

local function read_values(text, label, use)
  local at = 1
  while at <= #text do
    local value, after
    if text:byte(at) == 34 then value, after = json.decode_at(text, at) end
    if type(value) ~= "string" then
      local from, to = text:find(", ", at, true)
      value, after = text:sub(at, (from or 0) - 1), to and to + 1 or #text + 1
    else
      after = after + 2
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

--- The longest text of a heading and the first entries of a ranked list that `fits`; nil if not even one does.
---@param list ebb.DigestEntry[]
---@param heading string
---@param fits fun(text: string): boolean
---@param handle? string       the last line
---@return string? text
function note.fitting(list, heading, fits, handle)
  local low, high, best = 0, #list, nil
  while low < high do
    local middle = (low + high + 1) // 2
    local first = table.move(list, 1, middle, 1, {})
    table.sort(first, newest_first)
    local text = heading .. "\n" .. note.lines(first) .. (handle and "\n" .. handle or "")
    if fits(text) then low, best = middle, text else high = middle - 1 end
  end
  return best
end

---- In a draft ----

--- Takes the note of an earlier cut out of a draft. It is the oldest message that may go.
---@param draft ebb.Draft
---@return { lines: string, handle?: string }? note
function note.take(draft)
  local unit = draft:units { droppable = true }()
  local message = unit and unit.messages[1]
  if not message or message.role == "tool" or message.window then return nil end
  local lines, handle = note.lines_of(message.text)
  if not lines then return nil end
  draft:drop(message, "digest of more")
  return { lines = lines, handle = handle }
end

--- The role of a note: a user's before the only user message would be the last one, which is guarded.
local function role_of(draft, role)
  return draft:count "user" > 0 and role or "assistant"
end

--- Behind the system messages at the head, and before all others: never inside a unit, never behind the last user
--- message, which it must not take the guard from.
local function place_of(draft)
  local place = 1
  while place <= #draft and draft[place].role == "system" do place = place + 1 end
  return place
end

--- Puts a note with the first of the entries that fit.
---@param draft ebb.Draft
---@param parts { entries: ebb.DigestEntry[], room: integer, role: string, language: string, handle?: string }
---   ranked entries; room: tokens
function note.put(draft, parts)
  local role = role_of(draft, parts.role)
  local text = note.fitting(parts.entries, HEADINGS[parts.language], function(text)
    return draft:cost { role = role, content = text } <= parts.room
  end, parts.handle)
  if text then draft:insert(place_of(draft), { role = role, content = text }, "digest") end
end

return note
