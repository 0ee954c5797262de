--- The files of a command line: one that is written is no input, no database of sessions, and no other output. Links
--- and other spellings name the same file.
--
--     ebb trim c.json --policy p.lua --ledger l.json -o c.json
--     reads    c.json, p.lua, the user's sessions.db and the files next to it
--     writes   l.json, c.json        c.json, a conversation, may be written back
--
-- The declarations say which values are files: those of options called <file> and the like are read, unless
-- `places.writes` notes that the option names an output.
--
-- Files are read more than once: to see what they are, for a hint, by each run of a pipeline. So what comes through
-- pipes that the command line names, such as <(curl ...), is held until the command ends. "-" is read once.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local host = require "ebb.host"
local script_file = require "ebb.sandbox.script_file"
local sessions = require "ebb.cli.io.sessions"
local terminal = require "ebb.cli.view.terminal"

local places = {}

---@class ebb.cli.Place
---@field path string
---@field option? string        whose value it is
---@field what? string          what the error calls it; default: the input
---@field is_chat? boolean      the conversation of a command that edits one; the output that may replace it
---@field owner? table          has at `key` the word in which the path is
---@field key? any

---@class ebb.cli.Places
---@field reads ebb.cli.Place[]
---@field writes ebb.cli.Place[]

---- Declaring ----

local written = setmetatable({}, { __mode = "k" })     -- options that name an output
local rewriting = setmetatable({}, { __mode = "k" })   -- of them, those whose file may be the conversation itself

--- Notes that an option names a file which the command writes.
---@param option table       of argparse
---@param rewrites? boolean  it may be the conversation that the command edits
---@return table option
function places.writes(option, rewrites)
  written[option], rewriting[option] = true, rewrites
  return option
end

---- Collecting ----

local FILE = { ["<file>"] = true, ["<path>"] = true }
local SCRIPT = { ["<policy>"] = true, ["<filter>"] = true }

--- Arguments that are files; others are names and texts.
local ARGUMENT = { file = true, files = true, operations = true, script = true, arguments = true, paths = true,
  a = true, b = true, what = true }

--- The conversation of a command that edits one.
local CHAT = { file = true, files = true, arguments = true }

--- Options under which the output is a report, which does not replace a conversation.
local REPORTS = { "replay", "suggest", "graph", "preview", "show_config", "display", "dry_run" }

local function is_report(args)
  for _, field in ipairs(REPORTS) do
    if args[field] then return true end
  end
  return false
end

--- The files in a chain of policies or filters: "a.lua:keep=3;b.lua" has two.
local function scripts_of(word)
  local paths = {}
  if script_file.is_source(word) then return paths end
  for piece in word:gmatch "[^;,]+" do
    local path = piece:match "^%s*([^:]*)"
    if script_file.is_path(path) then paths[#paths + 1] = path end
  end
  return paths
end

--- Adds the files that one value of the command line names.
local function add(list, value, place)
  local is_list = type(value) == "table"
  for i, path in ipairs(is_list and value or { value }) do
    if type(path) == "string" and path ~= "-" and not sessions.name_of(path) then
      if path == "" then
        failure.usage(("%sthe name of a file is empty"):format(place.option:find "^%-" and place.option .. ": " or ""),
          "a shell variable that is not set may have been here")
      end
      list[#list + 1] = { path = path, option = place.option, is_chat = place.is_chat, what = place.what,
        owner = is_list and value or place.owner, key = is_list and i or place.key }
    end
  end
end

--- The files of one option or argument.
local function add_element(files, element, target, args)
  local value, argname = args[target], element._argname
  local option = element._name or target
  if value == nil then return end
  if written[element] then
    add(files.writes, value, { option = option, is_chat = rewriting[element] and not is_report(args) })
  elseif SCRIPT[argname] then
    for i, word in ipairs(value) do
      for _, path in ipairs(scripts_of(word)) do add(files.reads, path, { option = option, owner = value, key = i }) end
    end
  elseif FILE[argname] or (ARGUMENT[target] and not option:find "^%-") then
    add(files.reads, value, { option = option, is_chat = CHAT[target], owner = args, key = target })
  end
end

--- The files that a parsed command line names.
---@param command_parser table
---@param args table
---@return ebb.cli.Places
function places.of(command_parser, args)
  local files = { reads = {}, writes = {} }
  for _, elements in ipairs { command_parser._arguments, command_parser._options } do
    for _, element in ipairs(elements) do
      local target = element._target or element:_get_default_target()
      add_element(files, element, target, args)
      if target == "db" then add(files.reads, sessions.files(args), { option = "--db", what = "the database" }) end
    end
  end
  local chats = args.file or (args.files or args.arguments or {})[1]
  if args.in_place then add(files.writes, chats, { option = "-i", is_chat = true }) end
  return files
end

---- Checking ----

--- True if both places are the conversation, which a command may write back.
local function is_rewritten(write, read) return write.is_chat and read.is_chat end

--- Refuses an output that is an input or another output.
---@param files ebb.cli.Places
function places.check(files)
  local read_of, written_of = {}, {}
  for _, read in ipairs(files.reads) do
    local key = core.target_key(read.path)
    if not read_of[key] or read_of[key].is_chat then read_of[key] = read end   -- of two, the one that bars an output
  end
  for _, write in ipairs(files.writes) do
    local key = core.target_key(write.path)
    local read, other = read_of[key], written_of[key]
    if read and not is_rewritten(write, read) then
      failure.usage(("%s would replace %s %s"):format(write.option, read.what or "the input", read.path),
        "name another file")
    elseif other then
      failure.usage(("%s and %s go to one place, %s"):format(other.option, write.option, write.path),
        "name another file")
    end
    written_of[key] = write
  end
end

---- Pipes ----

--- The path under which a pipe can be read again and again; others stay as they are.
---@param path string
---@return string
function places.copy_of(path)
  local copy, why = host.hold(path)
  if not copy then failure.raise(failure.IO, ("%s: %s"):format(path, why)) end
  if copy ~= path then terminal.rename(copy, path) end
  return copy
end

--- Holds what comes through pipes. The arguments of a script are its own, and may never end: `ebb run` holds the one
--- that is the input of nodes.
---@param reads ebb.cli.Place[]
function places.hold(reads)
  for _, read in ipairs(reads) do
    local copy = read.option ~= "arguments" and places.copy_of(read.path)
    if copy and copy ~= read.path then
      local word = read.owner[read.key]
      local first, last = word:find(read.path, 1, true)
      read.owner[read.key] = word:sub(1, first - 1) .. copy .. word:sub(last + 1)
    end
  end
end

---- The command line ----

--- Refuses a command line on which an output is an input or another output, and holds what it reads through pipes.
---@param command_parser table
---@param args table
---@param more? ebb.cli.Places     that the command finds among its words
function places.prepare(command_parser, args, more)
  local files = places.of(command_parser, args)
  for _, list in ipairs { "reads", "writes" } do
    local others = more and more[list] or {}
    table.move(others, 1, #others, #files[list] + 1, files[list])
  end
  places.check(files)
  places.hold(files.reads)
end

return places
