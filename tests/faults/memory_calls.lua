--- The calls that test_bind_memory.c makes while memory runs out.
--
-- Each call gets a world of its own, made the same way every time, so that equal
-- states have equal digests; clocks and counters are given for the same reason.

local ebb = require "ebb"
local core = require "ebb.support.core"
local hints = require "ebb.support.hints"
local import = require "ebb.import"
local memory = require "ebb.trim.memory"
local samples = dofile "tests/lua/import_samples.lua"
local sessions = dofile "tests/faults/memory_sessions.lua"
require "ebb.windows"      -- loaded on first use, as these are
require "ebb.request"
require "ebb.conversation.descriptions"
require "ebb.windows.act"
require "ebb.windows.activity"
require "ebb.models.listed"
require "ebb.windows.message_calls"
require "ebb.request.action_tools"
require "ebb.windows.markup_read"
local price_list = require "ebb.models.price_list"
local vocabularies = require "ebb.models.vocabularies"
local violations = require "ebb.models.violations"
require "ebb.models.repair"
require("ebb.models.profiles").find "openai"   -- loads its check
require "ebb.pipeline.input"   -- chat:input would load it while memory runs out

local function call_of(id)
  return { { id = id, type = "function", ["function"] = { name = "look", arguments = "{}" } } }
end

local MESSAGES = {
  { role = "system", content = "Be brief." },
  { role = "user", content = "What is the weather \u{2603} like?", id = "first", metadata = { city = "Oslo" } },
  { role = "assistant", content = "I look.", tool_calls = call_of "c1" },
  { role = "tool", content = "rain", tool_call_id = "c1" },
  { role = "assistant", content = { { type = "text", text = "Rain." }, { type = "odd", value = 1 } } },
  { role = "user", content = "And tomorrow?", name = "ann" },
  { role = "assistant", content = ("Sun. "):rep(50) },
  { role = "user", content = "Thanks" },
}

local TEXT = ebb.json.encode(MESSAGES)

local function clock() return 1700000000000 end

local function count(message) return #message.text // 4 + 1 end

local function make_chat(options)
  local chat = assert(ebb.parse(TEXT, options or { clock = clock }))
  chat:mark(2, "pinned")
  chat:checkpoint "begin"
  chat:append { role = "user", content = "One more thing" }
  chat:truncate { remove_last = 1 }
  return chat
end

local calls = {}

---@class Call
---@field name string
---@field make fun(): table          the world; `chat` is what must stay
---@field run fun(world: table): any  what is tried; nil and an error is a refusal
---@field stride? integer            of a dear one: every so-manieth allocation is made to fail; DENSER=n divides it

local function call(name, run, make, stride)
  make = make or function() return { chat = make_chat() } end
  calls[#calls + 1] = { name = name, run = run, make = make, stride = stride }
end

local function counted() return { chat = make_chat { clock = clock, counter = count } } end

--- Batches 1 to 3, and a message that calls in each.
local function many_batches()
  local chat = make_chat()
  chat:filter { roles = { "user", "assistant" } }
  chat:clear {}
  chat:rollback(1)
  return { chat = chat }
end

local function drafted()
  local chat = make_chat()
  return { chat = chat, draft = chat:draft() }
end

---- Files and texts ----

local path = os.tmpname()

call("save", function(world) return world.chat:save(path) end)
for _, dialect in ipairs { "openai", "responses", "anthropic", "gemini" } do
  call("convert to " .. dialect, function(world)
    return core.convert(world.chat, nil, { to = dialect, foreign = true })
  end)
end
call("write", function(world) return world.chat:write("anthropic", { shape = "body" }) end)
call("bound_thinking", function(world) return core.bound_thinking(world.chat) end)

--- A body of every dialect, with a call and its result, a picture and reasoning.
local BODIES = {
  openai = [[{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text",
"text":"q"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}],"id":"x"},{"role":"assistant",
"content":null,"reasoning_content":"h","tool_calls":[{"id":"a.b c","type":"function","function":{"name":"f",
"arguments":"{}"}}]},{"role":"tool","tool_call_id":"a.b c","content":"r"}]}]],
  responses = [[{"model":"m","instructions":"s","input":[{"role":"user","content":[{"type":"input_text","text":"q"},
{"type":"input_image","image_url":"data:image/png;base64,aGk="}]},{"type":"reasoning","id":"rs_1","summary":[
{"type":"summary_text","text":"h"}],"encrypted_content":"e"},{"type":"function_call","id":"fc_1","call_id":"c",
"name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"r"}]}]],
  anthropic = [[{"model":"claude-opus-5-5","max_tokens":5,"system":"s","messages":[{"role":"user","content":[
{"type":"text","text":"q"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]},
{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"g"},{"type":"tool_use","id":"c",
"name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}]}]],
  gemini = [[{"model":"m","systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[
{"text":"q"},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]},{"role":"model","parts":[{"functionCall":{
"name":"f","args":{}},"thoughtSignature":"g"}]},{"role":"user","parts":[{"functionResponse":{"name":"f",
"response":{"output":"r"}}}]}]}]],
}

local DIALECTS = { "openai", "responses", "anthropic", "gemini" }

--- Messages that no body but openai's has as they are.
local OF_OPENAI = {
  { role = "system", content = "late" },
  { role = "assistant", content = "hm", tool_calls = { { id = "a.b c", type = "function",
    ["function"] = { name = "f", arguments = "{}" } } } },
  { role = "tool", tool_call_id = "a.b c", content = "r", timestamp = 5 },
}

local function with_added(body)
  return function()
    local chat = assert(ebb.parse(body, { clock = clock }))
    chat:append(OF_OPENAI)
    return { chat = chat }
  end
end

for _, dialect in ipairs(DIALECTS) do
  local body = BODIES[dialect]
  call("own form of " .. dialect, function(world)
    return core.may_lack_form(world.chat) ~= nil and world.chat:json()
  end, with_added(body))
  call("parse a body of " .. dialect, function() return ebb.parse(body, { clock = clock }) end)
  local function world() return { chat = assert(ebb.parse(body, { clock = clock })) } end
  for _, target in ipairs(DIALECTS) do
    call(("write %s as %s"):format(dialect, target), function(each)
      return each.chat:write(target, { shape = "body", model = target == "gemini" and "gemini-3-pro" or nil })
    end, world, 3)
  end
  call("check " .. dialect, function(each) return each.chat:check() end, world)
  call("repair " .. dialect, function(each)
    return each.chat:repaired { calls = "synthesize" }
  end, function()
    local each = world()
    each.chat:truncate { remove_last = 1 }
    return each
  end)
end
local function read_seed(name)
  local file <close> = assert(io.open("tests/fuzz/seeds/price_lists/" .. name, "rb"))
  return file:read "a"
end

for _, name in ipairs { "litellm.json", "genai.cjs" } do
  local list = read_seed(name)
  call("price list " .. name, function() return price_list.read("list", list, "2026-11-23") end, nil, 20)
end

for _, importer in ipairs(import.list()) do
  call("import " .. importer.name, function() return import.read(samples[importer.name]) end, nil, 20)
end
call("load", function() return ebb.load(path, { clock = clock }) end)
call("parse", function() return ebb.parse(TEXT, { clock = clock }) end)
call("parse, counted", function() return ebb.parse(TEXT, { clock = clock, counter = count }) end)
call("conversation with tools", function()
  return ebb.conversation { clock = clock, counter = count, tools = { { name = "look", description = "looks" } } }
end)
call("load, lenient", function()
  local chat, problem = ebb.parse("[5," .. TEXT:sub(2, -2) .. ",{\"role\":\"user\",\"content\":\"\\ud800\"}]",
    { clock = clock, lenient = true })
  return chat and chat:warnings(), problem
end)
call("limits", function() return core.limits() end)
call("read_file", function() return core.read_file(path, 100000) end)
call("write_file", function() return core.write_file(path .. ".copy", TEXT) end)
call("stage_file", function()
  local commit, write = core.stage_file(path .. ".copy", TEXT)
  if not commit then return nil, write end
  local done, problem = write(TEXT)
  if not done then return nil, problem end
  return commit()
end)
call("file_identity, target_key", function()
  local identity, problem = core.file_identity(path)
  if not identity then return nil, problem end
  return identity == core.file_identity(path), core.target_key(path)
end)
call("json", function(world) return world.chat:json() end)
call("write, whole", function(world) return (world.chat:write "ebb") end)
call("save, whole", function(world) return world.chat:save(path .. ".copy", { dialect = "ebb" }) end)
call("parse, saved", function(world) return (assert(ebb.parse(world.chat:write "ebb")):write "ebb") end)
call("json.array, json.raw", function() return { ebb.json.array { 1, 2 }, ebb.json.raw(TEXT) } end)
call("json.encode", function() return ebb.json.encode(MESSAGES) end)
call("json.decode", function() return ebb.json.decode(TEXT) end)
call("state", function(world) return world.chat:state() end)

---- Edits ----

local ADDED = { MESSAGES[3], MESSAGES[4], { role = "user", content = "more" } }

call("append", function(world) return world.chat:append(ADDED) end)
call("append, counted", function(world) return world.chat:append(ADDED) end, counted)
call("append of messages", function(world) return world.chat:append { world.chat[1], world.chat[2] } end, function()
  local chat = ebb.conversation { clock = clock }
  chat:append { { role = "user", content = "a" }, { role = "assistant", content = "b" } }
  return { chat = chat }
end)
call("insert", function(world) return world.chat:insert(3, ADDED) end)
call("insert, counted", function(world) return world.chat:insert(3, ADDED) end, counted)
call("replace", function(world) return world.chat:replace(2, { role = "user", content = "Else" }) end)
call("truncate", function(world) return world.chat:truncate { keep_last = 4, whole_units = true } end)
call("truncate within a role", function(world)
  return world.chat:truncate { role = "user", scope = "within", keep_first = 2, remove_last = 1 }
end)
call("truncate to a range", function(world) return world.chat:truncate { range = { 2, 4 }, whole_units = true } end)
call("truncate of a role", function(world) return world.chat:truncate { role = "user", keep_last = 1 } end)
call("clear", function(world) return world.chat:clear {} end)
call("filter", function(world)
  return world.chat:filter { roles = { "user" }, content_contains = { "And", "Thanks" } }
end)
for _, condition in ipairs {
  { roles = { "user" } }, { content_contains = { "And", "\u{2603}" } }, { content_excludes = { "Sun", "rain" } },
  { include_names = { "ann", "bob" } }, { exclude_names = { "ann" } }, { include_ids = { "first" } },
  { exclude_ids = { "first" } }, { exclude_tool_calls = true }, { exclude_tool_calls = { "look" } },
  { since = 5 }, { before = 5 },
} do
  local key = next(condition)
  call("filter, " .. key .. (type(condition[key]) == "boolean" and " all" or ""), function(world)
    return world.chat:filter(condition)
  end)
end
call("filter, whole units", function(world)
  return world.chat:filter { roles = { "user", "tool" }, whole_units = true }
end)
call("filter, marked", function(world) return world.chat:filter { marked = "pinned" } end)
call("filter by function", function(world)
  return world.chat:filter { where = function(message) return message.role ~= "assistant" end }
end)
call("filter with a script", function(world)
  return world.chat:filter(function(message)
    if message.role == "user" then return { role = "user", content = message.content:upper() } end
    return message.role ~= "tool"
  end)
end)
call("rollback", function(world) return world.chat:rollback "begin" end)
call("checkpoint", function(world) return world.chat:checkpoint "here" or true end)
call("mark", function(world) return world.chat:mark(1, "important") or true end)
call("apply", function(world)
  return world.chat:apply {
    { operation = "truncate", truncate = { keepLast = 6 } },
    { operation = "insert", insert = { position = 0, messages = { { role = "user", content = "new" } } } },
    { operation = "rollback", rollback = { targetBatchIndex = 0 } },
  }
end)
call("unmark", function(world) return world.chat:unmark(2, "pinned") or true end)
call("apply of a text", function(world)
  return world.chat:apply [[ [{"operation": "TRUNCATE", "role": "user", "keepLast": 2},
    {"operation": "rollback", "targetBatchIndex": 0},
    {"operation": "filter", "filter": {"roles": ["user"], "wholeUnits": true}},
    {"operation": "append", "append": {"messages": [{"role": "user", "content": "new"}]}}] ]]
end)
call("transaction", function(world)
  return core.transaction(world.chat, function(copy)
    copy:truncate { keep_last = 3 }
    copy:append { role = "user", content = "new" }
  end) or true
end)
call("limit", function(world)
  local chat = world.chat
  return { chat.limit, chat:over_limit(), chat:model(), chat.shape, chat:trust(), chat:batch(0):trust() }
end)
call("fork", function(world) return world.chat:fork() end)
call("fork of many batches", function(world) return world.chat:fork() end, many_batches)
call("prune of many batches", function(world) return world.chat:prune { keep = 1 } end, many_batches)
call("forget what calls", function(world) return world.chat:forget(3) or true end)
call("forget what a draft holds", function(world) return world.chat:forget(5) or true end, drafted)
call("prune", function(world) return world.chat:prune { keep = 1 } end)
call("forget", function(world) return world.chat:forget(2) or true end)

---- Trim and drafts ----

call("trim", function(world) return world.chat:trim { budget = 60, policy = { "keep_recent", keep = 1 } } end)
call("trim, counted", function(world) return world.chat:trim { budget = 60 } end, counted)
---- Counting ----

local BODY = ebb.json.encode {
  model = "gpt-4o",
  tools = { { type = "function", ["function"] = { name = "look", description = "Looks.", parameters = {
    type = "object", properties = { at = { type = "string", description = "Where.", enum = { "here", "there" } } },
  } } } },
  messages = { { role = "user", content = { { type = "text", text = "What \u{2603} is this?" },
    { type = "image_url", image_url = { url = "data:image/gif;base64,R0lGODlhQAHIAPcAAA==" } } } } },
}

call("parse a body", function() return ebb.parse(BODY, { clock = clock }) end)
call("tokens by another counter", function(world) return world.chat:tokens { encoding = "bytes4" } end)
call("recount", function(world) return world.chat:recount { encoding = "bytes4" } end)
call("recount, rollback", function(world) return world.chat:rollback(0) end, function()
  local world = { chat = make_chat() }
  world.chat:recount { model = "claude-sonnet-4-5" }
  return world
end)
call("trim by another counter", function(world) return world.chat:trim { budget = 70, encoding = "bytes4" } end)
call("encoding, calibration", function(world) return { world.chat:encoding(), world.chat:calibration() } end)
call("parts that are guessed", function(world) return #core.counter.guesses(world.chat) end)
call("tokens of a text", function(world) return core.counter.text(world.chat, "What \u{2603} is this?") end)
call("report_usage", function(world) return world.chat:report_usage { prompt_tokens = 400 } end)
if vocabularies.find "cl100k_base" then
  call("recount exactly", function(world) return world.chat:recount { encoding = "cl100k_base" } end)
  call("parse exactly", function() return ebb.parse(TEXT, { clock = clock, encoding = "cl100k_base" }) end)
end

call("trim by function", function(world)
  return world.chat:trim { budget = 100, policy = function(draft)
    draft.memory.runs = (draft.memory.runs or 0) + 1
    for unit in draft:units { from = "oldest", droppable = true } do draft:drop(unit, "old") end
    draft:note "done"
  end }
end)

-- The sandbox and its script are made before; what making it needs is swept by samples.
local POLICY = [[return function(draft, budget)
  draft.memory.seen = #draft
  draft:replace(draft[2], { content = "What?" })
  draft:insert(3, { role = "user", content = "And?" })
  draft:drop(draft[1])
  draft:run(function(inner) inner:drop_oldest { to = budget } end)
end]]
local FILTER = "return function(message) return message.role ~= 'tool' and "
  .. "(message.role == 'user' and { role = 'user', content = 'x' } or { message }) end"

call("trim in a sandbox", function(world)
  return world.chat:trim { budget = 100, policy = world.policy }
end, function()
  local world = counted()
  world.policy = require("ebb.trim.policies").find { source = POLICY }
  return world
end, 7)
call("filter in a sandbox", function(world) return world.chat:filter(world.filter) end, function()
  local world = counted()
  world.filter = require("ebb.trim.filter").find { source = FILTER }
  return world
end, 7)
call("making a sandbox", function() return require("ebb.trim.policies").find { source = POLICY } ~= nil end, nil, 101)
call("trim by summarize", function(world)
  local function model() return "Rain, sun." end
  return world.chat:trim { budget = 100, policy = { "summarize", keep = 0 }, model = model }
end)
call("trim by prune_messages", function(world)
  return world.chat:trim { budget = 1000, policy = { "prune_messages", tool_calls = "all" } }
end)
call("trim by clear_tool_uses", function(world)
  return world.chat:trim { budget = 1000, policy = { "clear_tool_uses", trigger = { messages = 1 }, keep = 0 } }
end)
call("draft", function(world) return world.chat:draft() end)
call("draft:drop", function(world) return assert(world.draft:drop(world.draft[4])) end, drafted)
local function with_thinking()
  local chat = make_chat()
  local thought = { type = "thinking", thinking = "So be it.", signature = "s" }
  for _ = 1, 3 do
    chat:append { role = "assistant", content = { thought, { type = "text", text = "Yes." } } }
  end
  local draft = chat:draft()
  core.draft.bind_thinking(draft, 1, 3, 0)
  return { chat = chat, draft = draft }
end

local function with_drop()
  local world = with_thinking()
  assert(world.draft:drop(world.draft[4]))
  return world
end

call("draft:drop, with bound thinking", function(world)
  return assert(world.draft:drop(world.draft[4]))
end, with_thinking)
call("core.draft.settle", function(world)
  core.draft.settle(world.draft)
  return true
end, with_drop)
call("core.draft.guarded", function(world) return core.draft.guarded(world.draft) end, with_drop)
call("draft:replace, with bound thinking", function(world)
  local thought = { type = "thinking", thinking = "No.", signature = "s" }
  return assert(world.draft:replace(#world.draft, { content = { thought } }))
end, with_thinking)
call("core.draft.bind_thinking", function(world)
  core.draft.bind_thinking(world.draft)
  return true
end, drafted)
call("draft:drop_oldest", function(world) return world.draft:drop_oldest { to = 60 } end, drafted)
call("draft:replace", function(world) return assert(world.draft:replace(5, { content = "Short." })) end, drafted)
call("draft:insert", function(world)
  return assert(world.draft:insert(6, { role = "user", content = "Inserted" }))
end, drafted)
call("draft:cost", function(world) return world.draft:cost { role = "user", content = "Inserted" } end, drafted)
call("draft:cost, counted", function(world) return world.draft:cost { role = "user", content = "x" } end, function()
  local chat = make_chat { clock = clock, counter = count }
  return { chat = chat, draft = chat:draft() }
end)
call("draft:drop, refused", function(world)
  local dropped, why = world.draft:drop(world.draft[1])
  return not dropped and why
end, drafted)
call("draft:turns", function(world)
  local seen = 0
  for _, tokens, age in world.draft:turns { from = "newest" } do seen = seen + tokens + age end
  return seen
end, drafted)
call("draft:units", function(world)
  local seen = 0
  for unit in world.draft:units { from = "newest", has = "text" } do seen = seen + unit.count end
  return seen
end, drafted)
call("draft:keep", function(world) return world.draft:keep(world.draft[5]) or true end, drafted)
call("draft:last", function(world) return world.draft:last { role = "assistant" } end, drafted)
call("draft:messages", function(world)
  local seen = 0
  for message in world.draft:messages { from = "oldest", role = "assistant" } do seen = seen + message.tokens end
  return seen
end, drafted)
call("draft:turns", function(world)
  local seen = 0
  for turn in world.draft:turns { from = "newest" } do seen = seen + turn.count end
  return seen
end, drafted)
call("draft:run", function(world)
  return world.chat:trim { budget = 60, policy = function(draft) draft:run "keep_recent" end }
end)
call("queries of a draft", function(world)
  local draft = world.draft
  return { draft:count(), draft:tokens(), draft:marked "pinned", draft:range("user", 1, 2), draft:recent("user", 1),
    draft:active(), draft:where { role = "user" }, draft:shows { "rain" }, draft:indices(), core.draft.info(draft) }
end, drafted)
call("draft.ledger", function(world)
  local ledger = core.draft.ledger(world.draft)
  return { ledger:json(), ledger:runs(), ledger:notes(), ledger:keeps() }
end, function()
  local world = drafted()
  world.draft:drop(world.draft[7], "why")
  world.draft:note "a note"
  return world
end)
call("draft.by", function(world) return core.draft.by(world.draft, "a policy") or true end, drafted)
call("draft.discard", function(world) return core.draft.discard(world.draft) or true end, function()
  local world = drafted()
  world.draft:insert(6, { role = "user", content = "Inserted" })
  core.draft.discard(world.chat:draft())
  return world
end)
call("draft:note", function(world) return world.draft:note "a note" or true end, drafted)
call("draft.commit", function(world)
  return core.draft.commit(world.draft, { operation = "trim", description = "by hand" })
end, function()
  local world = drafted()
  world.draft:drop(world.draft[7])
  world.draft:replace(5, { content = "Short." })
  return world
end)

---- Checks, what became of messages, vocabularies ----

call("chat:repaired", function(world) return world.chat:repaired { dialect = "openai" } end)
call("chat:repaired, synthesized", function(world)
  return world.chat:repaired { dialect = "anthropic", calls = "synthesize" }
end, function()
  local chat = make_chat()
  chat:truncate { range = { 1, 3 } }
  return { chat = chat }
end)
call("draft:check", function(world) return world.draft:check "openai" end, drafted)
call("draft:dialect", function(world) return world.draft:dialect() end, drafted)
call("batch:check", function(world) return world.chat:batch(0):check "anthropic" end)

local function trimmed()
  local world = { chat = make_chat() }
  assert(world.chat:trim { budget = 60 })
  return world
end

call("chat:ledger", function(world) return world.chat:ledger():json() end, trimmed)
call("chat:explain", function(world) return world.chat:explain(world.chat:all()[3]) end, trimmed)
call("common", function(world)
  return (core.common(world.chat, 0, #world.chat:batch(0), 1, #world.chat:batch(1)))
end)
call("list_folder", function() return core.list_folder "tests/golden" end)
call("make_folder", function() return core.make_folder(path .. ".folder") or true end)

--- All bytes and a few words of two letters, as tiktoken writes vocabularies.
local function vocabulary()
  local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  local function digit(value) return digits:sub(value + 1, value + 1) end
  local lines = {}
  for byte = 0, 255 do
    lines[#lines + 1] = ("%s%s== %d"):format(digit(byte >> 2), digit((byte & 3) << 4), byte)
  end
  for i, word in ipairs { "ab", "he", "lo", "in" } do
    local a, b = word:byte(1, 2)
    lines[#lines + 1] = ("%s%s%s= %d"):format(digit(a >> 2), digit((a & 3) << 4 | b >> 4), digit((b & 15) << 2),
      255 + i)
  end
  return table.concat(lines, "\n") .. "\n"
end

local VOCABULARY = vocabulary()

local function build(pattern)
  return core.vocab.build(VOCABULARY, { file = "tiny", name = "tiny", pattern = pattern })
end

local vocab, vocab_of_regex = path .. ".vocab", path .. ".regex.vocab"
assert(core.write_file(vocab, assert(build "gpt2")))
assert(core.write_file(vocab_of_regex, assert(build "\\\\w+|[^a-z]")))

call("vocab.build", function() return build "cl100k" end)
call("vocab.describe, verify, home", function()
  return core.vocab.describe(vocab_of_regex), core.vocab.verify(vocab), core.vocab.home()
end)
call("lazy copies, their texts and members", function(world)
  local set, copies = core.regex.set(), core.working.copies(world.chat, true)
  assert(set:add { pattern = "a", replacement = "<b>" })
  set:begin()
  set:sweep(copies, 1, #copies, { user = 1, assistant = 1, tool = 1 })
  local text = core.working.text(world.chat, copies, "[", "]")
  core.working.fill(copies)
  return text, core.working.text(world.chat, copies, "[", "]")
end)

call("lazy copies that hold a text", function(world)
  return #core.working.holding(core.working.copies(world.chat, true), "a")
end)

call("speech of lazy copies and others", function(world)
  local copies = core.working.copies(world.chat, true)
  copies[#copies + 1] = { role = "user", name = "Bob", content = { { type = "text", text = "a" }, { type = "text",
    text = "b" } } }
  local labels = { user = "Ann: ", assistant = "" }
  local positions = core.working.spoken(copies)
  local texts, names = {}, {}
  for i = 1, #positions do texts[i], names[i] = core.working.said(copies, positions, labels, i) end
  return core.working.same_speech(copies, positions, labels, texts, names, 1, #positions)
end)

call("working copies, their text", function(world)
  local copies = core.working.copies(world.chat)
  core.working.marks(world.chat)
  core.working.seqs(world.chat)
  copies[1].content = "Be long."
  local parsed = assert(core.working.parse(world.chat, nil, copies, '{"messages":[', "]}"))
  return core.working.text(world.chat, copies, "[", "]"), parsed:json()
end)

call("input_with_variables", function(world)
  return world.chat:input("{{setvar::n::1}}What next?", { now = 1700000000000 })
end)

call("set_variables", function(world)
  return world.chat:set_variables { ["local"] = { n = 1 }, global = { a = "x" } }
end)

call("variables", function(world) return world.chat:variables() end)

call("input", function(world)
  return world.chat:input("What next?", { attachments = { "plan.png" }, now = 1700000000000 })
end, nil, 11)

call("clock, number, hint of sandboxes", function()
  core.sandbox.set_hint(hints.limits or "")
  assert(core.now() > 0 and core.cpu_seconds() > 0)
  return core.tonumber "1.5"
end)
call("printable, printable_character", function()
  local shown = core.printable(("\155\u{202E}é\n"):rep(400), "\n")
  return shown, core.printable_character("\27[2J", 1)
end)
call("base64, data_uri, sha256", function()
  local bytes, long = ("some bytes "):rep(100), "data:text/plain;charset=utf-8,two%20words"
  local text = core.base64.encode(bytes)
  local back, problem = core.base64.decode(text)
  assert(back == bytes, problem)
  local file = core.data_uri(long)
  assert(file.bytes == "two words" and file.media == "text/plain")
  return core.sha256(back), problem
end)
call("root", function()
  local root, problem = core.root "tests"
  if not root then return nil, problem end
  local bytes
  bytes, problem = root:read("lua/helper.lua", 1 << 20)
  root:close()
  return bytes, problem
end)
for name, file in pairs { ["tokenizer"] = vocab, ["tokenizer of an expression"] = vocab_of_regex } do
  call(name, function()
    local tokenizer, problem = core.tokenizer(file)
    if not tokenizer then return nil, problem end
    local ids = tokenizer:encode "hello, abin"
    assert(tokenizer:decode(ids) == "hello, abin" and tokenizer:count "hello, abin" == #ids)
    return tokenizer:count_up_to("hello, abin", 2)
  end)
end

---- Rules ----

call("regex rules", function()
  local set = core.regex.set()
  for _, rule in ipairs { { pattern = "(a+)(b)?\\s", replacement = "<$1$2>", trims = { "a" } }, { pattern = "x|y" } } do
    assert(set:add(rule))
  end
  set:begin()
  set:limit(1000000, 1 << 20)
  local text = set:apply(("aab x "):rep(300), 1, 0)
  return { #text, set:count(1), #set, core.regex.set():add { pattern = "(" } }
end)
call("keywords", function()
  local set = core.keywords({ "dragon", "Drake", "drag" }, { 0, 1, 2 })
  return { #set, set:find("a DRAGON, a Drake", "Ann: "), set:find "none" }
end)
call("a regex", function()
  local regex = assert(core.regex.compile("b+(?<x>c)", "i"))
  assert(core.regex.check("b+", "i"))
  return regex:matches "aBBc" and not regex:matches "a"
end)

---- Queries ----

call("where", function(world) return world.chat:where { role = "user", matches = "%?$" } end)
call("recent", function(world) return world.chat:recent({ "user", "assistant" }, 3) end)
call("range", function(world) return { world.chat:range("user", 1, 2), world.chat:range(1, 3) } end)
call("indices", function(world) return { world.chat:indices(), core.has_wrapped(world.chat) } end)
call("batch", function(world) return { world.chat:batch(1), world.chat:batch(0):active() } end)
call("common_ends", function(world) return core.common_ends(world.chat, world.chat:batch(0)) end)
call("canonical_messages", function(world)
  local texts = core.canonical_messages(world.chat, 1, #world.chat)
  return { texts, core.differing_members(texts[1], texts[2]) }
end)
call("shows", function(world) return world.chat:shows { "rain", "zebra" } end)
call("recall", function(world) return world.chat:recall "r1-8" end)
call("diff", function(world) return world.chat:diff("begin", 1) end)
call("batch's queries", function(world)
  local batch = world.chat:batch(0)
  return { batch:count(), batch:tokens(), batch:marked "pinned", batch:range("user", 1, 2), batch:recent("user", 1),
    batch:where { role = "user" }, batch:shows { "rain" }, batch:indices() }
end)
call("selection", function(world)
  local selection = world.chat:where { role = { "user", "assistant" } }
  return { selection:first(2), selection:last(2), selection:slice(1, 2), selection:count(), selection:tokens(),
    selection:positions(), selection:seqs() }
end)
call("queries", function(world)
  local chat = world.chat
  return { chat:all(), chat:batches(), chat:stats(), chat:tokens(), chat:count "user", chat:marked "pinned" }
end)
call("error", function()
  return { core.error("argument", "a message", "a hint"), core.is_error(5), core.type(5), core.charge "Draft:drop" }
end)
call("without", function(world) return world.chat[5]:without "text" end)
call("dialect", function(world) return world.chat:dialect() .. world.chat:batch(1):dialect() end)
call("check", function(world) return world.chat:check "openai" end)
call("check for a profile", function(world)
  return world.chat:check { profile = "mistral", severity = "changed" }
end)
call("rules of check", function() return violations.explain "call_id" end)
call("explain", function(world) return world.chat:explain(8) end)
call("ledger", function(world)
  local ledger = world.chat:ledger(2)
  return { ledger:json(), ledger:keeps() }
end, function()
  local chat = make_chat()
  chat:trim { budget = 60 }
  return { chat = chat }
end)
call("replay", function(world)
  return ebb.replay(world.chat, { budget = 90, policies = { "keep_recent" } })
end, counted, 11)
call("message", function(world)
  local message = world.chat[3]
  return { message.text, message.content, message.calls, message.parts, message:totable(), message.json }
end)

---- Windows ----

local function windowed()
  local chat = make_chat()
  chat.windows:open { id = "todo", description = "To do", refresh = "append", content = { { "item", id = 1, "buy" } },
    actions = { { id = "add", params = "text:string", label = "Add", run = print } } }
  chat.windows:open { id = "log", content = function() return "now" end }
  chat.windows:open { id = "old", content = "gone" }:close "done"
  chat:append { { window = "todo" }, { window = "absent" } }
  return { chat = chat }
end

call("windows:open", function(world)
  return world.chat.windows:open { id = "new", content = { "text", { "b", { window = "todo" } } },
    actions = { { id = "go", run = print } } }
end, windowed)
call("windows:tools", function(world) return world.chat.windows:tools() end, windowed)
call("action", function(world)
  world.chat:action { id = "go", run = print }
  return true
end, windowed)
call("act", function(world) return world.chat:act() end, function()
  local chat = make_chat()
  chat:action { id = "go", run = print }
  chat:append { role = "assistant", tool_calls = { { id = "c9", type = "function",
    ["function"] = { name = "go", arguments = "{}" } } } }
  return { chat = chat }
end)
call("windows:open anew", function(world)
  return world.chat.windows:open { id = "old", content = "again" }
end, windowed)
call("windows:open of a fork", function(world) return world.fork.windows:open { id = "new" } end, function()
  local world = windowed()
  world.fork = world.chat:fork()
  world.first = world.chat:fork()
  return world
end)
call("window:update", function(world) return world.chat.windows:get("log"):update { content = "text" } end, windowed)
call("window:update, appended", function(world)
  return world.chat.windows:get("todo"):update { content = { { "item", id = 2, "sell" } } }
end, windowed)
call("window:hide, show, pin", function(world)
  local window = world.chat.windows:get "log"
  return window:hide()
end, windowed)
call("window:show", function(world) return world.chat.windows:get("todo"):show() end, windowed)
call("window:pin", function(world) return world.chat.windows:get("todo"):pin() end, windowed)
call("window:close", function(world) return world.chat.windows:get("todo"):close "done" end, windowed)
call("window's fields", function(world)
  local window = world.chat.windows:get "todo"
  return { window.content, window.actions, window:view(), window:markup(), window:handler "add", window.created }
end, windowed)
call("windows", function(world)
  local chat = world.chat
  local windows = chat.windows
  return { windows:list(), chat:active(), windows.seq, windows:clock(), windows:stats(), windows:listing(),
    chat:tokens() }
end, windowed, 7)
call("windows:render", function(world) return world.chat.windows:render { include_obsolete = true } end, windowed)
call("render", function(world) return world.chat:render { include_obsolete = true } end, windowed, 7)
call("windows:render, trimmed", function(world)
  return world.chat.windows:render { max_tokens = 170, include_system = false }
end, windowed, 7)
call("trim of windows", function(world) return world.chat:trim { budget = 120, policy = "keep_turns" } end, windowed,
  7)
call("json of windows", function(world) return world.chat:json() end, windowed)
call("check of windows", function(world) return world.chat:check "anthropic" end, windowed, 5)
call("where, windows", function(world)
  local chat = world.chat
  return { chat:where { obsolete = true }, chat:where { important = true }, chat[#chat - 1].obsolete }
end, windowed)
call("window.escape", function() return core.window.escape(("<&>\0"):rep(300), true) end)
call("window.call", function()
  return { core.window.call(function() return "x" end, 1000, nil, 1000), core.window.call(error, 1000, "x", 1000) }
end)

call("act", function(world)   -- what changes nothing: an action itself may leave what it did
  return world.chat.windows:act [[<tool_call>[{"name":"old.x"},{"name":"todo.ad"},{"name":"say_no"}]</tool_call>
<tool_call>{"name":"say_no","arguments":{"n":1,"s":["a"]}}</tool_call><tool_call>]]
end, function()
  local world = windowed()
  world.chat.windows:open { id = "refuser", actions = {
    { id = "say_no", params = "n:int, s:string[]", run = function() return nil, "no" end },
  } }
  world.chat.windows:on(function(event) world.event = event end)
  return world
end, 23)
call("windows:on", function(world)
  world.chat.windows:on(function(event) world.event = event end)
  return true
end, windowed)
call("windows:log", function(world) return world.chat.windows:log { lines = 3 } end, windowed)
call("window:update, unheard", function(world)
  world.chat.windows:on(nil)
  return world.chat.windows:get("log"):update()
end, function()
  local world = windowed()
  world.chat.windows:on(function() end)
  return world
end)
call("read_calls", function()
  return { ebb.read_calls([[<tool_call>{"name":"todo.add","arguments":{"text":"</tool_call>"}}</tool_call>
```
<tool_call>{}</tool_call>
```
<action_call>{"calls":[{"window_id":"todo"}]}</action_call> <tool_call>x]]) }
end)
call("read_window", function()
  return ebb.read_window([[<Window id="w"><Content>&#65;&lt;<item id="1">x</item></Content><Actions>
<action id="add" params="text:string">Add</action></Actions></Window>]])
end)
call("read_window of none", function() return { ebb.read_window "<Window id='w'><Content>&x;</Content></Window>" } end)

---- Copies ----

--- A list with something of every kind to mend. What a copy stores stays in the store that it
--- shares, so another conversation is looked at.
local function broken()
  local chat = make_chat { clock = clock, counter = count }
  chat:insert(1, { role = "tool", content = "late", tool_call_id = "c9" })
  chat:append { MESSAGES[3], MESSAGES[3] }
  return { chat = make_chat(), broken = chat }
end

for _, way in ipairs { "drop", "synthesize" } do
  call("repaired, " .. way, function(world)
    local copy, report = world.broken:repaired { calls = way }
    assert(#report.left == 0)
    return copy
  end, broken)
end

---- Sessions on disk ----

sessions.add(call, make_chat)

---- What must stay ----

local function digest_of_draft(draft)
  local words = {}
  for i = 1, #draft do
    words[i] = draft[i].json
  end
  words[#words + 1] = core.draft.ledger(draft):json()
  words[#words + 1] = draft:tokens()
  return table.concat(words, "\n")
end

--- The state as text: what is visible, every batch, every message, marks, windows, what policies remember.
local function digest(world)
  local chat, words = world.chat, {}
  words[1] = chat:json()
  words[2] = ebb.json.encode(chat:state())
  for _, message in ipairs(chat:all()) do
    words[#words + 1] = message.json
  end
  for _, info in ipairs(chat:batches()) do
    words[#words + 1] = ebb.json.encode(info)
    words[#words + 1] = table.concat(chat:batch(info.index):where {}:positions(), " ")
  end
  for _, name in ipairs { "pinned", "important" } do
    words[#words + 1] = table.concat(chat:marked(name):positions(), " ")
  end
  for _, id in ipairs(core.window.ids(chat)) do
    local window = core.window.get(chat, id)
    window.functions = window.functions and (window.functions.content and 1 or 2) or 0
    words[#words + 1] = ebb.json.encode(window)
  end
  words[#words + 1] = #chat:fork()
  words[#words + 1] = ebb.json.encode(memory.recall(chat))
  local closed = not world.draft or not pcall(world.draft.tokens, world.draft)
  if not closed then words[#words + 1] = digest_of_draft(world.draft) end
  if world.db then words[#words + 1] = sessions.digest(world) end
  return table.concat(words, "\n")
end

--- nil if a failed call says that memory ran out; else what it says.
local function wrong_refusal(problem, code)
  if core.is_error(problem) then code, problem = problem.code, problem.message end
  if code == "memory" or tostring(problem):find("not enough memory", 1, true) then return nil end
  return ("[%s] %s"):format(tostring(code), tostring(problem))
end

---- What no call reaches ----

--- The tables of functions that C gives to Lua, the library's methods among them.
local function function_tables()
  local tables = sessions.function_tables()
  tables.core = core
  for name, value in pairs(core) do
    local is_table_of_functions = name ~= "methods" and name ~= "parameters" and name ~= "descriptions"
    if type(value) == "table" and is_table_of_functions then tables["core." .. name] = value end
  end
  for name, methods in pairs(core.methods) do
    tables[name] = methods
  end
  return tables
end

--- Names of functions that none of the calls comes to while it runs. For a state of
--- its own: every function is wrapped.
local function unreached()
  local missing, running, functions_seen = {}, false, 0
  for table_name, functions in pairs(function_tables()) do
    for name, original in pairs(functions) do
      if type(original) == "function" then
        local full = table_name .. "." .. name
        missing[full], functions_seen = true, functions_seen + 1
        functions[name] = function(...)
          if running then missing[full] = nil end
          return original(...)
        end
      end
    end
  end
  for _, case in ipairs(calls) do
    local world = case.make()
    running = true
    assert(case.run(world))
    running = false
  end
  local names = {}
  for name in pairs(missing) do
    names[#names + 1] = name
  end
  table.sort(names)
  return table.concat(names, " "), #calls, functions_seen
end

local function close()
  for _, ending in ipairs { "", ".copy", ".folder", ".vocab", ".regex.vocab" } do
    os.remove(path .. ending)
  end
  sessions.close()
end

return { calls = calls, unreached = unreached, digest = digest, wrong_refusal = wrong_refusal, close = close }
