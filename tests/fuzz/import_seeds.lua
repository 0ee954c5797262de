--- Makes seeds for fuzz_imports.c of the importers' samples: each by its own importer, and by the form that it has.
--
--     LUA_PATH=.. LUA_CPATH=.. lua5.4 tests/fuzz/import_seeds.lua FOLDER

local import = require "ebb.import"
local samples = dofile "tests/lua/import_samples.lua"

for i, importer in ipairs(import.list()) do
  for kind, byte in pairs { own = 2 * i, any = 0 } do
    local out = assert(io.open(("%s/%s.%s"):format(arg[1], importer.name, kind), "wb"))
    out:write(string.char(byte), samples[importer.name])
    out:close()
  end
end
