--- Runs each input of fuzz_imports.c: a file of another program. The first byte says how it is read: by which
--- importer, or by the form that it has, and whether bad lines are skipped.

local check = dofile "tests/lua/import_check.lua"
local import = require "ebb.import"

require("ebb.support.log").to(function() end)

local names = {}
for i, importer in ipairs(import.list()) do names[i] = importer.name end

local BRANCHES = { "1", "2", "x" }

--- One input.
return function(text)
  local byte = text:byte() or 0
  local branch = BRANCHES[byte // 64]
  check(text:sub(2), { path = "f", from = names[byte // 2 % 32], skip_bad = byte % 2 == 1, branch = branch })
end
