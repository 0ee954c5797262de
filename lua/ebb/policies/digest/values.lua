--- Names and values in texts, each with a label: what a digest keeps of a message.
--
--     {"user": {"id": "u_17", "zip": 92164}}     user.id: u_17     user.zip: 92164
--     {"cards": {"card_81": {"limit": 500}}}     cards: card_81    cards.limit: 500
--     My order number is W-2041.                 number is: W-2041
--     Reservations: - JG7FMM - LQ940Q            Reservations: JG7FMM, LQ940Q
--
-- A value of JSON is a string or number, labelled by the end of its key path; a key such as `card_81` is one, too. A
-- value of prose is a run of letters, digits and _ . / @ : # - with a digit or one of / _ @ . in it, a name (words that
-- begin with capitals), or what is in quotes; its label are the words before it. Values have three bytes or more.

local core = require "ebb.support.core"

local values = {}

local LENGTH_MIN = 3
local LENGTH_MAX = 96          -- bytes of a value; longer strings are prose
local LABEL_MAX = 48           -- bytes
local QUOTE_MAX = 64           -- bytes
local LEVELS = 16              -- of JSON, through which a key is looked for

local find, sub, byte, match = string.find, string.sub, string.byte, string.match

---@alias ebb.DigestKind "leaf"|"key"|"run"|"quote"|"names"|"name"
---@alias ebb.DigestEmit fun(label: string, value: string, kind: ebb.DigestKind)

--- Shortens a label to its length, from its end, and removes characters that would end it in a note.
local function short(label)
  if find(label, "[%c:]") then label = label:gsub("[%c:]+", " ") end
  if #label <= LABEL_MAX then return label end
  local tail = sub(label, -LABEL_MAX)
  return match(tail, "^[\x80-\xbf]*(.*)$")
end

---- Prose ----

--- Punctuation of Chinese text, as its ASCII form, so that runs end at it.
local WIDE = {
  ["，"] = ", ", ["。"] = ". ", ["：" ] = ": ", ["；"] = "; ", ["！"] = "! ", ["？"] = "? ", ["、"] = ", ", ["（"] = " (",
  ["）"] = ") ", ["“"] = ' "', ["”"] = '" ', ["‘"] = ' "', ["’"] = "'", ["《"] = ' "', ["》"] = '" ', ["【"] = " [",
  ["】"] = "] ", ["「"] = ' "', ["」"] = '" ', ["—"] = " ", ["–"] = " ", ["…"] = " ", ["　"] = " ", ["·"] = " ",
  ["•"] = " ",
}

local function narrow(text)
  if not find(text, "[\xc2\xe2\xe3\xef]") then return text end
  return (text:gsub("[\xc2-\xdf][\x80-\xbf]", WIDE):gsub("[\xe2\xe3\xef][\x80-\xbf][\x80-\xbf]", WIDE))
end

local RUN = "()([%w_./@:#\x80-\xff-]+)()"

--- A run without the punctuation at its ends.
local function bare(run)
  local first = find(run, "[^.:%-]")
  return first and sub(match(run, "^.*[^.:%-]"), first) or ""
end

local function is_value(run)
  return #run >= LENGTH_MIN and #run <= LENGTH_MAX and find(run, "[%d/_@.]") ~= nil
end

local function is_word(run)
  return find(run, "%a") ~= nil or byte(run) >= 0x80
end

--- Mixed capitals within a word: an identifier.
local function is_identifier(run)
  return find(run, "%l%u") ~= nil or (#run >= LENGTH_MIN and find(run, "^%u+$") ~= nil)
end

---@class ebb.DigestName     Words with capitals, one after the other, of which more may come
---@field text string
---@field label string
---@field last integer        position after it
---@field words integer
---@field starts boolean      the first word starts a sentence, where capitals say nothing

local function emit_name(name, emit)
  if #name.text < LENGTH_MIN or #name.text > LENGTH_MAX then return end
  if name.words > 1 then emit(name.label, name.text, "names")
  elseif not name.starts then emit(name.label, name.text, "name") end
end

--- True if a heading or label ends here, such as `**Flight Option**:`.
local function is_heading(line, run, after)
  return byte(run, -1) == 58 or find(line, "^[^%w]*:", after) ~= nil
end

local ENDS = { [33] = true, [63] = true, [42] = true }   -- ! ? *

--- The label that one or two words give; before any word the one of the line before.
local function label_from(first, second, label)
  if not second then return label end
  return short(first and first .. " " .. second or second)
end

--- Emits the values of one line; `label` is that of the line before, and of the end of this one is given back.
local function line_values(line, label, emit)
  local first, second, name = nil, nil, nil      -- two words before; a name that may go on
  local starts = true
  for from, run, after in line:gmatch(RUN) do
    if not name and find(run, "^%l+$") then      -- most words
      first, second, starts = second, run, ENDS[byte(line, after)]
    else
      local word = bare(run)
      local capital = find(word, "^%u") ~= nil
      if name and not (capital and from == name.last + 1) then
        emit_name(name, emit)
        name = nil
      end
      if is_value(word) or is_identifier(word) then
        if name then emit_name(name, emit) end
        label = label_from(first, second, label)
        emit(label, word, "run")
        first, second, name = nil, nil, nil
      elseif word ~= "" and is_word(word) then
        if name then
          name.last, name.words = after, name.words + 1
          if #name.text <= LENGTH_MAX then name.text = name.text .. " " .. word end
        elseif capital then
          name = { text = word, label = label_from(first, second, label), last = after, words = 1, starts = starts }
        end
        first, second = second, word
      end
      if name and is_heading(line, run, after) then name = nil end
      if name and (run ~= word or byte(line, after) ~= 32) then
        emit_name(name, emit)
        name = nil
      end
      starts = word == "" or find(run, "[.:]$") or ENDS[byte(line, after)]
    end
  end
  if name then emit_name(name, emit) end
  return label_from(first, second, label)
end

--- The word before a position of a text.
local function word_before(text, position)
  local before = match(sub(text, math.max(1, position - LABEL_MAX), position - 1), "^[\x80-\xbf]*(.*)$")
  return match(before, "([%w_\x80-\xff]+)[^%w\x80-\xff]*$") or "quoted"
end

--- Emits the text between two marks on one line.
local function quoted(text, mark, emit)
  local from = find(text, mark, 1, true)
  while from do
    local to = find(text, mark, from + 1, true)
    if not to then return end
    local size = to - from - 1
    local quote = size >= LENGTH_MIN and size <= QUOTE_MAX and sub(text, from + 1, to - 1)
    if quote and not find(quote, "\n", 1, true) then
      emit(short(word_before(text, from)), quote, "quote")
      to = find(text, mark, to + 1, true)
    end
    from = to
  end
end

--- Values of prose.
---@param text string
---@param label string         of values that have no word before them
---@param emit ebb.DigestEmit
function values.of_prose(text, label, emit)
  text = narrow(text)
  for line in text:gmatch "[^\n]+" do
    label = line_values(line, label, emit)
  end
  quoted(text, '"', emit)
  quoted(text, "`", emit)
end

---- JSON ----

--- The string that begins with the quote at `from`, and where it ends; nil if it does not end.
local function string_at(text, from)
  local _, last, plain = find(text, '^"([^"\\]*)"', from)
  if last then return plain, last end
  local value, after = core.json.decode_at(text, from)
  if type(value) ~= "string" then return nil end
  return value, after - 1
end

--- Keys that say little without the one before them.
local GENERAL = {}
for key in ("id name title type kind code number date time price amount total count value key status state text url "
  .. "path size first last start end from to"):gmatch "%S+" do
  GENERAL[key] = true
end

--- The last key of a path; with the one before it where it says little by itself, such as `id` or `price`.
local function path_of(path, depth)
  local key, parent
  for i = depth, math.max(1, depth - LEVELS), -1 do
    local name = path[i]
    if name and not key then key = name
    elseif name then parent = name break end
  end
  if not key then return nil end
  return short(parent and GENERAL[key] and parent .. "." .. key or key)
end

--- True if a key is a value itself, such as `card_81`, `2024-05-21` or `JG7FMM`, not a field's name like `line2`.
local function names_something(key)
  if #key < LENGTH_MIN or not find(key, "%d") then return false end
  return find(key, "^%d") ~= nil or not find(key, "%l") or find(key, "%d%d") ~= nil and find(key, "[_-]") ~= nil
end

local function leaf(label, value, emit)
  if #value < LENGTH_MIN then return end
  if #value > LENGTH_MAX or find(value, "\n", 1, true) then return values.of_prose(value, label, emit) end
  emit(label, value, "leaf")
end

--- Values of JSON; also of what is cut off or is no JSON after its beginning.
---@param text string
---@param label string         of values without a key
---@param emit ebb.DigestEmit
function values.of_json(text, label, emit)
  local path, depth, at = {}, 0, 1
  while true do
    local from = find(text, '[%[%]{}"%d-]', at)
    if not from then return end
    local first = byte(text, from)
    if first == 34 then
      local value, last = string_at(text, from)
      if not value then return values.of_prose(sub(text, from), path_of(path, depth) or label, emit) end
      at = last + 1
      local _, colon = find(text, "^%s*:", at)
      if colon then
        if names_something(value) then
          path[depth] = false
          emit(path_of(path, depth - 1) or label, value, "key")
        else
          path[depth] = value
        end
        at = colon + 1
      else
        leaf(path_of(path, depth) or label, value, emit)
      end
    elseif first == 123 or first == 91 then
      depth = depth + 1
      path[depth], at = false, from + 1
    elseif first == 125 or first == 93 then
      path[depth], depth, at = nil, math.max(depth - 1, 0), from + 1
    else
      local _, last = find(text, "^%-?%d*[%d.eE+-]*", from)
      leaf(path_of(path, depth) or label, sub(text, from, last), emit)
      at = last + 1
    end
  end
end

--- True if a text begins as an object or as a list of objects, or is in brackets altogether.
local function is_json(text)
  local first = find(text, "%S")
  if not first or not find(text, "^[%[{]", first) then return false end
  return find(text, '^%[?%s*{%s*"[^"\n]*"%s*:', first) ~= nil or find(text, "[%]}]%s*$") ~= nil
end

--- Values of a text, JSON or prose.
---@param text string
---@param label string
---@param emit ebb.DigestEmit
function values.of(text, label, emit)
  local read = is_json(text) and values.of_json or values.of_prose
  read(text, label, emit)
end

return values
