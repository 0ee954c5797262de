--- Tools marked `once` in sessions of SQLite and PostgreSQL: a run performs each call, goes on after it, and repeats
--- none, however often it is killed.
--
-- KILLS=n kills so many runs of each store (default 6), SEED=n repeats a run.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local server = dofile("tests/lua/postgres_server.lua").start()

local ebb = helper.ebb

local KILLS = math.tointeger(tonumber(os.getenv "KILLS")) or 6
local SEED = math.tointeger(tonumber(os.getenv "SEED")) or os.time()

local function in_file() return command.path_of "s.db" end
local function in_server() return (server:new()) end

--- A model that asks for as many payments, one by one, and then has done.
local MODEL = [[#!/bin/sh
n=$(tr '{' '\n' | grep -c '"role":"tool"')
[ $n -ge %d ] && { echo 'all paid'; exit; }
echo '{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[
  {"id":"c'$n'","type":"function","function":{"name":"pay","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}'
]]

--- A server of MCP with one tool, in sh: it pays as the command does.
local SERVER = [[#!/bin/sh
while read -r line; do
  id=$(echo "$line" | grep -o '"id":[0-9]*')
  case $line in
    *tools/call*) %s; r='{"content":[{"type":"text","text":"ok"}]}' ;;
    *tools/list*) r='{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}' ;;
    *) r='{"protocolVersion":"2025-06-18","capabilities":{}}' ;;
  esac
  [ -n "$id" ] && echo '{"jsonrpc":"2.0",'$id',"result":'$r'}'
done
]]

--- Pays: notes it, and lets a kill come while it does; `by` is the process of ebb.
local function paying(by)
  return ("echo paid >> %s/log; if [ -e %s/kill ]; then rm %s/kill; kill -9 %s; sleep 9; fi"):format(command.folder,
    command.folder, command.folder, by)
end

local TOOLS = {
  ["function"] = function()
    return ('{ name = "pay", once = true, run = function() os.execute [[%s]] return "ok" end }'):format(paying "$PPID")
  end,
  command = function()
    return ('{ name = "pay", once = true, command = [[%s; echo ok]] }'):format(paying "$PPID")
  end,
  mcp = function()
    command.file("server.sh", SERVER:format(paying "$PPID"))
    return ('{ mcp = "exec sh %s/server.sh", once = true }'):format(command.folder)
  end,
}

local ASK = '{ type = "model", model = "gpt-4o-mini" }'

--- Lists of nodes that ask and pay `count` times and ask for the last word.
local SHAPES = {
  flat = function(count) return ("{ %s%s }"):format((ASK .. ', { type = "tool" }, '):rep(count), ASK) end,
  loop = function()
    return ('{ { type = "loop", at_most = 900, stop_when = { answered = true }, nodes = { %s, { type = "tool" } } } }')
      :format(ASK)
  end,
  graph = function()
    return ('{ { id = "ask", %s, { id = "more", type = "branch", when = { calls = true } }, '
      .. '{ id = "do", type = "tool" } }, edges = { { "ask", "more" }, { "more", "do", when = true }, '
      .. '{ "more", "end", when = false }, { "do", "ask" } }'):format(ASK:sub(3))
  end,
}

--- Writes the files of a run of `count` payments, and gives its line.
local function line_of(tool, shape, count)
  command.file("model.sh", MODEL:format(count))
  command.file("w.lua", ("return { tools = { %s }, nodes = %s }"):format(TOOLS[tool](), SHAPES[shape](count)))
  command.does("session new s " .. command.file("pay.json", '[{"role":"user","content":"pay"}]'))
  return ("run %s/w.lua --session s --model-command 'sh %s/model.sh'"):format(command.folder, command.folder)
end

local function count_paid() return select(2, (command.read(command.path_of "log") or ""):gsub("paid", "")) end

for name, new_place in pairs { SQLite = in_file, PostgreSQL = server and in_server or nil } do
  describe("a tool marked once, in " .. name .. ",", function()
    local place

    before_each(function()
      command.make_folder()
      place = new_place()
      command.environment = ("EBB_DB='%s' "):format(place)
    end)
    after_each(function()
      command.remove_folder()
      command.environment = nil
    end)
    if server and new_place == in_server then teardown(function() server:remove() end) end

    --- The results that the session has, by their text.
    local function results()
      local session <close> = assert(ebb.session(place, "s"))
      local texts = { ok = 0, unknown = 0 }
      for _, message in ipairs(session) do
        if message.role == "tool" then
          local kind = message.text:find "^ok%s*$" and "ok" or message.text:find "not called again" and "unknown"
          texts[kind or message.text] = (texts[kind or message.text] or 0) + 1
        end
      end
      assert.equal("all paid", session[#session].text)
      return texts
    end

    for tool in pairs(TOOLS) do
      for shape in pairs(SHAPES) do
        it(("a %s, is called in one run: %s"):format(tool, shape), function()
          command.does(line_of(tool, shape, 2))
          assert.equal(2, count_paid())
          assert.same({ ok = 2, unknown = 0 }, results())
        end)
      end

      it(("a %s, is not called again where it was killed, and the next run comes to its end"):format(tool), function()
        local line = line_of(tool, "loop", 3)
        command.file("kill", "")
        assert.equal(137, command.ebb(line).status)
        command.does(line)
        assert.equal(3, count_paid())
        assert.same({ ok = 2, unknown = 1 }, results())
      end)
    end

    --- Kills runs of a session until one comes to its end; how many. Each has a little more time than the one before:
    --- on a busy machine one must come as far as the next save, too.
    local function kill_runs(line)
      local limited, kills, most = "env %s timeout -s KILL %.3f %s %s >/dev/null 2>&1", 0, 0.2
      while true do
        local done, _, status = os.execute(limited:format(command.environment, 0.02 + math.random() * most,
          command.EBB, line))
        if done then return kills end
        assert.equal(137, status)
        kills, most = kills + 1, most * 1.1
      end
    end

    it("is called once for each call, whenever a run is killed", function()
      math.randomseed(SEED)
      local kills, sessions, told = 0, 0, ("SEED=%d"):format(SEED)
      repeat
        kills = kills + kill_runs(line_of(sessions % 2 == 0 and "command" or "function", "loop", 12))
        sessions = sessions + 1
        local texts = results()
        assert.equal(12, texts.ok + texts.unknown, told)
        assert.is_true(count_paid() >= texts.ok and count_paid() <= 12, told)   -- a kill may come before it pays
        command.does "session rm s"
        os.remove(command.path_of "log")
      until kills >= KILLS
    end)
  end)
end
