--- Requests in four dialects against the bodies that the AI SDK and LangChain send.
--
-- If a body differs, DIFFERENCES names the case and the documented rule that makes ours
-- better or equal.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local TARGETS = {
  ["openai-chat"] = "openai", ["openai-chat-o1"] = "openai", ["openai-responses"] = "responses",
  anthropic = "anthropic", google = "gemini",
}

--- By the name of the case.
local DIFFERENCES = {
  ["tool result with image content -> openai-chat"] =
    "the SDK writes the image as JSON text, which no model sees; a user message behind the results shows it",
  ["reasoning part -> openai-chat-o1"] = "reasoning_content goes where it came from; profiles of servers strip it",
  ["only system -> openai-chat-o1"] = "a body of OpenAI's own form keeps its bytes; the API takes system as developer",
  ["multi text parts -> openai-chat"] = "a message of OpenAI's own form keeps its bytes: a list of texts is allowed",
  ["multi text parts -> openai-chat-o1"] = "the same",
  ["tool exchange -> google"] = "LangChain's word for a result's text is result, the AI SDK's is content",
  ["parallel tools -> google"] = "the same",
  ["json string tool result -> google"] = "the same",
  ["consecutive users -> anthropic"] = "LangChain joins texts of neighbours; ours stay parts of one message",
}

local function read_json(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local value = ebb.json.decode(file:read "a")
  file:close()
  return value
end

---- The SDK's own messages, as a chat of OpenAI's ----

local function media_part(media, data, name)
  local uri = ("data:%s;base64,%s"):format(media, data)
  if media:find "^image/" then return { type = "image_url", image_url = { url = uri } } end
  return { type = "file", file = { filename = name, file_data = uri } }
end

local function user_part(part)
  if part.type == "text" then return { type = "text", text = part.text } end
  if part.type == "image" then return { type = "image_url", image_url = { url = part.image } } end
  return media_part(part.mediaType, part.data, part.filename)
end

local function result_content(output)
  if output.type == "json" then return ebb.json.encode(output.value) end
  if output.type ~= "content" then return output.value end
  local parts = {}
  for i, part in ipairs(output.value) do
    parts[i] = part.type == "text" and { type = "text", text = part.text } or media_part(part.mediaType, part.data)
  end
  return parts
end

local function assistant_message(content)
  local message, parts, calls = { role = "assistant" }, {}, {}
  for _, part in ipairs(content) do
    if part.type == "tool-call" then
      local arguments = next(part.input) and ebb.json.encode(part.input) or "{}"
      calls[#calls + 1] = { id = part.toolCallId, type = "function",
        ["function"] = { name = part.toolName, arguments = arguments } }
    elseif part.type == "reasoning" then
      message.reasoning_content = part.text
    else
      parts[#parts + 1] = { type = "text", text = part.text }
    end
  end
  message.content = #parts > 1 and parts or parts[1] and parts[1].text or ebb.null
  message.tool_calls = #calls > 0 and calls or nil
  return message
end

local function add_messages(list, message)
  if message.role == "tool" then
    for _, part in ipairs(message.content) do
      local failed = part.output.type == "error-text"
      list[#list + 1] = failed and { role = "user", content = { { type = "tool_result", tool_use_id = part.toolCallId,
        content = part.output.value, is_error = true } } }
        or { role = "tool", tool_call_id = part.toolCallId, content = result_content(part.output) }
    end
  elseif type(message.content) == "string" then
    list[#list + 1] = message
  elseif message.role == "assistant" then
    list[#list + 1] = assistant_message(message.content)
  else
    local parts = {}
    for i, part in ipairs(message.content) do parts[i] = user_part(part) end
    list[#list + 1] = { role = message.role, content = parts }
  end
end

local function chat_of(input)
  local list = {}
  for _, message in ipairs(input) do add_messages(list, message) end
  return ebb.conversation { messages = list }
end

---- Comparison ----

local TEXT_TYPES = { text = true, input_text = true, output_text = true }

--- One text alone and a list of that text say the same.
local function text_alone(value)
  local only = type(value) == "table" and #value == 1 and value[1]
  return only and TEXT_TYPES[only.type] and not only.cache_control and only.text or value
end

--- Returns what both forms of a value have in common: JSON inside strings as values, texts alone as strings, and
--- without members that say what is the default.
local function plain(value)
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, each in pairs(value) do
    local is_json = (key == "arguments" or key == "output" or key == "content") and type(each) == "string"
    copy[key] = plain(text_alone(is_json and ebb.json.decode(each) or each))
  end
  if copy.type == "message" then copy.type = nil end
  if copy.type == "input_image" and copy.detail == "auto" then copy.detail = nil end
  if copy.tool_calls and copy.content == "" then copy.content = nil end
  if copy.content == ebb.null then copy.content = nil end
  if copy.functionCall then copy.functionCall.id = nil end
  if copy.functionResponse then copy.functionResponse.id = nil end
  return copy
end

local MEMBERS = { openai = { "messages" }, responses = { "input" }, anthropic = { "system", "messages" },
  gemini = { "systemInstruction", "contents" } }

local function compare(chat, target, expected, options)
  local text = chat:write(target, { shape = "body", model = options and options.model })
  local body = ebb.json.decode(text)
  for _, member in ipairs(MEMBERS[target]) do
    assert.same(plain(text_alone(expected[member])), plain(text_alone(body[member])))
  end
end

local function shared_path(name)
  return (name:gsub("^dev/", helper.shared .. "/data/conversations/"))
end

local function run(file)
  for _, case in ipairs(helper.shared and read_json(helper.shared .. "/data/cases/" .. file) or {}) do
    local target = TARGETS[case.options.to]
    local expected = case.expected or read_json(shared_path(case.expected_file))
    if expected and not expected.error and not DIFFERENCES[case.name] then
      it(case.name, function()
        local chat
        if case.input_file then
          chat = assert(ebb.load(shared_path(case.input_file)))
        elseif case.options.from == "openai-chat" then
          chat = ebb.conversation { messages = case.input }
        else
          chat = chat_of(case.input)
        end
        compare(chat, target, expected, case.options)
      end)
    end
  end
end

describe("bodies of the AI SDK", function() run "ai_providers.json" end)
describe("bodies of LangChain", function() run "langchain_providers.json" end)
