--- Checks bodies that providers refused before the target decided: Claude's bodies with plain texts, pipelines for
--- Claude and Gemini, and logs of Claude Code that mix results and words of the user in one message.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb, json = helper.ebb, helper.ebb.json

--- The codes of what a provider would refuse in a file, and the dialect by whose rules the command looked.
local function check(path)
  local report = json.decode(command.ebb("check --json " .. path).out)
  local codes = {}
  for _, violation in ipairs(report.violations) do
    if violation.severity == "refused" then codes[#codes + 1] = violation.code end
  end
  return table.concat(codes, " "), report.dialect
end

describe("bodies for providers", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("of a Claude model with string contents are checked by Anthropic's rules", function()
    local body = '{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[%s{"role":"user","content":"hi"}]}'
    local codes, dialect = check(command.file("good.json", body:format ""))
    assert.same({ "", "anthropic" }, { codes, dialect })
    local bad, same = check(command.file("bad.json", body:format '{"role":"system","content":"be kind"},'))
    assert.equal("anthropic", same)
    assert.truthy(bad:find("system", 1, true), bad)
  end)

  for model, dialect in pairs { ["claude-sonnet-4-5"] = "anthropic", ["gemini-2.5-flash"] = "gemini" } do
    it("of a pipeline for " .. model .. " are valid", function()
      local agent = command.file("agent.json", json.encode { presetMessages = {
        { id = "a", role = "system", content = "Be kind." }, { id = "h", type = "chat_history", role = "user",
          content = "" }, { id = "z", role = "system", content = "Be brief." } } })
      local call = { id = "c", type = "function", ["function"] = { name = "look", arguments = '{"a":1}' } }
      local chat = command.file("chat.json", json.encode { messages = { { role = "user", content = "q", id = "m1" },
        { role = "assistant", content = json.null, tool_calls = { call } },
        { role = "tool", tool_call_id = "c", content = "found" },
        { role = "user", content = "thanks", timestamp = 5 } },
        tools = { { type = "function", ["function"] = { name = "look", parameters = { type = "object" } } } } })
      local out = command.path_of "body.json"
      command.does(("pipeline %s --agent %s --model %s -o %s"):format(chat, agent, model, out))
      local codes, by = check(out)
      assert.same({ "", dialect }, { codes, by })
      local body = json.decode(command.read(out))
      for _, message in ipairs(body.messages or body.contents) do
        assert.is_true(message.role ~= "system" and message.id == nil and message.timestamp == nil)
      end
      assert.truthy(json.encode(body.system or body.systemInstruction):find("Be kind.", 1, true))
    end)
  end

  --- Schemas of a tool of the workflow, what the body has, and what is said of it.
  local SCHEMAS = {
    { '{"type":"object","properties":{"a":{}}}', '{"type":"object","properties":{"a":{}}}', "" },
    { '{"anyOf":[{"type":"object","properties":{"a":{}}},{"properties":{"b":{}}}]}',
      '{"type":"object","properties":{"a":{},"b":{}}}', "changed_tool" },
  }
  local ENDPOINTS = {
    -- dialect      model                profile      the member
    { "openai",    "gpt-4o",             "openai",    '"parameters":' },
    { "responses", "gpt-5",              "responses", '"parameters":' },
    { "anthropic", "claude-sonnet-4-5",  "anthropic", '"input_schema":' },
    { "gemini",    "gemini-2.5-flash",   "gemini",    '"parametersJsonSchema":' },
    { "openai",    "qwen3",              "vllm",      '"parameters":', keeps = true },
  }
  for _, row in ipairs(ENDPOINTS) do
    it(("of a model node have tools that the server takes: %s, %s"):format(row[3], row[1]), function()
      local provider = require "ebb.provider"
      for _, case in ipairs(SCHEMAS) do
        local tools = { { name = "f", description = "d", parameters = case[1] } }
        local body, losses = provider.body(assert(ebb.parse '[{"role":"user","content":"q"}]'),
          { tools = tools, max_tokens = 99 },
          { dialect = row[1], model = row[2], profile = row[3], form = provider.form(row[1]) }, false)
        command.contains(row[4] .. (row.keeps and case[1] or case[2]), body)
        local codes = {}
        for i, loss in ipairs(losses) do codes[i] = loss.code end
        assert.equal(row.keeps and "" or case[3], (table.concat(codes, " "):gsub("added_member ?", "")))
      end
    end)
  end

  local OWN = {
    -- dialect     model                 the body's own tool, that of the server, and what is said
    { "responses", "gpt-5", '{"type":"function","name":"f","parameters":{"anyOf":[{"type":"object"}]},"strict":false}',
      '{"type":"web_search"}', "changed_tool" },
    { "anthropic", "claude-sonnet-4-5", '{"name":"f","input_schema":{"type":"object"}}',
      '{"type":"web_search_20250305","name":"web_search"}', "" },
    { "gemini", "gemini-2.5-flash", '{"functionDeclarations":[{"name":"f"}]}', '{"googleSearch":{}}', "" },
  }
  for _, row in ipairs(OWN) do
    it("of a model node keep tools of the server, and tell what changes of others: " .. row[1], function()
      local provider = require "ebb.provider"
      local dialect, model, tool, other, expected = table.unpack(row)
      local list = dialect == "gemini" and '"contents":[{"role":"user","parts":[{"text":"q"}]}]'
        or ('"%s":[{"role":"user","content":"q"}]'):format(dialect == "responses" and "input" or "messages")
      for _, tools in ipairs { false, { { name = "g", description = "d", parameters = '{"type":"object"}' } } } do
        local body, losses = provider.body(assert(ebb.parse(('{%s,"tools":[%s,%s]}'):format(list, tool, other))),
          { tools = tools or nil, max_tokens = 99 },
          { dialect = dialect, model = model, profile = dialect, form = provider.form(dialect) }, false)
        command.contains(other, body)
        command.contains('"name":"f"', body)
        assert.equal(tools ~= false, body:find('"name":"g"', 1, true) ~= nil)
        assert.equal(1, select(2, body:gsub('"name":"f"', "")))
        local codes = {}
        for i, loss in ipairs(losses) do codes[i] = loss.code end
        assert.equal(expected, (table.concat(codes, " "):gsub("added_member ?", "")))
      end
    end)
  end

  it("of a Claude Code log with a tool result and a user text draw no warning", function()
    local lines = {}
    for i, message in ipairs {
      { role = "user", content = "q" },
      { role = "assistant", id = "m1", model = "claude-sonnet-4-5",
        content = { { type = "tool_use", id = "t1", name = "Read", input = { path = "a" } } } },
      { role = "user", content = { { type = "tool_result", tool_use_id = "t1", content = "text" },
        { type = "text", text = "and now?" } } },
    } do
      lines[i] = json.encode { type = message.role, uuid = "u" .. i, parentUuid = i > 1 and "u" .. i - 1 or json.null,
        sessionId = "s", message = message }
    end
    local path = command.file("log.jsonl", table.concat(lines, "\n") .. "\n")
    local out, err = command.does("inspect " .. path)
    assert.is_nil((out .. err):find("warning", 1, true), out .. err)
    assert.equal(0, #assert(ebb.parse(ebb.import.body(ebb.import.read(command.read(path))))):warnings())
    local body = command.path_of "body.json"
    local _, said = command.does(("convert %s --to anthropic --shape body -o %s"):format(path, body))
    assert.is_nil(said:find("warning", 1, true), said)
    command.contains("added_member: max_tokens is ", said)             -- a log has none, and a request needs it
    assert.same({ "", "anthropic" }, { check(body) })
  end)
end)
