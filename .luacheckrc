-- luacheck: Lua 5.4, no globals of our own.
std = "lua54"
max_line_length = 120
files["tests/lua"] = { std = "+busted" }
exclude_files = { "lua/ebb.d.lua", "build" }
