--- Reads Lua files that return something, in the state of the program itself: lists of
--- nodes, steps of workflows, and policies and filters that are trusted. What comes
--- from strangers goes through loader.lua.
--
-- The file gets the globals of the program, except that its
-- `print` goes to the log and its own globals stay its own.

local traceback = require "ebb.support.traceback"
local core = require "ebb.support.core"
local hints = require "ebb.support.hints"
local log = require "ebb.support.log"
local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"

local script_file = {}

script_file.MAX = 1024 * 1024   -- bytes; no script that a person wrote is longer

--- True if the word is the path of a Lua file, false if it is the name of something built in.
---@param word string
---@return boolean
function script_file.is_path(word)
  return word:find "%.lua$" ~= nil or word:find("/", 1, true) ~= nil
end

--- "path/to/shrink_tools.lua" -> "shrink_tools"
---@param path string
---@return string
function script_file.name(path)
  return (path:gsub("^.*/", ""):gsub("%.lua$", ""))
end

--- True if the word is the text of a script, false if it is a name. Scripts begin with
--- return, local or a comment, names do not.
---@param word string
---@return boolean
function script_file.is_source(word)
  return word:find "^%s*return%f[^%w_]" ~= nil or word:find "^%s*local%s" ~= nil or word:find "^%s*%-%-" ~= nil
end

--- Takes "mine.lua:keep=3,mode=last" apart; the text of a script stays whole.
---@param word string
---@param noun string          of the script, for the refusal
---@return string name
---@return string? options     "keep=3,mode=last"
function script_file.split_options(word, noun)
  if script_file.is_source(word) then return word end
  local name, options = word:match "^(.-):([%w_%-]+=.*)$"
  if name then return name, options end
  local front, rest = word:match "^(.+):([%w_%-]*)$"
  if front and front ~= "" then
    refuse("argument", ("%s %s: expected key=value behind the colon, got '%s'"):format(noun, front, rest))
  end
  return word
end

--- Refuses source that forgot `return`.
---@param word string
---@param noun string
function script_file.refuse_without_return(word, noun)
  if not word:find "^%s*function%s*%(" and not word:find "^%s*{" then return end
  refuse("argument", ("Lua in the place of a %s's name begins with return"):format(noun),
    ("'return %s'"):format(word:match "^%s*(.*)$"))
end

--- The globals of one file, over those of the program.
---@return table
function script_file.globals()
  return setmetatable({ print = log.print }, { __index = _G })
end

--- What a text returns.
---@param text string
---@param chunk_name string    "@file.lua"
---@return any value           nil when it failed, or when the text returned nothing
---@return ebb.Error? problem  its code is "syntax" or "script"
function script_file.run(text, chunk_name)
  local chunk, problem = load(text, chunk_name, "t", script_file.globals())
  if not chunk then return nil, core.error("syntax", problem) end
  local ok, value = pcall(chunk)
  if not ok then return nil, core.error("script", traceback.text(value)) end
  return value
end

--- What the file returns.
---@param path string
---@return any value           nil when it failed, or when the file returned nothing
---@return ebb.Error? problem  with file:line where there is one; code: "absent", "io", "limit", "syntax", "script"
function script_file.load(path)
  local text, problem = core.read_file(path, script_file.MAX)
  if not text then return nil, problem end
  return script_file.run((text:gsub("^#[^\n]*", "", 1)), "@" .. path)   -- without the line that makes it a program
end

---@class ebb.ScriptKind      What a file should return: a function, or a table with one
---@field noun string          "policy"
---@field verb string          the field of the table: "trim"
---@field hint string          what to return

--- The field by which each kind of script is recognized.
local MARKS = { { "policy", "trim" }, { "filter", "filter" }, { "processor", "execute" }, { "macro", "stability" } }

--- Refuses a table of another kind, and says what that is for.
---@param where string         the file
---@param kind ebb.ScriptKind
---@param value table
function script_file.refuse_other(where, kind, value)
  for _, mark in ipairs(value[kind.verb] == nil and MARKS or {}) do
    local noun, field = table.unpack(mark)
    if value[field] ~= nil and noun ~= kind.noun then
      refuse("shape", ("%s is a %s, not a %s"):format(where, noun, kind.noun), hints[noun])
    end
  end
end

--- The hint for a file that does not exist: a file beside it with nearly the same name.
local function near_file(path)
  local folder, name = path:match "^(.*/)([^/]*)$"
  local entries = core.list_folder and core.list_folder(folder or ".")
  local near = entries and suggest.nearest(name or path, entries)
  return near and ("did you mean '%s%s'?"):format(folder or "", near) or nil
end

--- What was loaded as a table, a bare function put into one. Raises what is wrong.
---@param where string         the file
---@param kind ebb.ScriptKind
---@param value any
---@param problem? ebb.Error   why nothing was loaded
---@return table
function script_file.shaped(where, kind, value, problem)
  local code = problem and (problem.code == "script" and kind.noun or problem.code)
  if problem then return refuse(code, problem.message, problem.hint or code == "absent" and near_file(where) or nil) end
  if type(value) == "function" then return { [kind.verb] = value } end
  if type(value) ~= "table" then
    return refuse("shape", ("%s: expected a %s, the file returned %s"):format(where, kind.noun, type(value)), kind.hint)
  end
  script_file.refuse_other(where, kind, value)
  return value
end

--- The table that a file returns.
---@param path string
---@param kind ebb.ScriptKind
---@return table value
---@return string name         of the file
function script_file.read(path, kind)
  return script_file.shaped(path, kind, script_file.load(path)), script_file.name(path)
end

--- What stands for the file where a script is a text.
---@param text string
---@param kind ebb.ScriptKind
---@return string
function script_file.source_name(text, kind)
  if type(text) ~= "string" then refuse("argument", "source is the text of a script") end
  return kind.noun .. " text"
end

--- The same for the text of a script.
---@param text string
---@param kind ebb.ScriptKind
---@return table value
---@return string name         which also stands before lines in errors
function script_file.read_source(text, kind)
  local name = script_file.source_name(text, kind)
  return script_file.shaped(name, kind, script_file.run(text, "=" .. name)), name
end

return script_file
