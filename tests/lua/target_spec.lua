--- Checks the choice of a request's dialect and profile by options, model, server and form.

local helper = dofile "tests/lua/helper.lua"
local ebb, refusal = helper.ebb, helper.refusal

local target = require "ebb.models.target"

local function target_of(options)
  local goal = target.of(options)
  return goal.dialect .. " " .. goal.profile
end

describe("the target", function()
  it("is what the caller says", function()
    assert.equal("anthropic anthropic", target_of { to = "anthropic", model = "gpt-4o", input = "openai" })
    assert.equal("openai mistral", target_of { profile = "mistral", model = "claude-opus-5" })
    assert.equal("anthropic bedrock-converse", target_of { profile = "bedrock-converse", input = "openai" })
  end)

  it("follows from the model, listed or not", function()
    assert.equal("anthropic anthropic", target_of { model = "claude-sonnet-4-5", input = "openai" })
    assert.equal("anthropic anthropic", target_of { model = "claude-opus-4-6" })
    assert.equal("gemini gemini", target_of { model = "gemini-3-pro", input = "anthropic" })
    assert.equal("openai openai", target_of { model = "gpt-4o", input = "anthropic" })
    assert.equal("openai deepseek", target_of { model = "deepseek-chat" })
    assert.equal("anthropic bedrock", target_of { model = "us.anthropic.claude-opus-4-6-v1:0" })
  end)

  it("keeps the form of Responses for OpenAI's models", function()
    assert.equal("responses responses", target_of { model = "gpt-5", input = "responses" })
    assert.equal("responses azure", target_of { base_url = "https://me.openai.azure.com/v1", input = "responses",
      model = "gpt-5" })
  end)

  it("is the input's form where the model says nothing", function()
    assert.equal("anthropic anthropic", target_of { model = "some-model", input = "anthropic" })
    assert.equal("openai openrouter", target_of { model = "anthropic/claude-opus-5", input = "openai" })
    assert.equal("openai openai", target_of {})
  end)

  it("follows from the server's address", function()
    assert.equal("openai groq", target_of { base_url = "https://api.groq.com/openai/v1", model = "gpt-4o" })
    local vertex = "https://us-central1-aiplatform.googleapis.com:443/v1"
    assert.equal("gemini vertex", target_of { base_url = vertex, model = "gemini-2.5-pro" })
    assert.equal("anthropic vertex", target_of { base_url = vertex, model = "claude-opus-5" })
    assert.equal("openai openai", target_of { base_url = "http://notapi.groq.com.example/" })
    assert.equal("anthropic anthropic", target_of { base_url = "https://api.deepseek.com", to = "anthropic" })
  end)

  it("refuses what it does not know, and profiles of another dialect", function()
    assert.truthy(refusal(target.of, { to = "antropic" }).hint:find "anthropic")
    assert.truthy(refusal(target.of, { profile = "mistrall" }).hint:find "mistral")
    assert.truthy(refusal(target.of, { profile = "mistral", to = "anthropic" }).message:find "mistral")
    assert.truthy(refusal(target.of, { too = "openai" }).hint:find "to")
  end)
end)

describe("profiles", function()
  it("give calls ids of their length, all different", function()
    finally(function() ebb.profiles["short-ids"] = nil end)
    local calls, results = {}, {}
    for i = 1, 5000 do
      calls[i] = { id = "an id of a call, " .. i, type = "function", ["function"] = { name = "f", arguments = "{}" } }
      results[i] = { role = "tool", tool_call_id = calls[i].id, content = "done" }
    end
    local chat = ebb.conversation()
    chat:append { role = "user", content = "Go." }
    chat:append { role = "assistant", tool_calls = calls }
    chat:append(results)
    for _, range in ipairs { { max = 8 }, { min = 10, max = 12 }, { min = 9, max = 9, characters = "alphanumeric" } } do
      ebb.profiles["short-ids"] = { call_id = range }
      local messages = ebb.json.decode((chat:write("openai", { profile = "short-ids", shape = "array" })))
      local seen, count = {}, 0
      for _, call in ipairs(messages[2].tool_calls) do
        assert.is_true(#call.id <= range.max and #call.id >= (range.min or 1), call.id)
        assert.is_nil(seen[call.id])
        seen[call.id], count = true, count + 1
      end
      assert.equal(5000, count)
    end
  end)

  it("refuse ids too short to tell calls apart, or longer than those that are made", function()
    for _, row in ipairs { { { max = 7 }, "call_id: max: expected 8 or more, got 7" },
      { { min = 17 }, "call_id: min: expected at most 16, got 17" },
      { { min = 12, max = 9 }, "call_id: min: expected at most 9, got 12" } } do
      local refused = refusal(function() ebb.profiles["short-ids"] = { call_id = row[1] } end)
      assert.truthy(refused.message:find(row[2], 1, true), refused.message)
    end
  end)

  it("are all well formed, with sources", function()
    for name in pairs(ebb.profiles) do
      assert.is_true(#require("ebb.models.profiles").find(name).sources > 0, name)
    end
  end)

  it("can be one's own", function()
    ebb.profiles["my-server"] = { hosts = { "llm.example" }, refuses = { "developer_role" } }
    assert.equal("openai my-server", target_of { base_url = "http://llm.example/v1" })
    ebb.profiles["my-server"] = { hosts = { "other.example" } }
    assert.same({ "developer_role" }, ebb.profiles["my-server"].refuses)
    ebb.profiles["my-server"] = nil
    assert.is_nil(ebb.profiles["my-server"])
  end)

  it("refuse fields that they do not know", function()
    local function set(fields) ebb.profiles.mine = fields end
    assert.truthy(refusal(set, { refusess = {} }).hint:find "refuses")
    assert.equal("argument", refusal(set, { dialects = {} }).code)
    assert.truthy(refusal(set, { call_id = { characters = "words" } }).hint:find "word")
    assert.is_nil(ebb.profiles.mine)
  end)
end)

describe("check asks the target", function()
  it("of the model that a body names, whatever the form of its messages", function()
    local chat = assert(ebb.parse('{"model":"claude-sonnet-4-5","max_tokens":100,"system":"S","messages":['
      .. '{"role":"system","content":"s"},{"role":"user","content":"a"}]}'))
    local violations, dialect, profile = chat:check()
    assert.same({ "anthropic", "anthropic", "system_inside" }, { dialect, profile, violations[1].code })
    assert.equal("anthropic", select(2, chat:batch(0):check()))
    assert.equal("openai", select(2, chat:check { dialect = "openai" }))
  end)

  it("of the model that the caller names", function()
    local chat = ebb.conversation { model = "claude-sonnet-4-5" }
    chat:append { role = "system", content = "s" }
    assert.equal("anthropic", select(2, chat:check()))
    assert.equal("openai", select(2, chat:check { model = "gpt-4o" }))
    assert.equal("bedrock-converse", select(3, chat:check { profile = "bedrock-converse" }))
  end)
end)
