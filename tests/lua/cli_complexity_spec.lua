--- The complexity gate of commands: each on n and on 4n of hostile shapes takes at most five
--- times as long. A command that no table here names fails the gate. A third is tried on each shape, by SEED; all with
--- WHOLE=1.

local command = dofile "tests/lua/command.lua"
local gate = dofile "tests/lua/growth_gate.lua"
local hostile = dofile "tests/lua/hostile_commands.lua"
local shapes = dofile "tests/lua/hostile_shapes.lua"
local helper = dofile "tests/lua/helper.lua"      -- finds the library
local commands = require "ebb.cli.command_list"

local N = math.tointeger(tonumber(os.getenv "COMPLEXITY" or "500"))

local folder
local acts_of_chats = {}
for _, acts in pairs(hostile.ACTS) do table.move(acts, 1, #acts, #acts_of_chats + 1, acts_of_chats) end
table.sort(acts_of_chats)

--- The seconds of a command; a crash or a misuse of it is an error.
local function seconds(words, path)
  local line = ("%s >/dev/null 2>%s/err"):format(hostile.line(command.EBB, words, path, folder), folder)
  local took, status = gate.seconds_of_line(line)
  if status == 2 or status >= 126 then
    error(("%s: exit status %s: %s"):format(line, status, command.read(folder .. "/err")), 0)
  end
  return took
end

describe("four times the input takes at most five times as long #time:", function()
  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    hostile.write_files(folder)
  end)

  teardown(function() os.execute("rm -r " .. folder) end)

  it("knows every command", function()
    local named, listed = {}, {}
    for _, name in ipairs(commands.names) do
      listed[name] = true
    end
    for _, acts in ipairs { hostile.ACTS, hostile.OTHERS } do
      for name in pairs(acts) do
        named[name] = true
      end
    end
    assert.equal("", gate.difference(listed, named))
  end)

  for i, shape in ipairs(shapes.list) do
    it("on " .. shape.name, function()
      local paths, failures = {}, {}
      for _, act in ipairs(helper.sample(acts_of_chats, 3, i)) do
        local ok, problem = pcall(gate.check, ("ebb %s on %s"):format(act, shape.name), N, function(n)
          paths[n] = paths[n] or hostile.write_pair(("%s/%d.jsonl"):format(folder, n), shape.document(n))
          return seconds(act, paths[n])
        end)
        if not ok then failures[#failures + 1] = problem end
      end
      assert.equal("", table.concat(failures, "\n"))
    end)
  end

  for name, act in pairs(hostile.OTHERS) do
    if act then
      it("of " .. name, function()
        gate.check("ebb " .. name, N, function(n)
          return seconds(act[1], hostile.write(folder .. "/input.json", act[2](n)))
        end)
      end)
    end
  end
end)
