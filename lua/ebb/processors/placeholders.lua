--- Texts that take the place of their placeholders in a message.
--
--     "see 【a】 and 【b】"  +  a = "one 【b】", b stays  =  "see one 【b】 and [attachment: b]"
--
-- Only what the message itself says is searched, never what was put in. The first
-- occurrence gets the text; each other, and one whose attachment stays, gets the
-- reference (an empty one: it stays as it is), so that no reply repeats a file a
-- thousand times. A text without a place follows after a newline.

local array = require("ebb.support.core").json.array
local content = require "ebb.processors.content"

local placeholders = {}

---@class ebb.PlaceholderEntry
---@field placeholder? string
---@field text? string         nil: there is none
---@field reference string
---@field used? boolean        its text is somewhere

--- The placeholder that begins first at or after `position`; of two there, the longer one.
local function nearest(text, position, entries)
  local best, from, to
  for _, entry in ipairs(entries) do
    local first, last
    if type(entry.placeholder) == "string" and entry.placeholder ~= "" and not entry.absent then
      first, last = text:find(entry.placeholder, position, true)
      entry.absent = first == nil or nil   -- not after this position either
    end
    if first and (not from or first < from or first == from and last > to) then best, from, to = entry, first, last end
  end
  return best, from, to
end

local function replacement(entry, original)
  if entry.text and not entry.used then
    entry.used = true
    return entry.text
  end
  return entry.reference ~= "" and entry.reference or original
end

--- The text with its placeholders filled.
local function fill_text(text, entries)
  for _, entry in ipairs(entries) do
    entry.absent = nil
  end
  local pieces, position = {}, 1
  while true do
    local entry, from, to = nearest(text, position, entries)
    if not entry then break end
    pieces[#pieces + 1] = text:sub(position, from - 1)
    pieces[#pieces + 1] = replacement(entry, text:sub(from, to))
    position = to + 1
  end
  if position == 1 then return text end
  pieces[#pieces + 1] = text:sub(position)
  return table.concat(pieces)
end

--- The texts that found no place.
local function left_over(entries)
  local texts = {}
  for _, entry in ipairs(entries) do
    if entry.text and not entry.used then texts[#texts + 1] = entry.text end
  end
  return texts
end

local function fill_string(text, entries)
  local filled = fill_text(text, entries)
  local rest = left_over(entries)
  if #rest == 0 then return filled end
  if filled:find "%S" then table.insert(rest, 1, filled) end
  return table.concat(rest, "\n")
end

local function fill_parts(value, entries)
  local list, changed = array {}, false
  for i, part in ipairs(value) do
    local text = content.is_text(part) and fill_text(part.text, entries)
    list[i] = text and text ~= part.text and content.with_text(part, text) or part
    changed = changed or list[i] ~= part
  end
  for _, text in ipairs(left_over(entries)) do
    local last = list[#list]
    if content.is_text(last) then list[#list] = content.with_text(last, last.text .. "\n" .. text)
    else list[#list + 1] = { type = "text", text = text } end
    changed = true
  end
  return changed and list or value
end

--- The content with the texts inserted; the same value if there are none.
---@param value string|table[]|nil
---@param entries ebb.PlaceholderEntry[]
---@return string|table[]|nil
function placeholders.fill(value, entries)
  if #entries == 0 then return value end
  if type(value) == "table" and next(value) ~= nil then return fill_parts(value, entries) end
  local filled = fill_string(type(value) == "string" and value or "", entries)
  if filled == "" then return value end
  return filled
end

return placeholders
