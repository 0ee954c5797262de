--- Compiles Lua modules to bytecode and writes them as a C file (runtime/api/embedded.h).
--
--     lua5.4 embed.lua [--strip] ROOT/ FILE... MODULE... > embedded.c
--
-- A FILE beneath ROOT is the module of its path; a MODULE is looked for where
-- Lua looks. Debug information stays in, as errors of users name our lines too; --strip leaves
-- it out, for libebb: it is a sixth of what an idle runtime weighs.

local strip = arg[1] == "--strip" and table.remove(arg, 1) ~= nil
local root = arg[1]

--- Module name and file of an argument.
local function locate(argument)
  if not argument:find "%.lua$" then
    return argument, assert(package.searchpath(argument, package.path))
  end
  assert(argument:sub(1, #root) == root, argument .. " is not beneath " .. root)
  local name = argument:sub(#root + 1):gsub("%.lua$", ""):gsub("/", "."):gsub("%.init$", "")
  return name, argument
end

local function compile(name, path)
  local file = assert(io.open(path, "rb"))
  local source = file:read "a"
  file:close()
  local shown = path:sub(1, #root) == root and path:sub(#root + 1) or name .. ".lua"
  return string.dump(assert(load(source, "@" .. shown, "t")), strip)
end

local function as_c(bytes)
  local lines = {}
  for at = 1, #bytes, 32 do
    lines[#lines + 1] = table.concat({ bytes:byte(at, math.min(at + 31, #bytes)) }, ",")
  end
  return table.concat(lines, ",\n")
end

local modules = {}
for i = 2, #arg do
  local name, path = locate(arg[i])
  modules[#modules + 1] = { name = name, bytes = compile(name, path) }
end
table.sort(modules, function(a, b) return a.name < b.name end)   -- the searcher halves

print '#include "api/embedded.h"\n'
for i, module in ipairs(modules) do
  print(("static const unsigned char module_%d[] = {   /* %s */\n%s};\n"):format(i, module.name, as_c(module.bytes)))
end
print "const EmbeddedModule embedded_modules[] = {"
for i, module in ipairs(modules) do
  print(('  {"%s", module_%d, sizeof module_%d},'):format(module.name, i, i))
end
print "};"
print(("const size_t embedded_count = %d;"):format(#modules))
