--- What each form of a message becomes in the other dialects, form by form, and what a conversion says it leaves out.

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
    gemini = { '[{"inlineData":{"mimeType":"application/pdf","data":"aGk="}}]', "lost_media file" },
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
      '{"inlineData":{"mimeType":"audio/x-wav","data":"Yg=="}}', '{"inlineData":{"mimeType":"audio/mp3","data":"Yw=="}}',
      '{"inlineData":{"mimeType":"audio/mpeg","data":"ZA=="}}', '{"inlineData":{"mimeType":"audio/flac","data":"ZQ=="}}',
      '{"inlineData":{"mimeType":"application/pdf","data":"aGk="}}',
      '{"fileData":{"mimeType":"image/png","fileUri":"https://e.org/i.png"}}',
      '{"inlineData":{"mimeType":"video/mp4","data":"Zg=="}}')),
    openai = { '[{"type":"input_audio","input_audio":{"data":"YQ==","format":"wav"}},'
      .. '{"type":"input_audio","input_audio":{"data":"Yg==","format":"wav"}},'
      .. '{"type":"input_audio","input_audio":{"data":"Yw==","format":"mp3"}},'
      .. '{"type":"input_audio","input_audio":{"data":"ZA==","format":"mp3"}},'
      .. ('{"type":"file","file":{"file_data":"%s"}},'):format(PDF)
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
    gemini = { '[{"inlineData":{"mimeType":"application/pdf","data":"aGk="}}]', "lost_media file", "lost_media file",
      "lost_media image" },
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
    openai = { '{"role":"tool","tool_call_id":"c","content":"r"},{"role":"user","content":[{"type":"image_url",'
      .. '"image_url":{"url":"data:image/png;base64,aGk="}}]}', "changed_result_media image",
      "lost_part search_result" },
    responses = { '"output":[{"type":"input_text","text":"r"},{"type":"input_image","image_url":'
      .. '"data:image/png;base64,aGk=","detail":"auto"}]', "lost_part search_result" },
  },
  ["a result with parts of responses"] = {
    responses('{"role":"user","content":"q"}', '{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}',
      '{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"r"},{"type":"input_image",'
      .. '"image_url":"https://e.org/i.png"},{"type":"input_file","file_url":"https://e.org/a.pdf"},'
      .. '{"type":"odd"}]}'),
    anthropic = { '"content":[{"type":"text","text":"r"},{"type":"image","source":{"type":"url","url":'
      .. '"https://e.org/i.png"}},{"type":"document","source":{"type":"url","url":"https://e.org/a.pdf"}}]', "lost_part odd" },
    gemini = { '"content":"r"', "lost_media image", "lost_media file", "lost_part odd" },
  },
  ["a system message with a picture, and one without anything"] = {
    openai('{"role":"system","content":[{"type":"text","text":"s"},{"type":"image_url","image_url":{"url":"u"}}]}',
      '{"role":"user","content":"q"}', '{"role":"system","content":[{"type":"text","text":""}]}'),
    responses = { '[{"role":"system","content":"s"},{"role":"user","content":[{"type":"input_text","text":"q"}]}]', "lost_media image",
      "lost_message" },
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

  it("another provider's thinking among a function_call and its result, which stay linked by their name", function()
    local text, codes = convert(openai('{"role":"user","content":"q"}', '{"role":"assistant","content":[{"type":'
      .. '"thinking","thinking":"h","signature":"g"},{"type":"text","text":"t"}]}',
      '{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}',
      '{"role":"function","name":"f","content":"r"}'), "openai")
    assert.is_truthy(text:find('"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f"', 1, true),
      text)
    assert.same({ "lost_reasoning" }, codes)
  end)
end)
