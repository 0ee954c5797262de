--- Checks a conversion's losses besides messages: tools that take texts, schemas, members of tools, the model.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

--- The written body, and what is reported.
local function convert(body, dialect, options)
  options = options or {}
  options.shape = "body"
  local text, losses = assert(ebb.parse(body)):write(dialect, options)
  local told = {}
  for _, loss in ipairs(losses) do
    if loss.code ~= "added_member" then
      told[#told + 1] = loss.code .. (loss.subject ~= "" and " " .. loss.subject or "")
    end
  end
  return ebb.json.decode(text), table.concat(told, ", "), losses, text
end

local GRAMMAR = '"syntax":"lark","definition":"start: \\"a\\""'
local PATCH = '{"type":"custom","name":"patch","description":"Edits.","format":{"type":"grammar",' .. GRAMMAR .. "}}"
local SAY = '{"type":"custom","name":"say","format":{"type":"text"}}'

local function responses(tools, choice)
  return ('{"tools":[%s]%s,"input":[{"role":"user","content":"q"},{"type":"custom_tool_call","call_id":"k",'
    .. '"name":"patch","input":"+ one \\"two\\"\\n"},{"type":"custom_tool_call_output","call_id":"k",'
    .. '"output":"done"}]}'):format(tools, choice or "")
end

describe("a tool that takes free text", function()
  it("stays one from responses to openai, its calls and grammar, too", function()
    local choice = ',"tool_choice":{"type":"custom","name":"patch"}'
    local body, told = convert(responses(PATCH .. "," .. SAY, choice), "openai")
    assert.same({ type = "custom", custom = { name = "patch", description = "Edits.", format = { type = "grammar",
      grammar = { syntax = "lark", definition = 'start: "a"' } } } }, body.tools[1])
    assert.same({ type = "custom", custom = { name = "say" } }, body.tools[2])
    assert.same({ id = "k", type = "custom", custom = { name = "patch", input = '+ one "two"\n' } },
      body.messages[2].tool_calls[1])
    assert.same({ role = "tool", tool_call_id = "k", content = "done" }, body.messages[3])
    assert.same({ { type = "custom", custom = { name = "patch" } }, "" }, { body.tool_choice, told })
  end)

  it("comes back from openai to responses", function()
    local _, _, _, there = convert(responses(PATCH, ',"tool_choice":{"type":"custom","name":"patch"}'), "openai")
    local body, told = convert(there, "responses")
    assert.same(ebb.json.decode(PATCH), body.tools[1])
    assert.same({ { type = "custom_tool_call", call_id = "k", name = "patch", input = '+ one "two"\n' },
      { type = "custom_tool_call_output", call_id = "k", output = "done" } }, { body.input[2], body.input[3] })
    assert.same({ { type = "custom", name = "patch" }, "" }, { body.tool_choice, told })
  end)

  local SCHEMA = { type = "object", properties = { input = { type = "string" } }, required = { "input" } }

  for _, source in ipairs { "responses", "openai" } do
    it("of " .. source .. " takes one text for anthropic and gemini, and the grammar is told to be lost", function()
      local text = responses(PATCH .. "," .. SAY)
      if source == "openai" then text = select(4, convert(text, "openai")) end
      local body, told, losses = convert(text, "anthropic")
      assert.same({ name = "patch", description = "Edits.", input_schema = SCHEMA }, body.tools[1])
      assert.same({ name = "say", input_schema = SCHEMA }, body.tools[2])
      assert.same({ input = '+ one "two"\n' }, body.messages[2].content[1].input)
      assert.equal("done", body.messages[3].content[1].content)
      assert.same({ "lost_grammar patch", true }, { told, not losses[#losses].changed })
      body, told = convert(text, "gemini")
      local declared = body.tools[1].functionDeclarations
      assert.same({ SCHEMA, SCHEMA }, { declared[1].parametersJsonSchema, declared[2].parametersJsonSchema })
      assert.same({ input = '+ one "two"\n' }, body.contents[2].parts[1].functionCall.args)
      assert.equal("lost_grammar patch", told)
    end)
  end
end)

-- what it shows, the schema, the one that Anthropic gets, what is said of it
local SCHEMAS = {
  { "an object stays", '{"type": "object","properties":{}}', '{"type": "object","properties":{}}', "" },
  { "an empty one", "{}", '{"type":"object"}', "the type is object" },
  { "one without a type", '{"properties":{"a":{"type":"string"}},"required":["a"]}',
    '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}', "the type is object" },
  { "one of another type", '{"type":["object","null"],"properties":{}}', '{"type":"object","properties":{}}',
    "the type is object" },
  { "branches that only require", '{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},'
    .. '{"required":["b"]}]}', '{"type":"object","properties":{"a":{},"b":{}}}', "the branches of anyOf are joined" },
  { "branches with properties", '{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},'
    .. '"required":["a","x"]},{"properties":{"x":{},"b":{}},"required":["x"]}],"description":"d"}',
    '{"type":"object","description":"d","properties":{"a":{"type":"string"},"x":{},"b":{}},"required":["x"]}',
    "the branches of oneOf are joined, the type is object" },
  { "branches that all hold", '{"type":"object","required":["z"],"properties":{"z":{}},"allOf":[{"properties":{'
    .. '"a":{}},"required":["a"]},{"required":["b"]}]}',
    '{"type":"object","properties":{"z":{},"a":{}},"required":["z","a","b"]}', "the branches of allOf are joined" },
  { "branches that are named", '{"anyOf":[{"$ref":"#/$defs/A"}],"$defs":{"A":{"properties":{"a":{"type":"number"}},'
    .. '"required":["a"]}}}', '{"type":"object","$defs":{"A":{"properties":{"a":{"type":"number"}},"required":["a"]}},'
    .. '"properties":{"a":{"type":"number"}},"required":["a"]}',
    "the branches of anyOf are joined, the type is object" },
  { "combiners further down stay", '{"type":"object","properties":{"a":{"oneOf":[{}]},"oneOf":{}}}',
    '{"type":"object","properties":{"a":{"oneOf":[{}]},"oneOf":{}}}', "" },
  { "a combiner of nothing", '{"type":"object","anyOf":[]}', '{"type":"object"}', "the branches of anyOf are joined" },
  { "true", "true", '{"type":"object"}', "it was no object" },
}

describe("the schema of a tool becomes one object for anthropic:", function()
  for _, row in ipairs(SCHEMAS) do
    it(row[1], function()
      local source = ('{"messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"f",'
        .. '"parameters":%s}}]}'):format(row[2])
      local _, told, losses, text = convert(source, "anthropic")
      assert.truthy(text:find('"input_schema":' .. row[3] .. "}", 1, true), text)
      assert.equal(row[4] ~= "" and "changed_tool f" or "", told)
      if row[4] ~= "" then
        assert.equal("the schema of tool 'f' becomes one object: " .. row[4], losses[#losses].text)
      end
      assert.same({}, assert(ebb.parse(text)):check())
    end)
  end
end)

describe("members of tools that have no form there", function()
  it("are told once, with the tools", function()
    local tool = '{"name":"%s","input_schema":{"type":"object"},"defer_loading":true%s}'
    local body = ('{"system":"s","max_tokens":9,"tools":[%s,%s],"messages":[{"role":"user","content":"q"}]}'):format(
      tool:format("go", ""), tool:format("Placeholder", ',"cache_control":{"type":"ephemeral"}'))
    for _, dialect in ipairs { "openai", "responses", "gemini" } do
      local _, told, losses = convert(body, dialect)
      assert.equal("lost_member tools.defer_loading, lost_member tools.cache_control", told)
      assert.equal("the member 'defer_loading' of tools 'go', 'Placeholder' has no form there: offered from the "
        .. "beginning", losses[1].text)
      assert.equal("the member 'cache_control' of tool 'Placeholder' has no form there: left out", losses[2].text)
    end
  end)

  it("do not hide the name of a member of metadata", function()
    local body = '{"system":"s","max_tokens":9,"metadata":{"user_id":"u1"},"messages":[{"role":"user","content":"q"}]}'
    local _, told = convert(body, "gemini")
    assert.equal("lost_member metadata.user_id", told)
    assert.equal("u1", convert(body, "openai").user)
  end)
end)

describe("the model of a body", function()
  local function body(model) return ('{"model":"%s","messages":[{"role":"user","content":"q"}]}'):format(model) end

  it("is left out where another dialect serves it, and that is told", function()
    local contents = '{"model":"gemini-2.5-pro","contents":[{"role":"user","parts":[{"text":"q"}]}]}'
    for _, row in ipairs { { "claude-opus-4-5", "gemini" }, { "gpt-4o", "anthropic" },
      { "gemini-2.5-pro", "responses" },
      { "gpt-5.2", "gemini" }, { "claude-opus-4-5", "responses" } } do
      local source = row[1]:find "gemini" and contents or body(row[1])
      local written, told, losses = convert(source, row[2])
      assert.same({ nil, "dropped_model " .. row[1], true }, { written.model, told, losses[1].changed })
      written, told = convert(source, row[2], { model = "my-model" })
      assert.same({ "my-model", "" }, { written.model, told })
    end
  end)

  it("stays where its dialect is the target's, or is not known", function()
    for _, row in ipairs { { "gpt-4o", "responses" }, { "claude-opus-4-5", "anthropic" }, { "my-model", "gemini" },
      { "anthropic/claude-opus-4.5", "responses" } } do
      local written, told = convert(body(row[1]), row[2])
      assert.same({ row[1], "" }, { written.model, told })
    end
  end)
end)

describe("ebb convert and ebb trim", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("leave no model of another dialect, after two conversions, too", function()
    local first = command.file("a.json", '{"model":"gpt-4o","messages":[{"role":"user","content":"q"}]}')
    local second = command.path_of "b.json"
    local _, said = command.does(("convert %s --to anthropic --strict -o %s"):format(first, second))
    command.contains("dropped_model: the model gpt-4o, whose dialect is openai, is left out", said)
    assert.is_nil(said:find("the body names the model", 1, true))
    assert.same({}, assert(ebb.parse(command.read(second))):check())
    local out = command.does("convert --to gemini " .. second)
    assert.same({}, assert(ebb.parse(out)):check())
  end)

  local CALLS = '{"role":"assistant","content":null,"tool_calls":[{"id":"k","type":"function","function":{"name":"f",'
    .. '"arguments":"{}"}}]},{"role":"tool","tool_call_id":"k","content":"r"}'
  local ARRAYS = {
    system = '[{"role":"system","content":"S"},{"role":"user","content":"q"}]',
    calls = '[{"role":"user","content":"q"},' .. CALLS .. ',{"role":"user","content":"more","id":"m4"}]',
  }

  for name, text in pairs(ARRAYS) do
    for options, dialect in pairs { ["--to anthropic"] = "anthropic", ["--model claude-opus-4-5"] = "anthropic",
      ["--to gemini"] = "gemini", ["--model gemini-2.5-pro"] = "gemini", ["--to responses"] = "responses" } do
      it(("an array with %s is written for %s"):format(name, options), function()
        local out = command.does(("trim --budget 2000 %s %s"):format(options, command.file("a.json", text)))
        local chat = assert(ebb.parse(out))
        assert.same({}, chat:check { dialect = dialect })
        assert.truthy(dialect == "responses" or chat:dialect() == dialect or name == "system")
      end)
    end
  end

  it("keep an array that has the target's form as it is", function()
    for options, list in pairs { ["--model claude-opus-4-5"] = '[{"role": "user","content":"q","id":"m1"}]\n',
      ["--model gpt-4o"] = ARRAYS.calls .. "\n", [""] = ARRAYS.system .. "\n",
      ["--model claude-opus-4-5 --dialect openai"] = ARRAYS.calls .. "\n" } do
      local path = command.file("a.json", list)
      assert.equal(list, (command.does(("trim --budget 2000 %s %s"):format(options, path))))
    end
    local path = command.file("b.json", ARRAYS.calls)
    command.does("trim --budget 2000 --to anthropic -i " .. path)
    assert.equal(ARRAYS.calls, command.read(path))
  end)
end)

describe("a reply of several items", function()
  local THOUGHT = '{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"x"}'
  local CALL = '{"type":"function_call","call_id":"%s","name":"f","arguments":"{}"}'
  local TEXT = '{"type":"message","role":"assistant","content":[{"type":"output_text","text":"t"}]}'
  local RESULT = '{"type":"function_call_output","call_id":"%s","output":"r"}'

  local function gemini(...)
    local items = table.concat({ '{"role":"user","content":"q"}', ... }, ",")
    local body, told, _, text = convert(('{"input":[%s,{"role":"user","content":"on"}]}'):format(items), "gemini")
    local lines = {}
    for i, content in ipairs(body.contents) do
      local words = {}
      for k, part in ipairs(content.parts) do
        words[k] = part.thought and "thought" or part.text and "text" or part.functionCall and "call" or "result"
      end
      lines[i] = table.concat(words, "+")
    end
    assert.same({}, assert(ebb.parse(text)):check())
    return table.concat(lines, " | "), told
  end

  it("is one content of gemini: thought, text and calls", function()
    local rest = { CALL:format "a", RESULT:format "a" }
    assert.same({ "text | thought+text+call | result | text", "changed_signature" },
      { gemini(THOUGHT, TEXT, table.unpack(rest)) })
    assert.same({ "text | thought+call | result | text", "changed_signature" }, { gemini(THOUGHT, table.unpack(rest)) })
    assert.same({ "text | thought+text+call+call | result+result | text", "changed_signature" },
      { gemini(THOUGHT, TEXT, CALL:format "a", CALL:format "b", RESULT:format "a", RESULT:format "b") })
    assert.same({ "text | thought+text+call | result | text", "changed_signature" },
      { gemini(THOUGHT, '{"role":"assistant","content":"t"}', table.unpack(rest)) })
    assert.same({ "text | thought+call | result | thought+call | result | text",
      "changed_signature, changed_signature" },
      { gemini(THOUGHT, CALL:format "a", RESULT:format "a", THOUGHT, CALL:format "b", RESULT:format "b") })
    assert.same({ "text | call | result | text", "lost_reasoning, lost_message" },
      { gemini('{"type":"reasoning","summary":[],"encrypted_content":"x"}', table.unpack(rest)) })
  end)

  it("loses one reasoning where it is left out", function()
    for _, dialect in ipairs { "openai", "anthropic" } do
      local _, told = convert(('{"input":[{"role":"user","content":"q"},%s,%s]}'):format(THOUGHT, TEXT), dialect)
      assert.truthy(told:find "^lost_reasoning", told)
      assert.equal(1, select(2, told:gsub("lost_reasoning", "")))
    end
  end)
end)

-- what it shows, the schema; what OpenAI, Responses and Gemini get, and what is said of it for OpenAI and for Gemini
local TARGETS = {
  { "alternatives", '{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},'
    .. '{"type":"object","properties":{"a":{"type":"number"},"b":{}},"required":["a","b"]}]}',
    '{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"number"}]},"b":{}},"required":["a"]}', nil,
    "the branches of anyOf are joined, the type is object" },
  { "a union by a constant", '{"oneOf":[{"properties":{"kind":{"const":"x"},"p":{}},"required":["kind"]},'
    .. '{"properties":{"kind":{"const":"y"}},"required":["kind"]}],"type":"object"}',
    '{"type":"object","properties":{"kind":{"anyOf":[{"const":"x"},{"const":"y"}]},"p":{}},"required":["kind"]}', nil,
    "the branches of oneOf are joined" },
  { "own properties before those of branches", '{"type":"object","properties":{"a":{"type":"string"}},'
    .. '"allOf":[{"properties":{"a":{"minLength":1},"c":{}}},{"required":["c"]}]}',
    '{"type":"object","properties":{"a":{"type":"string"},"c":{}},"required":["c"]}', nil,
    "the branches of allOf are joined" },
  { "branches of branches", '{"type":"object","anyOf":[{"allOf":[{"properties":{"a":{}},"required":["a"]},'
    .. '{"properties":{"b":{}}}]},{"oneOf":[{"properties":{"c":{}},"required":["a","c"]}]}]}',
    '{"type":"object","properties":{"a":{},"b":{},"c":{}},"required":["a"]}', nil, "the branches of anyOf are joined" },
  { "several combiners", '{"type":"object","anyOf":[{"properties":{"a":{}}}],"allOf":[{"properties":{"b":{}}}]}',
    '{"type":"object","properties":{"a":{},"b":{}}}', nil, "the branches of anyOf and allOf are joined" },
  { "a reference", '{"$ref":"#/$defs/A","$defs":{"A":{"properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"]}}}',
    '{"type":"object","$defs":{"A":{"properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"]}},'
    .. '"properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"]}', nil,
    "the reference is resolved, the type is object" },
  { "members of what a reference names",
    '{"$ref":"#/definitions/A","title":"t","definitions":{"A":{"$ref":"#/definitions/B","title":"u"},'
    .. '"B":{"type":"object","description":"d","properties":{"a":{}},"required":["a"],'
    .. '"additionalProperties":false}}}',
    '{"type":"object","title":"t","definitions":{"A":{"$ref":"#/definitions/B","title":"u"},"B":{"type":"object",'
    .. '"description":"d","properties":{"a":{}},"required":["a"],"additionalProperties":false}},"description":"d",'
    .. '"additionalProperties":false,"properties":{"a":{}},"required":["a"]}', nil,
    "the reference is resolved, the type is object" },
  { "branches in a circle", '{"type":"object","anyOf":[{"$ref":"#/$defs/A"}],"$defs":{"A":{"anyOf":['
    .. '{"$ref":"#/$defs/A"},{"properties":{"a":{}}}]}}}',
    '{"type":"object","$defs":{"A":{"anyOf":[{"$ref":"#/$defs/A"},{"properties":{"a":{}}}]}},"properties":{"a":{}}}',
    nil, "the branches of anyOf are joined" },
  { "no type", '{"properties":{"a":{}}}', '{"type":"object","properties":{"a":{}}}', nil, "the type is object" },
  { "nothing", "{}", '{"type":"object","properties":{}}', '{"type":"object"}', "the type is object" },
  { "true", "true", '{"type":"object","properties":{}}', '{"type":"object"}', "it was no object" },
  { "what OpenAI alone refuses at the top",
    '{"type":"object","properties":{"a":{}},"not":{"required":["b"]},"enum":[{}]}',
    '{"type":"object","properties":{"a":{}}}',
    '{"type":"object","properties":{"a":{}},"not":{"required":["b"]},"enum":[{}]}',
    "enum and not are left out", "" },
  { "alternatives further down", '{"type":"object","properties":{"a":{"oneOf":[{"allOf":[{}]},{"type":"null"}]}}}',
    '{"type":"object","properties":{"a":{"oneOf":[{"allOf":[{}]},{"type":"null"}]}}}', nil, "" },
}

--- A body of each dialect with a tool `f` of a schema.
local WITH_TOOL = {
  openai = '{"messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"f",'
    .. '"parameters":%s}}]}',
  responses = '{"input":[{"role":"user","content":"q"}],"tools":[{"type":"function","name":"f","parameters":%s,'
    .. '"strict":false}]}',
  anthropic = '{"max_tokens":99,"system":"s","messages":[{"role":"user","content":"q"}],"tools":[{"name":"f",'
    .. '"input_schema":%s}]}',
  gemini = '{"contents":[{"role":"user","parts":[{"text":"q"}]}],"tools":[{"functionDeclarations":[{"name":"f",'
    .. '"parametersJsonSchema":%s}]}]}',
}
local MEMBER = { openai = "parameters", responses = "parameters", gemini = "parametersJsonSchema" }

describe("the schema of a tool becomes one object:", function()
  for _, row in ipairs(TARGETS) do
    for source, body in pairs(WITH_TOOL) do
      for target, member in pairs(MEMBER) do
        if source ~= target then
          it(("%s, from %s to %s"):format(row[1], source, target), function()
            local expected = target == "gemini" and row[4] or row[3]
            local said = target == "gemini" and row[6] or row[5]

            local _, told, losses, text = convert(body:format(row[2]), target)

            assert.truthy(text:find(('"%s":%s'):format(member, expected), 1, true), text)
            assert.equal(said ~= "" and "changed_tool f" or "", told)
            if said ~= "" then
              assert.equal("the schema of tool 'f' becomes one object: " .. said, losses[#losses].text)
              assert.is_true(losses[#losses].changed)
            end
            assert.same({}, assert(ebb.parse(text)):check { dialect = target })
          end)
        end
      end
    end
  end

  it("stays as it is for servers that take it", function()
    local schema = '{"anyOf":[{"type":"object","properties":{"a":{}}},{"type":"object"}]}'
    for _, profile in ipairs { "vllm", "llama.cpp", "openrouter" } do
      local _, told, _, text = convert(WITH_TOOL.anthropic:format(schema), "openai", { profile = profile })
      assert.truthy(text:find('"parameters":' .. schema, 1, true), text)
      assert.equal("", told)
    end
  end)

  it("of a tool without arguments has none", function()
    local body = WITH_TOOL.gemini:gsub(',"parametersJsonSchema":%%s', "")
    local written, told = convert(body, "responses")
    assert.same({ type = "object", properties = {}, additionalProperties = false }, written.tools[1].parameters)
    assert.equal("", told)
  end)
end)

describe("the schema of a tool of many branches #time:", function()
  local gate = dofile "tests/lua/growth_gate.lua"
  local shapes = {
    ["alternatives of one property"] = { '{"properties":{"a":{"const":%d}}}', "" },
    ["equal references"] = { '{"$ref":"#/$defs/A"}', '"p%d":{}' },
  }
  for name, shape in pairs(shapes) do
    it("costs as much as it is long: " .. name, function()
      gate.check(name, 500, function(n)
        local branches, properties = {}, {}
        for i = 1, n do branches[i], properties[i] = shape[1]:format(i), shape[2]:format(i) end
        local chat = assert(ebb.parse(WITH_TOOL.anthropic:format(('{"anyOf":[%s],"$defs":{"A":{"properties":{%s}}}}')
          :format(table.concat(branches, ","), shape[2] ~= "" and table.concat(properties, ",") or ""))))
        return gate.seconds(function() assert(chat:write("openai", { shape = "body" })) end)
      end)
    end)
  end
end)

describe("the schema of a tool in a pipeline", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local SCHEMA = '{"anyOf":[{"type":"object","properties":{"a":{}}},{"type":"object"}]}'
  local rows = {
    -- the body      what the request says of the schema, for its own dialect; and for openai
    { "responses", SCHEMA .. ',"strict":false', '"parameters":{"type":"object","properties":{"a":{}}}' },
    { "gemini",    SCHEMA,                      '"parameters":{"type":"object","properties":{"a":{}}}' },
  }
  for _, row in ipairs(rows) do
    it("keeps its bytes in its own dialect, and is mended for another one: " .. row[1], function()
      local path = command.file("body.json", (WITH_TOOL[row[1]]:format(SCHEMA)))
      local agent = command.file("agent.json", '{"name":"A","presets":[{"role":"system","content":"S"},'
        .. '{"type":"chat_history"}]}')
      local words = ("pipeline %s --agent %s "):format(path, agent)
      local out, err = command.does(words)
      command.contains('":' .. row[2], out)
      assert.is_nil(err:find("changed_tool", 1, true))
      out, err = command.does(words .. "--to openai")
      command.contains(row[3], out)
      assert.is_nil(err:find("would refuse", 1, true))
      local result = assert(ebb.pipeline({ agent = { presets = {} }, to = "openai" }):run(assert(ebb.parse(
        command.read(path)))))
      assert.equal("changed_tool", result.losses[1].code)
    end)
  end
end)

-- the schema, in which OpenAI refuses something if the tool is strict; what
local STRICT = {
  { '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}', nil },
  { '{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"],'
    .. '"additionalProperties":false}', nil },
  { '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}',
    "additionalProperties is not false at its top" },
  { '{"type":"object","properties":{"a":{},"b":{}},"required":["b"],"additionalProperties":false}',
    "a is not required at its top" },
  { '{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}},"required":["a"],"additionalProperties":false}',
    "oneOf at properties.a" },
  { '{"type":"object","properties":{"a":{"type":"array","items":{"allOf":[{}]}}},"required":["a"],'
    .. '"additionalProperties":false}', "allOf at properties.a.items" },
  { '{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"object","properties":{}}]}},'
    .. '"required":["a"],"additionalProperties":false}', "additionalProperties is not false at properties.a.anyOf[1]" },
  { '{"type":"object","properties":{},"additionalProperties":false,"$defs":{"D":{"not":{}}}}', "not at $defs.D" },
}

describe("a strict tool", function()
  for _, row in ipairs(STRICT) do
    for _, target in ipairs { "openai", "responses" } do
      it(("stays strict for %s, or not: %s"):format(target, row[2] or row[1]), function()
        local body = WITH_TOOL.anthropic:gsub('"name":"f"', '"name":"f","strict":true')
        local written, told, losses = convert(body:format(row[1]), target)
        local tool = written.tools[1]["function"] or written.tools[1]
        assert.equal(row[2] == nil, tool.strict)
        assert.same(ebb.json.decode(row[1]), tool.parameters)
        assert.equal(row[2] and "changed_tool f" or "", told)
        if row[2] then
          assert.equal("tool 'f' is no longer strict, for its schema has " .. row[2], losses[#losses].text)
        end
      end)
    end
  end

  it("whose schema is a reference stays strict", function()
    local body = WITH_TOOL.anthropic:gsub('"name":"f"', '"name":"f","strict":true')
    local schema = '{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"a":{"type":"string"}},'
      .. '"required":["a"],"additionalProperties":false}}}'
    local written, told = convert(body:format(schema), "openai")
    assert.is_true(written.tools[1]["function"].strict)
    assert.equal("changed_tool f", told)
  end)

  it("whose branches are joined is not strict where one of them requires less", function()
    local body = WITH_TOOL.anthropic:gsub('"name":"f"', '"name":"f","strict":true')
    local schema = '{"type":"object","additionalProperties":false,"anyOf":[{"properties":{"a":{}},"required":["a"]},'
      .. '{"properties":{"b":{}},"required":["b"]}]}'
    local written, told = convert(body:format(schema), "openai")
    assert.is_false(written.tools[1]["function"].strict)
    assert.equal("changed_tool f, changed_tool f", told)
  end)
end)

-- a body whose tool has a name that its target refuses
local REFUSED = {
  { WITH_TOOL.anthropic, "openai" }, { WITH_TOOL.anthropic, "responses" }, { WITH_TOOL.gemini, "openai" },
}

describe("a tool that the target refuses", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("is named by the conversion, though only the written body shows it", function()
    for i, row in ipairs(REFUSED) do
      local path = command.file(i .. ".json", (row[1]:gsub('"f"', '"look.up"'):format '{"type":"object"}'))
      for _, way in ipairs { "", " --repair" } do
        local _, err = command.does(("convert --to %s%s %s"):format(row[2], way, path))
        command.contains("tool_name: 'look.up' is not a valid name", err)
      end
    end
  end)

  it("is told by the command as it is mended, and refused by nobody", function()
    for i, row in ipairs(REFUSED) do
      local path = command.file(i .. ".json", (row[1]:format '{"anyOf":[{"type":"object","properties":{"a":{}}}]}'))
      local out, err = command.does(("convert --strict --to %s %s"):format(row[2], path))
      command.contains("changed_tool: the schema of tool 'f' becomes one object", err)
      assert.is_nil(err:find("would refuse", 1, true))
      assert.same({}, assert(ebb.parse(out)):check { dialect = row[2] })
    end
  end)
end)
