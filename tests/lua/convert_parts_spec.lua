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
  local PNG = "iVBORw0KGgo="
  local IMAGE = ('{"type":"image","data":"%s","mimeType":"image/png"}'):format(PNG)
  local BLOB = ('{"type":"resource","resource":{"uri":"file:///a.png","mimeType":"image/png","blob":"%s"}}')
    :format(PNG)

  for name, part in pairs { ["an image"] = IMAGE, ["a resource"] = BLOB } do
    it(name .. " becomes an image of each dialect", function()
      local source = { type = "base64", media_type = "image/png", data = PNG }
      local body, codes = convert(openai(part), "anthropic")
      assert.same({ { { type = "image", source = source } }, "" }, { body.messages[3].content[1].content, codes })
      local uri = "data:image/png;base64," .. PNG
      body = convert(openai(part), "responses")
      assert.same({ { type = "input_image", image_url = uri, detail = "auto" } }, body.input[3].output)
      body, codes = convert(openai(part), "gemini")
      assert.same({ { inlineData = { mimeType = "image/png", data = PNG } } }, body.contents[4].parts)
      assert.equal("changed_result_media image", codes)
      body = convert(anthropic(part), "openai")
      assert.equal(uri, body.messages[4].content[1].image_url.url)
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
