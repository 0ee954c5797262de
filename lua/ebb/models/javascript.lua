--- A literal of JavaScript as JSON: for npm packages that carry their data in a module.
--
--     [{ id: "a", off: !0, limit: 2e5, text: `two
--     lines` }]
--
-- Keys without quotes, 'strings', templates without expressions, !0 and !1, numbers such as .5,
-- commas before a closing bracket and comments are what minifiers and formatters write.

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local text_place = require "ebb.support.text_place"

local javascript = {}

---@class ebb.JavascriptLiteral
---@field json string
---@field places { json: integer, javascript: integer }[]   where each token begins in both texts, in order

local ESCAPES = { n = "\n", r = "\r", t = "\t", b = "\b", f = "\f", v = "\v", ["0"] = "\0", ["\n"] = "" }
local WORDS = { ["true"] = "true", ["false"] = "false", null = "null", undefined = "null" }

--- A character by its number; U+FFFD for half of a pair, and for a number beyond Unicode.
local function character_of(hex)
  local code = tonumber(hex, 16)
  local is_one = code <= 0x10FFFF and (code < 0xD800 or code > 0xDFFF)
  return utf8.char(is_one and code or 0xFFFD)
end

--- The character of an escape, and the place after it; `at` is that of the letter.
local function escaped(text, at)
  local high, low, behind = text:match("^u([dD][89abAB]%x%x)\\u([dD][c-fC-F]%x%x)()", at)
  if high then
    return utf8.char(0x10000 + (tonumber(high, 16) - 0xD800 << 10) + tonumber(low, 16) - 0xDC00), behind
  end
  local hex, past = text:match("^x(%x%x)()", at)
  if not hex then hex, past = text:match("^u(%x%x%x%x)()", at) end
  if not hex then hex, past = text:match("^u{0*(%x%x?%x?%x?%x?%x?)}()", at) end
  if hex then return character_of(hex), past end
  local letter = text:sub(at, at)
  return ESCAPES[letter] or letter, at + 1
end

--- The value of the string or template that begins at `at`, and the place after it; nil: it has no end here, or is not
--- UTF-8.
local function read_string(text, at)
  local quote, pieces, past = text:sub(at, at), {}, at + 1
  while true do
    local stop = text:find("[\\" .. quote .. (quote == "`" and "$" or "\n") .. "]", past)
    if not stop then return nil end
    pieces[#pieces + 1] = text:sub(past, stop - 1)
    local character = text:sub(stop, stop)
    if character == quote then
      local value = table.concat(pieces)
      return utf8.len(value) and value, stop + 1
    end
    if character == "\n" or text:find("^%${", stop) then return nil end
    if character == "\\" then pieces[#pieces + 1], past = escaped(text, stop + 1)
    else pieces[#pieces + 1], past = character, stop + 1 end
  end
end

--- The JSON of the token at `at`, and the place after it; nil: none that a literal has.
local function read_token(text, at)
  local first = text:sub(at, at)
  if first:find "[%[%]{},:]" then return first, at + 1 end
  if first:find "[\"'`]" then
    local value, past = read_string(text, at)
    return value and core.json.encode(value), past
  end
  local flag, past = text:match("^!([01])()", at)
  if flag then return flag == "0" and "true" or "false", past end
  local number, number_end = text:match("^(-?%d*%.?%d+[eE]?[+-]?%d*)()", at)
  local value = number and tonumber(number)
  if value and math.abs(value) < math.huge then
    return core.json.encode(math.tointeger(value) or value), number_end
  end
  local word, word_end = text:match("^([%a_$][%w_$]*)()", at)
  if word and text:find("^%s*:", word_end) then return core.json.encode(word), word_end end
  return word and WORDS[word], word_end
end

--- The place of the next token, after spaces and comments.
local function next_token(text, at)
  while true do
    at = text:match("^%s*()", at)
    local past = text:match("^//[^\n]*()", at) or text:match("^/%*.-%*/()", at)
    if not past then return at end
    at = past
  end
end

--- Translates the list or object that begins at `at`; raises "name:line:byte: expected a literal".
---@param name string       of the file, for errors
---@param text string
---@param at integer
---@return ebb.JavascriptLiteral
function javascript.literal(name, text, at)
  local pieces, places, length, depth = {}, {}, 0, 0
  repeat
    at = next_token(text, at)
    local json, past = read_token(text, at)
    if not json then refuse("syntax", ("%s:%s: expected a literal"):format(name, text_place(text, at))) end
    local is_last = json == "," and text:find("^[%]}]", next_token(text, past))   -- JSON has no such comma
    if json:find "^[%[{]" then depth = depth + 1 elseif json:find "^[%]}]" then depth = depth - 1 end
    if not is_last then
      places[#places + 1] = { json = length + 1, javascript = at }
      pieces[#pieces + 1], length = json, length + #json
    end
    at = past
  until depth == 0
  return { json = table.concat(pieces), places = places }
end

--- The place in the module of a place in the JSON.
---@param literal ebb.JavascriptLiteral
---@param at integer
---@return integer
function javascript.place(literal, at)
  local low, high = 1, #literal.places
  while low < high do
    local middle = (low + high + 1) // 2
    if literal.places[middle].json <= at then low = middle else high = middle - 1 end
  end
  return literal.places[low].javascript
end

return javascript
