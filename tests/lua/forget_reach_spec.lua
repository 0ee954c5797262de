--- Forgetting reaches each place where Ebb has put a text: messages of every kind, their versions, what policies
--- remember and insert, ledgers, and each file and form in which a conversation is kept.

local helper = dofile "tests/lua/helper.lua"
local files = dofile "tests/lua/session_files.lua"
local ebb = helper.ebb

local places = files.places(...)

local FILLER = ("The ferry to the island leaves at nine. "):rep(12)

--- A value that no other kind has, in words that policies pick up.
local function secret(kind) return "ZQX7" .. kind .. "kilo" end

local function call(id, arguments)
  return { role = "assistant", content = ebb.null, tool_calls = {
    { id = id, type = "function", ["function"] = { name = "login", arguments = arguments } } } }
end

--- The messages that have secrets, by kind.
local KINDS = {
  content = { { role = "user", content = "My password is " .. secret "content" } },
  part = { { role = "user", content = { { type = "text", text = "the token: " .. secret "part" } } } },
  uri = { { role = "user", content = { { type = "text", text = "look" },
    { type = "image_url", image_url = { url = "data:image/png;base64," .. secret "uri" } } } } },
  reasoning = { { role = "assistant", content = "Well.", reasoning_content = "key = " .. secret "reasoning" } },
  metadata = { { role = "user", content = "with data", metadata = { key = secret "metadata", [secret "metadata"] = 1,
    name = secret "metadata", deep = { { id = secret "metadata" } } } } },
  arguments = { call("c1", ('{"%s":"%s"}'):format(secret "arguments", secret "arguments")),
    { role = "tool", tool_call_id = "c1", content = "ok" } },
  name = { { role = "user", content = "hello", name = secret "name" } },
  replaced = { { role = "user", content = "PIN: " .. secret "replaced" } },
  result = { call("c2", "{}"), { role = "tool", tool_call_id = "c2",
    content = ('{"customer":"%s","rest":"%s"}'):format(secret "result", FILLER) } },
  attachment = { { role = "user", content = "see this", attachments = {
    { type = "file", path = secret "attachment", name = secret "attachment" } } } },
  unknown = { { role = "user", content = "odd", x_note = { name = secret "unknown", type = secret "unknown",
    list = { { id = secret "unknown" } } } } },
}

local NAMES = {}
for name in pairs(KINDS) do NAMES[#NAMES + 1] = name end
table.sort(NAMES)

--- Fills a conversation: each kind, and long harmless messages between them.
local function fill(chat)
  chat:append { role = "system", content = "Be brief." }
  for _, kind in ipairs(NAMES) do
    chat:append(KINDS[kind])
    if kind == "replaced" then chat:replace(#chat, { role = "user", content = "my PIN is not for you" }) end
    chat:append { role = "user", content = "Go on, " .. kind .. ". " .. FILLER }
    chat:append { role = "assistant", content = FILLER }
  end
  chat:append { role = "user", content = "And the ticket?" }
end

--- Forgets every version of what has a secret; those that are hidden by their handles.
local function forget_all(chat)
  for _, message in ipairs(chat:all()) do
    if message.json:find("ZQX7", 1, true) then chat:forget(message) end
  end
end

local POLICIES = { "keep_recent", "keep_turns", "trim_messages", "clear_tool_uses", "quota", "supersede",
  "stable_prefix", "digest", "shrink_results", "mask_results", "fold_output", "agent", "prune_messages", "summarize" }

--- Options under which a policy does something here.
local OPTIONS = {
  clear_tool_uses = { trigger = { tool_uses = 1 }, keep = 0, clear_tool_inputs = true },
  quota = { messages = { user = 4 } },
  digest = { share = 0.5 }, mask_results = { keep = 0 }, shrink_results = { keep = 0 }, fold_output = { keep = 0 },
  prune_messages = { tool_calls = "all", reasoning = "all" },
}

--- Stands for a model whose summary has what it was told.
local function quoting_model() return secret "content" .. " was said" end

--- A policy of a user, which puts texts into reasons, notes and its memory.
local TALKATIVE = { name = "talkative", trim = function(draft, budget)
  for message in draft:messages { role = "user" } do
    if draft:tokens() <= budget then break end
    draft.memory[message.text:match "ZQX7%a+" or "none"] = message.text
    draft:note("dropped: " .. message.text)
    draft:drop(message, "was " .. message.text)
  end
  draft:drop_oldest { to = budget, reason = "oldest" }
end }

local function trim(chat, policy)
  local step = policy
  if type(policy) == "string" then
    step = { policy }
    for key, value in pairs(OPTIONS[policy] or {}) do step[key] = value end
  end
  return assert(chat:trim { budget = chat:tokens() // 2, policy = { step, "keep_recent" }, model = quoting_model })
end

local function bytes_of(path)
  local file = io.open(path, "rb")
  if not file then return "" end
  local bytes = file:read "a"
  file:close()
  return bytes
end

local function left(bytes)
  local found = {}
  for word in bytes:gmatch "ZQX7%a+" do found[#found + 1] = word end
  return table.concat(found, " ")
end

describe("forget after a trim by", function()
  local place
  before_each(function() place = places.new() places.remove(place) end)
  after_each(function() places.remove(place) end)

  for _, policy in ipairs { TALKATIVE, table.unpack(POLICIES) } do
    local name = type(policy) == "table" and policy.name or policy

    it(name .. ": in memory, forks, saves and exports", function()
      local chat = ebb.conversation { encoding = "bytes4" }
      fill(chat)
      trim(chat, policy)
      local fork = chat:fork()
      chat:truncate { keep_last = 3 }
      assert.not_equal("", left(chat:fork():write "ebb"))

      forget_all(chat)

      for _, each in ipairs { chat, fork, fork:fork() } do
        assert.equal("", left(each:write "ebb"))
        assert.equal("", left(each:json()))
        for _, batch in ipairs(each:batches()) do
          assert.equal("", left(batch.description))
          local ledger = each:ledger(batch.index)
          for _, entry in ipairs(ledger or {}) do assert.equal("", left(entry.reason or "")) end
          for _, note in ipairs(ledger and ledger:notes() or {}) do assert.equal("", left(note.text or "")) end
        end
      end
      assert.equal(chat:write "ebb", assert(ebb.parse(chat:write "ebb")):write "ebb")
    end)

    it(name .. ": in a session's database, raw", function()
      local session <close> = assert(ebb.session(place, "a"))
      session:edit(fill)
      session:edit(function(chat) trim(chat, policy) end)
      assert(session:branch "twig")
      session:append { role = "user", content = "More." }

      assert.same({}, { select(2, session:edit(forget_all)) })

      assert.equal("", left(session:fork():write "ebb"))
      local again <close> = assert(ebb.session(place, "a"))
      assert.equal("", left(again:fork():write "ebb"))
      assert.equal(session:fork():write "ebb", again:fork():write "ebb")
      local twig <close> = assert(ebb.session(place, "twig"))
      assert.equal("", left(twig:fork():write "ebb"))
      for _, rest in ipairs { "", "-wal", "-shm" } do
        if places.is_file then assert.equal("", left(bytes_of(place .. rest)), rest) end
      end
      if places.left then assert.equal("", places.left(place, "ZQX7")) end
      local store <close> = assert(ebb.sessions(place))
      assert.same({}, store:check())
    end)
  end

  it("several, of which one only is forgotten: other texts stay", function()
    local chat = ebb.conversation { encoding = "bytes4" }
    fill(chat)
    trim(chat, TALKATIVE)

    chat:forget(chat:all()[2])

    local saved = chat:write "ebb"
    assert.equal(nil, saved:find(secret(NAMES[1]), 1, true))
    assert.truthy(saved:find(secret "result", 1, true))
  end)
end)
