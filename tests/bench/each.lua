--- Measures what `ebb each` costs on top of the work itself: a workflow over many conversations, on all processors,
--- compared with as many plain processes, each of which takes every n-th conversation, without a journal or a parent.
--
--     lua5.4 tests/bench/each.lua
--
-- EBB             the command that is measured (build/release/ebb)
-- CONVERSATIONS   how many (10000)
-- JOBS            processes (those that nproc says)
-- ROUNDS          runs of each, by turns (5); the figures are medians

local EBB = os.getenv "EBB" or "build/release/ebb"
local COUNT = math.tointeger(tonumber(os.getenv "CONVERSATIONS" or "10000"))
local ROUNDS = math.tointeger(tonumber(os.getenv "ROUNDS" or "5"))
local MESSAGES, CHANGED = 24, 7

local function output_of(line)
  local pipe <close> = assert(io.popen(line))
  return pipe:read "a"
end

local JOBS = math.tointeger(tonumber(os.getenv "JOBS" or output_of "nproc"))
local FOLDER = output_of "mktemp -d":gsub("%s+$", "")

local function write(name, text)
  local file <close> = assert(io.open(FOLDER .. "/" .. name, "wb"))
  assert(file:write(text))
end

local function conversation(number)
  local list = {}
  for i = 1, MESSAGES, 2 do
    local text = ("question %d of %d about the timetable, "):format(i, number):rep(3 + (number * i) % CHANGED)
    list[#list + 1] = ('{"role":"user","content":"%s"},{"role":"assistant","content":"%s"}')
      :format(text, ("an answer with some words, "):rep(6))
  end
  return '{"messages":[' .. table.concat(list, ",") .. "]}\n"
end

local FLOW = [[return { { operation = "truncate", truncate = { keepLast = 20 } }, { type = "trim", budget = 300 } }]]

--- The plain process: number `part` of `of`.
local PLAIN = [[
local ebb, nodes = require "ebb", require "ebb.workflow"
local part, of, flow, source, out = tonumber(arg[1]), tonumber(arg[2]), table.unpack(arg, 3)
local workflow, number = assert(nodes.load(flow)), 0
for line in io.lines(source, "L") do
  number = number + 1
  if number % of == part % of then
    local _, chat = assert(nodes.run(assert(ebb.parse(line)), workflow, {}))
    assert(chat:save(("%s/%d.json"):format(out, number)))
  end
end]]

--- The seconds of a shell command: of the clock, and of processors.
local function seconds_of(line)
  local report = FOLDER .. "/time"
  assert(os.execute(("TIMEFORMAT='%%R %%U %%S'; { time { %s; } >/dev/null 2>&1; } 2>%s"):format(line, report)
    :gsub("^", "bash -c '"):gsub("TIMEFORMAT='(.-)'", 'TIMEFORMAT="%1"') .. "'"))
  local file <close> = assert(io.open(report))
  local real, user, system = file:read("n", "n", "n")
  return { wall = real, cpu = user + system }
end

local function each()
  os.execute(("rm -rf %s/out"):format(FOLDER))
  local line = "%s each D/all.jsonl --run D/flow.lua --out D/out --jobs %d"
  return seconds_of((line:format(EBB, JOBS):gsub("D/", FOLDER .. "/")))
end

local function plain()
  os.execute(("rm -rf %s/plain; mkdir %s/plain"):format(FOLDER, FOLDER))
  local parts = {}
  for part = 1, JOBS do
    local line = "%s run D/plain.lua %d %d D/flow.lua D/all.jsonl D/plain &"
    parts[part] = line:format(EBB, part, JOBS):gsub("D/", FOLDER .. "/")
  end
  return seconds_of(table.concat(parts, " ") .. " wait")
end

local function median(list, name)
  local values = {}
  for i, entry in ipairs(list) do values[i] = entry[name] end
  table.sort(values)
  return values[(#values + 1) // 2]
end

local lines = {}
for i = 1, COUNT do lines[i] = conversation(i) end
write("all.jsonl", table.concat(lines))
write("flow.lua", FLOW)
write("plain.lua", PLAIN)
local runs = { each = {}, plain = {} }
for round = 1, ROUNDS do
  runs.plain[round], runs.each[round] = plain(), each()
end
local line = "cd %s && for i in 1 7 %d; do cmp out/all-$i.json plain/$i.json 2>&1; done; ls out/*.json | wc -l"
local same = output_of(line:format(FOLDER, COUNT))
assert(tonumber(same) == COUNT, same)
print(("%d conversations of %d messages; processes: %d, rounds: %d (medians)"):format(COUNT, MESSAGES, JOBS, ROUNDS))
for _, name in ipairs { "plain", "each" } do
  print(("%-6s %7.2f s, %7.2f s of processors"):format(name, median(runs[name], "wall"), median(runs[name], "cpu")))
end
for _, name in ipairs { "wall", "cpu" } do
  print(("each / plain, %-4s %5.3f"):format(name, median(runs.each, name) / median(runs.plain, name)))
end
os.execute("rm -rf " .. FOLDER)
