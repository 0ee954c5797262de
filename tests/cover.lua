--- Reports the lines and branches that the tests reached, from gcov's text on standard input.
--
--     gcov --stdout --branch-probabilities --branch-counts FILES | lua5.4 tests/cover.lua uncovered.txt
--
-- Prints lines and branches per file and per folder. What is asked:
--
--     runtime/core               every line and every branch
--     runtime/json, dialect, document, state   every line; 90 % of the branches of the folder, and 70 % of each file
--
-- A branch of a reader or a converter is often `status == STATUS_OK` in the
-- condition of a loop, whose other side is memory that ran out just there: one
-- such side is like another, so that a share of them is enough. A line that
-- never ran is always a form or a refusal that no test has.
--
-- The list names the functions that keep something unreached for a reason:
--
--     runtime/core/message/store.c store_add: a store of four billion messages
--
-- It fails if a folder or a file is below its goal, a function with something
-- unreached is not in the list, or one in the list has all that is asked: no
-- entry stays longer than it is true. Headers come once per file that includes
-- them: a line is reached if it is in one of them.

local EVERY_BRANCH = { ["runtime/core"] = true, ["runtime/json"] = false, ["runtime/dialect"] = false,
  ["runtime/document"] = false, ["runtime/state"] = false }
local LINES, BRANCHES, BRANCHES_OF_FILE = 95, 90, 70   -- percent: of a folder; of a file with SOME
local SOME = 20

---- Reading ----

---@class Line
---@field hit boolean
---@field branches boolean[]
---@field in_function string

---@type table<string, table<integer, Line>>
local files = {}

local function line_of(path, number)
  local lines = files[path] or {}
  files[path] = lines
  lines[number] = lines[number] or { hit = false, branches = {} }
  return lines[number]
end

local function read(input)
  local path, in_function, line
  for text in input:lines() do
    local count, number, rest = text:match "^%s*([%d#=*%-]+):%s*(%d+):(.*)$"
    local name = text:match "^function (%S+) called"
    local branch, taken = text:match "^branch%s+(%d+) (.*)$"
    if number == "0" then
      path = rest:match "^Source:(.*)$" or path
    elseif count == "-" then
      line = nil
    elseif count then
      line = line_of(path, tonumber(number))
      line.hit = line.hit or count:find "^%d" ~= nil
      line.in_function = in_function
    elseif name then
      in_function = name
    elseif branch and line then
      local hits = tonumber(taken:match "^taken (%d+)" or 0)
      line.branches[branch + 1] = line.branches[branch + 1] or hits > 0
    end
  end
end

---- Adding up ----

---@param every boolean     true: a branch that is not taken is missed, too
local function sums_of(lines, every, missed)
  local sums = { lines = 0, lines_hit = 0, branches = 0, branches_hit = 0 }
  for number, line in pairs(lines) do
    local whole = line.hit
    sums.lines = sums.lines + 1
    if line.hit then sums.lines_hit = sums.lines_hit + 1 end
    for _, hit in ipairs(line.branches) do
      sums.branches = sums.branches + 1
      if hit then sums.branches_hit = sums.branches_hit + 1 end
      whole = whole and (hit or not every)
    end
    if not whole then
      missed[line.in_function] = missed[line.in_function] or {}
      table.insert(missed[line.in_function], number)
    end
  end
  return sums
end

local function add(to, sums)
  for key, value in pairs(sums) do
    to[key] = (to[key] or 0) + value
  end
end

local function percent(hit, all)
  return all == 0 and 100 or hit / all * 100
end

local function show(name, sums)
  print(("%-36s %5.1f %% of %4d lines  %5.1f %% of %4d branches"):format(name, percent(sums.lines_hit, sums.lines),
    sums.lines, percent(sums.branches_hit, sums.branches), sums.branches))
end

---- The list ----

local function read_list(path)
  local list = {}
  for text in io.lines(path) do
    local file, name, reason = text:match "^([^#%s]%S*) (%S+): (%S.*)$"
    if file then
      list[file .. " " .. name] = reason
    elseif text ~= "" and not text:find "^#" then
      error(path .. ": not 'FILE FUNCTION: REASON': " .. text, 0)
    end
  end
  return list
end

local wrong = 0

local function complain(...)
  wrong = wrong + 1
  print("cover: " .. string.format(...))
end

local function sorted_keys(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end

---- All of it ----

read(io.stdin)
local list, folders = read_list(arg[1]), {}
for _, path in ipairs(sorted_keys(files)) do
  local folder = path:match "^runtime/%a+"
  local missed = {}
  if EVERY_BRANCH[folder] ~= nil then
    local sums = sums_of(files[path], EVERY_BRANCH[folder], missed)
    folders[folder] = folders[folder] or {}
    add(folders[folder], sums)
    show(path, sums)
    if sums.branches >= SOME and percent(sums.branches_hit, sums.branches) < BRANCHES_OF_FILE then
      complain("%s: below %d %% of branches", path, BRANCHES_OF_FILE)
    end
  end
  for _, name in ipairs(sorted_keys(missed)) do
    local key = path .. " " .. name
    table.sort(missed[name])
    if not list[key] then
      complain("%s: not all of lines %s; test it, or say why in %s", key, table.concat(missed[name], ", "), arg[1])
    end
    list[key] = nil
  end
end
for _, key in ipairs(sorted_keys(list)) do
  complain("%s: is in %s, but all of it is reached, or it is gone", key, arg[1])
end
for _, folder in ipairs(sorted_keys(folders)) do
  local sums = folders[folder]
  show(folder, sums)
  if percent(sums.lines_hit, sums.lines) < LINES or percent(sums.branches_hit, sums.branches) < BRANCHES then
    complain("%s: below %d %% of lines or %d %% of branches", folder, LINES, BRANCHES)
  end
end
if next(folders) == nil then complain("nothing was counted") end
os.exit(wrong == 0)
