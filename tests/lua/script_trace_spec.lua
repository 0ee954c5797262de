--- Checks the traces of failing scripts in `ebb run` and `ebb repl`: the place, and Ebb's own frames for a fault only.

local command = dofile "tests/lua/command.lua"

local HEAD = 'local ebb = require "ebb"\n'
  .. 'local chat = ebb.conversation { messages = { { role = "user", content = "问" } } }\n'

-- the script after HEAD, the first line that is said of it, the files whose frames are shown
local CASES = {
  { "a mistake in an option", 'ebb.pipeline { agent = { processors = { x = 1 } } }',
    "mine.lua:3: agent: processors.x: " },
  { "one in a function", 'local function make() local p = ebb.pipeline { model = 1 }; return p end\nmake()',
    "mine.lua:3: pipeline: model: ", "mine.lua mine.lua" },
  { "a tail call", 'return ebb.pipeline { agent = { processors = { x = 1 } } }', "mine.lua: agent: processors.x: " },
  { "a method's argument", 'local _ = chat\nchat:trim { budget = "y" }', "mine.lua:4: trim: budget: " },
  { "a field that is not there", 'chat:nope()', "mine.lua:3: a Conversation has no field 'nope'" },
  { "a refusal that is raised again", 'local ok, e = pcall(chat.trim, chat, { budget = "y" })\nerror(e)',
    "mine.lua:4: trim: budget: " },
  { "an error of the script", 'local function f() error "boom" end\nf()', "mine.lua:3: boom", "mine.lua mine.lua" },
  { "an error with a table", 'error { code = 7 }', '{"code":7}', "mine.lua" },
  { "a fault inside of Ebb", 'require "ebb.request.settings".members(nil)', "ebb/support/json_places.lua:",
    "ebb/support/json_places.lua ebb/request/settings.lua mine.lua" },
}

--- The files of the frames in an error.
local function frames_of(err)
  local files = {}
  for line in (err:match "\nstack traceback:(.*)" or ""):gmatch "[^\n]+" do
    files[#files + 1] = line:match "([^%s]*%.lua):%d+: in "
  end
  for i, file in ipairs(files) do files[i] = file:match "[^/]*mine%.lua$" or file end
  return table.concat(files, " ")
end

describe("a script that fails", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for _, folder in ipairs { "", "ebb/" } do
    for _, case in ipairs(CASES) do
      it(("is told with its place: %s%s"):format(case[1], folder == "" and "" or ", in a folder named ebb"), function()
        assert(os.execute("mkdir -p " .. command.path_of "ebb"))
        command.file(folder .. "mine.lua", HEAD .. case[2] .. "\n")
        local run = command.ebb("run " .. command.path_of(folder .. "mine.lua"))
        assert.equal(5, run.status)
        local said = run.err:gsub(command.path_of(folder):gsub("%p", "%%%0"), "")
        assert.equal("ebb run: " .. case[3], said:sub(1, #("ebb run: " .. case[3])), run.err)
        assert.equal(case[4] or "", frames_of(said), run.err)
      end)
    end
  end
end)
