--- The conversations that `ebb each` runs over: files, folders of them, lines of files, and sessions.
--
--     { name = "chats/a.json", path = "chats/a.json", out = "a.json" }
--     { name = "all.jsonl:3", path = "all.jsonl", first = 901, size = 400, out = "all-3.json" }
--     { name = "session:support", path = "session:support", out = "support.json" }

local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local host = require "ebb.host"
local sessions = require "ebb.cli.io.sessions"
local unpacked = require "ebb.cli.io.unpacked"

local each_items = {}

---@class ebb.cli.EachItem
---@field name string          in the journal and in reports
---@field path string
---@field out string           name of its result in the folder
---@field first? integer       byte from 0 at which its line begins; nil: the whole file
---@field size? integer
---@field identity string      of the file, or the version of the session, as it was found

--- True if a line is a conversation by itself, rather than a message of one.
local function is_conversation(line)
  local value = core.json.decode(line)
  if type(value) ~= "table" then return false end
  if value[1] ~= nil then return type(value[1]) == "table" end
  return type(value.messages or value.contents or value.input) == "table" and value.role == nil
end

--- The conversations of a file: one, or one in each line.
local function add_file(list, path)
  local file, why = io.open(path, "rb")
  if not file then failure.raise(failure.IO, why) end
  local identity = core.sha256((core.file_identity(path)))
  local base = unpacked.name(path:match "[^/]*$")
  local first, line = 0, file:read "L"
  local is_many = line and is_conversation(line) and file:read "l" ~= nil   -- one line is a conversation by itself
  file:seek "set"
  line = file:read "L"
  if not is_many then
    list[#list + 1] = { name = path, path = path, out = base, identity = identity }
  end
  local number = 1
  while is_many and line do
    if line:find "%S" then
      list[#list + 1] = { name = ("%s:%d"):format(path, number), path = path, first = first, size = #line,
        out = ("%s-%d.json"):format(base:gsub("%.jsonl?$", ""), number), identity = identity }
    end
    first, number, line = first + #line, number + 1, file:read "L"
  end
  file:close()
end

--- Adds the files of a folder, by name; false if the path is no folder.
local function add_folder(list, folder)
  local entries = host.entries(folder)
  if not entries then return false end
  table.sort(entries)
  local before = #list
  for _, entry in ipairs(entries) do
    if unpacked.name(entry):find "^[^.].*%.jsonl?$" then add_file(list, folder:gsub("/*$", "/") .. entry) end
  end
  if #list == before then
    failure.raise(failure.IO, ("%s: no .json or .jsonl file is in this folder"):format(folder))
  end
  return true
end

--- Adds the sessions that a pattern names, in which * stands for any characters.
local function add_sessions(list, pattern, args)
  local fits = "^" .. pattern:gsub("%p", "%%%0"):gsub("%%%*", ".*") .. "$"
  local store <close> = sessions.check(failure.typed(ebb.sessions, sessions.place(args, false), { create = false }))
  local before = #list
  for _, info in ipairs(sessions.check(store:list())) do
    if info.name:find(fits) then
      local path = "session:" .. info.name
      list[#list + 1] = { name = path, path = path, out = info.name:gsub("[^%w._-]", "_") .. ".json",
        identity = ("version %d"):format(info.version) }
    end
  end
  if #list == before then
    failure.raise(failure.IO, ("session:%s: no session has this name"):format(pattern), "`ebb session ls` lists them")
  end
end

local function check_names(list)
  local seen = {}
  for _, item in ipairs(list) do
    if seen[item.out] then
      failure.usage(("the results of %s and %s would have one name, %s"):format(seen[item.out], item.name, item.out),
        "run them apart, each with a folder of its own")
    end
    seen[item.out] = item.name
  end
end

--- Lists all conversations that the paths name, in order.
---@param paths string[]
---@param args table          the parsed command line
---@param ending? string       of results that are no conversations: ".txt"
---@return ebb.cli.EachItem[]
function each_items.find(paths, args, ending)
  local list = {}
  for _, path in ipairs(paths) do
    local pattern = sessions.name_of(path)
    if pattern then add_sessions(list, pattern, args)
    elseif not add_folder(list, path) then add_file(list, path) end
  end
  for _, item in ipairs(ending and list or {}) do item.out = item.out:gsub("%.jsonl?$", "") .. ending end
  check_names(list)
  return list
end

--- Returns the items of one machine among several: every n-th, from the i-th.
---@param list ebb.cli.EachItem[]
---@param shard? { part: integer, of: integer }
---@return ebb.cli.EachItem[]
function each_items.shard(list, shard)
  if not shard then return list end
  local mine = {}
  for i = shard.part, #list, shard.of do mine[#mine + 1] = list[i] end
  return mine
end

--- The text of an item that is a line.
---@param item ebb.cli.EachItem
---@return string
function each_items.text(item)
  local file, why = io.open(item.path, "rb")
  if not file then failure.raise(failure.IO, why) end
  file:seek("set", item.first)
  local text = file:read(item.size)
  file:close()
  return text
end

return each_items
