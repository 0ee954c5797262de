--- A message that the token limiter cuts short (`retained_characters`) is told as such: in the result, the processors
--- after the limiter, `--explain` and `--ledger`.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local ebb = helper.ebb
local does, contains = command.does, command.contains

setup(command.make_folder)
teardown(command.remove_folder)

local LONG = ("abcd "):rep(40)

local function text(role, content) return { role = role, content = content } end

--- Writes the ledger of a result as text.
local function told(ledger)
  local words = {}
  for i, entry in ipairs(ledger) do
    words[i] = ("%s %s %s: %s"):format(entry.action, entry.role, entry.seq or "-", entry.reason)
  end
  return table.concat(words, ", ")
end

--- name, messages, budget, retained characters, ledger, texts that are sent
local CASES = {
  { "one that is cut", { text("user", LONG), text("assistant", "b"), text("user", "c") }, 40, 8,
    "replaced user 1: oldest: cut to 8 characters", "abcd abc~|b|c" },
  { "one character", { text("user", LONG), text("user", "c") }, 40, 1,
    "replaced user 1: oldest: cut to 1 character", "a~|c" },
  { "the newest of two", { text("user", LONG), text("assistant", LONG), text("user", "c") }, 40, 8,
    "dropped user 1: oldest, replaced assistant 2: oldest: cut to 8 characters", "abcd abc~|c" },
  { "none, for the rest does not fit", { text("user", LONG), text("user", "c") }, 12, 100,
    "dropped user 1: oldest", "c" },
  { "none, for nothing is retained", { text("user", LONG), text("user", "c") }, 40, 0,
    "dropped user 1: oldest", "c" },
  { "none, for all fits", { text("user", "a"), text("user", "c") }, 40, 8, "", "a|c" },
  { "signs of several bytes", { text("user", ("汉字"):rep(60)), text("user", "c") }, 40, 3,
    "replaced user 1: oldest: cut to 3 characters", "汉字汉~|c" },
}

describe("a message that is cut short", function()
  for _, case in ipairs(CASES) do
    local name, messages, budget, retained, ledger, texts = table.unpack(case)

    it("is told: " .. name, function()
      local seen
      local probe = { id = "probe", name = "Probe", execute = function(context)
        seen = context.shared_data.token_limiter.ledger
      end }
      local pipeline = ebb.pipeline { encoding = "cjk", processors = { probe }, set = { "merge-roles.enabled=no",
        "token-limiter.budget=" .. budget, "token-limiter.retained_characters=" .. retained,
        "token-limiter.retained_note=~" } }

      local result = assert(pipeline:run(ebb.conversation { messages = messages, encoding = "cjk" }))

      local sent = {}
      for i = 1, #result.chat do sent[i] = result.chat[i].text end
      assert.equal(texts, table.concat(sent, "|"))
      assert.equal(ledger, told(result.ledger))
      local freed, actions = 0, {}
      for i, entry in ipairs(result.ledger) do
        freed, actions[i] = freed + entry.tokens, entry.action
        if entry.action == "replaced" then assert.matches("~$", entry.text) end
      end
      local runs = {}
      for _, run in ipairs(seen or {}) do
        for _ = 1, run.count or 1 do runs[#runs + 1] = run.action end
      end
      assert.same(actions, runs)
      local chat = ebb.conversation { messages = messages, encoding = "cjk" }
      local report = assert(pipeline:run(chat, { preview = true }))
      assert.equal(result.tokens, report.tokens)
      assert.equal(chat:tokens() - freed, result.tokens)
    end)
  end

  it("is told by --explain and --ledger", function()
    local chat = command.file("chat.json", ebb.json.encode { text("user", LONG), text("user", "c") })
    local path = command.path_of "ledger.json"
    local words = "pipeline %s --encoding cjk --set merge-roles.enabled=no --set token-limiter.budget=40 "
      .. "--set token-limiter.retained_characters=6 --explain --ledger %s"

    local _, shown = does(words:format(chat, path))

    contains("replaced", shown)
    contains("cut to 6 characters", shown)
    contains("abcd a\\n...(truncated)", shown)
    local ledger = ebb.json.decode(command.read(path))
    assert.equal(0, ledger.dropped)
    assert.same({ "replaced", 1, "abcd a\n...(truncated)", ledger.before - ledger.after }, { ledger.ledger[1].action,
      ledger.ledger[1].seq, ledger.ledger[1].text, ledger.ledger[1].tokens })
  end)

  it("is told with what it weighed with its files", function()
    local message = { role = "user", content = ("汉"):rep(60), attachments = { { path = "plan.png" } } }
    command.file("plan.png", "\137PNG\r\n\26\n")
    local chat = command.file("files.json", ebb.json.encode { message, text("user", "c") })
    local _, shown = does(("pipeline %s --asset-root %s --model gpt-4o --set merge-roles.enabled=no "):format(chat,
      chat:match "^(.*)/") .. "--set token-limiter.budget=100 --set token-limiter.retained_characters=6 --explain")
    local before, after = shown:match "(%d+) %-> (%-?%d+) +replaced"
    assert.is_true(tonumber(after) > 0 and tonumber(before) > 255, shown)
  end)
end)
