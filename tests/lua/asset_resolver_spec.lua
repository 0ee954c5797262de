--- asset-resolver: what attachments become, what is left out, what is an error; and
--- the cases of another project.

local helper = dofile "tests/lua/helper.lua"
local fake = dofile "tests/lua/fake_context.lua"
local core = require "ebb.support.core"
local ebb = require "ebb"
local dialects = require "ebb.processors.asset_dialects"
local processor = require "ebb.processors.asset_resolver"

local PNG, WAV = "\137PNG\r\n\26\n", "RIFF\1\2\3\4WAVEfmt "

local root

setup(function()
  root = fake.folder { ["photo.png"] = PNG, ["sound.wav"] = WAV, ["paper.pdf"] = "%PDF-1.7", ["clip.mp4"] =
    "\0\0\0\24ftypmp42", ["notes.txt"] = "words", ["thing.zip"] = "PK\3\4", ["picture.svg"] = "<svg/>",
    ["letter.docx"] = "PK\3\4" }
end)

teardown(fake.clean)

local function run(messages, config, fields)
  fields = fields or {}
  fields.asset_root = root
  return fake.run(processor, messages, config, fields)
end

local function message(content, ...)
  return { role = "user", content = content, attachments = { ... }, source = "history", seq = 3 }
end

local function text(value) return { type = "text", text = value } end

local function uri(mime, bytes) return ("data:%s;base64,%s"):format(mime, core.base64.encode(bytes)) end

local IMAGE = { type = "image_url", image_url = { url = uri("image/png", PNG) } }
local SOUND = { type = "input_audio", input_audio = { data = core.base64.encode(WAV), format = "wav" } }
local PAPER = { type = "file", file = { filename = "paper.pdf", file_data = uri("application/pdf", "%PDF-1.7") } }

describe("an attachment", function()
  local cases = {
    -- what it shows, message, content after it
    { "an image behind the text", message("look", { path = "photo.png" }), { text "look", IMAGE } },
    { "blank text goes", message("  ", { path = "photo.png" }), { IMAGE } },
    { "no content", message(core.json.null, { path = "photo.png" }), { IMAGE } },
    { "behind parts", message({ text "1", text "2" }, { path = "photo.png" }), { text "1", text "2", IMAGE } },
    { "an asset part in its place", message { { type = "asset", attachment = { path = "photo.png" } }, text "1" },
      { IMAGE, text "1" } },
    { "all kinds, in order", message("", { path = "sound.wav" }, { path = "paper.pdf" }, { path = "notes.txt" }),
      { SOUND, PAPER, text "words" } },
    { "an mp3", message("", { data = "data:audio/mp3;base64,YWJj" }),
      { { type = "input_audio", input_audio = { data = "YWJj", format = "mp3" } } } },
    { "its bytes decide", message("", { path = "photo.png", kind = "audio", mime = "audio/wav" }), { IMAGE } },
    { "an address is the provider's", message("", { url = "https://a/b.png" }),
      { { type = "image_url", image_url = { url = "https://a/b.png" } } } },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      local messages, context = run { case[2] }
      assert.same(case[3], messages[1].content)
      assert.is_nil(messages[1].attachments or messages[1].seq)
      assert.truthy(context:said "info":find(" became ", 1, true))
    end)
  end

  it("is converted with a line in the log", function()
    local _, context = run { message("look", { path = "photo.png" }, { path = "notes.txt" }) }
    assert.equal("photo.png: became image_url, 8 bytes\nnotes.txt: became text, 5 bytes", context:said())
    assert.same({ attachment = "photo.png", mime = "image/png", bytes = 8, as = "image_url" }, context.logs[1].details)
  end)

  local left_out = {
    { "clip.mp4", nil, "a request has no form for video" },
    { "thing.zip", nil, "a request has no form for application/zip" },
    { "picture.svg", nil, "image/svg+xml has no form there" },
    { "letter.docx", nil,
      "application/vnd.openxmlformats-officedocument.wordprocessingml.document has no form there" },
    { "photo.png", { vision = false }, "the model takes no image" },
    { "sound.wav", { audio = false }, "the model takes no audio" },
    { "paper.pdf", { document = false }, "the model takes no document" },
  }
  for _, case in ipairs(left_out) do
    it(case[1] .. " is left out: " .. case[3], function()
      local messages, context = run({ message("look", { path = case[1] }) }, nil, { capabilities = case[2] })
      assert.equal("look", messages[1].content)
      assert.is_nil(messages[1].attachments)
      assert.equal(("%s: left out: %s"):format(case[1], case[3]), context:said())
    end)
  end

  local known = {   -- model, which of image, document, sound are sent
    { "claude-sonnet-4-5", "image document" }, { "us.anthropic.claude-opus-4-1-20250805-v1:0", "image document" },
    { "claude-3-5-sonnet-20241022", "image document" }, { "gemini-2.5-pro", "image document sound" },
    { "gemini-3.1-pro-preview", "image document sound" }, { "gemini-2.0-flash-lite", "image document sound" },
    { "gpt-4o", "image document" }, { "gpt-5-mini", "image document" }, { "gpt-3.5-turbo", "", "documents" },
    { "o3-mini", "", "documents" },
    { "gpt-4-turbo", "image", "documents" }, { "gpt-4o-audio-preview", "image sound", "documents" },
    { "gemini-2.5-flash-image", "image", "documents sound" }, { "qwen3-8b", "", "images documents sound" },
    { "a-model-of-nobody", "image", "documents sound" },
  }
  for _, case in ipairs(known) do
    it(("is sent to %s: %s"):format(case[1], case[2] == "" and "none" or case[2]), function()
      local files = { { path = "photo.png" }, { path = "paper.pdf" }, { path = "sound.wav" } }
      local chat = ebb.conversation { messages = { { role = "user", content = "look", attachments = files } } }

      local result = assert(ebb.pipeline { model = case[1], to = "openai", asset_root = root }:run(chat))

      local words, said = {}, {}
      local names = { image_url = "image", file = "document", input_audio = "sound" }
      local content = ebb.json.decode(result.body).messages[1].content
      for _, part in ipairs(type(content) == "table" and content or {}) do words[#words + 1] = names[part.type] end
      assert.equal(case[2], table.concat(words, " "))
      for _, entry in ipairs(result.logs) do
        if entry.processor == "asset-resolver" then
          said[#said + 1] = entry.message:match "nothing is known of whether model '.*' takes (%l+); "
        end
      end
      assert.equal(case[3] or "", table.concat(said, " "))
    end)
  end

  it("is left out of messages that hold none", function()
    for _, role in ipairs { "system", "assistant" } do
      local given = message("look", { path = "photo.png" }, { path = "notes.txt" })
      given.role = role
      local messages, context = run { given }
      assert.same({ text "look", text "words" }, messages[1].content)
      assert.equal(("photo.png: left out: messages of role %s hold no image"):format(role), context:said "warn")
    end
  end)

  it("leaves a note where that is wanted", function()
    local messages = run({ message("look", { path = "clip.mp4" }) }, { note = "[no {name}]" })
    assert.same({ text "look", text "[no clip.mp4]" }, messages[1].content)
  end)

  it("that was all there was leaves an empty message", function()
    assert.equal("", run({ message({ { type = "asset", attachment = { path = "clip.mp4" } } }) })[1].content)
    assert.equal("", run({ message("", { path = "clip.mp4" }) })[1].content)
  end)

  local errors = {
    { { path = "nothing.png" }, "nothing.png: there is no such file", "absent" },
    { { path = "../photo.png" }, "../photo.png: a path may not hold '..'", "forbidden" },
    { { id = "7" }, "7: the host has no 'asset'", "absent" },
    { { url = "file:///etc/passwd" }, "file:///etc/passwd: the host has no 'asset'", "absent" },
    { { url = "file:///a/b.png" }, "file:///a/b.png: the host has no 'asset'", "absent" },
    { { url = "https://a/b.mp3" }, "https://a/b.mp3: the host has no 'asset'", "absent" },
    { { data = "data:image/png;base64,?", name = "n" }, "n: a data URI, byte 23: expected a digit of base64",
      "syntax" },
    { { path = "photo.png" }, "photo.png: it is larger than 7 bytes", "limit" },
  }
  for _, case in ipairs(errors) do
    it("is an error: " .. case[2], function()
      local messages = { message("1", { path = "photo.png" }), message("2", case[1]) }
      local before = core.json.encode(messages)
      local config = fake.config(processor, case[3] == "limit" and { max_bytes = 7 } or {})
      local context = fake.context(messages, { asset_root = root })
      local problem = helper.refusal(processor.execute, context, config)
      assert.equal(case[2], problem.message)
      assert.equal(case[3], problem.code)
      assert.equal(before, core.json.encode(context.messages))
    end)
  end

  it("at an address is for the model that can take it", function()
    local messages, context = run({ message("look", { url = "https://a/b.png" }) }, nil,
      { capabilities = { vision = false } })
    assert.equal("look", messages[1].content)
    assert.equal("https://a/b.png: left out: the model takes no image", context:said())
    local given = message("look", { url = "https://a/b.png" })
    local services = { asset = function() return { bytes = PNG } end }
    assert.same({ text "look", IMAGE }, run({ given }, nil, { services = services })[1].content)
  end)

  it("above the provider's limits is sent and reported", function()
    local limits = dialects.openai.limits
    local kept = { limits.bytes.image, limits.count.image, limits.total }
    limits.bytes.image, limits.count.image, limits.total = 7, 1, 20
    local given = message("", { path = "photo.png" }, { path = "photo.png" }, { path = "sound.wav" })
    local messages, context = run { given }
    limits.bytes.image, limits.count.image, limits.total = table.unpack(kept)
    assert.equal(3, #messages[1].content)
    assert.equal("photo.png: 8 bytes; the provider takes 7 of one image\n"
      .. "photo.png: 8 bytes; the provider takes 7 of one image\n"
      .. "2 attachments of kind image; the provider takes 1 in a request\n"
      .. "attachments of 32 bytes; the provider takes 20 in a request", context:said "warn")
  end)

  it("that does not look like what it is called is reported", function()
    local _, context = run { message("", { data = "data:image/png;base64,YWJj", name = "n" }) }
    assert.equal("n: its bytes do not look like image/png", context:said "warn")
  end)

  it("in an unknown dialect is an error, if there are attachments", function()
    local problem = helper.refusal(run, { message("", { path = "photo.png" }) }, nil,
      { capabilities = { dialect = "runes" } })
    assert.equal("unknown_name", problem.code)
    assert.equal("known: openai", problem.hint)
    local messages = { message("1"), { role = "user", content = { text "2" } } }
    assert.equal(messages, (run(messages, nil, { capabilities = { dialect = "runes" } })))
  end)

  it("finds a dialect that a plugin adds", function()
    dialects.runes = { roles = { user = true }, limits = { bytes = {}, count = {}, total = 1 << 40 },
      video = function(asset) return { type = "rune", of = asset.name } end, text = dialects.openai.text }
    local messages = run({ message("", { path = "clip.mp4" }) }, nil, { capabilities = { dialect = "runes" } })
    dialects.runes = nil
    assert.same({ { type = "rune", of = "clip.mp4" } }, messages[1].content)
  end)
end)

---- Cases of another project ----

--- Words of BEHAVIOUR.md that decide otherwise than the original, and what comes out instead.
local MISSING = "a missing file is an error naming it"
local TAKE = "what the\nmodel cannot take is dropped with a log line"   -- line breaks do not count
local URI = "(data URI, base64 source, inline data)"

local ABC_IMAGE = { type = "image_url", image_url = { url = uri("image/png", "abc") } }

local DIFFERS = {
  ["asset image after text"] = { URI, { text "look", ABC_IMAGE } },
  ["asset blank text dropped"] = { URI, { ABC_IMAGE } },
  ["asset document, audio, video"] = { TAKE, { text "t",
    { type = "file", file = { filename = "n.document", file_data = uri("application/pdf", "abc") } },
    { type = "input_audio", input_audio = { data = "YWJj", format = "mp3" } } } },
  ["asset unsupported type skipped, failing one skipped, content becomes parts"] = { MISSING, "n.image: disk on fire" },
}

local function says(document, words)
  local function flat(value) return (value:gsub("%s+", " ")) end
  return flat(document):find(flat(words), 1, true) ~= nil
end

--- The case's messages with our attachments, whose bytes the host has.
local function translated(case)
  local messages, files = {}, {}
  for i, given in ipairs(case.input) do
    local copy = { role = given.role, content = given.content, attachments = {} }
    for n, each in ipairs(given._attachments or {}) do
      copy.attachments[n] = { id = each.id, name = each.name, kind = each.type, mime = each.mimeType }
      files[each.id] = each
    end
    messages[i] = copy
  end
  return messages, { asset = function(request)
    local file = files[request.id]
    if file.fail then return nil, "disk on fire" end
    return { bytes = file.bytes }
  end }
end

--- Types that Gemini takes and OpenAI does not: each is the part of a request of Gemini's, and told elsewhere.
describe("a file for gemini", function()
  local OGG, HEIC, WEBM = "OggS\0\2", "\0\0\0\24ftypheic\0\0\0\0", "\26\69\223\163webm"
  local FILES = {
    { "clip.mp4", "\0\0\0\24ftypmp42", "video/mp4" }, { "clip.webm", WEBM, "video/webm" },
    { "voice.ogg", OGG, "audio/ogg" }, { "photo.heic", HEIC, "image/heic" },
  }
  local function sent(attachment, model)
    local chat = ebb.conversation { messages = { { role = "user", content = "看", attachments = { attachment } } } }
    local result = assert(ebb.pipeline { model_config = { model = model, capabilities = { video = true, audio = true,
      vision = true } } }:run(chat))
    local told = {}
    for i, entry in ipairs(result.logs) do told[i] = entry.message end
    return ebb.json.decode(result.body), table.concat(told, "\n"), result
  end

  for _, file in ipairs(FILES) do
    it("is sent as it is: " .. file[3], function()
      local attachment = { name = file[1], data = uri(file[3], file[2]) }
      local body = sent(attachment, "gemini-2.5-pro")
      assert.same({ { text = "看" }, { inlineData = { mimeType = file[3], data = core.base64.encode(file[2]) } } },
        table.move(body.contents[1].parts, 1, 2, 1, {}))
      local other, told = sent(attachment, "gpt-4o")
      assert.equal("看", other.messages[1].content)
      assert.truthy(told:find(file[1] .. ": left out: ", 1, true), told)
    end)
  end

  it("may be the address of a film, which only gemini fetches", function()
    for _, attachment in ipairs { { url = "https://www.youtube.com/watch?v=x", kind = "video" },
      { path = "gs://films/a.mp4", kind = "video" } } do
      local body = sent(attachment, "gemini-2.5-pro")
      local parts = body.contents[1].parts
      assert.equal(attachment.url or attachment.path, parts[2].fileData.fileUri)
      assert.equal("video/mp4", parts[2].fileData.mimeType)
    end
  end)

  it("is converted from the form of compatible servers, too", function()
    local list = { { role = "user", content = { text "看",
      { type = "video_url", video_url = { url = uri("video/mp4", FILES[1][2]) } } } } }
    local written = ebb.json.decode((assert(ebb.parse(ebb.json.encode(list))):write "gemini"))
    assert.equal("video/mp4", written[1].parts[2].inlineData.mimeType)
  end)
end)

describe("cases of", function()
  if not helper.shared then
    it("another project", function() pending "skipped: EBB_SHARED is not set" end)
    return
  end
  local behaviour = helper.read(helper.shared .. "/BEHAVIOUR.md")
  local read = core.json.decode(helper.read(helper.shared .. "/data/cases/aiohub.json"))
  local count = 0
  for _, case in ipairs(read.cases or read) do
    if case.op == "asset_resolver" then
      count = count + 1
      it(case.name, function()
        local messages, services = translated(case)
        local other = DIFFERS[case.name]
        if other then assert(says(behaviour, other[1]), "BEHAVIOUR.md no longer says: " .. other[1]) end
        if other and type(other[2]) == "string" then
          assert.equal(other[2], helper.refusal(run, messages, nil, { services = services }).message)
          return
        end
        local result = run(messages, nil, { services = services })
        assert.same(other and other[2] or case.expected[1].content, result[1].content)
        assert.equal(case.expected[1].role, result[1].role)
      end)
    end
  end
  it("all of them were there", function() assert.equal(5, count) end)
end)
