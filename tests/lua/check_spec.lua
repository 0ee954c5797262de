--- chat:check, chat:repaired, and that nothing Ebb does breaks a valid list.
--- A tenth of HISTORIES says how many lists are tried, SEED repeats them.

local helper = dofile "tests/lua/helper.lua"
local ebb, conversation, texts, refusal = helper.ebb, helper.conversation, helper.texts, helper.refusal

local json = ebb.json

local function codes_of(list, options)
  local found = {}
  for i, violation in ipairs(list:check(options)) do
    found[i] = ("%d %s"):format(violation.index, violation.code)
  end
  return table.concat(found, ", ")
end

describe("check", function()
  it("keeps what a rule says once for all its violations", function()
    local list = {}
    for i = 1, 2000 do list[i] = '{"role":"tool","tool_call_id":"a","content":"x"}' end
    local chat = ebb.parse(table.concat(list, "\n"))
    collectgarbage()
    local before = collectgarbage "count"

    local found = chat:check "anthropic"

    collectgarbage()
    local bytes = (collectgarbage "count" - before) * 1024 // #found
    assert(bytes < 600, bytes .. " bytes a violation")      -- 645 with each text in each of them
  end)

  it("tells the dialect by the messages", function()
    local _, dialect = conversation("u1 c2(x) r3(x)"):check()
    assert.equal("openai", dialect)

    local result = '{"type":"tool_result","tool_use_id":"a","content":"r"}'
    local chat = assert(ebb.parse('[{"role":"user","content":[' .. result .. "]}]"))
    local found, other = chat:check()
    assert.equal("anthropic", other)
    assert.equal("orphan_result", found[1].code)
  end)

  it("works on batches and drafts", function()
    local chat = conversation "u1 c2(x) r3(x)"
    chat:truncate { remove_last = 1 }
    assert.equal("2 unanswered_call", codes_of(chat))
    assert.equal("", codes_of(chat:batch(0)))

    local draft = chat:draft { guards = false }
    assert.equal("2 unanswered_call", codes_of(draft))
    draft:drop(2)
    assert.equal("", codes_of(draft))
  end)

  it("has the same rules for a draft, also in a sandbox", function()
    local chat = assert(ebb.parse [[{"model":"claude-opus-4-6","max_tokens":9,"messages":[
      {"role":"user","content":"a"},{"role":"assistant","content":"b"}]}]])
    local draft = chat:draft { guards = false }
    for _, options in ipairs { {}, { profile = "bedrock" }, { dialect = "openai" }, { model = "claude-sonnet-4-5" },
      { severity = "changed" }, { members = false } } do
      assert.same({ chat:check(options) }, { draft:check(options) })
    end
    assert.equal("assistant_last", draft:check()[1].code)
    finally(helper.clean)
    local file = helper.lua_file [[return { name = "told", trim = function(draft)
      local list, dialect = draft:check()
      draft:note(dialect .. " " .. list[1].code .. " " .. #draft:check "openai")
      local ok, problem = pcall(draft.check, draft, { dialect = "opensi" })
      draft:note(tostring(not ok and problem))
    end }]]
    local report = assert(chat:trim { budget = 1000, policy = file, guards = false })
    assert.equal("anthropic assistant_last 0", report.ledger:notes()[1].text)
    assert.equal("check: unknown dialect 'opensi' (did you mean 'openai'?)", report.ledger:notes()[2].text)
  end)

  it("says which, what, why and what to do", function()
    local chat = conversation "u1 u2 r3(x)"
    chat:truncate { remove_first = 1 }
    local violation = chat:check("openai")[1]
    assert.same({ 2, 3, "orphan_result", true },
      { violation.index, violation.seq, violation.code, violation.mendable })
    assert.truthy(violation.text:find "'x'")
    assert.truthy(#violation.hint > 10)
  end)
end)

describe("repaired", function()
  it("mends a copy and leaves the conversation as it was", function()
    local chat = conversation "u1 c2(x,y) r3(y) r4(z) u5"
    local before = texts(chat)

    local copy, report = chat:repaired()

    assert.equal("", codes_of(copy))
    assert.equal(before, texts(chat))
    assert.equal(0, chat:stats().current_batch_index)
    assert.same({ "openai", 2, 0 }, { report.dialect, report.mended, #report.left })
    assert.equal("repair", copy:batches()[2].operation)
  end)

  it("drops or answers what waits", function()
    local chat = conversation "u1 c2(x)"
    assert.same({}, chat:repaired({ calls = "drop" })[2].calls)
    local copy = chat:repaired { calls = "synthesize" }
    assert.same({ "tool", "x" }, { copy[3].role, copy[3]:totable().tool_call_id })
  end)

  it("does nothing where there is nothing to mend", function()
    local copy, report = conversation("u1 c2(x) r3(x)"):repaired()
    assert.is_nil(report.ledger)
    assert.equal(1, copy:stats().total_batches)
  end)

  it("mends only what it is asked to", function()
    local chat = conversation "r1(z) u2 c3(x)"
    local copy, report = chat:repaired { codes = { "orphan_result" } }
    assert.equal("2 unanswered_call", codes_of(copy))
    assert.equal(1, #report.left)
  end)

  it("leaves conversions to others and names them", function()
    local copy, report = conversation("s1 u2 c3(x) r4(x)"):repaired { dialect = "anthropic" }
    assert.equal("1 system_inside, 3 foreign_call, 4 foreign_role", codes_of(copy, "anthropic"))
    assert.is_false(report.left[1].mendable)
  end)

  it("keeps every byte of what it does not mend", function()
    local text = '{"x" : 1, "messages": [ {"role":"tool","tool_call_id":"q","content":"r"} ,\n' ..
      '  {"role":"user" , "content":"h\\u0069"} ], "y":[2 ]}\n'
    local copy = assert(ebb.parse(text)):repaired()
    assert.equal('{"x" : 1, "messages": [ {"role":"user" , "content":"h\\u0069"} ], "y":[2 ]}\n', copy:json())
  end)

  it("refuses what it does not know", function()
    local chat = conversation "u1"
    assert.truthy(refusal(chat.repaired, chat, { call = "drop" }).hint:find "calls")
    assert.equal("argument", refusal(chat.repaired, chat, { calls = "forget" }).code)
    assert.equal("unknown_name", refusal(chat.repaired, chat, { codes = { "orphans" } }).code)
    assert.equal("unknown_name", refusal(chat.repaired, chat, { dialect = "openia" }).code)
  end)
end)

---- Nothing that Ebb does breaks a valid list ----

local SEED = helper.seed()
local COUNT = (math.tointeger(os.getenv "HISTORIES") or 5000) // 10

local function text_of(n)
  return ("w"):rep(1 + n % 40)
end

--- The text of a result, often long enough to get smaller.
local function result_of(random)
  return random(2) == 1 and text_of(random(99)) or ("line of the result\n"):rep(random(60))
end

--- A valid list in openai's form: parallel calls, ids used again, reasoning, images.
local function openai_list(random)
  local list = {}
  local function add(message) list[#list + 1] = message end
  if random(2) == 1 then add { role = "system", content = text_of(random(99)) } end
  for _ = 1, random(8) do
    local kind = random(5)
    if kind == 1 then
      add { role = "user", content = text_of(random(99)), metadata = { key = "k" .. random(2) } }
    elseif kind == 2 then
      local image = { type = "image_url", image_url = { url = "u" } }
      add { role = "user", content = { { type = "text", text = "see" }, image } }
    elseif kind == 3 then
      add { role = "assistant", content = text_of(random(99)), reasoning_content = random(2) == 1 and "hm" or nil }
    else
      local calls, ids = {}, { "a", "b", "c" }
      for i = 1, random(3) do
        calls[i] = { id = ids[i], type = "function", ["function"] = { name = "f", arguments = "{}" } }
      end
      add { role = "assistant", content = json.null, tool_calls = calls }
      for i = #calls, 1, -1 do
        add { role = "tool", tool_call_id = calls[i].id, content = result_of(random) }
      end
    end
  end
  return list
end

--- Makes a random list in Anthropic's form: users and assistants in turns.
local function anthropic_list(random)
  local list, open = {}, {}
  for i = 1, random(12) do
    local parts = {}
    if i % 2 == 1 then
      for k = #open, 1, -1 do
        parts[#parts + 1] = { type = "tool_result", tool_use_id = open[k], content = result_of(random) }
      end
      if #open == 0 or random(2) == 1 then parts[#parts + 1] = { type = "text", text = text_of(random(99)) } end
      open = {}
    else
      if random(3) == 1 then parts[1] = { type = "thinking", thinking = "hm", signature = "s" } end
      parts[#parts + 1] = { type = "text", text = text_of(random(99)) }
      for k = 1, random(0, 2) do
        open[k] = ("toolu_%d_%d"):format(i, k)
        parts[#parts + 1] = { type = "tool_use", id = open[k], name = "f", input = { x = 1 } }
      end
    end
    local metadata = random(2) == 1 and { key = "k" .. random(2) } or nil
    list[i] = { role = i % 2 == 1 and "user" or "assistant", content = parts, metadata = metadata }
  end
  if #open > 0 then list[#list] = nil end
  return list
end

local OPERATIONS = {
  truncate = function(chat, random)
    chat:truncate { keep_last = random(0, #chat), remove_first = random(0, 2), whole_units = true }
  end,
  middle = function(chat, random)
    local first = random(#chat)
    chat:truncate { range = { first, random(first, #chat) }, whole_units = true }
  end,
  within = function(chat, random)
    chat:truncate { role = "assistant", scope = "within", keep_last = random(0, 3), whole_units = true }
  end,
  filter = function(chat) chat:filter { content_excludes = { "wwwwwwwwwwwwwwwwwwwwwwww" }, whole_units = true } end,
  roles = function(chat) chat:filter { roles = { "user", "tool" }, whole_units = true } end,
  clear = function(chat) chat:clear {} end,
  run_filter = function(chat, random)
    chat:filter(function() return random(3) > 1 end)
  end,
}

--- Next to each built-in policy by its name: those that do little without options.
local SPECS = {
  { "quota", messages = { tool = 1, assistant = 2 } },
  { "prune_messages", reasoning = "all", tool_calls = { "all" } },
  { "clear_tool_uses", keep = 0, trigger = { tool_uses = 1 }, clear_tool_inputs = true },
  { "trim_messages", strategy = "first", allow_partial = true },
  { "mask_results", keep = 0, step = 1 }, { "shrink_results", keep = 0, step = 1, head = 8, tail = 8 },
  { "summarize", keep = 1 }, { "summarize", keep = 0, role = "assistant" },
}

for name in pairs(ebb.policies) do
  if name ~= "quota" then SPECS[#SPECS + 1] = { name } end   -- which needs limits
end

local function summary() return "In short." end

--- The number of times that each policy has changed something.
local worked = {}

--- Policies that others do the work for.
local WORKERS = { agent = { digest = true, fold_output = true }, idle = { stable_prefix = true } }

local function trim(chat, spec, random)
  local model = spec[1] == "summarize" and summary or nil
  local report = chat:trim { budget = random(0, chat:tokens()), policy = { spec, "keep_recent" }, model = model }
  worked[spec[1]] = worked[spec[1]] or 0
  for _, run in ipairs(report and report.ledger:runs() or {}) do
    local workers = WORKERS[spec[1]] or {}
    if run.by == spec[1] or workers[run.by] then worked[spec[1]] = worked[spec[1]] + 1 end
  end
end

local NEIGHBOURS = { "user_first", "alternation", "results_late", "empty_text", "trailing_space" }

local function assert_valid(chat, dialect, what, seed)
  local profile = dialect == "anthropic" and seed % 2 == 0 and "bedrock-converse" or dialect
  local target = { dialect = dialect, profile = profile, codes = NEIGHBOURS }
  local copy = dialect == "anthropic" and chat:repaired(target) or chat
  local found = codes_of(copy, { dialect = dialect, profile = profile, members = false })
  assert(found == "", ("%s, %s, SEED=%d: %s\n%s"):format(profile, what, seed, found, chat:json()))
end

describe("nothing breaks a valid list", function()
  for dialect, make in pairs { openai = openai_list, anthropic = anthropic_list } do
    it("of " .. dialect, function()
      for i = 1, COUNT do
        local seed = SEED + i
        math.randomseed(seed)
        local list = make(math.random)
        local original = ebb.conversation()
        if #list > 0 then original:append(list) end
        assert_valid(original, dialect, "as made", seed)
        if dialect == "anthropic" then
          assert.equal("", codes_of(original, { dialect = dialect, members = false }))
        end
        for name, run in pairs(OPERATIONS) do
          local chat = original:fork()
          if #chat > 0 then run(chat, math.random) end
          assert_valid(chat, dialect, name, seed)
        end
        local chat = original:fork()
        for _, spec in ipairs(SPECS) do
          trim(chat, spec, math.random)
          assert_valid(chat, dialect, spec[1], seed)
          chat:rollback(0)
        end
      end
      for name, times in pairs(COUNT < 100 and {} or worked) do
        assert(times > 0, name .. " never did anything")
      end
    end)
  end

  it("repairs for Anthropic what Gemini's form wrote without a role", function()
    local chat = ebb.conversation {}
    chat:append(json.decode '{"parts":[{"functionCall":{"id":"a","name":"f","args":{}}}]}')
    chat:append(json.decode '{"role":"model","parts":[{"functionCall":{"id":"b","name":"f","args":{}}}]}')

    local repaired = chat:repaired { dialect = "anthropic", calls = "synthesize" }

    for _, message in ipairs(repaired) do
      assert.is_string(json.decode(message.json).role)
    end
  end)
end)
