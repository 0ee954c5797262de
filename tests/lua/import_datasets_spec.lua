--- Data sets and batches: ShareGPT, Alpaca, bodies in lines, OpenAI's and Anthropic's batches, ChatML.

local gate = dofile "tests/lua/growth_gate.lua"
local kit = dofile "tests/lua/import_kit.lua"

local json, jsonl, read, refusal, count = kit.json, kit.jsonl, kit.read, kit.refusal, kit.count
local list = json.array

local function words(name, text, options) return kit.openai(read(name, text, options)) end

local function turns(...)
  local result = list {}
  for i, turn in ipairs { ... } do
    local from, value = turn:match "^(.-):(.*)$"
    result[i] = { from = from, value = value }
  end
  return result
end

describe("ShareGPT's rows", function()
  it("have speakers by many names", function()
    local rows = { { conversations = turns("human:q", "gpt:a", "system:s", "user:Q", "ChatGPT:A") } }
    assert.equal("u:q | a:a | s:s | u:Q | a:A", words("sharegpt", jsonl(rows)))
    assert.equal("a:first", words("sharegpt", json.encode(list { { conversations = turns "gpt:first" } })))
    assert.equal("u:x | a:y", words("sharegpt", json.encode(list { { conversations = list {
      { role = "user", content = "x" }, { role = "assistant", content = "y" } } } })))
  end)

  it("have calls and results without ids, and tools as JSON text", function()
    local row = { system = "S", id = "r1", conversations = turns("human:q",
      'function_call:{"name": "f", "arguments": {"b": 1.0, "a": "x"}}', "observation:ok",
      'function_call:[{"name":"f","arguments":"{}"},{"name":"g"}]', "observation:1", "tool:2", "gpt:done"),
      tools = '[{"name":"f","parameters":{"type":"object"}},{"type":"function","function":{"name":"g"}}]' }
    local result = read("sharegpt", jsonl { row })
    assert.equal('u:q | a:f(call_1){"b": 1.0, "a": "x"} | t(call_1):ok | a:f(call_2){}+g(call_3){} | t(call_2):1 | '
      .. "t(call_3):2 | a:done", kit.openai(result))
    assert.same({ "S", "r1", 2, "f", "g" }, { result.system, result.id, #result.tools, result.tools[1]["function"].name,
      result.tools[2]["function"].name })
    row.tools, row.conversations = "[broken", turns("function_call:f()", "observation:x")
    result = read("sharegpt", jsonl { row })
    assert.equal("a:f() | a:observation(call_1){} | t(call_1):x", (kit.openai(result):gsub("a:tool", "a:observation")))
    assert.same({ 1, 1 }, { count(result, "tools that are not JSON"), count(result, "call that is not JSON") })
  end)

  it("have results of the calls before them, but not beyond a turn of the user", function()
    local result = read("sharegpt", jsonl { { conversations = turns("function_call:{\"name\":\"f\"}", "human:q",
      "observation:late") } })
    assert.equal("a:f(call_1){} | u:q | a:tool(call_2){} | t(call_2):late", kit.openai(result))
    assert.same({ 1, 1 }, { count(result, "open call"), count(result, "result without call") })
  end)

  it("with an unknown speaker, or without a text, are refused with their line", function()
    local good = { conversations = turns "human:q" }
    local bad = { conversations = turns("human:q", "critic:no") }
    assert.matches("^f:2: conversations%[1%]: unknown speaker 'critic'", (refusal(jsonl { good, bad }, { path = "f" })))
    local empty = { conversations = list { { from = "human" } } }
    assert.matches("^f:3: conversations%[0%]: expected a text", (refusal(jsonl { good, "", empty }, { path = "f" })))
    local result = assert(kit.import.read(jsonl { good, bad, empty, good }, { skip_bad = true }))
    assert.same({ 2, 2, 4 }, { #result.conversations, count(result, "bad conversation"), result.conversations[2].line })
  end)

  it("with two answers have two branches, and never both", function()
    local row = { conversations = turns "human:q", chosen = { from = "gpt", value = "yes" },
      rejected = { from = "gpt", value = "no" }, kto_tag = true }
    local result = read("sharegpt", jsonl { row })
    assert.same({ "u:q | a:yes", 2, 1, 1 },
      { kit.openai(result), result.branches, count(result, "other answer"), count(result, "tag") })
    assert.equal("u:q | a:no", words("sharegpt", jsonl { row }, { branch = "rejected" }))
    assert.equal("u:q | a:no", words("sharegpt", jsonl { row }, { branch = "2" }))
  end)
end)

describe("Alpaca's rows", function()
  it("have history first, then instruction and input, then output", function()
    local row = { instruction = "I", input = "n", output = "O", system = "S", history = list { list { "q", "a" } } }
    local result = read("alpaca", json.encode(list { row }))
    assert.same({ "u:q | a:a | u:I\nn | a:O", "S" }, { kit.openai(result), result.system })
    row.input, row.history = "", nil
    assert.equal("u:I | a:O", words("alpaca", jsonl { row }))
    row.history = list { list { "q" } }
    assert.matches("history%[0%]: expected two texts", (refusal(jsonl { row })))
  end)

  it("may be prompts with completions or answers", function()
    assert.equal("u:p | a:c", words("alpaca", jsonl { { prompt = "p", completion = "c" } }))
    local turn = { role = "user", content = "p" }
    local row = { prompt = list { turn }, chosen = list { { role = "assistant", content = "y" } }, rejected = "n" }
    assert.equal("u:p | a:y", words("alpaca", jsonl { row }))
    assert.equal("u:p | a:n", words("alpaca", jsonl { row }, { branch = "rejected" }))
    assert.matches("output: expected a text", (refusal(jsonl { { prompt = "p", completion = 5 } })))
  end)
end)

describe("bodies in lines", function()
  local A = '{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","weight":0}], "seed":1.0}'
  local B = '{"system":"s","messages":[{"role":"user","content":"Q"}]}'

  it("stay the bytes that they are", function()
    local result = assert(kit.import.read(A .. "\r\n\n" .. B))
    assert.equal("bodies", result.name)
    local bodies = {}
    for i, each in ipairs(result.conversations) do bodies[i] = kit.import.body(each) end
    assert.same({ A, B }, bodies)
    assert.same({ "openai", "anthropic", 3 },
      { result.conversations[1].dialect, result.conversations[2].dialect, result.conversations[2].line })
    assert.equal("u:Q", words("bodies", A .. "\n" .. B, { conversation = "2" }))
    assert.equal(2, #assert(kit.import.read("[" .. A .. "," .. B .. "]")).conversations)
  end)

  it("get arguments as texts where a set has objects, and say so", function()
    local row = { messages = list { { role = "assistant", content = json.null, tool_calls = list {
      { id = "1", type = "function", ["function"] = { name = "f", arguments = { a = 1 } } },
      { id = "2", type = "function", ["function"] = { name = "g" } } } } }, extra = true }
    local result = read("bodies", jsonl { row, A }, { conversation = "1" })
    assert.equal('a:f(1){"a":1}+g(2){}', kit.openai(result))
    assert.equal(2, count(result, "call with arguments as a value"))
    local body = json.decode(kit.import.body(result))
    assert.same({ true, '{"a":1}' }, { body.extra, body.messages[1].tool_calls[1]["function"].arguments })
  end)

  it("are told by their members, and preferences have two branches", function()
    local gemini = '{"contents":[{"role":"user","parts":[{"text":"q"}]}]}'
    assert.equal("gemini", assert(kit.import.read(gemini .. "\n" .. gemini)).conversations[1].dialect)
    local row = { input = { messages = list { { role = "user", content = "q" } }, tools = list {} },
      preferred_output = list { { role = "assistant", content = "y" } },
      non_preferred_output = list { { role = "assistant", content = "n" } } }
    assert.equal("u:q | a:y", words("bodies", jsonl { row }))
    assert.equal("u:q | a:n", words("bodies", jsonl { row }, { branch = "2" }))
    assert.matches("^f:2: expected a request body", (refusal(A .. '\n{"a":1}\n', { path = "f" })))
  end)
end)

describe("batches", function()
  local function ask(id, text, more)
    local record = { custom_id = id, method = "POST", url = "/v1/chat/completions",
      body = { model = "m", messages = list { { role = "user", content = text } } } }
    for key, value in pairs(more or {}) do record[key] = value end
    return record
  end
  local function answer(id, text)
    return { id = "b", custom_id = id, error = json.null, response = { status_code = 200, body = {
      choices = list { { message = { role = "assistant", content = text } } } } } }
  end

  it("of OpenAI are joined by their ids, in the order of the requests", function()
    local text = jsonl { ask("r1", "p"), ask("r2", "q"), answer("r2", "b"), answer("r1", "a") }
    local result = assert(kit.import.read(text))
    assert.same({ "openai_batch", 2, "r1", "r2" },
      { result.name, #result.conversations, result.conversations[1].id, result.conversations[2].id })
    assert.equal("u:p | a:a", kit.openai(result.conversations[1]))
    assert.equal("u:q | a:b", words("openai_batch", text, { conversation = "r2" }))
    assert.equal("m", json.decode(kit.import.body(result.conversations[1])).model)
  end)

  it("have requests alone, whose bodies stay as they are", function()
    local body = '{"messages": [{"role":"user","content":"p"}], "temperature":1.0}'
    local result = read("openai_batch", ('{"custom_id":"r1","body":%s}\n'):format(body))
    assert.equal(body, kit.import.body(result))
  end)

  it("have answers alone and failures, and say so", function()
    local failed = { custom_id = "r1", response = { status_code = 429, body = { error = { code = "rate" } } } }
    local result = read("openai_batch", jsonl { ask("r1", "p"), failed })
    assert.same({ "u:p", { "1 request without answer: status 429, rate" } }, { kit.openai(result), kit.report(result) })
    result = read("openai_batch", jsonl { answer("r9", "a") })
    assert.same({ "a:a", 1 }, { kit.openai(result), count(result, "answer without request") })
    assert.matches("^f: expected at least one conversation", (refusal(jsonl { failed }, { path = "f" })))
    result = read("openai_batch", jsonl { failed, answer("r9", "a") })
    assert.same({ "a:a", 1 }, { kit.openai(result), count(result, "request without answer") })
    failed.response, failed.error = json.null, { code = "batch_expired" }
    assert.equal("1 request without answer: status 0, batch_expired",
      kit.report(read("openai_batch", jsonl { ask("r1", "p"), failed }))[1])
    result = read("openai_batch",
      jsonl { ask("r1", "p"), { odd = 1 }, ask("r1", "P"), answer("r1", "a"), answer("r1", "A") })
    assert.same({ "u:P | a:A", 1, 1, 1 }, { kit.openai(result), count(result, "other line"),
      count(result, "repeated request"), count(result, "repeated result") })
  end)

  it("have the dialect that the url names", function()
    local request = ask("r1", "p", { url = "/v1/responses", body = { input = "q" } })
    local reply = { custom_id = "r1", response = { status_code = 200, body = { output = list {
      { type = "message", role = "assistant", content = list { { type = "output_text", text = "a" } } } } } } }
    local result = read("openai_batch", jsonl { request, reply })
    assert.same({ "responses", "u:q | a:a" }, { result.dialect, kit.openai(result) })
    local embedding = ask("r1", "p", { url = "/v1/embeddings", body = { input = "q", encoding_format = "float" } })
    assert.matches("^f:1: expected a request body", (refusal(jsonl { embedding }, { path = "f" })))
  end)

  it("of Anthropic have params and typed results", function()
    local request = { custom_id = "r1",
      params = { max_tokens = 5, messages = list { { role = "user", content = "q" } } } }
    local reply = { custom_id = "r1", result = { type = "succeeded", message = { id = "m", role = "assistant",
      content = list { { type = "text", text = "a" } }, usage = { input_tokens = 1 } } } }
    local result = read("anthropic_batch", jsonl { reply, request })
    assert.same({ "anthropic", "u:q | a:a", 5 },
      { result.dialect, kit.anthropic(result), json.decode(kit.import.body(result)).max_tokens })
    reply.result = { type = "expired" }
    assert.equal("1 request without answer: expired", kit.report(read("anthropic_batch", jsonl { request, reply }))[1])
  end)
end)

describe("text of ChatML", function()
  it("has turns that end only before another one", function()
    local result = read("chatml", "\n<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nsay <|im_end|> and\n"
      .. "<|im_start|>x<|im_end|>\n\n<|im_start|>assistant\nok<|im_end|>\n<|endoftext|>\n")
    assert.equal("s:S | u:say <|im_end|> and\n<|im_start|>x | a:ok", kit.openai(result))
    assert.equal(1, count(result, "marker in a text"))
  end)

  it("may end with a prompt for the answer, or within a turn", function()
    assert.equal("u:q", words("chatml", "<|im_start|>user\r\nq<|im_end|>\r\n<|im_start|>assistant\r\n"))
    local result = read("chatml", "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\nhal")
    assert.same({ "u:q | a:hal", 1 }, { kit.openai(result), count(result, "open turn") })
  end)

  it("has Qwen's calls, results and thoughts", function()
    local result = read("chatml", '<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n<think>\nhm\n</think>\n\nsee\n'
      .. '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>\n<tool_call>{"name":"g"}</tool_call>'
      .. '<|im_end|>\n'
      .. '<|im_start|>user\n<tool_response>\nF\n</tool_response>\n<tool_response>\nG\n</tool_response><|im_end|>\n'
      .. '<|im_start|>assistant\n<tool_call>oops</tool_call><|im_end|>\n<|im_start|>tool\nlate<|im_end|>\n')
    assert.equal('u:q | a:<hm>see+f(call_1){"a": 1}+g(call_2){} | t(call_1):F | t(call_2):G | '
      .. 'a:<tool_call>oops</tool_call> | a:tool(call_3){} | t(call_3):late', kit.openai(result))
    assert.same({ 1, 1 }, { count(result, "call that is not JSON"), count(result, "result without call") })
  end)

  it("with an unknown role is refused", function()
    assert.matches("^f:3:1: expected a role of ChatML",
      (refusal("<|im_start|>user\nq<|im_end|>\n<|im_start|>critic\nno<|im_end|>", { path = "f" })))
  end)
end)

describe("messages of LangChain", function()
  local function stored(kind, data) return { type = kind, data = data } end
  local function dumped(path, kwargs) return { lc = 1, type = "constructor", id = list(path), kwargs = kwargs } end
  local CALL = { id = "c1", name = "f", args = { a = 1 }, type = "tool_call" }

  it("are stored or dumped, by Python or JavaScript", function()
    local text = json.encode(list {
      stored("system", { content = "S" }), stored("human", { content = "q", name = "" }),
      dumped({ "langchain", "schema", "messages", "AIMessage" }, { content = "", tool_calls = list { CALL } }),
      dumped({ "langchain_core", "messages", "ToolMessage" },
        { content = "R", tool_call_id = "c1", status = "error", artifact = { 1 } }),
      stored("AIMessageChunk", { type = "AIMessageChunk", id = "x", content = "an" }),
      stored("AIMessageChunk", { type = "AIMessageChunk", id = "x", content = "swer" }),
      stored("chat", { role = "user", content = "more", name = "Ann" }), stored("remove", { id = "1", content = "" }),
      stored("odd", { content = "?" }), dumped({ "x", "Secret" }, {}), { lc = 1, type = "secret", id = list { "KEY" } },
    })
    local result = read("langchain", text)
    assert.equal('s:S | u:q | a:f(c1){"a":1} | t(c1):R | a:answer | u:more', kit.openai(result))
    assert.equal("Ann", result.messages[6].name)
    assert.same({ 1, 1, 1, 3 }, { count(result, "artifact"), count(result, "result of a failed call"),
      count(result, "removal"), count(result, "other message") })
  end)

  it("have calls twice in replies of Anthropic's models, and count them once", function()
    local blocks = list { { type = "thinking", thinking = "hm", signature = "s" }, { type = "text", text = "see" },
      { type = "tool_use", id = "c1", name = "f", input = { a = 1 } },
      { type = "tool_use", id = "c2", name = "g", input = { b = 2 } }, { type = "odd" } }
    local reply = stored("ai", { content = blocks, tool_calls = list { CALL } })
    local result = read("langchain", json.encode(list { reply }))
    assert.equal('a:<hm>see+f(c1){"a":1}+g(c2){"b":2}', kit.openai(result))
    assert.same({ 1, 1, 2 }, { count(result, "signature of reasoning"), count(result, "other block"),
      count(result, "open call") })
  end)

  it("have calls that could not be parsed, and the provider's own", function()
    local function reply(data)
      data.content = data.content or ""
      return words("langchain", json.encode(list { stored("ai", data) }))
    end
    assert.equal("a:f(c1){broken", reply { invalid_tool_calls = list { { id = "c1", name = "f", args = "{broken" } } })
    assert.equal('a:f(c1){"a":2}', reply { additional_kwargs = { tool_calls = list {
      { id = "c1", ["function"] = { name = "f", arguments = '{"a":2}' } } } } })
    assert.equal("a:<hm>f(call_1){}", reply { additional_kwargs = { reasoning_content = "hm",
      function_call = { name = "f", arguments = "" } } })
  end)

  it("may be nested, escaped, and many in lines", function()
    local one = list { stored("human", { content = list { "hi", { type = "image", source_type = "base64",
      mime_type = "image/png", data = "AA" }, { type = "image_url", image_url = { url = "http://x" } } } }) }
    assert.equal("u:hi+image_url+image_url",
      words("langchain", json.encode { channel_values = { messages = one }, v = 1 }))
    local escaped = list { { __lc_escaped__ = stored("human", { content = "x" }) } }
    assert.equal("u:x", words("langchain", json.encode(escaped)))
  end)
end)

describe("data sets of many rows", function()
  local FORMS = {
    sharegpt = '{"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"a"}]}\n',
    bodies = '{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}\n',
    alpaca = '{"instruction":"q","input":"","output":"a"}\n',
    openai_batch = '{"custom_id":"r%d","body":{"messages":[{"role":"user","content":"q"}]}}\n',
    chatml = "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n",
    sillytavern = '{"name":"C","is_user":false,"is_system":false,"mes":"q"}\n',
  }
  for name, row in pairs(FORMS) do
    it("are read in linear time: " .. name, function()
      local texts = {}
      gate.check(name, 500, function(n)
        if not texts[n] then
          local rows = {}
          for i = 1, n do rows[i] = row:format(i) end
          texts[n] = table.concat(rows)
        end
        return gate.seconds(function() assert.equal(name, assert(kit.import.read(texts[n])).name) end)
      end)
    end)
  end
end)
