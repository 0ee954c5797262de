--- Saved conversations on the command line: `ebb apply --state` writes one, every command that reads conversations
--- reads it, and those that edit write it back.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local it_exact = dofile "tests/lua/it_exact.lua"(it, function(why) pending(why) end)
local ebb = helper.ebb
local path_of, file, does, fails = command.path_of, command.file, command.does, command.fails
local contains = command.contains
local json = ebb.json

local BODY = '{"model":"gpt-4o","top_p":0.5,"messages":[{"role":"system","content":"Be brief."},' ..
  '{"role":"user","content":"Hello"}, {"role":"assistant","content":"Hi"}, {"role":"user","content":"Bye"}],"n":1}\n'
local OPERATIONS = '[{"operation":"truncate","keepLast":3},{"operation":"append","messages":[{"role":"assistant",' ..
  '"content":"Ciao"}]},{"operation":"truncate","keepLast":1}]'

local saved, body

--- BODY after OPERATIONS, saved; its path.
local function save()
  body, saved = file("body.json", BODY), path_of "chat.ebb"
  does(("apply %s %s --state -o %s"):format(file("ops.json", OPERATIONS), body, saved))
  return saved
end

local function apply(operations, more)
  return does(("apply '%s' %s %s"):format(operations, saved, more or ""))
end

--- The texts of the visible messages.
local function visible(path)
  local list = {}
  for i, message in ipairs(assert(ebb.load(path))) do list[i] = message.text end
  return table.concat(list, " ")
end

describe("a saved conversation on the command line", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("is rolled back by the next process, and the one after that", function()
    save()
    apply('{"operation":"ROLLBACK","targetBatchIndex":1}', "-o " .. path_of "back.ebb")
    assert.equal("Hello Hi Bye Ciao", visible(path_of "back.ebb"))
    assert.equal("Ciao", visible(saved))

    apply('{"operation":"rollback","targetBatchIndex":0}', "-i")
    assert.equal("Be brief. Hello Hi Bye", visible(saved))
    apply('{"operation":"rollback","targetBatchIndex":2}', "-i")
    assert.equal("Ciao", visible(saved))
    assert.equal(3, #assert(ebb.load(saved)):batches())
  end)

  it("is written to standard output where no file is named, as it came", function()
    save()
    local out = apply('{"operation":"append","messages":[{"role":"user","content":"x"}]}')
    assert.equal("Ciao x", visible(file("next.ebb", out)))
    assert.equal(3, #assert(ebb.parse(out)):batches())
  end)

  it("is edited in place by trim, filter, apply and run: each adds its batch", function()
    save()
    apply('{"operation":"rollback","targetBatchIndex":0}', "-i")
    does(("trim %s --budget 20 -i"):format(saved))
    does(("filter 'return function(m) return m.role == \"user\" end' --input %s -i"):format(saved))
    file("nodes.lua",
      "return { { operation = 'append', append = { messages = { { role = 'user', content = 'x' } } } } }")
    does(("run %s --input %s -i"):format(path_of "nodes.lua", saved))

    local chat = assert(ebb.load(saved))
    assert.equal("Bye x", visible(saved))
    local kinds = {}
    for i, batch in ipairs(chat:batches()) do kinds[i] = batch.operation end
    assert.equal("create truncate truncate trim filter", table.concat(kinds, " "))
    assert.truthy(chat:explain(2).reason or chat:explain(2).action)
    assert.falsy(command.files_left():find("chat.ebb.", 1, true))
  end)

  it("in place is also for lists and bodies, and not for standard input", function()
    body = file("body.json", BODY)
    does(("apply '{\"operation\":\"truncate\",\"keepLast\":1}' %s -i"):format(body))
    assert.equal('{"model":"gpt-4o","top_p":0.5,"messages":[ {"role":"user","content":"Bye"}],"n":1}\n',
      (command.read(body):gsub("%[%s*", "[ ")))
    local line = "apply '{\"operation\":\"clear\"}' %s -i"
    contains("standard input", fails(command.USAGE, line:format "-", body))
    contains("-o", fails(command.USAGE, line:format(body) .. " -o " .. path_of "x"))
    fails(command.USAGE, ("trim %s --replay --budget 10 -i"):format(body))
    contains("Bye", command.read(body))
  end)

  it("in place is also for convert, and not for a session that --session would write", function()
    body = file("chat.json", '[{"role":"user","content":"Hi"}]')
    local _, err = does(("convert %s --to anthropic --model claude-sonnet-4-5 -i -q"):format(body))
    assert.same({ '[{"role":"user","content":[{"type":"text","text":"Hi"}]}]\n', "" }, { command.read(body), err })
    err = fails(command.USAGE, "trim session:a --budget 100 -i")
    contains("-i needs a file, and the input is session:a\nhint: --session a writes to it", err)
    assert.is_nil(command.read "session:a")
  end)

  it("is read by every command that reads conversations", function()
    save()
    apply('{"operation":"rollback","targetBatchIndex":0}', "-i")
    local same = { "count %s --json", "check %s", "trim %s --budget 20 --dry-run --json", "count %s --by message" }
    for _, line in ipairs(same) do
      local of_saved, of_body = does(line:format(saved)), does(line:format(body))
      assert.equal((of_body:gsub("body%.json", "F")), (of_saved:gsub("chat%.ebb", "F")), line)
    end
    assert.equal("", (does(("diff %s %s"):format(saved, body))))
    local agent = file("agent.json", "{}")
    local line = "pipeline %s --agent " .. agent
    assert.same(json.decode((does(line:format(body)))), json.decode((does(line:format(saved)))))
    contains("keep_recent", (does(("trim --replay %s --budget 30"):format(saved))))
    contains("4\ttrue\n", (does("repl " .. saved, file("lines", "return #chat, chat.saved\n"))))
  end)

  it_exact("is inspected with its batches, and one of them", function()
    save()
    local out = does("inspect " .. saved)
    contains("shape: body, saved whole", out)
    contains("  batch 0: create, 4 messages\n", out)
    contains("  batch 1: truncate, 4 messages, from batch 0 at 4; truncate keepLast 3\n", out)
    contains("  batch 2: truncate, 1 message, from batch 1 at 4; truncate keepLast 1 <- current", out)
    contains("\n1 message, 9 tokens (derived), of these 3 guarded\n  assistant       1 message         6 tokens\n", out)
    contains("\n1 unit (0 open), 0 turns; ", out)
    assert.falsy(out:find "Hello")
    contains("Hello", (does(("inspect %s --batch 0"):format(saved))))

    local data = json.decode((does(("inspect %s --json"):format(saved))))
    assert.same({ true, 2, 3, "truncate", 4 },
      { data.saved, data.currentBatch, #data.batches, data.batches[3].operation, data.batches[3].parentLength })
    for _, view in ipairs { "inspect", "report" } do
      contains("--batch 3: expected a batch from 0 to 2, or the name of a checkpoint",
        fails(command.REFUSED, ("%s %s --batch 3"):format(view, saved)))
      local err = fails(command.USAGE, ("%s %s --batch x"):format(view, saved))
      contains("--batch x: no checkpoint 'x', and no number of a batch", err)
      assert.is_nil(err:find("checkpoint(name)", 1, true), "a hint for Lua")
    end
  end)

  it("shows what the caller said of a batch", function()
    save()
    apply('{"operation":"FILTER","roles":["assistant"],"description":"只留\\n回答"}', "-i")
    apply('{"operation":"filter","filter":{"roles":["assistant"]}}', "-i")
    local out = does("inspect " .. saved)
    contains("; 只留 回答\n", out)
    contains("batch 4: filter, 1 message, from batch 3 at 1 <- current", out)
  end)

  it("shows the checkpoints that a script has named", function()
    save()
    local script = file("mark.lua", "local chat = assert(require('ebb').load(arg[1])) chat:rollback(1, 3)\n" ..
      "chat:checkpoint 'good' chat:mark(1, 'pinned') assert(chat:save(arg[1]))")
    does(("run %s %s"):format(script, saved))
    contains("batch 3: rollback, 3 messages, from batch 1 at 3, checkpoint 'good' at 3 <- current",
      (does("inspect " .. saved)))
    contains("Hello", (does(("inspect %s --batch good"):format(saved))))
    apply('{"operation":"rollback","targetBatchIndex":0}', "-i")
    assert.equal(1, #assert(ebb.load(saved)):marked "pinned")
  end)

  it("is a target of convert, and becomes a request again", function()
    body, saved = file("body.json", BODY), path_of "converted.ebb"
    does(("convert %s --to ebb -o %s"):format(body, saved))
    assert.is_true(assert(ebb.load(saved)).saved)
    assert.equal(BODY:gsub("%s", ""), (does(("convert %s --to openai"):format(saved)):gsub("%s", "")))
    local request = json.decode((does(("convert %s --to anthropic --model claude-sonnet-4-5"):format(saved))))
    assert.equal("Be brief.", request.system[1].text)
    for _, option in ipairs { "--shape array", "--keep-extra" } do
      fails(command.USAGE, ("convert %s --to ebb %s"):format(body, option))
    end
  end)

  it("takes no repair, which is for what is sent", function()
    save()
    for _, line in ipairs { "apply '{\"operation\":\"clear\"}' %s --repair", "trim %s --budget 90 --repair",
      "filter 'return function() end' --input %s --repair" } do
      contains("--repair changes only what is sent", fails(command.USAGE, line:format(saved)))
    end
  end)

  it("that was changed is refused with its place, and read under --lenient with exit status 3", function()
    save()
    local text = command.read(saved):gsub("Hello", "Jello")
    file("chat.ebb", text)
    for _, line in ipairs { "inspect %s", "count %s", "trim %s --budget 90 -i", "check %s" } do
      local err = fails(command.REFUSED, line:format(saved))
      assert.truthy(err:find "chat%.ebb:%d+:10: expected the digest of the bytes before it, which are damaged")
      contains("--lenient reads what is left", err)
    end
    local run = command.ebb(("inspect %s --batch 0 --lenient"):format(saved))
    assert.equal(3, run.status)
    contains("Jello", run.out)
    run = command.ebb(([[apply '{"operation":"rollback","targetBatchIndex":0}' %s --lenient -o %s]]):format(saved,
      path_of "mended.ebb"))
    assert.equal(3, run.status)
    contains("chat.ebb:", run.err)
    contains("the digest differs", run.err)
    assert.equal(0, command.ebb("inspect " .. path_of "mended.ebb").status)
    assert.equal(text, command.read(saved))
  end)

  it("of a newer version says so; cut short, it is refused wherever it is cut", function()
    save()
    local text = command.read(saved)
    file("chat.ebb", (text:gsub('{"ebb":2', '{"ebb":9', 1)))
    local err = fails(command.REFUSED, "inspect " .. saved)
    contains("chat.ebb:1:8: expected version 1 or 2", err)
    contains("a newer version of Ebb saved it", err)
    for cut = 1, #text - 2, 97 do
      file("chat.ebb", text:sub(1, cut))
      fails(command.REFUSED, ("apply '{\"operation\":\"clear\"}' %s -i"):format(saved))
      assert.equal(text:sub(1, cut), command.read(saved))
    end
  end)

  it("comes through a pipe, and is held against the cap", function()
    save()
    local fifo = path_of "fifo"
    assert(os.execute("mkfifo " .. fifo))
    assert(os.execute(("cat %s >%s &"):format(saved, fifo)))
    contains("batch 2", (does("inspect " .. fifo)))
    contains("batch 2", (does("inspect -", saved)))
    assert(os.execute(("head -c 200 %s >%s &"):format(saved, fifo)))
    local line = "timeout 60 %s inspect %s >%s 2>&1"
    local _, _, status = os.execute(line:format(command.EBB, fifo, path_of "out"))
    assert.equal(command.REFUSED, status)
    contains("fifo:", command.read(path_of "out"))
    contains("--max-file", fails(command.REFUSED, ("inspect %s --max-file 500"):format(saved)))
    contains("--max-file", fails(command.REFUSED, "inspect - --max-file 500", saved))
  end)

  it("is counted as for another model where the command says so, and remembers it", function()
    save()
    does(("apply '{\"operation\":\"rollback\",\"targetBatchIndex\":0}' %s --model gpt-4 -i"):format(saved))
    assert.equal("gpt-4", assert(ebb.load(saved)):model())
    contains('"model":"gpt-4"', command.read(saved))
  end)
end)

describe("the report of apply", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("has the visible messages, batches, stats and results", function()
    local out = does(("apply '%s' %s --json"):format(OPERATIONS, file("body.json", BODY)))
    local report = json.decode(out)
    assert.same({ { role = "assistant", content = "Ciao" } }, report.messages)
    assert.same({ 0, 3, "truncate" },
      { report.batches[1].index, #report.batches, report.batches[2].operation })
    assert.equal(json.null, report.batches[1].parent)
    assert.same({ totalMessages = 5, currentBatchMessages = 1, totalBatches = 3, currentBatchIndex = 2 }, report.stats)
    assert.same({ operation = "append", affectedBatchIndex = 1 }, report.results[2])
    assert.equal(2, report.currentBatch)
    assert.equal(2, report.affectedBatchIndex)
    assert.same({ system = {}, user = {}, assistant = { 0 }, tool = {} }, report.indices)
  end)

  it("is that of chat:apply, member by member", function()
    local out = does(("apply '%s' %s --json"):format(OPERATIONS, file("body.json", BODY)))
    local written = json.decode(out)
    local results = assert(ebb.load(path_of "body.json")):apply(OPERATIONS)
    written.dryRun, written.violations = nil, nil     -- of what the command writes
    for name, value in pairs(written) do
      if name ~= "batches" then assert.same(json.encode(value), json.encode(results[name]), name) end
    end
    assert.equal(3, #results.batches)
  end)

  it("has a brother in inspect, whose roles have positions", function()
    local out = does(("inspect %s --json"):format(file("body.json", BODY)))
    local roles = json.decode(out).roles
    assert.same({ { 1 }, { 2, 4 }, { 3 }, {} },
      { roles.system.positions, roles.user.positions, roles.assistant.positions, roles.tool.positions })
  end)
end)

describe("the C library and the command", function()
  local program

  lazy_setup(function()
    local build = os.getenv "EBB_BUILD" or "build"
    local library = io.open(build .. "/libebb.so", "rb")
    if not library or not os.execute "command -v cc >/dev/null" then return end
    library:close()
    program = os.tmpname()
    assert(os.execute(("cc -Iruntime/include tests/embed/saved.c %s/libebb.so -Wl,-rpath,$PWD/%s -o %s"):format(build,
      build, program)))
  end)
  lazy_teardown(function() if program then os.remove(program) end end)
  before_each(command.make_folder)
  after_each(command.remove_folder)

  --- Returns what the C program writes: the save, and its digest.
  local function by_library(how, path, operations)
    local out, err = path_of "by_library", path_of "by_library.err"
    local ran = os.execute(("%s %s %s '%s' >%s 2>%s"):format(program, how, path, operations or "", out, err))
    assert.is_true(ran, command.read(err))
    return command.read(out), command.read(err)
  end

  local DOCUMENTS = {
    body = BODY, array = ' [{"role":"user","content":"a"},\n{"role":"assistant","content":"b\\u00e9"}]',
    jsonl = '{"role":"user","content":"a"}\n{"role":"user","content":"b"}\n',
    anthropic = '{"model":"claude-sonnet-4-5","max_tokens":9,"system":"S","messages":[{"role":"user","content":' ..
      '[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f",' ..
      '"input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"1"}]}]}',
  }
  for name, text in pairs(DOCUMENTS) do
    it("write and read the very same files: " .. name, function()
      if not program then pending "no C compiler, or no library" return end
      local path = file("document", text)
      local first = '[{"operation":"truncate","removeFirst":1},{"operation":"insert","position":0,"messages":' ..
        '[{"role":"user","content":"put"}]}]'
      local second = '[{"operation":"rollback","targetBatchIndex":0},{"operation":"clear"}]'

      local by_c = by_library("read", path, first)
      local by_lua = does(("apply '%s' %s --state"):format(first, path))
      assert.equal((by_c:gsub('"timestamp":%d+', ""):gsub('"digest".*', "")),
        (by_lua:gsub('"timestamp":%d+', ""):gsub('"digest".*', "")))

      -- saved by C, read by Lua and by the command; and the other way round
      assert.equal(by_c, (assert(ebb.parse(by_c)):write "ebb"))
      assert.equal((by_library("load", file("lua.ebb", by_lua))), by_lua)
      local saved_path, next_path = file("c.ebb", by_c), path_of "next.ebb"
      does(("apply '%s' %s -o %s"):format(second, saved_path, next_path))
      local again, digest = by_library("load", next_path)
      assert.equal(command.read(next_path), again)
      local pipe = assert(io.popen("sha256sum " .. next_path))
      assert.equal(digest:match "%x+", pipe:read "a":match "%x+")
      pipe:close()
      local last = by_library("load", next_path, second)
      assert.equal(last, (assert(ebb.parse(last)):write "ebb"))
      assert.equal(5, #assert(ebb.parse(last)):batches())
    end)
  end

  it("refuse the same damages", function()
    if not program then pending "no C compiler, or no library" return end
    local text = does(("apply '%s' %s --state"):format(OPERATIONS, file("body.json", BODY)))
    for _, changed in ipairs { (text:gsub("Hello", "Jello")), text:sub(1, -9), (text:gsub('"ebb":2', '"ebb":7')) } do
      local _, problem = ebb.parse(changed)
      os.execute(("%s load %s '' >/dev/null 2>%s"):format(program, file("x.ebb", changed), path_of "err"))
      assert.equal(problem.code, command.read(path_of "err"):match "^[%a_]+")
    end
    local err = command.read(path_of "body.json") and fails(command.REFUSED, "count " .. path_of "x.ebb")
    contains("version", err)
    os.execute(("%s read %s '' >/dev/null 2>%s"):format(program, file("s.ebb", text), path_of "err"))
    contains("ebb_chat_load reads a saved chat", command.read(path_of "err"))
  end)
end)
