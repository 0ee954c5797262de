--- Output. Standard output has results only, written when they are complete; everything else
--- goes to standard error.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local host = require "ebb.host"
local text = require "ebb.cli.view.text"

local terminal = {}

local STDIN, STDOUT, STDERR = 0, 1, 2

local COLOURS = {
  dropped = "31", inserted = "32", replaced = "33", title = "1", kept = "2",
  error = "31", warning = "33", good = "32", system = "35", user = "36", tool = "2", window = "2",
}

terminal.stdin_is_terminal = host.is_terminal(STDIN)
terminal.talks_to_person = host.is_terminal(STDERR)

local wants_colour = (os.getenv "NO_COLOR" or "") == "" and os.getenv "TERM" ~= "dumb"

---@class ebb.cli.Page        What a view is written for
---@field width integer       cells of a line; math.maxinteger where nothing is to be cut
---@field is_terminal boolean
---@field coloured boolean     `paint` adds something
---@field paint fun(colour?: string, piece: string): string

--- A terminal has a width. A pipe and a file have none, unless COLUMNS sets one:
--- programs and `grep` get whole texts.
local function page_of(descriptor)
  local columns = math.tointeger(tonumber(os.getenv "COLUMNS"))
  local page = { width = host.columns(descriptor) or columns and columns > 0 and columns or math.maxinteger }
  page.is_terminal = host.is_terminal(descriptor)
  page.coloured = wants_colour and page.is_terminal
  function page.paint(colour, piece)
    local code = page.coloured and COLOURS[colour]
    return code and ("\27[%sm%s\27[0m"):format(code, piece) or piece
  end
  return page
end

--- A page on which everything is whole.
local WHOLE = { width = math.maxinteger, is_terminal = false, coloured = false,
  paint = function(_, piece) return piece end }

--- The page of a result, for standard output or a file.
---@param path? string      as given to terminal.result
---@return ebb.cli.Page
function terminal.results(path)
  return path and path ~= "-" and WHOLE or page_of(STDOUT)
end

--- The page of standard error.
---@return ebb.cli.Page
function terminal.messages()
  return page_of(STDERR)
end

local READING_MAX, READING_IN_PIPE = 100, 80   -- cells of a line of prose

--- The page of help on standard output: prose is broken into lines in a pipe, too.
---@return ebb.cli.Page
function terminal.reading()
  local page = page_of(STDOUT)
  page.width = page.width == math.maxinteger and READING_IN_PIPE or math.min(page.width, READING_MAX)
  return page
end

--- FIFOs by the paths of their copies, which places.lua made.
local fifos = {}

--- Calls a copy by the name of its FIFO from now on.
---@param copy string
---@param name string
function terminal.rename(copy, name) fifos[copy] = name end

--- The name of a file as the command line has it.
---@param path string
---@return string
function terminal.name_of(path) return fifos[path] or path end

--- The file that all messages are about, where a command runs on many; nil: they name what they are about.
local subject

--- Begins each line of later messages with the name of a file, unless it does already.
---@param name string
function terminal.name_lines(name) subject = name end

--- The lines with the name in front.
local function named_lines(lines)
  return (lines:gsub("[^\n]+", function(line)
    return line:sub(1, #subject) == subject and line or ("%s: %s"):format(subject, line:match "^%s*(.*)")
  end))
end

--- Messages are held back while a command may run again; nil: they are written at once.
local messages

--- The number of the run of a command: what is told once is told again in the next one.
terminal.run_number = 1

--- Keeps later messages, until `release` writes them or `drop` forgets them.
function terminal.hold() messages = {} end

function terminal.release()
  local list = messages or {}
  messages = nil
  io.stderr:write(table.unpack(list))
end

function terminal.drop() messages, terminal.run_number = nil, terminal.run_number + 1 end

local function emit(bytes)
  if messages then messages[#messages + 1] = bytes else io.stderr:write(bytes) end
end

local stdin_text, stdin_run

--- Reads a file; standard input once, whose text is the same where the command runs again.
---@param path string     "-": standard input
---@param max integer     bytes
---@return string
function terminal.read_file(path, max)
  if path ~= "-" then return failure.check(core.read_file(path, max)) end
  if stdin_run == terminal.run_number then
    failure.usage("standard input is named twice", "name a file for one of them")
  end
  stdin_text, stdin_run = stdin_text or failure.check(core.read_file("-", max)), terminal.run_number
  return stdin_text
end

--- Writes a line to standard error; a terminal gets it broken at spaces.
---@param line string     may hold newlines; all else that is not printable is escaped
function terminal.say(line)
  if subject and terminal.is_silent then return end
  if subject then line = named_lines(line) end
  terminal.progress(nil)
  if next(fifos) then line = line:gsub("/dev/fd/%d+", fifos) end
  local page = terminal.talks_to_person and terminal.messages() or WHOLE
  emit(terminal.fill(page, line, "  "))
end

--- A function that writes what a program says on its standard error to ours, as it comes in pieces. It cannot steer a
--- terminal: all but newlines and tabs that is not printable is escaped.
---@return fun(bytes: string)
function terminal.listener()
  local rest = ""                                  -- of a character that a piece cut
  return function(bytes)
    bytes = rest .. bytes
    rest = bytes:match "[\xC2-\xF4][\x80-\xBF]*$" or ""
    local lead = rest:byte() or 0
    if #rest >= (lead >= 0xF0 and 4 or lead >= 0xE0 and 3 or 2) then rest = "" end
    terminal.progress(nil)
    emit((core.printable(core.utf8(bytes:sub(1, #bytes - #rest)), "\n\t")))
  end
end

--- Set by --quiet: success is not reported.
terminal.quiet = false

--- Set by --quiet of a command that runs others: nor is what they say of each file, unless it fails.
terminal.is_silent = false

--- Tells a person of success; says nothing to a pipe or under --quiet.
---@param line string
function terminal.inform(line)
  if terminal.talks_to_person and not terminal.quiet then terminal.say(line) end
end

local PROGRESS_AFTER, PROGRESS_EVERY = 1.0, 0.1   -- seconds of processor time
local progress_due = PROGRESS_AFTER               -- when the line is written next
local progress_shown = false

--- Updates the line of progress; nil removes it. Silent for runs below a second, for pipes and
--- under --quiet.
---@param line? string
---@param at_once? boolean     the run is long for sure
function terminal.progress(line, at_once)
  if not terminal.talks_to_person or terminal.quiet or os.getenv "TERM" == "dumb" then return end
  if line and not at_once and os.clock() < progress_due or not line and not progress_shown then return end
  progress_due, progress_shown = os.clock() + PROGRESS_EVERY, line ~= nil
  io.stderr:write("\r\27[K", line and text.cut(line, terminal.messages().width - 1) or "")
end

--- Lines that are printable already, such as a table, or JSON.
function terminal.show(lines)
  if subject and terminal.is_silent then return end
  if subject then lines = named_lines(lines) end
  terminal.progress(nil)
  emit(terminal.talks_to_person and text.escaped(lines) or lines)
end

--- The identity of the input, if the output replaces it.
local input_identity

--- Notes the state of an input, before it is read: if the output is the same file, and another
--- program changes it meanwhile, it is not replaced.
---@param input? string
---@param output? string
function terminal.guard(input, output)
  if not input or not output or input == "-" or output == "-" then return end
  if core.target_key(input) == core.target_key(output) then input_identity = core.file_identity(input) end
end

--- Reports how a file was written: done, and what is lost of the old one; or nil and why not.
---@param path string
---@param ok? true
---@param problem? ebb.Error|string
function terminal.written(path, ok, problem)
  if not ok and problem.code == "conflict" then
    failure.raise(failure.IO, problem.message, "nothing was written; run the command again")
  end
  failure.check(ok, problem)
  if problem then terminal.say(("%s: warning: %s"):format(path, problem)) end
end

--- Writes the result of the command: from now on a signal ends the command, or the file is written, not both.
---@param path? string
---@param write fun(path: string, unchanged?: string): true?, ebb.Error|string?
function terminal.conclude(path, write)
  path = path or "-"
  if path == "-" then return terminal.written(path, write(path)) end
  host.conclude()
  terminal.written(path, write(path, input_identity))
end

--- Writes a result, or fails with nothing written.
function terminal.result(bytes, path)
  terminal.conclude(path, function(target, unchanged) return core.write_file(target, bytes, unchanged) end)
end

--- Lines of prose, broken at the width of a page, each ended by a newline.
---@param page ebb.cli.Page
---@param prose string        may hold newlines
---@param indent? string      of lines that continue another
---@return string
function terminal.fill(page, prose, indent)
  if page.width == math.maxinteger then return text.printable(prose, true) .. "\n" end
  return table.concat(text.wrap(prose, page.width, indent), "\n") .. "\n"
end

return terminal
