--- The complexity gate of commands: each on n and on 4n of hostile shapes takes at most five
--- times as long. A command that no table here names fails the gate.

local command = dofile "tests/lua/command.lua"
local gate = dofile "tests/lua/growth_gate.lua"
local shapes = dofile "tests/lua/hostile_shapes.lua"
dofile "tests/lua/helper.lua"      -- finds the library
local commands = require "ebb.cli.commands"

local N = math.tointeger(tonumber(os.getenv "COMPLEXITY" or "500"))

--- Lines of arguments. F: a document of the shape; G: the same, with each message changed;
--- D: the folder of FILES; O, L: files that are written.
-- Policies, dialects and ways of repair are in complexity_spec.lua.
local ACTS = {
  trim = {
    "trim F --budget 2000 --explain --ledger L -o O", "trim F --budget 1000000000 --repair=synthesize --dialect openai",
  },
  filter = { "filter D/filter.lua --input F --explain" },
  apply = { [[apply '[{"operation":"truncate","keepLast":100,"wholeUnits":true},{"operation":"clear"}]' F --state]] },
  input = { "input 'and now?' F --window D/window.json --explain" },
  run = { "run D/script.lua --input F" },
  pipeline = { "pipeline F --agent D/agent.json --trace" },
  count = { "count F --by message" },
  check = { "check F --dialect anthropic --json" },
  convert = {
    "convert F --to anthropic -o O", "convert F --to gemini -o O", "convert F --to responses --shape jsonl -o O",
  },
  inspect = { "inspect F" },
  recall = { "recall r1-1000000 F --tokens 1000 -o O" },
  diff = { "diff F G" },
  repl = { "repl F <D/lines" },
}

--- Commands with another kind of input, and what writes n of it; `false`: their input cannot grow.
local OTHERS = {
  rules = { "rules test F --text 'one \"two\" three'", function(n)
    local list = {}
    for i = 1, n do
      list[i] = ('{"name":"r%d","pattern":"/\\"[a-z]+%d?\\"/g","replacement":"x"}'):format(i, i)
    end
    return "[" .. table.concat(list, ",") .. "]"
  end },
  import = { "import F --dry-run", function(n)
    local list = {}
    for i = 1, n do
      list[i] = ('"%d":{"uid":%d,"key":["word %d","/x%d/i"],"content":"text %d","group":"g"}'):format(i, i, i, i, i)
    end
    return '{"entries":{' .. table.concat(list, ",") .. "}}"
  end },
  each = { "each F --run D/script.lua --out D/each --quiet", function(n)
    local line = '{"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"}]}\n'
    return line:rep(n // 4)
  end },
  vocab = false, limits = false, policies = false, processors = false, macros = false, models = false,
  profiles = false, session = false,      -- sessions of many messages have a test of their own
  completion = false, help = false,
}

local FILES = {
  ["filter.lua"] = "return function(message) return message.content ~= 'zzz' end\n",
  ["script.lua"] = "return { { type = 'trim', budget = 2000 }, { type = 'script', run = function(chat)\n"
    .. "for _, message in ipairs(chat) do local _ = message.text end\nend } }\n",
  ["agent.json"] = "{}",
  ["window.json"] = '{"id":"w","content":"now"}',
  ["lines"] = "chat:tokens()\n",
}

local folder

local function write(name, text)
  local file = assert(io.open(folder .. "/" .. name, "wb"))
  assert(file:write(text))
  assert(file:close())
  return folder .. "/" .. name
end

--- Writes a document of a shape, and beside it one in which each message has another text or name.
local function write_pair(shape, n)
  local document = shape.document(n)
  write(("%d.jsonl.changed"):format(n), (document:gsub('%f[^\n\0]{', '{"name":"g",'):gsub('"content":"%a', '%0+')))
  return write(("%d.jsonl"):format(n), document)
end

--- The seconds of a command; a crash or a misuse of it is an error.
local function seconds(words, path)
  local names = { F = path, G = path .. ".changed", D = folder, O = folder .. "/out", L = folder .. "/ledger" }
  local line = words:gsub("%f[%w]%u%f[%W]", names)
  line = ("%s %s >/dev/null 2>%s/err"):format(command.EBB, line, folder)
  if not line:find(" <", 1, true) then line = line .. " </dev/null" end
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
    for name, text in pairs(FILES) do
      write(name, text)
    end
  end)

  teardown(function() os.execute("rm -r " .. folder) end)

  it("knows every command", function()
    local named, listed = {}, {}
    for _, name in ipairs(commands.names) do
      listed[name] = true
    end
    for _, acts in ipairs { ACTS, OTHERS } do
      for name in pairs(acts) do
        named[name] = true
      end
    end
    assert.equal("", gate.difference(listed, named))
  end)

  for _, shape in ipairs(shapes.list) do
    it("on " .. shape.name, function()
      local paths, failures = {}, {}
      for _, acts in pairs(ACTS) do
        for _, act in ipairs(acts) do
          local ok, problem = pcall(gate.check, ("ebb %s on %s"):format(act, shape.name), N,
            function(n)
              paths[n] = paths[n] or write_pair(shape, n)
              return seconds(act, paths[n])
            end)
          if not ok then failures[#failures + 1] = problem end
        end
      end
      assert.equal("", table.concat(failures, "\n"))
    end)
  end

  for name, act in pairs(OTHERS) do
    if act then
      it("of " .. name, function()
        gate.check("ebb " .. name, N, function(n) return seconds(act[1], write("input.json", act[2](n))) end)
      end)
    end
  end
end)
