--- Parts that the target lacks: those with a text are told by it, all others are lost, and each is said once.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local SEARCH = '{"type":"search_result","title":"Ferries","source":"https://e.org/f","content":[{"type":"text",'
  .. '"text":"Two a day."},{"type":"text","text":"None at night."}]}'
local SEARCH_SAYS = "Ferries\nhttps://e.org/f\nTwo a day.\nNone at night."

--- A result's parts, what is said of them as text, and what is reported: the same for all targets that lack the parts.
local PARTS = {
  ["a search result"] = { SEARCH, SEARCH_SAYS, "changed_part search_result" },
  ["two search results"] = { SEARCH .. "," .. SEARCH, SEARCH_SAYS .. "\n" .. SEARCH_SAYS,
    "changed_part search_result, changed_part search_result" },
  ["a search result beside a text"] = { '{"type":"text","text":"t"},' .. SEARCH, "t\n" .. SEARCH_SAYS,
    "changed_part search_result" },
  ["a search result without a title"] = { '{"type":"search_result","source":"s","content":[]}', "s",
    "changed_part search_result" },
  ["a search result of texts alone"] = { '{"type":"search_result","content":[{"type":"text","text":"x"}]}', "x",
    "changed_part search_result" },
  ["an empty search result"] = { '{"type":"search_result","content":[]}', "", "lost_part search_result" },
  ["names of tools"] = { '{"type":"tool_reference","tool_name":"stop"},{"type":"tool_reference","tool_name":"go"}',
    "stop\ngo", "changed_part tool_reference, changed_part tool_reference" },
  ["a link"] = { '{"type":"resource_link","uri":"file:///b.pdf","name":"b","description":"A plan."}',
    "b\nfile:///b.pdf\nA plan.", "changed_part resource_link" },
  ["a link without a name"] = { '{"type":"resource_link","uri":"file:///b.pdf"}', "file:///b.pdf",
    "changed_part resource_link" },
  ["a resource of text"] = { '{"type":"resource","resource":{"uri":"file:///b.txt","mimeType":"text/plain",'
    .. '"text":"Hello."}}', "file:///b.txt\nHello.", "changed_part resource" },
  ["a link with two names"] = { '{"type":"resource_link","uri":"u","name":"b","title":"The plan"}', "b\nThe plan\nu",
    "changed_part resource_link" },
  ["a link with one name twice"] = { '{"type":"resource_link","uri":"u","name":"b","title":"b"}', "b\nu",
    "changed_part resource_link" },
  ["a resource with a name"] = { '{"type":"resource","resource":{"uri":"u","name":"b.txt","text":"Hello."}}',
    "b.txt\nu\nHello.", "changed_part resource" },
  ["a resource of nothing"] = { '{"type":"resource","resource":{}}', "", "lost_part resource" },
  ["an unknown part with a text"] = { '{"type":"memo","text":"Note.","level":3}', "Note.", "changed_part memo" },
  ["an unknown part without"] = { '{"type":"text","text":"t"},{"type":"memo","level":3}', "t", "lost_part memo" },
  ["a part of a server's tool"] = { '{"type":"web_search_tool_result","content":[]}', "",
    "lost_part web_search_tool_result" },
  ["sources of a text"] = { '{"type":"text","text":"t","citations":[{"type":"char_location"}]}', "t",
    "lost_member citations" },
  ["a mark and no more"] = { '{"type":"text","text":"t","cache_control":{"type":"ephemeral"}}', "t",
    "lost_cache_mark" },
}

local function anthropic(parts)
  return ('{"max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use",'
    .. '"id":"k","name":"look","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"k",'
    .. '"content":[%s]}]}]}'):format(parts)
end

local function openai(parts)
  return ('{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"k",'
    .. '"type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","tool_call_id":"k",'
    .. '"content":[%s]}]}'):format(parts)
end

local function convert(body, dialect)
  local text, losses = assert(ebb.parse(body)):write(dialect, { shape = "body" })
  local codes = {}
  for _, loss in ipairs(losses) do
    if loss.code ~= "added_member" then
      codes[#codes + 1] = loss.code .. (loss.subject ~= "" and " " .. loss.subject or "")
    end
  end
  return ebb.json.decode(text), table.concat(codes, ", ")
end

--- The text of the last result of a body.
local RESULT = {
  openai = function(body) return body.messages[3].content end,
  responses = function(body) return body.input[3].output end,
  gemini = function(body) return body.contents[3].parts[1].functionResponse.response.content end,
  anthropic = function(body)
    local texts, content = {}, body.messages[3].content[1].content
    for i, part in ipairs(content) do texts[i] = part.text end
    return table.concat(texts, "\n")
  end,
}

describe("a result that holds", function()
  for name, row in pairs(PARTS) do
    for _, dialect in ipairs { "openai", "responses", "gemini" } do
      it(("%s goes from anthropic to %s"):format(name, dialect), function()
        local body, codes = convert(anthropic(row[1]), dialect)
        assert.same({ row[2], row[3] }, { RESULT[dialect](body), codes })
      end)
    end
    if row[3] ~= "lost_cache_mark" then
      it(name .. " goes from openai to anthropic", function()
        local body, codes = convert(openai(row[1]), "anthropic")
        assert.same({ row[2], row[3] }, { RESULT.anthropic(body), codes })
      end)
    end
  end
end)

local PDF = '"source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}'

--- Documents of anthropic: their members, the texts that are written for them, and what is told, by target.
local DOCUMENTS = {
  ["a text"] = { '"source":{"type":"text","media_type":"text/plain","data":"Low."}', "Low.", "" },
  ["a text with a title"] = { '"title":"Tides","source":{"type":"text","media_type":"text/plain","data":"Low."}',
    "Tides|Low.", "changed_part document" },
  ["a text with a context"] = { '"context":"of May","source":{"type":"text","media_type":"text/plain","data":"Low."}',
    "of May|Low.", "changed_part document" },
  ["a text with all of them"] = { '"title":"Tides","context":"of May","citations":{"enabled":true},"source":'
    .. '{"type":"text","media_type":"text/plain","data":"Low."}', "Tides|of May|Low.",
    "changed_part document, lost_member citations" },
  ["parts"] = { '"source":{"type":"content","content":[{"type":"text","text":"High."},{"type":"text","text":"Low."}]}',
    "High.|Low.", "changed_part document" },
  ["parts with their sources"] = { '"source":{"type":"content","content":[{"type":"text","text":"High.","citations":'
    .. '[{"type":"char_location"}]}]}', "High.", "changed_part document, lost_member citations" },
  ["parts with a title"] = { '"title":"Tides","source":{"type":"content","content":[{"type":"text","text":"High."}]}',
    "Tides|High.", "changed_part document" },
  ["one text as parts"] = { '"context":"of May","source":{"type":"content","content":"High."}', "of May|High.",
    "changed_part document" },
  ["no parts"] = { '"source":{"type":"content","content":[]}', "", "lost_part document" },
  ["a file with a context"] = { '"context":"of May",' .. PDF, "", "lost_member context" },
  ["a file with a title"] = { '"title":"tides.pdf",' .. PDF, "", "", gemini = "lost_member title" },
  ["a file with both, and citations"] = { '"title":"tides.pdf","context":"of May","citations":{"enabled":true},' .. PDF,
    "", "lost_member citations, lost_member context",
    gemini = "lost_member citations, lost_member context, lost_member title" },
  ["a file without citations"] = { '"citations":{"enabled":false},"title":null,' .. PDF, "", "" },
}

--- The texts of the first message but the first one, "q".
local function texts_of(body)
  local message, texts = (body.messages or body.input or body.contents)[1], {}
  for _, part in ipairs(message.content or message.parts) do texts[#texts + 1] = part.text end
  return table.concat(texts, "|", 2)
end

describe("a document of", function()
  for name, row in pairs(DOCUMENTS) do
    for _, dialect in ipairs { "openai", "responses", "gemini" } do
      it(("%s goes to %s"):format(name, dialect), function()
        local body, codes = convert(('{"max_tokens":99,"messages":[{"role":"user","content":[{"type":"text",'
          .. '"text":"q"},{"type":"document",%s}]}]}'):format(row[1]), dialect)
        assert.same({ row[2], row[dialect] or row[3] }, { texts_of(body), codes })
      end)
    end
  end

  it("a result is told, too, and is refused by --strict where it is lost", function()
    finally(command.remove_folder)
    command.make_folder()
    local pdf = '{"type":"document","title":"t.pdf","context":"of May",' .. PDF .. "}"
    for _, dialect in ipairs { "openai", "responses", "gemini" } do
      local run = command.ebb(("convert %s --strict --to %s"):format(command.file("d.json", anthropic(pdf)), dialect))
      assert.same({ "", true }, { run.out, run.status ~= 0 })
      command.contains("'context'", run.err)
    end
  end)
end)

local PNG = "iVBORw0KGgo="
local IMAGE = "data:image/png;base64," .. PNG

--- The body of a user's message of each dialect.
local BODIES = {
  openai = '{"messages":[{"role":"user","content":[{"type":"text","text":"q"},%s]}]}',
  responses = '{"input":[{"role":"user","content":[{"type":"input_text","text":"q"},%s]}]}',
  anthropic = '{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"q"},%s]}]}',
  gemini = '{"contents":[{"role":"user","parts":[{"text":"q"},%s]}]}',
}

--- Media with members that not every target has: their dialect, the part, and what is told, by target.
local MEDIA = {
  ["an image with a detail"] = { "openai",
    ('{"type":"image_url","image_url":{"url":"%s","detail":"low"}}'):format(IMAGE),
    responses = "", anthropic = "lost_member detail", gemini = "lost_member detail" },
  ["an image with the usual detail"] = { "openai",
    ('{"type":"image_url","image_url":{"url":"%s","detail":"auto"}}'):format(IMAGE),
    responses = "", anthropic = "", gemini = "" },
  ["an image of items with a detail"] = { "responses",
    ('{"type":"input_image","image_url":"%s","detail":"high"}'):format(IMAGE),
    openai = "", anthropic = "lost_member detail", gemini = "lost_member detail" },
  ["an image as a file"] = { "openai", ('{"type":"file","file":{"filename":"a.png","file_data":"%s"}}'):format(IMAGE),
    responses = "lost_member filename", anthropic = "lost_member filename", gemini = "lost_member filename" },
  ["an image with a name"] = { "gemini",
    ('{"inlineData":{"mimeType":"image/png","data":"%s","displayName":"a"}}'):format(PNG),
    openai = "lost_member displayName", responses = "lost_member displayName", anthropic = "lost_member displayName" },
  ["a sound with a name"] = { "gemini", '{"inline_data":{"mime_type":"audio/wav","data":"aGk=","display_name":"a"}}',
    openai = "lost_member displayName", responses = "lost_media audio", anthropic = "lost_media audio" },
  ["a file with a name"] = { "gemini", '{"inlineData":{"mimeType":"text/csv","data":"aGk=","displayName":"a.csv"}}',
    openai = "", responses = "", anthropic = "" },
  ["an image with a resolution"] = { "gemini", ('{"inlineData":{"mimeType":"image/png","data":"%s"},"mediaResolution":'
    .. '{"level":"MEDIA_RESOLUTION_LOW"}}'):format(PNG), openai = "lost_member mediaResolution",
    responses = "lost_member mediaResolution", anthropic = "lost_member mediaResolution" },
  ["a sound without a detail"] = { "openai", '{"type":"input_audio","input_audio":{"data":"aGk=","format":"wav"}}',
    gemini = "" },
}

describe("media:", function()
  for name, row in pairs(MEDIA) do
    for _, dialect in ipairs { "openai", "responses", "anthropic", "gemini" } do
      if row[dialect] then
        it(("%s goes to %s"):format(name, dialect), function()
          local _, codes = convert(BODIES[row[1]]:format(row[2]), dialect)
          assert.equal(row[dialect], codes)
        end)
      end
    end
  end
end)

describe("a message that holds", function()
  for name, row in pairs(PARTS) do
    it(name .. " loses none of its texts", function()
      local source = ('{"max_tokens":9,"system":"s","messages":[{"role":"user","content":[{"type":"text","text":"q"},'
        .. '%s]}]}'):format(row[1])
      for _, dialect in ipairs { "openai", "responses", "gemini" } do
        local text, losses = assert(ebb.parse(source)):write(dialect, { shape = "body" })
        local codes = {}
        for i, loss in ipairs(losses) do
          codes[i] = loss.code .. (loss.subject ~= "" and " " .. loss.subject or "")
        end
        assert.equal(row[3], table.concat(codes, ", "))
        for line in row[2]:gmatch "[^\n]+" do
          assert.truthy(text:find(ebb.json.encode(line), 1, true), text)
        end
      end
    end)
  end
end)

describe("media of the Model Context Protocol", function()
  local PLAIN = ('{"type":"image","data":"%s","mimeType":"image/png"}'):format(PNG)
  local BLOB = ('{"type":"resource","resource":{%%s,"mimeType":"image/png","blob":"%s"}}'):format(PNG)
  --- Parts, and what is told of their members.
  local IMAGES = {
    ["an image"] = { PLAIN, "" },
    ["a resource"] = { BLOB:format '"uri":"file:///a.png"', "lost_member uri" },
    ["a resource with a name"] = { BLOB:format '"uri":"u","name":"a"', "lost_member uri, lost_member name" },
    ["a resource with a title"] = { BLOB:format '"title":"A"', "lost_member title" },
    ["a resource with both"] = { BLOB:format '"name":"a","title":"A"', "lost_member title, lost_member name" },
  }

  for name, row in pairs(IMAGES) do
    local part, lost = row[1], row[2]
    it(name .. " becomes an image of each dialect", function()
      local source = { type = "base64", media_type = "image/png", data = PNG }
      local body, codes = convert(openai(part), "anthropic")
      assert.same({ { { type = "image", source = source } }, lost }, { body.messages[3].content[1].content, codes })
      body, codes = convert(openai(part), "responses")
      assert.same({ { type = "input_image", image_url = IMAGE, detail = "auto" } }, body.input[3].output)
      assert.equal(lost, codes)
      body, codes = convert(openai(part), "gemini")
      assert.same({ { inlineData = { mimeType = "image/png", data = PNG } } }, body.contents[4].parts)
      local told = {}
      for code in codes:gmatch "lost_member %l+" do told[#told + 1] = code end
      assert.equal(lost, table.concat(told, ", "))
      command.contains("changed_result_media image", codes)
      body = convert(anthropic(part), "openai")
      assert.equal(IMAGE, body.messages[4].content[1].image_url.url)
    end)
  end

  it("sound goes to gemini, and is lost for anthropic", function()
    local SOUND = '{"type":"audio","data":"aGk=","mimeType":"audio/wav"}'
    local body = convert(openai(SOUND), "gemini")
    assert.same({ inlineData = { mimeType = "audio/wav", data = "aGk=" } }, body.contents[4].parts[1])
    local _, codes = convert(openai(SOUND), "anthropic")
    assert.equal("lost_media audio", codes)
  end)
end)

describe("ebb convert", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("says of each part what becomes of it, once", function()
    local found = command.file("found.json", anthropic(SEARCH .. "," .. SEARCH))
    local _, said = command.does(("convert %s --strict --to responses"):format(found))
    assert.same({ 1, 1 }, { select(2, said:gsub("search_result", "")), select(2, said:gsub("message 3", "")) })
    local odd = command.file("odd.json", anthropic '{"type":"memo","level":3}')
    for _, dialect in ipairs { "openai", "responses", "gemini" } do
      local run = command.ebb(("convert %s --strict --to %s"):format(odd, dialect))
      assert.same({ "", true, 1 }, { run.out, run.status ~= 0, (select(2, run.err:gsub("'memo'", ""))) })
      assert.is_nil(run.err:find("kept", 1, true))
    end
    _, said = command.does(("convert %s --to anthropic"):format(odd))
    command.contains("a content part has the unknown type 'memo'", said)
    _, said = command.does(("trim %s --budget 900"):format(found))
    assert.is_nil(said:find("search_result", 1, true), said)
  end)
end)
