--- ebb repl: through standard input, and once at a terminal.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local path_of, contains = command.path_of, command.contains

--- Runs `ebb repl` with these lines as its input; `words` are arguments.
local function type_in(lines, words)
  command.file("lines", lines)
  return command.ebb("repl " .. (words or ""), path_of "lines")
end

local results = {
  -- what it shows                       typed                                 printed
  { "an expression",                     "1 + 1",                              "2" },
  { "several",                           "1, 'a', nil",                        '1\t"a"\tnil' },
  { "nothing at all",                    "(function() end)()",                 "" },
  { "what stays between lines",          "x = 5\nx + 1",                       "6" },
  { "statements",                        "for i = 1, 2 do print(i) end",       "1\n2" },
  { "an expression over lines",          "{\n1,\n2\n}",                        "{ 1, 2 }" },
  { "a statement over lines",            "function f()\nreturn 7\nend\nf()",   "7" },
  { "text over lines",                   "[[a\nb]]",                           '"a\\nb"' },
  { "quotes and escapes in text",        [['say "\\" \27[31m']],               [["say \"\\\" \e[31m"]] },
  { "tables, names first and sorted",    "{ 3, b = 1, a = { 'x' }, [10] = 2 }", '{ 3, a = { "x" }, b = 1, [10] = 2 }' },
  { "tables three deep",                 "{ { { { 1 } } } }",                  "{ { { {...} } } }" },
  { "tables that hold themselves",       "t = {} t.t = t\nt",                  "{ t = { t = { t = {...} } } }" },
  { "the library",                       "#ebb.parse('[]'), ebb.null",         "0\tebb.null" },
  { "a last line that is not ended",     "print 'x'",                          "x" },
}

local failures = {
  -- what it shows           typed                          on standard error
  { "an error",              "error 'boom'", "stdin:1: boom\nstack traceback:\n  stdin:1: in main chunk" },
  { "an error object",       "error({})",                   "{}" },
  { "a hint",                "ebb.conversation():truncate { kep_last = 1 }", "hint: did you mean 'keep_last'?" },
  { "wrong Lua",             "x = = 1",                     "unexpected symbol near '='" },
  { "what never was whole",  "while true do",               "near <eof>" },
}

describe("ebb repl", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for _, case in ipairs(results) do
    local name, typed, expected = table.unpack(case)
    it("prints " .. name, function()
      local run = type_in(typed)

      assert.equal("", run.err)
      assert.equal(expected, (run.out:gsub("\n$", "")))
      assert.equal(0, run.status)
    end)
  end

  for _, case in ipairs(failures) do
    local name, typed, expected = table.unpack(case)
    it("goes on after, and answers 5: " .. name, function()
      local run = type_in(("x = 1\n%s"):format(typed))
      contains(expected, run.err)
      assert.equal("", run.out)
      assert.equal(command.SCRIPT, run.status)

      if name == "what never was whole" then return end
      assert.equal("3\n", type_in(("%s\n1 + 2\n"):format(typed)).out)
    end)
  end

  it("loads a conversation as chat", function()
    local run = type_in("#chat, chat[1].role, chat[1]\nchat:count 'user'\n", path_of "small.json")

    assert.truthy(run.out:find '^4\t"system"\tmessage 1 %(system, %d+ tokens%)\n2\n$', run.out)
    assert.equal("nil\n", type_in("chat").out)
  end)

  it("shows the text of a message, and the lines of units, selections and ledgers", function()
    local function shows(typed) return type_in(typed, path_of "small.json").out end

    assert.matches("^message 2 %(user, %d+ tokens%): Hello\n$", shows "chat[2]")
    assert.matches("^Unit of 1 message, %d+ tokens:\n  2 user: Hello\n$", shows "chat[2].unit")
    assert.equal("Selection of 2 messages:\n  2 user: Hello\n  4 user: Bye\n", shows "chat:where { role = 'user' }")
    assert.matches("^Ledger of 2 entries:\n  dropped 2 %(user, %d+ tokens%) by keep_recent: oldest\n",
      shows "chat:trim { budget = 16 }.ledger")
    assert.matches("^{ message 2 %(user, %d+ tokens%) }\n$", shows "{ chat[2] }")
  end)

  it("has help, and lists what a value has", function()
    contains("help(chat) lists", type_in("help").out)
    contains("rollback", type_in("help(chat)", path_of "small.json").out)
    contains("unit", type_in("help(chat[1])", path_of "small.json").out)
    assert.equal("it has no names\n", type_in("help(5)").out)
  end)

  it("leaves standard input to a script that reads it", function()
    assert.equal('"one"\n2\n', type_in("io.read()\none\n1 + 1\n").out)
  end)

  it("refuses files that it cannot load", function()
    command.fails(command.USAGE, "repl -")
    command.fails(command.IO, "repl " .. path_of "absent.json")
    command.fails(command.REFUSED, "repl " .. path_of "broken.json")
  end)

  it("is listed and explained", function()
    contains("repl", (command.does "help"))
    contains("Usage: ebb repl", (command.does "repl --help"))
  end)
end)

---- Completion, asked inside the command ----

local COMPLETE = [[
local lua_completion = require "ebb.cli.view.lua_completion"
local ebb = require "ebb"
_G.ebb, _G.chat = ebb, ebb.conversation()
chat:append { role = "user", content = "x" }
_G.trap = setmetatable({ inner = { key = 1 } }, { __index = function() error "called" end })
local more, names = lua_completion.complete(arg[1])
print(more .. "|" .. table.concat(names, " "))
]]

local completions = {
  -- what it shows                   the line           what is inserted, what fits
  { "globals",                       "eb",              "b|ebb" },
  { "keywords",                      "x = fu",          "nction|function" },
  { "fields of tables",              "string.rep(table.conc", "at|concat" },
  { "several: as far as they agree", "chat:mar",        "k|mark marked" },
  { "nothing new, but a choice",     "chat:mark",       "|mark marked" },
  { "fields of messages",            "chat[1].ro",      "le|role" },
  { "methods of messages",           "chat[1]:tot",     "able|totable" },
  { "methods in Lua",                "return chat:tri", "m|trim" },
  { "fields of a message's unit",    "f(chat[1].unit.pe", "nding|pending" },
  { "methods of a string, by value", "_VERSION:uppe",   "r|upper" },
  { "functions only, after a colon", "ebb:vers",        "|" },
  { "no metamethods",                "trap.inner.k",    "ey|key" },
  { "nothing behind what is nothing", "trap.none.k",    "|" },
  { "nothing behind a call",         "f().x",           "|" },
  { "a name behind two dots",        "'x'..eb",         "b|ebb" },
  { "nothing behind an open index",  "chat[i].ro",      "|" },
  { "nothing in a number",           "1.5",             "|" },
}

describe("completion", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for _, case in ipairs(completions) do
    local name, line, expected = table.unpack(case)
    it("knows " .. name, function()
      command.file("complete.lua", COMPLETE)

      local out = command.does(("run %s '%s'"):format(path_of "complete.lua", line))

      assert.equal(expected .. "\n", out)
    end)
  end

  it("has the fields that the annotations list", function()
    local lua_completion = require "ebb.cli.view.lua_completion"
    local lists = helper.annotations()
    for kind, names in pairs(lua_completion.fields) do
      local declared = {}
      local body = lists:match("%-%-%-@class ebb%." .. kind .. "[^%w][^\n]*\n(.-)\n[^-]") or ""
      for name in body:gmatch "%-%-%-@field ([%w_]+)" do declared[#declared + 1] = name end
      assert.same(declared, names, kind)
    end
  end)
end)

---- At a terminal ----

-- Types at a pseudo terminal. Each step waits for what the one before led to. The
-- command takes the place of the shell that starts it: some shells end with 130
-- themselves once Ctrl-C was typed.
local TYPIST = [[
set -u
log=$1; ebb=$2; file=$3
wait_for() {
  tries=0
  until grep -qF -- "$1" "$log"; do
    tries=$((tries + 1)); if [ $tries -gt 2400 ]; then return 1; fi
    sleep 0.05
  done
}
# What is typed while Ctrl-C ends a line may go with it.
insist() {
  tries=0
  until grep -qF -- "$1" "$log"; do
    tries=$((tries + 1)); if [ $tries -gt 120 ]; then return 1; fi
    sleep 1; printf "$2"
  done
}
: >"$log"
{
  wait_for '> ';               printf 'chat[1].ro\t\n'
  wait_for '"system"';         printf 'chat:mark\t'
  wait_for 'marked';           printf '\003'; insist '"cleared"' '"cl" .. "eared"\n'
                               printf 'print("run" .. "ning") while true do pcall(error) end\n'
  wait_for 'running';          printf '\003'
  wait_for 'stack traceback';  printf '"go" .. "ing on"\n'
  wait_for '"going on"';       printf 'print("bu" .. "sy") repeat until io.open "%s.go"\n' "$log"
  wait_for 'busy';             printf '\004'; sleep 0.2; : >"$log.go"
  wait_for 'status' || echo 'Ctrl-D was lost' >>"$log"
} | { TERM=dumb script -qec "exec $ebb repl $file" /dev/null; echo "status $?"; } >>"$log" 2>&1
]]

local has_script = os.execute "script -qec true /dev/null </dev/null >/dev/null 2>&1"

describe("ebb repl at a terminal", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("edits, completes, remembers, and Ctrl-C stops the script only", function()
    if not has_script then return pending "the program `script` is not there, or no pseudo terminals" end
    command.file("typist.sh", TYPIST)

    os.execute(("XDG_STATE_HOME=%s/state sh %s %s %s %s"):format(command.folder, path_of "typist.sh", path_of "log",
      command.EBB, path_of "small.json"))

    local log = command.read(path_of "log")
    contains('"system"', log)
    contains("mark    marked", log)
    contains('"cleared"', log)
    contains("interrupted", log)
    contains('"going on"', log)
    contains("status 0", log)
    assert.falsy(log:find "was lost")
    local past = command.read(path_of "state/ebb/history")
    contains("chat[1].role", past)
    assert.falsy(past:find "chat:mark")
  end)
end)
