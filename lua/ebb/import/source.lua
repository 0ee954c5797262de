--- Reads the text of another program's file for importers: records of JSONL with their lines, or one value.
--
-- A byte order mark, CRLF and blank lines are accepted. A last line without newline that is not JSON is skipped,
-- for its writer is still at it; any other such line is an error with its place, or skipped on request. Cut
-- surrogates and bytes that are not UTF-8 become U+FFFD. What was skipped or mended is in the report.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local hints = require "ebb.support.hints"
local refuse = require "ebb.support.refuse"
local reports = require "ebb.import.report"
local text_place = require "ebb.support.text_place"

local source = {}

source.RECORDS_MAX = 50            -- records that recognition looks at
source.TEXT_BYTES_MAX = 64 * 1024   -- and bytes

local MENDED = "invalid text became U+FFFD"
local BOM = "\xEF\xBB\xBF"

---@class ebb.import.Source
---@field path string
---@field text string              without a byte order mark
---@field value any                what the text is as one JSON value; nil for JSONL and plain text
---@field next_line? fun(): integer?, string?, boolean?   of a file that is read line by line; then `text` is empty
---@field report ebb.import.Report
---@field skip_bad boolean

---@class ebb.import.Sample
---@field records? table[]    the first objects of JSONL, at most 50
---@field value any            the text as one JSON value
---@field text string         its first 64 KiB
---@field bytes string        its first 8 bytes, a byte order mark among them

---- Invalid text ----

local SURROGATE, HIGH, LOW = "^\\u[dD][89a-fA-F]%x%x", "^\\u[dD][89abAB]%x%x", "^\\u[dD][c-fC-F]%x%x"

--- Replaces escapes of half a surrogate pair.
local function mend_escapes(text)
  local pieces, from, at = {}, 1, 1
  while true do
    at = text:find("\\", at, true)
    if not at then break end
    if text:find(HIGH, at) and text:find(LOW, at + 6) then
      at = at + 12
    elseif text:find(SURROGATE, at) then
      pieces[#pieces + 1] = text:sub(from, at - 1) .. "\\ufffd"
      at = at + 6
      from = at
    else
      at = at + 2
    end
  end
  return table.concat(pieces) .. text:sub(from)
end

--- Decodes JSON; invalid text in it is mended.
---@param text string
---@param options? { raw: table<string, boolean> }
---@return any value
---@return ebb.Error|string text_or_problem   the bytes that were decoded; with nil the problem
---@return boolean? mended
local function decode(text, options)
  local value, problem = core.json.decode(text, options)
  if problem and problem.code == "encoding" then
    text = mend_escapes(core.utf8(text))
    value, problem = core.json.decode(text, options)
    if not problem then return value, text, true end
  end
  if problem then return nil, problem end
  return value, text, false
end

---- Lines ----

--- Iterates over lines that are not blank: number, bytes without the newline, and whether the newline is missing.
local function lines(text)
  local at, number = 1, 0
  return function()
    while at <= #text do
      local first = at
      local stop = text:find("\n", at, true)
      local last = (stop or #text + 1) - 1
      at, number = last + 2, number + 1
      if text:byte(last) == 13 and last >= first then last = last - 1 end
      if text:find("^[ \t\r]*[^ \t\r\n]", first) and last >= first then
        return number, text:sub(first, last), stop == nil
      end
    end
  end
end

--- Returns a problem's message; the line number in it becomes that of the line in the file.
local function placed(problem, number)
  return (problem.message:gsub("^%d+:", ("%d:"):format(number), 1))
end

--- Iterates over the objects of JSONL: number of the line, the decoded record, its bytes.
---@param from ebb.import.Source
---@param options? { raw: table<string, boolean> }   names of members that stay raw JSON, at any depth
---@return fun(): integer?, table?, string?
function source.records(from, options)
  local next_line, report = from.next_line or lines(from.text), from.report
  return function()
    for number, raw, is_cut in next_line do
      local value, text, mended = decode(raw, options)
      if value == nil then
        if is_cut then report:add("incomplete last line", "the file was being written", number)
        elseif from.skip_bad then report:add("bad line", text.message:gsub("^%d+:%d+: ", ""), number)
        else refuse(text.code, placed(text, number), hints.bad_lines) end
      elseif not fields.is_object(value) then
        report:add("other line", "not an object", number)
      else
        if mended then report:add("mended text", MENDED, number) end
        return number, value, text
      end
    end
  end
end

---- Sources ----

--- Decodes the text as one value, where it is one.
local function decode_whole(from)
  local value, text, mended = decode(from.text)
  if value == nil then return nil, text end
  if mended then from.report:add("mended text", MENDED) end
  from.value, from.text = value, text
end

local Source = { __index = { records = source.records } }

--- A source of a text. `problem` says why the text is not one JSON value, nil if it is.
---@param text string
---@param options { path?: string, skip_bad?: boolean }
---@return ebb.import.Source
---@return ebb.Error? problem
function source.new(text, options)
  if text:sub(1, 3) == BOM then text = text:sub(4) end
  local from = setmetatable({
    path = options.path or "text", text = text, report = reports.new(), skip_bad = options.skip_bad or false,
  }, Source)
  if not text:find "^%s*[%[{]" then return from, core.error("syntax", "1:1: expected JSON") end
  local _, problem = decode_whole(from)
  return from, problem
end

--- Mends a text that is read as plain text.
---@param from ebb.import.Source
function source.mend(from)
  local text = core.utf8(from.text)
  if text ~= from.text then from.report:add("mended text", MENDED) end
  from.text = text
end

--- The first records, where the text may be JSONL: its first line is JSON, or it is no value as a whole.
local function first_records(from)
  local list, looked = {}, 0
  for _, raw in lines(from.text) do
    looked = looked + 1
    local is_whole = looked == 1 and from.value ~= nil and from.text:find("^[\r\n]*$", #raw + 1)
    local value = raw:find "^%s*{" and (is_whole and from.value or decode(raw))
    if fields.is_object(value) then list[#list + 1] = value end
    if looked == 1 and from.value ~= nil and not value then return nil end
    if looked >= source.RECORDS_MAX then break end
  end
  return list[1] and list or nil
end

---@param from ebb.import.Source
---@param bytes string         the first of the file
---@return ebb.import.Sample
function source.sample(from, bytes)
  local is_json = from.text:find "^%s*[%[{]" ~= nil
  return {
    records = is_json and first_records(from) or nil, value = from.value,
    text = from.text:sub(1, source.TEXT_BYTES_MAX), bytes = bytes:sub(1, 8),
  }
end

--- "line:byte" of a byte of the text.
---@param from ebb.import.Source
---@param at integer
---@return string
function source.place(from, at)
  return text_place(from.text, at)
end

return source
