--- The module in programs of others: another Lua, no LPeg. The C API: what its tests call.

dofile "tests/lua/helper.lua"   -- where the build is

--- Returns what a program prints, run by another Lua or with other paths.
local function run(lua, source, paths)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(("package.path, package.cpath = %q, %q\n"):format(paths.path, paths.cpath), source)
  file:close()
  local pipe = assert(io.popen(("%s '%s' 2>&1"):format(lua, path)))
  local text = pipe:read "a"
  pipe:close()
  os.remove(path)
  return text
end

--- The build alone, without what the machine has besides.
local function of_build()
  local build = package.path:match "^([^;]*)/lua/%?%.lua;"
  return { path = ("%s/lua/?.lua;%s/lua/?/init.lua"):format(build, build), cpath = build .. "/lua/?.so" }
end

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

describe("each function of the headers", function()
  it("is called while memory runs out", function()
    local tests, absent = "", {}
    for _, name in ipairs { "test_api_memory.c", "test_api_memory_reach.c", "api_sweep.h", "api_kit.h" } do
      tests = tests .. read("tests/c/" .. name)
    end
    for _, header in ipairs { "ebb.h", "ebb_lua.h" } do
      for line in read("runtime/include/" .. header):gmatch "\nEBB_API[^(]*" do
        local name = line:match "(ebb_[%w_]+)$"
        if not tests:find("%f[%w_]" .. name .. "%(") then absent[#absent + 1] = name end
      end
    end
    assert.equal("", table.concat(absent, " "))
  end)
end)

describe("from another Lua", function()
  for _, lua in ipairs { "lua5.1", "lua5.3", "luajit" } do
    it("require says what is needed: " .. lua, function()
      if not os.execute(("command -v %s >/dev/null"):format(lua)) then pending(lua .. " is not installed") return end
      local text = run(lua, "print(select(2, pcall(require, 'ebb')))", of_build())
      assert.truthy(text:find "^ebb needs Lua 5%.4, and this is Lua%a* [%d.]+")
      assert.equal(1, select(2, text:gsub("\n", "")))
    end)
  end
end)

describe("without LPeg", function()
  local BEGINNING = [[
    local ebb = require "ebb"
    local chat = ebb.conversation { counter = function() return 10 end }
    for i = 1, 9 do chat:append { role = "user", content = "m" .. i } end
  ]]

  it("conversations, trims and windows work", function()
    local text = run("lua5.4", BEGINNING .. [[
      assert(chat:trim { budget = 50 })
      chat.windows:open { id = "w", content = { "list", "tea" } }
      assert(#chat.windows:render() > 0 and chat:tokens() > 0 and chat:check "openai" and chat:json())
      print(#chat)
    ]], of_build())
    assert.equal("6\n", text)
  end)

  local WANTED = "false\tabsent\tpipelines, macros, chat:input, chat.windows:act and ebb.read_window need LPeg: " ..
    "no module lpeg (Debian: apt install lua-lpeg; LuaRocks: luarocks install lpeg)\n"
  local cases = {
    "chat:input 'hello'", "ebb.pipeline {}", "chat.windows:act '<w.close/>'", "ebb.read_calls 'x'",
    "ebb.read_window '<Window/>'",
  }
  for _, call in ipairs(cases) do
    it("names it: " .. call, function()
      local source = ("%s local ok, problem = pcall(function() return %s end) print(ok, problem.code, problem)")
      assert.equal(WANTED, run("lua5.4", source:format(BEGINNING, call), of_build()))
    end)
  end

  it("works again once it is there", function()
    local failing = ("local ok = pcall(chat.input, chat, 'x') package.cpath = %q"):format(package.cpath)
    local text = run("lua5.4", BEGINNING .. failing
      .. [[ chat = ebb.conversation() chat:input "hello {{upper::you}}" print(ok, chat[#chat].content)]], of_build())
    assert.equal("false\thello YOU\n", text)
  end)
end)
