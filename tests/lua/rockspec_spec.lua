--- The rockspec names every file of the module, and no other.

local helper = dofile "tests/lua/helper.lua"

describe("the rockspec", function()
  it("is what scripts/tools/rockspec.lua writes", function()
    local pipe = assert(io.popen "lua5.4 scripts/tools/rockspec.lua --print")
    local generated = pipe:read "a"
    pipe:close()

    assert.equal(generated, helper.read "lua/ebb-scm-1.rockspec")
  end)

  it("lists the module's files under their names", function()
    local rockspec = {}
    assert(loadfile("lua/ebb-scm-1.rockspec", "t", rockspec))()

    local modules = rockspec.build.install.lua
    assert.equal("lua/ebb/init.lua", modules["ebb.init"])
    assert.equal("lua/ebb/trim/run.lua", modules["ebb.trim.run"])
    for name, path in pairs(modules) do
      assert.is_nil(name:match "^ebb%.cli" or name:match "^ebb%.libebb", path)
    end
    assert.same({ ["ebb.core"] = "build/release/lua/ebb/core.so" }, rockspec.build.install.lib)
  end)
end)
