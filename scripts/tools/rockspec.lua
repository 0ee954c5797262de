--- Writes the list of modules into the rockspec: `lua5.4 scripts/tools/rockspec.lua` at the top of a checkout.
--
-- All files of lua/ebb but those of the command, of libebb, and the annotations. With --print the
-- rockspec goes to stdout and the file stays; tests/lua/rockspec_spec.lua compares the two.

local PATH = "lua/ebb-scm-1.rockspec"
local FILES = "find lua/ebb -name '*.lua' ! -path '*/cli/*' ! -path '*/libebb/*' ! -path '*/meta/*' | LC_ALL=C sort"

local function module_lines()
  local lines = {}
  local pipe = assert(io.popen(FILES))
  for path in pipe:lines() do
    local name = path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/", ".")
    lines[#lines + 1] = ('      ["%s"] = "%s",\n'):format(name, path)
  end
  assert(pipe:close(), FILES)
  return table.concat(lines)
end

local file = assert(io.open(PATH))
local text = file:read "a"
file:close()
local before, after = assert(text:match "^(.*\n    lua = {\n).-(\n    },\n.*)$")
text = before .. module_lines() .. after:sub(2)
if arg[1] ~= "--print" then io.output(PATH) end
io.write(text)
