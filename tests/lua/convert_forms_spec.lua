--- Checks the conversion of each form of a message to the other dialects, and the losses that it tells;
--- then forms that few requests have: read, saved, edited and repaired.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

--- The body that a conversion writes, and its report, code by code.
local function convert(body, dialect)
  local text, report = assert(ebb.parse(body)):write(dialect, { shape = "body" })
  local codes = {}
  for i, change in ipairs(report or {}) do
    codes[i] = change.code .. (change.subject ~= "" and " " .. change.subject or "")
  end
  return text, codes
end

local function openai(...) return ('{"messages":[%s]}'):format(table.concat({ ... }, ",")) end
local function responses(...) return ('{"input":[%s]}'):format(table.concat({ ... }, ",")) end
local function anthropic(...) return ('{"max_tokens":9,"messages":[%s]}'):format(table.concat({ ... }, ",")) end
local function gemini(...) return ('{"contents":[%s]}'):format(table.concat({ ... }, ",")) end
local function user(...) return ('{"role":"user","content":[%s]}'):format(table.concat({ ... }, ",")) end
local function parts(...) return ('{"role":"user","parts":[%s]}'):format(table.concat({ ... }, ",")) end

local PDF = "data:application/pdf;base64,aGk="

--- body, dialect, what is in the body that is written, what is reported
local FORMS = {
  ["a file of openai"] = {
    openai(user(('{"type":"file","file":{"filename":"a.pdf","file_data":"%s"}}'):format(PDF),
      '{"type":"file","file":{"file_id":"f1"}}')),
    responses = { ('{"type":"input_file","filename":"a.pdf","file_data":"%s"},{"type":"input_file","file_id":"f1"}')
      :format(PDF) },
    anthropic = { '{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"aGk="},'
      .. '"title":"a.pdf"},{"type":"document","source":{"type":"file","file_id":"f1"}}' },
    gemini = { '[{"inlineData":{"mimeType":"application/pdf","data":"aGk="}}]', "lost_member filename",
      "lost_media file" },
  },
  ["sound of openai"] = {
    openai(user '{"type":"text","text":"q"},{"type":"input_audio","input_audio":{"data":"aGk=","format":"mp3"}}'),
    responses = { '"content":[{"type":"input_text","text":"q"}]', "lost_media audio" },
    anthropic = { '"content":[{"type":"text","text":"q"}]', "lost_media audio" },
    gemini = { '{"inlineData":{"mimeType":"audio/mpeg","data":"aGk="}}' },
  },
  ["a refusal of openai"] = {
    openai('{"role":"user","content":"q"}', '{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}'),
    responses = { '{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}' },
    anthropic = { '{"role":"assistant","content":[{"type":"text","text":"no"}]}', "changed_refusal" },
    gemini = { '{"role":"model","parts":[{"text":"no"}]}', "changed_refusal" },
  },
  ["a function_call of openai"] = {
    openai('{"role":"user","content":"q"}', '{"role":"assistant","content":null,"function_call":{"name":"f",'
      .. '"arguments":"{}"}}', '{"role":"function","name":"f","content":"r"}'),
    anthropic = { '"name":"f","input":{}}' },
    gemini = { '"name":"f","args":{}}' },
  },
  ["sound and pictures of gemini"] = {
    gemini(parts('{"inlineData":{"mimeType":"audio/wav","data":"YQ=="}}',
      '{"inlineData":{"mimeType":"audio/x-wav","data":"Yg=="}}',
      '{"inlineData":{"mimeType":"audio/mp3","data":"Yw=="}}',
      '{"inlineData":{"mimeType":"audio/mpeg","data":"ZA=="}}',
      '{"inlineData":{"mimeType":"audio/flac","data":"ZQ=="}}',
      '{"inlineData":{"mimeType":"application/pdf","data":"aGk="}}',
      '{"fileData":{"mimeType":"image/png","fileUri":"https://e.org/i.png"}}',
      '{"inlineData":{"mimeType":"video/mp4","data":"Zg=="}}')),
    openai = { '[{"type":"input_audio","input_audio":{"data":"YQ==","format":"wav"}},'
      .. '{"type":"input_audio","input_audio":{"data":"Yg==","format":"wav"}},'
      .. '{"type":"input_audio","input_audio":{"data":"Yw==","format":"mp3"}},'
      .. '{"type":"input_audio","input_audio":{"data":"ZA==","format":"mp3"}},'
      .. ('{"type":"file","file":{"filename":"document.pdf","file_data":"%s"}},'):format(PDF)
      .. '{"type":"image_url","image_url":{"url":"https://e.org/i.png"}}]', "lost_media audio", "lost_media video" },
  },
  ["documents and pictures of anthropic"] = {
    anthropic(user('{"type":"document","title":"t","source":{"type":"base64","media_type":"application/pdf",'
      .. '"data":"aGk="}}', '{"type":"document","source":{"type":"url","url":"https://e.org/a.pdf"}}',
      '{"type":"document","source":{"type":"file","file_id":"f1"}}',
      '{"type":"image","source":{"type":"file","file_id":"f2"}}')),
    openai = { ('[{"type":"file","file":{"filename":"t","file_data":"%s"}},{"type":"file","file":{"file_id":"f1"}}]')
      :format(PDF), "lost_media file", "lost_media image" },
    responses = { ('[{"type":"input_file","filename":"t","file_data":"%s"},'):format(PDF)
      .. '{"type":"input_file","file_url":"https://e.org/a.pdf"},{"type":"input_file","file_id":"f1"},'
      .. '{"type":"input_image","file_id":"f2","detail":"auto"}]' },
    gemini = { '[{"inlineData":{"mimeType":"application/pdf","data":"aGk="}}]', "lost_member title",
      "lost_media file", "lost_media file", "lost_media image" },
  },
  ["thinking of anthropic"] = {
    anthropic('{"role":"user","content":"q"}', '{"role":"assistant","content":[{"type":"thinking","thinking":"h",'
      .. '"signature":"g"},{"type":"redacted_thinking","data":"z"},{"type":"text","text":"t"}]}'),
    openai = { '{"role":"assistant","content":"t"}', "lost_reasoning", "lost_reasoning" },
    responses = { '{"role":"assistant","content":"t"}', "lost_reasoning", "lost_reasoning" },
    gemini = { '[{"text":"h","thought":true},{"text":"t"}]', "changed_signature", "lost_reasoning" },
  },
  ["a result with parts of anthropic"] = {
    anthropic('{"role":"user","content":"q"}',
      '{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]}',
      user('{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"r"},{"type":"image","source":'
      .. '{"type":"base64","media_type":"image/png","data":"aGk="}},{"type":"search_result","source":"s","title":"t",'
      .. '"content":[]}]}')),
    openai = { '{"role":"tool","tool_call_id":"c","content":"r\\nt\\ns"},{"role":"user","content":[{"type":"image_url",'
      .. '"image_url":{"url":"data:image/png;base64,aGk="}}]}', "changed_part search_result",
      "changed_result_media image" },
    responses = { '"output":[{"type":"input_text","text":"r"},{"type":"input_image","image_url":'
      .. '"data:image/png;base64,aGk=","detail":"auto"},{"type":"input_text","text":"t"},{"type":"input_text",'
      .. '"text":"s"}]',
      "changed_part search_result" },
  },
  ["a result with parts of responses"] = {
    responses('{"role":"user","content":"q"}', '{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}',
      '{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"r"},{"type":"input_image",'
      .. '"image_url":"https://e.org/i.png"},{"type":"input_file","file_url":"https://e.org/a.pdf"},'
      .. '{"type":"odd"}]}'),
    anthropic = { '"content":[{"type":"text","text":"r"},{"type":"image","source":{"type":"url","url":'
      .. '"https://e.org/i.png"}},{"type":"document","source":{"type":"url","url":"https://e.org/a.pdf"}}]',
      "lost_part odd" },
    gemini = { '"content":"r"', "lost_media image", "lost_media file", "lost_part odd" },
  },
  ["a system message with a picture, and one without anything"] = {
    openai('{"role":"system","content":[{"type":"text","text":"s"},{"type":"image_url","image_url":{"url":"u"}}]}',
      '{"role":"user","content":"q"}', '{"role":"system","content":[{"type":"text","text":""}]}'),
    responses = { '[{"role":"system","content":"s"},{"role":"user","content":[{"type":"input_text","text":"q"}]}]',
      "lost_media image", "lost_message" },
    anthropic = { '"system":[{"type":"text","text":"s"}]', "lost_media image",
      "changed_system", "lost_message" },
    gemini = { '"systemInstruction":{"parts":[{"text":"s"}]}', "lost_media image", "changed_system", "lost_message" },
  },
}

describe("a conversion of", function()
  for name, row in pairs(FORMS) do
    for _, dialect in ipairs { "openai", "responses", "anthropic", "gemini" } do
      local expected = row[dialect]
      if expected then
        it(("%s to %s"):format(name, dialect), function()
          local text, codes = convert(row[1], dialect)
          assert.is_truthy(text:find(expected[1], 1, true), text)
          assert.same({ table.unpack(expected, 2) }, codes)
        end)
      end
    end
  end

  local MIXED = openai('{"role":"user","content":"q"}', '{"role":"assistant","content":[{"type":"thinking",'
    .. '"thinking":"h","signature":"g"},{"type":"redacted_thinking","data":"z"},{"type":"text","text":"t"}]}',
    '{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}',
    '{"role":"function","name":"f","content":"r"}')

  it("another provider's thinking among a function_call and its result, which stay linked by their name", function()
    local text, codes = convert(MIXED, "openai")
    assert.is_truthy(text:find('"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f"', 1, true),
      text)
    assert.same({ "lost_reasoning", "lost_reasoning" }, codes)
  end)

  it("thinking among messages of another dialect keeps its bytes where it is at home", function()
    local text, codes = convert(MIXED, "anthropic")
    assert.is_truthy(text:find('[{"type":"thinking","thinking":"h","signature":"g"},'
      .. '{"type":"redacted_thinking","data":"z"},{"type":"text","text":"t"}', 1, true), text)
    assert.same({}, codes)
  end)
end)

describe("a message that is read", function()
  --- Saves and loads a body; returns its text, and the form that its options name.
  local function saved(body)
    local chat = assert(ebb.parse(body))
    local text = (chat:write "ebb")
    local again = assert(ebb.parse(text))
    assert.equal(text, (again:write "ebb"))
    return again:json(), text:match '"single":"(%a+)"'
  end

  it("in place of a list is saved in that place", function()
    for body, form in pairs { ['{"model":"m","input":"hello"}'] = "string",
      ['{"contents":{"role":"user","parts":[{"text":"q"}]}}'] = "object" } do
      assert.same({ body, form }, { saved(body) })
    end
  end)

  it("in place of a list is refused where the saved texts have none", function()
    local text = (assert(ebb.parse '{"model":"m","input":"hello"}'):write "ebb")
    for from, to in pairs { ['"single":"string"'] = '"single":"list"', ['"model'] = '"modle' } do
      local changed, count = text:gsub(from, to)
      assert.same({ from, 1 }, { from, count })
      assert.is_nil((ebb.parse(changed)))
    end
  end)

  it("with parts and several results gets a text in each of them", function()
    local chat = assert(ebb.parse(gemini('{"role":"user","parts":[{"text":"q"}]}',
      '{"role":"model","parts":[{"functionCall":{"id":"i","name":"f","args":{}}},'
      .. '{"functionCall":{"name":"g","args":{}}}]}',
      '{"role":"user","parts":[{"functionResponse":{"id":"i","name":"f","response":{"a":1}}},'
      .. '{"functionResponse":{"name":"g","response":{"a":1}}}]}', '{"role":"user","parts":[{"text":"z"}]}')))
    assert(chat:trim { budget = 100000, policy = function(draft) draft:replace(draft[3], { content = "short" }) end })
    assert.is_truthy(chat:json():find('[{"functionResponse":{"id":"i","name":"f","response":{"output":"short"}}},'
      .. '{"functionResponse":{"name":"g","response":{"output":"short"}}}]', 1, true), chat:json())
  end)
end)

describe("a saved ledger", function()
  it("has what a policy kept, and is refused where that is damaged", function()
    local chat = ebb.conversation()
    for i = 1, 6 do chat:append { role = i % 2 == 1 and "user" or "assistant", content = "m" .. i } end
    assert(chat:trim { budget = 100000, policy = function(draft)
      draft:keep(draft[1], "wanted")
      draft:drop(draft[3], "old")
    end })
    local text = (chat:write "ebb")
    assert.equal(text, (assert(ebb.parse(text)):write "ebb"))
    local kept = '"keeps":["function","wanted",1]'
    local at, last = text:find(kept, 1, true)
    for _, damage in ipairs { '["function","wanted",7]', '["function","wanted"]', '[1,"wanted",1]', '5' } do
      assert.is_nil((ebb.parse(text:sub(1, at - 1) .. '"keeps":' .. damage .. text:sub(last + 1))))
    end
  end)
end)

describe("a repair of ids", function()
  it("makes them of letters and digits alone where a server wants that", function()
    local function call(name)
      return ('{"id":"call_a.b","type":"function","function":{"name":"%s","arguments":"{}"}}'):format(name)
    end
    local result = '{"role":"tool","tool_call_id":"call_a.b","content":"%s"}'
    local chat = assert(ebb.parse(openai('{"role":"user","content":"q"}',
      ('{"role":"assistant","content":null,"tool_calls":[%s,%s]}'):format(call "f", call "g"), result:format "r",
      result:format "s")))
    local copy = assert(chat:repaired { profile = "mistral" })
    local ids = {}
    for id in copy:json():gmatch '"id":"(%w+)"' do ids[#ids + 1] = id end
    assert.equal(2, #ids)
    assert.same({ 9, 9 }, { #ids[1], #ids[2] })
    assert.are_not.equal(ids[1], ids[2])
    for _, id in ipairs(ids) do
      assert.is_truthy(copy:json():find(('"tool_call_id":"%s"'):format(id), 1, true))
    end
    assert.equal(copy:json(), assert(chat:repaired { profile = "mistral" }):json())
  end)
end)
