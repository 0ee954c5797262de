--- References to files as seed programs write them, asset_reference parts and `_attachments`, in what a pipeline sends.

local helper = dofile "tests/lua/helper.lua"
local fake = dofile "tests/lua/fake_context.lua"
local core = require "ebb.support.core"
local ebb = helper.ebb

local PNG = "\137PNG\r\n\26\n"
local IMAGE = { type = "image_url", image_url = { url = "data:image/png;base64," .. core.base64.encode(PNG) } }

local root

setup(function() root = fake.folder { ["photo.png"] = PNG, ["notes.txt"] = "words" } end)

teardown(fake.clean)

--- The content of the only message of the body that a pipeline makes, and the whole message.
local function sent(message, options)
  options = options or {}
  options.asset_root = options.asset_root or root
  local chat = ebb.conversation { messages = { message } }
  local result = assert(ebb.pipeline(options):run(chat))
  local body = ebb.json.decode(result.body)
  local only = (body.messages or body)[1]
  return only.content, only
end

local function text(value) return { type = "text", text = value } end

--- A list without its mark as one of JSON.
local function images(content) return table.move(content, 1, #content, 1, {}) end

describe("a reference of a seed program", function()
  it("in the content names a file below the folder of attachments", function()
    local content = sent { role = "user",
      content = { text "look", { type = "asset_reference", assetId = "photo.png" } } }
    assert.same({ text "look", IMAGE }, images(content))
  end)

  it("next to the content is sent after it, and its own member is not", function()
    local content, message = sent { role = "user", content = "look", _attachments = {
      { id = "a1", name = "photo.png", type = "image", mimeType = "image/png", path = "photo.png" } } }
    assert.same({ text "look", IMAGE }, images(content))
    assert.is_nil(message._attachments)
  end)

  it("to a text is read in", function()
    assert.same("look\nwords", (sent { role = "user", content = "look", _attachments = { { id = "notes.txt" } } }))
  end)

  it("whose id is no file is the host's", function()
    local asked
    local content = sent({ role = "user", content = { { type = "asset_reference", assetId = "a1" } } },
      { host = { asset = function(request)
        asked = request.id
        return { bytes = PNG }
      end } })
    assert.equal("a1", asked)
    assert.same({ IMAGE }, images(content))
  end)

  it("to nothing is an error that names it, and nothing is sent", function()
    local chat = ebb.conversation { messages = { { role = "user",
      content = { { type = "asset_reference", assetId = "gone.png" } } } } }
    local result, problem = ebb.pipeline { asset_root = root }:run(chat)
    assert.is_nil(result)
    assert.truthy(problem.message:find("gone.png", 1, true), problem.message)
  end)

  it("leaves the conversation as it was", function()
    local message = { role = "user", content = { { type = "asset_reference", assetId = "photo.png" } } }
    local chat = ebb.conversation { messages = { message } }
    local before = chat:json()
    assert(ebb.pipeline { asset_root = root }:run(chat))
    assert.equal(before, chat:json())
  end)
end)

--- The shapes of the parts of a content: texts as they are, "IMAGE" for a picture.
local function shapes(content)
  local list = {}
  for i, part in ipairs(type(content) == "table" and content or { text(content) }) do
    list[i] = part.text or part.type == "image_url" and "IMAGE" or part.type
  end
  return table.concat(list, "|")
end

local function reference(fields)
  fields.type = fields.type or "asset_reference"
  return { role = "user", content = { text "上", fields, text "下" } }
end

local function with(message, member, list)
  message[member] = list
  return message
end

describe("a part that names an attachment of its own message", function()
  local CASES = {
    { "by the id of an entry with a path", with(reference { assetId = "k7" }, "_attachments",
      { { id = "k7", path = "photo.png" } }) },
    { "by an assetId that is a file", with(reference { assetId = "photo.png" }, "_attachments",
      { { assetId = "photo.png", name = "照片" } }) },
    { "by id, entries of Ebb's own", with(reference { id = "k7", type = "asset" }, "attachments",
      { { id = "k7", path = "photo.png" } }) },
    { "by assetId, entries of seeds under Ebb's name", with(reference { assetId = "photo.png" }, "attachments",
      { { assetId = "photo.png" } }) },
    { "by path", with(reference { path = "photo.png", type = "asset" }, "_attachments",
      { { id = "k7", path = "photo.png" } }) },
    { "by path, as a part of Ebb's own", with(reference { type = "asset", attachment = { path = "photo.png" } },
      "attachments", { { path = "photo.png" } }) },
    { "where the part knows the path, and the entry does not", with(reference { assetId = "k7", path = "photo.png" },
      "_attachments", { { id = "k7", name = "照片.png" } }) },
    { "by an id that is a file, entries of Ebb's own", with(reference { assetId = "photo.png" }, "attachments",
      { { id = "photo.png" } }) },
    { "in both lists", with(with(reference { assetId = "k7" }, "_attachments", { { id = "k7", path = "photo.png" } }),
      "attachments", { { id = "k7", path = "photo.png" } }) },
  }
  for _, case in ipairs(CASES) do
    it(case[1] .. " is that attachment, once, at its place", function()
      local content, message = sent(case[2])
      assert.equal("上|IMAGE|下", shapes(content))
      assert.is_nil(message._attachments)
      assert.is_nil(message.attachments)
    end)
  end

  it("leaves the other entries after the content", function()
    local message = with(reference { assetId = "k7" }, "_attachments",
      { { id = "n1", path = "notes.txt" }, { id = "k7", path = "photo.png" } })
    assert.equal("上|IMAGE|下\nwords", shapes((sent(message))))
  end)

  it("is the entry whose id it has, not the first", function()
    local message = { role = "user",
      content = { { type = "asset_reference", assetId = "k2" }, text "下" },
      _attachments = { { id = "k1", path = "notes.txt" }, { id = "k2", path = "photo.png" } } }
    assert.equal("IMAGE|下\nwords", shapes((sent(message))))
  end)

  it("is asked for once", function()
    local asked = {}
    local message = with(reference { assetId = "k7" }, "_attachments", { { id = "k7", name = "照片.png" } })
    local content = sent(message, { host = { asset = function(request)
      asked[#asked + 1] = request.id
      return { bytes = PNG }
    end } })
    assert.same({ "k7" }, asked)
    assert.equal("上|IMAGE|下", shapes(content))
  end)
end)

describe("a reference that is not of the history", function()
  local function body_of(presets, options)
    options = options or {}
    options.agent, options.asset_root = { name = "A", presets = presets }, root
    local chat = ebb.conversation { messages = { { role = "user", content = "hi" } } }
    local result, problem = ebb.pipeline(options):run(chat)
    return result and ebb.json.decode(result.body).messages, problem
  end

  local PLACES = { preset = false, depth = { type = "depth", depth = 1 },
    anchor = { type = "anchor", anchorTarget = "chat_history", anchorPosition = "after" } }
  for place, strategy in pairs(PLACES) do
    it("but of a " .. place .. " is resolved, too, or refused", function()
      local function presets(name)
        return { { role = "user", content = reference { assetId = name }.content,
          injectionStrategy = strategy or nil }, { type = "chat_history" } }
      end
      local messages = body_of(presets "photo.png")
      local found = {}
      for i, message in ipairs(messages) do found[i] = shapes(message.content) end
      assert.truthy(table.concat(found, "|"):find("上|IMAGE|下", 1, true), table.concat(found, "|"))
      local none, problem = body_of(presets "gone.png")
      assert.is_nil(none)
      assert.truthy(problem.message:find("gone.png", 1, true), problem.message)
    end)
  end

  local FILES = {
    { "attachments", { { path = "photo.png" } } }, { "attachments", { { id = "k7", path = "photo.png" } } },
    { "_attachments", { { assetId = "photo.png", name = "照片" } } },
    { "attachments", { { data = IMAGE.image_url.url } } },
  }
  for i, files in ipairs(FILES) do
    for place, strategy in pairs(PLACES) do
      it(("but is attached to the place %s is sent, form %d"):format(place, i), function()
        for _, said in ipairs { "看", false } do
          local preset = { role = "user", content = said or nil, injectionStrategy = strategy or nil }
          preset[files[1]] = files[2]
          local messages = body_of({ preset, { type = "chat_history" } }, { set = { "merge-roles.enabled=false" } })
          local list = {}
          for n, message in ipairs(messages) do list[n] = shapes(message.content) end
          local all = "|" .. table.concat(list, "|") .. "|"
          assert.truthy(all:find(said and "|看|IMAGE|" or "|IMAGE|", 1, true), all)
          for _, message in ipairs(messages) do assert.is_nil(message.attachments or message._attachments) end
        end
      end)
    end
  end

  it("but is attached to a preset is weighed, previewed, and told where a message takes none", function()
    local list = {}
    for n = 1, 6 do list[n] = { role = n % 2 == 1 and "user" or "assistant", content = ("字"):rep(40) } end
    list[7] = { role = "user", content = "终" }
    local chat = ebb.conversation { messages = list }
    local function pipeline(role, budget)
      return ebb.pipeline { asset_root = root, set = { "token-limiter.budget=" .. budget },
        agent = { presets = { { role = role, content = "看", attachments = { { path = "photo.png" } } } } } }
    end
    local whole = assert(pipeline("user", 9000):run(chat))
    local run = pipeline("user", whole.tokens - 20)
    local cut, foreseen = assert(run:run(chat)), assert(run:preview(chat))
    assert.is_true(cut.tokens <= whole.tokens - 20 and cut.tokens > whole.tokens - 200)
    assert.equal(foreseen.body, cut.body)
    local told = {}
    for _, entry in ipairs(assert(pipeline("system", 9000):run(chat)).logs) do told[#told + 1] = entry.message end
    assert.truthy(table.concat(told, "\n"):find("messages of role system hold no image", 1, true))
  end)

  it("but is attached to a preset in a wrong form is refused with its place", function()
    for _, case in ipairs { { { { name = "x" } }, "attachments%[0%]" }, { { "photo.png" }, "attachments%[0%]" },
      { "photo.png", "attachments" }, { { { path = "" } }, "attachments%[0%]" } } do
      local ok, problem = pcall(ebb.pipeline, { agent = { presets = { { content = "x", attachments = case[1] } } } })
      assert.is_false(ok)
      assert.match("presets%[0%]%." .. case[2], problem.message)
    end
  end)

  it("but of a processor is resolved, too", function()
    local processor = { id = "adds", name = "Adds", priority = 350, execute = function(context)
      table.insert(context.messages, 1, with(reference { assetId = "k7" }, "_attachments",
        { { id = "k7", path = "photo.png" } }))
    end }
    assert.truthy(shapes(body_of({}, { processors = { processor } })[1].content):find("上|IMAGE|下", 1, true))
  end)
end)

local MEMBERS = { "content", "parts", "text", "image_url", "url", "output", "functionResponse", "response" }

--- Lists the texts of a body of any dialect in its order, with IMAGE for a picture.
local function shown(value, list)
  list = list or {}
  if type(value) == "string" then
    list[#list + 1] = value:find("base64,", 1, true) and "IMAGE" or value
  elseif type(value) == "table" and (value.inlineData or value.source) then
    list[#list + 1] = "IMAGE"
  elseif type(value) == "table" then
    for _, each in ipairs(value) do shown(each, list) end
    for _, member in ipairs(MEMBERS) do shown(value[member], list) end
  end
  return list
end

local function said(result)
  local body = ebb.json.decode(result.body)
  return table.concat(shown(body.messages or body.input or body.contents or body), "|")
end

local REFERENCE, PIECE = { type = "asset_reference", assetId = "photo.png" }, { type = "asset", path = "photo.png" }
local TARGETS = { openai = "gpt-4o", responses = "gpt-4o", anthropic = "claude-sonnet-4-5", gemini = "gemini-2.5-pro" }

local function input(value) return { type = "input_text", text = value } end
local function call(name) return { type = "function_call", call_id = "t1", name = name, arguments = "{}" } end

--- Bodies, and what each target shows of them; `apart`: those that have no pictures in results.
local BODIES = {
  { "in the content of a message of responses", { model = "gpt-4o",
    input = { { role = "user", content = { input "上", REFERENCE, input "下" } } } }, "上|IMAGE|下" },
  { "in the content of an item", { model = "gpt-4o",
    input = { { type = "message", role = "user", content = { REFERENCE, input "下" } } } }, "IMAGE|下" },
  { "as an item", { model = "gpt-4o",
    input = { { type = "message", role = "user", content = { input "上" } }, REFERENCE,
      { role = "user", content = "下" } } }, "上|IMAGE|下" },
  { "as items, of both types", { model = "gpt-4o", input = { PIECE, { role = "user", content = "中" }, REFERENCE } },
    "IMAGE|中|IMAGE" },
  { "in a body of anthropic", { model = "claude-sonnet-4-5", max_tokens = 90,
    messages = { { role = "user", content = { text "上", REFERENCE, text "下" } } } }, "上|IMAGE|下" },
  { "among the parts of gemini", { contents = { { role = "user", parts = { { text = "上" }, PIECE, { text = "下" } } },
    } }, "上|IMAGE|下" },
  { "in the output of responses", { model = "gpt-4o", input = { { role = "user", content = "问" }, call "f",
    { type = "function_call_output", call_id = "t1", output = { input "果", REFERENCE } } } }, "问|果|IMAGE" },
  { "in a result of anthropic", { model = "claude-sonnet-4-5", max_tokens = 90, messages = {
    { role = "user", content = "问" },
    { role = "assistant", content = { { type = "tool_use", id = "t1", name = "f", input = {} } } },
    { role = "user", content = { { type = "tool_result", tool_use_id = "t1", content = { text "果", PIECE } } } } } },
    "问|果|IMAGE" },
  { "in a message of role tool", { model = "gpt-4o", messages = { { role = "user", content = "问" },
    { role = "assistant", tool_calls = { { id = "t1", type = "function",
      ["function"] = { name = "f", arguments = "{}" } } } },
    { role = "tool", tool_call_id = "t1", content = { text "果", REFERENCE } } } }, "问|果|IMAGE" },
  { "in a nested result", { model = "gpt-4o", messages = { { role = "user", content = "问" },
    { role = "assistant", content = { { type = "tool_use", tool_use = { id = "t1", name = "f", input = {} } } } },
    { role = "tool", content = { { type = "tool_result",
      tool_result = { tool_use_id = "t1", content = { text "果", REFERENCE } } } } } } }, "问|果|IMAGE" },
}

describe("a reference of a body", function()
  for _, case in ipairs(BODIES) do
    for target, model in pairs(TARGETS) do
      it(("%s is the file in a request of %s"):format(case[1], target), function()
        local chat = assert(ebb.parse(ebb.json.encode(case[2])))
        local pipeline = ebb.pipeline { asset_root = root, to = target, model = model }
        local result = assert(pipeline:run(chat))
        assert.equal(case[3], said(result))
        assert.equal(result.body, assert(pipeline:preview(chat)).body)
        assert.same({}, result.chat:check { dialect = target })
      end)
    end
    it(case[1] .. " is an error where there is no such file", function()
      local body = ebb.json.encode(case[2]):gsub("photo", "gone")
      local result, problem = ebb.pipeline { asset_root = root }:run(assert(ebb.parse(body)))
      assert.is_nil(result)
      assert.truthy(problem.message:find("gone.png", 1, true), problem.message)
    end)
  end

  it("in a result is read in where it is a text, and told where it is left out", function()
    local function run(name, abilities)
      local chat = assert(ebb.parse(ebb.json.encode { model = "m", input = { { role = "user", content = "问" }, call "f",
        { type = "function_call_output", call_id = "t1", output = { input "果", { type = "asset", path = name } } } } }))
      local model = { model = "m", capabilities = abilities }
      return assert(ebb.pipeline { asset_root = root, model_config = model }:run(chat))
    end
    local read = run("notes.txt", { vision = false })
    assert.equal("问|果\nwords", said(read))
    local left, told = run("photo.png", { vision = false }), nil
    assert.equal("问|果", said(left))
    for _, entry in ipairs(left.logs) do
      if entry.message:find("photo.png: left out: the model takes no image", 1, true) then told = true end
    end
    assert.is_true(told)
  end)

  it("in a result weighs what its file weighs", function()
    local list = {}
    for i = 1, 4 do
      list[#list + 1] = { role = "user", content = "问" .. i }
      list[#list + 1] = { role = "assistant",
        content = { { type = "tool_use", id = "t" .. i, name = "f", input = {} } } }
      list[#list + 1] = { role = "user", content = { { type = "tool_result", tool_use_id = "t" .. i,
        content = { text "果", REFERENCE } } } }
      list[#list + 1] = { role = "assistant", content = "好" }
    end
    list[#list + 1] = { role = "user", content = "终" }
    local chat = assert(ebb.parse(ebb.json.encode { model = "claude-sonnet-4-5", max_tokens = 90, messages = list }))
    local function run(budget)
      return assert(ebb.pipeline { asset_root = root, set = { "token-limiter.budget=" .. budget } }:run(chat))
    end
    local whole = run(100000)
    local cut = run(whole.tokens - 20)
    assert.is_true(cut.tokens > whole.tokens // 2, ("%d of %d"):format(cut.tokens, whole.tokens))
    assert.is_true(cut.tokens < whole.tokens - 20)
  end)
end)
