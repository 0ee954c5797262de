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
