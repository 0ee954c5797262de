--- ebb repl: Lua at a prompt, with `ebb` and, if a file is named, `chat`.
--
-- On a terminal lines are edited (runtime/host/repl.c), and Ctrl-C stops the
-- script that runs, not the prompt. From a pipe or file lines are read as they
-- are, without prompts; then the exit code is 5 if one of them failed, and Ctrl-C
-- ends the command.

local core = require "ebb.support.core"
local lua_completion = require "ebb.cli.view.lua_completion"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local hints = require "ebb.cli.hints"
local host = require "ebb.host"
local options = require "ebb.cli.io.options"
local pretty = require "ebb.cli.view.pretty"
local script_trace = require "ebb.cli.view.script_trace"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"
local xdg = require "ebb.support.xdg"

local repl = {}

local PROMPT, MORE = "> ", ">> "

function repl.declare(parser)
  parser:argument("file", "JSON array, JSONL or request body, to be loaded as `chat`."):args("?")
  options.reading(parser)
  parser:epilog(options.examples { "ebb repl chat.json", "echo 'print(#chat, chat:tokens())' | ebb repl chat.json" })
end

---- One script ----

local function is_unfinished(problem)
  return problem:find "<eof>$" ~= nil
end

--- Compiles a script as an expression, else as statements.
---@return function? chunk
---@return string? problem
---@return boolean? unfinished      more lines may make it whole
local function compile(script)
  script = script:gsub("^%s*=", "return ")      -- as Lua's own prompt once did
  local chunk, as_expression = load("return " .. script, "=stdin", "t")
  if chunk then return chunk end
  local statements, problem = load(script, "=stdin", "t")
  if statements then return statements end
  return nil, problem, is_unfinished(problem) or is_unfinished(as_expression)
end

local function show(results)
  local width, pieces, separator = terminal.results().width, {}, "\t"
  for i = 1, results.n do
    pieces[i] = pretty.format(results[i], width, results.n > 1)
    if pieces[i]:find "\n" then separator = "\n" end
  end
  if results.n > 0 then io.stdout:write(table.concat(pieces, separator), "\n") end
end

--- The error with its traceback through the typed lines.
local function trace(problem)
  local way, hint = script_trace.text(problem)
  way = way:gsub("in upvalue 'chunk'", "in main chunk")   -- so `evaluate` calls it
  return hint and way .. "\nhint: " .. hint or way
end

--- Runs a chunk and shows its results inside the protected call: __tostring may run a script, too.
---@param protected fun(call: function, handler: function): boolean, any
---@return boolean ok
local function evaluate(chunk, protected)
  local ok, problem = protected(function() show(table.pack(chunk())) end, trace)
  if not ok then terminal.say(tostring(problem)) end
  return ok
end

--- Reads and runs lines until the input ends. Lines are joined until they are a whole script.
---@param read fun(prompt: string): string|false|nil     false: the joined lines are dropped
---@return boolean ok      nothing failed
local function run_lines(read, protected)
  local pending, all_ok = nil, true
  while true do
    local line = read(pending and MORE or PROMPT)
    if line == nil and not pending then return all_ok end
    if line == false then
      pending = nil
    else
      local script = pending and pending .. "\n" .. (line or "") or line
      local chunk, problem, unfinished = compile(script)
      if unfinished and line then
        pending = script
      else
        pending = nil
        if not chunk then terminal.say(problem) end
        all_ok = chunk ~= nil and hints.in_lua(evaluate, chunk, protected) and all_ok
      end
    end
  end
end

---- Help ----

local INTRODUCTION = [[
ebb is the library, chat the conversation that was loaded. Try:
  chat[1]    chat:recent(3)    chat:trim { budget = 4000, dry_run = true }    chat:rollback(0)
help(chat) lists the methods and fields of a value; TAB completes names.]]

--- `help` at the prompt, and `help(value)`.
local help = setmetatable({}, {
  __tostring = function() return INTRODUCTION end,
  __call = function(_, value)
    if value == nil then return print(INTRODUCTION) end
    local names = lua_completion.names(value)
    print(#names > 0 and table.concat(names, " ") or "it has no names")
  end,
})

---- Sources of lines ----

--- Names in columns, as many as fit.
local function columns_of(names)
  local widest = 0
  for _, name in ipairs(names) do
    widest = math.max(widest, #name + 2)
  end
  local per_line, pieces = math.max(1, terminal.messages().width // widest), {}
  for i, name in ipairs(names) do
    local ends_line = i % per_line == 0 or i == #names
    pieces[i] = ends_line and name .. "\n" or name .. (" "):rep(widest - #name)
  end
  return table.concat(pieces):gsub("\n$", "")
end

local function complete(line)
  local more, names = lua_completion.complete(line)
  if more ~= "" then return more end
  return "", #names > 1 and columns_of(names) or ""
end

local function read_prompted(prompt)
  io.stderr:write(prompt)
  return io.read "l"
end

local function read_plain()
  return io.read "l"
end

local function at_terminal()
  local note = _G.chat and ", chat has " .. text.count(#_G.chat, "message") or ""
  terminal.say(("ebb %s, %s%s; Ctrl-D ends"):format(host.version, _VERSION, note))
  local editor = host.editor(xdg.path("state", "history"), complete)
  if editor then
    run_lines(function(prompt) return editor:read(prompt) end, host.interruptible)
  else
    run_lines(read_prompted, host.interruptible)
  end
  return 0
end

--- `print` at a terminal: texts of a conversation cannot steer it.
local function print_safely(...)
  local words = table.pack(...)
  for i = 1, words.n do words[i] = tostring(words[i]) end
  io.stdout:write(core.printable(table.concat(words, "\t"), "\n\t"), "\n")
end

function repl.run(args)
  if args.file == "-" then failure.usage("standard input has the lines to run", "name a file for the messages") end
  io.stdout:setvbuf "line"   -- chat:save("-") does not go through stdio: this keeps the order
  _G.ebb, _G.help = ebb, help
  if terminal.results().is_terminal then _G.print = print_safely end
  if args.file then _G.chat = options.load(args.file, args) end
  if terminal.stdin_is_terminal and terminal.talks_to_person then return at_terminal() end
  return run_lines(read_plain, xpcall) and 0 or failure.SCRIPT
end

return repl
