--- Repairs of random histories whose calls and results are apart, in every dialect, own or converted, both ways. The
--- history knows which result every call has: it is made in order first, then taken apart. HISTORIES says how many,
--- SEED which ones; a failure names the one history to run again.

local helper = dofile "tests/lua/helper.lua"
local pairs_of = dofile "tests/lua/written_pairs.lua"
local ebb = helper.ebb
local json = require("ebb.support.core").json
local request = require "ebb.request"

local HISTORIES = math.tointeger(tonumber(os.getenv "HISTORIES" or "150"))
local SEED = helper.seed()
local NO_RESULT = "Error: this call has no result."
local DIALECTS = { "openai", "responses", "anthropic", "gemini" }

local function chance(n) return math.random(n) == 1 end

---- Histories ----

-- An event: {say = "user"}, {calls = {call ..}} or {result = text, of = call}. A call: {n, id?, name}.

--- Ids for the calls of a history: every id once, some of them refused; ids again in each exchange; none.
local IDS = {
  once = function(n) return chance(4) and ("c %d.x"):format(n) or "c" .. n end,
  again = function(_, k) return "id" .. k end,
  empty = function() return "" end,
  absent = function() return nil end,
}

local function add_calls(events, calls)
  local split = chance(3)
  for i = 1, split and #calls or 1 do
    events[#events + 1] = { calls = split and { calls[i] } or calls }
  end
end

--- An exchange, with users between its results; the last calls may lack one.
local function add_exchange(history, kind)
  local events, calls, n = history.events, {}, history.n
  for k = 1, math.random(3) do
    n = n + 1
    calls[k] = { n = n, id = IDS[kind](n, k), name = "f" }
  end
  history.n = n
  add_calls(events, calls)
  local answered = chance(4) and math.random(0, #calls - 1) or #calls
  for k = 1, answered do
    if chance(4) then events[#events + 1] = { say = "hurry" } end
    history.expected[calls[k].n] = "r" .. calls[k].n
    events[#events + 1] = { result = "r" .. calls[k].n, of = calls[k] }
  end
  for k = answered + 1, #calls do
    history.unanswered[#history.unanswered + 1] = calls[k].n
  end
  if answered < #calls then events[#events + 1] = { say = "stop" } end      -- else the next calls are parallel ones
end

--- Puts results elsewhere, before their calls too, and copies of them after: their ids tell whose they are.
local function scatter(events)
  for _ = 1, math.random(0, 4) do
    local from = math.random(#events)
    if events[from].result and not events[from].copy then
      local event = table.remove(events, from)
      local to = math.random(2, #events)
      table.insert(events, to, event)
    end
  end
  for _ = 1, math.random(0, 2) do
    local from = math.random(#events)
    local event = events[from]
    if event.result and event.behind ~= false and not event.copy then
      events[#events + 1] = { say = "again" }
      events[#events + 1] = { result = "copy", of = event.of, copy = true }
    end
  end
end

--- A copy counts as the nearest result where the result itself precedes the call.
local function expect_nearest(history)
  local called, seen = {}, {}
  for _, event in ipairs(history.events) do
    for _, call in ipairs(event.calls or {}) do
      called[call.n] = true
    end
    local n = event.result and event.of.n
    if n and called[n] and not seen[n] then history.expected[n] = event.result end
    if n and called[n] then seen[n] = true end
  end
end

local function random_history()
  local kind = ({ "once", "once", "again", "empty", "absent" })[math.random(5)]
  local history = { events = { { say = "ask" } }, expected = {}, unanswered = {}, n = 0 }
  for _ = 1, math.random(4) do
    add_exchange(history, kind)
    if chance(2) then history.events[#history.events + 1] = { say = "next" } end
  end
  if kind == "once" then
    scatter(history.events)
    expect_nearest(history)
  end
  history.events[#history.events + 1] = { say = "thanks" }
  return history
end

---- Forms ----

local write = {}

function write.openai(event)
  if event.say then return { role = "user", content = event.say } end
  if event.result then return { role = "tool", tool_call_id = event.of.id, content = event.result } end
  local calls = {}
  for i, call in ipairs(event.calls) do
    calls[i] = { id = call.id, type = "function",
      ["function"] = { name = call.name, arguments = ('{"n":%d}'):format(call.n) } }
  end
  return { role = "assistant", content = "", tool_calls = calls }
end

function write.responses(event)
  if event.say then return { role = "user", content = event.say } end
  if event.result then
    return { type = "function_call_output", call_id = event.of.id or "", output = event.result }
  end
  local items = {}
  for i, call in ipairs(event.calls) do
    items[i] = { type = "function_call", call_id = call.id or "", name = call.name,
      arguments = ('{"n":%d}'):format(call.n) }
  end
  return table.unpack(items)
end

function write.anthropic(event)
  if event.say then return { role = "user", content = event.say } end
  if event.result then
    return { role = "user", content = { { type = "tool_result", tool_use_id = event.of.id or "",
      content = event.result } } }
  end
  local parts = {}
  for i, call in ipairs(event.calls) do
    parts[i] = { type = "tool_use", id = call.id or "", name = call.name, input = { n = call.n } }
  end
  return { role = "assistant", content = parts }
end

function write.gemini(event)
  if event.say then return { role = "user", parts = { { text = event.say } } } end
  if event.result then
    return { role = "user", parts = { { functionResponse = { id = event.of.id, name = event.of.name,
      response = { output = event.result } } } } }
  end
  local parts = {}
  for i, call in ipairs(event.calls) do
    parts[i] = { functionCall = { id = call.id, name = call.name, args = { n = call.n } } }
  end
  return { role = "model", parts = parts }
end

--- Puts some user messages with lists into the one before: results of several calls, and words after them.
local function join_some(list, member)
  local joined = {}
  for _, message in ipairs(list) do
    local last = joined[#joined]
    local both = last and last.role == "user" and message.role == "user" and type(last[member]) == "table"
      and type(message[member]) == "table"
    if both and chance(2) then
      for _, part in ipairs(message[member]) do
        table.insert(last[member], part)
      end
    else
      joined[#joined + 1] = message
    end
  end
  return joined
end

local function form_of(history, dialect)
  local list = {}
  for _, event in ipairs(history.events) do
    for _, message in ipairs { write[dialect](event) } do
      list[#list + 1] = message
    end
  end
  local member = dialect == "anthropic" and "content" or dialect == "gemini" and "parts"
  return json.encode(member and join_some(list, member) or list)
end

---- What must hold ----

local function bodies(chat)
  local list = {}
  for i = 1, #chat do
    list[i] = chat[i].json
  end
  return "[" .. table.concat(list, ",") .. "]"
end

local function expected_of(history, way)
  local expected = {}
  for n, text in pairs(history.expected) do
    expected[n] = text
  end
  for _, n in ipairs(way == "synthesize" and history.unanswered or {}) do
    expected[n] = NO_RESULT
  end
  return expected
end

--- Returns per message the ids that it answers, and its unit.
local function links_of(chat)
  local links = {}
  for i = 1, #chat do
    local unit = chat[i].unit
    links[i] = ("%s; %d, %d of them"):format(table.concat(chat[i].answers, ","), unit.first, unit.count)
  end
  return links
end

--- The calls and results that messages with the mark say: "n" and "rn".
local function marked(chat)
  local found = {}
  for i = 1, #chat do
    local json_text = #chat[i].marks > 0 and chat[i].json or ""
    for n in json_text:gmatch 'n\\*":(%d+)' do
      found[n] = true
    end
    for text in json_text:gmatch '"(r%d+)"' do
      found[text] = true
    end
  end
  return found
end

local function mark_some(chat)
  for i = 1, #chat do
    if chance(4) then chat:mark(chat[i], "pinned") end
  end
end

--- Checks that marked messages which are still there are marked; links are those of a list that is read anew.
local function check_rest(chat, copy, found, what)
  local has = marked(copy)
  for said in pairs(marked(chat)) do
    local n = math.tointeger(tonumber((said:gsub("r", ""))))
    local stays = said:find "r" and found.results[n] == said or said == tostring(n) and found.results[n]
    assert.truthy(has[said] or not stays, ("%s lost its mark; %s"):format(said, what))
  end
  local links = links_of(copy)
  assert.same(links_of(assert(ebb.parse(bodies(copy)))), links, what)
  local saved = assert(ebb.parse((copy:write "ebb")))
  assert.same({ links, has }, { links_of(saved), marked(saved) }, what)
end

--- Checks that all losses are told: each call without a result, and each result that no call has, or another one has.
local function check_losses(chat, copy, history, way, lost, what)
  local counts = { lost_call = 0, lost_result = 0, lost_orphan = 0 }
  for _, loss in ipairs(lost) do
    counts[loss.code] = counts[loss.code] + 1
    assert.truthy(loss.index and loss.index <= #chat, what)
  end
  local function fewer(pattern)
    return select(2, bodies(chat):gsub(pattern, "")) - select(2, bodies(copy):gsub(pattern, ""))
  end
  local gone, told = fewer '"r%d+"', counts.lost_result + counts.lost_orphan
  assert.equal(way == "drop" and #history.unanswered or 0, counts.lost_call, what)
  assert.truthy(gone <= told and told <= gone + fewer '"copy"', what)
end

local function check_repair(chat, history, dialect, way)
  local copy, report = chat:repaired { dialect = dialect, calls = way }
  local text = bodies(copy)
  local what = ("%s, %s: from %s to %s"):format(dialect, way, bodies(chat), text)
  assert.same({}, report.left, what)
  -- Gemini counts responses: by their ids two contents may have each other's, and nothing is refused.
  if dialect == "gemini" and not report.ledger then return end
  local found = pairs_of(text, dialect)
  assert.same(expected_of(history, way), found.results, what)
  assert.same({ 0, 0 }, { found.orphans, found.unanswered }, what)
  check_rest(chat, copy, found, what)
  check_losses(chat, copy, history, way, report.lost, what)
  local again, nothing = assert(ebb.parse(text)):repaired { dialect = dialect, calls = way }
  assert.equal(text, bodies(again))
  assert.is_nil(nothing.ledger)
end

local function check_history(history)
  for _, dialect in ipairs(DIALECTS) do
    local own = assert(ebb.parse(form_of(history, dialect)))
    mark_some(own)
    for _, way in ipairs { "drop", "synthesize" } do
      check_repair(own, history, dialect, way)
    end
  end
  local chat = assert(ebb.parse(form_of(history, "openai")))
  for i = 2, #DIALECTS do
    local text = assert(request.change(chat, "openai", DIALECTS[i], {}))
    check_repair(assert(ebb.parse(text)), history, DIALECTS[i], chance(2) and "drop" or "synthesize")
  end
end

describe("random calls and results that are apart", function()
  it("are all there after a repair, each with its own, its marks and links; the second repair finds nothing", function()
    for i = 1, HISTORIES do
      math.randomseed(SEED + i)
      local ok, problem = pcall(check_history, random_history())
      if not ok then
        error(("%s\nHISTORIES=1 SEED=%d"):format(type(problem) == "table" and problem.message or tostring(problem),
          SEED + i - 1), 0)
      end
    end
  end)
end)
