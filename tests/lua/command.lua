--- Runs the command for its specs: arguments in; exit status, standard
-- output, standard error and files out. EBB names another build of it.
--
-- Each test has a folder of its own, `command.folder`.

local assert = require "luassert"
local cpu_time = dofile "tests/lua/cpu_time.lua"

local command = {
  EBB = os.getenv "EBB" or "build/ebb",
  USAGE = 2, CANNOT_FIT = 4, SCRIPT = 5, REFUSED = 6, IO = 7,
}

function command.read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
  return path
end

function command.path_of(name)
  return command.folder .. "/" .. name
end

function command.file(name, text)
  return write(command.path_of(name), text)
end

local function line_of(words, input, output)
  local columns = command.columns and (" COLUMNS=%d "):format(command.columns) or " "
  local environment = (command.environment or "") .. columns
  return ("%s%s %s <%s >%s 2>%s"):format(environment, command.EBB, words, input or "/dev/null", output,
    command.path_of ".err")
end

---@param words string     as typed
---@param input? string    a file for standard input
---@param output? string   instead of a file that is read back
function command.ebb(words, input, output)
  local out = command.path_of ".out"
  local _, _, status = os.execute(line_of(words, input, output or out))
  return { status = status, out = not output and command.read(out), err = command.read(command.path_of ".err") }
end

--- Runs a command; returns its result and the seconds of processor time that it took.
function command.timed(words)
  local out = command.path_of ".out"
  local status, seconds = cpu_time.execute(line_of(words, nil, out))
  return { status = status, out = command.read(out), err = command.read(command.path_of ".err") }, seconds
end

--- Runs, and expects this status and nothing on standard output; gives standard error.
function command.fails(status, words, input)
  local run = command.ebb(words, input)
  assert.equal(status, run.status, words .. "\n" .. run.err)
  assert.equal("", run.out)
  assert.truthy(run.err:find "^ebb", run.err)
  return run.err
end

--- Runs as on a terminal so wide, and gives both streams.
function command.at_width(columns, words)
  command.columns = columns
  local run = command.ebb(words)
  command.columns = nil
  return run.out, run.err
end

--- Returns all that a command writes to a terminal.
function command.on_terminal(words)
  local line = ("TERM=xterm script -qec '%s %s' /dev/null </dev/null"):format(command.EBB, words:gsub("'", [['\'']]))
  local pipe = assert(io.popen(line))
  local text = pipe:read "a"
  pipe:close()
  return text
end

--- Runs, and expects success; gives both streams.
function command.does(words, input)
  local run = command.ebb(words, input)
  assert.equal(0, run.status, words .. "\n" .. run.err)
  return run.out, run.err
end

function command.contains(needle, text)
  assert.truthy(text:find(needle, 1, true), ("expected %q in:\n%s"):format(needle, text))
end

--- Lists the files in the folder, without the two streams.
function command.files_left()
  local pipe = io.popen(("ls -A %s"):format(command.folder))
  local names = {}
  for name in pipe:lines() do
    if name ~= ".out" and name ~= ".err" then names[#names + 1] = name end
  end
  pipe:close()
  return table.concat(names, " ")
end

command.SMALL = '[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"},' ..
  '{"role":"assistant","content":"Hi"},{"role":"user","content":"Bye"}]'

local SYNTAX_ERROR = '[{"role":"user",\n"content" "Hello"}]'

local SCRIPTS = {
  ["raises.lua"] = "return function(draft) error('boom') end",
  ["lazy.lua"] = "return function(draft) end",
  ["broken.lua"] = "return = 1",
  ["number.lua"] = "return 5",
  ["keep_user.lua"] = "return function(message) return message.role == 'user' end",
  ["raises_filter.lua"] = "return function(message) local x = nil; return x.y end",
  ["upper.lua"] = "return function(message) if message.role == 'assistant' then " ..
    "return { role = 'assistant', content = message.content:upper() } end end",
  ["hello.lua"] = "print(arg[0] ~= nil, ...)",
  ["quiet.lua"] = "local nothing = arg",
  ["script.lua"] = "local ebb = require 'ebb'\nlocal chat = assert(ebb.load(arg[1]))\nprint(#chat, chat[2].content)",
  ["raises_script.lua"] = "print('partly')\nlocal function inner() error('boom') end\ninner()",
  ["refused_script.lua"] = "local ebb = require 'ebb'\nebb.conversation():rollback(7)",
  ["nodes.lua"] = "return { { operation = 'truncate', truncate = { keepLast = 1 } } }",
  ["bad_nodes.lua"] = "return { { type = 'trimm', budget = 4 } }",
  ["failing_nodes.lua"] = "return { { type = 'script', run = function() error('boom') end } }",
  ["hungry_nodes.lua"] = "return { { type = 'trim', budget = 1 } }",
}

--- For before_each: a folder with small.json, broken.json and the scripts above.
function command.make_folder()
  command.folder = os.tmpname()
  os.remove(command.folder)
  assert(os.execute("mkdir " .. command.folder))
  command.file("small.json", command.SMALL)
  command.file("broken.json", SYNTAX_ERROR)
  for name, text in pairs(SCRIPTS) do
    command.file(name, text)
  end
end

--- For after_each.
function command.remove_folder()
  os.execute("rm -rf " .. command.folder)
end

return command
