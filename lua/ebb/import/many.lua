--- Files that hold many conversations: a list of them, or JSONL with one in each line.
--
-- Each conversation has its own report, and may be refused on its own. One is chosen by its number, from 1 in the order
-- of the file, its id or its title; only that one is converted then.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local refuse = require "ebb.support.refuse"
local reports = require "ebb.import.report"
local schema = require "ebb.support.schema"

local many = {}

local LISTED_MAX = 20   -- conversations that an error lists
local WORDS_MAX = 60    -- bytes of a title or an id there

---@class ebb.import.Entry      One value of a file of conversations
---@field number integer        from 1
---@field value table           an object
---@field raw? string           its bytes; nil: part of a list
---@field line? integer         of JSONL
---@field report ebb.import.Report   of this conversation
---@field branch? string

--- Iterates over the objects of a list.
local function elements(list, report)
  local number = 0
  return function()
    while list[number + 1] ~= nil do
      number = number + 1
      if fields.is_object(list[number]) then return number, list[number] end
      report:add("other entry", "not an object")
    end
  end
end

--- Iterates over the objects of a list, the one object, or the lines of JSONL: number, object, bytes, line.
local function values(source)
  if fields.is_list(source.value) then return elements(source.value, source.report) end
  local number = 0
  local next_record = fields.is_object(source.value) and function()
    if number == 0 then return 1, source.value, source.text end
  end or source:records()
  return function()
    local line, record, raw = next_record()
    if not line then return nil end
    number = number + 1
    return number, record, raw, line
  end
end

local function is_wanted(options, number, id, title)
  local wanted = options.conversation
  return wanted == nil or wanted == id or wanted == title or math.tointeger(tonumber(wanted)) == number
end

local function words(text)
  text = core.utf8(#text > WORDS_MAX and text:sub(1, WORDS_MAX) or text)
  return (text:gsub("%c", " "))
end

--- "2: Plans for June (1f3a)" for each conversation, the first ones.
---@param list ebb.Import[]
---@return string
function many.listing(list)
  local lines = {}
  for i = 1, math.min(#list, LISTED_MAX) do
    local title, id = list[i].conversation, list[i].id
    lines[i] = ("%d: %s%s"):format(list[i].number, title and words(title) or "without a title",
      id and (" (%s)"):format(words(id)) or "")
  end
  if #list > LISTED_MAX then lines[#lines + 1] = ("and %d more"):format(#list - LISTED_MAX) end
  return table.concat(lines, "\n")
end

--- The answer of an importer for a list of conversations: the only one as it is.
---@param list ebb.Import[]
---@param source ebb.import.Source
---@param options ebb.import.Options
---@param count integer         conversations of the source
---@return ebb.Import?          nil: one line, and no conversation in it
local function answer(list, source, options, count)
  if #list == 1 then
    local report = list[1].report
    for _, note in ipairs(source.report) do report:add(note.kind, note.message, note.line, note.count) end
    source.report = report
    return list[1]
  elseif #list > 1 then
    return { conversations = list, dialect = list[1].dialect, report = source.report }
  elseif options.conversation ~= nil then
    return refuse("unknown_name", "no conversation " .. schema.describe(options.conversation),
      ("a number from 1 to %d, an id or a title names one"):format(count))
  elseif source.is_line then
    return nil
  end
  return refuse("shape", "expected at least one conversation")
end

--- Reads one entry; an error gets its place, or is counted.
local function read_entry(entry, read_one, source)
  local ok, result = pcall(read_one, entry)
  if ok and not result then
    return nil
  elseif ok then
    result.report, result.line, result.number = entry.report, entry.line, entry.number
    return result
  elseif not core.is_error(result) then
    return error(result, 0)
  elseif not source.skip_bad then
    local place = entry.line and tostring(entry.line) or ("conversation %d"):format(entry.number)
    return refuse(result.code, ("%s: %s"):format(place, result.message), result.hint)
  end
  source.report:add("bad conversation", result.message, entry.line)
end

--- Reads every conversation of a source by `read_one`, which raises an error object for one it cannot read.
---@param source ebb.import.Source
---@param options ebb.import.Options
---@param read_one fun(entry: ebb.import.Entry): ebb.Import?   nil: reported, and no conversation
---@param name_of? fun(value: table): string?, string?   id and title
---@param entries? fun(): integer?, table?, string?, integer?   number, value, bytes, line; default: of the source
---@return ebb.Import
function many.collect(source, options, read_one, name_of, entries)
  local list, count = {}, 0
  for number, value, raw, line in entries or values(source) do
    local id, title
    count = number
    if name_of and options.conversation then id, title = name_of(value) end
    if is_wanted(options, number, id, title) then
      list[#list + 1] = read_entry({
        number = number, value = value, raw = raw, line = line, branch = options.branch, report = reports.new(),
      }, read_one, source)
    end
  end
  return answer(list, source, options, count)
end

return many
