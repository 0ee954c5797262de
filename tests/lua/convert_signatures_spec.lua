--- Thought signatures of Gemini: from and to the places that servers of openai's form have for them, and what is told
--- where there is none.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local nodes = require "ebb.workflow"

local STAND_IN = "skip_thought_signature_validator"

local function openai(model, assistant)
  return ('{%s"messages":[{"role":"user","content":"EUR and GBP?"},%s,{"role":"tool","tool_call_id":"k1",'
    .. '"content":"1.1"},{"role":"tool","tool_call_id":"k2","content":"1.3"}]}'):format(
    model and ('"model":"%s",'):format(model) or "", assistant)
end

local function gemini(parts, ...)
  return ('{"contents":[{"role":"user","parts":[{"text":"EUR and GBP?"}]},{"role":"model","parts":[%s]}%s]}')
    :format(parts, table.concat { "", ... })
end

--- An assistant that calls k1 and k2; members of the first, of the second and of the message.
local function calls(first, second, more)
  return ('{"role":"assistant","content":"Wait.","tool_calls":[{"id":"k1","type":"function","function":{"name":"rate",'
    .. '"arguments":"{}"}%s},{"id":"k2","type":"function","function":{"name":"rate","arguments":"{}"}%s}]%s}'):format(
    first, second, more)
end

local function extra(signature)
  return (',"extra_content":{"google":{"thought_signature":"%s"}}'):format(signature)
end

local function detail(signature, id)
  return ('{"type":"reasoning.encrypted","data":"%s",%s"format":"google-gemini-v1","index":0}'):format(signature,
    id and ('"id":"%s",'):format(id) or "")
end

local function convert(body, dialect, options)
  options = options or {}
  options.shape = "body"
  local text, losses = assert(ebb.parse(body)):write(dialect, options)
  local codes = {}
  for i, loss in ipairs(losses) do codes[i] = loss.code end
  return text, table.concat(codes, " "), losses
end

--- The signatures of a body of Gemini, by the part's beginning.
local function signatures(text)
  local found = {}
  for _, content in ipairs(ebb.json.decode(text).contents) do
    for _, part in ipairs(content.parts) do
      local call = part.functionCall
      if part.thoughtSignature then
        found[#found + 1] = (call and call.id or part.text) .. "=" .. part.thoughtSignature
      end
    end
  end
  return table.concat(found, " ")
end

local G3, G2 = "gemini-3-pro-preview", "gemini-2.5-flash"

-- what it shows, the assistant's message, signatures for Gemini 3, the same for Gemini 2.5
local TO_GEMINI = {
  { "of the first call", calls(extra "QQ==", "", ""), "k1=QQ==" },
  { "of both calls", calls(extra "QQ==", extra "Qg==", ""), "k1=QQ== k2=Qg==" },
  { "of the second call alone", calls("", extra "Qg==", ""), "k1=" .. STAND_IN .. " k2=Qg==", "k2=Qg==" },
  { "of the message, whose text it signs", calls(extra "QQ==", "", extra "dA=="), "Wait.=dA== k1=QQ==" },
  { "of a message whose calls have none", calls("", "", extra "dA=="), "k1=dA==", "Wait.=dA==" },
  { "of LiteLLM", calls(',"provider_specific_fields":{"thought_signature":"QQ=="}', "", ""), "k1=QQ==" },
  { "of OpenRouter, by the call's id", calls("", "", (',"reasoning_details":[%s]'):format(detail("Qg==", "k2"))),
    "k1=" .. STAND_IN .. " k2=Qg==", "k2=Qg==" },
  { "of OpenRouter, for both", calls("", "", (',"reasoning_details":[%s,%s]'):format(detail("Qg==", "k2"),
    detail("QQ==", "k1"))), "k1=QQ== k2=Qg==" },
  { "of OpenRouter, without an id", calls("", "", (',"reasoning_details":[%s]'):format(detail "QQ==")), "k1=QQ==" },
  { "nowhere", calls("", "", ""), "k1=" .. STAND_IN, "" },
  { "that is another provider's", calls("", "", ',"reasoning_details":[{"type":"reasoning.encrypted","data":"eA==",'
    .. '"format":"openai-responses-v1"}]'), "k1=" .. STAND_IN, "", "lost_member" },
  { "that is empty", calls(extra "", "", ""), "k1=" .. STAND_IN, "" },
}

describe("a thought signature in openai's form goes to gemini:", function()
  for _, row in ipairs(TO_GEMINI) do
    it(row[1], function()
      for model, expected in pairs { [G3] = row[3], [G2] = row[4] or row[3] } do
        local text, codes = convert(openai(model, row[2]), "gemini")
        assert.same({ expected, row[5] or "" }, { signatures(text), codes }, text)
      end
    end)
  end

  it("also for Vertex, which refuses what stands in for one", function()
    assert.equal("k1=QQ==", signatures((convert(openai(G3, calls(extra "QQ==", "", "")), "gemini",
      { profile = "vertex" }))))
  end)

  it("of a text without calls, and of an empty one", function()
    for content, expected in pairs { ['"Yes."'] = "Yes.=dA==", ["null"] = "=dA==", ['""'] = "=dA==" } do
      local body = ('{"model":"%s","messages":[{"role":"user","content":"q"},{"role":"assistant","content":%s%s,'
        .. '"refusal":null}]}'):format(G3, content, extra "dA==")
      assert.equal(expected, signatures((convert(body:gsub('"content":null', '"content":[]'), "gemini"))))
    end
  end)
end)

local CALL = '{"functionCall":{"id":"%s","name":"rate","args":{}}%s}'
local RESULTS = ',{"role":"user","parts":[{"functionResponse":{"id":"k1","name":"rate","response":{"v":1}}}]}'
local SIGNED = ',"thoughtSignature":"QQ=="'

-- what it shows, the parts of the model, what openai's message has, losses
local TO_OPENAI = {
  { "of a call", CALL:format("k1", SIGNED), '"arguments":"{}"}' .. extra "QQ==" .. "}]" },
  { "in the other spelling", CALL:format("k1", ',"thought_signature":"QQ=="'), extra "QQ==" .. "}]" },
  { "of a text", '{"text":"Hm.","thoughtSignature":"dA=="},' .. CALL:format("k1", ""), "}]" .. extra "dA==" .. "}" },
  { "of an empty text", CALL:format("k1", SIGNED) .. ',{"text":"","thoughtSignature":"dA=="}', extra "dA==" .. "}" },
  { "that stands alone", CALL:format("k1", SIGNED) .. ',{"thoughtSignature":"dA=="}', extra "dA==" .. "}" },
  { "of two texts, for which there is one place", '{"text":"a","thoughtSignature":"YQ=="},{"text":"b",'
    .. '"thoughtSignature":"Yg=="}', '"content":"ab"' .. extra "Yg==" .. "}", "lost_signature" },
  { "of a thought, which is left out", '{"text":"Hm.","thought":true,"thoughtSignature":"dA=="},{"text":"b"}',
    '"content":"b"}', "lost_reasoning lost_signature" },
}

describe("a thought signature of gemini goes to openai:", function()
  for _, row in ipairs(TO_OPENAI) do
    it(row[1], function()
      local text, codes = convert(gemini(row[2], RESULTS), "openai")
      assert.truthy(text:find(row[3], 1, true), text)
      assert.equal(row[4] or "", codes)
    end)
  end

  it("and comes back as it was", function()
    local parts = '{"text":"Hm.","thoughtSignature":"dA=="},' .. CALL:format("k1", SIGNED) .. ","
      .. CALL:format("k2", "")
    local there = convert(gemini(parts), "openai")
    local back = convert(there, "gemini", { model = G3 })
    assert.truthy(back:find(parts, 1, true), back)
  end)

  it("as reasoning_details for OpenRouter, and comes back", function()
    local parts = '{"text":"Hm.","thoughtSignature":"dA=="},' .. CALL:format("k1", SIGNED)
    local there, codes = convert(gemini(parts), "openai", { profile = "openrouter" })
    assert.truthy(there:find('"reasoning_details":[{"type":"reasoning.encrypted","data":"dA==",'
      .. '"format":"google-gemini-v1","index":0},{"type":"reasoning.encrypted","data":"QQ==","id":"k1",'
      .. '"format":"google-gemini-v1","index":1}]}', 1, true), there)
    assert.equal("", codes)
    assert.equal("Hm.=dA== k1=QQ==", signatures((convert(there:gsub('{"type":"reasoning.encrypted","data":"dA==",'
      .. '"format":"google%-gemini%-v1","index":0},', ""):gsub('"role":"assistant"', '%0' .. extra "dA=="), "gemini",
      { model = G3 }))))
  end)

  it("names the call as it is written where its id changes", function()
    local text = convert(gemini((CALL:format("k1", SIGNED):gsub('"id":"k1",', ""))), "openai",
      { profile = "openrouter" })
    local message = ebb.json.decode(text).messages[2]
    assert.equal(message.tool_calls[1].id, message.reasoning_details[1].id)
  end)
end)

--- Parts of the model's contents, one after the other, then the results of a user.
local function apart(...)
  local contents = {}
  for i, parts in ipairs { ... } do
    contents[i] = parts == "results" and RESULTS:sub(2) or ('{"role":"model","parts":[%s]}'):format(parts)
  end
  return ('{"contents":[{"role":"user","parts":[{"text":"q"}]},%s]}'):format(table.concat(contents, ","))
end

local K1, K2, K3 = CALL:format("k1", ""), CALL:format("k2", ""), CALL:format("k3", "")
local K1_SIGNED = CALL:format("k1", SIGNED)

-- what it shows, contents, the signatures for Gemini 3
local APART = {
  { "calls in two contents", apart(K1_SIGNED, K2), "k1=QQ==" },
  { "calls in three contents", apart(K1_SIGNED, K2, K3), "k1=QQ==" },
  { "a call behind a text of its own", apart(K1_SIGNED, '{"text":"And:"}', K2), "k1=QQ==" },
  { "no signature at all", apart(K1, K2), "k1=" .. STAND_IN },
  { "a signature of the second content", apart(K1, (K2:gsub("}}}$", "}}" .. SIGNED .. "}"))),
    "k1=" .. STAND_IN .. " k2=QQ==" },
  { "two steps", apart(K1_SIGNED, K2, "results", K3), "k1=QQ== k3=" .. STAND_IN },
}

describe("contents of one step have the signature of the first call:", function()
  for _, row in ipairs(APART) do
    it(row[1], function()
      assert.equal(row[3], signatures((convert(row[2], "gemini", { model = G3 }))))
    end)
  end

  it("in a pipeline, which joins them, and in a model node", function()
    local second = RESULTS:sub(2):gsub("k1", "k2")
    local body = apart(K1_SIGNED, K2, "results"):gsub("]}$", "," .. second .. "]}")
      :gsub("^{", '{"model":"' .. G3 .. '",')
    local agent = { presets = { { type = "chat_history" } } }
    local result = assert(ebb.pipeline { agent = agent }:run(assert(ebb.parse(body))))
    assert.equal("k1=QQ==", signatures(result.body))
    assert.truthy(result.body:find('"id":"k2"', 1, true))
    local asked
    assert(nodes.run(assert(ebb.parse(body)), { { type = "model", model = G3 } }, { model = function(request)
      asked = ebb.json.encode(request)
      return "hi"
    end }))
    assert.equal("k1=QQ==", signatures(asked))
  end)
end)

local LOST = (',"thoughtSignature":"%s"'):format(STAND_IN)
local K1_LOST, K2_LOST = CALL:format("k1", LOST), CALL:format("k2", LOST)

--- The user's responses of some calls, in a content each.
local function responses(...)
  local list = {}
  for i, id in ipairs { ... } do list[i] = (RESULTS:sub(2):gsub("k1", id)) end
  return table.concat(list, ",")
end

--- Contents after a question: parts of the model, or "results k1 k2", or a text of the user.
local function steps(...)
  local contents = {}
  for i, words in ipairs { ... } do
    local ids = {}
    for id in words:gmatch "%f[k]k%d" do ids[#ids + 1] = id end
    contents[i] = words:find "^results" and responses(table.unpack(ids))
      or words:find "^{" and ('{"role":"model","parts":[%s]}'):format(words)
      or ('{"role":"user","parts":[{"text":"%s"}]}'):format(words)
  end
  return ('{"contents":[{"role":"user","parts":[{"text":"q"}]},%s]}'):format(table.concat(contents, ","))
end

-- what it shows, contents, the signatures after a repair for Gemini 3
local REPAIRED = {
  { "the first call, which is dropped", steps(K1_SIGNED, K2, "results k2"), "k2=" .. STAND_IN },
  { "the first call of one content", steps(K1_SIGNED .. "," .. K2, "results k2"), "k2=" .. STAND_IN },
  { "the first call of an earlier turn", steps(K1_SIGNED .. "," .. K2, "results k2", "so"), "k2=" .. STAND_IN },
  { "none of the calls", steps(K1, K2, "results k1 k2"), "k1=" .. STAND_IN },
  { "both, which stand in", steps(K1_LOST, K2_LOST, "results k1 k2"), "k1=" .. STAND_IN },
  { "both, and one stands in", steps(K1_SIGNED, K2_LOST, "results k1 k2"), "k1=QQ==" },
  { "both steps, which stand in", steps(K1_LOST, "results k1", K2_LOST, "results k2"),
    ("k1=%s k2=%s"):format(STAND_IN, STAND_IN) },
  { "both calls, apart from their results", steps(K1_LOST, "wait", K2_LOST, "results k1 k2"),
    ("k1=%s k2=%s"):format(STAND_IN, STAND_IN) },
  { "an earlier turn alone, which is not refused", steps(K1, "results k1", "so", K2_LOST, "results k2"),
    "k2=" .. STAND_IN },
}

describe("a repair signs the first call of a step, where the signature was of", function()
  for _, row in ipairs(REPAIRED) do
    it(row[1], function()
      local copy, report = assert(ebb.parse(row[2])):repaired { dialect = "gemini", model = G3 }
      assert.same({ row[3], {} }, { signatures(copy:json()), report.left })
      local again = copy:repaired { dialect = "gemini", model = G3 }
      assert.equal(copy:json(), again:json())
    end)
  end

  it("a call, but not where the server refuses a substitute", function()
    local chat = assert(ebb.parse(steps(K1, "results k1")))
    local copy, report = chat:repaired { dialect = "gemini", model = G3, profile = "vertex" }
    assert.same({ "", "missing_signature", false },
      { signatures(copy:json()), report.left[1].code, report.left[1].mendable })
    local other, none = chat:repaired { dialect = "gemini", model = G2 }
    assert.same({ "", {} }, { signatures(other:json()), none.left })
  end)

  it("a call in a pipeline, too, whose processors take the one before away", function()
    local body = steps(K1_SIGNED, K2, "results k1 k2"):gsub("^{", '{"model":"' .. G3 .. '",')
    local result = assert(ebb.pipeline { trusted = true, processors = { { id = "cut", name = "Cut", priority = 700,
      execute = function(context) table.remove(context.messages, 2) end } } }:run(assert(ebb.parse(body))))
    assert.equal("k2=" .. STAND_IN, signatures(result.body))
  end)
end)

describe("a thought signature that has no place", function()
  local SOURCES = { openai(G3, calls(extra "QQ==", "", "")), gemini(CALL:format("k1", SIGNED)),
    gemini('{"text":"Yes.","thoughtSignature":"QQ=="}'),
    openai(G3, calls("", "", (',"reasoning_details":[%s]'):format(detail("QQ==", "k1")))) }
  local TARGETS = { { "anthropic" }, { "responses" }, { "openai", profile = "groq" }, { "openai", model = "gpt-4o" },
    { "anthropic", model = "claude-opus-4-5" } }

  for _, target in ipairs(TARGETS) do
    it("is told once for " .. target[1] .. " " .. (target.profile or target.model or ""), function()
      for _, source in ipairs(SOURCES) do
        local text, _, losses = convert(source, target[1], { profile = target.profile, model = target.model })
        local told = 0
        for _, loss in ipairs(losses) do
          if loss.code == "lost_signature" then told = told + 1 end
          assert.not_equal("extra_content", loss.subject)
          assert.not_equal("reasoning_details", loss.subject)
        end
        assert.same({ 1, nil }, { told, text:find("QQ==", 1, true) }, text)
        assert.truthy(text:find("rate", 1, true) or text:find("Yes.", 1, true))
      end
    end)
  end

  it("is none to the model that made it, and to a server of which nothing is known", function()
    local source = openai(G3, calls(extra "QQ==", "", ""))
    for _, model in ipairs { G3, "my-own-model" } do
      local text, codes = convert(source, "openai", { model = model })
      assert.truthy(text:find(extra "QQ==", 1, true), text)
      assert.equal("", codes)
    end
  end)

  it("keeps the order of calls and results in a message that is written anew for that", function()
    local text = convert(openai(nil, calls(extra "QQ==", "", "")), "openai", { model = "gpt-4o" })
    assert.truthy(text:find('"tool_calls":.*"tool_call_id":"k1".*"tool_call_id":"k2"'), text)
  end)
end)

describe("thought signatures of files", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local CHAT = openai(G3, calls(extra "QQ==", "", ""))

  it("go with trim, which converts by itself, and with a pipeline", function()
    local chat = command.file("chat.json", CHAT)
    local agent = command.file("agent.json", '{"name":"A","presets":[{"type":"chat_history"}]}')
    assert.equal("k1=QQ==", signatures((command.does("trim --budget 900 " .. chat))))
    assert.equal("k1=QQ==", signatures((command.does(("pipeline %s --agent %s --model %s"):format(chat, agent, G3)))))
    local back = command.file("back.json", gemini(CALL:format("k1", SIGNED), RESULTS))
    local _, said = command.does(("pipeline %s --agent %s --model claude-opus-4-5"):format(back, agent))
    command.contains("lost_signature", said)
    assert.equal("k1=QQ==", signatures((command.does(("pipeline %s --agent %s --model %s"):format(back, agent, G3)))))
  end)

  it("are refused by --strict where they would be lost", function()
    local chat = command.file("chat.json", CHAT)
    local back = command.file("back.json", gemini(CALL:format("k1", SIGNED), RESULTS))
    for target, path in pairs { anthropic = chat, responses = chat, ["openai --profile groq"] = back } do
      local run = command.ebb(("convert %s --strict --to %s"):format(path, target))
      assert.same({ "", true }, { run.out, run.status ~= 0 })
      command.contains("lost_signature", run.err)
    end
    command.does(("convert %s --strict --to gemini"):format(chat))
  end)

  it("go to the model of a workflow", function()
    local asked
    local host = { sleep = function() end, http = function(request)
      asked = ebb.json.encode(request)
      return 200, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
        '{"candidates":[{"finishReason":"STOP","content":{"role":"model","parts":[{"text":"1.3"}]}}]}'
    end }
    assert(nodes.run(assert(ebb.parse(CHAT)), { { type = "model", model = G3, stream = false,
      base_url = "http://127.0.0.1:1/v1beta", key_env = "HOME" } }, { host = host }))
    assert.truthy(asked:find([[\"thoughtSignature\":\"QQ==\"]], 1, true), asked)
    assert.is_nil(asked:find(STAND_IN, 1, true))
  end)
end)

describe("an answer that comes in pieces", function()
  it("keeps the signatures of its message and of its calls", function()
    local stream = require("ebb.provider.openai").stream()
    for _, delta in ipairs {
      { content = "Yes.", reasoning_details = { { type = "reasoning.text", text = "Hm." } } },
      { extra_content = { google = { thought_signature = "dA==" } } },
      { reasoning_details = { { type = "reasoning.encrypted", data = "QQ==", format = "google-gemini-v1" } } },
    } do stream.event { choices = { { delta = delta } } } end
    stream.event { choices = { { delta = {}, finish_reason = "stop" } } }

    local message = stream.body().choices[1].message

    assert.equal("dA==", message.extra_content.google.thought_signature)
    assert.same({ 1, "QQ==" }, { #message.reasoning_details, message.reasoning_details[1].data })
  end)
end)
