--- LPeg, or a refusal that says what is missing and how to get it: only pipelines, macros,
--- chat:input, chat.windows:act and ebb.read_window need it. The command and libebb have it inside.
--
-- Patterns that are matched are made with `compiled`. LPeg compiles a pattern at its first match, and one whose
-- compilation ran out of memory stays half compiled: the next match loops or crashes. A module that fails while it
-- loads is dropped with its patterns, and made again.

local refuse = require "ebb.support.refuse"

local ok, lpeg = pcall(require, "lpeg")
if not ok then
  local problem = tostring(lpeg)
  if problem:find("^module 'lpeg' not found") then problem = "no module lpeg" end
  local text = "pipelines, macros, chat:input, chat.windows:act and ebb.read_window need LPeg: %s"
  return refuse("absent", text:format(problem),
    "Debian: apt install lua-lpeg; LuaRocks: luarocks install lpeg")
end

local patterns = setmetatable({}, { __index = lpeg })

--- Compiles a pattern, and gives it back.
function patterns.compiled(pattern)
  lpeg.match(pattern, "")
  return pattern
end

return patterns
