--- LPeg, or a refusal that says what is missing and how to get it: only pipelines, macros,
--- chat:input, chat.windows:act and ebb.read_window need it. The command and libebb have it inside.

local refuse = require "ebb.support.refuse"

local ok, lpeg = pcall(require, "lpeg")
if ok then return lpeg end

local problem = tostring(lpeg)
if problem:find("^module 'lpeg' not found") then problem = "no module lpeg" end
local text = "pipelines, macros, chat:input, chat.windows:act and ebb.read_window need LPeg: %s"
return refuse("absent", text:format(problem),
  "Debian: apt install lua-lpeg; LuaRocks: luarocks install lpeg")
