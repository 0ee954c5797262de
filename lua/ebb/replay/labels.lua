--- Finds the label before a value in a text: the nearest word without a digit.
--
--     "reservation_id": "4WQ150"         reservation_id
--     "flights": ["HAT001", "HAT002"]    flights, of both
--     your reservation 4WQ150            reservation
--
-- A word is a run of letters, digits and _. Chinese, Japanese and Korean write no spaces: there the last two
-- characters stand for the word.

local core = require "ebb.support.core"

local labels = {}

local REACH = 400   -- characters; text further away says nothing

---@class ebb.replay.Words     The words of a text
---@field text string
---@field starts integer[]     their first bytes
---@field pasts integer[]      the bytes after them
---@field plain integer[]      by word: the number of the last one up to it without a digit; 0: none

---@param text string
---@return ebb.replay.Words
function labels.words(text)
  local starts, pasts, numbers = core.runs(text, "_")
  local plain, last = {}, 0
  for i, has_number in ipairs(numbers) do
    if not has_number then last = i end
    plain[i] = last
  end
  return { text = text, starts = starts, pasts = pasts, plain = plain }
end

--- The number of the last word that begins before a byte; 0: none.
local function last_before(starts, at)
  local low, high = 0, #starts
  while low < high do
    local middle = (low + high + 1) // 2
    if starts[middle] < at then low = middle else high = middle - 1 end
  end
  return low
end

local function is_cjk(point)
  return point >= 0x3040 and point <= 0x30FF or point >= 0x3400 and point <= 0x9FFF
    or point >= 0xAC00 and point <= 0xD7AF
end

--- The word as a label.
local function label_of(word)
  for _, point in utf8.codes(word) do
    if is_cjk(point) then return word:sub(utf8.offset(word, -2) or 1) end
  end
  return word
end

--- The beginning of a word in which the value at `at` begins, if no digit is in it.
local function cut_word(words, number, at)
  if words.pasts[number] <= at then return nil end
  local word = words.text:sub(words.starts[number], at - 1)
  local _, _, numbers = core.runs(word, "_")
  return not numbers[1] and word or nil
end

--- The label of what begins at a byte; nil: no word comes before it within reach.
---@param words ebb.replay.Words
---@param at integer
---@return string?
function labels.before(words, at)
  local text, number = words.text, last_before(words.starts, at)
  if number == 0 then return nil end
  local cut = cut_word(words, number, at)
  if cut then return label_of(cut) end
  number = words.plain[words.pasts[number] > at and number - 1 or number] or 0
  if number == 0 then return nil end
  local start, past = words.starts[number], words.pasts[number]
  if at - start > REACH then start = math.max(start, utf8.offset(text, -REACH, at) or 1) end
  return start < past and label_of(text:sub(start, past - 1)) or nil
end

return labels
