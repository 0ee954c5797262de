--- The dialect of a request whose messages are plain texts, which several dialects write alike: the members around
--- them tell it.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local MESSAGES = '"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]'

local function dialect_of(members)
  return assert(ebb.parse(("{%s%s}"):format(MESSAGES, members == "" and "" or "," .. members))):dialect()
end

describe("the dialect of plain texts", function()
  for _, members in ipairs { '"stop_sequences":["x"]', '"anthropic_version":"2023-06-01"', '"mcp_servers":[]',
    '"output_config":{"effort":"low"}', '"context_management":{"edits":[]}', '"thread":{"type":"create"}',
    '"system":"s"', '"system":"s","stop":["x"]', '"tools":[{"name":"f","input_schema":{}}]',
    '"tools":[{"type":"web_search_20250305","name":"web_search"}]',
    '"tools":[{"type":"web_search_20250305","name":"web_search"}],"stop":["x"]' } do
    it("is anthropic with " .. members, function() assert.equal("anthropic", dialect_of(members)) end)
  end

  for _, members in ipairs { "", '"stop":["x"]', '"max_completion_tokens":9', '"top_k":9',
    '"thinking":{"type":"enabled"}',
    '"max_tokens":9', '"stop":["x"],"stop_sequences":["x"]', '"own":1', '"tools":[{"type":"function"}]',
    '"tools":[{"type":"function","function":{"name":"f"}}],"stop_sequences":["x"]',
    '"tools":[{"type":"custom","custom":{"name":"f"}}],"stop_sequences":["x"]',
    '"tools":[{"type":"function","name":"f"}]' } do
    it("is openai with " .. (members == "" and "no other member" or members), function()
      assert.equal("openai", dialect_of(members))
    end)
  end

  it("is that of messages that only one dialect has, whatever the members", function()
    local body = '{"stop_sequences":["x"],"messages":[{"role":"tool","tool_call_id":"c","content":"r"}]}'
    assert.equal("openai", assert(ebb.parse(body)):dialect())
  end)

  it("is anthropic where the model is Claude's", function()
    for model, dialect in pairs { ["claude-opus-4-5"] = "anthropic",
      ["us.anthropic.claude-opus-4-5-v1:0"] = "anthropic", ["anthropic/claude-opus-4-5"] = "openai",
      ["claude"] = "openai", ["my-claude-4"] = "openai" } do
      assert.same({ model, dialect }, { model, dialect_of(('"model":"%s"'):format(model)) })
    end
    local call = '{"role":"assistant","tool_calls":[{"id":"c","type":"function",'
      .. '"function":{"name":"f","arguments":"{}"}}]}'
    local body = '{"model":"claude-opus-4-5","messages":[{"role":"user","content":"q"},%s]}'
    assert.equal("openai", assert(ebb.parse(body:format(call))):dialect())
  end)

  local USE = '{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]}'
  local RESULT = '{"role":"tool","tool_call_id":"c","content":"r"}'

  it("is told by other members, or by the model, where messages are in several forms", function()
    local body = '{"messages":[%s,%s]%s}'
    for members, dialect in pairs { [',"system":"s"'] = "anthropic", [',"stop_sequences":["x"]'] = "anthropic",
      [',"model":"claude-opus-4-5"'] = "anthropic", [',"model":"gpt-5"'] = "openai", [""] = "openai",
      [',"model":"claude-opus-4-5","stop":["x"]'] = "openai" } do
      assert.same({ members, dialect }, { members, assert(ebb.parse(body:format(USE, RESULT, members))):dialect() })
    end
  end)

  it("stays when a message of another form is added", function()
    for _, members in ipairs { ',"system":"s"', ',"model":"claude-opus-4-5"' } do
      local chat = assert(ebb.parse(('{"messages":[{"role":"user","content":"q"}]%s}'):format(members)))
      chat:append { role = "tool", tool_call_id = "c", content = "r" }
      assert.same({ members, "anthropic" }, { members, chat:dialect() })
    end
    local chat = assert(ebb.parse('{"messages":[{"role":"user","content":"q"},' .. USE .. "]}"))
    chat:append(ebb.json.decode(RESULT))
    assert.equal("anthropic", chat:dialect())
    local plain = assert(ebb.parse '{"messages":[{"role":"user","content":"q"}]}')
    plain:append(ebb.json.decode(USE))
    assert.equal("anthropic", plain:dialect())
  end)

  it("is not told by a late system message, which Claude's newest models take", function()
    local late = '{"role":"system","content":[{"type":"text","text":"s"}]},{"role":"user","content":"q"}]'
    local call = '[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},'
      .. '{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]},'
    assert.equal("anthropic", assert(ebb.parse(call .. late)):dialect())
    assert.equal("anthropic", assert(ebb.parse('{"system":"s","messages":' .. call .. late .. "}")):dialect())
    local image = '[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/y.png"}}]},'
    assert.equal("openai", assert(ebb.parse(image .. late)):dialect())
    assert.equal("openai", assert(ebb.parse("[" .. late)):dialect())
  end)

  it("stays with a saved conversation and with a copy", function()
    local chat = assert(ebb.parse(("{%s,%s}"):format('"stop_sequences":["x"]', MESSAGES)))
    assert.equal("anthropic", chat:fork():dialect())
    assert.equal("anthropic", assert(ebb.parse(chat:write "ebb")):dialect())
  end)
end)
