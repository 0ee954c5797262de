--- Counting requests: literals of the providers' pages, other counters, trust,
--- calibration, models.

local helper = dofile "tests/lua/helper.lua"
local it_exact = dofile "tests/lua/it_exact.lua"(it, function(why) pending(why) end)
local ebb, refusal = helper.ebb, helper.refusal

---- Images of any size: the header of a PNG is enough ----

local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local function base64(bytes)
  local out = {}
  for i = 1, #bytes, 3 do
    local a, b, c = bytes:byte(i, i + 2)
    local bits = a << 16 | (b or 0) << 8 | (c or 0)
    for k = 0, 3 do
      local digit = bits >> (18 - 6 * k) & 63
      out[#out + 1] = (k < 2 or (k == 2 and b) or c) and DIGITS:sub(digit + 1, digit + 1) or "="
    end
  end
  return table.concat(out)
end

local function png(width, height)
  return base64("\x89PNG\r\n\x1a\n\0\0\0\rIHDR" .. string.pack(">I4I4", width, height) .. "\8\2\0\0\0")
end

---- Requests ----

local JARGON = {
  { role = "system", content = "You are a helpful, pattern-following assistant that translates corporate jargon " ..
    "into plain English." },
  { role = "system", name = "example_user", content = "New synergies will help drive top-line growth." },
  { role = "system", name = "example_assistant", content = "Things working well together will increase revenue." },
  { role = "system", name = "example_user", content = "Let's circle back when we have more bandwidth to touch base " ..
    "on opportunities for increased leverage." },
  { role = "system", name = "example_assistant", content = "Let's talk later when we're less busy about how to do " ..
    "better." },
  { role = "user", content = "This late pivot means we don't have time to boil the ocean for the client deliverable." },
}

local function jargon() return { messages = JARGON } end

local function weather()
  return {
    messages = {
      { role = "system", content = "You are a helpful assistant that can answer to questions about the weather." },
      { role = "user", content = "What's the weather like in San Francisco?" },
    },
    tools = { { type = "function", ["function"] = {
      name = "get_current_weather", description = "Get the current weather in a given location",
      parameters = {
        type = "object", required = { "location" },
        properties = {
          location = { type = "string", description = "The city and state, e.g. San Francisco, CA" },
          unit = { type = "string", description = "The unit of temperature to return",
            enum = { "celsius", "fahrenheit" } },
        },
      },
    } } },
  }
end

--- A user's message with an image as OpenAI takes it, and a text of one token if `text`.
local function picture(width, height, detail, text)
  local url = { url = "data:image/png;base64," .. png(width, height), detail = detail }
  local parts = { { type = "image_url", image_url = url } }
  if text then parts[2] = { type = "text", text = "hi" } end
  return { messages = { { role = "user", content = parts } } }
end

--- Makes a body with an image of this size, in Anthropic's form.
local function source(width, height)
  local image = { type = "base64", media_type = "image/png", data = png(width, height) }
  return { messages = { { role = "user", content = { { type = "image", source = image } } } } }
end

local function parallel()
  local calls = {}
  for i, city in ipairs { "Paris", "Oslo" } do
    calls[i] = { id = "call_" .. i, type = "function",
      ["function"] = { name = "get_weather", arguments = ('{"city":"%s"}'):format(city) } }
  end
  return { messages = {
    { role = "user", content = "Hello world" },
    { role = "assistant", content = ebb.null, tool_calls = calls },
    { role = "tool", tool_call_id = "call_1", content = "sunny" },
    { role = "tool", tool_call_id = "call_2", content = "rain" },
  } }
end

local MESSAGE = 7   -- one message's framing and role, 4, and the reply's priming, 3

local COOKBOOK = "OpenAI Cookbook, How to count tokens with tiktoken, part 6"
local TOOLS = "OpenAI Cookbook, How to count tokens with tiktoken, part 7"
local VISION = "OpenAI, Images and vision, Calculating costs"
local BILLED = "OpenAI community, Vision pricing calculator, GPT-4.1 vision billing: as billed, with 1 token of text"
local MEASURED = "OpenAI community, GPT-5-mini image input token calculation: measured"
local CLAUDE = "Anthropic, Vision, Resolution and token cost"
local GOOGLE = "Google, Gemini API, Image understanding, Token calculation"
--- By hand, its texts by npm gpt-tokenizer: 4 messages of 4, and 3; Hello world 2; get_weather 2 twice, its
--- arguments 5 and 6; sunny 2; rain 1.
--- Two calls are wrapped, which costs 25: github forestwanglin/openai-java, TikTokenUtils.java.
local BY_HAND = "by hand from the rules"

local requests = {
  -- model           request                              tokens             source
  { "gpt-3.5-turbo", jargon(),                            129,               COOKBOOK },
  { "gpt-4",         jargon(),                            129,               COOKBOOK },
  { "gpt-4o",        jargon(),                            124,               COOKBOOK },
  { "gpt-4o-mini",   jargon(),                            124,               COOKBOOK },
  { "gpt-3.5-turbo", weather(),                           105,               TOOLS },
  { "gpt-4",         weather(),                           105,               TOOLS },
  { "gpt-4o",        weather(),                           101,               TOOLS },
  { "gpt-4o-mini",   weather(),                           101,               TOOLS },
  { "gpt-4o",        picture(1024, 1024, "high"),         765 + MESSAGE,     VISION },
  { "gpt-4o",        picture(2048, 4096, "high"),         1105 + MESSAGE,    VISION },
  { "gpt-4o",        picture(4096, 8192, "low"),          85 + MESSAGE,      VISION },
  { "gpt-4.1",       picture(1800, 2400, nil, true),      773,               BILLED },
  { "gpt-4.1",       picture(2049, 513, nil, true),       1453,              BILLED },
  { "gpt-4.1",       picture(2050, 513, nil, true),       773,               BILLED },
  { "gpt-5-mini",    picture(1280, 720),                  1104 + MESSAGE,    MEASURED },
  { "gpt-5-mini",    picture(2048, 768),                  1844 + MESSAGE,    MEASURED },
  { "claude-sonnet-4-5", source(200, 200),                64 + MESSAGE,      CLAUDE, "estimated" },
  { "claude-sonnet-4-5", source(1000, 1000),              1296 + MESSAGE,    CLAUDE, "estimated" },
  { "claude-sonnet-4-5", source(1092, 1092),              1521 + MESSAGE,    CLAUDE, "estimated" },
  { "claude-sonnet-4-5", source(819, 1456),               1560 + MESSAGE,    CLAUDE, "estimated" },
  { "gemini-2.5-pro", picture(384, 384),                  258 + MESSAGE,     GOOGLE, "estimated" },
  { "gemini-2.5-pro", picture(960, 540),                  1548 + MESSAGE,    GOOGLE, "estimated" },
  { "gpt-4o",        parallel(),                          39 + 25,           BY_HAND },
}

describe("a request counts", function()
  for i, row in ipairs(requests) do
    local model, request, tokens, where, trust = table.unpack(row, 1, 5)
    local test = trust and it or it_exact
    test(("%d tokens for %s (%d: %s)"):format(tokens, model, i, where), function()
      request.model = model
      local chat = assert(ebb.parse(ebb.json.encode(request)))

      assert.same({ tokens, trust or "derived" }, { chat:tokens(), chat:trust() })
    end)
  end
end)

---- Vocabularies ----

describe("an exact encoding", function()
  it_exact("counts once per message, and what it counts says how far it can be trusted", function()
    local chat = ebb.conversation { encoding = "o200k_base" }
    chat:append { role = "user", content = "Hello world" }
    assert.same({ 9, "derived" }, { chat:tokens(), chat:trust() })
    assert.equal("o200k_base", chat:encoding())

    chat:append { role = "user", content = { { type = "image_url", image_url = { url = "https://x.org/a.png" } } } }
    assert.same({ 9 + 4 + 765, "estimated" }, { chat:tokens(), chat:trust() })
    chat:truncate { keep_first = 1 }
    assert.same({ 9, "derived" }, { chat:tokens(), chat:trust() })
  end)

  it_exact("guesses what an image costs a model that is not known to read any", function()
    local body = picture(512, 512)
    local seeing = ebb.conversation { model = "gpt-4o" }
    local blind = ebb.conversation { model = "gpt-4" }
    seeing:append(body.messages)
    blind:append(body.messages)

    assert.equal("derived", seeing:trust())
    assert.equal("estimated", blind:trust())
  end)

  it_exact("may be asked for beside another one, and for one trim", function()
    local chat = assert(ebb.load "scripts/samples/support.json", { encoding = "cjk" })
    chat:recount { encoding = "cjk" }
    local before = { chat:tokens(), chat:trust() }
    local exact = chat:tokens { encoding = "o200k_base" }

    local report = assert(chat:trim { budget = 4000, encoding = "o200k_base" })

    assert.equal(exact, report.before)
    assert.equal(chat:tokens { encoding = "o200k_base" }, report.after)
    assert.is_true(report.after <= 4000)
    assert.equal("cjk", chat:encoding())
    chat:rollback(0)
    assert.same(before, { chat:tokens(), chat:trust() })
  end)

  it("refuses a vocabulary that is not there, or is none", function()
    assert.equal("unknown_name", refusal(ebb.conversation, { encoding = "p50k_base" }).code)
    assert.equal("did you mean 'bytes4'?", refusal(ebb.conversation, { encoding = "byte4" }).hint)
    assert.equal("unknown_name", refusal(ebb.conversation, { encoding = "../cl100k_base" }).code)
    assert.equal("argument", refusal(ebb.conversation, { encoding = 4 }).code)
  end)
end)

---- Other counters, without any vocabulary ----

local function chat_of_estimates()
  local chat = ebb.conversation { encoding = "bytes4" }
  chat:append {
    { role = "system", content = "Be brief." }, { role = "user", content = ("12345 "):rep(40) },
    { role = "assistant", content = ("words "):rep(60) }, { role = "user", content = "And now?" },
  }
  return chat
end

--- Returns the tokens of the same messages in a conversation with these options.
local function tokens_if(chat, options)
  local other = ebb.conversation(options)
  for _, message in ipairs(chat) do other:append { role = message.role, content = message.content } end
  return other:tokens()
end

describe("another encoding", function()
  it("is asked for without changing anything", function()
    local chat = chat_of_estimates()
    local before = chat:tokens()

    local tokens, trust = chat:tokens { encoding = "cjk" }, chat:trust { encoding = "cjk" }

    assert.equal(tokens_if(chat, { encoding = "cjk" }), tokens)
    assert.equal("estimated", trust)
    assert.equal(before, chat:tokens())
    assert.equal(tokens, chat:batch(0):tokens { encoding = "cjk" })
    assert.equal("argument", refusal(chat.tokens, chat, {}).code)
    assert.equal("unknown_name", refusal(chat.tokens, chat, { encodign = "cjk" }).code)
  end)

  it("is from then on the conversation's own, after a recount; a fork keeps its own", function()
    local chat = chat_of_estimates()
    local fork, before = chat:fork(), chat:tokens()

    chat:recount { encoding = "cjk" }
    chat:append { role = "user", content = "One more" }

    assert.equal("cjk", chat:encoding())
    assert.equal(tokens_if(chat, { encoding = "cjk" }), chat:tokens())
    local sum = 3
    for _, message in ipairs(chat) do sum = sum + message.tokens end
    assert.equal(sum, chat:tokens())
    assert.same({ "bytes4", before }, { fork:encoding(), fork:tokens() })
    chat:truncate { keep_last = 2 }
    chat:rollback(0)
    assert.equal(tokens_if(chat, { encoding = "cjk" }), chat:tokens())
  end)

  it("may weigh one trim; its ledger and report are in that measure", function()
    local chat = chat_of_estimates()
    local before = chat:tokens { encoding = "cjk" }

    local dry = assert(chat:trim { budget = 60, encoding = "cjk", dry_run = true })
    local report = assert(chat:trim { budget = 60, encoding = "cjk" })

    assert.equal(dry.ledger:json(), report.ledger:json())
    assert.equal(before, report.before)
    local freed = 0
    for _, entry in ipairs(report.ledger) do freed = freed + entry.tokens end
    assert.equal(before - report.after, freed)
    assert.equal(chat:tokens { encoding = "cjk" }, report.after)
    assert.equal("bytes4", chat:encoding())
    assert.equal(tokens_if(chat, { encoding = "bytes4" }), chat:tokens())
  end)

  it("leaves all as it was when such a trim is refused", function()
    local chat = chat_of_estimates()
    local before = chat:tokens()

    local report, _, code = helper.outcome(chat:trim { budget = 10, encoding = "cjk" })

    assert.same({ nil, "cannot_fit" }, { report, code })
    assert.same({ before, "bytes4" }, { chat:tokens(), chat:encoding() })
  end)

  it("may be asked for where the caller's own counter counts", function()
    local chat = helper.conversation "u5 a6"
    assert.same({ 11, "given" }, { chat:tokens(), chat:trust() })
    assert.is_nil(chat:encoding())
    assert.equal(3 + 4 + 1 + 4 + 1, chat:tokens { encoding = "bytes4" })
    chat:recount { encoding = "bytes4" }
    chat:append { role = "user", content = "12345678" }
    assert.same({ 13 + 4 + 2, "estimated" }, { chat:tokens(), chat:trust() })
  end)
end)

---- Calibration ----

describe("reported usage", function()
  it("raises totals from then on, and fits budgets to them", function()
    local chat = chat_of_estimates()
    local plain = chat:tokens()

    assert.equal(2, chat:report_usage { prompt_tokens = 2 * plain })

    assert.same({ 2 * plain, "calibrated" }, { chat:tokens(), chat:trust() })
    assert.equal(2, chat:fork():calibration())
    local report = assert(chat:trim { budget = 200 })
    assert.same({ 2 * plain, "calibrated", 200 }, { report.before, report.trust, report.budget })
    assert.is_true(report.after <= 200 and report.after == chat:tokens())
    local _, problem = chat:trim { budget = 11 }
    assert.truthy(problem.message:find("the budget is 11", 1, true))
  end)

  it("never lowers a count", function()
    local chat = chat_of_estimates()
    local plain = chat:tokens()
    assert.equal(1, chat:report_usage { prompt_tokens = 5 })
    assert.equal(plain, chat:tokens())
    assert.equal(1.5, chat:report_usage { prompt_tokens = plain * 3 // 2 })
    assert.equal(1.5, chat:report_usage { prompt_tokens = plain })
  end)

  it("is refused or ignored where it makes no sense", function()
    local chat = chat_of_estimates()
    for _, nonsense in ipairs { 0, -1, 0 / 0, 1.5, "many", 2 ^ 40 } do
      local code = refusal(chat.report_usage, chat, { prompt_tokens = nonsense }).code
      assert.truthy(code == "argument" or code == "out_of_range", tostring(nonsense))
    end
    assert.equal("argument", refusal(chat.report_usage, chat, {}).code)
    local function code_of(counted, tokens)
      local ratio, problem = counted:report_usage { prompt_tokens = tokens }
      assert.is_nil(ratio)
      return problem.code
    end
    assert.equal("out_of_range", code_of(chat, 100000))
    assert.equal("argument", code_of(helper.conversation "u5", 10))
    assert.same({ 1, "estimated" }, { chat:calibration(), chat:trust() })
  end)

  it("counts for the limit", function()
    local chat = chat_of_estimates()
    local limited = ebb.conversation { encoding = "bytes4", limit = chat:tokens() }
    for _, message in ipairs(chat) do limited:append { role = message.role, content = message.content } end
    assert.is_false(limited:over_limit())
    limited:report_usage { prompt_tokens = limited:tokens() + 1 }
    assert.is_true(limited:over_limit())
  end)
end)

---- Models ----

describe("ebb.models", function()
  after_each(function()
    ebb.models["my-model"] = nil
    ebb.models["gpt-4o"] = { prices = { input = 1, output = 1 } }
    ebb.models["gpt-4o"].prices = nil
  end)

  it("takes models of the user's, checked", function()
    ebb.models["my-model"] = { encoding = "bytes4", window = 1000, image = "area" }
    local chat = ebb.conversation { model = "my-model-2024-01-01" }
    assert.same({ "bytes4", 1000 }, { chat:encoding(), chat.limit })
    assert.equal(250, ebb.models["my-model"].output)
    assert.equal(750, assert(chat:trim {}).budget)
    local cases = {
      { "window", { encoding = "cjk" } }, { "encoding", { window = 5 } },
      { "window", { encoding = "cjk", window = 0.5 } },
      { "output", { encoding = "cjk", window = 5, output = 5 } },
      { "dialect", { encoding = "cjk", window = 5, dialect = "x" } },
      { "prices.output", { encoding = "cjk", window = 5, prices = { input = 1 } } },
      { "prices.input", { encoding = "cjk", window = 5, prices = { input = -1, output = 1 } } },
      { "wndow", { encoding = "cjk", wndow = 5 } }, { "model other: expected a table", 5 },
    }
    for _, case in ipairs(cases) do
      local problem = refusal(function() ebb.models.other = case[2] end)
      assert.truthy(tostring(problem):find(case[1], 1, true), tostring(problem))
      assert.is_nil(ebb.models.other)
    end
    ebb.models["my-model"].window = -1
    assert.equal("argument", refusal(ebb.conversation, { model = "my-model" }).code)
  end)

  it("changes what is known where the user says so, and keeps the rest", function()
    ebb.models["gpt-4o"] = { prices = { input = 2.5, cached_input = 1.25, output = 10 } }
    assert.same({ 2.5, 128000, "tiles_512" }, { ebb.models["gpt-4o"].prices.input, ebb.models["gpt-4o"].window,
      ebb.models["gpt-4o"].image })
  end)

  it("refuses an unknown image rule", function()
    local function assign(image)
      return refusal(function() ebb.models["my-model"] = { encoding = "cjk", window = 1000, image = image } end)
    end
    assert.equal("did you mean 'tiles_512'?", assign "tiles_51".hint)
    assert.equal("argument", assign { rule = "patches_32", multiplier = 0 / 0 }.code)
    ebb.models["my-model"] = { encoding = "cjk", window = 1000, image = { rule = "patches_32" } }
    ebb.models["my-model"].image = "tiles_51"
    assert.equal("did you mean 'tiles_512'?", refusal(ebb.conversation, { model = "my-model" }).hint)
  end)

  it("counts a loaded body for the model that it names, unless asked otherwise", function()
    ebb.models["my-model"] = { encoding = "bytes4", window = 1000 }
    local body = '{"model":"my-model","messages":[{"role":"user","content":"12345678"}]}'
    assert.equal("bytes4", assert(ebb.parse(body)):encoding())
    assert.equal(9, (assert(ebb.parse(body)):tokens()))
    assert.equal("utf16_2_5", assert(ebb.parse(body, { encoding = "utf16_2_5" })):encoding())
    assert.is_nil(assert(ebb.parse(body, { counter = function() return 1 end })):encoding())
  end)
end)

---- Documents ----

describe("a document", function()
  local function pdf(pages, stream)
    local text = { "%PDF-1.6\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count " .. pages .. ">>endobj\n" }
    for i = 1, pages do text[#text + 1] = i + 2 .. " 0 obj<</Type/Page/Parent 2 0 R>>endobj\n" end
    local noise = ("\1\254\77"):rep((stream or 9) // 3)
    return base64(table.concat(text) .. "9 0 obj<<>>stream\n" .. noise .. "\nendstream endobj")
  end
  --- Bodies of each dialect with one document of these data, in a message and in a result.
  local FORMS = {
    anthropic = '{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64",'
      .. '"media_type":"application/pdf","data":"%s"}}]}]}',
    openai = '{"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf",'
      .. '"file_data":"data:application/pdf;base64,%s"}}]}]}',
    responses = '{"input":[{"role":"user","content":[{"type":"input_file","filename":"a.pdf",'
      .. '"file_data":"data:application/pdf;base64,%s"}]}]}',
    gemini = '{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"application/pdf","data":"%s"}}]}]}',
  }
  local function count(form, data, encoding)
    local chat = assert(ebb.parse(form:format(data), { encoding = encoding or "cjk" }))
    return chat:tokens(), chat:trust()
  end

  it("costs its pages, whatever its bytes, in each dialect alike", function()
    for dialect, form in pairs(FORMS) do
      for _, row in ipairs { { 1, 9 }, { 1, 300000 }, { 5, 300000 } } do
        local tokens, trust = count(form, pdf(row[1], row[2]))
        assert.same({ dialect, row[1] * 3818, "estimated" }, { dialect, tokens - 4 - 3, trust })
      end
    end
  end)

  it("costs the same in a result, and by any counter", function()
    local result = '{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},'
      .. '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"document","source":'
      .. '{"type":"base64","media_type":"application/pdf","data":"%s"}}]}]}]}'
    local without = count(result, pdf(2)) - count(result, pdf(1))
    assert.equal(3818, without)
    for _, encoding in ipairs { "claude", "claude_4_7", "bytes4" } do
      assert.equal(3818, (count(FORMS.openai, pdf(1), encoding)) - 4 - 3, encoding)
    end
  end)

  it("that is named only costs what its part says", function()
    local tokens = count('{"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"%s"}}]}]}', "file-1")
    assert.is_true(tokens < 40)
  end)
end)
