--- Texts: layout, case, length. All by character; what comes out of them is text
-- and never read as macros.

local bounds = require "ebb.macros.bounds"
local text = require "ebb.macros.text"


local function count_of(argument)
  local count = argument:find "^%d+$" and math.tointeger(tonumber(argument))
  return count
end

local function times(call, piece, count)
  call:allow(#piece * count)
  return piece:rep(count)
end

local function repeated(call, piece, argument)
  local count = count_of(argument)
  if not count then return nil, "repeat_count" end
  if count > bounds.REPEAT_MAX then return nil, "repeat_max", bounds.REPEAT_MAX end
  return times(call, piece, count)
end

--- newline, space: one, or a number of them.
local function filler(character)
  return function(call, argument)
    if argument == nil then return character end
    return repeated(call, character, argument)
  end
end

local function replace(call, whole, find, with)
  if find == "" then return whole end
  call:allow(#whole + text.count(whole, find) * (#with - #find))
  return text.replace(whole, find, with)
end

local function truncate(_, whole, argument)
  local count = count_of(argument)
  if not count then return nil, "not_count", argument end
  return text.first(whole, count)
end

local macros = {
  {
    name = "newline", summary = "one or more line breaks", parameters = { "count?" },
    example = "{{newline::2}}", run = filler "\n",
  },
  {
    name = "space", summary = "one or more spaces", parameters = { "count?" },
    example = "a{{space::3}}b", run = filler " ",
  },
  { name = "noop", summary = "nothing", run = function() return "" end },
  {
    name = "//", summary = "a comment, which is left out", example = "a{{// not sent}}b",
    run = function() return "" end,
  },
  {
    name = "comment", summary = "a comment, which is left out", parameters = { "text?" }, unread = true,
    example = "a{{comment: not sent}}b", run = function() return "" end,
  },
  {
    name = "hidden_key", summary = "nothing: words that activate other lorebook entries and are not sent",
    parameters = { "words?" }, unread = true, example = "a{{hidden_key: dragon}}b", run = function() return "" end,
  },
  {
    name = "trim", summary = "removes the white space on both sides of itself, or around its argument",
    example = "a  {{trim}}  b", parameters = { "text?" }, trims = true,
    run = function(_, whole) return text.strip_right(text.strip_left(whole)) end,
  },
  {
    name = "repeat", summary = "a text, repeated", parameters = { "text", "count" },
    example = "{{repeat::*::5}}", run = repeated,
  },
  {
    name = "replace", summary = "a text with one piece replaced by another", parameters = { "text", "piece", "by" },
    example = "{{replace::my cat::cat::dog}}", run = replace,
  },
  {
    name = "truncate", summary = "the first characters of a text", parameters = { "text", "count" },
    example = "{{truncate::a long text::6}}", run = truncate,
  },
  {
    name = "length", summary = "the number of characters", parameters = { "text" }, example = "{{length::heron}}",
    run = function(_, whole) return text.length(whole) end,
  },
}

local OF_ONE = {
  { "upper", "a text in upper case", text.upper, { "uppercase" } },
  { "lower", "a text in lower case", text.lower, { "lowercase" } },
  { "capitalize", "a text with its first letter in upper case", text.capitalize },
  { "reverse", "a text backwards", text.reverse },
}

for _, row in ipairs(OF_ONE) do
  local name, summary, change, aliases = table.unpack(row)
  macros[#macros + 1] = {
    name = name, summary = summary, parameters = { "text" }, aliases = aliases,
    example = ("{{%s::a Heron}}"):format(name),
    run = function(_, whole) return change(whole) end,
  }
end

for _, macro in ipairs(macros) do
  macro.stability = "stable"   -- as stable as their arguments
end

return macros
