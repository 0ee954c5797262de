--- Requests of Gemini: both spellings of its members, its schemas, and signatures of calls.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local function write(text, dialect, options)
  options = options or {}
  options.shape = "body"
  local written, losses = assert(ebb.parse(text)):write(dialect, options)
  return ebb.json.decode(written), losses, written
end

--- One body in both spellings.
local CAMEL = [[{"systemInstruction":{"parts":[{"text":"S"}]},
"generationConfig":{"maxOutputTokens":5,"topP":0.5,"stopSequences":["E"]},
"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}},
"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object"}}]}],
"contents":[{"role":"user","parts":[{"text":"q"},{"inlineData":{"mimeType":"image/png","data":"aGk="}},
{"fileData":{"mimeType":"video/mp4","fileUri":"gs://a/b"}}]},
{"role":"model","parts":[{"functionCall":{"id":"c","name":"f","args":{"a":1}},"thoughtSignature":"s"}]},
{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}]}]}]]
local SNAKE = CAMEL:gsub('"(%l+)(%u%l+)(%u?%l*)(%u?%l*)":', function(first, ...)
  local name = first
  for _, word in ipairs { ... } do name = word == "" and name or name .. "_" .. word:lower() end
  return ('"%s":'):format(name)
end)

describe("members of gemini's body that no other dialect has", function()
  local SAFETY = '"safetySettings": [ {"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"} ]'
  local BODY = ('{"model":"gemini-2.5-pro", %s, "cachedContent":"cachedContents/7",\n"contents":[%s,%s,%s]}'):format(
    SAFETY, '{"role":"user","parts":[{"text":"a"}]}', '{"role":"model","parts":[{"text":"b"}]}',
    '{"role":"user","parts":[{"text":"c"}]}')

  it("pass to gemini untouched, to another model and after an edit, too", function()
    local _, losses, written = write(BODY, "gemini", { model = "gemini-3-pro-preview" })
    assert.same({}, losses)
    assert.equal((BODY:gsub("2%.5%-pro", "3-pro-preview")), written)
    local chat = assert(ebb.parse(BODY))
    chat:truncate { remove_first = 2 }
    local edited = chat:write("gemini", { shape = "body" })
    for _, member in ipairs { SAFETY, '"cachedContent":"cachedContents/7"' } do
      assert.truthy(edited:find(member, 1, true), edited)
    end
  end)

  for _, dialect in ipairs { "openai", "responses", "anthropic" } do
    it("are reported lost for " .. dialect, function()
      local _, losses, written = write(BODY, dialect)
      local lost = {}
      for _, loss in ipairs(losses) do
        if loss.code == "lost_member" then lost[#lost + 1] = loss.subject end
      end
      table.sort(lost)
      assert.same({ "cachedContent", "safetySettings" }, lost)
      assert.is_nil(written:find("safety", 1, true))
      assert.is_nil(written:find("cachedContent", 1, true))
    end)
  end
end)

describe("a body of gemini with names in snake case", function()
  assert(SNAKE:find '"function_call":' and SNAKE:find '"parameters_json_schema":' and not SNAKE:find '%l%u%l+":')

  for _, dialect in ipairs { "openai", "responses", "anthropic" } do
    it("says the same for " .. dialect, function()
      local _, expected, camel = write(CAMEL, dialect)
      local _, losses, snake = write(SNAKE, dialect)
      assert.equal(camel, snake)
      assert.equal(#expected, #losses)
    end)
  end

  it("says the same for gemini, with a system text before it", function()
    local chat = assert(ebb.parse(SNAKE))
    assert.equal(SNAKE, (chat:write("gemini", { shape = "body" })))
  end)
end)

describe("a schema of gemini's own", function()
  it("has its types in small letters elsewhere, and keeps all other bytes", function()
    local body = write([[{"contents":[{"role":"user","parts":[{"text":"q"}]}],"tools":[{"functionDeclarations":[{
"name":"f","parameters":{"type":"OBJECT","properties":{"type":{"type" : "STRING","description":"\"type\":\"OBJECT\""},
"b":{"type":"ARRAY","items":{"type":"INTEGER"}}}}}]}]}]], "openai")
    assert.same({ type = "object", properties = {
      type = { type = "string", description = '"type":"OBJECT"' }, b = { type = "array", items = { type = "integer" } },
    } }, body.tools[1]["function"].parameters)
  end)
end)

describe("a call without a signature in contents of gemini", function()
  local TEXT = [[{"contents": [{"role":"user","parts":[{"text":"q"}]},
{"role":"model","parts":[{"text":"t"},{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g","args":{}}}]},
{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}},
{"functionResponse":{"name":"g","response":{}}}]}]}]]

  it("gets a stand-in where the model wants one, the first of a step alone", function()
    local body, losses = write(TEXT, "gemini", { model = "gemini-3-pro" })
    local parts = body.contents[2].parts
    assert.equal("skip_thought_signature_validator", parts[2].thoughtSignature)
    assert.is_nil(parts[3].thoughtSignature)
    assert.equal(0, #losses)
    assert.same({}, assert(ebb.parse(ebb.json.encode(body))):check { model = "gemini-3-pro" })
  end)

  it("keeps its bytes for other models", function()
    local _, _, written = write(TEXT, "gemini", { model = "gemini-2.5-pro" })
    assert.is_nil(written:find("thoughtSignature", 1, true))
  end)

  it("that has a signature keeps it, in either spelling", function()
    for _, name in ipairs { "thoughtSignature", "thought_signature" } do
      local signed = TEXT:gsub('"args":{}}}', ('"args":{}},"%s":"own"}'):format(name), 1)
      local _, _, written = write(signed, "gemini", { model = "gemini-3-pro" })
      assert.truthy(written:find(('"%s":"own"'):format(name), 1, true))
      assert.is_nil(written:find("skip_thought", 1, true))
    end
  end)
end)
