--- ebb pipeline with files of strangers: agents that reach for other files, plugins and
--- policies that do not end, rules and macros that grow.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local cpu_time = dofile "tests/lua/cpu_time.lua"

local json = helper.ebb.json

local CHAT = '[{"role":"user","content":"one"}]'

local function sh(words, ...) assert(os.execute(words:format(...))) end

--- Ends within so many loops of processor time, whatever is done.
local function ends(loops, words)
  local run, seconds
  cpu_time.processes_within(loops, function()
    run, seconds = command.timed(words)
    return seconds
  end)
  return run
end

describe("ebb pipeline, with strangers' files:", function()
  before_each(function()
    command.folder = os.tmpname()
    os.remove(command.folder)
    sh("mkdir -p %s/agent/files", command.folder)
    command.file("secret.txt", "the secret")
    command.file("agent/files/plan.txt", "the plan")
    command.file("agent/near.txt", "near it")
    command.file("in.json", CHAT)
  end)
  after_each(function() sh("rm -rf %s", command.folder) end)

  local function chat(path)
    local message = { role = "user", content = "look", attachments = { { path = path } } }
    return command.file("chat.json", json.encode { message })
  end

  local function agent(root)
    return command.file("agent/agent.json", ('{"name": "A",\n "assetRoot": %s}'):format(json.encode(root)))
  end

  it("attachments are read beneath the agent's folder", function()
    for root, path in pairs { files = "plan.txt", ["."] = "near.txt", ["./files/"] = "plan.txt",
      [""] = "files/plan.txt" } do
      local out = command.does(("pipeline %s --agent %s"):format(chat(path), agent(root)))
      assert.matches("the plan", (out:gsub("near it", "the plan")), 1, true)
    end
  end)

  it("no agent names a folder above or next to its own", function()
    for _, root in ipairs { "/", "..", "../", "files/../..", "/etc", "../agent", "files/.." } do
      local run = command.ebb(("pipeline %s --agent %s"):format(chat "secret.txt", agent(root)))
      assert.equal(command.REFUSED, run.status, root)
      assert.equal("", run.out)
      assert.matches("agent.json:2:15: assetRoot: expected a folder beneath", run.err, 1, true)
      assert.not_matches("the secret", run.err, 1, true)
      local lua = command.file("agent/agent.lua", ("return { asset_root = %q }"):format(root))
      command.fails(command.REFUSED, ("pipeline %s --agent %s"):format(chat "secret.txt", lua))
    end
  end)

  it("no link of an agent's leads out of its folder", function()
    sh("ln -s .. %s/agent/out && ln -s ../secret.txt %s/agent/files/link.txt", command.folder, command.folder)
    for root, path in pairs { out = "secret.txt", files = "link.txt" } do
      local run = command.ebb(("pipeline %s --agent %s"):format(chat(path), agent(root)))
      assert.is_true(run.status ~= 0, root)
      assert.equal("", run.out)
    end
  end)

  it("no path of an attachment's leads out of the folder", function()
    sh("mkfifo %s/agent/files/fifo", command.folder)
    for _, path in ipairs { "../near.txt", "../../secret.txt", "files/../../near.txt", "/etc/passwd",
      "/plan.txt",
      command.folder .. "/secret.txt", "file:///etc/passwd", "fifo", "plan.txt/", ".", "" , "none.txt" } do
      local run = ends(500, ("pipeline %s --agent %s"):format(chat(path), agent "files"))
      assert.is_true(path == "" or run.status ~= 0, path)
      assert.not_matches("the plan", run.out, 1, true)
      assert.not_matches("near it", run.out, 1, true)
      assert.not_matches("secret", run.out, 1, true)
      assert.not_matches("root:", run.out, 1, true)
    end
  end)

  it("another folder is named by who runs it, and is one then", function()
    local words = ("pipeline %s --agent %s --asset-root %s"):format(chat "secret.txt", agent "files", command.folder)
    assert.matches("the secret", (command.does(words)), 1, true)
    assert.is_true(command.ebb(("pipeline %s --agent %s --asset-root %s"):format(chat "../secret.txt", agent "files",
      command.folder .. "/agent")).status ~= 0)
    command.fails(command.IO, ("pipeline %s --asset-root %s/none"):format(chat "x.txt", command.folder))
  end)

  local FUEL = "its fuel of 3000000"

  local plugins = {
    -- what it does           how                                                                  what is said
    { "loops",               "while true do end",                                                         FUEL },
    { "loops in a coroutine","coroutine.wrap(function() while true do end end)()",                        FUEL },
    { "loops in pcall",      "while true do pcall(function() while true do end end) end",                 FUEL },
    { "loops in a pattern",  "(('a'):rep(20000) .. 'b'):find(('a*'):rep(20) .. 'c')",                     "stopped" },
    { "eats memory",         "local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end", "the 8192 KiB" },
    { "reads files",         "context.messages[1].content = io.open('/etc/passwd'):read 'a'", "global 'io'" },
    { "writes files",        "io.open('made', 'w')", "global 'io'" },
    { "deletes fields",      "context.messages[1].role = nil", "role is nil" },
    { "leaves junk",         "context.messages[1] = 'junk'", "is a table" },
  }
  for _, case in ipairs(plugins) do
    it("a plugin that " .. case[1] .. " is stopped by name, or skipped", function()
      local form = "return { id = 'mine', name = 'M', execute = function(context)\n%s\nend }"
      local plugin = command.file("mine.lua", form:format(case[2]))
      local words = ("pipeline %s --plugin %s --fuel 3000000 --deadline 60000 --memory 8M"):format(
        command.path_of "in.json", plugin)

      local run = ends(300, words)

      assert.equal(command.SCRIPT, run.status)
      assert.equal("", run.out)
      assert.matches("processor 'mine'", run.err, 1, true)
      assert.matches(case[3], run.err, 1, true)
      local out, err = command.does(words .. " --on-error skip")
      assert.equal("one", json.decode(out).messages[1].content)
      assert.matches("mine: error: ", err, 1, true)
      assert.equal(CHAT, command.read(command.path_of "in.json"))
    end)
  end

  it("a trusted plugin may do all that Lua may, and has no limits", function()
    local plugin = command.file("mine.lua", ([[return { id = "mine", name = "M", execute = function(context)
      context.messages[1].content = io.open("%s/secret.txt"):read "a" end }]]):format(command.folder))
    local words = ("pipeline %s --plugin %s --trusted"):format(command.path_of "in.json", plugin)
    assert.matches("the secret", (command.does(words)), 1, true)
    command.fails(command.USAGE, words .. " --fuel 10")
  end)

  it("agents in Lua and policies that they name do not end, or read", function()
    command.file("in.json", '[{"role":"user","content":"one two three four"},{"role":"user","content":"one"}]')
    for text, expected in pairs {
      ["while true do end"] = FUEL,
      ["return { name = io.open('/etc/passwd'):read 'a' }"] = "global 'io'",
      ["local endless = 'return function() while true do end end'\n"
        .. "return { processors = { ['token-limiter'] = { budget = 13, policy = endless } } }"] = FUEL,
    } do
      local file = command.file("agent.lua", text)
      local words = "pipeline %s --agent %s --fuel 3000000 --encoding cjk"
      local run = ends(1000, words:format(command.path_of "in.json", file))
      assert.equal(command.SCRIPT, run.status, run.err)
      assert.matches(expected, run.err, 1, true)
    end
  end)

  local function with(fields, content)
    local input = command.file("in.json", json.encode { { role = "user", content = content or "one" } })
    return ends(1000, ("pipeline %s --agent %s"):format(input, command.file("agent.json", json.encode(fields))))
  end

  local function ruled(rule, content)
    rule.id, rule.applyTo = "r", { request = true }
    return with({ rules = { { id = "p", rules = { rule } } } }, content)
  end

  it("a rule that backtracks for ever is reported, and the message stays", function()
    local text = ("a"):rep(40) .. "!"
    local run = ruled({ regex = "^(a|aa)+$", replacement = "x", flags = "g" }, text)
    assert.equal(0, run.status)
    assert.equal(text, json.decode(run.out).messages[1].content)
    assert.matches("regex-processor: warn: ", run.err, 1, true)
  end)

  it("a rule that grows beyond all bounds is reported", function()
    local run = ruled({ regex = "a", replacement = ("$&"):rep(5000), flags = "g" }, ("a"):rep(100000))
    assert.equal(0, run.status)
    assert.matches("regex-processor: warn: ", run.err, 1, true)
    assert.is_true(#run.out < 1 << 20)
  end)

  it("a bad rule is reported, and the others are applied", function()
    local run = with({ rules = { { id = "p", rules = {
      { id = "bad", regex = "(", replacement = "x", applyTo = { request = true } },
      { id = "good", regex = "one", replacement = "two", applyTo = { request = true } } } } } })
    assert.equal("two", json.decode(run.out).messages[1].content)
    assert.matches("regex-processor: warn: ", run.err, 1, true)
  end)

  local macros = {
    ["a repeat to 1 GB"] = "{{repeat::{{repeat::{{repeat::xxxxxxxxxx::1000}}::1000}}::1000}}",
    ["10,000 in one another"] = ("{{upper::"):rep(10000) .. "x" .. ("}}"):rep(10000),
    ["10,000 open ones"] = ("{{"):rep(10000),
    ["a variable that doubles itself"] = "{{setvar::a::xxxxxxxxxx}}"
      .. ("{{setvar::a::{{getvar::a}}{{getvar::a}}}}"):rep(40) .. "{{getvar::a}}",
  }
  for name, content in pairs(macros) do
    it("macros are stopped with a report: " .. name, function()
      local run = with { presets = { { role = "system", content = content }, { type = "chat_history" } } }
      assert.equal(0, run.status, run.err)
      assert.is_true(#run.out < 64 << 20)
      assert.matches("injection-assembler: warn: ", run.err, 1, true)
    end)
  end

  it("a macro that names itself is expanded once, and not again", function()
    local run = with { variables = { a = "<{{getvar::a}}{{setvar::a::x}}>" },
      presets = { { role = "system", content = "[{{getvar::a}}{{getvar::a}}]" }, { type = "chat_history" } } }
    assert.equal(0, run.status, run.err)
    assert.equal("[" .. ("<{{getvar::a}}{{setvar::a::x}}>"):rep(2) .. "]", json.decode(run.out).messages[1].content)
  end)

  it("a preview writes no file, and no one's session", function()
    local function listing()
      local words = "cd %s && find . -type f -not -name '.*' | sort | xargs cksum"
      local pipe = assert(io.popen(words:format(command.folder)))
      local text = pipe:read "a"
      pipe:close()
      return text
    end
    local file, input = agent "files", chat "plan.txt"
    local before = listing()
    command.does(("pipeline %s --agent %s --preview"):format(input, file))
    assert.equal(before, listing())
  end)
end)
