--- Ctrl-C on hostile conversations of 4 MB: each command ends within 60 ms of processor time (100 ms of a clock are
--- promised), with status 130, and what it was to write is as before. Shapes and moments are random: SEED=n repeats
--- a run.
--
-- Processor time after the signal, not the clock: a loaded machine may let the process wait. What the system counts it
-- in, 10 ms, is part of the bound.

local command = dofile "tests/lua/command.lua"
local hostile = dofile "tests/lua/hostile_commands.lua"
local shapes = dofile "tests/lua/hostile_shapes.lua"

local BYTES, AFTER_MAX = 4000000, 60      -- of a document; milliseconds
local MOMENT_MIN, MOMENT_MAX = 20, 400     -- milliseconds of processor time before the signal
local SEED = math.tointeger(tonumber(os.getenv "SEED" or os.time()))

--- Starts a line, sends SIGINT once it has had so many ticks of 10 ms, and prints its status, and the milliseconds that
--- it had before and in all; "over" if it had ended.
local SCRIPT = [[
exec 3<> <(:)
ticks() {
  local stat; read -r stat 2>/dev/null </proc/$1/stat || return 1
  set -- ${stat##*) }; echo $((${12} + ${13}))
}
%s >/dev/null 2>&1 &
pid=$!
while had=$(ticks $pid) && [ "${had:-0}" -lt %d ]; do read -rt 0.005 -u 3; done
kill -INT $pid 2>/dev/null
at=$(ticks $pid)
while [ -e /proc/$pid/stat ] && last=$(ticks $pid) && [ -n "$last" ]; do
  after=$last
  read -r _ _ state _ 2>/dev/null </proc/$pid/stat
  [ "$state" = Z ] && break
  read -rt 0.002 -u 3
done
wait $pid
echo $? ${at:-0} ${after:-${at:-0}}
]]

local SHAPES = 3       -- of a run

local folder
local paths = {}       -- of the shapes of this run
local interrupted = 0

--- Its status, and the milliseconds between the signal and its end.
local function interrupt(words, path, ticks)
  local line = hostile.line(command.EBB, words, path, folder)
  local file = hostile.write(folder .. "/script", SCRIPT:format(line:gsub("%%", "%%%%"), ticks))
  local pipe <close> = assert(io.popen("bash " .. file .. " 2>/dev/null"))
  local status, at, after = assert(pipe:read "a"):match "(%d+) (%d+) (%d+)"
  return tonumber(status), 10 * (tonumber(after) - tonumber(at))
end

local function write_shape(shape)
  local n = 1000
  for _ = 1, 2 do n = n * BYTES // #shape.document(n) end
  return hostile.write_pair(("%s/%s.jsonl"):format(folder, shape.name:gsub("%W", "_")), shape.document(n))
end

describe("Ctrl-C #time", function()
  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    hostile.write_files(folder)
    math.randomseed(SEED)
    print("SEED=" .. SEED)
    for i = 1, SHAPES do paths[i] = write_shape(shapes.list[(SEED + 5 * i) % #shapes.list + 1]) end
  end)

  teardown(function() os.execute("rm -r " .. folder) end)

  local lines = {}
  for name, acts in pairs(hostile.ACTS) do
    if name ~= "repl" then table.move(acts, 1, #acts, #lines + 1, lines) end      -- where it ends a line only
  end
  table.sort(lines)

  for number, words in ipairs(lines) do
    it("ends " .. words, function()
      local path, out = paths[number % SHAPES + 1], folder .. "/out"
      hostile.write(out, "old")
      local status, ms = interrupt(words, path, math.random(MOMENT_MIN, MOMENT_MAX) // 10)
      local where = (" on %s, SEED=%d"):format(path, SEED)
      assert(status < 126 or status == 130, "status " .. status .. where)
      if status == 130 then      -- else it had ended before
        interrupted = interrupted + 1
        assert(ms <= AFTER_MAX, ms .. " ms after the signal" .. where)
        assert.equal("old", command.read(out))
      end
      local files <close> = assert(io.popen("ls -A " .. folder))
      assert.falsy(files:read "a":find "%.out%.", "a temporary is left")
    end)
  end

  it("came in time for some", function() assert(interrupted > 0, "SEED=" .. SEED) end)
end)
