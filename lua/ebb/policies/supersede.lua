--- Trim policy: a newer message replaces an older one that says the same.
--
--     key     metadata.key is the same: states of one thing
--     call    a tool was called again with the same arguments
--     path    a file was read again, or edited since it was read
--     text    a later result is the same, word for word

local core = require "ebb.support.core"
local results = require "ebb.conversation.results"
local tables = require "ebb.support.tables"

local decode, encode = core.json.decode, core.json.encode

local WAYS = { "key", "call", "path", "text" }

---- By key ----

local function key_of(message, field)
  local metadata = message.metadata
  local key = type(metadata) == "table" and metadata[field]
  local plain = type(key) == "string" or type(key) == "number"
  return plain and key or nil
end

--- A result alone is dropped; as a part of a unit it shrinks, for the other results are not worthless.
local function retire(draft, message, placeholder)
  if message.unit.count == 1 then return draft:drop(message, "superseded") end
  local note = #message.calls == 0 and results.note_for(message.text, placeholder)
  local smaller = note and draft:cost { role = "user", content = note } < draft:cost { role = "user",
    content = message.text }
  if smaller then return draft:replace(message, { content = note }, "superseded") end
end

local function supersede_keys(draft, options)
  local seen = {}
  for message in draft:messages { from = "newest" } do
    local key = key_of(message, options.key)
    if key and seen[key] then
      retire(draft, message, options.placeholder)
    elseif key then
      seen[key] = true
    end
  end
end

---- By call ----

local PATH_NAMES = { path = true, file = true, filename = true, filepath = true, uri = true, notebook = true }
local READS = { read = true, view = true, cat = true, open = true, show = true, load = true, get = true }
local EDITS = { write = true, edit = true, replace = true, create = true, update = true, patch = true, insert = true,
  append = true, save = true, delete = true, apply = true, modify = true }

--- The words of a name: "readFile", "read_file" and "fs.read" have `read`.
local function has_word(name, words)
  for word in name:gsub("(%l)(%u)", "%1 %2"):lower():gmatch "%a+" do
    if words[word] then return true end
  end
  return false
end

--- The one path among the arguments; and whether there are others besides it.
local function path_of(arguments)
  local path, others = nil, false
  for name, value in pairs(arguments) do
    local is_path = PATH_NAMES[name:lower()] or has_word(name, PATH_NAMES)
    if is_path and type(value) == "string" and not path then path = value else others = true end
  end
  return path, others
end

---@class ebb.CallMeaning     What a call says about the results before it
---@field call string         tool and arguments, the same for equal ones
---@field reads? string       the path that it reads
---@field part? boolean       of that, maybe only a part: there are other arguments
---@field edits? string       the path that it changes

--- The meaning of a name and, after a zero, the text of its arguments.
---@type fun(call: string): ebb.CallMeaning
local meaning_of = results.remembering("supersede", function(call)
  local name, text = call:match "^([^\0]*)\0(.*)$"
  local arguments = decode(text)
  local meaning = { call = name .. "\0" .. (arguments ~= nil and encode(arguments) or text) }
  if type(arguments) ~= "table" or arguments[1] ~= nil then return meaning end
  local path, others = path_of(arguments)
  if path and has_word(name, EDITS) then
    meaning.edits = path
  elseif path and has_word(name, READS) then
    meaning.reads, meaning.part = path, others
  end
  return meaning
end)

---@class ebb.NewerResults    What later results have said, and which: owners are message and id
---@field calls table<string, string>
---@field paths table<string, string>    read as a whole, or edited
---@field texts table<string, string>

--- True if a newer result replaces this one; if not, it replaces those before it.
---@param newer ebb.NewerResults
local function is_superseded(newer, ways, text, result)
  local call, owner = results.call_of(result), ("%d %s"):format(result.message.seq, result.id)
  local meaning = call and meaning_of(call.name .. "\0" .. call.arguments)
  local function by(set, key) return key and set[key] and set[key] ~= owner end
  if ways.text and by(newer.texts, text) then return true end
  if meaning and ways.call and by(newer.calls, meaning.call) then return true end
  if meaning and ways.path and by(newer.paths, meaning.reads) then return true end
  newer.texts[text] = newer.texts[text] or owner
  if meaning and not result.error and not results.is_error(text) then
    local path = meaning.edits or not meaning.part and meaning.reads
    newer.calls[meaning.call] = owner
    if path then newer.paths[path] = owner end
  end
  return false
end

local function supersede_results(draft, ways, options)
  local newer = { calls = {}, paths = {}, texts = {} }
  local choice = { from = "newest", held = true, reason = "superseded" }
  results.rewrite(draft, choice, function(text, result)
    if text == "" or not is_superseded(newer, ways, text, result) then return nil end
    return results.note_for(text, options.placeholder)
  end)
end

---@type ebb.Policy
return {
  name = "supersede",
  summary = "drop messages and empty results that a newer one replaces",
  options = {
    by = { type = "list", default = WAYS, help = "key, call, path, text: what makes a newer one replace an older" },
    key = { type = "string", default = "key", help = "field of a message's metadata that holds its key" },
    placeholder = { type = "string", default = "[superseded]", help = "content of a superseded tool result" },
  },
  help = [[
key   messages whose metadata holds a key (`{"metadata": {"key": "todo"}}`) are states of
      one thing: only the newest of a key stays
call  a tool was called again with the same arguments: the newest result stays
path  a file was read again as a whole, or edited, since it was read: the older result
      goes. Tools tell by their names (read, view, open ...; write, edit, patch ...) and
      by an argument such as path or file_name
text  a later result is the same, word for word

A tool result stays next to its call and loses its content; instead of JSON its
placeholder is a JSON string. A result that reports an error replaces no other. The
budget plays no part, so another policy usually comes after it.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message).]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 700 --policy supersede]],

  check = function(options)
    for _, way in ipairs(options.by) do
      if not tables.contains(WAYS, way) then
        return ("by: expected %s, got '%s'"):format(table.concat(WAYS, ", "), tostring(way))
      end
    end
  end,

  ---@param draft ebb.Draft
  ---@param options { by: string[], key: string, placeholder: string }
  trim = function(draft, _, options)
    local ways = {}
    for _, way in ipairs(options.by) do
      ways[way] = true
    end
    if ways.key then supersede_keys(draft, options) end
    if ways.call or ways.path or ways.text then supersede_results(draft, ways, options) end
  end,
}
