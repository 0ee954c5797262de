--- ebb diff, and the longest common subsequence under it.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local cpu_time = dofile "tests/lua/cpu_time.lua"
local lcs = require "ebb.support.lcs"
local file, path_of, contains = command.file, command.path_of, command.contains
local json = helper.ebb.json

local EQUAL, DIFFERENT = 0, 1

--- Messages of a small notation: u:text, a:text; `#id` at the end gives an id.
local function messages(words)
  local list = json.array {}
  for kind, text, id in words:gmatch "(%l):([^%s#]*)#?(%S*)" do
    local role = kind == "u" and "user" or kind == "a" and "assistant" or "system"
    list[#list + 1] = { role = role, content = text:gsub("|", "\n"), id = id ~= "" and id or nil }
  end
  return list
end

--- Runs diff on two such lists.
local function diff(a, b, options)
  file("a.json", json.encode(messages(a)))
  file("b.json", json.encode(messages(b)))
  return command.ebb(("diff %s %s %s"):format(path_of "a.json", path_of "b.json", options or ""))
end

--- The differences as one line: -1 +2 ~3/4, with > for moved.
local function marks(a, b)
  local words = {}
  for i, entry in ipairs(json.decode(diff(a, b, "--json").out).differences) do
    local sign = entry.kind == "removed" and "-" or entry.kind == "added" and "+" or entry.moved and ">" or "~"
    words[i] = sign .. (entry.a or "") .. (entry.a and entry.b and "/" or "") .. (entry.b or "")
  end
  return table.concat(words, " ")
end

local cases = {
  -- what it shows                              a                      b                        differences
  { "nothing",                                  "s:x u:1 a:2",         "s:x u:1 a:2",           "" },
  { "one went, at the start",                   "u:1 a:2 u:3",         "a:2 u:3",               "-1" },
  { "one went, in the middle",                  "u:1 a:2 u:3",         "u:1 u:3",               "-2" },
  { "one came, at the end",                     "u:1 a:2",             "u:1 a:2 u:3",           "+3" },
  { "all went",                                 "u:1 a:2",             "",                      "-1 -2" },
  { "all came",                                 "",                    "u:1 a:2",               "+1 +2" },
  { "neighbours of a role changed",             "u:1 a:2 u:3",         "u:1 a:x u:3",           "~2/2" },
  { "neighbours of different roles did not",    "u:1 a:2 u:3",         "u:1 s:x u:3",           "-2 +2" },
  { "of several, pairs keep their order",       "u:1 a:2 u:3 a:4",     "u:1 u:5 a:6 a:4",       "-2 ~3/2 +3" },
  { "equal messages that stand twice",          "u:1 u:1 a:2",         "u:1 a:2 u:1",           "-2 +3" },
  { "an id holds, whatever the content",        "u:1#p u:2#q",         "u:1#p u:9#q",           "~2/2" },
  { "an id holds in another order",             "u:1#p a:2 a:4 u:3#q", "u:3#q a:2 a:4 u:1#p",   ">4/1 >1/4" },
  { "other ids are other messages",             "u:1#p",               "u:2#q",                 "-1 +1" },
  { "an id on one side only may have changed",  "u:1",                 "u:1#q",                 "~1/1" },
}

describe("ebb diff", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for _, case in ipairs(cases) do
    local name, a, b, expected = table.unpack(case)
    it("shows: " .. name, function()
      assert.equal(expected, marks(a, b))
    end)
  end

  it("answers 0 and says nothing when all is equal, 1 when it is not", function()
    local same, other = diff("u:1 a:2", "u:1 a:2"), diff("u:1 a:2", "u:1")

    assert.same({ EQUAL, "", "" }, { same.status, same.out, same.err })
    assert.equal(DIFFERENT, other.status)
    assert.equal(EQUAL, diff("u:1", "u:1", "--json").status)
    assert.equal(DIFFERENT, diff("u:1", "u:2", "--json").status)
  end)

  it("shows changed lines only, from where they differ, and the fields", function()
    local long = ("word-"):rep(60)
    local run = diff("a:same|" .. long .. "old|tail", "a:same|" .. long .. "new|tail")

    local expected = "~ 1 -> 1 assistant: content\n    - …%sold\n    + …%snew\n0 only in %s, 0 only in %s, 1 changed\n"
    local context = long:sub(-20)
    assert.equal(expected:format(context, context, path_of "a.json", path_of "b.json"), run.out)
  end)

  it("cuts long messages to the width, and shows no escapes and no colours", function()
    file("a.json", json.encode { { role = "user", content = "\27[31m" .. ("x"):rep(500) } })
    file("b.json", "[]")

    local words = ("diff %s %s"):format(path_of "a.json", path_of "b.json")
    local line = command.at_width(120, words):match "^[^\n]*"
    assert.falsy(line:find "\27")
    contains("\\e[31mxxx", line)
    assert.equal(120, utf8.len(line))
    contains(("x"):rep(500), command.ebb(words).out)
  end)

  it("compares what JSON says, not how it is written, across shapes", function()
    file("a.json", '[{"role":"user", "content":"H\\u0069", "metadata":{"a":1,"b":[]}}]')
    file("b.jsonl", '{"metadata":{"b":[],"a":1},"content":"Hi","role":"user"}\n')

    assert.equal(EQUAL, command.ebb(("diff %s %s"):format(path_of "a.json", path_of "b.jsonl")).status)
  end)

  it("reads one of the two from standard input, and writes to -o", function()
    local run = command.ebb(("diff - %s -o %s"):format(path_of "small.json", path_of "out"), path_of "small.json")
    assert.equal(EQUAL, run.status)

    file("b.json", "[]")
    run = command.ebb(("diff - %s -o %s"):format(path_of "b.json", path_of "out"), path_of "small.json")
    assert.same({ DIFFERENT, "" }, { run.status, run.out })
    contains("4 only in -, 0 only in", command.read(path_of "out"))
  end)

  it("gives whole messages in JSON", function()
    local found = json.decode(diff("u:1 a:2", "a:3 u:4", "--json").out)

    assert.falsy(found.equal)
    assert.equal(2, found.a.messages)
    assert.same({ { "removed", "1" }, { "changed", "2" } },
      { { found.differences[1].kind, found.differences[1].before.content },
        { found.differences[2].kind, found.differences[2].before.content } })
    assert.same({ "content" }, { table.unpack(found.differences[2].fields) })
    assert.equal("3", found.differences[2].after.content)
    assert.equal("added", found.differences[3].kind)
  end)

  it("refuses what it cannot read", function()
    command.fails(command.USAGE, "diff " .. path_of "small.json")
    command.fails(command.USAGE, "diff - -")
    command.fails(command.IO, ("diff %s %s"):format(path_of "small.json", path_of "absent.json"))
    command.fails(command.REFUSED, ("diff %s %s"):format(path_of "broken.json", path_of "small.json"))
  end)

  it("is listed and explained", function()
    contains("diff", (command.does "help"))
    contains("Usage: ebb diff", (command.does "diff --help"))
  end)

  it("compares 10,000 messages in a few seconds, whatever they are #time", function()
    local a, b, c = json.array {}, json.array {}, json.array {}
    for i = 1, 10000 do
      a[i] = { role = "user", content = "message " .. i }
      b[i] = i % 1000 == 0 and { role = "user", content = "new" } or a[i]
      c[i] = { role = "user", content = i % 3 == 0 and "yes" or "no" }
    end
    file("a.json", json.encode(a))
    file("b.json", json.encode(b))
    file("c.json", json.encode(c))

    contains("10 changed", command.ebb(("diff %s %s"):format(path_of "a.json", path_of "b.json")).out)
    cpu_time.processes_within(2000, function()
      return (select(2, command.timed(("diff %s %s"):format(path_of "a.json", path_of "c.json"))))
    end)
  end)
end)

---- The longest common subsequence, against the table that every textbook has ----

local function longest(a, b)
  local above = {}
  for j = 0, #b do above[j] = 0 end
  for i = 1, #a do
    local row = { [0] = 0 }
    for j = 1, #b do
      row[j] = a[i] == b[j] and above[j - 1] + 1 or math.max(above[j], row[j - 1])
    end
    above = row
  end
  return above[#b]
end

local function random_list(size, kinds)
  local list = {}
  for i = 1, math.random(0, size) do
    list[i] = "k" .. math.random(kinds)
  end
  return list
end

describe("lcs", function()
  local function check_chain(a, b)
    local match, count, last = lcs.match(a, b), 0, 0
    for i = 1, #a do
      if match[i] then
        assert.equal(a[i], b[match[i]])
        assert.truthy(match[i] > last)
        last, count = match[i], count + 1
      end
    end
    return match, count
  end

  it("finds a longest common subsequence", function()
    math.randomseed(7)
    for _ = 1, 3000 do
      local a, b = random_list(12, 4), random_list(12, 4)
      local _, count = check_chain(a, b)

      assert.equal(longest(a, b), count, table.concat(a, " ") .. " | " .. table.concat(b, " "))
    end
  end)

  it("walks everything once, in the order of both lists", function()
    for _ = 1, 500 do
      local a, b = random_list(9, 3), random_list(9, 3)
      local seen_a, seen_b = 0, 0
      for i, j in lcs.steps(lcs.match(a, b), #a, #b) do
        if i > 0 then seen_a = seen_a + 1; assert.equal(seen_a, i) end
        if j > 0 then seen_b = seen_b + 1; assert.equal(seen_b, j) end
        if i > 0 and j > 0 then assert.equal(a[i], b[j]) end
      end
      assert.same({ #a, #b }, { seen_a, seen_b })
    end
  end)

  it("stays a common subsequence where keys are too often to try all pairs", function()
    local a, b = {}, {}
    for i = 1, 4000 do a[i], b[i] = "k" .. math.random(3), "k" .. math.random(3) end

    local _, count = check_chain(a, b)

    assert.truthy(count > 2000, count)
  end)
end)
