--- Checks requests that look right but are refused by providers, as reported from the field: each row is a list or a
--- body, and what check finds in it with its place. Each body is refused for this one thing.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local json = ebb.json

local PNG = "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACAQAAAAB4I7UtAAAAC0lEQVR4nGNgAAEAAAYAAaYqbrkAAAAASUVORK5CYII="
local JPEG, GIF = "/9j/4AAQSkZJRgABAQAAAQABAAA=", "R0lGODlhAQABAAAA"
local BMP, HEIC = "Qk06AAAAAAAAADYAAAA=", "AAAAGGZ0eXBoZWljAAAAAA=="
local PDF = "JVBERi0xLjcKJQ=="

--- The header of a PNG of this size, as base64; as much as is read of it.
local function png(width, height)
  local bytes = "\x89PNG\r\n\x1a\n" .. (">I4"):pack(13) .. "IHDR" .. (">I4I4"):pack(width, height) .. ("\0"):rep(9)
  local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  return (bytes:gsub("...", function(three)
    local value = (">I3"):unpack(three)
    return (("%s%s%s%s"):gsub("%%s", function()
      local digit = digits:sub((value >> 18 & 63) + 1, (value >> 18 & 63) + 1)
      value = value << 6
      return digit
    end))
  end))
end

---- Bodies ----

local function chat(...)
  return '{"model":"gpt-4o","messages":[{"role":"system","content":"s"},' .. table.concat({ ... }, ",") .. "]}"
end
local function called(call) return '{"role":"assistant","content":"","tool_calls":[' .. call .. "]}" end
local function look(arguments)
  return called('{"id":"c7","type":"function","function":{"name":"look","arguments":' .. arguments .. "}}")
    .. ',{"role":"tool","tool_call_id":"c7","content":"done"},{"role":"assistant","content":"a"},'
    .. '{"role":"user","content":"q"}'
end
local function items(...)
  return '{"model":"gpt-5.5","input":[{"role":"user","content":"q"},' .. table.concat({ ... }, ",") .. "]}"
end
local function item(arguments)
  return '{"type":"function_call","call_id":"c7","name":"look","arguments":' .. arguments .. "}"
end
local function output(value) return '{"type":"function_call_output","call_id":"c7","output":' .. value .. "}" end
local function claude(...)
  return '{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[' .. table.concat({ ... }, ",") .. "]}"
end
local function used(content, more)
  return '{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"look",'
    .. '"input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":' .. content .. "}"
    .. (more or "") .. "]}"
end
local function picture(kind, data)
  return ('{"type":"image","source":{"type":"base64","media_type":"%s","data":"%s"}}'):format(kind, data)
end
local function shown(...) return '{"role":"user","content":[' .. table.concat({ ... }, ",") .. "]}" end
local function url(kind, data)
  return ('{"type":"image_url","image_url":{"url":"data:%s;base64,%s"}}'):format(kind, data)
end
local function google(response)
  return '{"model":"gemini-2.5-flash","contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":['
    .. '{"functionCall":{"name":"look","args":{}}}]},{"role":"user","parts":[{"functionResponse":' .. response
    .. "}]}]}"
end
local function inline(kind, data)
  return ('{"model":"gemini-2.5-flash","contents":[{"role":"user","parts":[{"inlineData":'
    .. '{"mimeType":"%s","data":"%s"}}]}]}'):format(kind, data)
end
local function with_tool(tool)
  return '{"model":"gpt-4o","messages":[{"role":"user","content":"q"}],"tools":[' .. tool .. "]}"
end

local STRICT, VLLM = { severity = "strict" }, { profile = "vllm" }

local ROWS = {
  ---- Arguments ----
  { "arguments that were cut", chat(look [["{\"where\": \"in the cel"]]), STRICT,
    "2 call_arguments: the arguments of call 'c7' are not a JSON object" },
  { "the same at a server that refuses them", chat(look [["{\"where\": \"in the cel"]]), VLLM,
    "2 call_arguments: the arguments of call 'c7' are not a JSON object" },
  { "arguments with NaN", chat(look [["{\"n\": NaN}"]]), VLLM,
    "2 call_arguments: the arguments of call 'c7' are not a JSON object" },
  { "arguments with a comma behind the last", chat(look [["{\"n\": 1,}"]]), VLLM,
    "2 call_arguments: the arguments of call 'c7' are not a JSON object" },
  { "arguments with text behind them", chat(look [["{\"n\": 1} and"]]), VLLM,
    "2 call_arguments: the arguments of call 'c7' are not a JSON object" },
  { "a number as text", chat(look [["7"]]), VLLM,
    "2 call_arguments: the arguments of call 'c7' are not a JSON object" },
  { "a list as text", chat(look [["[{}]"]]), VLLM,
    "2 call_arguments: the arguments of call 'c7' are not a JSON object" },
  { "a string as text", chat(look [["\"a\""]]), VLLM,
    "2 call_arguments: the arguments of call 'c7' are not a JSON object" },
  { "no text", chat(look [[""]]), VLLM, "2 call_arguments: the arguments of call 'c7' are not a JSON object" },
  { "arguments that are well, with white space", chat(look [[" {\"a\": [1, \"\\u00e9\"]}\n"]]), VLLM, "" },
  { "an object where a string is wanted", chat(look [[{"a":1}]]), nil,
    "2 call_arguments_form: the arguments of call 'c7' are no string" },
  { "a list where a string is wanted", chat(look "[]"), nil,
    "2 call_arguments_form: the arguments of call 'c7' are no string" },
  { "a number where a string is wanted", chat(look "3"), nil,
    "2 call_arguments_form: the arguments of call 'c7' are no string" },
  { "null where a string is wanted", chat(look "null"), nil,
    "2 call_arguments_form: the arguments of call 'c7' are no string" },
  { "one of two calls", chat(called('{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}},'
    .. '{"id":"b","type":"function","function":{"name":"look","arguments":{"x":[]}}}'),
    '{"role":"tool","tool_call_id":"b","content":""},{"role":"tool","tool_call_id":"a","content":""}'), nil,
    "2 call_arguments_form: the arguments of call 'b' are no string" },
  { "the input of a custom tool is any text", chat(called
    '{"id":"c7","type":"custom","custom":{"name":"sh","input":"ls"}}',
    '{"role":"tool","tool_call_id":"c7","content":""},{"role":"assistant","content":"a"}'), VLLM, "" },
  { "the input of a custom tool, an object", chat(called
    '{"id":"c7","type":"custom","custom":{"name":"sh","input":{}}}',
    '{"role":"tool","tool_call_id":"c7","content":""}'), nil,
    "2 call_arguments_form: the arguments of call 'c7' are no string" },
  { "arguments that were cut, of an item", items(item [["{\"where\": "]], output '"r"'), STRICT,
    "2 call_arguments: the arguments of call 'c7' are not a JSON object" },
  { "an object in an item", items(item "{}", output '"r"'), nil,
    "2 call_arguments_form: the arguments of call 'c7' are no string" },
  { "a custom item's input", items('{"type":"custom_tool_call","call_id":"c7","name":"sh","input":["ls"]}',
    '{"type":"custom_tool_call_output","call_id":"c7","output":"r"}'), nil,
    "2 call_arguments_form: the arguments of call 'c7' are no string" },
  { "a custom item's text", items('{"type":"custom_tool_call","call_id":"c7","name":"sh","input":"ls"}',
    '{"type":"custom_tool_call_output","call_id":"c7","output":"r"}'), STRICT, "" },

  ---- Results ----
  { "an output that is an object", items(item '"{}"', output '{"rows":2}'), nil,
    "3 result_form: output 'c7' is neither a string nor a list of parts" },
  { "an output that is null", items(item '"{}"', output "null"), nil,
    "3 result_form: output 'c7' is neither a string nor a list of parts" },
  { "an output that is a number", items(item '"{}"', output "5"), nil,
    "3 result_form: output 'c7' is neither a string nor a list of parts" },
  { "no output", items(item '"{}"', '{"type":"function_call_output","call_id":"c7"}'), nil,
    "3 result_form: output 'c7' is neither a string nor a list of parts" },
  { "an output of parts", items(item '"{}"', output '[{"type":"input_text","text":"r"}]'), nil, "" },
  { "a result of Anthropic's that is an object", claude(used '{"rows":2}'), nil,
    "3 result_form: the content of result 't1' is neither a string nor a list of parts" },
  { "a response of Gemini's that is a string", google '{"name":"look","response":"rain"}', nil,
    "3 result_form: the response of 'look' is not an object" },
  { "a response of Gemini's that is a list", google '{"name":"look","response":[1]}', nil,
    "3 result_form: the response of 'look' is not an object" },
  { "a response without a name", google '{"name":"","response":{"t":1}}', nil,
    "3 result_name: '' is not a valid name in a response" },
  { "a response with a key of the API's, deep inside", google
    '{"name":"look","response":{"a":[{"b":{"$ref" : "#/x"}}]}}', nil,
    "3 reserved_key: the response of 'look' has a key $ref" },
  { "a text that spells that key", google '{"name":"look","response":{"a":["$ref","\\"$ref\\": 1"]}}', nil, "" },
  { "parts of MCP in a tool message", chat(called
    '{"id":"c7","type":"function","function":{"name":"look","arguments":"{}"}}', '{"role":"tool","tool_call_id":"c7",'
    .. '"content":[{"type":"text","text":"t"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},'
    .. '{"type":"resource_link","uri":"file:///b.txt","name":"b"}]}'), nil,
    "3 foreign_part: a part of type 'image' does not exist in this dialect; "
    .. "3 foreign_part: a part of type 'resource_link' does not exist in this dialect" },
  { "parts of MCP in an output", items(item '"{}"', output('[{"type":"resource","resource":{"uri":"u","text":"t"}},'
    .. '{"type":"text","text":"t"}]')), nil,
    "3 foreign_part: a part of type 'resource' does not exist in this dialect; "
    .. "3 foreign_part: a part of type 'text' does not exist in this dialect" },
  { "parts of MCP in a result", claude(used
    '[{"type":"resource_link","uri":"u","name":"n"},{"type":"text","text":"t"},{"type":"audio","data":"AAAA"}]'), nil,
    "3 foreign_part: a part of type 'resource_link' does not exist in this dialect; "
    .. "3 foreign_part: a part of type 'audio' does not exist in this dialect" },
  { "parts of a result that Anthropic documents", claude(used
    '[{"type":"search_result","source":"s","title":"t","content":[]},{"type":"tool_reference","tool_name":"n"}]'),
    nil, "" },
  { "a part without a type", chat '{"role":"user","content":[{"text":"t"}]}', nil, "2 part_type: a part has no type" },
  { "an output of parts without a type", items(item '"{}"', output '[{"query":"q","success":true}]'), nil,
    "3 part_type: a part has no type" },

  ---- Names ----
  { "a call of no function", chat(called '{"id":"c7","type":"function","function":{"name":"","arguments":"{}"}}',
    '{"role":"tool","tool_call_id":"c7","content":""}'), nil, "2 call_name: '' is not a valid name of a function" },
  { "a tool without a name", with_tool '{"type":"function","function":{"name":""}}', nil,
    "- tool_name: '' is not a valid name of a tool" },
  { "a file without a name", chat(shown(
    '{"type":"file","file":{"file_data":"data:application/pdf;base64,' .. PDF .. '"}}')),
    nil, "2 file_name: a file has data and no name" },
  { "a file with an empty name", chat(shown(
    '{"type":"file","file":{"filename":"","file_data":"data:application/pdf;base64,'
    .. PDF .. '"}}')), nil, "2 file_name: a file has data and no name" },
  { "a file that is stored", chat(shown '{"type":"file","file":{"file_id":"file-1"}}'), nil, "" },
  { "a file of an item without a name", items(shown('{"type":"input_file","file_data":"data:application/pdf;base64,'
    .. PDF .. '"}')), nil, "2 file_name: a file has data and no name" },
  { "a file of a result without a name", items(item '"{}"', output('[{"type":"input_file","file_data":'
    .. '"data:application/pdf;base64,' .. PDF .. '"}]')), nil, "3 file_name: a file has data and no name" },
  { "Claude's documents need no name", claude(shown(('{"type":"document","source":{"type":"base64",'
    .. '"media_type":"application/pdf","data":"%s"}}'):format(PDF))), nil, "" },

  ---- Images ----
  { "an image that says another type, in a result", claude(used("[" .. picture("image/jpeg", PNG) .. "]")), nil,
    "3 media_type: the bytes of an image are image/png, and it says another type" },
  { "an image that says a type that does not exist", claude(shown(picture("image/jpg", JPEG))), nil,
    "1 media_type: the bytes of an image are image/jpeg, and it says another type" },
  { "an image of its type", claude(shown(picture("image/png", PNG), picture("image/gif", GIF))), nil, "" },
  { "a data URI that says another type", chat(shown(url("image/webp", GIF))), STRICT,
    "2 media_type: the bytes of an image are image/gif, and it says another type" },
  { "the same behind a gateway to Claude", chat(shown(url("image/webp", GIF))), { profile = "openrouter" },
    "2 media_type: the bytes of an image are image/gif, and it says another type" },
  { "inline data that says another type", inline("image/png", JPEG), STRICT,
    "1 media_type: the bytes of an image are image/jpeg, and it says another type" },
  { "an item that says another type", items(shown('{"type":"input_image","image_url":"data:image/png;base64,' .. JPEG
    .. '"}')), STRICT, "2 media_type: the bytes of an image are image/jpeg, and it says another type" },
  { "a bitmap", claude(shown(picture("image/bmp", BMP))), nil, "1 image_type: an image of type image/bmp" },
  { "a bitmap that says that it is a PNG", chat(shown(url("image/png", BMP))), nil,
    "2 image_type: an image of type image/bmp" },
  { "a type that is only said", chat(shown(url("image/tiff", "AAAA"))), nil,
    "2 image_type: an image of type image/tiff" },
  { "a photo of a telephone", items(shown(
    '{"type":"input_image","image_url":"data:image/heic;base64,' .. HEIC .. '"}')),
    nil, "2 image_type: an image of type image/heic" },
  { "which Gemini takes", inline("image/heif", HEIC), STRICT, "" },
  { "as it does no GIF", inline("image/gif", GIF), nil, "1 image_type: an image of type image/gif" },
  { "vLLM reads what its library reads", chat(shown(url("image/bmp", BMP))), VLLM, "" },
  { "a side of more than 8,000 pixels", claude(shown(picture("image/png", png(12, 8001)))), nil,
    "1 image_side: a side of an image has more pixels than the server takes" },
  { "a side of 8,000 pixels", claude(shown(picture("image/png", png(8000, 12)))), nil, "" },
  { "an image of more than 10 MB", claude(shown(picture("image/png", png(9, 9) .. ("AAAA"):rep(2621440)))), nil,
    "1 image_size: the data of an image are longer than the server takes" },

  ---- Schemas ----
  { "alternatives at a schema's top", claude('{"role":"user","content":"q"}'):gsub("}$",
    ',"tools":[{"name":"send","input_schema":{"type":"object","anyOf":[{"required":["a"]}]}}]}'), nil,
    "- tool_schema: the schema of tool 'send' is not an object's, or has oneOf, anyOf or allOf at its top" },
  { "a schema without a type", claude('{"role":"user","content":"q"}'):gsub("}$",
    ',"tools":[{"name":"now","input_schema":{}}]}'), nil,
    "- tool_schema: the schema of tool 'now' is not an object's, or has oneOf, anyOf or allOf at its top" },
  { "the same at OpenAI", with_tool '{"type":"function","function":{"name":"now","parameters":{"oneOf":[]}}}', nil,
    "- tool_schema: the schema of tool 'now' is not an object's, or has oneOf, anyOf, allOf, enum or not at its top" },
  { "no parameters", with_tool '{"type":"function","function":{"name":"now"}}', nil, "" },
  { "other servers take any schema", with_tool
    '{"type":"function","function":{"name":"now","parameters":{"oneOf":[]}}}',
    VLLM, "" },
  { "other servers take a long description", with_tool('{"type":"function","function":{"name":"now","description":"'
    .. ("x"):rep(1025) .. '"}}'), VLLM, "" },
  { "Azure does not", with_tool(
    '{"type":"function","function":{"name":"now","description":"' .. ("x"):rep(1025) .. '"}}'),
    { profile = "azure" }, "- tool_description: the description of tool 'now' is longer than 1024 characters" },

  ---- Members ----
  { "a member of an output", items(item '"{}"', output('"r","passed_on":{}')), STRICT,
    "3 extra_member: the member 'passed_on' does not exist in requests" },
  { "a member of a part in an output", items(item '"{}"', output '[{"type":"input_text","text":"r","extra":1}]'),
    STRICT, "3 extra_member: the member 'extra' does not exist in requests" },
  { "the setting of a turn in a system message", claude('{"role":"user","content":"q"}',
    '{"role":"system","content":"Be short.","output_config":{"effort":"low"}}'):gsub("sonnet%-4%-5", "opus-5"),
    nil, "" },
}

--- Violations for other servers in nearly all rows.
local ELSEWHERE = { media = true, tools_missing = true, user_first = true }

local function list(body, options)
  local found = {}
  for _, violation in ipairs((assert(ebb.parse(body)):check(options))) do
    local line = ("%s %s: %s"):format(violation.index or "-", violation.code, violation.text)
    if not ELSEWHERE[violation.code] then found[#found + 1] = line end
  end
  return table.concat(found, "; ")
end

describe("check finds", function()
  for _, row in ipairs(ROWS) do
    local name, body, options, expected = row[1], row[2], row[3], row[#row]
    it(name, function()
      assert.equal(expected, list(body, options))
    end)
  end

  it("images that are too large only where there are many, each at its place", function()
    local function body(count, side)
      local parts = {}
      for i = 1, count do parts[i] = picture("image/png", png(i == 1 and side or 9, 9)) end
      return claude(shown(table.concat(parts, ",", 1, count - 1)), '{"role":"assistant","content":"a"}',
        shown(parts[count]))
    end

    assert.equal("", list(body(20, 2001)))
    assert.equal("", list(body(21, 2000)))
    assert.equal("1 image_side: a side of an image has more pixels than the server takes", list(body(21, 2001)))
    assert.equal("1 image_side: a side of an image has more pixels than the server takes", list(body(2, 8001)))
  end)
end)

describe("hints that quote a limit", function()
  local function hint(body, options)
    return (assert(ebb.parse(body)):check(options))[1].hint
  end
  local two_calls = chat(called '{"id":"call_abcdefgh1","type":"function","function":{"name":"look","arguments":"{}"}}',
    '{"role":"tool","tool_call_id":"call_abcdefgh1","content":""},{"role":"assistant","content":"a"},'
    .. '{"role":"user","content":"q"}')

  it("have the limit of the server", function()
    local long = (two_calls:gsub("call_abcdefgh1", ("x"):rep(65)))

    assert.equal("an id has exactly 9 letters and digits", hint(two_calls, { profile = "mistral" }))
    assert.equal("an id has 1 to 40 characters", hint(long))
    assert.equal("an id has 1 or more characters", hint((two_calls:gsub("call_abcdefgh1", "")), { profile = "groq" }))
    assert.equal("an id has 1 to 64 letters, digits, _ or -",
      hint((claude(used '"r"'):gsub('"t1"', '"' .. ("x"):rep(65) .. '"')), { profile = "bedrock" }))
    assert.equal("an id has 1 or more letters, digits, _ or -", hint((claude(used '"r"'):gsub('"t1"', '"f:0"'))))
    assert.equal("a name has 1 to 64 letters, digits, _ or -",
      hint(with_tool '{"type":"function","function":{"name":"a b"}}'))
  end)

  it("have the limits of a profile of one's own", function()
    ebb.profiles.narrow = { dialects = { "openai" }, tool_name = 8,
      limits = { messages = 1, images = 1, bytes = 10, image_side = 100, image_bytes = 4, many_images = 1,
        many_images_side = 10 } }
    local hints = {}
    local body = json.encode { messages = { { role = "user", content = { { type = "image_url",
      image_url = { url = "data:image/png;base64," .. png(9, 200) } }, { type = "image_url",
      image_url = { url = "http://a/b.png" } } } }, { role = "user", content = "q" } },
      tools = { { type = "function", ["function"] = { name = "wanderlust" } } } }
    for _, violation in ipairs((assert(ebb.parse(body)):check { profile = "narrow" })) do
      hints[violation.code] = violation.hint
    end
    ebb.profiles.narrow = nil

    assert.same({
      body_size = "trim the conversation, or send images as files: it takes at most 10 bytes",
      image_count = "leave out the oldest: it takes at most 1 images",
      image_side = "scale it down: a side has at most 100 pixels, at most 10 where there are more than 1 images",
      image_size = "scale it down: they have at most 4 bytes",
      message_count = "trim the conversation: it takes at most 1 messages",
      tool_name = "a name has 1 to 8 letters, digits, _ or -",
    }, hints)
  end)

  it("say without a target that there is a limit", function()
    for _, rule in ipairs(require "ebb.models.violations".explain()) do
      assert.is_nil(rule.hint:find("%", 1, true), rule.code)
    end
    assert.equal("leave out the oldest: it takes at most as many images as its profile says",
      require "ebb.models.violations".explain "image_count"[1].hint)
  end)

  it("refuse a profile that limits many images without a side", function()
    local fine, problem = pcall(function() ebb.profiles.narrow = { limits = { many_images = 3 } } end)

    assert.is_false(fine)
    assert.match("many_images and many_images_side go together", problem.message)
  end)
end)
