--- System messages, and content that is null, which a repair writes as the target takes them: what they say stays.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

--- A list as one line: "s" a system message, "d" a developer's, "u" a user's, "a" an assistant's, each with its text;
--- "c" calls, "r" its result.
local ROLES = { s = "system", d = "developer", u = "user", a = "assistant" }

local write = {}

function write.openai(kind, text)
  if kind == "c" then
    return { role = "assistant", content = ebb.null, tool_calls = { { id = text, type = "function",
      ["function"] = { name = "look", arguments = "{}" } } } }
  end
  if kind == "r" then return { role = "tool", tool_call_id = text, content = "found" } end
  return { role = ROLES[kind], content = text }
end

function write.anthropic(kind, text)
  if kind == "c" then
    return { role = "assistant", content = { { type = "tool_use", id = text, name = "look",
      input = ebb.json.decode "{}" } } }
  end
  if kind == "r" then
    return { role = "user", content = { { type = "tool_result", tool_use_id = text, content = "found" } } }
  end
  return { role = ROLES[kind], content = text }
end

local function read(words, dialect)
  local list = {}
  for kind, text in words:gmatch "(%l):(%S+)" do list[#list + 1] = write[dialect](kind, text) end
  return assert(ebb.parse(ebb.json.encode(list)))
end

--- Writes a list as such a line; parts of a content are joined by "+", its lines by "/".
local function words_of(chat)
  local words = {}
  for i = 1, #chat do
    local message = ebb.json.decode(chat[i].json)
    local content, kind = message.content, nil
    for letter, role in pairs(ROLES) do
      if role == message.role then kind = letter end
    end
    if #chat[i].calls > 0 then kind, content = "c", chat[i].calls[1].id end
    if #chat[i].answers > 0 then kind, content = "r", chat[i].answers[1] end
    if type(content) == "table" then
      local texts = {}
      for k, part in ipairs(content) do texts[k] = part.text end
      content = table.concat(texts, "+")
    end
    words[i] = kind .. ":" .. content:gsub("\n\n", "/")
  end
  return table.concat(words, " ")
end

local OPUS = { dialect = "anthropic", model = "claude-opus-4-8" }
local function profile(name) return { dialect = "openai", profile = name } end

--- Rows: the subject, the target, the list, the repaired list, the loss that is told.
local ROWS = {
  { "before the user", OPUS, "u:q a:x s:now u:y", "u:q a:x u:y s:now" },
  { "before the user, and the assistant follows", OPUS, "u:q a:x s:now u:y a:z u:k", "u:q a:x u:y s:now a:z u:k" },
  { "first", OPUS, "s:now u:q a:x u:y", "u:q s:now a:x u:y" },
  { "two of them, in their order", OPUS, "u:q a:x s:one s:two u:y", "u:q a:x u:y s:one s:two" },
  { "before another that stands well", OPUS, "u:q a:x s:one u:y s:two a:z u:k", "u:q a:x u:y s:one s:two a:z u:k" },
  { "between two users", OPUS, "u:q s:now u:y a:x u:k", "u:q u:y s:now a:x u:k" },
  { "between a call and its result", OPUS, "u:q c:k1 s:now r:k1 a:x u:y", "u:q c:k1 r:k1 s:now a:x u:y" },
  { "behind the last assistant", OPUS, "u:q a:x s:now", "u:q a:x u:now", "changed_system" },
  { "behind the last assistant, twice", OPUS, "u:q a:x s:one s:two", "u:q a:x u:one s:two", "changed_system" },
  { "alone", OPUS, "s:now", "u:now", "changed_system" },
  { "well", OPUS, "u:q s:now a:x u:y s:so", "u:q s:now a:x u:y s:so" },
  { "behind a call that is dropped", OPUS, "u:q s:now c:k1 u:y a:x u:z", "u:q u:y s:now a:x u:z", "lost_call" },
  { "late", profile "qwen", "s:a u:q s:b u:y", "s:a/b u:q u:y", "changed_place" },
  { "late alone", profile "qwen", "u:q s:b u:y", "s:b u:q u:y", "changed_place" },
  { "late, several", profile "qwen", "u:q s:b s:c a:x s:d u:y", "s:b/c/d u:q a:x u:y",
    "changed_place changed_place changed_place" },
  { "second", profile "qwen", "s:a s:b u:q", "s:a/b u:q", "changed_place" },
  { "late between call and result", profile "qwen", "s:a u:q c:k1 s:b r:k1 u:y", "s:a/b u:q c:k1 r:k1 u:y",
    "changed_place" },
  { "of a developer", profile "groq", "d:a u:q", "s:a u:q" },
  { "of a developer, twice", profile "groq", "d:a u:q d:b u:y", "s:a u:q s:b u:y" },
  { "of a developer, late", profile "qwen", "u:q d:b u:y", "s:b u:q u:y", "changed_place" },
  { "of a developer behind a system message", profile "qwen", "s:a u:q d:b u:y", "s:a/b u:q u:y", "changed_place" },
  { "of a developer where the server takes one", profile "openai", "d:a u:q", "d:a u:q" },
  { "for a model that takes none", { dialect = "openai", model = "o1-mini" }, "s:a u:q", "u:a u:q", "changed_system" },
}

local function codes(list)
  local names = {}
  for i, loss in ipairs(list) do names[i] = loss.code end
  return table.concat(names, " ")
end

describe("a system message", function()
  for _, row in ipairs(ROWS) do
    it(row[1], function()
      local copy, report = read(row[3], row[2].dialect):repaired(row[2])

      assert.same({ row[4], row[5] or "" }, { words_of(copy), codes(report.lost) })
      for _, violation in ipairs(report.left) do assert.equal("assistant_last", violation.code) end
      local again, nothing = copy:repaired(row[2])
      assert.same({ row[4], nil }, { words_of(again), nothing.ledger })
    end)
  end

  it("keeps its parts, its mark and the other members", function()
    local chat = assert(ebb.parse [[[{"role":"user","content":"q"},{"role":"system","content":[{"type":"text",
      "text":"one"},{"type":"text","text":"two"}]},{"role":"developer","name":"host","content":"three"}]  ]])
    chat:mark(chat[3], "pinned")

    local copy, report = chat:repaired(profile "qwen")

    assert.same({ "s:one+two+three u:q", "changed_place changed_place lost_name" },
      { words_of(copy), codes(report.lost) })
    assert.same({ "pinned" }, copy[1].marks)
  end)

  it("that joins another leaves out its other members, which is told, and an empty text", function()
    local chat = assert(ebb.parse [[[{"role":"system","content":"","x_a":1},{"role":"user","content":"q"},
      {"role":"system","x_b":2,"content":"two","refusal":null,"cache_control":{"type":"ephemeral"}}]  ]])

    local copy, report = chat:repaired(profile "qwen")

    assert.equal('{"role":"system","content":"two","x_a":1}', copy[1].json)
    assert.equal("changed_place lost_member lost_member", codes(report.lost))
    assert.same({ "x_b", "cache_control" }, { report.lost[2].subject, report.lost[3].subject })
  end)

  it("between a call without an id and its result parts the two no more", function()
    for _, between in ipairs { '{"role":"system","content":"now"},{"role":"assistant","content":"so"},',
      '{"role":"system","content":"now"},' } do
      local chat = assert(ebb.parse(([[{"max_tokens":9,"messages":[{"role":"user","content":"q"},
        {"role":"assistant","content":[{"type":"tool_use","id":"","name":"look","input":{}}]},%s
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"k","content":"found"}]}]}]]):format(between)))

      local copy, report = chat:repaired(OPUS)

      local last = copy[#copy - 1]
      assert.same({ "", {} }, { codes(report.lost), report.left })
      assert.truthy(last.json:find('"content":"found"', 1, true), last.json)
      assert.same({ copy[2].calls[1].id }, last.answers)
      assert.equal("system", copy[#copy].role)
    end
  end)

  it("with an image becomes a user's for Claude", function()
    local chat = assert(ebb.parse [[{"max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"system",
      "content":[{"type":"image","source":{"type":"url","url":"https://e.org/a.png"}}]}]}  ]])
    local copy, report = chat:repaired(OPUS)
    assert.same({ "user", "user", "changed_system" }, { copy[1].role, copy[2].role, codes(report.lost) })
    assert.same({}, report.left)
  end)
end)

describe("what says nothing", function()
  local function repaired(message, target)
    local chat = assert(ebb.parse(('[{"role":"user","content":"q"},%s]'):format(message)))
    local copy, report = chat:repaired { dialect = "openai", profile = target, calls = "synthesize" }
    return copy[2].json, codes(report.lost)
  end
  local CALLS = '"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}'

  it("next to calls is an empty text for servers that take no null", function()
    local wanted = '{"role":"assistant","content":"",' .. CALLS
    assert.same({ wanted, "" }, { repaired('{"role":"assistant","content":null,' .. CALLS, "llama.cpp") })
    assert.truthy(repaired('{"role":"assistant",' .. CALLS, "llama.cpp"):find('"content":""', 1, true))
    local kept = '{"role":"assistant","content":null,' .. CALLS
    assert.equal(kept, (repaired(kept, "openai")))
  end)

  it("as a list of calls is left out", function()
    local message = '{"role":"assistant","content":"b","tool_calls":[]}'
    assert.same({ '{"role":"assistant","content":"b"}', "" }, { repaired(message, "openai") })
  end)
end)
