--- Totals of requests that providers counted, each with its source: ours are the same, or estimates with a margin that
--- are not below.
--
-- Totals from OpenAI's cookbook and community, and images by the providers' pages: tests/lua/count_spec.lua.

local helper = dofile "tests/lua/helper.lua"
local it_exact = dofile "tests/lua/it_exact.lua"(it, function(why) pending(why) end)
local ebb = helper.ebb

local margins = require "ebb.models.margins"
local models = require "ebb.models"

--- The tests of npm openai-chat-tokens 0.2.8 (github hmarr/openai-chat-tokens, tests/token-counts.test.ts), which
--- compare these totals with `usage.prompt_tokens` of gpt-3.5-turbo; the texts of the first six are from OpenAI's
--- cookbook.
local BY_THE_API = {
  { 25, [[{"messages":[{"role":"system","content":
    "You are a helpful, pattern-following assistant that translates corporate jargon into plain English."}]}]] },
  { 20, [[{"messages":[{"role":"system","name":"example_user","content":
    "New synergies will help drive top-line growth."}]}]] },
  { 19, [[{"messages":[{"role":"system","name":"example_assistant","content":
    "Things working well together will increase revenue."}]}]] },
  { 28, [[{"messages":[{"role":"system","name":"example_user","content":
    "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage."}]}]] },
  { 26, [[{"messages":[{"role":"system","name":"example_assistant","content":
    "Let's talk later when we're less busy about how to do better."}]}]] },
  { 26, [[{"messages":[{"role":"user","content":
    "This late pivot means we don't have time to boil the ocean for the client deliverable."}]}]] },
  { 8, [[{"messages":[{"role":"user","content":"hello"}]}]] },
  { 9, [[{"messages":[{"role":"user","content":"hello world"}]}]] },
  { 8, [[{"messages":[{"role":"system","content":"hello"}]}]] },
  { 9, [[{"messages":[{"role":"system","content":"hello:"}]}]] },
  { 27, [[{"messages":[{"role":"system","content":"# Important: you're the best robot"},{"role":"user","content":
    "hello robot"},{"role":"assistant","content":"hello world"}]}]] },
  { 31, [[{"messages":[{"role":"user","content":"hello"}],"functions":[{"name":"foo","parameters":{"type":
    "object","properties":{}}}]}]] },
  { 32, [[{"messages":[{"role":"user","content":"hello"}],"functions":[{"name":"foo","parameters":{"type":
    "object","properties":{}}}],"function_call":"none"}]] },
  { 31, [[{"messages":[{"role":"user","content":"hello"}],"functions":[{"name":"foo","parameters":{"type":
    "object","properties":{}}}],"function_call":"auto"}]] },
  { 36, [[{"messages":[{"role":"user","content":"hello"}],"functions":[{"name":"foo","parameters":{"type":
    "object","properties":{}}}],"function_call":{"name":"foo"}}]] },
  { 36, [[{"messages":[{"role":"user","content":"hello"}],"functions":[{"name":"foo","description":"Do a foo",
    "parameters":{"type":"object","properties":{}}}]}]] },
  { 49, [[{"messages":[{"role":"user","content":"hello"}],"functions":[{"name":"bing_bong","description":
    "Do a bing bong","parameters":{"type":"object","properties":{"foo":{"type":"string"}}}}]}]] },
  { 57, [[{"messages":[{"role":"user","content":"hello"}],"functions":[{"name":"bing_bong","description":
    "Do a bing bong","parameters":{"type":"object","properties":{"foo":{"type":"string"},"bar":{"type":
    "number","description":"A number"}}}}]}]] },
  { 68, [[{"messages":[{"role":"user","content":"hello"}],"functions":[{"name":"bing_bong","description":
    "Do a bing bong","parameters":{"type":"object","properties":{"foo":{"type":"object","properties":{"bar":
    {"type":"string","enum":["a","b","c"]},"baz":{"type":"boolean"}}}}}}]}]] },
  { 15, [[{"messages":[{"role":"user","content":"hello world"},{"role":"function","name":"do_stuff","content":
    "{}"}]}]] },
  { 28, [[{"messages":[{"role":"user","content":"hello world"},{"role":"function","name":"do_stuff","content":
    "{\"foo\": \"bar\", \"baz\": 1.5}"}]}]] },
  { 24, [[{"messages":[{"role":"function","name":"dance_the_tango","content":
    "{\"a\": { \"b\" : { \"c\": false}}}"}]}]] },
  { 26, [[{"messages":[{"role":"assistant","content":"","function_call":{"name":"do_stuff","arguments":
    "{\"foo\": \"bar\", \"baz\": 1.5}"}}]}]] },
  { 25, [[{"messages":[{"role":"assistant","content":"","function_call":{"name":"do_stuff","arguments":
    "{\"foo\":\"bar\", \"baz\":\n\n 1.5}"}}]}]] },
  { 158, [[{"messages":[{"role":"system","content":"You are an AI assistant trained to foo or bar"},{"role":"user",
    "content":"My name is suzie"},{"role":"function","name":"foo","content":
    "{\"res\":{\"kind\":\"user\",\"name\":\"suzie\"}}"},{"role":"user","content":
    "I want to post a message with the text \"hello world\""},{"role":"function","name":"foo","content":
    "{\"res\":{\"kind\":\"post\",\"text\":\"hello world\"}}"}],"functions":[{"name":"foo","description":
    "Return the foo or the bar","parameters":{"type":"object","properties":{"res":{"anyOf":[{"type":
    "object","properties":{"kind":{"type":"string","const":"post"},"text":{"type":"string"}},"required":
    ["kind","text"],"additionalProperties":false},{"type":"object","properties":{"kind":{"type":"string",
    "const":"user"},"name":{"type":"string","enum":["jane","suzie","adam"]}},"required":["kind","name"],
    "additionalProperties":false}],"description":"The foo or the bar"}},"required":["res"],
    "additionalProperties":false}}],"function_call":{"name":"foo"}}]] },
  { 52, [[{"messages":[{"role":"system","content":"Hello"},{"role":"user","content":"Hi there"}],"functions":
    [{"name":"do_stuff","parameters":{"type":"object","properties":{"foo":{"anyOf":[{"type":"object",
    "properties":{"kind":{"type":"string","const":"a"},"baz":{"type":"boolean"}}}]}}}}]}]] },
  { 80, [[{"messages":[{"role":"system","content":"Hello"},{"role":"user","content":"Hi there"}],"functions":
    [{"name":"do_stuff","parameters":{"type":"object","properties":{"foo":{"anyOf":[{"type":"object",
    "properties":{"kind":{"type":"string","const":"a"},"baz":{"type":"boolean"}}},{"type":"object",
    "properties":{"kind":{"type":"string","const":"b"},"qux":{"type":"number"}}},{"type":"object",
    "properties":{"kind":{"type":"string","const":"c"},"idk":{"type":"string"}}}]}}}}]}]] },
  { 44, [[{"messages":[{"role":"system","content":"Hello"},{"role":"user","content":"Hi there"}],"functions":
    [{"name":"do_stuff","parameters":{"type":"object","properties":{"foo":{"anyOf":[{"type":"string",
    "const":"a"},{"type":"number"}]}}}}]}]] },
  { 35, [[{"messages":[{"role":"system","content":"Hello"},{"role":"user","content":"Hi there"}],"functions":
    [{"name":"do_stuff","parameters":{"type":"object","properties":{}}}]}]] },
  { 35, [[{"messages":[{"role":"system","content":"Hello:"},{"role":"user","content":"Hi there"}],"functions":
    [{"name":"do_stuff","parameters":{"type":"object","properties":{}}}]}]] },
  { 40, [[{"messages":[{"role":"system","content":"Hello:"},{"role":"system","content":"Hello"},{"role":"user",
    "content":"Hi there"}],"functions":[{"name":"do_stuff","parameters":{"type":"object","properties":{}}}]}]] },
  { 49, [[{"messages":[{"role":"system","content":"Hello:"},{"role":"system","content":"Hello"},{"role":"user",
    "content":"Hi there"}],"functions":[{"name":"do_stuff","parameters":{"type":"object","properties":{}}},
    {"name":"do_other_stuff","parameters":{"type":"object","properties":{}}}]}]] },
  { 55, [[{"messages":[{"role":"system","content":"Hello:"},{"role":"system","content":"Hello"},{"role":"user",
    "content":"Hi there"}],"functions":[{"name":"do_stuff","parameters":{"type":"object","properties":{}}},
    {"name":"do_other_stuff","parameters":{"type":"object","properties":{}}}],"function_call":{"name":
    "do_stuff"}}]] },
  { 106, [[{"messages":[{"role":"user","content":"hello"}],"functions":[{"name":"get_recipe","parameters":{"type":
    "object","required":["ingredients","instructions","time_to_cook"],"properties":{"ingredients":{"type":
    "array","items":{"type":"object","required":["name","unit","amount"],"properties":{"name":{"type":
    "string"},"unit":{"enum":["grams","ml","cups","pieces","teaspoons"],"type":"string"},"amount":{"type":
    "number"}}}},"instructions":{"type":"array","items":{"type":"string"},"description":
    "Steps to prepare the recipe (no numbering)"},"time_to_cook":{"type":"number","description":
    "Total time to prepare the recipe in minutes"}}}}]}]] },
  { 46, [[{"messages":[{"role":"user","content":"hello"}],"functions":[{"name":"function","description":
    "description","parameters":{"type":"object","properties":{"quality":{"type":"object","properties":
    {"pros":{"type":"array","items":{"type":"string"},"description":
    "Write 3 points why this text is well written"}}}}}}]}]] },
  { 96, [[{"messages":[{"role":"user","content":"hello"}],"functions":[{"name":"function","description":
    "desctiption1","parameters":{"type":"object","description":"desctiption2","properties":{"mainField":
    {"type":"string","description":"description3"},"field number one":{"type":"object","description":
    "description4","properties":{"yesNoField":{"type":"string","description":"description5","enum":["Yes",
    "No"]},"howIsInteresting":{"type":"string","description":"description6"},"scoreInteresting":{"type":
    "number","description":"description7"},"isInteresting":{"type":"string","description":"description8",
    "enum":["Yes","No"]}}}}}}]}]] },
}

--- A request that the API counted as 35 tokens. The format's %s is for more members of the tool message.
local CALL = [[{"model":"gpt-4","messages":[{"role":"assistant","content":null,"tool_calls":[
  {"id":"call_Id8ycVMsW8gdsf7kSXfgAcf1","type":"function","function":{"name":"get_current_weather",
  "arguments":"{\n  \"location\": \"Boston, MA\"\n}"}}]},{"role":"tool",%s
  "tool_call_id":"call_Id8ycVMsW8gdsf7kSXfgAcf1","content":"29 degree celcius"}]}]]

local WEATHER = [["tools":[{"type":"function","function":{"name":"get_current_weather",
  "description":"Get the current weather in a given location","parameters":{"type":"object","properties":{
  "location":{"type":"string","description":"The city and state, e.g. San Francisco, CA"},
  "unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["location"]}}}],"tool_choice":"auto"]]

--- Examples of OpenAI's API reference (github openai/openai-openapi, openapi.yaml, createChatCompletion): Default,
--- Functions, Logprobs; ours may be more by the last number.
local API_REFERENCE = {
  { "gpt-4o", 19, [[{"messages":[{"role":"developer","content":"You are a helpful assistant."},
    {"role":"user","content":"Hello!"}]}]] },
  { "gpt-4", 82, [[{"messages":[{"role":"user","content":"What's the weather like in Boston today?"}],]]
    .. WEATHER .. "}", 1 },
  { "gpt-4o", 9, [[{"messages":[{"role":"user","content":"Hello!"}],"logprobs":true,"top_logprobs":2}]] },
}

local TOKEN_COUNTING = "Anthropic, Token counting, examples"
local GEMINI_COOKBOOK = "google-gemini/cookbook, quickstarts/Counting_Tokens.ipynb: 10, and 11 as a request"

--- Estimates: the count is at most the estimate with its margin.
local ESTIMATED = {
  { "claude-sonnet-4-5", 14, [[{"system":"You are a scientist",
    "messages":[{"role":"user","content":"Hello, Claude"}]}]], TOKEN_COUNTING },
  { "claude-sonnet-4-5", 403, [[{"tools":[{"name":"get_weather",
    "description":"Get the current weather in a given location","input_schema":{"type":"object",
    "properties":{"location":{"type":"string",
    "description":"The city and state, e.g. San Francisco, CA"}},"required":["location"]}}],
    "messages":[{"role":"user","content":"What's the weather like in San Francisco?"}]}]], TOKEN_COUNTING },
  { "gemini-2.5-flash", 11, [[{"contents":[{"role":"user","parts":[{"text":
    "What's the highest mountain in Africa?"}]}]}]], GEMINI_COOKBOOK },
  { "gemini-2.5-flash", 10, [[{"contents":[{"role":"user","parts":[{"text":
    "The quick brown fox jumps over the lazy dog."}]}]}]], "Google, Gemini API reference, Counting tokens" },
}

--- A body as sent to a model.
local function body_of(model, rest)
  return ('{"model":"%s",%s'):format(model, rest:sub(2))
end

describe("totals of requests", function()
  it_exact("are those that OpenAI's API counted", function()
    for i, row in ipairs(BY_THE_API) do
      local chat = assert(ebb.parse(body_of("gpt-3.5-turbo", row[2])))
      assert.same({ i, row[1], "derived" }, { i, chat:tokens(), chat:trust() })
    end
  end)

  --- github forestwanglin/openai-java issue 5.
  it_exact("with a call are what the API counted, with a name of its result or without", function()
    for _, name in ipairs { '"name":"get_current_weather",', "" } do
      local chat = assert(ebb.parse(CALL:format(name)))
      assert.same({ 35, "derived" }, { chat:tokens(), chat:trust() })
    end
  end)

  it_exact("are those of the examples in OpenAI's API reference", function()
    for i, row in ipairs(API_REFERENCE) do
      local chat = assert(ebb.parse(body_of(row[1], row[3])))
      assert.equal("derived", chat:trust())
      assert.truthy(chat:tokens() >= row[2] and chat:tokens() <= row[2] + (row[4] or 0), i)
    end
  end)

  it("that are estimated are not below with their margin, nor twice as much", function()
    for i, row in ipairs(ESTIMATED) do
      local chat = assert(ebb.parse(body_of(row[1], row[3])))
      local most = margins.with(chat:tokens(), margins.percent(models.find(row[1]), row[1]))
      local what = ("%d: %d, counted %d: %s"):format(i, most, row[2], row[4])
      assert.truthy(most >= row[2] and most <= 2 * row[2] + 7, what)
    end
  end)

  it_exact("of tools share the frame of the system message that is first", function()
    local function tokens(content)
      local body = [[{"messages":[{"role":"system","content":%s}],"functions":[{"name":"f"}]}]]
      return assert(ebb.parse(body:format(content), { encoding = "cl100k_base" })):tokens()
    end
    assert.equal(tokens '"be brief"', tokens '"be brief:"')      -- the colon and the line end are one token
    assert.equal(tokens '"brief"', tokens '[{"type":"text","text":"brief"}]')
    assert.equal(tokens(('"%s"'):format(("a "):rep(500) .. "x")), tokens(('"%s"'):format(("a "):rep(500) .. "y")))
  end)
end)
