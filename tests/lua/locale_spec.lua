--- The module in a program whose locale has a decimal comma: os.setlocale, or a host's setlocale.

dofile "tests/lua/helper.lua"   -- where the build is

--- A folder with such a locale, "comma", for any glibc: its LC_NUMERIC holds a magic number, the count of
--- items, their offsets, the items: decimal point, thousands separator, grouping, both as wide characters, codeset.
local function locale_folder()
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute(("mkdir -p '%s/comma'"):format(folder)))
  local file = assert(io.open(folder .. "/comma/LC_NUMERIC", "wb"))
  file:write(("=I4I4I4I4I4I4I4I4"):pack(0x20031115 ~ 1, 6, 32, 36, 40, 44, 48, 52),
    ",\0\0\0", "\0\0\0\0", "\127\0\0\0", ",\0\0\0", "\0\0\0\0", "UTF-8\0")
  file:close()
  return folder
end

local folder

--- Returns what a program under that locale prints; LOCPATH is read when a process asks for a locale.
local function run(source)
  local path = folder .. "/program.lua"
  local file = assert(io.open(path, "w"))
  file:write("package.path, package.cpath = ", ("%q, %q"):format(package.path, package.cpath), [[

    assert(os.setlocale("comma", "numeric") and tostring(1.5) == "1,5")
    local ebb = require "ebb"
    local json = ebb.json
  ]], source)
  file:close()
  local pipe = assert(io.popen(("LOCPATH='%s' lua5.4 '%s' 2>&1"):format(folder, path)))
  local text = pipe:read "a"
  pipe:close()
  return text
end

describe("under a locale with a decimal comma", function()
  setup(function() folder = locale_folder() end)
  teardown(function() os.execute(("rm -r '%s'"):format(folder)) end)

  local cases = {
    -- what it shows, program, what it prints
    { "JSON is written with points", "print(json.encode { 1.5, 0.1, 2.0, 1e300 })", "[1.5,0.1,2.0,1e+300]" },
    { "and read so", "print(json.decode '0.75' == 3 / 4, json.encode(json.decode '[0.75,1e-3]'))",
      "true\t[0.75,0.001]" },
    { "messages keep their numbers", [[
        local chat = ebb.conversation()
        chat:append { role = "user", content = "hi", temperature = 0.7 }
        chat:replace(1, { role = "user", content = "ho", temperature = 0.25 })
        print((chat:json():gsub("\n", "")))
      ]], '[{"role":"user","content":"ho","temperature":0.25}]' },
    { "sandboxed policies format and read as ever", [[
        local chat = ebb.conversation { counter = function() return 10 end }
        for i = 1, 9 do chat:append { role = "user", content = "m" .. i } end
        local path = os.tmpname() .. ".lua"
        io.open(path, "w"):write([=[return { options = { share = { type = "number", default = 0.5 } },
          trim = function(draft, budget, options)
            draft.memory.share = options.share
            draft:drop_oldest { to = budget, reason = options.share .. tostring(1.5) .. ("%g"):format(tonumber "0.25") }
          end }]=]):close()
        local report = assert(chat:trim { budget = 60, policy = { path, share = 0.75 } })
        os.remove(path)
        print(report.ledger[1].reason)
      ]], "0.751.50.25" },
    { "macros write points", [[
        local registry = require "ebb.macros.text"
        print(registry.of_number(1.5), registry.of_number(3.0))
      ]], "1.5\t3" },
    { "windows write points", [[
        local chat = ebb.conversation()
        chat.windows:open { id = "w", content = { { "item", price = 1.5, 0.25 } } }
        print((chat:json():match "price=[^ ]*item>"))
      ]], [[price=\"1.5\">0.25</item>]] },
    { "a number of the command line has a point only", [[
        local schema = require "ebb.support.schema"
        local declared = { share = { type = "number" } }
        assert(schema.parse(declared, "share=0.5", "p").share == 1 / 2)
        print(pcall(schema.parse, declared, "share=0,5", "p"))
      ]], "false\tp: share: expected a number, got '0,5'" },
  }
  for _, case in ipairs(cases) do
    it(case[1], function() assert.equal(case[3] .. "\n", run(case[2])) end)
  end
end)
