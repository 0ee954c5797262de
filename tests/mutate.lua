--- Measures the tests: makes random small changes in Lua and C, one at a time, and runs the tests nearest to each.
--
--     lua5.4 tests/mutate.lua [MUTANTS] [SEED] [PATH]
--
-- A change that some test notices is killed, one that none notices survives and is shown. Changes are made in a clone
-- in a temporary folder, never in the checkout; those that do not compile do not count. MUTANTS: how many, 100 unless
-- told. PATH: only in files whose path begins so. The last line is "N killed of M"; exit status 1 below GOAL percent.

local GOAL = 90            -- percent that must be killed
local NEAREST = 6          -- runners of tests per change
local SECONDS = 150        -- for one runner; a change that makes it hang is noticed, too

local mutants = math.tointeger(tonumber(arg[1])) or 100
local seed = math.tointeger(tonumber(arg[2])) or os.time()
local only = arg[3] or ""
math.randomseed(seed)

---- Files and commands ----

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  assert(file:close())
end

local function lines_of(command)
  local list, pipe = {}, assert(io.popen(command))
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

--- True if a command ends well; its output goes to `log`.
local function runs(command, log)
  return os.execute(("%s >%s 2>&1 </dev/null"):format(command, log)) == true
end

---- Places that can be changed ----

local LUA_CODE = {
  { " < ", " <= " }, { " <= ", " < " }, { " > ", " >= " }, { " >= ", " > " }, { " == ", " ~= " }, { " ~= ", " == " },
  { " and ", " or " }, { " or ", " and " }, { "not ", "" }, { " %+ ", " - " }, { " %- ", " + " },
  { "%f[%w]true%f[%W]", "false" }, { "%f[%w]false%f[%W]", "true" },
}
local C_CODE = {
  { " < ", " <= " }, { " <= ", " < " }, { " > ", " >= " }, { " >= ", " > " }, { " == ", " != " }, { " != ", " == " },
  { " && ", " || " }, { " || ", " && " }, { "!%f[%a]", "" }, { " %+ ", " - " }, { " %- ", " + " }, { " %+= ", " -= " },
  { "%f[%w]true%f[%W]", "false" }, { "%f[%w]false%f[%W]", "true" },
}
local NUMBER = "%f[%w_.]%d+%f[^%w_.]"

--- The text with spaces in place of comments and strings, so that places stay.
local function blank(text, is_lua)
  local function spaces(piece) return (piece:gsub("[^\n]", " ")) end
  local out, at = {}, 1
  while at <= #text do
    local rest, past = text:sub(at, at + 1), nil
    if is_lua and text:find("^%-%-%[%[", at) then past = (select(2, text:find("]]", at, true)) or #text) + 1
    elseif is_lua and rest == "--" then past = text:find("\n", at, true) or #text + 1
    elseif is_lua and rest == "[[" then past = (select(2, text:find("]]", at, true)) or #text) + 1
    elseif not is_lua and rest == "/*" then past = select(2, text:find("*/", at, true)) + 1
    elseif not is_lua and text:find("^#", at) and (at == 1 or text:sub(at - 1, at - 1) == "\n") then
      past = text:find("[^\\]\n", at) + 1
    elseif rest:find "^[\"']" then
      past = at + 1
      while text:sub(past, past) ~= rest:sub(1, 1) do
        past = past + (text:sub(past, past) == "\\" and 2 or 1)
      end
      past = past + 1
    end
    out[#out + 1] = past and spaces(text:sub(at, past - 1)) or text:sub(at, at)
    at = past or at + 1
  end
  return table.concat(out)
end

---@class Change
---@field first integer       bytes of the text that are replaced
---@field last integer
---@field by string
---@field line integer

--- The changes that a text offers: one for each operator, number and call that is a statement.
local function changes_of(text, is_lua)
  local code, list, starts = blank(text, is_lua), {}, { 1 }
  for at in code:gmatch "()\n" do starts[#starts + 1] = at + 1 end
  local function add(first, last, by, line) list[#list + 1] = { first = first, last = last, by = by, line = line } end
  for line, start in ipairs(starts) do
    local words = code:sub(start, (starts[line + 1] or #code + 2) - 2)
    if not words:find "assert" then
      for _, pair in ipairs(is_lua and LUA_CODE or C_CODE) do
        for first, last in words:gmatch("()" .. pair[1] .. "()") do
          add(start + first - 1, start + last - 2, pair[2], line)
        end
      end
      for first, number, last in words:gmatch("()(" .. NUMBER .. ")()") do
        add(start + first - 1, start + last - 2, tostring(math.tointeger(tonumber(number)) + 1), line)
      end
      local call = is_lua and words:match "^%s+()[%w_.:]+%b()%s*$" or words:match "^%s+()[%w_]+%b();%s*$"
      if call then add(start + call - 1, start + #words - 1, is_lua and "" or ";", line) end
    end
  end
  return list
end

---- The tests nearest to a file ----

local runners = {}
for _, path in ipairs(lines_of "ls tests/lua/*_spec.lua tests/c/test_*.c") do
  if not path:find "complexity" and not path:find "bind_memory" then
    runners[#runners + 1] = { path = path, text = read(path), is_c = path:find "%.c$" ~= nil }
  end
end

local function count(text, word)
  local n, at = 0, 1
  while n < 4 do
    local first, last = text:find(word, at, true)
    if not first then break end
    n, at = n + 1, last + 1
  end
  return n
end

--- Measures how near a runner is to a file, by names: higher is nearer.
local function nearness(runner, stem, folder, module)
  local name = runner.path:match "([^/]+)%.%w+$":gsub("_spec$", ""):gsub("^test_", "")
  local points = 0
  if name == stem or name == folder .. "_" .. stem or name == "cli_" .. stem then points = points + 20 end
  if ("_" .. name .. "_"):find("_" .. stem .. "_", 1, true) then points = points + 8 end
  if ("_" .. name .. "_"):find("_" .. folder:gsub("s$", ""), 1, true) then points = points + 3 end
  points = points + 4 * count(runner.text, module)
  return points + count(runner.text, stem) + count(runner.text, (stem:gsub("_", "-")))
end

local function nearest(path)
  local folder, stem = path:match "([^/]+)/([^/]+)%.%w+$"
  if stem == "init" then stem = folder end
  local module = path:find "^lua/" and path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
    or path:gsub("^runtime/", ""):gsub("%.[ch]$", "") .. ".h"
  local list = {}
  for _, runner in ipairs(runners) do
    local points = nearness(runner, stem, folder, module)
    if runner.is_c and path:find "^lua/" then points = 0 end
    if points > 0 then list[#list + 1] = { runner = runner, points = points } end
  end
  table.sort(list, function(a, b)
    if a.points ~= b.points then return a.points > b.points end
    return a.runner.path < b.runner.path
  end)
  return table.move(list, 1, NEAREST, 1, {})
end

---- One change ----

local top = lines_of "mktemp -d"[1]
local log = top .. "/log"
local shared = os.getenv "EBB_SHARED" or lines_of "cd ../shared 2>/dev/null && pwd"[1] or ""

local function in_clone(command) return ("cd %s/ebb && %s"):format(top, command) end

local function prepare()
  assert(runs(("git clone -q . %s/ebb"):format(top), log), "no clone")
  if io.open "build/ebb" then assert(runs(("cp -r build %s/ebb/build"):format(top), log)) end
  assert(runs(in_clone "make -j2 products", log), "the clone does not build")
end

local ENVIRONMENT = "env EBB=build/ebb EBB_BUILD=build LUA_PATH='build/lua/?.lua;build/lua/?/init.lua;;' "
  .. "LUA_CPATH='build/lua/?.so;;' EBB_SHARED=" .. shared .. " timeout " .. SECONDS

--- True if a runner fails.
local function notices(runner)
  if not runner.is_c then return not runs(in_clone(("%s busted %s"):format(ENVIRONMENT, runner.path)), log) end
  local program = "build/tests/" .. runner.path:match "([^/]+)%.c$"
  if not runs(in_clone("make -j2 " .. program), log) then return true end
  return not runs(in_clone(("%s %s"):format(ENVIRONMENT, program)), log)
end

--- The first of some runners that notices a change, of those for which `fits` is true.
local function find_notice(list, fits)
  for _, entry in ipairs(list) do
    if fits(entry.runner) and notices(entry.runner) then return entry.runner.path end
  end
end

local function runs_command(runner) return runner.text:find("command.lua", 1, true) ~= nil end
local function runs_library(runner) return not runs_command(runner) end

--- The runner that notices a change, or nil; "broken" for one that does not compile. The command has the Lua library
--- inside, so that it is linked anew only for those that run it.
local function judge(path)
  local list = nearest(path)
  if path:find "%.lua$" then
    if not runs(in_clone(("luac5.4 -p %s && cp %s build/%s"):format(path, path, path)), log) then return "broken" end
    local by = find_notice(list, runs_library)
    if by then return by end
  end
  if not runs(in_clone "make -j2 CFLAGS='-g -w' products", log) then return "broken" end
  return find_notice(list, path:find "%.lua$" and runs_command or function() return true end)
end

local function line_at(text, number)
  local n = 0
  for line in (text .. "\n"):gmatch "(.-)\n" do
    n = n + 1
    if n == number then return line:match "^%s*(.-)%s*$" end
  end
end

local function choose_files()
  local list = {}
  for _, path in ipairs(lines_of "git ls-files 'lua/ebb/*.lua' 'runtime/*.c'") do
    local is_table = path:find "_table%.c$" or path:find "/meta/" or path:find "embed%.lua$"
    if not is_table and path:sub(1, #only) == only then list[#list + 1] = path end
  end
  assert(list[1], "no file begins with " .. only)
  return list
end

---- All of them ----

local function run()
  prepare()
  local files, survivors, killed, done = choose_files(), {}, 0, 0
  local weights, sum = {}, 0
  for i, path in ipairs(files) do
    sum = sum + #read(path)
    weights[i] = sum
  end
  while done < mutants do
    local place, index = math.random(sum), 1
    while weights[index] < place do index = index + 1 end
    local path = files[index]
    local text = read(path)
    local changes = changes_of(text, path:find "%.lua$" ~= nil)
    if changes[1] then
      local change = changes[math.random(#changes)]
      local changed = text:sub(1, change.first - 1) .. change.by .. text:sub(change.last + 1)
      write(top .. "/ebb/" .. path, changed)
      local by = judge(path)
      write(top .. "/ebb/" .. path, text)
      if by ~= "broken" then
        done = done + 1
        local words = ("%s:%d: %s  ->  %s"):format(path, change.line, line_at(text, change.line),
          line_at(changed, change.line))
        print(("%3d %s %s%s"):format(done, by and "killed  " or "SURVIVED", words, by and "  (" .. by .. ")" or ""))
        io.stdout:flush()
        if by then killed = killed + 1 else survivors[#survivors + 1] = words end
      end
    end
  end
  for _, words in ipairs(survivors) do print("survived: " .. words) end
  print(("SEED %d: %d killed of %d"):format(seed, killed, done))
  return killed * 100 >= done * GOAL
end

local ok, result = xpcall(run, debug.traceback)
os.execute("rm -rf --one-file-system " .. top)
if not ok then io.stderr:write(result, "\n") end
os.exit(ok and result or false)
