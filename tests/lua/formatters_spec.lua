--- The four formatters: merge-system, merge-roles, convert-system, alternate-roles.
--- Cases of our own, random lists counted before and after, and the cases of other
--- projects. SEED=n repeats a random run.

local helper = dofile "tests/lua/helper.lua"
local fake = dofile "tests/lua/fake_context.lua"
local json = helper.ebb.json

local merge_system = require "ebb.processors.merge_system"
local merge_roles = require "ebb.processors.merge_roles"
local convert_system = require "ebb.processors.convert_system"
local alternate_roles = require "ebb.processors.alternate_roles"

local ALL = { merge_system, merge_roles, convert_system, alternate_roles }

local function text(value) return { type = "text", text = value } end

local IMAGE = { type = "image_url", image_url = { url = "data:image/png;base64,eg==" } }
local CALL = { { id = "c1", type = "function", ["function"] = { name = "look", arguments = "{}" } } }
local NOTE = { id = "note", kind = "text" }

--- Returns the fields of the messages that a request would hold.
local function plain(messages)
  local list = {}
  for i, message in ipairs(messages) do
    local copy = {}
    for _, field in ipairs { "role", "content", "name", "id", "tool_calls", "tool_call_id", "attachments",
      "reasoning_content", "refusal", "reasoningArtifacts" } do
      copy[field] = message[field]
    end
    list[i] = copy
  end
  return list
end

local function u(content, more)
  local message = { role = "user", content = content }
  for key, value in pairs(more or {}) do
    message[key] = value
  end
  return message
end

local function a(content, more)
  local message = u(content, more)
  message.role = "assistant"
  return message
end

local function s(content, more)
  local message = u(content, more)
  message.role = "system"
  return message
end

local function t(content) return { role = "tool", content = content, tool_call_id = "c1" } end

local SEPARATED = { separator = "|" }
local ALL_SYSTEM = { separator = "|", scope = "all" }

local CASES = {
  -- processor, what it shows, config, messages, expected
  { merge_system, "several become one, at the head, where all are meant", ALL_SYSTEM, { u "u", s "1", a "a", s "2" },
    { s "1|2", u "u", a "a" } },
  { merge_system, "those at the head become one; others stay where they were put", SEPARATED,
    { s "1", s "2", u "u", s "3", s "4", a "a", s "5" }, { s "1|2", u "u", s "3", s "4", a "a", s "5" } },
  { merge_system, "none is at the head", SEPARATED, { u "u", s "1", s "2" }, { u "u", s "1", s "2" } },
  { merge_system, "a single one stays where it is", SEPARATED, { u "u", s "1" }, { u "u", s "1" } },
  { merge_system, "a single one goes to the head where that is wanted", { lone = "head" }, { u "u", s "1" },
    { s "1", u "u" } },
  { merge_system, "developer counts as system, and the first one's role is kept", ALL_SYSTEM,
    { { role = "developer", content = "1" }, u "u", s "2" }, { { role = "developer", content = "1|2" }, u "u" } },
  { merge_system, "parts and attachments survive", SEPARATED,
    { s "1", s({ text "2", IMAGE }, { attachments = { NOTE } }), s { text "3" } },
    { s({ text "1", text "|2", IMAGE, text "3" }, { attachments = { NOTE } }) } },
  { merge_system, "one that says nothing adds no separator", SEPARATED, { s "", s "1", s "2" }, { s "1|2" } },
  { merge_roles, "neighbours of a role become one", SEPARATED, { u "1", u "2", u "3", a "4", a "5" },
    { u "1|2|3", a "4|5" } },
  { merge_roles, "windows and injections stay apart", SEPARATED,
    { u "1", u("2", { source = "window" }), u "3", u "4", u("5", { source = "depth" }), u("6", { source = "anchor" }) },
    { u "1", u "2", u "3|4", u "5", u "6" } },
  { merge_roles, "windows are joined where they are meant", { separator = "|", windows = true },
    { u "1", u("2", { source = "window" }), u("3", { source = "depth" }) }, { u "1|2", u "3" } },
  { merge_roles, "injections are joined where they are meant", { separator = "|", injections = true },
    { u "1", u("2", { source = "window" }), u("3", { source = "depth" }), u("4", { source = "anchor" }) },
    { u "1", u "2", u "3|4" } },
  { merge_roles, "parts stay parts, the separator between texts only", SEPARATED,
    { u "1", u { text "2", IMAGE }, u "3", u { text "4" }, u "5" },
    { u { text "1", text "|2", IMAGE, text "3", text "|4", text "|5" } } },
  { merge_roles, "texts of one message stay apart as they were", SEPARATED, { u { text "1", text "2" }, u "3" },
    { u { text "1", text "2", text "|3" } } },
  { merge_roles, "attachments stand in the order of their messages", SEPARATED,
    { u("1", { attachments = { NOTE } }), u "2", u("3", { attachments = { { id = "b" } } }) },
    { u("1|2|3", { attachments = { NOTE, { id = "b" } } }) } },
  { merge_roles, "tool results stay apart", SEPARATED, { t "1", t "2" }, { t "1", t "2" } },
  { merge_roles, "so do function results", SEPARATED,
    { { role = "function", name = "f", content = "1" }, { role = "function", name = "f", content = "2" } },
    { { role = "function", name = "f", content = "1" }, { role = "function", name = "f", content = "2" } } },
  { merge_roles, "messages with calls stay apart", SEPARATED, { a "1", a("2", { tool_calls = CALL }), a "3", a "4" },
    { a "1", a("2", { tool_calls = CALL }), a "3|4" } },
  { merge_roles, "calls and results that are parts count too", SEPARATED,
    { a "1", a { { type = "tool_use", id = "x" } }, u { { type = "tool_result", tool_use_id = "x" } }, u "2" },
    { a "1", a { { type = "tool_use", id = "x" } }, u { { type = "tool_result", tool_use_id = "x" } }, u "2" } },
  { merge_roles, "reasoning belongs to its message", SEPARATED,
    { a "1", a("2", { reasoning_content = "why" }), a { { type = "thinking", thinking = "why" } }, a "3" },
    { a "1", a("2", { reasoning_content = "why" }), a { { type = "thinking", thinking = "why" } }, a "3" } },
  { merge_roles, "names keep speakers apart", SEPARATED,
    { u("1", { name = "ann" }), u("2", { name = "ann" }), u("3", { name = "bob" }), u "4" },
    { u("1|2", { name = "ann" }), u("3", { name = "bob" }), u "4" } },
  { merge_roles, "what a recorded answer says of nothing does not count", SEPARATED,
    { a("1", { refusal = json.null, annotations = {}, tool_calls = json.null }), a "2" }, { a "1|2" } },
  { merge_roles, "an empty separator is one", { separator = "" }, { u "1", u "2" }, { u "12" } },
  { convert_system, "system becomes user", {}, { s "1", u "2", { role = "developer", content = "3" }, t "4" },
    { u "1", u "2", u "3", t "4" } },
  { convert_system, "with parts and attachments", {}, { s({ text "1", IMAGE }, { attachments = { NOTE } }) },
    { u({ text "1", IMAGE }, { attachments = { NOTE } }) } },
  { alternate_roles, "placeholders between neighbours", { user_placeholder = "go on", assistant_placeholder = "ok" },
    { a "1", a "2", u "3", u "4" }, { a "1", u "go on", a "2", u "3", a "ok", u "4" } },
  { alternate_roles, "system is looked past", { assistant_placeholder = "ok" }, { u "1", s "2", u "3" },
    { u "1", s "2", a "ok", u "3" } },
  { alternate_roles, "a tool result stands between", {}, { a("1", { tool_calls = CALL }), t "2", a "3" },
    { a("1", { tool_calls = CALL }), t "2", a "3" } },
  { alternate_roles, "nothing comes between a call and its results", { assistant_placeholder = "ok" },
    { u "0", u { { type = "tool_result", tool_use_id = "x" } }, u { { type = "tool_result", tool_use_id = "y" } },
      u "1" },
    { u "0", u { { type = "tool_result", tool_use_id = "x" } }, u { { type = "tool_result", tool_use_id = "y" } },
      a "ok", u "1" } },
  { alternate_roles, "the first may speak first", {}, { a "1", u "2" }, { a "1", u "2" } },
  { alternate_roles, "unless the user has to", { user_first = true, user_placeholder = "go" }, { s "0", a "1" },
    { s "0", u "go", a "1" } },
}

describe("a formatter", function()
  for _, case in ipairs(CASES) do
    local processor, name, config, messages, expected = table.unpack(case)
    it(processor.id .. ": " .. name, function()
      local before = json.encode(messages)
      local given = table.move(messages, 1, #messages, 1, {})

      local result = fake.run(processor, messages, config)

      assert.same(plain(expected), plain(result))
      assert.equal(before, json.encode(given))   -- the messages that came in are as they were
    end)
  end

  it("keeps trace of what a message was merged from", function()
    local messages = {
      u("1", { source = "history", source_id = "m1", seq = 4, origin = 4, trusted = true, timestamp = 7 }),
      u("2", { source = "preset", source_id = "p", metadata = { key = "k" } }),
    }

    local merged = fake.run(merge_roles, messages)[1]
    local again = fake.run(merge_system, { s("0", { source = "depth" }), s("1", { sources = merged.sources }) })[1]

    assert.equal("merged", merged.source)
    assert.same({ { source = "history", source_id = "m1", seq = 4, role = "user", bytes = 1 },
      { source = "preset", source_id = "p", role = "user", bytes = 1, metadata = { key = "k" } } }, merged.sources)
    assert.is_nil(merged.seq or merged.origin or merged.trusted or merged.source_id)
    assert.equal(7, merged.timestamp)
    assert.equal(3, #again.sources)
  end)

  it("says nothing where nothing was done", function()
    for _, processor in ipairs(ALL) do
      local messages = { u "1", a "2", u "3" }
      local result, context = fake.run(processor, messages)
      assert.equal(messages, result)
      assert.equal("", context:said())
    end
  end)

  it("warns of what system messages say differently", function()
    local _, context = fake.run(merge_system, { s("1", { cache = 1 }), s("2", { cache = 2 }), s "3" })
    assert.equal("the system messages differ in 'cache': that of the first is kept", context:said "warn")
  end)

  it("refuses a placeholder that says nothing", function()
    local problem = helper.refusal(fake.run, alternate_roles, {}, { user_placeholder = " " })
    assert.equal("argument", problem.code)
    assert.truthy(problem.message:find("user_placeholder is blank", 1, true))
  end)
end)

---- Random lists ----

local seed = helper.seed()

local function random_content(random)
  local kind = random(6)
  if kind == 1 then return "" end
  if kind <= 4 then return "t" .. random(99) end
  local parts = {}
  for i = 1, random(3) do
    local image = { type = "image_url", image_url = { url = "u" .. random(99) } }
    parts[i] = random(2) == 1 and text("p" .. random(99)) or image
  end
  return parts
end

local ROLES = { "user", "user", "assistant", "assistant", "system", "developer", "tool" }

local function random_list(random)
  local messages = {}
  for i = 1, random(0, 12) do
    local message = { role = ROLES[random(#ROLES)], content = random_content(random), source = "history", seq = i }
    if message.role == "tool" then message.tool_call_id, message.content = "c" .. i, "r" end
    if message.role == "assistant" and random(4) == 1 then
      message.tool_calls = { { id = "c" .. i, type = "function", ["function"] = { name = "f", arguments = "{}" } } }
    end
    if message.role ~= "tool" and random(4) == 1 then message.attachments = { { id = "a" .. i }, { id = "b" .. i } } end
    if message.role == "assistant" and random(8) == 1 then message.reasoning_content = "why" .. i end
    if random(12) == 1 then message.name = "n" .. random(2) end
    messages[i] = message
  end
  return messages
end

--- Counts what must not be lost: each part that is no text, attachment, call and
--- result by what it is; the texts all together, separators taken out. System
--- messages come first there, since they may have moved.
local function count(messages)
  local found, texts = {}, { {}, {} }
  local function add(key) found[key] = (found[key] or 0) + 1 end
  for _, message in ipairs(messages) do
    local list = texts[(message.role == "system" or message.role == "developer") and 1 or 2]
    local content = message.source == "placeholder" and "" or message.content
    for _, part in ipairs(type(content) == "table" and content or { text(content) }) do
      if part.type == "text" then list[#list + 1] = part.text else add("part " .. part.image_url.url) end
    end
    for _, attachment in ipairs(message.attachments or {}) do add("attachment " .. attachment.id) end
    for _, call in ipairs(message.tool_calls or {}) do add("call " .. call.id) end
    if message.tool_call_id then add("result " .. message.tool_call_id) end
    if message.reasoning_content then add("reasoning " .. message.reasoning_content) end
  end
  found.text = (table.concat(texts[1]) .. table.concat(texts[2])):gsub("|", "")
  return found
end

local function is_system(message) return message.role == "system" or message.role == "developer" end

local function count_system(messages)
  local found = 0
  for _, message in ipairs(messages) do
    if is_system(message) then found = found + 1 end
  end
  return found
end

local function check_head(messages, where)
  for i, message in ipairs(messages) do
    assert(not is_system(message) or i == 1, where .. "a system message that is not the first")
  end
end

local function check_alternation(messages, where)
  local before
  for _, message in ipairs(messages) do
    local role = message.role
    assert(role == "tool" or role ~= before, where .. "two of " .. role)
    before = role
  end
end

local function check_merged(messages, where)
  for i = 2, #messages do
    local first, second = messages[i - 1], messages[i]
    local function alone(m) return m.tool_calls or m.tool_call_id or m.reasoning_content end
    local neighbours = first.role == second.role and first.name == second.name
    assert(not neighbours or alone(first) or alone(second), where .. "neighbours that were not merged")
  end
end

describe("random lists", function()
  it("lose nothing, whichever formatters run", function()
    for round = 1, 3000 do
      math.randomseed(seed + round)
      local messages = random_list(math.random)
      local before, given, where = count(messages), json.encode(messages), ("SEED=%d: "):format(seed + round - 1)
      local original, is_on = messages, {}
      for _, processor in ipairs(ALL) do
        is_on[processor.id] = round % 2 == 0 or math.random(2) == 1
        local config = processor == merge_system and ALL_SYSTEM or processor == merge_roles and SEPARATED or nil
        if is_on[processor.id] then messages = fake.run(processor, messages, config) end
        if processor == merge_roles and is_on[processor.id] then check_merged(messages, where) end
      end
      -- The order of texts is theirs if system messages neither move nor change their role.
      local after = count(messages)
      if is_on["convert-system"] then after.text, before.text = #after.text, #before.text end
      assert.same(before, after, where)
      assert(given == json.encode(original), where .. "the messages that came in have changed")
      local several = is_on["merge-system"] and count_system(original) > 1
      if several or is_on["convert-system"] then check_head(messages, where) end
      if round % 2 == 0 then check_alternation(messages, where) end
    end
  end)
end)

---- Cases of other projects ----

--- Words of BEHAVIOUR.md that decide otherwise than the original, and what comes out instead.
local PARTS = "parts and attachments survive"
local CALLS = "tool results, messages with calls, windows and injections are not merged"
local ALTERNATE = "placeholders put between, so that user and assistant alternate"

local Z = { type = "image", imageBase64 = "z" }
local SIGNED = { { provider = "openai", kind = "response.output_item", replayPolicy = "always", payload = {} } }

local DIFFERS = {
  ["formatter convert system too"] = { PARTS, { u "S1\n\n---\n\nS2", u "u1\n\n---\n\nu2",
    a { text "a1", text "\n\n---\n\na2", Z, text "a3" }, u "u3" } },
  ["formatter model rules as string ids"] = { PARTS, { u "S1\n\n---\n\nS2", u "u1\n\n---\n\nu2",
    a { text "a1", text "\n\n---\n\na2", Z, text "a3" }, u "u3" } },
  ["formatter custom separator"] = { PARTS, { s "S1\nS2", u "u1|u2", a { text "a1", text "|a2", Z, text "a3" },
    u "u3" } },
  ["formatter fn tool role groups too"] = { CALLS, { { role = "tool", content = "r1" },
    { role = "tool", content = "r2" }, u "x" } },
  ["formatter fn protected alternating"] = { ALTERNATE, { a "plain", u "continue",
    a("signed state", { reasoningArtifacts = SIGNED }), u "continue", a "next" } },
  ["merge works"] = { CALLS, function(case)
    local i = case.input
    return { i[1], u(i[2].content .. "\n" .. i[3].content, { id = "foo" }), i[4], i[5] }
  end },
  ["py merge content blocks"] = { CALLS, function(case) return case.input end },
}

local BY_TYPE = { ["post:merge-system-to-head"] = merge_system, ["post:merge-consecutive-roles"] = merge_roles,
  ["post:convert-system-to-user"] = convert_system, ["post:ensure-alternating-roles"] = alternate_roles }

--- The rules of a case by processor: a rule of the agent replaces the model's whole.
local function rules_of(options)
  local rules = {}
  for _, list in ipairs { options.model_rules or {}, options.agent_rules or {} } do
    for _, rule in ipairs(type(list) == "table" and list or {}) do
      if type(rule) == "string" then rule = { type = rule, enabled = true } end
      rules[BY_TYPE[rule.type]] = rule
    end
  end
  return rules
end

local function run_rules(case)
  local rules, messages = rules_of(case.options), case.input
  for _, processor in ipairs(ALL) do
    local rule = rules[processor] or { enabled = processor.default_enabled ~= false }
    local config = { separator = rule.separator, user_placeholder = rule.userPlaceholder,
      assistant_placeholder = rule.assistantPlaceholder, scope = processor == merge_system and "all" or nil }
    if rule.enabled ~= false then messages = fake.run(processor, messages, config) end
  end
  return messages
end

local RUN = {
  message_formatter = run_rules,
  handleMergeConsecutiveRoles = function(case)
    return (fake.run(merge_roles, case.input, { separator = case.options.args[1] }))
  end,
  handleEnsureAlternatingRoles = function(case)
    local words = case.options.args
    return (fake.run(alternate_roles, case.input, { user_placeholder = words[1], assistant_placeholder = words[2] }))
  end,
  merge = function(case)
    return (fake.run(merge_roles, case.input, { separator = case.options.chunkSeparator or "\n" }))
  end,
}

local function expected_of(case)
  local other = DIFFERS[case.name]
  if not other then return plain(case.expected) end
  local behaviour = helper.read(helper.shared .. "/BEHAVIOUR.md")
  assert(behaviour:find(other[1], 1, true), "BEHAVIOUR.md no longer says: " .. other[1])
  return plain(type(other[2]) == "function" and other[2](case) or other[2])
end

--- Counts the messages that each one was merged from, as the case says it.
local function merged_counts(messages)
  local counts = {}
  for i, message in ipairs(messages) do
    counts[i] = message.sources and #message.sources or message._mergedSources or 1
  end
  return counts
end

describe("cases of", function()
  if not helper.shared then
    it("other projects", function() pending "skipped: EBB_SHARED is not set" end)
    return
  end
  local seen = {}
  for _, file in ipairs { "aiohub", "langchain" } do
    local read = json.decode(helper.read(("%s/data/cases/%s.json"):format(helper.shared, file)))
    for _, case in ipairs(read.cases or read) do
      if RUN[case.op] then
        seen[case.op], seen[case.name] = (seen[case.op] or 0) + 1, true
        it(("%s: %s"):format(file, case.name), function()
          local result = RUN[case.op](case)
          assert.same(json.decode(json.encode(expected_of(case))), json.decode(json.encode(plain(result))))
          if not DIFFERS[case.name] and file == "aiohub" then
            assert.same(merged_counts(case.expected), merged_counts(result))
          end
        end)
      end
    end
  end

  it("all of them were there", function()
    assert.same({ 8, 2, 1, 12 },
      { seen.message_formatter, seen.handleMergeConsecutiveRoles, seen.handleEnsureAlternatingRoles, seen.merge })
    for name in pairs(DIFFERS) do
      assert(seen[name], name)
    end
  end)
end)
