--- Files of many conversations: read line by line, one conversation after the other.

local command = dofile "tests/lua/command.lua"
local gate = dofile "tests/lua/growth_gate.lua"
local helper = dofile "tests/lua/helper.lua"
local stream = require "ebb.import.stream"

local does, fails, contains, file = command.does, command.fails, command.contains, command.file
local json = helper.ebb.json

local function row(question, answer)
  local turns = { { from = "human", value = question }, { from = "gpt", value = answer } }
  return json.encode { conversations = json.array(turns) }
end

local GOOD = { row("one", "1"), row("two words", "2"), row("three", "3") }

--- The pieces of a text, as a file is read.
local function pieces(text, size)
  local at = 1
  return function()
    local piece = text:sub(at, at + size - 1)
    at = at + size
    return piece ~= "" and piece or nil
  end
end

--- The questions and lines of a text, as "one@1 two@3".
local function read(text, options, size)
  local words = {}
  local next_one, report = stream.open(pieces(text, size or 7), options or {})
  assert(next_one, "not a file of conversations")
  for result in next_one do
    words[#words + 1] = ("%s@%d"):format(result.messages[1].content, result.line)
  end
  return table.concat(words, " "), report
end

describe("lines that are conversations", function()
  it("may have a byte order mark, CRLF, blank lines and no newline at the end", function()
    local text = "\xEF\xBB\xBF" .. GOOD[1] .. "\r\n\r\n   \n" .. GOOD[2] .. "\n" .. GOOD[3]
    for _, size in ipairs { 1, 3, 64, 100000 } do
      assert.equal("one@1 two words@4 three@5", (read(text, nil, size)))
    end
  end)

  it("that are half written are skipped at the end, and refused before it", function()
    local words, report = read(GOOD[1] .. "\n" .. GOOD[2] .. '\n{"conv')
    assert.same({ "one@1 two words@2", "incomplete last line", 3 }, { words, report[1].kind, report[1].line })
    local text = GOOD[1] .. "\n\n{\"a\n" .. GOOD[2] .. '\n{"conversations":5}\n' .. GOOD[3] .. "\n"
    assert.matches("^3:%d+: expected", helper.refusal(read, text).message)
    words, report = read(text, { skip_bad = true })
    assert.same({ "one@1 two words@4 three@6", "bad line", 3, "bad conversation", 5 },
      { words, report[1].kind, report[1].line, report[2].kind, report[2].line })
  end)

  it("have a limit of length, and it names the line", function()
    local long = row(("x"):rep(1000), "y")
    local text = GOOD[1] .. "\n" .. GOOD[2] .. "\n" .. long .. "\n"
    assert.equal("3: the line has more than 999 bytes", helper.refusal(read, text, { max_line = 999 }).message)
    assert.equal(2 + 1, select(2, read(text, { max_line = #long }):gsub("@", "")))
    helper.refusal(read, text, { max_line = #long - 1 })
  end)

  it("are told from other files by their first lines", function()
    for _, text in ipairs {
      "", "\n", "[]", GOOD[1], '{"role":"user","content":"a"}\n{"role":"user","content":"messages"}\n',
      '{"messages":\n[]}\n', "hello\nyou\n", '{"a":1}\n{"messages":5}\n', '{"type":"x","input":1}\n{"b":2}\n',
    } do
      assert.is_nil((stream.open(pieces(text, 5), {})), text)
    end
    local batch = '{"custom_id":"%d","body":{"messages":[{"role":"user","content":"q"}]}}\n'
    assert.equal("q@1 q@2", (read(batch:format(1) .. batch:format(2))))
  end)

  it("are read, or refused with their line, however they are changed", function()
    local state = helper.seed()
    local function random(high)
      state = state * 6364136223846793005 + 1442695040888963407
      return 1 + (state >> 33) % high
    end
    local text = table.concat(GOOD, "\n") .. "\n"
    for _ = 1, 500 do
      local before, changed = state, text
      for _ = 1, random(4) do
        local at = random(#changed)
        local first = random(#changed)
        local piece = random(2) == 1 and string.char(random(256) - 1) or changed:sub(first, first + random(30))
        changed = changed:sub(1, at - 1) .. piece .. changed:sub(at + random(3) - 1)
      end
      local ok, problem = pcall(function()
        local next_one = stream.open(pieces(changed, random(200)), { skip_bad = random(2) == 1 })
        for result in next_one or function() end do
          assert(result.line >= 1 and json.decode(helper.ebb.import.body(result)))
        end
      end)
      local is_refusal = type(problem) == "table" and (problem.message or ""):find "^%d+:"
      if not ok and not is_refusal then error(("SEED=%d %q: %s"):format(before, changed, tostring(problem))) end
    end
  end)

  it("are not looked for beyond the beginning of a file", function()
    local function bytes_of(first, more)
      local size = 0
      assert.is_nil((stream.open(function()
        local piece = size == 0 and first or more
        size = size + #piece
        return piece
      end, {})))
      return size
    end
    local many = ("x"):rep(65536)
    assert.is_true(bytes_of('{"model":"', many) < 200000)
    assert.is_true(bytes_of("[{", many) < 200000)
    local size = bytes_of('{"messages":["', many)
    assert.is_true(size > stream.HEAD_BYTES_MAX and size < stream.HEAD_BYTES_MAX + 200000)
  end)

  it("hold memory for one conversation, however many there are", function()
    local live, line, count = setmetatable({}, { __mode = "k" }), GOOD[1] .. "\n", 0
    local next_one = stream.open(function()
      count = count + 1
      return count <= 3000 and line:rep(2) or nil
    end, {})
    local results, least, most = 0, math.huge, 0
    for result in next_one do
      live[helper.ebb.parse(helper.ebb.import.body(result))] = true
      results = results + 1
      if results > 1000 and results % 1000 == 0 then
        collectgarbage()
        collectgarbage()
        local alive = 0
        for _ in pairs(live) do alive = alive + 1 end
        assert.is_true(alive <= 2, alive .. " conversations are alive")
        least, most = math.min(least, collectgarbage "count"), math.max(most, collectgarbage "count")
      end
    end
    assert.equal(6000, results)
    assert.is_true(most - least < 50, ("%.0f KiB grew to %.0f"):format(least, most))
  end)

  it("take linear time, long lines too", function()
    gate.check("many lines", 1000, function(n)
      local text = (GOOD[1] .. "\n"):rep(n)
      return gate.seconds(function() read(text, nil, 65536) end)
    end)
    gate.check("one long line", 100000, function(n)
      local text = row(("x"):rep(n), "y") .. "\n" .. GOOD[1] .. "\n"
      return gate.seconds(function() read(text, nil, 64) end)
    end)
  end)
end)

describe("a command that reads a file of many conversations", function()
  local set
  before_each(function()
    command.make_folder()
    set = file("set.jsonl", table.concat(GOOD, "\n") .. "\n")
  end)
  after_each(command.remove_folder)

  it("counts all of them", function()
    local sum = 0
    for i = 1, #GOOD do
      sum = sum + json.decode((does(("count --json --conversation %d %s"):format(i, set))))[1].tokens
    end
    local out, err = does("count --json " .. set)
    local result = json.decode(out)[1]
    assert.same({ sum, 3 }, { result.tokens, result.conversations })
    contains("set.jsonl: read as ShareGPT data set: 3 conversations\n", err)
    contains("set.jsonl (3 conversations)", (does("count " .. set)))
    contains("total", (does(("count %s %s"):format(set, command.path_of "small.json"))))
    contains("--conversation names one", fails(command.USAGE, "count --by role " .. set))
  end)

  it("refuses a bad line with its place, or reads on under --lenient", function()
    local bad = file("bad.jsonl", ("%s\n%s\n{\n%s\n%s"):format(GOOD[1], GOOD[2], '{"conversations":[{"from":"x"}]}',
      GOOD[3]))
    contains("bad.jsonl:3:2: expected", fails(command.REFUSED, "count " .. bad))
    local run = command.ebb("count --lenient " .. bad)
    assert.equal(3, run.status)
    contains("3 conversations, 1 bad line, 1 bad conversation", run.err)
    local body = '{"messages":[{"role":"user","content":"q"}]}\n'
    local refused = file("refused.jsonl", body .. body .. '{"messages":[{"role":"wizard","content":"q"}]}\n')
    contains("refused.jsonl:3: expected", fails(command.REFUSED, "count " .. refused))
    run = command.ebb("count --lenient --json " .. refused)
    assert.same({ 3, 2 }, { run.status, json.decode(run.out)[1].conversations })
  end)

  it("has a limit of lines that an option sets", function()
    contains("the line has more than 60 bytes", fails(command.REFUSED, "count --max-file 60 " .. set))
  end)

  it("converts each to a line, which appears under its name when all are written", function()
    local out = command.path_of "out.jsonl"
    local _, err = does(("convert --to anthropic %s -o %s"):format(set, out))
    contains("set.jsonl: read as ShareGPT data set: 3 conversations\n", err)
    local bodies = {}
    for line in io.lines(out) do bodies[#bodies + 1] = json.decode(line) end
    assert.same({ 3, "two words", "3" }, { #bodies, bodies[2].messages[1].content[1].text,
      bodies[3].messages[2].content[1].text })
    assert.equal(command.read(out), (does("convert --to anthropic " .. set)))
    local second = select(2, (does("convert --to openai " .. set)):match "(.-)\n(.-)\n")
    assert.equal("2", json.decode(second).messages[2].content)
    local chosen = json.decode((does("convert --to openai --conversation 2 " .. set)))
    assert.same(json.decode(second).messages, chosen.messages)
  end)

  it("writes nothing if a line is refused, or if something is left out under --strict", function()
    local named = '{"messages":[{"role":"user","content":"q","name":"Ann"}]}\n'
    local sets = { file("bad.jsonl", GOOD[1] .. "\n" .. GOOD[2] .. "\n{\n"), file("named.jsonl", named:rep(2)) }
    local left = command.files_left()
    local words = "convert --strict --to anthropic %s -o " .. command.path_of "out.jsonl"
    contains("bad.jsonl:3:2: expected", fails(command.REFUSED, words:format(sets[1])))
    contains("named.jsonl:1: anthropic cannot say all", fails(command.REFUSED, words:format(sets[2])))
    assert.equal(left, command.files_left())
    local _, err = does("convert --to anthropic " .. sets[2])
    contains("(2 conversations, the first in line 1)", err)
    contains("is not written back", fails(command.REFUSED, ("convert --to openai %s -o %s"):format(set, set)))
    contains("one line", fails(command.USAGE, "convert --shape jsonl --to openai " .. set))
  end)

  it("checks all of them, and names each kind of violation once", function()
    local function result_of(call) return { role = "tool", tool_call_id = call, content = "r" } end
    local question = { role = "user", content = "q" }
    local orphans = json.encode { messages = json.array { question, result_of "x", result_of "y" } }
    local bodies = file("bodies.jsonl", table.concat({ json.encode { messages = json.array { question } }, orphans,
      orphans }, "\n"))
    local run = command.ebb("check --json " .. bodies)
    assert.equal(1, run.status)
    local report = json.decode(run.out)
    local first = report.violations[1]
    assert.same({ 3, 1, 4, 2, 2 },
      { report.conversations, #report.violations, first.count, first.conversations, first.line })
    contains("1 kind of violations in 3 conversations", command.ebb("check " .. bodies).out)
    contains("3 conversations, nothing that would be refused", (does("check " .. set)))
  end)
end)
