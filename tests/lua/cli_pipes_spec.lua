--- Pipes in the place of files: <(command) of a shell, /dev/stdin and FIFOs are read as files are, by every command,
--- though some look at a file twice.

local command = dofile "tests/lua/command.lua"
local path_of, file, contains = command.path_of, command.file, command.contains

local ST = '{"user_name":"You","character_name":"Ann","create_date":"2024","chat_metadata":{}}\n'
  .. '{"name":"Ann","is_user":false,"mes":"Hello","send_date":"x"}\n'

--- Files that are read through pipes.
local FILES = {
  ["hello.lua"] = 'print("hello", ...)', ["fails.lua"] = "\nerror 'boom'", ["st.jsonl"] = ST,
  ["nodes.lua"] = "return { { operation = 'truncate', truncate = { keepLast = 1 } } }",
  ["nodes.json"] = '[{"operation":"truncate","truncate":{"keepLast":1}}]',
  ["filter.lua"] = "return function(message) return message.role == 'user' end",
  ["policy.lua"] = "return function(draft, budget) draft:drop_oldest { to = budget } end",
  ["step.lua"] = "return { id = 'x', name = 'X', execute = function(context) context:log('info', 'ran') end }",
  ["macro.lua"] = "return { name = 'shout', summary = 's', stability = 'stable', run = function() return 'AHA' end }",
  ["agent.json"] = '{"name":"Ann"}', ["user.json"] = '{"name":"Bob"}', ["model.json"] = '{"model":"gpt-4o"}',
  ["agent.lua"] = "return { name = 'Ann' }", ["book.json"] = '{"entries":[{"keys":["x"],"content":"y"}]}',
  ["tools.json"] = '[{"name":"search","description":"Searches."}]',
  ["ops.json"] = '{"operation":"truncate","keepLast":1}',
  ["rules.json"] = '{"findRegex":"/a/","replaceString":"b"}', ["chat.json"] = command.SMALL, ["broken.json"] = '{"a":',
  ["part.json"] = '[{"role":"user","content":"a"},{"role":"user","contnt":"a"}]',
}

--- P(name) is the pipe, D/ the folder of the test. The result has the text.
local ROWS = {
  { "run P(hello.lua) a b", "hello\ta\tb" }, { "run P(fails.lua)", "boom\nstack traceback:", status = 5 },
  { "run P(nodes.lua) D/chat.json", "Bye" }, { "run P(nodes.json) D/chat.json", "Bye" },
  { "run D/nodes.lua P(chat.json)", "Bye" }, { "run D/nodes.lua P(st.jsonl)", "Hello" },
  { "filter P(filter.lua) --input D/chat.json", "Bye" }, { "filter D/filter.lua --input P(st.jsonl)", "[" },
  { "trim D/chat.json --budget 20 --policy P(policy.lua)", "Bye" }, { "trim P(st.jsonl) --budget 2000", "Hello" },
  { "pipeline D/chat.json --model gpt-4o --processor P(step.lua)", "Bye" },
  { "pipeline D/chat.json --model gpt-4o --agent P(agent.json)", "Bye" },
  { "pipeline D/chat.json --model gpt-4o --user-profile P(user.json)", "Bye" },
  { "pipeline D/chat.json --model-config P(model.json)", "gpt-4o" },
  { "pipeline D/chat.json --model gpt-4o --lorebook P(book.json)", "Bye" }, { "pipeline P(st.jsonl) --model gpt-4o",
    "Hello" }, { "input 'x{{shout}}' D/chat.json --macro P(macro.lua)", "xAHA" },
  { "input 'x{{char}}' D/chat.json --agent P(agent.json)", "xAnn" },
  { "trim D/chat.json --budget 2000 --tools P(tools.json)", "Searches" }, { "apply P(ops.json) P(chat.json)", "Bye" },
  { "rules test P(rules.json) --text a", "b" }, { "count P(st.jsonl)", "estimated" },
  { "inspect P(st.jsonl)", "Hello" },
  { "check P(st.jsonl)", "1 message" }, { "convert --to openai P(st.jsonl)", "Hello" },
  { "report P(st.jsonl)", "Hello" },
  { "diff P(chat.json) D/chat.json", "" }, { "import P(st.jsonl) --dry-run", "SillyTavern chat" },
  { "session new a P(st.jsonl) --db D/d.db", "" }, { "count P(part.json)", "--lenient reads 1 message", status = 6 },
  { "each D/chat.json --run P(nodes.lua) --out D/out", "" }, { "count P(broken.json)", "expected", status = 6 },
  { "run --isolate P(hello.lua)", "", fd = "is a pipe, which the script's process does not have" },
}

--- A command line whose P(name) are these pipes of the shell; the pipes come before it.
local function line_of(words, pipe)
  local before, number = "", 6
  words = words:gsub("D/", command.folder .. "/"):gsub("P(%b())", function(name)
    local path = command.path_of(name:sub(2, -2))
    number = number + 1
    local front, place, redirection = pipe(path, number)
    before = before .. front
    return place .. (redirection or "")
  end)
  return before, words
end

local KINDS = {
  ["a pipe of the shell"] = function(path, number)
    return "", ("/dev/fd/%d"):format(number), (" %d< <(cat %s)"):format(number, path)
  end,
  ["a FIFO"] = function(path)
    local fifo = path .. ".fifo"
    return ("mkfifo %s; cat %s >%s & "):format(fifo, path, fifo), fifo
  end,
}

local function run(words, pipe)
  local before, line = line_of(words, pipe)
  local script = file("script.bash", ("%s timeout -s KILL 60 %s %s </dev/null\n"):format(before, command.EBB, line))
  local out = path_of ".out"
  local _, _, status = os.execute(("bash %s >%s 2>&1"):format(script, out))
  return status, command.read(out)
end

describe("in the place of a file", function()
  before_each(function()
    command.make_folder()
    for name, text in pairs(FILES) do file(name, text) end
  end)
  after_each(command.remove_folder)

  for kind, pipe in pairs(KINDS) do
    for _, row in ipairs(ROWS) do
      it(("%s is read: ebb %s"):format(kind, row[1]), function()
        local is_refused = row.fd and kind ~= "a FIFO"
        if row.fd and not is_refused then return end
        local status, out = run(row[1], pipe)
        assert.equal(is_refused and command.USAGE or row.status or 0, status, out)
        contains(is_refused and row.fd or row[2], out)
      end)
    end
  end

  it("a FIFO keeps its name in messages and results", function()
    local status, out = run("count P(chat.json)", KINDS["a FIFO"])
    assert.equal(0, status, out)
    contains("chat.json.fifo\n", out)
    contains("part.json.fifo:1:32: expected", select(2, run("count P(part.json)", KINDS["a FIFO"])))
  end)

  it("standard input is read under its name", function()
    contains("hello", (command.does("run /dev/stdin", path_of "hello.lua")))
    for words, name in pairs { ["run /dev/stdin"] = "hello.lua", ["count /dev/stdin"] = "st.jsonl" } do
      local pipe = assert(io.popen(("cat %s | %s %s 2>&1"):format(path_of(name), command.EBB, words)))
      contains(name == "hello.lua" and "hello" or "SillyTavern chat: 1 message", pipe:read "a")
      pipe:close()
    end
  end)

  it("the argument of a script is left to the script", function()
    file("first.lua", "for line in io.lines(arg[1]) do print(line) os.exit(0) end")
    local script = file("script.bash", ("timeout -s KILL 20 %s run %s <(echo one; sleep 30)\n"):format(command.EBB,
      path_of "first.lua"))
    local pipe = assert(io.popen("bash " .. script))
    assert.equal("one\n", pipe:read "a")
    pipe:close()
  end)
end)
