--- The rules of check: each violation is planted by itself in a valid request, where the rule that it
--- breaks finds it; without it the request has none.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local json = ebb.json

local violations = require "ebb.models.violations"

---- Valid requests ----

local function call(id, name, arguments)
  return { id = id, type = "function", ["function"] = { name = name or "look", arguments = arguments or "{}" } }
end

local BODIES = {}

function BODIES.openai()
  return { model = "gpt-4o", tools = { { type = "function", ["function"] = { name = "look", description = "d" } } },
    messages = {
      { role = "system", content = "s" }, { role = "user", content = "u" },
      { role = "assistant", content = "", tool_calls = { call "c1" } },
      { role = "tool", tool_call_id = "c1", content = "r" }, { role = "assistant", content = "a" },
      { role = "user", content = { { type = "text", text = "t" } } },
    } }
end

function BODIES.anthropic()
  return { model = "claude-sonnet-4-5", max_tokens = 9,
    tools = { { name = "look", input_schema = { type = "object" } } },
    messages = {
      { role = "user", content = "u" },
      { role = "assistant", content = { { type = "thinking", thinking = "h", signature = "s" },
        { type = "text", text = "t" }, { type = "tool_use", id = "c1", name = "look", input = { x = 1 } } } },
      { role = "user", content = { { type = "tool_result", tool_use_id = "c1", content = "r" } } },
      { role = "assistant", content = "a" }, { role = "user", content = { { type = "text", text = "t" } } },
    } }
end

function BODIES.responses()
  return { model = "gpt-5", tools = { { type = "function", name = "look", strict = false } }, input = {
    { role = "user", content = "u" },
    { type = "reasoning", id = "rs_1", summary = json.array {}, encrypted_content = "e" },
    { type = "function_call", id = "fc_1", call_id = "c1", name = "look", arguments = "{}" },
    { type = "function_call_output", call_id = "c1", output = "r" },
    { role = "assistant", content = { { type = "output_text", text = "a", annotations = json.array {} } } },
    { role = "user", content = { { type = "input_text", text = "t" } } },
  } }
end

function BODIES.gemini()
  return { model = "gemini-3-pro", tools = { { functionDeclarations = { { name = "look" } } } }, contents = {
    { role = "user", parts = { { text = "u" } } },
    { role = "model", parts = { { functionCall = { name = "look", args = { x = 1 } }, thoughtSignature = "s" } } },
    { role = "user", parts = { { functionResponse = { name = "look", response = { output = "r" } } } } },
    { role = "model", parts = { { text = "a" } } }, { role = "user", parts = { { text = "t" } } },
    { role = "model", parts = { { functionCall = { name = "look", args = { x = 2 } }, thoughtSignature = "s" } } },
    { role = "user", parts = { { functionResponse = { name = "look", response = { output = "r" } } } } },
  } }
end

---- Violations: dialect, code, options (or a model in place of the body's), what is planted ----

local function text(body) return body.messages[#body.messages].content[1] end
local function mark(part, ttl) part.cache_control = { type = "ephemeral", ttl = ttl } end
local function add(list, item, place) table.insert(list, place or #list + 1, item) end
local LONG = ("x"):rep(41)

local PLANTS = {
  { "openai", "orphan_result", {}, function(b) b.messages[4].tool_call_id = "c2" end },
  { "openai", "duplicate_result", {}, function(b) add(b.messages, b.messages[4], 5) end },
  { "openai", "unanswered_call", {}, function(b) table.remove(b.messages, 4) end },
  { "openai", "duplicate_call", {}, function(b) add(b.messages[3].tool_calls, call "c1") end },
  { "openai", "call_id", {}, function(b) b.messages[3].tool_calls[1].id = LONG b.messages[4].tool_call_id = LONG end },
  { "openai", "call_name", {}, function(b) b.messages[3].tool_calls[1]["function"].name = "my tool" end },
  { "openai", "call_arguments", {}, function(b) b.messages[3].tool_calls[1]["function"].arguments = "[1]" end },
  { "openai", "empty_calls", {}, function(b) b.messages[5].tool_calls = json.array {} end },
  { "openai", "media_place", {}, function(b)
    b.messages[4].content = { { type = "image_url", image_url = { url = "u" } } }
  end },
  { "openai", "media", { profile = "deepseek" }, function(b)
    b.messages[6].content[1] = { type = "image_url", image_url = { url = "u" } }
  end },
  { "openai", "media_data", {}, function(b)
    b.messages[6].content[1] = { type = "image_url", image_url = { url = "data:image/png;base64,?" } }
  end },
  { "openai", "part_text", {}, function(b) b.messages[6].content[1].text = 5 end },
  { "openai", "part_text", {}, function(b) b.messages[6].content[1].text = nil end },
  { "openai", "part_text", {}, function(b) b.messages[4].content = { { type = "text", text = { x = 1 } } } end },
  { "openai", "empty_text", { profile = "copilot" }, function(b) b.messages[5].content = " " end },
  { "openai", "empty_content", {}, function(b) b.messages[6].content = json.array {} end },
  { "openai", "null_content", { profile = "llama.cpp" }, function(b) b.messages[3].content = json.null end },
  { "openai", "foreign_reasoning", {}, function(b)
    b.messages[5].content = { { type = "thinking", thinking = "h" } }
  end },
  { "openai", "foreign_part", {}, function(b) b.messages[6].content[1] = { type = "document", source = {} } end },
  { "openai", "system_late", { profile = "qwen" }, function(b) add(b.messages, b.messages[1], 6) end },
  { "openai", "system_role", { model = "o1-mini" }, function(b) b.messages[1].content = "s" end, true },
  { "openai", "developer_role", { profile = "groq" }, function(b) b.messages[1].role = "developer" end },
  { "openai", "user_first", { profile = "template" }, function(b) table.remove(b.messages, 2) end },
  { "openai", "alternation", { profile = "template" }, function(b) add(b.messages, b.messages[6]) end },
  { "openai", "user_after_tool", { profile = "mistral" }, function(b) table.remove(b.messages, 5) end },
  { "openai", "assistant_last", { profile = "mistral" }, function(b) table.remove(b.messages) end },
  { "openai", "assistants_last", { profile = "llama.cpp" }, function(b) b.messages[6] = b.messages[5] end },
  { "openai", "no_user", { profile = "qwen" }, function(b) b.messages = { b.messages[1], b.messages[5] } end },
  { "openai", "no_messages", {}, function(b) b.messages = json.array {} end },
  { "openai", "reasoning_content", { profile = "kimi" }, function(b) b.messages[3].content = "" end, true },
  { "openai", "extra_member", { profile = "groq" }, function(b) b.messages[2].timestamp = 1 end },
  { "openai", "tool_name", {}, function(b) b.tools[1]["function"].name = "my tool" end },
  { "openai", "tool_description", {}, function(b) b.tools[1]["function"].description = ("x"):rep(1025) end },
  { "openai", "empty_tools", { profile = "mistral" }, function(b) b.tools = json.array {} end },
  { "openai", "tools_with_effort", { profile = "azure" }, function(b) b.reasoning_effort = "high" end },
  { "openai", "tool_choice", {}, function(b) b.tools, b.tool_choice = nil, "auto" end },
  { "openai", "named_tool_choice", { profile = "llama.cpp" }, function(b) b.tool_choice = { type = "function" } end },
  { "openai", "forced_tool", { profile = "kimi" }, function(b) b.tool_choice = "required" end },
  { "openai", "sampling", { model = "gpt-5" }, function(b) b.temperature = 0 end },
  { "openai", "metadata_size", {}, function(b) b.metadata = { [("k"):rep(65)] = "v" } end },

  { "anthropic", "orphan_result", {}, function(b) b.messages[3].content[1].tool_use_id = "c2" end },
  { "anthropic", "duplicate_result", {}, function(b) add(b.messages[3].content, b.messages[3].content[1]) end },
  { "anthropic", "unanswered_call", {}, function(b) b.messages[3].content = "no" end },
  { "anthropic", "duplicate_call", {}, function(b) add(b.messages, b.messages[2]) add(b.messages, b.messages[3]) end },
  { "anthropic", "call_id", {}, function(b)
    b.messages[2].content[3].id, b.messages[3].content[1].tool_use_id = "f:0", "f:0"
  end },
  { "anthropic", "call_id", { profile = "bedrock" }, function(b)
    b.messages[2].content[3].id, b.messages[3].content[1].tool_use_id = ("x"):rep(65), ("x"):rep(65)
  end },
  { "anthropic", "call_name", {}, function(b) b.messages[2].content[3].name = "my tool" end },
  { "anthropic", "call_arguments", {}, function(b) b.messages[2].content[3].input = json.array { 1 } end },
  { "anthropic", "call_not_last", {}, function(b) add(b.messages[2].content, { type = "text", text = "t" }) end },
  { "anthropic", "results_late", {}, function(b) add(b.messages[3].content, { type = "text", text = "t" }, 1) end },
  { "anthropic", "results_apart", {}, function(b)
    add(b.messages[2].content, { type = "tool_use", id = "c2", name = "look", input = { x = 1 } })
    add(b.messages, { role = "user", content = { { type = "tool_result", tool_use_id = "c2", content = "r" } } }, 4)
  end },
  { "anthropic", "result_empty", { profile = "anthropic-compatible" }, function(b)
    b.messages[3].content[1].content = json.array {}
  end },
  { "anthropic", "error_empty", {}, function(b)
    b.messages[3].content[1].is_error, b.messages[3].content[1].content = true, ""
  end },
  { "anthropic", "error_media", {}, function(b)
    b.messages[3].content[1].is_error = true
    b.messages[3].content[1].content = { { type = "image", source = { type = "url", url = "u" } } }
  end },
  { "anthropic", "server_call_id", {}, function(b)
    b.messages[4].content = { { type = "server_tool_use", id = "c9", name = "web_search", input = { q = 1 } } }
  end },
  { "anthropic", "server_result", {}, function(b)
    b.messages[4].content = { { type = "server_tool_use", id = "srvtoolu_1", name = "web_search", input = { q = 1 } } }
  end },
  { "anthropic", "misplaced_part", {}, function(b) add(b.messages[5].content, b.messages[2].content[3]) end },
  { "anthropic", "media_data", {}, function(b)
    add(b.messages[5].content, { type = "image",
      source = { type = "base64", media_type = "image/png", data = "data:image/png;base64,AAAA" } })
  end },
  { "anthropic", "part_text", {}, function(b) text(b).text = 5 end },
  { "anthropic", "part_text", {}, function(b) b.messages[3].content[1].content = { { type = "text", text = 5 } } end },
  { "anthropic", "part_text", {}, function(b) b.system = { { type = "text", text = 5 } } end },
  { "anthropic", "empty_text", {}, function(b) text(b).text = " " end },
  { "anthropic", "trailing_space", {}, function(b) table.remove(b.messages) b.messages[4].content = "a " end },
  { "anthropic", "foreign_reasoning", {}, function(b)
    add(b.messages[2].content, { type = "reasoning", text = "h" }, 1)
  end },
  { "anthropic", "foreign_part", {}, function(b)
    b.messages[5].content[1] = { type = "image_url", image_url = {} }
  end },
  { "anthropic", "foreign_call", {}, function(b) b.messages[4].tool_calls = { call "c2" } end },
  { "anthropic", "foreign_role", {}, function(b)
    add(b.messages, { role = "tool", tool_call_id = "c1", content = "r" })
  end },
  { "anthropic", "system_inside", {}, function(b) add(b.messages, { role = "system", content = "s" }) end },
  { "anthropic", "system_place", { model = "claude-opus-5" }, function(b)
    add(b.messages, { role = "system", content = "s" }, 1)
  end },
  { "anthropic", "user_first", { profile = "bedrock-converse" }, function(b) table.remove(b.messages, 1) end },
  { "anthropic", "alternation", { profile = "bedrock-converse" }, function(b) add(b.messages, b.messages[5]) end },
  { "anthropic", "assistant_last", { model = "claude-opus-4-6" }, function(b) table.remove(b.messages) end },
  { "anthropic", "no_messages", {}, function(b) b.messages, b.system = json.array {}, "s" end },
  { "anthropic", "unsigned_thinking", {}, function(b) b.messages[2].content[1].signature = nil end },
  { "anthropic", "thinking_missing", {}, function(b)
    b.thinking = { type = "enabled", budget_tokens = 1024 }
    table.remove(b.messages) table.remove(b.messages)
    table.remove(b.messages[2].content, 1)
  end },
  { "anthropic", "compaction", {}, function(b) b.messages[4].content = { { type = "compaction", content = "" } } end },
  { "anthropic", "extra_member", {}, function(b) b.messages[1].timestamp = 1 end },
  { "anthropic", "extra_member", {}, function(b) b.messages[2].content[3].index = 0 end },
  { "anthropic", "extra_member", {}, function(b) b.frequency_penalty = 1 end },
  { "anthropic", "cache_marks", {}, function(b)
    mark(b.tools[1]) mark(b.messages[2].content[2]) mark(b.messages[2].content[3]) mark(b.messages[3].content[1])
    mark(text(b))
  end },
  { "anthropic", "cache_place", {}, function(b) mark(b.messages[2].content[1]) end },
  { "anthropic", "cache_order", {}, function(b) mark(b.messages[3].content[1]) mark(text(b), "1h") end },
  { "anthropic", "missing_member", {}, function(b) b.max_tokens = nil end },
  { "anthropic", "tool_name", {}, function(b) b.tools[1].name = "my tool" end },
  { "anthropic", "duplicate_tool", {}, function(b) b.tools[2] = b.tools[1] end },
  { "anthropic", "tools_missing", { profile = "bedrock-converse" }, function(b) b.tools = nil end },
  { "anthropic", "forced_tool", { model = "claude-opus-5-5" }, function(b) b.tool_choice = { type = "any" } end },
  { "anthropic", "thinking_mode", { model = "claude-opus-4-7" }, function(b) b.thinking = { type = "enabled" } end },
  { "anthropic", "sampling", { model = "claude-opus-4-7" }, function(b) b.temperature = 0 end },

  { "responses", "part_text", {}, function(b) b.input[6].content[1].text = 5 end },
  { "responses", "part_text", {}, function(b) b.input[4].output = { { type = "input_text", text = 5 } } end },
  { "responses", "orphan_result", {}, function(b) b.input[4].call_id = "c2" end },
  { "responses", "duplicate_result", {}, function(b) add(b.input, b.input[4], 5) end },
  { "responses", "unanswered_call", {}, function(b) table.remove(b.input, 4) end },
  { "responses", "duplicate_call", {}, function(b) b.input[3].id = nil add(b.input, b.input[3], 4) end },
  { "responses", "call_id", {}, function(b) b.input[3].call_id, b.input[4].call_id = ("x"):rep(65), ("x"):rep(65) end },
  { "responses", "media_data", {}, function(b)
    b.input[1].content = { { type = "input_image", image_url = "data:image/png;base64,AAA" } }
  end },
  { "responses", "call_name", {}, function(b) b.input[3].name = "my tool" end },
  { "responses", "call_arguments", {}, function(b) b.input[3].arguments = "[1]" end },
  { "responses", "control_token", {}, function(b) b.input[1].content = "say <|channel|> now" end },
  { "responses", "foreign_part", {}, function(b) b.input[6].content[1].type = "text" end },
  { "responses", "foreign_role", {}, function(b)
    add(b.input, { role = "tool", tool_call_id = "c1", content = "r" })
  end },
  { "responses", "foreign_call", {}, function(b)
    add(b.input, { role = "assistant", content = "a", tool_calls = { call "c9" } })
  end },
  { "responses", "reasoning_alone", {}, function(b)
    add(b.input, { type = "reasoning", id = "rs_2", summary = {} })
  end },
  { "responses", "reasoning_lost", {}, function(b) table.remove(b.input, 2) end },
  { "responses", "duplicate_item", { lenient = true }, function(b)
    b.input[2].id = "rs_1" add(b.input, b.input[2], 3)
  end },
  { "responses", "item_id", {}, function(b) b.input[3].id = "call_1" end },
  { "responses", "stored_items", {}, function(b) b.store = false b.input[2].encrypted_content = nil end },
  { "responses", "trigger_last", {}, function(b) add(b.input, { type = "compaction_trigger" }, 6) end },
  { "responses", "extra_member", {}, function(b) b.input[1].timestamp = 1 end },
  { "responses", "exclusive_members", {}, function(b) b.previous_response_id, b.conversation = "r", "c" end },
  { "responses", "output_limit", {}, function(b) b.max_output_tokens = 8 end },
  { "responses", "sampling", { profile = "codex" }, function(b) b.temperature = 0 end },
  { "responses", "tool_name", {}, function(b) b.tools[1].name = "my tool" end },

  { "gemini", "orphan_result", {}, function(b) add(b.contents, b.contents[3], 6) end },
  { "gemini", "unanswered_call", {}, function(b) table.remove(b.contents, 3) end },
  { "gemini", "result_count", {}, function(b)
    add(b.contents[2].parts, { functionCall = { name = "f", args = { x = 1 } } })
  end },
  { "gemini", "results_late", {}, function(b) add(b.contents[3].parts, { text = "t" }, 1) end },
  { "gemini", "call_place", {}, function(b) add(b.contents, { role = "model", parts = { { text = "a" } } }, 2) end },
  { "gemini", "call_name", {}, function(b) b.contents[2].parts[1].functionCall.name = "1st" end },
  { "gemini", "media_data", {}, function(b)
    add(b.contents[1].parts, { inlineData = { mimeType = "image/png", data = "data:image/png;base64,AAAA" } })
  end },
  { "gemini", "reserved_key", {}, function(b) b.contents[3].parts[1].functionResponse.response["$ref"] = "#" end },
  { "gemini", "misplaced_part", {}, function(b)
    add(b.contents[5].parts, b.contents[3].parts[1]) b.contents[5].role = "model"
  end },
  { "gemini", "part_text", {}, function(b) b.contents[5].parts[1].text = 5 end },
  { "gemini", "part_text", {}, function(b) b.systemInstruction = { parts = { { text = 5 } } } end },
  { "gemini", "empty_content", {}, function(b) b.contents[4].parts = json.array {} end },
  { "gemini", "user_first", {}, function(b) add(b.contents,
    { role = "model", parts = { { functionCall = { name = "f", args = {} } } } }, 1) end },
  { "gemini", "assistant_last", {}, function(b) add(b.contents, { role = "model", parts = { { text = "a" } } }) end },
  { "gemini", "no_messages", {}, function(b) b.contents = json.array {} end },
  { "gemini", "missing_signature", {}, function(b) b.contents[6].parts[1].thoughtSignature = nil end },
  { "gemini", "sentinel_signature", { profile = "vertex" }, function(b)
    b.contents[6].parts[1].thoughtSignature = "skip_thought_signature_validator"
  end },
  { "gemini", "extra_member", {}, function(b) b.contents[1].timestamp = 1 end },
  { "gemini", "exclusive_members", {}, function(b) b.cachedContent = "c" end },
  { "gemini", "mixed_tools", { model = "gemini-2.5-pro" }, function(b) add(b.tools, { googleSearch = { x = 1 } }) end },
  { "gemini", "tool_name", {}, function(b) b.tools[1].functionDeclarations[1].name = "1st" end },
}

local function check(dialect, body, options)
  local asked = { dialect = dialect, severity = "changed", model = options.model, profile = options.profile }
  return (assert(ebb.parse(json.encode(body), { lenient = options.lenient })):check(asked))
end

local function find(list, code)
  for _, violation in ipairs(list) do
    if violation.code == code then return violation end
  end
end

describe("each rule", function()
  for _, plant in ipairs(PLANTS) do
    local dialect, code, options, change, always = table.unpack(plant, 1, 5)
    it(("%s of %s finds what breaks it"):format(code, dialect), function()
      local body = BODIES[dialect]()
      if not always then assert.is_nil(find(check(dialect, body, options), code)) end
      change(body)
      local listed = check(dialect, body, options)
      local violation = find(listed, code)
      assert(violation, ("%s: only %s"):format(code, json.encode(listed)))
      assert.is_true(#violation.hint > 0 and #violation.source > 0 and #violation.text > 0)
      if options.profile then assert.equal("refused", violation.severity) end
    end)
  end

  it("leaves a valid request of its dialect alone", function()
    for dialect, body in pairs(BODIES) do
      local chat = assert(ebb.parse(json.encode(body())))
      assert.same({}, (chat:check()), dialect)
      assert.equal(dialect, select(2, chat:check()))
    end
  end)
end)

describe("the table of rules", function()
  it("has words and a source for each", function()
    for _, rule in ipairs(violations.explain()) do
      for _, field in ipairs { "text", "hint", "source", "example" } do
        assert.is_true(#rule[field] > 0, rule.code .. " " .. field)
      end
      assert.is_true(rule.severity ~= "strict" or rule.servers .. rule.models ~= "", rule.code)
    end
  end)
end)

describe("the data of media", function()
  --- A user's part that holds these data.
  local PARTS = {
    openai = { image = function(data)
      return { type = "image_url", image_url = { url = "data:image/png;base64," .. data } }
    end, audio = function(data)
      return { type = "input_audio", input_audio = { data = data, format = "wav" } }
    end, file = function(data)
      return { type = "file", file = { filename = "a.pdf", file_data = "data:application/pdf;base64," .. data } }
    end },
    responses = { image = function(data)
      return { type = "input_image", image_url = "data:image/png;base64," .. data }
    end },
    anthropic = { image = function(data)
      return { type = "image", source = { type = "base64", media_type = "image/png", data = data } }
    end, file = function(data)
      return { type = "document", source = { type = "base64", media_type = "application/pdf", data = data } }
    end },
    gemini = { image = function(data) return { inlineData = { mimeType = "image/png", data = data } } end },
  }
  local BODY = {
    openai = function(part) return { messages = { { role = "user", content = { part } } } } end,
    responses = function(part) return { input = { { role = "user", content = { part } } } } end,
    anthropic = function(part) return { max_tokens = 9, messages = { { role = "user", content = { part } } } } end,
    gemini = function(part) return { contents = { { role = "user", parts = { part } } } } end,
  }
  local GOOD = { "AAAA", "AAA=", "AA==", "+/+/", "AA\nAA", "AA AA\r\n" }
  local BAD = { "", "A", "AAAAA", "AAAA=", "A===", "AA=A", "AAA?", "\u{e9}AAA", "data:image/png;base64,AAAA" }
  local OF_GEMINI = { "AAA", "AA", "_-_-" }   -- refused elsewhere

  local function found(dialect, kind, data)
    local body = BODY[dialect](PARTS[dialect][kind](data))
    return find(check(dialect, body, {}), "media_data")
  end

  for dialect, kinds in pairs(PARTS) do
    for kind in pairs(kinds) do
      it(("of %s's %s are base64"):format(dialect, kind), function()
        for _, data in ipairs(GOOD) do assert.is_nil(found(dialect, kind, data), data) end
        for _, data in ipairs(BAD) do
          assert.matches(("the data of the %s"):format(kind), assert(found(dialect, kind, data), data).text, 1, true)
        end
        for _, data in ipairs(OF_GEMINI) do
          assert.equal(dialect ~= "gemini", found(dialect, kind, data) ~= nil, data)
        end
      end)
    end
  end

  it("are looked at in results, too, however their slashes are written", function()
    local source = '{"type":"base64","media_type":"image/png","data":"%s"}'
    local body = '{"max_tokens":9,"messages":[{"role":"user","content":"u"},'
      .. '{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":{}}]},'
      .. '{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"image","source":'
      .. source .. "}]}]}]}"
    local function codes(data) return assert(ebb.parse(body:format(data))):check() end
    assert.is_nil(find(codes "AA\\/A", "media_data"))
    assert.equal(3, assert(find(codes "AA\\/?", "media_data")).index)
  end)

  it("are not sought where a part has a link or a file", function()
    local link = { type = "image", source = { type = "url", url = "https://example.com/a.png" } }
    local file = { type = "document", source = { type = "file", file_id = "f" } }
    local words = { type = "document", source = { type = "text", media_type = "text/plain", data = "plain words" } }
    for _, part in ipairs { link, file, words } do
      assert.is_nil(find(check("anthropic", BODY.anthropic(part), {}), "media_data"))
    end
  end)
end)

describe("bound thinking", function()
  local function thinking(n)
    return { role = "assistant", content = { { type = "thinking", thinking = "h", signature = "s" },
      { type = "text", text = "a" .. n } } }
  end

  it("ends after the first message that an edit changed, and not in what was added since", function()
    local chat = ebb.conversation()
    for i = 1, 3 do chat:append { { role = "user", content = "u" .. i }, thinking(i) } end
    local target = { dialect = "anthropic", model = "claude-opus-5-5" }
    assert.is_nil(find(chat:check(target), "bound_thinking"))
    chat:truncate { remove_first = 2 }
    chat:append { { role = "user", content = "u4" }, thinking(4), { role = "user", content = "u5" } }
    local places = {}
    for _, violation in ipairs(chat:check(target)) do places[#places + 1] = violation.index .. violation.code end
    assert.same({ "2bound_thinking", "4bound_thinking" }, places)
    assert.is_nil(find(chat:check { dialect = "anthropic", model = "claude-opus-4-5" }, "bound_thinking"))
  end)
end)

describe("what only strict servers refuse", function()
  local LOG = '[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"user","content":"b"}]'

  it("is listed only if asked for, and not repaired", function()
    local chat = assert(ebb.parse(LOG))
    assert.same({}, (chat:check "anthropic"))
    assert.equal("strict", find(chat:check { dialect = "anthropic", severity = "strict" }, "alternation").severity)
    assert.equal(2, #chat:repaired { dialect = "anthropic" })
    assert.equal(1, #chat:repaired { profile = "bedrock-converse" })
  end)

  it("has ids of letters and digits made where they must be: equal for equal lists, apart for each call", function()
    local function calls(...)
      local list = { '{"role":"user","content":"x"}' }
      for _, id in ipairs { ... } do
        list[#list + 1] = ('{"role":"assistant","content":null,"tool_calls":[{"id":"%s","type":"function",' ..
          '"function":{"name":"f","arguments":"{}"}}]}'):format(id)
        list[#list + 1] = ('{"role":"tool","tool_call_id":"%s","content":"r"}'):format(id)
      end
      return assert(ebb.parse("[" .. table.concat(list, ",") .. "]"))
    end
    local chat = calls("call_1234567890", "call_1234567891", "abcdefgh9")
    local one, other = chat:repaired { profile = "mistral" }, chat:repaired { profile = "mistral" }
    local seen = {}
    for i = 2, 6, 2 do
      local id = one[i].calls[1].id
      assert.truthy(id:find "^%w%w%w%w%w%w%w%w%w$", id)
      assert.is_nil(seen[id])
      seen[id] = true
      assert.equal(id, one[i + 1].answers[1])
      assert.equal(id, other[i].calls[1].id)
    end
    assert.truthy(seen.abcdefgh9)
    assert.same({}, one:check { profile = "mistral" })
  end)

  it("stays next to what is repaired", function()
    local chat = assert(ebb.parse('[{"role":"user","content":"a"},{"role":"user","content":"b"},'
      .. '{"role":"user","content":" "}]'))
    local copy, report = chat:repaired { dialect = "anthropic" }
    assert.same({ 2, 1, "a", "b" }, { #copy, report.mended, copy[1].text, copy[2].text })
  end)
end)

describe("rules for some models", function()
  local function last(model)
    local chat = assert(ebb.parse '[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]')
    local violation = find(chat:check { dialect = "anthropic", model = model, severity = "strict" }, "assistant_last")
    return violation and violation.severity
  end

  it("hold for those, for no other, and are strict where the model is not known", function()
    assert.equal("refused", last "claude-opus-4-6")
    assert.equal("refused", last "claude-sonnet-5-20260601")
    assert.is_nil(last "claude-opus-4-5")
    assert.is_nil(last "claude-3-5-haiku-latest")
    assert.equal("strict", last(nil))
  end)

  it("want signatures of Gemini's calls after the last text of the user only", function()
    local body = BODIES.gemini()
    body.contents[2].parts[1].thoughtSignature = nil
    assert.is_nil(find(check("gemini", body, {}), "missing_signature"))
  end)
end)

describe("Anthropic's check", function()
  local function codes(body, target)
    local list = {}
    for _, violation in ipairs(assert(ebb.parse(body)):check(target)) do
      list[#list + 1] = (violation.index or "") .. violation.code
    end
    return list
  end

  it("names the items of Responses, which have no form there", function()
    local body = '{"model":"gpt-5","input":[{"role":"user","content":"q"},{"type":"message","id":"m",'
      .. '"role":"assistant","content":[{"type":"output_text","text":"t"}]},{"type":"reasoning","id":"r","summary":[]},'
      .. '{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":"{}"},'
      .. '{"type":"function_call_output","call_id":"c","output":"r"}]}'
    local found = table.concat(codes(body, { dialect = "anthropic" }), " ")
    for _, code in ipairs { "2foreign_part", "4foreign_call", "5foreign_role" } do
      assert.is_truthy(found:find(code, 1, true), found)
    end
  end)

  it("takes texts of the system inside the list where the model does, and nothing else", function()
    local body = '{"model":"%s","max_tokens":5,"messages":[{"role":"user","content":"q"},{"role":"system","content":'
      .. '[{"type":"text","text":"s"}]},{"role":"assistant","content":"a"},{"role":"user","content":"u"},'
      .. '{"role":"system","content":[{"type":"image","source":{"type":"url","url":"https://e.org/i.png"}}]}]}'
    assert.same({ "5system_place" }, codes(body:format "claude-opus-4-8", { dialect = "anthropic" }))
    assert.same({ "2system_inside", "5system_inside" }, codes(body:format "claude-sonnet-5", { dialect = "anthropic" }))
  end)
end)
