--- Sessions of Codex: items, compactions, rollbacks, forks.

local kit = dofile "tests/lua/import_kit.lua"
local helper = dofile "tests/lua/helper.lua"

local json = helper.ebb.json

local function line(kind, payload)
  return { timestamp = "2026-11-01T00:00:00Z", type = kind, payload = payload }
end

local function item(payload) return line("response_item", payload) end

local function message(role, text)
  return { type = "message", role = role, content = { { type = role == "assistant" and "output_text" or "input_text",
    text = text } } }
end

local function user(text) return item(message("user", text)) end
local function reply(text) return item(message("assistant", text)) end
local function call(id) return item { type = "function_call", call_id = id, name = "shell", arguments = "{}" } end
local function result(id, text) return item { type = "function_call_output", call_id = id, output = text } end
local function event(kind, more)
  local payload = { type = kind }
  for name, value in pairs(more or {}) do payload[name] = value end
  return line("event_msg", payload)
end
local function rollback(turns) return event("thread_rolled_back", { num_turns = turns }) end

local META = line("session_meta", { id = "s1", base_instructions = { text = "Be brief." } })
local CONTEXT = line("turn_context", { model = "gpt-5.2-codex", cwd = "p" })

local CASES = {
  { "items only: events repeat what they say",
    { META, CONTEXT, user "q", event("user_message", { message = "q" }), call "c1", result("c1", "out"),
      event("agent_message", { message = "hi" }), reply "hi", line("world_state", {}) },
    "u:q | shell(c1) | r(c1):out | a:hi",
    { "1 other line: session_meta", "1 other line: turn_context", "1 other line: event_msg user_message",
      "1 other line: event_msg agent_message", "1 other line: world_state" } },
  { "reasoning, custom calls and unknown items as they are; snapshots of git left out",
    { META, item { type = "reasoning", id = "rs_1", summary = {}, encrypted_content = "x" },
      item { type = "custom_tool_call", call_id = "c", name = "p", input = "i" },
      item { type = "ghost_snapshot", ghost_commit = {} }, item { type = "item_of_tomorrow" } },
    "reasoning | custom_tool_call | item_of_tomorrow" },
  { "a compaction with a history that replaces the list",
    { META, user "one", reply "two", line("compacted", { message = "", replacement_history = {
      message("user", "kept"), { type = "compaction", encrypted_content = "x" } } }), user "three" },
    "u:kept | compaction | u:three",
    { "1 other line: session_meta", "2 compacted item: a compaction replaced it" } },
  { "an old compaction: the user's words, without injected ones, and the summary",
    { META, user "<environment_context>x</environment_context>", user "# AGENTS.md instructions for p",
      user "one", call "c", result("c", "out"), reply "two", user "three", line("compacted", { message = "SUMMARY" }),
        user "four" },
    "u:one | u:three | u:SUMMARY | u:four" },
  { "two old compactions: the first summary is no word of the user",
    { META, user "one", line("compacted", { message = "S1" }), user "two", line("compacted", { message = "S2" }) },
    "u:one | u:two | u:S2" },
  { "a rollback of two turns, with all that answers them; injected text is no turn",
    { META, user "one", reply "a1", user "two", reply "a2", user "<environment_context>y", user "three", call "c",
      rollback(2), user "four" },
    "u:one | a:a1 | u:four" },
  { "a rollback of more turns than there are: what stands before the first stays",
    { META, item(message("developer", "rules")), user "one", reply "a1", rollback(9), user "two" },
    "d:rules | u:two" },
  { "a rollback of nothing", { META, user "one", rollback(0), rollback(-3), event("thread_rolled_back") }, "u:one" },
  { "a rollback behind a compaction",
    { META, user "one", user "two", line("compacted", { message = "S" }), user "three", rollback(2) },
    "u:one" },
  { "a fork: the first session is its own, the copied history is the model's, too",
    { META, line("session_meta", { id = "parent", base_instructions = { text = "Other." } }), user "one", reply "two",
      CONTEXT, user "three" },
    "u:one | a:two | u:three",
    { "1 other line: session_meta", "1 other line: session_meta of another session", "1 other line: turn_context" } },
}

describe("a session of Codex", function()
  for _, case in ipairs(CASES) do
    it("has " .. case[1], function()
      local found = kit.read("codex", kit.jsonl(case[2]))
      assert.equal(case[3], kit.responses(found))
      if case[4] then assert.same(case[4], kit.report(found)) end
    end)
  end

  it("has a system prompt, declared tools, the last model, and lines", function()
    local meta = line("session_meta", { id = "s", base_instructions = "Be brief.", dynamic_tools = {
      { name = "look", description = "Looks.", inputSchema = { type = "object" } }, { description = "nameless" } } })
    local found = kit.read("codex", kit.jsonl { meta, CONTEXT, user "q" })
    assert.same({ "Be brief.", "gpt-5.2-codex", { 3 }, "responses", 1, "look" },
      { found.system, found.model, found.lines, found.dialect, #found.tools, found.tools[1].name })
    local body = json.decode(kit.import.body(found))
    assert.same({ "Be brief.", "gpt-5.2-codex", 1 }, { body.instructions, body.model, #body.input })
  end)

  it("keeps the bytes of items", function()
    local raw = '{"timestamp":"t","type":"response_item","payload":{"type":"function_call", "z":1.50,"call_id":"c",' ..
      '"name":"f","arguments":"{}"}}\n'
    assert.equal(raw:match '"payload":(.*)}\n$', kit.read("codex", raw).messages[1])
  end)

  it("keeps no more of the user's words than an old compaction did: the newest, the last one cut", function()
    local long = ("é"):rep(30000)
    local records = { user "oldest", user(long), user(long), line("compacted", { message = "S" }) }
    local found = kit.read("codex", kit.jsonl(records))
    local first = json.decode(found.messages[1]).content[1].text
    assert.same({ 3, true, true }, { #found.messages, #first < #long and #first > 10000, utf8.len(first) ~= nil })
  end)
end)
