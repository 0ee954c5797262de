--- Checks that the counts of providers are kept per model, and narrow the margins of later commands.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local contains, fails, path_of, file = command.contains, command.fails, command.path_of, command.file
local ebb, core = helper.ebb, require "ebb.support.core"

describe("reports of usage", function()
  local before = command.EBB

  before_each(function()
    command.make_folder()
    command.EBB = ("XDG_STATE_HOME=%s XDG_CONFIG_HOME=%s EBB_VOCAB_PATH=%s %s"):format(path_of "state",
      path_of "config", path_of "none", before)
  end)
  after_each(function()
    command.EBB = before
    command.remove_folder()
  end)

  local function request(model)
    return file("request.json", core.json.encode { model = model, messages = { { role = "user",
      content = ("word "):rep(400) } } })
  end

  --- The margin of a model as `ebb models` shows it.
  local function margin_of(model)
    local shown = core.json.decode((command.does("models --json " .. model)))
    return shown.margin, shown.reports
  end

  it("narrow the margin of their model, however its name is spelled, and of no other", function()
    local path = request "us.anthropic.claude-opus-4-8-v1:0"
    assert.same({ 15, 0 }, { margin_of "claude-opus-4-8" })
    local estimate = tonumber((command.does("count " .. path)):match "(%d+) +estimated")

    local shown = command.does(("count %s --reported %d"):format(path, estimate))

    contains("calibrated", shown)
    for _ = 1, 6 do command.does(("count %s --reported %d"):format(path, estimate)) end
    assert.same({ 10, 7 }, { margin_of "anthropic/claude-opus-4.8" })
    assert.same({ 15, 0 }, { margin_of "claude-opus-4-7" })
    contains("10 % of estimates stay free, by reports of 7 conversations", (command.does "models claude-opus-4-8"))
  end)

  it("are used by trims: the report says how much stays free", function()
    local path = request "claude-opus-4-5"
    local estimate = tonumber((command.does("count " .. path)):match "(%d+) +estimated")
    local function dry_run()
      return table.concat({ command.does(("trim %s --budget 10000 --dry-run"):format(path)) })
    end
    contains("budget 9090 and a margin of 910", dry_run())
    for _ = 1, 19 do command.does(("count %s --reported %d"):format(path, math.ceil(estimate * 1.031))) end
    assert.same({ 4, 19 }, { margin_of "claude-opus-4-5" })
    contains("budget 9615 and a margin of 385", dry_run())
  end)

  it("that are above the margin widen it at once", function()
    local path = request "claude-opus-4-5"
    local estimate = tonumber((command.does("count " .. path)):match "(%d+) +estimated")
    command.does(("count %s --reported %d"):format(path, estimate * 3 // 2))
    local margin = margin_of "claude-opus-4-5"
    assert.truthy(margin >= 50 and margin <= 51, margin)
  end)

  it("are refused where there is nothing to learn", function()
    contains("--reported needs a model", fails(2, ("count %s --reported 5"):format(file("a.json",
      '[{"role":"user","content":"a"}]'))))
    contains("what a provider counted for one request", fails(2, "count --text a b --reported 5"))
    contains("unknown model 'x'", fails(2, ("count %s --reported 500"):format(request "x")))
    local too_much = ("count %s --reported 5000000"):format(request "claude-opus-4-5")
    contains("more than ten times the count", fails(6, too_much))
    assert.is_nil(io.open(path_of "state/ebb/usage"))
  end)

  it("are kept by model nodes of a run, once for a conversation", function()
    local path = request "claude-opus-4-5"
    file("answer.json", core.json.encode { type = "message", role = "assistant", stop_reason = "end_turn",
      content = { { type = "text", text = "yes" } }, usage = { input_tokens = 460, output_tokens = 1 } })
    file("nodes.json", core.json.encode { { type = "model" }, { type = "model" } })
    command.does(("run %s %s --model-command 'cat %s' -o %s"):format(path_of "nodes.json", path, path_of "answer.json",
      path_of "out.json"))
    local _, conversations = margin_of "claude-opus-4-5"
    assert.equal(1, conversations)
  end)

  it("in a damaged file are left out line by line", function()
    os.execute(("mkdir -p %s/ebb"):format(path_of "state"))
    local out = assert(io.open(path_of "state/ebb/usage", "wb"))
    out:write("\0\255 nonsense\n1.2.3 claude x.1 claude-opus-4-5\n9 claude\n1.01 claude a.1 claude-opus-4-5\n1.0")
    out:close()
    assert.same({ 10, 1 }, { margin_of "claude-opus-4-5" })
  end)
end)

describe("a model's own margin", function()
  it("goes before that of its encoding", function()
    ebb.models["my-claude"] = { encoding = "claude", window = 1000, margin = 3 }
    local chat = ebb.conversation { model = "my-claude" }
    chat:append { role = "user", content = ("word "):rep(50) }
    assert.equal(1000 - 970, assert(chat:trim { budget = 1000, dry_run = true }).margin)
    ebb.models["my-claude"] = nil
    contains("margin: expected", helper.refusal(function()
      ebb.models["my-claude"] = { encoding = "claude", window = 1000, margin = 101 }
    end).message)
  end)
end)
