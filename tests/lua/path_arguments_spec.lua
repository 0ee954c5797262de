--- Paths are strings: a number that Lua would take for one names no file.

local helper = dofile "tests/lua/helper.lua"
local ebb, refusal = helper.ebb, helper.refusal
local core = require "ebb.support.core"

--- Every function of the library that opens what a path names.
local CALLS = {
  ["chat:save"] = function(path) return ebb.conversation():save(path) end,
  ["ebb.load"] = function(path) return ebb.load(path) end,
  ["ebb.file_identity"] = function(path) return ebb.file_identity(path) end,
  ["core.read_file"] = function(path) return core.read_file(path) end,
  ["core.write_file"] = function(path) return core.write_file(path, "x") end,
  ["core.stage_file"] = function(path) return core.stage_file(path, "x") end,
  ["core.target_key"] = function(path) return core.target_key(path) end,
  ["core.list_folder"] = function(path) return core.list_folder(path) end,
  ["core.make_folder"] = function(path) return core.make_folder(path) end,
  ["core.root"] = function(path) return core.root(path) end,
  ["core.vocab.describe"] = function(path) return core.vocab.describe(path) end,
}

describe("a path", function()
  for name, call in pairs(CALLS) do
    it("of " .. name .. " is a string without zero bytes", function()
      for _, value in ipairs { 5, 1.5, "a\0b" } do
        local err = refusal(call, value)
        assert.equal("argument", err.code)
        assert.truthy(err.message:find("path", 1, true), err.message)
      end
      assert.falsy(io.open "5", "a file has been written")
    end)
  end
end)
