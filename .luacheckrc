-- luacheck: Lua 5.4, no globals of our own.
std = "lua54"
max_line_length = 120
files["tests/lua"] = { std = "+busted" }
files["tests/origins"] = { std = "+busted" }
files["lua/ebb/sandbox/*.lua"] = { read_globals = { "host", "printer" }, globals = { "functions" } }   -- of a sandbox
exclude_files = { "lua/ebb/meta", "build" }
files["scripts/hosts/game/policies"] = { read_globals = { "inn" } }   -- the game's own functions
