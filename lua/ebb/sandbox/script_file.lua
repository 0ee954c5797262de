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
local script_path = require "ebb.sandbox.script_path"
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
    refuse("argument", ("%s %s: expected key=value after the colon, got '%s'"):format(noun, front, rest))
  end
  return word
end

--- Refuses source that forgot `return`.
---@param word string
---@param noun string
function script_file.refuse_without_return(word, noun)
  local is_value = word:find "^%s*function%s*%(" or word:find "^%s*{"
  local is_body = not script_file.is_path(word) and word:find "[%(%){}\n]"
  if not is_value and not is_body then return end
  refuse("argument", ("Lua instead of a %s's name begins with return"):format(noun),
    is_value and ("'return %s'"):format(word:match "^%s*(.*)$") or "'return function(...) ... end'")
end

--- The globals of one file, over those of the program.
---@return table
local function globals()
  return setmetatable({ print = log.print }, { __index = _G })
end

local TOO_DEEP = "C stack overflow"   -- the parser's whole message

--- Compiles a text. The error of parts that are too deep in one another has no place: it gets the line that the parser
--- has come to.
local function compile(text, chunk_name, environment)
  local chunk, problem = load(text, chunk_name, "t", environment)
  if chunk or problem ~= TOO_DEEP then return chunk, problem end
  local line, next_line = 0, text:gmatch "[^\n]*\n?"
  load(function()
    line = line + 1
    return next_line()
  end, chunk_name, "t", environment)
  return nil, ("%s:%d: too many parts in one another (%s)"):format((chunk_name:gsub("^[@=]", "")), line, TOO_DEEP)
end

--- Runs a text and returns its value.
---@param text string
---@param chunk_name string    "@file.lua"
---@return any value           nil when it failed, or when the text returned nothing
---@return ebb.Error? problem  its code is "syntax" or "script"
function script_file.run(text, chunk_name)
  local chunk, problem = compile(text, chunk_name, (script_path.globals or globals)())
  if not chunk then return nil, core.error("syntax", problem) end
  local ok, value = pcall(chunk)
  if not ok then return nil, core.error("script", traceback.text(value)) end
  return value
end

--- "path/to/agent.json" -> "path/to/"
---@param path string
---@return string
function script_file.folder(path)
  return path:match "^(.*/)" or "./"
end

--- The text of a file below a folder, which no link leads to: only a regular file is opened.
local function contained_text(folder, name, most)
  local root, problem = core.root(folder)
  if not root then return nil, problem end
  local text
  text, problem = root:read(name, most)
  root:close()
  if text then return text end
  local path = name:sub(1, 1) == "/" and name or folder .. name
  local hint = problem.code == "forbidden" and hints.contained or nil
  return nil, core.error(problem.code, ("%s: %s"):format(path, problem.message), hint)
end

--- The text of a script, without the line that makes it a program.
---@param path string
---@param folder? string       which ends with a slash: the path is in a file of others that lies there, so it
---    must lead to a regular file below it, and through no link. nil: the caller's own path, to any file
---@param most? integer        bytes; default: MAX
---@return string? text
---@return ebb.Error|string problem   or the whole path; code: "absent", "forbidden", "io", "limit"
function script_file.text(path, folder, most)
  local text, problem
  if folder then
    text, problem = contained_text(folder, path, most or script_file.MAX)
  else
    text, problem = core.read_file(path, most or script_file.MAX)
  end
  if not text then return nil, problem end
  return (text:gsub("^#[^\n]*", "", 1)), (folder or "") .. path
end

--- The error, for a file that does not exist with a hint: a file next to it with nearly the same name.
---@param problem ebb.Error
---@param path string
---@return ebb.Error
function script_file.hinted(problem, path)
  local folder, name = path:match "^(.*/)([^/]*)$"
  local entries = problem.code == "absent" and core.list_folder and core.list_folder(folder or ".")
  local near = entries and suggest.nearest(name or path, entries)
  return near and core.error("absent", problem.message, ("did you mean '%s%s'?"):format(folder or "", near)) or problem
end

--- Runs a file and returns its value.
---@param path string
---@param folder? string       as for `text`
---@return any value           nil when it failed, or when the file returned nothing
---@return ebb.Error? problem  with file:line where there is one; code: "absent", "forbidden", "io", "limit", "syntax",
---    "script"
function script_file.load(path, folder)
  local text, whole_path = script_file.text(path, folder)
  if not text then return nil, script_file.hinted(whole_path, (folder or "") .. path) end
  return script_file.run(text, "@" .. whole_path)
end

--- Compiles a file, and does not run it.
---@param path string
---@param folder? string       as for `text`
---@return ebb.Error? problem  as of `load`, but for "script"
function script_file.check(path, folder)
  local text, whole_path = script_file.text(path, folder)
  if not text then return script_file.hinted(whole_path, (folder or "") .. path) end
  local chunk, problem = compile(text, "@" .. whole_path, {})
  return not chunk and core.error("syntax", problem) or nil
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

--- Returns a loaded value as a table; a bare function is put into one. Raises if it has another shape.
---@param where string         the file
---@param kind ebb.ScriptKind
---@param value any
---@param problem? ebb.Error   why nothing was loaded
---@return table
function script_file.shaped(where, kind, value, problem)
  local code = problem and (problem.code == "script" and kind.noun or problem.code)
  if problem then return refuse(code, problem.message, problem.hint) end
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
---@param folder? string       as for `text`
---@return table value
---@return string name         of the file
function script_file.read(path, kind, folder)
  return script_file.shaped(path, kind, script_file.load(path, folder)), script_file.name(path)
end

--- The text of a table { source = text }: options and limits are the call's, and would be lost in it.
---@param value table
---@param kind { noun: string }
---@return any
function script_file.source_in(value, kind)
  for key in pairs(value) do
    if key ~= "source" then
      refuse("argument", ("{ source = ... } of a %s has no other field, got '%s'"):format(kind.noun, tostring(key)),
        ("what belongs to the call goes next to it: { { source = ... }, %s = ... }"):format(tostring(key)))
    end
  end
  return value.source
end

--- Returns the name that a script without a file has in errors.
---@param text string
---@param kind ebb.ScriptKind
---@return string
function script_file.source_name(text, kind)
  if type(text) ~= "string" then refuse("argument", "source is the text of a script") end
  return kind.noun .. " text"
end

--- Reads the text of a script as `read` does a file.
---@param text string
---@param kind ebb.ScriptKind
---@return table value
---@return string name         which also comes before lines in errors
function script_file.read_source(text, kind)
  local name = script_file.source_name(text, kind)
  return script_file.shaped(name, kind, script_file.run(text, "=" .. name)), name
end

return script_file
