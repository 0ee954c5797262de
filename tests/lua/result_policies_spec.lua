--- Policies that make tool results small: fold_output, shrink_results, mask_results, supersede by call.

local helper = dofile "tests/lua/helper.lua"
local gate = dofile "tests/lua/growth_gate.lua"
local ebb = helper.ebb
local decode, encode = ebb.json.decode, ebb.json.encode

local UNLIMITED = 1 << 40

local function call(id, name, arguments)
  return { role = "assistant", content = ebb.null, tool_calls = { { id = id, type = "function",
    ["function"] = { name = name or "run", arguments = arguments or encode { n = id } } } } }
end

--- A chat of calls and their results, of which each is a text or {name, arguments, text}.
local function log_of(list)
  local chat = ebb.conversation()
  chat:append { role = "user", content = "go" }
  for i, item in ipairs(list) do
    local name, arguments, text = nil, nil, item
    if type(item) == "table" then name, arguments, text = table.unpack(item) end
    chat:append { call("c" .. i, name, arguments), { role = "tool", tool_call_id = "c" .. i, content = text } }
  end
  chat:append { role = "user", content = "go on" }
  return chat
end

--- The texts of its results.
local function results_of(chat)
  local texts = {}
  for _, message in ipairs(chat) do
    if message.role == "tool" then texts[#texts + 1] = message.content end
  end
  return texts
end

local function trimmed(chat, ...)
  for _, policy in ipairs { ... } do
    local report = assert(chat:trim { budget = UNLIMITED, policy = policy })
    for i = 1, #report.ledger do
      assert.is_true(report.ledger[i].tokens > 0, "an entry frees nothing")
    end
    assert.equal(0, report.refused)
  end
  return results_of(chat)
end

--- Returns one result as the policy rewrites it.
local function rewritten(text, policy) return trimmed(log_of { text }, policy)[1] end

local function numbered(first, last, form)
  local lines = {}
  for i = first, last do
    lines[#lines + 1] = form:format(i)
  end
  return table.concat(lines, "\n")
end

local TRACE = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n  File "b.py", line 9, in g\n'
  .. '    raise ValueError(1)\nValueError: 1'

describe("what became of a text", function()
  local results = require "ebb.conversation.results"

  it("is remembered by policy and options, up to a number of bytes", function()
    local calls = 0
    local function half(text)
      calls = calls + 1
      return #text > 1 and text:sub(1, #text // 2) or nil
    end
    local one, other = results.remembering("one", half), results.remembering("other", half)
    for _ = 1, 3 do
      assert.same({ "ab", "ab" }, { one "abcd", other "abcd" })
      assert.is_nil(one "a")
    end
    assert.equal(3, calls)
    for i = 1, 40 do one(("%d "):format(i):rep(20000)) end      -- more than is remembered
    assert.equal("ab", one "abcd")
    assert.equal(44, calls)
    collectgarbage()
    local before = collectgarbage "count"
    for i = 41, 80 do one(("%d "):format(i):rep(20000)) end
    collectgarbage()
    assert.is_true(collectgarbage "count" - before < 2048)
  end)
end)

describe("fold_output", function()
  local rows = {
    { "escapes of terminals",     "\27[1;32mok\27[0m \27]0;title\7done\27[K and then some more text",
      "ok done and then some more text" },
    { "bars of progress",         "get\r 10 %\r 50 %\r100 % done\r\nend of it", "100 % done\nend of it" },
    { "space at the ends",        "a      \t   \t   \nb       \t    \t ", "a\nb" },
    { "empty lines",              "a\n\n\n\n\n\n\nb\n\n\n\n\n\nc", "a\n\nb\n\nc" },
    { "equal lines, with a count", ("waiting for the lock\n"):rep(30) .. "done",
      "waiting for the lock\n[the same line 29 times more]\ndone" },
    { "lines alike but for numbers", "begin\n" .. numbered(1, 30, "step %d of 30 took 12 ms") .. "\nend",
      "begin\nstep 1 of 30 took 12 ms\nstep 2 of 30 took 12 ms\n[27 similar lines left out]\nstep 30 of 30 took 12 ms\n"
        .. "end" },
    { "a stack trace that came before", TRACE .. "\nagain\n" .. TRACE .. "\nend", TRACE .. "\nagain\n"
      .. "Traceback (most recent call last):\n[4 lines of the same stack trace as above]\nValueError: 1\nend" },
    { "space between tokens of JSON", '{"b": 1.50, "a" : [ true, null, "x \\u00e9 y" ] , "e": {}}',
      '{"b":1.50,"a":[true,null,"x \\u00e9 y"],"e":{}}' },
    { "a list of objects as a table", '[{"id": "A", "at": {"x": 1}}, {"id": "B", "at": {"x": 2}}]',
      '[["id","at.x"],["A",1],["B",2]]' },
    { "a list of such lists as one table", '[[{"id": "A"}, {"id": "B"}], [{"id": "C"}]]',
      '[["id"],[["A"],["B"]],[["C"]]]' },
    { "no table of objects that differ", '[{"id": "A", "is": true}, {"no": "B", "is": false}]',
      '[{"id":"A","is":true},{"no":"B","is":false}]' },
  }
  for _, row in ipairs(rows) do
    it("folds " .. row[1], function()
      local chat = log_of { row[2] }
      assert.equal(row[3], trimmed(chat, { "fold_output", tables = 2 })[1])
      local again = chat:json()
      trimmed(chat, { "fold_output", tables = 2 })
      assert.equal(again, chat:json())
    end)
  end

  it("keeps of long lists the ends and what differs", function()
    local items = {}
    for i = 1, 60 do
      items[i] = i == 33 and { error = "full" } or { n = i }
    end
    local list = decode(rewritten(encode(items), { "fold_output", tables = 0 }))
    assert.same({ 1, "[22 more items left out]", "full", "[22 more items left out]", 60 },
      { list[1].n, list[11], list[12].error, list[13], list[#list].n })
    local words = {}
    for i = 1, 100 do
      words[i] = ("-rw-r--r-- %s.txt"):format(("abcdefghij"):sub(i % 10 + 1, i % 10 + 1):rep(i % 7 + 1))
    end
    words[50] = "ls: cannot read 'lost': permission denied"
    local text = rewritten(table.concat(words, "\n"), { "fold_output" })
    local middle = "\n[39 more lines left out]\nls: cannot read 'lost': permission denied\n[45 more lines left out]\n"
    assert.truthy(text:find(middle, 1, true), text)
  end)

  it("leaves alone what would not get smaller, users' texts, and the newest it is told to keep", function()
    assert.equal("nothing to fold", rewritten("nothing to fold", "fold_output"))
    local chat = log_of { "a\n\n\n\n\n\n\n\nb", "c\n\n\n\n\n\n\n\nd" }
    chat:append { { role = "user", content = "x\n\n\n\n\n\n\n\ny" }, { role = "user", content = "end" } }
    local users = chat:fork()
    assert.same({ "a\n\nb", "c\n\n\n\n\n\n\n\nd" }, trimmed(chat, { "fold_output", keep = 1 }))
    assert.equal("x\n\n\n\n\n\n\n\ny", chat[#chat - 1].content)
    trimmed(users, { "fold_output", users = true })
    assert.equal("x\n\ny", users[#users - 1].content)
  end)
end)

describe("shrink_results", function()
  local SHORT = { "shrink_results", keep = 0, step = 1, head = 60, tail = 30 }
  local long = numbered(1, 100, "the line number %d of it")

  it("keeps head and tail, at line breaks, and says how much is gone", function()
    local text = rewritten(long, SHORT)
    local left_out = math.tointeger(text:match "\n%[(%d+) characters left out%]\n")
    assert.equal("the line number 1 of it\nthe line number 2 of it", (text:match "^(.-)\n%["))
    assert.equal("the line number 100 of it", (text:match "%]\n(.*)$"))
    assert.equal(#long, left_out + #text - #"\n[ characters left out]\n" - #tostring(left_out))
  end)

  it("cuts no character, and leaves short texts and errors whole", function()
    local text = rewritten(("\u{4E16}\u{1F600}"):rep(200), SHORT)
    assert.truthy(utf8.len(text))
    assert.truthy(text:find("characters left out", 1, true))
    assert.equal(("x"):rep(90), rewritten(("x"):rep(90), SHORT))
    for _, report in ipairs { "Error: no such file\n", "Traceback (most recent call last):\n", '{"error": "no",\n',
      "ValueError: bad\n" } do
      assert.equal(report .. long, rewritten(report .. long, SHORT))
    end
  end)

  it("leaves JSON valid: its lists and strings become short", function()
    local items = { list = {}, text = ("word "):rep(200), n = 1 }
    for i = 1, 50 do
      items.list[i] = ("item number %d"):format(i)
    end
    local value = decode(rewritten(encode(items), SHORT))
    assert.same({ 9, "item number 6", "[42 items left out]", "item number 50", 1 },
      { #value.list, value.list[6], value.list[7], value.list[9], value.n })
    assert.truthy(value.text:find("characters left out", 1, true))
  end)

  it("rewrites a result once, by steps, whatever the budget and what comes later", function()
    local list, before = {}, {}
    local changes = 0
    for i = 1, 20 do
      list[i] = ("result %d\n"):format(i) .. long
      local chat = log_of(list)
      local now = trimmed(chat, { "shrink_results", keep = 2, step = 3 })
      local shrunk, changed = 0, false
      for k, text in ipairs(now) do
        if text ~= list[k] then shrunk = shrunk + 1 end
        changed = changed or before[k] ~= nil and before[k] ~= text
        assert.is_true(text == list[k] or text:find("characters left out", 1, true) ~= nil)
        if before[k] and before[k] ~= list[k] then assert.equal(before[k], text) end
      end
      assert.equal(math.max(0, i - 2) // 3 * 3, shrunk)
      changes, before = changes + (changed and 1 or 0), now
      local tight = log_of(list)
      assert(tight:trim { budget = tight:tokens() - 1, policy = { { "shrink_results", keep = 2, step = 3 },
        "keep_recent" } })
      if shrunk > 0 then assert.same(now, results_of(tight)) end
    end
    assert.equal(6, changes)
  end)
end)

describe("mask_results", function()
  it("says in one line what a result was, as a string in the place of JSON", function()
    local chat = log_of { { "read_file", '{"p":1}', numbered(1, 50, "line %d") }, { "search", '{"q":1}',
      encode { { id = 1, title = "one two three" }, { id = 2, title = "four five six seven" } } }, "the newest of all" }
    local masked = trimmed(chat, { "mask_results", keep = 1, step = 1 })
    assert.truthy(masked[1]:find "^%[read_file: 50 lines, %d+ tokens left out%]$")
    assert.truthy(decode(masked[2]):find "^%[search: JSON list of 2, %d+ tokens left out%]$")
    assert.equal("the newest of all", masked[3])
    trimmed(chat, { "mask_results", keep = 0, step = 1 })
    assert.same({ masked[1], masked[2] }, { table.unpack(results_of(chat), 1, 2) })
  end)
end)

describe("supersede by call", function()
  local TEXT = "some text of a file that was read at this time: "
  local rows = {
    { "a call again with equal arguments", { "find", '{"a": 1, "b": 2}', TEXT .. 1 },
      { "find", '{"b":2,"a":1}', TEXT .. 2 }, true },
    { "other arguments",                   { "find", '{"a": 1}', TEXT .. 1 },
      { "find", '{"a": 2}', TEXT .. 2 }, false },
    { "another tool",                      { "find", '{"a": 1}', TEXT .. 1 },
      { "seek", '{"a": 1}', TEXT .. 2 }, false },
    { "a file read again",                 { "read_file", '{"path": "x", "from": 5}', TEXT .. 1 },
      { "viewFile", '{"file_name": "x"}', TEXT .. 2 }, true },
    { "only a part read again",            { "read_file", '{"path": "x"}', TEXT .. 1 },
      { "read_file", '{"path": "x", "from": 5}', TEXT .. 2 }, false },
    { "a file edited since",               { "read_file", '{"path": "x"}', TEXT .. 1 },
      { "edit", '{"path": "x", "new": "y"}', "edited" }, true },
    { "another file edited",               { "read_file", '{"path": "x"}', TEXT .. 1 },
      { "edit", '{"path": "z", "new": "y"}', "edited" }, false },
    { "an edit that failed",               { "read_file", '{"path": "x"}', TEXT .. 1 },
      { "edit", '{"path": "x", "new": "y"}', "Error: no match" }, false },
    { "a file read after it was edited",   { "edit", '{"path": "x", "new": "y"}', TEXT .. 1 },
      { "read_file", '{"path": "x"}', TEXT .. 2 }, false },
    { "the same result of another call",   { "find", '{"a": 1}', TEXT }, { "seek", '{"b": 1}', TEXT }, true },
  }
  for _, row in ipairs(rows) do
    it(("%s: %s"):format(row[1], row[4] and "the older goes" or "both stay"), function()
      local texts = trimmed(log_of { row[2], row[3] }, { "supersede" })
      assert.same({ row[4] and "[superseded]" or row[2][3], row[3][3] }, texts)
    end)
  end

  it("goes by what it is told, and refuses what it does not know", function()
    local same = { "find", '{"a": 1}', TEXT .. 1 }
    local chat = log_of { same, { "find", '{"a": 1}', TEXT .. 2 }, { "read", '{"path":"p"}', TEXT .. 3 },
      { "read", '{"path":"p"}', TEXT .. 3 } }
    local by_text = trimmed(chat:fork(), { "supersede", by = { "text" } })
    assert.same({ TEXT .. 1, TEXT .. 2, "[superseded]", TEXT .. 3 }, by_text)
    assert.same({ TEXT .. 1, TEXT .. 2, TEXT .. 3, TEXT .. 3 }, trimmed(chat:fork(), { "supersede", by = { "key" } }))
    local ok, problem = pcall(chat.trim, chat, { budget = UNLIMITED, policy = { "supersede", by = { "date" } } })
    assert.is_false(ok)
    assert.truthy(tostring(problem):find("by: expected key, call, path, text, got 'date'", 1, true))
  end)
end)

describe("policies that make results small", function()
  local ALL = { { "fold_output", tables = 2 }, { "supersede" },
    { "shrink_results", keep = 0, step = 1, head = 40, tail = 20 }, { "mask_results", keep = 0, step = 1 } }
  local long = ("a long line of words that say little\n"):rep(3) .. numbered(1, 40, "and the number %d") .. "\nend"

  --- Two results as parts of a user message, one of them a list of texts and one an error.
  local function anthropic()
    local chat = ebb.conversation()
    chat:append { { role = "user", content = "go" }, { role = "assistant", content = ebb.json.array {
      { type = "tool_use", id = "a", name = "read", input = { path = "x" } },
      { type = "tool_use", id = "b", name = "read", input = { path = "y" } } } },
      { role = "user", content = ebb.json.array {
        { type = "tool_result", tool_use_id = "a", content = ebb.json.array { { type = "text", text = long } } },
        { type = "tool_result", tool_use_id = "b", content = long .. "!", is_error = true } } },
      { role = "assistant", content = "so" }, { role = "user", content = "go on" } }
    return chat
  end

  it("rewrite results that are parts, keep errors whole, and can be rolled back", function()
    for _, policy in ipairs(ALL) do
      local chat = anthropic()
      local before = chat:json()
      trimmed(chat, policy)
      local parts = chat[3].content
      assert.same({ "a", "b" }, chat[3].answers)
      assert.same({}, chat:check "anthropic")
      if policy[1] ~= "supersede" then assert.not_equal(long, parts[1].content[1].text) end
      if policy[1] == "shrink_results" then assert.equal(long .. "!", parts[2].content) end
      chat:rollback(0)
      assert.equal(before, chat:json())
    end
  end)

  it("leave the calls and everything guarded as it is", function()
    local chat = log_of { long, long .. "2", long .. "3" }
    chat:mark(3, "pinned")
    local first = chat[3].content
    trimmed(chat, table.unpack(ALL))
    assert.same({}, chat:check "openai")
    assert.equal(first, chat[3].content)
    assert.equal(3, chat:count "tool")
  end)

  it("rewrite nothing that has fewer bytes but as many tokens", function()
    local function brackets(message) return select(2, message.text:gsub("%[", "")) + 1 end
    local text = ("waiting for the lock\n"):rep(100)
    for _, policy in ipairs(ALL) do
      local chat = ebb.conversation { counter = brackets }
      chat:append { { role = "user", content = "go" }, call("c", "run"),
        { role = "tool", tool_call_id = "c", content = text }, call("d", "run"),
        { role = "tool", tool_call_id = "d", content = text }, { role = "user", content = "go on" } }
      assert.same({ text, text }, trimmed(chat, policy), policy[1])
    end
  end)

  it("take the texts of one result for one", function()
    local chat = ebb.conversation()
    local texts = ebb.json.array { { type = "text", text = long }, { type = "text", text = long .. "2" },
      { type = "text", text = long } }
    chat:append { { role = "user", content = "go" }, { role = "assistant", content = ebb.json.array {
      { type = "tool_use", id = "a", name = "read", input = { path = "x" } } } },
      { role = "user", content = ebb.json.array { { type = "tool_result", tool_use_id = "a", content = texts } } },
      { role = "assistant", content = "so" }, { role = "user", content = "go on" } }
    local before = chat:json()
    trimmed(chat, "supersede")
    assert.equal(before, chat:json())
  end)

  it("work from within a sandbox, in chains, and give the same each time", function()
    local script = [[return function(draft)
      draft:run { "fold_output", users = true }
      draft:run { "shrink_results", keep = 0, step = 1, head = 40, tail = 20 }
      draft:run "supersede"
      draft:run { "mask_results", keep = 2, step = 1 }
    end]]
    local chat = log_of { long, long .. "2", encode { { a = 1 }, { a = 2 } }, long, "end" }
    local other = chat:fork()
    local dry = assert(chat:trim { budget = UNLIMITED, policy = { source = script }, dry_run = true })
    local report = assert(chat:trim { budget = UNLIMITED, policy = { source = script } })
    trimmed(other, { "fold_output", users = true })
    assert.equal(dry.ledger:json(), report.ledger:json())
    assert.is_true(report.replaced > 0)
    local again = log_of { long, long .. "2", encode { { a = 1 }, { a = 2 } }, long, "end" }
    assert(again:trim { budget = UNLIMITED, policy = { source = script } })
    assert.equal(chat:json(), again:json())
  end)

  it("take time by the length of texts and the number of results, not by its square", function()
    local texts = {
      escapes = function(n) return ("\27]"):rep(n) .. ("\27[0"):rep(n) end,
      returns = function(n) return ("\r"):rep(n) .. "x" .. ("y\r"):rep(n) end,
      spaces = function(n) return (" "):rep(n) .. "x" .. (" "):rep(n) end,
      frames = function(n) return ("  at f\n  x\n"):rep(n) end,
      lines = function(n) return numbered(1, n, "line %d of many\n-") end,
      objects = function(n) return "[" .. ('{"a": {"b": 1}},'):rep(n) .. "1]" end,
      brackets = function(n) return ("["):rep(n) .. ("]"):rep(n) end,
    }
    for name, text in pairs(texts) do
      gate.check("fold_output " .. name, 4000, function(n)
        local chat = log_of { text(n) }
        return gate.seconds(function() trimmed(chat, { "fold_output" }, ALL[3]) end)
      end)
    end
    for _, policy in ipairs(ALL) do
      gate.check(policy[1] .. " of parallel results", 250, function(n)
        local calls, parts = ebb.json.array {}, ebb.json.array {}
        for i = 1, n do
          calls[i] = { type = "tool_use", id = "c" .. i, name = "read", input = { path = "p" .. i % 7 } }
          parts[i] = { type = "tool_result", tool_use_id = "c" .. i, content = "a\n\n\n\n\n\n\n\nb " .. i }
        end
        local chat = ebb.conversation()
        chat:append { { role = "user", content = "go" }, { role = "assistant", content = calls },
          { role = "user", content = parts }, { role = "user", content = "end" } }
        return gate.seconds(function() assert(chat:trim { budget = UNLIMITED, policy = policy }) end)
      end)
    end
  end)
end)
