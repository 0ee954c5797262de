--- Checks the values that replays count as lost: cases by hand, each value with its reason.

local helper = dofile "tests/lua/helper.lua"
local ebb, json = helper.ebb, helper.ebb.json

local leaves = require("ebb.replay.values").leaves
local runs = require("ebb.replay.values").runs
local labels = require "ebb.replay.labels"
local matcher = require "ebb.replay.matcher"

local function call(id, arguments)
  return { role = "assistant", content = json.null,
    tool_calls = { { id = id, type = "function", ["function"] = { name = "f", arguments = arguments } } } }
end

local function result(id, text)
  return { role = "tool", tool_call_id = id, content = text }
end

--- Every message counts 10 tokens.
local function recording(messages)
  local chat = ebb.conversation { counter = function() return 10 end }
  chat:append(messages)
  return chat
end

local function play(messages, policy, budget)
  local results = assert(ebb.replay(recording(messages), { policies = { policy }, budget = budget }))
  return results[2], results[1]
end

local function counts(sums)
  return { sums.total, sums.present, sums.labelled }
end

--- Drops all but the last message, and says this in its place.
local function saying(text)
  return function(draft)
    for i = #draft - 1, 1, -1 do
      draft:drop(i)
    end
    draft:insert(1, { role = "user", content = text })
  end
end

local TALK = {
  { role = "user", content = "Order 4711-X of B-12 please, it is for ann@x.org" },
  { role = "assistant", content = "Of course." },
  { role = "user", content = "Go on." },
  call("c1", '{"order": "4711-X", "to": "ann@x.org", "note": "as wished"}'),
  result("c1", '{"ticket": "T-0001", "order": "4711-X"}'),
  { role = "assistant", content = "Your ticket is T-0001 for 4711-X: see /help/T-9." },
}

describe("values of replies", function()
  it("are leaves of arguments: strings as they read, numbers as spelled, of three characters or more", function()
    assert.same({ "abc", "1.50", "-1e3", "a\"b\n", "名字的", "true" },
      leaves [[{"key": "abc", "n": [1.50, {"deep": -1e3}], "escaped": "a\"b\n", "short": "ab", "m": 12,
        "two": "名字", "three": "名字的", "flag": true, "none": null, "word": "true"}]])
    assert.same({ "whole" }, leaves '"whole"')
    assert.same({ '{"a": "inner"}' }, leaves [[{"query": "{\"a\": \"inner\"}"}]])
    assert.same({ "same", "same" }, leaves '{"a": "same", "a": "same"}')
  end)

  it("are none where arguments are not JSON", function()
    assert.same({}, leaves "order 4711")
    assert.same({}, leaves "")
    assert.same({}, leaves '{"order": "4711"')
  end)

  it("are runs of a text with a digit or one of / _ @ . in them", function()
    assert.same({ "B-12", "ann@x.org", "/a/b", "12:30", "snake_case", "e.g", "#42" },
      runs "the B-12, for ann@x.org. (/a/b) at 12:30: word snake_case e.g. well-known #42 a1 -- ...")
    assert.same({ "航班HAT001", "@名字" }, runs "您的：航班HAT001，从 @名字 @名")
  end)
end)

describe("labels", function()
  local function before(text, value)
    return labels.before(labels.words(text), (text:find(value, 1, true)))
  end

  it("are the nearest word without a digit before a value", function()
    assert.equal("id", before('{"id": "X-1"}', "X-1"))
    assert.equal("flights", before('{"flights": ["HAT1", "HAT2"]}', "HAT2"))
    assert.equal("reservation", before("your reservation X-1", "X-1"))
    assert.equal("b", before([["{\"a\": 1, \"b\": \"X-1\"}"]], "X-1"))
    assert.equal("HAT", before("flight HAT001", "001"))
    assert.equal("flight", before("flight 9HAT001", "001"))
  end)

  it("are none at the beginning, and beyond 400 characters", function()
    assert.is_nil(before("X-1 is it", "X-1"))
    assert.is_nil(before("12 X-1", "X-1"))
    assert.equal("e", before("here" .. ("-"):rep(399) .. "X-1", "X-1"))
    assert.is_nil(before("here" .. ("-"):rep(400) .. "X-1", "X-1"))
    assert.equal("re", before("here" .. ("\u{2014}"):rep(398) .. "X-1", "X-1"))
  end)

  it("are two characters of Chinese", function()
    assert.equal("单号", before("您好，订单号：X-1。", "X-1"))
  end)
end)

describe("the matcher", function()
  it("finds what string.find finds, at every place", function()
    local seed = helper.seed()
    math.randomseed(seed)
    local function word(length)
      return (("x"):rep(length):gsub("x", function() return ("ab"):sub(math.random(2)):sub(1, 1) end))
    end
    for _ = 1, 200 do
      local texts, is_in = {}, {}
      for _ = 1, 8 do
        local text = word(math.random(6))
        if math.random(9) == 1 then text = word(70) end
        if not is_in[text] then texts[#texts + 1], is_in[text] = text, true end
      end
      local text = word(60) .. texts[1] .. word(40) .. texts[#texts]
      local expected, places = {}, {}
      for number, wanted in ipairs(texts) do
        local at = text:find(wanted, 1, true)
        while at do
          expected[number .. " " .. at] = true
          at = text:find(wanted, at + 1, true)
        end
      end
      matcher.scan(matcher.new(texts), text, function(number, first) places[number .. " " .. first] = true end)
      assert.same(expected, places, "seed " .. seed)
    end
  end)
end)

describe("recall", function()
  -- 25 tokens are too few for the requests of the call and of the last text: what they use of the history are
  -- 4711-X and ann@x.org; T-0001 and 4711-X. "as wished" and /help/T-9 were never said.
  local BUDGET = 25

  it("counts what was said before and is in the request", function()
    local kept, none = play(TALK, saying "order 4711-X", BUDGET)
    assert.same({ { 2, 2, 2 }, { 2, 2, 2 } }, { counts(none.arguments), counts(none.values) })
    assert.same({ 1, 1, 1 }, { none.recall_arguments, none.recall_values, none.recall_labelled })
    -- when it was called, the history said "Order 4711-X", not "order"; the last request lost T-0001 with the result
    assert.same({ { 2, 1, 0 }, { 2, 1, 1 } }, { counts(kept.arguments), counts(kept.values) })
    assert.same({ 0.5, 0.5, 0.25 }, { kept.recall_arguments, kept.recall_values, kept.recall_labelled })
  end)

  it("differs for a digest without labels", function()
    local with = play(TALK, saying "Order 4711-X for ann@x.org, ticket: T-0001", BUDGET)
    local without = play(TALK, saying "- 4711-X; ann@x.org; T-0001", BUDGET)
    assert.same({ 1, 1, 1 }, { with.recall_arguments, with.recall_values, with.recall_labelled })
    assert.same({ 1, 1, 0 }, { without.recall_arguments, without.recall_values, without.recall_labelled })
  end)

  it("names what was lost, and what lost its label", function()
    local kept = play(TALK, saying "order 4711-X", BUDGET)
    assert.same({
      { reply = 4, use = "argument", value = "4711-X", message = 1, present = true },
      { reply = 4, use = "argument", value = "ann@x.org", message = 1, present = false },
      { reply = 6, use = "value", value = "T-0001", message = 5, present = false },
    }, { table.unpack(kept.losses) })
  end)

  it("does not count what only the reply itself says", function()
    local alone = { TALK[1], TALK[2], TALK[3], { role = "assistant", content = "Take Z-9 and Z-9." }, TALK[3],
      { role = "assistant", content = "Z-9 it is." } }
    local kept, none = play(alone, "keep_recent", BUDGET)
    assert.equal(1, none.values.total)      -- the last reply's, which the one before it said
    assert.same({ 1, 1, 1 }, counts(kept.values))
    local lost = play(alone, saying "nothing", BUDGET)
    assert.same({ 1, 0, 0 }, counts(lost.values))
  end)

  it("takes no word before a value for the label that it is", function()
    local alone = { TALK[3], TALK[2], { role = "user", content = "T-0001" },
      { role = "assistant", content = "T-0001!" } }
    local kept, none = play(alone, "keep_recent", BUDGET)
    assert.same({ { 1, 1, 1 }, { 1, 1, 1 } }, { counts(none.values), counts(kept.values) })
    assert.same({ 1, 1, 1 }, counts(play(alone, saying "it is T-0001", BUDGET).values))   -- the last message says it
  end)

  it("counts a refused request as one that holds nothing", function()
    local function refuses() end
    local refused, none = play(TALK, refuses, BUDGET)
    assert.equal(2, refused.refusals)
    assert.same({ { none.arguments.total, 0, 0 }, { none.values.total, 0, 0 } },
      { counts(refused.arguments), counts(refused.values) })
    assert.equal(0, refused.recall_values)
  end)

  it("counts only requests for which something had to go", function()
    local roomy, none = play(TALK, "keep_recent", 1000)
    assert.same({ { 0, 0, 0 }, { 0, 0, 0 } }, { counts(roomy.arguments), counts(none.values) })
    assert.is_nil(roomy.recall_arguments)
    assert.is_nil(none.recall_labelled)
  end)

  --- Drops, replaces and inserts at random; what it inserted may go again.
  local function at_random(draft)
    for _ = 1, 4 do
      local i, text = math.random(#draft), ("id: V-%d0 and V-%d0"):format(math.random(9), math.random(9))
      local edit = math.random(3)
      if edit == 1 and #draft > 1 then draft:drop(i)
      elseif edit == 2 and draft[i].role == "user" then draft:replace(i, { content = text })
      else draft:insert(i, { role = "user", content = text }) end
    end
    draft:drop_oldest { to = 40 }
  end

  local function contains(texts, value)
    for _, text in ipairs(texts) do
      if text:find(value, 1, true) then return true end
    end
    return false
  end

  --- The counts by searching each history and each request as a whole.
  local function plain(messages, sent)
    local said, held = 0, 0
    for _, request in ipairs(sent) do
      local history, list = {}, {}
      for i = 1, request.reply - 1 do history[i] = messages[i].content end
      for i, message in ipairs(request.messages) do list[i] = json.decode(message).content end
      local set = {}
      for _, value in ipairs(request.over and runs(messages[request.reply].content) or {}) do
        set[value] = true
      end
      for value in pairs(set) do
        said = said + (contains(history, value) and 1 or 0)
        held = held + (contains(history, value) and contains(list, value) and 1 or 0)
      end
    end
    return { said, held }
  end

  it("agrees with a search of whole requests, whatever a policy edits", function()
    local seed = helper.seed()
    math.randomseed(seed)
    for _ = 1, 30 do
      local messages, sent = {}, {}
      for i = 1, 40 do
        local content = ("id: V-%d0, V-%d0"):format(math.random(9), math.random(9))
        messages[i] = { role = i % 2 == 0 and "assistant" or "user", content = content }
      end
      local results = assert(ebb.replay(recording(messages), { policies = { at_random }, budget = 60, guards = false,
        requests = function(request) if request.policy ~= "none" then sent[#sent + 1] = request end end }))
      assert.same(plain(messages, sent), { results[2].values.total, results[2].values.present }, "seed " .. seed)
    end
  end)

  it("counts the system text of a body as a part of every request", function()
    local body = { system = "Agent of Desk-7.", max_tokens = 9, messages = {
      { role = "user", content = "Who are you?" }, { role = "assistant", content = "An agent." },
      { role = "user", content = "Of which desk?" }, { role = "assistant", content = "Desk-7." } } }
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(json.encode(body))
    file:close()
    local chat = assert(ebb.load(path))
    os.remove(path)
    local results = assert(ebb.replay(chat, { budget = chat:tokens() - chat[4].tokens - 1 }))
    assert.same({ 1, 1, 1 }, counts(results[2].values))
  end)
end)

describe("requests of a replay", function()
  it("are handed out as they were sent", function()
    local list = {}
    local results = assert(ebb.replay(recording(TALK), { policies = { "keep_recent" }, budget = 25,
      requests = function(request) list[#list + 1] = request end }))
    assert.equal(6, #list)
    local tokens = 0
    for i = 4, 6 do
      local request = list[i]
      assert.same({ "keep_recent", i - 3, 25, false },
        { request.policy, request.number, request.budget, request.refused })
      assert.equal(request.tokens, 10 * #request.messages)
      tokens = tokens + request.tokens
    end
    assert.equal(results[2].sent, tokens)
    assert.same({ 2, 4, 6 }, { list[1].reply, list[2].reply, list[3].reply })
    assert.same({ false, true, true }, { list[4].over, list[5].over, list[6].over })
    assert.same({ 10, 30, 50 }, { list[4].before, list[5].before, list[6].before })
    assert.equal(TALK[3].content, json.decode(list[5].messages[#list[5].messages]).content)
  end)
end)
