--- Calls in what a model wrote: what is found, what is quoted, what is broken.

local helper = dofile "tests/lua/helper.lua"
local cpu_time = dofile "tests/lua/cpu_time.lua"
local ebb = helper.ebb

--- The calls of a text in one line: name(params), window.action(params), or ! and the problem.
local function shown(text)
  local list, quoted = ebb.read_calls(text)
  local words = {}
  for i, call in ipairs(list) do
    local params = call.params and ebb.json.encode(call.params) or ""
    words[i] = call.problem and "!" .. call.code
      or ("%s(%s)%s"):format(call.name or call.window .. "/" .. call.action, params, call.id and "#" .. call.id or "")
  end
  if quoted > 0 then words[#words + 1] = "quoted:" .. quoted end
  return table.concat(words, " ")
end

local ADD = '{"name":"todo.add","arguments":{"text":"tea"}}'
local ACT = '{"window_id":"todo","action_id":"add","params":{"text":"tea"}}'

local function tool(inside) return "<tool_call>" .. inside .. "</tool_call>" end
local function action(inside) return "<action_call>" .. inside .. "</action_call>" end

describe("calls of a text:", function()
  local cases = {
    { "none",                        "No call here; 1 < 2, <b>.", "" },
    { "the form with a name",        "On it.\n" .. tool(ADD) .. "\nDone.", 'todo.add({"text":"tea"})' },
    { "without arguments",           tool '{"name":"ls"}', "ls()" },
    { "with null for arguments",     tool '{"name":"ls","arguments":null}', "ls()" },
    { "arguments as a string",       tool [[{"name":"a","arguments":"{\"x\":1}"}]], 'a({"x":1})' },
    { "a member twice",              tool '{"name":"a","name":"b"}', "!syntax" },
    { "an argument twice",           tool '{"name":"a","arguments":{"x":1,"x":2}}', "!syntax" },
    { "an argument twice in a text", tool [[{"name":"a","arguments":"{\"x\":1,\"x\":2}"}]], "!shape" },
    { "with an id",                  tool '{"id":"c1","name":"ls"}', "ls()#c1" },
    { "several",                     tool(ADD) .. tool '{"name":"b"}' .. " and " .. tool '{"name":"c"}',
                                     'todo.add({"text":"tea"}) b() c()' },
    { "a list in one tag",           tool '[{"name":"a"},{"name":"b"}]', "a() b()" },
    { "the form with windows",       action('{"calls":[' .. ACT .. "]}"), 'todo/add({"text":"tea"})' },
    { "several of these",            action('{"calls":[' .. ACT .. "," .. ACT .. "]}") .. action(ACT),
                                     'todo/add({"text":"tea"}) todo/add({"text":"tea"}) todo/add({"text":"tea"})' },
    { "a single one",                action("\n" .. ACT .. "\n"), 'todo/add({"text":"tea"})' },
    { "each form in the other's tag", action(ADD) .. tool('{"calls":[' .. ACT .. "]}"),
                                     'todo.add({"text":"tea"}) todo/add({"text":"tea"})' },
    { "over several lines",          "<tool_call>\n{\n  \"name\": \"a\",\n  \"arguments\": {\r\n}\n}\n</tool_call>",
      "a({})" },
    { "cut off behind the JSON",     "<tool_call>" .. ADD .. "\n", 'todo.add({"text":"tea"})' },
    { "arguments with the closing tag",
      tool [[{"name":"a","arguments":{"x":"</tool_call> <tool_call>{}"}}]] .. tool '{"name":"b"}',
                                     'a({"x":"</tool_call> <tool_call>{}"}) b()' },
    { "arguments with a fence",      tool '{"name":"a","arguments":{"x":"\\n```lua\\nx\\n```\\n"}}' .. "\n"
      .. tool '{"name":"b"}',
                                     'a({"x":"\\n```lua\\nx\\n```\\n"}) b()' },
    { "a fence between lines of JSON",
      '<tool_call>{"name":"a","arguments":{"x":\n"```"\n,"y":\n"```"}}</tool_call>' .. tool '{"name":"b"}',
                                     'a({"x":"```","y":"```"}) b()' },
    { "arguments with a whole call", tool(([[{"name":"a","arguments":{"x":%s}}]]):format(ebb.json.encode(tool(ADD)))),
                                     ([[a({"x":%s})]]):format(ebb.json.encode(tool(ADD))) },
    { "arguments beyond ASCII",      tool '{"name":"加","arguments":{"文":"😀 \\u0000"}}',
      '加({"文":"😀 \\u0000"})' },
    { "another tag",                 "<tool_calls>" .. ADD .. "</tool_calls> <TOOL_CALL>", "" },
  }
  for _, case in ipairs(cases) do
    it(case[1], function() assert.equal(case[3], shown(case[2])) end)
  end
end)

describe("quoted, not made:", function()
  local cases = {
    { "in a fenced block",           "Like this:\n```\n" .. tool(ADD) .. "\n```\n", "quoted:1" },
    { "with a language",             "```xml\n" .. tool(ADD) .. "\n```", "quoted:1" },
    { "of tildes",                   "~~~\n" .. tool(ADD) .. "\n```\n" .. tool(ADD) .. "\n~~~\n"
      .. tool '{"name":"b"}', "b() quoted:2" },
    { "longer fences hold shorter ones", "````\n```\n" .. tool(ADD) .. "\n```\n````\n" .. tool '{"name":"b"}',
      "b() quoted:1" },
    { "indented by three spaces",    "x\n   ```\n" .. tool(ADD) .. "\n   ```", "quoted:1" },
    { "in the line of the fence",    "~~~ " .. tool(ADD) .. "\nx\n~~~", "quoted:1" },
    { "to the end where it is open", "x\n```\n" .. tool(ADD) .. tool(ADD), "quoted:2" },
    { "before and behind calls",     tool '{"name":"a"}' .. "\n```\n" .. tool(ADD) .. "\n```\n"
      .. tool '{"name":"b"}', "a() b() quoted:1" },
    { "directly behind a backtick",  "Write `<tool_call>` or `" .. tool(ADD) .. "`.", "quoted:2" },
    -- and text that is not quoted
    { "not by ``` within a line",    "say ``` and " .. tool '{"name":"b"}', "b()" },
    { "not by a span with backticks", "```a` b\n" .. tool '{"name":"b"}', "b()" },
    { "not by four spaces",          "x\n    ```\n" .. tool '{"name":"b"}', "b()" },
    { "not behind the closing fence", "```\n```\n" .. tool '{"name":"b"}', "b()" },
  }
  for _, case in ipairs(cases) do
    it(case[1], function() assert.equal(case[3], shown(case[2])) end)
  end
end)

describe("broken, and said so:", function()
  local cases = {
    -- what                       text                                        calls            what the model is told
    { "no JSON",                  tool "add(tea)" .. tool(ADD),               "!syntax",
      "no JSON at 1:12: expected a value" },
    { "JSON that is cut off",     '<tool_call>{"name":"a"',                   "!syntax",       "expected" },
    { "an unescaped quote, and what then looks like a call",
      tool('{"name":"a","arguments":{"x":"he said "' .. tool(ADD) .. '""}}'), "!syntax",
        "nothing after it was read" },
    { "something behind the JSON", tool(ADD .. " ok") .. tool(ADD),           "!syntax",
      "expected </tool_call> after the JSON" },
    { "another closing tag",      "<tool_call>" .. ADD .. "</action_call>",   "!syntax",
      "expected </tool_call> after the JSON" },
    { "no object",                tool "7" .. tool '{"name":"b"}',            "!shape b()",
      "a list of calls is expected, not 7" },
    { "null",                     tool "null",                                "!shape",        "not null" },
    { "no calls",                 action '{"calls":[]}',                      "!shape",
      "a list of calls is expected, not an empty one" },
    { "an empty list",            tool "[]" .. action "[]",                   "!shape !shape",
      "a list of calls is expected, not an empty one" },
    { "no name",                  tool '{"arguments":{}}',                    "!shape",        "no field 'arguments'" },
    { "an empty name",            tool '{"name":""}',                         "!shape",
      'name: a name is expected, not ""' },
    { "no window",                action '{"action_id":"x"}',                 "!shape",
      "window_id: a name is expected, not nothing" },
    { "no action",                action '{"window_id":"x"}',                 "!shape",
      "action_id: a name is expected" },
    { "an unknown field",         tool '{"name":"a","argument":{}}',          "!shape",
      "no field 'argument' (did you mean 'arguments'?)" },
    { "arguments that are no object", tool '{"name":"a","arguments":[1]}',    "!shape",
      "arguments: an object is expected, not a list" },
    { "params that are a text",   action '{"window_id":"w","action_id":"a","params":"x"}', "!shape",
      'params: an object is expected, not "x"' },
    { "one of a batch: none is made", action('{"calls":[' .. ACT .. ',{"window_id":"w"}]}') .. tool '{"name":"b"}',
                                                                              "!shape b()",    "call 2: action_id" },
    { "invalid UTF-8",            tool '{"name":"\xff"}',                     "!encoding",     "no JSON" },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      assert.equal(case[3], shown(case[2]))
      local problem = ebb.read_calls(case[2])[1].problem
      assert.truthy(problem:find(case[4], 1, true), problem)
    end)
  end

  it("more than a hundred", function()
    local list = ebb.read_calls(tool('{"name":"a"}'):rep(150))
    assert.equal(101, #list)
    assert.equal("limit", list[101].code)
    list = ebb.read_calls(tool("[" .. ('{"name":"a"},'):rep(150) .. '{"name":"a"}]'))
    assert.same({ 1, "limit" }, { #list, list[1].code })
    list = ebb.read_calls(tool("1"):rep(150))
    assert.same({ 101, "limit" }, { #list, list[101].code })
  end)
end)

it("of texts made of pieces nothing raises, and all is accounted for", function()
  local pieces = {
    "<tool_call>", "</tool_call>", "<action_call>", "</action_call>", ADD, ACT, "{", "}",
    "[", "]", '"', ",", "\n", "```",
    "\n```\n", "\n~~~", "`", " ", '{"calls":[', "null", "\\", "\xff", "\0", '{"name":"x"}', "text",
  }
  local seed = helper.seed()
  for i = 1, 3000 do
    math.randomseed(seed + i)
    local words = {}
    for j = 1, math.random(1, 30) do
      words[j] = pieces[math.random(#pieces)]
    end
    local text = table.concat(words)
    local list, quoted = ebb.read_calls(text)
    local tags = select(2, text:gsub("<tool_call>", "")) + select(2, text:gsub("<action_call>", ""))
    local stopped = false
    for _, call in ipairs(list) do
      assert((call.problem ~= nil) ~= (call.name ~= nil or call.window ~= nil and call.action ~= nil), text)
      assert(text:sub(call.position, call.position):find "<", text)
      stopped = stopped or call.code == "syntax" or call.code == "encoding"
    end
    assert(quoted <= tags and (#list > 0 or quoted > 0) == (tags > 0), ("SEED=%d: %q"):format(seed + i - 1, text))
    assert(not stopped or list[#list].problem, "something is read behind broken JSON")
  end
end)

describe("hostile texts end soon: #time", function()
  local million = 1 << 20
  local quotes = [["<tool_call>["x",]]
  local texts = {
    ["<"] = ("<"):rep(million), ["<tool_call>"] = ("<tool_call>"):rep(100000), ["`"] = ("`"):rep(million),
    ["fences"] = ("\n```\n"):rep(million // 5), ["growing fences"] = ("\n```"):rep(million // 4) .. "`",
    ["tildes"] = ("\n~~~ <tool_call>"):rep(million // 16), ["lines"] = ("\n"):rep(million),
    ["openings"] = ("\n````"):rep(10) .. ("\n```"):rep(million // 4),
    ["quoted tags"] = ("`<tool_call>"):rep(million // 12),
      ["JSON in JSON"] = "<tool_call>[" .. quotes:rep(million // #quotes),
    ["deep arguments"] = '<tool_call>{"name":"a","arguments":' .. ("["):rep(10000) .. ("]"):rep(10000)
      .. "}</tool_call>",
    ["spaces"] = "<tool_call>{}" .. (" "):rep(million) .. "x",
  }
  for name, text in pairs(texts) do
    it(name, function()
      cpu_time.within(200, function() ebb.read_calls(text) end)
    end)
  end

  it("deep arguments are refused by their depth", function()
    assert.truthy(ebb.read_calls(texts["deep arguments"])[1].problem:find("at most 256 levels", 1, true))
  end)

  it("a text too long is not read", function()
    assert.equal("limit", ebb.read_calls((" "):rep(16 * 1024 * 1024 + 1))[1].code)
  end)
end)

describe("ebb.json.decode_at", function()
  it("reads one value and says where it ends", function()
    assert.same({ 12, 4 }, { ebb.json.decode_at("x12 y", 2) })
    assert.same({ ebb.null, 7 }, { ebb.json.decode_at("a null]", 2) })
    local value, after = ebb.json.decode_at('<t>{"a":"</t>"}</t>', 4)
    assert.same({ "</t>", 16 }, { value.a, after })
  end)

  it("says where in the whole text it fails", function()
    local value, message, code = helper.outcome(ebb.json.decode_at("ab\n[1,]", 4))
    assert.same({ "2:4", "syntax" }, { message:match "^%d+:%d+", code })
    assert.is_nil(value)
    assert.equal("syntax", select(2, ebb.json.decode_at("ab", 3)).code)
  end)

  it("refuses a position outside of the text", function()
    assert.equal("out_of_range", helper.refusal(ebb.json.decode_at, "ab", 0).code)
    assert.equal("out_of_range", helper.refusal(ebb.json.decode_at, "ab", 4).code)
  end)
end)
