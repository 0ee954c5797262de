--- The complexity gate of bound functions: each on n and on 4n of hostile shapes takes at
--- most five times as long. A function that no table here names fails the gate. Of what chats have, a third is tried
--- on each shape, by SEED; all with WHOLE=1.

local helper = dofile "tests/lua/helper.lua"
local gate = dofile "tests/lua/growth_gate.lua"
local shapes = dofile "tests/lua/hostile_shapes.lua"
local core = require "ebb.support.core"
local speech = require "ebb.lorebook.speech"
local ebb = helper.ebb
require "ebb.windows"      -- its methods are loaded on first use

local N = math.tointeger(tonumber(os.getenv "COMPLEXITY" or "400"))

---- Shapes of chats ----

--- Values that only a program can make, and documents as chats.
local chats = dofile "tests/lua/hostile_chats.lua"(ebb, shapes)

for _, shape in ipairs(shapes.list) do
  chats[shape.name] = function(n) return ebb.parse(shape.document(n)) end
end

local CHATS = {}
for name in pairs(chats) do
  CHATS[#CHATS + 1] = name
end
table.sort(CHATS)

---- Acts ----

local function walk(list)
  for _, message in ipairs(list) do
    local _ = message.seq
  end
end

local function walk_all(iterator, ...)
  local count = 0
  for _ in iterator, ... do
    count = count + 1
  end
  return count
end

--- Methods of every list.
local LISTS = {
  active = function(list) list:active() end,
  check = function(list)
    for _, dialect in ipairs { "openai", "responses", "anthropic", "gemini" } do list:check(dialect) end
  end,
  count = function(list) list:count "tool" end,
  dialect = function(list) list:dialect() end,
  marked = function(list) list:marked "pinned" end,
  range = function(list) list:range({ "user", "tool" }, 1, 3) end,
  recent = function(list) list:recent({ "assistant", "tool" }, #list) end,
  indices = function(list) list:indices() end,
  shows = function(list) list:shows { "m77", "c3", "zebra" } end,
  tokens = function(list) list:tokens() end,
  trust = function(list) list:trust() end,
  where = function(list) walk(list:where { matches = "zzz", role = { "user", "tool" }, marked = "mark 7" }) end,
}

local ROLES = { "user", "assistant", "tool" }

local CONVERSATIONS = {
  all = function(chat) walk(chat:all()) end,
  append = function(chat)
    local list = {}
    for i = 1, #chat do
      list[i] = { role = "tool", tool_call_id = "c" .. i % 7, content = "late" }
    end
    chat:append(list)
  end,
  act = function(chat)
    chat:append { role = "assistant", content = core.json.null, tool_calls = {
      { id = "native", type = "function", ["function"] = { name = "w1__go", arguments = "{}" } } } }
    chat:act()
  end,
  action = function(chat) chat:action { id = "go", run = function() end } end,
  apply = function(chat)
    local list = {}
    for i = 1, 100 do
      list[i] = { operation = "replace", index = 0, message = { role = "user", content = "x" .. i } }
    end
    if not chat[1].window then assert(chat:apply(list)) end
  end,
  batch = function(chat) walk(chat:batch(#chat:batches() - 1)) end,
  batches = function(chat) chat:batches() end,
  calibration = function(chat) chat:calibration() end,
  checkpoint = function(chat)
    for i = 1, 100 do
      chat:checkpoint("name " .. i)
    end
  end,
  clear = function(chat) chat:clear() end,
  diff = function(chat)
    chat:truncate { remove_first = 1 }
    chat:diff(0, #chat:batches() - 1)
  end,
  draft = function(chat) core.draft.info(chat:draft { guards = true }) end,
  encoding = function(chat) chat:encoding() end,
  explain = function(chat)
    local message = chat[1]
    chat:truncate { remove_first = 1 }
    chat:explain(message.seq)
  end,
  filter = function(chat)
    chat:fork():filter { roles = ROLES, content_excludes = { "zzz" }, exclude_tool_calls = { "g" }, whole_units = true }
    chat:filter { exclude_tool_calls = true }
  end,
  forget = function(chat) if not chat[1].window then chat:forget(1) end end,
  fork = function(chat) chat:fork() end,
  input = function(chat) chat:input "a question" end,
  insert = function(chat)
    local list = {}
    for i = 1, #chat do
      list[i] = { role = "tool", tool_call_id = "c" .. i % 7, content = "late" }
    end
    chat:insert(#chat // 2 + 1, list)
  end,
  json = function(chat) if chat:count(ROLES) == #chat then chat:json() end end,
  ledger = function(chat)
    assert(chat:trim { budget = chat:tokens(), policy = "keep_recent" })
    local ledger = chat:ledger()
    if ledger then ledger:json() end
  end,
  mark = function(chat)
    for i = 1, #chat do
      chat:mark(i, "seen")
    end
  end,
  model = function(chat) chat:model() end,
  over_limit = function(chat) chat:over_limit() end,
  prune = function(chat) chat:prune { keep = 1 } end,
  recount = function(chat) chat:recount { encoding = "cjk" } end,
  render = function(chat) chat:render() end,
  repaired = function(chat)
    if chat:count(ROLES) + chat:count "system" < #chat then return end
    for _, dialect in ipairs { "openai", "anthropic" } do
      for _, calls in ipairs { "drop", "synthesize" } do
        chat:repaired { dialect = dialect, calls = calls }
      end
    end
  end,
  replace = function(chat)
    if not chat[1].window then chat:replace(1, { role = "tool", tool_call_id = "c1", content = "other" }) end
  end,
  report_usage = function(chat) chat:report_usage { prompt_tokens = chat:tokens() } end,
  rollback = function(chat)
    for batch = 0, #chat:batches() - 1 do
      chat:rollback(batch)
    end
  end,
  save = function(chat) if chat:count(ROLES) == #chat then assert(chat:save "/dev/null") end end,
  state = function(chat) chat:state() end,
  set_variables = function(chat) chat:set_variables { ["local"] = { n = #chat } } end,
  stats = function(chat) chat:stats() end,
  truncate = function(chat)
    chat:truncate { remove_first = 3, whole_units = true }
    chat:truncate { role = "tool", keep_last = 5, scope = "within" }
  end,
  variables = function(chat) chat:variables() end,
  unmark = function(chat)
    for i = 1, #chat do
      chat:unmark(i, "pinned")
    end
  end,
  warnings = function(chat) chat:warnings() end,
  write = function(chat)
    for _, dialect in ipairs { "openai", "responses", "anthropic", "gemini" } do
      chat:write(dialect, { shape = "body" })
    end
  end,
  recall = function(chat) chat:recall(("r1-%d"):format(#chat)) end,
}

--- A trim by each policy, one that fits and one that does not.
local POLICIES = {}
for _, name in ipairs(require("ebb.policies").names) do
  POLICIES[name] = function(chat)
    local options = name == "quota" and { messages = { tool = 5, user = 5 } } or nil
    for _, budget in ipairs { chat:tokens() // 2, chat:tokens() - 1, 1 } do
      chat:fork():trim { budget = budget, policy = name, options = options, model = function() return "short" end }
    end
  end
end

CONVERSATIONS.trim = POLICIES.keep_recent

local DRAFTS = {
  cost = function(draft) draft:cost { role = "tool", tool_call_id = "c1", content = "x" } end,
  drop = function(draft)
    for message in draft:messages {} do
      draft:drop(message)
    end
  end,
  drop_oldest = function(draft)
    draft:drop_oldest { to = draft:tokens() - 1 }
    draft:drop_oldest { to = draft:tokens() // 2, keep = 3 }
    draft:drop_oldest { to = 0 }
  end,
  insert = function(draft)
    draft:insert(1, { role = "assistant", content = "x" })
    draft:insert(#draft + 1, { role = "tool", tool_call_id = "c1", content = "x" })
  end,
  keep = function(draft)
    for _, message in ipairs(draft) do
      draft:keep(message)
    end
  end,
  last = function(draft) draft:last { role = "system" } end,
  messages = function(draft) walk_all(draft:messages { role = "tool", matches = "zzz" }) end,
  note = function(draft)
    for i = 1, #draft do
      draft:note("note " .. i)
    end
  end,
  replace = function(draft)
    for message in draft:messages { role = "tool" } do
      pcall(draft.replace, draft, message, { content = "short" })
    end
  end,
  summarize = function(draft) pcall(draft.summarize, draft, 1, #draft) end,
  turns = function(draft)
    for turn in draft:turns {} do
      walk(turn.messages)
    end
  end,
  units = function(draft)
    for unit in draft:units {} do
      local _ = unit.guarded or unit.open or unit.age + unit.tokens > 0
      walk(unit.messages)
    end
  end,
}

--- Calls by policies in a sandbox, which borrow the draft; `draft:run` loads another policy by its name.
local BORROWED = {
  cost = "draft:cost { role = 'tool', tool_call_id = 'c1', content = 'x' }",
  drop = "for message in draft:messages {} do draft:drop(message) end",
  drop_oldest = "draft:drop_oldest { to = draft:tokens() - 1 } "
    .. "draft:drop_oldest { to = draft:tokens() // 2, keep = 3 } draft:drop_oldest { to = 0 }",
  insert = "draft:insert(1, { role = 'assistant', content = 'x' }) "
    .. "draft:insert(#draft + 1, { role = 'tool', tool_call_id = 'c1', content = 'x' })",
  keep = "for _, message in ipairs(draft) do draft:keep(message) end",
  last = "draft:last { role = 'system' }",
  messages = "for message in draft:messages { role = 'tool', matches = 'zzz' } do local _ = message.text end "
    .. "for i = 1, #draft do local _ = draft[i].role, draft[i].text, draft[i].calls end",
  note = "for i = 1, #draft do draft:note('note ' .. i) end",
  replace = "for message in draft:messages { role = 'tool' } do "
    .. "pcall(draft.replace, draft, message, { content = 'short' }) end",
  run = "draft:run 'keep_recent'",
  summarize = "pcall(draft.summarize, draft, 1, #draft)",
  turns = "for turn in draft:turns {} do for _, message in ipairs(turn.messages) do local _ = message.seq end end",
  units = "for unit in draft:units {} do local _ = unit.guarded or unit.open or unit.age + unit.tokens > 0 "
    .. "for _, message in ipairs(unit.messages) do local _ = message.seq end end",
}

local UNBOUND = { fuel = 0, deadline = 3600000, memory = 1 << 30 }      -- for policies that would end by themselves

local function policy_text(body) return ("return function(draft)\n%s\nend"):format(body) end

local WINDOWS = {
  tools = function(chat) chat.windows:tools() end,
  act = function(chat)
    chat.windows:act { { window = "w1", action = "go" }, { window = "nowhere", action = "go" } }
  end,
  clock = function(chat) chat.windows:clock() end,
  get = function(chat) chat.windows:get "w1" end,
  list = function(chat) chat.windows:list() end,
  listing = function(chat) chat.windows:listing() end,
  log = function(chat) chat.windows:log {} end,
  on = function(chat) chat.windows:on(function() end) end,
  open = function(chat)
    for i = 1, 100 do
      chat.windows:open { id = "new" .. i, content = "x" }
    end
  end,
  render = function(chat) chat.windows:render() end,
  stats = function(chat) chat.windows:stats() end,
}

--- Calls on one window, which is opened if a chat has none.
local WINDOW = {
  close = function(window) window:close "done" end,
  handler = function(window) window:handler("go", function() end) end,
  hide = function(window) window:hide(true) end,
  markup = function(window) window:markup() end,
  pin = function(window) window:pin(true) end,
  show = function(window) window:show() end,
  update = function(window) window:update { content = "other" } end,
  view = function(window) window:view {} end,
}

local SELECTIONS = {
  count = function(selection) selection:count() end,
  first = function(selection) walk(selection:first(#selection)) end,
  last = function(selection) walk(selection:last(#selection)) end,
  positions = function(selection) selection:positions() end,
  seqs = function(selection) selection:seqs() end,
  slice = function(selection) walk(selection:slice(1, #selection)) end,
  tokens = function(selection) selection:tokens() end,
}

local LEDGERS = {
  json = function(ledger) ledger:json() end,
  keeps = function(ledger) ledger:keeps() end,
  notes = function(ledger) ledger:notes() end,
  runs = function(ledger) ledger:runs() end,
}

--- Calls on every message of a chat.
local MESSAGES = {
  totable = function(message) message:totable() end,
  without = function(message) message:without "text" end,
}

for _, field in ipairs {
  "index", "seq", "role", "spelling", "content", "text", "parts", "calls", "call", "tokens", "age", "unit", "id",
  "name", "timestamp", "metadata", "reasoning", "json", "window",
} do
  MESSAGES["." .. field] = function(message) return message[field] end
end

---- Functions of texts ----

local function text_of(n) return ("some words, é and \"quotes\"\n"):rep(n) end

local function nested(n) return ("["):rep(200):rep(1) .. ("1,"):rep(n) .. "1" .. ("]"):rep(200) end

local function object(n)
  local members = {}
  for i = 1, n do
    members[i] = ('"k%d":%d'):format(i, i)
  end
  return "{" .. table.concat(members, ",") .. "}"
end

--- nil where no vocabulary is installed.
local has_vocabulary, tokenizer = pcall(ebb.tokenizer, "o200k_base")

--- On texts of n lines, keys or elements.
local FUNCTIONS = {
  ["ebb.json.decode"] = function(n) ebb.json.decode(object(n)) ebb.json.decode(nested(n)) end,
  ["ebb.json.decode_at"] = function(n) ebb.json.decode_at(object(n), 1) end,
  ["ebb.json.encode"] = function(n) ebb.json.encode { ebb.json.decode(object(n)), text_of(n) } end,
  ["ebb.json.array"] = function(n) ebb.json.array(table.pack(text_of(n):byte(1, n))) end,
  ["ebb.json.raw"] = function(n) ebb.json.raw(object(n)) end,
  ["ebb.parse"] = function(n)
    for _, shape in ipairs(shapes.list) do
      ebb.parse(shape.document(n // 4))
    end
  end,
  ["ebb.conversation"] = function() ebb.conversation() end,
  ["ebb.has_tools"] = function(n)
    local list = {}
    for i = 1, n // 4 do list[i] = { role = "system", content = "s" } end
    assert(#ebb.conversation { tools = { { name = "f", description = "d" } }, messages = list } == n // 4 + 1)
  end,
  ["core.base64.encode"] = function(n) core.base64.encode(text_of(n)) end,
  ["core.base64.decode"] = function(n) core.base64.decode(core.base64.encode(text_of(n))) end,
  ["core.data_uri"] = function(n) core.data_uri("data:text/plain;base64," .. core.base64.encode(text_of(n))) end,
  ["core.printable"] = function(n) core.printable(("\155\u{202E}é\n"):rep(n), "\n") end,
  ["core.printable_character"] = function(n) core.printable_character(("\155"):rep(n), n) end,
  ["core.common_ends"] = function(n)
    local chat = ebb.parse(shapes.by_name.messages.document(n // 4))
    local other = chat:fork()
    other:replace(#other // 2 + 1, { role = "user", content = "other" })
    core.common_ends(chat, other)
  end,
  ["core.utf8"] = function(n) core.utf8(("é\xff"):rep(n)) end,
  ["core.sha256"] = function(n) core.sha256(text_of(n)) end,
  ["core.tonumber"] = function(n) core.tonumber(("1"):rep(n)) end,
  ["core.tostring"] = function(n) core.tostring(text_of(n)) end,
  ["core.window.escape"] = function(n) core.window.escape(("<&>"):rep(n)) end,
  ["Tokenizer:count"] = has_vocabulary and function(n) tokenizer:count(text_of(n)) end,
  ["Tokenizer:count_up_to"] = has_vocabulary and function(n) tokenizer:count_up_to(text_of(n), n) end,
  ["Tokenizer:encode"] = has_vocabulary and function(n) tokenizer:encode(text_of(n)) end,
  ["Tokenizer:decode"] = has_vocabulary and function(n) tokenizer:decode(tokenizer:encode(text_of(n))) end,
  ["core.counter.guesses"] = function(n)
    local part = { type = "image_url", image_url = { url = "https://example.org/a.png" } }
    local list = {}
    for i = 1, n // 8 do list[i] = { role = "user", content = { part } } end
    local chat = ebb.conversation { model = "gpt-4o" }
    chat:append(list)
    assert(#core.counter.guesses(chat) == n // 8)
  end,
  ["core.canonical_messages"] = function(n)
    local chat = ebb.conversation()
    chat:append { role = "user", content = "q", metadata = ebb.json.raw(object(n)) }
    core.canonical_messages(chat, 1, 1)
  end,
  ["core.differing_members"] = function(n) core.differing_members(object(n), object(n // 2)) end,
  ["core.counter.text"] = function(n) core.counter.text(ebb.conversation(), text_of(n)) end,
  ["core.regex.check"] = function(n) core.regex.check(("a?"):rep(n // 4), "g") end,
  ["core.regex.compile"] = function(n) core.regex.compile(("a?"):rep(n // 4), "g") end,
  ["core.draft.bind_thinking"] = function(n)
    local chat, list = ebb.conversation { encoding = "bytes4" }, {}
    local thought = { type = "thinking", thinking = "so", signature = "s" }
    for i = 1, n // 16 do list[i] = { role = "assistant", content = { thought, { type = "text", text = "x" } } } end
    chat:append(list)
    local draft = chat:draft { guards = false }
    core.draft.bind_thinking(draft, 1, #chat // 2, 0)
    for i = #chat, 1, -2 do draft:drop(i) end
    core.draft.settle(draft)
    core.draft.guarded(draft)
    core.draft.discard(draft)
  end,
  ["core.keywords"] = function(n)
    local texts, flags = {}, {}
    for i = 1, n // 4 do texts[i], flags[i] = ("a"):rep(i % 200) .. text_of(20) .. i, i % 4 end
    core.keywords(texts, flags)
  end,
  ["Keywords:find"] = function(n)
    local texts, flags = {}, {}
    for i = 1, 200 do texts[i], flags[i] = ("a-"):rep(i) .. "a", i % 4 end
    local set = core.keywords(texts, flags)
    for _, text in ipairs { ("a-"):rep(n), ("a"):rep(n), ("b"):rep(n), text_of(n) } do set:find(text, "a: ") end
  end,
  ["core.working.holding"] = function(n)
    local copies = { { role = "user", content = ("{"):rep(n) }, { role = "tool", content = text_of(n) } }
    for i = 3, n // 64 do copies[i] = { role = "user", content = { { type = "text", text = "text {" } } } end
    assert(#core.working.holding(copies, "{{{{x") == 0)
  end,
  ["core.working.spoken"] = function(n)
    local parts, copies = {}, {}
    for i = 1, n // 64 do
      parts[i] = { type = "text", text = "text" }
      copies[i] = { role = "user", content = i % 2 == 0 and (" "):rep(32) or "text" }
    end
    copies[#copies + 1] = { role = "user", name = text_of(n), content = parts }
    copies[#copies + 1] = { role = "user", content = text_of(n) }
    local said, texts, names = speech.of(copies, { user = "", assistant = "" }), {}, {}
    for i = 1, said.count do texts[i], names[i] = said:text(i) end
    assert(said:same(texts, names, 1, said.count) == said.count)
  end,
  ["Regex:matches"] = function(n) core.regex.compile("qu[a-z]+e", "g"):matches(text_of(n)) end,
}

--- Functions that are not in the tables above, and why.
local ELSEWHERE = {
  -- Public methods call these, and are measured.
  ["core.appended"] = "Conversation:recall", ["core.common"] = "ebb.replay",
  ["core.best_cuts"] = "ebb.replay", ["core.runs"] = "ebb.replay",
  ["core.counter.calibrated"] = "Conversation:trim",
  ["core.counter.plain"] = "Conversation:trim", ["core.counter.recount"] = "Conversation:recount",
  ["core.counter.tokens"] = "Conversation:tokens", ["core.draft.by"] = "Conversation:trim",
  ["core.draft.guarded"] = "core.draft.bind_thinking", ["core.draft.settle"] = "core.draft.bind_thinking",
  ["core.draft.commit"] = "Conversation:trim", ["core.draft.discard"] = "Conversation:trim",
  ["core.draft.info"] = "Conversation:trim", ["core.draft.insert_all"] = "ebb pipeline",
  ["core.draft.ledger"] = "Conversation:trim", ["core.draft.recall"] = "Conversation:trim",
  ["core.draft.refusals"] = "Conversation:trim", ["core.draft.remembered"] = "Conversation:trim",
  ["core.like"] = "ebb pipeline", ["core.repair"] = "Conversation:repaired", ["core.convert"] = "Conversation:write",
  ["core.own_form"] = "Conversation:json", ["core.may_lack_form"] = "Conversation:json",
  ["core.has_wrapped"] = "Conversation:json",     -- a look at each part
  ["ebb.list_json"] = "Conversation:json", ["core.bound_thinking"] = "Conversation:write",
  ["core.regex.set"] = "ebb rules",
  ["RegexSet:add"] = "ebb rules", ["RegexSet:apply"] = "ebb rules", ["RegexSet:begin"] = "ebb rules",
  ["RegexSet:count"] = "ebb rules", ["RegexSet:limit"] = "ebb rules",
  ["core.window.call"] = "Windows:render", ["core.window.count"] = "Windows:stats",
  ["core.window.get"] = "Windows:get", ["core.window.ids"] = "Windows:list", ["core.window.items"] = "Windows:render",
  ["core.window.messages"] = "Windows:render", ["core.window.owner"] = "Windows:get",
  ["core.window.put"] = "Windows:open", ["core.window.request_order"] = "Conversation:trim",
  ["core.window.rendered"] = "Windows:render", ["core.window.weigh"] = "Conversation:trim",
  ["core.working.copies"] = "ebb pipeline",
  ["core.working.fill"] = "ebb pipeline", ["core.working.text"] = "ebb pipeline",
  ["RegexSet:sweep"] = "ebb pipeline", ["core.working.parse"] = "ebb pipeline", ["core.working.seqs"] = "ebb pipeline",
  ["core.working.marks"] = "ebb pipeline", ["core.working.said"] = "core.working.spoken",
  ["core.working.same_speech"] = "core.working.spoken",
  ["ebb.body_model"] = "ebb pipeline",
  ["ebb.owner"] = "Conversation:check",
  ["ebb.load"] = "ebb count", ["ebb.state"] = "Conversation:state", ["ebb.transaction"] = "Conversation:apply",
  ["ebb.tokenizer"] = "ebb count",
  -- These have no input that can be lengthened, or only that of the system.
  ["core.root"] = "folders", ["Root:close"] = "folders", ["Root:read"] = "folders", ["core.sandbox.box_of"] = "fixed",
  ["core.sandbox.enter"] = "fixed", ["core.sandbox.limit"] = "fixed", ["core.sandbox.new"] = "fixed",
  ["core.rules"] = "fixed", ["core.sandbox.set_hint"] = "fixed", ["core.vocab.home"] = "fixed",
  ["ebb.limits"] = "fixed", ["core.charge"] = "fixed", ["core.cpu_seconds"] = "fixed", ["core.error"] = "fixed",
  ["core.is_error"] = "fixed", ["core.now"] = "fixed", ["core.type"] = "fixed",
  ["ebb.file_identity"] = "files",
  ["ebb.list_folder"] = "folders", ["ebb.make_folder"] = "folders", ["ebb.read_file"] = "files",
  ["ebb.stage_file"] = "files", ["ebb.target_key"] = "files", ["ebb.write_file"] = "files",
  -- These read a vocabulary, whose size is that of the encoding.
  ["core.vocab.build"] = "ebb vocab", ["core.vocab.describe"] = "ebb vocab", ["core.vocab.verify"] = "ebb vocab",
}

---- The gate ----

--- Acts on every shape of chat; `subject` makes what one works on, outside of the time.
local ON_CHATS = {}

local function on_chats(name, act, subject)
  ON_CHATS[#ON_CHATS + 1] = { name = name, act = act, subject = subject }
end

--- Acts on one shape of chat, so that few chats live at a time; each works on a fork.
local function check_shape(shape, acts)
  local made, failures = {}, {}
  for _, entry in ipairs(acts) do
    local ok, problem = pcall(gate.check, ("%s on %s"):format(entry.name, shape), N, function(n)
      made[n] = made[n] or chats[shape](n)
      local value = entry.subject(made[n]:fork())
      return gate.seconds(function() entry.act(value) end)
    end)
    if not ok then failures[#failures + 1] = tostring(problem) end
  end
  assert.equal("", table.concat(failures, "\n"))
end

local function self(value) return value end
local function draft_of(chat) return chat:draft { guards = false } end

local function window_of(chat)
  local windows = chat.windows
  return windows:get "w1" or windows:get "w" or windows:open { id = "w", content = "x", actions = { { id = "go" } } }
end

local function ledger_of(chat)
  chat:trim { budget = chat:tokens() // 2, guards = false }
  return chat:ledger() or chat:batch(0)
end

--- `others`: methods that are measured apart.
local function table_of(owner, acts, subject, others)
  local methods = {}
  for name in pairs(core.methods[owner]) do
    methods[name] = true
  end
  for _, name in ipairs(others or {}) do
    methods[name] = nil
  end
  it("knows every method of " .. owner, function()
    local named = {}
    for name in pairs(acts) do
      if not name:find("^%.") then named[name] = true end
    end
    assert.equal("", gate.difference(methods, named))
  end)
  for name, act in pairs(acts) do
    on_chats(owner .. (name:find "^%." and "" or ":") .. name, act, subject)
  end
end

local function merged(...)
  local all = {}
  for _, acts in ipairs { ... } do
    for name, act in pairs(acts) do
      all[name] = act
    end
  end
  return all
end

local function messages_of(chat)
  local list = {}
  for i, message in ipairs(chat) do
    list[i] = message
  end
  return list
end

local function on_each(acts)
  local all = {}
  for name, act in pairs(acts) do
    all[name] = function(messages)
      for _, message in ipairs(messages) do
        act(message)
      end
    end
  end
  -- One look at all items for each message: once.
  all[".obsolete"] = function(messages) return messages[1].obsolete end
  return all
end

describe("four times the input takes at most five times as long #time:", function()
  table_of("Conversation", merged(LISTS, CONVERSATIONS), self)
  table_of("Draft", merged(LISTS, DRAFTS), draft_of, { "run" })
  table_of("Batch", LISTS, function(chat) return chat:batch(0) end)
  table_of("Selection", SELECTIONS, function(chat) return chat:where { role = ROLES } end)
  table_of("Windows", WINDOWS, self)
  table_of("Window", WINDOW, window_of)
  table_of("Message", on_each(MESSAGES), messages_of)
  table_of("Ledger", LEDGERS, ledger_of)
  for name, body in pairs(BORROWED) do
    on_chats("a sandboxed policy: " .. name, function(chat)
      chat:trim { budget = chat:tokens() // 2, guards = false, policy = policy_text(body), limits = UNBOUND }
    end, self)
  end
  it("has every act of a draft in a sandbox", function()
    local named, all = {}, { run = true }
    for name in pairs(BORROWED) do named[name] = true end
    for name in pairs(DRAFTS) do all[name] = true end
    assert.equal("", gate.difference(all, named))
  end)
  --- The limiter's draft is over copies of the messages, which are made as they are read.
  for _, name in ipairs { "messages", "replace", "drop", "units" } do
    on_chats("a pipeline's sandboxed policy: " .. name, function(chat)
      ebb.pipeline {
        set = { "token-limiter.budget=" .. chat:tokens() // 2, "token-limiter.when_full=drop_history" },
        agent = { processors = { ["token-limiter"] = { policy = policy_text(BORROWED[name]) } } }, limits = UNBOUND,
      }:run(chat)
    end, self)
  end
  for name, act in pairs(POLICIES) do
    on_chats("trim by " .. name, act, self)
  end
  on_chats("Draft:run", function(chat)
    chat:trim { budget = chat:tokens() // 2, policy = function(draft) draft:run "keep_recent" end }
  end, self)
  on_chats("ebb.replay", function(chat)
    if chat:count "user" == 1 then return end      -- each request adds up all pending calls
    ebb.replay(chat, { policies = { "keep_recent" }, budget = 500 })
  end, self)

  for i, shape in ipairs(CHATS) do
    it("on " .. shape, function() check_shape(shape, helper.sample(ON_CHATS, 3, i)) end)
  end

  for name, act in pairs(FUNCTIONS) do
    local measure = act and it or pending
    measure(name, function()
      gate.check(name, N * 10, function(n) return gate.seconds(function() act(n) end) end)
    end)
  end

  --- A message in the target's form: what is dropped of it is looked up by part.
  for name, part in pairs {
    calls = '{"type":"tool_use","id":"c%d","name":"f","input":{}}',
    ["unsigned reasoning"] = '{"type":"thinking","thinking":"hm %d","signature":""}',
  } do
    it("Conversation:write of parts that are " .. name, function()
      gate.check(name, N * 10, function(n)
        local parts = {}
        for i = 1, n do parts[i] = part:format(i) end
        local chat = ebb.parse(('{"messages":[{"role":"assistant","content":[%s]}]}'):format(table.concat(parts, ",")))
        return gate.seconds(function() chat:write "anthropic" end)
      end)
    end)
  end

  it("ebb pipeline on a message whose parts name its attachments", function()
    local references = require "ebb.processors.references"
    gate.check("references", N * 10, function(n)
      local copy = { content = {}, _attachments = {} }
      for i = 1, n do
        copy.content[i] = { type = "asset_reference", assetId = "附" .. i }
        copy._attachments[i] = { id = "附" .. i, path = i .. ".png" }
      end
      return gate.seconds(function() references.take(copy) end)
    end)
  end)

  it("Conversation:json of a body to which messages of another form were added", function()
    gate.check("added", N, function(n)
      local chat, list = ebb.parse '{"contents":[{"role":"user","parts":[{"text":"q"}]}]}', {}
      for i = 1, n do
        local id = "c" .. i
        list[#list + 1] = { role = "assistant", tool_calls = { { id = id, type = "function",
          ["function"] = { name = "f", arguments = "{}" } } } }
        list[#list + 1] = { role = "tool", tool_call_id = id, content = "r", timestamp = i }
      end
      chat:append(list)
      return gate.seconds(function() chat:json() end)
    end)
  end)

  it("Conversation:write of a state with a mark for each message", function()
    gate.check("marks", N * 10, function(n)
      local chat = ebb.conversation()
      for i = 1, n do
        chat:append { role = "user", content = "m" }
        chat:mark(i, "mark " .. i)
      end
      return gate.seconds(function() chat:write "ebb" end)
    end)
  end)

  it("knows every bound function", function()
    local bound, named = {}, merged(FUNCTIONS, ELSEWHERE)
    for name in pairs(core.parameters) do
      local owner = name:match "^(%u%a+):"
      local is_stored = name:find "^[Ss]torage[.:]" ~= nil           -- session_complexity_spec.lua
      if not (is_stored or owner and core.methods[owner]) or owner == "Tokenizer" then bound[name] = true end
    end
    for name, value in pairs(core) do      -- what scripts never call has no parameters there
      local public = core.parameters["ebb." .. name] or core.parameters["core." .. name]
      if type(value) == "function" and not public and debug.getinfo(value, "S").what == "C" then
        bound["core." .. name] = true
      end
    end
    assert.equal("", gate.difference(bound, named))
  end)
end)
