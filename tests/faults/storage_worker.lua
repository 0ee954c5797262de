--- A process that appends turns to a shared session, for storage_processes.lua: PLACE NAME TURNS [TEXT].
--
-- It writes each turn that was acknowledged, and at last the longest wait in ms. TEXT comes before each turn, and its
-- macros are expanded.

local build = os.getenv "EBB_BUILD" or "build"
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;"):format(build, build) .. package.path
package.cpath = ("%s/lua/?.so;"):format(build) .. package.cpath

local core = require "ebb.support.core"
local ebb = require "ebb"

local place, name, turns = arg[1], arg[2], math.tointeger(arg[3])
local session = assert(ebb.session(place, "shared"))
local worst = 0
for turn = 1, turns do
  local content, start = ("%s %d"):format(name, turn), core.now()
  local done, problem = session:edit(function(chat)
    if arg[4] then chat:input(arg[4] .. content, { now = 0 }) else chat:append { role = "user", content = content } end
    return true
  end, { retries = 100000, operation = content })
  if not done then error(problem.message) end
  worst = math.max(worst, core.now() - start)
  io.write(content, "\n")
end
session:close()
io.write("worst ", worst, "\n")
