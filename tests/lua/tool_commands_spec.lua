--- Commands of tools and MCP servers: what they get of the environment and of open files, where their standard error
--- goes, and when their answer is there.

local command = dofile "tests/lua/command.lua"
local core = require "ebb.support.core"

local file, path_of, contains, read = command.file, command.path_of, command.contains, command.read

local CALL = '{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",'
  .. '"function":{"name":"t","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}'

--- A server with the tool `t`, which runs a line of sh and answers what that says; others write an answer of their own.
local SERVER = [[#!/bin/sh
while read -r line; do
  id=$(echo "$line" | grep -o '"id":[0-9]*')
  case $line in
    *tools/call*) text=$({ %s; } | tr '\n' ' '); r='{"content":[{"type":"text","text":"'$text'"}]}' ;;
    *tools/list*) r='{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
    *) r='{"protocolVersion":"2025-06-18","capabilities":{}}' ;;
  esac
  [ -n "$id" ] && echo '{"jsonrpc":"2.0",'$id',"result":'$r'}'
done
]]

local KINDS = {
  command = function(line, more) return ("{ name = 't', command = [[%s]] %s }"):format(line, more or "") end,
  mcp = function(line, more)
    return ("{ mcp = 'exec sh %s' %s }"):format(file("server.sh", SERVER:format(line)), more or "")
  end,
}

--- Runs a workflow whose model calls the tool once: the run, and the result that the model reads.
local function run(tool, words)
  file("ask.sh", "cat >/dev/null; echo '" .. CALL .. "'")
  file("w.lua", ("return { tools = { %s }, nodes = { { type = 'model', model = 'gpt-4o' }, { type = 'tool' } } }")
    :format(tool))
  local out = command.ebb(("run %s %s --model-command 'sh %s' %s"):format(path_of "w.lua", path_of "small.json",
    path_of "ask.sh", words or ""))
  local list = out.status == 0 and core.json.decode(out.out)
  return out, list and list[#list].content
end

before_each(command.make_folder)
after_each(function()
  command.remove_folder()
  command.environment = nil
end)

describe("the environment of", function()
  local SECRETS = "EBB_API_KEY=k1 OPENAI_API_KEY=k2 ANTHROPIC_API_KEY=k3 GEMINI_API_KEY=k4 GOOGLE_API_KEY=k5 "
    .. "EBB_DB=postgresql://u:k6@h/d PGPASSWORD=k7 GITHUB_TOKEN=k8 OTHER=k9 LC_TIME=C TZ=UTC XDG_CACHE_HOME=/x "

  for kind, make in pairs(KINDS) do
    it("a tool has no keys: " .. kind, function()
      command.environment = SECRETS
      local _, text = run(make "env | grep -v _= | sort")
      assert.is_nil(text:match "k%d")
      for _, name in ipairs { "PATH=", "LC_TIME=C", "TZ=UTC", "XDG_CACHE_HOME=/x" } do contains(name, text) end
    end)

    it("a tool has what its env names: " .. kind, function()
      command.environment = SECRETS
      local _, text = run(make("env", ", env = { 'OTHER', 'GITHUB_TOKEN', 'NOT_SET' }"))
      contains("OTHER=k9", text)
      contains("GITHUB_TOKEN=k8", text)
      assert.is_nil(text:gsub("k[89]", ""):match "k%d")
    end)
  end

  it("a model's command is the user's own, and whole", function()
    command.environment = SECRETS
    local out = command.does(("run %s %s --model-command env"):format(
      file("w.lua", "return { { type = 'model', model = 'gpt-4o' } }"), path_of "small.json"))
    contains("OPENAI_API_KEY=k2", out)
  end)

  it("tools is checked: names of variables, and kinds of tools", function()
    for _, row in ipairs {
      { "{ name = 't', command = 'x', env = { 'A B' } }", "expected the name of a variable, got 'A B'" },
      { "{ name = 't', command = 'x', env = { 'A=1' } }", "expected the name of a variable" },
      { "{ name = 't', command = 'x', env = 'A' }", "env: expected a list" },
      { "{ name = 't', run = print, env = { 'A' } }", "env does not go with run" },
      { "{ file = 't.lua', env = { 'A' } }", "env does not go with file" },
      { "{ recall = true, env = { 'A' } }", "env does not go with recall" },
    } do
      contains(row[2], run(row[1]).err)
    end
  end)
end)

describe("no descriptor of ebb is open in", function()
  local LIST = "for f in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$f ] && readlink /proc/$$/fd/$f; done; echo none"

  for kind, make in pairs(KINDS) do
    it("a tool: " .. kind, function()
      local _, text = run(make(LIST), "--record " .. path_of "tape.jsonl")
      -- dash keeps its script open, from 10 on, and a pipe for $(...)
      assert.equal("none", (text:gsub("pipe:%S+", ""):gsub("%s+", "")))
    end)
  end

  it("what each runs: its journal", function()
    run(KINDS.command(LIST .. "; ls -l /proc/self/fd >&2"))
    local sh = ("ls -l /proc/self/fd > %s"):format(path_of "fds")
    file("own.lua", ("return { { type = 'script', run = function() os.execute [[%s]] end } }"):format(sh))
    for _, flow in ipairs { "w.lua", "own.lua" } do
      command.does(("each %s --run %s --out %s --model-command 'ls -l /proc/self/fd >&2; sh %s'"):format(
        path_of "small.json", path_of(flow), path_of("out" .. flow), path_of "ask.sh"))
      local told = (read(path_of ".err") or "") .. (read(path_of "fds") or "")
      assert.is_nil(told:find("journal", 1, true), told)
    end
    assert.truthy(read(path_of "fds"))
  end)
end)

describe("the standard error of", function()
  for kind, make in pairs(KINDS) do
    it("a tool cannot steer the terminal: " .. kind, function()
      local out, text = run(make [[printf 'a\033[2J\233m\303\251\302\233\342\200\256b\n\tc' >&2; echo fine]])
      contains("fine", text)
      assert.is_nil(out.err:find "[\27\x9b]")
      contains("a\\e[2J\u{fffd}m\u{e9}\\u{9B}\\u{202E}b\n\tc", out.err)
    end)

    it("a tool may be long, and is all there: " .. kind, function()
      local out, text = run(make [[i=0; while [ $i -lt 3000 ]; do
        echo "line $i of many that are said" >&2; i=$((i+1)); done; echo fine]])
      contains("fine", text)
      assert.equal(3000, select(2, out.err:gsub("of many that are said", "")))
    end)
  end
end)

describe("the answer of a command", function()
  --- Rows: a command line, part of which holds its pipes for seconds, and the result.
  local ROWS = {
    { "sleep 25 & echo started", "started\n" }, { "echo a; (sleep 25; echo late) & echo b", "a\nb\n" },
    { "setsid sleep 25 & echo started", "started\n" }, { "echo started; exec 2>&1; sleep 25 & exit 0", "started\n" },
    { "sleep 25 & head -c 200000 /dev/zero | tr '\\0' x", ("x"):rep(200000) },
    { "sleep 25 >&2 & echo started", "started\n" }, { "sleep 25 & :", "" },
    { "(while :; do echo more; done) & sleep 0.1; echo", "more" },
    { "sleep 25 & echo no; exit 3", "error: it failed with exit status 3" },
    { "exec >&-; sleep 0.2; exit 4", "error: it failed with exit status 4" },
    { "echo slow; sleep 0.3; echo end", "slow\nend\n" },
  }
  for _, row in ipairs(ROWS) do
    it("is there when the shell ends: " .. row[1], function()
      local began = core.now()
      local _, text = run(KINDS.command(row[1]))
      if row[2] == "more" then contains("more\nmore\n", text) else assert.equal(row[2], text) end
      assert.is_true(core.now() - began < 20000, core.now() - began)
    end)
  end

  it("of a model, too", function()
    local began = core.now()
    local out = command.does(("run %s %s --model-command 'sleep 25 & echo hello'"):format(
      file("w.lua", "return { { type = 'model', model = 'gpt-4o' } }"), path_of "small.json"))
    contains('"hello"', out)
    assert.is_true(core.now() - began < 20000)
  end)

  it("is not waited for beyond its time, and then all of it is ended", function()
    local _, text = run(KINDS.command("sleep 600 & sleep 600", ", timeout = 0.3"))
    assert.equal("error: it took too long", text)
  end)

  it("leaves the process that it has started alone", function()
    run(KINDS.command(("(sleep 0.5; echo on >%s) >/dev/null 2>&1 & echo started"):format(path_of "on")))
    for _ = 1, 200 do
      if read(path_of "on") == "on\n" then return end
      os.execute "sleep 0.05"
    end
    assert.equal("on\n", read(path_of "on"))
  end)
end)
