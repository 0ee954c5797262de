--- The page of the operations, from their forms and from the words of the annotations.

local annotations = require "reference.annotations"
local markdown = require "reference.markdown"
local operations = require "ebb.conversation.operations"
local schema = require "ebb.support.schema"
local tables = require "ebb.support.tables"

local page = {}

local code = markdown.code

--- A value that no field takes, so that each says what it expects.
local STRANGER = coroutine.create(function() end)

local ORDER = { "append", "insert", "replace", "truncate", "clear", "filter", "rollback" }

--- Words for fields that differ from those of Lua, or that no class of the annotations describes.
local WORDS = {
  range = "keeps the messages from `start` to before `end`",
  messages = "the messages, as a provider takes them", message = "the message, as a provider takes it",
  position = "where the first one goes", index = "of the message",
  keep_system_message = "false removes the system messages, too; default: true",
  target = "the batch's number; batches count from 0",
  checkpoint = "in place of the number: a checkpoint's name",
  description = "of the batch, in the caller's own words, which `batches` and `ebb session log` show; default: what "
    .. "was done",
  length = "number of messages of the batch: its state then; default: its latest",
}

--- The descriptions of the classes' fields by name.
local function descriptions(sources)
  local texts = {}
  for _, source in ipairs(sources) do
    for _, item in ipairs((annotations.read(source))) do
      if item.name == "ebb.Truncate" or item.name == "ebb.Filter" then
        texts[item.name:match "%.(.*)":lower()] = item.fields
      end
    end
  end
  return texts
end

local function expected_of(field)
  local _, problems = schema.read(field, STRANGER)
  return problems[1].expected
end

local function meaning_of(fields, name)
  if WORDS[name] then return WORDS[name] end
  for _, field in ipairs(fields) do
    if field.name == name then return field.text end
  end
  error("nothing describes the field " .. name)
end

local function rows_of(form, fields)
  local rows = {}
  for _, name in ipairs(tables.keys(form.fields)) do
    local declared = form.fields[name]
    local meaning = meaning_of(fields, declared.as or name)
    rows[#rows + 1] = { code(name), expected_of(declared), (declared.required and "required; " or "") .. meaning }
  end
  return rows
end

local INTRODUCTION = [[
Operations edit the visible list exactly as they say: `ebb apply FILE CHAT`, `chat:apply(operations)` in Lua,
`ebb_chat_apply` in C. A file has one operation or a list of them, which run all or none. Names of operations may be
written in upper case. Positions count from 0, ranges are half-open. All but append and rollback start a batch, which
can be rolled back. Two forms mean the same:

- flat: `{"operation": "truncate", "keepLast": 5}`
- as a node: `{"operation": "truncate", "truncate": {"keepLast": 5}}`

An operation may separate a call from its results; with `wholeUnits` it does not.]]

---@param sources string[]     texts of the annotation files
---@return string
function page.text(sources)
  local texts, parts = descriptions(sources), { INTRODUCTION }
  for _, name in ipairs(ORDER) do
    local form, words = operations.FORMS[name], operations.WORDS[name]
    operations.read(words.example)   -- raises if the example is wrong
    parts[#parts + 1] = ("## %s\n"):format(name)
    parts[#parts + 1] = markdown.sentence(words.summary)
    parts[#parts + 1] = markdown.block("json", words.example)
    parts[#parts + 1] = markdown.table({ "field", "value", "meaning" }, rows_of(form, texts[name] or {}))
  end
  return markdown.page("Operations", parts)
end

return page
