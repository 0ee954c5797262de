--- Media that change on their way: documents get the name that a request must give, images the type of their bytes.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local function convert(body, dialect)
  local text, losses = assert(ebb.parse(body)):write(dialect, { shape = "body" })
  local codes = {}
  for _, loss in ipairs(losses) do
    if loss.code:find "type" or loss.code == "lost_media" then codes[#codes + 1] = loss.code .. " " .. loss.subject end
  end
  return text, table.concat(codes, ", ")
end

local function gemini(part)
  return ('{"contents":[{"role":"user","parts":[%s,{"text":"q"}]}]}'):format(part)
end

local function in_result(part)
  return ('{"max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use",'
    .. '"id":"k","name":"look","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"k",'
    .. '"content":[%s]}]}]}'):format(part)
end

local function anthropic(part)
  return ('{"max_tokens":9,"system":"s","messages":[{"role":"user","content":[%s]}]}'):format(part)
end

local function document(type, more)
  return ('{"type":"document","source":{"type":"base64","media_type":"%s","data":"JVBERi0x"}%s}'):format(type,
    more or "")
end

local function inline(type, more)
  return ('{"inlineData":{"mimeType":"%s","data":"JVBERi0x"%s}}'):format(type, more or "")
end

local PDF = "application/pdf"

-- what it shows, the body, the name that requests of OpenAI give
local NAMES = {
  { "a document of gemini", gemini(inline(PDF)), "document.pdf" },
  { "one with a name", gemini(inline(PDF, ',"displayName":"plan.pdf"')), "plan.pdf" },
  { "a text of gemini", gemini(inline "text/csv"), "document.csv" },
  { "a document of anthropic", anthropic(document(PDF)), "document.pdf" },
  { "one with a title", anthropic(document(PDF, ',"title":"Plan"')), "Plan" },
  { "one with an empty title", anthropic(document(PDF, ',"title":""')), "document.pdf" },
  { "a document in a result", in_result(document(PDF)), "document.pdf" },
  { "one with a title in a result", in_result(document(PDF, ',"title":"a.pdf"')), "a.pdf" },
  { "a resource in a result", in_result('{"type":"resource","resource":{"uri":"u","mimeType":"application/pdf",'
    .. '"blob":"JVBERi0x"}}'), "document.pdf" },
}

describe("a document without a name gets one:", function()
  for _, row in ipairs(NAMES) do
    it(row[1], function()
      for dialect, member in pairs { openai = '"type":"file","file":{"filename":"%s","file_data":"data:',
        responses = '"type":"input_file","filename":"%s","file_data":"data:' } do
        local text = convert(row[2], dialect)
        assert.truthy(text:find(member:format(row[3]), 1, true), text)
      end
    end)
  end

  it("but not where it is stored, or elsewhere", function()
    local text = convert(anthropic '{"type":"document","source":{"type":"file","file_id":"f1"}}', "openai")
    assert.truthy(text:find('{"type":"file","file":{"file_id":"f1"}}', 1, true), text)
    text = convert(anthropic '{"type":"document","source":{"type":"url","url":"https://e.org/a.pdf"}}', "responses")
    assert.truthy(text:find('{"type":"input_file","file_url":"https://e.org/a.pdf"}', 1, true), text)
  end)
end)

local PNG, JPEG, BMP = "iVBORw0KGgoAAAAN", "/9j/4AAQSkZJRg==", "Qk06AAAAAAAAADYAAAA="
local GIF, WEBP, HEIC = "R0lGODlhAQAB", "UklGRgAAAABXRUJQVlA4IA==", "AAAAGGZ0eXBoZWljAAAAAA=="

local SOURCES = {
  openai = function(type, data)
    return ('{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:%s;base64,%s"}}]}]}')
      :format(type, data)
  end,
  responses = function(type, data)
    return ('{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:%s;base64,%s"}]}]}')
      :format(type, data)
  end,
  gemini = function(type, data)
    return gemini(('{"inlineData":{"mimeType":"%s","data":"%s"}}'):format(type, data))
  end,
  anthropic = function(type, data)
    return anthropic(('{"type":"image","source":{"type":"base64","media_type":"%s","data":"%s"}}'):format(type, data))
  end,
  result = function(type, data)
    return in_result(('{"type":"image","source":{"type":"base64","media_type":"%s","data":"%s"}}'):format(type, data))
  end,
}

local WRITTEN = {
  openai = '"image_url":{"url":"data:%s;base64,%s"}', responses = '"image_url":"data:%s;base64,%s"',
  gemini = '{"mimeType":"%s","data":"%s"}', anthropic = '{"type":"base64","media_type":"%s","data":"%s"}',
}

-- what an image is called, its bytes, what it is; what is told
local TYPES = {
  { "image/jpeg", PNG, "image/png", "changed_type image/jpeg" },
  { "image/png", JPEG, "image/jpeg", "changed_type image/png" },
  { "image/png", WEBP, "image/webp", "changed_type image/png" },
  { "image/webp", GIF, "image/gif", "changed_type image/webp" },
  { "image/jpg", JPEG, "image/jpeg", "changed_type image/jpg" }, { "image/png", PNG, "image/png", "" },
  { "image/gif", "aGk=", "image/gif", "" },
  { "image/bmp", BMP, "image/bmp", "refused_type image/bmp" },
  { "image/png", BMP, "image/bmp", "changed_type image/png, refused_type image/bmp" },
  { "image/svg+xml", "PHN2Zz4=", "image/svg+xml", "refused_type image/svg+xml" },
  { "image/heic", HEIC, "image/heic", "refused_type image/heic", gemini = "" },
}

describe("an image gets the type of its bytes:", function()
  for _, row in ipairs(TYPES) do
    it(row[1] .. " that is " .. row[3], function()
      for source, body in pairs(SOURCES) do
        for dialect, form in pairs(WRITTEN) do
          if dialect ~= source and not (source == "result" and dialect == "anthropic") then
            local text, told = convert(body(row[1], row[2]), dialect)
            assert.truthy(text:find(form:format(row[3], row[2]), 1, true), dialect .. " " .. text)
            assert.equal(row[dialect] or row[4], told, source .. " to " .. dialect)
          end
        end
      end
    end)
  end

  it("in a request of its own dialect, too, for another model", function()
    for _, dialect in ipairs { "openai", "anthropic", "gemini", "responses" } do
      local chat = assert(ebb.parse(SOURCES[dialect]("image/jpeg", PNG)))
      local text, losses = chat:write(dialect, { shape = "body", model = "m" })
      assert.truthy(text:find(WRITTEN[dialect]:format("image/png", PNG), 1, true), text)
      assert.equal("changed_type", losses[1].code)
      _, losses = assert(ebb.parse(SOURCES[dialect]("image/png", PNG))):write(dialect, { shape = "body", model = "m" })
      for _, loss in ipairs(losses) do assert.not_equal("changed_type", loss.code) end
    end
  end)

  it("one that is called a file of any bytes", function()
    local text = convert(gemini(('{"inlineData":{"mimeType":"application/octet-stream","data":"%s"}}'):format(PNG)),
      "anthropic")
    assert.truthy(text:find('"type":"image"', 1, true) and text:find('"media_type":"image/png"', 1, true), text)
  end)

  it("one elsewhere keeps what it is called", function()
    local text, told = convert(gemini '{"fileData":{"mimeType":"image/png","fileUri":"https://e.org/a.jpg"}}', "openai")
    assert.truthy(text:find('"url":"https://e.org/a.jpg"', 1, true), text)
    assert.equal("", told)
  end)
end)

--- Repairs a body in the input's own form; returns the text, and how much it mended.
local function repaired(body, options)
  local copy, report = assert(ebb.parse(body)):repaired(options)
  return copy:json { shape = "body" }, report.mended
end

-- its source, what server; true: the server refuses another type
local OWN = {
  { "anthropic", { dialect = "anthropic" }, true }, { "result", { dialect = "anthropic" }, true },
  { "openai", { profile = "openrouter" }, true }, { "openai", { dialect = "openai" }, false },
  { "gemini", { dialect = "gemini" }, false }, { "responses", { dialect = "responses" }, false },
}

describe("a repair in the same form", function()
  for _, row in ipairs(OWN) do
    it("writes the type of the bytes where a server wants it: " .. row[1] .. " " .. next(row[2]), function()
      local wrong, right = SOURCES[row[1]]("image/jpeg", PNG), SOURCES[row[1]]("image/png", PNG)
      local text, count = repaired(wrong, row[2])
      assert.same({ row[3] and right or wrong, row[3] and 1 or 0 }, { text, count })
      assert.same({ text, 0 }, { repaired(text, row[2]) })
      assert.same({ right, 0 }, { repaired(right, row[2]) })
      assert.equal(SOURCES[row[1]]("image/bmp", BMP), (repaired(SOURCES[row[1]]("image/bmp", BMP), row[2])))
    end)
  end

  it("names files that have data and no name", function()
    local data = '%s"file_data":"data:%s;base64,JVBERi0x"}'
    local chat = '{"messages":[{"role":"user","content":[{"type":"file","file":{' .. data
      .. '},{"type":"file","file":{"file_id":"f"}}]}]}'
    local items = '{"input":[{"role":"user","content":[{"type":"input_file",' .. data .. ']}]}'
    for dialect, form in pairs { openai = chat, responses = items } do
      for type, name in pairs { ["application/pdf"] = "document.pdf", ["text/csv"] = "document.csv" } do
        local right = form:format('"filename":"' .. name .. '",', type)
        assert.same({ right, 1 }, { repaired(form:format("", type), { dialect = dialect }) })
        assert.same({ right, 1 }, { repaired(form:format('"filename":"",', type), { dialect = dialect }) })
        assert.same({ right, 0 }, { repaired(right, { dialect = dialect }) })
      end
    end
  end)
end)
