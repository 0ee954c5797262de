--- transcription-processor: text files read in, others through the host, once.

local helper = dofile "tests/lua/helper.lua"
local fake = dofile "tests/lua/fake_context.lua"
local core = require "ebb.support.core"
local processor = require "ebb.processors.transcription_processor"

local PNG, MP3 = "\137PNG\r\n\26\n", "\255\251\144\0sound"

local root

setup(function()
  root = fake.folder { ["a.txt"] = "one {{user}}", ["b.md"] = "two", ["bom.txt"] = "\u{FEFF}three\r\n",
    ["binary.txt"] = "a\0b", ["latin.txt"] = "gr\xfcn", ["big.txt"] = ("x"):rep(101), ["LICENSE"] = "four",
    ["data"] = "\0\1", ["photo.png"] = PNG, ["sound.mp3"] = MP3, ["【b】.txt"] = "see 【b】", ["percent.txt"] = "100%1" }
end)

teardown(fake.clean)

local function run(messages, config, fields)
  fields = fields or {}
  fields.asset_root = root
  return fake.run(processor, messages, config, fields)
end

local function file(path, more)
  local attachment = { path = path }
  for key, value in pairs(more or {}) do
    attachment[key] = value
  end
  return attachment
end

local function user(content, ...)
  return { role = "user", content = content, attachments = { ... }, source = "history", seq = 3, trusted = true }
end

local function text(value) return { type = "text", text = value } end

--- Content after the run of one message, and what is still attached.
local function after(message, config, fields)
  local messages, context = run({ message }, config, fields)
  return messages[1].content, messages[1].attachments, context, messages[1]
end

describe("a text file", function()
  local cases = {
    -- what it shows, message, content, names of what stays attached
    { "follows after a newline", user("look", file "a.txt"), "look\none {{user}}" },
    { "stands alone in a blank message", user("  ", file "a.txt"), "one {{user}}" },
    { "and where there is no content", user(core.json.null, file "b.md"), "two" },
    { "several keep their order", user("look", file "b.md", file "a.txt"), "look\ntwo\none {{user}}" },
    { "takes the place of its placeholder", user("see 【b】!", file("b.md", { placeholder = "【b】" })), "see two!" },
    { "once", user("【b】 and 【b】", file("b.md", { placeholder = "【b】" })), "two and [attachment: b.md]" },
    { "a placeholder in what was put in is none",
      user("【1】", file("【b】.txt", { placeholder = "【1】" }), file("b.md", { placeholder = "【b】" })),
      "see 【b】\ntwo" },
    { "the longer placeholder wins", user("[a][ab]", file("a.txt", { placeholder = "[a]" }),
      file("b.md", { placeholder = "[a][ab]" })), "two\none {{user}}" },
    { "a placeholder that is nowhere", user("look", file("b.md", { placeholder = "【b】" })), "look\ntwo" },
    { "an empty placeholder is none", user("look", file("b.md", { placeholder = "" })), "look\ntwo" },
    { "in parts: in the last text", user({ text "1", text "2" }, file "b.md"), { text "1", text "2\ntwo" } },
    { "behind an image: a text of its own", user({ text "1", { type = "image_url" } }, file "b.md"),
      { text "1", { type = "image_url" }, text "two" } },
    { "a placeholder in parts", user({ text "1", text "see 【b】" }, file("b.md", { placeholder = "【b】" })),
      { text "1", text "see two" } },
    { "an asset part becomes a text", user { { type = "asset", attachment = file "b.md" }, text "1" },
      { text "two", text "1" } },
    { "what an asset part holds is not searched",
      user({ { type = "asset", attachment = file "【b】.txt" } }, file("a.txt", { placeholder = "【b】" })),
      { text "see 【b】", text "one {{user}}" } },
    { "without BOM, its line ends kept", user("", file "bom.txt"), "three\r\n" },
    { "without an ending, when it is one", user("", file "LICENSE"), "four" },
    { "a data URI", user("", { data = "data:text/plain,five" }), "five" },
    { "a per cent sign is itself", user("", file "percent.txt"), "100%1" },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      local content, attachments, context, message = after(case[2])
      assert.same(case[3], content)
      assert.is_nil(attachments)
      assert.is_nil(message.seq or message.trusted)   -- other bytes now, and not the user's own words
      assert.truthy(context:said "info" :find("read in", 1, true))
    end)
  end

  local refused = {
    { "binary.txt", "binary.txt: it is binary: a NUL byte at byte 2; a text in UTF-8 is expected", "encoding" },
    { "latin.txt", "latin.txt: it is not UTF-8 at byte 3; a text in UTF-8 is expected", "encoding" },
    { "big.txt", "big.txt: it is larger than 100 bytes", "limit" },
    { "nothing.txt", "nothing.txt: there is no such file", "absent" },
    { "../a.txt", "../a.txt: a path may not hold '..'", "forbidden" },
  }
  for _, case in ipairs(refused) do
    it(case[1] .. " is refused, and nothing has changed", function()
      local messages = { user("1", file "a.txt"), user("2", file(case[1])) }
      local before = core.json.encode(messages)
      local context = fake.context(messages, { asset_root = root })
      local problem = helper.refusal(processor.execute, context, fake.config(processor, { max_bytes = 100 }))
      assert.equal(case[2], problem.message)
      assert.equal(case[3], problem.code)
      assert.equal(messages, context.messages)
      assert.equal(before, core.json.encode(messages))
    end)
  end

  it("without a declared type may be large if it is not text", function()
    local unknown = "data:application/octet-stream,"
    local _, attachments = after(user("", { data = unknown .. ("%00"):rep(200) }), { max_bytes = 100 })
    assert.equal(1, #attachments)
    local problem = helper.refusal(after, user("", { data = unknown .. ("x"):rep(200) }), { max_bytes = 100 })
    assert.equal("attachment: it is larger than 100 bytes", problem.message)
  end)

  it("stays an attachment where that is wanted", function()
    local content, attachments = after(user("look", file "a.txt", file "LICENSE"), { text = false })
    assert.equal("look", content)
    assert.equal(2, #attachments)
  end)
end)

---- The host ----

local function transcriber(answers)
  local asked = {}
  return { transcribe = function(request)
    asked[#asked + 1] = request
    return answers
  end }, asked
end

describe("a transcript", function()
  it("asks the host, with all fields of the request", function()
    local services, asked = transcriber "words"
    local content, attachments = after(user("hear", file("sound.mp3", { id = "7", name = "s" })),
      { audio = "always", prompt = "In English." }, { services = services })

    assert.equal("hear\nwords", content)
    assert.is_nil(attachments)
    assert.same({ { kind = "audio", mime = "audio/mpeg", name = "s", id = "7", prompt = "In English.",
      sha256 = core.sha256(MP3), data = "data:audio/mpeg;base64," .. core.base64.encode(MP3) } }, asked)
  end)

  it("may be an answer with a text", function()
    local services = transcriber { text = "words" }
    assert.equal("words", (after(user("", file "photo.png"), { image = "always" }, { services = services })))
  end)

  local WHEN = {
    -- setting, what the model can, asked?
    { "always", nil, true }, { "always", true, true }, { "never", false, false },
    { "unsupported", false, true }, { "unsupported", true, false }, { "unsupported", nil, false },
  }
  for _, case in ipairs(WHEN) do
    it(("%s, the model's ability %s"):format(case[1], tostring(case[2])), function()
      for kind, ability in pairs { image = "vision", audio = "audio", video = "video", document = "document" } do
        local services, asked = transcriber "words"
        local _, attachments = after(user("", { data = "data:,x", kind = kind }), { [kind] = case[1] },
          { services = services, capabilities = { [ability] = case[2] } })
        assert.equal(case[3] and 1 or 0, #asked, kind)
        assert.equal(case[3], attachments == nil)
      end
    end)
  end

  it("that cannot be had leaves the attachment, and says why", function()
    local cases = { { nil, "the host has no 'transcribe'" }, { "  ", "the host's answer is blank" },
      { "a\0b", "the host's answer: it is binary: a NUL byte at byte 2" }, { 7, "the host transcribes nothing" } }
    for _, case in ipairs(cases) do
      local services = case[1] and transcriber(case[1])
      local content, attachments, context = after(user("see 【p】", file("photo.png", { placeholder = "【p】" })),
        { image = "always" }, { services = services })
      assert.equal("see [attachment: photo.png]", content)
      assert.equal(1, #attachments)
      assert.equal("photo.png: not transcribed: " .. case[2], context:said "warn")
    end
  end)

  it("of the same bytes is requested once, also for other messages", function()
    local services, asked = transcriber "words"
    local looked = 0
    services.cache = function(request) looked = looked + (request.get and 1 or 0) end
    local messages = run({ user("1", file "sound.mp3"), user("2", file("sound.mp3", { name = "again.mp3" })) },
      { audio = "always" }, { services = services })
    assert.same({ 1, 1 }, { #asked, looked })
    assert.equal("2\nwords", messages[2].content)
  end)

  it("is kept by the host, by content, kind and prompt", function()
    local kept, asked = {}, {}
    local services = {
      transcribe = function(request)
        asked[#asked + 1] = request.kind .. (request.prompt or "")
        return "words"
      end,
      cache = function(request)
        if request.get then return kept[request.get] end
        kept[request.set] = request.text
      end,
    }
    local function once(config)
      return (after(user("", file "photo.png"), config, { services = services }))
    end
    for _ = 1, 3 do
      assert.equal("words", once { image = "always" })
      assert.equal("words", once { image = "always", prompt = "p" })
    end
    assert.same({ "image", "imagep" }, asked)
    kept = { [next(kept)] = "a\0b" }
    once { image = "always" }
    once { image = "always", prompt = "p" }
    assert.equal(4, #asked)      -- an answer that is not text is refused
  end)

  it("is remembered for later runs in none that is a preview", function()
    local services, asked = transcriber "words"
    local set = 0
    services.cache = function(request)
      if request.set then set = set + 1 end
    end
    for _, preview in ipairs { true, false } do   -- whether a preview may ask, the pipeline decides
      assert.equal("words", (after(user("", file "photo.png"), { image = "always" },
        { services = services, preview = preview })))
    end
    assert.same({ 2, 1 }, { #asked, set })
  end)
end)

describe("the processor", function()
  it("wraps texts as configured, and keeps braces in them", function()
    local content = after(user("look", { data = "data:text/csv,{name}", name = "t.csv" }),
      { text_template = "<{name} {kind} {mime} {odd}>{text}</>" })
    assert.equal("look\n<t.csv text text/csv {odd}>{name}</>", content)
  end)

  it("refuses a template that loses the text", function()
    for _, key in ipairs { "text_template", "transcript_template" } do
      local problem = helper.refusal(run, {}, { [key] = "[{name}]" })
      assert.equal(("transcription-processor: %s lacks {text}"):format(key), problem.message)
    end
  end)

  it("leaves messages without attachments as they are", function()
    local messages = { { role = "user", content = "1" }, { role = "user", content = { text "2" } },
      user("3", file("photo.png", { placeholder = "【p】" })) }
    local result = run(messages)
    assert.equal(messages, result)
  end)

  it("is not run away with by a thousand placeholders", function()
    local long = ("x"):rep(100000)
    local content = after(user(("【b】"):rep(1000), { data = "data:text/plain," .. long, placeholder = "【b】",
      name = "b" }))
    assert.equal(100000 + 999 * #"[attachment: b]", #content)
  end)
end)
