--- Other projects' cases through the policies that take after theirs. The adaptors
--- rename fields and roles, and nothing else.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local decode, encode = ebb.json.decode, ebb.json.encode

--- Cases of a file of the shared data, by operation; none where there is no such data.
local function cases_of(file, operation)
  local path = helper.shared and ("%s/data/cases/%s.json"):format(helper.shared, file)
  local handle = path and io.open(path)
  if not handle then return {} end
  local list = {}
  for number, case in ipairs(decode(handle:read "a")) do
    if case.op == operation then
      case.title = ("%d %s"):format(number - 1, case.name)
      list[#list + 1] = case
    end
  end
  handle:close()
  return list
end

local function snake(name)
  return (name:gsub("%u", function(letter) return "_" .. letter:lower() end))
end

--- Fields whose names differ, in any table; values are left alone.
local function renamed(value, names)
  if type(value) ~= "table" then return value end
  local result = {}
  for key, item in pairs(value) do
    result[names[key] or key] = renamed(item, names)
  end
  return #result == 0 and next(value) == nil and ebb.json.array(result) or result
end

local function messages_of(chat)
  local list = {}
  for i = 1, #chat do
    list[i] = decode(chat[i].json)
  end
  return list
end

local function assert_messages(expected, chat)
  local function lines(list)
    local texts = {}
    for i, message in ipairs(list) do
      texts[i] = encode(message)
    end
    return table.concat(texts, "\n")
  end
  assert.equal(lines(expected), lines(messages_of(chat)))
end

--- Returns the tokens of a request besides its messages.
local function overhead(options)
  return ebb.conversation(options):tokens()
end

---- LangChain ----

local function joined_text(message)
  if type(message.content) == "string" then return message.content end
  local texts = {}
  for i, part in ipairs(message.content or {}) do
    texts[i] = part.text
  end
  return table.concat(texts, " ")
end

local function pieces(text, separator)
  return select(2, text:gsub(separator, "")) + 1
end

local COUNTERS = {
  dummy10 = function(message) return 6 + 4 * (type(message.content) == "table" and #message.content or 1) end,
  json_len = function(message) return #message.content end,   -- of a text its length, of a list its items
  words = function(message) return select(2, joined_text(message):gsub("%S+", "")) end,
  words_space = function(message) return pieces(joined_text(message), " ") end,
  chars = function(message) return utf8.len(joined_text(message)) end,
  const1 = function() return 1 end,
  const100 = function() return 100 end,
}

local SPLITTERS = { chars = "characters", space = "words" }

--- LangChain's two halves disagree on which end of a list of parts stays when the
--- last messages are kept. Its Python half keeps the newest, and so does this one.
local function with_second_block(expected)
  for _, message in ipairs(expected) do
    if type(message.content) == "table" then message.content[1].text = "This is the SECOND 4 token block." end
  end
  return expected
end

local AS_IN_PYTHON = {
  ["last 40 includeSystem partial"] = with_second_block,
  ["last 30 includeSystem partial endOn human"] = with_second_block,
}

describe("LangChain's trim_messages", function()
  for _, case in ipairs(cases_of("langchain", "trim")) do
    it(case.title, function()
      local case_options = case.options
      local options = { counter = assert(COUNTERS[case_options.tokenCounter], case_options.tokenCounter) }
      local chat = ebb.conversation(options)
      if #case.input > 0 then chat:append(case.input) end
      local policy = { "trim_messages", split_by = SPLITTERS[case_options.textSplitter] }
      for _, name in ipairs { "strategy", "allowPartial", "includeSystem", "startOn", "endOn" } do
        policy[snake(name)] = case_options[name]
      end

      local trim = { budget = case_options.maxTokens + overhead(options), policy = policy, guards = false }

      if case.expected_error then
        assert.matches("'last' only", helper.refusal(chat.trim, chat, trim).message, 1, true)
      else
        assert(chat:trim(trim))
        local mend = AS_IN_PYTHON[case.name]
        assert_messages(mend and mend(case.expected) or case.expected, chat)
      end
    end)
  end
end)

describe("LangChain's filter_messages", function()
  for _, case in ipairs(cases_of("langchain", "filter")) do
    it(case.title, function()
      local chat, options = ebb.conversation(), {}
      chat:append(case.input)
      for name, value in pairs(case.options) do
        options[snake(name)] = value == true and "all" or value
      end

      chat:filter { "scripts/filters/filter_messages.lua", options = options }

      assert_messages(case.expected, chat)
    end)
  end
end)

---- AI SDK ----

local FROM_AI_SDK = {
  call = { type = "type", toolCallId = "id", toolName = "name", input = "input" },
  result = { type = "type", toolCallId = "tool_use_id", toolName = "name", output = "content" },
}
local TYPES = { ["tool-call"] = "tool_use", ["tool-result"] = "tool_result" }

local function part_from_ai_sdk(part)
  local kind = TYPES[part.type]
  if not kind then return part end
  local result = renamed(part, kind == "tool_use" and FROM_AI_SDK.call or FROM_AI_SDK.result)
  result.type = kind
  return result
end

local function from_ai_sdk(messages)
  local list = {}
  for i, message in ipairs(messages) do
    local content = ebb.json.array {}
    for n, part in ipairs(message.content) do
      content[n] = part_from_ai_sdk(part)
    end
    list[i] = { role = message.role, content = content }
  end
  return list
end

describe("the AI SDK's pruneMessages", function()
  for _, case in ipairs(cases_of("ai_prune", "prune")) do
    it(case.title, function()
      local chat, case_options = ebb.conversation(), case.options
      chat:append(from_ai_sdk(case.input))
      local policy = { "prune_messages", reasoning = case_options.reasoning and case_options.reasoning:gsub("-", "_"),
        tool_calls = case_options.toolCalls, empty_messages = case_options.emptyMessages }

      assert(chat:trim { budget = 100000, policy = policy, guards = false })

      assert_messages(from_ai_sdk(case.expected), chat)
    end)
  end
end)

---- Anthropic ----

--- Cases by LangChain, whose code made them, that differ from Anthropic's documentation.
local NOT_ANTHROPIC = {
  ["clearAtLeast unreachable clears all"] =
    "documented: if so much cannot be cleared, nothing is; LangChain then clears the kept ones too",
  ["orphan tool messages always removed"] =
    "documented: below the trigger nothing changes; a lone result is for `check` to find and `repair` to mend",
}

local TRIGGERS = { tokens = "input_tokens", messages = "messages" }

describe("Anthropic's clear_tool_uses", function()
  for _, case in ipairs(cases_of("clear_tool_uses", "clear_tool_uses")) do
    local run = NOT_ANTHROPIC[case.name] and pending or it
    run(case.title .. (NOT_ANTHROPIC[case.name] and ": " .. NOT_ANTHROPIC[case.name] or ""), function()
      local case_options = case.options
      local options = { counter = function(message) return math.ceil(#(message.content or "") / 4) end }
      local chat = ebb.conversation(options)
      chat:append(case.input)

      assert(chat:trim { budget = 100000, guards = false, policy = { "clear_tool_uses",
        trigger = case_options.trigger and renamed(case_options.trigger, TRIGGERS),
        keep = case_options.keep and case_options.keep.messages, exclude_tools = case_options.excludeTools,
        clear_at_least = case_options.clearAtLeast, placeholder = case_options.placeholder,
        clear_tool_inputs = case_options.clearToolInputs } })

      assert_messages(case.expected, chat)
    end)
  end
end)

if not helper.shared then
  it("cases of other projects", function() pending "skipped: EBB_SHARED is not set" end)
end
