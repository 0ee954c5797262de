--- Measures the expansion of templates.
--
--     lua5.4 tests/bench/macros.lua
--
-- EBB_BUILD  the build whose module is measured (build/release)
-- ROUNDS     expansions per figure (201); the figure is their median

local build = os.getenv "EBB_BUILD" or "build/release"
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;"):format(build, build) .. package.path
package.cpath = ("%s/lua/?.so;"):format(build) .. package.cpath

local macros = require "ebb.macros"

local ROUNDS = math.tointeger(tonumber(os.getenv "ROUNDS" or "201"))

local MACROS = {
  "{{user}}", "{{char}}", "{{setvar::n::{{random::a::b}}}}", "{{getvar::n}}", "{{date}}", "{{upper::{{user}}}}",
  "{{unknown}}", "{{incvar::i}}", "{{persona}}", "{{trim}}",
}

--- A template of `size` bytes with `count` macros in it, evenly.
local function template(size, count)
  local parts = {}
  for i = 1, count do
    local macro = MACROS[(i - 1) % #MACROS + 1]
    parts[i] = ("words of a prompt "):rep(size // 18 // count + 1):sub(1, math.max(1, size // count - #macro)) .. macro
  end
  return table.concat(parts)
end

local function median(text)
  local environment = macros.environment { values = { user = "Ann", persona = "likes rain" }, now = 0 }
  local times = {}
  collectgarbage()
  for round = 1, ROUNDS do
    local start = os.clock()
    macros.expand(text, environment)
    times[round] = (os.clock() - start) * 1000
  end
  table.sort(times)
  return times[ROUNDS // 2 + 1]
end

for _, case in ipairs { { 10240, 100 }, { 102400, 1000 }, { 1024000, 10000 }, { 10240, 0 } } do
  local size, count = table.unpack(case)
  local text = count > 0 and template(size, count) or ("plain "):rep(size // 6)
  print(("expanding %4d KB with %5d macros %14s %8.3f ms"):format(size // 1024, count, "", median(text)))
end
