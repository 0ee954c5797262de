--- Commands that ebb runs end with it: whatever ends ebb, and though they ignore SIGTERM or have started others.

local command = dofile "tests/lua/command.lua"
local path_of, file, read = command.path_of, command.file, command.read

local ASK = '{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",' ..
  '"function":{"name":"wait","arguments":"{}"}}]}}]}'

--- Notes its own number and that of a process that it starts, and sleeps.
local WAIT = "%s echo $$ >>%s; sleep 600 & echo $! >>%s; wait; wait"

--- Starts a line as a terminal does, in a group of its own; sends a signal to the group (or to the process alone) once
--- the numbers are there; prints the status, and "left" for each process that runs on.
local SCRIPT = [[
if [ -z "$SIGNALS_RESET" ]; then SIGNALS_RESET=1 exec env --default-signal bash "$0"; fi
setsid %s </dev/null >/dev/null 2>&1 &
pid=$!
for ((i = 0; i < 500; i++)); do
  [ "$(cat %s 2>/dev/null | wc -l)" -ge %d ] && break
  sleep 0.01
done
kill -s %s -- %s$pid 2>/dev/null
wait $pid 2>/dev/null
echo $?
for ((i = 0; i < %d; i++)); do
  left=
  for child in $(cat %s); do
    state=Z
    read -r _ _ state _ 2>/dev/null </proc/$child/stat
    if [ $state != Z ]; then left="$left left"; fi
  done
  [ -z "$left" ] && break
  sleep 0.01
done
echo $left
for child in $(cat %s); do kill -KILL $child 2>/dev/null; done
exit 0
]]

--- The status of a line whose command noted `count` numbers, and what is left of them after hundredths of a second:
--- only the shell is waited for, and SIGKILL takes its time.
local function stop(words, signal, to, count, tries)
  local numbers = path_of "numbers"
  local line = ("%s %s"):format(command.EBB, words)
  file("script", SCRIPT:format(line, numbers, count or 2, signal, to or "-", tries or 50, numbers, numbers))
  local pipe <close> = assert(io.popen("bash " .. path_of "script" .. " 2>/dev/null"))
  local status, left = pipe:read("a"):match "^(%d+)\n(.-)\n$"
  assert.truthy(read(numbers), words .. ": the command was not started")
  return tonumber(status), left
end

describe("the commands that ebb runs", function()
  local lines

  before_each(function()
    command.make_folder()
    local numbers = path_of "numbers"
    local wait = "sh " .. file("wait.sh", WAIT:format("", numbers, numbers))
    file("stubborn.sh", WAIT:format("trap '' TERM INT HUP;", numbers, numbers))
    file("ask.sh", "cat >/dev/null; echo '" .. ASK .. "'")
    file("model.lua", "return { { type = 'model', model = 'gpt-4o' } }")
    file("tool.lua", ([[return { tools = { { name = "wait", command = %q } },
      nodes = { { type = "model", model = "gpt-4o" }, { type = "tool" } } }]]):format(wait))
    file("server.lua", ([[return { tools = { { mcp = %q } }, nodes = { { type = "model", model = "gpt-4o" } } }]])
      :format(wait))
    file("talk.mp3", "ID3\4\0\0\0\0\0\0")
    file("talk.json", '[{"role":"user","content":"listen","attachments":[{"path":"talk.mp3","name":"talk.mp3"}]}]')
    local talk = {}
    for i = 1, 40 do
      talk[i] = ('{"role":%q,"content":"word number %d of many"}'):format(i % 2 == 1 and "user" or "assistant", i)
    end
    file("talk.jsonl", table.concat(talk, "\n"))
    lines = {
      trim = "trim %/talk.jsonl --budget 200 --policy summarize --model-command '%W'",
      model = "run %/model.lua %/small.json --model-command '%W'",
      tool = "run %/tool.lua %/small.json --model-command 'sh %/ask.sh'",
      server = "run %/server.lua %/small.json --model-command 'sh %/ask.sh'",
      each = "each %/small.json --run %/model.lua --out %/out --model-command '%W'",
      transcription = "pipeline %/talk.json --asset-root %/ --set transcription-processor.audio=always " ..
        "--transcribe-command '%W'",
    }
    for name, words in pairs(lines) do
      lines[name] = words:gsub("%%W", (wait:gsub("%%", "%%%%"))):gsub("%%", (command.folder:gsub("%%", "%%%%")))
    end
  end)
  after_each(command.remove_folder)

  for _, name in ipairs { "trim", "model", "tool", "server", "each", "transcription" } do
    it("end with it at Ctrl-C, SIGTERM and SIGHUP: " .. name, function()
      for _, signal in ipairs { "INT", "TERM", "HUP" } do
        for _, to in ipairs { "-", "" } do
          os.remove(path_of "numbers")
          local status, left = stop(lines[name], signal, to)
          assert.equal("", left, name .. " SIG" .. signal)
          assert.equal(({ INT = 130, TERM = 143, HUP = 129 })[signal], status)
        end
      end
    end)
  end

  it("end though they ignore the signals", function()
    for _, name in ipairs { "model", "each" } do
      for _, signal in ipairs { "INT", "TERM" } do
        os.remove(path_of "numbers")
        local words = lines[name]:gsub("wait%.sh", "stubborn.sh")
        local _, left = stop(words, signal)
        assert.equal("", left, name .. " SIG" .. signal)
      end
    end
  end)

  it("end at the limit of their time", function()
    for _, script in ipairs { "wait.sh", "stubborn.sh" } do
      os.remove(path_of "numbers")
      local words = lines.trim:gsub("wait%.sh", script) .. " --model-timeout 0.3"
      local status, left = stop(words, "WINCH")
      assert.equal("", left, script)
      assert.equal(command.IO, status)
    end
  end)

  it("end where a script calls os.exit next to them", function()
    file("exit.lua", ([[
      local host = require "ebb.host"
      GLOBAL = host.dialogue "sh %s"
      while not io.open(%q) do host.sleep(0.01) end
      host.sleep(0.1)
      os.exit(3)
    ]]):format(path_of "wait.sh", path_of "numbers"))
    local status, left = stop("run " .. path_of "exit.lua", "WINCH")
    assert.equal("", left)
    assert.equal(3, status)
  end)

  it("end soon after SIGKILL, if a worker runs them or they took the shell's place", function()
    local status, left = stop(lines.each, "KILL", "", 2, 500)
    assert.same({ 137, "" }, { status, left })
    os.remove(path_of "numbers")
    file("wait.sh", ("echo $$ >>%s; exec sleep 600"):format(path_of "numbers"))
    status, left = stop(lines.model:gsub("'sh ", "'exec sh "), "KILL", "", 1, 500)
    assert.same({ 137, "" }, { status, left })
  end)

  it("get SIGTERM first, and a moment to clean up", function()
    local numbers = path_of "numbers"
    file("wait.sh", ("trap 'rm %s; exit' TERM; %s"):format(file("temporary", ""),
      WAIT:format("", numbers, numbers)))
    local _, left = stop(lines.model, "INT")
    assert.equal("", left)
    assert.is_nil(read(path_of "temporary"))
  end)
end)
