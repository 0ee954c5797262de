--- Bodies to which messages of another form are added: the conversation keeps what was given, and the body that is
--- written has one form.
--
-- HISTORIES=n sets how many random ones, SEED=n repeats a run.

local helper = dofile "tests/lua/helper.lua"
local random = dofile "tests/lua/random_messages.lua"
local core = require "ebb.support.core"
local request = require "ebb.request"
local ebb = helper.ebb

local HISTORIES = math.tointeger(tonumber(os.getenv "HISTORIES")) or 60

local USER = { role = "user", content = "b" }
local CALL = { role = "assistant", content = "hm", tool_calls = { { id = "a:b", type = "function",
  ["function"] = { name = "f", arguments = '{"x":1}' } } } }
local RESULT = { role = "tool", tool_call_id = "a:b", content = "r" }
local SYSTEM = { role = "system", content = "S" }

local BODIES = {
  gemini = '{"contents": [ {"role":"user","parts":[{"text":"a"}],"own":1} ], "x": 1}\n',
  responses = '{"input": [ {"role":"user","content":[{"type":"input_text","text":"a"}]} ]}',
  anthropic = '{"stop_sequences":["x"],"messages": [ {"role":"user","content":"a"} ]}',
}

local function parsed(dialect) return assert(ebb.parse(BODIES[dialect])) end

--- Returns the text that is written after the message that was read.
local function behind(dialect, chat)
  local text, body = chat:json(), BODIES[dialect]
  local past = select(2, body:find(parsed(dialect)[1].json, 1, true))
  assert.equal(body:sub(1, past), text:sub(1, past))
  return text:sub(past + 1)
end

describe("a body", function()
  for dialect, expected in pairs {
    gemini = ',{"role":"user","parts":[{"text":"b"}]},{"role":"model","parts":[{"text":"hm"},{"functionCall":'
      .. '{"id":"a:b","name":"f","args":{"x":1}}}]},{"role":"user","parts":[{"functionResponse":{"id":"a:b",'
      .. '"name":"f","response":{"name":"f","content":"r"}}}]} ], "x": 1}\n',
    responses = ',{"role":"user","content":"b"},{"role":"assistant","content":"hm"},{"type":"function_call",'
      .. '"call_id":"a:b","name":"f","arguments":"{\\"x\\":1}"},{"type":"function_call_output","call_id":"a:b",'
      .. '"output":"r"} ]}',
    anthropic = ',{"role":"user","content":"b"},{"role":"assistant","content":[{"type":"text","text":"hm"},'
      .. '{"type":"tool_use","id":"call_e6c311fcd7b7d562","name":"f","input":{"x":1}}]},{"role":"user","content":'
      .. '[{"type":"tool_result","tool_use_id":"call_e6c311fcd7b7d562","content":"r"}]} ]}',
  } do
    it("of " .. dialect .. " is written in its form, and the conversation keeps what was given", function()
      local chat = parsed(dialect)
      chat:append { USER, CALL, RESULT }
      assert.equal(expected, behind(dialect, chat))
      assert.same({ dialect, "tool", "r" }, { chat:dialect(), chat[4].role, chat[4].content })
      assert.same({}, ebb.parse(chat:json()):check { members = false })
      assert.equal(chat:json(), chat:fork():json())
      local saved = assert(ebb.parse(chat:write "ebb"))
      assert.same({ CALL.tool_calls, chat:json() }, { saved[3]:totable().tool_calls, saved:json() })
    end)
  end

  it("keeps its messages and what is between them, also those in another form that it had", function()
    for _, body in ipairs { '{"contents": [ {"parts":[{"text":"a"}]} ,\n  {"role":"user","content":"b"} ]}',
      '{"stop_sequences":["x"],"messages":[{"role":"system","content":"S"} , {"role":"user","content":"b"}]}' } do
      local chat = assert(ebb.parse(body))
      assert.equal(body, chat:json())
      chat:append(RESULT)
      assert.equal(body:match "^(.*%S)%s*%]}$", chat:json():sub(1, #body:match "^(.*%S)%s*%]}$"))
    end
  end)

  it("has the form of its messages where these are asked for, too", function()
    local body = '{"contents": [ {"parts":[{"text":"a"}]} ,\n  {"role":"user",%s,"id":"m"} ]}'
    local chat = assert(ebb.parse(body:format '"content":"b"'))
    assert.equal(body:format '"parts":[{"text":"b"}]', (request.in_own_form(chat, true)))
    local right = parsed "gemini"
    assert.is_nil((request.in_own_form(right, true)))
  end)

  it("has a system message at the head in its own member, later ones among the others", function()
    for dialect, member in pairs { gemini = '{"systemInstruction": {"parts":[{"text":"S"}]}, ',
      anthropic = '{"system": [{"type":"text","text":"S"}], ' } do
      local chat = parsed(dialect)
      chat:insert(1, SYSTEM)
      assert.equal(member .. BODIES[dialect]:sub(2), chat:json())
    end
    local chat = assert(ebb.parse '{"system":"R","messages":[{"role":"user","content":"a"}]}')
    chat:insert(1, SYSTEM)
    assert.equal('{"system":[{"type":"text","text":"R"},{"type":"text","text":"S"}],'
      .. '"messages":[{"role":"user","content":"a"}]}', chat:json())
    local late = parsed "gemini"
    late:append { SYSTEM, USER }
    assert.equal(',{"role":"user","parts":[{"text":"S"}]},{"role":"user","parts":[{"text":"b"}]} ], "x": 1}\n',
      behind("gemini", late))
    assert.equal("changed_system", select(2, request.in_own_form(late, false))[1].code)
  end)

  it("has a system message after one of which nothing is left at the head, too", function()
    local media = { role = "user", parts = { { fileData = { mimeType = "audio/wav", fileUri = "gs://a/b" } } } }
    local chat = parsed "anthropic"
    local image = { role = "user", content = { { type = "image_url", image_url = { url = "https://a/b.png" } } } }
    chat:insert(1, { media, SYSTEM, media, SYSTEM, image, SYSTEM })
    assert.equal('{"system": [{"type":"text","text":"S"},{"type":"text","text":"S"}], "stop_sequences":["x"],'
      .. '"messages": [ {"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://a/b.png"}}]},'
      .. '{"role":"user","content":[{"type":"text","text":"S"}]},{"role":"user","content":"a"} ]}', chat:json())
  end)

  it("keeps members that no request has, with what begins with their message", function()
    local chat = parsed "gemini"
    chat:append { { role = "user", content = "b", id = "m1", metadata = { k = 1 } }, CALL }
    chat:append(ebb.json.decode '[{"role":"tool","tool_call_id":"a:b","content":"r","timestamp":5}]')
    assert.equal(',{"role":"user","parts":[{"text":"b"}],"id":"m1","metadata":{"k":1}},{"role":"model","parts":'
      .. '[{"text":"hm"},{"functionCall":{"id":"a:b","name":"f","args":{"x":1}}}]},{"role":"user","parts":[{'
      .. '"functionResponse":{"id":"a:b","name":"f","response":{"name":"f","content":"r"}}}],"timestamp":5} ], '
      .. '"x": 1}\n', behind("gemini", chat))
    local two = assert(ebb.parse '{"stop_sequences":["x"],"messages":[]}')
    two:append { { role = "assistant", tool_calls = { CALL.tool_calls[1], { id = "c", type = "function",
      ["function"] = { name = "g", arguments = "{}" } } } }, RESULT,
      { role = "tool", tool_call_id = "c", content = "r", timestamp = 5 } }
    local _, losses = request.in_own_form(two, false)
    local last = losses[#losses]
    assert.same({ "lost_member", "timestamp", 3 }, { last.code, last.subject, last.index })
  end)

  it("names a message of which something is lost, after items of windows that do not exist", function()
    local sound = { type = "input_audio", input_audio = { data = "aGk=", format = "wav" } }
    local chat = parsed "anthropic"
    chat:append { { window = "w" }, { window = "w" }, { role = "user", content = { sound } } }
    local function place_of(_, losses)
      for _, loss in ipairs(losses) do
        if loss.code == "lost_media" then return loss.index end
      end
    end
    assert.equal(4, place_of(request.in_own_form(chat, false)))
    assert.equal(4, place_of(chat:write("responses", { shape = "body" })))
  end)

  it("keeps the ids of calls that it has, also those that its provider refuses", function()
    local chat = assert(ebb.parse('{"stop_sequences":["x"],"messages":[{"role":"assistant","content":[{"type":'
      .. '"tool_use","id":"x y","name":"f","input":{}}]}]}'))
    chat:append { role = "tool", tool_call_id = "x y", content = "r" }
    assert.truthy(chat:json():find('"tool_use_id":"x y"', 1, true), chat:json())
    local gemini = assert(ebb.parse '{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}]}')
    gemini:append { role = "tool", tool_call_id = "f", content = "r" }
    assert.truthy(gemini:json():find('{"functionResponse":{"name":"f",', 1, true), gemini:json())
  end)

  it("has a list in place of the one message that it had without one", function()
    local chat = assert(ebb.parse '{"contents":{"parts":[{"text":"a"}]}}')
    chat:append(USER)
    assert.equal('{"contents":[{"parts":[{"text":"a"}]},{"role":"user","parts":[{"text":"b"}]}]}', chat:json())
    chat:truncate { keep_first = 0 }
    chat:append(USER)
    assert.equal('{"contents":[{"role":"user","parts":[{"text":"b"}]}]}', chat:json())
  end)

  it("shows windows in its form", function()
    local chat = parsed "gemini"
    chat.windows:open { id = "todo", content = "tea" }
    local window = behind("gemini", chat)
    assert.truthy(window:find(',{"role":"user","parts":[{"text":"<Window id=\\"todo\\">', 1, true), window)
    chat:append(USER)
    assert.truthy(behind("gemini", chat):find('},{"role":"user","parts":[{"text":"b"}]} ], "x": 1}', 1, true))
  end)

  it("is saved so, and as a list or a whole as it was given", function()
    local chat, path = parsed "gemini", os.tmpname()
    chat:append(USER)
    for _, options in ipairs { { shape = "body" }, {} } do
      assert(chat:save(path, options))
      assert.equal(chat:json(), io.open(path):read "a")
    end
    assert(chat:save(path, { shape = "jsonl" }))
    assert.truthy(io.open(path):read("a"):find('"content":"b"', 1, true))
    os.remove(path)
    assert.is_false((pcall(chat.save, chat, path, { shap = "body" })))
  end)

  it("is refused where its form would be too deep", function()
    local chat = parsed "gemini"
    local deep = ("["):rep(250) .. ("]"):rep(250)
    chat:append { role = "assistant", tool_calls = { { id = "c", type = "function",
      ["function"] = { name = "f", arguments = '{"x":' .. deep .. "}" } } } }
    assert.truthy(ebb.parse(chat:json()))
  end)
end)

--- True if a body that fits the forms of openai and Anthropic became Anthropic's by what was added: a system message it
--- has inside stays, for the newest Claude takes it, and only a conversion for another model rewrites it.
local function has_late_system(original, written)
  if original:dialect() == written:dialect() then return false end
  for i = 2, #original do
    if original[i].role == "system" and original[i - 1].role ~= "system" then return true end
  end
  return false
end

describe("random bodies", function()
  for number, dialect in ipairs { "openai", "responses", "anthropic", "gemini" } do
    it("of " .. dialect .. " have one form, whatever is added", function()
      local seed = helper.seed()
      for round = 1, HISTORIES do
        math.randomseed(seed + round, number)
        local function messages() return math.random(2) == 1 and random.openai(2) or random.anthropic(2) end
        local body = ebb.conversation({ messages = messages() }):write(dialect, { shape = "body" })
        local chat = assert(ebb.parse(body))
        local before = #chat
        for _ = 1, math.random(2) do chat:append(messages()) end
        if math.random(2) == 1 then chat:insert(math.random(#chat + 1), messages()) end
        local text = chat:json()
        local written, original = assert(ebb.parse(text)), ebb.parse(body)
        local which = ("SEED=%d HISTORIES=1\n%s\n%s"):format(seed + round - 1, body, text)
        assert(chat:dialect() == written:dialect(), which)
        assert(has_late_system(original, written) or not request.in_own_form(written, true), which)
        for i = 1, before do
          assert(text:find(original[i].json, 1, true), which)
        end
      end
    end)
  end
  assert(core.own_form)
end)
