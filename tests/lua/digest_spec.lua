--- The policy digest: what its note shows, where it is, and when it changes.

local gate = dofile "tests/lua/growth_gate.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local HEADING = "[From earlier messages, newest first]"
local ORDER = '{"order": {"id": "W-2041", "total": 92164, "items": [{"sku": "SKU7", "price": "12.50"}]}}'

local function call(id, name, arguments)
  return { role = "assistant", content = ebb.null, tool_calls = {
    { id = id, type = "function", ["function"] = { name = name, arguments = arguments } } } }
end

local function result(id, content) return { role = "tool", tool_call_id = id, content = content } end

local function conversation(messages)
  local chat = ebb.conversation { encoding = "bytes4" }
  chat:append(messages)
  return chat
end

--- Messages, and after them texts of a size that pushes them out.
local function pushed_out(messages, filler)
  for i = 1, 12 do
    messages[#messages + 1] = { role = i % 2 == 1 and "user" or "assistant", content = ("ok "):rep(filler or 60) }
  end
  return conversation(messages)
end

--- The lines of the note of a chat, by label; nil if there is none.
local function note_of(chat)
  for i = 1, #chat do
    local text = chat[i].role ~= "tool" and chat[i].text or ""
    if text:sub(1, #HEADING) == HEADING then
      local lines = {}
      for label, values in text:gmatch "\n([^\n]-): ([^\n]*)" do lines[label] = values end
      return lines, i, text
    end
  end
end

local function trimmed(messages, options, budget)
  local chat = pushed_out(messages)
  options = options or {}
  options[1] = "digest"
  assert(chat:trim { budget = budget or 500, policy = options })
  return chat
end

describe("The note of a digest in a short chat", function()
  -- messages, budget in tokens of four bytes, what the next call needs
  local rows = {
    { { { role = "user", content = "How much is 300 pounds in yen?" },
      call("c1", "exchange", '{"sum":300,"source":"GBP","target":"JPY"}'),
      result("c1", '{"sum": 58210.0, "source": "GBP", "target": "JPY"}'),
      { role = "assistant", content = "300 pounds are about 58210 yen." },
      { role = "user", content = "And 70 pounds more, please?" } }, 60, { "GBP", "JPY" } },
    { { { role = "user", content = "Is there a table for two at Nona tonight?" },
      call("c1", "find_table", '{"place":"NONA-7","guests":2,"day":"2026-03-04"}'),
      result("c1", '{"place": "NONA-7", "slots": ["19:15", "21:30"], "deposit": 20, "smoking": false}'),
      { role = "assistant", content = "Yes, at a quarter past seven or half past nine." },
      { role = "user", content = "The later one please." } }, 75, { "NONA-7", "21:30" } },
  }
  for i, row in ipairs(rows) do
    for _, policy in ipairs { "digest", "agent" } do
      it(("has what the budget leaves free: chat %d, %s"):format(i, policy), function()
        local chat = ebb.conversation { encoding = "bytes4" }
        chat:append(row[1])
        assert.is_true(chat:tokens() > row[2])

        assert(chat:trim { budget = row[2], policy = policy })

        for _, value in ipairs(row[3]) do
          assert.truthy(chat:json():find(value, 1, true), value)
        end
      end)
    end
  end

  it("has no tokens where its share is 0", function()
    local chat = ebb.conversation { encoding = "bytes4" }
    chat:append(rows[1][1])
    assert(chat:trim { budget = 60, policy = { "digest", share = 0 } })
    assert.falsy(chat:json():find("GBP", 1, true))
  end)
end)

describe("The note of a digest", function()
  local rows = {
    { "values of JSON by their keys", { call("c1", "get_order", "{}"), result("c1", ORDER) },
      { ["order.id"] = "W-2041", ["order.total"] = "92164", sku = "SKU7", ["items.price"] = "12.50" } },
    { "a key with digits in it is a value", { call("c1", "get_user", "{}"),
      result("c1", '{"cards": {"card_81": {"brand": "visa"}, "card_99": {"brand": "amex"}}}') },
      { cards = "card_81 card_99", brand = "visa amex" } },
    { "a field's name with a digit is none", { call("c1", "get_user", "{}"),
      result("c1", '{"home": {"line2": "Suite 942", "sha256": "ab12cd"}, "dates": {"2024-05-21": {"seats": 100}}}') },
      { line2 = '"Suite 942"', sha256 = "ab12cd", dates = "2024-05-21", seats = "100" } },
    { "numbers as they were written", { call("c1", "rate", "{}"),
      result("c1", '{"rate": 1.250, "big": 12345678901234567890}') },
      { rate = "1.250", big = "12345678901234567890" } },
    { "arguments of calls", { call("c1", "track", '{"parcel_id": "PX-77"}'), result("c1", "lost") },
      { parcel_id = "PX-77" } },
    { "JSON that was cut off", { call("c1", "get", "{}"),
      result("c1", '{"file": {"path": "/srv/a.txt", "note": "unfini') },
      { ["file.path"] = "/srv/a.txt" } },
    { "values of prose with the words before them", { { role = "user",
      content = "My user id is ann_7. Mail ann@example.com before 2026-11-23, see src/main.c and getUserName." } },
      { ["id is"] = "ann_7", Mail = "ann@example.com", ["before"] = "2026-11-23", see = "src/main.c",
        ["and"] = "getUserName" } },
    { "names and quotes of prose", {
      { role = "user", content = 'The flight is for Mei Kovac, the book "Blue Door".' } },
      { ["is for"] = '"Mei Kovac"', ["the book"] = '"Blue Door"' } },
    { "values of a list under one label", { { role = "assistant", content = "Reservations:\n- JG7FMM\n- LQ940Q" } },
      { Reservations = "JG7FMM LQ940Q" } },
    { "Chinese prose", { { role = "user", content = "您好，我的订单号是W-2041，请寄到“长安街九号”。" } },
      { ["您好"] = "我的订单号是W-2041", ["请寄到"] = "长安街九号" } },
  }
  for _, row in ipairs(rows) do
    it("shows " .. row[1], function()
      local lines = assert(note_of(trimmed(row[2])))
      for label, values in pairs(row[3]) do
        assert.equal(values, lines[label], label)
      end
    end)
  end

  it("shows no value twice and none that the list still shows", function()
    local chat = pushed_out { { role = "user", content = "Orders A-100, A-200 and again A-100." } }
    chat:append { role = "user", content = "And A-200?" }
    assert(chat:trim { budget = 500, policy = "digest" })
    local _, _, text = note_of(chat)

    assert.truthy(text:find("A-100", 1, true))
    assert.is_nil(text:find("A-100.*A%-100"))
    assert.is_nil(text:find("A-200", 1, true))
    assert.equal("And A-200?", chat[#chat].content)
  end)

  it("does not take a part of a number for the number", function()
    local chat = pushed_out { { role = "user", content = "It is number 4821." } }
    chat:append { role = "user", content = "And 14821?" }
    assert(chat:trim { budget = 500, policy = "digest" })
    assert.equal("4821", note_of(chat)["is number"])
  end)

  it("writes values with spaces or quotes so that they are read back", function()
    local chat = pushed_out { call("c1", "get", "{}"),
      result("c1", '{"place": "Oslo, Norway", "motto": "say \\"aye\\""}') }
    assert(chat:trim { budget = 500, policy = "digest" })
    local lines = note_of(chat)
    assert.equal('"Oslo, Norway"', lines.place)
    chat:append(helper.messages("u1 a1"))
    for _ = 1, 12 do chat:append { role = "user", content = ("no "):rep(60) } end
    assert(chat:trim { budget = 500, policy = "digest" })
    local after = note_of(chat)
    assert.equal('"Oslo, Norway"', after.place)
    assert.equal([["say \"aye\""]], after.motto)
  end)

  it("prefers what results name that are still to be answered", function()
    local said, parcels, shown = {}, {}, {}
    for i = 1, 24 do said[i] = ("AX-%d"):format(100 + i) end
    for i = 1, 12 do parcels[i] = ('{"parcel": "PX-%d"}'):format(500 + i) end
    local question, asked = { role = "user", content = "And now?" }, call("c1", "list", "{}")
    local answer = result("c1", "[" .. table.concat(parcels, ", ") .. "]")
    for i, order in ipairs { { question, asked, answer }, { asked, answer, question } } do
      local chat = conversation { { role = "user", content = "Look, please." },
        { role = "assistant", content = "Orders: " .. table.concat(said, ", ") } }
      chat:append(order)
      chat:append { call("c2", "wait", "{}"), result("c2", ("ok "):rep(300)) }
      assert(chat:trim { budget = 270, policy = { "digest", share = 0.2 } })
      local _, _, text = note_of(chat)
      _, shown[i] = text:gsub("PX%-", "")
    end
    assert.is_true(shown[1] > 2 * shown[2], table.concat(shown, " and "))
  end)

  it("has at most its share of the budget, and most tokens", function()
    local messages = {}
    for i = 1, 100 do messages[i] = { role = "user", content = ("order X-%d for user_%d"):format(i * 37, i) } end
    for _, row in ipairs { { 0.12, 4000, 72 }, { 0.3, 4000, 180 }, { 0.3, 50, 50 } } do
      local chat = conversation(messages)
      assert(chat:trim { budget = 600, policy = { "digest", share = row[1], most = row[2] } })
      local _, at = note_of(chat)
      assert.is_true(chat[at].tokens <= row[3])
      assert.is_true(chat[at].tokens > row[3] * 0.7)
      assert.is_true(chat:tokens() <= 600)
    end
    local chat = conversation(messages)
    assert(chat:trim { budget = 600, policy = { "digest", share = 0 } })
    assert.is_nil(note_of(chat))
  end)

  it("takes its role and language from the options", function()
    local chat = trimmed({ { role = "user", content = "order W-2041" } }, { role = "assistant", language = "zh" })
    assert.equal("assistant", chat[1].role)
    assert.truthy(chat[1].content:find "较早的消息")
  end)

  it("is where the oldest messages went, after a task an assistant's", function()
    local messages = { { role = "system", content = "You help." }, { role = "user", content = "Mend build.lua." } }
    for i = 1, 20 do
      messages[#messages + 1] = call("c" .. i, "read", ('{"path": "src/file_%d.lua"}'):format(i))
      messages[#messages + 1] = result("c" .. i, ("line "):rep(30))
    end
    local chat = conversation(messages)
    assert(chat:trim { budget = 500, policy = "digest" })

    local _, at = note_of(chat)
    assert.equal(3, at)
    assert.equal("assistant", chat[at].role)
    assert.equal("Mend build.lua.", chat[2].content)
    assert.same({}, chat:check "openai")

    chat:append { { role = "assistant", content = "Done." }, { role = "user", content = ("And now this. "):rep(60) } }
    local report = assert(chat:trim { budget = 500, policy = "digest" })
    local lines, place = note_of(chat)
    assert.equal(1, place - 1)
    assert.equal("user", chat[place].role)
    assert.equal(1, report.inserted)
    assert.truthy(lines.path:find("src/file_19.lua", 1, true), lines.path)
  end)

  it("is an assistant's where there is no user message, which would be guarded as the last one", function()
    local messages = {}
    for i = 1, 20 do messages[i] = { role = "assistant", content = ("step %d of W-%d "):format(i, i * 71):rep(10) } end
    local chat = conversation(messages)
    assert(chat:trim { budget = 400, policy = "digest" })
    local _, at = note_of(chat)
    assert.equal("assistant", chat[at].role)
  end)
end)

describe("A digest over time", function()
  --- Turns with an order each, trimmed before each answer: the requests' texts.
  local function requests(turns, trim)
    local chat, texts = conversation { { role = "system", content = "You help." } }, {}
    for i = 1, turns do
      chat:append { role = "user", content = ("What of order W-%d, please?"):format(i * 7919) }
      texts[i] = trim(chat)
      chat:append { call("c" .. i, "get_order", ('{"order_id": "W-%d"}'):format(i * 7919)),
        result("c" .. i, ('{"order_id": "W-%d", "customer": "cust_%d"}'):format(i * 7919, i)) }
      chat:append { role = "assistant", content = "It is on its way." }
    end
    return texts, chat
  end

  --- Counts how often the first messages, the system's and the note, change from one request to the next.
  local function changes(texts)
    local count = 0
    for i = 2, #texts do
      if texts[i][2] ~= texts[i - 1][2] then count = count + 1 end
    end
    return count
  end

  local function contents(chat)
    local list = {}
    for i = 1, #chat do list[i] = chat[i].text end
    return list
  end

  it("changes where a cut is made and nowhere else", function()
    local texts = requests(120, function(chat)
      assert(chat:trim { budget = 700, policy = "digest" })
      return contents(chat)
    end)
    assert.is_true(changes(texts) <= 26, changes(texts))
    assert.is_true(changes(texts) >= 5)
  end)

  it("holds that, too, for a whole history that is trimmed anew for each request", function()
    local texts = requests(120, function(chat)
      local view = chat:fork()
      assert(view:trim { budget = 700, policy = "digest" })
      return contents(view)
    end)
    assert.is_true(changes(texts) <= 40, changes(texts))
  end)

  it("keeps one note, which says what earlier ones said", function()
    local _, chat = requests(40, function(chat) assert(chat:trim { budget = 700, policy = "digest" }) end)
    local count = 0
    for i = 1, #chat do
      if chat[i].text:sub(1, #HEADING) == HEADING then count = count + 1 end
    end
    assert.equal(1, count)
  end)

  --- The texts of the notes after each of some cuts; each turn names one more order.
  local function notes(turns, budget)
    local texts, last = {}, nil
    requests(turns, function(chat)
      assert(chat:trim { budget = budget, policy = { "digest", share = 0.5 } })
      local _, _, text = note_of(chat)
      if text and text ~= last then texts[#texts + 1], last = text, text end
    end)
    return texts
  end

  it("grows at its end while there is room", function()
    local texts = notes(120, 1400)
    assert.is_true(#texts >= 3, #texts)
    for i = 2, 3 do
      assert.equal(texts[i - 1] .. "\n[Later messages]\n", texts[i]:sub(1, #texts[i - 1] + 18))
    end
    local seen = {}
    for value in texts[3]:gmatch "W%-%d+" do
      assert.is_nil(seen[value], value)
      seen[value] = true
    end
    assert.truthy(seen["W-7919"])
  end)

  it("is written anew where the room is full, or where the list shows a value of it again", function()
    local texts = notes(120, 700)
    assert.is_nil(texts[#texts]:find("[Later messages]", 1, true) and texts[#texts]:find("W-7919", 1, true))
    local chat = pushed_out { { role = "user", content = "orders W-2041 and W-2042" } }
    local more = { role = "user", content = ("more "):rep(60) }
    assert(chat:trim { budget = 500, policy = "digest" })
    for _ = 1, 6 do chat:append(more) end
    chat:append { { role = "user", content = "W-2041, is it there?" }, { role = "assistant", content = "yes" } }
    assert(chat:trim { budget = 500, policy = { "digest", keep = 2 } })
    local lines, _, text = note_of(chat)
    assert.is_nil(text:find("W-2041", 1, true))
    assert.truthy(text:find("W-2042", 1, true), text)
    assert.truthy(next(lines))
  end)

  --- Cuts by which results push out what a user said, and a question that shows it again in between.
  local function pushed_on(chat, cuts)
    for i = 1, cuts do
      local ids = {}
      for j = 1, 12 do ids[j] = ('{"parcel_id": "PX-%d"}'):format(i * 1000 + j * 7) end
      chat:append { call("c" .. i, "list", "{}"), result("c" .. i, "[" .. table.concat(ids, ", ") .. "]"),
        { role = "assistant", content = ("So much for now. "):rep(4) }, { role = "user", content = "Go on." } }
      assert(chat:trim { budget = 500, policy = "digest" })
    end
  end

  it("chooses by what was said long ago, not by what the last note had room for", function()
    local chat = pushed_out { { role = "user", content = "My account is ann_7042, my phone 5550134." } }
    assert(chat:trim { budget = 500, policy = "digest" })
    chat:append { { role = "user", content = "Is 5550134 right?" }, { role = "assistant", content = "Yes." } }
    pushed_on(chat, 30)
    local _, _, text = note_of(chat)
    assert.truthy(text:find("ann_7042", 1, true), text)
    assert.truthy(text:find("5550134", 1, true), text)
  end)

  it("remembers nothing of a note too long for that", function()
    local chat = ebb.conversation { encoding = "bytes4" }
    for i = 1, 12000 do
      chat:append { role = "user", content = ("Take %032d to %032d."):format(i * 7919, i * 104729) }
    end
    local room = chat:tokens() // 3
    assert(chat:trim { budget = room * 2, policy = { "digest", share = 1, most = room } })
    assert.truthy(note_of(chat))
  end)

  it("does not bring back what was taken out of a note by hand", function()
    local chat = pushed_out { { role = "user", content = "My account is ann_7042, my phone 5550134." } }
    assert(chat:trim { budget = 500, policy = "digest" })
    local _, at, text = note_of(chat)
    assert(chat:replace(chat[at], { role = "user", content = (text:gsub("ann_7042", "")) }))
    assert.is_nil(chat[at].text:find("ann_7042", 1, true))
    pushed_on(chat, 2)
    local _, _, after = note_of(chat)
    assert.is_nil(after:find("ann_7042", 1, true))
    assert.truthy(after:find("5550134", 1, true), after)
  end)

  it("remembers what it was chosen from while there is no room for it", function()
    local chat = pushed_out { { role = "user", content = "My account is ann_7042." } }
    assert(chat:trim { budget = 500, policy = "digest" })
    assert.equal("ann_7042", note_of(chat)["account is"])
    chat:append { role = "user", content = ("and "):rep(490) }
    assert(chat:trim { budget = 500, policy = "digest" })
    assert.is_nil(note_of(chat))
    chat:append { { role = "assistant", content = "Yes." }, { role = "user", content = "Go on." } }
    assert(chat:trim { budget = 250, policy = "digest" })
    assert.equal("ann_7042", note_of(chat)["account is"])
  end)

  it("has the handle of all that went after there was no room for it", function()
    local chat = pushed_out { { role = "user", content = "My account is ann_7042." } }
    local policy = { "digest", recall = true }
    assert(chat:trim { budget = 500, policy = policy })
    chat:append { role = "user", content = ("and "):rep(490) }
    assert(chat:trim { budget = 500, policy = policy })
    assert.is_nil(note_of(chat))
    chat:append { { role = "assistant", content = "Yes." }, { role = "user", content = "Go on." } }
    assert(chat:trim { budget = 250, policy = policy })
    local _, _, text = note_of(chat)
    assert.truthy(text:find "recall r1%-%d+%]$", text)
  end)

  it("is undone by rollback, and the same again afterwards", function()
    local chat = pushed_out { { role = "user", content = "order W-2041" } }
    local before = chat:json()
    local report = assert(chat:trim { budget = 500, policy = "digest" })
    local after = chat:json()
    chat:rollback(0)
    assert.equal(before, chat:json())
    chat:rollback(report.batch)
    assert.equal(after, chat:json())
    chat:rollback(0)
    assert(chat:trim { budget = 500, policy = "digest" })
    assert.equal(after, chat:json())
  end)
end)

describe("A result at the end that is too long", function()
  local function long_result()
    local rows = {}
    for i = 1, 60 do rows[i] = ('{"flight": "HA-%d", "price": %d, "status": "available"}'):format(i * 13, 1000 + i) end
    return "[" .. table.concat(rows, ", ") .. "]"
  end

  it("is shortened to what it names before it would go", function()
    local chat = conversation { { role = "user", content = "Flights, please." }, call("c1", "search", '{"to": "OSL"}'),
      result("c1", long_result()) }
    assert(chat:trim { budget = 300, policy = "digest" })

    assert.equal(3, #chat)
    assert.truthy(chat[3].content:find("[Shortened to what it names]", 1, true))
    assert.truthy(chat[3].content:find("flight: HA-13 HA-26", 1, true))
    assert.same({}, chat:check "openai")
  end)

  it("is named in the note if it goes altogether", function()
    local chat = conversation { { role = "user", content = ("Look "):rep(48) },
      call("c1", "get_order", ('{"why": "%s"}'):format(("so "):rep(80))), result("c1", ORDER) }
    assert(chat:trim { budget = 120, policy = { "digest", share = 0.5 } })

    local lines = assert(note_of(chat))
    assert.equal(2, #chat)
    assert.equal("W-2041", lines["order.id"])
  end)

  it("does not say again what its call and the last user message say", function()
    local chat = conversation { { role = "user", content = "The flights to OSL on 2026-05-12, please." },
      call("c1", "search", '{"to": "OSL"}'), result("c1", ('[{"to": "OSL", "date": "2026-05-12"}, %s]'):format(
        long_result():sub(2, -2))) }
    assert(chat:trim { budget = 200, policy = "digest" })

    assert.truthy(chat[3].content:find("flight: HA-13", 1, true))
    assert.is_nil(chat[3].content:find("OSL", 1, true))
    assert.is_nil(chat[3].content:find("2026-05-12", 1, true))
  end)

  it("has the room of a note too small to say something", function()
    local chat = conversation {
      { role = "user", content = "Orders W-2041, W-2042, W-2043, W-2044, W-2045, W-2046." },
      { role = "assistant", content = "All of them are on their way." },
      { role = "user", content = "Flights, please." },
      call("c1", "search", '{"to": "OSL"}'), result("c1", long_result()) }
    assert(chat:trim { budget = 80, policy = { "digest", share = 0.5 } })

    assert.equal(3, #chat)
    assert.is_true(chat:tokens() > 76, chat:tokens())
  end)

  it("has the room that a note does not need", function()
    local chat = conversation { { role = "user", content = "Flights, please." }, call("c1", "search", '{"to": "OSL"}'),
      result("c1", long_result()) }
    assert(chat:trim { budget = 200, policy = { "digest", share = 0.5 } })
    assert.is_true(chat:tokens() > 0.9 * 200, chat:tokens())
  end)

  it("also in the form of Anthropic", function()
    local chat = conversation { { role = "user", content = "Flights, please." },
      { role = "assistant", content = { { type = "tool_use", id = "c1", name = "search", input = { to = "OSL" } } } },
      { role = "user", content = { { type = "tool_result", tool_use_id = "c1", content = long_result() } } } }
    assert(chat:trim { budget = 300, policy = "digest" })

    assert.equal(3, #chat)
    assert.truthy(chat[3].content[1].content:find("flight: HA-13", 1, true))
    assert.same({}, chat:check "anthropic")
  end)
end)

describe("The options of digest", function()
  it("are checked together", function()
    local chat = conversation { { role = "user", content = "hello" } }
    local problem = helper.refusal(chat.trim, chat, { budget = 10, policy = { "digest", low = 0.9, high = 0.5 } })
    assert.truthy(problem.message:find("low must be below high", 1, true))
  end)

  it("high and low are shares of the budget", function()
    local chat = pushed_out({ { role = "user", content = "order W-2041" } }, 20)
    local tokens = chat:tokens()
    assert(chat:trim { budget = tokens * 2, policy = { "digest", high = 0.51, low = 0.2 } })
    assert.equal(tokens, chat:tokens())
    assert(chat:trim { budget = tokens * 2, policy = { "digest", high = 0.49, low = 0.2 } })
    assert.is_true(chat:tokens() < tokens)
  end)

  it("works from within a policy in a sandbox", function()
    local chat = pushed_out { { role = "user", content = "order W-2041" } }
    assert(chat:trim { budget = 500, policy = "return function(draft) draft:run('digest') end" })
    assert.equal("W-2041", note_of(chat).order)
  end)
end)

describe("list:shows", function()
  it("tells which texts are in a list, in contents, results and arguments", function()
    local chat = conversation { { role = "user", content = "order\nW-2041" }, call("c1", "get", '{"id": "u_7"}'),
      result("c1", '{"city": "Oslo"}') }
    assert.same({ true, true, true, false, false, false }, chat:shows { "W-2041", "u_7", "Oslo", "W-204", "", "Rome" })
    assert.same({}, chat:shows {})
  end)

  it("is asked of drafts and batches, too, and refuses what are no texts", function()
    local chat = conversation { { role = "user", content = "order W-2041" } }
    chat:clear {}
    assert.same({ true }, chat:batch(0):shows { "W-2041" })
    assert.same({ false }, chat:shows { "W-2041" })
    assert.has_error(function() chat:shows { 5 } end)
    assert.has_error(function() chat:shows "W-2041" end)
  end)
end)

describe("A digest of a long list", function()
  --- Bound functions that a trim calls by message: the work grows with the note, not with the list.
  local function seconds(count)
    local messages = {}
    for i = 1, count do
      messages[i] = { role = i % 2 == 0 and "assistant" or "user",
        content = ("order W-%d of customer_%d"):format(i * 31, i) }
    end
    local chat = conversation(messages)
    local start = os.clock()
    assert(chat:trim { budget = 4000, policy = "digest", dry_run = true })
    return os.clock() - start
  end

  it("reads no more of it than the note can show", function()
    local short, long
    for _ = 1, 2 do   -- CPU time, with one retry
      short, long = seconds(2000), seconds(40000)
      if long < 10 * short then return end
    end
    error(("%.3f s for 2,000 messages, %.3f s for 40,000"):format(short, long))
  end)
end)

describe("Hostile texts", function()
  local values = require "ebb.policies.digest.values"
  local shapes = {
    { "letters", function(n) return ("a"):rep(n) end },
    { "spaces", function(n) return (" "):rep(n) end },
    { "points between letters", function(n) return "a" .. ("."):rep(n) .. "b" end },
    { "names", function(n) return "so " .. ("Ab "):rep(n // 3) end },
    { "quotes", function(n) return ('"'):rep(n) end },
    { "brackets", function(n) return ("["):rep(n // 2) .. ("1000,"):rep(n // 10) .. "]" end },
    { "open strings", function(n) return '{"a": "' .. ("\\"):rep(n) end },
    { "bytes of one character", function(n) return ("中"):rep(n // 3) end },
    { "points after names", function(n) return "so Ab" .. ("!"):rep(n) end },
  }
  for _, shape in ipairs(shapes) do
    it("of " .. shape[1] .. " take time by their length", function()
      gate.check(shape[1], 100000, function(n)
        local text = shape[2](n)
        return gate.seconds(function() values.of(text, "text", function() end) end)
      end)
    end)
  end
end)
