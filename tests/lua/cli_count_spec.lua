--- The commands that count, and that know models.

local command = dofile "tests/lua/command.lua"
local it_exact = dofile "tests/lua/it_exact.lua"(it, function(why) pending(why) end)
local contains, does, fails = command.contains, command.does, command.fails

local BODY = '{"model":"my-model","messages":[{"role":"user","content":"12345678"}]}'

describe("the command", function()
  local plain = command.EBB

  before_each(function()
    command.make_folder()
    os.execute("mkdir -p " .. command.path_of "config/ebb " .. command.path_of "data")
    local here = "XDG_CONFIG_HOME=%s XDG_DATA_HOME=%s EBB_VOCAB_PATH= "
    command.EBB = here:format(command.path_of "config", command.path_of "data") .. plain
  end)

  after_each(function()
    command.EBB = plain
    command.remove_folder()
  end)

  it("ignores a settings folder that is relative, as the XDG specification asks", function()
    os.execute("mkdir -p " .. command.path_of "relative/ebb " .. command.path_of "home/.config/ebb")
    command.file("relative/ebb/models.json", '{"wrong":{"encoding":"bytes4","window":100}}')
    command.file("home/.config/ebb/models.json", '{"mine":{"encoding":"bytes4","window":100}}')
    local binary = plain:sub(1, 1) == "/" and plain or "$OLDPWD/" .. plain
    local environment = ("XDG_CONFIG_HOME=relative HOME=%s "):format(command.path_of "home")
    command.EBB = ("cd %s && "):format(command.folder) .. environment .. binary
    local out = does "models"
    contains("mine", out)
    assert.is_nil(out:find("wrong", 1, true))
  end)

  it("lists models, and says how each is counted", function()
    local out = does "models"
    contains("claude-sonnet-4-5  claude ", out)
    contains("gpt-4o-mini", out)
    local one = does "models claude-sonnet-4-5"
    contains("window     200000", one)
    contains("trust      estimated", one)
    contains('"image": "area"', (does "models claude-sonnet-4-5 --json"))
    contains("did you mean 'o4-mini'?", fails(command.USAGE, "models o4-mni"))
  end)

  it("reads the user's own models", function()
    command.file("config/ebb/models.json",
      '{"my-model":{"encoding":"bytes4","window":100,"prices":{"input":2,"cachedInput":1,"output":4}}}')
    contains("price      2 / 1 / 4 per million tokens (input / cached input / output)", (does "models my-model"))
    local path = command.file("body.json", BODY)
    contains('"encoding": "bytes4"', (does("count --json " .. path)))
    contains('"tokens": 9', (does("count --json " .. path)))
    contains("9  estimated  0.0000", (does("count " .. path)))
    assert.equal(BODY, (does(("trim %s --model my-model"):format(path))))
  end)

  it("keeps prices and images of models where the page is narrow", function()
    command.file("config/ebb/models.json", '{"my-model":{"encoding":"bytes4","window":100,"image":"tiles_512",'
      .. '"prices":{"input":2.5,"cachedInput":1.25,"output":10}}}')
    for _, columns in ipairs { 80, 100, 200 } do
      local title, rows = command.at_width(columns, "models"):match "^([^\n]*)\n(.*)"
      assert.matches("^model .* window .* images .* price in / cached / out", title)
      assert.matches("\nmy%-model [^\n]* 100 [^\n]* 2%.5 / 1%.25 / 10", "\n" .. rows)
      assert.equal(columns == 200, title:find "dialect" ~= nil)
    end
  end)

  it("refuses a file of models that is wrong, and a wrong model where it is asked for", function()
    local path = command.path_of "small.json"
    for text, expected in pairs {
      ["{"] = ":1:2: expected", ["[1]"] = ":1:1: models: expected an object of models by name",
      ['{"x":{"encoding":"cjk"}}'] = ":1:6: model x: window is missing",
      ['{"x":{"encoding":"cjk","window":5,"windw":1}}'] = ":1:43: model x: windw: unknown field",
      ['{"x":\n{"encoding":"cjk","window":0}}'] = ":2:28: model x: window: expected a whole number",
      ['{"x":{"encoding":"cjk","window":9,"prices":{"input":1,"output":1,"cachedInput":null}}}'] =
        ":1:80: model x: prices.cached_input: expected a price per million tokens, got null",
      ['{"x":null}'] = ":1:6: model x: expected a table {encoding, window, output}, got null",
      ['{"x":{"encoding":"cjk","window":1e400}}'] = ", got 1e400",
      ['{"x":{"encoding":"cjk","window":9,"image":"tiles_51"}}'] =
        ":1:43: model x: image: unknown image rule 'tiles_51'",
    } do
      local file = command.file("config/ebb/models.json", text)
      contains(expected, fails(command.REFUSED, "count --model x " .. path))
      contains(file .. ":", fails(command.REFUSED, "trim --budget 9 --model x " .. path))
    end
  end)

  it("warns of a wrong model where others are asked for, and leaves it out", function()
    command.file("config/ebb/models.json", '{"bad":{"window":"x"},"good":{"encoding":"bytes4","window":100},"gpt-4":5}')
    local out, err = does("count --json --model good " .. command.path_of "small.json")
    contains('"encoding": "bytes4"', out)
    contains("models.json:1:8: model bad: encoding is missing; this entry is left out\n", err)
    contains("models.json:1:73: model gpt-4: expected a table {encoding, window, output}, got 5; this entry", err)
    contains("cl100k_base", (does "models gpt-4o --json" and does "models gpt-4-turbo --json"))
    local run = command.ebb("count --model bad-2 " .. command.path_of "small.json")
    assert.equal(command.USAGE, run.status)
    contains("unknown model 'bad-2'", run.err)
    local many = {}
    for i = 1, 14 do many[i] = ('"m%02d":0'):format(i) end
    command.file("config/ebb/models.json", "{" .. table.concat(many, ",") .. "}")
    err = select(2, does("count " .. command.path_of "small.json"))
    contains("model m10: ", err)
    assert.is_nil(err:find("model m11: ", 1, true))
    contains("and 4 more wrong models\n", err)
  end)

  it("says once that an estimator stands in for a vocabulary", function()
    command.file("config/ebb/models.json", '{"my-model":{"encoding":"martian_base","window":100}}')
    local path = command.file("body.json", BODY)
    local out, err = does(("count %s %s"):format(path, path))
    contains("estimated", out)
    assert.equal("ebb: martian_base is not installed: tokens are estimated (cjk)\n", err)
    assert.equal("", select(2, does(("count %s --encoding cjk"):format(path))))
    assert.equal("", select(2, does(("trim %s --encoding cjk --budget 90 -o /dev/null"):format(path))))
    contains("there is no encoding 'martian_base' here", fails(command.USAGE, "count --encoding martian_base " .. path))
  end)

  it("says once what counts for a model that is not listed", function()
    local function said(name, more)
      local path = command.file("named.json", ('{"model":"%s","messages":[]}'):format(name))
      return select(2, does(("count %s %s %s"):format(path, path, more or "")))
    end
    assert.equal("ebb: model 'x9' is unknown: cjk counts; --model names one that counts alike\n", said "x9")
    local reason = command.path_of "named.json"
      .. ": estimated: claude_4_7 counts, for Anthropic publishes no vocabulary\n"
    assert.equal("ebb: model 'claude-sonnet-5' is not listed: it is taken for claude-opus-4-7\n" .. reason,
      said "claude-sonnet-5")
    assert.equal(reason, said "anthropic/claude-opus-4.7")
    assert.equal("", said("anthropic/claude-opus-4.7", "--quiet"))
    assert.equal("", said("x9", "--encoding cjk"))
    assert.equal("", said("x9", "--json"))
    contains("unknown model 'x9'", fails(command.USAGE, "count --model x9 " .. command.path_of "small.json"))
  end)

  -- dialect, name of the assumed part, the estimator if one counts, a body whose second message has an image by URL
  local PICTURES = {
    { "openai", "part 2 (image_url)", false, [[{"model":"gpt-4o","messages":[{"role":"user","content":"x"},
      {"role":"user","content":[{"type":"text","text":"x"},
        {"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]}]}]] },
    { "responses", "part 2 (input_image)", false, [[{"model":"gpt-4o","input":[{"role":"user","content":"x"},
      {"role":"user","content":[{"type":"input_text","text":"x"},
        {"type":"input_image","image_url":"https://example.org/a.png"}]}]}]] },
    { "anthropic", "part 2 (image)", "claude", [[{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[
      {"role":"user","content":"x"},{"role":"user","content":[{"type":"text","text":"x"},
        {"type":"image","source":{"type":"url","url":"https://example.org/a.png"}}]}]}]] },
    { "gemini", "part 2 (image)", "cjk", [[{"contents":[{"role":"user","parts":[{"text":"x"}]},
      {"role":"user","parts":[{"text":"x"},
        {"fileData":{"mimeType":"image/png","fileUri":"https://example.org/a.png"}}]}]}]] },
  }
  for _, picture in ipairs(PICTURES) do
    local dialect, part, estimator, body = table.unpack(picture)
    it_exact("says why a count is estimated: " .. dialect, function()
      local path = command.file("picture.json", body)
      local why = ("the cost of %s is a guess; images count by their size"):format(part)
      local out, err = does("count " .. path)
      contains("estimated", out)
      contains(path .. ": estimated: ", err)
      contains("message 2 (user): " .. why, err)
      if estimator then contains(estimator .. " counts", err) end

      local decode = require("ebb").json.decode
      local _, silent = does("count --quiet " .. path)
      assert.is_nil(silent:find("estimated", 1, true))
      local result, json_err = does("count --json --by message " .. path)
      local data = decode(result)[1]
      contains("message 2 (user): " .. why, data.reason)
      assert.same({ nil, why }, { data.messages[1].reason, data.messages[2].reason:sub(1, #why) })
      assert.equal("", json_err)
      local role = decode((does("count --json --by role " .. path)))[1].roles[1]
      contains("message 2: " .. why, role.reason)
    end)
  end

  it("says why a count is estimated: tools, a text, and one of many conversations", function()
    local decode = require("ebb").json.decode
    local tools = command.file("tools.json", [[{"model":"gpt-4o","messages":[],"tools":[{"type":"function","function":
      {"name":"odd","parameters":{"properties":{"a":{"type":["string","null"]}}}}}]}]])
    local framing = decode((does("count --json --by message " .. tools)))[1]
    contains("how the provider frames its tools is assumed (odd)", framing.framingReason)
    contains(framing.framingReason, framing.reason)
    local text = command.file("a.txt", "x")
    local _, err = does(("count --text %s %s"):format(text, text))
    assert.equal(text .. ": estimated: cjk counts; --model or --encoding names a vocabulary\n", err)
    contains("cjk counts", decode((does("count --text --json --encoding cjk " .. text)))[1].reason)
    local row = '{"messages":[{"role":"user","content":"q"}]}\n'
    local many = command.file("many.jsonl", row .. row)
    contains("many.jsonl: estimated: cjk counts; ", select(2, does("count " .. many)))
    contains("conversation 1: cjk counts; ", decode((does("count --json " .. many)))[1].reason)
  end)

  it("adds up by message and by role, with the parts around messages", function()
    local path = command.path_of "small.json"
    for _, by in ipairs { "message", "role" } do
      local out, sum, total = does(("count %s --by %s"):format(path, by)), 0, nil
      for tokens in out:gmatch "\n *(%d+) " do
        sum, total = sum + tonumber(tokens), tonumber(tokens)
      end
      assert.equal(sum, 2 * total, out)
      contains("tools and framing", out)
    end
    contains(path .. " user (2 messages)\n", (does(("count %s --by role"):format(path))))
    local result = require("ebb").json.decode((does(("count %s --by role --json"):format(path))))[1]
    assert.same({ "system", 1, "assistant", 3 }, { result.roles[1].role, result.roles[1].messages,
      result.roles[3].role, #result.roles })
  end)

  it("adds up texts with the least sure of their trusts", function()
    local one, two = command.file("one.txt", ("x"):rep(400)), command.file("two.txt", "")
    local out = does(("count --text --encoding bytes4 %s %s"):format(one, two))
    contains("100  estimated  " .. one, out)
    contains("100  estimated  total", out)
    contains("two.bad: byte 3: expected UTF-8",
      fails(command.REFUSED, "count --text " .. command.file("two.bad", "ab\xC0")))
  end)

  it("repairs texts that are not UTF-8 when it may, and refuses what means nothing for texts", function()
    local path = command.file("some.bad", "ab\xC0\xE4\xBD!")
    local result = command.ebb(("count --text --lenient --encoding bytes4 %s"):format(path))
    assert.equal(3, result.status)
    contains("some.bad: warning: byte 3 is not UTF-8", result.err)
    contains("3  estimated", result.out)   -- ab, twice U+FFFD, !: 9 bytes
    local _, said = does(("count --text --lenient --encoding bytes4 %s"):format(command.file("a.txt", "a")))
    assert.equal("", said)
    contains("--role-map and --text", fails(command.USAGE, "count --text --role-map a=user " .. path))
    contains("--max-message and --text", fails(command.USAGE, "count --text --max-message 5 " .. path))
  end)

  it("reads a session on a terminal, too, and shows its name", function()
    local db = "--db " .. command.path_of "s.db"
    does(("session new s %s %s"):format(command.file("chat.json", '[{"role":"user","content":"hello"}]'), db))
    contains("session:s", command.on_terminal("count --session s " .. db))
    contains("keep_recent", command.on_terminal("trim --replay --budget 50 --session s " .. db))
    contains("standard input is a terminal", command.on_terminal "count")
  end)
end)

describe("count --by tool", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local CALL = '{"role":"assistant","content":null,"tool_calls":[%s]}'
  local function call(id, name)
    return ('{"id":"%s","type":"function","function":{"name":"%s","arguments":"{}"}}'):format(id, name)
  end
  local function result(id, text) return ('{"role":"tool","tool_call_id":"%s","content":"%s"}'):format(id, text) end

  -- what it shows, messages, calls by tool with the most tokens first
  local rows = {
    { "no tools", '{"role":"user","content":"hi"}', {} },
    { "a call without its result", CALL:format(call("a", "look")), { "look 1" } },
    { "two tools in one message", CALL:format(call("a", "look") .. "," .. call("b", "book")) .. ","
      .. result("a", ("page "):rep(40)) .. "," .. result("b", "ok"), { "look 1", "book 1" } },
    { "an id that is used again", CALL:format(call("a", "look")) .. "," .. result("a", "x") .. ","
      .. CALL:format(call("a", "book")) .. "," .. result("a", ("page "):rep(40)), { "book 1", "look 1" } },
    { "results of Anthropic's form",
      '{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"look","input":{}}]},'
      .. '{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ok"}]}', { "look 1" } },
  }
  for _, row in ipairs(rows) do
    it("adds up calls and results: " .. row[1], function()
      local file = command.path_of "chat.json"
      require("ebb.support.core").write_file(file, "[" .. row[2] .. "]")
      local text = does(("count %s --encoding bytes4 --by tool --json"):format(file))
      local counted = require("ebb.support.core").json.decode(text)[1]
      local names, sum = {}, counted.otherMessages.tokens + counted.framingTokens
      for i, tool in ipairs(counted.tools) do
        names[i], sum = ("%s %d"):format(tool.tool, tool.calls), sum + tool.tokens
      end
      assert.same(row[3], names)
      assert.equal(counted.tokens, sum)
    end)
  end

  it("counts the conversations of a folder", function()
    local folder = command.path_of "logs"
    os.execute(("mkdir -p %s && cp scripts/samples/support.json %s/a.json && cp scripts/policies/agent.json %s/b.json")
      :format(folder, folder, folder))
    local words = "count --encoding bytes4 %s"
    assert.equal(does(words:format(folder .. "/a.json " .. folder .. "/b.json")), does(words:format(folder)))
  end)
end)
