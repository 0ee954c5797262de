--- Each command on hostile conversations of 4 MB: seconds of processors and of the clock, with the worst at the end;
--- then how long after a Ctrl-C those end that take longer than half a second.
--
--     lua5.4 tests/bench/hostile.lua [NAME...]     shapes with NAME in their name; default: all
--
-- EBB     the command that is measured (build/release/ebb)
-- BYTES   of each file (4000000)
-- WORST   how many of the worst are listed (15)
--
-- The shapes and the lines of arguments are those of the complexity gate. Ends with 1 if a command takes more than 2 s
-- of processors, if one ends more than 100 ms after its Ctrl-C, or if one crashes or is misused.

local EBB = os.getenv "EBB" or "build/release/ebb"
local BYTES = math.tointeger(tonumber(os.getenv "BYTES" or "4000000"))
local WORST = math.tointeger(tonumber(os.getenv "WORST" or "15"))
local SECONDS_MAX, INTERRUPTED_MAX = 2, 100
local LONG, INTERRUPT = 500, 300     -- milliseconds of the clock

package.path = "build/release/lua/?.lua;build/release/lua/?/init.lua;" .. package.path
package.cpath = "build/release/lua/?.so;" .. package.cpath

local ebb = require "ebb"
local hostile = dofile "tests/lua/hostile_commands.lua"
local policies = require "ebb.policies"
local shapes = dofile "tests/lua/hostile_shapes.lua"
local chats = dofile "tests/lua/hostile_chats.lua"(ebb, shapes)

local MEASURE = "build/release/bench/measure"

local function output_of(line)
  local pipe <close> = assert(io.popen(line))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

local FOLDER = output_of "mktemp -d":gsub("%s+$", "")

local function size_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:seek "end"
end

---- Files ----

local N_MAX = 2000000      -- beyond it a file would take gigabytes to make

--- The n with which `write` makes a file of about `bytes`; digits of larger numbers take more, so in two steps.
local function write_sized(write, bytes)
  local n = 1000
  for _ = 1, 2 do
    local path = write(n)
    n = math.max(1, n * (bytes or BYTES) // size_of(path))
    assert(n < N_MAX, "the file does not grow with n")
  end
  return write(n), n
end

local WHOLE = { dialect = "ebb" }      -- with batches, marks and windows

local function write_chat(make)
  local path = FOLDER .. "/chat.json"
  return write_sized(function(n)
    local chat = make(n)
    assert(chat:save(path, WHOLE))
    chat:append { role = "user", content = "more" }
    assert(chat:save(path .. ".changed", WHOLE))
    return path
  end)
end

local function write_document(shape)
  return write_sized(function(n) return hostile.write_pair(FOLDER .. "/document.jsonl", shape.document(n)) end)
end

local function write_input(make, bytes)
  return write_sized(function(n) return hostile.write(FOLDER .. "/input.json", make(n)) end, bytes)
end

---- Lines of arguments ----

local NEEDS = { quota = true, summarize = true }   -- options or a model

--- All that take a conversation, by name, and a trim by each policy.
local function lines_of_conversations()
  local list = {}
  for _, acts in pairs(hostile.ACTS) do
    table.move(acts, 1, #acts, #list + 1, list)
  end
  for _, name in ipairs(policies.names) do
    if not NEEDS[name] then list[#list + 1] = ("trim F --budget 50%% --policy %s -o O"):format(name) end
  end
  table.sort(list)
  return list
end

---- Runs ----

local runs, interrupted, failures = {}, {}, 0

local function fail(...)
  failures = failures + 1
  print(...)
end

local function interrupt(run, line)
  local text, status = output_of(("%s -i %d %s 2>/dev/null"):format(MEASURE, INTERRUPT, line))
  local ms = tonumber(text)
  if not ms then return end            -- it had ended before
  interrupted[#interrupted + 1] = { name = run.name, ms = ms, status = status }
end

local function measure(words, shape, path)
  local line = hostile.line(EBB, words, path, FOLDER)
  local text, status = output_of(("%s %s 2>%s/err"):format(MEASURE, line, FOLDER))
  local wall, _, cpu = table.unpack(table.pack(text:match "(%S+) (%S+) (%S+)"))
  local run = { name = ("%s on %s"):format(words, shape), wall = tonumber(wall), cpu = tonumber(cpu) }
  if not run.wall or status == 2 then
    return fail(("exit status %d: %s: %s"):format(status, run.name, output_of(("head -n 1 %s/err"):format(FOLDER))))
  end
  runs[#runs + 1] = run
  print(("%7.2f %7.2f %5d  %s"):format(run.cpu / 1000, run.wall / 1000, status, words))
  io.stdout:flush()
  if run.wall > LONG then interrupt(run, line) end
end

local function wanted(name)
  if #arg == 0 then return true end
  for _, word in ipairs(arg) do
    if name:find(word, 1, true) then return true end
  end
  return false
end

local function measure_all(name, lines, write)
  if not wanted(name) then return end
  local path, n = write()
  print(("\n%s, n = %d, %.1f MB\n%7s %7s %5s"):format(name, n, size_of(path) / 1e6, "cpu s", "wall s", "exit"))
  for _, words in ipairs(lines) do
    os.execute(("rm -rf %s/each"):format(FOLDER))
    measure(words, name, path)
  end
  os.execute(("rm -f %s %s.changed"):format(path, path))
end

---- Summaries ----

local function print_worst()
  table.sort(runs, function(a, b) return a.cpu > b.cpu end)
  print(("\nthe worst of %d runs, CPU s and wall s"):format(#runs))
  for i = 1, math.min(WORST, #runs) do
    print(("%7.2f %7.2f  %s"):format(runs[i].cpu / 1000, runs[i].wall / 1000, runs[i].name))
  end
  local over = 0
  for _, run in ipairs(runs) do
    if run.cpu > SECONDS_MAX * 1000 then over = over + 1 end
  end
  if over > 0 then fail(("%d took more than %d s of processors"):format(over, SECONDS_MAX)) end
end

local function print_interrupted()
  table.sort(interrupted, function(a, b) return a.ms > b.ms end)
  print(("\nms from SIGINT, after %d ms, to the end; the worst of %d runs"):format(INTERRUPT, #interrupted))
  for i = 1, math.min(WORST, #interrupted) do
    print(("%7.1f %5d  %s"):format(interrupted[i].ms, interrupted[i].status, interrupted[i].name))
  end
  local over = 0
  for _, run in ipairs(interrupted) do
    if run.ms > INTERRUPTED_MAX then over = over + 1 end
  end
  if over > 0 then fail(("%d ended more than %d ms after it"):format(over, INTERRUPTED_MAX)) end
end

local function sorted_names(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = name end
  table.sort(names)
  return names
end

assert(os.execute(("mkdir -p build/release/bench && %s -std=c11 -O2 tests/bench/measure.c -o %s"):format(
  os.getenv "CC" or "cc", MEASURE)))
hostile.write_files(FOLDER)
local LINES, LINES_OF_SAVED = lines_of_conversations(), {}
for _, words in ipairs(LINES) do      -- what is saved whole is not repaired
  if not words:find("--repair", 1, true) then LINES_OF_SAVED[#LINES_OF_SAVED + 1] = words end
end
for _, shape in ipairs(shapes.list) do
  measure_all(shape.name, LINES, function() return write_document(shape) end)
end
for _, name in ipairs(sorted_names(chats)) do
  measure_all(name .. ", saved", LINES_OF_SAVED, function() return write_chat(chats[name]) end)
end
for _, name in ipairs(sorted_names(hostile.OTHERS)) do
  local act = hostile.OTHERS[name]
  if act then measure_all(name, { act[1] }, function() return write_input(act[2], act[3]) end) end
end
print_worst()
print_interrupted()
os.execute("rm -rf " .. FOLDER)
os.exit(failures == 0)
