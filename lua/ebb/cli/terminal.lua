--- Where the command talks. Standard output holds results only, and only once
--- they are whole; everything else goes to standard error.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local host = require "ebb.host"
local text = require "ebb.cli.text"

local terminal = {}

local STDIN, STDOUT, STDERR = 0, 1, 2
local COLUMNS = 80   -- where there is no terminal to fit

local COLOURS = { dropped = 31, inserted = 32, replaced = 33, title = 1, kept = 2 }

terminal.stdin_is_terminal = host.is_terminal(STDIN)
terminal.talks_to_person = host.is_terminal(STDERR)

local wants_colour = (os.getenv "NO_COLOR" or "") == ""
local coloured = terminal.talks_to_person and wants_colour
local results_coloured = host.is_terminal(STDOUT) and wants_colour

---@param line string     may hold newlines; all else that is not printable is escaped
function terminal.say(line)
  io.stderr:write(text.printable(line, true), "\n")
end

--- Lines that are printable already, such as a table.
function terminal.show(lines)
  io.stderr:write(lines)
end

--- Writes a result, or fails with nothing written.
function terminal.result(bytes, path)
  failure.check(core.write_file(path or "-", bytes))
end

function terminal.columns(of_results)
  return host.columns(of_results and STDOUT or STDERR) or math.tointeger(tonumber(os.getenv "COLUMNS")) or COLUMNS
end

--- The columns for a result's table: what goes to no terminal is not cut.
---@return integer
function terminal.room()
  return host.columns(STDOUT) or math.maxinteger
end

--- Colours a piece of what goes to standard error, or of a result.
---@param name? string
---@param piece string
---@param of_results? boolean
function terminal.colour(name, piece, of_results)
  local code = (of_results and results_coloured or not of_results and coloured) and COLOURS[name]
  return code and ("\27[%dm%s\27[0m"):format(code, piece) or piece
end

return terminal
