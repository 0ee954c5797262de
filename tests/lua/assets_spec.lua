--- Checks the sources of attachments' bytes, and which files are never read: the folder
--- of the agent through the module, data URIs, the host's answers.

local helper = dofile "tests/lua/helper.lua"
local fake = dofile "tests/lua/fake_context.lua"
local core = require "ebb.support.core"
local assets = require "ebb.processors.assets"

local CAP = 100

local root

local function read(attachment, fields)
  fields = fields or {}
  fields.asset_root = fields.asset_root or not fields.rootless and root or nil
  local context = fake.context({}, fields)
  local asset, message, code = helper.outcome(assets.read(context, attachment, fields.cap or CAP))
  return asset, message, code, context
end

setup(function()
  local top = fake.folder({ ["secret.txt"] = "secret", ["allowed/notes.txt"] = "note", ["allowed/sub/b.bin"] = "\0",
    ["allowed/big.txt"] = ("x"):rep(CAP + 1), ["allowed/fits.txt"] = ("x"):rep(CAP),
    ["allowed/photo.png"] = "\255\216\255jpeg", ["allowed/Makefile"] = "all:\n" }, [[cd allowed && mkfifo fifo &&
      ln -s ../secret.txt out && ln -s notes.txt inside && ln -s sub folder && ln -s .. up && ln -s /dev/zero zero &&
      ln -s /proc/self/root magic]])
  root = top .. "/allowed"
end)

teardown(fake.clean)

describe("a folder", function()
  it("is opened once, read below, and closed", function()
    local folder = assert(core.root(root))
    assert.equal("note", folder:read("notes.txt", 4))
    assert.equal("note", folder:read("./notes.txt", 4))
    folder:close()
    folder:close()
    assert.equal("argument", helper.refusal(folder.read, folder, "notes.txt", 4).code)
    local nothing, message, code = helper.outcome(core.root(root .. "/nothing"))
    assert.is_nil(nothing)
    assert.equal("absent", code)
    assert.truthy(message:find("nothing: ", 1, true))
    assert.equal("argument", helper.refusal(core.root, "a\0b").code)
    assert.equal("unknown_name", helper.refusal(function() return folder.reed end).code)
    assert.equal("out_of_range", helper.refusal(folder.read, folder, "notes.txt", -1).code)
  end)
end)

local ATTACKS = {
  -- the path, what is said of it, the code
  { "../secret.txt", "a path may not hold '..'", "forbidden" },
  { "sub/../../secret.txt", "a path may not hold '..'", "forbidden" },
  { "/etc/passwd", "an absolute path is not allowed", "forbidden" },
  { "notes.txt\0.png", "a path may not hold a NUL byte", "forbidden" },
  { "out", "a symbolic link is not followed", "forbidden" },
  { "inside", "a symbolic link is not followed", "forbidden" },
  { "folder/b.bin", "a symbolic link is not followed", "forbidden" },
  { "up/secret.txt", "a symbolic link is not followed", "forbidden" },
  { "zero", "a symbolic link is not followed", "forbidden" },
  { "magic/etc/passwd", "a symbolic link is not followed", "forbidden" },
  { "fifo", "it is a FIFO", "forbidden" },
  { "sub", "it is a folder", "forbidden" },
  { "nothing.txt", "there is no such file", "absent" },
  { "big.txt", "it is larger than 100 bytes", "limit" },
}

describe("an attachment's path", function()
  for _, attack in ipairs(ATTACKS) do
    it(("%q is refused"):format(attack[1]), function()
      local asset, message, code = read { path = attack[1], name = "it" }
      assert.is_nil(asset)
      assert.equal("it: " .. attack[2], message)
      assert.equal(attack[3], code)
    end)
  end

  it("comes from the host where there is no folder", function()
    local asset, message, code, context = read({ path = "a.png", id = "7" }, { rootless = true })
    assert.is_nil(asset)
    local why, hint = message:match "^(.-) (%b())$"
    assert.equal("a.png: no folder for attachments is set", why)
    assert.truthy(hint:find("asset_root = ...", 1, true), hint)   -- the command's hint names its option, too
    assert.equal("absent", code)
    assert.same({ { service = "asset", request = { id = "7", path = "a.png" } } }, context.calls)
  end)

  it("is an error where the folder is none", function()
    local problem = helper.refusal(read, { path = "a.png" }, { asset_root = root .. "/nothing" })
    assert.equal("absent", problem.code)
    assert.truthy(problem.message:find("asset_root: ", 1, true))
  end)
end)

describe("an address", function()
  local urls = { "http://a/b.png", "https://a/b.png", "file:///etc/passwd", "FILE:///etc/passwd", "ftp://a/b" }
  for _, url in ipairs(urls) do
    for _, field in ipairs { "url", "path", "data" } do
      it(("%s as %s is never fetched"):format(url, field), function()
        local asset, message, code, context = read { [field] = url, name = "it" }
        assert.is_nil(asset)
        assert.equal("absent", code)
        assert.equal("it: the host has no 'asset'", message)
        assert.equal(url, context.calls[1].request.url)
      end)
    end
  end

  it("is resolved by the host", function()
    local services = { asset = function(request) return { bytes = request.url, mime = "text/plain" } end }
    assert.equal("http://a/b", read({ url = "http://a/b" }, { services = services }).bytes)
    services.asset = function() end
    local _, message = read({ url = "http://a/b" }, { services = services })
    assert.equal("http://a/b: addresses are not fetched, and the host has not resolved it", message)
  end)
end)

describe("data", function()
  it("is decoded", function()
    local asset = read { data = "data:image/PNG;base64,YWJj", name = "n" }
    assert.same({ bytes = "abc", mime = "image/png", kind = "image", name = "n", recognised = false }, asset)
    assert.equal("text", read({ data = "data:,a%20b" }).kind)
    assert.equal("a b", read({ data = "data:,a%20b" }).bytes)
  end)

  local refused = {
    { "data:image/png;base64,YW!j", "n: a data URI, byte 25: expected a digit of base64", "syntax" },
    { "data:image/png;base64,YWJ",
      "n: a data URI, byte 26: expected as many digits as make groups of four, or padding", "syntax" },
    { "YWJj", "n: a data URI, byte 1: expected data:", "syntax" },
    { "data:image/png;base64," .. ("A"):rep(136), "n: it is larger than 100 bytes", "limit" },
  }
  for _, case in ipairs(refused) do
    it(("%q is refused"):format(case[1]:sub(1, 30)), function()
      local asset, message, code = read { data = case[1], name = "n" }
      assert.is_nil(asset)
      assert.equal(case[2], message)
      assert.equal(case[3], code)
    end)
  end

  it("has a default cap of 20 MiB, checked by the length", function()
    local most = 20 << 20
    local at_most = "data:;base64," .. ("A"):rep(most // 3 * 4) .. "AAA="
    assert.equal(most, #core.data_uri(at_most).bytes)
    local file, message, code = helper.outcome(core.data_uri(at_most:sub(1, -5) .. "!!!!"))
    assert.is_nil(file)
    assert.equal("limit", code)
    assert.equal("more than 20971520 bytes", message)
    assert.equal("limit", select(3, helper.outcome(core.base64.decode(("!"):rep(most // 3 * 4 + 4)))))
  end)

  it("comes back through base64", function()
    for size = 0, 50 do
      local bytes = {}
      for i = 1, size do bytes[i] = string.char(i * 37 % 256) end
      local text = table.concat(bytes)
      assert.equal(text, core.base64.decode(core.base64.encode(text)))
    end
    assert.equal("syntax", select(3, helper.outcome(core.base64.decode "YWJ")))
  end)
end)

describe("the host", function()
  local function asked(answer, fields)
    fields = fields or {}
    fields.services = { asset = function() return answer end }
    return read({ id = "7", name = "it" }, fields)
  end

  it("answers bytes or a data URI", function()
    assert.equal("abc", asked({ bytes = "abc" }).bytes)
    assert.equal("audio/mpeg", asked({ bytes = "abc", mime = "audio/mp3" }).mime)
    assert.equal("abc", asked({ data = "data:image/png;base64,YWJj" }).bytes)
    assert.equal("image/webp", asked({ data = "data:image/png;base64,YWJj", mime = "image/webp" }).mime)
  end)

  it("is held to the cap and to its form", function()
    assert.equal("limit", select(3, asked { bytes = ("x"):rep(CAP + 1) }))
    assert.equal("limit", select(3, asked { data = "data:," .. ("x"):rep(CAP + 1) }))
    assert.equal("syntax", select(3, asked { data = "no URI" }))
    assert.equal("host", select(3, asked "bytes"))
    assert.equal("host", select(3, asked { bytes = 7 }))
    assert.equal("absent", select(3, asked(core.json.null)))
    assert.equal("absent", select(3, asked(false)))
  end)
end)

describe("an attachment", function()
  it("is what its bytes say", function()
    local asset = read { path = "photo.png", mime = "image/png" }
    assert.equal("image/jpeg", asset.mime)
    assert.is_true(asset.recognised)
    assert.equal("text", read({ path = "Makefile" }).kind)
    assert.equal("file", read({ path = "sub/b.bin" }).kind)
    assert.equal("audio", read({ path = "sub/b.bin", kind = "audio" }).kind)
    assert.equal("image", read({ path = "photo.png", kind = "audio" }).kind)
    assert.equal("file", read({ path = "sub/b.bin", kind = "limits" }).kind)
  end)

  it("has a name that can be printed", function()
    assert.equal("a.png", assets.name { path = "a.png", id = "7" })
    assert.equal("7", assets.name { id = "7" })
    assert.equal("attachment", assets.name { data = "data:,x" })
    assert.equal("a?b?", assets.name { name = "a\nb\27" })
    assert.equal("a?", assets.name { name = "a\xff" })
    assert.equal(203, #assets.name { name = ("n"):rep(5000) })
  end)

  it("has a kind, as far as it is said", function()
    assert.equal("image", assets.kind { name = "a.png" })
    assert.equal("audio", assets.kind { name = "a.png", kind = "audio" })
    assert.equal("image", assets.kind { data = "data:image/png;base64,", kind = "file" })
    assert.equal("video", assets.kind { url = "https://a/b.mp4" })
    assert.equal("document", assets.kind { mime = "application/pdf; x=y" })
    assert.equal("file", assets.kind { id = "7" })
  end)
end)
