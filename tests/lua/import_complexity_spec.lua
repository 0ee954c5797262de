--- The complexity gate of importers: files of n records and of 4n, of the shapes that are dear to a slow path, each
--- in at most five times as long. COMPLEXITY=n sets the size.

local gate = dofile "tests/lua/growth_gate.lua"
dofile "tests/lua/helper.lua"      -- finds the library
local import = require "ebb.import"

local N = math.tointeger(tonumber(os.getenv "COMPLEXITY" or "500"))

--- JSONL: a head, and what `record` says for 1 to n.
local function lines(head, record)
  return function(n)
    local list = { head }
    for i = 1, n do list[#list + 1] = record(i, n) end
    return table.concat(list, "\n") .. "\n"
  end
end

--- JSON: n elements between two texts.
local function list(before, element, after)
  return function(n)
    local elements = {}
    for i = 1, n do elements[i] = element(i, n) end
    return before .. table.concat(elements, ",") .. after
  end
end

local function claude(kind, uuid, parent, content, more)
  return ('{"type":"%s","uuid":"%s","parentUuid":%s,"sessionId":"s","message":{"role":"%s","content":%s%s}%s}'):format(
    kind, uuid, parent and '"' .. parent .. '"' or "null", kind, content, kind == "assistant" and ',"id":"' ..
    (more or uuid) .. '"' or "", kind == "user" and more or "")
end

local function codex(kind, payload)
  return ('{"timestamp":"t","type":"%s","payload":%s}'):format(kind, payload)
end

local function said(text) return codex("response_item", ('{"role":"user","content":"%s"}'):format(text)) end

local function pi(kind, i, parent, more)
  return ('{"type":"%s","id":"%d","parentId":"%d",%s}'):format(kind, i, parent, more)
end

local PI_HEAD = '{"type":"session","version":3,"id":"s","cwd":"p"}'
local PI_USER = '"message":{"role":"user","content":"q"}'
local GEMINI_HEAD = '{"sessionId":"s","projectHash":"p","startTime":"t"}'

--- By importer and shape: a text of so many records.
local SHAPES = {
  claude_code = {
    chain = lines(nil, function(i) return claude("user", i, i > 1 and i - 1 or nil, '"q"') end),
    ["one reply in many lines"] = lines(nil, function(i)
      return claude("assistant", i, i > 1 and i - 1 or nil, ('[{"type":"text","text":"%s"}]'):format("word " .. i), "m")
    end),
    ["a reply that streams"] = lines(nil, function(i)
      return claude("assistant", i, i > 1 and i - 1 or nil,
        ('[{"type":"text","text":"%s"}]'):format(("x"):rep(i % 50)), "m")
    end),
    ["words within one reply"] = lines(nil, function(i)
      if i % 2 == 0 then return claude("user", i, i - 1, '"wait"') end
      return claude("assistant", i, i > 1 and i - 1 or nil, '[{"type":"text","text":"x"}]', "m")
    end),
    ["branches from one line"] = lines(nil, function(i) return claude("user", i, i > 1 and 1 or nil, '"q"') end),
    ["parents that do not exist"] = lines(nil, function(i) return claude("user", i, "p" .. i, '"q"') end),
    ["a circle of all"] = lines(nil, function(i, n) return claude("user", i, i > 1 and i - 1 or n, '"q"') end),
    ["circles of two"] = lines(nil, function(i) return claude("user", i, i % 2 == 1 and i + 1 or i - 1, '"q"') end),
    ["compactions that preserve"] = lines(claude("user", 0, nil, '"q"'), function(i)
      if i % 2 == 0 then return claude("user", i, i - 1, '"q"', ',"isCompactSummary":true') end
      return ('{"type":"system","subtype":"compact_boundary","uuid":"%d","parentUuid":null,"logicalParentUuid":"%d",' ..
        '"sessionId":"s","compactMetadata":{"preservedSegment":{"headUuid":"0","anchorUuid":"%d","tailUuid":"%d"}}}')
        :format(i, i - 1, i + 1, i - 1)
    end),
    ["boundaries with one anchor"] = lines(claude("user", 0, nil, '"q"'), function(i)
      return ('{"type":"system","subtype":"compact_boundary","uuid":"%d","parentUuid":"0","sessionId":"s",' ..
        '"compactMetadata":{"preservedSegment":{"headUuid":"x","anchorUuid":"0","tailUuid":"%d"}}}'):format(i, i - 1)
    end),
    ["attachments of one prompt"] = lines(claude("user", 0, nil, '"q"'), function(i)
      return ('{"type":"attachment","uuid":"%d","parentUuid":"%d","sessionId":"s","attachment":{"type":"n"},' ..
        '"rendered":[{"content":"r"}]}'):format(i, i - 1)
    end),
    ["words of the program"] = lines(nil, function(i)
      return claude("user", i, i > 1 and i - 1 or nil, '"q"', ',"isMeta":true')
    end),
    ["one uuid"] = lines(nil, function() return claude("user", "a", nil, '"q"') end),
  },
  codex = {
    words = lines(nil, function(i) return said("q" .. i) end),
    rollbacks = function(n)     -- more of them: a short walk for each shows late
      return lines(nil, function(i)
        return i % 3 > 0 and said "q" or codex("event_msg", '{"type":"thread_rolled_back","num_turns":1}')
      end)(16 * n)
    end,
    compactions = lines(nil, function(i)
      return i % 20 > 0 and said(("q"):rep(500)) or codex("compacted", '{"message":"S"}')
    end),
    ["one history"] = function(n)
      return codex("compacted",
        ('{"message":"","replacement_history":[%s{}]}'):format(('{"role":"user"},'):rep(n))) .. "\n"
    end,
  },
  pi = {
    chain = lines(PI_HEAD, function(i) return pi("message", i, i - 1, PI_USER) end),
    results = lines(PI_HEAD, function(i)
      return pi("message", i, i - 1, '"message":{"role":"toolResult","toolCallId":"c","content":"o","model":"claude"}')
    end),
    edits = lines(PI_HEAD, function(i) return pi("context_edit", i, i - 1, '"targetId":"1","replacement":null') end),
    compactions = lines(PI_HEAD, function(i) return pi("compaction", i, i - 1,
      '"summary":"S","firstKeptEntryId":"1"') end),
    ["parents that do not exist"] = lines(PI_HEAD, function(i) return pi("message", i, -i, PI_USER) end),
    ["a circle of all"] = lines(PI_HEAD, function(i, n) return pi("message", i, i > 1 and i - 1 or n, PI_USER) end),
    sections = lines(PI_HEAD, function(i)
      return pi("message", i, i - 1, ('"message":{"role":"system","sections":{"%d":"x"},"toolsAdded":[{"name":"%d"}]}')
        :format(i, i))
    end),
  },
  gemini_cli = {
    ["one message again and again"] = lines(GEMINI_HEAD,
      function() return '{"id":"1","type":"gemini","content":"x"}' end),
    rewinds = lines(GEMINI_HEAD, function(i)
      if i % 4 == 0 then return ('{"$rewindTo":"%d"}'):format(i - 2) end
      return ('{"id":"%d","type":"user","content":"x"}'):format(i)
    end),
    ["calls of one message"] = function(n)
      return GEMINI_HEAD .. "\n" .. list('{"id":"1","type":"gemini","content":"x","toolCalls":[',
        function(i) return ('{"id":"%d","name":"f","args":{}}'):format(i) end, "]}")(n) .. "\n"
    end,
  },
  opencode = {
    messages = list('{"info":{"id":"ses_1"},"messages":[',
      function(i) return ('{"info":{"id":"%d","role":"user"},"parts":[{"type":"text","text":"q"}]}'):format(i) end,
        "]}"),
    parts = list('{"info":{"id":"ses_1"},"messages":[{"info":{"role":"assistant"},"parts":[', function(i)
      return i % 2 == 0 and '{"type":"text","text":"q"}' or '{"type":"tool","callID":"c","tool":"f","state":{}}'
    end, "]}]}"),
  },
  roo = {
    messages = list('[{"role":"user","content":"<task>q"},',
      function(i) return ('{"role":"user","content":"q","condenseParent":"%d","condenseId":"%d","isSummary":true}')
        :format(i + 1, i) end, "]"),
    ["results of one message"] = list('[{"role":"user","content":"<task>q"},{"role":"user","content":[',
      function(i) return ('{"type":"tool_result","tool_use_id":"%d","content":"o"}'):format(i) end, "]}]"),
  },
}

SHAPES.cline = {
  ["results of one message"] = list('{"version":1,"agent":"lead","sessionId":"s","messages":['
    .. '{"role":"user","content":[', function(i)
    return ('{"type":"tool_result","tool_use_id":"%d","content":[{"a": "b"}]}'):format(i)
  end, "]}]}"),
}
SHAPES.openai_agents = {
  items = list("[", function(i)
    return ('{"type":"function_call","callId":"%d","name":"f","arguments":"{}","providerData":{"a":1}}'):format(i)
  end, "]"),
}
SHAPES.mastra = {
  parts = list('[{"role":"assistant","threadId":"t","content":{"format":2,"parts":[', function(i)
    return ('{"type":"tool-invocation","toolInvocation":{"state":"result","step":%d,"toolCallId":"%d",' ..
      '"toolName":"f","args":{"a": 1},"result":{}}}'):format(i // 2, i)
  end, "]}}]"),
}
SHAPES.snapshots = {
  batches = list('{"messages":[],"currentBatchIndex":0,"batchSnapshots":[', function(i)
    return ('{"batchIndex":%d,"messages":[{"role":"user","content":"%d"}]}'):format(i, i)
  end, "]}"),
  messages = list('{"messages":[],"currentBatchIndex":2,"batchSnapshots":[{"batchIndex":1,"messages":[', function(i)
    return ('{"role":"user","content":"%d"}'):format(i % 50)
  end, "]}]}"),
}
SHAPES.qwen_code = {
  chain = lines(nil, function(i)
    return ('{"uuid":"%d","parentUuid":"%d","sessionId":"s","type":"tool_result","message":{"role":"user","parts":' ..
      '[{"functionResponse":{"name":"f","response":{}}}]}}'):format(i, i - 1)
  end),
}
SHAPES.copilot = {
  events = lines(nil, function(i)
    return ('{"type":"assistant.message","data":{"content":"x","toolRequests":[{"toolCallId":"%d","name":"f",' ..
      '"arguments":{"a": 1}}]},"id":"%d"}'):format(i, i)
  end),
  rewinds = lines('{"type":"user.message","data":{"content":"q"},"id":"0"}', function(i)
    if i % 2 == 0 then return ('{"type":"session.snapshot_rewind","data":{"upToEventId":"%d"}}'):format(i - 1) end
    return ('{"type":"user.message","data":{"content":"q"},"id":"%d"}'):format(i)
  end),
}
SHAPES.langchain = {
  ["pieces of one reply"] = list("[", function()
    return '{"type":"ai","data":{"id":"m","content":"word ","tool_call_chunks":[{"index":0,"args":"x"}]}}'
  end, "]"),
  ["pieces of blocks"] = list("[", function(i)
    return ('{"type":"ai","data":{"id":"m","content":[{"type":"text","index":%d,"text":"w"}],"tool_call_chunks":[]}}')
      :format(i % 9)
  end, "]"),
}
SHAPES.ai_sdk = {
  ["model messages"] = list('[{"role":"tool","content":[]},', function(i)
    return ('{"role":"assistant","content":[{"type":"tool-call","toolCallId":"%d","toolName":"f",' ..
      '"input":{}}]}'):format(i)
  end, "]"),
  ["parts of one UI message"] = list('[{"role":"assistant","parts":[', function(i)
    return ('{"type":"tool-f","toolCallId":"%d","state":"output-available","input":{"a": 1},"output":{}}'):format(i)
  end, "]}]"),
  ["bytes of a buffer"] = list('[{"role":"user","content":[{"type":"image","image":{"type":"Buffer","data":[',
    function() return "137" end, "]}}]}]"),
}

local CARD = '{"spec":"chara_card_v2","data":{"name":"A","character_book":{"entries":['
local EXPORT = '{"type":"AIO_Agent_Export","agents":[{"name":"A","presetMessages":['

SHAPES.card = {
  entries = list(CARD, function(i) return ('{"keys":["k%d"],"content":"c","extensions":{"x%d":1}}'):format(i, i) end,
    "]}}}"),
  ["entries of one id"] = list(CARD, function() return '{"keys":["k"],"content":"c","id":1}' end, "]}}}"),
  greetings = list('{"spec":"chara_card_v3","data":{"name":"A","first_mes":"a","alternate_greetings":[',
    function(i) return ('"<START> {{user}} <BOT> %d"'):format(i) end, "]}}"),
}
SHAPES.world = {
  entries = list('{"entries":{', function(i) return ('"%d":{"uid":%d,"key":["k"],"content":"c"}'):format(i, i) end,
    "}}"),
}
SHAPES.scripts = {
  scripts = list("[", function(i) return ('{"findRegex":"/a%d/g","x%d":1}'):format(i, i) end, "]"),
}
SHAPES.st_preset = {
  prompts = list('{"prompt_order":[],"prompts":[',
    function(i) return ('{"identifier":"p%d","content":"c"}'):format(i) end, "]}"),
  orders = list('{"prompts":[],"prompt_order":[', function(i) return ('{"character_id":%d,"order":[]}'):format(i) end,
    "]}"),
}
SHAPES.aiohub = {
  presets = list(EXPORT, function(i) return ('{"id":"%d","role":"system","content":"c"}'):format(i) end, "]}]}"),
}

--- Importers whose shapes are in import_chats_spec.lua and import_datasets_spec.lua.
local ELSEWHERE = {
  sillytavern = true, openai_batch = true, anthropic_batch = true, sharegpt = true, bodies = true, alpaca = true,
  chatgpt = true, claude_ai = true, web_ui = true, langchain = true, aider = true, chatml = true,
}

describe("importing takes time in proportion to the file:", function()
  for name, shapes in pairs(SHAPES) do
    for shape, text_of in pairs(shapes) do
      it(name .. ", " .. shape, function()
        gate.check(name, N, function(n)
          local text, result = text_of(n), nil
          local seconds = gate.seconds(function() result = import.read(text, { from = name }) end)
          assert(result and import.body(result))
          return seconds
        end)
      end)
    end
  end

  it("knows every importer", function()
    local named, listed = {}, {}
    for _, importer in ipairs(import.list()) do listed[importer.name] = true end
    for _, names in ipairs { SHAPES, ELSEWHERE } do
      for name in pairs(names) do named[name] = true end
    end
    assert.equal("", gate.difference(listed, named))
  end)
end)
