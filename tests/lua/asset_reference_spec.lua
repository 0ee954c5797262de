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
