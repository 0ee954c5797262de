--- A session of a million messages: opened by its tail, its last 200 messages, an append, and a trim to the tail;
--- next to them how long all of it takes to read. Warm: the file is in the system's cache.
--
--     lua5.4 tests/bench/session_tail.lua
--
-- EBB_BUILD  the build whose module is measured (build/release)
-- MESSAGES   of the session (1000000)
-- DB         where it is made (a temporary file), or found, if it is there

local build = os.getenv "EBB_BUILD" or "build/release"
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;"):format(build, build) .. package.path
package.cpath = ("%s/lua/?.so;"):format(build) .. package.cpath

local ebb = require "ebb"
local core = require "ebb.support.core"

local MESSAGES = math.tointeger(tonumber(os.getenv "MESSAGES" or "1000000"))
local CHUNK, LAST, TIMES = 10000, 200, 9

local place = os.getenv "DB" or os.tmpname()

local function message(i)
  local text = ("message %d "):format(i) .. ("word "):rep(40 + i % 40)
  return { role = i % 2 == 1 and "user" or "assistant", content = text }
end

local function fill()
  local session <close> = assert(ebb.session(place, "long", { relaxed = true }))
  for start = #session, MESSAGES - 1, CHUNK do
    local list = {}
    for i = 1, math.min(CHUNK, MESSAGES - start) do list[i] = message(start + i) end
    assert(session:append(list))
  end
end

local function ms(run)
  local start = core.now_us and core.now_us() or os.clock() * 1e6
  run()
  return ((core.now_us and core.now_us() or os.clock() * 1e6) - start) / 1000
end

local function print_row(title, times)
  table.sort(times)
  print(("%-44s %9.2f %9.2f"):format(title, times[1], times[#times // 2 + 1]))
end

fill()
print(("%d messages, ms of CPU, best and median of %d"):format(MESSAGES, TIMES))
local open, last, append, trim = {}, {}, {}, {}
for i = 1, TIMES do
  local session
  open[i] = ms(function() session = assert(ebb.session(place, "long")) end)
  last[i] = open[i] + ms(function()
    local size = 0
    for _, one in ipairs(session:recent(LAST)) do size = size + #one.text end
    assert(size > 0)
  end)
  append[i] = ms(function() assert(session:append(message(1))) end)
  local branch = assert(session:branch("short " .. i))
  trim[i] = ms(function() assert(branch:truncate { keep_last = LAST }) end)
  branch:close()
  assert(session.store:remove("short " .. i))
  session:close()
end
print_row("open", open)
print_row("open, and the text of the last 200", last)
print_row("append, on disk", append)
print_row("trim to the last 200, on disk", trim)
local whole <close> = assert(ebb.session(place, "long"))
print_row("read all of it", { ms(function() assert(#whole.chat >= MESSAGES) end) })
if not os.getenv "DB" then
  for _, rest in ipairs { "", "-wal", "-shm", "-checkpoint" } do os.remove(place .. rest) end
end
