--- Measures dialects and importers: MESSAGES messages of about 300 bytes, in turns of four with a call.
--
--     lua5.4 tests/bench/convert.lua
--
-- EBB_BUILD  the build whose module is measured (build/release)
-- MESSAGES   how many (100000)
-- ROUNDS     runs per figure (5); the figure is their median, in milliseconds of processor time

local build = os.getenv "EBB_BUILD" or "build/release"
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;"):format(build, build) .. package.path
package.cpath = ("%s/lua/?.so;"):format(build) .. package.cpath

local ebb = require "ebb"
local import = require "ebb.import"

require("ebb.support.log").to(function() end)

local ROUNDS = math.tointeger(tonumber(os.getenv "ROUNDS" or "5"))
local MESSAGES = math.tointeger(tonumber(os.getenv "MESSAGES" or "100000"))
local MODELS = { openai = "gpt-4o", responses = "gpt-4o", anthropic = "claude-sonnet-4-5", gemini = "gemini-2.5-pro" }
local DIALECTS = { "openai", "responses", "anthropic", "gemini" }

local function counter() return 1 end

--- Milliseconds of one run: the median.
local function measure(run)
  local times = {}
  for round = 1, ROUNDS do
    collectgarbage()
    local start = os.clock()
    run()
    times[round] = (os.clock() - start) * 1e3
  end
  table.sort(times)
  return times[ROUNDS // 2 + 1]
end

local function row(name, bytes, milliseconds)
  print(("%-34s %7.1f MB %9.1f ms"):format(name, bytes / 1e6, milliseconds))
end

---- Dialects ----

local QUESTION, ANSWER = ("a question about words "):rep(12), ("an answer in words "):rep(14)
local RESULT = ("a line\\n"):rep(40)

--- A turn: numbers and texts take their places in their order.
local TURN = [[{"role":"user","content":"%d %s"},
{"role":"assistant","content":null,"tool_calls":[
{"id":"call_%d","type":"function","function":{"name":"look","arguments":"{\"q\":%d}"}}]},
{"role":"tool","tool_call_id":"call_%d","content":"%s"},
{"role":"assistant","content":"%s"}]]

--- A body of Chat Completions.
local function body()
  local out = {}
  for i = 1, MESSAGES, 4 do
    out[#out + 1] = TURN:format(i, QUESTION, i, i, i, RESULT, ANSWER)
  end
  return ('{"model":"gpt-4o","messages":[%s]}'):format(table.concat(out, ",\n"))
end

local function parse(text) return assert(ebb.parse(text, { counter = counter })) end

local source = body()
local chat, bodies = parse(source), { openai = source }
for _, dialect in ipairs(DIALECTS) do
  local options, text = { shape = "body", model = MODELS[dialect] }, nil
  local milliseconds = measure(function() text = chat:write(dialect, options) end)
  bodies[dialect] = bodies[dialect] or text
  row("write openai as " .. dialect, #text, milliseconds)
end
for _, dialect in ipairs(DIALECTS) do
  local text, own = bodies[dialect], nil
  row("read a body of " .. dialect, #text, measure(function() own = parse(text) end))
  row("write it as it is", #text, measure(function() own:write(dialect, { shape = "body" }) end))
  row("check it", #text, measure(function() own:check() end))
end

---- Importers ----

local function jsonl(head, record)
  local list = { head }
  for i = 1, MESSAGES do list[#list + 1] = record(i, i % 2 == 1) end
  return table.concat(list, "\n") .. "\n"
end

local function array(before, element, after)
  local list = {}
  for i = 1, MESSAGES do list[i] = element(i, i % 2 == 1) end
  return before .. table.concat(list, ",") .. after
end

local function words(asks) return asks and QUESTION or ANSWER end

local FILES = {
  { "claude_code", jsonl(nil, function(i, asks)
    local kind = asks and "user" or "assistant"
    return ([[{"type":"%s","uuid":"u%d","parentUuid":%s,"sessionId":"s","timestamp":"2026-11-01","cwd":".",]]
      .. [["message":{"role":"%s","id":"m%d","model":"claude-x","content":[{"type":"text","text":"%s"}]}}]]):format(
      kind, i, i > 1 and ('"u%d"'):format(i - 1) or "null", kind, i, words(asks))
  end) },
  { "codex", jsonl(nil, function(_, asks)
    return ([[{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"%s",]]
      .. [["content":[{"type":"%s","text":"%s"}]}}]]):format(asks and "user" or "assistant",
      asks and "input_text" or "output_text", words(asks))
  end) },
  { "pi", jsonl('{"type":"session","version":3,"id":"s","cwd":"p"}', function(i, asks)
    return ([[{"type":"message","id":"%d","parentId":"%d","message":{"role":"%s",]]
      .. [["content":[{"type":"text","text":"%s"}]}}]]):format(i, i - 1, asks and "user" or "assistant", words(asks))
  end) },
  { "gemini_cli", jsonl('{"sessionId":"s","projectHash":"p","startTime":"t"}', function(i, asks)
    return ('{"id":"%d","type":"%s","content":"%s"}'):format(i, asks and "user" or "gemini", words(asks))
  end) },
  { "sillytavern", jsonl('{"user_name":"U","character_name":"C","create_date":"d","chat_metadata":{}}',
    function(_, asks)
      return ('{"name":"%s","is_user":%s,"is_system":false,"mes":"%s"}'):format(asks and "U" or "C", asks, words(asks))
    end) },
  { "opencode", array('{"info":{"id":"ses_1"},"messages":[', function(i, asks)
    return ('{"info":{"id":"%d","role":"%s"},"parts":[{"type":"text","text":"%s"}]}'):format(i,
      asks and "user" or "assistant", words(asks))
  end, "]}") },
  { "roo", array('[{"role":"user","content":"<task>q</task>","ts":1},', function(i, asks)
    return ('{"role":"%s","content":[{"type":"text","text":"%s"}],"ts":%d}'):format(asks and "assistant" or "user",
      words(not asks), i)
  end, "]") },
  { "langchain", array("[", function(_, asks)
    return ('{"type":"%s","data":{"content":"%s"}}'):format(asks and "human" or "ai", words(asks))
  end, "]") },
  { "chatgpt", array(([=[[{"id":"c","title":"t","current_node":"%d","mapping":{]=]
    .. [["0":{"id":"0","parent":null,"children":["1"],"message":null},]]):format(MESSAGES),
    function(i, asks)
      return ([["%d":{"id":"%d","parent":"%d","children":["%d"],"message":{"author":{"role":"%s"},"recipient":"all",]]
        .. [["content":{"content_type":"text","parts":["%s"]}}}]]):format(i, i, i - 1, i + 1,
        asks and "user" or "assistant", words(asks))
    end, "}}]") },
  { "claude_ai", array('[{"uuid":"c","name":"t","chat_messages":[', function(i, asks)
    return ('{"uuid":"%d","sender":"%s","text":"","content":[{"type":"text","text":"%s"}]}'):format(i,
      asks and "human" or "assistant", words(asks))
  end, "]}]") },
  { "sharegpt", array('[{"id":"1","conversations":[', function(_, asks)
    return ('{"from":"%s","value":"%s"}'):format(asks and "human" or "gpt", words(asks))
  end, "]}]") },
  { "aider", jsonl("# aider chat started at 2026-11-01 10:00:00\n", function(_, asks)
    return asks and "#### " .. QUESTION or "\n" .. ANSWER .. "\n"
  end) },
  { "chatml", jsonl(nil, function(_, asks)
    return ("<|im_start|>%s\n%s<|im_end|>"):format(asks and "user" or "assistant", words(asks))
  end) },
}

for _, file in ipairs(FILES) do
  local name, text = file[1], file[2]
  assert(import.recognise(text) == name, name)
  row("import " .. name, #text, measure(function() assert(#import.read(text, { from = name }).messages > 1) end))
end
