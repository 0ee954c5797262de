--- The rockspec names every file of the module, and no other.

local function files_of(command)
  local files = {}
  local pipe = assert(io.popen(command))
  for path in pipe:lines() do
    files[#files + 1] = path
  end
  pipe:close()
  return files
end

describe("the rockspec", function()
  it("lists the module's files under their names", function()
    local rockspec = {}
    assert(loadfile("lua/ebb-scm-1.rockspec", "t", rockspec))()

    local expected = { }
    for _, path in ipairs(files_of "find lua/ebb -name '*.lua' ! -path '*/cli/*' ! -path '*/api/*'") do
      expected[path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/", ".")] = path
    end

    assert.same(expected, rockspec.build.install.lua)
    assert.same({ ["ebb.core"] = "build/release/lua/ebb/core.so" }, rockspec.build.install.lib)
  end)
end)
