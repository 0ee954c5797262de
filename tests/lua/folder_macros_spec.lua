--- Macros of the user's folder: `ebb macros` lists them, and a text uses them by the names that macros have elsewhere.

local command = dofile "tests/lua/command.lua"
local core = require "ebb.support.core"

local BODY = 'return { name = "%s", summary = "wraps a text", parameters = { "text" }, stability = "stable", '
  .. 'run = function(_, text) return "<" .. text .. ">" end }\n'

-- the name of the file, that of its macro; the complaint if the macro is refused
local FILES = {
  { "loud", "loud" }, { "倒", "倒" }, { "a.b", "a.b" }, { "我-的_2", "我-的_2" },
  { "my macro", "x", "expected a name of up to 64 letters, digits, _ . and -, got 'my macro'" },
  { ("n"):rep(65), "x", "expected a name of up to 64 letters" },
  { "-a", "x", "got '-a'" },
  { "other", "x", "it has no macro 'other'" },
}

describe("macros of the user's folder", function()
  before_each(function()
    command.make_folder()
    assert(os.execute("mkdir -p " .. command.path_of "config/ebb/macros"))
    command.environment = "XDG_CONFIG_HOME=" .. command.path_of "config"
    for _, file in ipairs(FILES) do command.file("config/ebb/macros/" .. file[1] .. ".lua", BODY:format(file[2])) end
    command.file("config/ebb/macros/roll.lua", BODY:format "roll")
  end)
  after_each(function()
    command.environment = nil
    command.remove_folder()
  end)

  local function listed()
    local by_name, count = {}, {}
    for _, macro in ipairs(core.json.decode(command.ebb("macros --json").out)) do
      by_name[macro.name], count[macro.name] = macro, (count[macro.name] or 0) + 1
    end
    return by_name, count
  end

  for _, file in ipairs(FILES) do
    it("are listed with their file, or with what is wrong: " .. file[1], function()
      local macro = listed()[file[1]]
      assert.equal(command.path_of("config/ebb/macros/" .. file[1] .. ".lua"), macro.file)
      assert.equal(not file[3] and "wraps a text" or nil, macro.summary)
      if file[3] then assert.truthy(macro.problem:find(file[3], 1, true), macro.problem) end
      local text, one = command.ebb("macros"), command.ebb(("macros -- '%s'"):format(file[1]))
      assert.truthy(text.out:find(file[3] and file[1] or ("{{%s::text}}"):format(file[1]), 1, true))
      assert.truthy(text.out:find(command.path_of "config/ebb/macros", 1, true))
      assert.truthy(one.out:find(file[3] and file[1] or macro.file, 1, true), one.out .. one.err)
    end)

    if not file[3] then
      it("are used by their name: " .. file[1], function()
        local run = command.ebb(("input '{{%s::x}}' -"):format(file[1]), command.file("chat.json", "[]"))
        assert.equal("<x>", core.json.decode(run.out)[1].content)
      end)
    end
  end

  it("of a built-in name are not listed, as they are not used", function()
    local by_name, count = listed()
    assert.is_nil(by_name.roll.file)
    assert.equal(1, count.roll)
  end)
end)
