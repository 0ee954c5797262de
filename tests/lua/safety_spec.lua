--- Bad input, row by row of what is promised: what comes in, how it is read, how
--- that ends, and what the user is told. Texts write ' for ".

local command = dofile "tests/lua/command.lua"
local cpu_time = dofile "tests/lua/cpu_time.lua"
local ebb, contains, file, path_of = command.ebb, command.contains, command.file, command.path_of
local OK, USAGE, MENDED, CANNOT_FIT, REFUSED = 0, command.USAGE, 3, command.CANNOT_FIT, command.REFUSED

local U = "{'role':'user','content':'x'}"

--- A message that is `levels` deep.
local function deep(levels)
  return "{'role':'user','content':'x','a':" .. ("["):rep(levels - 1) .. ("]"):rep(levels - 1) .. "}"
end

local function list(...)
  return "[" .. table.concat({ ... }, ",") .. "]"
end

--- Each row: input, options, exit status, then what standard error says: a place
--- (of the file `in`) and words. COUNT is `ebb count in` unless the row names another.
local rows = {
  ["cut-off JSON or array; garbage, comments, trailing comma, trailing data"] = {
    { "[" .. U, "", REFUSED, "1:31", "expected ',' or ']'" },
    { "[{'role':'user','content':'x", "", REFUSED, "1:29", "to end the string at [0].content" },
    { "{'messages':[" .. U, "", REFUSED, "1:43", "expected ',' or ']' at messages" },
    { "hello", "", REFUSED, "1:1", "expected a value" },
    { "[" .. U .. " // why\n]", "", REFUSED, "1:32", "expected ',' or ']'" },
    { "[" .. U .. ",\n]", "", REFUSED, "2:1", "expected a value at [1]" },
    { "[" .. U .. "]\n[]", "", REFUSED, "2:1", "expected end of input" },
    { "[" .. U, "--lenient", REFUSED, "1:31", "expected ',' or ']'" },
    { "[5," .. U .. ",", "--lenient", REFUSED, "1:34", "expected a value" },
  },
  ["JSONL: CRLF, blank lines, one BOM at the start"] = {
    { "\xEF\xBB\xBF" .. U .. "\r\n\r\n" .. U .. "\r\n", "", OK },
    { "\xEF\xBB\xBF" .. U .. "\r\n\r\n" .. "x", "", REFUSED, "3:1", "expected a value" },
    { "\xEF\xBB\xBF\xEF\xBB\xBF" .. U, "", REFUSED, "1:4", "expected a value" },
  },
  ["JSONL: invalid last line without newline"] = {
    { U .. "\n{'role':'user','conte", "", REFUSED, "2:22", "to end the string" },
    { U .. "\n{'role':'user','conte", "--lenient", MENDED, "2:22", "skipped (syntax): expected '\"' to end" },
    { U .. "\ngarbage\n" .. U, "--lenient", MENDED, "2:1", "skipped (syntax): expected a value" },
    { U .. "\nnot json\n" .. U, "--lenient", MENDED, "2:1", "skipped (syntax): expected a message, an object" },
    { U .. "\n" .. U .. " x\n" .. U, "--lenient", MENDED, "2:31", "skipped (syntax): expected a new line" },
    { U .. "\n\n 5\n" .. U, "--lenient", MENDED, "3:2", "skipped (shape): expected a message, an object" },
    { U .. "\n{'content':'x'}", "--lenient", MENDED, "2:1", "skipped (shape): expected a role in the message" },
    { "[5," .. U .. ",{}]", "--lenient", MENDED, "1:2", "skipped (shape): expected a message, an object" },
    { "[" .. U .. ",\n{}]", "--lenient", MENDED, "2:1", "skipped (shape): expected a role in the message" },
    { "{'model':'m','messages':[" .. U .. ",[]]}", "--lenient", MENDED, "1:56", "skipped (shape)" },
    { U .. "\n", "--lenient", OK },
  },
  ["invalid UTF-8, overlong, beyond U+10FFFF; lone surrogate"] = {
    { "[{'role':'user','content':'a\xFF'}]", "", REFUSED, "1:29", "expected valid UTF-8 at [0].content" },
    { "[{'role':'user','content':'\xC0\xAF'}]", "", REFUSED, "1:28", "expected valid UTF-8" },
    { "[{'role':'user','content':'\xF4\x90\x80\x80'}]", "", REFUSED, "1:28", "expected valid UTF-8" },
    { "[{'role':'user','content':'\\ud800'}]", "", REFUSED, "1:28", "both halves of a surrogate pair" },
    { "[{'role':'user','content':'a\xFF'}]", "--lenient", MENDED, "1:29", "mended (encoding): " },
    { U .. "\n{'role':'user','content':'\\udc00'}", "--lenient", MENDED, "2:27", "replaced by U+FFFD" },
  },
  ["\\u0000 and a raw NUL"] = {
    { "[{'role':'user','content':'a\\u0000b'}]", "", OK },
    { "[{'role':'user','content':'a\0b'}]", "", REFUSED, "1:29", "an escape in place of a control character" },
    { U .. "\n{'role':'user','content':'a\0b'}", "--lenient", MENDED, "2:28", "skipped (syntax)" },
  },
  ["duplicate keys that Ebb reads (role, content, id)"] = {
    { "[{'role':'user','content':'x','role':'user'}]", "", REFUSED, "1:31", "expected each key once at [0].role" },
    { "[{'role':'user','content':'x','role':'user'}]", "--lenient", MENDED, "1:3", "mended (duplicate): 'role' comes" },
    { "{'id':'a','role':'user','content':'','\\u0069d':'b'}", "--lenient", MENDED, "1:2", "'id' comes again" },
  },
  ["a message over 16 MiB, an array or body over 256 MiB"] = {
    { list(U, U), "--max-file 60", REFUSED, "1:1", "(256 MiB by default)\nhint: --max-message and --max-file raise" },
    { list(U, U), "--max-file 61", OK },
    { "{'messages':" .. list(U) .. "}", "--max-file 40 --lenient", REFUSED, "1:1", "a file within the cap" },
    { U .. "\n" .. U, "--max-file 10", OK },
    { list(U, U), "--max-message 28", REFUSED, "1:2", "a message within the cap (16 MiB by default) at [0]" },
    { U .. "\n" .. U:gsub("x", "xy"), "--max-message 29 --lenient", REFUSED, "2:1", "a message within the cap" },
    { list(U, U), "--max-message 29", OK },
    { list(U, U), "--max-message no", USAGE, nil, "--max-message: expected bytes such as 1000, 64K or 16M" },
  },
  ["nesting over 256, also when writing"] = {
    { list(deep(255)), "", OK },
    { list(deep(256)), "", REFUSED, "1:289", "expected at most 256 levels at [0].a[0][0]" },
    { deep(256), "", OK },
    { deep(257), "", REFUSED, "1:289", "expected at most 256 levels" },
    { deep(257), "--lenient", REFUSED, "1:289", "expected at most 256 levels" },
  },
  ["1e400, 400-digit numbers"] = {
    { "[{'role':'user','content':'x','n':1e400,'m':" .. ("9"):rep(400) .. "}]", "", OK },
    { "[{'role':'user','content':'x','timestamp':1e400}]", "", REFUSED, "1:43", "a timestamp in whole milliseconds" },
    { "[{'role':'user','content':'x','timestamp':" .. ("9"):rep(400) .. "}]", "", REFUSED, "1:43", "milliseconds" },
    { "[{'role':'user','content':'x','timestamp':NaN}]", "", REFUSED, "1:43", "expected a value" },
  },
  ["unknown role; missing content without tool calls"] = {
    { "[{'role':'bot','content':'x'}]", "", REFUSED, "1:10", "a role: system, developer, user, assistant," },
    { "[{'role':'bot','content':'x'}]", "", REFUSED, nil, "hint: --role-map old=new" },
    { "[{'role':'bot','content':'x'}]", "--lenient", REFUSED, "1:10", "hint: --role-map" },
    { U .. "\n{'role':'bot','content':'x'}", "--lenient", REFUSED, "2:9", "hint: --role-map" },
    { "[5," .. U .. ",{'role':'bot','content':'x'}]", "--lenient", REFUSED, "1:42", "or function at [2].role" },
    { "{'m\xFF':1,'messages':[{'role':'\xFF','content':'\\udc00'}]}", "--lenient", REFUSED, "1:29",
      "or function at messages[0].role" },
    { "5\n{'id':'\\ud800','a':[0,1],'role':'bot'}", "--lenient", REFUSED, "2:33", "or function at role" },
    { "[{'role':'bot','content':'x'}]", "--role-map bot=assistant", OK },
    { "[{'role':'bot','content':'x'},{'role':'me','content':''}]", "--role-map bot=assistant --role-map me=user", OK },
    { "[" .. U .. "]", "--role-map bot", USAGE, nil, "--role-map: expected old=new, got 'bot'" },
    { "[" .. U .. "]", "--role-map bot=robot", USAGE, nil, "role_map: unknown role 'robot'" },
    { "[{'role':'user'}]", "", REFUSED, "1:2", "expected content (it may be missing only beside tool calls" },
    { "[{'content':'x'}]", "", REFUSED, "1:2", "expected a role in the message at [0]" },
  },
  ["unknown content part"] = {
    { "[{'role':'user','content':[{'type':'odd'},{'type':'odd'}]}]", "", OK, "1:28", "unknown type 'odd'" },
    { "[{'role':'user','content':[{'type':'odd'}]}]", "--lenient", OK, "1:28", "unknown type 'odd'" },
    { "[{'role':'user','content':[{'type':1}]}]", "", REFUSED, "1:36", "a string at [0].content[0].type" },
  },
  ["orphan result, unanswered call"] = {
    { "[{'role':'tool','tool_call_id':'c','content':'x'}]", "", OK },
    { "[{'role':'assistant','tool_calls':[{'id':'c','function':{'name':'f'}}]}]", "", OK },
  },
  ["duplicate message ids in one file"] = {
    { "[{'id':'a','role':'user','content':''},{'id':'a','role':'user','content':''}]", "", REFUSED, "1:46",
      "expected an id that no other message of the file has at [1].id" },
    { "[{'id':'a','role':'user','content':''},{'id':'a','role':'user','content':''}]", "--lenient", MENDED, "1:46",
      "kept (duplicate): another message has the id 'a'" },
  },
  ["budgets: negative, NaN, 0"] = {
    { list(U), "--budget=-1", USAGE, nil,
      "--budget: expected a whole number such as 8000 or 8k, or a share such as 33%, got '-1'", "trim" },
    { list(U), "--budget nan", USAGE, nil,
      "--budget: expected a whole number such as 8000 or 8k, or a share such as 33%, got 'nan'", "trim" },
    { list(U), "--budget 0", CANNOT_FIT, nil, "cannot fit", "trim" },
  },
}

--- The code of the library's refusal, by row.
local codes = {
  ["cut-off JSON or array; garbage, comments, trailing comma, trailing data"] = "syntax",
  ["JSONL: CRLF, blank lines, one BOM at the start"] = "syntax",
  ["JSONL: invalid last line without newline"] = "syntax",
  ["invalid UTF-8, overlong, beyond U+10FFFF; lone surrogate"] = "encoding",
  ["\\u0000 and a raw NUL"] = "syntax",
  ["duplicate keys that Ebb reads (role, content, id)"] = "duplicate",
  ["a message over 16 MiB, an array or body over 256 MiB"] = "limit",
  ["nesting over 256, also when writing"] = "limit",
  ["1e400, 400-digit numbers"] = "shape syntax",
  ["unknown role; missing content without tool calls"] = "role shape",
  ["unknown content part"] = "shape",
  ["duplicate message ids in one file"] = "duplicate",
}

local function quoted(text)
  return (text:gsub("'", '"'))
end

--- The options of the command, as those of ebb.load.
local function load_options(words)
  local options = { lenient = words:find("--lenient", 1, true) ~= nil, role_map = {} }
  for old, new in words:gmatch "%-%-role%-map (%w+)=(%w+)" do
    options.role_map[old] = new
  end
  options.max_file = tonumber(words:match "%-%-max%-file (%d+)")
  options.max_message = tonumber(words:match "%-%-max%-message (%d+)")
  return options
end

local helper = dofile "tests/lua/helper.lua"
local library = helper.ebb

describe("bad input:", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for name, cases in pairs(rows) do
    for number, case in ipairs(cases) do
      local input, options, status, place, words, verb = table.unpack(case, 1, 6)
      it(("%s, %d"):format(name, number), function()
        local path = file("in", quoted(input))

        local run = ebb(("%s %s %s"):format(verb or "count --encoding cjk", path, options))

        assert.equal(status, run.status, run.err)
        if words then contains(words, run.err) end
        if place then contains(("in:%s: "):format(place), run.err) end
        if status ~= OK and status ~= MENDED then assert.equal("", run.out) end
        if status == OK and not words then assert.equal("", run.err) end
        if status == REFUSED then
          local chat, message, code = helper.outcome(library.load(path, load_options(options)))
          assert.is_nil(chat)
          contains(code, codes[name])
          contains(message, run.err)
        end
      end)
    end
  end
end)

describe("what a lenient reading leaves", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local cases = {
    -- input                                                      output
    { "[5," .. U .. "]", "[" .. U .. "]" },
    { "[" .. U .. ", 5, {} ]\n", "[" .. U .. " ]\n" },
    { "[5,\n6]", "[]" },
    { "[" .. U .. ",5," .. U .. ",6]", list(U, U) },
    { "{'a':1,'messages':[5, " .. U .. "],'b':'\xE9'}", "{'a':1,'messages':[" .. U .. "],'b':'\u{FFFD}'}" },
    { "x\n" .. U .. "\ny\n\n" .. U, U .. "\n\n" .. U },
    { "\xEF\xBB\xBFx\n" .. U .. "\n", "\xEF\xBB\xBF" .. U .. "\n" },
    { U .. "\n{\n'content':\n5}\n" .. U .. "\n", U .. "\n" .. U .. "\n" },
    { "[{'role':'user','content':'a\xFF\xE4\xBDb'}]", "[{'role':'user','content':'a\u{FFFD}\u{FFFD}b'}]" },
    { "[{'role':'user','content':'\\\\ud800\\ud800\\ud83d\\ude00'}]",
      "[{'role':'user','content':'\\\\ud800\\ufffd\\ud83d\\ude00'}]" },
    { "[{'role':'tool', 'content':5, 'role':'user','content':'x'}]", "[{'role':'user','content':'x'}]" },
    { "[5,{'role':'user','content':1,'content':'x'},6]", "[{'role':'user','content':'x'}]" },
  }
  for number, case in ipairs(cases) do
    local input, expected = quoted(case[1]), quoted(case[2])
    it(("is what is around it, as it was: %d"):format(number), function()
      local run = ebb("trim --budget 1000000 --lenient " .. file("in", input))

      assert.equal(3, run.status, run.err)
      assert.equal(expected, run.out)
      assert.equal(0, ebb("count " .. file("again", run.out)).status)
    end)
  end

  it("is listed whole, however long the list", function()
    local run = ebb("count --lenient " .. file("in", U:gsub("'", '"') .. ("\nx"):rep(100)))

    assert.equal(3, run.status)
    local _, lines = run.err:gsub("skipped %(syntax%)", "")
    assert.equal(100, lines)
  end)

  it("is told by every command that loads a file", function()
    local path = file("in", '[{"role":"user","content":"x"},5]')
    file("none.json", "[]")
    file("nothing.lua", "return {}")
    local words = { "trim % --budget 1000", "apply " .. path_of "none.json" .. " %", "count %", "inspect %", "diff % %",
      "filter " .. path_of "keep_user.lua" .. " --input %", "run " .. path_of "nodes.lua" .. " --input %", "repl %" }
    for _, line in ipairs(words) do
      local run = ebb(line:gsub("%%", path) .. " --lenient")

      assert.equal(3, run.status, line .. "\n" .. run.err)
      contains("in:1:32: warning: skipped (shape)", run.err)
    end
  end)

  it("keeps the spelling of a mapped role, also when the message is edited", function()
    local path = file("in", '[{"role":"bot","content":"a long one, so that it is shortened"}]')
    file("short.lua", "return function(draft) for message in draft:messages {} do " ..
      "draft:replace(message, { content = message.role }) end end")

    local line = "trim %s --role-map bot=assistant --unguarded --budget 9 --policy %s"
    local run = ebb(line:format(path, path_of "short.lua"))

    assert.equal(0, run.status, run.err)
    assert.equal('[{"role":"bot","content":"assistant"}]', run.out)
  end)
end)

describe("nesting over 256", function()
  local inner = quoted(deep(255))

  for _, shape in ipairs { "body", "array", "jsonl" } do
    it("is refused when writing would make it: " .. shape, function()
      local texts = { body = '{"messages":[]}', array = "[]", jsonl = quoted(U) .. "\n" }
      local chat = assert(library.parse(texts[shape]))
      local before = #chat
      chat:append(library.json.raw(inner))
      local path = os.tmpname()

      local ok, problem = pcall(chat.json, chat)
      local saved, why, code = helper.outcome(chat:save(path))

      assert.equal(shape ~= "body", ok)
      assert.equal(before + 1, #chat)
      if shape == "body" then
        assert.equal("limit", problem.code)
        contains("more than 256 levels deep", problem.message)
        assert.is_nil(saved)
        assert.equal("limit", code)
        contains("more than 256 levels deep", why)
        chat:truncate { remove_last = 1 }
        assert.equal(texts.body, chat:json())
      end
      os.remove(path)
    end)
  end

  it("is kept of a line of JSONL when the whole conversation is written", function()
    local chat = assert(library.parse(quoted(deep(256)) .. "\n"))

    local read = assert(library.parse((assert(chat:write "ebb"))))

    assert.equal(1, #read)
    assert.equal(chat:json(), read:json())
  end)

  it("is refused when appending", function()
    local chat = library.conversation()

    local ok, problem = pcall(chat.append, chat, library.json.raw(quoted(deep(256))))

    assert.falsy(ok)
    assert.equal("limit", problem.code)
    contains("at most 256 levels", problem.message)
    assert.equal(0, #chat)
  end)

  it("is refused when raw JSON would be too deep", function()
    local raw = library.json.raw(("["):rep(256) .. ("]"):rep(256))

    assert.equal(512, #library.json.encode(raw))
    local ok, problem = pcall(library.json.encode, { a = raw })
    assert.falsy(ok)
    assert.equal("limit", problem.code)
  end)
end)

describe("the library", function()
  it("says what a lenient reading did", function()
    local text = quoted(U .. "\nx\n{'role':'bot','content':'y'}")
    local chat = assert(library.parse(text, { lenient = true, role_map = { bot = "tool" } }))

    local warnings = chat:warnings()

    assert.equal(2, #chat)
    assert.equal("tool", chat[2].role)
    assert.equal("bot", chat[2].spelling)
    assert.same({ { code = "syntax", line = 2, byte = 1, lenient = true,
      message = "skipped (syntax): expected a value" } }, warnings)
  end)

  it("refuses an invalid role map", function()
    for _, map in ipairs { 5, { "x" }, { bot = 5 }, { bot = "robot" } } do
      local ok, problem = pcall(library.parse, "[]", { role_map = map })
      assert.falsy(ok)
      contains("role_map", problem.message)
    end
  end)
end)

describe("caps #time", function()
  if pcall(require, "ebb.host") then return end   -- these specs run inside the command once more

  -- Under sanitizers there are no bounds for memory, and no time.
  local EBB = (os.getenv "EBB_BUILD" or "build") .. "/ebb"

  before_each(command.make_folder)
  after_each(command.remove_folder)

  local MIB = 1024 * 1024

  local function written(name, pieces)
    local path = path_of(name)
    local out = assert(io.open(path, "wb"))
    for _, piece in ipairs(pieces) do
      assert(out:write(piece))
    end
    assert(out:close())
    return path
  end

  --- Status, standard error and seconds of processor time, with no more than this address space.
  local function bounded(mebibytes, words)
    local run = ("ulimit -v %d; %s %s >%s 2>%s"):format(mebibytes * 1024, EBB, words, path_of ".out", path_of ".err")
    local status, seconds = cpu_time.execute(run)
    return status, command.read(path_of ".err"), seconds
  end

  local HEAD, TAIL = '{"role":"user","content":"', '"}'

  --- A message of this many bytes.
  local function message(size)
    return { HEAD, ("x"):rep(size - #HEAD - #TAIL), TAIL }
  end

  --- A file that goes on as a hole, which takes no room on the disk.
  local function sparse(name, head, size)
    local path = written(name, { head })
    assert(os.execute(("truncate -s %d %s"):format(size, path)))
    return path
  end

  --- A file as large as may be.
  local function largest_array()
    local blank, pieces = (" "):rep(MIB), { "[" .. quoted(U) }
    for i = 2, 256 do pieces[i] = blank end
    pieces[257] = (" "):rep(MIB - #pieces[1] - 1) .. "]"
    return written("largest", pieces)
  end

  --- Refused at once: in less than half of the time that `reading` takes, which reads the largest file.
  local function refuses(words, expected, mebibytes, reading)
    local seconds, allowed
    for _ = 1, 2 do                               -- a moment's disturbance is no failure
      local status, err
      status, err, seconds = bounded(mebibytes, words)
      assert.equal(REFUSED, status, err)
      contains(expected, err)
      allowed = reading() / 2
      if seconds < allowed then return end
    end
    error(("it took %.3f s of processor time, %.3f s are allowed"):format(seconds, allowed), 2)
  end

  it("let 256 MiB and 16 MiB pass", function()
    for _, path in ipairs { largest_array(), written("line", message(16 * MIB)) } do
      local status, err = bounded(300, "count " .. path)
      assert.equal(0, status, err)
    end
  end)

  it("are no bounds for files of conversations by lines, which need no more memory; WHOLE=1: of 1 GiB", function()
    local line = ('{"messages":[%s]}\n'):format((HEAD .. ("word "):rep(800) .. TAIL):rep(20, ","))
    local size = os.getenv "WHOLE" and 1024 * MIB or 34 * MIB
    local block = line:rep(MIB // #line)
    local pieces = {}
    for i = 1, size // #block + 1 do pieces[i] = block end
    local path = written("set.jsonl", pieces)

    for _, words in ipairs { "count ", "convert --to anthropic " } do
      local status, err = bounded(32, words .. path)
      assert.equal(0, status, err)
      contains(("%d conversations"):format(#pieces * (MIB // #line)), err)
    end
  end)

  it("refuse more at once, with little memory", function()
    local file_cap, message_cap = "1:1: expected a file within the cap", "1:1: expected a message within the cap"
    local over, largest = 256 * MIB + 1, largest_array()
    local function reading() return (select(3, bounded(300, "count " .. largest))) end
    refuses("count " .. sparse("array", "[" .. quoted(U), over), "array:" .. file_cap, 32, reading)
    local body = sparse("body", '{"model":"m","messages":[' .. quoted(U), over)
    refuses("count " .. body, "body:" .. file_cap, 32, reading)
    refuses("count - <" .. sparse("standard", " \n[" .. quoted(U), over), "stdin:" .. file_cap, 32, reading)
    refuses("count " .. written("line", message(16 * MIB + 1)), "line:" .. message_cap, 64, reading)
    refuses("count --lenient " .. written("lenient", message(16 * MIB + 1)), "lenient:" .. message_cap, 64, reading)
    refuses("count " .. written("long", message(100 * MIB)), "long:" .. message_cap, 64, reading)
    refuses("count " .. sparse("garbage", "x\n", 400 * MIB), "garbage:1:1: expected a value", 32, reading)
  end)

  it("raised, take no more than twice the body", function()
    local text = message(39 * MIB)
    local path = written("body", { '{"model":"m","messages":[', text[1], text[2], text[3], "]}" })

    local status, err = bounded(2 * 40 + 24, "trim --budget 100000000 --max-message 40M --max-file 40M " .. path)

    assert.equal(0, status, err)
  end)
end)
