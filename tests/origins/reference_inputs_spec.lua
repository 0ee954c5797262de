--- Every input of reference/field, reference/wire and reference/forms, with what is right by the sheet of its folder.
--
-- A row has its file, the arguments of the command, or of several that are to give the same, and what is right:
--
--     status          the exit status, 0 where it is absent
--     out, told       texts of standard output and standard error, one after the other
--     no_out, untold  texts that they do not have
--     words           all messages of the output, in the notation of import_kit
--     answers         the calls of the output and their results: "a word of the call=a word of the result", in order
--     whole           true: as many results as calls
--     at_least        the least number of messages
--     tokens          what `ebb count` counts, from and to
--     accepted        the dialect by which `ebb check` refuses nothing of the output
--     same            true: the output is the input, byte for byte
--
-- In arguments F is the file, D the folder of the test, C the row's `chat`, BIG the body with large tools that the
-- sheet describes, ALL a filter that keeps all, DEPTH the agent with its note at each of the row's `depths`; `before`
-- runs first.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local kit = dofile "tests/lua/import_kit.lua"
local sent = dofile "tests/origins/sent_requests.lua"
local json = helper.ebb.json

local FOLDER = (helper.shared or "../shared") .. "/reference/"

if not command.read(FOLDER .. "field/README.md") then
  pending "EBB_SHARED has no reference/field"
  return
end

---- Reading the output ----

local function messages_of(text)
  local body = json.decode(text)
  return body.messages or body.contents or body.input or body
end

--- The calls and results of a message, of any dialect: id, and the rest as text.
local function add_calls(message, calls, results)
  local function add(list, id, value) list[#list + 1] = { id = id, text = json.encode(value) } end
  for _, call in ipairs(message.tool_calls or {}) do add(calls, call.id, call) end
  if message.role == "tool" then add(results, message.tool_call_id, message.content) end
  if message.type == "function_call" then add(calls, message.call_id, message.name .. message.arguments) end
  if message.type == "function_call_output" then add(results, message.call_id, message.output) end
  local parts = message.content or message.parts
  for _, part in ipairs(type(parts) == "table" and parts or {}) do
    if part.type == "tool_use" then add(calls, part.id, part) end
    if part.type == "tool_result" then add(results, part.tool_use_id, part.content) end
    local call, response = part.functionCall, part.functionResponse
    if call then add(calls, call.id or #calls + 1, call) end
    if response then add(results, response.id or #results + 1, response.response) end
  end
end

--- Expects these calls in order, each with one result of its own id.
local function expect_answers(expected, text)
  local calls, results = {}, {}
  for _, message in ipairs(messages_of(text)) do add_calls(message, calls, results) end
  assert.equal(#expected, #calls, text)
  assert.equal(#expected, #results, text)
  for i, pair in ipairs(expected) do
    local call, answer = pair:match "^(.-)=(.*)$"
    command.contains(call, calls[i].text)
    local found
    for _, result in ipairs(results) do
      if result.id == calls[i].id then
        assert.is_nil(found, text)
        found = result.text
      end
    end
    command.contains(answer, found or text)
  end
end

local function expect_in_order(pieces, text)
  local from = 1
  for _, piece in ipairs(pieces or {}) do
    local _, last = text:find(piece, from, true)
    assert.truthy(last, ("expected %q behind byte %d of:\n%s"):format(piece, from, text))
    from = last + 1
  end
end

local function expect_none(pieces, text)
  for _, piece in ipairs(pieces or {}) do
    assert.is_nil(text:find(piece, 1, true), ("did not expect %q in:\n%s"):format(piece, text))
  end
end

---- field ----

local STEERED, RATES, WEATHER = { "f=one", "g=two" }, { "USD=0.8", "EUR=0.9" }, { "Oslo=rain", "Rome=sun" }

local FIELD = {
  { "steer-between-results.json", { "convert F --to openai --repair", "trim F --budget 1000 --repair",
    "convert F --to openai --repair=synthesize" }, accepted = "openai", answers = STEERED,
    words = "u:go | a:+f(c1){}+g(c2){} | t(c1):one | t(c2):two | u:hurry up | a:done | u:thanks" },
  { "steer-between-results.json", { "convert F --to gemini --repair" }, accepted = "gemini", answers = STEERED,
    out = { "one", "two", "hurry up", "done" } },
  { "steer-between-results.json", { "convert F --to anthropic --repair" }, accepted = "anthropic", answers = STEERED,
    out = { "one", "two", "hurry up", "done" } },
  { "steer-between-results.json", { "pipeline F --model gpt-4o" }, accepted = "openai", answers = STEERED,
    out = { "one", "two", "hurry up", "done" } },

  { "calls-in-two-messages.json", { "convert F --to openai --repair", "trim F --budget 1000 --repair=synthesize",
    "pipeline F --model gpt-4o" }, accepted = "openai", answers = WEATHER, no_out = { "no result" } },
  { "calls-in-two-messages.json", { "convert F --to anthropic --repair" }, accepted = "anthropic", answers = WEATHER },
  { "calls-in-two-messages.json", { "convert F --to gemini --repair" }, accepted = "gemini", answers = WEATHER },
  { "calls-in-two-messages.json", { "convert F --to responses --repair" }, accepted = "responses", answers = WEATHER },

  { "gemini-calls-apart.json", { "convert F --to gemini --repair", "pipeline F" }, accepted = "gemini",
    answers = RATES, out = { "USD", '"thoughtSignature":"c2lnMQ=="', "EUR", "0.8", "0.9" } },
  { "gemini-calls-apart.json", { "convert F --to openai --repair" }, accepted = "openai", answers = RATES },

  { "id-empty.json", { "convert F --to anthropic", "convert F --to anthropic --repair",
    "pipeline F --model claude-sonnet-4-5" }, accepted = "anthropic", answers = { "Oslo=rain" },
    no_out = { '"id":""' } },
  { "id-empty.json", { "convert F --to gemini", "convert F --to gemini --repair",
    "pipeline F --model gemini-2.5-flash" }, accepted = "gemini", answers = { "Oslo=rain" },
    out = { '"functionResponse":{', '"name":"weather"' } },
  { "id-empty.json", { "convert F --to responses", "convert F --to responses --repair" }, accepted = "responses",
    answers = { "Oslo=rain" }, no_out = { '"call_id":""' } },
  { "id-empty.json", { "convert F --to openai --repair", "pipeline F --model gpt-4o" }, accepted = "openai",
    answers = { "Oslo=rain" }, no_out = { '"id":""' } },
  { "ids-empty-parallel.json", { "convert F --to anthropic", "convert F --to anthropic --repair",
    "pipeline F --model claude-sonnet-4-5" }, accepted = "anthropic", answers = WEATHER },
  { "ids-empty-parallel.json", { "convert F --to gemini", "convert F --to gemini --repair" }, accepted = "gemini",
    answers = WEATHER },
  { "ids-empty-parallel.json", { "convert F --to responses", "convert F --to responses --repair" },
    accepted = "responses", answers = WEATHER },
  { "ids-empty-parallel.json", { "convert F --to openai --repair", "pipeline F --model gpt-4o" }, accepted = "openai",
    answers = WEATHER },

  { "signature-in-chat-form.json", { "convert F --to gemini", "convert F --to gemini --strict",
    "convert F --to gemini --profile vertex", "trim F --budget 1000" }, accepted = "gemini", answers = RATES,
    out = { "USD", '"thoughtSignature":"c2lnMQ=="', "EUR" }, no_out = { "skip_thought_signature_validator" } },
  { "signature-to-chat-form.json", { "convert F --to openai", "convert F --to openai --strict" }, accepted = "openai",
    answers = RATES, out = { "USD", '"extra_content":{"google":{"thought_signature":"c2lnMQ=="}}', "EUR" } },
  { "signature-to-chat-form.json", { "convert F --to responses", "convert F --to anthropic" }, answers = RATES,
    told = { "lost_signature", "(message 2)" } },
  { "signature-to-chat-form.json", { "convert F --to responses --strict", "convert F --to anthropic --strict" },
    status = command.REFUSED, told = { "lost_signature" } },

  { "arguments-cut.json", { "check F --strict", "check F --profile vllm" }, status = 1,
    out = { "call_arguments", "send {} or an object" } },
  { "arguments-cut.json", { "convert F --to openai --repair --profile vllm" }, accepted = "openai --profile vllm",
    answers = { [[\"input\":=interrupted]] } },
  { "arguments-cut.json", { "convert F --to anthropic" }, answers = { '"input":{"input":=interrupted' },
    told = { "changed_arguments" } },
  { "arguments-object.json", { "check F", "check F --strict", "check F --profile vllm" }, status = 1,
    out = { "call_arguments_form" } },
  { "arguments-object.json", { "convert F --to openai --repair", "pipeline F" }, accepted = "openai",
    out = { [["arguments":"{\"a\":1}"]] } },
  { "output-object.json", { "check F" }, status = 1,
    out = { "result_form", "call_arguments_form", "result_form", "3 violations" } },
  { "output-object.json", { "convert F --to responses --repair" }, accepted = "responses",
    out = { [["output":"{\"a\":1}"]], '"arguments":"{}"', '"output":""' } },
  { "gemini-response-name-empty.json", { "check F" }, status = 1, out = { "result_name" } },
  { "gemini-response-name-empty.json", { "convert F --to gemini --repair" }, accepted = "gemini",
    answers = { "now=12:00" }, out = { '"functionResponse":{"name":"now"' } },
  { "pdf-without-name-chat.json", { "check F" }, status = 1, out = { "file_name" } },
  { "pdf-without-name-chat.json", { "convert F --to openai --repair" }, accepted = "openai",
    out = { '"filename":"document.pdf"' } },
  { "mistral-ids.json", { "check F" }, status = 1, out = { "call_id", "exactly 9 letters and digits" },
    no_out = { "1 to 40" } },

  { "pdf-without-name.json", { "convert F --to openai" }, accepted = "openai", out = { '"filename":"document.pdf"' } },
  { "pdf-without-name.json", { "convert F --to responses" }, accepted = "responses",
    out = { '"filename":"document.pdf"' } },
  { "pdf-one-page.json", { "trim F --budget 12000" }, same = true },
  { "pdf-one-page.json", { "count F" }, tokens = { 1500, 5000 } },
  { "image-type.json", { "check F" }, status = 1, out = { "media_type", "image/png" } },
  { "image-type.json", { "convert F --to anthropic --repair", "trim F --budget 2000 --repair", "pipeline F" },
    accepted = "anthropic", out = { "image/png" }, no_out = { "image/jpeg" } },
  { "image-type.json", { "convert F --to openai", "convert F --to gemini", "convert F --to responses" },
    out = { "image/png" }, no_out = { "image/jpeg" }, told = { "changed_type" } },
  { "images-many-large.json", { "check F" }, status = 1, out = { "image_side", "2000 where there are more than 20" } },
  { "base64-in-text.json", { "count F" }, tokens = { 12000, 20000 } },

  { "system-in-the-middle.json", { "convert F --to anthropic --model claude-opus-4-8 --repair" },
    accepted = "anthropic", out = { "Base.", "one", "two", "three", "Use metric.", "c1", "five", "Be short." },
    untold = { "system_place" } },
  { "depth-agent.json", { "pipeline C --agent F --model claude-opus-5" }, chat = "depth-chat.json",
    accepted = "anthropic", out = { "You are Mira.", "five", "[Keep it short.]" }, untold = { "system_place" } },
  -- Other depths of the same note: at an even one it would follow an assistant's message.
  { "depth-chat.json", { "pipeline F --agent DEPTH --model claude-opus-5" }, depths = { 1, 2, 3, 4 },
    accepted = "anthropic", out = { "You are Mira.", "five" }, untold = { "system_place" } },

  { "gemini-cli-results-twice.jsonl", { "inspect F" }, out = { "7 messages" } },
  { "gemini-cli-results-twice.jsonl", { "convert F --to openai" }, accepted = "openai",
    answers = { "hello=hello", "note.txt=hi" }, told = { "Gemini CLI session: 7 messages" } },
  { "llama-page-one-chat.json", { "convert F --to openai" }, words = "u:one | a:new answer | u:three",
    told = { "1 message of another branch" }, no_out = { "old answer", "convId", "parent" } },
  { "macro-case-card.json", { "pipeline D/chat.json --agent D/agent.json --model gpt-4o" },
    before = "import F --agent D/agent.json --chat D/chat.json",
    out = { "Mara keeps an inn. User is a guest of Mara.", "Welcome, User!" }, no_out = { "{{" } },

  { "search-result.json", { "convert F --to openai", "convert F --to gemini", "convert F --to responses" },
    answers = { "look=Inns" }, out = { "https://example.org/x", "The Swan has rooms." },
    told = { "changed_part", "search_result" }, untold = { "unknown type", "kept as it is", "lost_part" } },
  { "thinking-signature-empty.json", { "convert F --to anthropic --repair", "trim F --budget 1000 --repair",
    "filter ALL --repair --input F" }, accepted = "anthropic", out = { "12", "And 8 + 5?" }, no_out = { "thinking" } },
  { "thinking-unsigned-compatible.json", { "trim F --budget 10000 --profile anthropic-compatible" }, same = true },
  { "reasoning-required.json", { "convert F --to openai --model deepseek-v4-pro --repair" }, accepted = "openai",
    out = { "Let me search.", '"reasoning_content":""', "call_1", '"reasoning_content":""' } },
  { "mcp-parts-in-result.json", { "check F" }, status = 1, out = { "foreign_part", "'image'", "'resource_link'" } },
  { "mcp-parts-in-result.json", { "convert F --to anthropic" }, accepted = "anthropic",
    out = { '"type":"image"', '"media_type":"image/png"', "iVBORw0KGgo=", '"a"', "file:///a.pdf" } },
  { "tools-schema.json", { "convert F --to anthropic" }, accepted = "anthropic", no_out = { "oneOf" },
    out = { '"send"', '"properties"', '"to"', '"task"', '"now"', '{"type":"object"}' },
    told = { "changed_tool", "'send'", "changed_tool", "'now'" } },
  { "deep-response.json", { "check F" }, status = 1, out = { "reserved_key", "'schema'", "$ref" } },
  { "deep-response.json", { "convert F --to gemini --repair" }, accepted = "gemini", answers = { "schema=$ref" },
    out = { [[\"$ref\"]] } },
}

---- wire ----

local BIG = "trim BIG --budget 29000 --policy "

--- Bodies: as sent, most are refused by nobody.
local WIRE = {
  { "claude-code-three-steps.json", { "convert F --to gemini" }, accepted = "gemini",
    told = { "'metadata.user_id'" }, untold = { "'user'" } },
  { "claude-code-title.json", { "check F" }, out = { "nothing that anthropic would refuse" } },
  { "claude-code-attached-file.json", { "check F" }, out = { "17 messages, nothing" } },
  { "claude-code-attached-file.json", { BIG .. "stable_prefix", BIG .. "idle", BIG .. "digest", BIG .. "agent",
    BIG .. "keep_recent" }, at_least = 3, told = { "changed_place" }, accepted = "anthropic" },
  { "claude-code-skill.json", { "check F" }, out = { "nothing that anthropic would refuse" } },
  { "claude-code-effort-message.json", { "trim F --budget 100000", "convert F --to anthropic" }, same = true },
  { "claude-code-effort-message.json", { "convert F --to openai", "convert F --to gemini",
    "convert F --to responses" }, no_out = { "output_config" }, told = { "output_config", "(message 2)" } },
  { "claude-code-tool-search.json", { "trim F --budget 100000", "convert F --to anthropic" }, same = true },
  { "claude-code-tool-search.json", { "convert F --to responses", "convert F --to openai",
    "convert F --to gemini" }, out = { [[NotebookEdit\nTaskStop]] },
    told = { "'defer_loading'", "tool_reference", "(message 4)" },
    untold = { "unknown type", "messages 4, 4", "lost_part" } },
  { "codex-three-steps.json", { "convert F --to gemini" }, accepted = "gemini",
    untold = { "lost_reasoning", "call_place" },
    out = { '"thought":true', "I read the list", '"functionCall"', '"functionResponse"' } },
  { "codex-two-turns.json", { "check F" }, out = { "36 messages, nothing that responses would refuse" } },
  { "codex-two-turns.json", { "convert F --to anthropic" }, accepted = "anthropic",
    told = { "lost_grammar", "lost_reasoning" } },
  { "codex-apply-patch.json", { "convert F --to openai" }, accepted = "openai", no_out = { [[{\"input\"]] },
    out = { '"format":{"type":"grammar"', '"type":"custom","custom":{"name":"apply_patch","input":"***' } },
  { "codex-apply-patch.json", { "convert F --to anthropic", "convert F --to gemini" }, told = { "lost_grammar" },
    out = { '"properties":{"input":{"type":"string"}},"required":["input"]', '{"input":"***' } },
  { "codex-apply-patch.session.jsonl", { "convert F --to responses" }, accepted = "responses",
    no_out = { "internal_chat_message_metadata_passthrough" } },
  { "opencode-chat.json", { "check F --profile vllm", "check F --profile llama.cpp", "check F --profile openrouter" },
    out = { "nothing that" }, no_out = { "tool_description" } },
  { "opencode-chat.json", { "check F" }, status = 1, out = { "tool_description", "5 violations" } },
  { "opencode-title.json", { "check F" }, out = { "nothing that openai would refuse" } },
  { "pi-chat.json", { "check F" }, out = { "nothing that openai would refuse" } },
  { "qwen-code-chat.json", { "check F" }, status = 1,
    out = { "tool_description x 7" } },   -- OpenAI refuses 7 of its 15
  { "qwen-code-chat.json", { "check F --profile vllm" }, out = { "nothing that vllm would refuse" } },
  { "cline-3.json", { "check F" }, out = { "nothing that openai would refuse" } },
  { "opencode-compacted.json", { "check F" }, out = { "12 messages, nothing that openai would refuse" } },
  { "pi-1.6-compacted.json", { "check F" }, out = { "nothing that openai would refuse" } },
  -- The program itself sends two responses to one call.
  { "gemini-cli-resumed.json", { "check F" }, status = 1, out = { "result_count" } },
  { "gemini-cli-resumed.session.jsonl", { "convert F --to gemini" }, accepted = "gemini" },
  { "copilot.json", { "check F" }, out = { "nothing that openai would refuse" } },
  { "cline-3.messages.json", { "convert F --to openai", "convert F --to openai --from cline",
    "trim F --budget 100000" }, accepted = "openai", no_out = { "<user_input" }, untold = { "lost_part" } },
}

---- forms ----

local LOOKED = [[u:How deep is berth 4? | a:I look.+depth(c1){"berth":4} | ]]

local FORMS = {
  { "langchain-content-blocks.json", { "convert F --to openai", "convert F --to openai --strict" }, accepted = "openai",
    words = LOOKED .. "t(c1):3.5 m | a:Berth 4 has 3.5 m. | u:And berth 5?", untold = { "other block" } },
  { "ai-sdk-model-messages.json", { "convert F --to openai" }, accepted = "openai",
    out = { "I look.", [["{\"berth\":4}"]], [["{\"berth\":4,\"metres\":3.5,]], '"tool_call_id":"c1"',
      "Berth 4 has 3.5 m.", "And berth 5?" } },
  { "ai-sdk-model-messages.json", { "trim F --budget 130", "trim F --budget 120", "trim F --budget 60" },
    accepted = "openai",
    whole = true },
  { "ai-sdk-media.json", { "convert F --to openai", "convert F --to openai --from roo" }, accepted = "openai",
    words = [[u:What is on the chart?+image_url+image_url+image_url | a:depth(c1){"berth":4} | ]] ..
      "t(c1):3.5 m\nat low water | a:tide(c2){} | t(c2):high | a:3.5 m, and the tide is high.",
    out = { "base64,iVBORw0KGgo=", "base64,iVBORw0KGgo=", "base64,iVBORw0KGgo=" } },
  { "langchain-media.json", { "convert F --to openai" },
    words = "u:What is on the chart?+image_url+file+input_audio+Depths are in metres.",
    out = { "data:image/png;base64,iVBORw0KGgo=", '"file_data":"data:application/pdf;base64,JVBERi0="', '"UklGRg=="',
      '"format":"wav"' } },
  { "langchain-media.json", { "convert F --to openai --repair" }, accepted = "openai" },
  { "openai-agents-items.json", { "convert F --to openai" }, accepted = "openai",
    words = [[u:How deep is berth 4? | a:depth(c1){"berth":4} | t(c1):3.5 m | a:Berth 4 has 3.5 m. | ]] ..
      "u:And on this chart?+image_url", out = { "data:image/png;base64,iVBORw0KGgo=" } },
  -- The sheet names nine messages and says 8: the SDK joins the two results in one message, Chat Completions cannot.
  { "ai-sdk-ui-messages.json", { "convert F --to openai" }, accepted = "openai",
    words = LOOKED .. [[t(c1):{"metres":3.5} | a:Berth 4 has 3.5 m. | u:And berth 9? | ]] ..
      [[a:depth(c2){"berth":9}+tide(c3){} | t(c2):No such berth. | t(c3):high | a:There is no berth 9.]] },
  { "mastra-messages.json", { "convert F --to openai" }, accepted = "openai",
    words = LOOKED .. [[t(c1):{"metres":3.5} | a:Berth 4 has 3.5 m.]] },
  { "langchain-content-blocks-first.json", { "convert F --to openai" }, accepted = "openai",
    words = "u:How deep is berth 4? | a:3.5 m." },
  { "langchain-summary.json", { "convert F --to openai" }, words = "u:How deep is berth 4? | a:3.5 m.",
    told = { "reasoning_content" } },
  { "langchain-summary.json", { "convert F --to openai --model deepseek-v4-pro" },
    words = "u:How deep is berth 4? | a:<The chart says 3.5.>3.5 m." },
  { "langchain-chunks.json", { "convert F --to openai" },
    words = [[u:How deep is berth 4? | a:I look there.+depth(c1){"berth":4}]] },
}

--- The row of the MCP server: it runs in the folder of its files.
local MCP = { "mcp-agent.lua", "mcp-chat.json", "mcp-model.sh", "mcp-task-tool.sh" }

---- The rows ----

--- The body with long tools and results, of which the sheet tells how it is made.
local function make_big(path)
  local body = json.decode(helper.read(path))
  body.tools[1].description = ("What this tool does in the house. "):rep(2000)
  for _, message in ipairs(body.messages) do
    for _, part in ipairs(type(message.content) == "table" and message.content or {}) do
      if part.type == "tool_result" then part.content = part.content:rep(10) end
    end
  end
  return command.file("big.json", json.encode(body))
end

local function expect_tokens(range, run)
  local tokens = tonumber(run.out:match "\n%s*(%d+)")
  assert.is_true(tokens >= range[1] and tokens <= range[2], run.out)
end

local function expect_accepted(dialect, text)
  local check = command.ebb(("check %s --dialect %s"):format(command.file("written.json", text), dialect))
  assert.equal(0, check.status, check.out .. check.err)
end

local function expect_output(row, run, path)
  expect_in_order(row.out, run.out)
  expect_none(row.no_out, run.out)
  expect_in_order(row.told, run.err)
  expect_none(row.untold, run.err)
  if row.same then assert.equal(helper.read(path), run.out) end
  if row.words then assert.equal(row.words, kit.openai { messages = messages_of(run.out) }) end
  if row.answers then expect_answers(row.answers, run.out) end
  if row.at_least then assert.is_true(#messages_of(run.out) >= row.at_least, run.out) end
  if row.tokens then expect_tokens(row.tokens, run) end
  if row.accepted then expect_accepted(row.accepted, run.out) end
end

--- Calls and results that a trim leaves: as many of the one as of the other.
local function expect_whole(text)
  local calls, results = {}, {}
  for _, message in ipairs(messages_of(text)) do add_calls(message, calls, results) end
  assert.equal(#calls, #results, text)
end

local function expect_row(row, words, path)
  local run = command.ebb(words)
  assert.equal(row.status or 0, run.status, words .. "\n" .. run.err .. run.out)
  expect_output(row, run, path)
  if row.whole then expect_whole(run.out) end
end

--- The agent of the sheet, its note at another depth.
local function agent_at(depth)
  local agent = json.decode(helper.read(FOLDER .. "field/depth-agent.json"))
  agent.presets[3].injectionStrategy.depth = depth
  return command.file("agent.json", json.encode(agent))
end

--- Runs the arguments of a row: F is the path of its file, D the folder of the test.
local function run_row(folder, row, words)
  local path = FOLDER .. folder .. "/" .. row[1]
  local names = { F = path, D = command.folder, C = row.chat and FOLDER .. folder .. "/" .. row.chat,
    BIG = words:find "BIG" and make_big(path), ALL = command.file("all.lua", "return function() return true end") }
  for _, depth in ipairs(row.depths or { false }) do
    names.DEPTH = depth and agent_at(depth)
    local function fill(text) return (text:gsub("%f[%w]%u+%f[%W]", names)) end
    if row.before then command.does(fill(row.before)) end
    expect_row(row, fill(words), path)
  end
end

local TABLES = { field = FIELD, wire = WIRE, forms = FORMS }

for folder, rows in pairs(TABLES) do
  describe("reference/" .. folder, function()
    before_each(command.make_folder)
    after_each(command.remove_folder)

    for _, row in ipairs(rows) do
      for _, words in ipairs(row[2]) do
        it(row[1] .. ": " .. words, function() run_row(folder, row, words) end)
      end
    end
  end)
end

describe("a session, next to the request that it sent:", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for _, row in ipairs(sent.ROWS) do
    it(row[1], function() sent.compare(command, row, FOLDER .. "wire/") end)
  end
end)

describe("commands that run others", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local MODELS = { openai = "gpt-4o", anthropic = "claude-sonnet-4-5", gemini = "gemini-3-flash-preview" }
  for _, name in ipairs { "id-empty.json", "ids-empty-parallel.json", "steer-between-results.json",
    "calls-in-two-messages.json", "gemini-calls-apart.json", "signature-in-chat-form.json" } do
    for dialect, model in pairs(MODELS) do
      it(("the model node sends %s as %s takes it"):format(name, dialect), function()
        local agent = command.file("agent.lua",
          ("return { nodes = { { type = 'model', model = '%s' } } }"):format(model))
        local shell = command.file("model.sh", ("cat > %s; echo Hi\n"):format(command.path_of "body.json"))

        command.does(("run %s %sfield/%s --model-command 'sh %s'"):format(agent, FOLDER, name, shell))

        local body = command.read(command.path_of "body.json")
        expect_accepted(dialect, body)
        if dialect ~= "gemini" then return end
        if name:find "^signature" then command.contains('"thoughtSignature":"c2lnMQ=="', body) end
        for _, content in ipairs(json.decode(body).contents) do
          local calls = 0
          for _, part in ipairs(content.parts) do
            calls = calls + (part.functionCall and 1 or 0)
            if part.functionCall then assert.equal(calls == 1, part.thoughtSignature ~= nil) end
          end
        end
      end)
    end
  end

  it("a tool that needs a task is not offered, a link says its name", function()
    for _, name in ipairs(MCP) do command.file(name, command.read(FOLDER .. "forms/" .. name)) end
    local ebb = command.EBB
    command.EBB = ("cd %s && %s/%s"):format(command.folder, os.getenv "PWD", ebb)

    local out, err = command.does "run mcp-agent.lua mcp-chat.json --model-command 'sh mcp-model.sh'"

    command.EBB = ebb
    expect_in_order({ '"name":"plain"' }, err)
    expect_none({ '"name":"slow"' }, err)
    expect_in_order({ "note://7", "Tide table", "High and low water", "Done." }, out)
  end)
end)

it("every file of the three folders has a row", function()
  local rows = {}
  for folder, list in pairs(TABLES) do
    for _, row in ipairs(list) do rows[folder .. "/" .. row[1]] = true end
  end
  for _, row in ipairs(sent.ROWS) do
    rows["wire/" .. row[1]], rows["wire/" .. row[2]] = true, true
  end
  for _, name in ipairs(MCP) do rows["forms/" .. name] = true end

  local pipe = assert(io.popen(("cd '%s' && ls -d field/* wire/* forms/*"):format(FOLDER)))
  local left = {}
  for name in pipe:lines() do
    if not rows[name] and not name:find "/README%.md$" then left[#left + 1] = name end
  end
  pipe:close()
  assert.same({}, left)
end)
