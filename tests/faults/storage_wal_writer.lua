--- A process of storage_wal_reset.lua: PLACE NAME SECONDS. It appends turns to sessions of its own, or empties the log
--- in a loop if its name is "settle". At last it writes how often that was acknowledged, or why it was refused.

local build = os.getenv "EBB_BUILD" or "build"
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;"):format(build, build) .. package.path
package.cpath = ("%s/lua/?.so;"):format(build) .. package.cpath

local ebb = require "ebb"

local place, name, seconds = arg[1], arg[2], tonumber(arg[3])
local store = assert(ebb.sessions(place))
local session, times, ends = nil, 0, os.time() + seconds

--- A session gets 200 turns, so that opening it costs little.
local function append()
  if times % 200 == 0 then
    if session then session:close() end
    session = assert(ebb.session(place, ("%s %d"):format(name, times // 200)))
  end
  return session:append { role = "user", content = ("word "):rep(times * 7 % 600) }
end

local function settle() return store:settle() end

repeat
  local done, problem = (name == "settle" and settle or append)()
  if not done then
    io.write("refused ", problem.code, ": ", problem.message, "\n")
    os.exit(false)
  end
  times = times + 1
until os.time() >= ends
io.write("acknowledged ", times, "\n")
