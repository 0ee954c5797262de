--- Turns of a conversation, and how long a session takes to keep them; tests/bench/sessions.sh runs it.
--
--     lua5.4 tests/bench/sessions.lua make TURNS                        the turns as JSONL, two lines each
--     lua5.4 tests/bench/sessions.lua run TURNS.jsonl DATABASE [relaxed]
--
-- run prints a row with tabs: what, bytes of the file, ms a turn by the clock, ms of CPU a turn, ms of CPU to read all
-- of it again, and a digest of the texts that were read. EBB_BUILD is the build (build/release).

local build = os.getenv "EBB_BUILD" or "build/release"
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;"):format(build, build) .. package.path
package.cpath = ("%s/lua/?.so;"):format(build) .. package.cpath

local ebb = require "ebb"
local core = require "ebb.support.core"

local SIZES = { 480, 520, 700, 800, 960, 1040 }

local function make(turns)
  local state = 1
  local function text()
    state = (state * 1103515245 + 12345) % 0x80000000
    return ("%08x"):format(state):rep(SIZES[1 + (state >> 8) % #SIZES] // 8)
  end
  for _ = 1, turns do
    for _, role in ipairs { "user", "assistant" } do
      print(('{"role":"%s","content":"%s"}'):format(role, text()))
    end
  end
end

local function size_of(path)
  local file = io.open(path, "rb")
  return file and file:seek "end" or 0
end

local function run(path, place, mode)
  local messages = {}
  for line in io.lines(path) do messages[#messages + 1] = assert(ebb.json.decode(line)) end
  local session = assert(ebb.session(place, "a", { relaxed = mode == "relaxed" }))
  local clock, cpu = core.now(), os.clock()
  for i = 1, #messages, 2 do assert(session:append { messages[i], messages[i + 1] }) end
  clock, cpu = core.now() - clock, os.clock() - cpu
  assert(session.store:settle())
  session:close()
  local start, texts = os.clock(), {}
  local again <close> = assert(ebb.session(place, "a"))
  for i, message in ipairs(again:all()) do texts[i] = message.content .. "\n" end
  local read, turns = os.clock() - start, #messages / 2
  print(table.concat({ mode == "relaxed" and "Ebb, relaxed" or "Ebb, a sync each turn", size_of(place), clock / turns,
    cpu * 1000 / turns, read * 1000, core.sha256(table.concat(texts)):sub(1, 16) }, "\t"))
end

if arg[1] == "make" then make(math.tointeger(tonumber(arg[2]))) else run(arg[2], arg[3], arg[4]) end
