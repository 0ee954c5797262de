--- The views of the command: what they say, and that they fit a terminal. The last
-- test shows each of them in tmux, in several widths.

local command = dofile "tests/lua/command.lua"
local file, path_of, contains = command.file, command.path_of, command.contains

local CHAT = [=[{"model":"gpt-4o","messages":[
{"role":"system","content":"Be brief."},
{"role":"user","content":"Where is order W2378156?\tIt was \u001b[31mlate\u001b[0m, \u202egnorw"},
{"role":"assistant","content":null,"tool_calls":[{"id":"call_cVVsJ9hu9hK5CQyt1F4wULOk","type":"function",
 "function":{"name":"get_order_details","arguments":"{\"order_id\":\"W2378156\"}"}}]},
{"role":"tool","tool_call_id":"call_cVVsJ9hu9hK5CQyt1F4wULOk","content":"{\"status\":\"delivered\",\"items\":[1,2,3]}"},
{"role":"assistant","content":"订单已经送达，包裹放在门口的储物柜里，取件码是八八二六。请随时告诉我。"},
{"role":"user","content":
"👩‍👩‍👧‍👦 ❤️ 🇩🇪 👍🏽 e\u0301e\u0301e\u0301 ทดสอบ हिन्दी 😀😀😀😀😀😀😀😀😀😀😀😀"},
{"role":"assistant","content":
"supercalifragilisticexpialidocioussupercalifragilisticexpialidocioussupercalifragilisticexpialidocious"},
{"role":"user","content":"line one\nline two\nline three"}]}]=]

--- Every view as a command line; %s is the folder.
local VIEWS = {
  "inspect %s/chat.json", "diff %s/chat.json %s/small.json", "check %s/broken.json", "check %s/chat.json",
  "count %s/chat.json --by message", "count %s/chat.json --by role", "models", "models gpt-4o", "policies",
  "policies summarize", "policies keep_recent", "processors", "processors token-limiter",
  "trim %s/chat.json --budget 100 --explain --dry-run", "trim %s/chat.json --budget 1000 --explain --dry-run",
  "trim --replay %s/chat.json --budget 100 --policy keep_recent --policy stable_prefix",
  "pipeline %s/chat.json --preview", "pipeline %s/chat.json --show-config",
  "pipeline %s/chat.json --trace -o /dev/null", "help", "help trim", "help pipeline", "help run", "vocab ls",
  "macros", "macros roll", "rules test %s/rules.json", "help operations", "help policies-in-lua", "help files",
  "filter 'return function(m) return m.role ~= \"tool\" end' --input %s/chat.json --dry-run",
}

local BROKEN = [=[[{"role":"user","content":"a"},
{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},
{"role":"user","content":"b"},{"role":"tool","tool_call_id":"a","content":"c"}]]=]

local function run(line)
  return command.ebb((line:gsub("%%s", command.folder)))
end

local function long_chat(count)
  local lines = {}
  for i = 1, count do
    lines[i] = ('{"role":"%s","content":"message %d"}'):format(i % 2 == 1 and "user" or "assistant", i)
  end
  return table.concat(lines, "\n") .. "\n"
end

describe("the command's views", function()
  before_each(function()
    command.make_folder()
    file("chat.json", CHAT)
    file("broken.json", BROKEN)
    file("rules.json", '[{"name":"quotes","regex":"o","replacement":"0","testInput":"' .. ("look 看 "):rep(40) .. '"}]')
  end)
  after_each(command.remove_folder)

  local CALL, RESULT = 'get_order_details({"order_id":"W2378156"})', 'get_order_details -> {"status":"delivered"'

  it("name a called tool before its arguments, and before its result", function()
    for _, line in ipairs { "inspect %s/chat.json", "diff %s/chat.json %s/small.json",
      "trim %s/chat.json --budget 1000 --explain --dry-run", "pipeline %s/chat.json --preview",
      "pipeline %s/chat.json --trace -o /dev/null" } do
      local result = run(line)
      contains(CALL, result.out .. result.err)
      contains(RESULT, result.out .. result.err)
    end
  end)

  it("name the tool of an empty result, and of a call that changed", function()
    local call = '[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"a","type":"function",' ..
      '"function":{"name":"%s","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":""}]'
    file("old.json", call:format "first_tool")
    file("new.json", call:format "other_tool")
    file("none.json", '[{"role":"user","content":"a"}]')

    contains("- 3 tool: first_tool ->\n", run("diff %s/old.json %s/none.json").out)
    contains("- first_tool({})\n", run("diff %s/old.json %s/new.json").out)
    contains("+ other_tool({})\n", run("diff %s/old.json %s/new.json").out)
  end)

  it("name the tool in what a model is asked to summarize", function()
    file("model.sh", "cat > " .. path_of "request.json" .. "; echo short")
    run("trim %s/chat.json --budget 180 --policy summarize:keep=1,to=1 --model-command 'sh %s/model.sh' -o /dev/null")

    local request = command.read(path_of "request.json")
    contains([[assistant calls get_order_details({\"order_id\":\"W2378156\"})]], request)
  end)

  it("cut nothing in a pipe, and give each message one row", function()
    local result = run "inspect %s/chat.json"
    contains("supercalifragilisticexpialidocious\n", result.out)
    contains("line one\\nline two\\nline three", result.out)
    assert.falsy(result.out:find("…", 1, true))
    contains("line one\\nline two\\nline three", run("trim %s/chat.json --budget 1000 --explain --dry-run").err)
    assert.falsy(run("policies summarize").out:find("…", 1, true))
  end)

  it("read whole messages for a pipe, however long", function()
    file("long.json", '[{"role":"user","content":"' .. ("x"):rep(5000) .. 'END"}]')

    contains("xEND\n", run("inspect %s/long.json").out)
    contains('xEND"', run("inspect %s/long.json --json").out)
    contains("xEND", run("trim %s/long.json --budget 5000 --explain --dry-run").err)
  end)

  it("are whole in the file of -o, whatever the width", function()
    local words = ("inspect %s/chat.json -o %s/out.txt"):format(command.folder, command.folder)
    command.at_width(40, words)
    contains("supercalifragilisticexpialidocious\n", command.read(path_of "out.txt"))
  end)

  it("fold neighbours that were dropped for one reason, too", function()
    file("long.jsonl", long_chat(300))
    local _, err = command.does(("trim %s/long.jsonl --budget 500 --explain --dry-run"):format(command.folder))
    local rows = select(2, err:gsub("\n", "\n"))
    assert.truthy(rows < 12, err)
    assert.truthy(err:find "1%-%d+ +%d+  dropped +keep_recent .- %d+ messages\n", err)
  end)

  it("show the replacement of a message, and an inserted one", function()
    file("both.lua", "return function(draft)\n  draft:replace(draft[2], { content = 'NOW HERE' }, 'long')\n" ..
      "  draft:insert(3, { role = 'user', content = 'CAME IN' }, 'new')\nend")
    local _, err = command.does(("trim %s/small.json --budget 100 --explain --dry-run --policy %s/both.lua")
      :format(command.folder, command.folder))
    assert.truthy(err:find "replaced[^\n]+NOW HERE\n", err)
    assert.truthy(err:find "inserted[^\n]+CAME IN\n", err)
  end)

  it("say pos alone where seq is the same, and leave out columns that are empty", function()
    local out = run("inspect %s/small.json").out
    assert.matches("^pos +role +tokens +text\n", out)
  end)

  it("speak of one message and of two", function()
    file("one.json", '[{"role":"assistant","tool_calls":[{"id":"a","type":"function",'
      .. '"function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"x"}]')
    contains("1 violation in 2 messages", run("check %s/one.json").out)
    contains("1 message, nothing", run("check " .. file("hi.json", '[{"role":"user","content":"x"}]')).out)
  end)

  it("end silently when their reader has read enough", function()
    file("many.jsonl", long_chat(5000))
    local folder, ebb = command.folder, command.EBB
    if ebb:sub(1, 1) ~= "/" then ebb = "$OLDPWD/" .. ebb end
    for _, words in ipairs { "inspect many.jsonl", "inspect many.jsonl --json", "run print.lua",
      "trim many.jsonl --budget 1000000" } do
      file("print.lua", "for i = 1, 1e5 do print(i) end")
      local line = "cd %s; ebb=%s; { $ebb %s 2>err; echo $? >status; } | head -c 10 >/dev/null"
      os.execute(line:format(folder, ebb, words))
      assert.same({ "141\n", "" }, { command.read(path_of "status"), command.read(path_of "err") }, words)
    end
  end)

  it("indent JSON throughout, also the bytes of messages", function()
    local out = run("diff %s/chat.json %s/small.json --json").out
    contains('\n      "before": {\n        "role": "user",\n', out)
    contains('"content": null', out)
    assert.equal("changed", require("ebb").json.decode(out).differences[1].kind)
    contains('"messages": []', run("inspect " .. file("empty.json", "[]") .. " --json").out)
  end)

  --- Runs lines of a script in tmux, 200 columns wide; gives all that was written to the terminal. The last line
  --- that is written ends the wait for it.
  local function on_terminal(lines)
    file("lines.sh", table.concat(lines, "\n") .. "\necho 'the end'\n")
    file("session.sh", ([[
      folder=%s; export folder TMUX_TMPDIR=$folder LC_ALL=C.UTF-8; unset TMUX COLUMNS NO_COLOR
      tmux -u -f /dev/null new-session -d -x 200 -y 50 "exec cat" || exit 9
      tmux pipe-pane -O "cat > $folder/raw"
      tmux respawn-pane -k "sh $folder/lines.sh 2>&1; exec cat"
      n=0; until grep -qs 'the end' $folder/raw || [ $((n += 1)) -gt 6000 ]; do sleep 0.05; done
      tmux kill-server]]):format(command.folder))
    assert(os.execute("sh " .. path_of "session.sh"))
    return (command.read(path_of "raw"):gsub("\r\n", "\n"))
  end

  local has_tmux = os.execute "command -v tmux >/dev/null 2>&1"

  it("report success to a person, unless --quiet", function()
    if not has_tmux then return pending "tmux is not installed" end
    local small, out = path_of "small.json", path_of "out.json"
    local raw = on_terminal {
      ("%s trim %s --budget 16 -o %s"):format(command.EBB, small, out), "echo A",
      ("%s trim %s --budget 16 -o %s --quiet"):format(command.EBB, small, out), "echo B",
      ("%s filter 'return function(m) return m.role == \"user\" end' --input %s -o %s")
        :format(command.EBB, small, out), "echo C",
    }
    local trimmed, quiet, filtered = raw:match "^(.-)A\n(.-)B\n(.-)C\n"
    contains(("25 -> 15 tokens, budget 16 (estimated): 2 kept, 2 dropped, 0 replaced, 0 inserted -> %s\n"):format(out),
      trimmed)
    assert.equal("", quiet)
    contains(("4 -> 2 messages, 25 -> 13 tokens -> %s\n"):format(out), filtered)
  end)

  it("have colours on a terminal only, and none under NO_COLOR or TERM=dumb", function()
    if not has_tmux then return pending "tmux is not installed" end
    local line = ("%s inspect %s"):format(command.EBB, path_of "chat.json")
    local raw = on_terminal {
      line, "echo A", "NO_COLOR=1 " .. line, "echo B", "TERM=dumb " .. line, "echo C",
      command.EBB .. " help", "echo D", line .. " | cat", "echo E",
    }
    local views = { raw:match "^(.-)A\n(.-)B\n(.-)C\n(.-)D\n(.-)E\n" }
    contains("\27[1mpos", views[1])
    contains("\27[36m", views[1])
    contains("\27[1mCommand", views[4])
    for _, i in ipairs { 2, 3, 5 } do assert.falsy(views[i]:find "\27", views[i]) end
  end)

  it("show progress of a long run on a terminal, and remove it", function()
    if not has_tmux then return pending "tmux is not installed" end
    file("long.jsonl", long_chat(150))
    file("slow.lua", "return function(draft, budget)\n  local start = os.clock()\n"
      .. "  while os.clock() < start + 0.02 do end\n  draft:drop_oldest { to = budget }\nend")
    local line = ("%s trim --replay %s/long.jsonl --budget 50 --trusted --policy %s/slow.lua -o /dev/null")
      :format(command.EBB, command.folder, command.folder)
    local raw = on_terminal { line, "echo A", line .. " -q", "echo B" }
    local shown, quiet = raw:match "^(.-)A\n(.-)B\n"
    assert.matches("\r\27%[Kslow: message %d+ of 150", shown)
    assert.matches("\r\27%[K$", shown)
    assert.equal("", quiet)
  end)

  it("fit a terminal of any width, and no row wraps", function()
    if not has_tmux then return pending "tmux is not installed" end
    local folder, lines = command.folder, {}
    for i, view in ipairs(VIEWS) do
      lines[i] = ("%s %s\necho '=== %d'"):format(command.EBB, view:gsub("%%s", folder), i)
    end
    file("views.sh", table.concat(lines, "\n") .. "\n")
    file("session.sh", ([[
      folder=%s; export TMUX_TMPDIR=$folder LC_ALL=C.UTF-8; unset TMUX COLUMNS
      tmux -u -f /dev/null new-session -d -x 200 -y 50 "exec sh" || exit 9
      tmux set-option -g history-limit 9000
      for width in 40 80 120 200; do
        tmux -u -f /dev/null new-window -n w$width "exec cat"; tmux resize-window -t w$width -x $width -y 50
        tmux respawn-pane -k -t w$width "sh $folder/views.sh 2>&1; exec cat"
      done
      for width in 40 80 120 200; do
        n=0
        until grep -qs '^=== %d$' $folder/rows.$width || [ $((n += 1)) -gt 6000 ]; do
          sleep 0.05; tmux capture-pane -p -S - -t w$width > $folder/rows.$width
        done
        tmux capture-pane -p -J -S - -t w$width > $folder/joined.$width
      done
      tmux kill-server]]):format(folder, #VIEWS))
    assert(os.execute("sh " .. path_of "session.sh"))

    for _, width in ipairs { 40, 80, 120, 200 } do
      local rows, joined = command.read(path_of("rows." .. width)), command.read(path_of("joined." .. width))
      contains("=== " .. #VIEWS, rows)
      local wrapped = {}
      for line in joined:gmatch "[^\n]+" do
        line = line:gsub(" +$", "")
        if not (("\n" .. rows):find("\n" .. line .. "\n", 1, true)) then wrapped[#wrapped + 1] = line end
      end
      assert.equal("", table.concat(wrapped, "\n"), width .. " columns")
    end
  end)
end)
