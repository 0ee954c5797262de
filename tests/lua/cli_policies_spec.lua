--- The command's side of policies: names, files, folders and texts; a command as the model.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local path_of, file = command.path_of, command.file
local fails, does, contains = command.fails, command.does, command.contains

local SAMPLE = "scripts/samples/support.json"
local DROP_FIRST = "return { summary = 'drops one', options = { at = { type = 'integer', default = 2 } }, "
  .. "trim = function(draft, _, options) print('here') draft:drop(draft[options.at], 'one') end }"

describe("the command's policies", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  describe("are found", function()
    it("in a folder of --policy-path, with options", function()
      file("drop_one.lua", DROP_FIRST)
      local out, err = does(("trim %s --budget 1000 --policy-path %s --policy drop_one:at=3")
        :format(path_of "small.json", command.folder))
      assert.is_nil(out:find('"Hi"', 1, true))
      contains("here", err)
      contains("drops one (" .. command.folder, (does("policies --policy-path " .. command.folder)))
      contains("drop_one: drops one", (does("policies drop_one --policy-path " .. command.folder)))
      contains("unknown policy 'drop_one'", fails(command.USAGE, ("trim %s --budget 9 --policy drop_one")
        :format(path_of "small.json")))
    end)

    it("in the folder of the user's settings, after what is built in", function()
      os.execute("mkdir -p " .. path_of "config/ebb/policies")
      file("config/ebb/policies/drop_one.lua", DROP_FIRST)
      file("config/ebb/policies/keep_recent.lua", "error 'never loaded'")
      local line = ("XDG_CONFIG_HOME=%s %s trim %s --budget 1000 --policy %%s >%s 2>&1"):format(path_of "config",
        command.EBB, path_of "small.json", path_of "out.json")
      assert(os.execute(line:format "drop_one"))
      assert.is_nil(command.read(path_of "out.json"):find('"Hello"', 1, true))
      assert(os.execute(line:format "keep_recent"))
    end)

    it("as JSON, with their options and the file of those that have one", function()
      file("drop_one.lua", DROP_FIRST)
      local all = helper.ebb.json.decode((does("policies --json --policy-path " .. command.folder)))
      local by_name = {}
      for _, policy in ipairs(all) do by_name[policy.name] = policy end
      local own = by_name.drop_one
      assert.same({ "keep_recent", true, nil }, { all[1].name, all[1].isDefault, all[1].file })
      assert.same({ "drops one", path_of "drop_one.lua" }, { own.summary, own.file })
      assert.same({ { name = "at", type = "integer", default = 2 } }, own.options)
      contains("has no trim", by_name.bad_nodes.error)
      local one = helper.ebb.json.decode((does "policies trim_messages --json"))
      assert.equal("trim_messages", one.name)
      local strategy
      for _, option in ipairs(one.options) do if option.name == "strategy" then strategy = option end end
      assert.same({ "choice", { "last", "first" } }, { strategy.type, strategy.choices })
    end)

    it("in a text on the command line", function()
      local policy = "return function(draft, budget) draft:drop_oldest { to = budget, reason = \"a:b=c\" } end"
      local out = does(("trim %s --budget 16 --policy '%s'"):format(path_of "small.json", policy))
      assert.equal('[{"role":"system","content":"Be brief."},{"role":"user","content":"Bye"}]', out)
      contains("policy text:1:", fails(command.SCRIPT, ("trim %s --budget 16 --policy 'return ='")
        :format(path_of "small.json")))
    end)

    it("and filters likewise", function()
      file("users.lua", "return function(message) return message.role == 'user' end")
      local users = '[{"role":"user","content":"Hello"},{"role":"user","content":"Bye"}]'
      local input = "--input " .. path_of "small.json"
      assert.equal(users, (does(("filter users --filter-path %s %s"):format(command.folder, input))))
      assert.equal(users, (does("filter 'return function(m) return m.role == \"user\" end' " .. input)))
    end)
  end)

  it("have every message told once, with what it weighs now, and what became of it in the end", function()
    file("twice.lua", "return function(draft)\n"
      .. "  for i = 2, 3 do draft:replace(draft[i], { content = 'H' }, 'long') end\n"
      .. "  draft:drop(draft[2], 'old')\nend")
    local words = "trim %s --budget 1000 --explain --policy %s"
    local _, err = does(words:format(path_of "small.json", path_of "twice.lua"))
    assert.truthy(err:find "\n +2 +user +%d+ +dropped +twice +old, replaced before: long +Hello\n", err)
    local old, new = err:match "\n +3 +assistant +(%d+) %-> (%d+) +replaced +twice +long +H\n"
    assert.truthy(old and tonumber(new) <= tonumber(old), err)
    contains("2 kept, 1 dropped, 1 replaced, 0 inserted", err)
  end)

  it("have their reasons for keeping told", function()
    file("keeper.lua", "return function(draft, budget)\n"
      .. "  draft:keep(draft[2], 'the task')\n  draft:drop_oldest { to = budget }\nend")
    local words = ("trim %s --budget 22 --policy %s --dry-run"):format(path_of "small.json", path_of "keeper.lua")
    local _, err = does(words .. " --explain")
    assert.truthy(err:find "\n +2 +user +%d+ +kept +keeper +the task +Hello\n", err)
    local report = helper.ebb.json.decode((does(words .. " --json")))
    assert.same({ { seq = 2, by = "keeper", reason = "the task" } }, report.keeps)
  end)

  it("have what was refused told under --explain and --json, though the trim fits", function()
    file("rash.lua", "return function(draft)\n  draft:drop(draft[1])\n  draft:drop(draft[4])\nend")
    local words = ("trim %s --budget 1000 --policy %s --dry-run"):format(path_of "small.json", path_of "rash.lua")
    local _, err = does(words .. " --explain")
    assert.truthy(err:find("\n2 edits were refused, the first: "
      .. "[^\n]*rash.lua:2: guarded: message 1 is a system message\n"),
      err)
    local report = helper.ebb.json.decode((does(words .. " --json")))
    assert.truthy(report.refusals:find "^2 edits were refused, the first: ", report.refusals)
    assert.is_nil((does(("trim %s --budget 1000 --dry-run --json"):format(path_of "small.json"))):find "refusals")
  end)

  it("have their notes in the report alone when it is JSON", function()
    local words = ("trim %s --budget 1000 -o /dev/null --json "
      .. "--policy 'return function(draft) draft:note(\"here\") end'")
      :format(path_of "small.json")
    local _, err = does(words)
    assert.equal("here", require("ebb").json.decode(err).notes[1].text)
  end)

  it("are listed uncut where there is no terminal", function()
    file("long.lua", ("return { summary = %q, options = { a = { type = 'string', default = %q, help = %q } }, "
      .. "trim = function() end }"):format(("s"):rep(200), ("d"):rep(200), ("h"):rep(200)))
    contains(("s"):rep(200), (does("policies --policy-path " .. command.folder)))
    local page = does("policies " .. path_of "long.lua")
    contains(("d"):rep(200), page)
    contains(("h"):rep(200), page)
    for _, words in ipairs { "help trim", "help policies" } do
      contains("share/doc/ebb/examples/policies", (does(words)))
    end
  end)

  it("tell what was refused when they leave too much", function()
    file("rash.lua", "return function(draft)\n  draft:drop(draft[1])\nend")
    contains("rash.lua:2: guarded: message 1 is a system message",
      fails(command.SCRIPT, ("trim %s --budget 15 --policy %s"):format(path_of "small.json", path_of "rash.lua")))
  end)

  describe("with --model-command", function()
    local function summarize(answer, more)
      return ("trim %s --budget 4000 --policy summarize --model-command %q %s"):format(SAMPLE, answer, more or "")
    end

    it("get their summary from it", function()
      local out = does(summarize "echo All is well.")
      contains("[Summary of earlier messages]\\nAll is well.", out)
    end)

    it("hand it the request as JSON", function()
      does(summarize("cat > " .. path_of "request.json" .. "; echo Well."))
      local request = helper.ebb.json.decode(command.read(path_of "request.json"))
      assert.same({ "summarize", 1024, "system", "user" }, { request.purpose, request.max_tokens,
        request.messages[1].role, request.messages[2].role })
    end)

    it("read a provider's response", function()
      file("answer.json", '{"choices":[{"message":{"role":"assistant","content":"Said."},"finish_reason":"stop"}]}')
      contains("messages]\\nSaid.", (does(summarize("cat " .. path_of "answer.json"))))
    end)

    local failures = {
      { "exit 3",           "it failed with exit status 3" },
      { "kill -9 $$",       "it was ended by a signal" },
      { "true",             "the summary is empty" },
      { "no_such_command_of_mine 2>/dev/null", "it failed with exit status 127" },
      { "echo '{\"text\": \"x\", \"finish_reason\": \"length\"}'", "cut off" },
    }
    for _, row in ipairs(failures) do
      it("fail when it does: " .. row[1], function()
        contains(row[2], fails(command.IO, ("trim %s --budget 4000 --policy summarize --model-command '%s' 2>&1 1>&2")
          :format(SAMPLE, (row[1]:gsub("'", "'\\''")))))
      end)
    end

    it("learn how it ended from a parent that ignores its children, too", function()
      local line = ("env --ignore-signal=CHLD %s %s >%s 2>&1"):format(command.EBB, summarize "echo All is well.",
        path_of "out.json")
      assert.truthy(os.execute(line), command.read(path_of "out.json"))
      contains("All is well.", command.read(path_of "out.json"))
    end)

    it("hand it the whole request when standard streams are closed", function()
      local counter = file("count.sh", ("wc -c >%s; echo Counted."):format(path_of "bytes"))
      local function bytes_with(redirections)
        os.remove(path_of "bytes")
        os.execute(("%s %s -o %s %s"):format(command.EBB, summarize("sh " .. counter), path_of "out.json",
          redirections))
        return tonumber(command.read(path_of "bytes"))
      end
      local bytes = bytes_with "</dev/null"
      assert.is_true(bytes > 20000)
      for _, closed in ipairs { "<&-", "<&- >&-", "<&- >&- 2>&-" } do
        os.remove(path_of "out.json")
        assert.equal(bytes, bytes_with(closed), closed)
        contains("Counted.", command.read(path_of "out.json"))
      end
    end)

    it("end it when its time is over, with all that it started", function()
      local script = file("slow.sh", ("sleep 300 & echo $! >%s; sleep 300"):format(path_of "child"))
      contains("it took too long", fails(command.IO, summarize("sh " .. script, "--model-timeout 2")))
      local child = command.read(path_of "child"):match "%d+"
      local wait = "for try in $(seq 500); do grep -q '^State:.[^Z]' /proc/%s/status 2>/dev/null || exit 0; "
        .. "sleep 0.01; done; "
      assert.truthy(os.execute(wait:format(child) .. "exit 1"))
    end)

    it("are told when there is none, or how long is no number", function()
      contains("--model-command", fails(command.IO, ("trim %s --budget 4000 --policy summarize"):format(SAMPLE)))
      contains("--model-timeout", fails(command.USAGE, summarize("true", "--model-timeout soon")))
    end)
  end)

  it("are refused with options that do not go together, which is a mistake of use", function()
    contains("quota needs messages or tokens", fails(command.USAGE, ("trim %s --policy quota"):format(SAMPLE)))
    contains("low must be below high",
      fails(command.USAGE, ("trim %s --budget 4000 --policy stable_prefix:low=0.5,high=0.5"):format(SAMPLE)))
  end)

  it("each have a page", function()
    for _, name in ipairs { "keep_recent", "keep_turns", "stable_prefix", "idle", "digest", "agent",
      "summarize", "clear_tool_uses", "prune_messages", "trim_messages", "quota",
      "supersede", "fold_output", "shrink_results", "mask_results" } do
      local page = does("policies " .. name)
      contains(name .. ": ", page)
      contains("Kept whatever happens", page)
      contains("Example", page)
      contains(name, (does "policies"))
    end
  end)
end)
