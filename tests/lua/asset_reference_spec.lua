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

  it("beside the content is sent behind it, and its own member is not", function()
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

  it("leaves the other entries behind the content", function()
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

  it("but of a processor is resolved, too", function()
    local processor = { id = "adds", name = "Adds", priority = 350, execute = function(context)
      table.insert(context.messages, 1, with(reference { assetId = "k7" }, "_attachments",
        { { id = "k7", path = "photo.png" } }))
    end }
    assert.truthy(shapes(body_of({}, { processors = { processor } })[1].content):find("上|IMAGE|下", 1, true))
  end)
end)
